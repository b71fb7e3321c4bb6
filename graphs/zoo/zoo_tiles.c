/* Matrix programs cut into tiles, one operator a tile, as asynchronous runtimes execute them. Such graphs
 * are placed by Yao et al., "DOPPLER: Dual-Policy Learning for Device Assignment in Asynchronous Dataflow
 * Graphs" (arXiv 2505.23131): a chain of products, a feed-forward network, the attention block and the
 * whole layer of Llama (Touvron et al. 2023, heads of 128). Each matrix is a grid of tiles x tiles. A
 * product makes tiles^3 partial products and adds them up pairwise. Matrices that are given are shared
 * parameters, tile by tile. */
#include "zoo_layers.h"

enum { HEAD = 128, MAX_TILES = 16 };

/* tile[i * g + j] covers rows i and columns j of the grid; param -1: computed or from outside. */
typedef struct matrix {
	int32_t g;
	zoo_tensor *tile;
	int32_t *param;
} matrix;

static int64_t edge(int64_t size, int32_t g, int32_t i)
{
	return size * (i + 1) / g - size * i / g;
}

static matrix matrix_new(zoo_net *net, int32_t g)
{
	matrix m = {.g = g};
	if (net->status == BERTH_OK)
		net->status = BERTH_NEW(net->tmp, m.tile, g * g, net->err);
	if (net->status == BERTH_OK)
		net->status = BERTH_NEW(net->tmp, m.param, g * g, net->err);
	for (int32_t i = 0; net->status == BERTH_OK && i < g * g; i++)
		m.param[i] = -1;
	return m;
}

/* A matrix from outside; as parameters if it has a name. */
static matrix given(zoo_net *net, const char *name, int64_t rows, int64_t columns, int32_t g)
{
	matrix m = matrix_new(net, g);
	for (int32_t i = 0; net->status == BERTH_OK && i < g * g; i++) {
		m.tile[i] = zoo_input(1, 1, edge(rows, g, i / g), edge(columns, g, i % g));
		if (name)
			m.param[i] = zoo_shared_param(net, zoo_name(net, "%s.%d.%d", name, i / g, i % g),
			                              m.tile[i].dim[2] * m.tile[i].dim[3]);
	}
	return m;
}

/* Sum of n tensors by a tree of additions NAME.sum0, NAME.sum1, ...; it may leave the graph (n > 1). */
static zoo_tensor add_up(zoo_net *net, const char *name, int32_t n, zoo_tensor part[], bool output)
{
	for (int32_t made = 0; n > 1; n = (n + 1) / 2)
		for (int32_t i = 0; i < n / 2 + n % 2; i++) {
			part[i] = part[2 * i];
			if (2 * i + 1 == n)
				continue;
			if (output && n == 2)
				zoo_mark_output(net);
			part[i] = zoo_binary(net, zoo_name(net, "%s.sum%d", name, made++), "Add", part[i],
			                     part[2 * i + 1]);
		}
	return part[0];
}

static void use(zoo_net *net, zoo_tensor op, int32_t param)
{
	if (param >= 0)
		zoo_use_param(net, op, param);
}

static zoo_tensor tile_product(zoo_net *net, const char *name, const matrix *a, const matrix *b, int32_t row,
                               int32_t column, bool output)
{
	zoo_tensor part[MAX_TILES];
	for (int32_t k = 0; k < a->g; k++) {
		int32_t left = row * a->g + k, right = k * a->g + column;
		if (output && a->g == 1)
			zoo_mark_output(net);
		part[k] = zoo_matmul(net, zoo_name(net, "%s.%d", name, k), a->tile[left], b->tile[right]);
		use(net, part[k], a->param[left]);
		use(net, part[k], b->param[right]);
	}
	return add_up(net, name, a->g, part, output);
}

static matrix multiply(zoo_net *net, const char *name, matrix a, matrix b, bool output)
{
	matrix m = matrix_new(net, a.g);
	for (int32_t i = 0; net->status == BERTH_OK && i < a.g * a.g; i++)
		m.tile[i] = tile_product(net, zoo_name(net, "%s.%d.%d", name, i / a.g, i % a.g), &a, &b,
		                         i / a.g, i % a.g, output);
	return m;
}

static matrix product(zoo_net *net, const char *name, matrix a, matrix b)
{
	return multiply(net, name, a, b, false);
}

/* An operator a tile on one matrix or (b not NULL) two; its outputs may leave the graph. */
static matrix each(zoo_net *net, const char *name, const char *type, matrix a, const matrix *b, bool output)
{
	matrix m = matrix_new(net, a.g);
	for (int32_t i = 0; net->status == BERTH_OK && i < a.g * a.g; i++) {
		const char *full = zoo_name(net, "%s.%d.%d", name, i / a.g, i % a.g);
		net->output = output;
		m.tile[i] = b ? zoo_binary(net, full, type, a.tile[i], b->tile[i])
		              : zoo_unary(net, full, type, a.tile[i]);
	}
	return m;
}

/* A reduction of each row of x to one number. */
static zoo_tensor row_sums(zoo_net *net, const char *name, const char *type, zoo_tensor x)
{
	zoo_tensor out = x;
	out.dim[3] = 1;
	return zoo_op(net, name, type, 1, &x, out, (zoo_cost){.dims = zoo_rows(x)});
}

/* Root-mean-square normalisation: square sums of the tiles of a row, added up, then each tile scaled by them
 * and by a weight a column. */
static matrix normalize(zoo_net *net, const char *name, matrix x)
{
	matrix m = matrix_new(net, x.g);
	int32_t weight[MAX_TILES];
	for (int32_t j = 0; net->status == BERTH_OK && j < x.g; j++)
		weight[j] = zoo_shared_param(net, zoo_name(net, "%s.weight.%d", name, j), x.tile[j].dim[3]);
	for (int32_t i = 0; net->status == BERTH_OK && i < x.g; i++) {
		zoo_tensor part[MAX_TILES];
		for (int32_t j = 0; j < x.g; j++)
			part[j] = row_sums(net, zoo_name(net, "%s.squares.%d.%d", name, i, j),
			                   "ReduceSumSquare", x.tile[i * x.g + j]);
		zoo_tensor sum = add_up(net, zoo_name(net, "%s.squares.%d", name, i), x.g, part, false);
		for (int32_t j = 0; j < x.g; j++) {
			zoo_tensor in[2] = {x.tile[i * x.g + j], sum};
			zoo_cost cost = {.read_params = (double)in[0].dim[3]};
			m.tile[i * x.g + j] = zoo_op(net, zoo_name(net, "%s.%d.%d", name, i, j),
			                             "RMSNormalization", 2, in, in[0], cost);
			use(net, m.tile[i * x.g + j], weight[j]);
		}
	}
	return m;
}

/* [1, 1, rows, heads * HEAD] seen as [1, heads, rows, HEAD], or [1, heads, HEAD, rows] for keys. */
static zoo_tensor heads_of(zoo_tensor x, bool key)
{
	int64_t rows = x.dim[2], heads = x.dim[3] / HEAD;
	x.dim[1] = heads;
	x.dim[2] = key ? HEAD : rows;
	x.dim[3] = key ? rows : HEAD;
	return x;
}

/* Rows i of the heads of column j: exponentials of the scores against each block of keys, their row sums,
 * and products with the values. Sums and products are added up over the blocks and then divided, so that
 * no block waits for another's maximum. */
static zoo_tensor attend(zoo_net *net, int32_t i, int32_t j, matrix q, matrix k, matrix v)
{
	zoo_tensor weight[MAX_TILES], value[MAX_TILES];
	for (int32_t block = 0; block < q.g; block++) {
		int32_t at = block * q.g + j;
		zoo_tensor s = zoo_matmul(net, zoo_name(net, "scores.%d.%d.%d", i, j, block),
		                          heads_of(q.tile[i * q.g + j], false), heads_of(k.tile[at], true));
		s = zoo_unary(net, zoo_name(net, "exp.%d.%d.%d", i, j, block), "Exp", s);
		weight[block] = row_sums(net, zoo_name(net, "weight.%d.%d.%d", i, j, block), "ReduceSum", s);
		value[block] = zoo_matmul(net, zoo_name(net, "context.%d.%d.%d", i, j, block), s,
		                          heads_of(v.tile[at], false));
	}
	zoo_tensor sum = add_up(net, zoo_name(net, "weight.%d.%d", i, j), q.g, weight, false);
	zoo_tensor y = add_up(net, zoo_name(net, "context.%d.%d", i, j), q.g, value, false);
	y = zoo_binary(net, zoo_name(net, "attention.%d.%d", i, j), "Div", y, sum);
	y.dim[3] *= y.dim[1];
	y.dim[1] = 1;
	return y;
}

static matrix attention(zoo_net *net, matrix x, int64_t hidden)
{
	matrix n = normalize(net, "attention_norm", x);
	matrix q = product(net, "wq", n, given(net, "wq", hidden, hidden, x.g));
	matrix k = product(net, "wk", n, given(net, "wk", hidden, hidden, x.g));
	matrix v = product(net, "wv", n, given(net, "wv", hidden, hidden, x.g));
	matrix a = matrix_new(net, x.g);
	q = each(net, "rotate_q", "RotaryEmbedding", q, NULL, false);
	k = each(net, "rotate_k", "RotaryEmbedding", k, NULL, false);
	for (int32_t i = 0; net->status == BERTH_OK && i < x.g * x.g; i++)
		a.tile[i] = attend(net, i / x.g, i % x.g, q, k, v);
	return product(net, "wo", a, given(net, "wo", hidden, hidden, x.g));
}

/* Every tile needs a row and a column. */
static int32_t grid(zoo_net *net, int64_t least)
{
	int32_t g = (int32_t)zoo_whole(net, "tiles");
	if (g > least && net->status == BERTH_OK)
		net->status = berth_fail(net->err, BERTH_EINVAL,
		                         "tiles is %d; expected at most %lld, the least size to cut", g,
		                         (long long)least);
	return g;
}

/* variant 0: the attention block; 1: the whole layer. */
void zoo_build_llama(zoo_net *net)
{
	int variant = net->model->variant;
	int64_t heads = zoo_whole(net, "heads"), seq = zoo_whole(net, "seq"),
		hidden = heads * HEAD;
	int64_t inner = variant ? zoo_whole(net, "ffn") : hidden;
	int32_t g = grid(net, berth_min(seq, inner));
	if (net->status == BERTH_OK && heads % g != 0) /* columns are cut between heads */
		net->status = berth_fail(net->err, BERTH_EINVAL,
		                         "tiles is %d and heads %lld; expected tiles to divide heads", g,
		                         (long long)heads);
	matrix x = given(net, NULL, seq, hidden, g);
	matrix a = attention(net, x, hidden);
	a = each(net, "attention_residual", "Add", a, &x, variant == 0);
	if (variant == 0)
		return;
	matrix n = normalize(net, "ffn_norm", a);
	matrix gate = product(net, "w1", n, given(net, "w1", hidden, inner, a.g));
	matrix up = product(net, "w3", n, given(net, "w3", hidden, inner, a.g));
	gate = each(net, "silu", "Swish", gate, NULL, false);
	gate = each(net, "gate", "Mul", gate, &up, false);
	matrix f = product(net, "w2", gate, given(net, "w2", inner, hidden, a.g));
	each(net, "ffn_residual", "Add", a, &f, true);
}

/* Product of matrices first .. first + n - 1, halves first, so that they can run side by side. */
static matrix chain(zoo_net *net, int32_t first, int32_t n, int64_t size, int32_t g, bool output)
{
	if (n == 1)
		return given(net, zoo_name(net, "a%d", first), size, size, g);
	matrix left = chain(net, first, n / 2, size, g, false),
	       right = chain(net, first + n / 2, n - n / 2, size, g, false);
	return multiply(net, zoo_name(net, "a%d-%d", first, first + n - 1), left, right, output);
}

void zoo_build_chain(zoo_net *net)
{
	int64_t size = zoo_whole(net, "size");
	int32_t n = (int32_t)zoo_whole(net, "matrices"), g = grid(net, size);
	chain(net, 0, n, size, g, true);
}

void zoo_build_ffnn(zoo_net *net)
{
	int64_t hidden = zoo_whole(net, "hidden");
	int32_t layers = (int32_t)zoo_whole(net, "layers"), g = grid(net, berth_min(net->batch, hidden));
	matrix x = given(net, NULL, net->batch, hidden, g);
	for (int32_t i = 0; i < layers; i++) {
		const char *weights = zoo_name(net, "w%d", i);
		x = product(net, weights, x, given(net, weights, hidden, hidden, g));
		x = each(net, zoo_name(net, "relu%d", i), "Relu", x, NULL, i + 1 == layers);
	}
}
