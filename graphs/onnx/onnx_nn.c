/* Rules of convolutions, pooling, matrix products, recurrent layers, normalisation; their shapes
 * and multiply-accumulates. */
#include "onnx_infer.h"

/* ---- windows ---- */

typedef struct window {
	int32_t n;                          /* spatial dimensions */
	int64_t kernel[ONNX_MAX_RANK], stride[ONNX_MAX_RANK], dilation[ONNX_MAX_RANK], pad[2 * ONNX_MAX_RANK];
	enum { PAD_GIVEN, PAD_SAME, PAD_VALID } auto_pad;
	bool ceil;
} window;

/* n numbers of an attribute between least and 2^31, missing where it is absent. */
static berth_status window_list(const onnx_at *at, const char *name, int32_t n, int64_t least,
                                int64_t missing, int64_t out[])
{
	int32_t len;
	for (int32_t i = 0; i < n; i++)
		out[i] = missing;
	BERTH_TRY(onnx_attr_ints(at->m, at->n, name, out, (size_t)n, &len));
	if (len >= 0 && len != n)
		return ONNX_FAIL(at, "attribute '%s' has %d numbers; expected %d", name, len, n);
	for (int32_t i = 0; i < n; i++)
		if (out[i] < least || out[i] > INT32_MAX)
			return ONNX_FAIL(at, "attribute '%s' holds %lld; expected %lld to 2^31 - 1", name,
			                 (long long)out[i], (long long)least);
	return BERTH_OK;
}

/* The attributes of a window over n dimensions; kernel: its size where no attribute says it (NULL: 1). */
static berth_status read_window(const onnx_at *at, int32_t n, const int64_t *kernel, window *w)
{
	w->n = n;
	BERTH_TRY(window_list(at, "strides", n, 1, 1, w->stride));
	BERTH_TRY(window_list(at, "dilations", n, 1, 1, w->dilation));
	BERTH_TRY(window_list(at, "pads", 2 * n, -INT32_MAX, 0, w->pad));
	if (kernel)
		memcpy(w->kernel, kernel, (size_t)n * sizeof *kernel);
	else
		BERTH_TRY(window_list(at, "kernel_shape", n, 1, 1, w->kernel));
	w->auto_pad = onnx_attr_is(at->m, at->n, "auto_pad", "SAME_UPPER") ||
	                              onnx_attr_is(at->m, at->n, "auto_pad", "SAME_LOWER")
	                      ? PAD_SAME
	              : onnx_attr_is(at->m, at->n, "auto_pad", "VALID") ? PAD_VALID
	                                                                : PAD_GIVEN;
	w->ceil = onnx_attr_int(at->n, "ceil_mode", 0) != 0;
	return BERTH_OK;
}

/* Places of the window along dimension i of length dim. */
static berth_status window_places(const onnx_at *at, const window *w, int32_t i, int64_t dim, int64_t *out)
{
	*out = ONNX_UNKNOWN;
	if (dim < 0 || w->kernel[i] < 0)
		return BERTH_OK;
	if (w->auto_pad == PAD_SAME) {
		*out = (dim + w->stride[i] - 1) / w->stride[i];
		return BERTH_OK;
	}
	int64_t before = w->auto_pad == PAD_VALID ? 0 : w->pad[i],
		after = w->auto_pad == PAD_VALID ? 0 : w->pad[w->n + i];
	int64_t reach = onnx_clamp(onnx_times(w->dilation[i], w->kernel[i] > 0 ? w->kernel[i] - 1 : 0) + 1),
		room = dim + before + after - reach;
	if (room < 0)
		return ONNX_FAIL(at,
		                 "spatial dimension %d is %lld and padded %lld, less than the window of %lld",
		                 i, (long long)dim, (long long)(dim + before + after), (long long)reach);
	*out = room / w->stride[i] + 1;
	if (w->ceil && room % w->stride[i] && *out * w->stride[i] < dim + before)
		++*out; /* a last window must start inside the input or the padding before it */
	return BERTH_OK;
}

static berth_status slide(const onnx_at *at, const window *w, onnx_dims *d)
{
	for (int32_t i = 0; i < w->n; i++)
		BERTH_TRY(window_places(at, w, i, d->d[i + 2], &d->d[i + 2]));
	return BERTH_OK;
}

/* ---- convolution ---- */

static berth_status check_ranks(const onnx_at *at, const onnx_dims *d, const onnx_dims *w)
{
	if (d->rank >= 3 && (w->rank < 0 || w->rank == d->rank))
		return BERTH_OK;
	return ONNX_FAIL(at, "input of rank %d, weight of rank %d; expected equal ranks from 3 on", d->rank,
	                 w->rank);
}

/* The shape of x, in d, convolved by a weight [out channels, in channels / group, kernel...]; of x under the
 * windows of the node's attributes. */
static berth_status conv_shape(const onnx_at *at, onnx_dims *d, const onnx_dims *w)
{
	window win;
	if (d->rank < 0)
		return BERTH_OK;
	BERTH_TRY(check_ranks(at, d, w));
	int64_t group = onnx_attr_int(at->n, "group", 1);
	if (w->rank > 0 && d->d[1] >= 0 && w->d[1] >= 0 && group > 0 && onnx_mul(w->d[1], group) != d->d[1])
		return ONNX_FAIL(at, "%lld input channels; the weight takes %lld in %lld groups",
		                 (long long)d->d[1], (long long)w->d[1], (long long)group);
	BERTH_TRY(read_window(at, d->rank - 2, w->rank > 0 ? w->d + 2 : NULL, &win));
	d->d[1] = w->rank > 0 ? w->d[0] : ONNX_UNKNOWN;
	return slide(at, &win, d);
}

void onnx_channels_first(onnx_dims *d)
{
	if (d->rank < 3)
		return;
	int64_t c = d->d[d->rank - 1];
	memmove(d->d + 2, d->d + 1, (size_t)(d->rank - 2) * sizeof *d->d);
	d->d[1] = c;
}

/* The weight of a convolution as [out, in of a group, kernel...]: NhwcConv has its channels last. */
static onnx_dims conv_weight(const onnx_at *at, int32_t slot)
{
	onnx_dims w = onnx_in_dims(at, slot);
	if (strcmp(at->n->type, "NhwcConv") == 0)
		onnx_channels_first(&w);
	return w;
}

ONNX_INFER(conv)
{
	onnx_dims w = conv_weight(at, 1);
	return conv_shape(at, d, &w);
}

ONNX_INFER(conv_integer)
{
	BERTH_TRY(onnx_infer_conv(at, d));
	d->elem = ONNX_INT32;
	return BERTH_OK;
}

ONNX_INFER(qlinear_conv)
{
	onnx_dims w = onnx_in_dims(at, 3);
	int32_t zero = onnx_in_elem(at, 7);
	d->elem = zero ? zero : d->elem;
	return conv_shape(at, d, &w);
}

/* The dims of a convolution whose weight [a, b, kernel...] is applied at, or transposed is spread from, the
 * places of v, which has a channels. */
static berth_dims conv_dims(const onnx_at *at, const onnx_value *v, const onnx_dims *weight, bool transposed)
{
	int64_t groups = onnx_attr_int(at->n, "group", 1), taps = 1;
	if (weight->rank < 3 || v->rank < 3 || groups < 1)
		return (berth_dims){0};
	for (int32_t i = 2; i < weight->rank; i++)
		taps = onnx_mul(taps, weight->d[i]);
	int64_t channels = weight->d[0], others = onnx_mul(weight->d[1], groups);
	int64_t rows = onnx_mul(v->dim[0], channels);
	if (rows < 1 || channels % groups)
		return (berth_dims){0};
	return BERTH_DIMS(CONV, v->dim[0], transposed ? channels : others, transposed ? others : channels,
	                  onnx_count(v->rank, v->dim) / rows, taps, onnx_attr_first(at, "strides", 1), groups,
	                  onnx_attr_first(at, "dilations", 1));
}

/* Elements of v times the weights that each takes or is spread over: all of a weight but its first
 * dimension. */
static berth_status conv_work(const onnx_at *at, const onnx_value *v, int32_t slot, bool transposed,
                              onnx_work *w)
{
	onnx_dims weight = conv_weight(at, slot);
	double macs = v ? (double)onnx_count(v->rank, v->dim) : -1;
	if (macs < 0 || weight.rank < 1)
		return BERTH_OK;
	for (int32_t i = 1; i < weight.rank; i++)
		macs *= weight.d[i] < 0 ? 0 : (double)weight.d[i];
	w->macs = macs;
	w->dims = conv_dims(at, v, &weight, transposed);
	return BERTH_OK;
}

ONNX_MACS(conv)
{
	return conv_work(at, onnx_out(at, 0), 1, false, w);
}

ONNX_MACS(qlinear_conv)
{
	return conv_work(at, onnx_out(at, 0), 3, false, w);
}

static int64_t transposed_places(const window *w, int32_t i, int64_t dim, int64_t extra)
{
	if (dim < 0 || w->kernel[i] < 0)
		return ONNX_UNKNOWN;
	if (w->auto_pad == PAD_SAME)
		return onnx_times(dim, w->stride[i]);
	int64_t pads = w->auto_pad == PAD_VALID ? 0 : w->pad[i] + w->pad[w->n + i];
	int64_t reach = onnx_times(w->dilation[i], w->kernel[i] > 0 ? w->kernel[i] - 1 : 0) + 1;
	int64_t n = onnx_times(w->stride[i], dim > 0 ? dim - 1 : 0) + extra + reach - pads;
	return n < 0 ? 0 : n;
}

ONNX_INFER(conv_transpose)
{
	onnx_dims w = onnx_in_dims(at, 1);
	int64_t extra[ONNX_MAX_RANK], shape[ONNX_MAX_RANK], group = onnx_attr_int(at->n, "group", 1);
	int32_t n_shape, n = d->rank - 2;
	window win;
	if (d->rank < 0)
		return BERTH_OK;
	BERTH_TRY(check_ranks(at, d, &w));
	BERTH_TRY(read_window(at, n, w.rank > 0 ? w.d + 2 : NULL, &win));
	BERTH_TRY(window_list(at, "output_padding", n, 0, 0, extra));
	BERTH_TRY(onnx_attr_ints(at->m, at->n, "output_shape", shape, ONNX_MAX_RANK, &n_shape));
	d->d[1] = w.rank > 0 && group > 0 ? onnx_mul(w.d[1], group) : ONNX_UNKNOWN;
	for (int32_t i = 0; i < n; i++)
		d->d[i + 2] = n_shape == n       ? shape[i]
		              : n_shape == n + 2 ? shape[i + 2]
		                                 : transposed_places(&win, i, d->d[i + 2], extra[i]);
	return BERTH_OK;
}

/* weight is [in channels, out channels / group, kernel...]. */
ONNX_MACS(conv_transpose)
{
	return conv_work(at, onnx_in(at, 0), 1, true, w);
}

/* ---- pooling ---- */

berth_status onnx_pool_shape(const onnx_at *at, onnx_dims *d)
{
	window w;
	if (d->rank >= 0 && d->rank < 3)
		return ONNX_FAIL(at, "input of rank %d; expected 3 or more", d->rank);
	if (d->rank < 0)
		return BERTH_OK;
	BERTH_TRY(read_window(at, d->rank - 2, NULL, &w));
	return slide(at, &w, d);
}

ONNX_INFER(pool)
{
	BERTH_TRY(onnx_pool_shape(at, d));
	onnx_dims indices = *d;
	indices.elem = ONNX_INT64;
	return onnx_set(at, 1, &indices);
}

ONNX_INFER(global_pool)
{
	(void)at;
	for (int32_t i = 2; i < d->rank; i++)
		d->d[i] = 1;
	return BERTH_OK;
}

ONNX_INFER(max_unpool)
{
	int64_t shape[ONNX_MAX_RANK];
	int32_t n;
	bool known;
	window w;
	BERTH_TRY(onnx_list(at, "output_shape", 2, shape, &n, &known));
	if (d->rank > 2)
		BERTH_TRY(read_window(at, d->rank - 2, NULL, &w));
	for (int32_t i = 2; i < d->rank; i++)
		d->d[i] = n == d->rank ? shape[i]
		          : known      ? transposed_places(&w, i - 2, d->d[i], 0)
		                       : ONNX_UNKNOWN;
	return BERTH_OK;
}

/* ---- matrix products ---- */

ONNX_INFER(gemm)
{
	onnx_dims a = *d, b = onnx_in_dims(at, 1);
	int ta = onnx_attr_int(at->n, "transA", 0) != 0, tb = onnx_attr_int(at->n, "transB", 0) != 0;
	if ((a.rank >= 0 && a.rank != 2) || (b.rank >= 0 && b.rank != 2))
		return ONNX_FAIL(at, "operands of rank %d and %d; expected 2", a.rank, b.rank);
	if (a.rank == 2 && b.rank == 2 && a.d[!ta] >= 0 && b.d[tb] >= 0 && a.d[!ta] != b.d[tb])
		return ONNX_FAIL(at, "inner dimensions %lld and %lld differ", (long long)a.d[!ta],
		                 (long long)b.d[tb]);
	d->rank = 2;
	d->d[0] = onnx_dim(&a, ta);
	d->d[1] = onnx_dim(&b, !tb);
	return BERTH_OK;
}

ONNX_MACS(gemm)
{
	onnx_dims a = onnx_in_dims(at, 0), b = onnx_in_dims(at, 1);
	int64_t n = onnx_count(a.rank, a.d),
		cols = b.rank == 2 ? b.d[onnx_attr_int(at->n, "transB", 0) ? 0 : 1] : ONNX_UNKNOWN;
	int ta = onnx_attr_int(at->n, "transA", 0) != 0;
	w->macs = n < 0 || cols < 0 ? 0 : (double)n * (double)cols;
	w->dims = BERTH_DIMS(PRODUCT, 1, onnx_dim(&a, ta), cols, onnx_dim(&a, !ta));
	return BERTH_OK;
}

static void swap_last(onnx_dims *d, bool swap)
{
	if (swap && d->rank >= 2) {
		int64_t x = d->d[d->rank - 1];
		d->d[d->rank - 1] = d->d[d->rank - 2];
		d->d[d->rank - 2] = x;
	}
}

/* numpy.matmul of shapes a and b; of a's type. */
static berth_status matmul_dims(const onnx_at *at, onnx_dims a, onnx_dims b, onnx_dims *d)
{
	d->rank = ONNX_UNKNOWN;
	if (a.rank < 0 || b.rank < 0)
		return BERTH_OK;
	if (a.rank == 0 || b.rank == 0)
		return ONNX_FAIL(at, "operands of rank %d and %d; expected 1 or more", a.rank, b.rank);
	int64_t k = a.d[a.rank - 1], rows = a.rank > 1 ? a.d[a.rank - 2] : -2,
		other = b.d[b.rank > 1 ? b.rank - 2 : 0];
	int64_t cols = b.rank > 1 ? b.d[b.rank - 1] : -2;
	if (k >= 0 && other >= 0 && k != other)
		return ONNX_FAIL(at, "inner dimensions %lld and %lld differ", (long long)k, (long long)other);
	a.rank = a.rank > 2 ? a.rank - 2 : 0;
	b.rank = b.rank > 2 ? b.rank - 2 : 0;
	BERTH_TRY(onnx_broadcast(at, &a, &b));
	*d = a;
	if (rows > -2)
		d->d[d->rank++] = rows;
	if (cols > -2)
		d->d[d->rank++] = cols;
	return BERTH_OK;
}

ONNX_INFER(matmul)
{
	return matmul_dims(at, *d, onnx_in_dims(at, 1), d);
}

ONNX_INFER(matmul_integer)
{
	BERTH_TRY(onnx_infer_matmul(at, d));
	d->elem = ONNX_INT32;
	return BERTH_OK;
}

ONNX_INFER(qlinear_matmul)
{
	int32_t zero = onnx_in_elem(at, 7);
	d->elem = zero ? zero : d->elem;
	return matmul_dims(at, *d, onnx_in_dims(at, 3), d);
}

ONNX_INFER(fused_matmul)
{
	onnx_dims b = onnx_in_dims(at, 1);
	swap_last(d, onnx_attr_int(at->n, "transA", 0) != 0);
	swap_last(&b, onnx_attr_int(at->n, "transB", 0) != 0);
	return matmul_dims(at, *d, b, d);
}

/* n output elements, each a sum over k: as many products as input slot has matrices. */
static berth_dims matmul_dims_of(const onnx_at *at, int32_t slot, int64_t n, int64_t k)
{
	const onnx_value *y = onnx_out(at, 0), *b = onnx_in(at, slot);
	bool packed = at->n->op->infer == onnx_infer_matmul_nbits;
	int64_t many = 1, cols = !packed && b && b->rank == 1 ? 1 : y->rank > 0 ? y->dim[y->rank - 1] : 1;
	for (int32_t i = 0; b && !packed && i < b->rank - 2; i++)
		many = onnx_mul(many, b->dim[i]);
	int64_t each = onnx_mul(many, cols);
	return each < 1 || n % each ? (berth_dims){0} : BERTH_DIMS(PRODUCT, many, n / each, cols, k);
}

/* Output elements times the summed dimension of a. */
static berth_status matmul_work(const onnx_at *at, bool ta, onnx_work *w)
{
	const onnx_value *y = onnx_out(at, 0);
	onnx_dims a = onnx_in_dims(at, 0);
	swap_last(&a, ta);
	int64_t n = y ? onnx_count(y->rank, y->dim) : ONNX_UNKNOWN,
		k = a.rank > 0 ? a.d[a.rank - 1] : ONNX_UNKNOWN;
	if (n < 0 || k < 0)
		return BERTH_OK;
	w->macs = (double)n * (double)k;
	w->dims = matmul_dims_of(at, at->n->op->infer == onnx_infer_qlinear_matmul ? 3 : 1, n, k);
	return BERTH_OK;
}

ONNX_MACS(matmul)
{
	return matmul_work(at, false, w);
}

ONNX_MACS(fused_matmul)
{
	return matmul_work(at, onnx_attr_int(at->n, "transA", 0) != 0, w);
}

/* com.microsoft MatMulNBits: a [..., K] times a packed weight of K x N. */
ONNX_INFER(matmul_nbits)
{
	if (d->rank > 0)
		d->d[d->rank - 1] = onnx_attr_int(at->n, "N", ONNX_UNKNOWN);
	return BERTH_OK;
}

/* ---- Einsum ---- */

typedef struct einsum {
	int64_t size[128];     /* of each letter; ONNX_UNKNOWN: not known, 0 uses */
	bool used[128];
	unsigned char in[128]; /* bit 0: of the first operand, bit 1: of another; '.': the ellipsis */
	int32_t n; /* operands */
	onnx_dims ellipsis;
	char out[2 * ONNX_MAX_RANK + 4]; /* letters of the result; '.' stands for "..." */
} einsum;

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Text of the equation without spaces and with '.' for "..."; false where it is too long or holds other
 * characters. */
static bool einsum_text(const onnx_at *at, char text[512])
{
	const char *p;
	size_t len, n = 0;
	onnx_attr_text(at->m, at->n, "equation", &p, &len);
	for (size_t i = 0; p && i < len; i++) {
		if (p[i] == ' ')
			continue;
		if (n == 511 || !(is_letter(p[i]) || strchr(".,->", p[i])) || !p[i])
			return false;
		if (p[i] == '.') {
			if (i + 2 >= len || p[i + 1] != '.' || p[i + 2] != '.')
				return false;
			i += 2;
		}
		text[n++] = p[i];
	}
	text[n] = '\0';
	return n > 0;
}

/* One term with the shape of input i. */
static berth_status einsum_term(const onnx_at *at, einsum *e, const char *term, size_t len, int32_t i,
                                bool *fits)
{
	onnx_dims d = onnx_in_dims(at, i);
	bool dots = memchr(term, '.', len) != NULL;
	int32_t extra = d.rank - (int32_t)(len - dots), k = 0;
	*fits = *fits && d.rank >= 0 && extra >= 0 && (dots || extra == 0);
	for (size_t c = 0; c < len && *fits; c++) {
		if (term[c] == '.') {
			*fits = k + extra <= d.rank;
			if (!*fits)
				break;
			onnx_dims block = {.rank = extra};
			memcpy(block.d, d.d + k, (size_t)extra * sizeof *d.d);
			BERTH_TRY(onnx_broadcast(at, &e->ellipsis, &block));
			k += extra;
			e->in['.'] |= (unsigned char)(extra > 0 ? i ? 2 : 1 : 0);
			continue;
		}
		*fits = is_letter(term[c]) && k < d.rank;
		if (!*fits)
			break;
		int letter = term[c];
		int64_t x = d.d[k++];
		if (!e->used[letter] || e->size[letter] == 1 || e->size[letter] < 0)
			e->size[letter] = x;
		e->used[letter] = true;
		e->in[letter] |= (unsigned char)(i ? 2 : 1);
	}
	return BERTH_OK;
}

/* Parse the equation over the shapes of the inputs. *fits = false: it does not say what is known. */
static berth_status einsum_read(const onnx_at *at, einsum *e, bool *fits)
{
	char text[512];
	memset(e, 0, sizeof *e);
	*fits = einsum_text(at, text);
	if (!*fits)
		return BERTH_OK;
	char *arrow = strstr(text, "->");
	if (arrow) {
		*fits = strlen(arrow + 2) < sizeof e->out;
		if (*fits)
			memcpy(e->out, arrow + 2, strlen(arrow + 2) + 1);
		*arrow = '\0';
	} else {
		/* Without "->": the ellipsis and the letters that occur once, in alphabetical order. */
		int count[128] = {0}, n = 0;
		for (const char *p = text; *p; p++)
			count[(unsigned char)*p & 127]++;
		if (count['.'])
			e->out[n++] = '.';
		for (int c = 'A'; c <= 'z' && n < 2 * ONNX_MAX_RANK; c++)
			if (is_letter((char)c) && count[c] == 1)
				e->out[n++] = (char)c;
	}
	const char *term = text;
	for (int32_t i = 0; *fits; i++) {
		size_t len = strcspn(term, ",");
		BERTH_TRY(einsum_term(at, e, term, len, i, fits));
		e->n = i + 1;
		term += len;
		if (!*term++)
			break;
	}
	return BERTH_OK;
}

ONNX_INFER(einsum)
{
	einsum e;
	bool fits;
	BERTH_TRY(einsum_read(at, &e, &fits));
	d->rank = 0;
	for (const char *p = e.out; fits && *p; p++) {
		if (*p == '.') {
			fits = e.ellipsis.rank >= 0 && d->rank + e.ellipsis.rank <= ONNX_MAX_RANK;
			for (int32_t i = 0; fits && i < e.ellipsis.rank; i++)
				d->d[d->rank++] = e.ellipsis.d[i];
		} else {
			fits = is_letter(*p) && e.used[(int)*p] && d->rank < ONNX_MAX_RANK;
			if (fits)
				d->d[d->rank++] = e.size[(int)*p];
		}
	}
	if (!fits)
		d->rank = ONNX_UNKNOWN;
	return BERTH_OK;
}

/* Two operands are one product: indices of both stay (b) or are summed over (k), those of one stay (m, n). */
static berth_dims einsum_dims(const einsum *e)
{
	int64_t at[BERTH_MOST_DIMS] = {1, 1, 1, 1};
	for (int c = 0; c < 128; c++) {
		bool stays = strchr(e->out, c) != NULL;
		int side = e->in[c] == 3 ? stays ? 0 : 3 : e->in[c];
		if (!e->in[c])
			continue;
		if (e->n != 2 || (!stays && side < 3))
			return (berth_dims){0};
		for (int32_t i = 0; i < (c == '.' ? e->ellipsis.rank : 1); i++)
			at[side] = onnx_mul(at[side], c == '.' ? e->ellipsis.d[i] : e->size[c]);
	}
	return berth_dims_of(BERTH_DIMS_PRODUCT, at);
}

/* The product of all index ranges: what the sum does when written as one loop nest. */
ONNX_MACS(einsum)
{
	einsum e;
	bool fits;
	BERTH_TRY(einsum_read(at, &e, &fits));
	if (!fits || e.ellipsis.rank < 0)
		return BERTH_OK;
	double n = 1;
	for (int c = 0; c < 128; c++)
		if (e.used[c])
			n *= e.size[c] < 0 ? 0 : (double)e.size[c];
	for (int32_t i = 0; i < e.ellipsis.rank; i++)
		n *= e.ellipsis.d[i] < 0 ? 0 : (double)e.ellipsis.d[i];
	w->macs = n;
	w->dims = einsum_dims(&e);
	return BERTH_OK;
}

/* ---- recurrent layers ---- */

typedef struct recurrent {
	int64_t steps, batch, in, hidden, directions;
} recurrent;

/* Sizes of RNN, GRU and LSTM: x [steps, batch, in] (layout 1: [batch, steps, in]), r [directions,
 * gates*hidden, hidden]. */
static recurrent recurrent_sizes(const onnx_at *at)
{
	onnx_dims x = onnx_in_dims(at, 0), r = onnx_in_dims(at, 2);
	recurrent s = {ONNX_UNKNOWN, ONNX_UNKNOWN, ONNX_UNKNOWN,
	               onnx_attr_int(at->n, "hidden_size", ONNX_UNKNOWN), ONNX_UNKNOWN};
	int layout = onnx_attr_int(at->n, "layout", 0) != 0;
	if (x.rank == 3) {
		s.steps = x.d[layout];
		s.batch = x.d[!layout];
		s.in = x.d[2];
	}
	if (r.rank == 3 && s.hidden < 0)
		s.hidden = r.d[2];
	s.directions = onnx_attr_is(at->m, at->n, "direction", "bidirectional") ? 2 : 1;
	return s;
}

ONNX_INFER(recurrent)
{
	recurrent s = recurrent_sizes(at);
	bool layout = onnx_attr_int(at->n, "layout", 0) != 0;
	onnx_dims last = {.elem = d->elem, .rank = 3, .d = {layout ? s.batch : s.directions,
	                                                    layout ? s.directions : s.batch, s.hidden}};
	*d = (onnx_dims){.elem = d->elem, .rank = 4, .d = {layout ? s.batch : s.steps,
	                                                   layout ? s.steps : s.directions,
	                                                   layout ? s.directions : s.batch, s.hidden}};
	BERTH_TRY(onnx_set(at, 1, &last));
	return onnx_set(at, 2, &last);
}

/* steps * batch * directions * gates * hidden * (in + hidden): the two products of each gate, which have no
 * one shape. */
ONNX_MACS(recurrent)
{
	recurrent s = recurrent_sizes(at);
	double gates = strstr(at->n->type, "LSTM") ? 4 : strstr(at->n->type, "GRU") ? 3 : 1;
	if (s.steps >= 0 && s.batch >= 0 && s.in >= 0 && s.hidden >= 0)
		w->macs = (double)s.steps * (double)s.batch * (double)s.directions * gates *
		          (double)s.hidden * ((double)s.in + (double)s.hidden);
	return BERTH_OK;
}

/* ---- normalisation and attention ---- */

ONNX_INFER(batch_norm)
{
	(void)d;
	for (int32_t o = 1; o < 5; o++)
		BERTH_TRY(onnx_set_like(at, o, o < 3 ? o + 2 : o, ONNX_NONE));
	return BERTH_OK;
}

ONNX_INFER(layer_norm)
{
	onnx_dims mean = *d;
	int32_t axis = 0;
	mean.elem = ONNX_FLOAT;
	if (d->rank > 0)
		BERTH_TRY(onnx_axis_attr(at, -1, d->rank, &axis));
	for (int32_t i = axis; i < d->rank; i++)
		mean.d[i] = 1;
	BERTH_TRY(onnx_set(at, 1, &mean));
	return onnx_set(at, 2, &mean);
}

/* com.microsoft SkipLayerNormalization: mean and deviation, then the sum of its inputs. */
ONNX_INFER(skip_layer_norm)
{
	BERTH_TRY(onnx_infer_layer_norm(at, d));
	return onnx_set_like(at, 3, 0, ONNX_NONE);
}

/* com.microsoft QLinearAdd, QLinearMul: operands 0 and 3, each with scale and zero point. */
ONNX_INFER(qlinear_binary)
{
	onnx_dims b = onnx_in_dims(at, 3);
	return onnx_broadcast(at, d, &b);
}
