/* `dp`: the contiguous dynamic program over ideals of J. Tarnawski, A. Phanishayee, N. Devanur, D. Mahajan,
 * F. Nina Paravecino, NeurIPS 2020, section 4, for the max-load throughput of their cost model
 * (cost_tarnawski.c). An ideal is a set of nodes that holds all producers of its nodes; the devices take the
 * differences of a chain of ideals, so that no device is left and entered again.
 *   dp[c][a][I] = least over J in I of the larger of dp of J with one device fewer and the load of I \ J on
 *     that device
 * Nodes are colocation colocation groups, those on a circle fused. Backward operators follow their
 * colocation group; colocation groups that have no forward operator are ordered by the backward edges turned
 * round, as the artificial forward nodes of the paper are.
 *
 * A linearised run (ideals are the prefixes of one topological order) comes first. Its value cuts the full
 * one: a set whose computing alone lasts longer can not be part of a better answer, nor can a larger set.
 * With more than MOST_NODES nodes, MOST_IDEALS ideals, MOST_VALUES values of the table, or MOST_SETS sets
 * looked at (fewer where a set is tried for more than USUAL_STATES numbers of devices), the linearised
 * answer stands; where that is too large as well, the best single device. All limits are counts, so the
 * answer is the same on every machine, unless time or Ctrl-C ends the search. */
#include "cost_model.h"
#include "method.h"
#include "registry.h"

#include <math.h>
#include <string.h>

enum { MOST_IDEALS = 100000, MOST_NODES = 8192, MOST_VALUES = 1 << 26, USUAL_STATES = 64, WORD = 64 };
static const int64_t MOST_SETS = INT64_C(400000000);

typedef struct kind {
	int32_t first, n;      /* devices first .. first + n - 1, all alike */
	double s_per_byte;     /* of transfers; 0: none are paid (CPUs) */
	int64_t memory;        /* -1: unlimited */
} kind;

typedef struct dp {
	const berth_problem *p;
	berth_search *s;
	berth_arena *tmp;
	kind acc, cpu;
	/* nodes: fused colocation groups */
	int32_t n_nodes;
	int32_t *op_node;
	int32_t *node_off, *node_op;   /* operators of a node */
	int32_t *succ_off, *succ, *pred_off, *pred; /* without repeats */
	double *node_acc, *node_cpu;   /* seconds; infinite: cannot run there */
	int64_t *node_bytes;
	/* ideals, smallest first; down: what is left when one of the last nodes is taken out */
	int32_t n_ideals, words;
	uint64_t *bits;                /* [n_ideals][words] */
	int32_t *down_off, *down_node, *down_to;
	/* values [n_ideals][cpu.n + 1][acc.n + 1] */
	double *value;
	int32_t *from;                 /* ideal before; -1: as with a device fewer, or the empty one */
	uint8_t *on_cpu;
	/* the set at hand, I \ J */
	bool *in_set;                  /* [n_ops] */
	int32_t *uses_in_set;          /* [n_tensors] */
	double set_in, set_out; /* seconds, bytes */
	int64_t set_bytes;
	int32_t *seen;                 /* [n_ideals] */
	int64_t sets, most_sets;
	double cut;                    /* answers at or above it are of no use */
} dp;

/* ---- kinds of devices ---- */

static bool alike(const berth_problem *p, int32_t a, int32_t b)
{
	for (int32_t op = 0; op < p->n_ops; op++)
		if (berth_op_legal(p, op, a) != berth_op_legal(p, op, b) ||
		    berth_op_time(p, op, a) != berth_op_time(p, op, b))
			return false;
	return p->dev_limit_bytes[a] == p->dev_limit_bytes[b];
}

/* Devices first .. first + n - 1 are alike, and accelerators or not. */
static bool all_alike(const berth_problem *p, int32_t first, int32_t n, bool acc)
{
	for (int32_t v = first; v < first + n; v++)
		if ((strcmp(p->s->dev_kind[v], "acc") == 0) != acc || !alike(p, first, v))
			return false;
	return true;
}

/* Accelerators first, CPUs after them, as the files have them. */
static berth_status find_kinds(dp *d, berth_err *err)
{
	const berth_problem *p = d->p;
	const berth_system *y = p->s;
	const berth_objective *o = &d->s->cfg.objective;
	char names[256];
	int32_t n_acc = 0;
	while (n_acc < p->n_devs && strcmp(y->dev_kind[n_acc], "acc") == 0)
		n_acc++;
	if (!berth_cost_model_sums(y->cost_model) || p->coupled || !all_alike(p, 0, n_acc, true) ||
	    !all_alike(p, n_acc, p->n_devs - n_acc, false) || !berth_objective_is(o, BERTH_THROUGHPUT) ||
	    berth_objective_has_limits(o))
		return berth_fail(err, BERTH_EUNSUPPORTED,
		                  "method dp solves the throughput of the cost model %s, on accelerators "
		                  "that are all alike and CPUs that are all alike",
		                  berth_cost_model_names(berth_cost_model_sums, names, sizeof names));
	d->acc = (kind){0, n_acc, 0, n_acc ? p->dev_limit_bytes[0] : -1};
	d->cpu = (kind){n_acc, p->n_devs - n_acc, 0, n_acc < p->n_devs ? p->dev_limit_bytes[n_acc] : -1};
	for (int32_t l = y->n_links - 1; l >= 0 && n_acc; l--)
		if (y->link_from[l] == 0 && (y->link_to[l] >= n_acc || d->acc.s_per_byte == 0))
			d->acc.s_per_byte = 1 / y->link_bandwidth[l];
	return BERTH_OK;
}

static double seconds_on(const berth_problem *p, int32_t op, const kind *k)
{
	if (k->n == 0 || !berth_op_legal(p, op, k->first))
		return INFINITY;
	const berth_graph *g = p->g;
	for (int32_t i = g->op_time_off[op]; i < g->op_time_off[op + 1]; i++)
		if (strcmp(g->time_key[i], p->s->dev_kind[k->first]) == 0)
			return g->time_s[i];
	return (double)berth_op_time(p, op, k->first) * 1e-9;
}

/* ---- nodes ---- */

/* Edges among colocation groups that order them: forward ones, and backward ones turned round where a
 * colocation group has no forward operator. */
typedef struct coloc_edges {
	int32_t *from, *to, n;
} coloc_edges;

static berth_status order_colocs(const dp *d, coloc_edges *e, berth_err *err)
{
	const berth_problem *p = d->p;
	const berth_graph *g = p->g;
	bool *forward;
	BERTH_TRY(BERTH_NEW(d->tmp, forward, p->n_colocs, err));
	BERTH_TRY(BERTH_NEW(d->tmp, e->from, g->n_edges, err));
	BERTH_TRY(BERTH_NEW(d->tmp, e->to, g->n_edges, err));
	for (int32_t op = 0; op < p->n_ops; op++)
		forward[p->op_coloc[op]] |= !g->op_backward[op];
	e->n = 0;
	for (int32_t x = 0; x < g->n_tensors; x++)
		for (int32_t i = g->tensor_use_off[x]; i < g->tensor_use_off[x + 1]; i++) {
			int32_t a = g->tensor_producer[x], b = g->edge_consumer[i], u = p->op_coloc[a],
				v = p->op_coloc[b];
			if (u == v || g->op_backward[a] != g->op_backward[b])
				continue;
			if (g->op_backward[a] && forward[u] && forward[v])
				continue;
			e->from[e->n] = g->op_backward[a] ? v : u;
			e->to[e->n++] = g->op_backward[a] ? u : v;
		}
	return BERTH_OK;
}

/* Strongly connected components (R. Tarjan, SIAM J. Comput. 1972) with a stack of its own: label[colocation
 * group] = component, in reverse topological order. */
typedef struct tarjan {
	const int32_t *off, *to;
	int32_t *index, *low, *stack, *call, *edge, *label;
	int32_t n_stack, n_index, n_labels;
} tarjan;

static void visit_coloc(tarjan *t, int32_t root)
{
	int32_t depth = 0;
	t->call[depth] = root;
	t->edge[root] = t->off[root];
	t->index[root] = t->low[root] = ++t->n_index;
	t->stack[t->n_stack++] = root;
	while (depth >= 0) {
		int32_t u = t->call[depth];
		if (t->edge[u] < t->off[u + 1]) {
			int32_t v = t->to[t->edge[u]++];
			if (t->index[v] == 0) {
				t->call[++depth] = v;
				t->edge[v] = t->off[v];
				t->index[v] = t->low[v] = ++t->n_index;
				t->stack[t->n_stack++] = v;
			} else if (t->label[v] < 0 && t->index[v] < t->low[u]) {
				t->low[u] = t->index[v];
			}
			continue;
		}
		if (t->low[u] == t->index[u]) {
			int32_t v;
			do
				t->label[v = t->stack[--t->n_stack]] = t->n_labels;
			while (v != u);
			t->n_labels++;
		}
		if (--depth >= 0 && t->low[u] < t->low[t->call[depth]])
			t->low[t->call[depth]] = t->low[u];
	}
}

/* Edges as CSR by their from end. */
static berth_status to_csr(const dp *d, int32_t n, int32_t n_edges, const int32_t *from, const int32_t *to,
                           int32_t **off, int32_t **list, berth_err *err)
{
	int32_t *fill;
	BERTH_TRY(BERTH_NEW(d->tmp, *off, (size_t)n + 2, err));
	BERTH_TRY(BERTH_NEW(d->tmp, *list, n_edges, err));
	fill = *off + 1;
	for (int32_t e = 0; e < n_edges; e++)
		fill[from[e] + 1]++;
	for (int32_t u = 0; u < n; u++)
		fill[u + 1] += fill[u];
	for (int32_t e = 0; e < n_edges; e++)
		(*list)[fill[from[e]]++] = to[e];
	return BERTH_OK;
}

static berth_status fuse(const dp *d, const coloc_edges *e, int32_t *label, int32_t *n, berth_err *err)
{
	int32_t n_colocs = d->p->n_colocs, *off, *to;
	tarjan t = {.label = label};
	BERTH_TRY(to_csr(d, n_colocs, e->n, e->from, e->to, &off, &to, err));
	t.off = off;
	t.to = to;
	BERTH_TRY(BERTH_NEW(d->tmp, t.index, n_colocs, err));
	BERTH_TRY(BERTH_NEW(d->tmp, t.low, n_colocs, err));
	BERTH_TRY(BERTH_NEW(d->tmp, t.stack, n_colocs, err));
	BERTH_TRY(BERTH_NEW(d->tmp, t.call, n_colocs, err));
	BERTH_TRY(BERTH_NEW(d->tmp, t.edge, n_colocs, err));
	for (int32_t u = 0; u < n_colocs; u++)
		label[u] = -1;
	for (int32_t u = 0; u < n_colocs; u++)
		if (t.index[u] == 0)
			visit_coloc(&t, u);
	*n = t.n_labels;
	return BERTH_OK;
}

static berth_status weigh_nodes(dp *d, berth_err *err)
{
	const berth_problem *p = d->p;
	BERTH_TRY(BERTH_NEW(d->tmp, d->node_acc, d->n_nodes, err));
	BERTH_TRY(BERTH_NEW(d->tmp, d->node_cpu, d->n_nodes, err));
	BERTH_TRY(BERTH_NEW(d->tmp, d->node_bytes, d->n_nodes, err));
	for (int32_t op = 0; op < p->n_ops; op++) {
		int32_t v = d->op_node[op];
		d->node_acc[v] += seconds_on(p, op, &d->acc);
		d->node_cpu[v] += seconds_on(p, op, &d->cpu);
		d->node_bytes[v] += p->g->op_param_bytes[op] + p->g->op_state_bytes[op];
	}
	return BERTH_OK;
}

/* Nodes in topological order, their operators and neighbours. */
static berth_status make_nodes(dp *d, berth_err *err)
{
	const berth_problem *p = d->p;
	coloc_edges e;
	int32_t *label, *ops, n = 0;
	BERTH_TRY(order_colocs(d, &e, err));
	BERTH_TRY(BERTH_NEW(d->tmp, label, p->n_colocs, err));
	BERTH_TRY(fuse(d, &e, label, &d->n_nodes, err));
	BERTH_TRY(BERTH_NEW(d->tmp, d->op_node, p->n_ops, err));
	BERTH_TRY(BERTH_NEW(d->tmp, ops, p->n_ops, err));
	for (int32_t op = 0; op < p->n_ops; op++) {
		d->op_node[op] = d->n_nodes - 1 - label[p->op_coloc[op]];
		ops[op] = op;
	}
	for (int32_t i = 0; i < e.n; i++) {
		int32_t u = d->n_nodes - 1 - label[e.from[i]], v = d->n_nodes - 1 - label[e.to[i]];
		if (u == v)
			continue;
		e.from[n] = u;
		e.to[n++] = v;
	}
	BERTH_TRY(to_csr(d, d->n_nodes, p->n_ops, d->op_node, ops, &d->node_off, &d->node_op, err));
	BERTH_TRY(to_csr(d, d->n_nodes, n, e.from, e.to, &d->succ_off, &d->succ, err));
	BERTH_TRY(to_csr(d, d->n_nodes, n, e.to, e.from, &d->pred_off, &d->pred, err));
	return weigh_nodes(d, err);
}

/* ---- ideals ---- */

static bool has(const uint64_t *set, int32_t v)
{
	return set[v / WORD] >> (v % WORD) & 1;
}

static bool holds_all(const uint64_t *set, const int32_t *list, int32_t n)
{
	for (int32_t i = 0; i < n; i++)
		if (!has(set, list[i]))
			return false;
	return true;
}

static bool holds_none(const uint64_t *set, const int32_t *list, int32_t n)
{
	for (int32_t i = 0; i < n; i++)
		if (has(set, list[i]))
			return false;
	return true;
}

typedef struct table {
	int32_t *slot; /* [cap] ideal + 1; 0: free */
	size_t cap;
} table;

static uint64_t hash_of(const uint64_t *set, int32_t words)
{
	uint64_t h = UINT64_C(0x9e3779b97f4a7c15);
	for (int32_t i = 0; i < words; i++) {
		h = (h ^ set[i]) * UINT64_C(0xff51afd7ed558ccd);
		h ^= h >> 32;
	}
	return h;
}

static uint64_t *ideal(const dp *d, int32_t i)
{
	return d->bits + (size_t)i * (size_t)d->words;
}

/* The ideal equal to set, or where to put it. */
static int32_t *find(const dp *d, const table *t, const uint64_t *set)
{
	size_t at = hash_of(set, d->words) & (t->cap - 1);
	while (t->slot[at] && memcmp(ideal(d, t->slot[at] - 1), set, (size_t)d->words * sizeof *set) != 0)
		at = (at + 1) & (t->cap - 1);
	return &t->slot[at];
}

/* All ideals by breadth, so smaller ones come first. False: there are more than most. */
static bool list_ideals(dp *d, const table *t, int32_t most, uint64_t *set)
{
	d->n_ideals = 1;
	memset(d->bits, 0, (size_t)d->words * sizeof *d->bits);
	*find(d, t, d->bits) = 1;
	for (int32_t i = 0; i < d->n_ideals; i++)
		for (int32_t v = 0; v < d->n_nodes; v++) {
			if (has(ideal(d, i), v) || !holds_all(ideal(d, i), d->pred + d->pred_off[v],
			                                      d->pred_off[v + 1] - d->pred_off[v]))
				continue;
			memcpy(set, ideal(d, i), (size_t)d->words * sizeof *set);
			set[v / WORD] |= UINT64_C(1) << (v % WORD);
			int32_t *slot = find(d, t, set);
			if (*slot)
				continue;
			if (d->n_ideals == most)
				return false;
			memcpy(ideal(d, d->n_ideals), set, (size_t)d->words * sizeof *set);
			*slot = ++d->n_ideals;
		}
	return true;
}

/* Is v one of the last nodes of the set: none of its consumers is in it? */
static bool is_last(const dp *d, const uint64_t *set, int32_t v)
{
	return has(set, v) && holds_none(set, d->succ + d->succ_off[v], d->succ_off[v + 1] - d->succ_off[v]);
}

static berth_status link_ideals(dp *d, const table *t, uint64_t *set, berth_err *err)
{
	int32_t n = 0;
	BERTH_TRY(BERTH_NEW(d->tmp, d->down_off, (size_t)d->n_ideals + 1, err));
	for (int32_t i = 0; i < d->n_ideals; i++) {
		for (int32_t v = 0; v < d->n_nodes; v++)
			n += is_last(d, ideal(d, i), v);
		d->down_off[i + 1] = n;
	}
	BERTH_TRY(BERTH_NEW(d->tmp, d->down_node, n, err));
	BERTH_TRY(BERTH_NEW(d->tmp, d->down_to, n, err));
	n = 0;
	for (int32_t i = 0; i < d->n_ideals; i++)
		for (int32_t v = 0; v < d->n_nodes; v++)
			if (is_last(d, ideal(d, i), v)) {
				memcpy(set, ideal(d, i), (size_t)d->words * sizeof *set);
				set[v / WORD] &= ~(UINT64_C(1) << (v % WORD));
				d->down_node[n] = v;
				d->down_to[n++] = *find(d, t, set) - 1;
			}
	return BERTH_OK;
}

/* *all: they were not too many, and are there. */
static berth_status find_ideals(dp *d, bool *all, berth_err *err)
{
	uint64_t *set;
	table t = {.cap = 4};
	int32_t most = MOST_IDEALS;
	*all = false;
	if (d->n_nodes > MOST_NODES)
		return BERTH_OK;
	while (t.cap < 2 * (size_t)most + 2)
		t.cap *= 2;
	d->words = (d->n_nodes + WORD - 1) / WORD;
	BERTH_TRY(BERTH_NEW(d->tmp, t.slot, t.cap, err));
	BERTH_TRY(BERTH_NEW(d->tmp, d->bits, (size_t)most * (size_t)d->words + 1, err));
	BERTH_TRY(BERTH_NEW(d->tmp, set, d->words, err));
	*all = list_ideals(d, &t, most, set);
	return *all ? link_ideals(d, &t, set, err) : BERTH_OK;
}

/* The prefixes of the nodes' order as ideals. */
static berth_status find_prefixes(dp *d, berth_err *err)
{
	d->n_ideals = d->n_nodes + 1;
	BERTH_TRY(BERTH_NEW(d->tmp, d->down_off, (size_t)d->n_ideals + 1, err));
	BERTH_TRY(BERTH_NEW(d->tmp, d->down_node, d->n_nodes, err));
	BERTH_TRY(BERTH_NEW(d->tmp, d->down_to, d->n_nodes, err));
	for (int32_t i = 0; i < d->n_nodes; i++) {
		d->down_off[i + 2] = i + 1;
		d->down_node[i] = i;
		d->down_to[i] = i;
	}
	return BERTH_OK;
}

/* ---- the set at hand ---- */

/* Operator op enters (sign 1) or leaves (-1) the set; in_set says so afterwards. */
static void move_op(dp *d, int32_t op, int sign)
{
	const berth_graph *g = d->p->g;
	for (int32_t x = g->op_tensor_off[op]; x < g->op_tensor_off[op + 1]; x++) {
		double bytes = (double)g->tensor_bytes[x];
		int32_t uses = g->tensor_use_off[x + 1] - g->tensor_use_off[x];
		d->set_in -= d->uses_in_set[x] > 0 ? sign * bytes : 0;
		d->set_out += d->uses_in_set[x] < uses ? sign * bytes : 0;
	}
	d->in_set[op] = sign > 0;
	for (int32_t i = g->op_in_off[op]; i < g->op_in_off[op + 1]; i++) {
		int32_t x = g->in_tensor[i], uses = g->tensor_use_off[x + 1] - g->tensor_use_off[x];
		double bytes = (double)g->tensor_bytes[x];
		bool inside = d->in_set[g->tensor_producer[x]];
		int32_t before = d->uses_in_set[x], after = d->uses_in_set[x] += sign;
		if (inside)
			d->set_out += bytes * ((after < uses) - (before < uses));
		else
			d->set_in += bytes * ((after > 0) - (before > 0));
	}
}

static void move_node(dp *d, int32_t v, int sign)
{
	for (int32_t k = d->node_off[v]; k < d->node_off[v + 1]; k++)
		move_op(d, d->node_op[sign > 0 ? k : d->node_off[v + 1] - 1 - (k - d->node_off[v])], sign);
	d->set_bytes += sign * d->node_bytes[v];
}

/* ---- the program ---- */

static size_t state_of(const dp *d, int32_t i, int32_t c, int32_t a)
{
	return ((size_t)i * (size_t)(d->cpu.n + 1) + (size_t)c) * (size_t)(d->acc.n + 1) + (size_t)a;
}

static void improve(dp *d, size_t state, double value, int32_t from, bool on_cpu)
{
	if (!(value < d->value[state]))
		return;
	d->value[state] = value;
	d->from[state] = from;
	d->on_cpu[state] = on_cpu;
}

/* One set more. False: that is enough. */
static bool count_set(dp *d)
{
	if (d->sets >= d->most_sets)
		return false;
	if (++d->sets % 4096 == 0) {
		berth_search_budget_left(d->s, 1); /* time and cancelling */
		if (d->s->stopped)
			d->sets = d->most_sets;
	}
	return d->sets < d->most_sets;
}

/* The set between ideal j and ideal i on one more device. */
static void try_set(dp *d, int32_t i, int32_t j, double acc, double cpu)
{
	double acc_load = acc + (d->set_in + d->set_out) * d->acc.s_per_byte;
	if (d->acc.memory >= 0 && d->set_bytes > d->acc.memory)
		acc_load = INFINITY;
	if (d->cpu.memory >= 0 && d->set_bytes > d->cpu.memory)
		cpu = INFINITY;
	for (int32_t c = 0; c <= d->cpu.n; c++)
		for (int32_t a = 0; a <= d->acc.n; a++) {
			size_t to = state_of(d, i, c, a);
			if (a && acc_load < d->cut)
				improve(d, to, fmax(acc_load, d->value[state_of(d, j, c, a - 1)]), j, false);
			if (c && cpu < d->cut)
				improve(d, to, fmax(cpu, d->value[state_of(d, j, c - 1, a)]), j, true);
		}
}

/* All ideals below j, while the set to i may still be of use on some device. acc, cpu: its computing. */
static void descend(dp *d, int32_t i, int32_t j, double acc, double cpu)
{
	for (int32_t k = d->down_off[j]; k < d->down_off[j + 1]; k++) {
		int32_t to = d->down_to[k], v = d->down_node[k];
		double acc_now = acc + d->node_acc[v], cpu_now = cpu + d->node_cpu[v];
		bool fits = d->acc.memory < 0 || d->set_bytes + d->node_bytes[v] <= d->acc.memory;
		if (d->seen[to] == i || !((acc_now < d->cut && fits) || cpu_now < d->cut) || !count_set(d))
			continue;
		d->seen[to] = i;
		move_node(d, v, 1);
		try_set(d, i, to, acc_now, cpu_now);
		descend(d, i, to, acc_now, cpu_now);
		move_node(d, v, -1);
	}
}

/* The same for prefixes, of which each has one below it. */
static void descend_prefix(dp *d, int32_t i)
{
	double acc = 0, cpu = 0;
	int32_t j = i;
	while (j > 0) {
		int32_t v = j - 1;
		bool fits = d->acc.memory < 0 || d->set_bytes + d->node_bytes[v] <= d->acc.memory;
		acc += d->node_acc[v];
		cpu += d->node_cpu[v];
		if (!((acc < d->cut && fits) || cpu < d->cut) || !count_set(d))
			break;
		move_node(d, v, 1);
		try_set(d, i, --j, acc, cpu);
	}
	for (; j < i; j++)
		move_node(d, j, -1);
}

static berth_status new_values(dp *d, berth_err *err)
{
	size_t states = state_of(d, d->n_ideals, 0, 0);
	BERTH_TRY(BERTH_NEW(d->tmp, d->value, states, err));
	BERTH_TRY(BERTH_NEW(d->tmp, d->from, states, err));
	BERTH_TRY(BERTH_NEW(d->tmp, d->on_cpu, states, err));
	BERTH_TRY(BERTH_NEW(d->tmp, d->seen, d->n_ideals, err));
	for (size_t i = 0; i < states; i++) {
		d->value[i] = i < state_of(d, 1, 0, 0) ? 0 : INFINITY; /* ideal 0 is empty */
		d->from[i] = -1;
	}
	for (int32_t i = 0; i < d->n_ideals; i++)
		d->seen[i] = -1;
	return BERTH_OK;
}

/* A device more is never worse: a state's value, and where it comes from. */
static void spread_devices(dp *d, int32_t i)
{
	for (int32_t c = 0; c <= d->cpu.n; c++)
		for (int32_t a = 0; a <= d->acc.n; a++) {
			size_t to = state_of(d, i, c, a);
			for (int k = 0; k < 2; k++) {
				if (k ? !c : !a)
					continue;
				size_t less = k ? state_of(d, i, c - 1, a) : state_of(d, i, c, a - 1);
				if (d->value[less] < d->value[to]) {
					d->value[to] = d->value[less];
					d->from[to] = d->from[less];
					d->on_cpu[to] = d->on_cpu[less];
				}
			}
		}
}

static void fill(dp *d)
{
	for (int32_t i = 1; i < d->n_ideals; i++) {
		d->set_in = d->set_out = 0;
		d->set_bytes = 0;
		if (d->bits)
			descend(d, i, i, 0, 0);
		else
			descend_prefix(d, i);
		spread_devices(d, i);
	}
}

/* Follow the answer back: each step's nodes go to the next device of its kind. */
static void read_answer(const dp *d, int32_t *op_dev)
{
	int32_t i = d->n_ideals - 1, c = d->cpu.n, a = d->acc.n;
	while (i > 0) {
		size_t state = state_of(d, i, c, a);
		int32_t j = d->from[state];
		bool on_cpu = d->on_cpu[state];
		int32_t dev = on_cpu ? d->cpu.first + --c : d->acc.first + --a;
		for (int32_t v = 0; v < d->n_nodes; v++) {
			bool in_i = d->bits ? has(ideal(d, i), v) : v < i,
			     in_j = d->bits ? has(ideal(d, j), v) : v < j;
			for (int32_t k = d->node_off[v]; in_i && !in_j && k < d->node_off[v + 1]; k++)
				op_dev[d->node_op[k]] = dev;
		}
		i = j;
	}
}

static berth_status solve(dp *d, int32_t *op_dev, berth_err *err)
{
	int64_t states = (int64_t)state_of(d, 1, 0, 0);
	if (states * d->n_ideals > MOST_VALUES)
		return BERTH_OK;
	BERTH_TRY(new_values(d, err));
	d->sets = 0;
	d->most_sets = states > USUAL_STATES ? MOST_SETS / states * USUAL_STATES : MOST_SETS;
	fill(d);
	double value = d->value[state_of(d, d->n_ideals - 1, d->cpu.n, d->acc.n)];
	if (d->sets >= d->most_sets || !isfinite(value))
		return BERTH_OK;
	d->cut = value;
	read_answer(d, op_dev);
	berth_search_offer(d->s, op_dev, NULL);
	return BERTH_OK;
}

static berth_status run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	dp d = {.p = s->p, .s = s, .tmp = tmp, .cut = INFINITY};
	int32_t *op_dev;
	bool all;
	BERTH_TRY(find_kinds(&d, err));
	BERTH_TRY(berth_method_run(berth_portfolio_methods[0], s, tmp, err));
	if (s->p->n_ops == 0)
		return BERTH_OK;
	BERTH_TRY(make_nodes(&d, err));
	BERTH_TRY(BERTH_NEW(tmp, d.in_set, s->p->n_ops, err));
	BERTH_TRY(BERTH_NEW(tmp, d.uses_in_set, s->p->g->n_tensors, err));
	BERTH_TRY(BERTH_NEW(tmp, op_dev, s->p->n_ops, err));
	BERTH_TRY(find_prefixes(&d, err));
	BERTH_TRY(solve(&d, op_dev, err));
	BERTH_TRY(find_ideals(&d, &all, err));
	return all ? solve(&d, op_dev, err) : BERTH_OK;
}

const berth_method berth_method_dp = {
	"dp", "Contiguous dynamic program over ideals for max-load throughput (Tarnawski et al. 2020).",
	false, run, NULL};
