/* The placement network: its parameters, what goes in, and both passes. policy_forward is a list of layers,
 * policy_backward the same list reversed. */
#include "policy.h"

#include "learner_cfg.h"
#include "nn_gemm.h"
#include "nn_table.h"

/* ---- layout of the blocks ---- */

/* Offsets of the parameters in their block. */
NN_TABLE_STRUCT(param_at, POLICY_PARAMS)

static param_at layout_params(const policy_dims *d)
{
	param_at at = {0};
	POLICY_PARAMS(NN_TABLE_PARAM)
	return at;
}

/* The activations, X(name, copies, size of one): N nodes, E edges, D devices, H hidden. From d_score_z
 * on: scratch of the backward pass. */
#define POLICY_ACTS(X)           \
	X(node_a, 1, N * H)      \
	NN_ROUND_ACTS(X, node_, R, N, E, H) \
	X(dev_a, 1, D * H)       \
	NN_ROUND_ACTS(X, dev_, 1, D, D * D, H) \
	X(score_n, 1, N * H)     \
	X(score_d, 1, D * H)     \
	X(score_z, 1, N * D * H) \
	X(key, 1, N)             \
	X(d_score_z, 1, N * D * H) \
	X(d_score_n, 1, N * H)   \
	X(d_score_d, 1, D * H)   \
	X(d_node_h, 1, N * H)    \
	X(d_dev_h, 1, D * H)     \
	NN_ROUND_SCRATCH(X, N + D, E + D * D, H)

NN_TABLE_STRUCT(acts_at, POLICY_ACTS)

static acts_at layout_acts(const policy_dims *d, int32_t n_nodes, int32_t n_edges, int32_t n_devs)
{
	size_t N = (size_t)n_nodes, E = (size_t)n_edges, D = (size_t)n_devs, H = (size_t)d->hidden,
	       R = (size_t)d->rounds;
	acts_at at = {0};
	POLICY_ACTS(NN_TABLE_ACT)
	return at;
}

size_t policy_param_count(const policy_dims *d)
{
	return layout_params(d).total;
}

size_t policy_acts_size(const policy_dims *d, int32_t n_nodes, int32_t n_edges, int32_t n_devs)
{
	return layout_acts(d, n_nodes, n_edges, n_devs).total;
}

size_t policy_forward_size(const policy_dims *d, int32_t n_nodes, int32_t n_edges, int32_t n_devs)
{
	return layout_acts(d, n_nodes, n_edges, n_devs).d_score_z;
}

/* ---- the table of tensors ---- */

enum tensor_index {
#define X(name, copies, rows, columns, init) TENSOR_##name,
	POLICY_PARAMS(X)
#undef X
	N_TENSORS
};

int32_t policy_tensor_count(void)
{
	return N_TENSORS;
}

policy_tensor policy_tensor_at(const policy_dims *d, int32_t index)
{
	param_at at = layout_params(d);
	const policy_tensor table[N_TENSORS] = {
#define X(name, copies, rows, columns, init) \
	{#name, copies, rows, columns, at.name, NN_TABLE_SIZE(copies, rows, columns)},
		POLICY_PARAMS(X)
#undef X
	};
	return table[index];
}

void policy_init(const policy_dims *d, nn_real w[], berth_rng *rng)
{
	param_at at = layout_params(d);
	POLICY_PARAMS(NN_TABLE_INIT)
}

/* ---- checks ---- */

static berth_status check_finite(const char *what, const nn_real x[], size_t rows, int32_t width,
                                 berth_err *err)
{
	for (size_t i = 0; i < rows * (size_t)width; i++)
		if (!isfinite(x[i]))
			return berth_fail(err, BERTH_EINVAL, "feature %zu of %s %zu is not finite",
			                  i % (size_t)width, what, i / (size_t)width);
	return BERTH_OK;
}

berth_status policy_input_check(const policy_dims *d, const policy_input *in, berth_err *err)
{
	if (in->n_nodes < 0 || in->n_edges < 0 || in->n_devs < 1)
		return berth_fail(err, BERTH_EINVAL,
		                  "policy input of %d nodes, %d edges and %d devices; expected none negative "
		                  "and a device",
		                  in->n_nodes, in->n_edges, in->n_devs);
	size_t N = (size_t)in->n_nodes, D = (size_t)in->n_devs;
	for (int32_t e = 0; e < in->n_edges; e++) {
		int32_t u = in->edge_from[e], v = in->edge_to[e];
		if (u < 0 || u >= in->n_nodes || v < 0 || v >= in->n_nodes || u == v)
			return berth_fail(
				err, BERTH_EINVAL,
				"edge %d goes from node %d to node %d; expected two different nodes below %d",
				e, u, v, in->n_nodes);
	}
	BERTH_TRY(check_finite("node", in->node_x, N, d->node_in, err));
	BERTH_TRY(check_finite("edge", in->edge_x, (size_t)in->n_edges, d->edge_in, err));
	BERTH_TRY(check_finite("device", in->dev_x, D, d->dev_in, err));
	BERTH_TRY(check_finite("pair", in->pair_x, N * D, d->pair_in, err));
	BERTH_TRY(check_finite("link", in->link_x, D * D, d->link_in, err));
	for (size_t n = 0; n < N; n++)
		if (!memchr(in->mask + n * D, 1, D))
			return berth_fail(err, BERTH_EINFEASIBLE, "node %zu has no legal device", n);
	return BERTH_OK;
}

/* ---- the network ---- */

typedef struct net {
	size_t N, D, H, R, node_in, edge_in, dev_in, pair_in, link_in, step_in;
	nn_edges graph, devices;
	param_at w;
	acts_at a;
} net;

static net net_of(const policy_dims *d, const policy_input *in)
{
	size_t N = (size_t)in->n_nodes, E = (size_t)in->n_edges, D = (size_t)in->n_devs;
	return (net){
		.N = N,
		.D = D,
		.H = (size_t)d->hidden,
		.R = (size_t)d->rounds,
		.node_in = (size_t)d->node_in,
		.edge_in = (size_t)d->edge_in,
		.dev_in = (size_t)d->dev_in,
		.pair_in = (size_t)d->pair_in,
		.link_in = (size_t)d->link_in,
		.step_in = (size_t)d->step_in,
		.graph = {N, E, in->edge_from, in->edge_to},
		.devices = {D, D * D, NULL, NULL},
		.w = layout_params(d),
		.a = layout_acts(d, in->n_nodes, in->n_edges, in->n_devs),
	};
}

static nn_round node_round(const net *t, size_t r)
{
	return nn_round_at(NN_ROUND_FIRST(node_, &t->w, &t->a), &t->graph, t->H, t->edge_in, r);
}

static nn_round dev_round(const net *t)
{
	return nn_round_at(NN_ROUND_FIRST(dev_, &t->w, &t->a), &t->devices, t->H, t->link_in, 0);
}

/* y = relu(x @ w1 + b1) @ w2 + b2, with the hidden layer kept in a. */
static void mlp_forward(size_t n, size_t width, size_t H, nn_real y[restrict], nn_real a[restrict],
                        const nn_real x[restrict], const nn_real w1[restrict], const nn_real b1[restrict],
                        const nn_real w2[restrict], const nn_real b2[restrict])
{
	nn_linear(n, width, H, a, x, w1, b1);
	nn_relu(n * H, a);
	nn_linear(n, H, H, y, a, w2, b2);
}

static void mlp_backward(size_t n, size_t width, size_t H, nn_real dw1[restrict], nn_real db1[restrict],
                         nn_real dw2[restrict], nn_real db2[restrict], nn_real da[restrict],
                         const nn_real dy[restrict], const nn_real a[restrict], const nn_real x[restrict],
                         const nn_real w1[restrict], const nn_real w2[restrict])
{
	BERTH_CLEAR(da, n * H);
	nn_linear_backward(n, H, H, da, dw2, db2, dy, a, w2);
	nn_relu_backward(n * H, da, a);
	nn_linear_backward(n, width, H, NULL, dw1, db1, da, x, w1);
}

/* z of all pairs, and the keys. */
static void pairs_forward(const net *t, const nn_real w[restrict], const nn_real pair_x[],
                          nn_real a[restrict])
{
	size_t pairs = t->N * t->D;
	const nn_real *h_node = a + t->a.node_h + t->R * t->N * t->H, *h_dev = a + t->a.dev_h + t->D * t->H;
	BERTH_CLEAR(a + t->a.score_n, t->N * t->H);
	BERTH_CLEAR(a + t->a.key, t->N);
	nn_linear_add(t->N, t->H, t->H, a + t->a.score_n, h_node, w + t->w.score_node);
	nn_linear(t->D, t->H, t->H, a + t->a.score_d, h_dev, w + t->w.score_dev, w + t->w.score_b);
	nn_pair_add(t->N, t->D, t->H, a + t->a.score_z, a + t->a.score_n, a + t->a.score_d);
	nn_linear_add(pairs, t->pair_in, t->H, a + t->a.score_z, pair_x, w + t->w.score_pair);
	nn_linear_add(t->N, t->H, 1, a + t->a.key, h_node, w + t->w.order_v);
}

/* From d_score_z (and dkeys) to d_node_h and d_dev_h. */
static void pairs_backward(const net *t, const nn_real w[restrict], const nn_real pair_x[],
                           nn_real a[restrict], const nn_real dkeys[], nn_real dw[restrict])
{
	const nn_real *h_node = a + t->a.node_h + t->R * t->N * t->H, *h_dev = a + t->a.dev_h + t->D * t->H;
	nn_real *dz = a + t->a.d_score_z, *dn = a + t->a.d_score_n, *dd = a + t->a.d_score_d;
	nn_pair_add_backward(t->N, t->D, t->H, dn, dd, dz);
	nn_linear_backward(t->N * t->D, t->pair_in, t->H, NULL, dw + t->w.score_pair, NULL, dz, pair_x,
	                   w + t->w.score_pair);
	nn_linear_backward(t->D, t->H, t->H, a + t->a.d_dev_h, dw + t->w.score_dev, dw + t->w.score_b, dd,
	                   h_dev, w + t->w.score_dev);
	nn_linear_backward(t->N, t->H, t->H, a + t->a.d_node_h, dw + t->w.score_node, NULL, dn, h_node,
	                   w + t->w.score_node);
	if (dkeys)
		nn_linear_backward(t->N, t->H, 1, a + t->a.d_node_h, dw + t->w.order_v, NULL, dkeys, h_node,
		                   w + t->w.order_v);
}

void policy_embed(const policy_dims *d, const nn_real w[restrict], const policy_input *in,
                  nn_real a[restrict])
{
	net t = net_of(d, in);
	nn_round dev = dev_round(&t);
	nn_inverse_degrees(&t.graph, a + t.a.node_inv);
	nn_inverse_degrees(&t.devices, a + t.a.dev_inv);
	mlp_forward(t.N, t.node_in, t.H, a + t.a.node_h, a + t.a.node_a, in->node_x, w + t.w.node_w1,
	            w + t.w.node_b1, w + t.w.node_w2, w + t.w.node_b2);
	for (size_t r = 0; r < t.R; r++) {
		nn_round node = node_round(&t, r);
		nn_round_forward(&t.graph, t.H, t.edge_in, in->edge_x, &node, w, a);
	}
	mlp_forward(t.D, t.dev_in, t.H, a + t.a.dev_h, a + t.a.dev_a, in->dev_x, w + t.w.dev_w1,
	            w + t.w.dev_b1, w + t.w.dev_w2, w + t.w.dev_b2);
	nn_round_forward(&t.devices, t.H, t.link_in, in->link_x, &dev, w, a);
	pairs_forward(&t, w, in->pair_x, a);
}

/* From d_score_z or d_score_n up to d_dev_h, see POLICY_ACTS. */
static void clear_backward(const net *t, nn_real a[], size_t from)
{
	BERTH_CLEAR(a + from, t->a.d_upd - from);
}

void policy_backward_begin(const policy_dims *d, const policy_input *in, nn_real a[])
{
	net t = net_of(d, in);
	clear_backward(&t, a, t.a.d_score_z);
}

void policy_backward_end(const policy_dims *d, const nn_real w[restrict], const policy_input *in,
                         nn_real a[restrict], const nn_real dkeys[], nn_real dw[restrict])
{
	net t = net_of(d, in);
	nn_round dev = dev_round(&t);
	pairs_backward(&t, w, in->pair_x, a, dkeys, dw);
	nn_round_backward(&t.devices, t.H, t.link_in, in->link_x, &dev, w, a, a + t.a.d_dev_h, dw);
	mlp_backward(t.D, t.dev_in, t.H, dw + t.w.dev_w1, dw + t.w.dev_b1, dw + t.w.dev_w2, dw + t.w.dev_b2,
	             a + t.a.d_upd, a + t.a.d_dev_h, a + t.a.dev_a, in->dev_x, w + t.w.dev_w1,
	             w + t.w.dev_w2);
	for (size_t r = t.R; r-- > 0;) {
		nn_round node = node_round(&t, r);
		nn_round_backward(&t.graph, t.H, t.edge_in, in->edge_x, &node, w, a, a + t.a.d_node_h, dw);
	}
	mlp_backward(t.N, t.node_in, t.H, dw + t.w.node_w1, dw + t.w.node_b1, dw + t.w.node_w2,
	             dw + t.w.node_b2, a + t.a.d_upd, a + t.a.d_node_h, a + t.a.node_a, in->node_x,
	             w + t.w.node_w1, w + t.w.node_w2);
}

/* ---- head: one shot ---- */

void policy_forward(const policy_dims *d, const nn_real w[restrict], const policy_input *in,
                    nn_real a[restrict], nn_real logits[restrict])
{
	net t = net_of(d, in);
	size_t pairs = t.N * t.D;
	policy_embed(d, w, in, a);
	nn_relu_score(pairs, t.H, logits, a + t.a.score_z, w + t.w.score_v);
	nn_linear_add(pairs, t.pair_in, 1, logits, in->pair_x, w + t.w.score_skip);
}

void policy_backward(const policy_dims *d, const nn_real w[restrict], const policy_input *in,
                     nn_real a[restrict], const nn_real dlogits[restrict], nn_real dw[restrict])
{
	net t = net_of(d, in);
	size_t pairs = t.N * t.D;
	clear_backward(&t, a, t.a.d_score_n);
	nn_linear_backward(pairs, t.pair_in, 1, NULL, dw + t.w.score_skip, NULL, dlogits, in->pair_x,
	                   w + t.w.score_skip);
	nn_relu_score_backward(pairs, t.H, a + t.a.d_score_z, dw + t.w.score_v, dlogits, a + t.a.score_z,
	                       w + t.w.score_v);
	policy_backward_end(d, w, in, a, NULL, dw);
}

/* ---- head: step by step ---- */

const nn_real *policy_keys(const policy_dims *d, const policy_input *in, const nn_real a[])
{
	return a + layout_acts(d, in->n_nodes, in->n_edges, in->n_devs).key;
}

void policy_steps_forward(const policy_dims *d, const nn_real w[restrict], const policy_input *in,
                          const nn_real a[restrict], const policy_steps *s, nn_real hidden[restrict],
                          nn_real logits[restrict])
{
	net t = net_of(d, in);
	size_t rows = s->n * t.D, block = t.D * t.H;
	for (size_t i = 0; i < s->n; i++)
		BERTH_COPY(hidden + i * block, a + t.a.score_z + (size_t)s->node[i] * block, block);
	nn_linear_add(rows, t.step_in, t.H, hidden, s->x, w + t.w.step_x);
	nn_relu(rows * t.H, hidden);
	BERTH_CLEAR(logits, rows);
	nn_linear_add(rows, t.H, 1, logits, hidden, w + t.w.step_v);
	nn_linear_add(rows, t.step_in, 1, logits, s->x, w + t.w.step_skip);
}

policy_stepper policy_stepper_of(const policy_dims *d, const nn_real w[], const policy_input *in,
                                 const nn_real a[])
{
	net t = net_of(d, in);
	return (policy_stepper){t.D,
	                        t.H,
	                        t.step_in,
	                        a + t.a.score_z,
	                        w + t.w.step_x,
	                        w + t.w.step_v,
	                        w + t.w.step_skip,
	                        a + t.a.key};
}

void policy_step_logits(const policy_stepper *s, int32_t node, const nn_real x[restrict],
                        nn_real logits[restrict])
{
	size_t H = s->hidden, F = s->step_in, most = BERTH_WIDEST / H;
	nn_real hidden[BERTH_WIDEST];
	assert(most > 0);
	for (size_t dev = 0; dev < s->n_devs; dev += most) {
		size_t n = s->n_devs - dev < most ? s->n_devs - dev : most;
		BERTH_COPY(hidden, s->z + ((size_t)node * s->n_devs + dev) * H, n * H);
		nn_linear_add(n, F, H, hidden, x + dev * F, s->x);
		nn_relu_score(n, H, logits + dev, hidden, s->v);
		nn_linear_add(n, F, 1, logits + dev, x + dev * F, s->skip);
	}
}

void policy_steps_backward(const policy_dims *d, const nn_real w[restrict], const policy_input *in,
                           nn_real a[restrict], const policy_steps *s, nn_real hidden[restrict],
                           const nn_real dlogits[restrict], nn_real dw[restrict])
{
	net t = net_of(d, in);
	size_t rows = s->n * t.D;
	nn_linear_backward(rows, t.H, 1, NULL, dw + t.w.step_v, NULL, dlogits, hidden, w + t.w.step_v);
	nn_linear_backward(rows, t.step_in, 1, NULL, dw + t.w.step_skip, NULL, dlogits, s->x,
	                   w + t.w.step_skip);
	nn_relu_outer_backward(rows, t.H, hidden, dlogits, w + t.w.step_v);
	nn_linear_backward(rows, t.step_in, t.H, NULL, dw + t.w.step_x, NULL, hidden, s->x, w + t.w.step_x);
	nn_scatter_add(s->n, t.D * t.H, a + t.a.d_score_z, hidden, s->node);
}
