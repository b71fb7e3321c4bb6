/* One cut through the topological order: what is before it on one device, what is behind it on another one.
 * So a network is split between a phone and a server: Y. Kang et al., "Neurosurgeon: collaborative
 * intelligence between the cloud and mobile edge", ASPLOS 2017. For every ordered pair of devices all cuts
 * are looked at by the sum of operator and transfer times (for the throughput, by the largest of the two
 * loads and the transfers), and the best MOST_OFFERED are simulated. In a chain the sum is the latency.
 *
 * A colocation group stands where its first operator is, if it may; else on the other device, or on its
 * fastest one. O(pairs * (ops + edges)). */
#include "coloc.h"
#include "method.h"
#include "simple.h"

enum { MOST_OFFERED = 8, MOST_DEVS = 16 };

typedef struct splitter {
	berth_search *s;
	int32_t *all[2];    /* [n_ops] all on the first device, on the second one, as far as can be */
	int32_t *op_dev;    /* [n_ops] */
	int32_t *coloc_at;  /* [n_colocs] position of its first operator */
	double *before;     /* [n_ops + 1] by cut: time on the first device */
	double *behind;     /* [n_ops + 1] time on the second one */
	double *moving;     /* [n_ops + 1] time of transfers */
	int32_t kept[MOST_OFFERED]; /* cuts, the best first */
	double kept_ns[MOST_OFFERED];
	int32_t n_kept;
} splitter;

static int32_t at(const splitter *x, int32_t op)
{
	return x->coloc_at[x->s->p->op_coloc[op]];
}

/* A tensor is under way for the cuts above `from`, up to `to`. */
static void add_moving(splitter *x, int32_t from, int32_t to, int64_t ns)
{
	if (from < to) {
		x->moving[from + 1] += (double)ns;
		if (to < x->s->p->n_ops)
			x->moving[to + 1] -= (double)ns;
	}
}

/* What each cut costs; cut k leaves positions below k on the first device. */
static void weigh(splitter *x, int32_t first, int32_t second)
{
	const berth_problem *p = x->s->p;
	const berth_graph *g = p->g;
	int32_t n = p->n_ops;
	for (int32_t k = 0; k <= n; k++)
		x->before[k] = x->behind[k] = x->moving[k] = 0;
	for (int32_t op = 0; op < n; op++) {
		x->before[at(x, op) + 1] += (double)berth_op_time(p, op, x->all[0][op]);
		x->behind[at(x, op)] += (double)berth_op_time(p, op, x->all[1][op]);
	}
	for (int32_t t = 0; t < g->n_tensors; t++) {
		int32_t home = at(x, g->tensor_producer[t]), nearest = home, farthest = home;
		BERTH_EACH (e, g->tensor_use_off, t) {
			int32_t there = at(x, g->edge_consumer[e]);
			nearest = there < nearest ? there : nearest;
			farthest = there > farthest ? there : farthest;
		}
		add_moving(x, home, farthest, berth_transfer_ns(p, t, first, second));
		add_moving(x, nearest, home, berth_transfer_ns(p, t, second, first));
	}
	for (int32_t k = 1; k <= n; k++) {
		x->before[k] += x->before[k - 1];
		x->moving[k] += x->moving[k - 1];
		x->behind[n - k] += x->behind[n - k + 1];
	}
}

static void offer_pair(splitter *x, int32_t first, int32_t second)
{
	const berth_problem *p = x->s->p;
	berth_single_placement(p, first, x->all[0]);
	berth_single_placement(p, second, x->all[1]);
	for (int32_t u = 0; u < p->n_colocs; u++) { /* what can be on one of the two alone stays there */
		bool legal[2] = {berth_coloc_legal(p, u, first), berth_coloc_legal(p, u, second)};
		if (legal[0] && !legal[1])
			berth_coloc_put(p, u, first, x->all[1]);
		if (legal[1] && !legal[0])
			berth_coloc_put(p, u, second, x->all[0]);
	}
	weigh(x, first, second);
	bool throughput = berth_objective_is(&x->s->cfg.objective, BERTH_THROUGHPUT);
	x->n_kept = 0;
	for (int32_t k = 0; k <= x->s->p->n_ops; k++) {
		double ns = throughput ? fmax(fmax(x->before[k], x->behind[k]), x->moving[k])
		                       : x->before[k] + x->behind[k] + x->moving[k];
		if (x->n_kept == MOST_OFFERED && ns >= x->kept_ns[MOST_OFFERED - 1])
			continue;
		int32_t i = x->n_kept < MOST_OFFERED ? x->n_kept++ : MOST_OFFERED - 1;
		for (; i > 0 && ns < x->kept_ns[i - 1]; i--) {
			x->kept[i] = x->kept[i - 1];
			x->kept_ns[i] = x->kept_ns[i - 1];
		}
		x->kept[i] = k;
		x->kept_ns[i] = ns;
	}
	for (int32_t i = 0; i < x->n_kept; i++) {
		for (int32_t op = 0; op < p->n_ops; op++)
			x->op_dev[op] = x->all[at(x, op) >= x->kept[i]][op];
		berth_search_offer(x->s, x->op_dev, NULL);
	}
}

static berth_status split_point_run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = s->p;
	splitter x = {.s = s};
	for (int k = 0; k < 2; k++)
		BERTH_TRY_NEW(tmp, p->n_ops, err, x.all[k]);
	BERTH_TRY_NEW(tmp, p->n_ops, err, x.op_dev);
	BERTH_TRY_NEW(tmp, p->n_colocs, err, x.coloc_at);
	BERTH_TRY_NEW(tmp, (size_t)p->n_ops + 1, err, x.before, x.behind, x.moving);
	for (int32_t u = 0; u < p->n_colocs; u++)
		x.coloc_at[u] = p->n_ops;
	for (int32_t op = 0; op < p->n_ops; op++)
		if (p->g->op_topo[op] < at(&x, op))
			x.coloc_at[p->op_coloc[op]] = p->g->op_topo[op];
	double work = (double)p->n_ops * 50 + MOST_OFFERED * berth_search_evaluation_ns(p);
	int32_t n = p->n_devs < MOST_DEVS ? p->n_devs : MOST_DEVS;
	for (int32_t a = 0; a < n; a++)
		for (int32_t b = 0; b < n; b++)
			if ((a != b || n == 1) && ((a == 0 && b < 2) || berth_search_afford(s, work)))
				offer_pair(&x, a, b);
	return BERTH_OK;
}

const berth_method berth_method_split_point = {
	"split-point",
	"One cut through the topological order, between two devices (Neurosurgeon, Kang et al. 2017).",
	false, split_point_run, NULL, "Kang et al. (Neurosurgeon), ASPLOS 2017"};
