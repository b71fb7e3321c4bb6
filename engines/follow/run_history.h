/* Placements that were run, and what a step of theirs took, as long as the machine is the same.
 *
 * The machine is taken to be another one when the running placement takes longer or shorter than before, by
 * more than a threshold. What was known of the others is forgotten then. The engine warms up in the first
 * window after a switch, so that this window stands only until the next one. */
#ifndef BERTH_RUN_HISTORY_H
#define BERTH_RUN_HISTORY_H

#include "arena.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct berth_run_record {
	int32_t *op_dev, *order;  /* [n_ops] */
	int32_t n_steps;          /* measured since the machine last changed; 0: nothing is known */
	double step_s;            /* mean of windows' medians, weighted by steps */
	bool cold;                /* known from its first window alone */
	double least_s;           /* of its windows but cold ones, on whatever machine; 0: none */
} berth_run_record;

typedef struct berth_run_history {
	int32_t n_ops;
	double threshold;         /* a relative difference below it is noise */
	berth_arena *mem;
	berth_run_record **record;  /* [n] */
	size_t n, cap;
	berth_run_record *now;           /* the one that runs; NULL: none was measured yet */
	bool cold;                /* the last window was the first one after a switch */
	int32_t n_warm;           /* steps since then, without that window */
	int32_t n_changes;        /* how often the machine was taken to be another one */
} berth_run_history;

/* The placement runs: n_steps steps took step_s each. Fails: BERTH_ENOMEM. */
berth_status berth_run_history_measure(berth_run_history *h, const int32_t *op_dev, const int32_t *order,
                                       int32_t n_steps, double step_s, berth_err *err);

/* Was it run on this machine, and is not what runs now? Devices count. The order counts only where the
 * devices are those of what runs. */
bool berth_run_history_has(const berth_run_history *h, const int32_t *op_dev, const int32_t *order);

/* Did what runs run for long enough to be judged? */
bool berth_run_history_judged(const berth_run_history *h);

/* The best placement that was measured better than what runs, by more than noise. NULL: none, or what runs is
 * not judged yet. */
const berth_run_record *berth_run_history_better(const berth_run_history *h);

/* The placement that was fastest, on whatever machine, if that was faster than what runs is now, by more than
 * noise: the machine may be that one again. NULL: none was. */
const berth_run_record *berth_run_history_once_faster(const berth_run_history *h);

#endif
