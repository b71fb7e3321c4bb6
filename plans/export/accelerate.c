/* Exporter "accelerate": a plan of a model folder as the device_map of transformers and accelerate. It names
 * modules: embedding, layers, last norm and output, which together hold every parameter once. Values are
 * numbers of GPUs, "cpu", "disk", or what the user calls a device ("cuda:1").
 *
 * Beside a GPU, modules on "cpu" and "disk" are only stored there: dispatch_model of accelerate copies their
 * weights to the first GPU of the map for each pass, and computes there. So plans are priced. */
#include "accelerate_plan.h"

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

static berth_status count(const accelerate_plan *m, berth_arena *tmp, accelerate_model *out, berth_err *err)
{
	const berth_graph *g = m->x->g;
	const int32_t n = m->m.n_layers;
	const char *before = "";
	int64_t *bytes;
	BERTH_TRY_NEW(tmp, ACCELERATE_PARTS(n), err, bytes);
	*out = (accelerate_model){
		.bytes = bytes, .n_layers = n, .n_leaves = rotary_bytes(&m->m) > 0, .tied = m->m.d.tied};
	for (int32_t op = 0; op < g->n_ops; op++) {
		int32_t part = accelerate_part(m, op);
		if (part < 0 || !berth_graph_op_weights(g, op) || (out->tied && part == ACCELERATE_OUTPUT(n)))
			continue;
		bytes[part] += berth_graph_op_weights(g, op);
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
static berth_status order_devices(accelerate_plan *m, berth_arena *tmp, int32_t *dev, int32_t *n_gpus,
                                  berth_err *err)
{
	const berth_system *s = m->x->s;
	const char **told;
	int32_t cpu = -1, disk = -1;
	BERTH_TRY_NEW(tmp, s->n_devs, err, told);
	BERTH_TRY(berth_export_number_gpus(m->x, "", told, tmp, err));
	*n_gpus = 0;
	for (int32_t number = 0; number < 1000 && *n_gpus < s->n_devs; number++)
		for (int32_t d = 0; d < s->n_devs; d++)
			if (told[d] && accelerate_is_number(told[d]) &&
			    berth_text_digits(told[d], 999, NULL) == number) {
				dev[(*n_gpus)++] = d;
				break;
			}
	for (int32_t d = s->n_devs - 1; d >= 0; d--) {
		bool is_cpu = berth_system_is(s, d, "cpu");
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

/* Its choice where devices have so much room. */
typedef struct choice {
	accelerate_model model;
	int32_t dev[BERTH_MAX_DEVS + 2], n_gpus;
	double room[BERTH_MAX_DEVS + 2]; /* max_memory */
	bool limited;                    /* less than what is free */
} choice;

static berth_status choose(accelerate_plan *m, const choice *c, berth_arena *tmp, int32_t *op_dev,
                           bool *known)
{
	double room[BERTH_MAX_DEVS + 2];
	int32_t *at;
	BERTH_TRY_NEW(tmp, ACCELERATE_PARTS(m->m.n_layers), m->err, at);
	BERTH_COPY(room, c->room, c->n_gpus + 1);
	accelerate_balance(&c->model, room, c->n_gpus);
	accelerate_fill(&c->model, room, c->n_gpus, at);
	*known = true;
	for (int32_t op = 0; op < m->x->g->n_ops; op++) {
		int32_t part = accelerate_part(m, op);
		op_dev[op] = c->dev[at[part < 0 ? ACCELERATE_OUTPUT(m->m.n_layers) : part]];
		*known = *known && op_dev[op] >= 0;
	}
	return BERTH_OK;
}

/* The first device that is too full by what accelerate needs gets less room; *full: there is one. */
static berth_status limit(accelerate_plan *m, choice *c, const int32_t *op_dev, berth_arena *tmp, bool *full)
{
	BERTH_SCRATCH(tmp);
	berth_export_out unheard = {.mem = tmp};
	const int32_t n_devs = m->x->s->n_devs;
	int64_t *needs, *weights;
	*full = false;
	berth_status st = accelerate_open(m, op_dev, &unheard, tmp);
	if (st != BERTH_OK)
		return st == BERTH_ENOMEM ? st : BERTH_OK; /* a device has no name */
	BERTH_TRY_NEW(tmp, n_devs, m->err, needs, weights);
	BERTH_TRY(accelerate_needs(m, tmp, needs, weights));
	for (int32_t i = 0; i <= c->n_gpus && !*full; i++) {
		const int32_t d = c->dev[i];
		const int64_t most = d < 0 ? -1 : m->x->p->dev_limit_bytes[d];
		if (most < 0 || needs[d] <= most || weights[d] == 0)
			continue;
		c->room[i] = (double)(weights[d] - 1);
		c->limited = *full = true;
	}
	return BERTH_OK;
}

/* transformers counts weights alone. Where the cache and what is computed do not fit beside them, users give
 * max_memory: so does this, until it fits. Where nothing fits, it is the choice without. */
static berth_status find_usual(accelerate_plan *m, berth_arena *tmp, choice *c, int32_t *op_dev, bool *known)
{
	bool full = true;
	*c = (choice){.limited = false};
	BERTH_TRY(hf_model_read(m->x->model, tmp, &m->m, m->err));
	BERTH_TRY(count(m, tmp, &c->model, m->err));
	BERTH_TRY(order_devices(m, tmp, c->dev, &c->n_gpus, m->err));
	for (int32_t i = 0; i <= c->n_gpus; i++)
		c->room[i] = free_bytes(m->x->s, c->dev[i]);
	const choice free = *c;
	do {
		BERTH_TRY(choose(m, c, tmp, op_dev, known));
		if (!*known)
			break;
		BERTH_TRY(limit(m, c, op_dev, tmp, &full));
	} while (full);
	if (*known || !c->limited)
		return BERTH_OK;
	*c = free;
	return choose(m, c, tmp, op_dev, known);
}

static berth_status usual(const berth_export_source *x, berth_arena *tmp, int32_t *op_dev, bool *known,
                          berth_err *err)
{
	accelerate_plan m = {.x = x, .err = err};
	choice c;
	*known = false;
	return x->model && x->p ? find_usual(&m, tmp, &c, op_dev, known) : BERTH_OK;
}
/* ---- the file ---- */

static void put(const accelerate_plan *m, berth_json_out *w, const char *module, int32_t d)
{
	if (!module)
		return;
	if (!accelerate_is_number(m->word[d]))
		berth_json_put_string(w, module, m->word[d]);
	else
		berth_json_put_int(w, module, berth_text_digits(m->word[d], 999, NULL));
}

static berth_status put_map(const accelerate_plan *m, berth_json_out *w, berth_arena *tmp, berth_err *err)
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

/* What users have to say with "auto", by the words of the map. */
static berth_status tell_limit(const accelerate_plan *m, const choice *c, berth_export_out *out,
                               berth_arena *tmp, berth_err *err)
{
	berth_json_out w;
	const char *text;
	if (!c->limited)
		return BERTH_OK;
	berth_json_out_init(&w, tmp, false);
	berth_json_open(&w, NULL, '{');
	for (int32_t i = 0; i <= c->n_gpus; i++) {
		const int32_t d = c->dev[i];
		char number[16];
		snprintf(number, sizeof number, "%d", i);
		if (d >= 0 && isfinite(c->room[i]))
			berth_json_put_int(&w,
			                   m->word[d]      ? m->word[d]
			                   : i < c->n_gpus ? number
			                                   : "cpu",
			                   (int64_t)c->room[i]);
	}
	berth_json_close(&w, '}');
	BERTH_TRY(berth_json_done(&w, &text, NULL, err));
	return berth_export_note(
		out, err,
		"device_map=\"auto\" counts weights alone, and would fill a device beyond its memory; "
		"the default is that with max_memory=%s",
		text);
}

/* The map that transformers makes by itself. */
static berth_status tell_usual(const berth_export_source *x, berth_export_out *out, berth_arena *tmp,
                               berth_err *err)
{
	berth_export_out unheard = {.mem = out->mem};
	accelerate_plan m = {.x = x, .err = err};
	berth_json_out w;
	int32_t *op_dev;
	bool known = false;
	choice c;
	BERTH_TRY_NEW(tmp, x->g->n_ops, err, op_dev);
	if (x->p)
		BERTH_TRY(find_usual(&m, tmp, &c, op_dev, &known));
	berth_status st = known ? accelerate_open(&m, op_dev, &unheard, tmp) : BERTH_OK;
	if (!known || st != BERTH_OK)
		return st == BERTH_ENOMEM ? st : BERTH_OK; /* a device has no name */
	berth_json_out_init(&w, out->mem, false);
	BERTH_TRY(put_map(&m, &w, tmp, err));
	BERTH_TRY(berth_json_done(&w, &out->usual, NULL, err));
	return tell_limit(&m, &c, out, tmp, err);
}

/* The cache stands where layers compute, which the plan may not know. */
static berth_status find_full(const accelerate_plan *m, berth_export_out *out, berth_arena *tmp,
                              berth_err *err)
{
	const berth_system *s = m->x->s;
	int64_t *needs, *weights;
	char a[32], b[32];
	if (!m->x->p)
		return BERTH_OK;
	BERTH_TRY_NEW(tmp, s->n_devs, err, needs, weights);
	BERTH_TRY(accelerate_needs(m, tmp, needs, weights));
	for (int32_t d = 0; d < s->n_devs && !out->unfit; d++) {
		if (s->dev_memory_bytes[d] < 0 || needs[d] <= s->dev_memory_bytes[d])
			continue;
		out->unfit = berth_arena_printf(
			out->mem,
			"accelerate takes about %s on %s, which has %s: what is stored elsewhere is "
			"computed there, with its cache",
			berth_text_bytes(a, (double)needs[d]), s->dev_name[d],
			berth_text_bytes(b, (double)s->dev_memory_bytes[d]));
		BERTH_TRY(berth_got(out->unfit, err));
	}
	return BERTH_OK;
}

/* What all devices of d's word hold; below 0: one has no limit, or an earlier one has told of it. */
static double held_by(const accelerate_plan *m, int32_t d)
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
static berth_status set_memory(const accelerate_plan *m, berth_export_out *out, berth_err *err)
{
	const berth_system *s = m->x->s;
	berth_json_out w;
	const char *text;
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
	BERTH_TRY(berth_json_done(&w, &text, NULL, err));
	return any ? berth_export_set(out, "max_memory", text, err) : BERTH_OK;
}

static berth_status tell(const accelerate_plan *m, berth_export_out *out, berth_err *err)
{
	const int32_t n = m->m.n_layers, main = accelerate_main(m);
	const int32_t embed = m->part_dev[ACCELERATE_EMBED], output = m->part_dev[ACCELERATE_OUTPUT(n)];
	bool disk = false;
	int32_t away = 0;
	for (int32_t i = 0; i < n; i++) {
		const char *word = m->word[m->part_dev[ACCELERATE_LAYER + i]];
		disk = disk || strcmp(word, "disk") == 0;
		away += accelerate_is_stored(m, m->part_dev[ACCELERATE_LAYER + i]);
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
static berth_status check_tied(const accelerate_plan *m)
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
	accelerate_plan m = {.x = x, .err = err};
	berth_json_out w;
	BERTH_TRY(accelerate_open(&m, x->op_dev, out, tmp));
	BERTH_TRY(check_tied(&m));
	berth_json_out_init(&w, out->mem, true);
	BERTH_TRY(put_map(&m, &w, tmp, err));
	BERTH_TRY(berth_export_put_json(out, &w, err));
	BERTH_TRY(set_memory(&m, out, err));
	BERTH_TRY(tell_usual(x, out, tmp, err));
	BERTH_TRY(find_full(&m, out, tmp, err));
	return tell(&m, out, err);
}

const berth_exporter berth_export_accelerate = {
	.name = "accelerate",
	.about = "The device_map of a model folder, for transformers",
	.suffix = ".json",
	.needs = BERTH_EXPORT_PLACEMENT,
	.model = "safetensors",
	.write = write,
	.usual = usual,
};
