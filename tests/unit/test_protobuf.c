/* The walker over the protocol-buffer wire format: each wire type, and each way in which bytes can be wrong,
 * with its offset. */
#include "onnx_bytes.h"
#include "protobuf.h"
#include "support.h"

#include <string.h>

static protobuf over(const bytes *b)
{
	return (protobuf){"t", b->data, 0, b->n};
}

static protobuf_field next(protobuf *w)
{
	protobuf_field f;
	berth_err err;
	bool more;
	assert_ok(protobuf_next(w, &f, &more, &err), &err);
	assert_true(more);
	return f;
}

static void test_fields(void **state)
{
	(void)state;
	bytes b = {0}, inner = {0};
	berth_arena mem = {0};
	berth_err err;
	const char *text;
	uint64_t eight = 0x0102030405060708u;
	put_number(&b, 1, 300);
	put_number(&b, 2, UINT64_MAX);
	put_float(&b, 3, 1.5f);
	put_tag(&b, 4, 1);
	put_raw(&b, &eight, 8);
	put_text(&b, (1u << 29) - 1, "h\xc3\xa9");
	put_number(&inner, 1, 7);
	put_message(&b, 6, &inner);
	protobuf w = over(&b);
	protobuf_field f = next(&w);
	assert_int_equal(f.number, 1);
	assert_int_equal(f.value, 300);
	assert_true(next(&w).value == UINT64_MAX);
	f = next(&w);
	assert_int_equal(f.type, PROTOBUF_FIXED32);
	assert_near(protobuf_float((uint32_t)f.value), 1.5, 0);
	f = next(&w);
	assert_int_equal(f.type, PROTOBUF_FIXED64);
	assert_true(f.value == eight);
	f = next(&w);
	assert_int_equal(f.number, (1u << 29) - 1);
	assert_ok(protobuf_text(&w, &f, "text", &mem, &text, &err), &err);
	assert_string_equal(text, "h\xc3\xa9");
	f = next(&w);
	protobuf in = protobuf_inside(&w, &f);
	assert_int_equal(next(&in).value, 7);
	bool more = true;
	assert_ok(protobuf_next(&in, &f, &more, &err), &err);
	assert_false(more);
	assert_ok(protobuf_next(&w, &f, &more, &err), &err);
	assert_false(more);
	berth_arena_free(&mem);
}

static void test_repeated(void **state)
{
	(void)state;
	bytes b = {0}, packed = {0};
	int64_t ints[3];
	double reals[2];
	size_t n = 0;
	berth_err err;
	float two[2] = {0.25f, -4};
	put_number(&b, 1, 5);
	put_varint(&packed, 1);
	put_varint(&packed, (uint64_t)-2);
	put_varint(&packed, 300);
	put_message(&b, 1, &packed);
	put_tag(&b, 2, 2);
	put_varint(&b, sizeof two);
	put_raw(&b, two, sizeof two);
	protobuf w = over(&b);
	protobuf_field f = next(&w);
	assert_ok(protobuf_varints(&w, &f, "ints", ints, 3, &n, &err), &err);
	f = next(&w);
	assert_ok(protobuf_varints(&w, &f, "ints", ints, 3, &n, &err), &err);
	assert_int_equal(n, 4); /* counted beyond the room, kept within it */
	assert_true(ints[0] == 5 && ints[1] == 1 && ints[2] == -2);
	f = next(&w);
	n = 0;
	assert_ok(protobuf_floats(&w, &f, "floats", reals, 2, &n, &err), &err);
	assert_int_equal(n, 2);
	assert_near(reals[0], 0.25, 0);
	assert_near(reals[1], -4, 0);
	n = 0;
	assert_ok(protobuf_doubles(&w, &f, "doubles", reals, 2, &n, &err), &err);
	assert_int_equal(n, 1);
}


static void test_errors(void **state)
{
	(void)state;
	static const struct { size_t n; const char *data, *part; } cases[] = {
		{1, "\x80", "t: byte 0: expected a varint"},
		{1, "\x08", "t: byte 1: expected a varint, found the end of the data"},
		{11, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",
		 "t: byte 1: expected a varint of at most 64 bits"},
		{12, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
		 "t: byte 1: expected a varint of at most 64 bits"},
		{3, "\x0d\x01\x02", "t: byte 1: expected 4 more bytes, found 2"},
		{2, "\x09\x01", "t: byte 1: expected 8 more bytes, found 1"},
		{3, "\x0a\x05x", "t: byte 1: field 1 of 5 bytes, but only 1 are left"},
		{11, "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "field 1 of 18446744073709551615 bytes"},
		{1, "\x0b", "t: byte 0: field 1 has wire type 3"},
		{1, "\x0c", "t: byte 0: field 1 has wire type 4"},
		{1, "\x0f", "t: byte 0: field 1 has wire type 7"},
		{2, "\x00\x00", "t: byte 0: field number 0"},
		{6, "\x80\x80\x80\x80\x10\x00", "t: byte 0: field number 536870912"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		protobuf w = {"t", (const unsigned char *)cases[i].data, 0, cases[i].n};
		protobuf_field f;
		berth_err err = {0};
		bool more;
		assert_int_equal(protobuf_next(&w, &f, &more, &err), BERTH_EFORMAT);
		assert_contains(err.msg, cases[i].part);
	}
}

static void test_wrong_kinds(void **state)
{
	(void)state;
	bytes b = {0};
	berth_arena mem = {0};
	berth_err err = {0};
	const char *text;
	double x[4];
	size_t n = 0;
	put_number(&b, 1, 5);
	put_text(&b, 2, "\xff");
	put_tag(&b, 3, 2);
	put_varint(&b, 3);
	put_raw(&b, "a\0b", 3);
	protobuf w = over(&b);
	protobuf_field f = next(&w);
	assert_int_equal(protobuf_text(&w, &f, "name of a node", &mem, &text, &err), BERTH_EFORMAT);
	assert_string_equal(
		err.msg,
		"t: byte 0: name of a node (field 1): expected a length-delimited value, found a varint");
	assert_int_equal(protobuf_floats(&w, &f, "floats", x, 4, &n, &err), BERTH_EFORMAT);
	f = next(&w);
	assert_int_equal(protobuf_text(&w, &f, "name of a node", &mem, &text, &err), BERTH_EFORMAT);
	assert_contains(err.msg, "t: byte 4: name of a node: expected UTF-8");
	f = next(&w);
	assert_int_equal(protobuf_text(&w, &f, "name of a node", &mem, &text, &err), BERTH_EFORMAT);
	assert_contains(err.msg, "without zero bytes");
	assert_int_equal(protobuf_floats(&w, &f, "floats", x, 4, &n, &err), BERTH_EFORMAT);
	assert_contains(err.msg, "3 bytes; expected a multiple of 4");
	berth_arena_free(&mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_repeated),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_wrong_kinds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
