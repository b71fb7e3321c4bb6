/* Devices that are execution providers of ONNX Runtime, in one session. */
#include "cpu_model.h"
#include "ort_engine.h"
#include "ort_spread.h"
#include "text.h"

typedef struct providers {
	spread_device dev[ENGINE_DEVICES];
	int threads;
	double empty_s[ENGINE_DEVICES]; /* of a run in which nothing is computed; 0: not known yet */
	ort_spread plan[ENGINE_PLANS];
	int64_t used;
} providers;

/* ---- starting ---- */

static berth_status read_threads(engine *e, providers *x, berth_err *err)
{
	uint64_t n = 0;
	if (e->threads_text && !berth_text_whole(e->threads_text, strlen(e->threads_text), 1024, &n))
		return berth_fail(err, BERTH_EINVAL, "--threads '%.40s': 0 to 1024 was expected",
		                  e->threads_text);
	x->threads = (int)n;
	return BERTH_OK;
}

static berth_status load_libraries(engine *e, berth_err *err)
{
	for (int32_t i = 0; i < e->n_libraries; i++) {
		const char *text = e->provider_library[i], *path = strchr(text, '=');
		char name[ORT_PROVIDER_NAME];
		if (!path || path == text || !path[1] || path - text >= (ptrdiff_t)sizeof name)
			return berth_fail(err, BERTH_EINVAL,
			                  "--provider-library '%.60s': NAME=FILE was expected", text);
		snprintf(name, sizeof name, "%.*s", (int)(path - text), text);
		BERTH_TRY(ort_provider_load(e->lib, name, path + 1, err));
	}
	return BERTH_OK;
}

/* One "NAME=PROVIDER" of n bytes. */
static berth_status read_device(engine *e, providers *x, const char *text, size_t n, berth_err *err)
{
	const char *equals = memchr(text, '=', n);
	size_t name = equals ? (size_t)(equals - text) : n, provider = equals ? n - name - 1 : 0;
	spread_device *d = &x->dev[e->n_devs];
	char word[ORT_PROVIDER_NAME];
	if (e->n_devs == ENGINE_DEVICES || !name || name >= sizeof d->name || provider >= sizeof word)
		return berth_fail(err, BERTH_EINVAL,
		                  "--providers '%.60s': at most %d of NAME=PROVIDER were expected", text,
		                  ENGINE_DEVICES);
	snprintf(d->name, sizeof d->name, "%.*s", (int)name, text);
	if (!provider)
		return berth_fail(err, BERTH_EINVAL,
		                  "--providers: device '%s' has no provider; %s=%s, say, was expected",
		                  d->name, d->name, ORT_CPU_PROVIDER);
	snprintf(word, sizeof word, "%.*s", (int)provider, equals + 1);
	BERTH_TRY(ort_provider_find(e->lib, word, &d->provider, err));
	for (int32_t i = 0; i < e->n_devs; i++)
		if (strcmp(x->dev[i].name, d->name) == 0 ||
		    strcmp(x->dev[i].provider.name, d->provider.name) == 0)
			return berth_fail(err, BERTH_EINVAL,
			                  "--providers: '%s=%s' beside '%s=%s': devices have names of "
			                  "their own, and ONNX Runtime takes a provider once a session "
			                  "(\"has already been registered\")",
			                  d->name, d->provider.name, x->dev[i].name, x->dev[i].provider.name);
	e->n_devs++;
	return BERTH_OK;
}

static berth_status start(engine *e, berth_err *err)
{
	providers *x;
	e->n_devs = 0;
	BERTH_TRY_NEW(&e->mem, 1, err, x);
	BERTH_TRY(read_threads(e, x, err));
	BERTH_TRY(ort_providers_open(e->lib, err));
	BERTH_TRY(load_libraries(e, err));
	for (const char *text = e->providers; *text;) {
		size_t n = strcspn(text, ",");
		BERTH_TRY(read_device(e, x, text, n, err));
		text += n + (text[n] == ',');
	}
	if (!e->n_devs)
		return berth_fail(err, BERTH_EINVAL, "--providers names no device");
	e->state = x;
	return BERTH_OK;
}

static void stop(engine *e)
{
	(void)e;
}

static void put_device(const engine *e, int32_t device, berth_json_out *w)
{
	const providers *x = e->state;
	const spread_device *d = &x->dev[device];
	char model[256] = "", provider[ORT_PROVIDER_NAME + 8];
	snprintf(provider, sizeof provider, "%s%s%s", d->provider.name, *d->provider.id ? ":" : "",
	         d->provider.id);
	if (ort_provider_is_cpu(&d->provider))
		cpu_model("/proc/cpuinfo", 0, model, sizeof model);
	berth_json_open(w, NULL, '{');
	berth_json_put_string(w, "name", d->name);
	if (*d->provider.kind)
		berth_json_put_string(w, "kind", d->provider.kind);
	berth_json_put_string(w, "provider", provider);
	if (*model || *d->provider.what)
		berth_json_put_string(w, "model", *model ? model : d->provider.what);
	berth_json_put_int(w, "threads", x->threads);
	berth_json_close(w, '}');
}

/* ---- plans ---- */

static void forget_plans(engine *e)
{
	providers *x = e->state;
	for (int32_t i = 0; i < ENGINE_PLANS; i++)
		ort_spread_free(&x->plan[i]);
}

/* The plan of a placement, from those kept or new in place of the oldest. */
static berth_status get_plan(engine *e, const int32_t *placement, ort_spread **out, berth_err *err)
{
	providers *x = e->state;
	size_t size = (size_t)e->model.n_ops * sizeof *placement;
	ort_spread *oldest = &x->plan[0];
	for (int32_t i = 0; i < ENGINE_PLANS; i++) {
		ort_spread *p = &x->plan[i];
		if (p->m && memcmp(p->placement, placement, size) == 0) {
			p->used = ++x->used;
			*out = p;
			return BERTH_OK;
		}
		if (p->used < oldest->used)
			oldest = p;
	}
	ort_spread_free(oldest);
	BERTH_TRY(ort_spread_new(&e->model, x->dev, e->n_devs, placement, x->threads, oldest, err));
	oldest->used = ++x->used;
	*out = oldest;
	return BERTH_OK;
}

/* ---- run ---- */

static berth_status take_samples(ort_spread *p, int32_t warmup, engine_samples *s, berth_err *err)
{
	for (int32_t i = -warmup; i < s->n; i++) {
		double wall = 0, difference = 0;
		BERTH_TRY(ort_spread_run(p, &wall, &difference, err));
		s->worst = fmax(s->worst, difference);
		if (i < 0)
			continue;
		s->wall_s[i] = wall;
		for (int32_t k = 0; k < p->n_pieces; k++) {
			engine_segment *x = &s->segment[k];
			const spread_piece *from = &p->piece[k];
			x->dev = from->dev;
			x->n_ops = from->n_ops;
			x->op = from->op;
			x->start_s[i] = from->from * wall;
			x->end_s[i] = from->to * wall;
		}
	}
	return BERTH_OK;
}

/* The plan once more without optimisation: how far its outputs are from the unsplit model's without. */
static berth_status run_plain(engine *e, const int32_t *placement, double *difference, berth_err *err)
{
	const providers *x = e->state;
	ort_spread p;
	double wall;
	ort_model_swap_level(&e->model);
	berth_status st = ort_spread_new(&e->model, x->dev, e->n_devs, placement, x->threads, &p, err);
	if (st == BERTH_OK) {
		st = ort_spread_run(&p, &wall, difference, err);
		ort_spread_free(&p);
	}
	ort_model_swap_level(&e->model);
	return st;
}

static berth_status run(engine *e, const berth_json *q, berth_json_out *w, berth_err *err)
{
	int32_t warmup = 0, repeats = 0, n, *placement;
	bool operators = false;
	engine_samples s = {0};
	ort_spread *p;
	BERTH_TRY(engine_read_repeats(q, &warmup, &repeats, err));
	BERTH_TRY(engine_read_numbers(e, q, "placement", e->model.n_ops, e->n_devs, &placement, &n, err));
	BERTH_TRY(berth_json_bool(q, "operators", &operators, err));
	BERTH_TRY(get_plan(e, placement, &p, err));
	BERTH_TRY(engine_samples_new(e, repeats, p->n_pieces, &s, err));
	BERTH_TRY(take_samples(p, warmup, &s, err));
	if (engine_needs_plain(e, &s))
		BERTH_TRY(run_plain(e, placement, &s.plain, err));
	engine_put_samples(e, &s, false, w);
	if (p->n_elsewhere)
		berth_json_put_ints(w, "elsewhere", p->elsewhere, p->n_elsewhere);
	if (operators)
		engine_put_kernels(w, p->kernel, p->n_kernels, s.wall_s[0]);
	return BERTH_OK;
}

/* ---- the other questions ---- */

/* What ONNX Runtime does without labels: a node goes to the first provider that takes it. */
static berth_status whole(engine *e, const berth_json *q, berth_json_out *w, berth_err *err)
{
	const providers *x = e->state;
	int32_t threads = 0, warmup = 0, repeats = 0;
	ort_session_cfg cfg = {.level = e->level, .n_providers = e->n_devs};
	ort_session *session = NULL;
	engine_samples s = {0};
	BERTH_TRY(engine_read_repeats(q, &warmup, &repeats, err));
	BERTH_TRY(berth_json_int(q, "threads", true, 0, 1024, &threads, err));
	cfg.threads = threads;
	BERTH_TRY(spread_providers(x->dev, e->n_devs, &e->tmp, &cfg.provider, err));
	BERTH_TRY(engine_samples_new(e, repeats, 0, &s, err));
	BERTH_TRY(ort_model_session(&e->model, &cfg, &session, err));
	berth_status st = engine_time_whole(e, session, threads, warmup, &s, err);
	ort_session_free(e->lib, session);
	BERTH_TRY(st);
	berth_json_put_numbers(w, "wall_s", s.wall_s, s.n);
	return BERTH_OK;
}

static berth_status overheads(engine *e, int32_t device, double *run_s, double *segment_s, berth_err *err)
{
	providers *x = e->state;
	if (!(x->empty_s[device] > 0))
		BERTH_TRY(spread_empty_run(e->lib, &x->dev[device], x->threads, &x->empty_s[device], err));
	*run_s = x->empty_s[device];
	*segment_s = 0;
	return BERTH_OK;
}

static berth_status time_op(engine *e, int32_t op, int32_t device, int32_t warmup, int32_t repeats,
                            double *wall_s, double *cpu_s, berth_err *err)
{
	const providers *x = e->state;
	(void)cpu_s;
	return spread_time_op(&e->model, &x->dev[device], x->threads, op, x->empty_s[device], warmup, repeats,
	                      wall_s, err);
}

static berth_status time_hop(engine *e, int32_t from, int32_t to, size_t bytes, int32_t warmup,
                             int32_t repeats, double *wall_s, berth_err *err)
{
	const providers *x = e->state;
	return spread_time_hop(e->lib, &x->dev[from], &x->dev[to], x->threads, bytes, warmup, repeats, wall_s,
	                       err);
}

static berth_status set(engine *e, const berth_json *q, berth_json_out *w, berth_err *err)
{
	(void)e, (void)q, (void)w;
	return berth_fail(err, BERTH_EINFEASIBLE, "the speed of an execution provider cannot be set");
}

const engine_way engine_providers = {.start = start,
                                     .stop = stop,
                                     .executor = "session",
                                     .put_device = put_device,
                                     .forget_plans = forget_plans,
                                     .run = run,
                                     .whole = whole,
                                     .set = set,
                                     .overheads = overheads,
                                     .time_op = time_op,
                                     .time_hop = time_hop};
