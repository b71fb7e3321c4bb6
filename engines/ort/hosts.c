/* Devices that are processes on several hosts. All of them hear the same questions and do the same, but for
 * what belongs to one host: its operators, its times. The first one answers. */
#include "hosts.h"

#include "cores.h"
#include "cpu_model.h"
#include "ort_engine.h"
#include "ort_op_times.h"

#include <sys/types.h>

/* What each process says of its host. */
typedef struct host_facts {
	char cpu[256], ort[64], berth[64];
	int32_t core;
} host_facts;

typedef struct hosts_state {
	mesh *m;
	int32_t process[EXEC_MAX_WORKERS]; /* of each device; -1: its host does not answer */
	host_facts facts[EXEC_MAX_WORKERS]; /* of each device with a process */
	int32_t self;                      /* the device here */
	void *alone;                       /* an executor of exec_threads, for what is timed on one host */
} hosts_state;

/* ---- starting ---- */

berth_status hosts_join(engine *e, berth_err *err)
{
	ort_device_list all, here;
	hosts_state *x;
	BERTH_TRY_NEW(&e->mem, 1, err, x);
	BERTH_TRY(ort_devices_read(e->hosts, "--hosts", &all, err));
	BERTH_TRY(ort_devices_read(e->members, "--members", &here, err));
	BERTH_TRY(mesh_open(&e->mem, &x->m, err));
	e->mesh = x->m;
	e->state = x;
	e->n_devs = all.n;
	for (int32_t d = 0, p = 0; d < all.n; d++) {
		e->runs.dev[d] = all.dev[d];
		x->process[d] = p < here.n && strcmp(here.dev[p].name, all.dev[d].name) == 0 ? p++ : -1;
		if (x->process[d] >= 0 && x->process[d] == mesh_self(x->m))
			x->self = d;
	}
	return mesh_size(x->m) == here.n ? BERTH_OK
	                                 : berth_fail(err, BERTH_EINVAL, "%d processes for %d --members",
	                                              mesh_size(x->m), here.n);
}

/* A core for this process: another one for each where several hosts are one machine. */
static berth_status know_host(engine *e, hosts_state *x, berth_err *err)
{
	host_facts *f = &x->facts[x->self];
	int32_t core[EXEC_MAX_WORKERS], n = berth_cores(core, EXEC_MAX_WORKERS);
	if (n < 1)
		return berth_fail(err, BERTH_EIO, "no cores found on host '%s'", e->runs.dev[x->self].name);
	f->core = e->runs.dev[x->self].core = core[mesh_self(x->m) % n];
	cpu_model("/proc/cpuinfo", f->core, f->cpu, sizeof f->cpu);
	snprintf(f->ort, sizeof f->ort, "%.60s", ort_version(e->lib));
	snprintf(f->berth, sizeof f->berth, "%.60s", BERTH_VERSION);
	const exec_hosts_cfg cfg = {e->n_devs, x->process, f->core, e->compress != NULL};
	BERTH_TRY(exec_hosts_open(x->m, &cfg, &e->mem, &e->runs.ex, err));
	return exec_threads.open(1, &f->core, &e->mem, &x->alone, err);
}

static berth_status same_versions(const engine *e, const hosts_state *x, berth_err *err)
{
	const host_facts *first = NULL;
	const char *name = "";
	for (int32_t d = 0; d < e->n_devs; d++) {
		const host_facts *f = &x->facts[d];
		if (x->process[d] < 0)
			continue;
		if (first && (strcmp(first->ort, f->ort) != 0 || strcmp(first->berth, f->berth) != 0))
			return berth_fail(err, BERTH_EIO,
			                  "host '%s' has ONNX Runtime %s and berth %s, host '%s' %s and %s; "
			                  "the same ones were expected",
			                  name, first->ort, first->berth, e->runs.dev[d].name, f->ort,
			                  f->berth);
		if (!first) {
			first = f;
			name = e->runs.dev[d].name;
		}
	}
	return BERTH_OK;
}

static berth_status start(engine *e, berth_err *err)
{
	hosts_state *x = e->state;
	e->runs.cfg = (ort_plan_cfg){ORT_CLOCK_WALL, NULL, x->self};
	e->runs.kind = &exec_hosts;
	BERTH_TRY(mesh_agree(x->m, know_host(e, x, err), err));
	for (int32_t d = 0; d < e->n_devs; d++)
		if (x->process[d] >= 0)
			mesh_tell(x->m, x->process[d], &x->facts[d], sizeof x->facts[d]);
	return same_versions(e, x, err);
}

static void stop(engine *e)
{
	exec_hosts.close(e->runs.ex);
	exec_threads.close(((hosts_state *)e->state)->alone);
}

/* ---- questions come to the first process ---- */

ssize_t hosts_hear(engine *e, char **line, size_t *cap)
{
	mesh *m = e->mesh;
	int64_t n = 0;
	if (mesh_self(m) == 0)
		n = getline(line, cap, stdin);
	mesh_tell(m, 0, &n, sizeof n);
	if (n <= 0)
		return (ssize_t)n;
	if ((size_t)n >= *cap) {
		free(*line);
		*cap = (size_t)n + 1;
		*line = malloc(*cap);
		if (!*line)
			mesh_give_up("memory ran out");
	}
	mesh_tell(m, 0, *line, (size_t)n);
	(*line)[n] = '\0';
	return (ssize_t)n;
}

bool hosts_speaks(const engine *e)
{
	return !e->mesh || mesh_self(e->mesh) == 0;
}

berth_status hosts_agree(const engine *e, berth_status st, berth_err *err)
{
	return e->mesh ? mesh_agree(e->mesh, st, err) : st;
}

void hosts_leave(engine *e)
{
	if (e->mesh)
		mesh_close(e->mesh);
}

berth_status hosts_answer(const engine *e, int32_t device, berth_err *err)
{
	const hosts_state *x = e->state;
	return !e->mesh || x->process[device] >= 0
	               ? BERTH_OK
	               : berth_fail(err, BERTH_EINFEASIBLE, "host '%s' does not answer",
	                            e->runs.dev[device].name);
}

double hosts_worst(const engine *e, double worst)
{
	const hosts_state *x = e->state;
	double own = worst;
	for (int32_t d = 0; d < e->n_devs && e->mesh; d++) {
		double theirs = own;
		if (x->process[d] < 0)
			continue;
		mesh_tell(x->m, x->process[d], &theirs, sizeof theirs);
		worst = fmax(worst, theirs);
	}
	return worst;
}

/* ---- devices ---- */

static void put_device(const engine *e, int32_t device, berth_json_out *w)
{
	const hosts_state *x = e->state;
	berth_json_open(w, NULL, '{');
	berth_json_put_string(w, "name", e->runs.dev[device].name);
	berth_json_put_string(w, "kind", "cpu");
	if (*x->facts[device].cpu)
		berth_json_put_string(w, "model", x->facts[device].cpu);
	berth_json_put_number(w, "speed", e->runs.dev[device].speed);
	berth_json_close(w, '}');
}

/* Of the first host alone: its times and its status are all the others'. */
static berth_status whole(engine *e, const berth_json *q, berth_json_out *w, berth_err *err)
{
	bool first = mesh_self(((hosts_state *)e->state)->m) == 0;
	return hosts_agree(e, first ? engine_workers.whole(e, q, w, err) : BERTH_OK, err);
}

/* ---- times of operators and of transfers ---- */

static berth_status overheads(engine *e, int32_t device, double *run_s, double *segment_s, berth_err *err)
{
	hosts_state *x = e->state;
	berth_status st = BERTH_OK;
	double both[2] = {0};
	BERTH_TRY(hosts_answer(e, device, err));
	if (device == x->self)
		st = ort_profile_overheads(0, x->alone, &both[0], &both[1], err);
	BERTH_TRY(mesh_agree(x->m, st, err));
	mesh_tell(x->m, x->process[device], both, sizeof both);
	*run_s = both[0];
	*segment_s = both[1];
	return BERTH_OK;
}

static berth_status time_op(engine *e, int32_t op, int32_t device, int32_t warmup, int32_t repeats,
                            double *wall_s, double *cpu_s, berth_err *err)
{
	hosts_state *x = e->state;
	size_t bytes = (size_t)repeats * sizeof *wall_s;
	berth_status st = BERTH_OK;
	BERTH_TRY(hosts_answer(e, device, err));
	if (device == x->self)
		st = ort_profile_op(&e->model, &e->runs.dev[device], op, 0, ORT_CLOCK_WALL, x->alone, warmup,
		                    repeats, wall_s, cpu_s, err);
	BERTH_TRY(mesh_agree(x->m, st, err));
	mesh_tell(x->m, x->process[device], wall_s, bytes);
	mesh_tell(x->m, x->process[device], cpu_s, bytes);
	return BERTH_OK;
}

static void look_at_clock(void *ctx, double began)
{
	*(double *)ctx = exec_now() - began;
}

/* Seconds from the end of a task that writes `bytes` to the moment at which one on another host has them. */
static berth_status time_message(const engine *e, int32_t from, int32_t to, size_t bytes,
                                 double *seconds, berth_err *err)
{
	BERTH_ARENA(mem);
	unsigned char *data;
	double at[2] = {0};
	const int32_t index = 0;
	BERTH_TRY_NEW(&mem, bytes + 64, err, data);
	exec_buffer buffer = {data, bytes, 0, true};
	const exec_task task[2] = {{from, 0, 1, NULL, &index, look_at_clock, &at[0], &at[0], sizeof at[0]},
	                           {to, 1, 0, &index, NULL, look_at_clock, &at[1], &at[1], sizeof at[1]}};
	berth_status st = exec_hosts.admit(&buffer, 1, err);
	if (st == BERTH_OK)
		st = exec_hosts.run(e->runs.ex, task, 2, &buffer, err);
	*seconds = fmax(0, at[1] - at[0]);
	return st;
}

static berth_status time_hop(engine *e, int32_t from, int32_t to, size_t bytes, int32_t warmup,
                             int32_t repeats, double *wall_s, berth_err *err)
{
	double unseen;
	BERTH_TRY(hosts_answer(e, from, err));
	BERTH_TRY(hosts_answer(e, to, err));
	for (int32_t k = -warmup; k < repeats; k++)
		BERTH_TRY(hosts_agree(
			e, time_message(e, from, to, bytes, k < 0 ? &unseen : &wall_s[k], err), err));
	return BERTH_OK;
}

const engine_way engine_hosts = {.start = start,
                                 .stop = stop,
                                 .executor = "mpi",
                                 .put_device = put_device,
                                 .forget_plans = plan_runs_forget,
                                 .run = plan_runs_answer,
                                 .whole = whole,
                                 .set = plan_runs_set,
                                 .overheads = overheads,
                                 .time_op = time_op,
                                 .time_hop = time_hop,
                                 .puts_cpu = true};
