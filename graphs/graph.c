/* Building and checking of the operator graph; see graph.h for the numbering. */
#include "graph.h"

#include "text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES (INT64_C(1) << 53) /* of one figure: exact as a JSON number */
#define MAX_SUM (INT64_C(1) << 62)
#define MAX_CUT_S 1e9

typedef struct builder_op {
	berth_op_spec spec;
	int32_t type, coloc, sep;
} builder_op;

typedef struct builder_edge {
	int32_t from, to;
	int64_t bytes;
	double cut_s;
	const char *tensor;
} builder_edge;

typedef struct builder_pair { /* something attached to an operator or a parameter */
	int32_t at, op;
	const char *key;
	double seconds;
} builder_pair;

typedef struct builder_param {
	const char *name;
	int64_t bytes;
} builder_param;

struct berth_builder {
	berth_arena *tmp;
	const char *name;
	bool borrows; /* texts stay where they are until the graph is finished */
	builder_op *op;
	builder_edge *edge;
	builder_pair *time, *forbid, *use;
	builder_param *param;
	const char **type, **coloc, **sep;
	size_t n_ops, n_edges, n_times, n_forbids, n_uses, n_params, n_types, n_colocs, n_seps;
	size_t cap_op, cap_edge, cap_time, cap_forbid, cap_use, cap_param, cap_type, cap_coloc, cap_sep;
	berth_strmap ops, types, colocs, seps, params;
};

berth_status berth_builder_new(berth_arena *tmp, const char *name, berth_builder **out, berth_err *err)
{
	berth_builder *b;
	BERTH_TRY(BERTH_NEW(tmp, b, 1, err));
	b->tmp = tmp;
	b->name = berth_arena_strdup(tmp, name ? name : "");
	if (!b->name)
		return berth_nomem(err);
	berth_strmap_init(&b->ops, tmp);
	berth_strmap_init(&b->types, tmp);
	berth_strmap_init(&b->colocs, tmp);
	berth_strmap_init(&b->seps, tmp);
	berth_strmap_init(&b->params, tmp);
	*out = b;
	return BERTH_OK;
}

berth_status berth_builder_reserve(berth_builder *b, size_t n_ops, size_t n_edges, berth_err *err)
{
	b->borrows = true;
	if (b->op || b->edge)
		return BERTH_OK;
	b->cap_op = n_ops;
	b->cap_edge = n_edges;
	BERTH_TRY(berth_strmap_reserve(&b->ops, n_ops, err));
	BERTH_TRY(BERTH_NEW(b->tmp, b->op, n_ops, err));
	return BERTH_NEW(b->tmp, b->edge, n_edges, err);
}

static berth_status copy_string(berth_arena *a, const char **s, berth_err *err)
{
	if (*s && !(*s = berth_arena_strdup(a, *s)))
		return berth_nomem(err);
	return BERTH_OK;
}

static berth_status keep_string(berth_builder *b, const char **s, berth_err *err)
{
	return b->borrows ? BERTH_OK : copy_string(b->tmp, s, err);
}

/* Index of word in a growing list without repeats. */
static berth_status intern(berth_builder *b, berth_strmap *map, const char ***list, size_t *n, size_t *cap, const char *word, int32_t *index, berth_err *err)
{
	*index = berth_strmap_get(map, word);
	if (*index >= 0)
		return BERTH_OK;
	BERTH_TRY(keep_string(b, &word, err));
	BERTH_TRY(BERTH_GROW(b->tmp, *list, *n, cap, err));
	(*list)[*n] = word;
	return berth_strmap_add(map, word, (int32_t)(*n)++, index, err);
}

static berth_status check_figure(const char *op, const char *what, double x, berth_err *err)
{
	if (!isfinite(x) || x < 0)
		return berth_fail(err, BERTH_EFORMAT, "operator '%s': %s is %g; expected a finite number, 0 or more", op, what, x);
	return BERTH_OK;
}

static berth_status check_bytes(const char *op, const char *what, int64_t x, berth_err *err)
{
	if (x < 0 || x > MAX_BYTES)
		return berth_fail(err, BERTH_EFORMAT, "operator '%s': %s is %lld; expected 0 to 2^53", op, what, (long long)x);
	return BERTH_OK;
}

static berth_status check_spec(const berth_op_spec *s, berth_err *err)
{
	if (!s->name || !*s->name)
		return berth_fail(err, BERTH_EFORMAT, "an operator has an empty name");
	BERTH_TRY(check_figure(s->name, "flops", s->flops, err));
	BERTH_TRY(check_figure(s->name, "macs", s->macs, err));
	BERTH_TRY(check_bytes(s->name, "read_bytes", s->read_bytes, err));
	BERTH_TRY(check_bytes(s->name, "write_bytes", s->write_bytes, err));
	BERTH_TRY(check_bytes(s->name, "param_bytes", s->param_bytes, err));
	BERTH_TRY(check_bytes(s->name, "state_bytes", s->state_bytes, err));
	BERTH_TRY(check_bytes(s->name, "workspace_bytes", s->workspace_bytes, err));
	return check_bytes(s->name, "output_bytes", s->output_bytes, err);
}

berth_status berth_builder_op(berth_builder *b, const berth_op_spec *spec, int32_t *op, berth_err *err)
{
	BERTH_TRY(check_spec(spec, err));
	if (b->n_ops == INT32_MAX / 4)
		return berth_fail(err, BERTH_EFORMAT, "more than %d operators", INT32_MAX / 4);
	BERTH_TRY(BERTH_GROW(b->tmp, b->op, b->n_ops, &b->cap_op, err));
	builder_op *o = &b->op[b->n_ops];
	*o = (builder_op){.spec = *spec, .type = -1, .coloc = -1, .sep = -1};
	BERTH_TRY(keep_string(b, &o->spec.name, err));
	BERTH_TRY(keep_string(b, &o->spec.pin, err));
	if (spec->type)
		BERTH_TRY(intern(b, &b->types, &b->type, &b->n_types, &b->cap_type, spec->type, &o->type, err));
	if (spec->colocate)
		BERTH_TRY(intern(b, &b->colocs, &b->coloc, &b->n_colocs, &b->cap_coloc, spec->colocate, &o->coloc, err));
	if (spec->separate)
		BERTH_TRY(intern(b, &b->seps, &b->sep, &b->n_seps, &b->cap_sep, spec->separate, &o->sep, err));
	int32_t found;
	BERTH_TRY(berth_strmap_add(&b->ops, o->spec.name, (int32_t)b->n_ops, &found, err));
	if (found != (int32_t)b->n_ops)
		return berth_fail(err, BERTH_EFORMAT, "two operators are named '%s'; names must be unique", spec->name);
	if (op)
		*op = found;
	b->n_ops++;
	return BERTH_OK;
}

static berth_status attach(berth_builder *b, builder_pair **list, size_t *n, size_t *cap, builder_pair pair, berth_err *err)
{
	BERTH_TRY(keep_string(b, &pair.key, err));
	if (*n == INT32_MAX)
		return berth_fail(err, BERTH_EFORMAT, "more than %d attributes of one kind", INT32_MAX);
	BERTH_TRY(BERTH_GROW(b->tmp, *list, *n, cap, err));
	(*list)[(*n)++] = pair;
	return BERTH_OK;
}

berth_status berth_builder_time(berth_builder *b, int32_t op, const char *key, double seconds, berth_err *err)
{
	if (!isnan(seconds) && !(seconds >= 0 && seconds <= 1e6))
		return berth_fail(err, BERTH_EFORMAT, "operator '%s': time_s of '%s' is %g; expected 0 to 1e6 seconds", b->op[op].spec.name, key, seconds);
	return attach(b, &b->time, &b->n_times, &b->cap_time, (builder_pair){op, op, key, seconds}, err);
}

berth_status berth_builder_forbid(berth_builder *b, int32_t op, const char *device, berth_err *err)
{
	return attach(b, &b->forbid, &b->n_forbids, &b->cap_forbid, (builder_pair){op, op, device, 0}, err);
}

berth_status berth_builder_edge(berth_builder *b, int32_t from, int32_t to, int64_t bytes, const char *tensor, berth_err *err)
{
	if (bytes < 0 || bytes > MAX_BYTES)
		return berth_fail(err, BERTH_EFORMAT, "edge from '%s' to '%s': %lld bytes; expected 0 to 2^53", b->op[from].spec.name, b->op[to].spec.name,
		                  (long long)bytes);
	if (b->n_edges == INT32_MAX / 4)
		return berth_fail(err, BERTH_EFORMAT, "more than %d edges", INT32_MAX / 4);
	BERTH_TRY(keep_string(b, &tensor, err));
	BERTH_TRY(BERTH_GROW(b->tmp, b->edge, b->n_edges, &b->cap_edge, err));
	b->edge[b->n_edges++] = (builder_edge){.from = from, .to = to, .bytes = bytes, .tensor = tensor};
	return BERTH_OK;
}

berth_status berth_builder_cut(berth_builder *b, double seconds, berth_err *err)
{
	builder_edge *e = &b->edge[b->n_edges - 1];
	if (!(seconds >= 0 && seconds < MAX_CUT_S))
		return berth_fail(err, BERTH_EFORMAT, "edge from '%s' to '%s': a cut of %g s; expected 0 to %g", b->op[e->from].spec.name, b->op[e->to].spec.name, seconds, MAX_CUT_S);
	e->cut_s = seconds;
	return BERTH_OK;
}

berth_status berth_builder_param(berth_builder *b, const char *name, int64_t bytes, int32_t *param, berth_err *err)
{
	if (bytes < 0 || bytes > MAX_BYTES)
		return berth_fail(err, BERTH_EFORMAT, "parameter '%s': %lld bytes; expected 0 to 2^53", name, (long long)bytes);
	BERTH_TRY(keep_string(b, &name, err));
	BERTH_TRY(BERTH_GROW(b->tmp, b->param, b->n_params, &b->cap_param, err));
	b->param[b->n_params] = (builder_param){name, bytes};
	BERTH_TRY(berth_strmap_add(&b->params, name, (int32_t)b->n_params, param, err));
	if (*param != (int32_t)b->n_params)
		return berth_fail(err, BERTH_EFORMAT, "two parameters are named '%s'; names must be unique", name);
	b->n_params++;
	return BERTH_OK;
}

berth_status berth_builder_param_use(berth_builder *b, int32_t param, int32_t op, berth_err *err)
{
	return attach(b, &b->use, &b->n_uses, &b->cap_use, (builder_pair){param, op, NULL, 0}, err);
}

int32_t berth_builder_find(const berth_builder *b, const char *name)
{
	return berth_strmap_get(&b->ops, name);
}

/* ---- finishing ---- */

static int compare_names(const char *a, const char *b)
{
	if (!a || !b)
		return (a != NULL) - (b != NULL);
	return strcmp(a, b);
}

static int compare_edges(const void *pa, const void *pb)
{
	const builder_edge *a = pa, *b = pb;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	int c = compare_names(a->tensor, b->tensor);
	return c ? c : (a->to > b->to) - (a->to < b->to);
}

static int compare_pairs(const void *pa, const void *pb)
{
	const builder_pair *a = pa, *b = pb;
	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	int c = compare_names(a->key, b->key);
	return c ? c : (a->op > b->op) - (a->op < b->op);
}

static berth_status copy_to(berth_arena *mem, const char **s, const char *from, berth_err *err)
{
	*s = from;
	return copy_string(mem, s, err);
}

static berth_status finish_ops(const berth_builder *b, berth_arena *mem, berth_graph *g, berth_err *err)
{
	size_t n = b->n_ops;
	BERTH_TRY(BERTH_NEW(mem, g->op_name, n, err));
	BERTH_TRY(BERTH_NEW(mem, g->op_type, n, err));
	BERTH_TRY(BERTH_NEW(mem, g->op_flops, n, err));
	BERTH_TRY(BERTH_NEW(mem, g->op_macs, n, err));
	BERTH_TRY(BERTH_NEW(mem, g->op_read_bytes, n, err));
	BERTH_TRY(BERTH_NEW(mem, g->op_write_bytes, n, err));
	BERTH_TRY(BERTH_NEW(mem, g->op_param_bytes, n, err));
	BERTH_TRY(BERTH_NEW(mem, g->op_state_bytes, n, err));
	BERTH_TRY(BERTH_NEW(mem, g->op_workspace_bytes, n, err));
	BERTH_TRY(BERTH_NEW(mem, g->op_output_bytes, n, err));
	BERTH_TRY(BERTH_NEW(mem, g->op_coloc, n, err));
	BERTH_TRY(BERTH_NEW(mem, g->op_sep, n, err));
	BERTH_TRY(BERTH_NEW(mem, g->op_pin, n, err));
	BERTH_TRY(BERTH_NEW(mem, g->op_backward, n, err));
	double sum = 0;
	for (size_t i = 0; i < n; i++) {
		const berth_op_spec *s = &b->op[i].spec;
		BERTH_TRY(copy_to(mem, &g->op_name[i], s->name, err));
		BERTH_TRY(copy_to(mem, &g->op_pin[i], s->pin, err));
		g->op_type[i] = b->op[i].type;
		g->op_coloc[i] = b->op[i].coloc;
		g->op_sep[i] = b->op[i].sep;
		g->op_flops[i] = s->flops;
		g->op_macs[i] = s->macs;
		g->op_read_bytes[i] = s->read_bytes;
		g->op_write_bytes[i] = s->write_bytes;
		g->op_param_bytes[i] = s->param_bytes;
		g->op_state_bytes[i] = s->state_bytes;
		g->op_workspace_bytes[i] = s->workspace_bytes;
		g->op_output_bytes[i] = s->output_bytes;
		g->op_backward[i] = s->backward;
		sum += (double)s->read_bytes + (double)s->write_bytes + (double)s->param_bytes + (double)s->state_bytes + (double)s->workspace_bytes +
		       (double)s->output_bytes;
	}
	for (size_t i = 0; i < b->n_edges; i++)
		sum += (double)b->edge[i].bytes;
	for (size_t i = 0; i < b->n_params; i++)
		sum += (double)b->param[i].bytes;
	if (sum >= (double)MAX_SUM / 2)
		return berth_fail(err, BERTH_EFORMAT, "all bytes of the graph together are %.3g, beyond 2^61", sum);
	return BERTH_OK;
}

static berth_status finish_words(berth_arena *mem, const char **list, size_t n, const char ***out, berth_err *err)
{
	BERTH_TRY(BERTH_NEW(mem, *out, n, err));
	for (size_t i = 0; i < n; i++)
		BERTH_TRY(copy_to(mem, &(*out)[i], list[i], err));
	return BERTH_OK;
}

/* Offsets of sorted pairs by their at, for n_at places. */
static berth_status offsets(berth_arena *mem, const builder_pair *list, size_t n, size_t n_at, int32_t **off, berth_err *err)
{
	BERTH_TRY(BERTH_NEW(mem, *off, n_at + 1, err));
	for (size_t i = 0; i < n; i++)
		(*off)[list[i].at + 1]++;
	for (size_t i = 0; i < n_at; i++)
		(*off)[i + 1] += (*off)[i];
	return BERTH_OK;
}

static void sort_pairs(builder_pair *list, size_t n)
{
	if (n)
		qsort(list, n, sizeof *list, compare_pairs);
}

/* Neighbours of the sorted list with equal (at, key): the second one, or NULL. */
static const builder_pair *repeated(const builder_pair *list, size_t n, bool with_op)
{
	for (size_t i = 1; i < n; i++)
		if (list[i].at == list[i - 1].at && compare_names(list[i].key, list[i - 1].key) == 0 && (!with_op || list[i].op == list[i - 1].op))
			return &list[i];
	return NULL;
}

static berth_status finish_times(berth_builder *b, berth_arena *mem, berth_graph *g, berth_err *err)
{
	sort_pairs(b->time, b->n_times);
	const builder_pair *twice = repeated(b->time, b->n_times, false);
	if (twice)
		return berth_fail(err, BERTH_EFORMAT, "operator '%s' has two times for '%s'", b->op[twice->at].spec.name, twice->key);
	BERTH_TRY(offsets(mem, b->time, b->n_times, b->n_ops, &g->op_time_off, err));
	BERTH_TRY(BERTH_NEW(mem, g->time_key, b->n_times, err));
	BERTH_TRY(BERTH_NEW(mem, g->time_s, b->n_times, err));
	for (size_t i = 0; i < b->n_times; i++) {
		g->time_s[i] = b->time[i].seconds;
		BERTH_TRY(copy_to(mem, &g->time_key[i], b->time[i].key, err));
	}
	return BERTH_OK;
}

static berth_status finish_forbids(berth_builder *b, berth_arena *mem, berth_graph *g, berth_err *err)
{
	sort_pairs(b->forbid, b->n_forbids);
	BERTH_TRY(offsets(mem, b->forbid, b->n_forbids, b->n_ops, &g->op_forbid_off, err));
	BERTH_TRY(BERTH_NEW(mem, g->forbid_dev, b->n_forbids, err));
	for (size_t i = 0; i < b->n_forbids; i++)
		BERTH_TRY(copy_to(mem, &g->forbid_dev[i], b->forbid[i].key, err));
	return BERTH_OK;
}

static berth_status finish_params(berth_builder *b, berth_arena *mem, berth_graph *g, berth_err *err)
{
	sort_pairs(b->use, b->n_uses);
	const builder_pair *twice = repeated(b->use, b->n_uses, true);
	if (twice)
		return berth_fail(err, BERTH_EFORMAT, "parameter '%s' names operator '%s' twice", b->param[twice->at].name, b->op[twice->op].spec.name);
	BERTH_TRY(BERTH_NEW(mem, g->param_name, b->n_params, err));
	BERTH_TRY(BERTH_NEW(mem, g->param_bytes, b->n_params, err));
	for (size_t i = 0; i < b->n_params; i++) {
		BERTH_TRY(copy_to(mem, &g->param_name[i], b->param[i].name, err));
		g->param_bytes[i] = b->param[i].bytes;
	}
	BERTH_TRY(offsets(mem, b->use, b->n_uses, b->n_params, &g->param_op_off, err));
	BERTH_TRY(BERTH_NEW(mem, g->param_op, b->n_uses, err));
	for (size_t i = 0; i < b->n_uses; i++)
		g->param_op[i] = b->use[i].op;
	BERTH_TRY(BERTH_NEW(mem, g->op_param_off, b->n_ops + 1, err));
	BERTH_TRY(BERTH_NEW(mem, g->op_param, b->n_uses, err));
	for (size_t i = 0; i < b->n_uses; i++)
		g->op_param_off[b->use[i].op + 1]++;
	for (size_t i = 0; i < b->n_ops; i++)
		g->op_param_off[i + 1] += g->op_param_off[i];
	int32_t *fill;
	BERTH_TRY(BERTH_NEW(b->tmp, fill, b->n_ops, err));
	for (size_t i = 0; i < b->n_uses; i++) { /* uses ascend by parameter */
		int32_t op = b->use[i].op;
		g->op_param[g->op_param_off[op] + fill[op]++] = b->use[i].at;
	}
	return BERTH_OK;
}

static const char *shown(const char *tensor)
{
	return tensor ? tensor : "(unnamed)";
}

/* Edges sorted by (producer, tensor, consumer) become tensors with uses; checks repeats and unequal bytes. */
static berth_status finish_tensors(berth_builder *b, berth_arena *mem, berth_graph *g, berth_err *err)
{
	const builder_edge *e = b->edge;
	size_t n = b->n_edges;
	int32_t n_tensors = 0;
	bool cuts = false;
	if (n)
		qsort(b->edge, n, sizeof *e, compare_edges);
	for (size_t i = 0; i < n; i++) {
		bool same = i && e[i].from == e[i - 1].from && compare_names(e[i].tensor, e[i - 1].tensor) == 0;
		n_tensors += !same;
		if (same && e[i].to == e[i - 1].to)
			return berth_fail(err, BERTH_EFORMAT, "the edge from '%s' to '%s' with tensor %s stands twice", b->op[e[i].from].spec.name,
			                  b->op[e[i].to].spec.name, shown(e[i].tensor));
		if (same && e[i].bytes != e[i - 1].bytes)
			return berth_fail(err, BERTH_EFORMAT, "tensor %s of '%s' has %lld bytes on one edge and %lld on another; name the tensors if they differ",
			                  shown(e[i].tensor), b->op[e[i].from].spec.name, (long long)e[i - 1].bytes, (long long)e[i].bytes);
		if (same && (e[i].cut_s < e[i - 1].cut_s || e[i].cut_s > e[i - 1].cut_s))
			return berth_fail(err, BERTH_EFORMAT, "tensor %s of '%s' has a cut of %g s on one edge and %g on another", shown(e[i].tensor),
			                  b->op[e[i].from].spec.name, e[i - 1].cut_s, e[i].cut_s);
		cuts |= e[i].cut_s > 0;
	}
	g->n_tensors = n_tensors;
	BERTH_TRY(BERTH_NEW(mem, g->op_tensor_off, b->n_ops + 1, err));
	BERTH_TRY(BERTH_NEW(mem, g->tensor_producer, n_tensors, err));
	BERTH_TRY(BERTH_NEW(mem, g->tensor_name, n_tensors, err));
	BERTH_TRY(BERTH_NEW(mem, g->tensor_bytes, n_tensors, err));
	if (cuts)
		BERTH_TRY(BERTH_NEW(mem, g->tensor_cut_s, n_tensors, err));
	BERTH_TRY(BERTH_NEW(mem, g->tensor_use_off, (size_t)n_tensors + 1, err));
	BERTH_TRY(BERTH_NEW(mem, g->edge_consumer, n, err));
	int32_t t = -1;
	for (size_t i = 0; i < n; i++) {
		if (!i || e[i].from != e[i - 1].from || compare_names(e[i].tensor, e[i - 1].tensor) != 0) {
			t++;
			g->tensor_producer[t] = e[i].from;
			g->tensor_bytes[t] = e[i].bytes;
			if (cuts)
				g->tensor_cut_s[t] = e[i].cut_s;
			BERTH_TRY(copy_to(mem, &g->tensor_name[t], e[i].tensor, err));
			g->op_tensor_off[e[i].from + 1]++;
		}
		g->tensor_use_off[t + 1]++;
		g->edge_consumer[i] = e[i].to;
	}
	for (int32_t i = 0; i < n_tensors; i++)
		g->tensor_use_off[i + 1] += g->tensor_use_off[i];
	for (size_t i = 0; i < b->n_ops; i++)
		g->op_tensor_off[i + 1] += g->op_tensor_off[i];
	return BERTH_OK;
}

static berth_status finish_inputs(berth_builder *b, berth_arena *mem, berth_graph *g, berth_err *err)
{
	int32_t *fill;
	BERTH_TRY(BERTH_NEW(mem, g->op_in_off, b->n_ops + 1, err));
	BERTH_TRY(BERTH_NEW(mem, g->in_tensor, b->n_edges, err));
	BERTH_TRY(BERTH_NEW(b->tmp, fill, b->n_ops, err));
	for (size_t i = 0; i < b->n_edges; i++)
		g->op_in_off[g->edge_consumer[i] + 1]++;
	for (size_t i = 0; i < b->n_ops; i++)
		g->op_in_off[i + 1] += g->op_in_off[i];
	for (int32_t t = 0; t < g->n_tensors; t++)
		for (int32_t e = g->tensor_use_off[t]; e < g->tensor_use_off[t + 1]; e++) {
			int32_t op = g->edge_consumer[e];
			g->in_tensor[g->op_in_off[op] + fill[op]++] = t;
		}
	return BERTH_OK;
}

/* A cycle among the operators that Kahn's algorithm could not order (waiting[op] > 0): walk back until one repeats, then name it. */
static berth_status fail_cycle(const berth_graph *g, const int32_t *waiting, int32_t *seen, berth_err *err)
{
	char path[360];
	size_t len = 0;
	int32_t op = 0;
	while (op < g->n_ops && waiting[op] <= 0)
		op++;
	for (int32_t step = 1; !seen[op]; step++) {
		seen[op] = step;
		int32_t i = g->op_in_off[op];
		while (waiting[g->tensor_producer[g->in_tensor[i]]] <= 0)
			i++;
		op = g->tensor_producer[g->in_tensor[i]];
	}
	int32_t start = op, shown_ops = 0;
	do {
		len += (size_t)snprintf(path + len, sizeof path - len, "'%.60s' <- ", g->op_name[op]);
		int32_t i = g->op_in_off[op];
		while (waiting[g->tensor_producer[g->in_tensor[i]]] <= 0)
			i++;
		op = g->tensor_producer[g->in_tensor[i]];
	} while (op != start && ++shown_ops < 4);
	snprintf(path + len, sizeof path - len, op == start ? "'%.60s'" : "... <- '%.60s'", g->op_name[start]);
	return berth_fail(err, BERTH_EFORMAT, "the graph has a cycle: %s", path);
}

static void sift_up(int32_t *heap, int32_t i)
{
	for (int32_t x = heap[i]; i > 0 && heap[(i - 1) / 2] > x; i = (i - 1) / 2) {
		heap[i] = heap[(i - 1) / 2];
		heap[(i - 1) / 2] = x;
	}
}

static int32_t pop_least(int32_t *heap, int32_t *n)
{
	int32_t least = heap[0], x = heap[--*n], i = 0;
	for (;;) {
		int32_t c = 2 * i + 1;
		if (c >= *n)
			break;
		c += c + 1 < *n && heap[c + 1] < heap[c];
		if (heap[c] >= x)
			break;
		heap[i] = heap[c];
		i = c;
	}
	heap[i] = x;
	return least;
}

/* Kahn's order, lowest operator index first. O(ops log ops + edges). */
static berth_status finish_topo(berth_builder *b, berth_arena *mem, berth_graph *g, berth_err *err)
{
	int32_t *waiting, *heap, n_heap = 0, n_done = 0;
	BERTH_TRY(BERTH_NEW(mem, g->topo_op, b->n_ops, err));
	BERTH_TRY(BERTH_NEW(mem, g->op_topo, b->n_ops, err));
	BERTH_TRY(BERTH_NEW(b->tmp, waiting, b->n_ops, err));
	BERTH_TRY(BERTH_NEW(b->tmp, heap, b->n_ops, err));
	for (int32_t op = 0; op < g->n_ops; op++) {
		waiting[op] = g->op_in_off[op + 1] - g->op_in_off[op];
		if (!waiting[op])
			heap[n_heap++] = op; /* ascending: already a heap */
	}
	while (n_heap) {
		int32_t op = pop_least(heap, &n_heap);
		g->op_topo[op] = n_done;
		g->topo_op[n_done++] = op;
		for (int32_t e = g->tensor_use_off[g->op_tensor_off[op]]; e < g->tensor_use_off[g->op_tensor_off[op + 1]]; e++)
			if (--waiting[g->edge_consumer[e]] == 0) {
				heap[n_heap] = g->edge_consumer[e];
				sift_up(heap, n_heap++);
			}
	}
	if (n_done == g->n_ops)
		return BERTH_OK;
	memset(heap, 0, b->n_ops * sizeof *heap);
	return fail_cycle(g, waiting, heap, err);
}

berth_status berth_builder_finish(berth_builder *b, berth_arena *mem, berth_graph *out, berth_err *err)
{
	berth_graph g = {.n_ops = (int32_t)b->n_ops, .n_edges = (int32_t)b->n_edges, .n_types = (int32_t)b->n_types, .n_params = (int32_t)b->n_params,
	                 .n_colocs = (int32_t)b->n_colocs, .n_seps = (int32_t)b->n_seps, .n_times = (int32_t)b->n_times, .n_forbids = (int32_t)b->n_forbids};
	BERTH_TRY(copy_to(mem, &g.name, b->name, err));
	BERTH_TRY(finish_ops(b, mem, &g, err));
	BERTH_TRY(finish_words(mem, b->type, b->n_types, &g.type_name, err));
	BERTH_TRY(finish_words(mem, b->coloc, b->n_colocs, &g.coloc_name, err));
	BERTH_TRY(finish_words(mem, b->sep, b->n_seps, &g.sep_name, err));
	BERTH_TRY(finish_times(b, mem, &g, err));
	BERTH_TRY(finish_forbids(b, mem, &g, err));
	BERTH_TRY(finish_params(b, mem, &g, err));
	BERTH_TRY(finish_tensors(b, mem, &g, err));
	BERTH_TRY(finish_inputs(b, mem, &g, err));
	BERTH_TRY(finish_topo(b, mem, &g, err));
	*out = g;
	return BERTH_OK;
}

/* ---- checking and sums ---- */

static berth_status check_offsets(const char *what, const int32_t *off, int32_t n, int32_t total, berth_err *err)
{
	if (off[0] != 0 || off[n] != total)
		return berth_fail(err, BERTH_EFORMAT, "%s: offsets span %d to %d, expected 0 to %d", what, off[0], off[n], total);
	for (int32_t i = 0; i < n; i++)
		if (off[i] > off[i + 1])
			return berth_fail(err, BERTH_EFORMAT, "%s: offset %d falls", what, i);
	return BERTH_OK;
}

berth_status berth_graph_check(const berth_graph *g, berth_err *err)
{
	BERTH_TRY(check_offsets("op_time_off", g->op_time_off, g->n_ops, g->n_times, err));
	BERTH_TRY(check_offsets("op_forbid_off", g->op_forbid_off, g->n_ops, g->n_forbids, err));
	BERTH_TRY(check_offsets("op_tensor_off", g->op_tensor_off, g->n_ops, g->n_tensors, err));
	BERTH_TRY(check_offsets("tensor_use_off", g->tensor_use_off, g->n_tensors, g->n_edges, err));
	BERTH_TRY(check_offsets("op_in_off", g->op_in_off, g->n_ops, g->n_edges, err));
	for (int32_t op = 0; op < g->n_ops; op++) {
		if (g->op_topo[op] < 0 || g->op_topo[op] >= g->n_ops || g->topo_op[g->op_topo[op]] != op)
			return berth_fail(err, BERTH_EFORMAT, "operator %d: topological order and its inverse disagree", op);
		if (g->op_type[op] >= g->n_types || g->op_coloc[op] >= g->n_colocs || g->op_sep[op] >= g->n_seps)
			return berth_fail(err, BERTH_EFORMAT, "operator %d: type, colocation or separation group out of range", op);
		for (int32_t t = g->op_tensor_off[op]; t < g->op_tensor_off[op + 1]; t++)
			if (g->tensor_producer[t] != op || (t > g->op_tensor_off[op] && compare_names(g->tensor_name[t - 1], g->tensor_name[t]) >= 0))
				return berth_fail(err, BERTH_EFORMAT, "tensor %d: wrong producer or order", t);
		for (int32_t i = g->op_in_off[op]; i < g->op_in_off[op + 1]; i++) {
			int32_t t = g->in_tensor[i];
			if (t < 0 || t >= g->n_tensors || g->op_topo[g->tensor_producer[t]] >= g->op_topo[op])
				return berth_fail(err, BERTH_EFORMAT, "operator %d: input %d does not come before it", op, i);
		}
	}
	for (int32_t t = 0; t < g->n_tensors; t++)
		for (int32_t e = g->tensor_use_off[t]; e < g->tensor_use_off[t + 1]; e++)
			if (g->edge_consumer[e] < 0 || g->edge_consumer[e] >= g->n_ops || (e > g->tensor_use_off[t] && g->edge_consumer[e - 1] >= g->edge_consumer[e]))
				return berth_fail(err, BERTH_EFORMAT, "tensor %d: consumers not ascending", t);
	return BERTH_OK;
}

int32_t berth_graph_find(const berth_graph *g, const char *name)
{
	for (int32_t op = 0; op < g->n_ops; op++)
		if (strcmp(g->op_name[op], name) == 0)
			return op;
	return -1;
}

double berth_graph_flops(const berth_graph *g)
{
	double sum = 0;
	for (int32_t op = 0; op < g->n_ops; op++)
		sum += g->op_flops[op];
	return sum;
}

double berth_graph_macs(const berth_graph *g)
{
	double sum = 0;
	for (int32_t op = 0; op < g->n_ops; op++)
		sum += g->op_macs[op];
	return sum;
}

int64_t berth_graph_param_bytes(const berth_graph *g)
{
	int64_t sum = 0;
	for (int32_t op = 0; op < g->n_ops; op++)
		sum += g->op_param_bytes[op];
	for (int32_t p = 0; p < g->n_params; p++)
		sum += g->param_bytes[p];
	return sum;
}
