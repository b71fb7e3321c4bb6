/* A pool of worker threads for independent items. Results must not depend on which worker runs an item:
 * workers write disjoint slices, and whoever reduces does it in index order afterwards. */
#pragma once

#include "arena.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct berth_pool berth_pool;

/* A pool of n_workers >= 1; the caller of berth_pool_run is worker 0, so n_workers - 1 threads start. Fails:
 * BERTH_EINVAL, BERTH_ENOMEM. */
berth_status berth_pool_new(int32_t n_workers, berth_pool **out, berth_err *err);
/* Stops and joins the threads. pool may be NULL. */
void berth_pool_free(berth_pool *pool);
/* 1 for NULL. */
int32_t berth_pool_workers(const berth_pool *pool);

/* work(ctx, item, worker) for every item in [0, n_items), items in ascending order but on any worker;
 * returns when all are done. pool NULL: all on the caller. One run at a time. */
void berth_pool_run(berth_pool *pool, int32_t n_items, void (*work)(void *ctx, int32_t item, int32_t worker),
                    void *ctx);

/* One piece of work beside the caller's. It stays where it is until it was waited for. */
typedef struct berth_task {
	void (*work)(void *ctx);
	void *ctx;
	pthread_t thread;
	bool begun; /* by a thread that is to be joined */
} berth_task;

/* work(ctx) in a thread; where there is none to be had, at once. */
void berth_task_begin(berth_task *t, void (*work)(void *ctx), void *ctx);
/* Until it is done. Nothing where it was waited for before, or never begun (zeros). */
void berth_task_wait(berth_task *t);

/* CPU seconds used so far by all threads of the process and by its children that have ended (the solver's),
 * and seconds of a monotonic clock. For reports and limits, never for results. */
double berth_cpu_seconds(void);
double berth_wall_seconds(void);

/* How long somebody waits. */
typedef struct berth_patience {
	const atomic_int *cancel; /* not 0: no longer; NULL: never said */
	double end_s;             /* of berth_wall_seconds; 0: no limit */
} berth_patience;

/* Is it at its end? NULL never is. */
bool berth_patience_over(const berth_patience *until);
