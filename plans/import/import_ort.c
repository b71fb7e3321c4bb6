/* Importer "ort": which execution provider ONNX Runtime gave each node to. Either its profile
 * (EnableProfiling): a JSON array of events, of which those of the category "Node" tell args.provider. Or a
 * listing of what a session tells of its graph's assignment: a JSON array of objects with "ep_name" and
 * "nodes", objects with "name".
 *
 * Nodes that the runtime fused have names of its own, as of version 1.30: what the fused one was called and
 * "/...Fusion", or what it makes and "_nchwc"; "_token_N" keeps names apart. */
#include "import_reading.h"

#include "ort_profile.h"

static berth_status is(const char *text, size_t size, bool *found, berth_err *err)
{
	(void)err;
	*found = berth_import_first(text, size) == '[';
	return BERTH_OK;
}

/* ---- names ---- */

static size_t cut_token(const char *name, size_t n)
{
	static const char token[] = "_token_";
	size_t digits = n, end = sizeof token - 1;
	while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9')
		digits--;
	return digits < n && digits > end && memcmp(name + digits - end, token, end) == 0 ? digits - end : n;
}

static size_t cut_suffix(const char *name, size_t n, const char *suffix)
{
	size_t end = strlen(suffix);
	return n > end && memcmp(name + n - end, suffix, end) == 0 ? n - end : n;
}

/* "NODE/MatMulAddFusion", "NODE/LayerNormFusion/". */
static size_t cut_fusion(const char *name, size_t n)
{
	size_t end = cut_suffix(name, n, "/"), at = cut_suffix(name, end, "Fusion");
	if (at == end)
		return n;
	while (at > 0 && name[at - 1] != '/')
		at--;
	return at > 1 ? at - 1 : n;
}

enum { MOST_CUTS = 16 };

/* The operator that a node stands for: NO_OP, or -1 for a node of the runtime's own. Cuts name. */
static int32_t find_op(const berth_import *m, char *name)
{
	int32_t op = berth_strmap_get(&m->ops, name);
	size_t n = strlen(name), before = 0;
	for (int i = 0; i < MOST_CUTS && op == -1 && n != before; i++) {
		before = n;
		n = cut_fusion(name, cut_suffix(name, cut_token(name, n), "_nchwc"));
		name[n] = '\0';
		op = berth_strmap_get(&m->ops, name);
	}
	return op;
}

typedef struct reading {
	berth_import *m;
	berth_arena *tmp;
	int32_t word; /* of the provider whose nodes are listed */
	bool any;
} reading;

static berth_status take(reading *r, const char *name, size_t len, int32_t word, berth_err *err)
{
	BERTH_SCRATCH(r->tmp);
	char *cut = berth_arena_strndup(r->tmp, name, len), *whole = berth_arena_strndup(r->tmp, name, len);
	if (!cut || !whole)
		return berth_nomem(err);
	int32_t op = find_op(r->m, cut);
	return op >= 0    ? berth_import_tell(r->m, op, word, err)
	                  : op == -1 ? berth_import_pass(r->m, whole, err)
	                             : BERTH_OK;
}

/* ---- the profile ---- */

static berth_status read_event(reading *r, const berth_json *at, berth_err *err)
{
	const char *name = "", *provider = NULL;
	berth_json args;
	int32_t word;
	size_t n;
	bool is_node;
	BERTH_TRY(berth_ort_node_event(at, &is_node, &name, &n, err));
	if (!is_node)
		return BERTH_OK;
	BERTH_TRY(berth_json_object(at, "args", true, &args, err));
	BERTH_TRY(berth_json_string(&args, "provider", true, &provider, err));
	BERTH_TRY(berth_import_word(r->m, provider, &word, err));
	r->any = true;
	return take(r, name, n, word, err);
}

/* ---- the listing ---- */

static berth_status read_node(void *ctx, const berth_json *at, berth_err *err)
{
	reading *r = ctx;
	const char *name;
	if (!cJSON_IsObject(at->item))
		return berth_json_fail(at, err, "expected a node: an object with name");
	BERTH_TRY(berth_json_string(at, "name", true, &name, err));
	return take(r, name, strlen(name), r->word, err);
}

static berth_status read_provider(reading *r, const berth_json *at, berth_err *err)
{
	const char *provider;
	berth_json nodes;
	BERTH_TRY(berth_json_string(at, "ep_name", true, &provider, err));
	BERTH_TRY(berth_import_word(r->m, provider, &r->word, err));
	BERTH_TRY(berth_json_array(at, "nodes", true, &nodes, err));
	r->any = true;
	return berth_json_each(&nodes, read_node, r, err);
}

static berth_status read_element(void *ctx, const berth_json *at, berth_err *err)
{
	reading *r = ctx;
	if (!cJSON_IsObject(at->item))
		return berth_json_fail(at, err,
		                       "expected an event of a profile of ONNX Runtime, or a "
		                       "provider with its nodes");
	return berth_json_get(at, "ep_name").item ? read_provider(r, at, err) : read_event(r, at, err);
}

static berth_status read_list(reading *r, const berth_json *all, berth_err *err)
{
	if (!cJSON_IsArray(all->item))
		return berth_json_fail(all, err, "expected a profile of ONNX Runtime: an array");
	BERTH_TRY(berth_json_each(all, read_element, r, err));
	return r->any ? BERTH_OK
	              : berth_json_fail(all, err,
	                                "no run of a node is in it; was a session run with the profile on?");
}

static berth_status read(berth_import *m, berth_arena *tmp, berth_err *err)
{
	reading r = {.m = m, .tmp = tmp};
	BERTH_JSON_DOC(all);
	BERTH_TRY(berth_import_onnx_names(m, err));
	BERTH_TRY(berth_json_open_doc(m->x->file, m->x->text, m->x->size, &all, err));
	return read_list(&r, &all, err);
}

const berth_importer berth_import_ort = {
	.name = "ort",
	.about = "a profile of ONNX Runtime, or a listing of its graph's assignment",
	.is = is,
	.read = read,
	.fuses = true,
};
