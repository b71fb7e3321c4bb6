/* Randomly wired networks: Xie, Kirillov, Girshick & He, "Exploring Randomly Wired Neural Networks for
 * Image Recognition", ICCV 2019, table 1, small and regular regime. A stage has 32 nodes, wired by one of
 * the three classical models: Watts-Strogatz (ring of degree 4, rewired with probability 0.75),
 * Erdos-Renyi (0.2) or Barabasi-Albert (5). An edge runs from the lower to the higher node. A node sums
 * its inputs by weights and passes the sum through Relu, a separable 3x3 convolution and its
 * normalisation. Nodes without inputs read the stage's input with stride 2. Nodes without outputs are
 * averaged. */
#include "zoo_layers.h"

#include "rng.h"

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
