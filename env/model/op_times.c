/* Seconds of an operator on a device: measured ones before predicted ones, the model of times where the
 * device says what it asks for, else the roofline. The model of CPUs stands here, too: the larger of
 * multiplying at a part of the peak, which short rows and few channels do not fill, and moving at the rate of
 * the caches or of the memory, behind what a call costs. */
#include "op_times.h"

#include "engine_rules.h"

#include <strings.h>

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

/* Mean error of the roofline against public measurements of GPUs, over types (docs/times.md). */
#define ROOFLINE_ERROR 0.4

/* What a host takes to call one operator that stands by itself, where nothing runs meanwhile: the usual one
 * of those measurements, in which PyTorch calls. Kernels in half precision were timed in a queue. */
#define HOST_S 27e-6

/* Part of the peak that products reach whose shape is not told: attention in one kernel, recurrent cells. */
#define UNSHAPED_EFFICIENCY 0.5

/* What of the error a timed model leaves: of a roofline's, most of which a device's times have in common; of
 * the model's (docs/times.md). */
static const double calibrated_roofline = 0.5, calibrated_model = 0.8;

/* What PyTorch adds on a CPU is known by single operators of one version of it. */
#define EAGER_ERROR 0.4

/* What of a peak the libraries for GPUs of AMD reach, where those of NVIDIA, of which the model is made,
 * reach all: by the largest products that AMD measured itself (docs/times.md). */
#define AMD_REACHES 0.75

/* What of a CPU's peak whole numbers of a byte reach, four of which take the room of one of four bytes:
 * dot products of them in one instruction. By llama.cpp with weights of q8_0 and q4_0 (docs/measured.md). */
#define WHOLE_GAIN 4.0
#define HALVES_GAIN 2.0 /* of a half byte: taking two out of one costs as much as multiplying them */

/* Convolutions in half precision go by the numbers of products; nobody timed them. */
#define HALF_CONV_ERROR 0.4

const char *berth_time_from_name(berth_time_from from)
{
	static const char *const name[BERTH_N_TIMES_FROM] = {"none", "measured", "calibrated", "model",
	                                                     "roofline"};
	return name[from];
}

const char *berth_op_asks_peak(const berth_graph *g, int32_t op, char text[64])
{
	text[0] = '\0';
	if (g->op_dtype[op])
		snprintf(text, 64, ", or a device a peak_flops in %s",
		         berth_precision_name((berth_precision)g->op_dtype[op]));
	return text;
}

static bool same(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

bool berth_op_measured(const berth_graph *g, const berth_system *s, int32_t op, int32_t dev, double *seconds)
{
	int found = 0; /* 1: by "*", 2: by kind */
	BERTH_EACH (i, g->op_time_off, op) {
		if (same(berth_graph_time_name(g, i), s->dev_name[dev])) {
			*seconds = g->time_s[i];
			return true;
		}
		if (same(berth_graph_time_name(g, i), s->dev_kind[dev])) {
			*seconds = g->time_s[i];
			found = 2;
		}
		if (found < 2 && same(berth_graph_time_name(g, i), "*")) {
			*seconds = g->time_s[i];
			found = 1;
		}
	}
	return found > 0;
}

static bool holds(const char *type, const char *word)
{
	for (size_t n = strlen(word); *type; type++)
		if (strncasecmp(type, word, n) == 0)
			return true;
	return false;
}

/* Types that read a row before they write it, however a source writes them; all others are element-wise, and
 * so is the norm of a batch, whose figures are known before. */
static berth_time_class rows_of(const char *type)
{
	if (!type)
		return BERTH_TIME_ELEMENTWISE;
	if (holds(type, "softmax") || holds(type, "hardmax"))
		return BERTH_TIME_SOFTMAX;
	return holds(type, "norm") && !holds(type, "batch") ? BERTH_TIME_NORM : BERTH_TIME_ELEMENTWISE;
}

berth_type_on_dev berth_type_look_up(const berth_system *s, int32_t dev, const char *type)
{
	return (berth_type_on_dev){.runs = berth_system_runs(s, dev, type),
	                           .efficiency = berth_by_type_get(&s->efficiency, dev, type),
	                           .scale = berth_by_type_get(&s->scale, dev, type),
	                           .rows = rows_of(type),
	                           .largest = type && holds(type, "maxpool")};
}

/* The larger of computing and moving, each at its rate. */
static double roofline_s(const berth_graph *g, const berth_system *s, int32_t op, int32_t dev,
                         const berth_type_on_dev *type, double peak)
{
	double bandwidth = s->dev_mem_bandwidth[dev];
	double compute = peak > 0 ? g->op_flops[op] / (peak * type->efficiency) : 0;
	double bytes = (double)g->op_read_bytes[op] + (double)g->op_write_bytes[op];
	return fmax(compute, bandwidth > 0 ? bytes / bandwidth : 0);
}

/* ---- by the model of times ---- */

/* Are the figures there that the model asks for? */
static bool has_model(const berth_system *s, int32_t dev)
{
	bool gpu = s->dev_class[dev] == BERTH_CLASS_GPU && s->dev_lanes[dev] > 0;
	return !s->roofline && (gpu || s->dev_class[dev] == BERTH_CLASS_CPU) && s->dev_units[dev] > 0 &&
	       s->dev_mem_bandwidth[dev] > 0;
}

static bool alone(const berth_graph *g, int32_t op)
{
	return g->op_in_off[op] == g->op_in_off[op + 1] && g->op_tensor_off[op] == g->op_tensor_off[op + 1];
}

/* used: the precision that the device computes in. */
static berth_time_query query_of(const berth_graph *g, int32_t op, berth_time_class rows,
                                 berth_precision used)
{
	berth_precision p = g->op_dtype[op] ? (berth_precision)g->op_dtype[op] : BERTH_F32;
	const berth_dims *d = berth_graph_dims(g, op);
	const int64_t *at = d->at;
	berth_time_query q = {.class = rows,
	                      .flops = g->op_flops[op],
	                      .bytes = (double)g->op_read_bytes[op] + (double)g->op_write_bytes[op],
	                      .item_bytes = berth_precision_bits(p) / 8.0,
	                      .alone = alone(g, op)};
	bool half = used != BERTH_F32 && used != BERTH_F64; /* on matrix units */
	if (d->kind == BERTH_DIMS_PRODUCT) {
		q.class = half ? BERTH_TIME_HALF : at[0] > 1 ? BERTH_TIME_BMM : BERTH_TIME_LINEAR;
		q.b = (double)at[0];
		q.m = (double)at[1];
		q.n = (double)at[2];
		q.k = (double)at[3];
	} else if (d->kind == BERTH_DIMS_CONV && half && at[6] == 1) { /* as these do it: one product */
		q.class = BERTH_TIME_HALF;
		q.b = 1;
		q.m = (double)at[0] * (double)at[3];
		q.n = (double)at[2];
		q.k = (double)at[1] * (double)at[4];
	} else if (d->kind == BERTH_DIMS_CONV) {
		q.class = BERTH_TIME_CONV;
		q.images = (double)at[0];
		q.in = (double)at[1];
		q.out = (double)at[2];
		q.height = q.width = sqrt((double)at[3]);
		q.kernel_height = q.kernel_width = sqrt((double)at[4]);
		q.stride = (double)at[5];
		q.groups = (double)at[6];
		q.dilation = (double)at[7];
	} else if (d->kind == BERTH_DIMS_ROWS) {
		q.rows = (double)at[0];
		q.width = (double)at[1];
	} else {
		q.class = BERTH_TIME_ELEMENTWISE;
	}
	return q;
}

/* Parameters that op reads. Those of a model that the caches do not hold come from memory in each run. */
static double far_bytes(const berth_graph *g, int32_t op)
{
	return fmin((double)berth_graph_op_weights(g, op), (double)g->op_read_bytes[op]);
}

static double least_seconds(const berth_graph *g, const berth_time_device *d, int32_t op, bool by_itself)
{
	double bytes = !by_itself && (double)g->all_param_bytes > d->cache_bytes ? far_bytes(g, op) : 0;
	return d->overhead_s + bytes / d->bandwidth;
}

/* What an engine adds on a CPU that calls operators one by one on tensors by channel: a call; weights and
 * maps of a convolution laid anew for its library; the largest of a window, one number at a time; memory of
 * large results, asked of the system by page, at the rate fresh (0: not known). By single operators of
 * PyTorch 1.13 on one core of a Zen 4. */
static double eager_s(const berth_graph *g, int32_t op, const berth_type_on_dev *type,
                      const berth_time_query *q, const berth_time_device *d, double fresh)
{
	double write = (double)g->op_write_bytes[op], weights = far_bytes(g, op), bytes = 0, s = 7e-6;
	if (q->class == BERTH_TIME_CONV)
		bytes = 3.3 * weights + 1.4 * (q->bytes - weights);
	if (type->largest)
		s += 21e-9 * write / q->item_bytes / d->units;
	if (write > 131072)
		s += write / (fresh > 0 ? fresh : d->bandwidth / 1.4);
	return s + bytes / d->bandwidth;
}

static berth_time_estimate by_model(const berth_graph *g, const berth_system *s, int32_t op, int32_t dev,
                                    const berth_type_on_dev *type, double peak, berth_precision used)
{
	berth_time_query q = query_of(g, op, type->rows, used);
	const bool cpu = s->dev_class[dev] == BERTH_CLASS_CPU;
	q.alone = q.alone && !type->joined;
	const bool amd = !cpu && s->dev_like[dev] && strncmp(s->dev_like[dev], "amd-", 4) == 0;
	const double host_s = !cpu && q.alone && q.item_bytes >= 4 ? HOST_S : 0;
	if (cpu && s->engine && s->engine->by_rows)
		q.m = fmax(q.m, 1e9); /* few rows fill its loops as many do */
	const berth_time_device d = {.peak_flops = amd ? AMD_REACHES * peak : peak,
	                             .bandwidth = s->dev_mem_bandwidth[dev],
	                             .units = s->dev_units[dev],
	                             .lanes = s->dev_lanes[dev],
	                             .cache_bytes = s->dev_cache_bytes[dev],
	                             .watts = s->dev_power_w[dev],
	                             .process_nm = s->dev_process_nm[dev],
	                             .overhead_s = fmax(s->dev_op_overhead_s[dev], host_s)};
	berth_time_estimate x = cpu ? berth_time_on_cpu(&q, &d) : berth_time_on_gpu(&q, &d);
	x.seconds = fmax(x.seconds, least_seconds(g, &d, op, q.alone));
	if (cpu && s->engine && s->engine->eager) {
		x.seconds += eager_s(g, op, type, &q, &d, s->dev_fresh_bandwidth[dev]);
		x.error = fmax(x.error, EAGER_ERROR);
	}
	if (q.class == BERTH_TIME_ELEMENTWISE && g->op_macs[op] > 0)
		x.seconds = fmax(x.seconds, d.overhead_s + q.flops / (UNSHAPED_EFFICIENCY * peak));
	if (q.class == BERTH_TIME_HALF && berth_graph_dims(g, op)->kind == BERTH_DIMS_CONV)
		x.error = fmax(x.error, HALF_CONV_ERROR);
	x.seconds *= type->scale;
	return x;
}

/* ---- all of them ---- */

/* FLOP/s of op there, in the precision *used. An engine that multiplies whole numbers by rows makes more of
 * the peaks of others, not of one that is the operator's own. */
static double peak_of(const berth_graph *g, const berth_system *s, int32_t op, int32_t dev,
                      berth_precision *used)
{
	const berth_precision p = (berth_precision)g->op_dtype[op];
	const double peak = berth_system_peak(s, dev, p, used), half = *used == BERTH_F32 ? 0 : peak;
	bool whole = p == BERTH_W8A16 || p == BERTH_W4A16 || p == BERTH_INT8 || p == BERTH_INT4,
	     by_rows = s->dev_class[dev] == BERTH_CLASS_CPU && s->engine && s->engine->by_rows;
	const double gain = p == BERTH_W4A16 || p == BERTH_INT4 ? HALVES_GAIN : WHOLE_GAIN;
	return !by_rows || !whole || *used == p ? peak
	                                        : fmax(gain * s->dev_peak_flops[dev], gain / 2 * half);
}

/* Does the device have some peak, but none for that precision? */
static bool lacks(const berth_system *s, int32_t dev, double peak)
{
	for (int p = 0; p < BERTH_N_PRECISIONS; p++)
		if (!(peak > 0) && s->dev_peaks[dev * BERTH_N_PRECISIONS + p] > 0)
			return true;
	return false;
}

berth_op_prediction berth_op_predict(const berth_graph *g, const berth_system *s, int32_t op, int32_t dev,
                                     const berth_type_on_dev *type)
{
	berth_op_prediction x = {.seconds = NAN};
	berth_precision used;
	if (berth_op_measured(g, s, op, dev, &x.seconds)) {
		x.from = isnan(x.seconds) ? BERTH_TIME_NONE : BERTH_TIME_MEASURED;
		return x;
	}
	double peak = peak_of(g, s, op, dev, &used);
	if (!type->runs || lacks(s, dev, peak) || (!(peak > 0) && !(s->dev_mem_bandwidth[dev] > 0)))
		return x;
	x.from = BERTH_TIME_ROOFLINE;
	if (has_model(s, dev) && peak > 0) {
		berth_time_estimate y = by_model(g, s, op, dev, type, peak, used);
		x = (berth_op_prediction){y.seconds, y.error, BERTH_TIME_MODEL};
	} else {
		x.seconds = s->dev_op_overhead_s[dev] + roofline_s(g, s, op, dev, type, peak) * type->scale;
		x.error = ROOFLINE_ERROR;
	}
	if (type->scale != 1) {
		x.error *= x.from == BERTH_TIME_MODEL ? calibrated_model : calibrated_roofline;
		x.from = BERTH_TIME_CALIBRATED;
	}
	return x;
}

bool berth_op_alike(const berth_graph *g, int32_t a, int32_t b)
{
	const int32_t *timed = g->op_time_off;
	return timed[a] == timed[a + 1] && timed[b] == timed[b + 1] &&
	       g->op_type[a] == g->op_type[b] && g->op_shape[a] == g->op_shape[b] &&
	       g->op_dtype[a] == g->op_dtype[b] && g->op_flops[a] == g->op_flops[b] &&
	       g->op_read_bytes[a] == g->op_read_bytes[b] && g->op_write_bytes[a] == g->op_write_bytes[b] &&
	       (g->op_macs[a] > 0) == (g->op_macs[b] > 0) && far_bytes(g, a) == far_bytes(g, b) &&
	       alone(g, a) == alone(g, b);
}

/* Errors of predicted times, from operators to placements. */
/* Seconds on each device of one placement, and the part of them that predictions are off by. */
typedef struct device_sums {
	double seconds[BERTH_MAX_DEVS], off[BERTH_MAX_DEVS], all;
} device_sums;

static berth_op_prediction predict(const berth_problem *p, int32_t op, int32_t dev)
{
	const berth_graph *g = p->g;
	berth_type_on_dev type =
		berth_type_look_up(p->s, dev, g->op_type[op] < 0 ? NULL : g->type_name[g->op_type[op]]);
	return berth_op_predict(g, p->s, op, dev, &type);
}

static void add_up(const berth_problem *p, const int32_t *op_dev, device_sums *x)
{
	*x = (device_sums){.all = 0};
	for (int32_t op = 0; op < p->n_ops; op++) {
		int32_t d = op_dev[op];
		if (d < 0)
			continue;
		berth_op_prediction y = predict(p, op, d);
		if (isnan(y.seconds))
			continue;
		x->seconds[d] += y.seconds;
		x->off[d] += y.seconds * y.error;
		x->all += y.seconds;
	}
}

double berth_ratio_error(const berth_problem *p, const int32_t *a, const int32_t *b)
{
	device_sums x, y;
	double sum = 0;
	add_up(p, a, &x);
	add_up(p, b, &y);
	for (int32_t d = 0; d < p->n_devs && x.all > 0 && y.all > 0; d++) {
		double seconds = x.seconds[d] + y.seconds[d];
		double share = x.seconds[d] / x.all - y.seconds[d] / y.all;
		double off = seconds > 0 ? share * (x.off[d] + y.off[d]) / seconds : 0;
		sum += off * off;
	}
	return sqrt(sum);
}

const char *berth_times_from(const berth_problem *p, const int32_t *op_dev, int32_t dev)
{
	/* a bit each: measured, calibrated, model, roofline */
	static const char *const text[16] = {NULL,
	                                     "measured",
	                                     "calibrated",
	                                     "measured, calibrated",
	                                     "model",
	                                     "measured, model",
	                                     "calibrated, model",
	                                     "measured, calibrated, model",
	                                     "roofline",
	                                     "measured, roofline",
	                                     "calibrated, roofline",
	                                     "measured, calibrated, roofline",
	                                     "model, roofline",
	                                     "measured, model, roofline",
	                                     "calibrated, model, roofline",
	                                     "measured, calibrated, model, roofline"};
	unsigned seen = 0;
	for (int32_t op = 0; op < p->n_ops; op++)
		if (op_dev[op] == dev)
			seen |= 1u << predict(p, op, dev).from;
	return text[seen >> BERTH_TIME_MEASURED];
}
