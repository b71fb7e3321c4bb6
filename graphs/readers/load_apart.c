/* Reading a graph from a stranger's bytes in a sandbox (sandbox.h): the child answers with the graph as
 * canonical JSON, a line break, and what the reader found. */
#include "load.h"

/* ---- what a reader found, as text ---- */

static berth_status write_report(const berth_read_report *r, berth_arena *mem, const char **text, size_t *len,
                                 berth_err *err)
{
	berth_json_out w;
	berth_json_out_init(&w, mem, false);
	berth_json_open(&w, NULL, '{');
	berth_json_put_int(&w, "nodes", r->n_nodes);
	berth_json_put_int(&w, "folded", r->n_folded);
	berth_json_put_int(&w, "outputs", r->n_outputs);
	berth_json_put_int(&w, "unknown", r->n_unknown);
	berth_json_put_int(&w, "weight_inputs", r->n_weight_inputs);
	berth_json_put_number(&w, "param_elements", r->param_elements);
	berth_json_put_strings(&w, "dims", r->dim_name, r->n_dims);
	berth_json_open(&w, "dim_values", '[');
	for (int32_t i = 0; i < r->n_dims; i++)
		berth_json_put_int(&w, NULL, r->dim_value[i]);
	berth_json_close(&w, ']');
	berth_json_put_strings(&w, "guessed", r->guessed, r->n_guessed);
	berth_json_put_strings(&w, "fitted", r->fitted, r->n_fitted);
	berth_json_put_strings(&w, "loops", r->loop_name, r->n_loops);
	berth_json_put_strings(&w, "external", r->external, r->n_external);
	berth_json_put_strings(&w, "warnings", r->warning, r->n_warnings);
	berth_json_close(&w, '}');
	return berth_json_done(&w, text, len, err);
}

typedef struct texts {
	berth_arena *mem;
	const char **text;
	int32_t n;
} texts;

static berth_status get_text(void *ctx, const berth_json *item, berth_err *err)
{
	texts *x = ctx;
	if (!cJSON_IsString(item->item))
		return berth_json_fail(item, err, "expected a text");
	BERTH_TRY(berth_got(x->text[x->n++] = berth_arena_strdup(x->mem, item->item->valuestring), err));
	return BERTH_OK;
}

static berth_status get_texts(const berth_json *at, const char *key, berth_arena *mem, const char ***text,
                              int32_t *n, berth_err *err)
{
	berth_json list;
	texts x = {.mem = mem};
	BERTH_TRY(berth_json_array(at, key, true, &list, err));
	BERTH_TRY_NEW(mem, berth_json_count(&list), err, x.text);
	BERTH_TRY(berth_json_each(&list, get_text, &x, err));
	*text = x.text;
	*n = x.n;
	return BERTH_OK;
}

static berth_status get_value(void *ctx, const berth_json *item, berth_err *err)
{
	const berth_read_report *r = ctx;
	double x = item->item->valuedouble;
	if (!cJSON_IsNumber(item->item) || !(x >= -0x1p53 && x <= 0x1p53))
		return berth_json_fail(item, err, "expected a whole number");
	r->dim_value[item->index] = (int64_t)x;
	return BERTH_OK;
}

static berth_status get_report(const berth_json *at, berth_arena *mem, berth_read_report *r, berth_err *err)
{
	static const char *const key[] = {"nodes", "folded", "outputs", "unknown", "weight_inputs"};
	int32_t *const count[] = {&r->n_nodes, &r->n_folded, &r->n_outputs, &r->n_unknown,
	                          &r->n_weight_inputs};
	for (int i = 0; i < 5; i++)
		BERTH_TRY(berth_json_int(at, key[i], true, 0, INT32_MAX, count[i], err));
	BERTH_TRY(berth_json_number(at, "param_elements", true, 0, &r->param_elements, err));
	BERTH_TRY(get_texts(at, "dims", mem, &r->dim_name, &r->n_dims, err));
	berth_json list;
	BERTH_TRY(berth_json_array(at, "dim_values", true, &list, err));
	BERTH_TRY_NEW(mem, r->n_dims, err, r->dim_value);
	if (berth_json_count(&list) != r->n_dims)
		return berth_json_fail(&list, err, "expected %d values", (int)r->n_dims);
	BERTH_TRY(berth_json_each(&list, get_value, r, err));
	BERTH_TRY(get_texts(at, "guessed", mem, &r->guessed, &r->n_guessed, err));
	BERTH_TRY(get_texts(at, "fitted", mem, &r->fitted, &r->n_fitted, err));
	BERTH_TRY(get_texts(at, "loops", mem, &r->loop_name, &r->n_loops, err));
	BERTH_TRY(get_texts(at, "external", mem, &r->external, &r->n_external, err));
	return get_texts(at, "warnings", mem, &r->warning, &r->n_warnings, err);
}

static berth_status read_report(const char *name, const char *text, size_t size, berth_arena *mem,
                                berth_read_report *out, berth_err *err)
{
	BERTH_JSON_DOC(at);
	berth_read_report r = {0};
	BERTH_TRY(berth_json_open_doc(name, text, size, &at, err));
	BERTH_TRY(get_report(&at, mem, &r, err));
	*out = r;
	return BERTH_OK;
}

/* ---- both ---- */

berth_status berth_graph_to_text(const berth_graph *g, const berth_read_report *r, berth_arena *mem,
                                 const char **text, size_t *size, berth_err *err)
{
	const char *graph, *report;
	size_t n_graph, n_report;
	BERTH_TRY(berth_graph_write_json(g, false, mem, &graph, &n_graph, err));
	BERTH_TRY(write_report(r, mem, &report, &n_report, err));
	berth_strbuf both = {.mem = mem};
	berth_strbuf_add(&both, graph, n_graph);
	berth_strbuf_add(&both, "\n", 1);
	berth_strbuf_add(&both, report, n_report);
	return berth_strbuf_done(&both, text, size, err);
}

berth_status berth_graph_from_text(const char *name, const char *text, size_t size, berth_arena *mem,
                                   berth_arena *tmp, berth_graph *out, berth_read_report *report,
                                   berth_err *err)
{
	const char *end = memchr(text, '\n', size);
	size_t n = end ? (size_t)(end - text) : 0;
	berth_read_report r;
	if (!end)
		return berth_fail(err, BERTH_EFORMAT, "%s: its reader gave half an answer", name);
	BERTH_TRY(read_report(name, end + 1, size - n - 1, mem, &r, err));
	BERTH_TRY(berth_graph_parse_json(name, text, n, mem, tmp, out, err));
	*report = r;
	return BERTH_OK;
}

/* ---- apart ---- */

typedef struct reading {
	const berth_content *from;
	const berth_read_options *opt;
} reading;

static berth_status work(void *ctx, berth_arena *mem, const char **data, size_t *size, berth_err *err)
{
	const reading *x = ctx;
	berth_arena tmp = {0};
	berth_graph g;
	berth_read_report r;
	BERTH_TRY(berth_graph_parse_content(x->from, x->opt, mem, &tmp, &g, &r, err));
	return berth_graph_to_text(&g, &r, mem, data, size, err);
}

berth_status berth_graph_parse_apart(const berth_content *from, const berth_read_options *opt,
                                     berth_arena *mem, berth_arena *tmp, berth_graph *out,
                                     berth_read_report *report, berth_err *err)
{
	berth_read_options plain = *opt;
	reading x = {from, &plain};
	const char *text;
	size_t size;
	plain.sandbox = NULL;
	BERTH_TRY(berth_sandbox_run(opt->sandbox, from->name, work, &x, tmp, &text, &size, err));
	return berth_graph_from_text(from->name, text, size, mem, tmp, out, report, err);
}
