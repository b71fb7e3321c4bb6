/* Seeds: quick answers that a search starts from. Under a time limit they cost at most a tenth of it, in work
 * that is counted by rules of thumb, not measured: the same time leaves out the same seeds on every machine,
 * unless the time is over. Which ones were left out, or cut short, stands in the search. */
#pragma once

#include "method.h"

typedef struct berth_seed {
	const berth_method *method;
	double (*work_ns)(const berth_problem *p); /* of its first answer, about */
} berth_seed;

/* The portfolio, the cheapest first: single, least-sum (where the value is such a sum), heft, heft-priced,
 * peft-priced, peft-contended, ceft-cpop, pbqp, ceft-pbqp. */
extern const berth_seed berth_seeds[];
extern const int32_t berth_n_seeds;

enum { BERTH_PARTITIONS = 2 };

/* Far seeds are answers of quite another kind, where whole chains of operators stand elsewhere, which walks
 * do not come to move by move: partitions (scotch, metis), and communities placed exactly (split), which
 * take as many evaluations as several seeds. Each is run apart, in half of BERTH_SURE_NS of work, or a
 * quarter where the time is below 0.2 s, whatever the budget; so Scotch is left out above some 3,300
 * operators, METIS above 1,100. s keeps the best and counts their evaluations; communities, which come amid
 * a search, end with its budget. What the objective or the machine does not suit is passed by. Fails:
 * BERTH_ENOMEM; BERTH_EIO where a partition gets no process of its own, as another answer without it would
 * surprise.
 *   partition[i]  in mem, which is not tmp: [n_ops] what scotch, then metis, came to; NULL where it was left
 *                 out or passed by */
berth_status berth_seeds_partitions(berth_search *s, int32_t *partition[BERTH_PARTITIONS], berth_arena *mem,
                                    berth_arena *tmp, berth_err *err);
berth_status berth_seeds_communities(berth_search *s, berth_arena *tmp, berth_err *err);
/* The partitions alone: s does not keep the best. */
berth_status berth_seeds_find_partitions(berth_search *s, int32_t *partition[BERTH_PARTITIONS],
                                         berth_arena *mem, berth_arena *tmp, berth_err *err);

/* Is the search too short for the portfolio: below 0.2 s, or of 64 to 299 evaluations? Then its seeds are the
 * best single device, peft-contended, split, pbqp and scotch, in turn; for throughput scotch is the first of
 * the four, peft-contended the last. Each has an eighth of the evaluations, all have half of them. A time has
 * the first of the four alone, for 0.025 s of counted work. Fails: as far seeds. */
bool berth_seeds_short(const berth_search *s);
/* Is it so by its evaluations? Then a time that is not over changes nothing. */
bool berth_seeds_few(const berth_search *s);
berth_status berth_seeds_run_short(berth_search *s, berth_arena *tmp, berth_err *err);

/* Between these two the search is at its seeds. begin_short: a tenth of the time, however short that is. */
void berth_seeds_begin(berth_search *s);
void berth_seeds_begin_short(berth_search *s);
void berth_seeds_end(berth_search *s);

/* Is the value a sum of times (cost_model.h), and the incumbent proven best by least-sum? */
bool berth_seeds_needless(const berth_search *s);

/* May the i-th seed run? The first always may. One that may not is left out. */
bool berth_seeds_may_run(berth_search *s, int32_t i);

/* Is so much work left? It is counted where it is done. */
bool berth_seeds_left(berth_search *s, double ns);

/* The i-th seed has run: is it named as cut short? */
void berth_seeds_have_run(berth_search *s, int32_t i);
/* The same for a seed of another kind. */
void berth_seeds_cut(berth_search *s, const char *name);

/* Run all seeds on the search itself, with its budget and incumbent: where walks start. (For each answer
 * apart, portfolio.h.) Fails: BERTH_ENOMEM. */
berth_status berth_start_from_portfolio(berth_search *s, berth_arena *tmp, berth_err *err);

/* What counts as the work of a list schedule with its two evaluations. */
double berth_seed_list_ns(const berth_problem *p);
/* What counts as the work of PEFT's table. */
double berth_seed_table_ns(const berth_problem *p);
/* What counts as the work of a list schedule that looks ahead by it. */
double berth_seed_priced_ahead_ns(const berth_problem *p);
/* What counts as the work of one round of PBQP with its evaluation. */
double berth_seed_pbqp_round_ns(const berth_problem *p);
/* What counts as the work of its first answer. */
double berth_seed_pbqp_ns(const berth_problem *p);
