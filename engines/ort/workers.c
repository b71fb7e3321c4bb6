/* Devices that are workers on cores of this machine. */
#include "cores.h"
#include "cpu_model.h"
#include "ort_engine.h"
#include "ort_op_times.h"

static berth_status read_devices(engine *e, berth_err *err)
{
	int32_t core[EXEC_MAX_WORKERS], n_cores = berth_cores(core, EXEC_MAX_WORKERS);
	ort_device_list list = {.n = n_cores};
	if (n_cores < 1)
		return berth_fail(err, BERTH_EIO, "no cores found");
	for (int32_t i = 0; !e->devices && i < n_cores; i++) {
		snprintf(list.dev[i].name, sizeof list.dev[i].name, "cpu%d", i);
		list.dev[i].speed = list.dev[i].start_speed = 1;
	}
	if (e->devices)
		BERTH_TRY(ort_devices_read(e->devices, "--devices", &list, err));
	if (list.n > n_cores)
		return berth_fail(err, BERTH_EINVAL,
		                  "--devices names more devices than there are cores (%d)", n_cores);
	e->n_devs = list.n;
	for (int32_t i = 0; i < list.n; i++) {
		e->runs.dev[i] = list.dev[i];
		e->runs.dev[i].core = core[i];
	}
	return exec_threads.open(e->n_devs, core, &e->mem, &e->runs.ex, err);
}

static berth_status start(engine *e, berth_err *err)
{
	e->runs.cfg = (ort_plan_cfg){e->by_cpu ? ORT_CLOCK_CPU : ORT_CLOCK_WALL, NULL, ORT_ALL_DEVICES};
	e->runs.kind = &exec_threads;
	return read_devices(e, err);
}

static void stop(engine *e)
{
	exec_threads.close(e->runs.ex);
}

static void put_device(const engine *e, int32_t device, berth_json_out *w)
{
	const ort_device *d = &e->runs.dev[device];
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

/* ---- questions ---- */

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
	return ort_profile_overheads(device, e->runs.ex, run_s, segment_s, err);
}

static berth_status time_op(engine *e, int32_t op, int32_t device, int32_t warmup, int32_t repeats,
                            double *wall_s, double *cpu_s, berth_err *err)
{
	return ort_profile_op(&e->model, e->runs.dev, op, device, e->runs.cfg.clock, e->runs.ex, warmup,
	                      repeats, wall_s, cpu_s, err);
}

static berth_status time_hop(engine *e, int32_t from, int32_t to, size_t bytes, int32_t warmup,
                             int32_t repeats, double *wall_s, berth_err *err)
{
	double unseen;
	for (int32_t k = -warmup; k < repeats; k++)
		if (e->runs.cfg.clock == ORT_CLOCK_WALL)
			BERTH_TRY(ort_profile_transfer(from, to, bytes, e->runs.ex,
			                               k < 0 ? &unseen : &wall_s[k], err));
	return BERTH_OK;
}

const engine_way engine_workers = {.start = start,
                                   .stop = stop,
                                   .executor = "threads",
                                   .put_device = put_device,
                                   .forget_plans = plan_runs_forget,
                                   .run = plan_runs_answer,
                                   .whole = whole,
                                   .set = plan_runs_set,
                                   .overheads = overheads,
                                   .time_op = time_op,
                                   .time_hop = time_hop,
                                   .puts_cpu = true};
