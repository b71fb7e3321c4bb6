/* Devices that are workers on cores of this machine. */
#include "cores.h"
#include "cpu_model.h"
#include "ort_engine.h"
#include "ort_op_times.h"
#include "ort_operators.h"
#include "text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct workers {
	ort_device dev[EXEC_MAX_WORKERS];
	double start_speed[EXEC_MAX_WORKERS]; /* what `set` is a fraction of */
	const exec_kind *kind;
	void *ex;
	ort_plan plan[ENGINE_PLANS];
	ort_clock clock;
	int64_t used;
} workers;

/* ---- starting ---- */

static berth_status read_devices(engine *e, workers *x, berth_err *err)
{
	int32_t core[EXEC_MAX_WORKERS], n_cores = berth_cores(core, EXEC_MAX_WORKERS);
	const char *text = e->devices;
	if (n_cores < 1)
		return berth_fail(err, BERTH_EIO, "no cores found");
	for (int32_t i = 0; !text && i < n_cores; i++) {
		snprintf(x->dev[i].name, sizeof x->dev[i].name, "cpu%d", i);
		x->dev[i].core = core[i];
		x->dev[i].speed = 1;
		e->n_devs++;
	}
	while (text && *text) {
		size_t n = strcspn(text, ","), name = strcspn(text, ",=");
		ort_device *d = &x->dev[e->n_devs];
		const char *end = NULL;
		if (e->n_devs >= n_cores)
			return berth_fail(err, BERTH_EINVAL,
			                  "--devices names more devices than there are cores (%d)", n_cores);
		d->speed = text[name] == '=' ? berth_text_number(text + name + 1, &end) : 1;
		if (!name || name >= sizeof d->name || !(d->speed > 0 && d->speed <= 1) ||
		    (end && end != text + n))
			return berth_fail(err, BERTH_EINVAL,
			                  "--devices '%.60s': NAME or NAME=SPEED with a speed above 0 and at "
			                  "most 1 was expected",
			                  text);
		snprintf(d->name, sizeof d->name, "%.*s", (int)name, text);
		d->core = core[e->n_devs++];
		text += n + (text[n] == ',');
	}
	return BERTH_OK;
}

static berth_status start(engine *e, berth_err *err)
{
	int32_t core[EXEC_MAX_WORKERS];
	workers *x;
	e->n_devs = 0;
	BERTH_TRY(BERTH_NEW(&e->mem, x, 1, err));
	x->kind = strcmp(e->executor, "starpu") == 0 ? &exec_starpu : &exec_threads;
	x->clock = e->by_cpu ? ORT_CLOCK_CPU : ORT_CLOCK_WALL;
	BERTH_TRY(read_devices(e, x, err));
	for (int32_t d = 0; d < e->n_devs; d++) {
		core[d] = x->dev[d].core;
		x->start_speed[d] = x->dev[d].speed;
	}
	BERTH_TRY(x->kind->open(e->n_devs, core, &e->mem, &x->ex, err));
	e->state = x;
	return BERTH_OK;
}

static void stop(engine *e)
{
	workers *x = e->state;
	x->kind->close(x->ex);
}

static const char *executor(const engine *e)
{
	return ((const workers *)e->state)->kind->name;
}

static void put_device(const engine *e, int32_t device, berth_json_out *w)
{
	const ort_device *d = &((const workers *)e->state)->dev[device];
	char model[256];
	cpu_model("/proc/cpuinfo", d->core, model, sizeof model);
	berth_json_open(w, NULL, '{');
	berth_json_put_string(w, "name", d->name);
	berth_json_put_string(w, "kind", "cpu");
	if (*model)
		berth_json_put_string(w, "model", model);
	berth_json_put_int(w, "core", d->core);
	berth_json_put_number(w, "speed", d->speed);
	berth_json_close(w, '}');
}

/* ---- plans ---- */

static void forget_plan(workers *x, ort_plan *p)
{
	if (p->n_buffers)
		x->kind->dismiss(x->ex, p->buffer, p->n_buffers);
	ort_plan_free(p);
}

static void forget_plans(engine *e)
{
	workers *x = e->state;
	for (int32_t i = 0; i < ENGINE_PLANS; i++)
		if (x->plan[i].m)
			forget_plan(x, &x->plan[i]);
}

/* The plan of a placement, from those kept or new in place of the oldest. */
static berth_status get_plan(engine *e, const int32_t *placement, const int32_t *order, ort_plan **out,
                             berth_err *err)
{
	size_t size = (size_t)e->model.n_ops * sizeof *placement;
	workers *x = e->state;
	ort_plan *oldest = &x->plan[0];
	for (int32_t i = 0; i < ENGINE_PLANS; i++) {
		ort_plan *p = &x->plan[i];
		if (p->m && memcmp(p->placement, placement, size) == 0 && order &&
		    memcmp(p->order, order, size) == 0) {
			p->used = ++x->used;
			*out = p;
			return BERTH_OK;
		}
		if (p->used < oldest->used)
			oldest = p;
	}
	if (oldest->m)
		forget_plan(x, oldest);
	BERTH_TRY(ort_plan_new(&e->model, x->dev, placement, order, x->clock, NULL, oldest, err));
	berth_status st = x->kind->admit(x->ex, oldest->buffer, oldest->n_buffers, err);
	if (st != BERTH_OK)
		ort_plan_free(oldest);
	oldest->used = ++x->used;
	*out = oldest;
	return st;
}

/* ---- questions ---- */

static berth_status take_samples(workers *x, ort_plan *p, int32_t warmup, engine_samples *s, berth_err *err)
{
	for (int32_t i = -warmup; i < s->n; i++) {
		double wall, cpu, strain;
		ort_plan_poison(p);
		BERTH_TRY(ort_plan_run(p, x->kind, x->ex, &wall, &cpu, &strain, err));
		s->worst = fmax(s->worst, ort_plan_difference(p));
		if (i < 0)
			continue;
		s->wall_s[i] = wall;
		s->cpu_s[i] = cpu;
		s->strain[i] = strain;
		for (int32_t k = 0; k < p->n_segments; k++) {
			s->start_s[k][i] = p->segment[k].start_s;
			s->end_s[k][i] = p->segment[k].end_s;
			s->seg_cpu_s[k][i] = p->segment[k].cpu_s;
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

/* One run more, for the operators' starts and ends. */
static berth_status put_operators(engine *e, const ort_plan *p, berth_json_out *w, berth_err *err)
{
	const workers *x = e->state;
	ort_operator_time *t;
	int32_t n = 0;
	BERTH_TRY(ort_operator_times(&e->model, x->dev, p->placement, p->order, x->clock, x->kind, x->ex,
	                             &e->tmp, &t, &n, err));
	berth_json_open(w, "operators", '[');
	for (int32_t i = 0; i < n; i++) {
		berth_json_open(w, NULL, '{');
		if (t[i].op >= 0)
			berth_json_put_int(w, "op", t[i].op);
		berth_json_put_int(w, "device", p->segment[t[i].segment].dev);
		berth_json_put_string(w, "kernel", t[i].kind);
		if (t[i].in >= 0)
			berth_json_put_int(w, "in", t[i].in);
		berth_json_put_number(w, "start_s", t[i].start_s);
		berth_json_put_number(w, "end_s", t[i].end_s);
		berth_json_close(w, '}');
	}
	berth_json_close(w, ']');
	return BERTH_OK;
}

static berth_status run(engine *e, const berth_json *q, berth_json_out *w, berth_err *err)
{
	int32_t warmup = 0, repeats = 0, n, *placement, *order = NULL;
	bool operators = false;
	engine_samples s = {0};
	ort_plan *p;
	BERTH_TRY(engine_read_repeats(q, &warmup, &repeats, err));
	BERTH_TRY(engine_read_numbers(e, q, "placement", e->model.n_ops, e->n_devs, &placement, &n, err));
	if (cJSON_GetObjectItemCaseSensitive(q->item, "order"))
		BERTH_TRY(
			engine_read_numbers(e, q, "order", e->model.n_ops, e->model.n_ops, &order, &n, err));
	BERTH_TRY(berth_json_bool(q, "operators", &operators, err));
	BERTH_TRY(get_plan(e, placement, order, &p, err));
	BERTH_TRY(engine_samples_new(e, repeats, p->n_segments, &s, err));
	BERTH_TRY(take_samples(e->state, p, warmup, &s, err));
	berth_json_put_numbers(w, "wall_s", s.wall_s, s.n);
	berth_json_put_numbers(w, "cpu_s", s.cpu_s, s.n);
	berth_json_put_numbers(w, "strain", s.strain, s.n);
	put_segments(w, p, &s);
	engine_put_difference(e, s.worst, w);
	return operators ? put_operators(e, p, w, err) : BERTH_OK;
}

static berth_status whole(engine *e, const berth_json *q, berth_json_out *w, berth_err *err)
{
	int32_t threads = 0, warmup = 0, repeats = 0;
	ort_session *session;
	engine_samples s = {0};
	BERTH_TRY(engine_read_repeats(q, &warmup, &repeats, err));
	BERTH_TRY(berth_json_int(q, "threads", true, 0, 1024, &threads, err));
	BERTH_TRY(ort_model_whole(&e->model, threads, &session, err));
	BERTH_TRY(engine_samples_new(e, repeats, 0, &s, err));
	BERTH_TRY(engine_time_whole(e, session, threads, warmup, &s, err));
	berth_json_put_numbers(w, "wall_s", s.wall_s, s.n);
	if (threads == 1) {
		berth_json_put_numbers(w, "cpu_s", s.cpu_s, s.n);
		berth_json_put_numbers(w, "strain", s.strain, s.n);
	}
	return BERTH_OK;
}

static berth_status overheads(engine *e, int32_t device, double *run_s, double *segment_s, berth_err *err)
{
	const workers *x = e->state;
	return ort_profile_overheads(device, x->kind, x->ex, run_s, segment_s, err);
}

static berth_status time_op(engine *e, int32_t op, int32_t device, int32_t warmup, int32_t repeats,
                            double *wall_s, double *cpu_s, berth_err *err)
{
	const workers *x = e->state;
	return ort_profile_op(&e->model, x->dev, op, device, x->clock, x->kind, x->ex, warmup, repeats,
	                      wall_s, cpu_s, err);
}

static berth_status time_hop(engine *e, int32_t from, int32_t to, size_t bytes, int32_t warmup,
                             int32_t repeats, double *wall_s, berth_err *err)
{
	const workers *x = e->state;
	double unseen;
	for (int32_t k = -warmup; k < repeats; k++)
		if (x->clock == ORT_CLOCK_WALL)
			BERTH_TRY(ort_profile_transfer(from, to, bytes, x->kind, x->ex,
			                               k < 0 ? &unseen : &wall_s[k], err));
	return BERTH_OK;
}

static berth_status set(engine *e, const berth_json *q, berth_json_out *w, berth_err *err)
{
	workers *x = e->state;
	int32_t device = 0;
	double speed = 1;
	(void)w;
	BERTH_TRY(berth_json_int(q, "device", true, 0, e->n_devs - 1, &device, err));
	BERTH_TRY(berth_json_number(q, "speed", true, 0, &speed, err));
	if (!(speed > 0 && speed <= 1))
		return berth_fail(err, BERTH_EINVAL, "speed is %g; above 0 and at most 1 was expected",
		                  speed);
	x->dev[device].speed = x->start_speed[device] * speed;
	return BERTH_OK;
}

const engine_way engine_workers = {.start = start,
                                   .stop = stop,
                                   .executor = executor,
                                   .put_device = put_device,
                                   .forget_plans = forget_plans,
                                   .run = run,
                                   .whole = whole,
                                   .set = set,
                                   .overheads = overheads,
                                   .time_op = time_op,
                                   .time_hop = time_hop,
                                   .puts_cpu = true};
