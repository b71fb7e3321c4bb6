/* The search over cuts of operators: programs by rule, then annealing of the best, then placing their pieces.
 * Annealing as S. Kirkpatrick, C. D. Gelatt, M. P. Vecchi, "Optimization by simulated annealing", Science
 * 220, 1983. */
#include "cut_search.h"

#include "cut_seeds.h"

#define PROGRAM_SHARE 0.25 /* of the evaluations, once whole operators are placed */
#define WHOLE_TIME 0.4     /* of a time: for whole operators, then for programs; the rest for the best */
#define PROGRAM_TIME 0.3
#define HOT 0.02 /* temperatures, relative to the value */
#define COLD 0.0005

enum {
	STARTS = 3, /* kinds of seeds that are annealed, and whose pieces are placed by the method */
	KEPT = 2,   /* seeds of each kind whose pieces are placed as they are */
	DRAWS = 256 /* of moves, one after the other that come to nothing */
};

/* A program by what becomes of the operators; ops are copies. */
typedef struct state {
	berth_cut_op *op;
	berth_score score;
	const char *from;
	bool cut; /* it has pieces */
} state;

typedef struct search {
	const berth_cutting *c;
	const berth_search_cfg *cfg;
	berth_cut_result *r;
	berth_arena *mem, *tmp;
	berth_arena each;            /* of one program; emptied after each */
	int64_t programs;            /* that may be made */
	double start_s, start_cpu_s; /* of the time that there is */
	double from_s, from_cpu_s;   /* when the first program was made */
	berth_cut_told *told;
	void *ctx;        /* of told */
	berth_score best; /* of all programs, and of whole operators */
} search;

static bool is_cancelled(const search *s)
{
	return s->cfg->cancel && atomic_load(s->cfg->cancel);
}

/* Is the value proven as close to the best as was asked for? */
static void look_at(search *s, bool feasible, double value)
{
	if (feasible && s->cfg->gap > 0 && value <= s->r->lower_bound * (1 + s->cfg->gap))
		s->r->close = true;
}

/* Is there an answer that close? */
static bool is_close(const search *s)
{
	return s->r->close && s->r->cut.program;
}

/* Has the user had enough, or is it close enough, or the time over? */
static bool is_over(const search *s)
{
	const berth_search_cfg *cfg = s->cfg;
	return is_cancelled(s) || s->r->close ||
	       (cfg->time_s > 0 && berth_wall_seconds() - s->start_s >= cfg->time_s) ||
	       (cfg->cpu_s > 0 && berth_cpu_seconds() - s->start_cpu_s >= cfg->cpu_s);
}

static double later_part(double part, double limit, double from, double start, double now)
{
	return limit > 0 ? fmax(part,
	                        (now - from) / fmax(start + (WHOLE_TIME + PROGRAM_TIME) * limit - from, 1e-9))
	                 : part;
}

/* How much of what programs may cost is spent, from 0 on; from 1 on it is all. */
static double spent(const search *s)
{
	double part = s->programs > 0 ? (double)s->r->programs / (double)s->programs : 1;
	if (is_cancelled(s) || s->r->close)
		return 1;
	part = later_part(part, s->cfg->time_s, s->from_s, s->start_s, berth_wall_seconds());
	return later_part(part, s->cfg->cpu_s, s->from_cpu_s, s->start_cpu_s, berth_cpu_seconds());
}

static void copy_ops(const search *s, const berth_cut_op *from, berth_cut_op *to)
{
	BERTH_COPY(to, from, s->c->p->n_ops);
}

static berth_status score_state(search *s, state *x, berth_err *err)
{
	berth_cut_program program;
	BERTH_SCRATCH(&s->each);
	BERTH_TRY(berth_cut_program_make(s->c, x->op, &s->each, s->tmp, &program, err));
	x->score = program.score;
	x->cut = program.made.n_made > 0;
	s->r->programs++;
	s->r->evaluations += program.evaluations;
	look_at(s, berth_score_feasible(x->score), x->score.value);
	if (berth_score_less(x->score, s->best))
		s->best = x->score;
	if (s->told)
		s->told(s->ctx, s->r, s->programs, s->best);
	return BERTH_OK;
}

/* x among the KEPT best, the best first, whose ops are there. */
static void keep_seed(const search *s, const state *x, state kept[KEPT])
{
	int at = KEPT - 1;
	state in = *x;
	if (kept[at].from && !berth_score_less(x->score, kept[at].score))
		return;
	in.op = kept[at].op;
	copy_ops(s, x->op, in.op);
	for (; at > 0 && (!kept[at - 1].from || berth_score_less(x->score, kept[at - 1].score)); at--)
		kept[at] = kept[at - 1];
	kept[at] = in;
}

/* All seeds; the best of each kind into best [kinds][KEPT], whose ops are there. */
static berth_status score_seeds(search *s, state (*best)[KEPT], berth_err *err)
{
	state x = {0};
	BERTH_TRY_NEW(s->mem, s->c->p->n_ops, err, x.op);
	for (int32_t k = 0; k < berth_n_cut_seeds; k++) {
		x.from = berth_cut_seeds[k].name;
		for (int32_t i = 0; spent(s) < 1; i++) {
			bool more;
			BERTH_TRY(berth_cut_seeds[k].make(s->c, i, s->mem, x.op, &more, err));
			if (!more)
				break;
			BERTH_TRY(score_state(s, &x, err));
			keep_seed(s, &x, best[k]);
		}
	}
	return BERTH_OK;
}

/* Metropolis' rule, relative to the value. */
static bool accepts(berth_score now, berth_score next, double temperature, berth_rng *rng)
{
	double u = berth_rng_unit(rng);
	if (!berth_score_less(now, next))
		return true;
	return next.excess <= now.excess && u < exp(-(next.value / now.value - 1) / temperature);
}

/* A walk from x until so much is spent. x becomes the best that it came to. */
static berth_status anneal_from(search *s, berth_rng *rng, double until, state *x, berth_err *err)
{
	berth_cut_moves moves;
	state now = *x, next = *x;
	double first = spent(s);
	BERTH_TRY_NEW(s->mem, s->c->p->n_ops, err, now.op, next.op);
	copy_ops(s, x->op, now.op);
	BERTH_TRY(berth_cut_moves_new(s->c, s->mem, &moves, err));
	for (int draws = 0; draws < DRAWS; draws++) {
		double so_far = spent(s), part = (so_far - first) / (until - first);
		bool moved;
		if (so_far >= until)
			break;
		copy_ops(s, now.op, next.op);
		BERTH_TRY(berth_cut_moves_draw(&moves, rng, next.op, &moved, err));
		if (!moved)
			continue;
		draws = 0;
		BERTH_TRY(score_state(s, &next, err));
		if (!accepts(now.score, next.score, HOT * pow(COLD / HOT, part), rng))
			continue;
		copy_ops(s, next.op, now.op);
		now.score = next.score;
		now.cut = next.cut;
		if (!berth_score_less(now.score, x->score))
			continue;
		copy_ops(s, now.op, x->op);
		x->score = now.score;
		x->cut = now.cut;
	}
	return BERTH_OK;
}

/* The best of n states, the best first, at most `most`; how many they are. */
static int32_t choose_states(const state *all, int32_t n, bool with_pieces, int32_t most, const state **out)
{
	int32_t chosen = 0;
	for (int32_t k = 0; k < n; k++) {
		const state *x = &all[k];
		int32_t at = chosen;
		if (!x->from || (with_pieces && !x->cut))
			continue;
		for (; at > 0 && berth_score_less(x->score, out[at - 1]->score); at--)
			if (at < most)
				out[at] = out[at - 1];
		if (at < most)
			out[at] = x;
		chosen += chosen < most;
	}
	return chosen;
}

/* ---- the pieces of the best ---- */

/* The search goes on from where the pieces stand: by rule at first, then where it had come to. */
static berth_status place_pieces(search *s, const berth_method *method, int64_t evaluations, int32_t to_come,
                          berth_cut_answer *x, berth_err *err)
{
	berth_search_cfg cfg = *s->cfg;
	berth_bounds none = {.kind = "fast"};
	for (int m = 0; m < BERTH_N_METRICS; m++)
		none.value[m] = NAN;
	/* The time that is left, parted by the searches to come. */
	const berth_search_cfg *all = s->cfg;
	cfg.time_from = berth_wall_seconds();
	cfg.cpu_from = berth_cpu_seconds();
	if (all->time_s > 0)
		cfg.time_s = fmax(all->time_s - (cfg.time_from - s->start_s), 1e-3) / to_come;
	if (all->cpu_s > 0)
		cfg.cpu_s = fmax(all->cpu_s - (cfg.cpu_from - s->start_cpu_s), 1e-3) / to_come;
	cfg.evaluations = evaluations;
	cfg.start_dev = x->r.answered ? x->r.op_dev : x->program->op_dev;
	cfg.start_order = x->r.answered ? x->r.op_order : x->program->order;
	cfg.kept = NULL;
	BERTH_TRY(berth_solve(&x->program->p, &none, method, &cfg, s->mem, s->tmp, &x->r, err));
	s->r->evaluations += x->r.evaluations;
	look_at(s, x->r.feasible, x->r.value);
	return BERTH_OK;
}

/* The program once more, to stay. */
static berth_status make_again(search *s, const state *from, berth_cut_answer *x, berth_err *err)
{
	*x = (berth_cut_answer){.op = from->op, .from = from->from};
	BERTH_TRY_NEW(s->mem, 1, err, x->program);
	BERTH_TRY(berth_cut_program_make(s->c, from->op, s->mem, s->tmp, x->program, err));
	s->r->evaluations += x->program->evaluations;
	return BERTH_OK;
}

static bool is_better(const berth_solution *a, const berth_solution *b)
{
	return a->feasible && (!b->feasible || a->value < b->value);
}

/* The user has had enough: the best by rule, as it stands. */
static berth_status answer_now(search *s, const berth_method *method, const state *from, berth_err *err)
{
	berth_cut_answer *x = &s->r->cut;
	BERTH_TRY(make_again(s, from, x, err));
	const berth_cut_program *p = x->program;
	bool fits = berth_score_feasible(p->score);
	x->r = (berth_solution){.p = &p->p,
	                        .method = method,
	                        .objective = s->cfg->objective,
	                        .seed = s->cfg->seed,
	                        .answered = true,
	                        .feasible = fits,
	                        .interrupted = true,
	                        .value = fits ? p->score.value : NAN,
	                        .lower_bound = NAN,
	                        .gap = NAN,
	                        .bound_kind = "fast",
	                        .status = fits ? "feasible" : "infeasible",
	                        .order = p->order ? BERTH_ORDER_GIVEN : p->p.s->order,
	                        .op_dev = p->op_dev};
	if (p->order)
		BERTH_TRY_NEW(s->mem, p->g.n_ops, err, x->r.op_order);
	if (p->order)
		BERTH_COPY(x->r.op_order, p->order, p->g.n_ops);
	return BERTH_OK;
}

static bool search_is_over(void *ctx)
{
	return is_over(ctx);
}

/* The best without the cuts of types that are better whole, if that is better then. */
static berth_status place_pruned(search *s, const berth_method *method, int64_t evaluations, berth_err *err)
{
	berth_cut_answer *best = &s->r->cut;
	berth_cut_op *op;
	bool any;
	BERTH_TRY_NEW(s->mem, s->c->p->n_ops, err, op);
	BERTH_TRY(berth_cut_prune(s->c, s->r, search_is_over, s, s->mem, s->tmp, op, &any, err));
	if (!any)
		return BERTH_OK;
	const state from = {.op = op, .from = best->from};
	berth_cut_answer x;
	BERTH_TRY(make_again(s, &from, &x, err));
	BERTH_TRY(place_pieces(s, method, evaluations, 2, &x, err));
	if (x.program->made.n_made && is_better(&x.r, &best->r))
		*best = x;
	return BERTH_OK;
}

/* What was annealed, and seeds as they were: a program that is good by rule need not be the best when its
 * pieces are placed. Half of what is left of the budget is for all, the rest for the best of them. What the
 * method answers at once may take more: then as many are placed as the whole budget has evaluations for, but
 * always the first; a budget that this one takes is spent. */
static berth_status place_best(search *s, const berth_method *method, const state *best,
                               state (*seed)[KEPT], berth_err *err)
{
	const state **from;
	int32_t kinds = berth_n_cut_seeds, all = kinds * KEPT;
	BERTH_TRY_NEW(s->mem, STARTS + all, err, from);
	int32_t n = choose_states(best, kinds, true, STARTS, from);
	const int64_t budget = s->cfg->evaluations, half = (budget - s->r->programs) / 2;
	int64_t took = 0, first = 0;
	if (n && is_cancelled(s))
		return answer_now(s, method, from[0], err);
	n += choose_states(*seed, all, true, all, from + n);
	for (int32_t i = 0; i < n && took < budget && !is_close(s) && !(i && is_over(s)); i++) {
		berth_cut_answer x;
		BERTH_TRY(make_again(s, from[i], &x, err));
		BERTH_TRY(place_pieces(s, method, half / n, 2 * n - i, &x, err));
		took += x.r.evaluations;
		first = i ? first : took;
		if (!s->r->cut.program || is_better(&x.r, &s->r->cut.r))
			s->r->cut = x;
	}
	if (!n || first >= budget || is_over(s))
		return BERTH_OK;
	BERTH_TRY(place_pruned(s, method, half / 2, err));
	return is_over(s) ? BERTH_OK : place_pieces(s, method, half, 1, &s->r->cut, err);
}

/* best becomes what annealing came to from the seeds. */
static berth_status search_programs(search *s, state *best, state (*seed)[KEPT], berth_err *err)
{
	int32_t kinds = berth_n_cut_seeds;
	for (int32_t k = 0; k < kinds; k++) {
		BERTH_TRY_NEW(s->mem, s->c->p->n_ops, err, best[k].op);
		for (int i = 0; i < KEPT; i++)
			BERTH_TRY_NEW(s->mem, s->c->p->n_ops, err, seed[k][i].op);
	}
	BERTH_TRY(score_seeds(s, seed, err));
	for (int32_t k = 0; k < kinds; k++) {
		berth_cut_op *op = best[k].op;
		if (seed[k]->from)
			copy_ops(s, seed[k]->op, op);
		best[k] = *seed[k];
		best[k].op = op;
	}
	/* From the best seeds of the best kinds for half of what is left, then from the best of these. */
	berth_rng rng = berth_rng_seed(s->cfg->seed, BERTH_STREAM_METHOD);
	const state *from[STARTS];
	int32_t n = choose_states(best, kinds, false, STARTS, from);
	double start = spent(s);
	for (int32_t i = 0; i < n; i++)
		BERTH_TRY(anneal_from(s, &rng, start + (1 - start) * (i + 1) / (2 * n), &best[from[i] - best],
		                      err));
	n = choose_states(best, kinds, false, STARTS, from);
	return !n ? BERTH_OK : anneal_from(s, &rng, 1, &best[from[0] - best], err);
}

static berth_status place_whole(search *s, const berth_bounds *bounds, const berth_method *method,
                                berth_err *err)
{
	berth_search_cfg cfg = *s->cfg;
	s->start_s = cfg.time_from > 0 ? cfg.time_from : berth_wall_seconds();
	s->start_cpu_s = cfg.cpu_from > 0 ? cfg.cpu_from : berth_cpu_seconds();
	cfg.time_s *= WHOLE_TIME;
	cfg.cpu_s *= WHOLE_TIME;
	BERTH_TRY(berth_solve(s->c->placed, bounds, method, &cfg, s->mem, s->tmp, &s->r->whole, err));
	s->r->evaluations = s->r->whole.evaluations;
	if (s->r->whole.feasible)
		s->best = (berth_score){0, s->r->whole.value};
	look_at(s, s->r->whole.feasible, s->r->whole.value);
	s->from_s = berth_wall_seconds();
	s->from_cpu_s = berth_cpu_seconds();
	return BERTH_OK;
}

/* The plan of whole operators, as the model's operators stand in it; one that a training step leaves out
 * stands on the first device. */
static berth_status find_whole_dev(const search *s, berth_cutting *c, berth_err *err)
{
	int32_t *dev;
	berth_strmap ops;
	c->whole_dev = NULL;
	if (!s->r->whole.answered)
		return BERTH_OK;
	BERTH_TRY_NEW(s->mem, c->p->n_ops, err, dev);
	BERTH_TRY(berth_graph_names(c->placed->g, s->mem, &ops, err));
	for (int32_t op = 0; op < c->p->n_ops; op++) {
		int32_t at = berth_strmap_get(&ops, c->p->g->op_name[op]);
		dev[op] = at < 0 ? 0 : s->r->whole.op_dev[at];
	}
	c->whole_dev = dev;
	return BERTH_OK;
}

berth_status berth_cut_search(berth_cutting *c, const berth_bounds *bounds, const berth_method *method,
                              const berth_search_cfg *cfg, berth_cut_told *told, void *ctx, berth_arena *mem,
                              berth_arena *tmp, berth_cut_result *out, berth_err *err)
{
	berth_cut_result r = {0};
	state *best, (*seed)[KEPT];
	search s = {.c = c,
	            .cfg = cfg,
	            .r = &r,
	            .mem = mem,
	            .tmp = tmp,
	            .each = {.hook = mem->hook},
	            .told = told,
	            .ctx = ctx,
	            .best = berth_score_worst()};
	BERTH_TRY(berth_cut_bound(c, tmp, &r.lower_bound, err));
	BERTH_TRY(place_whole(&s, bounds, method, err));
	BERTH_TRY(find_whole_dev(&s, c, err));
	s.programs = (int64_t)(PROGRAM_SHARE * (double)cfg->evaluations);
	BERTH_TRY_NEW(mem, berth_n_cut_seeds, err, best, seed);
	berth_status st = search_programs(&s, best, seed, err);
	berth_arena_free(&s.each);
	BERTH_TRY(st);
	BERTH_TRY(place_best(&s, method, best, seed, err));
	r.interrupted = is_cancelled(&s);
	r.gains = r.cut.program && is_better(&r.cut.r, &r.whole);
	*out = r;
	return BERTH_OK;
}
