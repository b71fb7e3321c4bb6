/* Compiling a graph on a system; the formulas are those of the execution model. */
#include "problem.h"

#include "collective.h"
#include "constraints.h"
#include "engine_rules.h"
#include "fused_times.h"
#include "op_times.h"

/* Of all operators, transfers and loads of pools together: no sum of a simulation can overflow. */
#define MAX_TOTAL_NS 0x1p60
#define MAX_POOL_BYTES (INT64_C(1) << 62) /* of all devices of a pool together: so is no sum of theirs */

/* ---- operator times ---- */

/* What types of operators are on devices: [n_devs][n_types], the last type: none. */
typedef struct type_table {
	size_t n_types;
	berth_type_on_dev *at;
} type_table;

/* Most operators have times that another one has. */
enum { MOST_KNOWN = 4096 };

/* Where an operator with these times would be remembered, of so many places (a power of two). */
static size_t place_of(const berth_graph *g, int32_t op, size_t n)
{
	uint64_t flops, key;
	memcpy(&flops, &g->op_flops[op], sizeof flops);
	key = (uint64_t)g->op_shape[op] * 0x9e3779b97f4a7c15 ^ (uint64_t)g->op_type[op] ^ flops;
	key = (key * 0x9e3779b97f4a7c15 ^ (uint64_t)g->op_read_bytes[op]) * 0x9e3779b97f4a7c15;
	key = (key ^ (uint64_t)g->op_write_bytes[op]) * 0x9e3779b97f4a7c15;
	return (size_t)(key >> 40) & (n - 1);
}

static berth_status op_times(berth_problem *p, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	type_table t;
	int32_t *known;
	size_t n_known = 16;
	while (n_known < MOST_KNOWN && n_known < (size_t)p->n_ops)
		n_known *= 2;
	BERTH_TRY_NEW(tmp, n_known, err, known);
	for (size_t i = 0; i < n_known; i++)
		known[i] = -1;
	BERTH_TRY_NEW(mem, (size_t)p->n_ops * (size_t)p->n_devs, err, p->op_dev_time_ns);
	const berth_graph *g = p->g;
	t.n_types = (size_t)g->n_types + 1;
	BERTH_TRY_NEW(tmp, t.n_types * (size_t)p->n_devs, err, t.at);
	for (int32_t dev = 0; dev < p->n_devs; dev++)
		for (size_t type = 0; type < t.n_types; type++)
			t.at[(size_t)dev * t.n_types + type] = berth_type_look_up(
				p->s, dev, type + 1 < t.n_types ? g->type_name[type] : NULL);
	for (int32_t op = 0; op < p->n_ops; op++) {
		int32_t *at = &known[place_of(p->g, op, n_known)], from = *at;
		*at = op;
		if (from >= 0 && berth_op_alike(p->g, from, op))
			BERTH_COPY(&p->op_dev_time_ns[berth_cell(p, op, 0)],
			           &p->op_dev_time_ns[berth_cell(p, from, 0)], p->n_devs);
		else {
			/* The row of op in op_dev_time_ns. */
			size_t type = g->op_type[op] < 0 ? t.n_types - 1 : (size_t)g->op_type[op];
			double sum = 0;
			for (int32_t dev = 0; dev < p->n_devs; dev++) {
				double ns = 1e9 * berth_op_predict(g, p->s, op, dev,
				                                   &t.at[(size_t)dev * t.n_types + type])
				                          .seconds;
				int64_t *time = &p->op_dev_time_ns[berth_cell(p, op, dev)];
				*time = -1;
				if (isnan(ns))
					continue;
				sum += ns;
				if (!(sum < MAX_TOTAL_NS))
					return berth_fail(
						err, BERTH_EFORMAT,
						"operator '%s' takes %g s on '%s': too long to simulate",
						g->op_name[op], ns * 1e-9, p->s->dev_name[dev]);
				*time = llround(ns);
			}
		}
	}
	return BERTH_OK;
}

/* ---- rules ---- */

berth_status berth_problem_feasible(const berth_problem *p, berth_err *err)
{
	for (int32_t op = 0; op < p->n_ops; op++) {
		bool runs = false, allowed = false, legal = false;
		char asks[64];
		for (int32_t dev = 0; dev < p->n_devs; dev++) {
			runs |= berth_op_time(p, op, dev) >= 0;
			allowed |= berth_op_allows(p, op, dev);
			legal |= berth_op_legal(p, op, dev);
		}
		if (legal)
			continue;
		const char *name = p->g->op_name[op], *sys = p->s->name;
		const char *type = p->g->op_type[op] >= 0 ? p->g->type_name[p->g->op_type[op]] : "no type";
		if (!runs)
			return berth_fail(err, BERTH_EINFEASIBLE,
			                  "no device of '%s' can run operator '%s' (%s): give it a time_s, "
			                  "or add its type to a device's runs%s",
			                  sys, name, type, berth_op_asks_peak(p->g, op, asks));
		if (!allowed)
			return berth_fail(err, BERTH_EINFEASIBLE,
			                  "operator '%s' (%s): its pin and forbidden devices leave no device "
			                  "of '%s' that can run it",
			                  name, type, sys);
		return berth_fail(
			err, BERTH_EINFEASIBLE,
			"operator '%s': no device of '%s' is legal for all of its %s '%s'", name, sys,
			berth_coloc_called(p->g), p->g->coloc_name[p->g->op_coloc_name[op]]);
	}
	if (p->rules_infeasible)
		return berth_fail(err, BERTH_EINFEASIBLE,
		                  "no placement of '%s' on '%s' keeps its rules of %s "
		                  "together with the others",
		                  p->g->name, p->s->name, berth_constraints_joining(p));
	return BERTH_OK;
}

/* ---- byte classes and hops ---- */

/* What tensors of a class have in common. */
typedef struct byte_key {
	int64_t bytes;
	double cut_s;
	bool collective; /* false where no link has figures for those */
} byte_key;

static byte_key key_of(const berth_graph *g, int32_t t, bool collectives)
{
	return (byte_key){g->tensor_bytes[t], g->tensor_cut_s ? g->tensor_cut_s[t] : 0,
	                  collectives && berth_tensor_is_collective(g, t)};
}

static int compare_keys(const void *a, const void *b)
{
	const byte_key *x = a, *y = b;
	return x->bytes != y->bytes   ? BERTH_COMPARE(x->bytes, y->bytes)
	       : x->cut_s != y->cut_s ? BERTH_COMPARE(x->cut_s, y->cut_s)
	                              : x->collective - y->collective;
}

/* Classes are numbered as tensors of that kind first leave their producers in topological order. So what runs
 * at about the same time has its times close together in memory. by_bytes out [n_classes], in tmp: classes by
 * size. */
static berth_status byte_classes(berth_problem *p, int32_t **by_bytes, berth_arena *mem, berth_arena *tmp,
                                 berth_err *err)
{
	const berth_graph *g = p->g;
	byte_key *sorted;
	int32_t *name, n = 0;
	bool collectives = berth_system_has_collectives(p->s);
	BERTH_TRY_NEW(tmp, g->n_tensors, err, sorted, name);
	BERTH_TRY_NEW(mem, g->n_tensors, err, p->class_bytes, p->class_cut_s, p->tensor_class);
	BERTH_TRY_NEW(mem, g->n_tensors, err, p->class_collective);
	for (int32_t i = 0; i < g->n_tensors; i++)
		sorted[i] = key_of(g, i, collectives);
	if (g->n_tensors)
		qsort(sorted, (size_t)g->n_tensors, sizeof *sorted, compare_keys);
	for (int32_t i = 0; i < g->n_tensors; i++)
		if (!i || compare_keys(&sorted[i], &sorted[n - 1]) != 0) {
			name[n] = -1;
			sorted[n++] = sorted[i];
		}
	for (int32_t k = 0; k < g->n_ops; k++)
		BERTH_EACH (t, g->op_tensor_off, g->topo_op[k]) {
			byte_key key = key_of(g, t, collectives);
			const byte_key *at = bsearch(&key, sorted, (size_t)n, sizeof *at, compare_keys);
			int32_t *c = &name[at - sorted];
			if (*c < 0) {
				p->class_bytes[p->n_classes] = at->bytes;
				p->class_cut_s[p->n_classes] = at->cut_s;
				p->class_collective[p->n_classes] = at->collective;
				*c = p->n_classes++;
			}
			p->tensor_class[t] = *c;
		}
	*by_bytes = name;
	return BERTH_OK;
}

static berth_status hop_times(berth_problem *p, berth_arena *mem, berth_err *err)
{
	const berth_system *s = p->s;
	BERTH_TRY_NEW(mem, (size_t)p->n_classes * (size_t)s->n_links, err, p->class_link_ns);
	for (int32_t c = 0; c < p->n_classes; c++)
		for (int32_t l = 0; l < s->n_links; l++) {
			double bytes = (double)p->class_bytes[c],
			       hop_s = p->class_collective[c] ? berth_collective_hop_s(s, l, bytes)
			                                      : berth_hop_s(s, l, bytes),
			       ns = (hop_s + p->class_cut_s[c]) * 1e9;
			if (!(ns < MAX_TOTAL_NS))
				return berth_fail(err, BERTH_EFORMAT,
				                  "a tensor of %lld bytes takes %g s from '%s' to '%s': too "
				                  "long to simulate",
				                  (long long)p->class_bytes[c], ns * 1e-9,
				                  s->dev_name[s->link_from[l]], s->dev_name[s->link_to[l]]);
			p->class_link_ns[(size_t)c * (size_t)s->n_links + (size_t)l] = llround(ns);
		}
	return BERTH_OK;
}

/* Mean routed time of each class, and the check that no simulation can overflow. */
static berth_status mean_transfers(berth_problem *p, berth_arena *mem, double total, berth_err *err)
{
	size_t n = (size_t)p->n_devs;
	BERTH_TRY_NEW(mem, p->n_classes, err, p->class_mean_ns);
	for (int32_t c = 0; c < p->n_classes; c++) {
		double sum = 0;
		for (size_t i = 0; i < n * n; i++)
			sum += (double)p->class_pair_ns[(size_t)c * n * n + i];
		if (!(sum < MAX_TOTAL_NS))
			return berth_fail(err, BERTH_EFORMAT,
			                  "a tensor of %lld bytes takes %g s over all links: too long to "
			                  "simulate",
			                  (long long)p->class_bytes[c], sum * 1e-9);
		int64_t exact = 0;
		for (size_t i = 0; i < n * n; i++)
			exact += p->class_pair_ns[(size_t)c * n * n + i];
		if (n > 1)
			p->class_mean_ns[c] = exact / (int64_t)(n * (n - 1));
	}
	for (int32_t t = 0; t < p->g->n_tensors; t++)
		total += (double)p->class_mean_ns[p->tensor_class[t]] * (double)(n * n);
	if (!(total < MAX_TOTAL_NS))
		return berth_fail(err, BERTH_EFORMAT,
		                  "all operators and transfers together take %g s: too long to simulate",
		                  total * 1e-9);
	return BERTH_OK;
}

/* ---- ranks ---- */

typedef struct ranked {
	int64_t rank;
	int32_t topo, op;
} ranked;

static int compare_ranked(const void *pa, const void *pb)
{
	const ranked *a = pa, *b = pb;
	if (a->rank != b->rank)
		return a->rank > b->rank ? -1 : 1;
	return BERTH_COMPARE(a->topo, b->topo);
}

static berth_status priorities(berth_problem *p, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	ranked *list;
	BERTH_TRY_NEW(mem, p->n_ops, err, p->op_rank_ns, p->prio_op, p->op_prio);
	BERTH_TRY_NEW(tmp, p->n_ops, err, list);
	const berth_graph *g = p->g;
	for (int32_t k = p->n_ops - 1; k >= 0; k--) {
		int32_t op = g->topo_op[k];
		int64_t best = 0;
		BERTH_EACH (t, g->op_tensor_off, op) {
			int64_t move = p->class_mean_ns[p->tensor_class[t]];
			BERTH_EACH (e, g->tensor_use_off, t) {
				int64_t below = move + p->op_rank_ns[g->edge_consumer[e]];
				best = below > best ? below : best;
			}
		}
		p->op_rank_ns[op] = p->op_mean_ns[op] + best;
	}
	for (int32_t op = 0; op < p->n_ops; op++)
		list[op] = (ranked){p->op_rank_ns[op], p->g->op_topo[op], op};
	if (p->n_ops)
		qsort(list, (size_t)p->n_ops, sizeof *list, compare_ranked);
	for (int32_t k = 0; k < p->n_ops; k++) {
		p->prio_op[k] = list[k].op;
		p->op_prio[list[k].op] = k;
	}
	return BERTH_OK;
}

/* ---- the rest ---- */

/* Everything the graph could hold at once on a device. */
static int64_t all_bytes(const berth_graph *g)
{
	int64_t all = 0;
	for (int32_t op = 0; op < g->n_ops; op++)
		all += g->op_param_bytes[op] + g->op_state_bytes[op] + g->op_workspace_bytes[op] +
		       g->op_output_bytes[op];
	for (int32_t i = 0; i < g->n_params; i++)
		all += g->param_bytes[i];
	for (int32_t t = 0; t < g->n_tensors; t++)
		all += g->tensor_bytes[t];
	return all;
}

/* Is there room for it on every device, by the smallest memories of devices and pools? */
static berth_status fits_everywhere(berth_problem *p, berth_err *err)
{
	int64_t all = all_bytes(p->g), least = INT64_MAX;
	for (int32_t d = 0; d < p->n_devs; d++)
		if (p->dev_limit_bytes[d] >= 0 && p->dev_limit_bytes[d] < least)
			least = p->dev_limit_bytes[d];
	for (int32_t i = 0; i < p->n_pools; i++) {
		int64_t n_members = 0;
		for (int32_t d = 0; d < p->n_devs; d++)
			n_members += p->s->dev_pool[d] == i;
		if (all > MAX_POOL_BYTES / n_members)
			return berth_fail(err, BERTH_EFORMAT,
			                  "the %lld devices of memory pool '%s' may hold %.3g bytes each, "
			                  "together beyond 2^62: too much to simulate",
			                  (long long)n_members, p->s->pool_name[i], (double)all);
		if (p->s->pool_bytes[i] >= 0 && p->s->pool_bytes[i] / n_members < least)
			least = p->s->pool_bytes[i] / n_members;
	}
	p->memory_free = all <= least;
	return BERTH_OK;
}

static berth_status compile(berth_problem *p, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	double total = 0;
	int32_t *by_bytes;
	BERTH_TRY(op_times(p, mem, tmp, err));
	BERTH_TRY(berth_constraints_compile(p, mem, tmp, err));
	BERTH_TRY(byte_classes(p, &by_bytes, mem, tmp, err));
	BERTH_TRY(hop_times(p, mem, err));
	/* classes by size: neighbours mostly take the same routes */
	BERTH_TRY(berth_routes_compile(p, by_bytes, mem, tmp, err));
	/* The mean of each operator's times, as the engine has them, and total, the sum of the longest. */
	BERTH_TRY_NEW(mem, p->n_ops, err, p->op_mean_ns);
	if (p->s->engine && p->s->engine->times)
		BERTH_TRY(p->s->engine->times(p, mem, err));
	BERTH_TRY(berth_fused_times(p, err));
	for (int32_t op = 0; op < p->n_ops; op++) {
		int64_t count = 0, most = 0;
		for (int32_t dev = 0; dev < p->n_devs; dev++) {
			int64_t time = berth_op_time(p, op, dev);
			p->op_mean_ns[op] += time < 0 ? 0 : time;
			most = time > most ? time : most;
			count += time >= 0;
		}
		total += (double)most;
		if (count)
			p->op_mean_ns[op] /= count;
	}
	BERTH_TRY(berth_pool_tables(p, mem, tmp, &total, err));
	BERTH_TRY(mean_transfers(p, mem, total, err));
	BERTH_TRY(priorities(p, mem, tmp, err));
	const berth_graph *g = p->g;
	int32_t *fill;
	BERTH_TRY_NEW(mem, g->n_edges, err, p->edge_in_pos);
	BERTH_TRY_NEW(tmp, g->n_ops, err, fill);
	for (int32_t e = 0; e < g->n_edges; e++) { /* tensors ascend, as inputs do */
		int32_t op = g->edge_consumer[e];
		p->edge_in_pos[e] = g->op_in_off[op] + fill[op]++;
	}
	return BERTH_OK;
}

berth_status berth_problem_new(const berth_graph *g, const berth_system *s, berth_arena *mem,
                               berth_arena *tmp, berth_problem *out, berth_err *err)
{
	berth_problem p = {.g = g,
	                   .s = s,
	                   .n_ops = g->n_ops,
	                   .n_devs = s->n_devs,
	                   .has_energy = s->cost_model->has_energy};
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	berth_status st = compile(&p, mem, tmp, err);
	berth_arena_reset(tmp, mark);
	BERTH_TRY(st);
	for (int32_t d = 0; d < p.n_devs; d++)
		p.has_energy &= !isnan(s->dev_idle_w[d]) && !isnan(s->dev_busy_w[d]);
	BERTH_TRY(fits_everywhere(&p, err));
	if (p.coupled)
		BERTH_TRY(berth_constraints_prove(&p, tmp, &p.rules_infeasible, err));
	*out = p;
	return BERTH_OK;
}
