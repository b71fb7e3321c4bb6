/* The time model of GPUs: tiles of products in waves, the power limit, the cache, and what calls cost. Every
 * step is a sum, product, quotient, root, ceiling or the larger or smaller of two, each of which IEEE rounds
 * so that it keeps order; so more work is never quicker, to the last bit. */
#include "gpu_times.h"

#include "gpu_times_numbers.h"

#include <math.h>

static double larger(double a, double b)
{
	return a > b ? a : b;
}

static double smaller(double a, double b)
{
	return a < b ? a : b;
}

/* Two things at once, of which part of the shorter is not hidden. Keeps order where part is in 0 to 1. */
static double joined(double a, double b, double part)
{
	return larger(a, b) + part * smaller(a, b);
}

/* About the smallest of what was added: (sum of s^-8)^(-1/8), in units that fit. */
static double inverse(double s)
{
	double v = s * 1e6;
	v *= v;
	v *= v;
	v *= v;
	return 1 / v;
}

static double of_inverses(double sum)
{
	return 1e-6 / sqrt(sqrt(sqrt(sum)));
}

/* x / (x + at), in a form that keeps order when it is rounded. */
static double saturation(double x, double at)
{
	return 1 - at / (x + at);
}

/* Energy a flop follows the process by what it is in fact: 16 and 12 nm are one, so are 7 and 6, 5 and 4. */
static double energy_nm(double nm)
{
	return nm >= 12 ? 13 : nm > 5 ? larger(nm, 7) : nm > 0 ? 4 : 7;
}

int berth_time_generation(const berth_time_device *d)
{
	return d->process_nm >= 14 ? 0 : d->process_nm > 8 ? 1 : 2;
}

/* Seconds a flop for work of so many. full: at the peak that is reached, as where a part of the units runs;
 * lasting: what the power limit lets all of them have. */
typedef struct flop_times {
	double full, lasting;
} flop_times;

static flop_times flop_seconds(const double *p, const berth_time_query *q, const berth_time_device *d)
{
	double full = 1 / (p[BERTH_GPU_PEAK] * d->peak_flops);
	if (!(d->watts > 0))
		return (flop_times){full, full};
	/* a small board idles at half of its power at most */
	double watts = larger(d->watts - p[BERTH_GPU_IDLE_WATTS], d->watts / 2);
	double joules =
		p[q->alone ? BERTH_GPU_JOULES : BERTH_GPU_JOULES_LONG] * 1e-12 * energy_nm(d->process_nm);
	double lasting = larger(full, joules / watts);
	if (q->alone)
		lasting = full + (lasting - full) * saturation(q->flops * lasting, p[BERTH_GPU_HEAT_S]);
	return (flop_times){full, lasting};
}

/* ---- products ---- */

enum { N_TILES = 8, N_LARGE = 3 };
static const double tile_m[N_TILES] = {128, 128, 64, 64, 128, 32, 32, 2};
static const double tile_n[N_TILES] = {128, 64, 128, 64, 32, 128, 32, 64};

/* Waves of so many tiles a unit: whole ones, unless there are many. */
static double waves(double tiles)
{
	return tiles < 1 ? 1 : tiles < 12 ? ceil(tiles) : tiles;
}

/* What fetching the operands of all tiles takes, as far as tiles that run at once do not share them. */
static double fetching(const double *p, const berth_time_query *q, const berth_time_device *d, double m,
                       double tile_m_, double tile_n_)
{
	double at_once = d->units * (d->lanes / 64) * p[BERTH_GPU_RESIDENT] * 16384 / (tile_m_ * tile_n_);
	double columns = smaller(q->n, at_once * tile_n_);
	double rows = larger(at_once * tile_m_ * tile_n_ / columns, tile_m_);
	double numbers =
		q->k * (m * (larger(1, q->n / (at_once * tile_n_)) - 1) + q->n * (larger(1, m / rows) - 1));
	return q->item_bytes * numbers / (p[BERTH_GPU_FETCH] * d->bandwidth);
}

/* Seconds of b products of m x k by k x n but for their memory. weights: both factors lie by k, so that a
 * tile fetches from as many places as it has rows. */
static double tiles_seconds(const double *p, const berth_time_query *q, const berth_time_device *d, double b,
                            double m, double n, double k, flop_times flop_s, bool weights)
{
	double sum = 0;
	for (int i = 0; i < N_TILES; i++) {
		double tiles = ceil(m / tile_m[i]) * ceil(n / tile_n[i]) * b;
		double of_k = 2 * tile_m[i] * tile_n[i] / p[BERTH_GPU_AT_128_128 + i];
		double fetch = weights ? fetching(p, q, d, m, tile_m[i], tile_n[i]) : 0;
		for (double parts = 1; parts <= (i < N_LARGE ? 1 : 27); parts *= 3) {
			double depth =
				k + p[BERTH_GPU_BEGIN_K] + (parts > 1 ? p[BERTH_GPU_SPLIT_K] * parts : 0);
			double wave_s = waves(tiles * parts / d->units) / parts * d->units * flop_s.full;
			double compute = larger(wave_s, tiles * flop_s.lasting) * (depth * of_k);
			sum += inverse(joined(compute, fetch, p[BERTH_GPU_FETCH_JOIN]));
		}
	}
	return of_inverses(sum);
}

static double bytes_seconds(const double *p, const berth_time_device *d, double bytes, double part)
{
	double cache =
		d->cache_bytes > 0 ? p[BERTH_GPU_CACHE] * (d->cache_bytes / (d->cache_bytes + bytes)) : 0;
	return bytes / (part * d->bandwidth * (1 + cache));
}

static double product_seconds(const double *p, const berth_time_query *q, const berth_time_device *d)
{
	bool weights = q->class != BERTH_TIME_BMM;
	double b = weights ? 1 : q->b, m = weights ? q->b * q->m : q->m;
	double s = tiles_seconds(p, q, d, b, m, q->n, q->k, flop_seconds(p, q, d), weights);
	if (weights) {
		double far = q->k / (p[BERTH_GPU_LONG_ROWS_AT] * d->bandwidth * 1e-9);
		s *= 1 + p[BERTH_GPU_LONG_ROWS] * saturation(far * far, 1);
	}
	return joined(s, bytes_seconds(p, d, q->bytes, p[BERTH_GPU_MEMORY]), p[BERTH_GPU_MEMORY_JOIN]);
}

/* ---- convolutions ---- */

static bool by_winograd(const berth_time_query *q)
{
	return larger(q->kernel_height, q->kernel_width) <= 3 && q->stride <= 1 && q->dilation <= 1 &&
	       q->groups <= 1;
}

/* By blocks of 2 x 2 points in one kernel. */
static double winograd_2_seconds(const double *p, const berth_time_query *q, const berth_time_device *d,
                                 flop_times flop_s)
{
	double blocks = q->images * ceil(q->height / 2) * ceil(q->width / 2);
	double s = tiles_seconds(p, q, d, 1, 16 * blocks, q->out, q->in, flop_s, false);
	return joined(s / p[BERTH_GPU_WINOGRAD_2], bytes_seconds(p, d, q->bytes, p[BERTH_GPU_MEMORY]),
	              p[BERTH_GPU_MEMORY_JOIN]);
}

/* By blocks of 4 x 4 points, of each 36 products for a number; the transforms go through memory. */
static double winograd_4_seconds(const double *p, const berth_time_query *q, const berth_time_device *d,
                                 flop_times flop_s)
{
	double blocks = q->images * ceil(q->height / 4) * ceil(q->width / 4);
	double s = tiles_seconds(p, q, d, 36, blocks, q->out, q->in, flop_s, false);
	double weights = q->item_bytes * 36 * q->in * q->out;
	double moved = q->item_bytes * 36 * blocks * (q->in + q->out);
	s = joined(s / p[BERTH_GPU_WINOGRAD_4], bytes_seconds(p, d, weights, p[BERTH_GPU_MEMORY]),
	           p[BERTH_GPU_MEMORY_JOIN]);
	return s + bytes_seconds(p, d, 2 * moved + weights + q->bytes, p[BERTH_GPU_TRANSFORM]);
}

static double conv_seconds(const double *p, const berth_time_query *q, const berth_time_device *d)
{
	/* a channel of its own for each group is moved, hardly computed: by its own kernels, never timed here
	 */
	double direct = q->groups > 1 ? q->flops / (0.1 * d->peak_flops) : 0;
	const flop_times flop_s = flop_seconds(p, q, d);
	double move = bytes_seconds(p, d, q->bytes, p[BERTH_GPU_MEMORY]);
	double s = tiles_seconds(p, q, d, q->groups, q->images * q->height * q->width, q->out / q->groups,
	                         q->in / q->groups * q->kernel_height * q->kernel_width, flop_s, false);
	double sum = inverse(joined(s / p[BERTH_GPU_AS_PRODUCT], move, p[BERTH_GPU_MEMORY_JOIN]));
	if (q->groups > 1)
		sum += inverse(joined(direct, move, p[BERTH_GPU_MEMORY_JOIN]));
	if (by_winograd(q))
		sum += inverse(winograd_2_seconds(p, q, d, flop_s)) +
		       inverse(winograd_4_seconds(p, q, d, flop_s));
	return of_inverses(sum);
}

/* ---- memory ---- */

/* Rows are under way in the measure of the bandwidth, so that their bytes come in time. */
#define PASSES_S 1e-8

static double rows_seconds(const double *p, const berth_time_query *q, const berth_time_device *d)
{
	double s = bytes_seconds(p, d, q->bytes, p[BERTH_GPU_MEMORY]), units = d->units * (d->lanes / 64);
	if (d->cache_bytes > 0)
		s *= 1 + p[BERTH_GPU_PASSES] * saturation(p[BERTH_GPU_PASSES_AT] * PASSES_S * d->bandwidth *
		                                                  q->width / d->cache_bytes,
		                                          1);
	double items = p[BERTH_GPU_ITEM_OPS] * 8 * q->rows * q->width / d->peak_flops;
	return joined(s, items, 0.5) + p[BERTH_GPU_ROW_S] * q->rows / units;
}

double berth_time_formula(const double *number, const berth_time_query *q, const berth_time_device *d)
{
	double s, least_flops = q->flops;
	switch (q->class) {
	case BERTH_TIME_CONV:
		s = conv_seconds(number, q, d);
		least_flops = by_winograd(q) ? q->flops / 4 : q->flops;
		break;
	case BERTH_TIME_NORM:
	case BERTH_TIME_SOFTMAX:
		s = rows_seconds(number, q, d);
		break;
	case BERTH_TIME_ELEMENTWISE:
		s = bytes_seconds(number, d, q->bytes, number[BERTH_GPU_MEMORY]);
		break;
	default:
		s = product_seconds(number, q, d);
	}
	s = larger(s, least_flops / d->peak_flops);
	s = larger(s, (q->bytes - d->cache_bytes) / d->bandwidth);
	return joined(number[BERTH_GPU_HOST] * d->overhead_s, s + number[BERTH_GPU_CALL_S], 0.1) +
	       (q->alone ? number[BERTH_GPU_ALONE_S] : 0);
}

/* Octaves by which x is outside of least to most. */
static double octaves(double x, double least, double most)
{
	return x > most ? log2(x / most) : x > 0 && x < least ? log2(least / x) : 0;
}

/* What was off on GPUs that had been left out of fitting, and an eighth more for each octave that operator or
 * GPU are away from those. */
static double expected_error(const berth_time_query *q, const berth_time_device *d)
{
	static const struct {
		double error, most_flops, most_bytes;
	} seen[BERTH_N_TIME_CLASSES] = {
		[BERTH_TIME_LINEAR] = {0.17, 7e13, 2e10}, [BERTH_TIME_BMM] = {0.19, 2e12, 1e10},
		[BERTH_TIME_CONV] = {0.26, 1e12, 1e10},   [BERTH_TIME_ELEMENTWISE] = {0.12, 1e9, 8e8},
		[BERTH_TIME_NORM] = {0.16, 1e9, 6e8},     [BERTH_TIME_SOFTMAX] = {0.16, 1e9, 6e8},
		[BERTH_TIME_HALF] = {0.12, 1e14, 1e10},
	};
	double error = seen[q->class].error;
	if (q->class == BERTH_TIME_CONV &&
	    (q->kernel_height * q->kernel_width != 9 || q->stride > 1 || q->dilation > 1 || q->groups > 1))
		error = q->groups > 1 ? 0.6 : 0.4; /* never timed */
	double far = octaves(q->flops, 0, seen[q->class].most_flops) +
	             octaves(q->bytes, 0, seen[q->class].most_bytes) + octaves(d->units, 20, 132) +
	             octaves(d->bandwidth, 192e9, 2039e9) + octaves(d->watts, 70, 400);
	return error * (1 + far / 8);
}

berth_time_estimate berth_time_on_gpu(const berth_time_query *q, const berth_time_device *d)
{
	const double *number = fitted[q->class][berth_time_generation(d)];
	return (berth_time_estimate){berth_time_formula(number, q, d), expected_error(q, d)};
}
