/* See ort_spread.h. */
#include "ort_spread.h"

#include "exec.h"
#include "spread_times.h"

#include <math.h>
#include <string.h>

/* ---- the session ---- */

static berth_status make_inputs(ort_spread *p, berth_err *err)
{
	ort_model *m = p->m;
	BERTH_TRY(BERTH_NEW(&p->mem, p->in_name, m->n_inputs, err));
	BERTH_TRY(BERTH_NEW(&p->mem, p->in, m->n_inputs, err));
	for (int32_t i = 0; i < m->n_inputs; i++) {
		int32_t v = m->input[i];
		p->in_name[i] = m->onnx.value[v].name;
		BERTH_TRY(ort_value_over(m->lib, m->data[v], &m->shape[v], &p->in[i], err));
	}
	return BERTH_OK;
}

static berth_status make_outputs(ort_spread *p, berth_err *err)
{
	ort_model *m = p->m;
	size_t n = m->onnx.n_outputs;
	BERTH_TRY(BERTH_NEW(&p->mem, p->out_name, n, err));
	BERTH_TRY(BERTH_NEW(&p->mem, p->out, n, err));
	BERTH_TRY(BERTH_NEW(&p->mem, p->out_data, n, err));
	for (size_t i = 0; i < n; i++) {
		int32_t v = m->onnx.output[i];
		unsigned char *data;
		BERTH_TRY(BERTH_NEW(&p->mem, data, m->shape[v].bytes + 64, err));
		p->out_data[i] = data;
		p->out_name[i] = m->onnx.value[v].name;
		BERTH_TRY(ort_value_over(m->lib, data, &m->shape[v], &p->out[i], err));
	}
	return BERTH_OK;
}

static berth_status make_session(ort_spread *p, int threads, const char *profile, berth_arena *tmp,
                                 berth_err *err)
{
	const char *config[3];
	ort_session_cfg cfg = {.threads = threads,
	                       .level = p->m->level,
	                       .profile = profile,
	                       .config = config,
	                       .n_providers = p->n_devs};
	ort_bytes bytes;
	BERTH_TRY(spread_rules(p->dev, p->n_devs, tmp, config, err));
	BERTH_TRY(spread_providers(p->dev, p->n_devs, tmp, &cfg.provider, err));
	BERTH_TRY(spread_model(p->m, p->dev, p->n_devs, p->placement, tmp, &bytes, err));
	return ort_session_new(p->m->lib, bytes.data, bytes.len, &cfg, &p->session, err);
}

/* ---- all of it ---- */

static berth_status run(ort_spread *p, berth_err *err)
{
	return ort_run(p->m->lib, p->session, p->in_name, p->in, (size_t)p->m->n_inputs, p->out_name, p->out,
	               p->m->onnx.n_outputs, err);
}

static berth_status start(ort_spread *p, int threads, const char *folder, berth_arena *tmp, berth_err *err)
{
	kernel_times times;
	const char *path = berth_arena_printf(tmp, "%s/s", folder);
	if (!path)
		return berth_nomem(err);
	BERTH_TRY(make_session(p, threads, path, tmp, err));
	BERTH_TRY(make_inputs(p, err));
	BERTH_TRY(make_outputs(p, err));
	BERTH_TRY(run(p, err)); /* the first one is slow */
	BERTH_TRY(run(p, err));
	BERTH_TRY(ort_session_end_profile(p->m->lib, p->session, tmp, &path, err));
	BERTH_TRY(kernel_times_read(path, tmp, &times, err));
	return spread_times_read(p, &times, tmp, err);
}

berth_status ort_spread_new(ort_model *m, const spread_device *dev, int32_t n_devs, const int32_t *placement,
                            int threads, ort_spread *out, berth_err *err)
{
	char folder[KERNEL_FOLDER];
	berth_arena tmp = {0};
	*out = (ort_spread){.m = m, .dev = dev, .n_devs = n_devs};
	berth_status st = BERTH_NEW(&out->mem, out->placement, m->n_ops, err);
	if (st == BERTH_OK) {
		memcpy(out->placement, placement, (size_t)m->n_ops * sizeof *placement);
		st = kernel_folder_new(folder, err);
	}
	if (st == BERTH_OK) {
		st = start(out, threads, folder, &tmp, err);
		if (st != BERTH_OK)
			ort_spread_free(out); /* the profiler's file is written */
		kernel_folder_remove(folder);
	}
	berth_arena_free(&tmp);
	if (st != BERTH_OK)
		ort_spread_free(out);
	return st;
}

void ort_spread_free(ort_spread *p)
{
	if (!p->m)
		return;
	ort_session_free(p->m->lib, p->session);
	for (int32_t i = 0; p->in && i < p->m->n_inputs; i++)
		ort_value_free(p->m->lib, p->in[i]);
	for (size_t i = 0; p->out && i < p->m->onnx.n_outputs; i++)
		ort_value_free(p->m->lib, p->out[i]);
	berth_arena_free(&p->mem);
	*p = (ort_spread){0};
}

berth_status ort_spread_run(ort_spread *p, double *wall_s, double *difference, berth_err *err)
{
	const onnx_model *o = &p->m->onnx;
	for (size_t i = 0; i < o->n_outputs; i++) /* what nobody writes shows */
		memset(p->out_data[i], 0xff, p->m->shape[o->output[i]].bytes);
	double from = exec_now();
	BERTH_TRY(run(p, err));
	*wall_s = exec_now() - from;
	*difference = 0;
	for (size_t i = 0; i < o->n_outputs; i++)
		*difference = fmax(*difference, ort_model_difference(p->m, (int32_t)i, p->out_data[i]));
	return BERTH_OK;
}
