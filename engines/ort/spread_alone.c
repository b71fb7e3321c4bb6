/* Times of single operators on a provider, and of tensors that go from one to another. Inputs lie where the
 * provider wants them, outputs stay there, and a run has ended when the device is done. An operator that is
 * quick is timed many times in one graph. */
#include "exec.h"
#include "onnx_model.h"
#include "onnx_wire.h"
#include "ort_model.h"
#include "ort_provider.h"
#include "ort_spread.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- copies of an operator, side by side in one graph ---- */

typedef struct spread_copies {
	int32_t n;             /* copies beside the operator itself */
	int32_t apart;         /* the value that each copy has for itself: an input that is no constant */
	const char **in_name;  /* [n] */
	int32_t n_out;         /* outputs of all copies */
	const char **out_name; /* [n_out] */
} spread_copies;

/* Fields of NodeProto. */
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3 };

static int32_t value_apart(const ort_model *m, int32_t op)
{
	const onnx_node *n = &m->onnx.node[m->op_node[op]];
	for (int32_t k = 0; k < n->n_in; k++) {
		const onnx_value *v = n->in[k] >= 0 ? &m->onnx.value[n->in[k]] : NULL;
		if (v && !v->constant && !(v->tensor && v->producer < 0))
			return n->in[k];
	}
	return -1;
}

/* Can op have copies? Operators with bodies cannot, nor those of constants alone: copies of equal inputs
 * would be made one. */
static bool spread_copies_can(const ort_model *m, int32_t op)
{
	const onnx_node *n = &m->onnx.node[m->op_node[op]];
	return n->n_all == n->n_in && !n->n_bodies && value_apart(m, op) >= 0;
}

static berth_status name_of_copy(const char *name, int32_t copy, berth_arena *mem, const char **out,
                                 berth_err *err)
{
	*out = berth_arena_printf(mem, "%s#%d", name, (int)copy);
	return *out ? BERTH_OK : berth_nomem(err);
}

/* The node with names of its own for what it makes and for the value apart; without a name. */
static berth_status put_copy(ort_model *m, int32_t op, int32_t copy, const spread_copies *c, berth_arena *mem,
                             ort_bytes *graph, berth_err *err)
{
	onnx_wire w = {m->onnx.file, m->file_data, m->onnx.node[m->op_node[op]].at, m->file_size};
	ort_bytes node = {.mem = mem};
	onnx_field f;
	const char *name;
	bool more;
	BERTH_TRY(onnx_wire_next(&w, &f, &more, err));
	w = onnx_wire_inside(&w, &f);
	for (;;) {
		BERTH_TRY(onnx_wire_next(&w, &f, &more, err));
		if (!more)
			break;
		if (f.number == NODE_NAME)
			continue;
		if (f.number != NODE_INPUT && f.number != NODE_OUTPUT) {
			ort_put(&node, m->file_data + f.tag_at, w.at - f.tag_at);
			continue;
		}
		BERTH_TRY(onnx_wire_text(&w, &f, "name", mem, &name, err));
		bool own = f.number == NODE_OUTPUT || strcmp(name, m->onnx.value[c->apart].name) == 0;
		if (own && *name)
			BERTH_TRY(name_of_copy(name, copy, mem, &name, err));
		ort_put_text(&node, f.number, name);
	}
	graph->failed |= node.failed;
	ort_put_field(graph, 1, node.data, node.len);
	return BERTH_OK;
}

static berth_status put_ends(ort_model *m, int32_t op, int32_t copy, spread_copies *c, berth_arena *mem,
                             ort_bytes *graph, berth_err *err)
{
	const onnx_node *n = &m->onnx.node[m->op_node[op]];
	BERTH_TRY(name_of_copy(m->onnx.value[c->apart].name, copy, mem, &c->in_name[copy], err));
	ort_put_value_info(graph, 11, c->in_name[copy], &m->shape[c->apart]);
	for (int32_t k = 0; k < n->n_out; k++) {
		const char **name = &c->out_name[c->n_out];
		if (n->out[k] < 0)
			continue;
		BERTH_TRY(name_of_copy(m->onnx.value[n->out[k]].name, copy, mem, name, err));
		ort_put_value_info(graph, 12, *name,
		                   m->shape[n->out[k]].elem ? &m->shape[n->out[k]] : NULL);
		c->n_out++;
	}
	return BERTH_OK;
}

/* Append n copies of op to the model of op alone (ort_model_part). Names live in mem. Fails: BERTH_EFORMAT,
 * BERTH_ENOMEM. */
/* A graph that stands twice in a model is one of all its fields: repeated ones add up (Protocol Buffers,
 * encoding, "last one wins"). */
static berth_status spread_copies_append(ort_model *m, int32_t op, int32_t n, berth_arena *mem,
					 ort_bytes *model, spread_copies *out, berth_err *err)
{
	ort_bytes graph = {.mem = mem};
	*out = (spread_copies){.n = n, .apart = value_apart(m, op)};
	BERTH_TRY_NEW(mem, n, err, out->in_name);
	BERTH_TRY_NEW(mem, (size_t)n * (size_t)m->onnx.node[m->op_node[op]].n_out, err, out->out_name);
	for (int32_t i = 0; i < n; i++) {
		BERTH_TRY(put_copy(m, op, i, out, mem, &graph, err));
		BERTH_TRY(put_ends(m, op, i, out, mem, &graph, err));
	}
	ort_put_field(model, 7, graph.data, graph.len);
	return model->failed || graph.failed ? berth_nomem(err) : BERTH_OK;
}

/* ---- runs ---- */

enum { HOPS = 8, COPIES = 8, EMPTY_RUNS = 30, LATE_RUNS = 32, OPSET = 13, IR_VERSION = 8 };

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
	const char **in_name;
	ort_value **in;
	int32_t n_in;
} alone;

static void free_alone(alone *a)
{
	ort_bind_free(a->lib, a->binding);
	ort_bind_free(a->lib, a->ahead);
	ort_session_free(a->lib, a->session);
	for (int32_t i = 0; i < a->n_in; i++)
		ort_value_free(a->lib, a->in[i]);
	berth_arena_free(&a->mem);
}

static berth_status new_inputs(alone *a, int32_t n, berth_err *err)
{
	BERTH_TRY_NEW(&a->mem, n, err, a->in_name);
	return BERTH_NEW(&a->mem, a->in, n, err);
}

static berth_status add_input(alone *a, const char *name, void *data, const ort_shape *shape, berth_err *err)
{
	a->in_name[a->n_in] = name;
	BERTH_TRY(ort_value_over(a->lib, data, shape, &a->in[a->n_in], err));
	a->n_in++;
	return BERTH_OK;
}

/* An operator that does nothing, on device `dev`. */
static berth_status put_node(ort_bytes *graph, const char *in, const char *out, int32_t dev, berth_err *err)
{
	ort_bytes node = {.mem = graph->mem};
	const char *label;
	size_t size;
	BERTH_TRY(spread_label(dev, graph->mem, &label, &size, err));
	ort_put_text(&node, 1, in);
	ort_put_text(&node, 2, out);
	ort_put_text(&node, 4, "Identity");
	ort_put(&node, label, size);
	graph->failed |= node.failed;
	ort_put_field(graph, 1, node.data, node.len);
	return BERTH_OK;
}

/* The flag (ort_provider.h) on device `dev` into a graph. */
static berth_status put_flag(ort_bytes *graph, int32_t dev, berth_err *err)
{
	BERTH_TRY(put_node(graph, ORT_FLAG_IN, ORT_FLAG_OUT, dev, err));
	ort_put_value_info(graph, 11, ORT_FLAG_IN, &flag_shape);
	ort_put_value_info(graph, 12, ORT_FLAG_OUT, &flag_shape);
	return BERTH_OK;
}

static berth_status add_flag_input(alone *a, berth_err *err)
{
	float *data;
	BERTH_TRY_NEW(&a->mem, 16, err, data);
	return add_input(a, ORT_FLAG_IN, data, &flag_shape, err);
}

/* Runs that count for nothing, before the others. */
static berth_status bind(alone *a, const char *const *out_name, int32_t n_out, const ort_provider *at,
                         berth_err *err)
{
	BERTH_TRY(ort_bind(a->lib, a->session, a->in_name, a->in, a->n_in, out_name, n_out, at,
	                   ort_cpu_memory(a->lib), &a->binding, err));
	BERTH_TRY(ort_bind_run(a->lib, a->session, a->binding, err));
	if (!at->late)
		return BERTH_OK;
	BERTH_TRY(ort_bind(a->lib, a->session, a->in_name, a->in, a->n_in, out_name, n_out, at, at->memory,
	                   &a->ahead, err));
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

/* ---- operators ---- */

/* Sessions that may use no other provider. */
static const char *const no_others[] = {"session.disable_cpu_ep_fallback", "1", NULL};

/* A graph that stands twice in a model is one of all its fields: repeated ones add up (Protocol Buffers,
 * encoding, "last one wins"). */
static berth_status append_flag(alone *a, ort_bytes *model, berth_err *err)
{
	ort_bytes graph = {.mem = &a->mem};
	BERTH_TRY(put_flag(&graph, 0, err));
	ort_put_field(model, 7, graph.data, graph.len);
	return model->failed || graph.failed ? berth_nomem(err) : BERTH_OK;
}

/* op and `copies` of it in a session. */
static berth_status op_session(alone *a, ort_model *m, const spread_device *dev, int threads, int32_t op,
                               int32_t copies, berth_err *err)
{
	int32_t node = m->op_node[op], *in, *out, n_in = 0, n_out = 0;
	const onnx_node *n = &m->onnx.node[node];
	const ort_provider *provider = &dev->provider;
	const ort_session_cfg cfg = {.threads = threads,
	                             .level = m->level,
	                             .config = ort_provider_is_cpu(provider) ? NULL : no_others,
	                             .provider = &provider,
	                             .n_providers = 1};
	const char **out_name;
	spread_copies c = {0};
	ort_bytes bytes;
	BERTH_TRY_NEW(&a->mem, m->onnx.n_values, err, in);
	BERTH_TRY_NEW(&a->mem, n->n_out, err, out);
	BERTH_TRY_NEW(&a->mem, (size_t)n->n_out * (size_t)(copies + 1), err, out_name);
	for (int32_t k = 0; k < n->n_out; k++)
		if (n->out[k] >= 0) {
			out_name[n_out] = m->onnx.value[n->out[k]].name;
			out[n_out++] = n->out[k];
		}
	BERTH_TRY(ort_model_part(m, &node, 1, out, n_out, &a->mem, in, &n_in, &bytes, err));
	if (copies)
		BERTH_TRY(spread_copies_append(m, op, copies, &a->mem, &bytes, &c, err));
	for (int32_t k = 0; k < c.n_out; k++)
		out_name[n_out + k] = c.out_name[k];
	if (provider->late)
		BERTH_TRY(append_flag(a, &bytes, err));
	BERTH_TRY(ort_session_new(m->lib, bytes.data, bytes.len, &cfg, &a->session, err));
	BERTH_TRY(new_inputs(a, n_in + copies + 1, err));
	for (int32_t i = 0; i < n_in; i++)
		BERTH_TRY(add_input(a, m->onnx.value[in[i]].name, m->data[in[i]], &m->shape[in[i]], err));
	for (int32_t i = 0; i < c.n; i++)
		BERTH_TRY(add_input(a, c.in_name[i], m->data[c.apart], &m->shape[c.apart], err));
	if (provider->late)
		BERTH_TRY(add_flag_input(a, err));
	return bind(a, out_name, n_out + c.n_out, provider, err);
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

static bool has_copies(const ort_model *m, int32_t op)
{
	const onnx_node *n = &m->onnx.node[m->op_node[op]];
	double bytes = 0;
	for (int32_t k = 0; k < n->n_all; k++)
		bytes += n->in[k] >= 0 ? (double)m->shape[n->in[k]].bytes : 0;
	for (int32_t k = 0; k < n->n_out; k++)
		bytes += n->out[k] >= 0 ? (double)m->shape[n->out[k]].bytes : 0;
	return COPIES * bytes <= COPY_BYTES && spread_copies_can(m, op);
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
                              berth_arena *mem, ort_bytes *out, berth_err *err)
{
	ort_bytes graph = {.mem = mem}, opset = {.mem = mem};
	char in[16] = "t0", last[16] = "t0";
	*out = (ort_bytes){.mem = mem};
	for (int32_t i = 0; i < n; i++) {
		memcpy(in, last, sizeof in);
		snprintf(last, sizeof last, "t%d", (int)i + 1);
		BERTH_TRY(put_node(&graph, in, last, dev[i % 2], err));
	}
	if (late)
		BERTH_TRY(put_flag(&graph, dev[(n - 1) % 2], err));
	ort_put_text(&graph, 2, "row");
	ort_put_value_info(&graph, 11, "t0", shape);
	ort_put_value_info(&graph, 12, last, shape);
	ort_put_text(&opset, 1, "");
	ort_put_varint(&opset, 2, OPSET);
	ort_put_varint(out, 1, IR_VERSION);
	ort_put_field(out, 7, graph.data, graph.len);
	ort_put_field(out, 8, opset.data, opset.len);
	return out->failed || graph.failed || opset.failed ? berth_nomem(err) : BERTH_OK;
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
	ort_bytes model;
	float *data;
	shape.bytes = 4 * (size_t)shape.dim[0];
	if (!last)
		return berth_nomem(err);
	BERTH_TRY_NEW(&a->mem, shape.dim[0] + 16, err, data);
	BERTH_TRY(row_model(n, turns, at->late, &shape, &a->mem, &model, err));
	BERTH_TRY(spread_rules(dev, cfg.n_providers, &a->mem, config, err));
	BERTH_TRY(spread_providers(dev, cfg.n_providers, &a->mem, &cfg.provider, err));
	cfg.config = one && !ort_provider_is_cpu(&dev[0].provider) ? no_others : config;
	BERTH_TRY(ort_session_new(a->lib, model.data, model.len, &cfg, &a->session, err));
	BERTH_TRY(new_inputs(a, 2, err));
	BERTH_TRY(add_input(a, "t0", data, &shape, err));
	if (at->late)
		BERTH_TRY(add_flag_input(a, err));
	return bind(a, &last, 1, at, err);
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
