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
		BERTH_EACH (op, p->layer_off, layer) {
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
		BERTH_EACH (op, p.layer_off, layer)
			if (!p.consumed[op])
				add_parent(&p, pick(&p, layer + 1, &rng), op);
	for (int32_t op = 0; op < p.n_ops; op++)
		made[op] = add_op(net, &p, op, made, &rng);
}

/* Randomly wired networks: Xie, Kirillov, Girshick & He, "Exploring Randomly Wired Neural Networks for
 * Image Recognition", ICCV 2019, table 1, small and regular regime. A stage has 32 nodes, wired by one of
 * the three classical models: Watts-Strogatz (ring of degree 4, rewired with probability 0.75),
 * Erdos-Renyi (0.2) or Barabasi-Albert (5). An edge runs from the lower to the higher node. A node sums
 * its inputs by weights and passes the sum through Relu, a separable 3x3 convolution and its
 * normalisation. Nodes without inputs read the stage's input with stride 2. Nodes without outputs are
 * averaged. */
enum { MAX_NODES = 32, STAGES = 4, WS_DEGREE = 4, BA_DEGREE = 5 };
#define WS_REWIRED 0.75
#define ER_PROBABILITY 0.2

typedef struct wiring {
	int32_t n;
	bool edge[MAX_NODES][MAX_NODES]; /* undirected: both ways */
} wiring;

static void connect(wiring *w, int32_t a, int32_t b, bool on)
{
	w->edge[a][b] = w->edge[b][a] = on;
}

static int32_t draw(const wiring *w, berth_rng *rng)
{
	return (int32_t)berth_rng_below(rng, (uint32_t)w->n);
}

/* A ring where each node knows its nearest on both sides; then, distance by distance, the clockwise edge of
 * each node may move to any new end. */
static void watts_strogatz(wiring *w, berth_rng *rng)
{
	for (int32_t v = 0; v < w->n; v++)
		for (int32_t k = 1; k <= WS_DEGREE / 2; k++)
			connect(w, v, (v + k) % w->n, true);
	for (int32_t k = 1; k <= WS_DEGREE / 2; k++)
		for (int32_t v = 0; v < w->n; v++) {
			if (berth_rng_unit(rng) >= WS_REWIRED)
				continue;
			int32_t to = draw(w, rng);
			while (to == v || w->edge[v][to])
				to = draw(w, rng);
			connect(w, v, (v + k) % w->n, false);
			connect(w, v, to, true);
		}
}

static void erdos_renyi(wiring *w, berth_rng *rng)
{
	for (int32_t a = 0; a < w->n; a++)
		for (int32_t b = a + 1; b < w->n; b++)
			if (berth_rng_unit(rng) < ER_PROBABILITY)
				connect(w, a, b, true);
}

static int32_t degree(const wiring *w, int32_t v)
{
	int32_t n = 0;
	for (int32_t u = 0; u < w->n; u++)
		n += w->edge[v][u];
	return n;
}

/* An end of a random edge among nodes below `below`; any of the first nodes while there are no edges. */
static int32_t draw_by_degree(const wiring *w, int32_t below, berth_rng *rng)
{
	int32_t total = 0, v = 0;
	for (int32_t u = 0; u < below; u++)
		total += degree(w, u);
	if (total == 0)
		return (int32_t)berth_rng_below(rng, (uint32_t)below);
	for (int32_t left = (int32_t)berth_rng_below(rng, (uint32_t)total); left >= degree(w, v); v++)
		left -= degree(w, v);
	return v;
}

static void barabasi_albert(wiring *w, berth_rng *rng)
{
	for (int32_t v = BA_DEGREE; v < w->n; v++)
		for (int32_t made = 0; made < BA_DEGREE;) {
			int32_t to = draw_by_degree(w, v, rng);
			if (v == BA_DEGREE) /* the first one knows all before it */
				to = made;
			if (w->edge[v][to])
				continue;
			connect(w, v, to, true);
			made++;
		}
}

static void wire(wiring *w, int32_t n, int generator, berth_rng *rng)
{
	static void (*const make[])(wiring * w, berth_rng * rng) = {watts_strogatz, erdos_renyi,
	                                                            barabasi_albert}; /* as the parameter
	                                                                                 graph */
	memset(w, 0, sizeof *w);
	w->n = n;
	make[generator](w, rng);
}

static zoo_tensor separable(zoo_net *net, const char *name, zoo_tensor x, int64_t channels, int64_t stride)
{
	x = zoo_conv(net, zoo_name(net, "%s.depthwise", name), x, x.dim[1], zoo_square(3, stride, 1),
	             x.dim[1], false);
	return zoo_conv_norm(net, zoo_name(net, "%s.pointwise", name), zoo_name(net, "%s.bn", name), x,
	                     channels,
	                     zoo_1x1, 1);
}

static zoo_tensor node(zoo_net *net, int32_t v, int32_t n, const zoo_tensor in[], int64_t channels,
                       bool first)
{
	zoo_tensor x = in[0];
	if (n > 1)
		x = zoo_op(net, zoo_name(net, "node%d.sum", v), "Sum", n, in, in[0],
		           (zoo_cost){.params = n, .read_params = n});
	x = zoo_unary(net, zoo_name(net, "node%d.relu", v), "Relu", x);
	return separable(net, zoo_name(net, "node%d", v), x, channels, first ? 2 : 1);
}

static zoo_tensor stage(zoo_net *net, const wiring *w, zoo_tensor x, int64_t channels)
{
	zoo_tensor out[MAX_NODES], leaf[MAX_NODES];
	int32_t n_leaves = 0;
	for (int32_t v = 0; v < w->n; v++) {
		zoo_tensor in[MAX_NODES];
		int32_t n = 0;
		for (int32_t u = 0; u < v; u++)
			if (w->edge[u][v])
				in[n++] = out[u];
		bool first = n == 0, last = true;
		if (first)
			in[n++] = x;
		out[v] = node(net, v, n, in, channels, first);
		for (int32_t u = v + 1; u < w->n; u++)
			last &= !w->edge[v][u];
		if (last)
			leaf[n_leaves++] = out[v];
	}
	return n_leaves > 1 ? zoo_op(net, "mean", "Mean", n_leaves, leaf, leaf[0], (zoo_cost){0}) : leaf[0];
}

void zoo_build_randwire(zoo_net *net)
{
	bool regular = zoo_value(net, "regime") > 0;
	int64_t c = zoo_whole(net, "channels");
	int generator = (int)zoo_value(net, "graph");
	berth_rng rng = berth_rng_seed((uint64_t)zoo_value(net, "seed"), BERTH_STREAM_RANDOM);
	wiring w;
	zoo_tensor x =
		zoo_conv_bn(net, "conv1", zoo_input(net->batch, 3, 224, 224), c / 2, zoo_square(3, 2, 1));
	if (!regular) {
		x = zoo_unary(net, "conv2.relu", "Relu", x);
		x = zoo_conv_bn(net, "conv2", x, c, zoo_square(3, 2, 1));
	}
	/* Regular: conv2 of half the nodes and C channels, then 2, 4 and 8 C; small: C, 2 C, 4 C. */
	for (int i = 0; i < (regular ? STAGES : STAGES - 1); i++) {
		zoo_scope(net, "conv%d", regular ? i + 2 : i + 3);
		wire(&w, regular && i == 0 ? MAX_NODES / 2 : MAX_NODES, generator, &rng);
		x = stage(net, &w, x, c << i);
	}
	zoo_scope_end(net);
	x = zoo_unary(net, "classifier.relu1", "Relu", x);
	x = zoo_conv_bn(net, "classifier", x, 1280, zoo_1x1);
	x = zoo_unary(net, "classifier.relu2", "Relu", x);
	x = zoo_global_pool(net, "avgpool", x);
	zoo_mark_output(net);
	zoo_gemm(net, "fc", x, 1000);
}
