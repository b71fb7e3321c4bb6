/* Blocks named by a file: berth-blocks version 1. */
#include "granularity.h"

#include "json.h"
#include "json_apart.h"

typedef struct reader {
	const berth_graph *g;
	berth_arena *mem, *tmp;
	berth_strmap op_of; /* names of operators */
	berth_strmap names; /* of blocks */
	int32_t *op_label;  /* [n_ops] block of the file; -1: none */
	const char **label_name;
	int32_t n_labels;
	size_t cap;
	berth_err *err;
} reader;

static berth_status take(reader *r, const berth_json *at, int32_t op)
{
	if (r->op_label[op] == r->n_labels)
		return BERTH_OK;
	if (r->op_label[op] >= 0)
		return berth_json_fail(at, r->err, "operator '%.80s' is in block '%.80s' already",
		                       r->g->op_name[op], r->label_name[r->op_label[op]]);
	r->op_label[op] = r->n_labels;
	return BERTH_OK;
}

/* "NAME", or "BEGIN*" for all names that begin so. */
static berth_status take_named(reader *r, const berth_json *at, const char *name)
{
	const berth_graph *g = r->g;
	size_t n = strlen(name);
	char hint[96];
	int32_t op = berth_strmap_get(&r->op_of, name), found = 0;
	if (op >= 0)
		return take(r, at, op);
	if (!n || name[n - 1] != '*')
		return berth_json_fail(at, r->err, "unknown operator '%.80s'%s", name,
		                       berth_text_suggest(hint, sizeof hint, name, g->op_name, g->n_ops));
	for (op = 0; op < g->n_ops; op++)
		if (strncmp(g->op_name[op], name, n - 1) == 0) {
			found++;
			BERTH_TRY(take(r, at, op));
		}
	return found ? BERTH_OK : berth_json_fail(at, r->err, "no operator's name begins with '%.80s'", name);
}

static berth_status read_name(void *ctx, const berth_json *item, berth_err *err)
{
	if (!cJSON_IsString(item->item))
		return berth_json_fail(item, err, "expected the name of an operator");
	return take_named(ctx, item, item->item->valuestring);
}

static berth_status read_block(void *ctx, const berth_json *at, berth_err *err)
{
	reader *r = ctx;
	static const char *const known[] = {"name", "ops", NULL};
	const char *name = NULL;
	berth_json ops;
	int32_t found;
	BERTH_TRY(berth_json_keys(at, known, err));
	BERTH_TRY(berth_json_string(at, "name", true, &name, err));
	BERTH_TRY(berth_json_array(at, "ops", true, &ops, err));
	if (!*name)
		return berth_json_fail(at, err, "a block has an empty name");
	BERTH_TRY(berth_got(name = berth_arena_strdup(r->mem, name), err));
	BERTH_TRY(berth_strmap_add(&r->names, name, r->n_labels, &found, err));
	if (found != r->n_labels)
		return berth_json_fail(at, err, "two blocks are called '%.80s'", name);
	if (!berth_json_count(&ops))
		return berth_json_fail(&ops, err, "block '%.80s' has no operators", name);
	BERTH_TRY(berth_json_each(&ops, read_name, r, err));
	return BERTH_PUSH(r->tmp, r->label_name, r->n_labels, &r->cap, err, name);
}

static berth_status read_blocks(reader *r, const berth_json *doc)
{
	static const char *const known[] = {"format", "version", "blocks", NULL};
	berth_err *err = r->err;
	berth_json blocks;
	BERTH_TRY(berth_json_format(doc, "berth-blocks", 1, r->err));
	BERTH_TRY(berth_json_keys(doc, known, err));
	BERTH_TRY(berth_json_array(doc, "blocks", true, &blocks, r->err));
	BERTH_TRY(berth_graph_names(r->g, r->tmp, &r->op_of, r->err));
	berth_strmap_init(&r->names, r->tmp);
	BERTH_TRY_NEW(r->tmp, r->g->n_ops, r->err, r->op_label);
	for (int32_t op = 0; op < r->g->n_ops; op++)
		r->op_label[op] = -1;
	return berth_json_each(&blocks, read_block, r, err);
}

/* Program order; an operator of no block is one by itself. */
static berth_status number(const reader *r, berth_granularity *out)
{
	const berth_graph *g = r->g;
	berth_granularity x = {.called = "block"};
	int32_t *block;
	BERTH_TRY_NEW(r->tmp, r->n_labels, r->err, block);
	BERTH_TRY_NEW(r->mem, g->n_ops, r->err, x.op_block, x.block_name);
	for (int32_t k = 0; k < g->n_ops; k++) {
		int32_t op = g->topo_op[k], label = r->op_label[op];
		if (label < 0 || !block[label])
			x.block_name[x.n_blocks++] = label < 0 ? g->op_name[op] : r->label_name[label];
		if (label >= 0 && !block[label])
			block[label] = x.n_blocks;
		x.op_block[op] = (label < 0 ? x.n_blocks : block[label]) - 1;
	}
	*out = x;
	return BERTH_OK;
}

berth_status berth_granularity_parse(const char *file, const char *text, size_t size, const berth_graph *g,
                                     berth_arena *mem, berth_arena *tmp, berth_granularity *out,
                                     berth_err *err)
{
	reader r = {.g = g, .mem = mem, .tmp = tmp, .err = err};
	BERTH_SCRATCH(tmp);
	BERTH_JSON_DOC(root);
	BERTH_TRY(berth_json_open_doc(file, text, size, &root, err));
	BERTH_TRY(read_blocks(&r, &root));
	return number(&r, out);
}

berth_status berth_granularity_read(const char *path, const berth_sandbox *sandbox, const berth_graph *g,
                                    berth_arena *mem, berth_arena *tmp, berth_granularity *out,
                                    berth_err *err)
{
	BERTH_JSON_TEXT(x);
	BERTH_TRY(berth_json_map(BERTH_READS_BLOCKS, path, sandbox, mem, &x, err));
	return berth_granularity_parse(path, x.text, x.size, g, mem, tmp, out, err);
}
