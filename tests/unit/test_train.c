/* Training: the same bytes for any number of threads, for any interruption, and what is refused on
 * resuming. */
#include "file.h"
#include "fine_tune.h"
#include "support.h"
#include "systems_builtin.h"
#include "train.h"
#include "trainer.h"
#include "zoo.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { N_ITEMS = 2 };

typedef struct lesson {
	berth_arena mem, tmp;
	berth_graph g[N_ITEMS];
	berth_system s;
	berth_problem p[N_ITEMS];
	berth_train_item item[N_ITEMS];
	berth_train_cfg cfg;
	berth_train_result result;
	atomic_int cancel;
	int64_t cancel_at; /* steps; -1: never */
	int64_t updates[N_ITEMS];
	double first_loss[N_ITEMS], last_loss[N_ITEMS]; /* of imitation */
	double teacher[N_ITEMS]; /* its value at last */
	bool forgot; /* a teacher was taken back */
	int saves; /* that are left until one fails */
	int opened; /* times that pair 1 was; of open_changing */
} lesson;

static void cancel_later(void *ctx, const berth_train_update *u)
{
	lesson *l = ctx;
	l->last_loss[u->item] = u->stats.clone_loss;
	l->forgot |= u->is_taught && l->updates[u->item] && u->stats.mean_value > l->teacher[u->item];
	l->teacher[u->item] = u->stats.mean_value;
	if (l->updates[u->item]++ == 0)
		l->first_loss[u->item] = u->stats.clone_loss;
	if (u->step >= l->cancel_at && l->cancel_at >= 0)
		atomic_store(&l->cancel, 1);
}

static void open_lesson_on(lesson *l, const char *const *spec, const char *path)
{
	berth_err err;
	*l = (lesson){.cancel_at = -1};
	assert_ok(berth_system_builtin("cpu+2gpu", &l->mem, &l->tmp, &l->s, &err), &err);
	for (int i = 0; i < N_ITEMS; i++) {
		assert_ok(berth_zoo_build(spec[i], &l->mem, &l->tmp, &l->g[i], &err), &err);
		assert_ok(berth_problem_new(&l->g[i], &l->s, &l->mem, &l->tmp, &l->p[i], &err), &err);
		l->item[i] = (berth_train_item){&l->p[i], l->g[i].name, l->s.name};
	}
	l->cfg = berth_train_cfg_default();
	l->cfg.learner.groups = 12;
	l->cfg.learner.hidden = 8;
	l->cfg.learner.batch = 16;
	l->cfg.learner.window = 40;
	l->cfg.evaluations = 1500;
	l->cfg.path = path;
	l->cfg.save_s = 0; /* at every step */
	l->cfg.cancel = &l->cancel;
	l->cfg.update = cancel_later;
	l->cfg.update_ctx = l;
}

static void open_lesson(lesson *l, const char *path)
{
	static const char *const spec[N_ITEMS] = {"zoo:random:ops=60:seed=3", "zoo:resnet18"};
	open_lesson_on(l, spec, path);
}

/* Items of a lesson one by one. */
static berth_status open_one(void *ctx, int32_t i, berth_arena *mem, berth_arena *tmp, berth_train_item *out,
                             berth_err *err)
{
	const lesson *l = ctx;
	berth_problem *p;
	BERTH_TRY_NEW(mem, 1, err, p);
	*out = l->item[i];
	out->p = p;
	out->graph = berth_arena_strdup(mem, out->graph);
	assert_non_null(out->graph);
	return berth_problem_new(&l->g[i], &l->s, mem, tmp, p, err);
}

static berth_status teach(lesson *l, berth_err *err)
{
	return berth_train(&l->cfg, l->cfg.open ? NULL : l->item, N_ITEMS, &l->mem, &l->tmp, &l->result, err);
}

/* After an interruption, to the end. */
static void go_on(lesson *l)
{
	berth_err err;
	atomic_store(&l->cancel, 0);
	l->cancel_at = -1;
	l->cfg.resume = true;
	assert_ok(teach(l, &err), &err);
}

static void close_lesson(lesson *l)
{
	berth_arena_free(&l->mem);
	berth_arena_free(&l->tmp);
}

static char *temporary(char *path)
{
	strcpy(path, "/tmp/berth-train-XXXXXX");
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	unlink(path);
	return path;
}

static void assert_same_bytes(const char *path, const char *data, size_t size)
{
	berth_arena mem = {0};
	char *x;
	size_t n;
	berth_err err;
	assert_ok(berth_file_read(BERTH_READS_POLICY, path, &mem, &x, &n, &err), &err);
	assert_int_equal(n, size);
	assert_memory_equal(x, data, n);
	berth_arena_free(&mem);
}

/* The whole file as text of its digest notes and bytes: compared byte by byte. */
static void assert_same_file(const char *a, const char *b)
{
	berth_arena mem = {0};
	char *x;
	size_t n;
	berth_err err;
	assert_ok(berth_file_read(BERTH_READS_POLICY, a, &mem, &x, &n, &err), &err);
	assert_same_bytes(b, x, n);
	berth_arena_free(&mem);
}

static void test_threads_do_not_matter(void **state)
{
	(void)state;
	char one[64], many[64];
	berth_err err;
	lesson l;
	open_lesson(&l, temporary(one));
	assert_ok(teach(&l, &err), &err);
	assert_true(l.result.evaluations <= 1500 && l.result.evaluations > 1400);
	for (int i = 0; i < N_ITEMS; i++)
		assert_true(l.result.best[i].value <= l.result.best[i].portfolio_value);
	close_lesson(&l);
	static const int32_t workers[] = {2, 3, 8};
	for (int k = 0; k < 3; k++) {
		open_lesson(&l, temporary(many));
		assert_ok(berth_pool_new(workers[k], &l.cfg.pool, &err), &err);
		assert_ok(teach(&l, &err), &err);
		berth_pool_free(l.cfg.pool);
		close_lesson(&l);
		assert_same_file(one, many);
		unlink(many);
	}
	unlink(one);
}

static void test_interrupted_anywhere(void **state)
{
	(void)state;
	char whole[64], parts[64];
	berth_err err;
	lesson l;
	open_lesson(&l, temporary(whole));
	assert_ok(teach(&l, &err), &err);
	int64_t steps = l.result.steps;
	close_lesson(&l);
	assert_true(steps > 20);
	const int stops = 12 / support_one_in(3, "interruptions");
	for (int64_t stop = 1; stop <= steps; stop += 1 + steps / stops) {
		open_lesson(&l, temporary(parts));
		l.cancel_at = stop;
		assert_int_equal(teach(&l, &err), BERTH_EINTERRUPTED);
		assert_true(l.result.evaluations > 0);
		close_lesson(&l);
		open_lesson(&l, parts);
		l.cfg.resume = true;
		assert_ok(teach(&l, &err), &err);
		assert_true(l.result.resumed);
		close_lesson(&l);
		assert_same_file(whole, parts);
		unlink(parts);
	}
	unlink(whole);
}

static berth_status fail_later(void *ctx, berth_err *err)
{
	lesson *l = ctx;
	return l->saves-- > 0 ? BERTH_OK : berth_fail(err, BERTH_EIO, "no more");
}

/* The first checkpoint stands before the portfolio, the second one before the first round. Another file is
 * not replaced by the first. */
static void test_first_checkpoints(void **state)
{
	(void)state;
	char whole[64], parts[64];
	berth_err err;
	lesson l;
	open_lesson(&l, temporary(whole));
	l.cfg.evaluations = 400;
	assert_ok(teach(&l, &err), &err);
	close_lesson(&l);
	for (int saves = 1; saves <= 2; saves++) {
		open_lesson(&l, temporary(parts));
		l.cfg.evaluations = 400;
		l.saves = saves;
		l.cfg.saving = fail_later;
		assert_int_equal(teach(&l, &err), BERTH_EIO);
		close_lesson(&l);
		assert_int_equal(access(parts, R_OK), 0);
		open_lesson(&l, parts);
		l.cfg.evaluations = 400;
		l.saves = 0;
		l.cfg.saving = fail_later;
		char *data;
		size_t n;
		assert_ok(berth_file_read(BERTH_READS_POLICY, parts, &l.mem, &data, &n, &err), &err);
		assert_int_equal(teach(&l, &err), BERTH_EIO);
		assert_same_bytes(parts, data, n);
		close_lesson(&l);
		open_lesson(&l, parts);
		l.cfg.evaluations = 400;
		l.cfg.resume = true;
		assert_ok(teach(&l, &err), &err);
		assert_true(l.result.resumed || l.result.before == 0); /* from an empty one it begins anew */
		assert_true(saves == 2 || !l.result.resumed);
		close_lesson(&l);
		assert_same_file(whole, parts);
		unlink(parts);
	}
	unlink(whole);
}

static void test_resume_refuses_other_trainings(void **state)
{
	(void)state;
	char path[64];
	berth_err err;
	lesson l;
	open_lesson(&l, temporary(path));
	assert_ok(teach(&l, &err), &err);
	close_lesson(&l);
	static const char *const part[] = {"other settings", "with seed 1", "not on",
	                                   "with --at-once 8, not 9"};
	for (int k = 0; k < 4; k++) {
		open_lesson(&l, path);
		l.cfg.resume = true;
		if (k == 0)
			l.cfg.learner.lr *= 2;
		if (k == 1)
			l.cfg.seed = 9;
		if (k == 2)
			l.item[1].graph = "other";
		if (k == 3)
			l.cfg.learner.at_once = 9;
		assert_int_equal(teach(&l, &err), BERTH_EFORMAT);
		assert_contains(err.msg, part[k]);
		close_lesson(&l);
	}
	/* The same name, another graph behind it. */
	open_lesson(&l, path);
	l.cfg.resume = true;
	l.item[0].p = &l.p[1];
	assert_int_equal(teach(&l, &err), BERTH_EFORMAT);
	assert_contains(err.msg, "cannot resume");
	close_lesson(&l);
	unlink(path);
}

/* A damaged checkpoint names the one before it, from which training ends with the same bytes; when it has
 * ended, that one is gone. */
static void test_older_checkpoint(void **state)
{
	(void)state;
	char whole[64], parts[64], older[80];
	berth_err err;
	lesson l;
	open_lesson(&l, temporary(whole));
	assert_ok(teach(&l, &err), &err);
	close_lesson(&l);
	open_lesson(&l, temporary(parts));
	l.cfg.save_s = 0;
	l.cancel_at = 7;
	assert_int_equal(teach(&l, &err), BERTH_EINTERRUPTED);
	close_lesson(&l);
	snprintf(older, sizeof older, "%s.older", parts);
	assert_int_equal(access(older, R_OK), 0);
	FILE *f = fopen(parts, "r+b");
	assert_non_null(f);
	assert_int_equal(fseek(f, 3000, SEEK_SET), 0);
	assert_int_not_equal(fputc(0x55, f), EOF);
	assert_int_equal(fclose(f), 0);
	open_lesson(&l, parts);
	l.cfg.resume = true;
	assert_int_equal(teach(&l, &err), BERTH_EFORMAT);
	assert_contains(err.msg, older);
	close_lesson(&l);
	assert_int_equal(rename(older, parts), 0);
	open_lesson(&l, parts);
	l.cfg.resume = true;
	assert_ok(teach(&l, &err), &err);
	close_lesson(&l);
	assert_same_file(whole, parts);
	assert_int_not_equal(access(older, R_OK), 0);
	unlink(whole);
	unlink(parts);
}

/* The checkpoint at path with number k of the tensor `name` replaced, sealed anew. False: there are not so
 * many numbers. */
static bool tamper(const char *from, const char *path, const char *name, size_t k, int64_t with)
{
	berth_arena mem = {0};
	char *data;
	size_t size;
	berth_err err;
	safetensors_file f;
	assert_ok(berth_file_read(BERTH_READS_POLICY, from, &mem, &data, &size, &err), &err);
	assert_ok(safetensors_decode(from, data, size, &mem, &f, &err), &err);
	const safetensors_tensor *t = safetensors_find(&f, name);
	assert_non_null(t);
	bool there = k < safetensors_count(t);
	if (there) {
		((int64_t *)(uintptr_t)t->data)[k] = with;
		assert_ok(safetensors_write(path, &f, &mem, &err), &err);
	}
	berth_arena_free(&mem);
	return there;
}

static int64_t bits_of(double x)
{
	int64_t b;
	memcpy(&b, &x, sizeof b);
	return b;
}

/* Whatever number stands in the place of one of the state, under a right digest: it is refused, or nothing
 * comes of it. No value is believed. */
static void test_tampered_checkpoints(void **state)
{
	static const char *const name[] = {"state.counts", "state.total", "state.0.reward", "state.1.order"};
	const int64_t odd[] = {-5, INT64_MAX, INT64_MIN, bits_of(NAN), bits_of(-5)};
	char good[64], bad[64];
	lesson l;
	berth_err err;
	double value[N_ITEMS];
	const size_t step = BERTH_DEBUG ? 3 : 1;
	int refused = 0;
	(void)state;
	open_lesson(&l, temporary(good));
	temporary(bad);
	l.cfg.evaluations = 150;
	l.cfg.save_s = 60;
	assert_ok(teach(&l, &err), &err);
	for (int i = 0; i < N_ITEMS; i++)
		value[i] = l.result.best[i].value;
	l.cfg.path = bad;
	l.cfg.resume = true;
	for (size_t n = 0; n < sizeof name / sizeof *name; n++)
		for (size_t k = 0; k < (n < 2 ? 40 : 3) && tamper(good, bad, name[n], k, 0); k += step)
			for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
				tamper(good, bad, name[n], k, odd[i]);
				berth_status st = teach(&l, &err);
				refused += st == BERTH_EFORMAT;
				assert_true(st == BERTH_OK || st == BERTH_EFORMAT);
				for (int b = 0; st == BERTH_OK && b < N_ITEMS; b++)
					assert_true(l.result.best[b].value == value[b]);
			}
	assert_true(refused > (BERTH_DEBUG ? 20 : 60));
	close_lesson(&l);
	unlink(good);
	unlink(bad);
}

static void test_policy_reads_back(void **state)
{
	(void)state;
	char path[64];
	berth_err err;
	lesson l;
	berth_policy_file f;
	open_lesson(&l, temporary(path));
	assert_ok(teach(&l, &err), &err);
	assert_ok(berth_policy_file_read(path, &l.mem, &f, &err), &err);
	assert_true(berth_learner_cfg_equal(&f.cfg, &l.cfg.learner));
	assert_int_equal(f.steps, l.result.steps);
	assert_contains(f.trained_on, "on cpu+2gpu");
	close_lesson(&l);
	unlink(path);
}

/* ---- whose turn it is ---- */

static void test_turns(void **state)
{
	(void)state;
	enum { N = 3, ROUNDS = 160 };
	berth_arena mem = {0};
	berth_err err;
	train_turns t;
	const berth_step_stats same = {.best = 0.1, .worst = 0.1, .entropy = 0.01},
			       other = {.best = 0.1, .worst = 0.0, .entropy = 0.01},
			       unsure = {.best = 0.1, .worst = 0.1, .entropy = 0.5};
	int32_t had[N] = {0};
	assert_ok(train_turns_new(N, &mem, &t, &err), &err);
	for (int i = 0; i < 5 * N; i++)
		had[train_turns_next(&t)]++;
	for (int i = 0; i < N; i++)
		assert_int_equal(had[i], 5);
	/* Sixteen updates in a row, and nothing less. */
	for (int i = 0; i < 15; i++)
		train_turns_note(&t, 1, &same, false);
	train_turns_note(&t, 1, &same, true);
	assert_int_equal(t.flat[1], 0);
	for (int i = 0; i < 20; i++) {
		train_turns_note(&t, 0, &other, false);
		train_turns_note(&t, 2, &unsure, false);
		assert_int_equal(train_turns_collapsed(&t, 1), i >= 16);
		train_turns_note(&t, 1, &same, false);
	}
	assert_int_equal(train_turns_n_collapsed(&t), 1);
	/* Its turns go to the others, but for one in sixteen. */
	memset(had, 0, sizeof had);
	for (int i = 0; i < N * ROUNDS; i++)
		had[train_turns_next(&t)]++;
	assert_true(had[1] >= ROUNDS / 16 && had[1] <= ROUNDS / 16 * 2);
	assert_in_range(had[0], (N * ROUNDS - had[1]) / 2 - 1, (N * ROUNDS - had[1]) / 2 + 1);
	train_turns_note(&t, 1, &other, false); /* what the others learned has changed it */
	assert_false(train_turns_collapsed(&t, 1));
	for (int i = 0; i < 16 * N; i++)
		train_turns_note(&t, i % N, &same, false);
	assert_int_equal(train_turns_next(&t), -1);
	berth_arena_free(&mem);
}

static const char *const one_sure[N_ITEMS] = {"zoo:random:ops=30:seed=3", "zoo:vgg16"};
static const char *const all_sure[N_ITEMS] = {"zoo:vgg16", "zoo:alexnet"};

/* What a pair has no use for goes to the other; the budget is what is spent. */
static void test_budget_moves(void **state)
{
	(void)state;
	berth_err err;
	lesson l;
	if (support_answers_left())
		return;
	open_lesson_on(&l, one_sure, NULL);
	l.cfg.evaluations = 8000;
	l.cfg.learner.lr = 5e-3; /* sure of itself sooner */
	assert_ok(teach(&l, &err), &err);
	assert_true(l.result.best[1].collapsed && !l.result.best[0].collapsed);
	assert_int_equal(l.result.n_collapsed, 1);
	assert_false(l.result.done);
	assert_true(2 * l.updates[0] > 3 * l.updates[1]);
	assert_in_range(l.result.evaluations, 8000, 8001);
	assert_in_range(l.result.searched, 1599, 1600);
	close_lesson(&l);
}

/* Where all have collapsed, training ends early with a whole checkpoint; once more it does nothing more. */
static void test_ends_when_done(void **state)
{
	(void)state;
	char path[64], again[80];
	berth_err err;
	lesson l;
	open_lesson_on(&l, all_sure, temporary(path));
	l.cfg.evaluations = 60000;
	assert_ok(teach(&l, &err), &err);
	assert_true(l.result.done);
	assert_int_equal(l.result.n_collapsed, 2);
	assert_true(l.result.evaluations < 60000 / 2);
	int64_t steps = l.result.steps;
	close_lesson(&l);
	snprintf(again, sizeof again, "%s.copy", path);
	assert_int_equal(rename(path, again), 0);
	for (int threads = 1; threads < (BERTH_DEBUG ? 2 : 4); threads += 2) { /* to the same bytes */
		open_lesson_on(&l, all_sure, path);
		l.cfg.evaluations = 60000;
		l.cancel_at = steps / 2;
		assert_ok(berth_pool_new(threads, &l.cfg.pool, &err), &err);
		assert_int_equal(teach(&l, &err), BERTH_EINTERRUPTED);
		atomic_store(&l.cancel, 0);
		l.cancel_at = -1;
		l.cfg.resume = true;
		for (int k = 0; k < 2; k++)
			assert_ok(teach(&l, &err), &err);
		assert_int_equal(l.result.steps, steps);
		berth_pool_free(l.cfg.pool);
		close_lesson(&l);
		assert_same_file(path, again);
		unlink(path);
	}
	unlink(again);
}

/* ---- another budget ---- */

static void test_resume_with_more(void **state)
{
	(void)state;
	char path[2][64];
	berth_err err;
	lesson l;
	for (int k = 0; k < 2; k++) {
		open_lesson(&l, temporary(path[k]));
		assert_ok(berth_pool_new(1 + k, &l.cfg.pool, &err), &err);
		assert_ok(teach(&l, &err), &err);
		int64_t steps = l.result.steps, searched = l.result.searched;
		l.cfg.resume = true;
		l.cfg.evaluations = 3000;
		assert_ok(teach(&l, &err), &err);
		assert_true(l.result.resumed && !l.result.nothing);
		assert_in_range(l.result.before, 1500, 1501);
		assert_in_range(l.result.evaluations, 3000, 3001);
		assert_true(l.result.steps > steps + 60);
		assert_true(l.result.searched > searched);
		berth_pool_free(l.cfg.pool);
		close_lesson(&l);
	}
	assert_same_file(path[0], path[1]);
	unlink(path[0]);
	unlink(path[1]);
}

/* Up to the smaller budget where it is not there yet; else nothing is done, and the file stays. */
static void test_resume_with_less(void **state)
{
	(void)state;
	char path[64], copy[80];
	berth_err err;
	lesson l;
	open_lesson(&l, temporary(path));
	l.cancel_at = 8;
	assert_int_equal(teach(&l, &err), BERTH_EINTERRUPTED);
	atomic_store(&l.cancel, 0);
	l.cancel_at = -1;
	l.cfg.resume = true;
	l.cfg.evaluations = 900;
	assert_ok(teach(&l, &err), &err);
	assert_false(l.result.nothing);
	assert_in_range(l.result.evaluations, 900, 901);
	snprintf(copy, sizeof copy, "%s.copy", path);
	assert_int_equal(rename(path, copy), 0);
	assert_int_equal(link(copy, path), 0);
	l.cfg.evaluations = 500;
	assert_ok(teach(&l, &err), &err);
	assert_true(l.result.nothing);
	assert_in_range(l.result.evaluations, 900, 901);
	assert_true(l.result.best[0].value > 0);
	assert_same_file(path, copy);
	close_lesson(&l);
	unlink(path);
	unlink(copy);
}

/* ---- ranks: threads with a wire of memory ---- */

enum { MOST_RANKS = 5 };

/* ---- teachers ---- */

enum { TAUGHT_TURNS = 18 };

static void open_taught(lesson *l, const char *path)
{
	open_lesson(l, path);
	l->cfg.teach = 60;
	l->cfg.evaluations = 700;
}

/* All turns that are taught come first, and no search comes last. The same bytes for any number of threads,
 * interrupted anywhere, and for pairs that are streamed. */
static void test_taught(void **state)
{
	(void)state;
	char whole[64], other[64];
	berth_err err;
	lesson l;
	open_taught(&l, temporary(whole));
	assert_ok(teach(&l, &err), &err);
	int64_t steps = l.result.steps;
	assert_true(steps > TAUGHT_TURNS * N_ITEMS);
	assert_int_equal(l.result.searched, 0);
	assert_in_range(l.result.evaluations, 700, 701);
	close_lesson(&l);
	for (int k = 0; k < 5; k++) {
		open_taught(&l, temporary(other));
		l.cfg.open = k == 3 ? open_one : NULL;
		l.cfg.open_ctx = &l;
		assert_ok(berth_pool_new(1 + k % 3, &l.cfg.pool, &err), &err);
		l.cancel_at = k == 4 ? -1 : 1 + k * (TAUGHT_TURNS * N_ITEMS + 10) / 3;
		assert_int_equal(teach(&l, &err), k == 4 ? BERTH_OK : BERTH_EINTERRUPTED);
		go_on(&l);
		berth_pool_free(l.cfg.pool);
		close_lesson(&l);
		assert_same_file(whole, other);
		unlink(other);
	}
	unlink(whole);
}

/* Teachers are better than the portfolio, and become what the policy holds probable. */
static void test_teachers_are_imitated(void **state)
{
	(void)state;
	berth_err err;
	lesson l;
	open_taught(&l, NULL);
	l.cfg.teach = 1000;
	l.cfg.learner.hidden = 16;
	l.cfg.learner.lr = 0.01; /* the turns are few */
	l.cfg.evaluations = 1;   /* nothing is drawn */
	assert_ok(teach(&l, &err), &err);
	assert_int_equal(l.result.steps, TAUGHT_TURNS * N_ITEMS);
	assert_true(l.result.best[0].value < l.result.best[0].portfolio_value);
	assert_true(l.last_loss[0] < 0.8 * l.first_loss[0]);
	assert_false(l.forgot);
	close_lesson(&l);
}

/* A search that is interrupted leaves no trace, nor does the round that it is in. */
static void *cancel_soon(void *ctx)
{
	lesson *l = ctx;
	nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
	atomic_store(&l->cancel, 1);
	return NULL;
}

static void test_interrupted_search(void **state)
{
	(void)state;
	char whole[64], other[64];
	pthread_t thread;
	berth_err err;
	lesson l;
	for (int k = 0; k < 2; k++) {
		open_taught(&l, temporary(k ? other : whole));
		l.cfg.teach = BERTH_DEBUG ? 1000 : 4000;
		l.cfg.evaluations = 1;
		if (k) {
			assert_int_equal(pthread_create(&thread, NULL, cancel_soon, &l), 0);
			berth_status st = teach(&l, &err);
			assert_true(st == BERTH_EINTERRUPTED || st == BERTH_OK); /* on a quick machine */
			assert_int_equal(pthread_join(thread, NULL), 0);
			atomic_store(&l.cancel, 0);
			l.cfg.resume = true;
		}
		assert_ok(teach(&l, &err), &err);
		close_lesson(&l);
	}
	assert_same_file(whole, other);
	unlink(whole);
	unlink(other);
}

static void test_other_teachers(void **state)
{
	(void)state;
	char path[64];
	berth_err err;
	lesson l;
	open_taught(&l, temporary(path));
	l.cancel_at = 5;
	assert_int_equal(teach(&l, &err), BERTH_EINTERRUPTED);
	atomic_store(&l.cancel, 0);
	l.cancel_at = -1;
	l.cfg.resume = true;
	l.cfg.teach = 61;
	assert_int_equal(teach(&l, &err), BERTH_EFORMAT);
	assert_contains(err.msg, "it was trained with --teach 60, not 61");
	l.cfg.teach = 60;
	assert_ok(teach(&l, &err), &err);
	close_lesson(&l);
	unlink(path);
}

typedef struct bus {
	pthread_barrier_t all_here;
	int32_t n;
	const void *said[MOST_RANKS];
} bus;

typedef struct plug {
	bus *on;
	int32_t me;
} plug;

static void gather_by_memory(void *ctx, const void *mine, const int64_t *size, void *all)
{
	plug *x = ctx;
	char *to = all;
	x->on->said[x->me] = mine;
	pthread_barrier_wait(&x->on->all_here);
	for (int32_t i = 0; i < x->on->n; to += size[i++])
		memcpy(to, x->on->said[i], (size_t)size[i]);
	pthread_barrier_wait(&x->on->all_here);
}

static void leave(void *ctx)
{
	(void)ctx;
}

/* A rank: a lesson in a thread. */
typedef struct pupil {
	pthread_t thread;
	plug at;
	lesson l;
	berth_ranks ranks;
	berth_status st;
	berth_err err;
} pupil;

static void *attend(void *ctx)
{
	pupil *x = ctx;
	berth_wire wire = {.n = x->at.on->n,
	                   .me = x->at.me,
	                   .gather = gather_by_memory,
	                   .close = leave,
	                   .ctx = &x->at};
	x->st = berth_ranks_open(&wire, &x->l.mem, &x->ranks, &x->err);
	x->l.cfg.ranks = &x->ranks;
	if (x->st == BERTH_OK)
		x->st = teach(&x->l, &x->err);
	berth_ranks_close(&x->ranks);
	return NULL;
}

static void open_class(pupil *x, int32_t n, const char *path)
{
	for (int32_t i = 0; i < n; i++) {
		x[i] = (pupil){.at = {.me = i}};
		open_lesson(&x[i].l, path);
	}
}

static void teach_class(pupil *x, int32_t n)
{
	bus on = {.n = n};
	assert_int_equal(pthread_barrier_init(&on.all_here, NULL, (unsigned)n), 0);
	for (int32_t i = 0; i < n; i++) {
		x[i].at.on = &on;
		assert_int_equal(pthread_create(&x[i].thread, NULL, attend, &x[i]), 0);
	}
	for (int32_t i = 0; i < n; i++)
		assert_int_equal(pthread_join(x[i].thread, NULL), 0);
	pthread_barrier_destroy(&on.all_here);
}

static void close_class(pupil *x, int32_t n)
{
	for (int32_t i = 0; i < n; i++)
		close_lesson(&x[i].l);
}

/* The same bytes, the same answers with all, and each has done a part. */
static void test_ranks_do_not_matter(void **state)
{
	(void)state;
	char one[64], many[64];
	berth_err err;
	lesson l;
	pupil x[MOST_RANKS];
	open_lesson(&l, temporary(one));
	assert_ok(teach(&l, &err), &err);
	assert_int_equal(l.result.n_ranks, 1);
	assert_int_equal(l.result.rank[0].evaluations, l.result.evaluations);
	for (int32_t n = 2; n <= MOST_RANKS; n += 3) {
		open_class(x, n, temporary(many));
		if (n == 2)
			assert_ok(berth_pool_new(2, &x[1].l.cfg.pool, &err), &err);
		teach_class(x, n);
		int64_t sum = 0;
		for (int32_t i = 0; i < n; i++) {
			assert_ok(x[i].st, &x[i].err);
			assert_int_equal(x[i].l.result.n_ranks, n);
			assert_int_equal(x[i].l.result.evaluations, l.result.evaluations);
			assert_true(x[i].l.result.best[0].value == l.result.best[0].value);
			for (int k = 0; k < N_ITEMS; k++)
				assert_string_equal(x[i].l.result.best[k].portfolio_method,
				                    l.result.best[k].portfolio_method);
			assert_true(x[0].l.result.rank[i].evaluations < l.result.evaluations * 2 / n);
			sum += x[0].l.result.rank[i].evaluations;
		}
		assert_int_equal(sum, l.result.evaluations);
		if (n == 2)
			berth_pool_free(x[1].l.cfg.pool);
		close_class(x, n);
		assert_same_file(one, many);
		unlink(many);
	}
	close_lesson(&l);
	unlink(one);
}

/* Of the teachers each rank finds some, and all know them. */
static void test_taught_by_ranks(void **state)
{
	(void)state;
	char one[64], many[64];
	berth_err err;
	lesson l;
	pupil x[MOST_RANKS];
	open_taught(&l, temporary(one));
	assert_ok(teach(&l, &err), &err);
	for (int streams = 0; streams < 2; streams++) {
		open_class(x, 2, temporary(many));
		for (int i = 0; i < 2; i++) {
			x[i].l.cfg.teach = l.cfg.teach;
			x[i].l.cfg.evaluations = l.cfg.evaluations;
			x[i].l.cfg.open = streams ? open_one : NULL;
			x[i].l.cfg.open_ctx = &x[i].l;
		}
		teach_class(x, 2);
		for (int i = 0; i < 2; i++) {
			assert_ok(x[i].st, &x[i].err);
			assert_true(x[i].l.result.best[0].value == l.result.best[0].value);
		}
		close_class(x, 2);
		assert_same_file(one, many);
		unlink(many);
	}
	open_class(x, 2, temporary(many)); /* another teacher with each */
	x[1].l.cfg.teach = 5;
	teach_class(x, 2);
	assert_int_equal(x[0].st, BERTH_EINVAL);
	close_class(x, 2);
	close_lesson(&l);
	unlink(one);
}

/* Pairs that are opened for their turns alone: the same bytes as of those that are held, by any number of
 * ranks and threads, and gone on from. Each tells its objective. */
static void check_streamed(const berth_objective *objective, bool each)
{
	char held[64], path[64];
	berth_err err;
	lesson l;
	pupil x[MOST_RANKS];
	open_lesson(&l, temporary(held));
	l.cfg.objective = *objective;
	l.cfg.each_objective = each;
	assert_ok(teach(&l, &err), &err);
	int64_t steps = l.result.steps;
	const bool all = support_one_in(3, "numbers of ranks") == 1;
	for (int32_t n = all ? 1 : 2; n <= (all ? 3 : 2); n++) {
		temporary(path);
		for (int part = 0; part < 2; part++) {
			open_class(x, n, path);
			for (int32_t i = 0; i < n; i++) {
				x[i].l.cfg.open = open_one;
				x[i].l.cfg.open_ctx = &x[i].l;
				x[i].l.cfg.resume = part;
				x[i].l.cfg.objective = *objective;
				x[i].l.cfg.each_objective = each;
				x[i].l.cancel_at = n == 2 && part == 0 ? steps / 2 : -1;
			}
			assert_ok(berth_pool_new(n, &x[0].l.cfg.pool, &err), &err);
			teach_class(x, n);
			berth_pool_free(x[0].l.cfg.pool);
			for (int32_t i = 0; i < n; i++)
				assert_int_equal(x[i].st,
				                 n == 2 && part == 0 ? BERTH_EINTERRUPTED : BERTH_OK);
			for (int32_t i = 0; i < N_ITEMS; i++) {
				const berth_train_best *told = &x[n - 1].l.result.best[i];
				const berth_train_best *was = &l.result.best[i];
				assert_true(told->value > 0);
				assert_string_equal(told->graph, was->graph);
				assert_true(berth_objective_equal(&told->objective, &was->objective));
			}
			close_class(x, n);
		}
		assert_same_file(held, path);
		unlink(path);
	}
	close_lesson(&l);
	unlink(held);
}

static void test_streamed(void **state)
{
	(void)state;
	berth_objective latency = berth_objective_of(BERTH_LATENCY);
	berth_objective energy = berth_objective_of(BERTH_ENERGY);
	check_streamed(&latency, false);
	check_streamed(&energy, false);
	check_streamed(&latency, true);
}

/* One operator's work is another one from the second time on that the pair is opened. */
static berth_status open_changing(void *ctx, int32_t i, berth_arena *mem, berth_arena *tmp,
                                  berth_train_item *out, berth_err *err)
{
	lesson *l = ctx;
	if (i == 1 && l->opened++ > 0)
		l->g[i].op_flops[7] = 12345;
	return open_one(ctx, i, mem, tmp, out, err);
}

/* A graph that changes while it is trained on, and one that is another one with one of the ranks. */
static void test_streamed_changes(void **state)
{
	(void)state;
	static const char *const part[] = {"has changed since training began", "rank 1 of 2, on "};
	char path[64];
	pupil x[MOST_RANKS];
	for (int32_t n = 1; n <= 2; n++) {
		open_class(x, n, temporary(path));
		for (int32_t i = 0; i < n; i++) {
			x[i].l.cfg.open = n == 1 ? open_changing : open_one;
			x[i].l.cfg.open_ctx = &x[i].l;
		}
		if (n == 2)
			x[1].l.g[0].op_flops[7] = 12345;
		teach_class(x, n);
		for (int32_t i = 0; i < n; i++) {
			assert_int_equal(x[i].st, BERTH_EFORMAT);
			assert_contains(x[i].err.msg, part[n - 1]);
		}
		close_class(x, n);
		unlink(path);
	}
}

/* One is interrupted, then all are; others go on, in another number. */
static void test_ranks_interrupted(void **state)
{
	(void)state;
	char whole[64], parts[64];
	berth_err err;
	lesson l;
	pupil x[MOST_RANKS];
	open_lesson(&l, temporary(whole));
	assert_ok(teach(&l, &err), &err);
	int64_t steps = l.result.steps;
	close_lesson(&l);
	temporary(parts);
	for (int32_t n = 3; n >= 1; n--) {
		open_class(x, n, parts);
		x[n - 1].l.cancel_at = n == 1 ? -1 : (4 - n) * steps / 3;
		for (int32_t i = 0; i < n; i++)
			x[i].l.cfg.resume = true;
		teach_class(x, n);
		for (int32_t i = 0; i < n; i++)
			assert_int_equal(x[i].st, n == 1 ? BERTH_OK : BERTH_EINTERRUPTED);
		close_class(x, n);
	}
	assert_same_file(whole, parts);
	unlink(whole);
	unlink(parts);
}

/* What one fails of all tell, by its name; nobody waits for it. */
static void test_ranks_fail_alike(void **state)
{
	(void)state;
	static const char *const part[] = {"rank 0 of 3, on ", "has another version of berth",
	                                   "has another version of berth", "sequential decoding"};
	static const berth_status code[] = {BERTH_EIO, BERTH_EINVAL, BERTH_EINVAL, BERTH_EUNSUPPORTED};
	char path[64];
	pupil x[MOST_RANKS];
	for (int k = 0; k < 4; k++) {
		open_class(x, 3, temporary(path));
		if (k == 0) { /* a disk that is full */
			x[0].l.saves = 3;
			x[0].l.cfg.saving = fail_later;
		}
		if (k == 1)
			x[2].l.cfg.evaluations = 1501;
		if (k == 2)
			x[1].l.item[1].p = &x[1].l.p[0];
		for (int32_t i = 0; i < 3 && k == 3; i++)
			x[i].l.cfg.learner.decoding = BERTH_ONE_SHOT;
		teach_class(x, 3);
		for (int32_t i = 0; i < 3; i++) {
			assert_int_equal(x[i].st, code[k]);
			assert_contains(x[i].err.msg, part[k]);
		}
		close_class(x, 3);
		unlink(path);
	}
}

/* ---- fine-tuning ---- */

/* A policy that a short training leaves, to begin with. */
static void first_policy(berth_arena *mem, berth_policy_file *out)
{
	char path[64];
	berth_err err;
	lesson l;
	open_lesson(&l, temporary(path));
	l.cfg.evaluations = 300;
	assert_ok(teach(&l, &err), &err);
	assert_ok(berth_policy_file_read(path, mem, out, &err), &err);
	close_lesson(&l);
	unlink(path);
}

static void open_tuning(lesson *l, const char *path, const berth_policy_file *from)
{
	berth_fine_tune parts;
	berth_err err;
	open_lesson(l, path);
	berth_train_cfg as = l->cfg;
	assert_ok(berth_fine_tune_split(l->item, N_ITEMS, 1, &l->mem, &l->tmp, &parts, &err), &err);
	assert_int_equal(parts.n_learned, N_ITEMS);
	assert_int_equal(parts.n_kept, 2 * N_ITEMS);
	assert_ok(berth_fine_tune_cfg(from, &parts, 60, &l->cfg, &err), &err);
	l->cfg.learner.lr = 3e-3; /* so that some looks are taken and some not */
	l->cfg.evaluations = BERTH_DEBUG ? 500 : 900;
	l->cfg.path = path;
	l->cfg.save_s = 0;
	l->cfg.cancel = as.cancel;
	l->cfg.update = as.update;
	l->cfg.update_ctx = as.update_ctx;
}

/* The same bytes with any number of threads and interrupted anywhere; what is written is on no pair kept
 * aside worse than what it began with, and does what is told of it. */
static void test_tuned(void **state)
{
	(void)state;
	char whole[64], parts[64];
	berth_arena mem = {0};
	berth_policy_file from, f;
	berth_err err;
	lesson l;
	first_policy(&mem, &from);
	open_tuning(&l, temporary(whole), &from);
	assert_ok(teach(&l, &err), &err);
	int64_t steps = l.result.steps;
	const berth_train_tuned *t = &l.result.tuned;
	assert_true(t->taken > 0 && t->taken <= t->looks);
	assert_int_equal(t->n_pairs, 3 * N_ITEMS);
	assert_int_equal(l.result.searched, 0);
	assert_ok(berth_policy_file_read(whole, &mem, &f, &err), &err);
	assert_int_equal(f.card->n_kept, 2 * N_ITEMS);
	assert_memory_equal(f.base, from.params, policy_param_count(&f.dims) * sizeof *f.params);
	for (int32_t i = 0; i < t->n_pairs; i++) {
		assert_int_equal(t->pair[i].kept, i < 2 * N_ITEMS);
		assert_true(t->pair[i].after <= t->pair[i].before * (1 + 1e-9));
		if (!t->pair[i].kept)
			continue;
		assert_true(f.card->kept[i].before == t->pair[i].before);
		assert_true(f.card->kept[i].after == t->pair[i].after);
	}
	close_lesson(&l);
	for (int k = 3 - support_sampled(3, 1, "interruptions of a tuning"); k < 3; k++) {
		open_tuning(&l, temporary(parts), &from);
		assert_ok(berth_pool_new(1 + k, &l.cfg.pool, &err), &err);
		l.cancel_at = 1 + k * steps / 3;
		assert_int_equal(teach(&l, &err), BERTH_EINTERRUPTED);
		go_on(&l);
		berth_pool_free(l.cfg.pool);
		close_lesson(&l);
		assert_same_file(whole, parts);
		unlink(parts);
	}
	/* from the checkpoint that stands before the first look, too */
	open_tuning(&l, temporary(parts), &from);
	l.saves = 1;
	l.cfg.saving = fail_later;
	assert_int_equal(teach(&l, &err), BERTH_EIO);
	l.cfg.saving = NULL;
	go_on(&l);
	close_lesson(&l);
	assert_same_file(whole, parts);
	unlink(parts);
	unlink(whole);
	berth_arena_free(&mem);
}

/* Where nothing is better what it began with is written; that is no policy to go on from with another one. */
static void test_not_tuned(void **state)
{
	(void)state;
	if (support_answers_left())
		return;
	char path[64];
	berth_arena mem = {0};
	berth_policy_file from, f;
	berth_err err;
	lesson l;
	first_policy(&mem, &from);
	open_tuning(&l, temporary(path), &from);
	l.cfg.learner.lr = 1e-9; /* it stays what it is */
	assert_ok(teach(&l, &err), &err);
	assert_int_equal(l.result.tuned.taken, 0);
	assert_true(l.result.tuned.looks > 0);
	assert_ok(berth_policy_file_read(path, &mem, &f, &err), &err);
	assert_memory_equal(f.params, from.params, policy_param_count(&f.dims) * sizeof *f.params);
	assert_null(f.base);
	l.cfg.resume = true;
	berth_train_item *kept = (berth_train_item *)(uintptr_t)l.cfg.kept, was = kept[1];
	kept[1].p = kept[0].p;
	assert_int_equal(teach(&l, &err), BERTH_EFORMAT);
	assert_contains(err.msg, "has changed since");
	kept[1] = was;
	nn_real *params = (nn_real *)(uintptr_t)from.params;
	params[3] += 1;
	assert_int_equal(teach(&l, &err), BERTH_EFORMAT);
	assert_contains(err.msg, "began with another policy");
	close_lesson(&l);
	unlink(path);
	berth_arena_free(&mem);
}

/* A tuned policy is not tuned again: what it was tuned from would be lost. */
static void test_not_tuned_again(void **state)
{
	(void)state;
	berth_arena mem = {0};
	berth_policy_file from;
	berth_train_cfg cfg;
	const berth_fine_tune none = {0};
	berth_err err;
	first_policy(&mem, &from);
	from.base = from.params;
	assert_int_equal(berth_fine_tune_cfg(&from, &none, 1, &cfg, &err), BERTH_EINVAL);
	assert_contains(err.msg, "tune the one that it was tuned from");
	berth_arena_free(&mem);
}

/* It ended early only where some of the budget is left. */
static void test_over(void **state)
{
	(void)state;
	if (support_answers_left())
		return;
	char path[64];
	berth_arena mem = {0};
	berth_policy_file from;
	berth_err err;
	lesson l;
	int spent = 0, early = 0;
	first_policy(&mem, &from);
	/* the sample is the largest that is spent and the next one */
	int n = support_sampled(11, 2, "budgets");
	for (int i = 0; i < n; i++) {
		int64_t evaluations = (n == 2 ? 1700 : 1300) + 100 * i;
		open_tuning(&l, temporary(path), &from);
		l.cfg.learner.lr = 1e-9; /* it stays as it is */
		l.cfg.save_s = 60;
		l.cfg.evaluations = evaluations;
		assert_ok(teach(&l, &err), &err);
		const berth_train_tuned *t = &l.result.tuned;
		bool left = l.result.evaluations < evaluations;
		if (left)
			assert_true(t->over || l.result.done);
		else
			assert_false(t->over);
		early += t->over;
		spent += !left && t->looks - t->taken >= 12;
		close_lesson(&l);
		unlink(path);
	}
	assert_true(early > 0 && spent > 0);
	berth_arena_free(&mem);
}

/* Counts of looks and weights that no tuning comes to are refused. */
static void test_tampered_tuning(void **state)
{
	(void)state;
	if (support_answers_left())
		return;
	static const int64_t bad[][2] = {
		{0, INT64_C(1) << 53}, {0, INT64_MAX}, {0, -1}, {1, INT64_C(1) << 53}, {1, -1}};
	char path[64], other[64];
	berth_arena mem = {0};
	berth_policy_file from;
	berth_err err;
	lesson l;
	first_policy(&mem, &from);
	open_tuning(&l, temporary(path), &from);
	assert_ok(teach(&l, &err), &err);
	assert_true(l.result.tuned.taken > 0);
	l.cfg.resume = true;
	l.cfg.path = temporary(other);
	for (size_t i = 0; i <= sizeof bad / sizeof *bad; i++) {
		if (i < sizeof bad / sizeof *bad)
			assert_true(tamper(path, other, "state.looks", (size_t)bad[i][0], bad[i][1]));
		else /* weights that were learned, said to be those of the start */
			assert_true(tamper(path, other, "state.looks", 1, 0));
		assert_int_equal(teach(&l, &err), BERTH_EFORMAT);
		assert_contains(err.msg, "contradicts itself");
	}
	close_lesson(&l);
	unlink(path);
	unlink(other);
	berth_arena_free(&mem);
}

/* Peaks of all precisions were drawn alike. */
static void check_peaks(const berth_system *drawn, const berth_system *s)
{
	berth_precision used;
	for (int i = 0; i < s->n_devs * BERTH_N_PRECISIONS; i++) {
		int32_t d = i / BERTH_N_PRECISIONS;
		berth_precision p = (berth_precision)(i % BERTH_N_PRECISIONS);
		double ratio = berth_system_peak(drawn, d, p, &used) / berth_system_peak(s, d, p, &used);
		assert_true(fabs(ratio * s->dev_peak_flops[d] / drawn->dev_peak_flops[d] - 1) < 1e-12);
	}
}

/* Every fourth of four and more is kept aside. */
static void test_kept_aside(void **state)
{
	(void)state;
	enum { N = 9 };
	lesson l;
	berth_err err;
	berth_fine_tune x;
	berth_train_item item[N];
	open_lesson(&l, NULL);
	for (int i = 0; i < N; i++)
		item[i] = l.item[i % 2];
	assert_ok(berth_fine_tune_split(item, N, 1, &l.mem, &l.tmp, &x, &err), &err);
	assert_int_equal(x.n_kept, 2);
	assert_int_equal(x.n_learned, 7);
	assert_ok(berth_fine_tune_split(item, 1, 1, &l.mem, &l.tmp, &x, &err), &err);
	assert_int_equal(x.n_kept, 2);
	assert_int_equal(x.n_learned, 1);
	assert_string_equal(x.kept[1].system, "cpu+2gpu, draw 2");
	assert_true(x.kept[0].p->s->link_bandwidth[0] != l.s.link_bandwidth[0]);
	check_peaks(x.kept[0].p->s, &l.s);
	assert_true(x.kept[0].p->g == l.item[0].p->g);
	close_lesson(&l);
}

int main(void)
{
	const struct CMUnitTest threaded[] = {
		cmocka_unit_test(test_threads_do_not_matter),
		cmocka_unit_test(test_ranks_do_not_matter),
		cmocka_unit_test(test_taught_by_ranks),
		cmocka_unit_test(test_streamed),
		cmocka_unit_test(test_streamed_changes),
		cmocka_unit_test(test_ranks_interrupted),
		cmocka_unit_test(test_ranks_fail_alike),
		cmocka_unit_test(test_interrupted_search),
		cmocka_unit_test(test_tuned),
	};
	const struct CMUnitTest alone[] = {
		cmocka_unit_test(test_interrupted_anywhere),
		cmocka_unit_test(test_first_checkpoints),
		cmocka_unit_test(test_resume_refuses_other_trainings),
		cmocka_unit_test(test_older_checkpoint),
		cmocka_unit_test(test_tampered_checkpoints),
		cmocka_unit_test(test_policy_reads_back),
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_budget_moves),
		cmocka_unit_test(test_taught),
		cmocka_unit_test(test_teachers_are_imitated),
		cmocka_unit_test(test_other_teachers),
		cmocka_unit_test(test_ends_when_done),
		cmocka_unit_test(test_resume_with_more),
		cmocka_unit_test(test_resume_with_less),
		cmocka_unit_test(test_not_tuned),
		cmocka_unit_test(test_not_tuned_again),
		cmocka_unit_test(test_over),
		cmocka_unit_test(test_tampered_tuning),
		cmocka_unit_test(test_kept_aside),
	};
	int failed = cmocka_run_group_tests(threaded, NULL, NULL);
	return support_threads_only() ? failed : failed + cmocka_run_group_tests(alone, NULL, NULL);
}
