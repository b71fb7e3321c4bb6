/* What all ways to run a model share. */
#include "ort_engine.h"

#include "exec.h"

#include <math.h>

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
	BERTH_TRY(BERTH_NEW(&e->tmp, *out, *count, err));
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
	BERTH_TRY(BERTH_NEW(&e->tmp, s->wall_s, n, err));
	BERTH_TRY(BERTH_NEW(&e->tmp, s->cpu_s, n, err));
	BERTH_TRY(BERTH_NEW(&e->tmp, s->strain, n, err));
	BERTH_TRY(BERTH_NEW(&e->tmp, s->start_s, n_segments, err));
	BERTH_TRY(BERTH_NEW(&e->tmp, s->end_s, n_segments, err));
	BERTH_TRY(BERTH_NEW(&e->tmp, s->seg_cpu_s, n_segments, err));
	for (int32_t i = 0; i < n_segments; i++) {
		BERTH_TRY(BERTH_NEW(&e->tmp, s->start_s[i], n, err));
		BERTH_TRY(BERTH_NEW(&e->tmp, s->end_s[i], n, err));
		BERTH_TRY(BERTH_NEW(&e->tmp, s->seg_cpu_s[i], n, err));
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
	BERTH_TRY(BERTH_NEW(&e->tmp, out, e->model.onnx.n_outputs, err));
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
