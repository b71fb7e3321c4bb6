/* What a runtime runs as one kernel, as Moirai coarsens (Zhang et al., arXiv 2312.04025), and graphs whose
 * kernels are operators. Such are
 *   - a product with its epilogue (Conv, BatchNormalization, Relu, or MatMul, bias, Gelu, or a residual
 *     addition),
 *   - attention (product, scaling and mask, Softmax, product),
 *   - elementwise chains,
 *   - normalisations with the additions before them.
 * The rules are those that inference runtimes document. None is modelled exactly.
 *
 * Backwards from the outputs, an operator joins the kernel that consumes all it makes, if the kernel
 * takes it. A kernel so has one exit, and hence no way leads out of it and back. In training graphs only
 * forward operators fuse, and only their forward consumers count. */
#include "coarsen.h"
#include "graph_build.h"

typedef enum kind { KIND_OTHER, KIND_POINT, KIND_NORM, KIND_SOFTMAX, KIND_PRODUCT } kind;

static int compare_words(const void *key, const void *word)
{
	return strcmp(key, *(const char *const *)word);
}

static kind kind_of(const char *type)
{
	static const char *const points[] = {/* sorted bytewise */
	                                     "Abs",       "Add",      "BatchNormalization",
	                                     "BiasAdd",   "Cast",     "Ceil",
	                                     "Celu",      "Clip",     "Cos",
	                                     "Div",       "Dropout",  "Elu",
	                                     "Erf",       "Exp",      "FastGelu",
	                                     "Floor",     "Gelu",     "HardSigmoid",
	                                     "HardSwish", "Identity", "LeakyRelu",
	                                     "Log",       "Max",      "Min",
	                                     "Mish",      "Mul",      "Neg",
	                                     "PRelu",     "Pow",      "Reciprocal",
	                                     "Relu",      "Round",    "Selu",
	                                     "Sigmoid",   "Sign",     "Sin",
	                                     "Softplus",  "Softsign", "Sqrt",
	                                     "Sub",       "Sum",      "Swish",
	                                     "Tanh",      "Where"};
	static const char *const norms[] = {"GroupNormalization", "InstanceNormalization",
	                                    "LayerNormalization", "RMSNormalization",
	                                    "SimplifiedLayerNormalization"};
	static const char *const products[] = {"Conv", "ConvTranspose", "Einsum", "Gemm", "MatMul"};
	if (!type)
		return KIND_OTHER;
	if (bsearch(type, points, sizeof points / sizeof *points, sizeof *points, compare_words))
		return KIND_POINT;
	if (bsearch(type, norms, sizeof norms / sizeof *norms, sizeof *norms, compare_words))
		return KIND_NORM;
	if (bsearch(type, products, sizeof products / sizeof *products, sizeof *products, compare_words))
		return KIND_PRODUCT;
	return strcmp(type, "Softmax") == 0 ? KIND_SOFTMAX : KIND_OTHER;
}

/* What a kernel holds. */
typedef struct kernel {
	int32_t products;
	bool softmax;
} kernel;

/* What a member lets join in front of it. */
typedef enum opening {
	OPEN_NONE,    /* a product, or anything else unknown */
	OPEN_POINTS,  /* behind a normalisation: elementwise operators only */
	OPEN_PRODUCT, /* elementwise operators, and a product where the kernel has none */
	OPEN_SOFTMAX, /* a product that may be the second of attention: a Softmax */
	OPEN_SCORES   /* behind that Softmax: elementwise operators and the first product */
} opening;

/* What op of this kind opens once it has joined behind `behind`. */
static opening opens(kind k, const char *type, bool exit, opening behind)
{
	switch (k) {
	case KIND_POINT: return exit ? OPEN_PRODUCT : behind;
	case KIND_NORM: return exit ? OPEN_POINTS : OPEN_NONE;
	case KIND_SOFTMAX: return behind == OPEN_SOFTMAX && !exit ? OPEN_SCORES : OPEN_POINTS;
	case KIND_PRODUCT:
		return (exit || behind != OPEN_SCORES) && strcmp(type, "MatMul") == 0 ? OPEN_SOFTMAX
		                                                                      : OPEN_NONE;
	case KIND_OTHER: break;
	}
	return OPEN_NONE;
}

static bool takes(const kernel *q, opening behind, kind k, const char *type)
{
	switch (k) {
	case KIND_POINT: return behind == OPEN_POINTS || behind == OPEN_PRODUCT || behind == OPEN_SCORES;
	case KIND_PRODUCT:
		return (behind == OPEN_PRODUCT && q->products == 0) ||
		       (behind == OPEN_SCORES && q->products == 1 && strcmp(type, "MatMul") == 0);
	case KIND_SOFTMAX: return behind == OPEN_SOFTMAX && !q->softmax;
	default: return false;
	}
}

typedef struct fuser {
	const berth_graph *g;
	int32_t *op_kernel;  /* [n_ops] its exit operator */
	opening *op_opens;   /* [n_ops] */
	kernel *kernel;      /* [n_ops] of exits */
} fuser;

/* The kernel that consumes all that op gives to the forward pass, or -1; *behind: what its consumers
 * open. */
static int32_t only_consumer(const fuser *f, int32_t op, opening *behind)
{
	const berth_graph *g = f->g;
	int32_t found = -1;
	if (g->op_output_bytes[op] > 0 || g->op_backward[op])
		return -1;
	for (int32_t e = g->tensor_use_off[g->op_tensor_off[op]];
	     e < g->tensor_use_off[g->op_tensor_off[op + 1]]; e++) {
		int32_t to = g->edge_consumer[e];
		if (g->op_backward[to])
			continue;
		if (found >= 0 && (f->op_kernel[to] != found || f->op_opens[to] != *behind))
			return -1;
		found = f->op_kernel[to];
		*behind = f->op_opens[to];
	}
	return found;
}

static void place(fuser *f, int32_t op)
{
	const char *type = f->g->op_type[op] < 0 ? NULL : f->g->type_name[f->g->op_type[op]];
	kind k = kind_of(type);
	opening behind = OPEN_NONE;
	int32_t exit = only_consumer(f, op, &behind);
	bool joins = exit >= 0 && takes(&f->kernel[exit], behind, k, type);
	if (!joins)
		exit = op;
	f->op_kernel[op] = exit;
	f->op_opens[op] = opens(k, type, !joins, behind);
	f->kernel[exit].products += k == KIND_PRODUCT;
	f->kernel[exit].softmax |= k == KIND_SOFTMAX;
}

/* The kernels of g: op_exit out [n_ops], the operator whose output is its kernel's. tmp is scratch, not
 * reset. Fails: BERTH_ENOMEM. O(ops + edges). */
static berth_status find_kernels(const berth_graph *g, int32_t *op_exit, berth_arena *tmp, berth_err *err)
{
	fuser f = {.g = g, .op_kernel = op_exit};
	BERTH_TRY_NEW(tmp, g->n_ops, err, f.op_opens, f.kernel);
	for (int32_t i = g->n_ops - 1; i >= 0; i--)
		place(&f, g->topo_op[i]);
	return BERTH_OK;
}

/* A graph whose kernels are operators: sums over the members of each, without what stays inside. */
typedef struct fusing {
	const berth_graph *g;
	int32_t *op_exit;  /* [n_ops] */
	int32_t *op_named; /* [n_ops] of exits: the member that the kernel is called after */
	int32_t *op_new;   /* [n_ops] of exits: the operator that the kernel becomes */
	berth_op_spec *spec; /* [n_ops] of exits */
	berth_builder *b;
	berth_arena *tmp;
	berth_err *err;
} fusing;

/* Members that must stand by themselves leave, and whoever has joined through them: backwards, so that
 * consumers are done before. */
static void split_kernels(fusing *f)
{
	const berth_graph *g = f->g;
	for (int32_t i = g->n_ops - 1; i >= 0; i--) {
		int32_t op = g->topo_op[i], exit = f->op_exit[op];
		bool left =
			g->op_pin[op] || g->op_pin[exit] || g->op_forbid_off[op] < g->op_forbid_off[op + 1] ||
			g->op_forbid_off[exit] < g->op_forbid_off[exit + 1] ||
			g->op_coloc_name[op] != g->op_coloc_name[exit] || g->op_sep[op] != g->op_sep[exit];
		BERTH_EACH_USE (e, g, op)
			left = left || f->op_exit[g->edge_consumer[e]] != exit;
		if (op != exit && left)
			f->op_exit[op] = op;
	}
}

/* Which member a kernel is called after: its one product. */
static void name_kernels(fusing *f)
{
	const berth_graph *g = f->g;
	for (int32_t op = 0; op < g->n_ops; op++)
		f->op_named[op] = op;
	for (int32_t op = 0; op < g->n_ops; op++) {
		int32_t *named = &f->op_named[f->op_exit[op]];
		if (g->op_macs[op] > 0 && g->op_macs[*named] > 0 && *named != op)
			*named = f->op_exit[op]; /* of two: attention */
		else if (g->op_macs[op] > 0)
			*named = op;
	}
}

static bool stays_inside(const fusing *f, int32_t t)
{
	int32_t exit = f->op_exit[f->g->tensor_producer[t]];
	BERTH_EACH (e, f->g->tensor_use_off, t)
		if (f->op_exit[f->g->edge_consumer[e]] != exit)
			return false;
	return f->g->tensor_use_off[t] < f->g->tensor_use_off[t + 1];
}

/* A kernel's sum is no more than a graph may hold of one operator. */
static void add(int64_t *sum, int64_t x)
{
	*sum = x < GRAPH_MAX_BYTES - *sum ? *sum + x : GRAPH_MAX_BYTES;
}

static int64_t less(int64_t a, int64_t b)
{
	return a > b ? a - b : 0;
}

static void add_member(fusing *f, int32_t op)
{
	const berth_graph *g = f->g;
	berth_op_spec *s = &f->spec[f->op_exit[op]];
	int64_t read = g->op_read_bytes[op], write = g->op_write_bytes[op];
	BERTH_EACH (i, g->op_in_off, op)
		if (f->op_exit[g->tensor_producer[g->in_tensor[i]]] == f->op_exit[op])
			read = less(read, g->tensor_bytes[g->in_tensor[i]]);
	BERTH_EACH (t, g->op_tensor_off, op)
		if (stays_inside(f, t))
			write = less(write, g->tensor_bytes[t]);
	s->flops += g->op_flops[op];
	s->macs += g->op_macs[op];
	add(&s->read_bytes, read);
	add(&s->write_bytes, write);
	add(&s->param_bytes, g->op_param_bytes[op]);
	add(&s->state_bytes, g->op_state_bytes[op]);
	add(&s->output_bytes, g->op_output_bytes[op]);
	if (g->op_workspace_bytes[op] > s->workspace_bytes)
		s->workspace_bytes = g->op_workspace_bytes[op];
}

/* Operators in the order of their exits. A shape that does not tell all of its work is none. */
static berth_status add_kernels(fusing *f)
{
	const berth_graph *g = f->g;
	int32_t *members;
	BERTH_TRY_NEW(f->tmp, g->n_ops, f->err, members);
	for (int32_t op = 0; op < g->n_ops; op++)
		members[f->op_exit[op]]++;
	for (int32_t op = 0; op < g->n_ops; op++) {
		if (f->op_exit[op] != op)
			continue;
		if (f->spec[op].macs > g->op_macs[f->op_named[op]])
			f->spec[op].dims = (berth_dims){0};
		BERTH_TRY(berth_builder_op(f->b, &f->spec[op], &f->op_new[op], f->err));
		BERTH_EACH (i, g->op_time_off, op)
			if (members[op] == 1)
				BERTH_TRY(berth_builder_time(f->b, f->op_new[op], berth_graph_time_name(g, i),
				                             g->time_s[i], f->err));
		BERTH_EACH (i, g->op_forbid_off, op)
			BERTH_TRY(berth_builder_forbid(f->b, f->op_new[op], g->forbid_dev[i], f->err));
	}
	return BERTH_OK;
}

static berth_status add_edges(fusing *f)
{
	const berth_graph *g = f->g;
	int32_t *seen; /* the last tensor that came to the operator, + 1 */
	BERTH_TRY_NEW(f->tmp, g->n_ops, f->err, seen);
	for (int32_t t = 0; t < g->n_tensors; t++) {
		int32_t from = f->op_exit[g->tensor_producer[t]];
		BERTH_EACH (e, g->tensor_use_off, t) {
			int32_t to = f->op_exit[g->edge_consumer[e]];
			if (to == from || seen[to] == t + 1)
				continue;
			seen[to] = t + 1;
			BERTH_TRY(berth_builder_edge(f->b, f->op_new[from], f->op_new[to], g->tensor_bytes[t],
			                             g->tensor_name[t], f->err));
			if (g->tensor_cut_s)
				BERTH_TRY(berth_builder_cut(f->b, g->tensor_cut_s[t], f->err));
		}
	}
	return BERTH_OK;
}

static berth_status add_params(fusing *f)
{
	const berth_graph *g = f->g;
	int32_t *seen;
	BERTH_TRY_NEW(f->tmp, g->n_ops, f->err, seen);
	for (int32_t p = 0; p < g->n_params; p++) {
		int32_t param;
		BERTH_TRY(berth_builder_param(f->b, g->param_name[p], g->param_bytes[p], &param, f->err));
		BERTH_EACH (i, g->param_op_off, p) {
			int32_t exit = f->op_exit[g->param_op[i]];
			if (seen[exit] == p + 1)
				continue;
			seen[exit] = p + 1;
			BERTH_TRY(berth_builder_param_use(f->b, param, f->op_new[exit], f->err));
		}
	}
	return BERTH_OK;
}

/* Kernels as they stand in f->op_exit. */
static berth_status fuse(fusing *f, berth_arena *mem, berth_graph *out)
{
	name_kernels(f);
	for (int32_t op = 0; op < f->g->n_ops; op++) {
		if (f->op_exit[op] != op)
			continue;
		berth_op_spec named = berth_graph_op_spec(f->g, f->op_named[op]), *s = &f->spec[op];
		*s = named;
		s->flops = s->macs = 0;
		s->read_bytes = s->write_bytes = s->param_bytes = s->state_bytes = s->output_bytes = 0;
		s->workspace_bytes = 0;
	}
	for (int32_t op = 0; op < f->g->n_ops; op++)
		add_member(f, op);
	BERTH_TRY(berth_builder_new(f->tmp, f->g->name, &f->b, f->err));
	BERTH_TRY(add_kernels(f));
	BERTH_TRY(add_edges(f));
	BERTH_TRY(add_params(f));
	return berth_builder_finish(f->b, mem, out, f->err);
}

berth_status berth_graph_fuse(const berth_graph *g, berth_arena *mem, berth_arena *tmp, berth_graph *out,
                              berth_err *err)
{
	fusing f = {.g = g, .tmp = tmp, .err = err};
	BERTH_SCRATCH(tmp);
	BERTH_TRY_NEW(tmp, g->n_ops, err, f.op_exit, f.op_named, f.op_new, f.spec);
	BERTH_TRY(find_kernels(g, f.op_exit, tmp, err));
	split_kernels(&f);
	return fuse(&f, mem, out);
}

berth_status berth_graph_fuse_kernels(const berth_graph *g, const berth_granularity *kernels, int32_t *op_new,
                                      berth_arena *mem, berth_arena *tmp, berth_graph *out, berth_err *err)
{
	fusing f = {.g = g, .op_new = op_new, .tmp = tmp, .err = err};
	int32_t *exit; /* [n_blocks] */
	BERTH_SCRATCH(tmp);
	BERTH_TRY_NEW(tmp, g->n_ops, err, f.op_exit, f.op_named, f.spec);
	BERTH_TRY_NEW(tmp, kernels->n_blocks, err, exit);
	for (int32_t i = 0; i < g->n_ops; i++)
		exit[kernels->op_block[g->topo_op[i]]] = g->topo_op[i];
	for (int32_t op = 0; op < g->n_ops; op++)
		f.op_exit[op] = exit[kernels->op_block[op]];
	BERTH_TRY(fuse(&f, mem, out));
	for (int32_t op = 0; op < g->n_ops; op++)
		op_new[op] = op_new[f.op_exit[op]];
	return BERTH_OK;
}
