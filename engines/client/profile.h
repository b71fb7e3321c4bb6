/* The profile of a graph on a system by an engine: times of operators on devices, and figures of links. */
#pragma once

#include "graph.h"
#include "measured.h"
#include "profile_cache.h"

typedef enum berth_source { BERTH_MEASURED, BERTH_CACHED, BERTH_PREDICTED, BERTH_CANNOT } berth_source;

/* "measured", "cached", "predicted", "cannot". */
const char *berth_source_name(berth_source s);

typedef struct berth_profiled {
	berth_source source;
	berth_cached x; /* a predicted one has a wall alone, and low to high is its error bar */
} berth_profiled;

typedef struct berth_link_fit {
	double latency_s, bandwidth;
	bool capped;    /* more bytes took no more time: the bandwidth is the most that is told */
	int32_t n;      /* sizes timed; 0: none */
} berth_link_fit;

typedef struct berth_profile_cfg {
	int32_t quick; /* time so many operators a device alone, of those that tell most (quick.h); 0: all */
	int32_t repeats;            /* default 9 */
	double time_s;              /* stop profiling operators after that many seconds; 0: profile all */
	berth_profile_cache *cache; /* NULL: none */
	const char *engine;         /* key of the cache: the engine, its version and options */
	void (*progress)(void *ctx, const char *what, int32_t done, int32_t of); /* NULL: none */
	void *progress_ctx;
} berth_profile_cfg;

typedef struct berth_profile {
	berth_profiled *row;        /* [n_ops][n_devs] */
	double *time_s;             /* [n_ops][n_devs] medians of wall time; NAN: cannot run */
	berth_link_fit *link;       /* [n_links] */
	berth_engine_overheads overheads;
	int32_t n_measured, n_cached, n_predicted;
} berth_profile;

berth_profile_cfg berth_profile_cfg_default(void);

/* Time operators and links. Operators with the same description are measured once. The profile lives in mem;
 * tmp is scratch. Fails: as berth_measured_profile. */
berth_status berth_profile_run(berth_measured *m, const berth_profile_cfg *cfg, berth_arena *mem,
                               berth_arena *tmp, berth_profile *out, berth_err *err);

/* A copy of the system with the fitted links. A device's overhead of an operator becomes the least time that
 * one of the n_ops took there: an upper bound, close where some do next to nothing. New arrays live in mem.
 * Fails: BERTH_ENOMEM. */
berth_status berth_profile_system(const berth_profile *p, const berth_system *s, int32_t n_ops,
                                  berth_arena *mem, berth_system *out, berth_err *err);

/* Times of operators that were never measured, from those that were.
 *
 * For each device a line goes through all measured operators: time = overhead + flops / speed + bytes /
 * bandwidth. It is fitted by least squares of relative errors, with no figure below 0. A prediction is the
 * line times the median ratio measured / line of the operator's type. Error bars are the 10th and the 90th
 * percentile of these ratios: of the type where it has at least five measured operators, else of all. */

/* Fill in what is missing, for one device.
 *   seconds   [n_ops] measured times. NAN, for none, is replaced by the predicted time
 *   low, high [n_ops] out: error bars of the predicted ones
 * With fewer than 3 measured operators nothing is predicted, and *n_predicted = 0. Fails: BERTH_ENOMEM.
 * O(ops log ops). */
berth_status berth_predict_times(const berth_graph *g, double *seconds, double *low, double *high,
                                 int32_t *n_predicted, berth_arena *tmp, berth_err *err);
