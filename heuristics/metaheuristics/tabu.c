/* Tabu search on critical paths, as for job shops whose operations may run on several machines and whose
 * products must be carried: F. Glover, "Tabu search, part I", ORSA Journal on Computing 1, 1989; M.
 * Dell'Amico, M. Trubian, "Applying tabu search to the job-shop scheduling problem", Annals of Operations
 * Research 41, 1993, for choosing by estimates; M. Mastrolilli, L. M. Gambardella, "Effective neighbourhood
 * functions for the flexible job shop problem", Journal of Scheduling 3, 2000, for moves to another machine;
 * J. Hurink, S. Knust, "Tabu search algorithms for job-shop problems with a single transport robot", European
 * Journal of Operational Research 162, 2005, for carrying as a part of the path.
 *
 * It starts from the best of the portfolio. A step looks at colocation groups on critical paths, those that
 * take a critical transfer among them, and at their other legal devices; where energy counts at all groups,
 * and for throughput at those of the largest load. Some looks are at a group together with others of its
 * device that it is joined to. The best by estimate are simulated, and the best of these is taken, worse or
 * not. What moved may not go back for some steps, more where more is critical, but to a value that is the
 * best so far. After many steps without a gain the search starts again from a good placement that it met,
 * with some random moves.
 *
 * Where there are no estimates for the objective, in large graphs, and while limits are broken, a step takes
 * the best of some random moves. No step goes from kept limits to broken ones. */
#include "coloc.h"
#include "order_walk.h"
#include "registry.h"
#include "screen.h"

enum {
	LARGE = 20000,   /* beyond so many operators there are no estimates */
	SLOTS = 1 << 14, /* of what is tabu: pairs of group and device that share one are tabu together */
	LOOKS = 32,      /* single groups that a step looks at */
	BLOCKS = 128,    /* and groups with what they are joined to */
	MOST_BLOCK = 16, /* groups of such a block */
	TRIED = 6,       /* candidates that are simulated, and one that is tabu */
	MOST_TRIED = 8,
	MAX_DRAWS = 32,
	PATIENCE = 150,  /* steps without a gain */
	SHAKES = 4,      /* random moves at most before the next start */
	ELITE = 2        /* placements to start from */
};
#define TENURE_SHARE 0.1  /* times the root of the number of critical groups: steps at least, beside one */
#define SHAKE_SHARE 0.02  /* of all groups that one of those moves takes at most */
#define SAMPLE_SHARE 0.25 /* the same of moves without estimates */

/* Groups that go to one device together. */
typedef struct change {
	int32_t coloc[MOST_BLOCK], n, dev;
	double price;
	bool tabu;
} change;

typedef struct tabu {
	berth_search *s;
	const berth_problem *p;
	berth_rng rng;
	berth_moves moves;
	bool screens; /* there are estimates: */
	berth_screen screen;
	bool seen_base;                 /* critical groups are those of the present placement */
	int32_t *critical, n_critical;  /* [n_colocs] */
	int64_t *listed, stamp;         /* [n_colocs] */
	int64_t *until;                 /* [SLOTS] the step up to which it is tabu */
	int64_t step, gained;           /* steps made; when the best was found */
	int32_t *op_dev;                /* [n_ops] the present placement */
	berth_score score, best;        /* its score; the best since the last start */
	int32_t *best_dev;              /* [n_ops] */
	int32_t *elite, n_elite;        /* [ELITE][n_ops] the best of former starts */
	berth_score elite_score[ELITE];
	int32_t *trial_dev;             /* [MOST_TRIED][n_ops] */
	berth_keyed trial[MOST_TRIED];
	berth_score trial_score[MOST_TRIED];
	change tried[MOST_TRIED];
	int32_t n_tried;
	change aspirant;
} tabu;

/* ---- what is tabu ---- */

static int64_t *slot(tabu *x, int32_t coloc, int32_t dev)
{
	return &x->until[((int64_t)coloc * x->p->n_devs + dev) % SLOTS];
}

static bool is_tabu(tabu *x, int32_t coloc, int32_t dev)
{
	return *slot(x, coloc, dev) >= x->step;
}

static void forbid(tabu *x, int32_t coloc, int32_t dev)
{
	int32_t least = 1 + (int32_t)(TENURE_SHARE * sqrt((double)x->n_critical));
	*slot(x, coloc, dev) = x->step + least + (int32_t)berth_rng_below(&x->rng, (uint32_t)least + 1);
}

/* ---- critical groups ---- */

static void list_coloc(tabu *x, int32_t coloc)
{
	if (x->listed[coloc] == x->stamp)
		return;
	x->listed[coloc] = x->stamp;
	x->critical[x->n_critical++] = coloc;
}

/* False: the present placement has no log. */
static bool look(tabu *x)
{
	const berth_base_log *log = NULL;
	if (x->seen_base)
		return true;
	x->stamp++;
	x->n_critical = 0;
	bool paths = x->screen.has_paths;
	if (!paths) {
		berth_loads_begin(&x->screen.loads, x->op_dev);
	} else {
		log = berth_eval_base(&x->s->eval[0], (berth_keyed){.op_dev = x->op_dev});
		if (!log)
			return false;
		berth_tails_update(&x->screen.tails, log);
		berth_prices_update(&x->screen.prices, log);
	}
	for (int32_t op = 0; op < x->p->n_ops; op++)
		if (!paths ? berth_loads_critical(&x->screen.loads, op, x->op_dev)
		           : x->screen.prices.per_joule > 0 || berth_tails_slack(&x->screen.tails, op) <= 0)
			list_coloc(x, x->p->op_coloc[op]);
	if (log) {
		/* Those that take a tensor from a critical transfer. */
		const berth_graph *g = x->p->g;
		for (int32_t h = 0; h < log->n_ends - x->p->n_ops; h++) {
			const berth_sim_hop *hop = &log->hops[h];
			if (hop->start_ns + x->screen.tails.hop_tail_ns[h] < log->latency_ns)
				continue;
			BERTH_EACH (e, g->tensor_use_off, hop->tensor)
				if (log->op_dev[g->edge_consumer[e]] == hop->dest)
					list_coloc(x, x->p->op_coloc[g->edge_consumer[e]]);
		}
	}
	x->seen_base = true;
	return true;
}

/* ---- estimates ---- */

/* Has one of the groups of moves gone in trial to where it may not go back? */
static bool has_tabu(tabu *x, const int32_t *trial)
{
	for (int32_t i = 0; i < x->moves.n_moved; i++)
		if (is_tabu(x, x->moves.moved[i], berth_coloc_dev(x->p, x->moves.moved[i], trial)))
			return true;
	return false;
}

static change change_of(const tabu *x, const int32_t *trial, double expected, bool tabu_one)
{
	const berth_moves *m = &x->moves;
	change c = {.n = m->n_moved,
	            .dev = berth_coloc_dev(x->p, m->moved[0], trial),
	            .price = expected,
	            .tabu = tabu_one};
	BERTH_COPY(c.coloc, m->moved, c.n);
	return c;
}

/* The groups of moves have gone to another device in trial: keep that if it is among the best, and put them
 * back. */
static void consider(tabu *x, int32_t *trial)
{
	const berth_screen_base base = {.op_dev = x->op_dev};
	bool tabu_one = has_tabu(x, trial);
	double enough = tabu_one             ? x->aspirant.price
	                : x->n_tried < TRIED ? INFINITY
	                                     : x->tried[TRIED - 1].price,
	       expected =
		       berth_screen_price(&x->screen, x->screen.has_paths, &base, &x->moves, trial, enough);
	if (expected < enough && tabu_one)
		x->aspirant = change_of(x, trial, expected, true);
	else if (expected < enough) {
		change c = change_of(x, trial, expected, false);
		int32_t at = x->n_tried < TRIED ? x->n_tried++ : TRIED - 1;
		for (; at > 0 && x->tried[at - 1].price > c.price; at--)
			x->tried[at] = x->tried[at - 1];
		x->tried[at] = c;
	}
	berth_moves_undo(&x->moves, x->op_dev, trial);
}

static void look_at(tabu *x, int32_t coloc, int32_t dev, int32_t *trial)
{
	if (dev == berth_coloc_dev(x->p, coloc, x->op_dev) || !berth_coloc_legal(x->p, coloc, dev))
		return;
	berth_coloc_put(x->p, coloc, dev, trial);
	x->moves.moved[0] = coloc;
	x->moves.n_moved = 1;
	consider(x, trial);
}

static void draw_some(tabu *x, int32_t n, bool blocks, int32_t *trial)
{
	for (int32_t i = 0; i < n; i++) {
		berth_move_shape shape = {BERTH_MOVE_ONE, 1};
		int32_t coloc = x->critical[berth_rng_below(&x->rng, (uint32_t)x->n_critical)];
		if (blocks)
			shape = (berth_move_shape){BERTH_MOVE_JOINED,
			                           2 + (int32_t)berth_rng_below(&x->rng, MOST_BLOCK - 1)};
		if (berth_moves_draw_from(&x->moves, shape, coloc, &x->rng, trial) > 0)
			consider(x, trial);
	}
}

/* The best neighbours by estimate. */
static void look_around(tabu *x, int32_t *trial)
{
	x->n_tried = 0;
	x->aspirant.price = INFINITY;
	BERTH_COPY(trial, x->op_dev, x->p->n_ops);
	if (x->n_critical == 0)
		return;
	if ((int64_t)x->n_critical * (x->p->n_devs - 1) > LOOKS)
		draw_some(x, LOOKS, false, trial);
	else
		for (int32_t i = 0; i < x->n_critical; i++)
			for (int32_t d = 0; d < x->p->n_devs; d++)
				look_at(x, x->critical[i], d, trial);
	draw_some(x, BLOCKS, true, trial);
}

/* ---- steps ---- */

static bool takes_none(void *ctx, int32_t i, berth_score score)
{
	(void)ctx;
	(void)i;
	(void)score;
	return false;
}

/* Score the first n trials. Returns the number scored. */
static int32_t score_trials(tabu *x, int32_t n)
{
	n = (int32_t)berth_search_budget_left(x->s, n);
	if (n > 0)
		berth_search_offer_first(x->s, n, (berth_keyed){.op_dev = x->op_dev}, x->trial, NULL,
		                         x->trial_score, takes_none, NULL);
	return n;
}

/* The present placement becomes trial i; what it left is tabu. */
static void take(tabu *x, int32_t i)
{
	const berth_problem *p = x->p;
	const int32_t *trial = x->trial[i].op_dev;
	for (int32_t u = 0; u < p->n_colocs; u++)
		if (berth_coloc_dev(p, u, trial) != berth_coloc_dev(p, u, x->op_dev))
			forbid(x, u, berth_coloc_dev(p, u, x->op_dev));
	BERTH_COPY(x->op_dev, trial, p->n_ops);
	x->score = x->trial_score[i];
	x->seen_base = false;
	if (berth_score_less(x->score, x->best)) {
		x->best = x->score;
		x->gained = x->step;
		BERTH_COPY(x->best_dev, trial, p->n_ops);
	}
}

/* The best of n scored trials; -1: none may be taken. A tabu one is only where nothing better was met. */
static int32_t choose(const tabu *x, int32_t n)
{
	int32_t best = -1;
	for (int32_t i = 0; i < n; i++) {
		if (x->trial_score[i].excess > x->score.excess ||
		    (x->tried[i].tabu && !berth_score_less(x->trial_score[i], x->best)))
			continue;
		if (best < 0 || berth_score_less(x->trial_score[i], x->trial_score[best]))
			best = i;
	}
	return best;
}

static int32_t *trial_of(const tabu *x, int32_t i)
{
	return BERTH_ROW(x->trial_dev, i, x->p->n_ops);
}

/* A step by estimates. False: there is nothing to take. */
static bool step_screened(tabu *x)
{
	look_around(x, trial_of(x, 0));
	if (x->aspirant.price < (x->n_tried > 0 ? x->tried[0].price : INFINITY))
		x->tried[x->n_tried++] = x->aspirant;
	if (x->n_tried == 0)
		return false;
	for (int32_t i = 0; i < x->n_tried; i++) {
		BERTH_COPY(trial_of(x, i), x->op_dev, x->p->n_ops);
		for (int32_t k = 0; k < x->tried[i].n; k++)
			berth_coloc_put(x->p, x->tried[i].coloc[k], x->tried[i].dev, trial_of(x, i));
	}
	int32_t n = score_trials(x, x->n_tried), best = choose(x, n);
	if (best >= 0)
		take(x, best);
	else
		for (int32_t i = 0; i < n; i++)
			for (int32_t k = 0; k < x->tried[i].n; k++)
				forbid(x, x->tried[i].coloc[k], x->tried[i].dev);
	return true;
}

static void step(tabu *x)
{
	x->step++;
	if (!x->screens || !berth_score_feasible(x->score) || !look(x) || !step_screened(x)) {
		/* The best of some random moves. */
		for (int32_t i = 0; i < MOST_TRIED; i++) {
			int32_t *trial = trial_of(x, i);
			BERTH_COPY(trial, x->op_dev, x->p->n_ops);
			berth_moves_draw(&x->moves, SAMPLE_SHARE, MAX_DRAWS, &x->rng, trial);
			x->tried[i].tabu = has_tabu(x, trial);
		}
		int32_t best = choose(x, score_trials(x, MOST_TRIED));
		if (best >= 0)
			take(x, best);
	}
}

/* ---- starts ---- */

static int32_t *elite_of(const tabu *x, int32_t i)
{
	return BERTH_ROW(x->elite, i, x->p->n_ops);
}

/* The best of this start, if it is new and good enough. */
static void keep_elite(tabu *x)
{
	size_t bytes = (size_t)x->p->n_ops * sizeof *x->elite;
	int32_t worst = 0;
	for (int32_t i = 0; i < x->n_elite; i++) {
		if (memcmp(elite_of(x, i), x->best_dev, bytes) == 0)
			return;
		if (berth_score_less(x->elite_score[worst], x->elite_score[i]))
			worst = i;
	}
	if (x->n_elite < ELITE)
		worst = x->n_elite++;
	else if (!berth_score_less(x->best, x->elite_score[worst]))
		return;
	x->elite_score[worst] = x->best;
	memcpy(elite_of(x, worst), x->best_dev, bytes);
}

/* Go on from op_dev with some random moves, or none. One evaluation. Where they break limits that are kept,
 * they are not made. */
static void start(tabu *x, const int32_t *op_dev, berth_score score, int32_t shakes)
{
	size_t bytes = (size_t)x->p->n_ops * sizeof *op_dev;
	memcpy(x->op_dev, op_dev, bytes);
	memcpy(x->best_dev, op_dev, bytes);
	memcpy(trial_of(x, 0), op_dev, bytes);
	x->score = x->best = score;
	x->gained = x->step;
	x->seen_base = false;
	for (int32_t k = 0; k < shakes; k++)
		berth_moves_draw(&x->moves, SHAKE_SHARE, MAX_DRAWS, &x->rng, trial_of(x, 0));
	if (score_trials(x, 1) == 0 || x->trial_score[0].excess > score.excess)
		return;
	x->best = berth_score_worst();
	take(x, 0);
}

static berth_status new_tabu(tabu *x, berth_arena *mem, berth_err *err)
{
	size_t n_ops = (size_t)x->p->n_ops;
	BERTH_TRY(berth_moves_new(x->p, mem, &x->moves, err));
	BERTH_TRY(berth_search_prepare_walk(x->s, err));
	x->screens = berth_screen_knows(&x->s->cfg.objective) && x->p->n_ops <= LARGE;
	if (x->screens) {
		BERTH_TRY(berth_screen_new(x->p, &x->s->cfg.objective, berth_walk_style_of(x->s), mem,
		                           &x->screen, err));
		if (x->screen.has_paths)
			BERTH_TRY(berth_eval_want_log(&x->s->eval[0], x->s->mem, err));
		BERTH_TRY_NEW(mem, x->p->n_colocs, err, x->critical, x->listed);
	}
	BERTH_TRY_NEW(mem, SLOTS, err, x->until);
	BERTH_TRY_NEW(mem, n_ops, err, x->op_dev, x->best_dev);
	BERTH_TRY_NEW(mem, ELITE * n_ops, err, x->elite);
	BERTH_TRY_NEW(mem, MOST_TRIED * n_ops, err, x->trial_dev);
	for (int32_t i = 0; i < MOST_TRIED; i++)
		x->trial[i] = (berth_keyed){.op_dev = trial_of(x, i)};
	return BERTH_OK;
}

static berth_status tabu_run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	tabu x = {.s = s, .p = s->p, .rng = berth_rng_seed(s->cfg.seed, BERTH_STREAM_METHOD)};
	BERTH_TRY(berth_start_from_portfolio(s, tmp, err));
	if (!berth_can_move(s->p) || berth_orders_decide(s))
		return berth_walk_orders(s, tmp, err);
	if (berth_search_budget_left(s, 1) == 0)
		return BERTH_OK;
	BERTH_TRY(new_tabu(&x, tmp, err));
	start(&x, s->best_dev, berth_score_worst(), 0);
	while (berth_search_budget_left(s, 1) > 0)
		if (x.step - x.gained > PATIENCE) {
			keep_elite(&x);
			int32_t i = (int32_t)berth_rng_below(&x.rng, (uint32_t)x.n_elite);
			start(&x, elite_of(&x, i), x.elite_score[i],
			      1 + (int32_t)berth_rng_below(&x.rng, SHAKES));
		} else
			step(&x);
	return BERTH_OK;
}

const berth_method berth_method_tabu = {
	"tabu", "Tabu search on critical paths (Dell'Amico, Trubian 1993; Mastrolilli, Gambardella 2000).",
	true,   tabu_run,
	NULL,   "Glover 1989; Dell'Amico, Trubian 1993; Mastrolilli, Gambardella 2000; Hurink, Knust 2005"};
