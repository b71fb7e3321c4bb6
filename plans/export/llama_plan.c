/* From a placement to whole layers and single tensors, as llama.cpp's loader can be told them, and back. What
 * it cannot be told is refused with the layer or the operator named. */
#include "llama_plan.h"

typedef struct planning {
	const berth_export_source *x;
	const berth_graph *g;
	const berth_gguf_list *file;
	int32_t *dev;    /* [n_ops] devices, those that are the CPU as LLAMA_CPU */
	const char *cpu; /* a name of the CPU, for messages */
	berth_strmap ops;
	berth_arena *mem, *tmp;
	llama_plan *out;
	berth_err *err;
} planning;

static const char *name_of(const planning *p, int32_t dev)
{
	return dev < 0 ? p->cpu : p->x->s->dev_name[dev];
}

static int32_t find(const planning *p, const char *name)
{
	return berth_strmap_get(&p->ops, name);
}

bool llama_is_disk(const berth_export_source *x, int32_t dev)
{
	return berth_system_is(x->s, dev, "disk");
}

bool llama_on_cpu(const berth_export_source *x, int32_t dev)
{
	if (x->theirs && x->theirs[dev])
		return strcmp(x->theirs[dev], "CPU") == 0;
	return berth_system_is(x->s, dev, "cpu") || llama_is_disk(x, dev);
}

int32_t llama_tensor(const berth_gguf_list *file, const char *name)
{
	for (int32_t t = 0; t < file->n_tensors; t++)
		if (strcmp(file->name[t], name) == 0)
			return t;
	return -1;
}

berth_status llama_index_new(const berth_gguf_list *file, berth_arena *mem, llama_index *out, berth_err *err)
{
	int32_t n = file->n_tensors, n_layers = file->n_all_layers;
	llama_index x;
	BERTH_TRY_NEW(mem, n, err, x.layer, x.rest, x.tensor);
	BERTH_TRY_NEW(mem, n_layers + 3, err, x.off);
	for (int32_t t = 0; t < n; t++) {
		x.layer[t] = berth_gguf_layer_of(file->name[t], &x.rest[t]);
		if (x.layer[t] < n_layers)
			x.off[x.layer[t] + 3]++;
	}
	for (int32_t l = 0; l <= n_layers; l++)
		x.off[l + 2] += x.off[l + 1];
	for (int32_t t = 0; t < n; t++)
		if (x.layer[t] < n_layers)
			x.tensor[x.off[x.layer[t] + 2]++] = t;
	*out = x;
	return BERTH_OK;
}

bool llama_is_expert(const char *rest)
{
	static const char *const kind[] = {"ffn_up_", "ffn_down_", "ffn_gate_up_", "ffn_gate_"};
	for (size_t i = 0; i < sizeof kind / sizeof *kind; i++)
		if (berth_export_begins(rest, kind[i])) {
			const char *end = rest + strlen(kind[i]);
			if (berth_export_begins(end, "exps") || berth_export_begins(end, "chexps"))
				return true;
		}
	return false;
}

void llama_plan_follow(llama_plan *plan, const berth_gguf_list *file, const llama_index *ix)
{
	int32_t n = file->n_layers;
	plan->n_offloaded = 0;
	for (int32_t i = 0; i <= n; i++)
		plan->n_offloaded += plan->unit_dev[i] != LLAMA_CPU;
	for (int32_t t = 0; t < file->n_tensors; t++) {
		int32_t l = ix->layer[t];
		bool output = berth_export_begins(file->name[t], "output");
		plan->told[t] = false;
		plan->tensor_dev[t] = l >= 0 && l < n ? plan->unit_dev[l]
		                      : output        ? plan->unit_dev[n]
		                                      : LLAMA_CPU;
	}
}

/* ---- whole layers ---- */

/* The device of a layer is that of its cache; of one without attention that of its first operator, and of one
 * without operators that of the layer before. */
static void find_caches(const planning *p)
{
	int32_t *unit = p->out->unit_dev, n = p->out->n_layers;
	for (int32_t i = 0; i <= n; i++)
		unit[i] = LLAMA_FREE;
	for (int caches = 1; caches >= 0; caches--)
		for (int32_t op = 0; op < p->g->n_ops; op++) {
			int32_t layer = berth_gguf_layer_of(p->g->op_name[op], NULL);
			if (layer >= 0 && layer < n &&
			    (caches ? p->g->op_state_bytes[op] > 0 : unit[layer] == LLAMA_FREE))
				unit[layer] = p->dev[op];
		}
	for (int32_t i = 0; i < n; i++)
		if (unit[i] == LLAMA_FREE)
			unit[i] = i ? unit[i - 1] : LLAMA_CPU;
}

/* Layers in runs: the CPU first, then each device once. */
static berth_status find_runs(const planning *p)
{
	llama_plan *o = p->out;
	int32_t n = o->n_layers, first = 0;
	while (first < n && o->unit_dev[first] == LLAMA_CPU)
		first++;
	for (int32_t i = first; i < n; i++) {
		int32_t d = o->unit_dev[i];
		if (o->n_devs && o->dev[o->n_devs - 1] == d) {
			o->dev_units[o->n_devs - 1]++;
			continue;
		}
		if (d == LLAMA_CPU)
			return berth_fail(
				p->err, BERTH_EUNSUPPORTED,
				"layer %d and its cache stand on '%s' behind layer %d on '%s'; llama.cpp "
				"puts the first layers on the CPU, no later ones",
				i, name_of(p, d), i - 1, name_of(p, o->unit_dev[i - 1]));
		for (int32_t k = 0; k < o->n_devs; k++)
			if (o->dev[k] == d)
				return berth_fail(
					p->err, BERTH_EUNSUPPORTED,
					"layer %d and its cache stand on '%s' again, behind layers on "
					"'%s'; llama.cpp puts neighbouring layers on a device, once",
					i, name_of(p, d), name_of(p, o->unit_dev[i - 1]));
		o->dev[o->n_devs] = d;
		o->dev_units[o->n_devs++] = 1;
	}
	o->n_offloaded = n - first;
	return BERTH_OK;
}

static int32_t place_of(const llama_plan *o, int32_t dev)
{
	for (int32_t k = 0; k < o->n_devs; k++)
		if (o->dev[k] == dev)
			return k;
	return -1;
}

/* The output is the unit behind the last layer. Where it cannot be a run of its own it goes with the last
 * layer, and its tensors are told. */
static void place_output(llama_plan *o, int32_t dev)
{
	int32_t n = o->n_layers, last = o->n_devs - 1;
	if (dev == LLAMA_CPU && o->n_offloaded == 0) {
		o->unit_dev[n] = LLAMA_CPU;
		return;
	}
	if (dev != LLAMA_CPU && place_of(o, dev) < 0) {
		o->dev[o->n_devs] = dev;
		o->dev_units[o->n_devs++] = 1;
		o->unit_dev[n] = dev;
	} else {
		o->dev_units[last]++;
		o->unit_dev[n] = o->dev[last];
	}
	o->n_offloaded++;
}

/* ---- tensors ---- */

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);
	return n >= m && strcmp(text + n - m, end) == 0;
}

/* Of "ffn_up.7.weight", one of many experts: the length of "ffn_up"; else 0. */
static size_t expert_word(const char *rest)
{
	const size_t n = strspn(rest, "abcdefghijklmnopqrstuvwxyz_");
	const char *end = rest;
	bool expert = strncmp(rest, "ffn_", 4) == 0 && rest[n] == '.' &&
	              berth_text_digits(rest + n + 1, 99999, &end) >= 0;
	return expert && strcmp(end, ".weight") == 0 ? n : 0;
}

/* The operator that uses a tensor: of its name; for a norm's bias, of its weight; for one of many experts, of
 * all. */
static berth_status op_of_tensor(const planning *p, const char *name, int32_t *op)
{
	size_t n;
	const char *rest;
	int32_t layer = berth_gguf_layer_of(name, &rest);
	*op = find(p, name);
	if (*op >= 0)
		return BERTH_OK;
	const char *other = NULL;
	if (ends_with(name, ".bias"))
		other = berth_arena_printf(p->tmp, "%.*s.weight", (int)(strlen(name) - 5), name);
	else if (layer >= 0 && (n = expert_word(rest)) > 0)
		other = berth_arena_printf(p->tmp, "blk.%d.%.*s_exps.weight", layer, (int)n, rest);
	else
		return BERTH_OK;
	BERTH_TRY(berth_got(other, p->err));
	*op = find(p, other);
	return BERTH_OK;
}

/* Where the tensor lies when nothing is told of it; LLAMA_FREE: that is llama.cpp's to know. */
static int32_t usual_dev(const planning *p, const char *name)
{
	int32_t layer = berth_gguf_layer_of(name, NULL), n = p->out->n_layers;
	if (layer >= 0)
		return layer < n ? p->out->unit_dev[layer] : LLAMA_FREE;
	if (strncmp(name, "output", 6) == 0)
		return p->out->unit_dev[n];
	return strncmp(name, "token_embd", 10) == 0 ? LLAMA_CPU : LLAMA_FREE;
}

static berth_status place_tensors(const planning *p)
{
	llama_plan *o = p->out;
	for (int32_t t = 0; t < p->file->n_tensors; t++) {
		const char *name = p->file->name[t];
		int32_t op, usual = usual_dev(p, name);
		BERTH_TRY(op_of_tensor(p, name, &op));
		o->tensor_dev[t] = op >= 0 ? p->dev[op] : usual;
		o->told[t] = o->tensor_dev[t] != usual;
	}
	return BERTH_OK;
}

/* A matrix that embedding and output share is one tensor with one word for both. */
static berth_status place_tied(const planning *p, int32_t embed, int32_t output)
{
	llama_plan *o = p->out;
	int32_t in = p->dev[embed], out = p->dev[output];
	if (llama_tensor(p->file, "output.weight") >= 0 || in == out)
		return BERTH_OK;
	if (in == LLAMA_CPU && out == o->unit_dev[o->n_layers])
		return BERTH_OK;
	return berth_fail(
		p->err, BERTH_EUNSUPPORTED,
		"operators 'token_embd.weight' on '%s' and 'output.weight' on '%s' share a matrix, of which "
		"llama.cpp can be told one place only; put both on one device, or the first on the CPU and "
		"the second where the last layer is",
		name_of(p, in), name_of(p, out));
}

/* With both at one place, away from the usual ones, that place is told. */
static void tell_tied(const planning *p, int32_t embed, int32_t output)
{
	llama_plan *o = p->out;
	int32_t t = llama_tensor(p->file, "token_embd.weight");
	if (t >= 0 && llama_tensor(p->file, "output.weight") < 0)
		o->told[t] = p->dev[embed] == p->dev[output] &&
		             (p->dev[embed] != LLAMA_CPU || o->unit_dev[o->n_layers] != LLAMA_CPU);
}

/* ---- operators without weights ---- */

static bool beside_neighbour(const planning *p, int32_t op)
{
	const berth_graph *g = p->g;
	BERTH_EACH (i, g->op_in_off, op)
		if (p->dev[g->tensor_producer[g->in_tensor[i]]] == p->dev[op])
			return true;
	BERTH_EACH_USE (e, g, op)
		if (p->dev[g->edge_consumer[e]] == p->dev[op])
			return true;
	return false;
}

static berth_status check_weightless(const planning *p)
{
	const berth_graph *g = p->g;
	for (int32_t op = 0; op < g->n_ops; op++) {
		int32_t layer = berth_gguf_layer_of(g->op_name[op], NULL);
		if (layer >= p->out->n_layers)
			return berth_fail(p->err, BERTH_EFORMAT,
			                  "operator '%s' is in none of the %d layers of the file: it changed "
			                  "while it was read",
			                  g->op_name[op], p->out->n_layers);
		if (!berth_graph_has_weights(g, op) && g->op_state_bytes[op] == 0 && !beside_neighbour(p, op))
			return berth_fail(p->err, BERTH_EUNSUPPORTED,
			                  "operator '%s' holds no weight and is alone on '%s'; llama.cpp "
			                  "runs it beside its "
			                  "neighbours",
			                  g->op_name[op], name_of(p, p->dev[op]));
	}
	return BERTH_OK;
}

/* Devices that hold single tensors only come last, with no layer. */
static void add_devices(const planning *p)
{
	llama_plan *o = p->out;
	for (int32_t t = 0; t < p->file->n_tensors; t++)
		if (o->told[t] && o->tensor_dev[t] >= 0 && place_of(o, o->tensor_dev[t]) < 0) {
			o->dev_units[o->n_devs] = 0;
			o->dev[o->n_devs++] = o->tensor_dev[t];
		}
}

static berth_status make(planning *p)
{
	llama_plan *o = p->out;
	BERTH_TRY(berth_graph_names(p->g, p->tmp, &p->ops, p->err));
	*o = (llama_plan){.n_layers = p->file->n_layers};
	BERTH_TRY_NEW(p->mem, o->n_layers + 1, p->err, o->unit_dev);
	BERTH_TRY_NEW(p->mem, p->x->s->n_devs + 1, p->err, o->dev, o->dev_units);
	BERTH_TRY_NEW(p->mem, p->file->n_tensors, p->err, o->tensor_dev, o->told);
	int32_t embed = find(p, "token_embd.weight"), output = find(p, "output.weight");
	if (embed < 0 || output < 0)
		return berth_fail(p->err, BERTH_EUNSUPPORTED,
		                  "graph '%s' is not that of a GGUF model: it has no "
		                  "operators 'token_embd.weight' and 'output.weight'",
		                  p->g->name);
	find_caches(p);
	BERTH_TRY(find_runs(p));
	place_output(o, p->dev[output]);
	BERTH_TRY(place_tied(p, embed, output));
	BERTH_TRY(place_tensors(p));
	tell_tied(p, embed, output);
	add_devices(p);
	return check_weightless(p);
}

berth_status llama_plan_make(const berth_export_source *x, const berth_gguf_list *file, berth_arena *mem,
                             berth_arena *tmp, llama_plan *out, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	planning p = {.x = x, .g = x->g, .file = file, .cpu = "the CPU", .mem = mem, .tmp = tmp, .out = out,
	              .err = err};
	BERTH_TRY_NEW(tmp, x->g->n_ops, err, p.dev);
	for (int32_t op = 0; op < x->g->n_ops; op++) {
		p.dev[op] = x->op_dev[op];
		if (!llama_on_cpu(x, x->op_dev[op]))
			continue;
		p.dev[op] = LLAMA_CPU;
		p.cpu = x->s->dev_name[x->op_dev[op]];
	}
	return make(&p);
}

/* ---- back ---- */

/* The one of its producers that is computed last; -1: it takes nothing. */
static int32_t last_producer(const berth_graph *g, int32_t op)
{
	int32_t last = -1;
	BERTH_EACH (i, g->op_in_off, op) {
		int32_t from = g->tensor_producer[g->in_tensor[i]];
		if (last < 0 || g->op_topo[from] > g->op_topo[last])
			last = from;
	}
	return last;
}

static int32_t dev_without_weight(const berth_graph *g, const llama_plan *plan, const int32_t *dev,
                                  int32_t op)
{
	int32_t layer = berth_gguf_layer_of(g->op_name[op], NULL), from = last_producer(g, op);
	if (layer < 0 || layer >= plan->n_layers)
		return plan->unit_dev[plan->n_layers];
	return g->op_state_bytes[op] > 0 || from < 0 ? plan->unit_dev[layer] : dev[from];
}

static berth_status find_ops(planning *p, const llama_plan *plan, int32_t *dev)
{
	int32_t op, n = p->g->n_ops;
	BERTH_TRY(berth_graph_names(p->g, p->tmp, &p->ops, p->err));
	for (op = 0; op < n; op++)
		dev[op] = LLAMA_FREE;
	for (int32_t t = 0; t < p->file->n_tensors; t++) {
		BERTH_TRY(op_of_tensor(p, p->file->name[t], &op));
		if (op >= 0)
			dev[op] = plan->tensor_dev[t];
	}
	int32_t embed = find(p, "token_embd.weight"), output = find(p, "output.weight");
	int32_t tied = llama_tensor(p->file, "token_embd.weight");
	if (tied >= 0 && plan->told[tied] && output >= 0 && embed >= 0 && dev[output] == LLAMA_FREE)
		dev[output] = dev[embed];
	for (int32_t i = 0; i < n; i++) {
		op = p->g->topo_op[i];
		if (dev[op] == LLAMA_FREE)
			dev[op] = dev_without_weight(p->g, plan, dev, op);
	}
	return BERTH_OK;
}

berth_status llama_plan_ops(const berth_graph *g, const berth_gguf_list *file, const llama_plan *plan,
                            int32_t cpu_dev, berth_arena *tmp, int32_t *op_dev, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	planning p = {.g = g, .file = file, .tmp = tmp, .err = err};
	berth_status st = find_ops(&p, plan, op_dev);
	for (int32_t op = 0; st == BERTH_OK && op < g->n_ops; op++)
		if (op_dev[op] < 0)
			op_dev[op] = cpu_dev;
	return st;
}
