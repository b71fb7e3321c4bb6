/* What adapting goes by: placements that were run, what moving to another one costs, and planning anew. */
#include "run_history.h"

enum { STEPS_TO_JUDGE = 3 };

static bool same(const berth_run_history *h, const int32_t *a, const int32_t *b)
{
	return memcmp(a, b, (size_t)h->n_ops * sizeof *a) == 0;
}

static berth_status find(berth_run_history *h, const int32_t *op_dev, const int32_t *order,
                         berth_run_record **out, berth_err *err)
{
	size_t size = (size_t)h->n_ops * sizeof *op_dev;
	for (size_t i = 0; i < h->n; i++)
		if (same(h, h->record[i]->op_dev, op_dev) && same(h, h->record[i]->order, order)) {
			*out = h->record[i];
			return BERTH_OK;
		}
	BERTH_TRY(BERTH_GROW(h->mem, h->record, h->n, &h->cap, err));
	BERTH_TRY_NEW(h->mem, 1, err, *out);
	BERTH_TRY_NEW(h->mem, h->n_ops, err, (*out)->op_dev, (*out)->order);
	memcpy((*out)->op_dev, op_dev, size);
	memcpy((*out)->order, order, size);
	h->record[h->n++] = *out;
	return BERTH_OK;
}

berth_status berth_run_history_measure(berth_run_history *h, const int32_t *op_dev, const int32_t *order,
                                       int32_t n_steps, double step_s, berth_err *err)
{
	const berth_run_record *before = h->now;
	BERTH_TRY(find(h, op_dev, order, &h->now, err));
	h->cold = before && before != h->now;
	h->n_warm = h->cold ? 0 : h->n_warm + n_steps;
	if (!h->cold || h->now->n_steps == 0) {
		berth_run_record *x = h->now;
		if (x->n_steps >= STEPS_TO_JUDGE && !x->cold && fabs(step_s / x->step_s - 1) > h->threshold) {
			/* A record that was forgotten is filled again at the next run. */
			for (size_t i = 0; i < h->n; i++)
				h->record[i]->n_steps = 0;
			h->n_changes++;
		}
		if (x->cold)
			x->n_steps = 0;
		x->step_s = (x->n_steps * x->step_s + n_steps * step_s) / (x->n_steps + n_steps);
		x->n_steps += n_steps;
		x->cold = h->cold;
	}
	if (!h->cold && (h->now->least_s == 0 || step_s < h->now->least_s))
		h->now->least_s = step_s;
	return BERTH_OK;
}

bool berth_run_history_has(const berth_run_history *h, const int32_t *op_dev, const int32_t *order)
{
	for (size_t i = 0; i < h->n; i++) {
		const berth_run_record *x = h->record[i];
		if (x == h->now || x->n_steps == 0 || !same(h, x->op_dev, op_dev))
			continue;
		if (!same(h, h->now->op_dev, op_dev) || same(h, x->order, order))
			return true;
	}
	return false;
}

bool berth_run_history_judged(const berth_run_history *h)
{
	return h->n_warm >= STEPS_TO_JUDGE;
}

const berth_run_record *berth_run_history_better(const berth_run_history *h)
{
	const berth_run_record *best = NULL;
	for (size_t i = 0; i < h->n; i++) {
		const berth_run_record *x = h->record[i];
		if (x->n_steps > 0 && (!best || x->step_s < best->step_s))
			best = x;
	}
	return best && berth_run_history_judged(h) && best->step_s * (1 + h->threshold) < h->now->step_s
	               ? best
	               : NULL;
}

const berth_run_record *berth_run_history_once_faster(const berth_run_history *h)
{
	const berth_run_record *best = NULL;
	for (size_t i = 0; i < h->n; i++) {
		const berth_run_record *x = h->record[i];
		if (x != h->now && x->least_s > 0 && (!best || x->least_s < best->least_s))
			best = x;
	}
	return best && best->least_s * (1 + h->threshold) < h->now->step_s ? best : NULL;
}

/* The smallest class of at least so many bytes, else the largest. -1: the graph has no tensors. */
static int32_t class_near(const berth_problem *p, int64_t bytes)
{
	int32_t best = -1;
	for (int32_t c = 0; c < p->n_classes; c++) {
		int64_t have = best < 0 ? -1 : p->class_bytes[best], b = p->class_bytes[c];
		if (have < bytes ? b > have : b >= bytes && b < have)
			best = c;
	}
	return best;
}

static double hop_s(const berth_system *s, int32_t link, int64_t bytes)
{
	return s->link_latency_s[link] + (double)bytes / s->link_bandwidth[link];
}

/* Without tensors the graph has single operators and no routes: then it is the direct link. */
static double transfer_s(const berth_problem *p, int64_t bytes, int32_t from, int32_t to)
{
	int32_t c = class_near(p, bytes), direct = p->s->link_of[from * p->n_devs + to];
	double seconds = 0;
	if (from == to || bytes == 0)
		return 0;
	if (c < 0)
		return direct >= 0 ? hop_s(p->s, direct, bytes) : 0;
	int32_t r = p->class_pair_route[((size_t)c * (size_t)p->n_devs + (size_t)from) * (size_t)p->n_devs +
	                                (size_t)to];
	BERTH_EACH (h, p->route_off, r)
		seconds += hop_s(p->s, p->route_link[h], bytes);
	return seconds;
}

/* Seconds for shared parameter q. stamp [n_devs] gets q + 1 where the parameter is already. */
static double move_shared(const berth_problem *p, int32_t q, const int32_t *from, const int32_t *to,
                          int32_t *stamp)
{
	const berth_graph *g = p->g;
	double seconds = 0;
	BERTH_EACH (i, g->param_op_off, q)
		stamp[from[g->param_op[i]]] = q + 1;
	BERTH_EACH (i, g->param_op_off, q) {
		int32_t op = g->param_op[i];
		if (stamp[to[op]] == q + 1)
			continue;
		stamp[to[op]] = q + 1;
		seconds += transfer_s(p, g->param_bytes[q], from[op], to[op]);
	}
	return seconds;
}

berth_status berth_migration_cost(const berth_problem *p, const int32_t *from, const int32_t *to,
                                  berth_arena *tmp, berth_migration *out, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	const berth_graph *g = p->g;
	berth_migration r = {0};
	int32_t *stamp;
	BERTH_TRY_NEW(tmp, p->n_devs, err, stamp);
	for (int32_t op = 0; op < g->n_ops; op++) {
		r.n_moved += from[op] != to[op];
		r.seconds += transfer_s(p, g->op_param_bytes[op] + g->op_state_bytes[op], from[op], to[op]);
	}
	for (int32_t q = 0; q < g->n_params; q++)
		r.seconds += move_shared(p, q, from, to, stamp);
	*out = r;
	return BERTH_OK;
}

static berth_status solve(berth_replan *x, berth_err *err)
{
	const char *const names[BERTH_REPLAN_METHODS] = {BERTH_REPLAN_METHOD, "single"};
	berth_bounds bounds;
	BERTH_TRY(berth_bounds_new(&x->f.p, &x->mem, &bounds, err));
	for (int i = 0; i < BERTH_REPLAN_METHODS; i++) {
		const berth_method *method;
		berth_search_cfg cfg = berth_search_cfg_default();
		BERTH_TRY(berth_method_find(names[i], &method, err));
		BERTH_TRY(berth_solve(&x->f.p, &bounds, method, &cfg, &x->mem, &x->tmp, &x->answer[i], err));
	}
	return BERTH_OK;
}

static void work(void *ctx)
{
	berth_replan *x = ctx;
	double from = berth_wall_seconds();
	x->st = solve(x, &x->err);
	x->took_s = berth_wall_seconds() - from;
	atomic_store(&x->done, true);
}

berth_status berth_replan_begin(berth_replan *x, const berth_calibration *c, berth_err *err)
{
	berth_replan_give_up(x);
	BERTH_TRY(berth_fitted_sim_calibrated(c, &x->mem, &x->tmp, &x->f, err));
	berth_task_begin(&x->task, work, x);
	return BERTH_OK;
}

bool berth_replan_done(const berth_replan *x)
{
	return atomic_load(&x->done);
}

berth_status berth_replan_wait(berth_replan *x, berth_err *err)
{
	berth_task_wait(&x->task);
	return x->st == BERTH_OK ? BERTH_OK : berth_fail(err, x->st, "%s", x->err.msg);
}

void berth_replan_give_up(berth_replan *x)
{
	berth_task_wait(&x->task);
	berth_arena_free(&x->mem);
	berth_arena_free(&x->tmp);
	x->st = BERTH_OK;
	atomic_store(&x->done, false);
}
