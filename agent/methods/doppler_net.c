/* The two policies of DOPPLER as layers over arrays: one encoding of the graph, a head for operators, a head
 * for devices. Forward passes are lists of layers, backward passes the same lists reversed. */
#include "doppler.h"

#include "nn_gemm.h"
#include "nn_table.h"

#define EXP _Generic((nn_real)0, float: expf, double: exp)

/* ---- layout of the blocks ---- */

NN_TABLE_STRUCT(param_at, DOPPLER_PARAMS)

static param_at layout_params(const doppler_dims *d)
{
	param_at at = {0};
	size_t H = (size_t)d->hidden, R = (size_t)d->rounds;
	DOPPLER_PARAMS(NN_TABLE_PARAM)
	return at;
}

/* The activations, X(name, copies, size of one). From d_score to d_held: gradients that episodes add to;
 * then scratch of the backward pass. */
#define DOPPLER_ACTS(X)          \
	NN_ROUND_ACTS(X, , R, N, E, H) \
	X(down, 1, N * H)        \
	X(up, 1, N * H)          \
	X(down_len, 1, N)        \
	X(up_len, 1, N)          \
	X(sel_z, 1, N * H)       \
	X(score, 1, N)           \
	X(place, 1, N * H)       \
	X(held, 1, N * H)        \
	X(d_score, 1, N)         \
	X(d_place, 1, N * H)     \
	X(d_held, 1, N * H)      \
	X(d_h, 1, N * H)         \
	X(d_f, 1, N * H)         \
	X(d_z, 1, N * H)         \
	X(d_path, 1, N * H)      \
	NN_ROUND_SCRATCH(X, N, E, H)

NN_TABLE_STRUCT(acts_at, DOPPLER_ACTS)

static acts_at layout_acts(size_t N, size_t E, size_t H, size_t R)
{
	acts_at at = {0};
	DOPPLER_ACTS(NN_TABLE_ACT)
	return at;
}

typedef struct net {
	size_t N, E, D, H, R;
	nn_edges graph;
	param_at w;
	acts_at a;
} net;

static net net_of(const doppler_dims *d, const doppler_input *in)
{
	size_t N = (size_t)in->n_ops, E = (size_t)in->n_edges, H = (size_t)d->hidden, R = (size_t)d->rounds;
	return (net){N,
	             E,
	             (size_t)in->n_devs,
	             H,
	             R,
	             {N, E, in->edge_from, in->edge_to},
	             layout_params(d),
	             layout_acts(N, E, H, R)};
}

size_t doppler_param_count(const doppler_dims *d)
{
	return layout_params(d).total;
}

size_t doppler_acts_size(const doppler_dims *d, const doppler_input *in)
{
	return net_of(d, in).a.total;
}

void doppler_init(const doppler_dims *d, nn_real w[], berth_rng *rng)
{
	size_t H = (size_t)d->hidden, R = (size_t)d->rounds;
	param_at at = layout_params(d);
	DOPPLER_PARAMS(NN_TABLE_INIT)
}

/* ---- the encoding ---- */

static nn_round round_of(const net *t, size_t r)
{
	return nn_round_at(NN_ROUND_FIRST(, &t->w, &t->a), &t->graph, t->H, DOPPLER_EDGE, r);
}

/* y[v] = the mean of h along the path that begins at v and goes on with next[v]. order: every operator after
 * the one it goes on with. */
static void path_mean(const net *t, const int32_t *next, const int32_t *order, bool forward,
                      const nn_real h[restrict], nn_real y[restrict], nn_real len[restrict])
{
	size_t H = t->H;
	for (size_t i = 0; i < t->N; i++) {
		size_t v = (size_t)order[forward ? i : t->N - 1 - i];
		BERTH_COPY(y + v * H, h + v * H, H);
		len[v] = 1;
		if (next[v] < 0)
			continue;
		size_t u = (size_t)next[v];
		len[v] += len[u];
		for (size_t k = 0; k < H; k++) /* sums come back from means */
			y[v * H + k] = (h[v * H + k] + y[u * H + k] * len[u]) / len[v];
	}
}

/* dh += the gradient of h for dy, which is overwritten. Operators before those they go on with. */
static void path_mean_backward(const net *t, const int32_t *next, const int32_t *order, bool forward,
                               nn_real dh[restrict], nn_real dy[restrict], const nn_real len[restrict])
{
	size_t H = t->H;
	for (size_t i = t->N; i-- > 0;) {
		size_t v = (size_t)order[forward ? i : t->N - 1 - i];
		for (size_t k = 0; k < H; k++)
			dh[v * H + k] += dy[v * H + k] / len[v];
		if (next[v] < 0)
			continue;
		size_t u = (size_t)next[v];
		for (size_t k = 0; k < H; k++)
			dy[u * H + k] += dy[v * H + k] * len[u] / len[v];
	}
}

/* What devices hold of an operator, relative to a fair share of all. */
static nn_real share(const net *t)
{
	return (nn_real)t->D / (nn_real)(t->N ? t->N : 1);
}

void doppler_embed(const doppler_dims *d, const nn_real w[restrict], const doppler_input *in,
                   nn_real a[restrict])
{
	net t = net_of(d, in);
	size_t N = t.N, H = t.H;
	nn_real *f = a + t.a.h, *h = a + t.a.h + t.R * N * H;
	nn_inverse_degrees(&t.graph, a + t.a.inv);
	nn_linear(N, DOPPLER_NODE, H, f, in->node_x, w + t.w.node_w, w + t.w.node_b);
	nn_relu(N * H, f);
	for (size_t r = 0; r < t.R; r++) {
		nn_round at = round_of(&t, r);
		nn_round_forward(&t.graph, H, DOPPLER_EDGE, in->edge_x, &at, w, a);
	}
	path_mean(&t, in->below, in->topo_op, false, h, a + t.a.down, a + t.a.down_len);
	path_mean(&t, in->above, in->topo_op, true, h, a + t.a.up, a + t.a.up_len);
	nn_linear(N, H, H, a + t.a.sel_z, f, w + t.w.sel_f, w + t.w.sel_b);
	nn_linear_add(N, H, H, a + t.a.sel_z, h, w + t.w.sel_h);
	nn_linear_add(N, H, H, a + t.a.sel_z, a + t.a.down, w + t.w.sel_down);
	nn_linear_add(N, H, H, a + t.a.sel_z, a + t.a.up, w + t.w.sel_up);
	nn_relu(N * H, a + t.a.sel_z);
	BERTH_CLEAR(a + t.a.score, N);
	nn_linear_add(N, H, 1, a + t.a.score, a + t.a.sel_z, w + t.w.sel_v);
	nn_linear(N, H, H, a + t.a.place, f, w + t.w.plc_f, w + t.w.plc_b);
	nn_linear_add(N, H, H, a + t.a.place, h, w + t.w.plc_h);
	BERTH_CLEAR(a + t.a.held, N * H);
	nn_linear_add(N, H, H, a + t.a.held, h, w + t.w.plc_held);
	for (size_t i = 0; i < N * H; i++)
		a[t.a.held + i] *= share(&t);
}

void doppler_backward_begin(const doppler_dims *d, const doppler_input *in, nn_real a[])
{
	net t = net_of(d, in);
	BERTH_CLEAR(a + t.a.d_score, t.a.d_h - t.a.d_score); /* d_score, d_place, d_held */
}

/* From d_score to d_f and d_h. */
static void sel_backward(const net *t, const nn_real w[restrict], const doppler_input *in,
                         nn_real a[restrict], nn_real dw[restrict])
{
	size_t N = t->N, H = t->H;
	nn_real *dz = a + t->a.d_z, *dpath = a + t->a.d_path, *dh = a + t->a.d_h;
	const nn_real *f = a + t->a.h, *h = a + t->a.h + t->R * N * H;
	BERTH_CLEAR(dz, N * H);
	nn_linear_backward(N, H, 1, dz, dw + t->w.sel_v, NULL, a + t->a.d_score, a + t->a.sel_z,
	                   w + t->w.sel_v);
	nn_relu_backward(N * H, dz, a + t->a.sel_z);
	nn_linear_backward(N, H, H, a + t->a.d_f, dw + t->w.sel_f, dw + t->w.sel_b, dz, f, w + t->w.sel_f);
	nn_linear_backward(N, H, H, dh, dw + t->w.sel_h, NULL, dz, h, w + t->w.sel_h);
	BERTH_CLEAR(dpath, N * H);
	nn_linear_backward(N, H, H, dpath, dw + t->w.sel_down, NULL, dz, a + t->a.down, w + t->w.sel_down);
	path_mean_backward(t, in->below, in->topo_op, false, dh, dpath, a + t->a.down_len);
	BERTH_CLEAR(dpath, N * H);
	nn_linear_backward(N, H, H, dpath, dw + t->w.sel_up, NULL, dz, a + t->a.up, w + t->w.sel_up);
	path_mean_backward(t, in->above, in->topo_op, true, dh, dpath, a + t->a.up_len);
}

void doppler_backward_end(const doppler_dims *d, const nn_real w[restrict], const doppler_input *in,
                          nn_real a[restrict], nn_real dw[restrict])
{
	net t = net_of(d, in);
	size_t N = t.N, H = t.H;
	nn_real *df = a + t.a.d_f, *dh = a + t.a.d_h, *dheld = a + t.a.d_held;
	const nn_real *f = a + t.a.h, *h = a + t.a.h + t.R * N * H;
	BERTH_CLEAR(dh, N * H);
	BERTH_CLEAR(df, N * H);
	for (size_t i = 0; i < N * H; i++)
		dheld[i] *= share(&t);
	nn_linear_backward(N, H, H, dh, dw + t.w.plc_held, NULL, dheld, h, w + t.w.plc_held);
	nn_linear_backward(N, H, H, dh, dw + t.w.plc_h, NULL, a + t.a.d_place, h, w + t.w.plc_h);
	nn_linear_backward(N, H, H, df, dw + t.w.plc_f, dw + t.w.plc_b, a + t.a.d_place, f, w + t.w.plc_f);
	sel_backward(&t, w, in, a, dw);
	for (size_t r = t.R; r-- > 0;) {
		nn_round at = round_of(&t, r);
		nn_round_backward(&t.graph, H, DOPPLER_EDGE, in->edge_x, &at, w, a, dh, dw);
	}
	for (size_t i = 0; i < N * H; i++)
		df[i] += dh[i];
	nn_relu_backward(N * H, df, f);
	nn_linear_backward(N, DOPPLER_NODE, H, NULL, dw + t.w.node_w, dw + t.w.node_b, df, in->node_x,
	                   w + t.w.node_w);
}

/* ---- steps ---- */

const nn_real *doppler_scores(const doppler_dims *d, const doppler_input *in, const nn_real a[])
{
	return a + net_of(d, in).a.score;
}

void doppler_place_logits(const doppler_dims *d, const nn_real w[restrict], const doppler_input *in,
                          const nn_real a[restrict], int32_t op, const nn_real dev_x[restrict],
                          const nn_real held[restrict], nn_real scratch[restrict], nn_real logits[restrict])
{
	net t = net_of(d, in);
	size_t D = t.D, H = t.H;
	nn_real *state = scratch, *z = scratch + D * H;
	const nn_real *own = a + t.a.place + (size_t)op * H;
	nn_linear(D, DOPPLER_DEV, H, state, dev_x, w + t.w.dev_w, w + t.w.dev_b);
	nn_relu(D * H, state);
	for (size_t i = 0; i < D * H; i++)
		z[i] = held[i] + own[i % H];
	nn_linear_add(D, H, H, z, state, w + t.w.plc_dev);
	nn_relu(D * H, z);
	BERTH_CLEAR(logits, D);
	nn_linear_add(D, H, 1, logits, z, w + t.w.plc_v);
}

void doppler_hold(const doppler_dims *d, const doppler_input *in, const nn_real a[restrict], int32_t op,
                  int32_t dev, nn_real held[restrict])
{
	net t = net_of(d, in);
	for (size_t k = 0; k < t.H; k++)
		held[(size_t)dev * t.H + k] += a[t.a.held + (size_t)op * t.H + k];
}

void doppler_ready_start(const doppler_input *in, int32_t ready[restrict], int32_t waits[restrict],
                         int32_t *n)
{
	*n = 0;
	BERTH_CLEAR(waits, in->n_ops);
	for (int32_t e = 0; e < in->n_edges; e++)
		waits[in->edge_to[e]]++;
	for (int32_t op = 0; op < in->n_ops; op++)
		if (waits[op] == 0)
			ready[(*n)++] = op;
}

int32_t doppler_ready_take(const doppler_input *in, int32_t ready[restrict], int32_t waits[restrict],
                           int32_t *n, int32_t i)
{
	int32_t op = ready[i];
	ready[i] = ready[--*n];
	BERTH_EACH (k, in->out_off, op)
		if (--waits[in->out_to[k]] == 0)
			ready[(*n)++] = in->out_to[k];
	return op;
}

void doppler_ready_probs(const nn_real scores[restrict], const int32_t ready[restrict], int32_t n,
                         nn_real p[restrict])
{
	nn_real max = -INFINITY, sum = 0;
	for (int32_t i = 0; i < n; i++)
		max = scores[ready[i]] > max ? scores[ready[i]] : max;
	for (int32_t i = 0; i < n; i++)
		sum += p[i] = EXP(scores[ready[i]] - max);
	for (int32_t i = 0; i < n; i++)
		p[i] /= sum;
}

/* ---- an episode ---- */

size_t doppler_work_size(const doppler_dims *d, const doppler_input *in)
{
	size_t rows = (size_t)in->n_ops * (size_t)in->n_devs;
	return 3 * rows * (size_t)d->hidden + 2 * rows + (size_t)in->n_devs * (size_t)d->hidden +
	       (size_t)in->n_ops;
}

/* Log-probabilities of SEL, and d_score. */
static double sel_episode(const net *t, const doppler_input *in, nn_real a[restrict],
                          const doppler_episode *ep, nn_real scale, nn_real p[restrict],
                          int32_t ready[restrict], int32_t waits[restrict])
{
	double sum = 0;
	int32_t n;
	doppler_ready_start(in, ready, waits, &n);
	for (size_t step = 0; step < t->N; step++) {
		int32_t at = 0;
		doppler_ready_probs(a + t->a.score, ready, n, p);
		for (int32_t i = 0; i < n; i++) {
			a[t->a.d_score + (size_t)ready[i]] += scale * p[i];
			at = ready[i] == ep->op[step] ? i : at;
		}
		a[t->a.d_score + (size_t)ep->op[step]] -= scale;
		sum += log((double)p[at] + 1e-30);
		doppler_ready_take(in, ready, waits, &n, at);
	}
	return sum;
}

/* Hidden layers of PLC of all steps: state [rows][H], z [rows][H]. */
static void plc_forward(const net *t, const nn_real w[restrict], const nn_real a[restrict],
                        const doppler_episode *ep, nn_real state[restrict], nn_real z[restrict],
                        nn_real held[restrict], nn_real logits[restrict])
{
	size_t rows = t->N * t->D, block = t->D * t->H;
	nn_linear(rows, DOPPLER_DEV, t->H, state, ep->dev_x, w + t->w.dev_w, w + t->w.dev_b);
	nn_relu(rows * t->H, state);
	BERTH_CLEAR(held, block);
	for (size_t step = 0; step < t->N; step++) {
		size_t op = (size_t)ep->op[step];
		for (size_t i = 0; i < block; i++)
			z[step * block + i] = held[i] + a[t->a.place + op * t->H + i % t->H];
		for (size_t k = 0; k < t->H; k++)
			held[(size_t)ep->dev[step] * t->H + k] += a[t->a.held + op * t->H + k];
	}
	nn_linear_add(rows, t->H, t->H, z, state, w + t->w.plc_dev);
	nn_relu(rows * t->H, z);
	BERTH_CLEAR(logits, rows);
	nn_linear_add(rows, t->H, 1, logits, z, w + t->w.plc_v);
}

static double plc_episode(const net *t, const nn_real w[restrict], nn_real a[restrict],
                          const doppler_episode *ep, nn_real scale, nn_real work[restrict],
                          nn_real dw[restrict])
{
	size_t rows = t->N * t->D;
	nn_real *state = work, *z = state + rows * t->H, *d_state = z + rows * t->H,
		*logits = d_state + rows * t->H, *logp = logits + rows;
	nn_real *held = logp + rows;
	double sum = 0;
	plc_forward(t, w, a, ep, state, z, held, logits);
	nn_log_softmax(t->N, t->D, logp, logits, ep->mask);
	for (size_t i = 0; i < rows; i++) {
		bool taken = (size_t)ep->dev[i / t->D] == i % t->D;
		sum += taken ? (double)logp[i] : 0;
		logits[i] = scale * (EXP(logp[i]) - (nn_real)taken); /* the gradient */
	}
	nn_linear_backward(rows, t->H, 1, NULL, dw + t->w.plc_v, NULL, logits, z, w + t->w.plc_v);
	for (size_t r = 0; r < rows; r++)
		for (size_t k = 0; k < t->H; k++)
			z[r * t->H + k] = z[r * t->H + k] > 0 ? logits[r] * w[t->w.plc_v + k] : 0;
	BERTH_CLEAR(d_state, rows * t->H);
	nn_linear_backward(rows, t->H, t->H, d_state, dw + t->w.plc_dev, NULL, z, state, w + t->w.plc_dev);
	nn_relu_backward(rows * t->H, d_state, state);
	nn_linear_backward(rows, DOPPLER_DEV, t->H, NULL, dw + t->w.dev_w, dw + t->w.dev_b, d_state,
	                   ep->dev_x, w + t->w.dev_w);
	/* dz of all steps to d_place and d_held: what a device holds acts on every later step. */
	size_t H = t->H, block = t->D * H;
	BERTH_CLEAR(held, block);
	for (size_t step = t->N; step-- > 0;) {
		size_t op = (size_t)ep->op[step], dev = (size_t)ep->dev[step];
		for (size_t k = 0; k < H; k++)
			a[t->a.d_held + op * H + k] += held[dev * H + k];
		for (size_t i = 0; i < block; i++) {
			held[i] += z[step * block + i];
			a[t->a.d_place + op * H + i % H] += z[step * block + i];
		}
	}
	return sum;
}

double doppler_episode_backward(const doppler_dims *d, const nn_real w[restrict], const doppler_input *in,
                                nn_real a[restrict], const doppler_episode *ep, double weight,
                                nn_real work[restrict], int32_t ready[restrict], int32_t waits[restrict],
                                nn_real dw[restrict])
{
	net t = net_of(d, in);
	double scale = weight / (double)t.N;
	nn_real *p = work + doppler_work_size(d, in) - t.N;
	double logp = sel_episode(&t, in, a, ep, (nn_real)scale, p, ready, waits);
	logp += plc_episode(&t, w, a, ep, (nn_real)scale, work, dw);
	return -scale * logp;
}
