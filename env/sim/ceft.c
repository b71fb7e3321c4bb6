/* The CEFT recurrence: for each operator and device the earliest finish, where each input may come from the
 * device that is best for it. The path that gives the length is kept. */
#include "ceft.h"

enum { LOOK_AHEAD = 8 };

/* Earliest arrival of tensor t at device d, over the devices of its producer. *best_dev: the device that
 * gives it. */
static int64_t arrival(const berth_problem *p, const int64_t *finish, int32_t t, int32_t d, int32_t *best_dev)
{
	size_t n = (size_t)p->n_devs;
	const int64_t *from = finish + (size_t)p->g->tensor_producer[t] * n;
	const int64_t *move = p->class_pair_ns + (size_t)p->tensor_class[t] * n * n + (size_t)d;
	int64_t best = BERTH_CEFT_NEVER;
	for (size_t l = 0; l < n; l++) {
		int64_t at = from[l] + move[l * n];
		if (at < best) {
			best = at;
			*best_dev = (int32_t)l;
		}
	}
	return best;
}

/* Transfer times of the inputs of op, which are far apart in memory on large graphs. */
static void fetch(const berth_problem *p, int32_t op)
{
	size_t n = (size_t)p->n_devs;
	BERTH_EACH (i, p->g->op_in_off, op) {
		const int64_t *table = p->class_pair_ns + (size_t)p->tensor_class[p->g->in_tensor[i]] * n * n;
		__builtin_prefetch(table);
		__builtin_prefetch(table + n * n - 1);
	}
}

static void fill_row(const berth_problem *p, berth_ceft *c, int32_t op)
{
	const berth_graph *g = p->g;
	for (int32_t d = 0; d < p->n_devs; d++) {
		size_t cell = berth_cell(p, op, d);
		int64_t ready = -1;
		c->back[cell] = (berth_ceft_step){-1, -1};
		c->finish_ns[cell] = BERTH_CEFT_NEVER;
		if (!berth_op_legal(p, op, d))
			continue;
		BERTH_EACH (i, g->op_in_off, op) {
			int32_t l = -1;
			int64_t at = arrival(p, c->finish_ns, g->in_tensor[i], d, &l);
			if (at > ready) {
				ready = at;
				c->back[cell] = (berth_ceft_step){g->tensor_producer[g->in_tensor[i]], l};
			}
		}
		int64_t finish = (ready > 0 ? ready : 0) + berth_op_time(p, op, d);
		c->finish_ns[cell] = finish < BERTH_CEFT_NEVER ? finish : BERTH_CEFT_NEVER;
	}
}

berth_status berth_ceft_new(const berth_problem *p, berth_arena *mem, berth_ceft *out, berth_err *err)
{
	const berth_graph *g = p->g;
	size_t cells = (size_t)p->n_ops * (size_t)p->n_devs;
	berth_ceft c = {.n_devs = p->n_devs, .end = {-1, -1}};
	BERTH_TRY_NEW(mem, cells, err, c.finish_ns, c.back);
	for (int32_t k = 0; k < p->n_ops; k++) {
		if (k + LOOK_AHEAD < p->n_ops)
			fetch(p, g->topo_op[k + LOOK_AHEAD]);
		fill_row(p, &c, g->topo_op[k]);
	}
	for (int32_t op = 0; op < p->n_ops; op++) {
		if (g->op_tensor_off[op] < g->op_tensor_off[op + 1])
			continue;
		const int64_t *row = c.finish_ns + (size_t)op * (size_t)p->n_devs;
		int32_t best = 0;
		for (int32_t d = 1; d < p->n_devs; d++)
			if (row[d] < row[best])
				best = d;
		if (row[best] < BERTH_CEFT_NEVER && (c.end.op < 0 || row[best] > c.length_ns)) {
			c.length_ns = row[best];
			c.end = (berth_ceft_step){op, best};
		}
	}
	*out = c;
	return BERTH_OK;
}

/* Least time from tensor t leaving device d until everything after its consumer `to` can be over. */
static int64_t rest(const berth_problem *p, const int64_t *op_ns, const int64_t *tail, int32_t t, int32_t d,
                    int32_t to)
{
	size_t row = (size_t)to * (size_t)p->n_devs;
	int64_t best = BERTH_CEFT_NEVER;
	for (int32_t l = 0; l < p->n_devs; l++) {
		if (!berth_op_legal(p, to, l))
			continue;
		int64_t all = berth_transfer_ns(p, t, d, l) +
		              (op_ns ? op_ns[row + (size_t)l] : berth_op_time(p, to, l)) +
		              tail[row + (size_t)l];
		if (all < best)
			best = all;
	}
	return best;
}

void berth_ceft_tails(const berth_problem *p, const int64_t *op_ns, int64_t *tail_ns)
{
	const berth_graph *g = p->g;
	for (int32_t k = p->n_ops - 1; k >= 0; k--) {
		int32_t op = g->topo_op[k];
		for (int32_t d = 0; d < p->n_devs; d++) {
			int64_t longest = 0;
			BERTH_EACH (t, g->op_tensor_off, op)
				BERTH_EACH (e, g->tensor_use_off, t) {
					int64_t way = rest(p, op_ns, tail_ns, t, d, g->edge_consumer[e]);
					longest = way > longest ? way : longest;
				}
			tail_ns[berth_cell(p, op, d)] = longest;
		}
	}
}
