/* Fits the numbers of the time model: robust, drawn to what is likely, by differences. */
#include "gpu_fit.h"
#include "rng.h"

/* What multiplying costs in a model, as a part of what it costs alone. */
#define JOULES_LONG 0.79

/* A number: likely value, how many logarithms off that is unlikely, and the same between generations. */
typedef struct likely {
	enum berth_time_number number;
	double value, spread, between;
} likely;

#define TILES(large, small) \
	{BERTH_GPU_AT_128_128, 0.95, 0.2, large}, {BERTH_GPU_AT_128_64, 0.9, 0.25, large}, \
	{BERTH_GPU_AT_64_128, 0.9, 0.25, large}, {BERTH_GPU_AT_64_64, 0.8, 0.3, large}, \
	{BERTH_GPU_AT_128_32, 0.6, 0.4, large}, {BERTH_GPU_AT_32_128, 0.6, 0.4, large}, \
	{BERTH_GPU_AT_32_32, 0.4, 0.5, large}, {BERTH_GPU_AT_2_64, 0.25, 0.3, small}
#define PRODUCT(host, spread) \
	TILES(0.6, 0.1), {BERTH_GPU_BEGIN_K, 45, 0.5, 0.12}, {BERTH_GPU_SPLIT_K, 60, 1, 0.12}, \
	{BERTH_GPU_PEAK, 0.88, 0.1, 0.08}, {BERTH_GPU_JOULES, 1.42, 0.1, 0.01}, \
	{BERTH_GPU_IDLE_WATTS, 15, 0.2, 0.01}, {BERTH_GPU_HEAT_S, 2e-3, 0.7, 0.02}, \
	{BERTH_GPU_MEMORY, 0.75, 0.2, 0.06}, {BERTH_GPU_MEMORY_JOIN, 0.3, 0.6, 0.1}, \
	{BERTH_GPU_CACHE, 2, 0.5, 0.1}, {BERTH_GPU_CALL_S, 6e-6, 0.5, 0.02}, \
	{BERTH_GPU_HOST, host, spread, 0.01}
#define WEIGHTS(long_rows, between) \
	{BERTH_GPU_FETCH, 0.65, 0.4, 0.1}, {BERTH_GPU_RESIDENT, 2, 0.3, 0.1}, \
	{BERTH_GPU_FETCH_JOIN, 0.3, 0.6, 0.1}, {BERTH_GPU_LONG_ROWS, long_rows, 0.7, between}, \
	{BERTH_GPU_LONG_ROWS_AT, 23, 0.4, 0.1}
#define MEMORY \
	{BERTH_GPU_MEMORY, 0.8, 0.2, 0.03}, {BERTH_GPU_CACHE, 0.2, 1, 0.05}, \
	{BERTH_GPU_CALL_S, 6e-6, 0.5, 0.02}, {BERTH_GPU_HOST, 1.2, 0.5, 0.01}
#define OVER_ROWS \
	{BERTH_GPU_PASSES, 0.5, 1, 0.1}, {BERTH_GPU_PASSES_AT, 1, 1, 0.1}, {BERTH_GPU_ITEM_OPS, 6, 1, 0.3}, \
	{BERTH_GPU_ROW_S, 2e-7, 1, 0.3}

enum { MOST = BERTH_N_TIME_NUMBERS };
static const likely numbers_of[BERTH_N_TIME_CLASSES][MOST] = {
	[BERTH_TIME_LINEAR] = {PRODUCT(1.4, 0.5), WEIGHTS(0.5, 1)},
	[BERTH_TIME_BMM] = {PRODUCT(1.4, 0.5)},
	[BERTH_TIME_CONV] = {PRODUCT(2.3, 0.1), {BERTH_GPU_ALONE_S, 1e-4, 0.7, 0.02},
	                     {BERTH_GPU_WINOGRAD_2, 0.45, 0.4, 0.2}, {BERTH_GPU_WINOGRAD_4, 0.8, 0.4, 0.2},
	                     {BERTH_GPU_AS_PRODUCT, 0.7, 0.5, 0.3}, {BERTH_GPU_TRANSFORM, 0.7, 0.4, 0.15}},
	[BERTH_TIME_ELEMENTWISE] = {MEMORY},
	[BERTH_TIME_NORM] = {MEMORY, OVER_ROWS},
	[BERTH_TIME_SOFTMAX] = {MEMORY, OVER_ROWS},
	/* one generation, and no overhead in its times: what it costs to compute and host stay as they are */
	[BERTH_TIME_HALF] = {TILES(0.1, 0.1), {BERTH_GPU_BEGIN_K, 45, 1, 0.1},
	                     {BERTH_GPU_SPLIT_K, 80, 0.7, 0.1}, {BERTH_GPU_PEAK, 0.85, 0.15, 0.1},
	                     {BERTH_GPU_JOULES, 0.25, 0.01, 0.01}, {BERTH_GPU_IDLE_WATTS, 15, 0.01, 0.01},
	                     {BERTH_GPU_HEAT_S, 2e-3, 0.01, 0.01},
	                     {BERTH_GPU_MEMORY, 0.85, 0.15, 0.05}, {BERTH_GPU_MEMORY_JOIN, 0.3, 0.6, 0.1},
	                     {BERTH_GPU_CACHE, 0.5, 1, 0.1}, {BERTH_GPU_CALL_S, 4e-6, 0.5, 0.05},
	                     {BERTH_GPU_HOST, 2, 0.01, 0.01}, WEIGHTS(0.2, 0.1)},
};

static int count_of(berth_time_class class)
{
	int n = 0;
	while (n < MOST && numbers_of[class][n].value > 0)
		n++;
	return n;
}

void gpu_fit_numbers(const gpu_fit *f, int generation, double *number)
{
	BERTH_CLEAR(number, BERTH_N_TIME_NUMBERS);
	for (int i = 0; i < count_of(f->class); i++) {
		enum berth_time_number at = numbers_of[f->class][i].number;
		double v = exp(f->shared[i] + f->own[generation][i]);
		bool part = at == BERTH_GPU_MEMORY_JOIN || at == BERTH_GPU_FETCH_JOIN;
		number[at] = part ? fmin(v, 1) : v;
	}
	number[BERTH_GPU_JOULES_LONG] = JOULES_LONG * number[BERTH_GPU_JOULES];
}

enum { STEPS = 300, BATCH = 1500, MOST_A_DEVICE = 1500 };
#define MOST_SECONDS 0.3 /* longer ones tell of heat, not of shapes */

typedef struct fitting {
	const gpu_rows *rows;
	gpu_fit *f;
	const gpu_row **pool, **batch[BERTH_N_GENERATIONS];
	int32_t n_pool, n_batch[BERTH_N_GENERATIONS];
} fitting;

static double loss(const fitting *x, int generation, const double *number)
{
	double sum = 0;
	for (int32_t i = 0; i < x->n_batch[generation]; i++) {
		const gpu_row *r = x->batch[generation][i];
		const berth_time_device *d = &x->rows->device[r->device];
		double e = fabs(log(berth_time_formula(number, &r->q, d) / r->seconds));
		sum += e < 1 ? e : 1 + (e - 1) / 3;
	}
	return sum / BATCH;
}

static void draw(fitting *x, berth_rng *rng)
{
	BERTH_CLEAR(x->n_batch, BERTH_N_GENERATIONS);
	for (int i = 0; i < BATCH; i++) {
		const gpu_row *r = x->pool[berth_rng_below(rng, (uint32_t)x->n_pool)];
		int generation = berth_time_generation(&x->rows->device[r->device]);
		x->batch[generation][x->n_batch[generation]++] = r;
	}
}

/* What a number changes for a generation also changes by its shared part. */
static void gradients(const fitting *x, double (*gradient)[MOST])
{
	const double step = 0.02;
	BERTH_CLEAR(gradient, 1 + BERTH_N_GENERATIONS);
	for (int g = 0; g < BERTH_N_GENERATIONS; g++) {
		double number[BERTH_N_TIME_NUMBERS];
		gpu_fit_numbers(x->f, g, number);
		for (int i = 0; i < count_of(x->f->class); i++) {
			double *at = &number[numbers_of[x->f->class][i].number], was = *at;
			*at = was * exp(step);
			double more = loss(x, g, number);
			*at = was * exp(-step);
			gradient[1 + g][i] = (more - loss(x, g, number)) / (2 * step);
			gradient[0][i] += gradient[1 + g][i];
			*at = was;
		}
	}
}

static void learn(fitting *x, berth_rng *rng)
{
	static const double pull = 0.008;
	double gradient[1 + BERTH_N_GENERATIONS][MOST], mean[1 + BERTH_N_GENERATIONS][MOST] = {0},
	       square[1 + BERTH_N_GENERATIONS][MOST] = {0};
	const likely *known = numbers_of[x->f->class];
	for (int step = 1; step <= STEPS; step++) {
		draw(x, rng);
		gradients(x, gradient);
		double rate = 0.06 * (1 - (double)step / STEPS) + 0.0005;
		for (int k = 0; k <= BERTH_N_GENERATIONS; k++)
			for (int i = 0; i < count_of(x->f->class); i++) {
				double *v = k ? &x->f->own[k - 1][i] : &x->f->shared[i];
				double off = *v - (k ? 0 : log(known[i].value)),
				       spread = k ? known[i].between : known[i].spread;
				double g = gradient[k][i] + pull * off / (spread * spread);
				mean[k][i] = 0.9 * mean[k][i] + 0.1 * g;
				square[k][i] = 0.98 * square[k][i] + 0.02 * g * g;
				*v -= rate * mean[k][i] / (1 - pow(0.9, step)) /
				      (sqrt(square[k][i] / (1 - pow(0.98, step))) + 1e-3);
			}
	}
}

void gpu_fit_class(const gpu_rows *rows, berth_time_class class, int32_t left_out, gpu_fit *out)
{
	BERTH_ARENA(mem);
	fitting x = {.rows = rows, .f = out};
	int32_t n_of[GPU_DEVICES] = {0}, most = MOST_A_DEVICE * (class == BERTH_TIME_ELEMENTWISE ? 3 : 1);
	*out = (gpu_fit){.class = class};
	for (int i = 0; i < count_of(class); i++)
		out->shared[i] = log(numbers_of[class][i].value);
	x.pool = bench_new(&mem, (size_t)rows->n[class], sizeof(*x.pool));
	for (int g = 0; g < BERTH_N_GENERATIONS; g++)
		x.batch[g] = bench_new(&mem, BATCH, sizeof(*x.batch[g]));
	for (int32_t i = 0; i < rows->n[class]; i++) {
		const gpu_row *r = &rows->row[class][i];
		if (r->device != left_out && r->seconds < MOST_SECONDS && n_of[r->device]++ < most)
			x.pool[x.n_pool++] = r;
	}
	berth_rng rng = berth_rng_seed(1, 1);
	learn(&x, &rng);
}
