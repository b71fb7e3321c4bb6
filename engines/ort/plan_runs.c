/* Plans kept, run and told. */
#include "plan_runs.h"

#include <math.h>
#include <string.h>

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
