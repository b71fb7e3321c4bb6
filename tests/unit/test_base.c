/* The base: published vectors of PCG32 and SHA-256, text, JSON writing, arenas, files, threads, processes. */
#define _DEFAULT_SOURCE /* syscall */

#include "apart.h"
#include "file.h"
#include "json.h"
#include "leftovers.h"
#include "rng.h"
#include "sha256.h"
#include "sort.h"
#include "support.h"
#include "text.h"
#include "threads.h"
#include "units.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Output of the reference implementation's demonstration: seed 42, stream 54. */
static void test_pcg32_vectors(void **state)
{
	(void)state;
	static const uint32_t expected[] = {0xa15c02b7, 0x7b47f409, 0xba1d3330,
	                                    0x83d2f293, 0xbfa4784b, 0xcbed606e};
	berth_rng r = berth_rng_seed(42, 54);
	for (int i = 0; i < 6; i++)
		assert_int_equal(berth_rng_next(&r), expected[i]);
}

static void test_random_distributions(void **state)
{
	(void)state;
	berth_rng r = berth_rng_seed(1, 2);
	int count[7] = {0};
	double sum = 0, squares = 0;
	for (int i = 0; i < 70000; i++)
		count[berth_rng_below(&r, 7)]++;
	for (int i = 0; i < 7; i++)
		assert_in_range(count[i], 9600, 10400); /* 4 sigma */
	for (int i = 0; i < 100000; i++) {
		double u = berth_rng_unit(&r), z = berth_rng_normal(&r);
		assert_true(u >= 0 && u < 1);
		sum += z;
		squares += z * z;
	}
	assert_near(sum / 1e5, 0, 0.015);
	assert_near(squares / 1e5, 1, 0.02);
}

static void test_sha256_vectors(void **state)
{
	(void)state;
	char hex[65];
	berth_sha256_hex("abc", 3, hex); /* FIPS 180-4, appendix */
	assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	berth_sha256_hex("", 0, hex);
	assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

static void test_numbers(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		double x;
		const char *rest;
	} cases[] = {
		{"12", 12, ""},        {"-1.5e3x", -1500, "x"}, {"+.5", 0.5, ""},    {"5.", 5, ""},
		{"0x10", 0, "x10"},    {"1e", 1, "e"},          {"1e+", 1, "e+"},    {"2E-1 ", 0.2, " "},
		{"1e999", INFINITY, ""}, {"7GB/s", 7, "GB/s"},  {"007", 7, ""},      {"0x1p3", 0, "x1p3"},
	};
	static const char *const none[] = {"",  "inf", "nan", "INFINITY", " 5", ".",
	                                   "-", "e5",  "x10", "\t1",      "-.e1"};
	const char *rest;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		double x = berth_text_number(cases[i].text, &rest);
		assert_true(x == cases[i].x);
		assert_string_equal(rest, cases[i].rest);
	}
	for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
		assert_true(isnan(berth_text_number(none[i], &rest)));
		assert_ptr_equal(rest, none[i]);
	}
	char zeros[1000];
	memset(zeros, '0', sizeof zeros - 1);
	zeros[sizeof zeros - 1] = '\0';
	assert_true(isnan(berth_text_number(zeros, &rest)));
}

static void test_whole_number(void **state)
{
	(void)state;
	static const char *const none[] = {"", "-5", "+5", " 5", "5 ", "12abc", "0x10", "1.0", "1e3", "\xb5"};
	uint64_t x = 77;
	for (size_t i = 0; i < sizeof none / sizeof *none; i++)
		assert_false(berth_text_whole(none[i], strlen(none[i]), UINT64_MAX, &x));
	assert_false(berth_text_whole("1025", 4, 1024, &x));
	assert_false(berth_text_whole("18446744073709551616", 20, UINT64_MAX, &x));
	assert_false(berth_text_whole("5", 1, 4, &x));
	assert_int_equal(x, 77);
	const char *end;
	assert_true(berth_text_digits("12.x", 12, &end) == 12 && *end == '.');
	assert_true(berth_text_digits("12", 11, NULL) == -1 && berth_text_digits("", 9, &end) == -1 && !*end);
	assert_true(berth_text_digits("-5", 9, NULL) == -1 && berth_text_digits("+5", 9, NULL) == -1);
	assert_true(berth_text_digits(" 5", 9, NULL) == -1);
	assert_true(berth_text_digits("4294967297", INT32_MAX, NULL) == -1);
	static const char *const no_part[] = {"a-+0001-of-00003", "a-    1-of-00003", "a-00004-of-00003",
	                                      "a-00000-of-00003", "a-00001-of-0003",  "0001-of-00003",
	                                      "a-00001_of-00003", "a-1e001-of-00003"};
	int32_t part = 0, of = 0;
	for (size_t i = 0; i < sizeof no_part / sizeof *no_part; i++)
		assert_false(berth_text_part(no_part[i], strlen(no_part[i]), &part, &of));
	assert_true(berth_text_part("a-00002-of-00003.x", 16, &part, &of) && part == 2 && of == 3);
	assert_true(berth_text_whole("0", 1, 0, &x) && x == 0);
	assert_true(berth_text_whole("1024x", 4, 1024, &x) && x == 1024);
	assert_true(berth_text_whole("18446744073709551615", 20, UINT64_MAX, &x) && x == UINT64_MAX);
}

static void test_units(void **state)
{
	(void)state;
	static const struct {
		berth_quantity q;
		const char *text;
		double factor;
		const char *rest;
	} cases[] = {
		{BERTH_BYTES, "GB", 1e9, ""},
		{BERTH_BYTES, "GiB,", 0x1p30, ","},
		{BERTH_BYTES, "G", 0, "G"},
		{BERTH_BYTES, "GB/s", 0, "GB/s"},
		{BERTH_BYTES_PER_S, "GB/s", 1e9, ""},
		{BERTH_SECONDS, "us", 1e-6, ""},
		{BERTH_SECONDS, "", 1, ""},
		{BERTH_PLAIN, "s", 0, "s"},
		{BERTH_PLAIN, ",", 1, ","},
		{BERTH_FLOPS_PER_S, "TFLOP/s", 1e12, ""},
		{BERTH_JOULES_PER_BYTE, "pJ/B", 1e-12, ""},
	};
	char buf[96];
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *rest;
		assert_near(berth_unit(cases[i].q, cases[i].text, &rest), cases[i].factor, 0);
		assert_string_equal(rest, cases[i].rest);
	}
	assert_string_equal(berth_unit_names(BERTH_WATTS, buf), "W, mW, kW");
	for (int q = 0; q < BERTH_N_QUANTITIES; q++)
		assert_true(strlen(berth_unit_names((berth_quantity)q, buf)) < sizeof buf - 1);
}

/* Numbers with units, as people write them, and as they are told. */
static void test_unit_numbers(void **state)
{
	(void)state;
	static const struct {
		berth_quantity q;
		const char *text;
		double value;
		const char *rest, *told;
	} cases[] = {
		{BERTH_BYTES, "16GB", 16e9, "", "16 GB"},
		{BERTH_BYTES, "16 GB", 16e9, "", "16 GB"},
		{BERTH_BYTES, "1.5GiB,", 1.5 * 0x1p30, ",", "1.61061 GB"},
		{BERTH_BYTES, "24", 24, "", "24 B"},
		{BERTH_BYTES, "24 ", 24, " ", "24 B"},
		{BERTH_BYTES, "16Gb", NAN, "Gb", NULL},
		{BERTH_BYTES, "GB", NAN, "GB", NULL},
		{BERTH_BYTES_PER_S, "10Gbit/s", 1.25e9, "", "1.25 GB/s"},
		{BERTH_SECONDS, "10min", 600, "", "600 s"},
		{BERTH_SECONDS, "7us", 7 * 1e-6, "", "7 us"},
		{BERTH_SECONDS, "7 \302\265s", 7 * 1e-6, "", "7 us"},
		{BERTH_SECONDS, "0.5ns", 0.5 * 1e-9, "", "0.5 ns"},
		{BERTH_FLOPS_PER_S, "82.6TFLOPS", 82.6e12, "", "82.6 TFLOP/s"},
		{BERTH_COUNT, "10K", 10000, "", "10 K"},
		{BERTH_TOKENS, "8k", 8192, "", "8192"},
		{BERTH_PLAIN, "8k", NAN, "k", NULL},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *rest;
		char buf[64];
		double x = berth_unit_number(cases[i].q, cases[i].text, &rest);
		assert_true(isnan(cases[i].value) ? isnan(x) : x == cases[i].value);
		assert_string_equal(rest, cases[i].rest);
		if (cases[i].told)
			assert_string_equal(berth_unit_text(cases[i].q, x, buf), cases[i].told);
	}
}

static void test_text(void **state)
{
	(void)state;
	static const char *const list[] = {"flops", "macs", "read_bytes"};
	char buf[32], hint[96];
	assert_int_equal(berth_text_distance("kitten", "sitting"), 3);
	assert_string_equal(berth_text_nearest("flop", list, 3), "flops");
	assert_null(berth_text_nearest("zzzzzz", list, 3));
	assert_string_equal(berth_text_nearest("red_byt", list, 3), "read_bytes");
	assert_null(berth_text_nearest("read_bitxyz", list, 3)); /* four edits away */
	static const char *const longer[] = {"a10", "a100-sxm"};
	assert_string_equal(berth_text_nearest("a100", longer, 2), "a100-sxm");
	assert_string_equal(berth_text_suggest(hint, sizeof hint, "macc", list, 3),
	                    " (did you mean 'macs'?)");
	berth_err err;
	int32_t at = -1;
	assert_int_equal(berth_text_find(list, 3, "macs", "key", NULL, &at, &err), BERTH_OK);
	assert_int_equal(at, 1);
	assert_int_equal(berth_text_find(list, 3, "flop", "key", NULL, &at, &err), BERTH_EINVAL);
	assert_string_equal(err.msg,
	                    "unknown key 'flop' (did you mean 'flops'?); known: flops, macs, read_bytes");
	assert_int_equal(berth_text_find(list, 3, "zzzzzz", "key", "; see there", &at, NULL), BERTH_EINVAL);
	assert_int_equal(berth_text_find(list, 3, "zzzzzz", "key", "; see there", &at, &err), BERTH_EINVAL);
	assert_string_equal(err.msg, "unknown key 'zzzzzz'; see there");
	assert_int_equal(at, 1); /* untouched by failures */
	char exact[64];
	assert_string_equal(berth_text_bytes_exact(exact, 1023), "1023 bytes");
	assert_string_equal(berth_text_bytes_exact(exact, 10000000), "9.54 MiB (10000000 bytes)");
	static const struct { double x; const char *text; } numbers[] = {
		{0, "0"}, {-0.0, "0"}, {1e15, "1000000000000000"}, {0.1, "0.1"},
		{1.0 / 3, "0.3333333333333333"}, {1e300, "1e+300"}, {-2.5, "-2.5"},
		{9007199254740992.0, "9007199254740992"},
	};
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		assert_string_equal(berth_text_double(buf, numbers[i].x), numbers[i].text);
	berth_rng r = berth_rng_seed(3, 3);
	for (int i = 0; i < 20000; i++) { /* whatever the bits, the text reads back */
		uint64_t bits = (uint64_t)berth_rng_next(&r) << 32 | berth_rng_next(&r);
		double x;
		memcpy(&x, &bits, sizeof x);
		if (isfinite(x))
			assert_true(strtod(berth_text_double(buf, x), NULL) == x);
	}
	assert_string_equal(berth_text_seconds(buf, 1.25e-3), "1.25 ms");
	assert_string_equal(berth_text_seconds(buf, 0.9999), "1.00 s");
	assert_string_equal(berth_text_bytes(buf, 3.5 * 1024 * 1024), "3.50 MiB");
	assert_string_equal(berth_text_count(buf, 4.089e9), "4.09 G");
	assert_true(berth_text_is_utf8("a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", 10));
	assert_false(berth_text_is_utf8("\xc0\x80", 2));      /* overlong */
	assert_false(berth_text_is_utf8("\xed\xa0\x80", 3));  /* surrogate */
	assert_false(berth_text_is_utf8("\xe2\x82", 2));      /* cut */
}

static void test_strmap(void **state)
{
	(void)state;
	berth_arena mem = {0};
	berth_strmap m;
	int32_t found;
	berth_strmap_init(&m, &mem);
	assert_int_equal(berth_strmap_get(&m, "x"), -1);
	for (int i = 0; i < 5000; i++) {
		char *key = berth_arena_printf(&mem, "key%d", i);
		assert_int_equal(berth_strmap_add(&m, key, i, &found, NULL), BERTH_OK);
		assert_int_equal(found, i);
	}
	assert_int_equal(berth_strmap_add(&m, "key17", 9, &found, NULL), BERTH_OK);
	assert_int_equal(found, 17);
	for (int i = 0; i < 5000; i++) {
		char key[16];
		snprintf(key, sizeof key, "key%d", i);
		assert_int_equal(berth_strmap_get(&m, key), i);
	}
	berth_arena_free(&mem);
}

static void test_json_writer(void **state)
{
	(void)state;
	berth_arena mem = {0};
	berth_json_out w;
	const char *text;
	size_t len;
	berth_json_out_init(&w, &mem, false);
	berth_json_open(&w, NULL, '{');
	berth_json_put_string(&w, "s\"", "a\\\n\x01\x7f");
	berth_json_put_number(&w, "n", NAN);
	berth_json_put_ns(&w, "t", 1234567891);
	berth_json_open(&w, "l", '[');
	berth_json_put_int(&w, NULL, INT64_MIN);
	berth_json_put_bool(&w, NULL, true);
	berth_json_close(&w, ']');
	berth_json_open(&w, "e", '{');
	berth_json_close(&w, '}');
	berth_json_close(&w, '}');
	assert_int_equal(berth_json_done(&w, &text, &len, NULL), BERTH_OK);
	assert_string_equal(text, "{\"s\\\"\":\"a\\\\\\n\\u0001\\u007f\",\"n\":null,\"t\":1.234567891,\"l\":["
	                          "-9223372036854775808,true],\"e\":{}}");
	assert_int_equal(len, strlen(text));
	berth_arena_free(&mem);
}

/* Where a document goes that is told piece by piece; after n_left pieces that fails. */
typedef struct pieces {
	char text[400];
	size_t len;
	int n, n_left;
} pieces;

static int take_piece(void *ctx, const char *data, size_t n)
{
	pieces *p = ctx;
	assert_true(n > 0 && p->len + n <= sizeof p->text);
	if (p->n_left-- == 0) {
		errno = ENOSPC;
		return -1;
	}
	memcpy(p->text + p->len, data, n);
	p->len += n;
	p->n++;
	return 0;
}

/* Large pieces need just their room, and that of what was before them. */
static void test_strbuf(void **state)
{
	enum { PIECE = 5 << 20 };
	berth_arena mem = {0};
	berth_strbuf b = {.mem = &mem};
	const char *piece = berth_arena_alloc(&mem, PIECE, 1), *text;
	size_t n, before = berth_arena_size(&mem);
	(void)state;
	for (int i = 0; i < 2; i++)
		berth_strbuf_add(&b, piece, PIECE);
	assert_int_equal(berth_strbuf_done(&b, &text, &n, NULL), BERTH_OK);
	assert_int_equal(n, 2 * PIECE);
	assert_int_equal(text[n], 0);
	assert_true(berth_arena_size(&mem) - before < 3 * PIECE + (1 << 20));
	berth_arena_free(&mem);
}

static void tell_document(berth_json_out *w)
{
	berth_json_open(w, NULL, '{');
	berth_json_put_string(w, "plain", "of more letters than the room that there is at first");
	berth_json_put_string(w, "k\n", "tab\there \"quoted\" \\ \xe2\x80\xae and caf\xc3\xa9");
	berth_json_open(w, "flat", '[');
	berth_json_flat(w, true);
	for (int i = 0; i < 12; i++)
		berth_json_put_int(w, NULL, i);
	berth_json_close(w, ']');
	berth_json_flat(w, false);
	berth_json_open(w, "deep", '[');
	berth_json_open(w, NULL, '{');
	berth_json_close(w, '}');
	berth_json_put_null(w, NULL);
	berth_json_close(w, ']');
	berth_json_close(w, '}');
}

static int tell_pieces(pieces *p, size_t room, bool pretty, berth_arena *mem)
{
	berth_json_out w;
	berth_json_out_init(&w, mem, pretty);
	berth_json_out_reserve(&w, room);
	berth_json_out_to(&w, take_piece, p);
	tell_document(&w);
	return berth_json_end(&w);
}

/* Whatever the room is, the pieces are the text; what the sink fails of is told, and memory. */
static void test_json_pieces(void **state)
{
	(void)state;
	berth_arena mem = {0};
	for (int pretty = 0; pretty < 2; pretty++) {
		berth_json_out w;
		const char *text;
		size_t len;
		berth_json_out_init(&w, &mem, pretty);
		tell_document(&w);
		assert_int_equal(berth_json_done(&w, &text, &len, NULL), BERTH_OK);
		for (size_t room = 1; room <= len + 2; room++) {
			pieces p = {.n_left = -1};
			assert_int_equal(tell_pieces(&p, room, pretty, &mem), 0);
			assert_int_equal(p.len, len);
			assert_memory_equal(p.text, text, len);
			assert_true(room < len ? p.n > 1 : p.n == 1);
		}
		for (int k = 0; k < 3; k++) {
			pieces p = {.n_left = k};
			errno = 0;
			assert_int_equal(tell_pieces(&p, 40, pretty, &mem), -1);
			assert_int_equal(errno, ENOSPC);
			assert_int_equal(p.n_left, -1); /* it is not asked again */
		}
	}
	failing_allocator f;
	failing_allocator_init(&f, 0);
	berth_arena none;
	berth_arena_init(&none, &f.hook);
	pieces p = {.n_left = -1};
	assert_int_equal(tell_pieces(&p, 40, false, &none), -1);
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(p.n, 0);
	berth_arena_free(&mem);
}

static void test_arena(void **state)
{
	(void)state;
	failing_allocator f;
	berth_arena a;
	failing_allocator_init(&f, 1000);
	f.hook.each = false;
	berth_arena_init(&a, &f.hook);
	assert_null(berth_arena_alloc(&a, SIZE_MAX / 2, 3)); /* the product overflows */
	char *first = berth_arena_alloc(&a, 100, 1);
	assert_int_equal((uintptr_t)first % 64, 0);
	berth_arena_mark mark = berth_arena_get_mark(&a);
	for (int i = 0; i < 1000; i++) {
		unsigned char *p = berth_arena_alloc(&a, 1000, 1);
		for (int k = 0; k < 1000; k++)
			assert_int_equal(p[k], 0);
		memset(p, 0xff, 1000);
	}
	assert_true(berth_arena_size(&a) >= 1000000);
	berth_arena_reset(&a, mark);
	unsigned char *again = berth_arena_alloc(&a, 500, 1);
	for (int k = 0; k < 500; k++)
		assert_int_equal(again[k], 0);
	berth_arena_free(&a);
	assert_int_equal(f.live, 0);
}

/* A call for each block, and what fails is nothing but that block. */
static void test_arena_of_single_blocks(void **state)
{
	(void)state;
	failing_allocator f;
	berth_arena a;
	failing_allocator_init(&f, 3);
	berth_arena_init(&a, &f.hook);
	char *one = berth_arena_alloc(&a, 1, 1), *text = berth_arena_strdup(&a, "text");
	assert_non_null(one);
	assert_string_equal(text, "text");
	assert_int_equal(f.calls, 2);
	assert_string_equal(berth_arena_printf(&a, "%d", 7), "7");
	assert_null(berth_arena_alloc(&a, 1, 1));
	assert_null(berth_arena_strdup(&a, ""));
	assert_null(berth_arena_printf(&a, "%d", 7));
	assert_int_equal(f.calls, 6);
	assert_int_equal(f.live, 3);
	assert_string_equal(text, "text");
	berth_arena_free(&a);
	assert_int_equal(f.live, 0);
}

/* The names that writing a file may take are beside what a link leads to. */
static void test_parts(void **state)
{
	(void)state;
	char dir[] = "/tmp/berth-base-XXXXXX", path[64], link[64], name[128], expected[128], longest[4200];
	berth_err err;
	int k = 0;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/f", dir);
	snprintf(link, sizeof link, "%s/l", dir);
	assert_int_equal(symlink("f", link), 0);
	assert_true(berth_file_part(link, 0, name, sizeof name)); /* it leads nowhere yet */
	snprintf(expected, sizeof expected, "%s.part-0", link);
	assert_string_equal(name, expected);
	assert_ok(berth_file_write(path, "x", 1, &err), &err);
	for (; berth_file_part(link, k, name, sizeof name); k++) {
		snprintf(expected, sizeof expected, "%s.part-%d", path, k);
		assert_string_equal(name, expected);
	}
	assert_int_equal(k, 8);
	memset(longest, 'x', sizeof longest);
	longest[sizeof longest - 1] = '\0';
	assert_false(berth_file_part(longest, 0, name, sizeof name));
	unlink(link);
	unlink(path);
	rmdir(dir);
}

static int tell_half(void *ctx, int fd)
{
	const int *why = ctx;
	assert_int_equal(berth_file_write_all(fd, "half", 4), 0);
	errno = *why;
	return *why ? -1 : 0;
}

/* What a teller fails of is told, and the old file stays. */
static void test_told(void **state)
{
	(void)state;
	char dir[] = "/tmp/berth-base-XXXXXX", path[64], *data;
	berth_arena mem = {0};
	berth_err err;
	size_t n;
	static const struct { int why; berth_status st; } ends[] = {
		{ENOSPC, BERTH_EIO}, {ENOMEM, BERTH_ENOMEM}, {0, BERTH_OK}};
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/f", dir);
	assert_ok(berth_file_write(path, "old", 3, &err), &err);
	for (size_t i = 0; i < 6; i++) {
		int why = ends[i % 3].why;
		assert_int_equal(berth_file_write_told(path, tell_half, &why, i < 3, &err), ends[i % 3].st);
		assert_ok(berth_file_read(BERTH_READS_MODEL, path, &mem, &data, &n, &err), &err);
		assert_string_equal(data, i < 2 ? "old" : "half");
	}
	berth_arena_free(&mem);
	unlink(path);
	assert_int_equal(rmdir(dir), 0);
}

static void test_files(void **state)
{
	(void)state;
	char dir[] = "/tmp/berth-base-XXXXXX", path[64], *data;
	berth_arena mem = {0};
	berth_err err;
	size_t n;
	struct stat st;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/f", dir);
	assert_int_equal(berth_file_read(BERTH_READS_MODEL, path, &mem, &data, &n, &err), BERTH_EIO);
	assert_contains(err.msg, "cannot open");
	assert_int_equal(berth_file_read(BERTH_READS_MODEL, dir, &mem, &data, &n, &err), BERTH_EIO);
	assert_contains(err.msg, "it is a directory");
	assert_ok(berth_file_write(path, "one", 3, &err), &err);
	assert_int_equal(chmod(path, 0640), 0);
	assert_ok(berth_file_write(path, "second", 6, &err), &err);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640); /* kept */
	assert_ok(berth_file_read(BERTH_READS_MODEL, path, &mem, &data, &n, &err), &err);
	assert_string_equal(data, "second");
	assert_ok(berth_file_writable(path, &err), &err);
	assert_int_equal(berth_file_writable(dir, &err), BERTH_EIO);
	assert_int_equal(berth_file_writable("/no/such/dir/f", &err), BERTH_EIO);
	assert_int_equal(berth_file_write("/no/such/dir/f", "x", 1, &err), BERTH_EIO);
	unlink(path);
	assert_int_equal(symlink("/no/such/dir/f", path), 0);
	assert_int_equal(berth_file_writable(path, &err), BERTH_EIO);
	assert_contains(err.msg, "leads nowhere");
	unlink(path);
	rmdir(dir);
	berth_arena_free(&mem);
}

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void assert_holds(const char *path, const char *text)
{
	berth_arena mem = {0};
	berth_err err;
	char *data;
	size_t n;
	assert_ok(berth_file_read(BERTH_READS_MODEL, path, &mem, &data, &n, &err), &err);
	assert_string_equal(data, text);
	berth_arena_free(&mem);
}

/* What a killed writer leaves goes with the next one. What somebody writes now stays, and what is no file of
 * ours is not touched. */
static void test_parts_of_files(void **state)
{
	(void)state;
	char dir[] = "/tmp/berth-base-XXXXXX", path[64], part[2][80], other[64];
	berth_err err;
	struct stat st;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/f", dir);
	snprintf(other, sizeof other, "%s/other", dir);
	for (int k = 0; k < 2; k++)
		snprintf(part[k], sizeof part[k], "%s.part-%d", path, k);
	put(part[0], "longer than what comes");
	put(part[1], "torn");
	assert_ok(berth_file_write(path, "one", 3, &err), &err);
	assert_holds(path, "one");
	assert_true(stat(part[0], &st) != 0 && stat(part[1], &st) != 0);

	int fd = berth_file_hold(part[0], 0600);
	assert_true(fd >= 0);
	assert_int_equal(berth_file_hold(part[0], 0600), -1);
	assert_int_equal(errno, EWOULDBLOCK);
	assert_int_equal(write(fd, "mine", 4), 4);
	assert_ok(berth_file_write(path, "two", 3, &err), &err);
	assert_holds(path, "two");
	assert_holds(part[0], "mine");
	close(fd);
	assert_ok(berth_file_write(path, "three", 5, &err), &err);
	assert_true(stat(part[0], &st) != 0);

	put(other, "other");
	assert_int_equal(symlink(other, part[0]), 0);
	assert_int_equal(link(other, part[1]), 0);
	assert_ok(berth_file_write(path, "four", 4, &err), &err);
	assert_holds(path, "four");
	assert_holds(other, "other");
	assert_true(lstat(part[0], &st) == 0 && stat(part[1], &st) == 0);
	unlink(part[0]);
	assert_int_equal(mkfifo(part[0], 0600), 0);
	assert_ok(berth_file_write(path, "five", 4, &err), &err);
	assert_holds(path, "five");
	unlink(part[0]);
	unlink(part[1]);
	unlink(other);
	unlink(path);
	assert_int_equal(rmdir(dir), 0);
}

/* ---- the library's flock, umask and pause come through these ---- */

static const char *rival_path; /* somebody else has it just before the next flock */
static int rival_fd, n_umask;
static const char *late; /* a file that is to be gone when a thread stands still */

int flock(int fd, int how)
{
	if (rival_path) {
		rival_fd = open(rival_path, O_WRONLY | O_CLOEXEC);
		assert_int_equal(syscall(SYS_flock, rival_fd, LOCK_EX | LOCK_NB), 0);
		rival_path = NULL;
	}
	return (int)syscall(SYS_flock, fd, how);
}

mode_t umask(mode_t mask)
{
	n_umask++;
	return (mode_t)syscall(SYS_umask, mask);
}

int pause(void)
{
	if (late)
		_exit(access(late, F_OK) == 0 ? 1 : 0);
	return poll(NULL, 0, -1);
}

/* A file that was made, but not noted yet, when all was cleared. */
static void test_late_leftover(void **state)
{
	(void)state;
	char path[] = "/tmp/berth-base-XXXXXX";
	int fd = mkstemp(path), status;
	assert_true(fd >= 0);
	close(fd);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		late = path;
		berth_leftovers_clear();
		berth_leftover_file(path);
		_exit(2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* As many as there are, each is cleared away; a place that is forgotten is taken again. */
static void test_many_leftovers(void **state)
{
	(void)state;
	enum { MANY = 100 };
	char dir[] = "/tmp/berth-base-XXXXXX", path[64];
	int status;
	assert_non_null(mkdtemp(dir));
	for (int i = 0; i < MANY; i++) {
		snprintf(path, sizeof path, "%s/%d", dir, i);
		put(path, "x");
	}
	pid_t pid = fork();
	assert_true(pid >= 0);
	for (int i = 0; i < MANY && pid == 0; i++) {
		snprintf(path, sizeof path, "%s/%d", dir, i);
		if (berth_leftover_file(path) < 0)
			_exit(2);
	}
	if (pid == 0) {
		berth_leftovers_clear();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(rmdir(dir), 0);
}

/* A file that another process locks between our making it and our locking it is that process's. */
static void test_lock_of_a_rival(void **state)
{
	(void)state;
	char dir[] = "/tmp/berth-base-XXXXXX", path[64], part[80];
	berth_err err;
	struct stat st;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/f", dir);
	snprintf(part, sizeof part, "%s.part-0", path);
	rival_path = path;
	assert_int_equal(berth_file_hold(path, 0600), -1);
	assert_int_equal(errno, EWOULDBLOCK);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(berth_file_hold(path, 0600), -1);
	close(rival_fd);
	unlink(path);
	rival_path = part;
	assert_ok(berth_file_write(path, "one", 3, &err), &err);
	assert_holds(path, "one");
	close(rival_fd);
	unlink(part);
	unlink(path);
	assert_int_equal(rmdir(dir), 0);
}

/* The umask is the whole process's: another thread may make a file just then. */
static void test_umask_of_files(void **state)
{
	(void)state;
	char dir[] = "/tmp/berth-base-XXXXXX", path[64], part[80];
	berth_err err;
	struct stat st;
	mode_t was = umask(027);
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/f", dir);
	snprintf(part, sizeof part, "%s.part-0", path);
	put(part, "of a killed writer");
	assert_int_equal(chmod(part, 0600), 0);
	n_umask = 0;
	assert_ok(berth_file_write(path, "one", 3, &err), &err);
	assert_int_equal(n_umask, 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	umask(was);
	unlink(path);
	assert_int_equal(rmdir(dir), 0);
}

static void test_file_lock(void **state)
{
	(void)state;
	char dir[] = "/tmp/berth-base-XXXXXX", path[64];
	berth_arena mem = {0};
	berth_file_lock one, two;
	berth_err err;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/f", dir);
	assert_ok(berth_file_lock_take(path, "another test", &mem, &one, &err), &err);
	assert_int_equal(berth_file_lock_take(path, "another test", &mem, &two, &err), BERTH_EIO);
	assert_contains(err.msg, "another test writes it now");
	berth_file_release(&two);
	assert_int_equal(berth_file_lock_take(path, "another test", &mem, &two, &err), BERTH_EIO);
	berth_file_release(&one);
	assert_ok(berth_file_lock_take(path, "another test", &mem, &two, &err), &err);
	berth_file_release(&two);
	assert_int_equal(rmdir(dir), 0);
	berth_arena_free(&mem);
}

/* A file that took the number of the one before it, written in place here, is another one. */
static void test_same_file(void **state)
{
	(void)state;
	char dir[] = "/tmp/berth-base-XXXXXX", path[64];
	struct stat before, now;
	struct timespec times[2] = {{1000, 0}, {1000, 0}};
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/f", dir);
	put(path, "one");
	for (long ns = 0; ns < 2; ns++) {
		times[1].tv_nsec = ns;
		assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
		assert_int_equal(stat(path, ns ? &now : &before), 0);
	}
	assert_true(berth_file_is_same(&before, &before));
	assert_int_equal(now.st_ino, before.st_ino);
	assert_false(berth_file_is_same(&now, &before));
	now = before;
	now.st_dev++;
	assert_false(berth_file_is_same(&now, &before));
	unlink(path);
	assert_int_equal(rmdir(dir), 0);
}

/* Where standard input is closed, a lock may be descriptor 0. */
static void test_lock_without_input(void **state)
{
	(void)state;
	char dir[] = "/tmp/berth-base-XXXXXX", path[64];
	berth_arena mem = {0};
	berth_file_lock lock;
	berth_err err;
	int input = dup(0);
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/f", dir);
	close(0);
	berth_status st = berth_file_lock_take(path, "another test", &mem, &lock, &err);
	int fd = lock.fd;
	berth_file_release(&lock);
	bool held = fcntl(0, F_GETFD) >= 0;
	dup2(input, 0);
	close(input);
	assert_int_equal(st, BERTH_OK);
	assert_int_equal(fd, 0);
	assert_false(held);
	assert_int_equal(rmdir(dir), 0);
	berth_arena_free(&mem);
}

/* A piece for which there is no room leaves the pieces before it. */
static void test_file_append(void **state)
{
	(void)state;
	char dir[] = "/tmp/berth-base-XXXXXX", path[64];
	berth_append a, b;
	berth_err err;
	struct rlimit was, small;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/f", dir);
	put(path, "one, ");
	assert_ok(berth_append_open(path, &a, &err), &err);
	assert_int_equal(berth_append_open(path, &b, &err), BERTH_EIO);
	assert_contains(err.msg, "another process writes it now");
	assert_ok(berth_append_add(&a, "two, ", 5, &err), &err);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	small = (struct rlimit){13, was.rlim_max};
	void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	berth_status st = berth_append_add(&a, "three, ", 7, &err);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	signal(SIGXFSZ, handler);
	assert_int_equal(st, BERTH_EIO);
	assert_holds(path, "one, two, ");
	assert_ok(berth_append_add(&a, "four", 4, &err), &err);
	assert_ok(berth_append_sync(&a, &err), &err);
	assert_holds(path, "one, two, four");
	assert_ok(berth_append_cut(&a, 5, &err), &err);
	assert_ok(berth_append_add(&a, "five", 4, &err), &err);
	berth_append_close(&a);
	assert_holds(path, "one, five");
	assert_ok(berth_append_open("/dev/null", &a, &err), &err);
	assert_ok(berth_append_add(&a, "gone", 4, &err), &err);
	assert_ok(berth_append_sync(&a, &err), &err);
	berth_append_close(&a);
	unlink(path);
	assert_int_equal(rmdir(dir), 0);
}

typedef struct tally {
	atomic_int done[1000];
	int32_t workers;
} tally;

static void count_item(void *ctx, int32_t item, int32_t worker)
{
	tally *t = ctx;
	assert_true(worker >= 0 && worker < t->workers);
	atomic_fetch_add(&t->done[item], 1);
}

/* Waits until as many items have begun as there are workers; done[1] counts those that saw it. */
static void meet(void *ctx, int32_t item, int32_t worker)
{
	tally *t = ctx;
	double end_s = berth_wall_seconds() + 30;
	(void)item;
	(void)worker;
	atomic_fetch_add(&t->done[0], 1);
	while (atomic_load(&t->done[0]) < t->workers && berth_wall_seconds() < end_s)
		sched_yield();
	atomic_fetch_add(&t->done[1], berth_wall_seconds() < end_s);
}

/* Each worker is a thread: none waits for its turn. */
static void test_all_workers(void **state)
{
	(void)state;
	berth_err err;
	berth_pool *pool;
	tally t = {.workers = 4};
	assert_ok(berth_pool_new(t.workers, &pool, &err), &err);
	berth_pool_run(pool, t.workers, meet, &t);
	assert_int_equal(atomic_load(&t.done[1]), t.workers);
	berth_pool_free(pool);
}

static void test_threads(void **state)
{
	(void)state;
	berth_err err;
	berth_pool *pool;
	assert_int_equal(berth_pool_new(0, &pool, &err), BERTH_EINVAL);
	for (int32_t workers = 1; workers <= 8; workers += 3) {
		tally *t = calloc(1, sizeof *t);
		t->workers = workers;
		assert_ok(berth_pool_new(workers, &pool, &err), &err);
		for (int round = 0; round < 50; round++)
			berth_pool_run(pool, 20 * round, count_item, t);
		for (int i = 0; i < 1000; i++)
			assert_int_equal(atomic_load(&t->done[i]), i < 980 ? 49 - i / 20 : 0);
		berth_pool_free(pool);
		free(t);
	}
}

static void count_up(void *ctx)
{
	atomic_fetch_add((atomic_int *)ctx, 1);
}

static void test_task(void **state)
{
	(void)state;
	berth_task t = {0};
	atomic_int n = 0;
	berth_task_wait(&t);
	for (int i = 1; i < 50; i++) {
		berth_task_begin(&t, count_up, &n);
		berth_task_wait(&t);
		berth_task_wait(&t);
		assert_int_equal(atomic_load(&n), i);
	}
}

static void test_errors(void **state)
{
	(void)state;
	berth_err err = {0};
	assert_int_equal(berth_fail(&err, BERTH_EFORMAT, "%s:%d", "f", 3), BERTH_EFORMAT);
	assert_int_equal(berth_fail_in(&err, BERTH_EFORMAT, "in %s: ", "x"), BERTH_EFORMAT);
	assert_string_equal(err.msg, "in x: f:3");
	assert_int_equal(berth_fail(NULL, BERTH_EIO, "nobody hears"), BERTH_EIO);
	static const int code[] = {0, 2, 1, 5, 4, 3, 6, 130};
	for (int i = 0; i < 8; i++)
		assert_int_equal(berth_exit_code((berth_status)i), code[i]);
}

/* ---- work in a process of its own ---- */

typedef struct far_work {
	int32_t n;       /* < 0: dies; 0: fails */
	int32_t *square; /* [n] */
} far_work;

static berth_status squares(void *ctx, berth_err *err)
{
	far_work *w = ctx;
	if (w->n == INT32_MIN)
		pause();
	if (w->n < 0)
		abort();
	if (w->n == 0)
		return berth_fail(err, BERTH_ELIMIT, "no numbers");
	for (int32_t i = 0; i < w->n; i++)
		w->square[i] = (int32_t)((uint32_t)i * (uint32_t)i);
	return BERTH_OK;
}

static void test_apart(void **state)
{
	(void)state;
	enum { N = 100000 }; /* more than a pipe holds */
	berth_err err;
	bool answered = false;
	far_work w = {N, calloc(N, sizeof(int32_t))};
	const berth_apart_block blocks[] = {{&w.n, sizeof w.n}, {w.square, N * sizeof *w.square}};
	assert_ok(berth_apart(NULL, squares, &w, 2, blocks, &answered, &err), &err);
	assert_true(answered);
	for (int32_t i = 0; i < 40000; i++)
		assert_int_equal(w.square[i], i * i);
	w.n = 0;
	assert_int_equal(berth_apart(NULL, squares, &w, 2, blocks, &answered, &err), BERTH_ELIMIT);
	assert_string_equal(err.msg, "no numbers");
	w.n = -1;
	assert_ok(berth_apart(NULL, squares, &w, 2, blocks, &answered, &err), &err);
	assert_false(answered);
	berth_apart_end how = BERTH_APART_ANSWERED;
	w.n = INT32_MIN;
	assert_ok(berth_apart_within(0.05, squares, &w, 2, blocks, &how, &err), &err);
	assert_int_equal(how, BERTH_APART_LATE);
	const atomic_int cancel = 1;
	const berth_patience until[] = {{.cancel = &cancel}, {.end_s = berth_wall_seconds() + 0.05}};
	for (int i = 0; i < 2; i++) {
		answered = true;
		assert_ok(berth_apart(&until[i], squares, &w, 2, blocks, &answered, &err), &err);
		assert_false(answered);
	}
	w.n = -1;
	assert_ok(berth_apart_within(600, squares, &w, 2, blocks, &how, &err), &err);
	assert_int_equal(how, BERTH_APART_ENDED);
	w.n = N;
	assert_ok(berth_apart_within(600, squares, &w, 2, blocks, &how, &err), &err);
	assert_int_equal(how, BERTH_APART_ANSWERED);
	free(w.square);
}

static void test_lists_by_key(void **state)
{
	(void)state;
	static const int32_t key[] = {2, 0, 2, 3, 0}, value[] = {10, 11, 12, 13, 14},
			     starts[] = {0, 2, 2, 4, 5}, indices[] = {1, 4, 0, 2, 3};
	berth_arena mem = {0};
	berth_err err;
	int32_t *off, *list;
	assert_ok(berth_csr_new(4, 5, key, NULL, &mem, &off, &list, &err), &err);
	assert_memory_equal(off, starts, sizeof starts);
	assert_memory_equal(list, indices, sizeof indices);
	assert_ok(berth_csr_new(4, 5, key, value, &mem, &off, &list, &err), &err);
	assert_memory_equal(off, starts, sizeof starts);
	for (int i = 0; i < 5; i++)
		assert_int_equal(list[i], value[indices[i]]);
	assert_ok(berth_csr_new(0, 0, key, NULL, &mem, &off, &list, &err), &err);
	assert_int_equal(off[0], 0);
	berth_arena_free(&mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pcg32_vectors),  cmocka_unit_test(test_random_distributions),
		cmocka_unit_test(test_sha256_vectors), cmocka_unit_test(test_text),
		cmocka_unit_test(test_whole_number),
		cmocka_unit_test(test_units),
		cmocka_unit_test(test_unit_numbers),          cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_strmap),
		cmocka_unit_test(test_json_writer),
		cmocka_unit_test(test_json_pieces),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_told),
		cmocka_unit_test(test_arena),
		cmocka_unit_test(test_arena_of_single_blocks),          cmocka_unit_test(test_files),
		cmocka_unit_test(test_parts_of_files),
		cmocka_unit_test(test_lock_of_a_rival),                 cmocka_unit_test(test_umask_of_files),
		cmocka_unit_test(test_late_leftover),  cmocka_unit_test(test_many_leftovers),
		cmocka_unit_test(test_same_file),      cmocka_unit_test(test_lock_without_input),
		cmocka_unit_test(test_file_lock),
		cmocka_unit_test(test_file_append),
		cmocka_unit_test(test_threads),        cmocka_unit_test(test_errors),
		cmocka_unit_test(test_all_workers),
		cmocka_unit_test(test_task),           cmocka_unit_test(test_strbuf),
		cmocka_unit_test(test_apart),          cmocka_unit_test(test_lists_by_key),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
