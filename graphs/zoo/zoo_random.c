/* Seeded random graphs for training data and tests. Operators stand in layers, in the manner of the
 * generator of Topcuoglu, Hariri & Wu (IEEE TPDS 2002), by number of operators, width, degree,
 * communication-to-computation ratio and heterogeneity. Costs are FLOPs and bytes, so that a graph runs
 * on any system. Unlike there, operators differ by type and by arithmetic intensity instead of by a table
 * of times.
 *
 * Sizes are drawn for a reference device of 10 TFLOP/s and 1 TB/s with a link of 10 GB/s. There products
 * last as long by FLOPs as the light types by bytes. ccr is the ratio of the mean times of a transfer and
 * of an operator. */
#include "zoo_layers.h"

#include "rng.h"

#define REFERENCE_FLOPS 1e13
#define REFERENCE_MEMORY 1e12
#define REFERENCE_LINK 1e10

enum { MAX_PARENTS = 16 };

/* In the order in which the parameter kinds takes them. */
static const struct { const char *type; bool product; } kinds[] = {
	{"MatMul", true}, {"Conv", true}, {"Add", false}, {"Relu", false}, {"Gemm", true}, {"Softmax", false},
	{"LayerNormalization", false}, {"Gelu", false}, {"Concat", false}, {"Transpose", false},
	{"MaxPool", false}, {"BatchNormalization", false},
};

typedef struct plan {
	int32_t n_ops, n_layers;
	int32_t *layer_off;              /* [n_layers+1] */
	int32_t *n_parents;              /* [n_ops] */
	int32_t (*parent)[MAX_PARENTS];  /* [n_ops] */
	bool *consumed;                  /* [n_ops] */
} plan;

static berth_status plan_new(plan *p, int32_t n_ops, berth_arena *tmp, berth_err *err)
{
	p->n_ops = n_ops;
	BERTH_TRY_NEW(tmp, n_ops + 1, err, p->layer_off);
	BERTH_TRY_NEW(tmp, n_ops, err, p->n_parents, p->parent);
	return BERTH_NEW(tmp, p->consumed, n_ops, err);
}

static int32_t pick(const plan *p, int32_t layer, berth_rng *rng)
{
	int32_t first = p->layer_off[layer];
	return first + (int32_t)berth_rng_below(rng, (uint32_t)(p->layer_off[layer + 1] - first));
}

static bool add_parent(plan *p, int32_t op, int32_t parent)
{
	for (int32_t i = 0; i < p->n_parents[op]; i++)
		if (p->parent[op][i] == parent)
			return true;
	if (p->n_parents[op] == MAX_PARENTS)
		return false;
	p->parent[op][p->n_parents[op]++] = parent;
	p->consumed[parent] = true;
	return true;
}

/* One parent in the layer before, so that the depth is the number of layers; degree - 1 more on average, up
 * to reach layers back. */
static void draw_parents(plan *p, double degree, int32_t reach, berth_rng *rng)
{
	for (int32_t layer = 1; layer < p->n_layers; layer++)
		for (int32_t op = p->layer_off[layer]; op < p->layer_off[layer + 1]; op++) {
			add_parent(p, op, pick(p, layer - 1, rng));
			while (berth_rng_unit(rng) < (degree - 1) / degree) {
				int32_t back = 1 + (int32_t)berth_rng_below(
							   rng, (uint32_t)(reach < layer ? reach : layer));
				add_parent(p, op, pick(p, layer - back, rng));
			}
		}
}

/* Lognormal of mean 1. */
static double spread(double sigma, berth_rng *rng)
{
	return exp(sigma * berth_rng_normal(rng) - sigma * sigma / 2);
}

static zoo_tensor add_op(zoo_net *net, const plan *p, int32_t op, const zoo_tensor made[], berth_rng *rng)
{
	char name[32];
	zoo_tensor in[MAX_PARENTS], out = zoo_input(1, 1, 1, 1);
	zoo_cost cost = {0};
	double seconds = zoo_value(net, "gflops") * 1e9 / REFERENCE_FLOPS,
	       sigma = zoo_value(net, "heterogeneity");
	double transfer = zoo_value(net, "ccr") * seconds * spread(sigma, rng),
	       elem = (double)net->elem_bytes;
	uint32_t kind = berth_rng_below(rng, (uint32_t)zoo_value(net, "kinds"));
	seconds *= spread(sigma, rng);
	double written = floor(transfer * REFERENCE_LINK / elem), touched = seconds * REFERENCE_MEMORY,
	       weight_share = berth_rng_unit(rng);
	for (int32_t i = 0; i < p->n_parents[op]; i++) {
		in[i] = made[p->parent[op][i]];
		touched -= (double)in[i].dim[3] * elem;
	}
	touched -= written * elem;
	out.dim[3] = written < 0x1p53 ? (int64_t)written : INT64_C(1) << 53;
	touched = touched > 0 ? floor(touched) : 0;
	if (kinds[kind].product) {
		cost.macs = floor(seconds * REFERENCE_FLOPS / 2);
		/* compute-bound at the reference */
		cost.params = cost.read_params = floor(weight_share * touched / (2 * elem));
	} else {
		cost.read_extra_bytes = touched;
	}
	if (!p->consumed[op])
		zoo_mark_output(net);
	snprintf(name, sizeof name, "op%d", op);
	return zoo_op(net, name, kinds[kind].type, p->n_parents[op], in, out, cost);
}

void zoo_build_random(zoo_net *net)
{
	plan p = {0};
	zoo_tensor *made = NULL;
	berth_rng rng = berth_rng_seed((uint64_t)zoo_value(net, "seed"), BERTH_STREAM_RANDOM);
	net->status = plan_new(&p, (int32_t)zoo_whole(net, "ops"), net->tmp, net->err);
	if (net->status == BERTH_OK)
		net->status = BERTH_NEW(net->tmp, made, p.n_ops, net->err);
	if (net->status != BERTH_OK)
		return;
	/* Layers of 1 to 2 width - 1 operators. */
	int32_t width = (int32_t)zoo_whole(net, "width");
	int32_t at = 0;
	while (at < p.n_ops) {
		int32_t size = 1 + (int32_t)berth_rng_below(&rng, (uint32_t)(2 * width - 1));
		at = size < p.n_ops - at ? at + size : p.n_ops;
		p.layer_off[++p.n_layers] = at;
	}
	draw_parents(&p, zoo_value(net, "degree"), (int32_t)zoo_whole(net, "reach"), &rng);
	/* What nobody consumes goes to an operator of the next layer, if that has room. */
	for (int32_t layer = 0; layer + 1 < p.n_layers; layer++)
		for (int32_t op = p.layer_off[layer]; op < p.layer_off[layer + 1]; op++)
			if (!p.consumed[op])
				add_parent(&p, pick(&p, layer + 1, &rng), op);
	for (int32_t op = 0; op < p.n_ops; op++)
		made[op] = add_op(net, &p, op, made, &rng);
}
