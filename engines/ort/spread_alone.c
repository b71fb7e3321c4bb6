/* Times of single operators on a provider, and of tensors that go from one to another. Inputs lie where the
 * provider wants them, outputs stay there, and a run has ended when the device is done. An operator that is
 * quick is timed many times in one graph. */
#include "exec.h"
#include "onnx_model.h"
#include "protobuf.h"
#include "ort_model.h"
#include "ort_provider.h"
#include "ort_spread.h"

enum { HOPS = 8, COPIES = 8, EMPTY_RUNS = 30, LATE_RUNS = 32, OPSET = 13, IR_VERSION = 8 };

/* Fields of NodeProto. */
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_TYPE = 4 };

static const double LATE_S = 0.01;      /* as long may runs go without waiting */
static const double COPY_S = 0.002;     /* an operator that takes longer is timed without copies */
static const ort_shape flag_shape = {.elem = ONNX_FLOAT, .rank = 1, .dim = {1}, .bytes = 4};
static const double COPY_BYTES = 256e6; /* as much may the copies' tensors hold */

/* A session of one part, bound. A device that is late runs it several times and is waited for once: waiting
 * takes longer than most operators, and a session of many waits seldom. */
typedef struct alone {
	ort_lib *lib;
	berth_arena mem;
	ort_session *session;
	ort_binding *binding, *ahead; /* ahead: NULL, or runs that nobody waits for */
	int32_t runs_ahead;
	ort_tensors in, out; /* out: names alone */
} alone;

static void free_alone(alone *a)
{
	ort_bind_free(a->lib, a->binding);
	ort_bind_free(a->lib, a->ahead);
	ort_session_free(a->lib, a->session);
	ort_tensors_free(a->lib, &a->in);
	berth_arena_free(&a->mem);
}

/* ---- sessions and their runs ---- */

/* An operator that does nothing, on device `dev`. */
static void put_nothing(berth_strbuf *graph, const char *in, const char *out, int32_t dev)
{
	berth_strbuf node = {.mem = graph->mem};
	onnx_put_text(&node, NODE_INPUT, in);
	onnx_put_text(&node, NODE_OUTPUT, out);
	onnx_put_text(&node, NODE_TYPE, "Identity");
	spread_label(dev, &node);
	onnx_put_message(graph, 1, &node);
}

/* The flag (ort_provider.h) on device `dev` into a graph. */
static void put_flag(berth_strbuf *graph, int32_t dev)
{
	put_nothing(graph, ORT_FLAG_IN, ORT_FLAG_OUT, dev);
	ort_put_value_info(graph, 11, ORT_FLAG_IN, &flag_shape);
	ort_put_value_info(graph, 12, ORT_FLAG_OUT, &flag_shape);
}

static berth_status add_flag_input(alone *a, berth_err *err)
{
	float *data;
	BERTH_TRY_NEW(&a->mem, 16, err, data);
	return ort_tensors_add(a->lib, &a->in, ORT_FLAG_IN, data, &flag_shape, err);
}

/* Runs that count for nothing, before the others. */
static berth_status bind(alone *a, const ort_provider *at, berth_err *err)
{
	BERTH_TRY(
		ort_bind(a->lib, a->session, &a->in, &a->out, at, ort_cpu_memory(a->lib), &a->binding, err));
	BERTH_TRY(ort_bind_run(a->lib, a->session, a->binding, err));
	if (!at->late)
		return BERTH_OK;
	BERTH_TRY(ort_bind(a->lib, a->session, &a->in, &a->out, at, at->memory, &a->ahead, err));
	double from = exec_now();
	BERTH_TRY(ort_bind_run(a->lib, a->session, a->binding, err));
	a->runs_ahead = (int32_t)fmin(LATE_RUNS - 1, LATE_S / (exec_now() - from));
	return BERTH_OK;
}

/* Seconds a run. */
static berth_status time_run(alone *a, double *seconds, berth_err *err)
{
	double from = exec_now();
	for (int32_t i = 0; i < a->runs_ahead; i++)
		BERTH_TRY(ort_bind_run(a->lib, a->session, a->ahead, err));
	BERTH_TRY(ort_bind_run(a->lib, a->session, a->binding, err));
	*seconds = (exec_now() - from) / (a->runs_ahead + 1);
	return BERTH_OK;
}

static berth_status time_runs(alone *a, int32_t warmup, int32_t repeats, double *wall_s, berth_err *err)
{
	double seconds;
	for (int32_t i = -warmup; i < repeats; i++) {
		BERTH_TRY(time_run(a, &seconds, err));
		if (i >= 0)
			wall_s[i] = seconds;
	}
	return BERTH_OK;
}

/* ---- operators, and copies of them side by side in one graph ---- */

/* The value that each copy has for itself: an input that is no constant; -1: none. */
static int32_t value_apart(const ort_model *m, int32_t op)
{
	const onnx_node *n = ort_model_node(m, op);
	for (int32_t k = 0; k < n->n_in; k++) {
		const onnx_value *v = n->in[k] >= 0 ? &m->onnx.value[n->in[k]] : NULL;
		if (v && !v->constant && !(v->tensor && v->producer < 0))
			return n->in[k];
	}
	return -1;
}

static berth_status name_of_copy(const char *name, int32_t copy, berth_arena *mem, const char **out,
                                 berth_err *err)
{
	return berth_got(*out = berth_arena_printf(mem, "%s#%d", name, (int)copy), err);
}

/* The node with names of its own for what it makes and for the value apart; without a name. */
static berth_status put_copy(const ort_model *m, int32_t op, int32_t copy, const char *apart,
                             berth_strbuf *graph, berth_err *err)
{
	protobuf w = {m->onnx.file, m->onnx.data, ort_model_node(m, op)->at, m->onnx.size};
	berth_strbuf node = {.mem = graph->mem};
	protobuf_field f;
	const char *name;
	bool more;
	BERTH_TRY(protobuf_next(&w, &f, &more, err));
	w = protobuf_inside(&w, &f);
	for (;;) {
		BERTH_TRY(protobuf_next(&w, &f, &more, err));
		if (!more)
			break;
		if (f.number == NODE_NAME)
			continue;
		if (f.number != NODE_INPUT && f.number != NODE_OUTPUT) {
			ort_put_kept(&node, &w, &f);
			continue;
		}
		BERTH_TRY(protobuf_text(&w, &f, "name", graph->mem, &name, err));
		bool own = f.number == NODE_OUTPUT || strcmp(name, apart) == 0;
		if (own && *name)
			BERTH_TRY(name_of_copy(name, copy, graph->mem, &name, err));
		onnx_put_text(&node, f.number, name);
	}
	onnx_put_message(graph, 1, &node);
	return BERTH_OK;
}

/* n copies of op into a graph, and their inputs and outputs into the session's. */
static berth_status put_copies(alone *a, const ort_model *m, int32_t op, int32_t copies, berth_strbuf *graph,
                               berth_err *err)
{
	const onnx_node *n = ort_model_node(m, op);
	int32_t apart = value_apart(m, op);
	const char *name;
	for (int32_t i = 0; i < copies; i++) {
		BERTH_TRY(put_copy(m, op, i, m->onnx.value[apart].name, graph, err));
		BERTH_TRY(name_of_copy(m->onnx.value[apart].name, i, &a->mem, &name, err));
		ort_put_value_info(graph, 11, name, &m->shape[apart]);
		BERTH_TRY(ort_tensors_add(a->lib, &a->in, name, m->data[apart], &m->shape[apart], err));
		for (int32_t k = 0; k < n->n_out; k++) {
			int32_t v = n->out[k];
			if (v < 0)
				continue;
			BERTH_TRY(name_of_copy(m->onnx.value[v].name, i, &a->mem, &name, err));
			ort_put_value_info(graph, 12, name, m->shape[v].elem ? &m->shape[v] : NULL);
			a->out.name[a->out.n++] = name;
		}
	}
	return BERTH_OK;
}

/* Sessions that may use no other provider. */
static const char *const no_others[] = {"session.disable_cpu_ep_fallback", "1", NULL};

/* op and `copies` of it in a session. A graph that stands twice in a model is one of all its fields: repeated
 * ones add up (Protocol Buffers, encoding, "last one wins"). */
static berth_status op_session(alone *a, ort_model *m, const spread_device *dev, int threads, int32_t op,
                               int32_t copies, berth_err *err)
{
	int32_t *out, n_out;
	const ort_provider *provider = &dev->provider;
	const ort_session_cfg cfg = {.threads = threads,
	                             .level = m->level,
	                             .config = ort_provider_is_cpu(provider) ? NULL : no_others,
	                             .provider = &provider,
	                             .n_providers = 1};
	berth_strbuf bytes, more = {.mem = &a->mem};
	BERTH_TRY(ort_model_alone(m, op, copies + 1, &a->mem, &a->in, &out, &n_out, &bytes, err));
	BERTH_TRY(ort_tensors_new(&a->mem, (size_t)n_out * (size_t)(copies + 1), &a->out, err));
	for (int32_t i = 0; i < n_out; i++)
		a->out.name[a->out.n++] = m->onnx.value[out[i]].name;
	BERTH_TRY(put_copies(a, m, op, copies, &more, err));
	if (provider->late) {
		put_flag(&more, 0);
		BERTH_TRY(add_flag_input(a, err));
	}
	if (more.len || more.failed)
		onnx_put_message(&bytes, 7, &more);
	if (bytes.failed)
		return berth_nomem(err);
	BERTH_TRY(ort_session_new(m->lib, bytes.text, bytes.len, &cfg, &a->session, err));
	return bind(a, provider, err);
}

static berth_status time_copies(ort_model *m, const spread_device *dev, int threads, int32_t op,
                                int32_t copies, int32_t warmup, int32_t repeats, double *wall_s,
                                berth_err *err)
{
	alone a = {.lib = m->lib};
	berth_status st = op_session(&a, m, dev, threads, op, copies, err);
	if (st == BERTH_OK)
		st = time_runs(&a, warmup, repeats, wall_s, err);
	free_alone(&a);
	return st;
}

static double least(const double *x, int32_t n)
{
	double best = INFINITY;
	for (int32_t i = 0; i < n; i++)
		best = fmin(best, x[i]);
	return best;
}

/* Has op copies? Operators with bodies have none, nor those of constants alone, for copies of equal inputs
 * would be made one; nor large ones. */
static bool has_copies(const ort_model *m, int32_t op)
{
	const onnx_node *n = ort_model_node(m, op);
	double bytes = 0;
	for (int32_t k = 0; k < n->n_all; k++)
		bytes += n->in[k] >= 0 ? (double)m->shape[n->in[k]].bytes : 0;
	for (int32_t k = 0; k < n->n_out; k++)
		bytes += n->out[k] >= 0 ? (double)m->shape[n->out[k]].bytes : 0;
	return COPIES * bytes <= COPY_BYTES && n->n_all == n->n_in && !n->n_bodies && value_apart(m, op) >= 0;
}

berth_status spread_time_op(ort_model *m, const spread_device *dev, int threads, int32_t op, double empty_s,
                            int32_t warmup, int32_t repeats, double *wall_s, berth_err *err)
{
	BERTH_TRY(time_copies(m, dev, threads, op, 0, warmup, repeats, wall_s, err));
	double one = least(wall_s, repeats), base = empty_s, n = 1;
	if (one - empty_s < COPY_S && has_copies(m, op)) {
		BERTH_TRY(time_copies(m, dev, threads, op, COPIES, warmup, repeats, wall_s, err));
		base = one;
		n = COPIES;
	}
	for (int32_t i = 0; i < repeats; i++)
		wall_s[i] = fmax(0, wall_s[i] - base) / n;
	return BERTH_OK;
}

/* ---- rows of operators that do nothing ---- */

/* Nodes i = 0 .. n-1 on device dev[i % 2], and the flag where the last one's is late. */
static berth_status row_model(int32_t n, const int32_t dev[2], bool late, const ort_shape *shape,
                              berth_arena *mem, berth_strbuf *out, berth_err *err)
{
	berth_strbuf graph = {.mem = mem}, opset = {.mem = mem};
	char in[16] = "t0", last[16] = "t0";
	*out = (berth_strbuf){.mem = mem};
	for (int32_t i = 0; i < n; i++) {
		memcpy(in, last, sizeof in);
		snprintf(last, sizeof last, "t%d", (int)i + 1);
		put_nothing(&graph, in, last, dev[i % 2]);
	}
	if (late)
		put_flag(&graph, dev[(n - 1) % 2]);
	onnx_put_text(&graph, 2, "row");
	ort_put_value_info(&graph, 11, "t0", shape);
	ort_put_value_info(&graph, 12, last, shape);
	onnx_put_text(&opset, 1, "");
	onnx_put_number(&opset, 2, OPSET);
	onnx_put_number(out, 1, IR_VERSION);
	onnx_put_message(out, 7, &graph);
	onnx_put_message(out, 8, &opset);
	return out->failed ? berth_nomem(err) : BERTH_OK;
}

/* A row on two devices in turn, which may be the same. */
static berth_status row_session(alone *a, const spread_device *const pair[2], int threads, int32_t n,
                                size_t bytes, berth_err *err)
{
	bool one = strcmp(pair[0]->provider.name, pair[1]->provider.name) == 0;
	spread_device dev[2] = {*pair[0], *pair[1]};
	const int32_t turns[2] = {0, one ? 0 : 1};
	ort_shape shape = {.elem = ONNX_FLOAT, .rank = 1, .dim = {(int64_t)(bytes < 4 ? 1 : bytes / 4)}};
	ort_session_cfg cfg = {.threads = threads, .level = ORT_PLAIN, .n_providers = one ? 1 : 2};
	const ort_provider *at = &dev[n % 2 ? 0 : turns[1]].provider; /* of the last node */
	const char *config[3], *last = berth_arena_printf(&a->mem, "t%d", (int)n);
	berth_strbuf model;
	float *data;
	shape.bytes = 4 * (size_t)shape.dim[0];
	BERTH_TRY(berth_got(last, err));
	BERTH_TRY_NEW(&a->mem, shape.dim[0] + 16, err, data);
	BERTH_TRY(row_model(n, turns, at->late, &shape, &a->mem, &model, err));
	BERTH_TRY(spread_rules(dev, cfg.n_providers, &a->mem, config, err));
	BERTH_TRY(spread_providers(dev, cfg.n_providers, &a->mem, &cfg.provider, err));
	cfg.config = one && !ort_provider_is_cpu(&dev[0].provider) ? no_others : config;
	BERTH_TRY(ort_session_new(a->lib, model.text, model.len, &cfg, &a->session, err));
	BERTH_TRY(ort_tensors_new(&a->mem, 2, &a->in, err));
	BERTH_TRY(ort_tensors_add(a->lib, &a->in, "t0", data, &shape, err));
	if (at->late)
		BERTH_TRY(add_flag_input(a, err));
	BERTH_TRY(ort_tensors_new(&a->mem, 1, &a->out, err));
	a->out.name[a->out.n++] = last;
	return bind(a, at, err);
}

static berth_status time_row(ort_lib *lib, const spread_device *const pair[2], int threads, int32_t n,
                             size_t bytes, int32_t warmup, int32_t repeats, double *wall_s, berth_err *err)
{
	alone a = {.lib = lib};
	berth_status st = row_session(&a, pair, threads, n, bytes, err);
	if (strcmp(pair[0]->provider.name, pair[1]->provider.name) != 0)
		a.runs_ahead = 0; /* it waits at each way back */
	if (st == BERTH_OK)
		st = time_runs(&a, warmup, repeats, wall_s, err);
	free_alone(&a);
	return st;
}

berth_status spread_empty_run(ort_lib *lib, const spread_device *dev, int threads, double *seconds,
                              berth_err *err)
{
	const spread_device *const pair[2] = {dev, dev};
	double one[EMPTY_RUNS], row[EMPTY_RUNS];
	BERTH_TRY(time_row(lib, pair, threads, 1, 4, 3, EMPTY_RUNS, one, err));
	*seconds = least(one, EMPTY_RUNS);
	if (!dev->provider.late)
		return BERTH_OK;
	BERTH_TRY(time_row(lib, pair, threads, HOPS + 1, 4, 3, EMPTY_RUNS, row, err));
	*seconds = fmax(0, *seconds - fmax(0, least(row, EMPTY_RUNS) - *seconds) / HOPS);
	return BERTH_OK;
}

berth_status spread_time_hop(ort_lib *lib, const spread_device *from, const spread_device *to, int threads,
                             size_t bytes, int32_t warmup, int32_t repeats, double *wall_s, berth_err *err)
{
	const spread_device *const both[2] = {from, to}, *const first[2] = {from, from},
				   *const other[2] = {to, to};
	const double n = HOPS + 1, n_to = HOPS / 2.0;
	double stay[EMPTY_RUNS], there[EMPTY_RUNS];
	BERTH_TRY(time_row(lib, first, threads, HOPS + 1, bytes, 1, EMPTY_RUNS, stay, err));
	BERTH_TRY(time_row(lib, other, threads, HOPS + 1, bytes, 1, EMPTY_RUNS, there, err));
	BERTH_TRY(time_row(lib, both, threads, HOPS + 1, bytes, warmup, repeats, wall_s, err));
	double rest = least(stay, EMPTY_RUNS) * (n - n_to) / n + least(there, EMPTY_RUNS) * n_to / n;
	for (int32_t i = 0; i < repeats; i++)
		wall_s[i] = fmax(0, wall_s[i] - rest) / HOPS;
	return BERTH_OK;
}
