/* Times on CPUs: the larger of multiplying at a part of the peak, which short rows and few channels do not
 * fill, and moving at the rate of the caches or of the memory, behind what a call costs. */
#include "cpu_times.h"

#include <math.h>

/* Fitted to 1,400 operators of 12 models, timed alone. */
static const double call_s = 2.7e-6;  /* of an operator, by the engine */
static const double cache_rate = 0.5; /* bytes that caches move in the time of an operation of the peak */
static const double product_peak = 0.83, conv_peak = 0.93, depthwise_peak = 0.4;
static const double item_ops = 3.1, norm_ops = 5, softmax_ops = 37; /* for each of an operator's flops */

/* Assumed: a core alone does what takes it no longer; calling all costs so much each time they double. */
static const double alone_s = 1e-5, join_s = 1e-6;

/* How much of a vector loop of length x is not its beginning. */
static double filled(double x, double half)
{
	return x / (x + half);
}

/* Operations at the peak that q takes as long as. */
static double work_of(const berth_time_query *q, double *error)
{
	double taps = q->kernel_height * q->kernel_width;
	*error = 0.15;
	switch (q->class) {
	case BERTH_TIME_LINEAR:
	case BERTH_TIME_BMM:
	case BERTH_TIME_HALF:
		return q->flops / (product_peak * filled(q->m, 2) * filled(q->n, 2) * filled(q->k, 6));
	case BERTH_TIME_CONV:
		if (q->groups > 1 && q->groups >= q->in) {
			*error = 0.3;
			return q->flops / (depthwise_peak * filled(taps, 6));
		}
		return q->flops / (conv_peak * filled(q->images * q->height * q->width, 5) *
		                   filled(q->out / q->groups, 12) * filled(q->in / q->groups * taps, 7));
	case BERTH_TIME_ELEMENTWISE:
	case BERTH_TIME_NORM:
	case BERTH_TIME_SOFTMAX:
	case BERTH_N_TIME_CLASSES:
		break;
	}
	*error = 0.4;
	return q->flops * (q->class == BERTH_TIME_SOFTMAX ? softmax_ops
	                   : q->class == BERTH_TIME_NORM  ? norm_ops
	                                                  : item_ops);
}

/* What fits half of the cache comes from there, the rest from memory. */
static double moving_s(double bytes, const berth_time_device *d)
{
	double near = fmin(bytes, d->cache_bytes / 2), byte_s = 1 / (cache_rate * d->peak_flops);
	return near * byte_s + (bytes - near) * fmax(byte_s, 1 / d->bandwidth);
}

berth_time_estimate berth_time_on_cpu(const berth_time_query *q, const berth_time_device *d)
{
	berth_time_estimate x;
	double all = work_of(q, &x.error) / d->peak_flops, one = all * d->units,
	       moved = moving_s(q->bytes, d);
	bool multiplies = q->class != BERTH_TIME_ELEMENTWISE && q->class != BERTH_TIME_NORM &&
	                  q->class != BERTH_TIME_SOFTMAX;
	double work = fmax(all, fmin(one, alone_s));
	x.seconds = fmax(d->overhead_s, call_s) + join_s * log2(d->units) +
	            (multiplies ? fmax(work, moved) : work + moved);
	return x;
}
