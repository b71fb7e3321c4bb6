/* What all ways to run a model share. */
/* Plans kept, run and told. */
#include "exec.h"
#include "ort_engine.h"

#include <math.h>
#include <string.h>

/* Of outputs where tensors travel quantised: what is asked for, so that only what is no answer any more
 * counts as wrong. */
#define COMPRESSED_TOLERANCE 0.5

berth_status engine_read_repeats(const berth_json *q, int32_t *warmup, int32_t *repeats, berth_err *err)
{
	BERTH_TRY(berth_json_int(q, "warmup", true, 0, 1000000, warmup, err));
	return berth_json_int(q, "repeats", true, 1, 1000000, repeats, err);
}

berth_status engine_read_numbers(engine *e, const berth_json *q, const char *key, int32_t n, double below,
                                 int32_t **out, int32_t *count, berth_err *err)
{
	berth_json list;
	const cJSON *item;
	int32_t i = 0;
	BERTH_TRY(berth_json_array(q, key, true, &list, err));
	*count = cJSON_GetArraySize(list.item);
	if (n >= 0 && *count != n)
		return berth_fail(err, BERTH_EINVAL, "\"%s\" has %d entries; %d were expected", key, *count,
		                  n);
	BERTH_TRY_NEW(&e->tmp, *count, err, *out);
	cJSON_ArrayForEach(item, list.item)
	{
		if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0 && item->valuedouble < below))
			return berth_fail(err, BERTH_EINVAL, "\"%s\": entry %d is no whole number in 0 .. %g",
			                  key, i, below - 1);
		(*out)[i++] = (int32_t)item->valuedouble;
	}
	return BERTH_OK;
}

berth_status engine_read_speed(const engine *e, const berth_json *q, int32_t *device, double *speed,
                               berth_err *err)
{
	BERTH_TRY(berth_json_int(q, "device", true, 0, e->n_devs - 1, device, err));
	BERTH_TRY(berth_json_number(q, "speed", true, 0, speed, err));
	return *speed > 0 && *speed <= 1
	               ? BERTH_OK
	               : berth_fail(err, BERTH_EINVAL, "speed is %g; above 0 and at most 1 was expected",
	                            *speed);
}

berth_status engine_samples_new(engine *e, int32_t n, int32_t n_segments, engine_samples *s, berth_err *err)
{
	s->n = n;
	BERTH_TRY_NEW(&e->tmp, n, err, s->wall_s, s->cpu_s, s->strain);
	BERTH_TRY_NEW(&e->tmp, n_segments, err, s->start_s, s->end_s, s->seg_cpu_s);
	for (int32_t i = 0; i < n_segments; i++) {
		BERTH_TRY_NEW(&e->tmp, n, err, s->start_s[i], s->end_s[i], s->seg_cpu_s[i]);
	}
	return BERTH_OK;
}

void engine_put_difference(const engine *e, double worst, berth_json_out *w)
{
	berth_json_put_number(w, "difference", isfinite(worst) ? worst : 1e300);
	double most = e->compress ? COMPRESSED_TOLERANCE : ort_model_tolerance(&e->model);
	berth_json_put_bool(w, "differs", !(worst <= most));
}

berth_status engine_time_whole(engine *e, ort_session *s, int threads, int32_t warmup,
                               engine_samples *samples, berth_err *err)
{
	ort_value **out;
	BERTH_TRY_NEW(&e->tmp, e->model.onnx.n_outputs, err, out);
	for (int32_t i = -warmup; i < samples->n; i++) {
		double from = exec_now(), cpu = exec_cpu();
		berth_status st = ort_model_run_whole(&e->model, s, out, err);
		double to = exec_now(), cpu_to = exec_cpu();
		for (size_t o = 0; o < e->model.onnx.n_outputs; o++) {
			ort_value_free(e->lib, out[o]);
			out[o] = NULL;
		}
		BERTH_TRY(st);
		if (i < 0)
			continue;
		samples->cpu_s[i] = cpu_to - cpu;
		samples->wall_s[i] = e->by_cpu && threads == 1 ? samples->cpu_s[i] : to - from;
		samples->strain[i] = samples->wall_s[i] / samples->cpu_s[i];
	}
	return BERTH_OK;
}

/* ---- plans kept, run and told ---- */

void plan_runs_forget(plan_runs *r)
{
	for (int32_t i = 0; i < ENGINE_PLANS; i++)
		if (r->plan[i].m)
			ort_plan_free(&r->plan[i]);
}

berth_status plan_runs_get(plan_runs *r, ort_model *m, const int32_t *placement, const int32_t *order,
                           ort_plan **out, berth_err *err)
{
	size_t size = (size_t)m->n_ops * sizeof *placement;
	ort_plan *oldest = &r->plan[0];
	for (int32_t i = 0; i < ENGINE_PLANS; i++) {
		ort_plan *p = &r->plan[i];
		if (p->m && memcmp(p->placement, placement, size) == 0 && order &&
		    memcmp(p->order, order, size) == 0) {
			p->used = ++r->used;
			*out = p;
			return BERTH_OK;
		}
		if (p->used < oldest->used)
			oldest = p;
	}
	if (oldest->m)
		ort_plan_free(oldest);
	BERTH_TRY(ort_plan_new(m, r->dev, placement, order, &r->cfg, oldest, err));
	berth_status st = r->kind->admit ? r->kind->admit(oldest->buffer, oldest->n_buffers, err) : BERTH_OK;
	if (st != BERTH_OK)
		ort_plan_free(oldest);
	oldest->used = ++r->used;
	*out = oldest;
	return st;
}

berth_status plan_runs_read(engine *e, const berth_json *q, int32_t **placement, int32_t **order,
                            berth_err *err)
{
	int32_t n = 0;
	*order = NULL;
	BERTH_TRY(engine_read_numbers(e, q, "placement", e->model.n_ops, e->n_devs, placement, &n, err));
	if (!cJSON_GetObjectItemCaseSensitive(q->item, "order"))
		return BERTH_OK;
	return engine_read_numbers(e, q, "order", e->model.n_ops, e->model.n_ops, order, &n, err);
}

berth_status plan_runs_sample(plan_runs *r, ort_plan *p, int32_t warmup, engine_samples *s, berth_err *err)
{
	for (int32_t i = -warmup; i < s->n; i++) {
		double wall, cpu, strain;
		ort_plan_poison(p);
		BERTH_TRY(ort_plan_run(p, r->kind, r->ex, &wall, &cpu, &strain, err));
		s->worst = fmax(s->worst, ort_plan_difference(p));
		if (i < 0)
			continue;
		s->wall_s[i] = wall;
		s->cpu_s[i] = cpu;
		s->strain[i] = strain;
		for (int32_t k = 0; k < p->n_segments; k++) {
			s->start_s[k][i] = p->segment[k].ran.start_s;
			s->end_s[k][i] = p->segment[k].ran.end_s;
			s->seg_cpu_s[k][i] = p->segment[k].ran.cpu_s;
		}
	}
	return BERTH_OK;
}

static void put_segments(berth_json_out *w, const ort_plan *p, const engine_samples *s)
{
	berth_json_open(w, "segments", '[');
	for (int32_t k = 0; k < p->n_segments; k++) {
		berth_json_open(w, NULL, '{');
		berth_json_put_int(w, "device", p->segment[k].dev);
		berth_json_open(w, "ops", '[');
		for (int32_t i = 0; i < p->segment[k].n_ops; i++)
			berth_json_put_int(w, NULL, p->segment[k].op[i]);
		berth_json_close(w, ']');
		berth_json_put_numbers(w, "start_s", s->start_s[k], s->n);
		berth_json_put_numbers(w, "end_s", s->end_s[k], s->n);
		berth_json_put_numbers(w, "cpu_s", s->seg_cpu_s[k], s->n);
		berth_json_close(w, '}');
	}
	berth_json_close(w, ']');
}

void plan_runs_put(const engine *e, const ort_plan *p, const engine_samples *s, berth_json_out *w)
{
	berth_json_put_numbers(w, "wall_s", s->wall_s, s->n);
	berth_json_put_numbers(w, "cpu_s", s->cpu_s, s->n);
	berth_json_put_numbers(w, "strain", s->strain, s->n);
	put_segments(w, p, s);
	engine_put_difference(e, s->worst, w);
}
