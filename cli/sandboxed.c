/* See sandboxed.h. */
#include "sandboxed.h"

#include "engine_find.h"
#include "file.h"
#include "json.h"

#include <math.h>

const berth_sandbox *cli_sandbox(const cli *c)
{
	static const berth_sandbox usual = {.memory_bytes = BERTH_SANDBOX_MEMORY,
	                                    .cpu_s = BERTH_SANDBOX_CPU_S,
	                                    .answer_bytes = BERTH_SANDBOX_ANSWER};
	return c->sandbox ? &usual : NULL;
}

berth_read_options cli_read_options(const cli *c)
{
	return (berth_read_options){.dim = c->dim.text,
	                            .n_dims = c->dim.n,
	                            .sandbox = cli_sandbox(c),
	                            .module_graph = berth_module_graph_of};
}

typedef struct bytes {
	const char *name, *data;
	size_t size;
} bytes;

/* What is too large stays so, for its reader to tell. */
static void put_number(berth_json_out *w, const char *key, double x)
{
	if (isinf(x))
		berth_json_put_document(w, key, x > 0 ? "1e999" : "-1e999");
	else
		berth_json_put_number(w, key, x);
}

/* A value anew, element by element: a tree of it all would take forty times the text. */
static berth_status put_again(void *out, const berth_json *at, berth_err *err)
{
	berth_json_out *w = out;
	const cJSON *x = at->item;
	bool object = cJSON_IsObject(x);
	if (object || cJSON_IsArray(x)) {
		berth_json_open(w, at->key, object ? '{' : '[');
		BERTH_TRY(berth_json_each(at, put_again, w, err));
		berth_json_close(w, object ? '}' : ']');
	} else if (cJSON_IsString(x)) {
		berth_json_put_string(w, at->key, x->valuestring);
	} else if (cJSON_IsNumber(x)) {
		put_number(w, at->key, x->valuedouble);
	} else if (cJSON_IsBool(x)) {
		berth_json_put_bool(w, at->key, cJSON_IsTrue(x));
	} else {
		berth_json_put_null(w, at->key);
	}
	return BERTH_OK;
}

static berth_status work_json(void *ctx, berth_arena *mem, const char **data, size_t *size, berth_err *err)
{
	const bytes *x = ctx;
	berth_json_out w;
	cJSON *doc; /* the process ends with all that it has */
	BERTH_TRY(berth_json_parse_large(x->name, x->data, x->size, &doc, err));
	const berth_json all = {.item = doc, .file = x->name};
	berth_json_out_init(&w, mem, false);
	berth_json_out_reserve(&w, x->size + 1); /* it is seldom longer */
	BERTH_TRY(put_again(&w, &all, err));
	return berth_json_done(&w, data, size, err);
}

berth_status cli_json_map(cli *c, const char *path, cli_text *out, berth_err *err)
{
	const unsigned char *data;
	size_t size;
	BERTH_TRY(berth_file_take(path, &data, &size, err));
	*out = (cli_text){data ? (const char *)data : "", size, data};
	if (!c->sandbox)
		return BERTH_OK;
	bytes x = {path, out->text, size};
	berth_status st = berth_sandbox_run(cli_sandbox(c), path, work_json, &x, &c->mem, &out->text,
	                                    &out->size, err);
	berth_file_unmap(data, size);
	out->mapped = NULL;
	return st;
}

void cli_json_unmap(cli_text *x)
{
	berth_file_unmap(x->mapped, x->size);
}

static berth_status work_policy(void *ctx, berth_arena *mem, const char **data, size_t *size, berth_err *err)
{
	const bytes *x = ctx;
	berth_policy_file f;
	(void)data, (void)size;
	return berth_policy_file_decode(x->name, x->data, x->size, mem, &f, err);
}

berth_status cli_policy_read(cli *c, const char *path, berth_policy_file *out, berth_err *err)
{
	const unsigned char *data;
	size_t size;
	BERTH_TRY(berth_file_take(path, &data, &size, err));
	bytes x = {path, data ? (const char *)data : "", size};
	berth_status st = BERTH_OK;
	if (c->sandbox)
		st = berth_sandbox_run(cli_sandbox(c), path, work_policy, &x, &c->mem, NULL, NULL, err);
	if (st == BERTH_OK)
		st = berth_policy_file_decode(path, x.data, size, &c->mem, out, err);
	berth_file_unmap(data, size);
	return st;
}
