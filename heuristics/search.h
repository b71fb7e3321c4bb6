/* A search for a good placement: the budget of evaluations, the incumbent, and the evaluators of all workers.
 * Every method works on one.
 *
 * Results depend on the problem, the objective, the seed and the number of evaluations alone, never on time
 * or threads. A time limit stops the search after some number of evaluations. The same run with that number
 * as its budget makes the same steps. So a method must not look at the budget in any other way than asking
 * berth_search_budget_left before each step. `berth` does in searches that are too short (seeds.h).
 *
 * What answers at once, seeds of a search among it, is no step: a budget of evaluations does all of it. A
 * time limit may cut it short, by berth_search_afford. Seeds then cost at most a tenth of the time, in work
 * that is counted, and a run whose seeds were cut has no counterpart without a time limit: left_out names
 * them. Work of BERTH_SURE_NS is never cut, so this is so for large problems only. */
#pragma once

#include "bounds.h"
#include "eval.h"
#include "rng.h"
#include "threads.h"

#include <stdatomic.h>

/* What progress shows. */
typedef struct berth_progress {
	int64_t evaluations;
	berth_score best;
	double mean;  /* of the latest samples; NAN: none */
	double bound; /* NAN: not known */
	double evaluations_per_s;
} berth_progress;

struct berth_search;

typedef struct berth_search_cfg {
	berth_objective objective;
	uint64_t seed;
	/* Budget of search methods. What a method must evaluate to answer at all is counted, not limited. */
	int64_t evaluations;
	double time_s, cpu_s; /* limits: wall, and CPU of the whole process; 0: none */
	/* where these begin, by berth_wall_seconds and berth_cpu_seconds; 0: where the search does */
	double time_from, cpu_from;
	/* Stop where the incumbent is within this share above the bound; 0: only where it is proven best. */
	double gap;
	berth_pool *pool;         /* NULL: the caller's thread alone */
	const atomic_int *cancel; /* not 0: stop at the next step; NULL: never */
	void (*progress)(void *ctx, const berth_progress *now); /* NULL: none */
	void *progress_ctx;
	/* file that milp writes its model to, as MPS; NULL: none */
	const char *write_model;
	/* a trained policy, for the methods that use one; opaque here */
	const struct berth_policy_file *policy;
	int64_t nodes; /* limit of the exact methods' search trees; 0: their own default */
	/* [n_ops] A placement to start from, and the order that comes with it; NULL: none. The answer is no
	 * worse. One that breaks colocation, or stands where it may not, is not looked at. */
	const int32_t *start_dev, *start_order;
	/* Called with the search after each new incumbent, by the thread that searches; NULL: none. Searches
	 * that a method makes within it do not call. */
	void (*kept)(void *ctx, const struct berth_search *s);
	void *kept_ctx;
	/* of annealing (screen.h); NULL: those that come with berth */
	const struct berth_walk_styles *walk_styles;
	int32_t walks; /* of annealing, side by side (anneal.h); the result depends on their number. 0: 1 */
} berth_search_cfg;

/* The configuration that a user starts from: latency, seed 1, 10000 evaluations, one thread. */
berth_search_cfg berth_search_cfg_default(void);

/* For several searches that share the time of cfg: it begins now, where it has no beginning yet. */
void berth_search_cfg_begin(berth_search_cfg *cfg);

/* Seconds that are left of it, the lesser of both limits; INFINITY: none is given. */
double berth_search_cfg_left(const berth_search_cfg *cfg);

/* Is its time over, or has the user had enough? */
bool berth_search_cfg_over(const berth_search_cfg *cfg);

/* cfg with a share of the time that is left, from when the search begins. */
berth_search_cfg berth_search_cfg_part(const berth_search_cfg *cfg, double share);

/* As many evaluations as no search makes: another limit ends it. */
#define BERTH_UNLIMITED (INT64_C(1) << 53)

/* A search in a user's words. */
typedef struct berth_search_options {
	const char *objective; /* as berth_objective_parse reads it; NULL: latency */
	uint64_t seed;
	int64_t evaluations;  /* below 0: not said. Then unlimited where a time is said, else the default */
	double time_s, cpu_s; /* 0: no limit */
	int32_t threads;      /* of the pool, 1 and up */
} berth_search_options;

/* The configuration that the options ask for, the rest as by default. Its pool is the caller's to free.
 * Fails: BERTH_EINVAL (unknown objective), BERTH_ENOMEM. */
berth_status berth_search_cfg_open(const berth_search_options *o, berth_search_cfg *out, berth_err *err);

/* Work that is done at once whatever the time, in counted nanoseconds. */
#define BERTH_SURE_NS 1e8

enum { BERTH_MOST_SEEDS = 16 };

/* What an exact method says of the incumbent: berth_search.bound is proven beside it. */
typedef enum berth_proof {
	BERTH_PROOF_NONE,    /* the method proves nothing */
	BERTH_PROOF_OPTIMAL, /* no placement and order is better */
	BERTH_PROOF_LIMIT    /* a limit was reached first */
} berth_proof;

/* A new incumbent that is feasible: after so many evaluations and seconds of CPU time. */
typedef struct berth_search_point {
	int64_t evaluations;
	double cpu_s, value;
} berth_search_point;

typedef struct berth_search {
	const berth_problem *p;
	berth_search_cfg cfg;
	berth_arena *mem;
	const struct berth_method *method; /* that runs on it; NULL: none does */
	const char *note; /* what it did that it may not; NULL: nothing. In mem */
	/* of a method in a process of its own, which `kept` is not called for: [n_found] in mem */
	const berth_search_point *found;
	int32_t n_found;
	berth_eval *eval; /* [workers] */
	int64_t evaluations;
	double started, told; /* wall seconds */
	double cpu_started;   /* CPU seconds; set where they are limited */
	/* NAN: not known; the mean is for progress. A method may raise the bound by one that it has proven */
	double bound, mean;
	berth_proof proof;
	int64_t nodes;       /* of an exact method's search tree */
	int32_t groups;      /* that an exact method solved in the place of operators; 0: it did not */
	bool groups_optimal; /* they are proven best, as groups */
	bool stopped;        /* by time or cancel */
	int32_t candidates;  /* of a move that is chosen by estimates, at least; 0: as walks have them */
	double eval_s;       /* of the latest evaluation, by the clock that is limited */

	double worked_ns, may_work_ns; /* counted work at once; what seeds may: INFINITY outside of them */
	double may_dear_ns; /* what dear seeds may; read among seeds only */
	int64_t seeded;     /* evaluations when the latest seeds ended */
	bool cut;             /* some of it was not done for want of time */
	int64_t may_evaluate; /* evaluations in all, where seeds run amid the search; else INT64_MAX */
	const char *left_out[BERTH_MOST_SEEDS]; /* seeds that were cut short or left out */
	int32_t n_left_out;

	berth_score best;    /* the incumbent; worst before the first offer */
	int32_t *best_dev;   /* [n_ops] */
	int32_t *best_order; /* [n_ops] */
	bool best_has_order;
} berth_search;

/* Fails: BERTH_EINFEASIBLE (an operator without a legal device), BERTH_EFORMAT (objective without watts),
 * BERTH_ENOMEM. */
berth_status berth_search_new(const berth_problem *p, const berth_search_cfg *cfg, berth_arena *mem,
                              berth_search *out, berth_err *err);

/* The order of its own that the incumbent has [n_ops]; NULL: the system's rule. */
static inline const int32_t *berth_search_order(const berth_search *s)
{
	return s->best_has_order ? s->best_order : NULL;
}

/* The incumbent as a placement that came with an order and was scored both ways: out [n_ops], scores by the
 * rule and by the order, the worst for the one that it does not owe its value to. */
void berth_search_tell_ordered(const berth_search *s, int32_t *op_dev, int32_t *order, berth_score scores[2]);

/* Is there a limit of time? */
static inline bool berth_search_timed(const berth_search *s)
{
	return s->cfg.time_s > 0 || s->cfg.cpu_s > 0;
}

/* Seconds that are left, of CPU time for each worker; INFINITY where no time is given. */
double berth_search_seconds_left(const berth_search *s);

/* The same for work of another process: until when it may go on, for BERTH_SURE_NS at least. */
berth_patience berth_search_patience(const berth_search *s);

/* Is the time over, or has the user had enough? For what answers at once and takes long: the count of
 * evaluations is not looked at. */
bool berth_search_over(const berth_search *s);

/* May `ns` more of work be done that belongs to an answer at once? It is counted if so. Always, but where the
 * user has had enough, or a time is given: then where the time is over, or where it is more than seeds may
 * cost. Seeds amid a search may not take more evaluations than are left either. */
bool berth_search_afford(berth_search *s, double ns);

/* What an evaluation counts as work. */
double berth_search_evaluation_ns(const berth_problem *p);

/* Evaluations that may still be made now, at most want. 0 when the budget, the time or the user's patience is
 * at its end, or when the incumbent is as good as the bound. Where so many would take longer than the time
 * that is left, the budget of evaluations ends with those that fit. Tells progress. */
int64_t berth_search_budget_left(berth_search *s, int64_t want);

/* Is the incumbent proven best? */
static inline bool berth_search_proven(const berth_search *s)
{
	return berth_score_feasible(s->best) && s->best.value <= s->bound;
}

/* A seed was cut short or left out. */
void berth_search_leave_out(berth_search *s, const char *name);

/* Raise the bound to one that was proven, in the unit of the value. */
void berth_search_prove(berth_search *s, double bound);

/* Score a placement, under the given order where that is not NULL. Keep it if it is better than the
 * incumbent. One evaluation. */
berth_score berth_search_offer(berth_search *s, const int32_t *op_dev, const int32_t *order);

/* Offer under the system's rule and under the order that the method made. Returns the better score. Two
 * evaluations. */
berth_score berth_search_offer_ordered(berth_search *s, const int32_t *op_dev, const int32_t *order);

/* Prepare for walks: berth_search_offer_first is quick then. Done once; later calls do nothing. Fails:
 * BERTH_ENOMEM. */
berth_status berth_search_prepare_walk(berth_search *s, berth_err *err);

/* Score the placements x [n], which differ little from base, in index order up to the first that accept()
 * takes. Returns its index; n where it takes none. Those up to it are offered and counted, and scores [n] is
 * set for them. Later ones, which other workers may have scored already, are as if they had never been.
 *   limit_ns  [n] or NULL: accept() takes no placement of a larger latency, nor is one better than the
 *             incumbent. Its score may then be told as the worst.
 * With keys none is kept: what was found is the caller's to offer, with the order that it comes to. */
int32_t berth_search_offer_first(berth_search *s, int32_t n, berth_keyed base, const berth_keyed *x,
                                 const int64_t *limit_ns, berth_score *scores,
                                 bool (*accept)(void *ctx, int32_t i, berth_score score), void *ctx);

/* Offer a placement under the order that its keys come to, by the score of the keys, which is that of the
 * order. One evaluation. tmp is scratch. Fails: BERTH_ENOMEM. */
berth_status berth_search_offer_keyed(berth_search *s, berth_keyed x, berth_arena *tmp, berth_err *err);

/* Score n placements op_devs [n][n_ops] on all workers; scores out [n]. The incumbent is chosen in index
 * order. n evaluations. */
void berth_search_offer_batch(berth_search *s, int32_t n, const int32_t *op_devs, berth_score *scores);

/* Make and score n placements on all workers. make(ctx, i, worker, op_dev [n_ops]) writes the i-th; it is
 * called again, for the same result, where that becomes the incumbent. rows [workers][n_ops] is scratch, one
 * a worker; scores out [n]. The incumbent is chosen in index order. n evaluations. */
void berth_search_offer_made(berth_search *s, int32_t n,
                             void (*make)(void *ctx, int32_t i, int32_t worker, int32_t *op_dev), void *ctx,
                             int32_t *rows, berth_score *scores);

/* berth_search_offer_batch for placements that come with orders [n][n_ops] of their own; scores out [n][2]:
 * by the system's rule, by the order. 2 n evaluations. */
void berth_search_offer_batch_ordered(berth_search *s, int32_t n, const int32_t *op_devs,
                                      const int32_t *orders, berth_score *scores);

/* The two halves of berth_search_offer_batch_ordered, for those who have workers of their own: score a
 * placement under the rule and under its order on evaluator `worker` (one caller at a time), and offer n that
 * were scored so. */
void berth_search_score_ordered(const berth_search *s, int32_t worker, const int32_t *op_dev,
                                const int32_t *order, berth_score scores[2]);

void berth_search_offer_scored(berth_search *s, int32_t n, const int32_t *op_devs, const int32_t *orders,
                               const berth_score *scores);

/* Keep a placement that was scored elsewhere (under the given order, if any) if it is better than the
 * incumbent. No evaluation. */
void berth_search_keep(berth_search *s, berth_score score, const int32_t *op_dev, const int32_t *order);

/* The bounds that a search is told with. */

/* Bounds in a user's words. */
typedef struct berth_bound_options {
	/* "fast": those of berth_bounds_new. "strong": all that berth_bounds_strengthen can do. "auto" or
	 * NULL: strong ones in 0.2 s of work, or in a tenth of the search where that is more. */
	const char *bound;
	const berth_objective *objective; /* NULL: bounds of all metrics are wanted */
	int64_t evaluations;              /* of the search; below 0: not said, as berth_search_options */
	double time_s;                    /* of the search; 0: no limit */
	int64_t nodes;                    /* of each search of a block between gates; 0: the default */
} berth_bound_options;

/* Work is counted, not timed: the same options give the same bounds (certify.h). out->kind tells which
 * they are. tmp is scratch. Fails: BERTH_EINVAL (no such word), BERTH_ENOMEM. */
berth_status berth_search_bounds(const berth_problem *p, const berth_bound_options *o, berth_arena *tmp,
                                 berth_bounds *out, berth_err *err);

/* The best certificate of what berth_search_bounds tells, or of told_ns, which an exact method has proven,
 * where a tree proves that in x->nodes nodes. It may prove less. As berth_bounds_certify. Fails: as above;
 * BERTH_EUNSUPPORTED (the cost model has none). */
berth_status berth_search_certify(const berth_problem *p, const berth_bound_options *o, int64_t told_ns,
                                  berth_bound_proof *x, berth_arena *tmp, berth_err *err);
