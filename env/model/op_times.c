/* Seconds of an operator on a device: measured ones before predicted ones, the model of times where the
 * device says what it asks for, else the roofline. */
#include "op_times.h"

#include "array.h"

#include <math.h>
#include <string.h>

/* Mean error of the roofline against public measurements of GPUs, over types (docs/times.md). */
#define ROOFLINE_ERROR 0.4

const char *berth_time_from_name(berth_time_from from)
{
	static const char *const name[BERTH_N_TIMES_FROM] = {"none", "measured", "calibrated", "model",
	                                                     "roofline"};
	return name[from];
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

berth_type_on_dev berth_type_look_up(const berth_system *s, int32_t dev, const char *type)
{
	return (berth_type_on_dev){.runs = berth_system_runs(s, dev, type),
	                           .efficiency = berth_by_type_get(&s->efficiency, dev, type),
	                           .scale = berth_by_type_get(&s->scale, dev, type)};
}

/* The larger of computing and moving, each at its rate. */
static double roofline_s(const berth_graph *g, const berth_system *s, int32_t op, int32_t dev,
                         const berth_type_on_dev *type)
{
	berth_precision used;
	double peak = berth_system_peak(s, dev, (berth_precision)g->op_dtype[op], &used);
	double bandwidth = s->dev_mem_bandwidth[dev];
	double compute = peak > 0 ? g->op_flops[op] / (peak * type->efficiency) : 0;
	double bytes = (double)g->op_read_bytes[op] + (double)g->op_write_bytes[op];
	return fmax(compute, bandwidth > 0 ? bytes / bandwidth : 0);
}

berth_op_prediction berth_op_predict(const berth_graph *g, const berth_system *s, int32_t op, int32_t dev,
                                     const berth_type_on_dev *type)
{
	berth_op_prediction x = {.seconds = NAN};
	if (berth_op_measured(g, s, op, dev, &x.seconds)) {
		x.from = isnan(x.seconds) ? BERTH_TIME_NONE : BERTH_TIME_MEASURED;
		return x;
	}
	if (!type->runs || (!(s->dev_peak_flops[dev] > 0) && !(s->dev_mem_bandwidth[dev] > 0)))
		return x;
	x.seconds = s->dev_op_overhead_s[dev] + roofline_s(g, s, op, dev, type) * type->scale;
	x.error = ROOFLINE_ERROR;
	x.from = type->scale == 1 ? BERTH_TIME_ROOFLINE : BERTH_TIME_CALIBRATED;
	return x;
}
