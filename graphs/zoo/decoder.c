/* Operators of a decoder, layer by layer: attention of three kinds, feed-forward networks, mixtures of
 * experts. What runs follows from the weights that are there. */
#include "decoder.h"

typedef struct build {
	zoo_net *net;
	const decoder *d;
	const decoder_layer *l;
} build;

static const char *step_name(const build *b, decoder_step step)
{
	return b->d->names->step[step];
}

static bool has(const build *b, decoder_slot slot)
{
	return b->l->w[slot].bytes > 0;
}

static double count(zoo_tensor x)
{
	return (double)x.dim[0] * (double)x.dim[1] * (double)x.dim[2] * (double)x.dim[3];
}

static zoo_tensor unary(const build *b, decoder_step step, const char *type, zoo_tensor x)
{
	return zoo_unary(b->net, step_name(b, step), type, x);
}

static zoo_tensor binary(const build *b, decoder_step step, const char *type, zoo_tensor x, zoo_tensor y)
{
	return zoo_binary(b->net, step_name(b, step), type, x, y);
}

static zoo_cost stored(double bytes)
{
	return (zoo_cost){.weight_bytes = bytes, .read_weight_bytes = bytes};
}

/* So many rows by w, or in equal parts by b of its matrices. A mean number of rows that is far from a whole
 * one has no shape. */
static zoo_cost multiplied(decoder_weight w, int64_t b, double rows, double bytes)
{
	zoo_cost cost = stored(bytes);
	double mean = rows / (double)b, whole = ceil(mean);
	cost.macs = rows * (double)w.in * (double)w.out;
	cost.dtype = w.dtype;
	if (whole - mean <= 0.01 * whole && whole <= 0x1p53)
		cost.dims = BERTH_DIMS(PRODUCT, b, (int64_t)whole, w.out, w.in);
	return cost;
}

static const char *weight_name(const build *b, const char *slot)
{
	return zoo_name(b->net, "%s%s", slot, b->d->names->weight);
}

static zoo_tensor add_bias(const build *b, const char *slot, decoder_weight w, zoo_tensor x)
{
	if (w.bias_bytes <= 0)
		return x;
	return zoo_op(b->net, zoo_name(b->net, "%s%s", slot, b->d->names->bias), "Add", 1, &x, x,
	              stored(w.bias_bytes));
}

static zoo_tensor product(const build *b, const char *slot, decoder_weight w, zoo_tensor x)
{
	zoo_tensor out = x;
	out.dim[3] = w.out;
	out = zoo_op(b->net, weight_name(b, slot), "MatMul", 1, &x, out,
	             multiplied(w, 1, count(x) / (double)x.dim[3], w.bytes));
	return add_bias(b, slot, w, out);
}

static zoo_tensor project(const build *b, decoder_slot slot, zoo_tensor x)
{
	return product(b, b->d->names->slot[slot], b->l->w[slot], x);
}

/* By mean and variance where there is a bias, by the root mean square where there is none. */
static zoo_tensor normalize(const build *b, const char *slot, decoder_weight w, zoo_tensor x)
{
	if (w.bytes <= 0)
		return x;
	const char *type = w.bias_bytes > 0 ? "LayerNormalization" : "RMSNormalization";
	return zoo_op(b->net, weight_name(b, slot), type, 1, &x, x, stored(w.bytes + w.bias_bytes));
}

static zoo_tensor norm(const build *b, decoder_slot slot, zoo_tensor x)
{
	return normalize(b, b->d->names->slot[slot], b->l->w[slot], x);
}

/* Columns cut into parts of these widths. */
static void cut(const build *b, decoder_step step, zoo_tensor x, int32_t n, const int64_t width[],
                zoo_tensor part[])
{
	static const char *const names[] = {"0", "1", "2"};
	zoo_tensor whole = zoo_op(b->net, step_name(b, step), "Split", 1, &x, x, (zoo_cost){0});
	for (int32_t i = 0; i < n; i++) {
		part[i] = whole;
		part[i].dim[3] = width[i];
		part[i].name = names[i];
	}
}

/* ---- attention ---- */

/* Tokens that one token attends to. */
static int64_t span(const build *b)
{
	return b->l->window && b->l->window < b->d->seq ? b->l->window : b->d->seq;
}

/* [batch, 1, rows, heads * columns] to [batch, heads, rows, columns]. */
static zoo_tensor split_heads(const build *b, decoder_step step, zoo_tensor x, int64_t columns)
{
	return zoo_transpose(b->net, step_name(b, step), x, x.dim[0], x.dim[3] / columns, x.dim[2], columns);
}

/* What the cache holds for one of the two products. */
typedef struct cache {
	int64_t heads, columns;
	double elem_bytes;
	bool held; /* by this product */
} cache;

static double cached_numbers(const build *b, cache c)
{
	return (double)b->net->batch * (double)c.heads * (double)span(b) * (double)c.columns;
}

/* What is read of the cache beside the newest rows, which come as a tensor. */
static double old_bytes(const build *b, cache c)
{
	double tokens = (double)span(b), old = tokens - (double)b->d->rows;
	return old > 0 ? cached_numbers(b, c) * old / tokens * c.elem_bytes : 0;
}

static double held_bytes(const build *b, cache c)
{
	return b->net->training || !c.held ? 0 : cached_numbers(b, c) * c.elem_bytes;
}

/* A product of attention: queries or weights a with the cached keys or values, of which the newest rows come
 * as fresh. */
static zoo_tensor attend(const build *b, decoder_step step, zoo_tensor a, zoo_tensor fresh, int64_t columns,
                         int64_t inner, cache c)
{
	zoo_tensor x[2] = {a, fresh}, out = a;
	out.dim[3] = columns;
	zoo_cost cost = {.macs = (double)a.dim[0] * (double)a.dim[1] * (double)a.dim[2] * (double)columns *
	                         (double)inner};
	cost.dims = BERTH_DIMS(PRODUCT, a.dim[0] * c.heads, a.dim[1] / c.heads * a.dim[2], columns, inner);
	cost.read_extra_bytes = ceil(old_bytes(b, c));
	cost.state_bytes = ceil(held_bytes(b, c));
	return zoo_op(b->net, step_name(b, step), "MatMul", 2, x, out, cost);
}

/* Scores of q against keys k, weights from them. */
static zoo_tensor weigh(const build *b, zoo_tensor q, zoo_tensor k, cache keys)
{
	zoo_tensor a = attend(b, DECODER_SCORES, q, k, span(b), q.dim[3], keys);
	a = unary(b, DECODER_SCALE, "Mul", a);
	if (b->d->rows > 1)
		a = unary(b, DECODER_MASK, "Where", a);
	return unary(b, DECODER_SOFTMAX, "Softmax", a);
}

static zoo_tensor attend_by(const build *b, zoo_tensor q, zoo_tensor k, zoo_tensor v, cache keys,
                            cache values)
{
	if (b->d->flash) {
		/* Both products as one: values weighed by the scores of q against k. Its shape is a
		 * product's of that work. The cache of values may be that of keys. */
		zoo_tensor x[3] = {q, k, v}, out = q;
		bool two = values.held;
		int64_t inner = q.dim[3] + values.columns;
		int64_t columns = berth_common_divisor(inner, values.columns);
		out.dim[3] = values.columns;
		zoo_cost cost = {.macs = (double)q.dim[0] * (double)q.dim[1] * (double)q.dim[2] *
		                         (double)span(b) * (double)inner};
		cost.dims = BERTH_DIMS(PRODUCT, q.dim[0] * keys.heads, q.dim[1] / keys.heads * q.dim[2],
		                       columns, span(b) * (inner / columns));
		cost.read_extra_bytes = ceil(old_bytes(b, keys) + (two ? old_bytes(b, values) : 0));
		cost.state_bytes = ceil(held_bytes(b, keys) + held_bytes(b, values));
		return zoo_op(b->net, step_name(b, DECODER_FLASH), "MatMul", two ? 3 : 2, x, out, cost);
	}
	return attend(b, DECODER_CONTEXT, weigh(b, q, k, keys), v, values.columns, span(b), values);
}

static zoo_tensor join_heads(const build *b, zoo_tensor a)
{
	a = zoo_transpose(b->net, step_name(b, DECODER_TURN_BACK), a, a.dim[0], 1, a.dim[2],
	                  a.dim[1] * a.dim[3]);
	return project(b, DECODER_O, a);
}

/* Attention by whole keys and values, cut into heads. */
static zoo_tensor attend_heads(const build *b, zoo_tensor q, zoo_tensor k, zoo_tensor v)
{
	const decoder_layer *l = b->l;
	cache keys = {l->kv_heads, l->key, b->d->key_bytes, true},
	      values = {l->kv_heads, l->value, b->d->value_bytes, true};
	q = unary(b, DECODER_Q_ROTATE, "RotaryEmbedding", norm(b, DECODER_Q_NORM, q));
	k = unary(b, DECODER_K_ROTATE, "RotaryEmbedding", norm(b, DECODER_K_NORM, k));
	return join_heads(b, attend_by(b, q, k, v, keys, values));
}

static zoo_tensor fused_attention(const build *b, zoo_tensor x)
{
	const decoder_layer *l = b->l;
	const int64_t width[3] = {l->heads * l->key, l->kv_heads * l->key, l->kv_heads * l->value};
	zoo_tensor part[3];
	cut(b, DECODER_QKV_SPLIT, project(b, DECODER_QKV, x), 3, width, part);
	part[0] = split_heads(b, DECODER_Q_TURN, part[0], l->key);
	part[1] = split_heads(b, DECODER_K_TURN, part[1], l->key);
	part[2] = split_heads(b, DECODER_V_TURN, part[2], l->value);
	return attend_heads(b, part[0], part[1], part[2]);
}

static zoo_tensor plain_attention(const build *b, zoo_tensor x)
{
	zoo_tensor q = split_heads(b, DECODER_Q_TURN, project(b, DECODER_Q, x), b->l->key);
	zoo_tensor k = split_heads(b, DECODER_K_TURN, project(b, DECODER_K, x), b->l->key);
	zoo_tensor v = split_heads(b, DECODER_V_TURN, project(b, DECODER_V, x), b->l->value);
	return attend_heads(b, q, k, v);
}

/* A matrix a head: [batch, heads, rows, .] to [batch, heads, rows, columns]. */
static zoo_tensor project_heads(const build *b, decoder_slot slot, zoo_tensor x, int64_t columns)
{
	zoo_tensor out = x;
	const decoder_weight *w = &b->l->w[slot];
	out.dim[3] = columns;
	return zoo_op(b->net, weight_name(b, b->d->names->slot[slot]), "MatMul", 1, &x, out,
	              multiplied(*w, b->l->heads, count(x) / (double)x.dim[3], w->bytes));
}

/* Compressed rows c are keys and values at once; queries are brought into their space. */
static zoo_tensor attend_latent(const build *b, zoo_tensor q, zoo_tensor c)
{
	const decoder_layer *l = b->l;
	cache rows = {1, c.dim[3], b->d->key_bytes, true}, again = {1, l->latent, b->d->key_bytes, false};
	c = unary(b, DECODER_K_ROTATE, "RotaryEmbedding", c);
	q = project_heads(b, DECODER_K_B, unary(b, DECODER_Q_ROTATE, "RotaryEmbedding", q), c.dim[3]);
	zoo_tensor a = attend_by(b, q, c, c, rows, again);
	return join_heads(b, project_heads(b, DECODER_V_B, a, l->value));
}

/* Queries through a narrow middle, where there is one. */
static zoo_tensor latent_queries(const build *b, zoo_tensor x)
{
	if (!has(b, DECODER_Q_A))
		return project(b, DECODER_Q, x);
	return project(b, DECODER_Q_B, norm(b, DECODER_Q_A_NORM, project(b, DECODER_Q_A, x)));
}

static zoo_tensor latent_attention(const build *b, zoo_tensor x)
{
	const decoder_layer *l = b->l;
	const int64_t width[2] = {l->heads * l->key, l->heads * l->value};
	zoo_tensor part[2], q = split_heads(b, DECODER_Q_TURN, latent_queries(b, x), l->key);
	zoo_tensor c = norm(b, DECODER_KV_A_NORM, project(b, DECODER_KV_A, x));
	if (has(b, DECODER_K_B))
		return attend_latent(b, q, c);
	c.dim[3] = l->latent; /* without the rotated part, which the split joins to the keys */
	cut(b, DECODER_KV_SPLIT, project(b, DECODER_KV_B, c), 2, width, part);
	part[0] = split_heads(b, DECODER_K_TURN, part[0], l->key);
	part[1] = split_heads(b, DECODER_V_TURN, part[1], l->value);
	return attend_heads(b, q, part[0], part[1]);
}

/* ---- feed-forward ---- */

/* down(activation(gate(x)) * up(x)), or down(activation(up(x))) without a gate; a matrix up of twice the
 * width holds both. */
typedef struct gated {
	decoder_slot gate, up, down;
	decoder_step split, activation, product;
} gated;

static const gated dense = {DECODER_GATE,     DECODER_UP,         DECODER_DOWN,
                            DECODER_UP_SPLIT, DECODER_ACTIVATION, DECODER_GATED};
static const gated shared = {DECODER_SHARED_GATE,  DECODER_SHARED_UP,         DECODER_SHARED_DOWN,
                             DECODER_SHARED_SPLIT, DECODER_SHARED_ACTIVATION, DECODER_SHARED_GATED};
static const gated experts = {DECODER_GATE_EXPS,          DECODER_UP_EXPS,
                              DECODER_DOWN_EXPS,          DECODER_EXPERTS_SPLIT,
                              DECODER_EXPERTS_ACTIVATION, DECODER_EXPERTS_GATED};

static zoo_tensor activate(const build *b, const gated *f, zoo_tensor gate, zoo_tensor up, bool two)
{
	gate = unary(b, f->activation, b->d->gelu || !two ? "Gelu" : "Swish", gate);
	return two ? binary(b, f->product, "Mul", gate, up) : gate;
}

/* What comes of gate and up, one of them NULL or both. */
static zoo_tensor gate_up(const build *b, const gated *f, const zoo_tensor *gate, zoo_tensor up)
{
	int64_t half[2] = {b->l->w[f->down].in, b->l->w[f->down].in};
	zoo_tensor part[2];
	if (gate)
		return activate(b, f, *gate, up, true);
	if (up.dim[3] == half[0])
		return activate(b, f, up, up, false);
	cut(b, f->split, up, 2, half, part);
	return activate(b, f, part[0], part[1], true);
}

static zoo_tensor feed_forward(const build *b, const gated *f, zoo_tensor x)
{
	zoo_tensor gate = x;
	if (has(b, f->gate))
		gate = project(b, f->gate, x);
	zoo_tensor up = project(b, f->up, x);
	return project(b, f->down, gate_up(b, f, has(b, f->gate) ? &gate : NULL, up));
}

/* Mean share of the experts that some token goes to: 1 - (1 - top / experts)^tokens. */
static double touched(const build *b)
{
	double left = 1, power = 1 - (double)b->d->top / (double)b->d->experts;
	for (int64_t tokens = b->net->batch * b->d->rows; tokens; tokens >>= 1, power *= power)
		left *= tokens & 1 ? power : 1;
	return 1 - left;
}

/* The share of an expert. Its products cost what its mean number of tokens costs. Whole rows are moved.
 * Its weights are read as often as it is chosen. */
typedef struct share {
	double tokens;
	int64_t rows;
} share;

static zoo_tensor expert_product(const build *b, const char *name, decoder_slot slot, share s, zoo_tensor x)
{
	const decoder_weight *w = &b->l->w[slot];
	zoo_tensor out = x;
	out.dim[3] = w->out;
	zoo_cost cost = multiplied(*w, 1, s.tokens, ceil((w->bytes + w->bias_bytes) / (double)b->d->experts));
	cost.read_weight_bytes = ceil(cost.weight_bytes * touched(b));
	return zoo_op(b->net, name, "MatMul", 1, &x, out, cost);
}

/* What goes to expert e comes back weighted. */
static zoo_tensor expert(const build *b, int e, share s, zoo_tensor x, zoo_tensor routes)
{
	zoo_net *net = b->net;
	zoo_tensor in[2] = {x, routes}, y, up;
	y = zoo_op(net, zoo_name(net, "experts.%d.gather", e), "Gather", 2, in,
	           zoo_input(1, 1, s.rows, x.dim[3]), (zoo_cost){0});
	up = expert_product(b, zoo_name(net, "experts.%d.w3", e), DECODER_UP_EXPS, s, y);
	if (has(b, DECODER_GATE_EXPS)) {
		y = expert_product(b, zoo_name(net, "experts.%d.w1", e), DECODER_GATE_EXPS, s, y);
		y = zoo_unary(net, zoo_name(net, "experts.%d.silu", e), "Swish", y);
		y = zoo_binary(net, zoo_name(net, "experts.%d.mul", e), "Mul", y, up);
	} else {
		y = zoo_unary(net, zoo_name(net, "experts.%d.silu", e), "Swish", up);
		y.dim[3] = b->l->w[DECODER_DOWN_EXPS].in;
	}
	y = expert_product(b, zoo_name(net, "experts.%d.w2", e), DECODER_DOWN_EXPS, s, y);
	return zoo_binary(net, zoo_name(net, "experts.%d.weigh", e), "Mul", y, routes);
}

static zoo_tensor each_expert(const build *b, zoo_tensor x, zoo_tensor routes)
{
	const decoder *d = b->d;
	double tokens = (double)b->net->batch * (double)d->rows * (double)d->top / (double)d->experts;
	share s = {tokens, (int64_t)ceil(tokens)};
	zoo_tensor *part = zoo_tensors(b->net, d->experts);
	for (int e = 0; part && e < d->experts; e++)
		part[e] = expert(b, e, s, x, routes);
	return part ? zoo_op(b->net, step_name(b, DECODER_EXPERTS_SUM), "ScatterElements",
	                     (int32_t)d->experts, part, x, (zoo_cost){0})
	            : x;
}

/* One of the products of all experts: every token by the matrices of its own. Few tokens have one each. */
static zoo_tensor experts_product(const build *b, decoder_slot slot, zoo_tensor x, zoo_tensor routes)
{
	const decoder_weight *w = &b->l->w[slot];
	zoo_tensor in[2] = {x, routes}, out = x;
	int64_t rows = x.dim[0] * x.dim[2] * b->d->top, used = rows < b->d->experts ? rows : b->d->experts;
	zoo_cost cost = multiplied(*w, used, (double)rows, w->bytes + w->bias_bytes);
	cost.read_weight_bytes = ceil(cost.weight_bytes * touched(b));
	out.dim[1] = b->d->top;
	out.dim[3] = w->out;
	return zoo_op(b->net, weight_name(b, b->d->names->slot[slot]), "MatMul", 2, in, out, cost);
}

static zoo_tensor all_experts(const build *b, zoo_tensor x, zoo_tensor routes)
{
	zoo_tensor gate = x, in[2] = {x, routes};
	if (has(b, DECODER_GATE_EXPS))
		gate = experts_product(b, DECODER_GATE_EXPS, x, routes);
	in[0] = experts_product(b, DECODER_UP_EXPS, x, routes);
	in[0] = gate_up(b, &experts, has(b, DECODER_GATE_EXPS) ? &gate : NULL, in[0]);
	in[0] = experts_product(b, DECODER_DOWN_EXPS, in[0], routes);
	return zoo_op(b->net, step_name(b, DECODER_EXPERTS_SUM), "ReduceSum", 2, in, x,
	              (zoo_cost){.flops = count(in[0]) * 2, .dims = zoo_rows(in[0])});
}

/* An expert that all tokens go to, weighed where it has a router. */
static zoo_tensor shared_expert(const build *b, zoo_tensor x)
{
	zoo_tensor y = feed_forward(b, &shared, x);
	if (!has(b, DECODER_SHARED_ROUTER))
		return y;
	zoo_tensor share_of =
		unary(b, DECODER_SHARED_SIGMOID, "Sigmoid", project(b, DECODER_SHARED_ROUTER, x));
	return binary(b, DECODER_SHARED_WEIGHED, "Mul", y, share_of);
}

static zoo_tensor mixture(const build *b, zoo_tensor x)
{
	zoo_tensor routes = project(b, DECODER_ROUTER, x), best = routes;
	best.dim[3] = b->d->top;
	best = zoo_op(b->net, step_name(b, DECODER_TOP), "TopK", 1, &routes, best,
	              (zoo_cost){.dims = zoo_rows(routes)});
	best = unary(b, DECODER_ROUTE_SOFTMAX, "Softmax", best);
	zoo_tensor y = b->d->each_expert ? each_expert(b, x, best) : all_experts(b, x, best);
	if (has(b, DECODER_SHARED_UP))
		y = binary(b, DECODER_SHARED_SUM, "Add", y, shared_expert(b, x));
	return y;
}

/* ---- layers ---- */

static zoo_tensor attention(const build *b, zoo_tensor x)
{
	zoo_tensor y = norm(b, DECODER_ATTN_NORM, x);
	y = !b->l->kv_heads       ? project(b, DECODER_O, y)
	    : has(b, DECODER_KV_A) ? latent_attention(b, y)
	    : has(b, DECODER_QKV)  ? fused_attention(b, y)
	                           : plain_attention(b, y);
	if (!b->l->early_post_norm)
		y = norm(b, DECODER_POST_ATTN_NORM, y);
	return binary(b, DECODER_ATTN_RESIDUAL, "Add", x, y);
}

static zoo_tensor layer(const build *b, zoo_tensor x)
{
	if (b->l->heads)
		x = attention(b, x);
	if (b->l->without_ffn)
		return x;
	zoo_tensor y = norm(b, b->l->early_post_norm ? DECODER_POST_ATTN_NORM : DECODER_FFN_NORM, x);
	y = has(b, DECODER_ROUTER) ? mixture(b, y) : feed_forward(b, &dense, y);
	return binary(b, DECODER_FFN_RESIDUAL, "Add", x, norm(b, DECODER_POST_FFN_NORM, y));
}

/* Rows of the matrix picked by 8-byte indices from outside. */
static zoo_tensor embed(zoo_net *net, const decoder *d, int32_t matrix)
{
	zoo_tensor out = zoo_input(net->batch, 1, d->rows, d->embed.in);
	double tokens = (double)net->batch * (double)d->rows;
	zoo_cost cost = {.weight_bytes = d->tied ? 0 : d->embed.bytes, .read_extra_bytes = 8 * tokens};
	cost.read_weight_bytes = ceil(d->embed.bytes / (double)d->vocabulary * tokens);
	out = zoo_op(net, zoo_name(net, "%s%s", d->names->embed, d->names->weight), "Gather", 0, NULL, out,
	             cost);
	if (d->tied)
		zoo_use_param(net, out, matrix);
	return out;
}

/* Logits by the embedding's matrix. */
static void project_tied(zoo_net *net, const decoder *d, zoo_tensor x, int32_t matrix)
{
	zoo_tensor out = x;
	zoo_cost cost = multiplied((decoder_weight){x.dim[3], d->vocabulary, 0, 0, d->embed.dtype}, 1,
	                           count(x) / (double)x.dim[3], 0);
	cost.read_weight_bytes = d->embed.bytes;
	out.dim[3] = d->vocabulary;
	out = zoo_op(net, zoo_name(net, "%s%s", d->names->output, d->names->weight), "MatMul", 1, &x, out,
	             cost);
	zoo_use_param(net, out, matrix);
}

void decoder_build(zoo_net *net, const decoder *d)
{
	build b = {net, d, NULL};
	int32_t matrix =
		d->tied ? zoo_shared_bytes(net, zoo_name(net, "%s%s", d->names->embed, d->names->weight),
	                                   d->embed.bytes)
			: -1;
	net->other_bytes = d->other_bytes;
	zoo_tensor x = normalize(&b, d->names->embed_norm, d->embed_norm, embed(net, d, matrix));
	for (int32_t i = 0; i < d->n_layers && net->status == BERTH_OK; i++) {
		zoo_scope(net, "%s.%d", d->names->layer, i);
		b.l = &d->layer[i];
		net->other_bytes += b.l->other_bytes; /* and of layers without operators */
		x = layer(&b, x);
	}
	zoo_scope_end(net);
	x = normalize(&b, d->names->output_norm, d->output_norm, x);
	if (!net->training && d->rows > 1)
		/* one row; which, is no matter of cost */
		x = zoo_first_row(net, step_name(&b, DECODER_LAST), x);
	zoo_mark_output(net);
	if (d->tied)
		project_tied(net, d, x, matrix);
	else
		product(&b, d->names->output, d->output, x);
}
