/* Tabu search over devices and a given order: the move of the best estimate that is not tabu is made, worse
 * or not (order_moves.h). After many steps without a gain the walk starts again from one of the best
 * placements of former starts, with some random moves, as the elite of Nowicki and Smutnicki.
 *
 * Times are longest paths where those are exact (op_sequence.h), else a run of the simulator. */
#include "order_walk.h"

#include "coloc.h"
#include "cost_model.h"
#include "order_moves.h"
#include "sim_state.h"

enum {
	ELITE = 6,
	PATIENCE = 5000, /* steps without a gain; of simulated ones so many: */
	SIMULATED_PATIENCE = 250,
	LEAST_SHAKES = 3,
	SHAKES = 20,
	TOGETHER = 16 /* evaluations between two looks at the budget */
};

#define CHEAP 0.01 /* transfers, for each second of operators */

/* What was found. */
typedef struct find {
	berth_score score;
	int32_t *op_dev, *order; /* [n_ops] */
} find;

struct berth_order_walk {
	berth_search *s;
	const berth_problem *p;
	berth_rng rng;
	bool exact;   /* longest paths are */
	int64_t till; /* evaluations up to which the budget was looked at */
	bool over;    /* it is at its end */
	berth_sequence now;
	berth_score score;
	int32_t first, last; /* of the sequence, what has changed since its times were set */
	berth_order_moves moves;
	find best, elite[ELITE]; /* since the last start; of former starts */
	berth_score ever;        /* the best of all */
	int64_t best_ns, gained; /* latency of best; the step of the last gain */
	int32_t n_elite;
	/* of simulated runs */
	int32_t *ends;
	berth_sim_hop *hops;
	berth_tails tails;
	berth_base_log log;
};

bool berth_order_walk_works(const berth_search *s)
{
	return s->p->s->cost_model->has_orders && s->p->n_ops > 1 &&
	       (berth_objective_is(&s->cfg.objective, BERTH_LATENCY) ||
	        berth_objective_is(&s->cfg.objective, BERTH_EDP));
}

bool berth_order_walk_quick(const berth_search *s)
{
	return berth_order_walk_works(s) && berth_objective_is(&s->cfg.objective, BERTH_LATENCY) &&
	       berth_sequence_exact(s->p) && s->p->memory_free && !s->p->coupled &&
	       !berth_objective_has_limits(&s->cfg.objective);
}

bool berth_orders_decide(const berth_search *s)
{
	const berth_problem *p = s->p;
	double ways_ns = 0, times_ns = 0;
	if (!berth_order_walk_quick(s))
		return false;
	for (int32_t t = 0; t < p->g->n_tensors; t++)
		ways_ns += (double)p->class_mean_ns[p->tensor_class[t]];
	for (int32_t op = 0; op < p->n_ops; op++)
		times_ns += (double)p->op_mean_ns[op];
	return ways_ns <= CHEAP * times_ns || !berth_can_move(p);
}

static berth_status new_find(int32_t n, berth_arena *mem, find *out, berth_err *err)
{
	out->score = berth_score_worst();
	BERTH_TRY_NEW(mem, n, err, out->op_dev, out->order);
	return BERTH_OK;
}

berth_status berth_order_walk_new(berth_search *s, berth_rng rng, berth_arena *mem, berth_order_walk **out,
                                  berth_err *err)
{
	const berth_problem *p = s->p;
	berth_order_walk *w;
	BERTH_TRY_NEW(mem, 1, err, w);
	w->s = s;
	w->p = p;
	w->rng = rng;
	w->exact = berth_order_walk_quick(s);
	w->ever = berth_score_worst();
	BERTH_TRY(berth_sequence_new(p, mem, &w->now, err));
	BERTH_TRY(berth_order_moves_new(p, &w->now, &w->rng, mem, &w->moves, err));
	BERTH_TRY(new_find(p->n_ops, mem, &w->best, err));
	for (int32_t i = 0; i < ELITE; i++)
		BERTH_TRY(new_find(p->n_ops, mem, &w->elite[i], err));
	if (!w->exact) {
		size_t hops = berth_sim_max_hops(w->p);
		BERTH_TRY_NEW(mem, hops, err, w->hops);
		BERTH_TRY_NEW(mem, hops + (size_t)w->p->n_ops, err, w->ends);
		BERTH_TRY(berth_tails_new(w->p, mem, &w->tails, err));
		w->moves.tails = &w->tails;
	}
	*out = w;
	return BERTH_OK;
}

/* ---- the present placement ---- */

static bool budget_left(berth_order_walk *w)
{
	if (w->s->evaluations >= w->till)
		w->till = w->s->evaluations + berth_search_budget_left(w->s, w->exact ? TOGETHER : 1);
	w->over = w->s->evaluations >= w->till;
	return !w->over;
}

/* Times and score of the present placement, if there is budget left. One evaluation. */
static void run_now(berth_order_walk *w)
{
	berth_sequence *q = &w->now;
	berth_eval *e = &w->s->eval[0];
	if (!budget_left(w))
		return;
	w->s->evaluations++;
	if (w->exact) {
		berth_sequence_heads(q, w->first);
		berth_sim_result r = {.runs = true, .fits = true, .latency_ns = q->latency_ns};
		w->score = (berth_score){0, berth_objective_value(&e->objective, &r)};
		return;
	}
	e->sim->ends = w->ends;
	e->sim->hops = w->hops;
	w->score = berth_eval_run(e, q->op_dev, q->order);
	w->log.n_ends = e->sim->n_ends;
	e->sim->ends = NULL;
	e->sim->hops = NULL;
	BERTH_COPY(q->start_ns, e->sim->start_ns, w->p->n_ops);
	BERTH_COPY(q->end_ns, e->sim->end_ns, w->p->n_ops);
	q->latency_ns = e->sim->now;
}

static void raise_to(int64_t *x, int64_t to)
{
	if (*x < to)
		*x = to;
}

static int64_t hop_tail(const berth_order_walk *w, int32_t tensor, int32_t dest)
{
	int32_t h = berth_tails_hop(&w->tails, tensor, dest);
	while (h >= 0 && w->tails.hop_first[h] >= 0)
		h = w->tails.hop_first[h];
	return h >= 0 ? w->tails.hop_tail_ns[h] : 0;
}

/* Its tails, right behind run_now. */
static void look(berth_order_walk *w)
{
	const berth_graph *g = w->p->g;
	berth_sequence *q = &w->now;
	if (w->exact) {
		berth_sequence_tails(q, w->last);
		return;
	}
	w->log = (berth_base_log){.serial = w->log.serial + 1,
	                          .op_dev = q->op_dev,
	                          .start_ns = q->start_ns,
	                          .end_ns = q->end_ns,
	                          .ends = w->ends,
	                          .n_ends = w->log.n_ends,
	                          .hops = w->hops,
	                          .latency_ns = q->latency_ns};
	berth_tails_update(&w->tails, &w->log);
	BERTH_COPY(q->ready_ns, w->tails.ready_ns, w->p->n_ops);
	BERTH_COPY(q->tail_ns, w->tails.tail_ns, w->p->n_ops);
	for (int32_t op = 0; op < w->p->n_ops; op++) {
		q->data_tail_ns[op] = 0;
		BERTH_EACH (t, g->op_tensor_off, op)
			BERTH_EACH (e, g->tensor_use_off, t) {
				int32_t to = g->edge_consumer[e];
				raise_to(&q->data_tail_ns[op], q->op_dev[to] == q->op_dev[op]
				                                       ? q->tail_ns[to]
				                                       : hop_tail(w, t, q->op_dev[to]));
			}
	}
}

static bool change(berth_order_walk *w, const berth_sequence_move *m)
{
	return berth_sequence_change(&w->now, m, &w->first, &w->last);
}

/* ---- steps ---- */

static void copy_find(const berth_order_walk *w, find *to, berth_score score, const int32_t *op_dev,
                      const int32_t *order)
{
	to->score = score;
	BERTH_COPY(to->op_dev, op_dev, w->p->n_ops);
	BERTH_COPY(to->order, order, w->p->n_ops);
}

static void note_best(berth_order_walk *w)
{
	if (!berth_score_less(w->score, w->best.score))
		return;
	copy_find(w, &w->best, w->score, w->now.op_dev, w->now.order);
	w->best_ns = w->now.latency_ns;
	w->gained = w->moves.step;
	if (berth_score_less(w->score, w->ever))
		w->ever = w->score;
	berth_search_keep(w->s, w->score, w->now.op_dev, w->now.order);
}

/* Make the move that is candidate i, or take it from the list where it cannot be made. */
static bool make(berth_order_walk *w, int32_t i)
{
	berth_order_move c = w->moves.list[i];
	berth_score before = w->score;
	berth_sequence_move back = berth_sequence_place(&w->now, c.move.op);
	berth_order_moves_forbid(&w->moves, &c.move);
	w->moves.list[i] = w->moves.list[--w->moves.n_list];
	if (!change(w, &c.move))
		return false;
	run_now(w);
	if (w->over)
		return true;
	if (!(w->score.excess > before.excess)) {
		look(w);
		note_best(w);
		return true;
	}
	change(w, &back);
	w->first = 0;
	w->last = w->p->n_ops - 1;
	run_now(w);
	if (!w->over)
		look(w);
	return w->over;
}

/* The best of the list that is not tabu, or that is expected to be the best of all; else any. */
static int32_t choose(berth_order_walk *w)
{
	int32_t best = -1;
	uint32_t equal = 1;
	for (int32_t i = 0; i < w->moves.n_list; i++) {
		const berth_order_move *c = &w->moves.list[i];
		if (c->tabu && c->ns >= w->best_ns)
			continue;
		if (best < 0 || c->ns < w->moves.list[best].ns) {
			best = i;
			equal = 1;
		} else if (c->ns == w->moves.list[best].ns && berth_rng_below(&w->rng, ++equal) == 0) {
			best = i;
		}
	}
	return best >= 0 ? best : (int32_t)berth_rng_below(&w->rng, (uint32_t)w->moves.n_list);
}

/* False: there is nothing to do. */
static bool step_once(berth_order_walk *w)
{
	berth_order_moves_look(&w->moves);
	while (w->moves.n_list > 0)
		if (make(w, choose(w)))
			return true;
	return false;
}

/* ---- starts ---- */

/* Is the best of this start among the elite, or better than one of them? */
static void keep_elite(berth_order_walk *w)
{
	size_t bytes = (size_t)w->p->n_ops * sizeof *w->best.order;
	int32_t worst = 0;
	for (int32_t i = 0; i < w->n_elite; i++) {
		if (memcmp(w->elite[i].order, w->best.order, bytes) == 0)
			return;
		if (berth_score_less(w->elite[worst].score, w->elite[i].score))
			worst = i;
	}
	if (w->n_elite < ELITE)
		worst = w->n_elite++;
	else if (!berth_score_less(w->best.score, w->elite[worst].score))
		return;
	copy_find(w, &w->elite[worst], w->best.score, w->best.op_dev, w->best.order);
}

static void begin(berth_order_walk *w, const int32_t *op_dev, const int32_t *order)
{
	berth_sequence_set(&w->now, op_dev, order);
	w->first = 0;
	w->last = w->p->n_ops - 1;
	run_now(w);
	if (!w->over)
		look(w);
	w->best.score = berth_score_worst();
	if (!w->over)
		note_best(w);
}

static void start_again(berth_order_walk *w)
{
	keep_elite(w);
	const find *from = &w->elite[berth_rng_below(&w->rng, (uint32_t)w->n_elite)];
	int32_t n = LEAST_SHAKES + (int32_t)berth_rng_below(&w->rng, SHAKES);
	begin(w, from->op_dev, from->order);
	for (int32_t k = 0; k < n && !w->over; k++) {
		berth_order_moves_look(&w->moves);
		if (w->moves.n_list > 0)
			make(w, (int32_t)berth_rng_below(&w->rng, (uint32_t)w->moves.n_list));
	}
	if (w->over)
		return;
	w->gained = w->moves.step;
	w->best.score = berth_score_worst();
	note_best(w);
}

void berth_order_walk_start(berth_order_walk *w)
{
	berth_search *s = w->s;
	int32_t *order = w->best.order;
	if (!berth_score_less(s->best, w->ever))
		return;
	if (s->best_has_order) {
		order = s->best_order;
	} else {
		berth_eval_run(&s->eval[0], s->best_dev, NULL);
		s->evaluations++;
		berth_sim_start_order(s->eval[0].sim, order);
	}
	begin(w, s->best_dev, order);
}

bool berth_order_walk_run(berth_order_walk *w, int64_t n)
{
	int64_t end = w->s->evaluations + n;
	int32_t patience = w->exact ? PATIENCE : SIMULATED_PATIENCE;
	while (w->s->evaluations < end && !w->over)
		if (w->moves.step - w->gained > patience || !step_once(w))
			start_again(w);
	return !w->over;
}

berth_status berth_walk_orders(berth_search *s, berth_arena *tmp, berth_err *err)
{
	berth_order_walk *w;
	if (!berth_order_walk_works(s) || berth_search_budget_left(s, 1) == 0)
		return BERTH_OK;
	BERTH_TRY(berth_order_walk_new(s, berth_rng_seed(s->cfg.seed, BERTH_STREAM_ORDER), tmp, &w, err));
	berth_order_walk_start(w);
	while (berth_order_walk_run(w, BERTH_UNLIMITED))
		;
	return BERTH_OK;
}
