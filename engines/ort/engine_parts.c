/* What all ways to run a model share: lists of questions, samples in answers, and plans that are kept, run
 * and told. */
#include "exec.h"
#include "hosts.h"
#include "ort_op_times.h"

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
		if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0 && item->valuedouble < below) ||
		    item->valuedouble != floor(item->valuedouble))
			return berth_fail(err, BERTH_EINVAL, "\"%s\": entry %d is no whole number in 0 .. %g",
			                  key, i, below - 1);
		(*out)[i++] = (int32_t)item->valuedouble;
	}
	return BERTH_OK;
}

berth_status engine_samples_new(engine *e, int32_t n, int32_t n_segments, engine_samples *s, berth_err *err)
{
	*s = (engine_samples){.n = n, .n_segments = n_segments, .plain = NAN};
	BERTH_TRY_NEW(&e->tmp, n, err, s->wall_s, s->cpu_s, s->strain);
	BERTH_TRY_NEW(&e->tmp, n_segments, err, s->segment);
	for (engine_segment *x = s->segment; x < s->segment + n_segments; x++)
		BERTH_TRY_NEW(&e->tmp, n, err, x->start_s, x->end_s, x->cpu_s);
	return BERTH_OK;
}

/* ---- answers ---- */

static double tolerance(const engine *e)
{
	return e->compress ? COMPRESSED_TOLERANCE : e->model.tolerance;
}

bool engine_needs_plain(const engine *e, const engine_samples *s)
{
	return e->model.quantised && !(s->worst <= tolerance(e));
}

void engine_put_samples(const engine *e, const engine_samples *s, bool cpu, berth_json_out *w)
{
	berth_json_put_numbers(w, "wall_s", s->wall_s, s->n);
	if (cpu) {
		berth_json_put_numbers(w, "cpu_s", s->cpu_s, s->n);
		berth_json_put_numbers(w, "strain", s->strain, s->n);
	}
	berth_json_open(w, "segments", '[');
	for (const engine_segment *x = s->segment; x < s->segment + s->n_segments; x++) {
		berth_json_open(w, NULL, '{');
		berth_json_put_int(w, "device", x->dev);
		berth_json_put_ints(w, "ops", x->op, x->n_ops);
		berth_json_put_numbers(w, "start_s", x->start_s, s->n);
		berth_json_put_numbers(w, "end_s", x->end_s, s->n);
		if (cpu)
			berth_json_put_numbers(w, "cpu_s", x->cpu_s, s->n);
		berth_json_close(w, '}');
	}
	berth_json_close(w, ']');
	berth_json_put_number(w, "difference", isfinite(s->worst) ? s->worst : 1e300);
	berth_json_put_bool(w, "differs", !(fmin(s->worst, s->plain) <= tolerance(e)));
}

void engine_put_kernels(berth_json_out *w, const kernel_run *k, int32_t n, double unit)
{
	berth_json_open(w, "operators", '[');
	for (int32_t i = 0; i < n; i++, k++) {
		berth_json_open(w, NULL, '{');
		if (k->op >= 0)
			berth_json_put_int(w, "op", k->op);
		berth_json_put_int(w, "device", k->dev);
		berth_json_put_string(w, "kernel", k->kernel);
		if (k->in >= 0)
			berth_json_put_int(w, "in", k->in);
		berth_json_put_number(w, "start_s", k->from * unit);
		berth_json_put_number(w, "end_s", k->to * unit);
		berth_json_close(w, '}');
	}
	berth_json_close(w, ']');
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

void plan_runs_forget(engine *e)
{
	for (int32_t i = 0; i < ENGINE_PLANS; i++)
		if (e->runs.plan[i].m)
			ort_plan_free(&e->runs.plan[i]);
}

/* The plan of a placement, from those kept or new in place of the oldest. */
static berth_status get_plan(engine *e, const int32_t *placement, const int32_t *order, ort_plan **out,
                             berth_err *err)
{
	plan_runs *r = &e->runs;
	size_t size = (size_t)e->model.n_ops * sizeof *placement;
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
	BERTH_TRY(ort_plan_new(&e->model, r->dev, placement, order, &r->cfg, oldest, err));
	berth_status st = r->kind->admit ? r->kind->admit(oldest->buffer, oldest->n_buffers, err) : BERTH_OK;
	if (st != BERTH_OK)
		ort_plan_free(oldest);
	oldest->used = ++r->used;
	*out = oldest;
	return st;
}

/* Each operator once, and behind what it needs: others would wait for ever. */
static berth_status check_order(engine *e, const int32_t *order, berth_err *err)
{
	int32_t *at;
	BERTH_TRY_NEW(&e->tmp, e->model.n_ops, err, at);
	for (int32_t i = 0; i < e->model.n_ops; i++) {
		if (at[order[i]]++)
			return berth_fail(err, BERTH_EINVAL, "\"order\" has operator %d twice", order[i]);
		for (int32_t k = 0; k < ort_model_node(&e->model, order[i])->n_all; k++) {
			int32_t v = ort_model_node(&e->model, order[i])->in[k],
				from = v >= 0 ? e->model.value_op[v] : -1;
			if (from >= 0 && !at[from])
				return berth_fail(err, BERTH_EINVAL,
				                  "\"order\" has operator %d before %d, which it needs",
				                  order[i], from);
		}
	}
	return BERTH_OK;
}

/* "placement" and "order" (NULL: none) of a question. */
static berth_status read_plan(engine *e, const berth_json *q, int32_t **placement, int32_t **order,
                              berth_err *err)
{
	int32_t n = 0;
	*order = NULL;
	BERTH_TRY(engine_read_numbers(e, q, "placement", e->model.n_ops, e->n_devs, placement, &n, err));
	if (!cJSON_GetObjectItemCaseSensitive(q->item, "order"))
		return BERTH_OK;
	BERTH_TRY(engine_read_numbers(e, q, "order", e->model.n_ops, e->model.n_ops, order, &n, err));
	return check_order(e, *order, err);
}

/* Run the plan: warmup times unseen, then s->n times. */
static berth_status sample(engine *e, ort_plan *p, int32_t warmup, engine_samples *s, berth_err *err)
{
	for (int32_t i = -warmup; i < s->n; i++) {
		double wall, cpu, strain;
		ort_plan_poison(p);
		BERTH_TRY(ort_plan_run(p, e->runs.kind, e->runs.ex, &wall, &cpu, &strain, err));
		s->worst = fmax(s->worst, ort_plan_difference(p));
		if (i < 0)
			continue;
		s->wall_s[i] = wall;
		s->cpu_s[i] = cpu;
		s->strain[i] = strain;
		for (int32_t k = 0; k < p->n_segments; k++) {
			engine_segment *x = &s->segment[k];
			const ort_segment *from = &p->segment[k];
			x->dev = from->dev;
			x->n_ops = from->n_ops;
			x->op = from->op;
			x->start_s[i] = from->ran.start_s;
			x->end_s[i] = from->ran.end_s;
			x->cpu_s[i] = from->ran.cpu_s;
		}
	}
	return BERTH_OK;
}

/* The plan once more without optimisation: how far its outputs are from the unsplit model's without. */
static berth_status run_plain(engine *e, const ort_plan *like, double *difference, berth_err *err)
{
	const plan_runs *r = &e->runs;
	ort_plan p;
	double unused;
	ort_model_swap_level(&e->model);
	berth_status st = ort_plan_new(&e->model, r->dev, like->placement, like->order, &r->cfg, &p, err);
	bool made = st == BERTH_OK;
	st = hosts_agree(e, st, err);
	if (st == BERTH_OK && r->kind->admit)
		st = hosts_agree(e, r->kind->admit(p.buffer, p.n_buffers, err), err);
	if (st == BERTH_OK)
		st = hosts_agree(e, ort_plan_run(&p, r->kind, r->ex, &unused, &unused, &unused, err), err);
	if (st == BERTH_OK)
		*difference = hosts_worst(e, ort_plan_difference(&p));
	if (made)
		ort_plan_free(&p);
	ort_model_swap_level(&e->model);
	return st;
}

berth_status plan_runs_answer(engine *e, const berth_json *q, berth_json_out *w, berth_err *err)
{
	int32_t warmup = 0, repeats = 0, n = 0, *placement, *order;
	bool operators = false;
	engine_samples s = {0};
	kernel_run *times;
	ort_plan *p = NULL;
	BERTH_TRY(engine_read_repeats(q, &warmup, &repeats, err));
	BERTH_TRY(read_plan(e, q, &placement, &order, err));
	BERTH_TRY(berth_json_bool(q, "operators", &operators, err));
	if (operators && e->mesh)
		return berth_fail(err, BERTH_EINVAL, "times of single operators are not told with --hosts");
	for (int32_t i = 0; i < e->model.n_ops; i++)
		BERTH_TRY(hosts_answer(e, placement[i], err));
	BERTH_TRY(hosts_agree(e, get_plan(e, placement, order, &p, err), err));
	BERTH_TRY(hosts_agree(e, engine_samples_new(e, repeats, p->n_segments, &s, err), err));
	BERTH_TRY(hosts_agree(e, sample(e, p, warmup, &s, err), err));
	s.worst = hosts_worst(e, s.worst);
	if (engine_needs_plain(e, &s))
		BERTH_TRY(run_plain(e, p, &s.plain, err));
	engine_put_samples(e, &s, true, w);
	if (!operators)
		return BERTH_OK;
	/* one run more, for the operators' starts and ends */
	BERTH_TRY(ort_operator_times(&e->model, e->runs.dev, p->placement, p->order, e->runs.cfg.clock,
	                             e->runs.ex, &e->tmp, &times, &n, err));
	engine_put_kernels(w, times, n, 1);
	return BERTH_OK;
}

berth_status plan_runs_set(engine *e, const berth_json *q, berth_json_out *w, berth_err *err)
{
	int32_t device = 0;
	double speed = 1;
	(void)w;
	BERTH_TRY(berth_json_int(q, "device", true, 0, e->n_devs - 1, &device, err));
	BERTH_TRY(berth_json_number(q, "speed", true, 0, &speed, err));
	if (!(speed > 0 && speed <= 1))
		return berth_fail(err, BERTH_EINVAL, "speed is %g; above 0 and at most 1 was expected",
		                  speed);
	e->runs.dev[device].speed = e->runs.dev[device].start_speed * speed;
	return BERTH_OK;
}
