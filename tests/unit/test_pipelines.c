/* Training by pipelines over unlike devices: a pipeline's passes against formulas and by hand, plans against
 * all plans of small clusters, memory, and what is told of layers that fit nowhere. */
#include "fail_each.h"
#include "pipelines_program.h"
#include "rng.h"
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LAYERS = 4, MOST_KINDS = 2, BATCHES = 2 };

typedef struct instance {
	berth_train_task x;
	berth_train_times times[MOST_KINDS][BATCHES * 2];
	double sum[MOST_KINDS][BATCHES * 2][3][MOST_LAYERS + 1];
	int64_t batch[BATCHES], bytes[8][MOST_LAYERS + 1], work[BATCHES];
	const int64_t *kept[BATCHES], *ahead[BATCHES], *back[BATCHES];
	int32_t barred[MOST_KINDS][MOST_LAYERS + 1];
} instance;

static double draw_one(berth_rng *rng, int n)
{
	return 1 + (double)berth_rng_below(rng, (uint32_t)n);
}

static void draw(instance *w, uint64_t seed)
{
	berth_rng rng = berth_rng_seed(seed, BERTH_STREAM_RANDOM);
	*w = (instance){.batch = {1, 2}};
	berth_train_task *x = &w->x;
	*x = (berth_train_task){.n_batches = BATCHES,
	                        .batch = w->batch,
	                        .param_bytes = w->bytes[0],
	                        .held_bytes = w->bytes[1],
	                        .kept_bytes = w->kept,
	                        .forward_bytes = w->ahead,
	                        .backward_bytes = w->back,
	                        .work_bytes = w->work};
	x->n_layers = 2 + (int32_t)berth_rng_below(&rng, MOST_LAYERS - 1);
	x->n_kinds = 1 + (int32_t)berth_rng_below(&rng, MOST_KINDS);
	x->samples = 2 + 2 * berth_rng_below(&rng, 4);
	x->one_wire = berth_rng_below(&rng, 2);
	x->goal = (berth_train_goal)berth_rng_below(&rng, BERTH_N_TRAIN_GOALS);
	for (int32_t b = 0; b < BATCHES; b++) {
		w->kept[b] = w->bytes[2 + b];
		w->ahead[b] = w->bytes[4 + b];
		w->back[b] = w->bytes[6 + b];
		w->work[b] = 1;
	}
	for (int32_t l = 0; l < x->n_layers; l++) {
		int64_t param = (int64_t)draw_one(&rng, 5), kept = (int64_t)draw_one(&rng, 3),
			border = (int64_t)draw_one(&rng, 4);
		w->bytes[0][l + 1] = w->bytes[0][l] + param;
		w->bytes[1][l + 1] = w->bytes[1][l] + 4 * param;
		for (int32_t b = 0; b < BATCHES; b++) {
			w->bytes[2 + b][l + 1] = w->bytes[2 + b][l] + kept * w->batch[b];
			w->bytes[4 + b][l + 1] = w->bytes[6 + b][l + 1] = border * w->batch[b];
		}
	}
	double slow = berth_rng_below(&rng, 2) ? 0.05 : 0.5; /* of messages beside work */
	for (int32_t k = 0; k < x->n_kinds; k++) {
		berth_train_kind *d = &x->kind[k];
		*d = (berth_train_kind){.name = k ? "b" : "a", .times = w->times[k], .barred = w->barred[k]};
		d->per_host = 1 + (int32_t)berth_rng_below(&rng, 2);
		d->n_devs = d->per_host * (1 + (int32_t)berth_rng_below(&rng, 2));
		d->n_widths = d->per_host;
		d->memory_bytes = berth_rng_below(&rng, 3) ? 20 + (int64_t)berth_rng_below(&rng, 60) : -1;
		d->idle_w = draw_one(&rng, 3);
		d->busy_w = d->idle_w + draw_one(&rng, 9);
		d->price_h = draw_one(&rng, 4) * 3600;
		d->inside = (berth_train_hop){slow * 0.1, slow * 0.1};
		for (int32_t o = 0; o < x->n_kinds; o++)
			x->hop[k][o] = x->hop[o][k] = (berth_train_hop){slow * draw_one(&rng, 3) / 10,
			                                                slow * draw_one(&rng, 3) / 3};
		double speed = draw_one(&rng, 4);
		for (int32_t i = 0; i < BATCHES * d->n_widths; i++) {
			int32_t b = i / d->n_widths, width = berth_train_width(i % d->n_widths);
			for (int32_t l = 0; l < x->n_layers; l++) {
				double s = draw_one(&rng, 3) * (0.3 + (double)w->batch[b]) *
				           (0.8 + 0.2 * width) / width / speed;
				w->sum[k][i][0][l + 1] = w->sum[k][i][0][l] + s;
				w->sum[k][i][1][l + 1] = w->sum[k][i][1][l] + 2 * s;
				w->sum[k][i][2][l + 1] = w->sum[k][i][2][l] + 0.1 / speed / width;
			}
			w->times[k][i] =
				(berth_train_times){w->sum[k][i][0], w->sum[k][i][1], w->sum[k][i][2]};
		}
	}
}

/* ---- one pipeline ---- */

/* Stages of one layer on one device each: without messages it is the formula of equal and of unlike stages.
 */
static void test_formula(void **state)
{
	(void)state;
	instance w;
	berth_err err;
	berth_arena tmp = {0};
	for (int64_t m = 1; m <= 8; m++) {
		bool fits;
		draw(&w, 1);
		w.x.kind[0].n_widths = 1;
		w.x.kind[0].memory_bytes = -1;
		w.x.n_layers = 3;
		memset(w.x.hop, 0, sizeof w.x.hop);
		for (int32_t l = 0; l <= 3; l++) {
			w.sum[0][0][0][l] = l == 0 ? 0 : w.sum[0][0][0][l - 1] + l;
			w.sum[0][0][1][l] = 2 * w.sum[0][0][0][l];
			w.sum[0][0][2][l] = 0;
		}
		berth_train_plan p = {.n_stages = 3, .micro_batch = 1, .n_micro = m};
		for (int32_t s = 0; s < 3; s++)
			p.stage[s] =
				(berth_train_stage){.from = s, .to = s + 1, .n_parts = 1, .part = {{.n = 1}}};
		assert_ok(berth_train_value(&w.x, &p, &fits, &tmp, &err), &err);
		assert_true(fits);
		assert_near(p.step_s, 3 + 6 + 9 + (double)(m - 1) * 9, 1e-9);
	}
	berth_arena_free(&tmp);
}

/* A message of one second each way between two stages that take 1 and 2: both are held while they send. The
 * last answer arrives at 10, and 2 more are worked on. */
static void test_messages_hold_up(void **state)
{
	(void)state;
	instance w;
	berth_err err;
	berth_arena tmp = {0};
	bool fits;
	draw(&w, 1);
	w.x.kind[0].n_widths = 1;
	w.x.kind[0].memory_bytes = -1;
	w.x.n_layers = 2;
	w.x.hop[0][0] = (berth_train_hop){1, 0};
	for (int32_t l = 0; l <= 2; l++) {
		w.sum[0][0][0][l] = l;
		w.sum[0][0][1][l] = 2 * l;
		w.sum[0][0][2][l] = 0;
	}
	berth_train_plan p = {.n_stages = 2, .micro_batch = 1, .n_micro = 2};
	for (int32_t s = 0; s < 2; s++)
		p.stage[s] = (berth_train_stage){.from = s, .to = s + 1, .n_parts = 1, .part = {{.n = 1}}};
	assert_ok(berth_train_value(&w.x, &p, &fits, &tmp, &err), &err);
	assert_near(p.step_s, 12, 1e-9);
	berth_arena_free(&tmp);
}

/* With one micro-batch the program's formula is exact, however long gradients are summed. */
static void test_formula_of_one_micro_batch(void **state)
{
	(void)state;
	berth_arena tmp = {0};
	berth_err err;
	int32_t piped = 0;
	for (uint64_t seed = 0; seed < 100; seed++) {
		instance w;
		double work[MOST_LAYERS + 1] = {0}, path_s[MOST_LAYERS + 1] = {0};
		train_option opt[MOST_KINDS * 2];
		draw(&w, seed);
		berth_rng rng = berth_rng_seed(seed, BERTH_STREAM_ORDER);
		train_program d = {.x = &w.x,
		                   .micro_batch = 1,
		                   .n_micro = 1,
		                   .n_cuts = w.x.n_layers,
		                   .n_states = 1,
		                   .work = work,
		                   .path_s = path_s,
		                   .opt = opt,
		                   .tmp = &tmp};
		for (int32_t l = 0; l < w.x.n_layers; l++) {
			double s = draw_one(&rng, 40);
			d.cut[l + 1] = l + 1;
			for (int32_t k = 0; k < w.x.n_kinds; k++)
				for (int32_t i = 0; i < BATCHES * w.x.kind[k].n_widths; i++)
					w.sum[k][i][2][l + 1] = w.sum[k][i][2][l] + s;
		}
		for (int32_t k = 0; k < w.x.n_kinds; k++) {
			d.speed[k] = 1;
			d.unit[k] = 1;
			d.level[k] = w.x.kind[k].n_devs;
			d.step[k] = d.n_states;
			d.n_states *= d.level[k] + 1;
			for (int32_t i = 0; i < w.x.kind[k].n_widths; i++) {
				train_option *o = &opt[d.n_opts++];
				*o = (train_option){.g = {.n_parts = 1, .part = {{k, i, 0, 1, 0}}},
				                    .mask = 1 << k};
				o->units[k] = 1 << i;
				o->state = o->units[k] * d.step[k];
			}
		}
		size_t heads = (size_t)((d.n_cuts + 1) * d.n_states);
		assert_ok(BERTH_NEW(&tmp, d.head[0], heads, &err), &err);
		assert_ok(BERTH_NEW(&tmp, d.head[1], heads, &err), &err);
		assert_ok(BERTH_NEW(&tmp, d.best, MOST_BEST, &err), &err);
		assert_ok(BERTH_NEW(&tmp, d.pick, d.n_states * MOST_FRONT, &err), &err);
		assert_ok(BERTH_NEW(&tmp, d.stage, (d.n_cuts + 1) * d.n_opts * (d.n_cuts + 1), &err), &err);
		assert_ok(train_program_solve(&d, 1e6, &err), &err);
		for (int32_t i = 0; i < d.n_best; i++) {
			bool fits;
			berth_train_plan p = d.best[i].plan;
			assert_ok(berth_train_value(&w.x, &p, &fits, &tmp, &err), &err);
			assert_true(fits);
			assert_near(d.best[i].value, p.value, 1e-9 * p.value);
			piped += p.n_stages > 1;
		}
		berth_arena_free(&tmp);
	}
	print_message("%d pipelines\n", piped);
	assert_true(piped > 100);
}

/* ---- all plans ---- */

typedef struct all {
	const instance *w;
	berth_train_plan p, best;
	int32_t left[MOST_KINDS];
	berth_arena *tmp;
} all;

static void try_stages(all *a, int32_t from);

/* Part after part of the stage at hand, of kinds from `kind` on, until the micro-batch is shared out. */
static void try_parts(all *a, int32_t kind, int64_t samples)
{
	const berth_train_task *x = &a->w->x;
	berth_train_stage *g = &a->p.stage[a->p.n_stages];
	if (samples == 0) {
		a->p.n_stages++;
		try_stages(a, g->to);
		a->p.n_stages--;
		return;
	}
	for (int32_t k = kind; k < x->n_kinds; k++)
		for (int32_t w = 0; w < x->kind[k].n_widths; w++)
			for (int32_t b = 0; b < BATCHES; b++)
				for (int32_t n = 1; n << w <= a->left[k] && n * x->batch[b] <= samples; n++) {
					g->part[g->n_parts++] = (berth_train_part){k, w, b, n, 0};
					a->left[k] -= n << w;
					try_parts(a, k + 1, samples - n * x->batch[b]);
					a->left[k] += n << w;
					g->n_parts--;
				}
}

static void try_stages(all *a, int32_t from)
{
	const berth_train_task *x = &a->w->x;
	berth_err err;
	if (from == x->n_layers) {
		bool fits;
		berth_train_plan p = a->p;
		assert_ok(berth_train_value(x, &p, &fits, a->tmp, &err), &err);
		if (fits && (a->best.n_stages == 0 || p.value < a->best.value))
			a->best = p;
		return;
	}
	for (int32_t to = from + 1; to <= x->n_layers; to++) {
		a->p.stage[a->p.n_stages] = (berth_train_stage){.from = from, .to = to};
		try_parts(a, 0, a->p.micro_batch);
	}
}

static void test_against_all_plans(void **state)
{
	(void)state;
	berth_arena tmp = {0};
	berth_err err;
	int32_t n = 0, same = 0, unlike = 0;
	double worst = 1;
	for (uint64_t seed = 0; seed < (BERTH_DEBUG ? 50 : 500); seed++) {
		instance w;
		draw(&w, seed);
		all a = {.w = &w, .tmp = &tmp};
		berth_train_plan found;
		for (a.p.n_micro = 1; a.p.n_micro <= w.x.samples; a.p.n_micro++) {
			if (w.x.samples % a.p.n_micro)
				continue;
			a.p.micro_batch = w.x.samples / a.p.n_micro;
			for (int32_t k = 0; k < w.x.n_kinds; k++)
				a.left[k] = w.x.kind[k].n_devs;
			try_stages(&a, 0);
		}
		assert_ok(berth_train_search(&w.x, BERTH_TRAIN_WORK, NULL, NULL, NULL, &tmp, &found, &err),
		          &err);
		assert_int_equal(found.n_stages > 0, a.best.n_stages > 0);
		if (found.n_stages == 0)
			continue;
		assert_true(found.bound_s <= a.best.step_s * (1 + 1e-9) || w.x.goal != BERTH_TRAIN_TIME);
		assert_true(found.bound_s <= found.step_s);
		assert_true(found.value >= a.best.value * (1 - 1e-9));
		worst = fmin(worst, a.best.value / found.value);
		same += found.value <= a.best.value * (1 + 1e-9);
		for (int32_t s = 0; s < found.n_stages; s++)
			unlike += found.stage[s].n_parts > 1;
		n++;
	}
	print_message("%d of %d the best, worst %.4f, %d stages of two kinds\n", same, n, worst, unlike);
	assert_true(worst >= 0.98);
	assert_true(n > (BERTH_DEBUG ? 40 : 400) && (BERTH_DEBUG || unlike > 0));
	berth_arena_free(&tmp);
}

/* Many devices: what is looked at keeps to the work, and the same work finds the same. */
static void test_work_is_limited(void **state)
{
	(void)state;
	berth_arena tmp = {0};
	berth_err err;
	int32_t n = 0;
	for (uint64_t seed = 0; seed < 60; seed++) {
		instance w;
		berth_train_plan little, again, much;
		draw(&w, seed);
		w.x.samples = 8;
		for (int32_t k = 0; k < w.x.n_kinds; k++)
			w.x.kind[k].n_devs = 40 * w.x.kind[k].per_host;
		assert_ok(berth_train_search(&w.x, 2000, NULL, NULL, NULL, &tmp, &little, &err), &err);
		assert_ok(berth_train_search(&w.x, 2000, NULL, NULL, NULL, &tmp, &again, &err), &err);
		assert_ok(berth_train_search(&w.x, 2e6, NULL, NULL, NULL, &tmp, &much, &err), &err);
		assert_true(little.looked_at <= 4000 && little.n_stages > 0);
		assert_true(little.value == again.value && little.looked_at == again.looked_at);
		assert_true(little.value <= much.value * 1.5);
		n += much.looked_at > 4000;
	}
	print_message("%d of 60 have more to look at\n", n);
	assert_true(n > 5);
	berth_arena_free(&tmp);
}

static void *count_alloc(void *ctx, size_t size)
{
	*(size_t *)ctx += size;
	return malloc(size);
}

static void give_back(void *ctx, void *ptr)
{
	(void)ctx;
	free(ptr);
}

/* All ways to make a stage of so many batches would take 44 MB here. */
static void test_many_batches_take_little_memory(void **state)
{
	(void)state;
	enum { MANY = 64 };
	instance w;
	berth_err err;
	size_t bytes = 0;
	const berth_allocator hook = {.alloc = count_alloc, .free = give_back, .ctx = &bytes};
	berth_arena tmp;
	berth_train_plan p;
	int64_t batch[MANY], work[MANY];
	const int64_t *table[3][MANY];
	berth_train_times times[MOST_KINDS][MANY * 2];
	berth_arena_init(&tmp, &hook);
	draw(&w, 0);
	w.x.n_batches = MANY;
	w.x.n_kinds = MOST_KINDS;
	w.x.kind[1] = w.x.kind[0];
	for (int32_t b = 0; b < MANY; b++) {
		batch[b] = b + 1;
		work[b] = 1;
		table[0][b] = w.kept[0];
		table[1][b] = w.ahead[0];
		table[2][b] = w.back[0];
	}
	for (int32_t k = 0; k < MOST_KINDS; k++) {
		for (int32_t i = 0; i < MANY * 2; i++)
			times[k][i] = w.times[0][0];
		w.x.kind[k].times = times[k];
		w.x.kind[k].n_devs = 256;
		w.x.kind[k].per_host = w.x.kind[k].n_widths = 2;
	}
	w.x.batch = batch;
	w.x.work_bytes = work;
	w.x.kept_bytes = table[0];
	w.x.forward_bytes = table[1];
	w.x.backward_bytes = table[2];
	w.x.samples = 4096;
	assert_ok(berth_train_search(&w.x, 1e5, NULL, NULL, NULL, &tmp, &p, &err), &err);
	print_message("%.1f MB\n", (double)bytes / 1e6);
	assert_true(bytes < 10000000);
	berth_arena_free(&tmp);
}

/* ---- what fails ---- */

static void test_lacks(void **state)
{
	(void)state;
	instance w;
	int64_t need;
	int32_t kind, width;
	draw(&w, 4);
	for (int32_t k = 0; k < w.x.n_kinds; k++)
		w.x.kind[k].memory_bytes = 1000;
	w.bytes[1][1] = 4999;
	w.bytes[2][1] = 0;
	int32_t widest = w.x.kind[0].n_widths;
	if (w.x.n_kinds > 1 && w.x.kind[1].n_widths > widest)
		widest = w.x.kind[1].n_widths;
	int64_t each = 5000 >> (widest - 1);
	assert_int_equal(berth_train_lacks(&w.x, 0, 1, &need, &kind, &width), each - 1000);
	assert_int_equal(need, each);
	assert_int_equal(width, 1 << (widest - 1));
	for (int32_t k = 0; k < w.x.n_kinds; k++)
		w.barred[k][1] = 1;
	assert_true(berth_train_lacks(&w.x, 0, 1, &need, &kind, &width) == INT64_MAX);
}

static berth_status work(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	(void)mem;
	berth_train_plan p;
	return berth_train_search(&((instance *)ctx)->x, BERTH_TRAIN_WORK, NULL, NULL, NULL, tmp, &p, err);
}

static void test_each_allocation_may_fail(void **state)
{
	(void)state;
	instance w;
	draw(&w, 3);
	assert_fails_each(work, &w, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_formula),
		cmocka_unit_test(test_messages_hold_up),
		cmocka_unit_test(test_formula_of_one_micro_batch),
		cmocka_unit_test(test_against_all_plans),
		cmocka_unit_test(test_work_is_limited),
		cmocka_unit_test(test_many_batches_take_little_memory),
		cmocka_unit_test(test_lacks),
		cmocka_unit_test(test_each_allocation_may_fail),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
