/* Layers of the zoo: an operator each, with its shape and costs. Sizes are computed in double, which is exact
 * below 2^53, the limit of a figure. */
#include "zoo_layers.h"

#include <stdarg.h>

static void fail(zoo_net *net, berth_status status)
{
	if (net->status == BERTH_OK)
		net->status = status;
}

double zoo_value_or(const zoo_net *net, const char *name, double otherwise)
{
	int32_t i = 0;
	while (i < net->model->n_params && strcmp(net->model->param[i].name, name) != 0)
		i++;
	return i < net->model->n_params ? net->value[i] : otherwise;
}

double zoo_value(const zoo_net *net, const char *name)
{
	double value = zoo_value_or(net, name, NAN);
	assert(!isnan(value));
	return value;
}

int64_t zoo_whole(const zoo_net *net, const char *name)
{
	return (int64_t)zoo_value(net, name);
}

const char *zoo_word(const zoo_net *net, const char *name)
{
	int32_t i = 0;
	while (strcmp(net->model->param[i].name, name) != 0)
		i++;
	return net->model->param[i].choice[(int)net->value[i]];
}

void zoo_scope(zoo_net *net, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(net->scope, sizeof net->scope, fmt, ap);
	va_end(ap);
}

void zoo_scope_end(zoo_net *net)
{
	net->scope[0] = '\0';
}

const char *zoo_name(zoo_net *net, const char *fmt, ...)
{
	char text[4 * ZOO_NAME];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	const char *name = berth_arena_strdup(net->tmp, text);
	if (!name)
		fail(net, berth_nomem(net->err));
	return name ? name : "";
}

void zoo_mark_output(zoo_net *net)
{
	net->output = true;
}

void zoo_refuse(zoo_net *net, const char *fmt, ...)
{
	char text[256];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	if (net->status == BERTH_OK)
		net->status = berth_fail(net->err, BERTH_EINVAL, "%s", text);
}

zoo_tensor zoo_input(int64_t n, int64_t c, int64_t h, int64_t w)
{
	return (zoo_tensor){.op = ZOO_INPUT, .dim = {n, c, h, w}};
}

zoo_window zoo_square(int64_t kernel, int64_t stride, int64_t pad)
{
	return (zoo_window){kernel, kernel, stride, pad, pad};
}

const zoo_window zoo_1x1 = {1, 1, 1, 0, 0}, zoo_3x3 = {3, 3, 1, 1, 1};

static double elements(zoo_tensor t)
{
	double n = 1;
	for (int i = 0; i < ZOO_RANK; i++)
		n *= (double)t.dim[i];
	return n;
}

/* Bytes as an integer, if they are few enough to be one figure of a graph. */
static int64_t whole_bytes(zoo_net *net, const char *op, double bytes)
{
	if (bytes <= 0x1p53)
		return (int64_t)bytes;
	fail(net,
	     berth_fail(net->err, BERTH_EINVAL,
	                "operator '%s' would move %.3g bytes, beyond 2^53; choose smaller sizes", op, bytes));
	return 0;
}

/* The product of these dimensions; 0: it is beyond 2^53. */
static int64_t whole_product(int32_t n, const int64_t dim[])
{
	double x = 1;
	for (int32_t i = 0; i < n; i++)
		x *= (double)dim[i];
	return x <= 0x1p53 ? (int64_t)x : 0;
}

berth_dims zoo_rows(zoo_tensor x)
{
	int last = ZOO_RANK - 1;
	while (last > 0 && x.dim[last] == 1)
		last--;
	return BERTH_DIMS(ROWS, whole_product(last, x.dim), x.dim[last]);
}

zoo_tensor zoo_op(zoo_net *net, const char *name, const char *type, int32_t n, const zoo_tensor x[],
                  zoo_tensor out, zoo_cost cost)
{
	char full[2 * ZOO_NAME];
	double elem = (double)net->elem_bytes, read = cost.read_params;
	out.op = ZOO_INPUT;
	out.name = NULL;
	if (net->status != BERTH_OK)
		return out;
	snprintf(full, sizeof full, "%s%s%s", net->scope, *net->scope ? "." : "", name);
	for (int32_t i = 0; i < n; i++)
		read += elements(x[i]);
	berth_op_spec spec = {.name = full, .type = type, .macs = cost.macs};
	spec.dtype = cost.dtype ? cost.dtype : net->dtype;
	spec.dims = cost.dims.kind || cost.macs > 0 ? cost.dims : zoo_rows(out);
	spec.flops = cost.flops > 0 ? cost.flops : cost.macs > 0 ? 2 * cost.macs : elements(out);
	spec.read_bytes = whole_bytes(
		net, full, read * elem + cost.read_extra_bytes + cost.read_weight_bytes + net->other_bytes);
	spec.write_bytes = whole_bytes(net, full, elements(out) * elem);
	spec.param_bytes = whole_bytes(net, full, cost.params * elem + cost.weight_bytes + net->other_bytes);
	spec.state_bytes = whole_bytes(net, full, cost.state_bytes);
	spec.output_bytes = net->output ? spec.write_bytes : 0;
	net->output = false;
	net->other_bytes = 0;
	if (net->status != BERTH_OK)
		return out;
	fail(net, berth_builder_op(net->builder, &spec, &out.op, net->err));
	int32_t op = out.op;
	for (int32_t i = 0; i < n && net->status == BERTH_OK; i++)
		if (x[i].op != ZOO_INPUT) {
			int64_t bytes = whole_bytes(net, full, elements(x[i]) * (double)net->elem_bytes);
			fail(net, berth_builder_edge(net->builder, x[i].op, op, bytes, x[i].name, net->err));
		}
	return out;
}

int32_t zoo_shared_bytes(zoo_net *net, const char *name, double bytes)
{
	int32_t param = -1;
	int64_t whole = whole_bytes(net, name, bytes);
	if (net->status == BERTH_OK)
		fail(net, berth_builder_param(net->builder, name, whole, &param, net->err));
	return param;
}

int32_t zoo_shared_param(zoo_net *net, const char *name, int64_t n)
{
	return zoo_shared_bytes(net, name, (double)n * (double)net->elem_bytes);
}

zoo_tensor *zoo_tensors(zoo_net *net, int64_t n)
{
	zoo_tensor *list = NULL;
	if (net->status == BERTH_OK)
		fail(net, BERTH_NEW(net->tmp, list, n, net->err));
	return list;
}

void zoo_use_param(zoo_net *net, zoo_tensor user, int32_t param)
{
	if (net->status == BERTH_OK)
		fail(net, berth_builder_param_use(net->builder, param, user.op, net->err));
}

/* Cost of an operator that holds and reads its own parameters. */
static zoo_cost own(double macs, double params)
{
	return (zoo_cost){.macs = macs, .params = params, .read_params = params};
}

static int64_t slide(int64_t size, int64_t kernel, int64_t stride, int64_t pad)
{
	int64_t n = (size + 2 * pad - kernel) / stride + 1;
	assert(size + 2 * pad >= kernel && n > 0);
	return n;
}

static zoo_tensor slid(zoo_tensor x, int64_t channels, zoo_window w)
{
	return zoo_input(x.dim[0], channels, slide(x.dim[2], w.kernel_h, w.stride, w.pad_h),
	                 slide(x.dim[3], w.kernel_w, w.stride, w.pad_w));
}

zoo_tensor zoo_conv(zoo_net *net, const char *name, zoo_tensor x, int64_t out_channels, zoo_window win,
                    int64_t groups, bool bias)
{
	assert(x.dim[1] % groups == 0 && out_channels % groups == 0);
	zoo_tensor out = slid(x, out_channels, win);
	double window = (double)(x.dim[1] / groups) * (double)(win.kernel_h * win.kernel_w);
	double params = window * (double)out_channels + (bias ? (double)out_channels : 0);
	zoo_cost cost = own(elements(out) * window, params);
	cost.dims = BERTH_DIMS(CONV, x.dim[0], x.dim[1], out_channels, out.dim[2] * out.dim[3],
	                       win.kernel_h * win.kernel_w, win.stride, groups, 1);
	return zoo_op(net, name, "Conv", 1, &x, out, cost);
}

zoo_tensor zoo_conv_norm(zoo_net *net, const char *conv, const char *norm, zoo_tensor x, int64_t out_channels,
                         zoo_window win, int64_t groups)
{
	x = zoo_conv(net, conv, x, out_channels, win, groups, !net->training);
	return net->training ? zoo_batchnorm(net, norm, x) : x;
}

zoo_tensor zoo_conv_bn(zoo_net *net, const char *name, zoo_tensor x, int64_t out_channels, zoo_window win)
{
	return zoo_conv_norm(net, zoo_name(net, "%s.conv", name), zoo_name(net, "%s.bn", name), x,
	                     out_channels, win, 1);
}

zoo_tensor zoo_conv_up(zoo_net *net, const char *name, zoo_tensor x, int64_t out_channels)
{
	zoo_tensor out = zoo_input(x.dim[0], out_channels, 2 * x.dim[2], 2 * x.dim[3]);
	double in = (double)x.dim[1];
	zoo_cost cost = own(elements(out) * in, (4 * in + 1) * (double)out_channels);
	cost.dims = BERTH_DIMS(CONV, x.dim[0], x.dim[1], out_channels, x.dim[2] * x.dim[3], 4, 2, 1, 1);
	return zoo_op(net, name, "ConvTranspose", 1, &x, out, cost);
}

/* Of each channel of each picture its pixels. */
static berth_dims planes(zoo_tensor x)
{
	return BERTH_DIMS(ROWS, x.dim[0] * x.dim[1], x.dim[2] * x.dim[3]);
}

zoo_tensor zoo_pool(zoo_net *net, const char *name, const char *type, zoo_tensor x, zoo_window win)
{
	return zoo_op(net, name, type, 1, &x, slid(x, x.dim[1], win), (zoo_cost){.dims = planes(x)});
}

zoo_tensor zoo_global_pool(zoo_net *net, const char *name, zoo_tensor x)
{
	return zoo_op(net, name, "GlobalAveragePool", 1, &x, zoo_input(x.dim[0], x.dim[1], 1, 1),
	              (zoo_cost){.dims = planes(x)});
}

zoo_tensor zoo_batchnorm(zoo_net *net, const char *name, zoo_tensor x)
{
	zoo_cost cost = own(0, 2 * (double)x.dim[1]);
	cost.dims = planes(x);
	return zoo_op(net, name, "BatchNormalization", 1, &x, x, cost);
}

zoo_tensor zoo_unary(zoo_net *net, const char *name, const char *type, zoo_tensor x)
{
	return zoo_op(net, name, type, 1, &x, x, own(0, 0));
}

zoo_tensor zoo_binary(zoo_net *net, const char *name, const char *type, zoo_tensor a, zoo_tensor b)
{
	zoo_tensor x[2] = {a, b};
	return zoo_op(net, name, type, 2, x, a, own(0, 0));
}

zoo_tensor zoo_concat_along(zoo_net *net, const char *name, int dim, int32_t n, const zoo_tensor x[])
{
	zoo_tensor out = x[0];
	for (int32_t i = 1; i < n; i++)
		out.dim[dim] += x[i].dim[dim];
	return zoo_op(net, name, "Concat", n, x, out, own(0, 0));
}

zoo_tensor zoo_concat(zoo_net *net, const char *name, int32_t n, const zoo_tensor x[])
{
	return zoo_concat_along(net, name, 1, n, x);
}

zoo_tensor zoo_gemm(zoo_net *net, const char *name, zoo_tensor x, int64_t out_features)
{
	double in = elements(x) / (double)x.dim[0], out = (double)out_features;
	zoo_cost cost = own((double)x.dim[0] * in * out, in * out + out);
	cost.dims = BERTH_DIMS(PRODUCT, 1, x.dim[0], out_features,
	                       whole_product(ZOO_RANK - 1, x.dim + 1));
	return zoo_op(net, name, "Gemm", 1, &x, zoo_input(x.dim[0], out_features, 1, 1), cost);
}

zoo_tensor zoo_project(zoo_net *net, const char *name, zoo_tensor x, int64_t columns, int32_t shared)
{
	zoo_tensor out = x;
	out.dim[3] = columns;
	double weights = (double)x.dim[3] * (double)columns;
	zoo_cost cost = own(elements(x) * (double)columns, shared < 0 ? weights : 0);
	cost.read_params = weights;
	/* The same of all rows of x by one matrix to so many columns. */
	cost.dims =
		BERTH_DIMS(PRODUCT, 1, whole_product(ZOO_RANK - 1, x.dim), columns, x.dim[ZOO_RANK - 1]);
	out = zoo_op(net, name, "MatMul", 1, &x, out, cost);
	if (shared >= 0)
		zoo_use_param(net, out, shared);
	return out;
}

zoo_tensor zoo_linear(zoo_net *net, const char *name, zoo_tensor x, int64_t columns)
{
	x = zoo_project(net, zoo_name(net, "%s.matmul", name), x, columns, -1);
	return zoo_bias(net, zoo_name(net, "%s.add", name), x);
}

void zoo_split(zoo_net *net, const char *name, zoo_tensor x, int32_t n, zoo_tensor out[])
{
	static const char *const names[] = {"0", "1", "2", "3"};
	assert(n <= 4 && x.dim[3] % n == 0);
	zoo_tensor whole = zoo_op(net, name, "Split", 1, &x, x, own(0, 0));
	for (int32_t i = 0; i < n; i++) {
		out[i] = whole;
		out[i].dim[3] = x.dim[3] / n;
		out[i].name = names[i];
	}
}

zoo_tensor zoo_matmul(zoo_net *net, const char *name, zoo_tensor a, zoo_tensor b)
{
	assert(a.dim[3] == b.dim[2]);
	zoo_tensor x[2] = {a, b}, out = a;
	zoo_cost cost = own(elements(a) * (double)b.dim[3], 0);
	cost.dims = BERTH_DIMS(PRODUCT, whole_product(2, a.dim), a.dim[2], b.dim[3], a.dim[3]);
	out.dim[3] = b.dim[3];
	return zoo_op(net, name, "MatMul", 2, x, out, cost);
}

zoo_tensor zoo_bias(zoo_net *net, const char *name, zoo_tensor x)
{
	return zoo_op(net, name, "Add", 1, &x, x, own(0, (double)x.dim[3]));
}

zoo_tensor zoo_position(zoo_net *net, const char *name, zoo_tensor x, int64_t table_rows)
{
	zoo_cost cost = own(0, (double)table_rows * (double)x.dim[3]);
	cost.read_params = (double)x.dim[2] * (double)x.dim[3];
	return zoo_op(net, name, "Add", 1, &x, x, cost);
}

zoo_tensor zoo_layernorm(zoo_net *net, const char *name, zoo_tensor x)
{
	return zoo_op(net, name, "LayerNormalization", 1, &x, x, own(0, 2 * (double)x.dim[3]));
}

zoo_tensor zoo_embedding(zoo_net *net, const char *name, int64_t rows, int64_t table_rows, int64_t columns,
                         int32_t shared)
{
	zoo_tensor out = zoo_input(net->batch, 1, rows, columns);
	zoo_cost cost = own(0, shared < 0 ? (double)table_rows * (double)columns : 0);
	cost.read_params = elements(out);
	cost.read_extra_bytes = 8 * (double)net->batch * (double)rows;
	out = zoo_op(net, name, "Gather", 0, NULL, out, cost);
	if (shared >= 0)
		zoo_use_param(net, out, shared);
	return out;
}

zoo_tensor zoo_first_row(zoo_net *net, const char *name, zoo_tensor x)
{
	zoo_tensor out = x;
	out.dim[2] = 1;
	return zoo_op(net, name, "Gather", 1, &x, out, own(0, 0));
}

zoo_tensor zoo_transpose(zoo_net *net, const char *name, zoo_tensor x, int64_t d0, int64_t d1, int64_t d2,
                         int64_t d3)
{
	return zoo_op(net, name, "Transpose", 1, &x, zoo_input(d0, d1, d2, d3), own(0, 0));
}
