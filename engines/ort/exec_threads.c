/* Workers as threads. A worker spins a little while it waits, as runtimes do, and then sleeps. */
#include "exec.h"

#include "cores.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum { SPINS = 20000 };

typedef struct pool pool;

typedef struct worker {
	pool *p;
	int32_t index, core;
	pthread_t thread;
} worker;

struct pool {
	int32_t n, started;
	worker w[EXEC_MAX_WORKERS];
	pthread_mutex_t lock;
	pthread_cond_t wake;
	const exec_task *tasks;
	const exec_buffer *buffers;
	int32_t n_tasks;
	double began;
	atomic_int *done;           /* [n_tasks] of the run */
	atomic_int round, left;     /* run number; workers still at it */
	bool quit;
};

double exec_now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double exec_cpu(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Until *x is no longer `old`. */
static void wait_change(pool *p, atomic_int *x, int old)
{
	for (int i = 0; i < SPINS; i++)
		if (atomic_load_explicit(x, memory_order_acquire) != old)
			return;
	pthread_mutex_lock(&p->lock);
	while (atomic_load(x) == old)
		pthread_cond_wait(&p->wake, &p->lock);
	pthread_mutex_unlock(&p->lock);
}

static void tell(pool *p)
{
	pthread_mutex_lock(&p->lock);
	pthread_cond_broadcast(&p->wake);
	pthread_mutex_unlock(&p->lock);
}

static void run_tasks(worker *w)
{
	pool *p = w->p;
	for (int32_t i = 0; i < p->n_tasks; i++) {
		const exec_task *t = &p->tasks[i];
		if (t->worker != w->index)
			continue;
		for (int32_t k = 0; k < t->n_in; k++)
			if (p->buffers[t->in[k]].producer >= 0)
				wait_change(p, &p->done[p->buffers[t->in[k]].producer], 0);
		t->run(t->ctx, p->began);
		atomic_store_explicit(&p->done[i], 1, memory_order_release);
		tell(p);
	}
}

static void *work(void *ctx)
{
	worker *w = ctx;
	pool *p = w->p;
	int seen = 0;
	berth_cores_bind(w->core);
	for (;;) {
		wait_change(p, &p->round, seen);
		seen = atomic_load(&p->round);
		if (p->quit)
			return NULL;
		run_tasks(w);
		atomic_fetch_sub(&p->left, 1);
		tell(p);
	}
}

static void close_pool(void *ex)
{
	pool *p = ex;
	p->quit = true;
	atomic_fetch_add(&p->round, 1);
	tell(p);
	for (int32_t i = 0; i < p->started; i++)
		pthread_join(p->w[i].thread, NULL);
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->wake);
}

static berth_status open_pool(int32_t n, const int32_t *cores, berth_arena *mem, void **ex, berth_err *err)
{
	pool *p;
	BERTH_TRY_NEW(mem, 1, err, p);
	p->n = n;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->wake, NULL);
	for (int32_t i = 0; i < n; i++) {
		p->w[i] = (worker){.p = p, .index = i, .core = cores[i]};
		if (pthread_create(&p->w[i].thread, NULL, work, &p->w[i]) != 0) {
			close_pool(p);
			return berth_fail(err, BERTH_EIO, "cannot start %d worker threads", n);
		}
		p->started++;
	}
	*ex = p;
	return BERTH_OK;
}

static berth_status run(void *ex, const exec_task *tasks, int32_t n, exec_buffer *buffers, berth_err *err)
{
	pool *p = ex;
	BERTH_ARENA(tmp);
	berth_status st = BERTH_NEW(&tmp, p->done, n, err);
	if (st != BERTH_OK)
		return st;
	p->tasks = tasks;
	p->buffers = buffers;
	p->n_tasks = n;
	atomic_store(&p->left, p->n);
	p->began = exec_now();
	atomic_fetch_add(&p->round, 1);
	tell(p);
	pthread_mutex_lock(&p->lock);
	while (atomic_load(&p->left) > 0)
		pthread_cond_wait(&p->wake, &p->lock);
	pthread_mutex_unlock(&p->lock);
	return BERTH_OK;
}

const exec_kind exec_threads = {open_pool, close_pool, NULL, run};
