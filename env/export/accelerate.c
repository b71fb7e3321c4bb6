/* Exporter "accelerate": a plan of a model folder as the device_map of transformers and accelerate. It names
 * modules: embedding, layers, last norm and output, which together hold every parameter once. A layer is
 * never split: its residual sums need both ends on one device. Values are numbers of GPUs, "cpu", "disk", or
 * what the user calls a device ("cuda:1"). */
#include "export_names.h"

#include "hf.h"
#include "json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct making {
	const berth_export_source *x;
	hf_model m;
	int32_t *layer_dev;          /* [n_layers] */
	int32_t embed, norm, output; /* devices */
	const char **word;           /* [n_devs] values of the map; NULL: the plan does not use it */
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

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static bool is_gpu(const berth_system *s, int32_t d)
{
	return begins(s->dev_kind[d], "gpu") || begins(s->dev_name[d], "gpu") ||
	       begins(s->dev_kind[d], "cuda") || begins(s->dev_name[d], "cuda");
}

static bool is_taken(const char *const *told, int32_t n_devs, int32_t number)
{
	for (int32_t d = 0; d < n_devs; d++)
		if (told[d] && is_number(told[d]) && atoi(told[d]) == number)
			return true;
	return false;
}

/* GPUs that have no word get the numbers that are free, in the order of the system. */
static berth_status number_gpus(making *m, const char **told, berth_arena *mem, berth_err *err)
{
	const berth_system *s = m->x->s;
	for (int32_t d = 0; d < s->n_devs; d++)
		told[d] = m->x->theirs ? m->x->theirs[d] : NULL;
	for (int32_t d = 0, next = 0; d < s->n_devs; d++) {
		if (told[d] || !is_gpu(s, d))
			continue;
		while (is_taken(told, s->n_devs, next))
			next++;
		if (!(told[d] = berth_arena_printf(mem, "%d", next)))
			return berth_nomem(err);
	}
	return BERTH_OK;
}

static berth_status name_devices(making *m, berth_export_out *out, berth_arena *tmp, berth_err *err)
{
	static const berth_export_word usual[] = {{"cpu", "cpu"}, {"disk", "disk"}, {NULL, NULL}};
	const berth_system *s = m->x->s;
	berth_export_source x = *m->x;
	const char **told;
	BERTH_TRY(BERTH_NEW(tmp, told, s->n_devs, err));
	BERTH_TRY(BERTH_NEW(tmp, m->word, s->n_devs, err));
	BERTH_TRY(number_gpus(m, told, out->mem, err));
	x.theirs = told;
	BERTH_TRY(berth_export_theirs(&x, usual, "device of accelerate", m->word, out, err));
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

/* Every operator is of one module: a layer, or what is in front of them or behind them. */
static berth_status place_op(making *m, int32_t op, char *module, size_t size)
{
	const decoder_names *names = &m->m.arch->style->names;
	const char *name = m->x->g->op_name[op];
	size_t n = strlen(names->layer), e = strlen(names->embed);
	int32_t d = m->x->op_dev[op], *to;
	long layer = -1;
	if (strncmp(name, names->layer, n) == 0 && name[n] == '.')
		layer = strtol(name + n + 1, NULL, 10);
	if (layer >= m->m.n_layers)
		return BERTH_OK;
	to = layer >= 0                                                           ? &m->layer_dev[layer]
	     : strncmp(name, names->embed, e) == 0                                ? &m->embed
	     : strncmp(name, names->output, strlen(names->output)) == 0           ? &m->output
	     : strncmp(name, names->output_norm, strlen(names->output_norm)) == 0 ? &m->norm
	                                                                          : NULL;
	if (!to)
		return BERTH_OK; /* the last row: it holds nothing */
	if (*to >= 0 && *to != d) {
		if (layer >= 0)
			snprintf(module, size, "%s.%ld", names->layer, layer);
		else
			snprintf(module, size, "%s", name);
		return split(m, module, *to, d, name);
	}
	*to = d;
	return BERTH_OK;
}

static berth_status find_modules(making *m, berth_arena *tmp)
{
	char module[160];
	BERTH_TRY(BERTH_NEW(tmp, m->layer_dev, m->m.n_layers, m->err));
	m->embed = m->norm = m->output = -1;
	for (int32_t i = 0; i < m->m.n_layers; i++)
		m->layer_dev[i] = -1;
	for (int32_t op = 0; op < m->x->g->n_ops; op++)
		BERTH_TRY(place_op(m, op, module, sizeof module));
	for (int32_t i = 0; i < m->m.n_layers; i++)
		if (m->layer_dev[i] < 0)
			return berth_fail(m->err, BERTH_EUNSUPPORTED,
			                  "no operator of layer %d is in the plan", i);
	if (m->embed < 0 || m->output < 0)
		return berth_fail(m->err, BERTH_EUNSUPPORTED, "graph '%s' has no embedding or no output",
		                  m->x->g->name);
	if (m->norm < 0)
		m->norm = m->output;
	return BERTH_OK;
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

static berth_status put_map(const making *m, berth_export_out *out, berth_arena *tmp, berth_err *err)
{
	const hf_style *style = m->m.arch->style;
	berth_json_out w;
	const char *text;
	size_t len;
	berth_json_out_init(&w, out->mem, true);
	berth_json_open(&w, NULL, '{');
	put(m, &w, style->names.embed, m->embed);
	put(m, &w, style->position, m->embed);
	put(m, &w, style->rotary, m->embed);
	for (int32_t i = 0; i < m->m.n_layers; i++) {
		const char *name = berth_arena_printf(tmp, "%s.%d", style->names.layer, i);
		if (!name)
			return berth_nomem(err);
		put(m, &w, name, m->layer_dev[i]);
	}
	put(m, &w, style->names.output_norm, m->norm);
	put(m, &w, style->names.output, m->output);
	berth_json_close(&w, '}');
	BERTH_TRY(berth_json_done(&w, &text, &len, err));
	return berth_export_put(out, text, len, err);
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
	bool disk = false;
	for (int32_t i = 0; i < m->m.n_layers; i++)
		disk = disk || strcmp(m->word[m->layer_dev[i]], "disk") == 0;
	if (disk)
		BERTH_TRY(berth_export_note(out, err, "modules on disk need an offload_folder"));
	if (m->m.tied && m->embed != m->output)
		BERTH_TRY(berth_export_warn(
			out, err, "'%s' and '%s' share a matrix and are on two devices: each holds it",
			m->m.arch->style->names.embed, m->m.arch->style->names.output));
	return BERTH_OK;
}

static berth_status write(const berth_export_source *x, berth_arena *tmp, berth_export_out *out,
                          berth_err *err)
{
	making m = {.x = x, .err = err};
	BERTH_TRY(hf_model_read(x->model, tmp, &m.m, err));
	BERTH_TRY(name_devices(&m, out, tmp, err));
	BERTH_TRY(find_modules(&m, tmp));
	BERTH_TRY(put_map(&m, out, tmp, err));
	BERTH_TRY(set_memory(&m, out, err));
	return tell(&m, out, err);
}

const berth_exporter berth_export_accelerate = {.name = "accelerate",
                                                .about = "The device_map of a model folder",
                                                .suffix = ".json",
                                                .needs = BERTH_EXPORT_PLACEMENT,
                                                .model = "safetensors",
                                                .write = write};
