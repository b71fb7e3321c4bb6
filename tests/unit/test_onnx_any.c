/* Every operator of the table with inputs and attributes that nobody would write: random ranks, sizes that
 * are not known, constants that make no sense. Each file is read or refused with its place, with the same
 * graph each time, and also where memory ends half-way. */
#include "onnx.h"
#include "onnx_bytes.h"
#include "onnx_infer.h"
#include "rng.h"
#include "support.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { VARIANTS = BERTH_DEBUG ? 50 : 150, VALUE_IN = 11, VALUE_OUT = 12, MOST_INPUTS = 6 };

static int32_t below(berth_rng *rng, uint32_t n)
{
	return (int32_t)berth_rng_below(rng, n);
}

/* A value of the graph called name: an input of any shape, one without a shape, or a constant list. */
static void put_any_value(bytes *graph, const char *name, berth_rng *rng)
{
	static const char *const dim[] = {"1", "2", "3", "4", "8", "batch", "seq", "0"};
	static const int elem[] = {1, 1, 1, 7, 10, 9, 3};
	char shape[64] = "";
	int64_t list[6];
	int rank = below(rng, 6), type = elem[below(rng, sizeof elem / sizeof *elem)];
	switch (below(rng, 8)) {
	case 0:
		put_value(graph, VALUE_IN, name, type, NULL);
		return;
	case 1:
	case 2:
		for (int i = 0; i < rank; i++)
			list[i] = below(rng, 9) - 2;
		put_ints(graph, name, list, rank == 5 ? -1 : rank);
		return;
	default:
		for (int i = 0; i < rank; i++)
			snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%s%s", i ? "," : "",
			         dim[below(rng, below(rng, 3) ? 5 : 8)]);
		if (below(rng, 4))
			put_value(graph, VALUE_IN, name, type, shape);
		else
			put_weight(graph, name, type, shape);
	}
}

static void put_any_attributes(bytes *attrs, berth_rng *rng)
{
	static const char *const one[] = {
		"axis",        "keepdims",    "to",           "group",
		"blocksize",   "num_outputs", "batch_dims",   "num_heads",
		"hidden_size", "start",       "end",          "k",
		"transA",      "transB",      "ceil_mode",    "noop_with_empty_axes",
		"allowzero",   "sample_size", "kv_num_heads", "q_num_heads"};
	static const char *const many[] = {"axes",         "perm",           "shape",     "pads",
	                                   "strides",      "kernel_shape",   "dilations", "split",
	                                   "output_shape", "output_padding", "starts",    "ends",
	                                   "repeats",      "value_ints",     "size",      "block_shape"};
	for (int n = below(rng, 6); n > 0; n--) {
		int64_t x[5];
		int len = below(rng, 6);
		for (int i = 0; i < 5; i++)
			x[i] = below(rng, 7) - 1;
		if (below(rng, 2))
			attr_int(attrs, one[below(rng, sizeof one / sizeof *one)], x[0]);
		else
			attr_ints(attrs, many[below(rng, sizeof many / sizeof *many)], x, len);
	}
	if (below(rng, 6) == 0)
		attr_text(attrs, "auto_pad", "SAME_UPPER");
	if (below(rng, 10) == 0)
		attr_text(attrs, "equation", below(rng, 2) ? "ij,jk->ik" : "...i,i...->i");
}

static void put_any_model(bytes *file, const char *domain, const char *type, berth_rng *rng)
{
	static bytes graph;
	bytes attrs = {0};
	char in[64] = "", name[MOST_INPUTS][16];
	graph.n = file->n = 0;
	put_text(&graph, 2, "g");
	int n = below(rng, MOST_INPUTS + 1);
	for (int i = 0; i < n; i++) {
		snprintf(name[i], sizeof name[i], "x%d", i);
		put_any_value(&graph, name[i], rng);
		snprintf(in + strlen(in), sizeof in - strlen(in), "%s%s", i ? "," : "",
		         below(rng, 12) ? name[i] : "");
	}
	put_any_attributes(&attrs, rng);
	if (domain)
		put_text(&attrs, 7, domain);
	put_node(&graph, type, "it", in, below(rng, 3) ? "y" : "y,z", &attrs);
	put_node(&graph, "Relu", "after", "y", "out", NULL);
	put_value(&graph, VALUE_OUT, "out", 1, NULL);
	put_model(file, &graph, below(rng, 3) ? 13 : 7 + below(rng, 15));
}

/* What comes of the file with an allocator. */
typedef struct outcome {
	berth_status st;
	int32_t n_ops;
	int64_t bytes;
	berth_err err;
} outcome;

static outcome read_with(const bytes *file, long fail_at)
{
	failing_allocator f;
	berth_arena mem, tmp;
	berth_graph g;
	outcome o = {0};
	failing_allocator_init(&f, fail_at);
	berth_arena_init(&mem, &f.hook);
	berth_arena_init(&tmp, &f.hook);
	o.st = berth_graph_parse_onnx("t.onnx", file->data, file->n, NULL, &mem, &tmp, &g, NULL, &o.err);
	if (o.st == BERTH_OK) {
		assert_ok(berth_graph_check(&g, &o.err), &o.err);
		o.n_ops = g.n_ops;
		for (int32_t t = 0; t < g.n_tensors; t++)
			o.bytes += g.tensor_bytes[t];
	}
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	assert_int_equal(f.live, 0);
	return o;
}

/* How many of the variants of an operator are read. */
static int try_variants(const char *domain, const char *type, uint64_t stream)
{
	static bytes file;
	int n_read = 0;
	berth_rng rng = berth_rng_seed(1, stream);
	for (int k = 0; k < VARIANTS; k++) {
		put_any_model(&file, domain, type, &rng);
		outcome first = read_with(&file, LONG_MAX), cut = read_with(&file, below(&rng, 120));
		if (first.st != BERTH_OK) {
			assert_int_equal(first.st, BERTH_EFORMAT);
			assert_contains(first.err.msg, "t.onnx: ");
		}
		if (cut.st != BERTH_ENOMEM) {
			assert_int_equal(cut.st, first.st);
			assert_int_equal(cut.bytes, first.bytes);
			assert_int_equal(cut.n_ops, first.n_ops);
		}
		n_read += first.st == BERTH_OK;
	}
	return n_read;
}

static void test_any_inputs(void **state)
{
	(void)state;
	size_t n_own, n_foreign;
	const onnx_op *own = onnx_op_table(&n_own), *foreign = onnx_microsoft_table(&n_foreign);
	int n_read = 0, n_all = (int)(n_own + n_foreign) * VARIANTS;
	for (size_t i = 0; i < n_own; i++)
		n_read += try_variants(NULL, own[i].type, i);
	for (size_t i = 0; i < n_foreign; i++)
		n_read += try_variants("com.microsoft", foreign[i].type, n_own + i);
	assert_in_range(n_read, n_all / 20, n_all * 19 / 20); /* some of both kinds */
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_any_inputs)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
