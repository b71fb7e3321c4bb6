/* Blocks of a graph in program order, and the graph with blocks as colocation groups. Operators that no
 * layer has are labelled by the layer they stand behind. */
#include "granularity_find.h"
#include "sort.h"

const char *berth_grain_name(berth_grain grain)
{
	static const char *const name[] = {"op", "block", "layer", "kernel"};
	return name[grain];
}

berth_status block_label(block_finder *f, const char *name, size_t name_len, int32_t *label)
{
	BERTH_TRY(BERTH_GROW(f->tmp, f->name, f->n_labels, &f->cap, f->err));
	BERTH_TRY(BERTH_GROW(f->tmp, f->name_len, f->n_labels, &f->cap_len, f->err));
	BERTH_TRY(BERTH_GROW(f->tmp, f->layer, f->n_labels, &f->cap_layer, f->err));
	f->name[f->n_labels] = name;
	f->name_len[f->n_labels] = name_len;
	f->layer[f->n_labels] = true;
	*label = f->n_labels++;
	return BERTH_OK;
}

/* ---- operators of a training step ---- */

/* The operator whose name is in front of a '/' in op's name: the longest such. */
static berth_status root_of(block_finder *f, const berth_strmap *names, int32_t op)
{
	char *name = berth_arena_strdup(f->tmp, f->g->op_name[op]), *slash;
	BERTH_TRY(berth_got(name, f->err));
	f->op_root[op] = op;
	while ((slash = strrchr(name, '/'))) {
		*slash = '\0';
		int32_t root = berth_strmap_get(names, name);
		if (root >= 0) {
			f->op_root[op] = root;
			return BERTH_OK;
		}
	}
	return BERTH_OK;
}

static berth_status find_roots(block_finder *f)
{
	berth_strmap names;
	int32_t n = f->g->n_ops;
	BERTH_TRY(berth_graph_names(f->g, f->tmp, &names, f->err));
	BERTH_TRY_NEW(f->tmp, n, f->err, f->op_root, f->op_label);
	for (int32_t op = 0; op < n; op++)
		f->op_label[op] = -1;
	for (int32_t op = 0; op < n; op++)
		BERTH_TRY(root_of(f, &names, op));
	for (int32_t op = 0; op < n; op++) /* of what was made from what was made */
		while (f->op_root[op] != f->op_root[f->op_root[op]])
			f->op_root[op] = f->op_root[f->op_root[op]];
	return BERTH_OK;
}

/* ---- operators between layers ---- */

/* The last layer that leads to op, which is in none; -1: no layer does. A backward operator has the layer
 * whose tensors it reads, or else that of the gradient. */
static int32_t rank_behind(const block_finder *f, const int32_t *op_rank, int32_t op)
{
	const berth_graph *g = f->g;
	int32_t last = -1, first = INT32_MAX;
	bool forward = false;
	BERTH_EACH (i, g->op_in_off, op) {
		int32_t from = g->tensor_producer[g->in_tensor[i]], rank = op_rank[from];
		if (g->op_backward[op] && g->op_backward[from]) {
			first = rank < first ? rank : first;
			continue;
		}
		forward = true;
		last = rank > last ? rank : last;
	}
	return forward || first == INT32_MAX ? last : first;
}

/* The operators in front of a model's layers, or behind one of them, that belong to none. */
typedef struct gap {
	int32_t after; /* rank of the layer; -1: none is in front */
	int32_t first_op, n_ops, label;
} gap;

typedef struct gaps {
	block_finder *f;
	berth_strmap index;
	gap *gap;
	int32_t n;
	size_t cap;
	int32_t *model_last; /* [n_models + 1] rank of the last layer */
} gaps;

static berth_status find_gap(gaps *x, int32_t after, int32_t op, gap **out)
{
	block_finder *f = x->f;
	int32_t i;
	const char *key = berth_arena_printf(f->tmp, "%d %d", f->op_model[op], after);
	BERTH_TRY(berth_got(key, f->err));
	BERTH_TRY(berth_strmap_add(&x->index, key, x->n, &i, f->err));
	if (i == x->n) {
		BERTH_TRY(BERTH_PUSH(f->tmp, x->gap, x->n, &x->cap, f->err, (gap){after, op, 0, -1}));
	}
	*out = &x->gap[i];
	return BERTH_OK;
}

/* A single operator lends its name. */
static berth_status label_gap(gaps *x, gap *at, const int32_t *rank_label)
{
	block_finder *f = x->f;
	const char *first = f->g->op_name[at->first_op], *name = first + strspn(first, "./:");
	int32_t model = f->op_model[at->first_op];
	if (at->n_ops != 1 && at->after >= 0 && at->after != x->model_last[model])
		name = berth_arena_printf(f->mem, "after %s", f->name[rank_label[at->after]]);
	else if (at->n_ops != 1)
		name = berth_arena_printf(f->mem, "%.*s%s%s", (int)(model ? f->op_skip[at->first_op] : 0),
		                          first, model ? "." : "", at->after < 0 ? "input" : "output");
	BERTH_TRY(berth_got(name, f->err));
	BERTH_TRY(block_label(f, name, 0, &at->label));
	f->layer[at->label] = false;
	return BERTH_OK;
}

/* The rank of each operator's layer, or of the one it stands behind; forward operators of each gap. */
static berth_status rank_ops(gaps *x, const int32_t *label_rank, int32_t *op_rank)
{
	block_finder *f = x->f;
	const berth_graph *g = f->g;
	for (int32_t k = 0; k < g->n_ops; k++) {
		int32_t op = g->topo_op[k], root = f->op_root[op], *last = &x->model_last[f->op_model[op]];
		gap *at;
		if (f->op_label[op] >= 0) {
			op_rank[op] = label_rank[f->op_label[op]];
			*last = op_rank[op] > *last ? op_rank[op] : *last;
			continue;
		}
		op_rank[op] =
			root == op || g->op_topo[root] > k ? rank_behind(f, op_rank, op) : op_rank[root];
		BERTH_TRY(find_gap(x, op_rank[op], op, &at));
		at->n_ops += root == op && !g->op_backward[op];
	}
	return BERTH_OK;
}

static berth_status fill_gaps(block_finder *f)
{
	const berth_graph *g = f->g;
	gaps x = {.f = f};
	int32_t *label_rank, *rank_label, *op_rank;
	berth_strmap_init(&x.index, f->tmp);
	/* Labels in the order in which layers begin. */
	int32_t n = 0;
	BERTH_TRY_NEW(f->tmp, f->n_labels, f->err, label_rank, rank_label);
	for (int32_t i = 0; i < f->n_labels; i++)
		label_rank[i] = -1;
	for (int32_t k = 0; k < f->g->n_ops; k++) {
		int32_t label = f->op_label[f->g->topo_op[k]];
		if (label < 0 || label_rank[label] >= 0)
			continue;
		rank_label[n] = label;
		label_rank[label] = n++;
	}
	BERTH_TRY_NEW(f->tmp, g->n_ops, f->err, op_rank);
	BERTH_TRY_NEW(f->tmp, (size_t)f->n_models + 1, f->err, x.model_last);
	BERTH_TRY(rank_ops(&x, label_rank, op_rank));
	for (int32_t k = 0; k < g->n_ops; k++) {
		int32_t op = g->topo_op[k];
		gap *at;
		if (f->op_label[op] >= 0)
			continue;
		if (g->op_backward[op] && f->op_root[op] == op && op_rank[op] >= 0) {
			f->op_label[op] = rank_label[op_rank[op]];
			continue;
		}
		BERTH_TRY(find_gap(&x, op_rank[op], op, &at));
		if (at->label < 0)
			BERTH_TRY(label_gap(&x, at, rank_label));
		f->op_label[op] = at->label;
	}
	return BERTH_OK;
}

/* ---- finding ---- */

static berth_status find(block_finder *f, berth_grain grain, berth_granularity *out)
{
	BERTH_TRY(find_roots(f));
	BERTH_TRY(blocks_find_models(f));
	BERTH_TRY(blocks_by_name(f));
	if (!f->n_labels)
		BERTH_TRY(blocks_by_repeats(f));
	if (!f->n_labels)
		return berth_fail(
			f->err, BERTH_EINVAL,
			"%s: no layers are known: neither do names of operators tell them, as in "
			"'layers.3.attn', nor does a part of the graph repeat; a file can name them "
			"(--granularity FILE)",
			f->g->name);
	/* A backward operator of no layer goes with its colocation group. */
	const berth_graph *g = f->g;
	int32_t *group_label;
	BERTH_TRY_NEW(f->tmp, g->n_coloc_names, f->err, group_label);
	for (int32_t op = 0; op < g->n_ops; op++)
		if (g->op_coloc_name[op] >= 0 && f->op_label[op] >= 0)
			group_label[g->op_coloc_name[op]] = f->op_label[op] + 1;
	for (int32_t op = 0; op < g->n_ops; op++)
		if (g->op_coloc_name[op] >= 0 && f->op_label[op] < 0 && g->op_backward[op])
			f->op_label[op] = group_label[g->op_coloc_name[op]] - 1;
	BERTH_TRY(fill_gaps(f));
	if (grain == BERTH_GRAIN_BLOCK)
		BERTH_TRY(blocks_into_parts(f));
	/* Labels that have operators, in program order. */
	int32_t *block;
	berth_granularity x = {0};
	BERTH_TRY_NEW(f->tmp, f->n_labels, f->err, block);
	BERTH_TRY_NEW(f->mem, f->g->n_ops, f->err, x.op_block);
	BERTH_TRY_NEW(f->mem, f->n_labels, f->err, x.block_name);
	for (int32_t k = 0; k < f->g->n_ops; k++) {
		int32_t op = f->g->topo_op[k], label = f->op_label[op];
		if (!block[label]) {
			x.block_name[x.n_blocks] = f->name[label];
			block[label] = ++x.n_blocks;
		}
		x.op_block[op] = block[label] - 1;
	}
	*out = x;
	return BERTH_OK;
}

berth_status berth_granularity_find(const berth_graph *g, berth_grain grain, berth_arena *mem,
                                    berth_arena *tmp, berth_granularity *out, berth_err *err)
{
	block_finder f = {.g = g, .mem = mem, .tmp = tmp, .err = err};
	if (grain == BERTH_GRAIN_OP) {
		berth_granularity x = {.n_blocks = g->n_ops, .op_block = g->op_topo};
		BERTH_TRY_NEW(mem, g->n_ops, err, x.block_name);
		for (int32_t op = 0; op < g->n_ops; op++)
			x.block_name[g->op_topo[op]] = g->op_name[op];
		*out = x;
		return BERTH_OK;
	}
	BERTH_SCRATCH(tmp);
	BERTH_TRY(grain == BERTH_GRAIN_KERNEL ? blocks_of_kernels(&f, out) : find(&f, grain, out));
	out->called = berth_grain_name(grain);
	return BERTH_OK;
}

berth_status berth_kernels_cut(const berth_graph *g, const int32_t *op_dev, berth_arena *mem,
                               berth_arena *tmp, int32_t *n, int32_t pair[2], berth_err *err)
{
	berth_granularity kernels;
	int32_t *first;
	*n = 0;
	pair[0] = pair[1] = -1;
	BERTH_TRY(berth_granularity_find(g, BERTH_GRAIN_KERNEL, mem, tmp, &kernels, err));
	BERTH_TRY_NEW(mem, kernels.n_blocks, err, first);
	for (int32_t k = 0; k < g->n_ops; k++) {
		int32_t op = g->topo_op[k], *of = &first[kernels.op_block[op]];
		if (*of == 0)
			*of = op + 1;
		if (*of < 0 || op_dev[*of - 1] == op_dev[op])
			continue;
		if (!(*n)++) {
			pair[0] = *of - 1;
			pair[1] = op;
		}
		*of = -1;
	}
	return BERTH_OK;
}

/* ---- blocks as colocation groups ---- */

/* Blocks that share a colocation group of g: up [n_blocks]. */
static berth_status join_blocks(const berth_graph *g, const berth_granularity *x, int32_t *up,
                                berth_arena *tmp, berth_err *err)
{
	int32_t *group_block;
	BERTH_TRY_NEW(tmp, g->n_coloc_names, err, group_block);
	for (int32_t b = 0; b < x->n_blocks; b++)
		up[b] = b;
	for (int32_t op = 0; op < g->n_ops; op++) {
		int32_t group = g->op_coloc_name[op];
		if (group < 0)
			continue;
		if (group_block[group])
			berth_union_join(up, group_block[group] - 1, x->op_block[op]);
		group_block[group] = x->op_block[op] + 1;
	}
	return BERTH_OK;
}

berth_status berth_granularity_apply(const berth_graph *g, const berth_granularity *x, int32_t max_cuts,
                                     berth_arena *mem, berth_arena *tmp, berth_graph *out, berth_err *err)
{
	berth_graph h = *g;
	BERTH_SCRATCH(tmp);
	int32_t *up, *ops, *group;
	BERTH_TRY_NEW(tmp, x->n_blocks, err, up, ops, group);
	BERTH_TRY_NEW(mem, g->n_ops, err, h.op_coloc_name);
	BERTH_TRY_NEW(mem, x->n_blocks, err, h.coloc_name);
	BERTH_TRY(join_blocks(g, x, up, tmp, err));
	h.n_coloc_names = 0;
	for (int32_t op = 0; op < g->n_ops; op++)
		ops[berth_union_top(up, x->op_block[op])]++;
	for (int32_t op = 0; op < g->n_ops; op++) {
		int32_t top = berth_union_top(up, x->op_block[op]);
		h.op_coloc_name[op] = -1;
		if (ops[top] < 2)
			continue;
		if (!group[top]) {
			h.coloc_name[h.n_coloc_names] = x->block_name[top];
			group[top] = ++h.n_coloc_names;
		}
		h.op_coloc_name[op] = group[top] - 1;
	}
	h.coloc_called = x->called;
	h.op_block = x->op_block;
	h.n_blocks = x->n_blocks;
	h.max_cuts = max_cuts;
	*out = h;
	return BERTH_OK;
}

berth_status berth_granularity_named(const char *name, const berth_sandbox *sandbox, const berth_graph *g,
                                     berth_arena *mem, berth_arena *tmp, berth_granularity *out,
                                     berth_err *err)
{
	const char *known[BERTH_N_GRAINS];
	char hint[96];
	for (berth_grain grain = BERTH_GRAIN_OP; grain < BERTH_N_GRAINS; grain++) {
		known[grain] = berth_grain_name(grain);
		if (strcmp(name, known[grain]) == 0)
			return berth_granularity_find(g, grain, mem, tmp, out, err);
	}
	if (strpbrk(name, "./"))
		return berth_granularity_read(name, sandbox, g, mem, tmp, out, err);
	return berth_fail(err, BERTH_EINVAL,
	                  "granularity is op, block, layer, kernel or a file such as ./blocks.json, not "
	                  "'%.60s'%s",
	                  name, berth_text_suggest(hint, sizeof hint, name, known, BERTH_N_GRAINS));
}
