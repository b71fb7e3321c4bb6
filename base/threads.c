/* Thread pool over POSIX threads: a run is a ticket number; workers take items from a shared counter. */
#include "threads.h"

#include "cores.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <time.h>

struct berth_pool {
	pthread_mutex_t lock;
	pthread_cond_t wake, done;
	int32_t n_workers, n_threads, running; /* running: threads still in this run */
	uint64_t ticket;                       /* of the current run */
	bool stop;
	void (*work)(void *ctx, int32_t item, int32_t worker);
	void *ctx;
	int32_t n_items;
	atomic_int next;
	struct pool_seat {
		berth_pool *pool;
		int32_t worker;
		pthread_t thread;
	} seat[];
};

static void take_items(berth_pool *p, int32_t worker)
{
	for (;;) {
		int32_t item = atomic_fetch_add(&p->next, 1);
		if (item >= p->n_items)
			return;
		p->work(p->ctx, item, worker);
	}
}

static void *worker_main(void *arg)
{
	struct pool_seat *seat = arg;
	berth_pool *p = seat->pool;
	uint64_t seen = 0;
	pthread_mutex_lock(&p->lock);
	for (;;) {
		while (!p->stop && p->ticket == seen)
			pthread_cond_wait(&p->wake, &p->lock);
		if (p->stop)
			break;
		seen = p->ticket;
		pthread_mutex_unlock(&p->lock);
		take_items(p, seat->worker);
		pthread_mutex_lock(&p->lock);
		if (--p->running == 0)
			pthread_cond_signal(&p->done);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

berth_status berth_pool_new(int32_t n_workers, berth_pool **out, berth_err *err)
{
	if (n_workers < 1 || n_workers > 1024)
		return berth_fail(err, BERTH_EINVAL, "%d threads: expected 1 to 1024", n_workers);
	berth_pool *p = calloc(1, sizeof *p + (size_t)n_workers * sizeof p->seat[0]);
	BERTH_TRY(berth_got(p, err));
	p->n_workers = n_workers;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->wake, NULL);
	pthread_cond_init(&p->done, NULL);
	for (int32_t i = 1; i < n_workers; i++) {
		struct pool_seat *seat = &p->seat[i];
		seat->pool = p;
		seat->worker = i;
		if (pthread_create(&seat->thread, NULL, worker_main, seat) != 0)
			break; /* fewer threads change the time, not the result */
		p->n_threads = i;
	}
	*out = p;
	return BERTH_OK;
}

void berth_pool_free(berth_pool *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_broadcast(&p->wake);
	pthread_mutex_unlock(&p->lock);
	for (int32_t i = 1; i <= p->n_threads; i++)
		pthread_join(p->seat[i].thread, NULL);
	pthread_cond_destroy(&p->wake);
	pthread_cond_destroy(&p->done);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

int32_t berth_pool_workers(const berth_pool *pool)
{
	return pool ? pool->n_workers : 1;
}

void berth_pool_run(berth_pool *p, int32_t n_items, void (*work)(void *ctx, int32_t item, int32_t worker),
                    void *ctx)
{
	if (!p || p->n_threads == 0 || n_items < 2) {
		for (int32_t i = 0; i < n_items; i++)
			work(ctx, i, 0);
		return;
	}
	pthread_mutex_lock(&p->lock);
	p->work = work;
	p->ctx = ctx;
	p->n_items = n_items;
	atomic_store(&p->next, 0);
	p->running = p->n_threads;
	p->ticket++;
	pthread_cond_broadcast(&p->wake);
	pthread_mutex_unlock(&p->lock);
	take_items(p, 0);
	pthread_mutex_lock(&p->lock);
	while (p->running)
		pthread_cond_wait(&p->done, &p->lock);
	pthread_mutex_unlock(&p->lock);
}

static void *task_main(void *arg)
{
	berth_task *t = arg;
	t->work(t->ctx);
	return NULL;
}

void berth_task_begin(berth_task *t, void (*work)(void *ctx), void *ctx)
{
	t->work = work;
	t->ctx = ctx;
	t->begun = pthread_create(&t->thread, NULL, task_main, t) == 0;
	if (!t->begun)
		work(ctx);
}

void berth_task_wait(berth_task *t)
{
	if (t->begun)
		pthread_join(t->thread, NULL);
	t->begun = false;
}

void berth_cores_bind(int32_t core)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	if (core >= 0 && core < CPU_SETSIZE) {
		CPU_SET((size_t)core, &set);
		sched_setaffinity(0, sizeof set, &set);
	}
}

static double clock_seconds(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double berth_cpu_seconds(void)
{
	struct rusage ended;
	double own = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
	if (getrusage(RUSAGE_CHILDREN, &ended) != 0)
		return own;
	return own + (double)(ended.ru_utime.tv_sec + ended.ru_stime.tv_sec) +
	       1e-6 * (double)(ended.ru_utime.tv_usec + ended.ru_stime.tv_usec);
}

double berth_wall_seconds(void)
{
	return clock_seconds(CLOCK_MONOTONIC);
}

bool berth_patience_over(const berth_patience *until)
{
	if (!until)
		return false;
	return (until->cancel && atomic_load(until->cancel)) ||
	       (until->end_s > 0 && berth_wall_seconds() >= until->end_s);
}
