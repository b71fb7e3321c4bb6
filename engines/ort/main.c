/* berth-engine-ort: an engine of berth (docs/engines.md) that runs ONNX models by ONNX Runtime. Its devices
 * are workers on cores of this machine. */
#include "cores.h"
#include "cpu_model.h"
#include "json.h"
#include "ort_operators.h"
#include "ort_op_times.h"
#include "text.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

enum { MAX_PLANS = 3 };

typedef struct engine {
	const char *library, *devices, *executor, *optimize, *clock_name;
	berth_arena mem;                /* lasting */
	ort_lib *lib;
	ort_device dev[EXEC_MAX_WORKERS];
	double start_speed[EXEC_MAX_WORKERS]; /* what `set` is a fraction of */
	int32_t n_devs;
	const exec_kind *kind;
	void *ex;
	berth_arena model_mem;
	ort_model model;
	bool loaded;
	ort_plan plan[MAX_PLANS];
	ort_clock clock;
	int64_t used;
	berth_arena tmp;                /* of one question */
} engine;

/* What a refusal is about: the "kind" of the protocol. */
static const char *kind_of(berth_status st)
{
	return st == BERTH_EFORMAT       ? "model"
	       : st == BERTH_EINFEASIBLE ? "device"
	       : st == BERTH_EIO         ? "missing"
	                                 : "";
}

/* ---- starting ---- */

static berth_status read_devices(engine *e, berth_err *err)
{
	int32_t core[EXEC_MAX_WORKERS], n_cores = berth_cores(core, EXEC_MAX_WORKERS);
	const char *text = e->devices;
	if (n_cores < 1)
		return berth_fail(err, BERTH_EIO, "no cores found");
	for (int32_t i = 0; !text && i < n_cores; i++) {
		snprintf(e->dev[i].name, sizeof e->dev[i].name, "cpu%d", i);
		e->dev[i].core = core[i];
		e->dev[i].speed = 1;
		e->n_devs++;
	}
	while (text && *text) {
		size_t n = strcspn(text, ","), name = strcspn(text, ",=");
		ort_device *d = &e->dev[e->n_devs];
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
	if (e->ex)
		return BERTH_OK;
	e->kind = strcmp(e->executor, "starpu") == 0 ? &exec_starpu : &exec_threads;
	BERTH_TRY(ort_open(e->library, &e->mem, &e->lib, err));
	BERTH_TRY(read_devices(e, err));
	for (int32_t d = 0; d < e->n_devs; d++) {
		core[d] = e->dev[d].core;
		e->start_speed[d] = e->dev[d].speed;
	}
	return e->kind->open(e->n_devs, core, &e->mem, &e->ex, err);
}

static int level_of(const engine *e)
{
	return strcmp(e->optimize, "none") == 0       ? ORT_PLAIN
	       : strcmp(e->optimize, "basic") == 0    ? ORT_BASIC
	       : strcmp(e->optimize, "extended") == 0 ? ORT_EXTENDED
	                                              : ORT_ALL;
}

/* ---- parts of answers ---- */

static berth_status read_repeats(const berth_json *q, int32_t *warmup, int32_t *repeats, berth_err *err)
{
	BERTH_TRY(berth_json_int(q, "warmup", true, 0, 1000000, warmup, err));
	return berth_json_int(q, "repeats", true, 1, 1000000, repeats, err);
}

static berth_status read_numbers(engine *e, const berth_json *q, const char *key, int32_t n, double below,
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

/* ---- questions ---- */

/* All that decides how fast it is: caches of times go by it. */
static void put_device(berth_json_out *w, const ort_device *d)
{
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

static berth_status hello(engine *e, const berth_json *q, berth_json_out *w, berth_err *err)
{
	(void)q;
	BERTH_TRY(start(e, err));
	berth_json_put_int(w, "protocol", 1);
	berth_json_put_string(w, "engine", "ort");
	berth_json_put_string(w, "version", ort_version(e->lib));
	berth_json_put_string(w, "clock", e->clock_name);
	berth_json_put_string(w, "executor", e->kind->name);
	berth_json_open(w, "devices", '[');
	for (int32_t d = 0; d < e->n_devs; d++)
		put_device(w, &e->dev[d]);
	berth_json_close(w, ']');
	return BERTH_OK;
}

static void forget_plan(engine *e, ort_plan *p)
{
	if (p->n_buffers)
		e->kind->dismiss(e->ex, p->buffer, p->n_buffers);
	ort_plan_free(p);
}

static void unload(engine *e)
{
	for (int32_t i = 0; i < MAX_PLANS; i++)
		if (e->plan[i].m)
			forget_plan(e, &e->plan[i]);
	if (e->model.lib)
		ort_model_close(&e->model);
	berth_arena_free(&e->model_mem);
	e->loaded = false;
}

/* The importer numbers the operators as berth's graph does, unless berth was given another file. */
static berth_status same_graph(const engine *e, const berth_json *q, berth_err *err)
{
	berth_json graph, ops;
	const cJSON *op;
	int32_t i = 0;
	BERTH_TRY(berth_json_object(q, "graph", true, &graph, err));
	BERTH_TRY(berth_json_array(&graph, "ops", true, &ops, err));
	if (cJSON_GetArraySize(ops.item) != e->model.n_ops)
		return berth_fail(err, BERTH_EFORMAT, "the model has %d operators, but the graph %d",
		                  e->model.n_ops, cJSON_GetArraySize(ops.item));
	cJSON_ArrayForEach(op, ops.item)
	{
		const char *type = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(op, "type"));
		const char *ours = e->model.onnx.node[e->model.op_node[i]].type;
		if (type && strcmp(type, ours) != 0)
			return berth_fail(err, BERTH_EFORMAT,
			                  "operator %d of the model is a %.40s, that of the graph a %.40s", i,
			                  ours, type);
		i++;
	}
	return BERTH_OK;
}

/* "dims":["batch=8", ...], where berth was told some. */
static berth_status read_dims(engine *e, const berth_json *q, berth_read_options *opt, berth_err *err)
{
	berth_json list = {0};
	const cJSON *one;
	const char **dim;
	BERTH_TRY(berth_json_array(q, "dims", false, &list, err));
	if (!list.item)
		return BERTH_OK;
	BERTH_TRY(BERTH_NEW(&e->model_mem, dim, cJSON_GetArraySize(list.item), err));
	cJSON_ArrayForEach(one, list.item)
	{
		if (!cJSON_IsString(one))
			return berth_fail(err, BERTH_EFORMAT, "dims: expected texts \"NAME=N\"");
		dim[opt->n_dims++] = one->valuestring;
	}
	opt->dim = dim;
	return BERTH_OK;
}

static berth_status load(engine *e, const berth_json *q, berth_json_out *w, berth_err *err)
{
	const char *path = NULL;
	berth_read_options opt = {0};
	BERTH_TRY(berth_json_string(q, "model", true, &path, err));
	unload(e);
	if (strncmp(path, "zoo:", 4) == 0)
		return berth_fail(err, BERTH_EFORMAT,
		                  "%.80s is a description without weights; this engine runs ONNX files",
		                  path);
	berth_status st = read_dims(e, q, &opt, err);
	if (st == BERTH_OK)
		st = ort_model_open(e->lib, path, &opt, level_of(e), NULL, &e->model_mem, &e->model, err);
	if (st == BERTH_OK)
		st = same_graph(e, q, err);
	if (st != BERTH_OK) {
		unload(e);
		if (st == BERTH_EIO)
			err->code = st = BERTH_EFORMAT; /* of the model, not of the engine */
		return st;
	}
	e->loaded = true;
	berth_json_put_int(w, "ops", e->model.n_ops);
	return BERTH_OK;
}

/* The plan of a placement, from those kept or new in place of the oldest. */
static berth_status get_plan(engine *e, const int32_t *placement, const int32_t *order, ort_plan **out,
                             berth_err *err)
{
	size_t size = (size_t)e->model.n_ops * sizeof *placement;
	ort_plan *oldest = &e->plan[0];
	for (int32_t i = 0; i < MAX_PLANS; i++) {
		ort_plan *p = &e->plan[i];
		if (p->m && memcmp(p->placement, placement, size) == 0 && order &&
		    memcmp(p->order, order, size) == 0) {
			p->used = ++e->used;
			*out = p;
			return BERTH_OK;
		}
		if (p->used < oldest->used)
			oldest = p;
	}
	if (oldest->m)
		forget_plan(e, oldest);
	BERTH_TRY(ort_plan_new(&e->model, e->dev, placement, order, e->clock, NULL, oldest, err));
	berth_status st = e->kind->admit(e->ex, oldest->buffer, oldest->n_buffers, err);
	if (st != BERTH_OK)
		ort_plan_free(oldest);
	oldest->used = ++e->used;
	*out = oldest;
	return st;
}

typedef struct samples {
	int32_t n;
	double *wall_s, *cpu_s, *strain;
	double **start_s, **end_s, **seg_cpu_s; /* [n_segments][n] */
	double worst;
} samples;

static berth_status new_samples(engine *e, int32_t n, int32_t n_segments, samples *s, berth_err *err)
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

static berth_status take_samples(engine *e, ort_plan *p, int32_t warmup, samples *s, berth_err *err)
{
	for (int32_t i = -warmup; i < s->n; i++) {
		double wall, cpu, strain;
		ort_plan_poison(p);
		BERTH_TRY(ort_plan_run(p, e->kind, e->ex, &wall, &cpu, &strain, err));
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

static void put_segments(berth_json_out *w, const ort_plan *p, const samples *s)
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
	ort_operator_time *x;
	int32_t n = 0;
	BERTH_TRY(ort_operator_times(&e->model, e->dev, p->placement, p->order, e->clock, e->kind, e->ex,
	                             &e->tmp, &x, &n, err));
	berth_json_open(w, "operators", '[');
	for (int32_t i = 0; i < n; i++) {
		berth_json_open(w, NULL, '{');
		if (x[i].op >= 0)
			berth_json_put_int(w, "op", x[i].op);
		berth_json_put_int(w, "device", p->segment[x[i].segment].dev);
		berth_json_put_string(w, "kernel", x[i].kind);
		if (x[i].in >= 0)
			berth_json_put_int(w, "in", x[i].in);
		berth_json_put_number(w, "start_s", x[i].start_s);
		berth_json_put_number(w, "end_s", x[i].end_s);
		berth_json_close(w, '}');
	}
	berth_json_close(w, ']');
	return BERTH_OK;
}

static berth_status run(engine *e, const berth_json *q, berth_json_out *w, berth_err *err)
{
	int32_t warmup = 0, repeats = 0, n, *placement, *order = NULL;
	bool operators = false;
	samples s = {0};
	ort_plan *p;
	BERTH_TRY(read_repeats(q, &warmup, &repeats, err));
	BERTH_TRY(read_numbers(e, q, "placement", e->model.n_ops, e->n_devs, &placement, &n, err));
	if (cJSON_GetObjectItemCaseSensitive(q->item, "order"))
		BERTH_TRY(read_numbers(e, q, "order", e->model.n_ops, e->model.n_ops, &order, &n, err));
	BERTH_TRY(berth_json_bool(q, "operators", &operators, err));
	BERTH_TRY(get_plan(e, placement, order, &p, err));
	BERTH_TRY(new_samples(e, repeats, p->n_segments, &s, err));
	BERTH_TRY(take_samples(e, p, warmup, &s, err));
	berth_json_put_numbers(w, "wall_s", s.wall_s, s.n);
	berth_json_put_numbers(w, "cpu_s", s.cpu_s, s.n);
	berth_json_put_numbers(w, "strain", s.strain, s.n);
	put_segments(w, p, &s);
	berth_json_put_number(w, "difference", isfinite(s.worst) ? s.worst : 1e300);
	berth_json_put_bool(w, "differs", !(s.worst <= ort_model_tolerance(&e->model)));
	return operators ? put_operators(e, p, w, err) : BERTH_OK;
}

static berth_status whole(engine *e, const berth_json *q, berth_json_out *w, berth_err *err)
{
	int32_t threads = 0, warmup = 0, repeats = 0;
	ort_session *session;
	ort_value **out;
	samples s = {0};
	BERTH_TRY(read_repeats(q, &warmup, &repeats, err));
	BERTH_TRY(berth_json_int(q, "threads", true, 0, 1024, &threads, err));
	BERTH_TRY(ort_model_whole(&e->model, threads, &session, err));
	BERTH_TRY(new_samples(e, repeats, 0, &s, err));
	BERTH_TRY(BERTH_NEW(&e->tmp, out, e->model.onnx.n_outputs, err));
	for (int32_t i = -warmup; i < repeats; i++) {
		double from = exec_now(), cpu = exec_cpu();
		berth_status st = ort_model_run_whole(&e->model, session, out, err);
		double to = exec_now(), cpu_to = exec_cpu();
		for (size_t o = 0; o < e->model.onnx.n_outputs; o++) {
			ort_value_free(e->lib, out[o]);
			out[o] = NULL;
		}
		BERTH_TRY(st);
		if (i < 0)
			continue;
		s.cpu_s[i] = cpu_to - cpu;
		s.wall_s[i] = e->clock == ORT_CLOCK_CPU && threads == 1 ? s.cpu_s[i] : to - from;
		s.strain[i] = s.wall_s[i] / s.cpu_s[i];
	}
	berth_json_put_numbers(w, "wall_s", s.wall_s, s.n);
	if (threads == 1) {
		berth_json_put_numbers(w, "cpu_s", s.cpu_s, s.n);
		berth_json_put_numbers(w, "strain", s.strain, s.n);
	}
	return BERTH_OK;
}

static berth_status profile(engine *e, const berth_json *q, berth_json_out *w, berth_err *err)
{
	int32_t device = 0, warmup = 0, repeats = 0, n = 0, *op;
	double *wall_s, *cpu_s, run_s = 0, task_s = 0;
	BERTH_TRY(read_repeats(q, &warmup, &repeats, err));
	BERTH_TRY(berth_json_int(q, "device", true, 0, e->n_devs - 1, &device, err));
	BERTH_TRY(read_numbers(e, q, "ops", -1, e->model.n_ops, &op, &n, err));
	BERTH_TRY(BERTH_NEW(&e->tmp, wall_s, repeats, err));
	BERTH_TRY(BERTH_NEW(&e->tmp, cpu_s, repeats, err));
	BERTH_TRY(ort_profile_overheads(device, e->kind, e->ex, &run_s, &task_s, err));
	berth_json_put_number(w, "run_overhead_s", run_s);
	berth_json_put_number(w, "segment_overhead_s", task_s);
	berth_json_open(w, "rows", '[');
	for (int32_t i = 0; i < n; i++) {
		berth_err why = {0};
		berth_status st = ort_profile_op(&e->model, e->dev, op[i], device, e->clock, e->kind, e->ex,
		                                 warmup, repeats, wall_s, cpu_s, &why);
		if (st != BERTH_OK && st != BERTH_EFORMAT)
			return berth_fail(err, st, "%s", why.msg);
		berth_json_open(w, NULL, '{');
		berth_json_put_int(w, "op", op[i]);
		if (st == BERTH_OK) {
			berth_json_put_numbers(w, "wall_s", wall_s, repeats);
			berth_json_put_numbers(w, "cpu_s", cpu_s, repeats);
		} else {
			berth_json_put_string(w, "cannot", why.msg);
		}
		berth_json_close(w, '}');
	}
	berth_json_close(w, ']');
	return BERTH_OK;
}

static berth_status transfers(engine *e, const berth_json *q, berth_json_out *w, berth_err *err)
{
	int32_t from = 0, to = 0, warmup = 0, repeats = 0, n = 0, *bytes;
	double *wall_s, unseen;
	BERTH_TRY(read_repeats(q, &warmup, &repeats, err));
	BERTH_TRY(berth_json_int(q, "from", true, 0, e->n_devs - 1, &from, err));
	BERTH_TRY(berth_json_int(q, "to", true, 0, e->n_devs - 1, &to, err));
	BERTH_TRY(read_numbers(e, q, "bytes", -1, 1 << 28, &bytes, &n, err));
	BERTH_TRY(BERTH_NEW(&e->tmp, wall_s, repeats, err));
	berth_json_open(w, "rows", '[');
	for (int32_t i = 0; i < n; i++) {
		for (int32_t k = -warmup; k < repeats; k++)
			if (e->clock == ORT_CLOCK_WALL)
				BERTH_TRY(ort_profile_transfer(from, to, (size_t)bytes[i], e->kind, e->ex,
				                               k < 0 ? &unseen : &wall_s[k], err));
		berth_json_open(w, NULL, '{');
		berth_json_put_int(w, "bytes", bytes[i]);
		berth_json_put_numbers(w, "wall_s", wall_s, repeats);
		berth_json_close(w, '}');
	}
	berth_json_close(w, ']');
	return BERTH_OK;
}

static berth_status set(engine *e, const berth_json *q, berth_json_out *w, berth_err *err)
{
	int32_t device = 0;
	double speed = 1;
	(void)w;
	BERTH_TRY(berth_json_int(q, "device", true, 0, e->n_devs - 1, &device, err));
	BERTH_TRY(berth_json_number(q, "speed", true, 0, &speed, err));
	if (!(speed > 0 && speed <= 1))
		return berth_fail(err, BERTH_EINVAL, "speed is %g; above 0 and at most 1 was expected",
		                  speed);
	e->dev[device].speed = e->start_speed[device] * speed;
	return BERTH_OK;
}

/* ---- the loop ---- */

typedef struct question {
	const char *name;
	berth_status (*answer)(engine *e, const berth_json *q, berth_json_out *w, berth_err *err);
	bool needs_model;
} question;

static const question questions[] = {{"hello", hello, false},    {"load", load, false},
                                     {"run", run, true},         {"whole", whole, true},
                                     {"profile", profile, true}, {"transfers", transfers, false},
                                     {"set", set, true}};

static berth_status answer(engine *e, const berth_json *q, berth_json_out *w, berth_err *err)
{
	const char *what = NULL;
	BERTH_TRY(berth_json_string(q, "do", true, &what, err));
	for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
		if (strcmp(questions[i].name, what) != 0)
			continue;
		if (questions[i].needs_model && !e->loaded)
			return berth_fail(err, BERTH_EINVAL, "no model was loaded");
		return questions[i].answer(e, q, w, err);
	}
	return berth_fail(err, BERTH_EINVAL, "no such question: %.40s", what);
}

static void open_answer(berth_json_out *w, berth_arena *mem, int32_t id, bool ok)
{
	berth_json_out_init(w, mem, false);
	berth_json_open(w, NULL, '{');
	berth_json_put_int(w, "id", id);
	berth_json_put_bool(w, "ok", ok);
}

static bool answer_line(engine *e, const char *line, size_t len)
{
	berth_err err = {0};
	berth_json_out w;
	cJSON *item = NULL;
	int32_t id = 0;
	const char *text;
	size_t n;
	berth_status st = berth_json_parse("question", line, len, &item, &err);
	berth_json q = {.item = item, .file = "question"};
	if (st == BERTH_OK)
		st = berth_json_int(&q, "id", true, 0, INT32_MAX, &id, &err);
	open_answer(&w, &e->tmp, id, true);
	if (st == BERTH_OK)
		st = answer(e, &q, &w, &err);
	if (st != BERTH_OK) {
		open_answer(&w, &e->tmp, id, false);
		berth_json_put_string(&w, "kind", kind_of(st));
		berth_json_put_string(&w, "error", err.msg);
	}
	berth_json_close(&w, '}');
	cJSON_Delete(item);
	if (berth_json_done(&w, &text, &n, &err) != BERTH_OK)
		return false;
	printf("%s\n", text);
	berth_arena_free(&e->tmp);
	return fflush(stdout) == 0;
}

static int usage(void)
{
	fprintf(stderr, "usage: berth-engine-ort [--devices NAME[=SPEED],...] [--executor threads|starpu] "
	                "[--optimize none|basic|extended|all]\n"
	                "                        [--clock wall|cpu] [--library FILE]\n"
	                "An engine of berth: questions come on standard input, a JSON object a line.\n");
	return 2;
}

static bool read_options(engine *e, int argc, char **argv)
{
	for (int i = 1; i < argc; i += 2) {
		const char **into = strcmp(argv[i], "--devices") == 0    ? &e->devices
		                    : strcmp(argv[i], "--executor") == 0 ? &e->executor
		                    : strcmp(argv[i], "--optimize") == 0 ? &e->optimize
		                    : strcmp(argv[i], "--clock") == 0    ? &e->clock_name
		                    : strcmp(argv[i], "--library") == 0  ? &e->library
		                                                         : NULL;
		if (!into || i + 1 == argc)
			return false;
		*into = argv[i + 1];
	}
	e->clock = strcmp(e->clock_name, "cpu") == 0 ? ORT_CLOCK_CPU : ORT_CLOCK_WALL;
	return (e->clock == ORT_CLOCK_CPU || strcmp(e->clock_name, "wall") == 0) &&
	       (strcmp(e->executor, "threads") == 0 || strcmp(e->executor, "starpu") == 0) &&
	       (level_of(e) != ORT_ALL || strcmp(e->optimize, "all") == 0);
}

int main(int argc, char **argv)
{
	static engine e;
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;
	/* Nobody waits for what is under way when berth is killed, and it would disturb the next run. The
	 * signal comes when the thread that started this process ends, which is the one that waits for the
	 * answers. Where berth is gone before this line, the input is at its end. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	e.executor = "threads";
	e.optimize = "all";
	e.clock_name = "wall";
	if (!read_options(&e, argc, argv))
		return usage();
	while ((n = getline(&line, &cap, stdin)) > 0)
		if (!answer_line(&e, line, (size_t)n))
			break;
	unload(&e);
	if (e.ex)
		e.kind->close(e.ex);
	free(line);
	berth_arena_free(&e.mem);
	return 0;
}
