/* Parses JSON in a sandbox and writes it anew there, element by element. What comes back is parsed here by
 * the same parser, and doubted as any file is. */
#include "json_apart.h"

#include "file.h"
#include "json.h"

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
		/* What is too large stays so, for its reader to tell. */
		if (isinf(x->valuedouble))
			berth_json_put_document(w, at->key, x->valuedouble > 0 ? "1e999" : "-1e999");
		else
			berth_json_put_number(w, at->key, x->valuedouble);
	} else if (cJSON_IsBool(x)) {
		berth_json_put_bool(w, at->key, cJSON_IsTrue(x));
	} else {
		berth_json_put_null(w, at->key);
	}
	return BERTH_OK;
}

typedef struct bytes {
	const char *name, *data;
	size_t size;
} bytes;

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

berth_status berth_json_map(berth_reads kind, const char *path, const berth_sandbox *sandbox,
                            berth_arena *mem, berth_json_text *out, berth_err *err)
{
	const unsigned char *data;
	size_t size;
	BERTH_TRY(berth_file_take(kind, path, &data, &size, err));
	*out = (berth_json_text){data ? (const char *)data : "", size, data};
	if (!sandbox || !berth_reads_boxed(kind))
		return BERTH_OK;
	bytes x = {path, out->text, size};
	berth_status st = berth_sandbox_run(sandbox, path, work_json, &x, mem, &out->text, &out->size, err);
	berth_file_unmap(data, size);
	out->mapped = NULL;
	return st;
}

void berth_json_unmap(berth_json_text *x)
{
	berth_file_unmap(x->mapped, x->size);
}
