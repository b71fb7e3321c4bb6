/* Times, bytes and borders of layers as whole units, by kinds of devices. */
#include "llama_units.h"

typedef struct weighing {
	const berth_export_source *x;
	const berth_problem *p;
	const berth_gguf_list *file;
	llama_index ix;
	llama_units *u;
	int32_t *group;            /* [n_ops] 0: the embedding, 1 + unit */
	int32_t *off, *op;         /* operators of each group in topological order */
	int32_t *dev;              /* [n_ops] of the unit that is weighed */
	berth_arena *mem, *tmp;
	berth_err *err;
} weighing;

/* ---- kinds ---- */

static bool same_links(const berth_problem *p, int32_t a, int32_t b)
{
	for (int32_t c = 0; c < p->n_classes; c++) {
		for (int32_t d = 0; d < p->n_devs; d++)
			if (d != a && d != b &&
			    (p->class_pair_ns[berth_class_cell(p, c, a, d)] !=
			             p->class_pair_ns[berth_class_cell(p, c, b, d)] ||
			     p->class_pair_ns[berth_class_cell(p, c, d, a)] !=
			             p->class_pair_ns[berth_class_cell(p, c, d, b)]))
				return false;
		if (p->class_pair_ns[berth_class_cell(p, c, a, b)] !=
		    p->class_pair_ns[berth_class_cell(p, c, b, a)])
			return false;
	}
	return true;
}

static bool same_kind(const berth_problem *p, int32_t a, int32_t b)
{
	if (p->dev_limit_bytes[a] != p->dev_limit_bytes[b])
		return false;
	for (int32_t op = 0; op < p->n_ops; op++)
		if (berth_op_time(p, op, a) != berth_op_time(p, op, b) ||
		    berth_op_legal(p, op, a) != berth_op_legal(p, op, b))
			return false;
	return same_links(p, a, b);
}

static berth_status find_kinds(weighing *w)
{
	llama_units *u = w->u;
	const berth_problem *p = w->p;
	int32_t *kind, *first;
	BERTH_TRY_NEW(w->tmp, p->n_devs, w->err, kind, first);
	BERTH_TRY_NEW(w->mem, p->n_devs + 2, w->err, u->kind_off, u->kind_dev);
	u->cpu = -1;
	for (int32_t d = 0; d < p->n_devs; d++) {
		kind[d] = -1;
		if (llama_on_cpu(w->x, d)) {
			u->cpu = u->cpu < 0 && !llama_is_disk(w->x, d) ? d : u->cpu;
			u->has_disk |= llama_is_disk(w->x, d);
			continue;
		}
		int32_t k = 0;
		while (k < u->n_kinds && !same_kind(p, first[k], d))
			k++;
		if (k == u->n_kinds)
			first[u->n_kinds++] = d;
		kind[d] = k;
	}
	int32_t n = 0;
	for (int32_t k = 0; k < u->n_kinds; k++) {
		for (int32_t d = 0; d < p->n_devs; d++)
			if (kind[d] == k)
				u->kind_dev[n++] = d;
		u->kind_off[k + 1] = n;
	}
	return BERTH_OK;
}

/* A device of column k; -1: the CPU, where there is none. */
static int32_t dev_of(const llama_units *u, int32_t k)
{
	return k < u->n_kinds ? u->kind_dev[u->kind_off[k]] : u->cpu;
}

/* ---- operators of units ---- */

static int32_t group_of(const weighing *w, int32_t op)
{
	const char *name = w->p->g->op_name[op];
	int32_t l = berth_gguf_layer_of(name, NULL);
	if (l >= 0 && l < w->file->n_layers)
		return l + 1;
	return l < 0 && berth_export_begins(name, "token_embd") ? 0 : w->file->n_layers + 1;
}

static berth_status find_groups(weighing *w)
{
	const berth_graph *g = w->p->g;
	int32_t n = w->u->n + 1;
	BERTH_TRY_NEW(w->tmp, g->n_ops, w->err, w->group, w->op, w->dev);
	BERTH_TRY_NEW(w->tmp, n + 2, w->err, w->off);
	for (int32_t op = 0; op < g->n_ops; op++)
		w->off[(w->group[op] = group_of(w, op)) + 2]++;
	for (int32_t k = 0; k < n; k++)
		w->off[k + 2] += w->off[k + 1];
	for (int32_t i = 0; i < g->n_ops; i++)
		w->op[w->off[w->group[g->topo_op[i]] + 1]++] = g->topo_op[i];
	return BERTH_OK;
}

/* As llama_plan_ops has it: experts follow their weights, and what holds none the last that it takes. */
static int32_t apart_dev(const weighing *w, int32_t op, int32_t group, int32_t dev)
{
	const berth_graph *g = w->p->g;
	const char *rest;
	int32_t last = -1;
	berth_gguf_layer_of(g->op_name[op], &rest);
	if (llama_is_expert(rest))
		return w->u->cpu;
	if (berth_graph_has_weights(g, op) || g->op_state_bytes[op] > 0)
		return dev;
	BERTH_EACH (i, g->op_in_off, op) {
		int32_t from = g->tensor_producer[g->in_tensor[i]];
		if (last < 0 || g->op_topo[from] > g->op_topo[last])
			last = from;
	}
	return last >= 0 && w->group[last] == group ? w->dev[last] : dev;
}

/* The tensor goes to `to` within the unit, or to the next one. */
static bool goes_to(const weighing *w, int32_t t, int32_t group, int32_t dev, int32_t to)
{
	const berth_graph *g = w->p->g;
	BERTH_EACH (e, g->tensor_use_off, t) {
		int32_t taker = g->edge_consumer[e], at = w->group[taker];
		if ((at == group && w->dev[taker] == to) || (at == group + 1 && dev == to))
			return true;
	}
	return false;
}

/* Nanoseconds of a group on dev; apart: its experts on the CPU. */
static int64_t group_ns(const weighing *w, int32_t group, int32_t dev, bool apart)
{
	const berth_problem *p = w->p;
	int64_t sum = 0;
	if (dev < 0 || (apart && w->u->cpu < 0))
		return LLAMA_NEVER;
	BERTH_EACH (i, w->off, group) {
		int32_t op = w->op[i];
		w->dev[op] = apart ? apart_dev(w, op, group, dev) : dev;
		if (!berth_op_legal(p, op, w->dev[op]))
			return LLAMA_NEVER;
		sum += berth_op_time(p, op, w->dev[op]);
	}
	BERTH_EACH (i, w->off, group) {
		int32_t op = w->op[i], to = w->dev[op] == dev ? w->u->cpu : dev;
		if (!apart)
			break;
		BERTH_EACH (t, p->g->op_tensor_off, op)
			if (to != w->dev[op] && goes_to(w, t, group, dev, to))
				sum += berth_transfer_ns(p, t, w->dev[op], to);
	}
	return sum < LLAMA_NEVER ? sum : LLAMA_NEVER;
}

static int64_t border_ns(const weighing *w, int32_t group, int32_t from, int32_t to)
{
	const berth_graph *g = w->p->g;
	int64_t sum = 0;
	if (from < 0 || to < 0)
		return LLAMA_NEVER;
	BERTH_EACH (i, w->off, group)
		BERTH_EACH (t, g->op_tensor_off, w->op[i]) {
			bool crosses = false;
			BERTH_EACH (e, g->tensor_use_off, t)
				crosses |= w->group[g->edge_consumer[e]] == group + 1;
			sum += crosses && from != to ? berth_transfer_ns(w->p, t, from, to) : 0;
		}
	return sum < LLAMA_NEVER ? sum : LLAMA_NEVER;
}

/* ---- sums ---- */

/* Have rules put an expert of the group on the CPU? */
static bool is_forced(const weighing *w, int32_t group)
{
	const llama_units *u = w->u;
	BERTH_EACH (i, w->off, group) {
		const char *rest;
		int32_t k = 0;
		berth_gguf_layer_of(w->p->g->op_name[w->op[i]], &rest);
		while (k < u->n_kinds && !berth_op_legal(w->p, w->op[i], dev_of(u, k)))
			k++;
		if (llama_is_expert(rest) && k == u->n_kinds)
			return true;
	}
	return false;
}

static void sum_times(const weighing *w, int32_t k)
{
	llama_units *u = w->u;
	int32_t dev = dev_of(u, k);
	int64_t *whole = BERTH_ROW(u->whole_ns, k, u->n + 1), *add = BERTH_ROW(u->apart_ns, k, u->n + 1),
		*least = BERTH_ROW(u->least_ns, k, u->n + 1);
	double rate = INFINITY;
	for (int32_t i = 0; i < u->n; i++) {
		int64_t ns = group_ns(w, i + 1, dev, k < u->n_kinds && u->forced[i]), more = 0,
			bytes = u->expert_bytes[i + 1] - u->expert_bytes[i];
		if (bytes > 0 && k < u->n_kinds && ns < LLAMA_NEVER) {
			more = group_ns(w, i + 1, dev, true);
			more -= more < LLAMA_NEVER ? ns : 0;
			rate = fmin(rate, (double)more / (double)bytes);
		}
		whole[i + 1] = whole[i] + ns;
		add[i + 1] = add[i] + more;
		least[i + 1] = least[i] + ns + (more < 0 ? more : 0);
	}
	if (k < u->n_kinds)
		u->apart_rate[k] = isinf(rate) ? 0 : fmax(rate, 0);
	u->embed_ns[k] = group_ns(w, 0, dev, false);
}

static void sum_bytes(const weighing *w)
{
	llama_units *u = w->u;
	const berth_gguf_list *f = w->file;
	int32_t n = f->n_layers;
	u->tied = llama_tensor(f, "output.weight") < 0;
	for (int32_t t = 0; t < f->n_tensors; t++) {
		int32_t l = w->ix.layer[t];
		bool output = l < 0 && berth_export_begins(f->name[t], "output"),
		     embed = l < 0 && berth_export_begins(f->name[t], "token_embd");
		if ((l >= 0 && l < n) || output || (embed && u->tied))
			u->bytes[l >= 0 ? l + 1 : n + 1] += f->bytes[t];
		if (l >= 0 && l < n && llama_is_expert(w->ix.rest[t]))
			u->expert_bytes[l + 1] += f->bytes[t];
		u->embed_bytes += embed ? f->bytes[t] : 0;
	}
	for (int32_t i = 0; i < u->n; i++) {
		if (u->forced[i]) {
			u->forced_bytes += u->expert_bytes[i + 1];
			u->bytes[i + 1] -= u->expert_bytes[i + 1];
			u->expert_bytes[i + 1] = 0;
		}
		u->bytes[i + 1] += u->bytes[i] + (i < n ? llama_cache_bytes(f, i) : 0);
		u->expert_bytes[i + 1] += u->expert_bytes[i];
	}
}

static berth_status weigh(weighing *w)
{
	llama_units *u = w->u;
	BERTH_TRY(llama_index_new(w->file, w->tmp, &w->ix, w->err));
	BERTH_TRY(find_kinds(w));
	BERTH_TRY(find_groups(w));
	size_t n_columns = (size_t)u->n_kinds + 1, n = (size_t)u->n;
	BERTH_TRY_NEW(w->mem, n_columns * (n + 1), w->err, u->whole_ns, u->apart_ns, u->least_ns);
	BERTH_TRY_NEW(w->mem, n_columns, w->err, u->apart_rate);
	BERTH_TRY_NEW(w->mem, n_columns, w->err, u->embed_ns);
	BERTH_TRY_NEW(w->mem, n + 1, w->err, u->bytes, u->expert_bytes);
	BERTH_TRY_NEW(w->mem, n * n_columns * n_columns, w->err, u->border_ns);
	BERTH_TRY_NEW(w->mem, n, w->err, u->forced);
	for (int32_t i = 0; i < u->n; i++)
		u->forced[i] = is_forced(w, i + 1);
	sum_bytes(w);
	for (int32_t k = 0; k <= u->n_kinds; k++)
		sum_times(w, k);
	for (int32_t i = 0; i < u->n; i++)
		for (int32_t a = 0; a <= u->n_kinds; a++)
			for (int32_t b = 0; b <= u->n_kinds; b++) {
				bool two = a == b && a < u->n_kinds &&
				           u->kind_off[a + 1] - u->kind_off[a] > 1;
				int32_t to = two ? u->kind_dev[u->kind_off[a] + 1] : dev_of(u, b);
				BERTH_ROW(u->border_ns, i * (u->n_kinds + 1) + a, u->n_kinds + 1)
				[b] = border_ns(w, i, dev_of(u, a), to);
			}
	return BERTH_OK;
}

berth_status llama_units_new(const berth_export_source *x, const berth_gguf_list *file, berth_arena *mem,
                             berth_arena *tmp, llama_units *out, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	*out = (llama_units){.n = file->n_layers + 1};
	weighing w = {
		.x = x, .p = x->p, .file = file, .u = out, .mem = mem, .tmp = tmp, .err = err};
	return weigh(&w);
}
