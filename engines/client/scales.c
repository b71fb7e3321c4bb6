/* Scales of a device's predicted times: a few Gauss-Newton steps on the logarithms of times, each a ridge
 * regression whose coefficients are the shares that types have of a predicted time. */
#include "scales.h"

#include "fused_times.h"
#include "op_times.h"
#include "statistics.h"

/* Deviations of logarithms: of whole models timed once, of single operators from what their type is off by,
 * of a type from its device, of operators by themselves from the same ones in a model. */
static const double model_noise = 0.05, op_noise = 0.5, type_deviation = 0.2, alone_deviation = 0.3,
		    any_deviation = 10;
/* What a whole model is off by itself, and what a device is, as a part of what is told of operators by the
 * model of times. With any model of a GPU of docs/times.md timed, and the others predicted, half is about
 * right. On CPUs, where models differ by more than machines do, a device is off by half of that: by 12 models
 * of ONNX Runtime and 8 of PyTorch on a CPU that nothing was fitted to. */
#define OWN_SHARE 0.5

enum { ROUNDS = 8, STEPS = 200 };

typedef struct fit {
	berth_system *s;
	int32_t dev, n, n_types; /* timings; types that they have */
	const berth_timing *timing;
	berth_strmap types;
	const char **type;   /* [n_types] */
	double *part;        /* [n * (n_types + 2)] predicted seconds of the types, of others, overhead */
	bool mixed;          /* models were timed, and operators by themselves */
	double *beta;        /* [n_types + 3] the device; types; overhead; operators by themselves */
	bool rooflines;      /* had a part in what is predicted without scales: */
	double seconds, off; /* all of it, and what may be off */
	double own, device, of_type; /* deviations: of a whole model by itself, of the device, of a type */
	berth_arena *tmp;
} fit;

/* ---- what a timing consists of ---- */

static berth_status add_types(fit *f, const berth_graph *g, berth_err *err)
{
	for (int32_t t = 0; t < g->n_types; t++)
		BERTH_TRY(berth_strmap_add(&f->types, g->type_name[t], (int32_t)f->types.len, NULL, err));
	return BERTH_OK;
}

static berth_status list_types(fit *f, berth_err *err)
{
	berth_strmap_init(&f->types, f->tmp);
	for (int32_t i = 0; i < f->n; i++)
		if (i == 0 || f->timing[i].g != f->timing[i - 1].g)
			BERTH_TRY(add_types(f, f->timing[i].g, err));
	f->n_types = (int32_t)f->types.len;
	BERTH_TRY_NEW(f->tmp, f->n_types + 3, err, f->type, f->beta);
	BERTH_TRY_NEW(f->tmp, (size_t)f->n * (size_t)(f->n_types + 2), err, f->part);
	for (int32_t i = 0; i < f->n; i++)
		for (int32_t t = 0; t < f->timing[i].g->n_types; t++)
			f->type[berth_strmap_get(&f->types, f->timing[i].g->type_name[t])] =
				f->timing[i].g->type_name[t];
	return BERTH_OK;
}

/* What a scale multiplies, and what not, is asked by doubling one of 1. joined: op is a kernel of several. */
static berth_status add_op(fit *f, const berth_graph *g, int32_t op, bool joined, double *part,
                           berth_err *err)
{
	const char *type = g->op_type[op] < 0 ? NULL : g->type_name[g->op_type[op]];
	berth_type_on_dev on = berth_type_look_up(f->s, f->dev, type), twice;
	double scale = on.scale;
	on.joined = joined;
	twice = on;
	on.scale = 1;
	twice.scale = 2;
	berth_op_prediction x = berth_op_predict(g, f->s, op, f->dev, &on);
	double once = berth_op_predict(g, f->s, op, f->dev, &twice).seconds - x.seconds;
	if (isnan(x.seconds))
		return berth_fail(
			err, BERTH_EINVAL,
			"device '%.60s' cannot run '%.60s' of %.60s, or nothing is known of its speed",
			f->s->dev_name[f->dev], g->op_name[op], g->name);
	f->rooflines = f->rooflines || x.from == BERTH_TIME_ROOFLINE;
	f->seconds += x.seconds;
	f->off += x.seconds * x.error;
	part[type ? berth_strmap_get(&f->types, type) : f->n_types] += scale * once;
	part[f->n_types + 1] += x.seconds - once;
	return BERTH_OK;
}

/* All of g, with what the engine fuses as it does. */
static berth_status add_all(fit *f, const berth_graph *g, double *part, berth_err *err)
{
	BERTH_ARENA(own);
	berth_fused x = {.g = g};
	double *kernel_s = NULL;
	if (berth_fused_there(f->s, f->dev)) {
		BERTH_TRY(berth_fused_find(g, &own, f->tmp, &x, err));
		BERTH_TRY_NEW(&own, x.fused.n_ops, err, kernel_s);
		BERTH_TRY(berth_fused_seconds(&x, f->s, f->dev, kernel_s, f->tmp, err));
	}
	for (int32_t k = 0; kernel_s && k < x.fused.n_ops; k++)
		if (!isnan(kernel_s[k]))
			BERTH_TRY(add_op(f, &x.fused, k, true, part, err));
	for (int32_t op = 0; op < g->n_ops; op++)
		if (!kernel_s || isnan(kernel_s[x.op_new[op]]))
			BERTH_TRY(add_op(f, g, op, false, part, err));
	return BERTH_OK;
}

static berth_status take_apart(fit *f, const berth_timing *t, double *part, berth_err *err)
{
	double all = 0;
	BERTH_TRY(t->op < 0 ? add_all(f, t->g, part, err) : add_op(f, t->g, t->op, false, part, err));
	for (int32_t k = 0; k < f->n_types + 2; k++)
		all += part[k];
	return all > 0 ? BERTH_OK
	               : berth_fail(err, BERTH_EINVAL, "%.60s takes no time on device '%.60s'", t->g->name,
	                            f->s->dev_name[f->dev]);
}

/* ---- fitting ---- */

static double *part_of(const fit *f, int32_t i)
{
	return f->part + (size_t)i * (size_t)(f->n_types + 2);
}

/* The logarithm of what part k is multiplied by. */
static double log_scale(const fit *f, int32_t k)
{
	return f->beta[0] + (k == f->n_types ? 0 : k > f->n_types ? f->beta[k] : f->beta[k + 1]);
}

static double predicted(const fit *f, int32_t i)
{
	double sum = 0;
	for (int32_t k = 0; k < f->n_types + 2; k++)
		sum += part_of(f, i)[k] * exp(log_scale(f, k));
	return f->timing[i].op < 0 ? sum : sum * exp(f->beta[f->n_types + 2]);
}

static berth_status put_row(const fit *f, int32_t i, double mean, berth_ridge *r, berth_err *err)
{
	int32_t n_cols = f->n_types + 2;
	const bool alone = f->mixed && f->timing[i].op >= 0;
	double all = 0, y = log(f->timing[i].seconds / predicted(f, i)) + (alone ? f->beta[n_cols] : 0);
	for (int32_t k = 0; k < n_cols; k++)
		all += part_of(f, i)[k] * exp(log_scale(f, k));
	for (int32_t k = 0; k < n_cols; k++)
		y += part_of(f, i)[k] * exp(log_scale(f, k)) / all * log_scale(f, k);
	/* what takes long counts for more: sums of times are to be right */
	double noise = f->timing[i].op < 0 ? f->own : op_noise * sqrt(mean / f->timing[i].seconds);
	BERTH_TRY(berth_ridge_row(r, y, noise, err));
	BERTH_TRY(berth_ridge_put(r, 0, 1, err));
	for (int32_t k = 0; k < n_cols; k++)
		if (k != f->n_types && part_of(f, i)[k] > 0)
			BERTH_TRY(berth_ridge_put(r, k > f->n_types ? k : k + 1,
			                          part_of(f, i)[k] * exp(log_scale(f, k)) / all, err));
	return alone ? berth_ridge_put(r, n_cols, 1, err) : BERTH_OK;
}

/* Seconds of operators by themselves, or of models where there are none: the mean. */
static double mean_seconds(const fit *f)
{
	double sum = 0;
	int32_t n = 0;
	for (int32_t i = 0; i < f->n; i++)
		if (!f->mixed || f->timing[i].op >= 0) {
			sum += f->timing[i].seconds;
			n++;
		}
	return sum / n;
}

/* What is likely before timings are looked at. The model of times is off by no more for a device than for a
 * graph by itself: a timing that it comes close to moves it half of the way (a CPU a fifth), and one far off
 * all of it. Of a roofline, and where operators were timed, all is believed. */
static void expect(fit *f, double mean)
{
	bool whole = !f->rooflines;
	for (int32_t i = 0; i < f->n; i++)
		whole = whole && f->timing[i].op < 0;
	f->own = model_noise;
	f->device = any_deviation;
	f->of_type = type_deviation;
	if (!whole)
		return;
	f->own = fmax(model_noise, OWN_SHARE * f->off / f->seconds);
	const bool cpu = f->s->dev_class[f->dev] == BERTH_CLASS_CPU;
	const double likely = cpu ? 0.5 : 1, far = mean / ((cpu ? 10 : 8) * f->own);
	f->device = fmin(any_deviation, f->own * (likely + pow(far, cpu ? 6 : 4)));
	f->of_type = fmin(type_deviation, likely * f->own);
}

static berth_status one_round(fit *f, berth_err *err)
{
	BERTH_SCRATCH(f->tmp);
	berth_ridge r;
	int32_t n_cols = f->n_types + 3;
	BERTH_TRY(berth_ridge_new(n_cols, f->tmp, &r, err));
	for (int32_t k = 0; k < n_cols; k++)
		r.deviation[k] = k == 0 ? f->device : k + 1 < n_cols ? f->of_type : alone_deviation;
	for (int32_t i = 0; i < f->n; i++)
		BERTH_TRY(put_row(f, i, mean_seconds(f), &r, err));
	BERTH_TRY(berth_ridge_solve(&r, STEPS, f->tmp, err));
	memcpy(f->beta, r.beta, (size_t)n_cols * sizeof *f->beta);
	return BERTH_OK;
}

/* ---- the device as it is then ---- */

typedef struct row {
	berth_by_type *to;
	int32_t n;
} row;

static berth_status put(row *x, const char *type, double value, berth_err *err)
{
	double digits = pow(10, 3 - floor(log10(value))); /* four: more would be noise */
	x->to->type[x->n] = type;
	x->to->value[x->n++] = round(value * digits) / digits;
	if (berth_system_figure_check("scale", value, err) != BERTH_OK)
		return berth_fail_in(err, BERTH_EINVAL, "calibration: ");
	return BERTH_OK;
}

/* Numbers of a device: those it had, times what all are, and those of types that were timed, where they are
 * others. */
static berth_status put_device(const fit *f, berth_arena *mem, row *x, berth_err *err)
{
	const berth_by_type *old = &f->s->scale;
	double all = exp(f->beta[0]), others = berth_by_type_get(old, f->dev, NULL) * all;
	BERTH_TRY(put(x, "*", others, err));
	BERTH_EACH (i, old->off, f->dev)
		if (strcmp(old->type[i], "*") != 0 && berth_strmap_get(&f->types, old->type[i]) < 0)
			BERTH_TRY(put(x, old->type[i], old->value[i] * all, err));
	for (int32_t k = 0; k < f->n_types; k++) {
		double scale = berth_by_type_get(old, f->dev, f->type[k]) * exp(log_scale(f, k));
		const char *type = berth_arena_strdup(mem, f->type[k]);
		BERTH_TRY(berth_got(type, err));
		if (fabs(log(scale / others)) > 0.01)
			BERTH_TRY(put(x, type, scale, err));
	}
	return BERTH_OK;
}

static berth_status put_all(const fit *f, berth_arena *mem, berth_by_type *out, berth_err *err)
{
	const berth_by_type *old = &f->s->scale;
	int32_t n_devs = f->s->n_devs, most = old->off[n_devs] + f->n_types + 1;
	row x = {.to = out};
	BERTH_TRY_NEW(mem, n_devs + 1, err, out->off);
	BERTH_TRY_NEW(mem, most, err, out->type, out->value);
	for (int32_t d = 0; d < n_devs; d++) {
		if (d == f->dev)
			BERTH_TRY(put_device(f, mem, &x, err));
		else
			BERTH_EACH (i, old->off, d) {
				out->type[x.n] = old->type[i];
				out->value[x.n++] = old->value[i];
			}
		out->off[d + 1] = x.n;
	}
	return BERTH_OK;
}

/* Has a timing a part that no scale multiplies? None of the time model has. */
static bool has_overhead(const fit *f)
{
	double sum = 0;
	for (int32_t i = 0; i < f->n; i++)
		sum += part_of(f, i)[f->n_types + 1];
	return sum > 0;
}

static berth_status change(const fit *f, const char *by, berth_arena *mem, berth_err *err)
{
	berth_system r = *f->s;
	int32_t n = r.n_devs;
	const char *before = r.dev_calibrated[f->dev];
	const double *overhead = r.dev_op_overhead_s;
	const char *const *calibrated = r.dev_calibrated;
	BERTH_TRY_NEW(mem, n, err, r.dev_op_overhead_s, r.dev_calibrated);
	memcpy(r.dev_op_overhead_s, overhead, (size_t)n * sizeof *overhead);
	memcpy(r.dev_calibrated, calibrated, (size_t)n * sizeof *calibrated);
	double after = overhead[f->dev] * exp(log_scale(f, f->n_types + 1)), digits = 1e12;
	if (has_overhead(f)) /* else the scale multiplies it as well */
		r.dev_op_overhead_s[f->dev] = round(after * digits) / digits;
	r.dev_calibrated[f->dev] = !before              ? berth_arena_strdup(mem, by)
	                           : strstr(before, by) ? before
	                                                : berth_arena_printf(mem, "%s, %s", before, by);
	BERTH_TRY(berth_got(r.dev_calibrated[f->dev], err));
	BERTH_TRY(put_all(f, mem, &r.scale, err));
	*f->s = r;
	return BERTH_OK;
}

berth_status berth_scales_fit(berth_system *s, int32_t dev, const berth_timing *timing, int32_t n,
                              const char *by, berth_arena *mem, berth_arena *tmp, berth_scales_told *told,
                              berth_err *err)
{
	BERTH_SCRATCH(tmp);
	fit f = {.s = s, .dev = dev, .n = n, .timing = timing, .tmp = tmp};
	berth_scales_told x = {0, 0, 0};
	BERTH_TRY(list_types(&f, err));
	for (int32_t i = 1; i < n; i++)
		f.mixed = f.mixed || (timing[i].op < 0) != (timing[0].op < 0);
	for (int32_t i = 0; i < n; i++) {
		BERTH_TRY(take_apart(&f, &timing[i], part_of(&f, i), err));
		x.factor += log(timing[i].seconds / predicted(&f, i)) / n;
	}
	expect(&f, x.factor);
	for (int round = 0; round < ROUNDS; round++)
		BERTH_TRY(one_round(&f, err));
	for (int32_t i = 0; i < n; i++)
		x.off += fabs(predicted(&f, i) / timing[i].seconds - 1) / n;
	x.factor = exp(x.factor);
	x.now_s = predicted(&f, 0);
	BERTH_TRY(change(&f, by, mem, err));
	*told = x;
	return BERTH_OK;
}
