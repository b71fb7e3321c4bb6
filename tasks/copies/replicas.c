/* Places a number of copies of a graph at once, from starts that spread whole copies over the devices or
 * repeat a placement of one. */
#include "replicas.h"

enum { MOST_OPS = 40000 };

typedef struct trial {
	const berth_graph *one; /* the graph */
	const berth_system *s;
	const berth_method *method;
	berth_search_cfg cfg;
	const int32_t *alone; /* [one->n_ops] a placement of the graph alone; NULL: none was found */
	double copy_s;        /* that it takes a copy at most before a search begins */
	int32_t copies_left;  /* of all numbers that are still to be tried */
	berth_arena *mem, *tmp;
} trial;

int32_t berth_replicas_most(const berth_graph *g, const berth_system *s)
{
	int32_t n = 2 * s->n_devs;
	n = n < BERTH_MOST_REPLICAS ? n : BERTH_MOST_REPLICAS;
	while (n > 1 && (int64_t)n * g->n_ops > MOST_OPS)
		n--;
	return n;
}

/* ---- starts ---- */

/* Nanoseconds of the graph's operators on dev, -1: it cannot have all of them; and bytes that stay there. */
static int64_t whole_on(const berth_problem *p, int32_t n_one, int32_t dev, int64_t *bytes)
{
	int64_t sum = 0;
	*bytes = 0;
	for (int32_t op = 0; op < n_one; op++) {
		if (!berth_op_legal(p, op, dev))
			return -1;
		sum += berth_op_time(p, op, dev);
		*bytes += p->g->op_param_bytes[op] + p->g->op_state_bytes[op];
	}
	return sum / p->s->dev_slots[dev];
}

/* Each copy goes to the device that would be done with all its copies first, where their weights fit. */
static bool spread_copies(const berth_problem *p, int32_t n, int32_t *op_dev)
{
	int32_t n_one = p->n_ops / n, count[BERTH_MAX_DEVS] = {0};
	int64_t load[BERTH_MAX_DEVS], bytes[BERTH_MAX_DEVS];
	for (int32_t d = 0; d < p->n_devs; d++)
		load[d] = whole_on(p, n_one, d, &bytes[d]);
	for (int32_t k = 0; k < n; k++) {
		int32_t best = -1;
		for (int32_t d = 0; d < p->n_devs; d++) {
			int64_t most = berth_dev_most_bytes(p, d);
			if (load[d] < 0 || (most >= 0 && (count[d] + 1) * bytes[d] > most))
				continue;
			if (best < 0 || (count[d] + 1) * load[d] < (count[best] + 1) * load[best])
				best = d;
		}
		if (best < 0)
			return false;
		count[best]++;
		for (int32_t op = 0; op < n_one; op++)
			op_dev[k * n_one + op] = best;
	}
	return true;
}

/* The better of both; NULL: neither runs. */
static berth_status choose_start(trial *t, const berth_problem *p, int32_t n, const int32_t **out,
                                 berth_err *err)
{
	berth_eval e;
	berth_score best = berth_score_worst();
	int32_t *way[2];
	*out = NULL;
	BERTH_TRY(berth_eval_new(p, &t->cfg.objective, t->tmp, &e, err));
	for (int k = 0; k < 2; k++) {
		BERTH_TRY_NEW(t->mem, p->n_ops, err, way[k]);
		if (k == 0 ? !spread_copies(p, n, way[k]) : !t->alone)
			continue;
		for (int32_t op = 0; k == 1 && op < p->n_ops; op++)
			way[k][op] = t->alone[op % t->one->n_ops];
		const int32_t *order = p->s->order == BERTH_ORDER_GIVEN ? p->g->topo_op : NULL;
		berth_score score = berth_eval_run(&e, way[k], order);
		if (berth_score_less(score, best)) {
			best = score;
			*out = way[k];
		}
	}
	return BERTH_OK;
}

/* ---- one number of copies ---- */

static berth_status unite_copies(const trial *t, int32_t n, berth_replicas *r, berth_err *err)
{
	berth_graph *all;
	BERTH_TRY_NEW(t->tmp, n, err, all);
	for (int32_t k = 0; k < n; k++)
		all[k] = *t->one;
	r->n = n;
	if (n > 1)
		return berth_graph_union(all, n, t->mem, t->tmp, &r->g, &r->parts, err);
	r->g = *t->one;
	return BERTH_OK;
}

/* r->sample_s is NAN where no placement was found. */
static berth_status try_copies(trial *t, int32_t n, berth_replicas *r, berth_err *err)
{
	berth_problem p;
	berth_bounds bounds;
	berth_solution x;
	berth_search_cfg cfg;
	double left = berth_search_cfg_left(&t->cfg);
	r->sample_s = NAN;
	BERTH_TRY(unite_copies(t, n, r, err));
	BERTH_TRY(berth_problem_new(&r->g, t->s, t->mem, t->tmp, &p, err));
	if (berth_problem_feasible(&p, NULL) != BERTH_OK)
		return BERTH_OK;
	BERTH_TRY(berth_bounds_new(&p, t->tmp, &bounds, err));
	cfg = berth_search_cfg_part(&t->cfg, (double)n / t->copies_left);
	if (isfinite(left))
		t->copy_s = fmax(t->copy_s, (left - berth_search_cfg_left(&t->cfg)) / n);
	BERTH_TRY(choose_start(t, &p, n, &cfg.start_dev, err));
	berth_status st = berth_solve(&p, &bounds, t->method, &cfg, t->mem, t->tmp, &x, err);
	r->interrupted |= st == BERTH_EINTERRUPTED;
	if (st == BERTH_ELIMIT || st == BERTH_EINTERRUPTED)
		return BERTH_OK;
	BERTH_TRY(st);
	r->interrupted |= x.interrupted;
	r->evaluations += x.evaluations;
	if (x.feasible)
		r->sample_s = x.value / n;
	r->op_dev = x.op_dev;
	r->op_order = x.op_order;
	return BERTH_OK;
}

/* The number behind n: nearer to a copy a device first, the lower one first. 0: there is none. */
static int32_t next_number(int32_t n, int32_t n_devs, int32_t least, int32_t most)
{
	int32_t best = 0;
	for (int32_t k = least; k <= most; k++) {
		int64_t rank = 2 * labs((long)k - n_devs) + (k > n_devs),
			now = n ? 2 * labs((long)n - n_devs) + (n > n_devs) : -1,
			then = best ? 2 * labs((long)best - n_devs) + (best > n_devs) : INT64_MAX;
		if (rank > now && rank < then)
			best = k;
	}
	return best;
}

static berth_status choose_number(trial *t, int32_t least, int32_t most, berth_replicas *out, berth_err *err)
{
	berth_replicas r = {0}, best = {.sample_s = INFINITY};
	t->copies_left = 1;
	for (int32_t n = least; n <= most; n++)
		t->copies_left += n > 1 ? n : 0;
	BERTH_TRY(try_copies(t, 1, &r, err));
	t->copies_left--;
	t->alone = isnan(r.sample_s) ? NULL : r.op_dev;
	if (least == 1 && !isnan(r.sample_s))
		best = r;
	for (int32_t n = 0; (n = next_number(n, t->s->n_devs, least, most)) != 0;) {
		if (n == 1)
			continue;
		if (r.interrupted && best.n)
			break;
		if (least == most || n * t->copy_s < berth_search_cfg_left(&t->cfg)) {
			BERTH_TRY(try_copies(t, n, &r, err));
			if (r.sample_s < best.sample_s || (r.sample_s == best.sample_s && n < best.n))
				best = r;
		}
		t->copies_left -= n;
		if (r.interrupted) /* what was tried just now ended with what it started from */
			break;
	}
	if (r.interrupted && !best.n)
		return berth_fail(err, BERTH_EINTERRUPTED, "interrupted before there was a placement");
	if (!best.n) {
		BERTH_TRY(unite_copies(t, least, &best, err));
		best.n = 0;
	}
	best.evaluations = r.evaluations;
	best.interrupted = r.interrupted;
	*out = best;
	return BERTH_OK;
}

berth_status berth_replicas_choose(const berth_graph *g, const berth_system *s, int32_t least, int32_t most,
                                   const berth_method *method, const berth_search_cfg *cfg, berth_arena *mem,
                                   berth_arena *tmp, berth_replicas *out, berth_err *err)
{
	trial t = {.one = g, .s = s, .method = method, .cfg = *cfg, .mem = mem, .tmp = tmp};
	BERTH_SCRATCH(tmp);
	berth_search_cfg_begin(&t.cfg);
	return choose_number(&t, least, most, out, err);
}
