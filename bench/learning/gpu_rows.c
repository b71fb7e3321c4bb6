/* Reads public measurements of operators and of whole models on GPUs. */
#include "catalogue.h"
#include "file.h"
#include "gpu_fit.h"
#include "rng.h"

#include <stdlib.h>

static const struct {
	const char *name, *like, *label; /* names in the files, the catalogue's */
} device_known[GPU_DEVICES] = {
	{"NVIDIA A100-PCIE-40GB", "nvidia-a100-pcie-40gb", "A100-40GB"},
	{"NVIDIA A100 80GB PCIe", "nvidia-a100-pcie-80gb", "A100-80GB"},
	{"Tesla P100-PCIE-16GB", "nvidia-p100-pcie-16gb", "P100"},
	{"Tesla P4", "nvidia-p4", "P4"},
	{"Tesla T4", "nvidia-t4", "T4"},
	{"Tesla V100-PCIE-32GB", "nvidia-v100-pcie-32gb", "V100"},
	{"a100", "nvidia-a100-sxm-80gb", "A100-SXM-80GB"},
	{"a40", "nvidia-a40", "A40"},
};

static bool same(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

/* The device that a file of measurements means; -1: none of them. */
static int32_t device_named(const char *name)
{
	for (int32_t d = 0; d < GPU_DEVICES; d++) {
		const char *known = device_known[d].name;
		size_t i = 0;
		while (known[i] && (name[i] == known[i] || (name[i] == '_' && known[i] == ' ')))
			i++;
		if (!known[i] && !name[i])
			return d;
	}
	return -1;
}

const char *gpu_device_label(int32_t device)
{
	return device_known[device].label;
}

/* A text file of a folder, whole, in mem. */
static char *read_text(const char *folder, const char *name, berth_arena *mem)
{
	char *path = berth_arena_printf(mem, "%s/%s", folder, name), *text;
	size_t size;
	MUST(berth_file_read(BERTH_READS_MODEL, path, mem, &text, &size, &err));
	return text;
}

/* Cut the next line of *text into at most n cells; their number, 0 at the end. */
static int cut_cells(char **text, char **cell, int n)
{
	char *end = strchr(*text, '\n');
	int found = 0;
	if (!end)
		return 0;
	*end = 0;
	for (char *at = *text; at && found < n; found++) {
		cell[found] = at;
		at = strchr(at, ',');
		if (at)
			*at++ = 0;
	}
	*text = end + 1;
	return found;
}

static double number(const char *text)
{
	return strtod(text, NULL);
}

/* ---- operators ---- */

/* b products of m x k by k x n. */
static berth_time_query product(berth_time_class class, double b, double m, double k, double n,
                                double item_bytes)
{
	return (berth_time_query){.class = class, .b = b, .m = m, .n = n, .k = k, .item_bytes = item_bytes,
	                          .flops = 2 * b * m * n * k,
	                          .bytes = item_bytes * b * (m * n + m * k + n * k)};
}

berth_time_query gpu_linear(double m, double k, double n, double item_bytes)
{
	return product(item_bytes < 4 ? BERTH_TIME_HALF : BERTH_TIME_LINEAR, 1, m, k, n, item_bytes);
}

berth_time_query gpu_bmm(double b, double m, double k, double n)
{
	return product(BERTH_TIME_BMM, b, m, k, n, 4);
}

berth_time_query gpu_elementwise(double numbers, double moved)
{
	return (berth_time_query){.class = BERTH_TIME_ELEMENTWISE, .flops = numbers, .bytes = 4 * moved};
}

berth_time_query gpu_over_rows(berth_time_class class, double rows, double width)
{
	return (berth_time_query){.class = class, .rows = rows, .width = width, .flops = 5 * rows * width,
	                          .bytes = 8 * rows * width};
}

/* x: batch, channels in and out, size, kernel, stride, padding. */
static berth_time_query convolution(const double *x)
{
	double points = floor((x[3] + 2 * x[6] - x[4]) / x[5]) + 1,
	       area = points * points, window = x[4] * x[4];
	return (berth_time_query){
		.class = BERTH_TIME_CONV, .images = x[0], .in = x[1], .out = x[2], .height = points,
		.width = points, .kernel_height = x[4], .kernel_width = x[4], .stride = x[5], .groups = 1,
		.dilation = 1, .item_bytes = 4, .flops = 2 * x[0] * x[1] * x[2] * area * window,
		.bytes = 4 * (x[0] * x[1] * x[3] * x[3] + x[0] * x[2] * area + x[1] * x[2] * window)};
}

/* An operator of gpu-ops-f32. Of products the third number is what is summed over, the fourth the width of
 * the result: the other way round than their columns are called, as the steps of their times show. */
static berth_time_query operator_of(const char *op, const double *x)
{
	if (same(op, "linear"))
		return gpu_linear(x[0] * x[1], x[2], x[3], 4);
	if (same(op, "bmm"))
		return gpu_bmm(x[0], x[1], x[2], x[3]);
	if (same(op, "conv"))
		return convolution(x);
	if (same(op, "ln") || same(op, "softmax"))
		return gpu_over_rows(same(op, "ln") ? BERTH_TIME_NORM : BERTH_TIME_SOFTMAX, x[0], x[1]);
	bool two = same(op, "add") || same(op, "mul") || same(op, "div") || same(op, "pow");
	return gpu_elementwise(x[0] * x[1], (two ? 3 : 2) * x[0] * x[1]);
}

/* ---- files ---- */

static void add(gpu_rows *out, gpu_row row)
{
	out->row[row.q.class][out->n[row.q.class]++] = row;
}

enum { SMALL_BYTES = 100000, N_CELLS = 12 };

/* device,op,b,m_or_h_or_cin,n_or_cout,k_or_size,kernel,stride,padding,latency_us */
static void read_operators(char *text, berth_arena *mem, gpu_rows *out)
{
	char *cell[N_CELLS];
	double *small[GPU_DEVICES], overhead[GPU_DEVICES];
	int32_t n_small[GPU_DEVICES] = {0}, n = 0;
	size_t size = strlen(text) / 20;
	for (int32_t d = 0; d < GPU_DEVICES; d++)
		small[d] = bench_new(mem, size, sizeof **small);
	cut_cells(&text, cell, N_CELLS);
	while (cut_cells(&text, cell, N_CELLS) == 10) {
		double x[7];
		for (int i = 0; i < 7; i++)
			x[i] = number(cell[2 + i]);
		gpu_row row = {device_named(cell[0]), number(cell[9]) * 1e-6, operator_of(cell[1], x)};
		if (row.device < 0)
			bench_refuse("a device that is not known");
		row.q.alone = true;
		if (row.q.class == BERTH_TIME_ELEMENTWISE && row.q.bytes < SMALL_BYTES)
			small[row.device][n_small[row.device]++] = row.seconds;
		add(out, row);
	}
	for (int32_t d = 0; d < GPU_DEVICES; d++)
		if (n_small[d])
			overhead[n++] = out->device[d].overhead_s = bench_median(small[d], n_small[d]);
	out->overhead_s = bench_median(overhead, n);
}

/* device,model,op,n_head,n_kv_head,n_embd,n_expanded_embd,vocab_size,gated,num_tokens,tensor_parallel,
 * latency_us where op is a product. */
static void read_half(char *text, gpu_rows *out)
{
	char *cell[N_CELLS];
	cut_cells(&text, cell, N_CELLS);
	while (cut_cells(&text, cell, N_CELLS) == 12) {
		double heads = number(cell[3]), of_keys = number(cell[4]), width = number(cell[5]),
		       inner = number(cell[6]), tokens = number(cell[9]), parts = number(cell[10]);
		double k = width, n = width;
		if (same(cell[2], "attn_pre_proj"))
			n = (heads + 2 * of_keys) * (width / heads) / parts;
		else if (same(cell[2], "attn_post_proj"))
			k = width / parts;
		else if (same(cell[2], "mlp_up_proj"))
			n = (*cell[8] == 'T' ? 2 : 1) * inner / parts;
		else if (same(cell[2], "mlp_down_proj"))
			k = inner / parts;
		else
			continue;
		add(out, (gpu_row){device_named(cell[0]), number(cell[11]) * 1e-6,
		                   gpu_linear(tokens, k, n, 2)});
	}
}

static void find_devices(berth_arena *mem, gpu_rows *out)
{
	berth_catalogue c;
	MUST(berth_catalogue_read(mem, &c, &err));
	for (int32_t d = 0; d < GPU_DEVICES; d++) {
		const berth_device_row *row;
		MUST(berth_device_find(&c, device_known[d].like, mem, &row, &err));
		out->device[d] = (berth_time_device){
			.peak_flops = row->peak[d >= 6 ? BERTH_F16 : BERTH_F32],
			.bandwidth = row->mem_bandwidth, .units = row->units, .lanes = row->lanes,
			.cache_bytes = row->cache_bytes, .watts = row->watts, .process_nm = row->process_nm};
	}
}

void gpu_rows_read(const char *folder, berth_arena *mem, gpu_rows *out)
{
	*out = (gpu_rows){0};
	find_devices(mem, out);
	char *operators = read_text(folder, "gpu-ops-f32.csv", mem),
	     *half = read_text(folder, "llm-ops-f16.csv", mem);
	size_t most = (strlen(operators) + strlen(half)) / 20;
	for (int class = 0; class < BERTH_N_TIME_CLASSES; class++)
		out->row[class] = bench_new(mem, most, sizeof *out->row[class]);
	read_operators(operators, mem, out);
	read_half(half, out);
	berth_rng rng = berth_rng_seed(1, 0);
	for (int class = 0; class < BERTH_N_TIME_CLASSES; class++)
		for (int32_t i = out->n[class] - 1; i > 0; i--) {
			gpu_row *at = &out->row[class][berth_rng_below(&rng, (uint32_t)i + 1)], other = *at;
			*at = out->row[class][i];
			out->row[class][i] = other;
		}
	for (int32_t d = 0; d < 6; d++)
		if (!(out->device[d].overhead_s > 0))
			out->device[d].overhead_s = out->overhead_s;
}

int gpu_wholes_read(const char *folder, berth_arena *mem, gpu_whole *out)
{
	static const char *const other[] = {"fusion", "switch", "-dp", "-tp", "-pp"};
	char *text = read_text(folder, "gpu-models.csv", mem), *cell[6];
	int n = 0;
	cut_cells(&text, cell, 6);
	while (cut_cells(&text, cell, 6) > 0 && n < GPU_WHOLES) {
		gpu_whole w = {device_named(cell[0]), cell[1], strstr(cell[1], "train") != NULL,
		               number(cell[2]) * 1e-3};
		bool plain = w.device >= 0;
		for (int i = 0; i < BENCH_N(other); i++)
			plain &= !strstr(w.model, other[i]);
		if (plain)
			out[n++] = w;
	}
	return n;
}
