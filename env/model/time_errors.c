/* Errors of predicted times, from operators to placements. */
#include "time_errors.h"

#include "op_times.h"

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
