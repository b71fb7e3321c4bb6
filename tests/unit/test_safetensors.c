/* Checkpoint files: round trip, the published layout, and every kind of damage. */
#include "file.h"
#include "safetensors.h"
#include "sha256.h"
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const uint8_t bytes_[] = {0, 1, 255};
static const float floats[] = {1.5f, -2, 0.25f, 3, 0, -0.0f};
static const int64_t longs[] = {INT64_MIN, -1, INT64_MAX, 7};
static const float one = 42;
static const safetensors_tensor tensors[] = {
	{"mask", SAFETENSORS_U8, 1, {3}, bytes_},
	{"w", SAFETENSORS_F32, 3, {1, 3, 2}, floats},
	{"none", SAFETENSORS_F32, 2, {0, 5}, floats},
	{"step", SAFETENSORS_I64, 1, {4}, longs},
	{"one", SAFETENSORS_F32, 0, {0}, &one},
};
static const safetensors_note notes[] = {
	{"dims", "{\"hidden\":5}"},
	{"x\"sha256", "\"sha256\":\"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\""},
	{"über", "naïve\n"},
};
#define FILE_OF(n, m, t, k) {.n_tensors = n, .n_notes = m, .tensor = t, .note = k}
static const safetensors_file sample = FILE_OF(5, 3, tensors, notes);

static void encode(const safetensors_file *f, berth_arena *mem, unsigned char **data, size_t *size)
{
	void *p;
	berth_err err;
	assert_ok(safetensors_encode(f, mem, &p, size, &err), &err);
	*data = p;
}

static void assert_sample(const safetensors_file *f)
{
	static const size_t width[] = {4, 8, 1};
	assert_int_equal(f->n_tensors, sample.n_tensors);
	assert_int_equal(f->n_notes, sample.n_notes);
	for (int32_t i = 0; i < sample.n_tensors; i++) {
		const safetensors_tensor *want = &tensors[i], *got = safetensors_find(f, want->name);
		assert_non_null(got);
		assert_int_equal(got->dtype, want->dtype);
		assert_int_equal(got->n_dims, want->n_dims);
		assert_memory_equal(got->shape, want->shape, sizeof want->shape);
		assert_memory_equal(got->data, want->data, safetensors_count(want) * width[want->dtype]);
	}
	for (int32_t i = 0; i < sample.n_notes; i++)
		assert_string_equal(safetensors_get_note(f, notes[i].key), notes[i].value);
	assert_null(safetensors_find(f, "absent"));
	assert_null(safetensors_get_note(f, "sha256"));
}

static void test_round_trip(void **state)
{
	(void)state;
	berth_arena mem = {0};
	berth_err err;
	unsigned char *data, *again;
	size_t size, size_again;
	safetensors_file f;
	encode(&sample, &mem, &data, &size);
	assert_ok(safetensors_decode("p", data, size, &mem, &f, &err), &err);
	assert_sample(&f);
	encode(&f, &mem, &again, &size_again); /* notes and tensors come in the order of the file */
	assert_int_equal(size, size_again);
	assert_memory_equal(data, again, size);
	berth_arena_free(&mem);
}

static void test_nothing_inside(void **state)
{
	(void)state;
	const safetensors_file empty = {0};
	berth_arena mem = {0};
	berth_err err;
	unsigned char *data;
	size_t size;
	safetensors_file f = sample;
	encode(&empty, &mem, &data, &size);
	assert_ok(safetensors_decode("p", data, size, &mem, &f, &err), &err);
	assert_int_equal(f.n_tensors + f.n_notes, 0);
	berth_arena_free(&mem);
}

/* The digest is that of the whole file with its 64 digits as '0'. */
static void test_digest(void **state)
{
	(void)state;
	static const char start[] = "{\"__metadata__\":{\"sha256\":\"";
	berth_arena mem = {0};
	unsigned char *data;
	size_t size;
	char hex[65], stored[64];
	encode(&sample, &mem, &data, &size);
	unsigned char *digits = data + 8 + sizeof start - 1;
	assert_memory_equal(data + 8, start, sizeof start - 1);
	memcpy(stored, digits, 64);
	memset(digits, '0', 64);
	berth_sha256_hex(data, size, hex);
	assert_memory_equal(hex, stored, 64);
	berth_arena_free(&mem);
}

static void test_files(void **state)
{
	(void)state;
	char path[] = "/tmp/berth-safetensors-XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	berth_arena mem = {0}, tmp = {0};
	berth_err err;
	safetensors_file f;
	char *data;
	size_t size;
	assert_ok(safetensors_write(path, &sample, &tmp, &err), &err);
	assert_ok(berth_file_read(BERTH_READS_POLICY, path, &mem, &data, &size, &err), &err);
	assert_ok(safetensors_decode(path, data, size, &mem, &f, &err), &err);
	assert_sample(&f);
	unlink(path);
	assert_int_equal(safetensors_write("/nonexistent/dir/x", &sample, &tmp, &err), BERTH_EIO);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

/* A reader that knows only the published layout sees the same. */
static void test_foreign_reader(void **state)
{
	(void)state;
	static const char want[] =
		"digest True aligned True\n"
		"note \"dims\" \"{\\\"hidden\\\":5}\"\n"
		"note \"x\\\"sha256\" "
	        "\"\\\"sha256\\\":"
	        "\\\"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\\\"\"\n"
		"note \"\\u00fcber\" \"na\\u00efve\\n\"\n"
		"step I64 [4] [-9223372036854775808, -1, 9223372036854775807, 7]\n"
		"w F32 [1, 3, 2] [1.5, -2.0, 0.25, 3.0, 0.0, -0.0]\n"
		"none F32 [0, 5] []\n"
		"one F32 [] [42.0]\n"
		"mask U8 [3] [0, 1, 255]\n";
	char path[] = "/tmp/berth-safetensors-XXXXXX", command[512], got[2048];
	berth_arena tmp = {0};
	berth_err err;
	if (system("python3 -c '' >/dev/null 2>&1") != 0)
		skip();
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	assert_ok(safetensors_write(path, &sample, &tmp, &err), &err);
	snprintf(command, sizeof command, "python3 '%s/tests/support/read_safetensors.py' %s", BERTH_SOURCE,
	         path);
	FILE *p = popen(command, "r");
	assert_non_null(p);
	size_t n = fread(got, 1, sizeof got - 1, p);
	got[n] = '\0';
	assert_int_equal(pclose(p), 0);
	assert_string_equal(got, want);
	unlink(path);
	berth_arena_free(&tmp);
}

/* ---- damage ---- */

static berth_status decode_once(const unsigned char *data, size_t size, berth_err *err)
{
	berth_arena mem = {0};
	safetensors_file f;
	unsigned char *tight = malloc(size ? size : 1); /* AddressSanitizer sees a read behind the end */
	assert_non_null(tight);
	memcpy(tight, data, size);
	berth_status st = safetensors_decode("p", tight, size, &mem, &f, err);
	free(tight);
	berth_arena_free(&mem);
	return st;
}

static void test_each_flipped_bit_is_found(void **state)
{
	(void)state;
	berth_arena mem = {0};
	berth_err err;
	unsigned char *data;
	size_t size;
	encode(&sample, &mem, &data, &size);
	for (size_t bit = 0; bit < 8 * size; bit++) {
		data[bit / 8] ^= (unsigned char)(1u << bit % 8);
		err.msg[0] = '\0';
		if (decode_once(data, size, &err) != BERTH_EFORMAT || strncmp(err.msg, "p: ", 3) != 0)
			fail_msg("bit %zu of byte %zu: %s", bit % 8, bit / 8, err.msg);
		data[bit / 8] ^= (unsigned char)(1u << bit % 8);
	}
	assert_ok(decode_once(data, size, &err), &err);
	berth_arena_free(&mem);
}

static void test_each_cut_is_found(void **state)
{
	(void)state;
	berth_arena mem = {0};
	berth_err err;
	unsigned char *data, *longer;
	size_t size;
	encode(&sample, &mem, &data, &size);
	for (size_t n = 0; n < size; n++)
		assert_int_equal(decode_once(data, n, &err), BERTH_EFORMAT);
	longer = berth_arena_alloc(&mem, size + 1, 1);
	memcpy(longer, data, size);
	assert_int_equal(decode_once(longer, size + 1, &err), BERTH_EFORMAT);
	berth_arena_free(&mem);
}

/* Bits flipped under a digest that fits: the reader stands on its own checks. */
static void test_sealed_damage(void **state)
{
	(void)state;
	berth_arena mem = {0};
	berth_err err;
	unsigned char *data, *copy;
	size_t size, refused = 0;
	encode(&sample, &mem, &data, &size);
	copy = berth_arena_alloc(&mem, size, 1);
	for (size_t bit = 0; bit < 8 * size; bit++) {
		memcpy(copy, data, size);
		copy[bit / 8] ^= (unsigned char)(1u << bit % 8);
		safetensors_seal(copy, size);
		berth_status st = decode_once(copy, size, &err);
		assert_true(st == BERTH_OK || st == BERTH_EFORMAT);
		refused += st == BERTH_EFORMAT;
	}
	assert_true(refused > size);
	berth_arena_free(&mem);
}

/* A file of this header and data, digest and all: # stands for 64 digits. */
static berth_status decode_text(const char *header, const char *data, berth_err *err)
{
	unsigned char file[1024];
	char text[900];
	const char *hash = strchr(header, '#');
	int n = hash ? snprintf(text, sizeof text, "%.*s%064d%s", (int)(hash - header), header, 0, hash + 1)
	             : snprintf(text, sizeof text, "%s", header);
	memset(file, 0, 8);
	file[0] = (unsigned char)n;
	file[1] = (unsigned char)(n >> 8);
	memcpy(file + 8, text, (size_t)n);
	memcpy(file + 8 + n, data, strlen(data));
	safetensors_seal(file, 8 + (size_t)n + strlen(data));
	return decode_once(file, 8 + (size_t)n + strlen(data), err);
}

#define META "\"__metadata__\":{\"sha256\":\"#\"}"

static void test_headers(void **state)
{
	(void)state;
	static const struct { const char *header, *data, *part;
	} cases[] = {
		{"{" META "}", "", NULL},
		{"  {" META "}", "", "no JSON header"},
		{"{ \"__metadata__\" : {\"sha256\" :\t\"#\"} } ", "", NULL},
		{"{" META ",\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]},"
	         "\"b\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]}}",
	         "xyz", NULL}, /* any order in the header */
		{"{}", "", "no \"sha256\""},
		{"{\"__metadata__\":{\"sha256\":\"12\"}}", "", "no \"sha256\""},
		{"{\"__metadata__\":{\"sha256\":\"#\",\"sha256\":"
	         "\"0000000000000000000000000000000000000000000000000000000000000000\"}}",
	         "", "no \"sha256\""},
		{"{\"x\":{\"sha256\":\"#\"}}", "", "/x: unknown key 'sha256'"},
		{"{\"sha256\":\"#\"}", "", "/sha256: expected an object"},
		{"{" META ",\"a\":1}", "", "/a: expected an object"},
		{"{" META ",}", "", "p:1:"},
		{"{\"__metadata__\":{\"sha256\":\"#\",\"n\":3}}", "", "/__metadata__/n: expected a string"},
		{"{" META ",\"__metadata__\":{}}", "", "'__metadata__' stands twice"},
		{"{" META ",\"a\":{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[0,2]}}", "xy",
	         "/a/dtype: dtype 'F16' is not read here"},
		{"{" META ",\"a\":{\"dtype\":\"U8\",\"shape\":[1]}}", "x", "'data_offsets' is missing"},
		{"{" META ",\"a\":{\"dtype\":\"U8\",\"shape\":[-1],\"data_offsets\":[0,1]}}", "x",
	         "/a/shape/0: expected a whole number"},
		{"{" META ",\"a\":{\"dtype\":\"U8\",\"shape\":[1.5],\"data_offsets\":[0,1]}}", "x",
	         "/a/shape/0: expected a whole number"},
		{"{" META ",\"a\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,1]}}",
	         "x", "more than 8 dimensions"},
		{"{" META ",\"a\":{\"dtype\":\"U8\",\"shape\":[4294967296,4294967296,4294967296],\"data_"
	                  "offsets\":[0,1]}}",
	         "x", "/a/shape: more elements"},
		{"{" META
	         ",\"a\":{\"dtype\":\"U8\",\"shape\":[4294967296,4294967296,0],\"data_offsets\":[0,0]}}",
	         "", NULL},
		{"{" META ",\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1,2]}}", "x",
	         "expected two offsets"},
		{"{" META ",\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}", "x",
	         "/a/shape: more elements"},
		{"{" META ",\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,2]}}", "x",
	         "0 to 2 is no range of the 1 bytes"},
		{"{" META ",\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,0]}}", "x",
	         "1 to 0 is no range"},
		{"{" META ",\"a\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[0,4]}}", "wxyz",
	         "4 bytes of data for 1 elements of 8"},
		{"{" META ",\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
	         "\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}",
	         "x", "tensor 'b' begins at 0; expected 1"},
		{"{" META ",\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}", "xy",
	         "tensor 'a' begins at 1; expected 0"},
		{"{" META ",\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", "xy",
	         "tensors end at 1, but there are 2"},
		{"{" META ",\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
	         "\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}",
	         "xy", "tensor 'a' stands twice"},
		{"{" META ",\"\xff\":{}}", "", "not UTF-8"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		berth_err err = {.msg = ""};
		berth_status st = decode_text(cases[i].header, cases[i].data, &err);
		if (st != (cases[i].part ? BERTH_EFORMAT : BERTH_OK))
			fail_msg("case %zu gives %d: %s", i, (int)st, err.msg);
		if (cases[i].part)
			assert_contains(err.msg, cases[i].part);
	}
}

/* A header of many tensors is read member by member, and long lists in it element by element: blanks make no
 * difference. */
static void test_long_lists(void **state)
{
	(void)state;
	enum { ROOM = 300000, BLANKS = 70000, MANY = 1001 };
	unsigned char *file = calloc(ROOM, 1);
	assert_non_null(file);
	char *text = (char *)file + 8;
	int n = snprintf(text, ROOM - 8,
	                 "{\"__metadata__\":{\"sha256\":\"%064d\"},\"a\":{\"dtype\":\"U8\",\"shape\":[%*d],"
	                 "\"data_offsets\":[0,%*d]}",
	                 0, BLANKS, 1, BLANKS, 1);
	for (int i = 0; i < MANY; i++)
		n += snprintf(text + n, (size_t)(ROOM - 8 - n),
		              ",\"t%d\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[1,1]}", i);
	text[n++] = '}';
	for (int i = 0; i < 4; i++)
		file[i] = (unsigned char)(n >> (8 * i));
	text[n++] = 'x';
	assert_true(safetensors_seal(file, 8 + (size_t)n));
	berth_arena mem = {0};
	berth_err err;
	safetensors_file f;
	assert_ok(safetensors_decode("p", file, 8 + (size_t)n, &mem, &f, &err), &err);
	assert_int_equal(f.n_tensors, MANY + 1);
	const safetensors_tensor *a = safetensors_find(&f, "a");
	assert_int_equal(safetensors_count(a), 1);
	assert_int_equal(*(const unsigned char *)a->data, 'x');
	berth_arena_free(&mem);
	free(file);
}

static void test_writer_refuses(void **state)
{
	(void)state;
	static const safetensors_tensor twice[] = {{"a", SAFETENSORS_U8, 1, {0}, NULL},
	                                           {"a", SAFETENSORS_U8, 1, {0}, NULL}},
					meta = {"__metadata__", SAFETENSORS_U8, 1, {0}, NULL},
					minus = {"a", SAFETENSORS_U8, 1, {-1}, NULL},
					deep = {"a", SAFETENSORS_U8, 9, {0}, NULL},
					garbled = {"\xc3", SAFETENSORS_U8, 1, {0}, NULL};
	static const safetensors_note reserved = {"sha256", "x"}, broken = {"k", "\xff"},
				      pair[] = {{"k", "1"}, {"k", "2"}};
	const struct { safetensors_file f; const char *part; } cases[] = {
		{FILE_OF(2, 0, twice, NULL), "tensor 'a' stands twice"},
		{FILE_OF(1, 0, &meta, NULL), "tensor '__metadata__' is reserved"},
		{FILE_OF(1, 0, &minus, NULL), "dimension 0 of tensor 'a' is negative"},
		{FILE_OF(1, 0, &deep, NULL), "9 dimensions"},
		{FILE_OF(1, 0, &garbled, NULL), "not UTF-8"},
		{FILE_OF(0, 1, NULL, &reserved), "'sha256' is reserved"},
		{FILE_OF(0, 1, NULL, &broken), "value of metadata key 'k' is not UTF-8"},
		{FILE_OF(0, 2, NULL, pair), "metadata key 'k' stands twice"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		berth_arena mem = {0};
		berth_err err;
		void *data;
		size_t size;
		assert_int_equal(safetensors_encode(&cases[i].f, &mem, &data, &size, &err), BERTH_EINVAL);
		assert_contains(err.msg, cases[i].part);
		berth_arena_free(&mem);
	}
}

/* The data of the sample, in one place for all. */
static const void *get(void *ctx, int32_t i)
{
	static unsigned char one_place[1 << 12];
	static const size_t bytes[] = {[SAFETENSORS_F32] = 4, [SAFETENSORS_I64] = 8, [SAFETENSORS_U8] = 1};
	size_t size = safetensors_count(&tensors[i]) * bytes[tensors[i].dtype];
	assert_true(size <= sizeof one_place);
	++*(int *)ctx;
	memset(one_place, 0xee, sizeof one_place);
	if (size)
		memcpy(one_place, tensors[i].data, size);
	return one_place;
}

/* Data that are asked for give the same bytes, and a file has those of memory. */
static void test_asked_for(void **state)
{
	(void)state;
	berth_arena mem = {0};
	berth_err err;
	unsigned char *whole, *asked;
	char path[] = "/tmp/berth-safetensors-XXXXXX", *read;
	size_t size, asked_size, read_size;
	int calls = 0, fd = mkstemp(path);
	safetensors_tensor bare[5];
	for (int i = 0; i < 5; i++) {
		bare[i] = tensors[i];
		bare[i].data = NULL;
	}
	const safetensors_file f = {5, 3, bare, notes, get, &calls};
	assert_true(fd >= 0 && close(fd) == 0);
	encode(&sample, &mem, &whole, &size);
	encode(&f, &mem, &asked, &asked_size);
	assert_true(calls > 5 && asked_size == size && memcmp(asked, whole, size) == 0);
	assert_ok(safetensors_write(path, &f, &mem, &err), &err);
	assert_ok(berth_file_read(BERTH_READS_POLICY, path, &mem, &read, &read_size, &err), &err);
	assert_true(read_size == size && memcmp(read, whole, size) == 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(safetensors_write("/nowhere/at/all", &f, &mem, &err), BERTH_EIO);
	berth_arena_free(&mem);
}

static void test_each_allocation_may_fail(void **state)
{
	(void)state;
	berth_arena good = {0};
	unsigned char *file;
	size_t file_size;
	berth_status st = BERTH_ENOMEM;
	encode(&sample, &good, &file, &file_size);
	/* each arena takes memory in large steps: a large tensor and long notes make several */
	static float large[30000];
	const safetensors_tensor big = {"big", SAFETENSORS_F32, 1, {30000}, large};
	const safetensors_file f = FILE_OF(1, 3, &big, notes);
	long k;
	for (k = 0; k < 100 && st != BERTH_OK; k++) {
		failing_allocator fa;
		berth_arena mem;
		berth_err err;
		void *data;
		size_t size;
		safetensors_file out = sample;
		failing_allocator_init(&fa, k);
		berth_arena_init(&mem, &fa.hook);
		st = safetensors_encode(&f, &mem, &data, &size, &err);
		if (st == BERTH_OK)
			st = safetensors_decode("p", data, size, &mem, &out, &err);
		assert_true(st == BERTH_OK || (st == BERTH_ENOMEM && out.tensor == sample.tensor));
		berth_arena_free(&mem);
		assert_int_equal(fa.live, 0);
	}
	assert_true(st == BERTH_OK && k > 3);
	berth_arena_free(&good);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),         cmocka_unit_test(test_nothing_inside),
		cmocka_unit_test(test_digest),             cmocka_unit_test(test_files),
		cmocka_unit_test(test_foreign_reader),     cmocka_unit_test(test_each_flipped_bit_is_found),
		cmocka_unit_test(test_each_cut_is_found),  cmocka_unit_test(test_sealed_damage),
		cmocka_unit_test(test_headers),
		cmocka_unit_test(test_long_lists),            cmocka_unit_test(test_writer_refuses),
		cmocka_unit_test(test_asked_for),
		cmocka_unit_test(test_each_allocation_may_fail),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
