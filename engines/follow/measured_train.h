/* Training against measured run times: the policy learns in the simulator; then real runs correct that one,
 * and find a placement.
 *
 * Each device alone is measured. Then, over and over: the simulator is re-fitted to all that was measured
 * (calibrate.h), a placement is annealed on it, and measured. Where that one is known already, the walk is on
 * simulators whose errors are drawn from what the runs leave open (Thompson 1933): what is unsure is tried.
 *
 * At the end the best measured placement runs against the best single device and against the unsplit model as
 * the engine runs it by itself, on one thread and on as many as it likes. They run turn by turn, so that what
 * the machine does besides hits all alike. The placement is accepted only if the interval of the ratio of
 * times lies below 1 against each of them. */
#pragma once

#include "fitted_sim.h"
#include "threads.h"

typedef struct berth_mtrain_trial {
	int32_t *op_dev, *order;
	double seconds; /* NAN: the engine failed */
	double off;     /* |predicted - measured| / measured, before the simulator saw it */
} berth_mtrain_trial;

typedef struct berth_mtrain_cfg {
	/* Budget: runs of the whole model, with warm-up and the final comparison. Default 400. */
	int64_t runs;
	uint64_t seed;
	berth_pool *pool;
	const atomic_int *cancel;
	berth_profile_cfg profile;
	/* For tables: what to measure next, in the place of annealing. It knows the trials [n], and answers
	 * in scratch; known ones are not measured again. NULL: nobody. */
	berth_status (*propose)(void *ctx, const berth_problem *p, const berth_mtrain_trial *trial, int32_t n,
	                        berth_arena *scratch, berth_arena *tmp, const int32_t **op_dev,
	                        const int32_t **order, berth_err *err);
	void *propose_ctx;
} berth_mtrain_cfg;

/* What a measured training works on: an engine, and a simulator that is re-fitted to its runs. */
typedef struct berth_mtrain {
	berth_measured *m;
	const berth_mtrain_cfg *cfg;
	berth_arena *mem;
	berth_profile profile;
	berth_system profiled; /* links as profiled */
	berth_fitted_sim sim;
} berth_mtrain;

typedef struct berth_rival {
	/* "single", "whole, 1 thread", "whole, all threads"; NULL: no rival. The last one is none by the
	 * clock of the CPU (berth_measured_all_threads). */
	const char *name;
	double seconds;     /* median; NAN: it could not be measured */
	berth_spread ratio; /* of the placement's time to its time, turn by turn */
	bool beaten;        /* ratio.high < 1 */
} berth_rival;

enum { BERTH_N_RIVALS = 3 };

typedef struct berth_mtrain_result {
	int64_t runs;
	int32_t n_measured, n_failed, rounds, pairs;
	const char *failure; /* the last one's message, or NULL */
	/* Mean of off over the first and over the second half of what was measured. NAN: nothing was. */
	double first_error, simulated_error;
	bool answered;                 /* a placement was measured, and what follows is set */
	const int32_t *op_dev, *order; /* [n_ops] the best measured one */
	double best_s;                 /* its median in the final comparison */
	berth_rival rival[BERTH_N_RIVALS];
	bool accepted;
} berth_mtrain_result;

berth_mtrain_cfg berth_mtrain_cfg_default(void);

/* Runs that one placement and a final comparison take at least: with fewer nothing is measured. */
int64_t berth_mtrain_least_runs(void);

/* Profile the graph of m (open, loaded) and make the simulator of it. Lives in mem. Fails: as
 * berth_profile_run. */
berth_status berth_mtrain_open(berth_measured *m, const berth_mtrain_cfg *cfg, berth_arena *mem,
                               berth_arena *tmp, berth_mtrain *out, berth_err *err);

/* The measuring and the comparison. A placement that the engine fails at or refuses, or whose outputs differ,
 * does not count. Fails: BERTH_ENOMEM; BERTH_EINTERRUPTED, with the result as far as it is, and the journal
 * of the engine's answers goes on from there. */
berth_status berth_mtrain_run(berth_mtrain *t, berth_arena *tmp, berth_mtrain_result *out, berth_err *err);
