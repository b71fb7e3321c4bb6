/* Devices that are workers on cores of this machine. */
#include "cores.h"
#include "cpu_model.h"
#include "ort_engine.h"
#include "ort_op_times.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct workers {
	ort_device dev[EXEC_MAX_WORKERS];
	double start_speed[EXEC_MAX_WORKERS]; /* what `set` is a fraction of */
	plan_runs runs;
} workers;

/* ---- starting ---- */

static berth_status read_devices(engine *e, workers *x, berth_err *err)
{
	int32_t core[EXEC_MAX_WORKERS], n_cores = berth_cores(core, EXEC_MAX_WORKERS);
	ort_device_list list = {.n = n_cores};
	if (n_cores < 1)
		return berth_fail(err, BERTH_EIO, "no cores found");
	for (int32_t i = 0; !e->devices && i < n_cores; i++) {
		snprintf(list.dev[i].name, sizeof list.dev[i].name, "cpu%d", i);
		list.dev[i].speed = 1;
	}
	if (e->devices)
		BERTH_TRY(ort_devices_read(e->devices, "--devices", &list, err));
	if (list.n > n_cores)
		return berth_fail(err, BERTH_EINVAL,
		                  "--devices names more devices than there are cores (%d)", n_cores);
	e->n_devs = list.n;
	for (int32_t i = 0; i < list.n; i++) {
		x->dev[i] = list.dev[i];
		x->dev[i].core = core[i];
	}
	return BERTH_OK;
}

static berth_status start(engine *e, berth_err *err)
{
	int32_t core[EXEC_MAX_WORKERS];
	workers *x;
	e->n_devs = 0;
	BERTH_TRY_NEW(&e->mem, 1, err, x);
	x->runs = (plan_runs){.dev = x->dev,
	                      .cfg = {e->by_cpu ? ORT_CLOCK_CPU : ORT_CLOCK_WALL, NULL, ORT_ALL_DEVICES},
	                      .kind = &exec_threads};
	BERTH_TRY(read_devices(e, x, err));
	for (int32_t d = 0; d < e->n_devs; d++) {
		core[d] = x->dev[d].core;
		x->start_speed[d] = x->dev[d].speed;
	}
	BERTH_TRY(x->runs.kind->open(e->n_devs, core, &e->mem, &x->runs.ex, err));
	e->state = x;
	return BERTH_OK;
}

static void stop(engine *e)
{
	workers *x = e->state;
	x->runs.kind->close(x->runs.ex);
}

static const char *executor(const engine *e)
{
	return ((const workers *)e->state)->runs.kind->name;
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

static void forget_plans(engine *e)
{
	plan_runs_forget(&((workers *)e->state)->runs);
}

/* ---- questions ---- */

/* One run more, for the operators' starts and ends. */
static berth_status put_operators(engine *e, const ort_plan *p, berth_json_out *w, berth_err *err)
{
	const plan_runs *r = &((workers *)e->state)->runs;
	ort_operator_time *t;
	int32_t n = 0;
	BERTH_TRY(ort_operator_times(&e->model, r->dev, p->placement, p->order, r->cfg.clock, r->ex,
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
	workers *x = e->state;
	int32_t warmup = 0, repeats = 0, *placement, *order;
	bool operators = false;
	engine_samples s = {0};
	ort_plan *p;
	BERTH_TRY(engine_read_repeats(q, &warmup, &repeats, err));
	BERTH_TRY(plan_runs_read(e, q, &placement, &order, err));
	BERTH_TRY(berth_json_bool(q, "operators", &operators, err));
	BERTH_TRY(plan_runs_get(&x->runs, &e->model, placement, order, &p, err));
	BERTH_TRY(engine_samples_new(e, repeats, p->n_segments, &s, err));
	BERTH_TRY(plan_runs_sample(&x->runs, p, warmup, &s, err));
	plan_runs_put(e, p, &s, w);
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
	return ort_profile_overheads(device, x->runs.ex, run_s, segment_s, err);
}

static berth_status time_op(engine *e, int32_t op, int32_t device, int32_t warmup, int32_t repeats,
                            double *wall_s, double *cpu_s, berth_err *err)
{
	const plan_runs *r = &((workers *)e->state)->runs;
	return ort_profile_op(&e->model, r->dev, op, device, r->cfg.clock, r->ex, warmup, repeats,
	                      wall_s, cpu_s, err);
}

static berth_status time_hop(engine *e, int32_t from, int32_t to, size_t bytes, int32_t warmup,
                             int32_t repeats, double *wall_s, berth_err *err)
{
	const workers *x = e->state;
	double unseen;
	for (int32_t k = -warmup; k < repeats; k++)
		if (x->runs.cfg.clock == ORT_CLOCK_WALL)
			BERTH_TRY(ort_profile_transfer(from, to, bytes, x->runs.ex,
			                               k < 0 ? &unseen : &wall_s[k], err));
	return BERTH_OK;
}

static berth_status set(engine *e, const berth_json *q, berth_json_out *w, berth_err *err)
{
	workers *x = e->state;
	int32_t device = 0;
	double speed = 1;
	(void)w;
	BERTH_TRY(engine_read_speed(e, q, &device, &speed, err));
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
