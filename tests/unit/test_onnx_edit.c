/* Copies of ONNX models with labels: every byte but those of the labels and the lengths around them stays. */
#include "exporters.h"
#include "load.h"
#include "onnx_edit.h"
#include "support.h"
#include "systems_builtin.h"

#include <stdio.h>
#include <string.h>

static const char *const fixtures[] = {
	"tagger", "greedy_loop", "resnet18_batch", "lstm_unrolled",   "encoder_dynamic", "decoder_cache",
	"vit",    "seq2seq",     "mobilenet_v2",   "efficientnet_b0", "bert_base"};

typedef struct text {
	const char *data;
	size_t size;
} text;

static text joined(const berth_file_piece *piece, size_t n, berth_arena *mem)
{
	text t;
	t.data = berth_file_join(piece, n, mem, &t.size);
	assert_non_null(t.data);
	return t;
}

/* ---- editors ---- */

static bool drops_nothing(void *ctx, const protobuf *w, const protobuf_field *f, bool at_model)
{
	(void)ctx, (void)w, (void)f, (void)at_model;
	return false;
}

static bool drops_metadata(void *ctx, const protobuf *w, const protobuf_field *f, bool at_model)
{
	(void)ctx, (void)w;
	return !at_model && f->number == 9;
}

static berth_status adds_nothing(void *ctx, int32_t node, bool in_body, const protobuf *w,
                                 const protobuf_field *f, const char **data, size_t *size, berth_err *err)
{
	(void)ctx, (void)node, (void)in_body, (void)w, (void)f, (void)data, (void)err;
	*size = 0;
	return BERTH_OK;
}

/* Field 9 with the digit of the node, 2 more in a body. */
static berth_status adds_digit(void *ctx, int32_t node, bool in_body, const protobuf *w,
                               const protobuf_field *f,
                               const char **data, size_t *size, berth_err *err)
{
	static const char digits[] = "\x4a\x01\x30\x4a\x01\x31\x4a\x01\x32\x4a\x01\x33";
	(void)ctx, (void)w, (void)f, (void)err;
	assert_in_range(node, 0, 1);
	*data = digits + 3 * (node + (in_body ? 2 : 0));
	*size = 3;
	return BERTH_OK;
}

static text edited(const onnx_edit *e, text from, berth_arena *mem)
{
	onnx_edited out;
	berth_err err;
	assert_ok(onnx_edit_model(e, "m", (const unsigned char *)from.data, from.size, mem, &out, &err),
	          &err);
	return joined(out.piece, out.n_pieces, mem);
}

static void assert_same(text a, text b)
{
	assert_int_equal(a.size, b.size);
	assert_memory_equal(a.data, b.data, a.size);
}

/* ---- small messages ---- */

#define TEXT(literal) ((text){literal, sizeof(literal) - 1})

/* Unknown fields, a body in an attribute, a label that was there, nodes of the body with the outer number. */
static void test_small(void **state)
{
	(void)state;
	berth_arena mem = {0};
	const onnx_edit same = {.drops = drops_nothing, .adds = adds_nothing};
	const onnx_edit label = {.drops = drops_metadata,
	                         .adds = adds_digit,
	                         .ir_version = 11,
	                         .tail = "\xfa\x01\x01t",
	                         .n_tail = 4};
	/* version; unknown; graph: node with a label, name, node with a body and an unknown field, tensor */
	const text model = TEXT("\x08\x08"
	                        "\xf2\x01\x01u"
	                        "\x3a\x20"
	                        "\x0a\x06\x1a\x01\x61\x4a\x01x"
	                        "\x12\x01g"
	                        "\x0a\x0f\x2a\x0a\x0a\x01k\x32\x05\x0a\x03\x1a\x01\x62\x92\x03\x00"
	                        "\x2a\x02\x70\x01");
	assert_same(edited(&same, model, &mem), model);
	assert_same(edited(&label, model, &mem), TEXT("\x08\x0b"
	                                              "\xf2\x01\x01u"
	                                              "\x3a\x26"
	                                              "\x0a\x06\x1a\x01\x61\x4a\x01\x30"
	                                              "\x12\x01g"
	                                              "\x0a\x15\x2a\x0d\x0a\x01k\x32\x08\x0a\x06\x1a\x01\x62"
	                                              "\x4a\x01\x33\x92\x03\x00\x4a\x01\x31"
	                                              "\x2a\x02\x70\x01"
	                                              "\xfa\x01\x01t"));
	for (size_t cut = 1; cut < model.size; cut++) {
		onnx_edited out;
		berth_err err;
		berth_status st =
			onnx_edit_model(&same, "m", (const unsigned char *)model.data, cut, &mem, &out, &err);
		assert_true(st == BERTH_OK || st == BERTH_EFORMAT);
	}
	berth_arena_free(&mem);
}

/* ---- whole models ---- */

/* A model, and a placement of it that has every device in turn. */
typedef struct placed {
	berth_graph g;
	berth_system s;
	berth_content model;
	int32_t *op_dev;
} placed;

static void place(const char *name, berth_arena *mem, berth_arena *tmp, placed *p)
{
	berth_read_options words;
	berth_err err;
	const char *path = berth_arena_printf(mem, "%s/%s.onnx", BERTH_FIXTURES, name);
	assert_ok(berth_graph_load(path, NULL, mem, tmp, &p->g, NULL, &err), &err);
	assert_ok(berth_system_builtin("cpu+2gpu", mem, tmp, &p->s, &err), &err);
	assert_ok(berth_model_map(path, NULL, mem, &p->model, &words, &err), &err);
	assert_ok(BERTH_NEW(mem, p->op_dev, p->g.n_ops, &err), &err);
	for (int32_t op = 0; op < p->g.n_ops; op++)
		p->op_dev[op] = (op * 7 + op / 3) % 3;
}

/* What the exporter makes of the model, and of what it made again. */
static text exported(const berth_exporter *e, const placed *p, text from, berth_arena *mem, berth_arena *tmp)
{
	static const char *const theirs[3] = {"CPUExecutionProvider", "EP0", "EP1"};
	const berth_content content = {.name = p->model.name, .data = from.data, .size = from.size};
	berth_export_source x = {
		.g = &p->g, .s = &p->s, .op_dev = p->op_dev, .model = &content, .theirs = theirs};
	berth_export_out out = {.mem = mem};
	berth_err err;
	assert_ok(berth_export_make(e, &x, tmp, &out, &err), &err);
	return joined(out.piece, out.n_pieces, mem);
}

static void check_fixture(const char *name, berth_arena *mem, berth_arena *tmp)
{
	static const berth_exporter *const both[] = {&berth_export_ort, &berth_export_ort_onnx};
	const onnx_edit strip = {.drops = drops_metadata, .adds = adds_nothing};
	placed p;
	berth_graph again;
	berth_err err;
	place(name, mem, tmp, &p);
	const text plain = {p.model.data, p.model.size};
	for (int i = 0; i < 2; i++) {
		const text made = exported(both[i], &p, plain, mem, tmp);
		assert_true(made.size > plain.size);
		assert_same(exported(both[i], &p, made, mem, tmp), made);
		assert_ok(berth_graph_parse(p.model.name, made.data, made.size, NULL, mem, tmp, &again, NULL,
		                            &err),
		          &err);
		assert_int_equal(again.n_ops, p.g.n_ops);
		assert_int_equal(again.n_edges, p.g.n_edges);
		if (i == 0) /* the fixtures have no metadata of their own */
			assert_same(edited(&strip, made, mem), plain);
	}
	berth_model_unmap(&p.model);
}

static void test_fixtures(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof fixtures / sizeof *fixtures; i++) {
		berth_arena mem = {0}, tmp = {0};
		check_fixture(fixtures[i], &mem, &tmp);
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_small), cmocka_unit_test(test_fixtures)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
