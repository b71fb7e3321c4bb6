/* The engine's threads, on made-up tasks: what a task reads is there, a worker keeps its order, rounds
 * follow each other, and a task that fails holds nobody up. Results are plain memory, so that the thread
 * sanitizer sees where one thread's writing is not ordered before another's reading. */
#include "exec.h"
#include "rng.h"
#include "support.h"

#include <string.h>
#include <time.h>

enum { MAX_TASKS = 60, MAX_IN = 3, CORES = 2 };

typedef struct setup setup;

typedef struct piece {
	setup *s;
	int32_t task, rest_us;
	bool fails;
	berth_status st;  /* as a segment of the engine leaves it */
	int32_t place;    /* among the tasks of its worker that have run */
	double late_s;    /* after the beginning of the run */
} piece;

/* Task i writes buffer i + 1: one more than the sum of what it reads. Buffer 0 is there from the start. */
struct setup {
	int32_t n, n_workers;
	exec_task task[MAX_TASKS];
	exec_buffer buffer[MAX_TASKS + 1];
	piece piece[MAX_TASKS];
	int32_t in[MAX_TASKS][MAX_IN], out[MAX_TASKS];
	uint64_t value[MAX_TASKS + 1];
	int32_t ran[EXEC_MAX_WORKERS]; /* of a worker: no other touches it */
};

static void work(void *ctx, double began)
{
	piece *p = ctx;
	const exec_task *t = &p->s->task[p->task];
	uint64_t sum = 1;
	p->late_s = exec_now() - began;
	p->place = p->s->ran[t->worker]++;
	if (p->rest_us)
		nanosleep(&(struct timespec){0, 1000L * p->rest_us}, NULL);
	for (int32_t k = 0; k < t->n_in; k++)
		sum += *(const uint64_t *)p->s->buffer[t->in[k]].data;
	p->st = p->fails ? BERTH_EFORMAT : BERTH_OK;
	*(uint64_t *)p->s->buffer[t->out[0]].data = sum;
}

static void make(setup *s, int32_t n, int32_t n_workers, uint64_t seed)
{
	berth_rng r = berth_rng_seed(seed, 0);
	*s = (setup){.n = n, .n_workers = n_workers};
	s->buffer[0] = (exec_buffer){&s->value[0], sizeof *s->value, -1, false};
	for (int32_t i = 0; i < n; i++) {
		int32_t n_in = i ? 1 + (int32_t)berth_rng_below(&r, MAX_IN) : 1;
		s->out[i] = i + 1;
		for (int32_t k = 0; k < n_in; k++)
			s->in[i][k] = (int32_t)berth_rng_below(&r, (uint32_t)(i < 6 ? i + 1 : 6)) +
			              (i < 6 ? 0 : i - 5); /* of late, so that they wait */
		s->buffer[i + 1] = (exec_buffer){&s->value[i + 1], sizeof *s->value, i, false};
		s->piece[i] = (piece){.s = s, .task = i};
		s->task[i] = (exec_task){(int32_t)berth_rng_below(&r, (uint32_t)n_workers),
		                         n_in,
		                         1,
		                         s->in[i],
		                         &s->out[i],
		                         work,
		                         &s->piece[i],
		                         NULL,
		                         0};
	}
}

/* Run once from the beginning; all is as if the tasks had run one by one. */
static void run_once(void *ex, setup *s, uint64_t start)
{
	uint64_t want[MAX_TASKS + 1] = {start};
	int32_t place[EXEC_MAX_WORKERS] = {0};
	berth_err err;
	memset(s->value, 0xff, sizeof s->value);
	memset(s->ran, 0, sizeof s->ran);
	s->value[0] = start;
	assert_ok(exec_threads.run(ex, s->task, s->n, s->buffer, &err), &err);
	for (int32_t i = 0; i < s->n; i++) {
		want[i + 1] = 1;
		for (int32_t k = 0; k < s->task[i].n_in; k++)
			want[i + 1] += want[s->in[i][k]];
		assert_true(s->value[i + 1] == want[i + 1]);
		assert_int_equal(s->piece[i].place, place[s->task[i].worker]++);
		assert_int_equal(s->piece[i].st, s->piece[i].fails ? BERTH_EFORMAT : BERTH_OK);
		assert_true(s->piece[i].late_s >= 0 && s->piece[i].late_s < 60);
	}
}

static void *open_pool(int32_t n, berth_arena *mem)
{
	int32_t core[EXEC_MAX_WORKERS];
	void *ex = NULL;
	berth_err err;
	for (int32_t i = 0; i < n; i++)
		core[i] = i % CORES;
	assert_ok(exec_threads.open(n, core, mem, &ex, &err), &err);
	return ex;
}

/* Lists of tasks in turn, on one, two and more workers than there are cores. */
static void test_many_rounds(void **state)
{
	(void)state;
	static const int32_t workers[] = {1, 2, 5};
	static setup lists[4];
	for (size_t w = 0; w < sizeof workers / sizeof *workers; w++) {
		berth_arena mem = {0};
		void *ex = open_pool(workers[w], &mem);
		for (int32_t i = 0; i < 4; i++)
			make(&lists[i], i == 3 ? 1 : 20 * (i + 1), workers[w], 10 * w + (uint64_t)i);
		for (int32_t round = 0; round < 200; round++)
			run_once(ex, &lists[round % 4], (uint64_t)round);
		exec_threads.close(ex);
		berth_arena_free(&mem);
	}
}

/* Tasks that take longer than others spin: those that wait sleep, and are woken. So do the workers between
 * runs. */
static void test_sleepers_wake(void **state)
{
	(void)state;
	static setup s;
	berth_arena mem = {0};
	void *ex = open_pool(3, &mem);
	make(&s, 12, 3, 7);
	for (int32_t i = 0; i < s.n; i++)
		s.piece[i].rest_us = i % 2 ? 3000 : 0;
	for (int32_t round = 0; round < 10; round++) {
		run_once(ex, &s, (uint64_t)round);
		nanosleep(&(struct timespec){0, 3000000}, NULL);
	}
	exec_threads.close(ex);
	berth_arena_free(&mem);
}

/* What fails says so where the engine looks; the others run, and the next run too. */
static void test_failing_task(void **state)
{
	(void)state;
	static setup s;
	berth_arena mem = {0};
	void *ex = open_pool(2, &mem);
	make(&s, 30, 2, 3);
	for (int32_t round = 0; round < 20; round++) {
		for (int32_t i = 0; i < s.n; i++)
			s.piece[i].fails = round % 2 && i % 7 == 3;
		run_once(ex, &s, 1);
	}
	exec_threads.close(ex);
	berth_arena_free(&mem);
}

/* No tasks, workers without any, and closing at once. */
static void test_nothing_to_do(void **state)
{
	(void)state;
	static setup s;
	berth_arena mem = {0};
	berth_err err;
	for (int32_t i = 0; i < 20; i++)
		exec_threads.close(open_pool(1 + i % 4, &mem));
	void *ex = open_pool(4, &mem);
	make(&s, 9, 1, 5); /* all on worker 0 */
	for (int32_t round = 0; round < 20; round++) {
		assert_ok(exec_threads.run(ex, NULL, 0, NULL, &err), &err);
		run_once(ex, &s, 2);
	}
	exec_threads.close(ex);
	berth_arena_free(&mem);
}

/* No pool without memory. */
static void test_no_workers_without_memory(void **state)
{
	(void)state;
	failing_allocator f;
	berth_arena mem;
	const int32_t core[] = {0};
	void *ex = NULL;
	berth_err err;
	failing_allocator_init(&f, 0);
	berth_arena_init(&mem, &f.hook);
	assert_int_equal(exec_threads.open(1, core, &mem, &ex, &err), BERTH_ENOMEM);
	assert_null(ex);
	berth_arena_free(&mem);
	assert_int_equal(f.live, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many_rounds), cmocka_unit_test(test_sleepers_wake),
		cmocka_unit_test(test_failing_task), cmocka_unit_test(test_nothing_to_do),
		cmocka_unit_test(test_no_workers_without_memory)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
