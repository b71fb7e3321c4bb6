/* Better sums of times in the room that there is; see sum_improve.h. */
#include "sum_improve.h"

#include "array.h"
#include "coloc.h"

#define MOVE_NS 30.0 /* of work to move a colocation group, for each of its operators and edges */

enum { MOST_RUN = 1000, PATIENCE = 24 }; /* PATIENCE: groups that a run goes on for without a better sum */

berth_status sum_improver_new(berth_search *s, const int64_t *coloc_bytes, const int64_t *limit_bytes,
                              berth_arena *mem, sum_improver *out, berth_err *err)
{
	const berth_problem *p = s->p;
	bool *listed;
	int32_t n = 0;
	*out = (sum_improver){.s = s, .coloc_bytes = coloc_bytes, .limit_bytes = limit_bytes};
	BERTH_TRY_NEW(mem, p->n_colocs, err, out->coloc, out->dev, out->best_dev);
	BERTH_TRY_NEW(mem, p->n_colocs, err, listed);
	BERTH_TRY_NEW(mem, berth_n_resources(p), err, out->used);
	for (int32_t k = 0; k < p->n_ops; k++) {
		int32_t u = p->op_coloc[p->g->topo_op[k]];
		if (!listed[u])
			out->coloc[n++] = u;
		listed[u] = true;
	}
	return berth_sum_walk_new(p, mem, &out->walk, err);
}

static void count(sum_improver *x, int32_t u, int32_t dev, int64_t sign)
{
	int32_t pool = berth_dev_pool(x->s->p, dev);
	x->used[dev] += sign * x->coloc_bytes[u];
	if (pool >= 0)
		x->used[x->s->p->n_devs + pool] += sign * x->coloc_bytes[u];
}

static void begin(sum_improver *x, const int32_t *op_dev)
{
	const berth_problem *p = x->s->p;
	berth_sum_walk_set(&x->walk, op_dev);
	BERTH_CLEAR(x->used, berth_n_resources(p));
	for (int32_t k = 0; k < p->n_colocs; k++) {
		x->dev[k] = berth_coloc_dev(p, x->coloc[k], op_dev);
		count(x, x->coloc[k], x->dev[k], 1);
	}
}

/* Move the k-th colocation group. */
static void move(sum_improver *x, int32_t k, int32_t dev)
{
	if (x->dev[k] == dev)
		return;
	count(x, x->coloc[k], x->dev[k], -1);
	count(x, x->coloc[k], dev, 1);
	x->dev[k] = dev;
	berth_sum_walk_move_coloc(&x->walk, x->coloc[k], dev);
}

static bool has_room(const sum_improver *x, int32_t dev)
{
	int32_t pool = berth_dev_pool(x->s->p, dev), at = x->s->p->n_devs + pool;
	return (x->limit_bytes[dev] < 0 || x->used[dev] <= x->limit_bytes[dev]) &&
	       (pool < 0 || x->limit_bytes[at] < 0 || x->used[at] <= x->limit_bytes[at]);
}

static bool fits(const sum_improver *x)
{
	for (int32_t d = 0; d < x->s->p->n_devs; d++)
		if (!has_room(x, d))
			return false;
	return true;
}

void sum_mix(sum_improver *x, const int32_t *first, const int32_t *second, int32_t *op_dev)
{
	const berth_problem *p = x->s->p;
	int32_t best = -1;
	berth_sum_walk_set(&x->walk, op_dev);
	int64_t best_ns = x->walk.sum_ns;
	begin(x, second);
	for (int32_t k = 0; k < p->n_colocs; k++) {
		move(x, k, berth_coloc_dev(p, x->coloc[k], first));
		if (x->walk.sum_ns < best_ns && fits(x)) {
			best_ns = x->walk.sum_ns;
			best = k;
		}
	}
	for (int32_t k = 0; k < p->n_colocs && best >= 0; k++) {
		const int32_t *from = k <= best ? first : second;
		berth_coloc_put(p, x->coloc[k], berth_coloc_dev(p, x->coloc[k], from), op_dev);
	}
}

/* Move a run from the i-th colocation group on, as far as is best. Returns whether it gains. */
static bool move_run(sum_improver *x, int32_t i, int32_t dev)
{
	const berth_problem *p = x->s->p;
	int64_t best_ns = x->walk.sum_ns;
	int32_t best = i - 1, k = i;
	for (; k < p->n_colocs && k < i + MOST_RUN && k - best <= PATIENCE; k++) {
		x->best_dev[k] = x->dev[k];
		if (!berth_coloc_legal(p, x->coloc[k], dev))
			break;
		move(x, k, dev);
		if (!has_room(x, dev)) {
			move(x, k, x->best_dev[k]);
			break;
		}
		if (x->walk.sum_ns < best_ns) {
			best_ns = x->walk.sum_ns;
			best = k;
		}
	}
	while (--k > best)
		move(x, k, x->best_dev[k]);
	return best >= i;
}

void sum_move_runs(sum_improver *x, int32_t *op_dev)
{
	const berth_problem *p = x->s->p;
	double pass_ns = MOVE_NS * PATIENCE * 2 * p->n_devs * ((double)p->n_ops + p->g->n_edges);
	begin(x, op_dev);
	for (bool gained = true; gained && berth_search_afford(x->s, pass_ns);) {
		gained = false;
		for (int32_t i = 0; i < p->n_colocs; i++)
			for (int32_t d = 0; d < p->n_devs; d++)
				gained |= x->dev[i] != d && move_run(x, i, d);
	}
	BERTH_COPY(op_dev, x->walk.op_dev, p->n_ops);
}
