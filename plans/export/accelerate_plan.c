/* A plan of a model folder by modules: what accelerate calls the devices, which module each operator is of,
 * where operators compute, and what devices hold meanwhile. A layer is never split: its residual sums need
 * both ends on one device. */
#include "accelerate_plan.h"

#include "nearest.h"

/* ---- device_map="auto": modules are asked from the outside in, the body, its parts, single layers ---- */

static int64_t bytes_of(const accelerate_model *m, int32_t from, int32_t to)
{
	int64_t sum = 0;
	for (int32_t k = from; k < to; k++)
		sum += m->bytes[k];
	return sum;
}

void accelerate_balance(const accelerate_model *m, double *room, int32_t n_gpus)
{
	const int64_t all = bytes_of(m, 0, ACCELERATE_PARTS(m->n_layers)),
		      mean = m->n_leaves ? all / m->n_leaves : 0,
		      block = m->n_layers ? m->bytes[ACCELERATE_LAYER] : 0;
	room[n_gpus] *= 0.9;
	if (n_gpus == 1)
		room[0] *= 0.9;
	if (n_gpus < 2)
		return;
	double each = (double)(all / n_gpus + (int64_t)(1.25 * (double)(block > mean ? block : mean)));
	for (int32_t i = 0; i < n_gpus - 1; i++)
		room[i] = each < room[i] ? each : room[i];
}

typedef struct filling {
	const accelerate_model *m;
	int32_t from, end;              /* modules that are left */
	bool body_split, layers_split;
	int64_t max_layer_size;
} filling;

/* The module at the front ends here: all but the output, the list of layers, or a single one. */
static int32_t front_end(const filling *f)
{
	const int32_t norm = ACCELERATE_NORM(f->m->n_layers);
	if (f->from == ACCELERATE_EMBED && !f->body_split)
		return ACCELERATE_OUTPUT(f->m->n_layers);
	return f->from == ACCELERATE_LAYER && !f->layers_split ? norm : f->from + 1;
}

static bool look_inside(filling *f, int32_t to)
{
	if (to == ACCELERATE_OUTPUT(f->m->n_layers) && !f->body_split)
		return f->body_split = true;
	if (f->from == ACCELERATE_LAYER && !f->layers_split && f->m->n_layers)
		return f->layers_split = true;
	return false;
}

static void find_max_layer(filling *f, int32_t from)
{
	f->max_layer_size = 0;
	for (int32_t k = from; k < f->end; k++)
		if (f->m->bytes[k] > f->max_layer_size)
			f->max_layer_size = f->m->bytes[k];
}

/* The largest layer is looked for anew when none of that size is left behind the front. */
static void drop_max_layer(filling *f, int32_t to)
{
	for (int32_t k = to; k < f->end; k++)
		if (f->m->bytes[k] == f->max_layer_size)
			return;
	find_max_layer(f, to);
}

void accelerate_fill(const accelerate_model *m, const double *room, int32_t n_gpus, int32_t *at)
{
	filling f = {.m = m, .end = ACCELERATE_PARTS(m->n_layers)};
	const int32_t disk = n_gpus + 1;
	int32_t device = 0;
	double used = 0;
	find_max_layer(&f, 0);
	while (f.from < f.end) {
		int32_t to = front_end(&f);
		drop_max_layer(&f, to);
		const bool main = device == 0 || device == n_gpus; /* keeps room for a layer from elsewhere */
		const double reserved = main ? (double)f.max_layer_size : 0;
		if (device == disk || used + (double)bytes_of(m, f.from, to) <= room[device] - reserved) {
			used += (double)bytes_of(m, f.from, to);
			/* With the output, where that is tied to the embedding. */
			const int32_t output = ACCELERATE_OUTPUT(f.m->n_layers);
			for (int32_t k = f.from; k < to; k++)
				at[k] = device;
			if (f.m->tied && f.from == ACCELERATE_EMBED)
				at[f.end = output] = device;
			f.from = to;
		} else if (look_inside(&f, to)) {
			find_max_layer(&f, f.from);
		} else {
			device++;
			used = 0;
		}
	}
}

/* ---- where operators compute, and what devices hold ---- */

bool accelerate_is_stored(const accelerate_plan *m, int32_t d)
{
	return strcmp(m->word[d], "cpu") == 0 || strcmp(m->word[d], "disk") == 0;
}

int32_t accelerate_main(const accelerate_plan *m)
{
	int32_t cpu = -1;
	for (int32_t k = 0; k < ACCELERATE_PARTS(m->m.n_layers); k++) {
		if (!accelerate_is_stored(m, m->part_dev[k]))
			return m->part_dev[k];
		if (cpu < 0 && strcmp(m->word[m->part_dev[k]], "cpu") == 0)
			cpu = m->part_dev[k];
	}
	return cpu;
}

/* Is the operator's weight copied to where it computes? Two devices of one word are one. */
static bool is_copied(const accelerate_plan *m, const int32_t *run_dev, int32_t op)
{
	return strcmp(m->word[m->op_dev[op]], m->word[run_dev[op]]) != 0;
}

/* held [n_devs]: weights of a placement without states. */
static berth_status weigh(const accelerate_plan *m, const int32_t *op_dev, berth_arena *tmp, int64_t *held)
{
	const berth_graph *g = m->x->g;
	BERTH_TRY(berth_held_bytes(g, op_dev, m->x->s->n_devs, tmp, held, m->err));
	for (int32_t op = 0; op < g->n_ops; op++)
		held[op_dev[op]] -= g->op_state_bytes[op];
	return BERTH_OK;
}

berth_status accelerate_needs(const accelerate_plan *m, berth_arena *tmp, int64_t *needs, int64_t *weights)
{
	BERTH_SCRATCH(tmp);
	const berth_graph *g = m->x->g;
	const int32_t n_devs = m->x->s->n_devs;
	berth_timeline t = {0};
	int64_t *at_run, *copied;
	int32_t *run_dev;
	bool runs;
	BERTH_CLEAR(needs, n_devs);
	BERTH_CLEAR(weights, n_devs);
	/* run_dev [n_ops]: where operators compute. runs false: one cannot. */
	const int32_t n_ops = m->x->g->n_ops, main = accelerate_main(m);
	BERTH_TRY_NEW(tmp, n_ops, m->err, run_dev);
	runs = main >= 0;
	for (int32_t op = 0; op < n_ops && runs; op++) {
		int32_t d = m->op_dev[op], at = accelerate_is_stored(m, d) ? main : d;
		run_dev[op] = at;
		runs = berth_op_time(m->x->p, op, at) >= 0;
	}
	if (runs)
		BERTH_TRY(berth_timeline_new(m->x->p, run_dev, NULL, tmp, &t, m->err));
	if (!t.r.runs)
		return BERTH_OK;
	BERTH_TRY_NEW(tmp, n_devs, m->err, at_run, copied);
	BERTH_TRY(weigh(m, m->op_dev, tmp, weights));
	BERTH_TRY(weigh(m, run_dev, tmp, at_run));
	for (int32_t op = 0; op < g->n_ops; op++) {
		int64_t bytes = is_copied(m, run_dev, op) ? berth_graph_op_weights(g, op) : 0;
		if (bytes > copied[run_dev[op]])
			copied[run_dev[op]] = bytes;
	}
	for (int32_t d = 0; d < n_devs; d++)
		needs[d] = weights[d] + copied[d] + t.peak_bytes[d] - at_run[d];
	return BERTH_OK;
}

/* ---- what accelerate calls the devices ---- */

bool accelerate_is_number(const char *text)
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
	       accelerate_is_number(text) ||
	       (colon && kind > 0 && text + kind == colon && accelerate_is_number(colon + 1));
}

/* ---- modules ---- */

int32_t accelerate_part(const accelerate_plan *m, int32_t op)
{
	const decoder_names *names = &m->m.arch->style->names;
	const char *name = m->x->g->op_name[op], *position = m->m.arch->style->position;
	const int32_t n_layers = m->m.n_layers;
	size_t n = strlen(names->layer);
	if (strncmp(name, names->layer, n) == 0 && name[n] == '.') {
		int32_t layer = berth_text_digits(name + n + 1, n_layers - 1, NULL);
		return layer >= 0 ? ACCELERATE_LAYER + layer : -1;
	}
	return berth_export_begins(name, names->embed)           ? ACCELERATE_EMBED
	       : position && berth_export_begins(name, position) ? ACCELERATE_POSITION
	       : berth_export_begins(name, names->output)        ? ACCELERATE_OUTPUT(n_layers)
	       : berth_export_begins(name, names->output_norm)   ? ACCELERATE_NORM(n_layers)
	                                                         : -1;
}

/* Every operator is of one module: a layer, or what is in front of them or behind them. */
static berth_status place_op(accelerate_plan *m, int32_t op, char *module, size_t size)
{
	const char *name = m->x->g->op_name[op];
	int32_t d = m->op_dev[op], part = accelerate_part(m, op);
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
		return berth_fail(m->err, BERTH_EUNSUPPORTED,
		                  "module '%s' is on '%s' and on '%s' (operator '%s'); accelerate keeps a "
		                  "module on one device: plan with --granularity layer",
		                  module, m->x->s->dev_name[m->part_dev[part]], m->x->s->dev_name[d], name);
	}
	m->part_dev[part] = d;
	return BERTH_OK;
}

static berth_status find_modules(accelerate_plan *m, berth_arena *tmp)
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

berth_status accelerate_open(accelerate_plan *m, const int32_t *op_dev, berth_export_out *out,
                             berth_arena *tmp)
{
	m->op_dev = op_dev;
	if (!m->m.arch)
		BERTH_TRY(hf_model_read(m->x->model, tmp, &m->m, m->err));
	berth_err *err = m->err;
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
	return find_modules(m, tmp);
}
