/* Exporter "accelerate": a plan of a model folder as the device_map of transformers and accelerate. It names
 * modules: embedding, layers, last norm and output, which together hold every parameter once. A layer is
 * never split: its residual sums need both ends on one device. Values are numbers of GPUs, "cpu", "disk", or
 * what the user calls a device ("cuda:1").
 *
 * Beside a GPU, modules on "cpu" and "disk" are only stored there: dispatch_model of accelerate copies their
 * weights to the first GPU of the map for each pass, and computes there. So plans are priced. */
#include "accelerate_auto.h"
#include "exporters.h"

#include "hf.h"
#include "json.h"
#include "problem_tables.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct making {
	const berth_export_source *x;
	const int32_t *op_dev; /* [n_ops] the plan */
	decoder_model m;
	int32_t *part_dev; /* [ACCELERATE_PARTS] devices of modules; -1: none there, or nothing in the plan */
	const char **word; /* [n_devs] values of the map; NULL: the plan does not use it */
	berth_err *err;
} making;

/* ---- what accelerate calls the devices ---- */

static bool is_number(const char *text)
{
	size_t n = strspn(text, "0123456789");
	return n > 0 && n < 4 && !text[n];
}

/* Words: "cpu", "disk", a number, or KIND:NUMBER as torch has it. */
static bool is_device(const char *text)
{
	const char *colon = strchr(text, ':');
	size_t kind = strspn(text, "abcdefghijklmnopqrstuvwxyz");
	return strcmp(text, "cpu") == 0 || strcmp(text, "disk") == 0 || strcmp(text, "mps") == 0 ||
	       is_number(text) || (colon && kind > 0 && text + kind == colon && is_number(colon + 1));
}

static berth_status name_devices(making *m, berth_export_out *out, berth_arena *tmp, berth_err *err)
{
	static const berth_export_word usual[] = {{"cpu", "cpu"}, {"disk", "disk"}, {NULL, NULL}};
	const berth_system *s = m->x->s;
	BERTH_TRY_NEW(tmp, s->n_devs, err, m->word);
	BERTH_TRY(berth_export_theirs_numbered(m->x, m->op_dev, "", usual, "device of accelerate", m->word,
	                                       out, err));
	for (int32_t d = 0; d < s->n_devs; d++)
		if (m->word[d] && !is_device(m->word[d]))
			return berth_fail(err, BERTH_EINVAL,
			                  "device '%s' is called '%s'; expected cpu, disk, the number of a "
			                  "GPU, or a device of torch such as cuda:1",
			                  s->dev_name[d], m->word[d]);
	return BERTH_OK;
}

/* ---- modules ---- */

static berth_status split(const making *m, const char *module, int32_t a, int32_t b, const char *op)
{
	return berth_fail(
		m->err, BERTH_EUNSUPPORTED,
		"module '%s' is on '%s' and on '%s' (operator '%s'); accelerate keeps a module on one "
		"device: plan with --granularity layer",
		module, m->x->s->dev_name[a], m->x->s->dev_name[b], op);
}

/* The place of the operator's module in the lists of accelerate_auto.h; -1: the last row, which holds
 * nothing. */
static int32_t part_of(const making *m, int32_t op)
{
	const decoder_names *names = &m->m.arch->style->names;
	const char *name = m->x->g->op_name[op], *position = m->m.arch->style->position;
	const int32_t n_layers = m->m.n_layers;
	size_t n = strlen(names->layer);
	if (strncmp(name, names->layer, n) == 0 && name[n] == '.') {
		long layer = strtol(name + n + 1, NULL, 10);
		return layer < n_layers ? ACCELERATE_LAYER + (int32_t)layer : -1;
	}
	return berth_export_begins(name, names->embed)           ? ACCELERATE_EMBED
	       : position && berth_export_begins(name, position) ? ACCELERATE_POSITION
	       : berth_export_begins(name, names->output)        ? ACCELERATE_OUTPUT(n_layers)
	       : berth_export_begins(name, names->output_norm)   ? ACCELERATE_NORM(n_layers)
	                                                         : -1;
}

/* Every operator is of one module: a layer, or what is in front of them or behind them. */
static berth_status place_op(making *m, int32_t op, char *module, size_t size)
{
	const char *name = m->x->g->op_name[op];
	int32_t d = m->op_dev[op], part = part_of(m, op);
	if (part < 0)
		return BERTH_OK;
	if (part == ACCELERATE_POSITION)
		part = ACCELERATE_EMBED;
	if (m->part_dev[part] >= 0 && m->part_dev[part] != d) {
		if (part >= ACCELERATE_LAYER && part < ACCELERATE_LAYER + m->m.n_layers)
			snprintf(module, size, "%s.%d", m->m.arch->style->names.layer,
			         part - ACCELERATE_LAYER);
		else
			snprintf(module, size, "%s", name);
		return split(m, module, m->part_dev[part], d, name);
	}
	m->part_dev[part] = d;
	return BERTH_OK;
}

static berth_status find_modules(making *m, berth_arena *tmp)
{
	const int32_t n = m->m.n_layers, n_parts = ACCELERATE_PARTS(n);
	char module[160];
	BERTH_TRY_NEW(tmp, n_parts, m->err, m->part_dev);
	for (int32_t k = 0; k < n_parts; k++)
		m->part_dev[k] = -1;
	for (int32_t op = 0; op < m->x->g->n_ops; op++)
		BERTH_TRY(place_op(m, op, module, sizeof module));
	for (int32_t i = 0; i < n; i++)
		if (m->part_dev[ACCELERATE_LAYER + i] < 0)
			return berth_fail(m->err, BERTH_EUNSUPPORTED,
			                  "no operator of layer %d is in the plan", i);
	if (m->part_dev[ACCELERATE_EMBED] < 0 || m->part_dev[ACCELERATE_OUTPUT(n)] < 0)
		return berth_fail(m->err, BERTH_EUNSUPPORTED, "graph '%s' has no embedding or no output",
		                  m->x->g->name);
	if (m->part_dev[ACCELERATE_NORM(n)] < 0)
		m->part_dev[ACCELERATE_NORM(n)] = m->part_dev[ACCELERATE_OUTPUT(n)];
	m->part_dev[ACCELERATE_POSITION] = m->part_dev[ACCELERATE_ROTARY(n)] = m->part_dev[ACCELERATE_EMBED];
	return BERTH_OK;
}

/* ---- how it runs ---- */

static bool is_stored(const making *m, int32_t d)
{
	return strcmp(m->word[d], "cpu") == 0 || strcmp(m->word[d], "disk") == 0;
}

/* The device that computes what is stored on the CPU or the disk: the first GPU of the map, else the CPU; -1:
 * all is on disk. */
static int32_t main_device(const making *m)
{
	int32_t cpu = -1;
	for (int32_t k = 0; k < ACCELERATE_PARTS(m->m.n_layers); k++) {
		if (!is_stored(m, m->part_dev[k]))
			return m->part_dev[k];
		if (cpu < 0 && strcmp(m->word[m->part_dev[k]], "cpu") == 0)
			cpu = m->part_dev[k];
	}
	return cpu;
}

/* Seconds that bytes take from one device to another, by the route of the largest tensor. */
static double copied_s(const berth_problem *p, int64_t bytes, int32_t from, int32_t to)
{
	const int32_t largest = p->n_classes - 1;
	double sum = 0;
	if (!bytes || from == to || largest < 0)
		return 0;
	const size_t n = (size_t)p->n_devs, pair = ((size_t)largest * n + (size_t)from) * n + (size_t)to;
	const int32_t route = p->class_pair_route[pair];
	for (int32_t i = p->route_off[route]; i < p->route_off[route + 1]; i++)
		sum += p->s->link_latency_s[p->route_link[i]] +
		       (double)bytes / p->s->link_bandwidth[p->route_link[i]];
	return sum;
}

/* Operators run where accelerate runs them, one after the other, with the copies of weights before them. */
static berth_status price(const making *m, berth_arena *tmp, double *seconds)
{
	const berth_graph *g = m->x->g;
	const int32_t main = main_device(m);
	int32_t *run_dev;
	BERTH_TRY_NEW(tmp, g->n_ops, m->err, run_dev);
	*seconds = NAN;
	if (main < 0)
		return BERTH_OK;
	double copies = 0;
	for (int32_t op = 0; op < g->n_ops; op++) {
		int32_t d = m->op_dev[op];
		run_dev[op] = is_stored(m, d) ? main : d;
		if (strcmp(m->word[d], m->word[run_dev[op]]) != 0)
			copies += copied_s(m->x->p, berth_export_weights(g, op), d, main);
		if (berth_op_time(m->x->p, op, run_dev[op]) < 0)
			return BERTH_OK;
	}
	*seconds = copies + berth_export_serial(m->x->p, run_dev);
	return BERTH_OK;
}

static berth_status open_plan(making *m, const int32_t *op_dev, berth_export_out *out, berth_arena *tmp)
{
	m->op_dev = op_dev;
	BERTH_TRY(hf_model_read(m->x->model, tmp, &m->m, m->err));
	BERTH_TRY(name_devices(m, out, tmp, m->err));
	return find_modules(m, tmp);
}

static berth_status seconds_of(const berth_export_source *x, const int32_t *op_dev, berth_arena *tmp,
                               double *seconds, berth_err *err)
{
	BERTH_ARENA(mem);
	berth_export_out unheard = {.mem = &mem};
	making m = {.x = x, .err = err};
	*seconds = NAN;
	berth_status st = open_plan(&m, op_dev, &unheard, tmp);
	if (st == BERTH_OK)
		st = price(&m, tmp, seconds);
	else if (st != BERTH_ENOMEM)
		st = BERTH_OK; /* write will tell */
	return st;
}

/* ---- what transformers does by itself ---- */

/* Buffers that the model makes for itself: two rows of frequencies. */
static int64_t rotary_bytes(const decoder_model *m)
{
	return m->arch->style->rotary ? 2 * (m->layer[0].key / 2) * 4 : 0;
}

static bool is_new_leaf(const char *name, const char *before)
{
	const char *experts = strstr(name, "experts."), *dot = strrchr(name, '.');
	size_t n = experts ? (size_t)(experts - name) + 7 : dot ? (size_t)(dot - name) : strlen(name);
	return strncmp(name, before, n) != 0 || before[n] != '.';
}

static berth_status count(const making *m, berth_arena *tmp, accelerate_model *out, berth_err *err)
{
	const berth_graph *g = m->x->g;
	const int32_t n = m->m.n_layers;
	const char *before = "";
	int64_t *bytes;
	BERTH_TRY_NEW(tmp, ACCELERATE_PARTS(n), err, bytes);
	*out = (accelerate_model){.bytes = bytes, .n_layers = n, .n_leaves = rotary_bytes(&m->m) > 0,
	                          .tied = m->m.d.tied};
	for (int32_t op = 0; op < g->n_ops; op++) {
		int32_t part = part_of(m, op);
		if (part < 0 || !berth_export_weights(g, op) || (out->tied && part == ACCELERATE_OUTPUT(n)))
			continue;
		bytes[part] += berth_export_weights(g, op);
		out->n_leaves += is_new_leaf(g->op_name[op], before);
		before = g->op_name[op];
	}
	bytes[ACCELERATE_ROTARY(n)] = rotary_bytes(&m->m);
	if (m->m.arch->style->position) { /* berth counts the table with the embedding */
		bytes[ACCELERATE_POSITION] = (int64_t)m->m.d.other_bytes;
		bytes[ACCELERATE_EMBED] -= bytes[ACCELERATE_POSITION];
		out->n_leaves++;
	}
	return BERTH_OK;
}

/* Devices in its order: GPUs by number, the CPU, the disk; -1: the system has none. */
static berth_status order_devices(making *m, berth_arena *tmp, int32_t *dev, int32_t *n_gpus, berth_err *err)
{
	const berth_system *s = m->x->s;
	const char **told;
	int32_t cpu = -1, disk = -1;
	BERTH_TRY_NEW(tmp, s->n_devs, err, told);
	BERTH_TRY(berth_export_number_gpus(m->x, "", told, tmp, err));
	*n_gpus = 0;
	for (int32_t number = 0; number < 1000 && *n_gpus < s->n_devs; number++)
		for (int32_t d = 0; d < s->n_devs; d++)
			if (told[d] && is_number(told[d]) && atoi(told[d]) == number) {
				dev[(*n_gpus)++] = d;
				break;
			}
	for (int32_t d = s->n_devs - 1; d >= 0; d--) {
		bool is_cpu = berth_export_is(s, d, "cpu");
		const char *word = told[d] ? told[d] : is_cpu ? "cpu" : s->dev_name[d];
		cpu = berth_export_begins(word, "cpu") ? d : cpu;
		disk = berth_export_begins(word, "disk") ? d : disk;
	}
	dev[*n_gpus] = cpu;
	dev[*n_gpus + 1] = disk;
	return BERTH_OK;
}

static double free_bytes(const berth_system *s, int32_t d)
{
	return d < 0 ? 0 : s->dev_memory_bytes[d] < 0 ? HUGE_VAL : (double)s->dev_memory_bytes[d];
}

static berth_status find_usual(making *m, berth_arena *tmp, int32_t *op_dev, bool *known)
{
	const berth_system *s = m->x->s;
	accelerate_model model;
	double room[BERTH_MAX_DEVS + 2];
	int32_t dev[BERTH_MAX_DEVS + 2], n_gpus, *at;
	BERTH_TRY(hf_model_read(m->x->model, tmp, &m->m, m->err));
	BERTH_TRY(count(m, tmp, &model, m->err));
	BERTH_TRY(order_devices(m, tmp, dev, &n_gpus, m->err));
	BERTH_TRY_NEW(tmp, ACCELERATE_PARTS(m->m.n_layers), m->err, at);
	for (int32_t i = 0; i <= n_gpus; i++)
		room[i] = free_bytes(s, dev[i]);
	accelerate_balance(&model, room, n_gpus);
	accelerate_fill(&model, room, n_gpus, at);
	*known = true;
	for (int32_t op = 0; op < m->x->g->n_ops; op++) {
		int32_t part = part_of(m, op);
		op_dev[op] = dev[at[part < 0 ? ACCELERATE_OUTPUT(m->m.n_layers) : part]];
		*known = *known && op_dev[op] >= 0;
	}
	return BERTH_OK;
}

static berth_status usual(const berth_export_source *x, berth_arena *tmp, int32_t *op_dev, bool *known,
                          berth_err *err)
{
	making m = {.x = x, .err = err};
	*known = false;
	return x->model && x->p ? find_usual(&m, tmp, op_dev, known) : BERTH_OK;
}

/* ---- the file ---- */

static void put(const making *m, berth_json_out *w, const char *module, int32_t d)
{
	if (!module)
		return;
	if (!is_number(m->word[d]))
		berth_json_put_string(w, module, m->word[d]);
	else
		berth_json_put_int(w, module, atoi(m->word[d]));
}

static berth_status put_map(const making *m, berth_json_out *w, berth_arena *tmp, berth_err *err)
{
	const decoder_style *style = m->m.arch->style;
	const int32_t n = m->m.n_layers;
	berth_json_open(w, NULL, '{');
	put(m, w, style->names.embed, m->part_dev[ACCELERATE_EMBED]);
	put(m, w, style->position, m->part_dev[ACCELERATE_POSITION]);
	put(m, w, style->rotary, m->part_dev[ACCELERATE_ROTARY(n)]);
	for (int32_t i = 0; i < n; i++) {
		const char *name = berth_arena_printf(tmp, "%s.%d", style->names.layer, i);
		BERTH_TRY(berth_got(name, err));
		put(m, w, name, m->part_dev[ACCELERATE_LAYER + i]);
	}
	put(m, w, style->names.output_norm, m->part_dev[ACCELERATE_NORM(n)]);
	put(m, w, style->names.output, m->part_dev[ACCELERATE_OUTPUT(n)]);
	berth_json_close(w, '}');
	return BERTH_OK;
}

/* The map that transformers makes by itself. */
static berth_status tell_usual(const berth_export_source *x, berth_export_out *out, berth_arena *tmp,
                               berth_err *err)
{
	berth_export_out unheard = {.mem = out->mem};
	making m = {.x = x, .err = err};
	berth_json_out w;
	int32_t *op_dev;
	size_t len;
	bool known;
	BERTH_TRY_NEW(tmp, x->g->n_ops, err, op_dev);
	BERTH_TRY(usual(x, tmp, op_dev, &known, err));
	berth_status st = known ? open_plan(&m, op_dev, &unheard, tmp) : BERTH_OK;
	if (!known || st != BERTH_OK)
		return st == BERTH_ENOMEM ? st : BERTH_OK; /* a device has no name */
	berth_json_out_init(&w, out->mem, false);
	BERTH_TRY(put_map(&m, &w, tmp, err));
	return berth_json_done(&w, &out->usual, &len, err);
}

/* What all devices of d's word hold; below 0: one has no limit, or an earlier one has told of it. */
static double held_by(const making *m, int32_t d)
{
	const berth_system *s = m->x->s;
	double sum = 0;
	for (int32_t k = 0; k < s->n_devs; k++) {
		if (!m->word[k] || strcmp(m->word[k], m->word[d]) != 0)
			continue;
		if (k < d || s->dev_memory_bytes[k] < 0)
			return -1;
		sum += (double)s->dev_memory_bytes[k] * (1 - s->dev_memory_margin[k]);
	}
	return sum;
}

/* max_memory: what the devices of the system hold, less what is kept free, in bytes. */
static berth_status set_memory(const making *m, berth_export_out *out, berth_err *err)
{
	const berth_system *s = m->x->s;
	berth_json_out w;
	const char *text;
	size_t len;
	bool any = false;
	berth_json_out_init(&w, out->mem, false);
	berth_json_open(&w, NULL, '{');
	for (int32_t d = 0; d < s->n_devs; d++) {
		double bytes = m->word[d] && strcmp(m->word[d], "disk") != 0 ? held_by(m, d) : -1;
		if (bytes < 0)
			continue;
		berth_json_put_int(&w, m->word[d], (int64_t)bytes);
		any = true;
	}
	berth_json_close(&w, '}');
	BERTH_TRY(berth_json_done(&w, &text, &len, err));
	return any ? berth_export_set(out, "max_memory", text, err) : BERTH_OK;
}

static berth_status tell(const making *m, berth_export_out *out, berth_err *err)
{
	const int32_t n = m->m.n_layers, main = main_device(m);
	const int32_t embed = m->part_dev[ACCELERATE_EMBED], output = m->part_dev[ACCELERATE_OUTPUT(n)];
	bool disk = false;
	int32_t away = 0;
	for (int32_t i = 0; i < n; i++) {
		const char *word = m->word[m->part_dev[ACCELERATE_LAYER + i]];
		disk = disk || strcmp(word, "disk") == 0;
		away += is_stored(m, m->part_dev[ACCELERATE_LAYER + i]);
	}
	if (disk)
		BERTH_TRY(berth_export_note(out, err, "modules on disk need an offload_folder"));
	if (away && main >= 0 && strcmp(m->word[main], "cpu") != 0)
		BERTH_TRY(berth_export_note(
			out, err,
			"%d of %d layers are stored away from the GPUs: accelerate copies their weights to "
			"device %s for each pass, and computes there",
			away, n, m->word[main]));
	if (m->m.d.tied && embed != output)
		BERTH_TRY(berth_export_warn(
			out, err, "'%s' and '%s' share a matrix and are on two devices: each holds it",
			m->m.arch->style->names.embed, m->m.arch->style->names.output));
	return BERTH_OK;
}

/* transformers 5.12 loads no tied output from a disk: its weights have no name of their own in the files. */
static berth_status check_tied(const making *m)
{
	const int32_t embed = m->part_dev[ACCELERATE_EMBED],
		      output = m->part_dev[ACCELERATE_OUTPUT(m->m.n_layers)];
	const decoder_names *names = &m->m.arch->style->names;
	if (!m->m.d.tied || (strcmp(m->word[embed], "disk") == 0) == (strcmp(m->word[output], "disk") == 0))
		return BERTH_OK;
	return berth_fail(m->err, BERTH_EUNSUPPORTED,
	                  "'%s' and '%s' share a matrix, and one of them is on disk: transformers cannot "
	                  "load that; put both there, or none",
	                  names->embed, names->output);
}

static berth_status write(const berth_export_source *x, berth_arena *tmp, berth_export_out *out,
                          berth_err *err)
{
	making m = {.x = x, .err = err};
	berth_json_out w;
	BERTH_TRY(open_plan(&m, x->op_dev, out, tmp));
	BERTH_TRY(check_tied(&m));
	berth_json_out_init(&w, out->mem, true);
	BERTH_TRY(put_map(&m, &w, tmp, err));
	BERTH_TRY(berth_export_put_json(out, &w, err));
	BERTH_TRY(set_memory(&m, out, err));
	BERTH_TRY(tell_usual(x, out, tmp, err));
	return tell(&m, out, err);
}

const berth_exporter berth_export_accelerate = {
	.name = "accelerate",
	.about = "The device_map of a model folder, for transformers",
	.suffix = ".json",
	.needs = BERTH_EXPORT_PLACEMENT,
	.model = "safetensors",
	.serial = true,
	.write = write,
	.usual = usual,
	.seconds = seconds_of,
};
