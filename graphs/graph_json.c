/* berth-graph version 1: reading through the builder, writing in canonical form. */
#include "graph_format.h"

#include "sha256.h"

typedef struct of_op {
	berth_builder *b;
	int32_t op;
} of_op;

static berth_status read_time(void *ctx, const berth_json *item, berth_err *err)
{
	const of_op *of = ctx;
	double seconds = NAN;
	if (!cJSON_IsNull(item->item))
		BERTH_TRY(berth_json_value(item, 0, &seconds, err));
	return berth_json_placed(item->up, berth_builder_time(of->b, of->op, item->key, seconds, err), err);
}

static berth_status read_forbid(void *ctx, const berth_json *item, berth_err *err)
{
	const of_op *of = ctx;
	if (!cJSON_IsString(item->item))
		return berth_json_fail(item, err, "expected the name of a device");
	return berth_json_placed(item->up, berth_builder_forbid(of->b, of->op, item->item->valuestring, err),
	                         err);
}

/* Has the object just the keys of that kind? */
static bool are_dims(const berth_json *at, berth_dims_kind kind)
{
	int n = 0;
	while (berth_dims_key(kind, n))
		n++;
	if (n != cJSON_GetArraySize(at->item))
		return false;
	while (n > 0 && berth_json_get(at, berth_dims_key(kind, n - 1)).item)
		n--;
	return n == 0;
}

static berth_status read_dims(const berth_json *op, berth_dims *d, berth_err *err)
{
	static const char *const known[] = {
		"b",      "m",      "n",        "k",    "in",    "out", "pixels", "taps",
		"stride", "groups", "dilation", "rows", "width", NULL};
	berth_json at;
	BERTH_TRY(berth_json_object(op, "dims", false, &at, err));
	if (!at.item)
		return BERTH_OK;
	for (int kind = 1; kind < BERTH_N_DIMS_KINDS; kind++)
		if (are_dims(&at, (berth_dims_kind)kind))
			d->kind = (berth_dims_kind)kind;
	if (!d->kind) {
		BERTH_TRY(berth_json_keys(&at, known, err));
		return berth_json_fail(&at, err,
		                       "expected b, m, n, k of a product, b, in, out, pixels, taps, stride, "
		                       "groups, dilation of a convolution, or rows, width");
	}
	for (int i = 0; berth_dims_key(d->kind, i); i++)
		BERTH_TRY(berth_json_bytes(&at, berth_dims_key(d->kind, i), true, &d->at[i], err));
	return BERTH_OK;
}

static berth_status read_dtype(const berth_json *op, berth_precision *dtype, berth_err *err)
{
	const char *word = NULL;
	BERTH_TRY(berth_json_string(op, "dtype", false, &word, err));
	berth_json at = berth_json_get(op, "dtype");
	berth_err why;
	if (!word || berth_precision_find(word, dtype, &why) == BERTH_OK)
		return BERTH_OK;
	return berth_json_fail(&at, err, "%s", why.msg);
}

static berth_status read_op(void *ctx, const berth_json *at, berth_err *err)
{
	berth_builder *b = ctx;
	static const char *const known[] = {
		"name",        "type",        "flops",           "macs",         "read_bytes", "write_bytes",
		"param_bytes", "state_bytes", "workspace_bytes", "output_bytes", "time_s",     "colocate",
		"separate",    "pin",         "forbid",          "backward",     "dtype",      "dims",
		NULL};
	berth_op_spec s = {0};
	berth_json times, forbid;
	int32_t op;
	BERTH_TRY(berth_json_keys(at, known, err));
	BERTH_TRY(berth_json_string(at, "name", true, &s.name, err));
	BERTH_TRY(berth_json_string(at, "type", false, &s.type, err));
	BERTH_TRY(berth_json_number(at, "flops", false, 0, &s.flops, err));
	BERTH_TRY(berth_json_number(at, "macs", false, 0, &s.macs, err));
	BERTH_TRY(berth_json_bytes(at, "read_bytes", false, &s.read_bytes, err));
	BERTH_TRY(berth_json_bytes(at, "write_bytes", false, &s.write_bytes, err));
	BERTH_TRY(berth_json_bytes(at, "param_bytes", false, &s.param_bytes, err));
	BERTH_TRY(berth_json_bytes(at, "state_bytes", false, &s.state_bytes, err));
	BERTH_TRY(berth_json_bytes(at, "workspace_bytes", false, &s.workspace_bytes, err));
	BERTH_TRY(berth_json_bytes(at, "output_bytes", false, &s.output_bytes, err));
	BERTH_TRY(berth_json_string(at, "colocate", false, &s.colocate, err));
	BERTH_TRY(berth_json_string(at, "separate", false, &s.separate, err));
	BERTH_TRY(berth_json_string(at, "pin", false, &s.pin, err));
	BERTH_TRY(berth_json_bool(at, "backward", &s.backward, err));
	BERTH_TRY(read_dtype(at, &s.dtype, err));
	BERTH_TRY(read_dims(at, &s.dims, err));
	BERTH_TRY(berth_json_object(at, "time_s", false, &times, err));
	BERTH_TRY(berth_json_array(at, "forbid", false, &forbid, err));
	BERTH_TRY(berth_json_placed(at, berth_builder_op(b, &s, &op, err), err));
	of_op of = {b, op};
	BERTH_TRY(berth_json_each(&times, read_time, &of, err));
	return berth_json_each(&forbid, read_forbid, &of, err);
}

/* The operator that the string item names. */
static berth_status op_named(const berth_json *at, const berth_builder *b, const char *name, int32_t *op,
                             berth_err *err)
{
	*op = berth_builder_find(b, name);
	return *op >= 0 ? BERTH_OK : berth_json_fail(at, err, "unknown operator '%.80s'", name);
}

static berth_status read_edge(void *ctx, const berth_json *at, berth_err *err)
{
	berth_builder *b = ctx;
	static const char *const known[] = {"from", "to", "bytes", "tensor", "cut_s", NULL};
	const char *from = NULL, *to = NULL, *tensor = NULL;
	int64_t bytes = 0;
	double cut_s = 0;
	int32_t u, v;
	BERTH_TRY(berth_json_keys(at, known, err));
	BERTH_TRY(berth_json_string(at, "from", true, &from, err));
	BERTH_TRY(berth_json_string(at, "to", true, &to, err));
	BERTH_TRY(berth_json_bytes(at, "bytes", true, &bytes, err));
	BERTH_TRY(berth_json_string(at, "tensor", false, &tensor, err));
	berth_json at_from = berth_json_get(at, "from"), at_to = berth_json_get(at, "to");
	BERTH_TRY(op_named(&at_from, b, from, &u, err));
	BERTH_TRY(op_named(&at_to, b, to, &v, err));
	if (u == v)
		return berth_json_fail(at, err, "edge from '%.80s' to itself", from);
	BERTH_TRY(berth_json_placed(at, berth_builder_edge(b, u, v, bytes, tensor, err), err));
	BERTH_TRY(berth_json_number(at, "cut_s", false, 0, &cut_s, err));
	return berth_json_placed(at, berth_builder_cut(b, cut_s, err), err);
}

typedef struct of_param {
	berth_builder *b;
	int32_t param;
} of_param;

static berth_status read_use(void *ctx, const berth_json *item, berth_err *err)
{
	const of_param *of = ctx;
	int32_t op;
	if (!cJSON_IsString(item->item))
		return berth_json_fail(item, err, "expected the name of an operator");
	BERTH_TRY(op_named(item, of->b, item->item->valuestring, &op, err));
	return berth_builder_param_use(of->b, of->param, op, err);
}

static berth_status read_param(void *ctx, const berth_json *at, berth_err *err)
{
	of_param of = {.b = ctx};
	static const char *const known[] = {"name", "bytes", "ops", NULL};
	const char *name = NULL;
	int64_t bytes = 0;
	berth_json ops;
	BERTH_TRY(berth_json_keys(at, known, err));
	BERTH_TRY(berth_json_string(at, "name", true, &name, err));
	BERTH_TRY(berth_json_bytes(at, "bytes", true, &bytes, err));
	BERTH_TRY(berth_json_array(at, "ops", true, &ops, err));
	BERTH_TRY(berth_json_placed(at, berth_builder_param(of.b, name, bytes, &of.param, err), err));
	return berth_json_each(&ops, read_use, &of, err);
}

/* Each element of the array key by read. */
static berth_status read_all(const berth_json *doc, const char *key, bool required, berth_json_visit *read,
                             berth_builder *b, berth_err *err)
{
	berth_json list;
	BERTH_TRY(berth_json_array(doc, key, required, &list, err));
	return berth_json_each(&list, read, b, err);
}

static berth_status read_graph(const berth_json *doc, berth_arena *mem, berth_arena *tmp, berth_graph *out,
                               berth_err *err)
{
	static const char *const known[] = {"format", "version", "name", "ops", "params", "edges", NULL};
	const char *name = "";
	berth_builder *b;
	BERTH_TRY(berth_json_format(doc, "berth-graph", 1, err));
	BERTH_TRY(berth_json_keys(doc, known, err));
	BERTH_TRY(berth_json_string(doc, "name", false, &name, err));
	BERTH_TRY(berth_builder_new(tmp, name, &b, err));
	BERTH_TRY(berth_builder_texts(b, mem, err));
	BERTH_TRY(read_all(doc, "ops", true, read_op, b, err));
	BERTH_TRY(read_all(doc, "params", false, read_param, b, err));
	BERTH_TRY(read_all(doc, "edges", false, read_edge, b, err));
	return berth_json_placed(doc, berth_builder_finish(b, mem, out, err), err);
}

berth_status berth_graph_parse_json(const char *file, const char *text, size_t size, berth_arena *mem,
                                    berth_arena *tmp, berth_graph *out, berth_err *err)
{
	cJSON *doc;
	BERTH_TRY(berth_json_parse_large(file, text, size, &doc, err));
	berth_json at = {doc, file, NULL, NULL, 0};
	berth_arena_mark mark = berth_arena_get_mark(tmp), kept = berth_arena_get_mark(mem);
	berth_status st = read_graph(&at, mem, tmp, out, err);
	cJSON_Delete(doc);
	berth_arena_reset(tmp, mark);
	if (st != BERTH_OK)
		berth_arena_reset(mem, kept);
	return st;
}

static berth_status parse_format(const berth_content *from, const berth_read_options *opt, berth_arena *mem,
                                 berth_arena *tmp, berth_graph *out, berth_read_report *report,
                                 berth_err *err)
{
	(void)opt;
	(void)report;
	return berth_graph_parse_json(from->name, from->data, from->size, mem, tmp, out, err);
}

const berth_format berth_format_json = {"berth-graph", false, berth_text_is, parse_format, NULL};

/* ---- writing ---- */

static void put_nonzero(berth_json_out *w, const char *key, int64_t x)
{
	if (x)
		berth_json_put_int(w, key, x);
}

static void write_op(const berth_graph *g, int32_t op, berth_json_out *w)
{
	berth_json_open(w, NULL, '{');
	berth_json_flat(w, true);
	berth_json_put_string(w, "name", g->op_name[op]);
	if (g->op_type[op] >= 0)
		berth_json_put_string(w, "type", g->type_name[g->op_type[op]]);
	if (g->op_dtype[op])
		berth_json_put_string(w, "dtype", berth_precision_name((berth_precision)g->op_dtype[op]));
	if (g->op_shape[op]) {
		const berth_dims *d = berth_graph_dims(g, op);
		berth_json_open(w, "dims", '{');
		for (int i = 0; berth_dims_key(d->kind, i); i++)
			berth_json_put_int(w, berth_dims_key(d->kind, i), d->at[i]);
		berth_json_close(w, '}');
	}
	if (g->op_flops[op] > 0)
		berth_json_put_number(w, "flops", g->op_flops[op]);
	if (g->op_macs[op] > 0)
		berth_json_put_number(w, "macs", g->op_macs[op]);
	put_nonzero(w, "read_bytes", g->op_read_bytes[op]);
	put_nonzero(w, "write_bytes", g->op_write_bytes[op]);
	put_nonzero(w, "param_bytes", g->op_param_bytes[op]);
	put_nonzero(w, "state_bytes", g->op_state_bytes[op]);
	put_nonzero(w, "workspace_bytes", g->op_workspace_bytes[op]);
	put_nonzero(w, "output_bytes", g->op_output_bytes[op]);
	if (g->op_time_off[op] < g->op_time_off[op + 1]) {
		berth_json_open(w, "time_s", '{');
		BERTH_EACH (i, g->op_time_off, op)
			berth_json_put_number(w, berth_graph_time_name(g, i), g->time_s[i]);
		berth_json_close(w, '}');
	}
	if (g->op_coloc_name[op] >= 0)
		berth_json_put_string(w, "colocate", g->coloc_name[g->op_coloc_name[op]]);
	if (g->op_sep[op] >= 0)
		berth_json_put_string(w, "separate", g->sep_name[g->op_sep[op]]);
	if (g->op_pin[op])
		berth_json_put_string(w, "pin", g->op_pin[op]);
	if (g->op_forbid_off[op] < g->op_forbid_off[op + 1]) {
		berth_json_open(w, "forbid", '[');
		BERTH_EACH (i, g->op_forbid_off, op)
			berth_json_put_string(w, NULL, g->forbid_dev[i]);
		berth_json_close(w, ']');
	}
	if (g->op_backward[op])
		berth_json_put_bool(w, "backward", true);
	berth_json_close(w, '}');
	berth_json_flat(w, false);
}

berth_status berth_graph_write_json(const berth_graph *g, bool pretty, berth_arena *mem, const char **text,
                                    size_t *len, berth_err *err)
{
	berth_json_out w;
	berth_json_out_init(&w, mem, pretty);
	berth_json_open(&w, NULL, '{');
	berth_json_put_string(&w, "format", "berth-graph");
	berth_json_put_int(&w, "version", 1);
	berth_json_put_string(&w, "name", g->name);
	berth_json_open(&w, "ops", '[');
	for (int32_t op = 0; op < g->n_ops; op++)
		write_op(g, op, &w);
	berth_json_close(&w, ']');
	if (g->n_params) {
		berth_json_open(&w, "params", '[');
		for (int32_t p = 0; p < g->n_params; p++) {
			berth_json_open(&w, NULL, '{');
			berth_json_flat(&w, true);
			berth_json_put_string(&w, "name", g->param_name[p]);
			berth_json_put_int(&w, "bytes", g->param_bytes[p]);
			berth_json_open(&w, "ops", '[');
			BERTH_EACH (i, g->param_op_off, p)
				berth_json_put_string(&w, NULL, g->op_name[g->param_op[i]]);
			berth_json_close(&w, ']');
			berth_json_close(&w, '}');
			berth_json_flat(&w, false);
		}
		berth_json_close(&w, ']');
	}
	berth_json_open(&w, "edges", '[');
	for (int32_t t = 0; t < g->n_tensors; t++)
		BERTH_EACH (e, g->tensor_use_off, t) {
			berth_json_open(&w, NULL, '{');
			berth_json_flat(&w, true);
			berth_json_put_string(&w, "from", g->op_name[g->tensor_producer[t]]);
			berth_json_put_string(&w, "to", g->op_name[g->edge_consumer[e]]);
			berth_json_put_int(&w, "bytes", g->tensor_bytes[t]);
			if (g->tensor_name[t])
				berth_json_put_string(&w, "tensor", g->tensor_name[t]);
			if (g->tensor_cut_s && g->tensor_cut_s[t] > 0)
				berth_json_put_number(&w, "cut_s", g->tensor_cut_s[t]);
			berth_json_close(&w, '}');
			berth_json_flat(&w, false);
		}
	berth_json_close(&w, ']');
	berth_json_close(&w, '}');
	return berth_json_done(&w, text, len, err);
}

berth_status berth_graph_sha256(const berth_graph *g, berth_arena *tmp, char hex[65], berth_err *err)
{
	const char *text;
	size_t len;
	BERTH_SCRATCH(tmp);
	BERTH_TRY(berth_graph_write_json(g->plain ? g->plain : g, false, tmp, &text, &len, err));
	berth_sha256_hex(text, len, hex);
	return BERTH_OK;
}
