/* Methods side by side: equal budgets, the same bound, several seeds, and what can be said from them. */
#pragma once

#include "solve.h"
#include "statistics.h"

/* Intervals are told from so many values on. */
enum { BERTH_LEAST_FOR_INTERVAL = 5 };

typedef struct berth_compare_row {
	int32_t method;          /* index into the methods; from n_methods on into the plans */
	uint64_t seed;
	/* "ok", "infeasible", "unsupported" (the method cannot do such a problem), "limit" (no answer
	 * within a limit) or "error". */
	const char *status;
	bool feasible;
	double value, lower_bound, gap; /* NAN: none; the bound is not of a plan that parts what they keep */
	berth_order order;
	int64_t evaluations;
	double solve_s, wall_s;
	const char *note;        /* why there is no value, or an early end; NULL: neither. In mem */
	berth_search_point *found; /* [n_found] growing, how its value came to be. In mem */
	int32_t n_found;
	size_t cap_found;
} berth_compare_row;

/* Of one method over its seeds. Values of feasible rows only, NAN where there are none. */
typedef struct berth_compare_summary {
	int32_t n_rows, n_feasible;
	double median, least, most;
	double low, high; /* 95 % confidence interval of the median, by bootstrap; NAN below 5 values */
	double gap;              /* of the median */
	double evaluations, solve_s; /* means over all rows */
} berth_compare_summary;

/* A placement that stands beside the methods. */
typedef struct berth_compare_plan {
	const char *name;
	const int32_t *op_dev, *order; /* [n_ops]; op_dev NULL: there is none; order NULL: by the system */
	const char *why;               /* why there is none */
} berth_compare_plan;

typedef struct berth_compare_cfg {
	const berth_method *const *method; /* [n_methods] */
	int32_t n_methods, n_seeds;        /* seeds search.seed, search.seed + 1, ... */
	const berth_compare_plan *plan;    /* [n_plans] */
	int32_t n_plans;
	const berth_problem *plans_of;     /* that plans are valued in; rules may be fewer. NULL: p */
	berth_search_cfg search;           /* the budget of each row */
	void (*told)(void *ctx, int32_t method, uint64_t seed); /* before each row; NULL: nobody listens */
	void *told_ctx;
} berth_compare_cfg;

/* One row a method and seed, in this order, into row [(n_methods + n_plans) * n_seeds]; behind the methods
 * come the plans, a row for each seed all the same. *n: rows made. A method that cannot answer (too large a
 * problem, a limit) is a row without a value and a note. Stops early when the search is cancelled
 * (BERTH_EINTERRUPTED). Then the rows made stand. mem keeps notes and points only. tmp is scratch, another
 * arena, reset at exit. Fails also: BERTH_EFORMAT (objective without watts), BERTH_ENOMEM. */
berth_status berth_compare(const berth_problem *p, const berth_bounds *bounds, const berth_compare_cfg *cfg,
                           berth_compare_row *row, int32_t *n, berth_arena *mem, berth_arena *tmp,
                           berth_err *err);

/* Summary of n rows of one method. tmp is scratch, reset at exit. Fails: BERTH_ENOMEM. O(2000 n). */
berth_status berth_compare_summarise(const berth_compare_row *row, int32_t n, berth_arena *tmp,
                                     berth_compare_summary *out, berth_err *err);

/* Of one method over all instances (a graph on a system). An instance's value is the median over its seeds.
 */
typedef struct berth_compare_overall {
	int32_t n_instances, n_feasible;  /* n_feasible: with a value */
	int32_t n_ratios;                 /* instances with a value of this method and of single */
	/* Geometric mean of value / single's value, with its 95 % bootstrap interval over instances. The
	 * interval is NAN below 5, and all of it where there is none. */
	berth_interval ratio;
	int32_t n_gaps;                   /* instances with a value and a bound above 0 */
	double gap;                       /* geometric mean of value / bound, - 1; NAN: none */
	/* Against the method `against`, instance by instance. Equal to a relative 1e-9 is a tie. No value
	 * is worse than any. */
	int32_t wins, ties, losses;
	/* Two-sided signed-rank test of the logarithms of the ratios to `against`. No value counts as the
	 * largest ratio. NAN: against itself. */
	double p;
	double p_corrected;               /* for as many tests as methods, after Holm */
	double evaluations, solve_s;      /* means over all rows */
} berth_compare_overall;

/* Over summary [n_instances][n_methods] into out [n_methods]. single: index of the best single device, -1:
 * not there; against: index of the method that wins and losses are counted against. tmp is scratch, reset at
 * exit. Fails: BERTH_ENOMEM. O(2000 n_instances n_methods), and the tests. */
berth_status berth_compare_over_instances(const berth_compare_summary *summary, int32_t n_instances,
                                          int32_t n_methods, int32_t single, int32_t against,
                                          berth_arena *tmp, berth_compare_overall *out, berth_err *err);
