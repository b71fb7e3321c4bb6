/* Foreign words made visible: each class of characters, any bytes, and printf with them. */
#include "rng.h"
#include "support.h"
#include "text.h"
#include "visible.h"

#include <string.h>

static const char *shown(const char *text)
{
	static char buf[256];
	return berth_visible_copy(buf, sizeof buf, text, strlen(text));
}

static void each_class(void **state)
{
	(void)state;
	static const struct {
		const char *text, *shown;
	} rows[] = {
		{"plain 'text' \\ with \xc3\xa9 and \xe6\xbc\xa2",
		 "plain 'text' \\ with \xc3\xa9 and \xe6\xbc\xa2"},
		{"\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"},
		{"\x1b]0;title\x07", "\\x1b]0;title\\x07"},
		{"a\nb\rc\td", "a\\nb\\rc\\td"},
		{"\x01\x7f\b", "\\x01\\x7f\\x08"},
		{"\xc2\x80\xc2\x9b\xc2\x9f", "\\u0080\\u009b\\u009f"},
		{"\xc2\xa0\xc2\xad", "\xc2\xa0\\u00ad"},
		{"\xd8\x9c\xe2\x80\x8e\xe2\x80\x8f", "\\u061c\\u200e\\u200f"},
		{"\xe2\x80\xaa\xe2\x80\xae\xe2\x81\xa6\xe2\x81\xa9", "\\u202a\\u202e\\u2066\\u2069"},
		{"\xe2\x80\x8b\xe2\x80\xa8\xe2\x80\xa9\xef\xbb\xbf", "\\u200b\\u2028\\u2029\\ufeff"},
		{"\xe2\x81\xa0\xef\xb8\x8f\xe3\x85\xa4", "\\u2060\\ufe0f\\u3164"},
		{"\xf3\xa0\x80\x81\xf3\xa0\x81\xbf", "\\U000e0001\\U000e007f"},
		{"\x9b[m", "\\x9b[m"},
		{"\xc3", "\\xc3"},                            /* cut */
		{"\xc0\x80", "\\xc0\\x80"},                   /* overlong */
		{"\xed\xa0\x80", "\\xed\\xa0\\x80"},          /* surrogate */
		{"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"}, /* beyond Unicode */
		{"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		assert_string_equal(shown(rows[i].text), rows[i].shown);
		char once[256];
		strcpy(once, shown(rows[i].text));
		assert_string_equal(shown(once), once);
	}
}

/* Nothing that a terminal obeys or does not show. */
static void assert_visible(const char *text)
{
	uint32_t code = 0;
	size_t n = strlen(text);
	for (int len; n; text += len, n -= (size_t)len) {
		len = berth_text_utf8(text, n, &code);
		assert_true(len > 0);
		assert_true(code >= ' ' && code != 0x7f && !(code >= 0x80 && code < 0xa0));
		assert_false((code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e));
		assert_false((code >= 0x2060 && code <= 0x206f) || code == 0x61c || code == 0xfeff);
		assert_false(code >= 0xe0000 && code < 0xe1000);
	}
}

/* Random bytes, and random characters of the blocks where the bad ones are; any room for the result. */
static void any_bytes(void **state)
{
	(void)state;
	static const char *const piece[] = {
		"\xe2\x80",     "\xc2",         "\xf3\xa0\x80", "\xd8\x9c",         "a",
		"\xef\xbb\xbf", "\xe2\x81\xa6", "\x1b",         "\xf0\x9f\x98\x80", "\\"};
	berth_rng r = berth_rng_seed(5, 5);
	for (int i = 0; i < 20000; i++) {
		char text[32] = "", out[128], *at = text;
		while (at - text < 24) {
			uint32_t x = berth_rng_next(&r);
			const char *p = piece[x % 10];
			size_t n = x & 0x100 ? 1 : strlen(p);
			memcpy(at, x & 0x100 ? (char[]){(char)(1 + (x >> 16) % 255)} : p, n);
			at += n;
		}
		*at = '\0';
		size_t size = 1 + berth_rng_next(&r) % sizeof out;
		berth_visible_copy(out, size, text, sizeof text);
		assert_true(strlen(out) < size);
		assert_visible(out);
		char all[2048], again[2048];
		berth_visible_copy(all, sizeof all, text, sizeof text);
		assert_memory_equal(all, out, strlen(out));
		assert_string_equal(berth_visible_copy(again, sizeof again, all, sizeof all), all);
		assert_int_equal(berth_visible_width(all, SIZE_MAX), berth_visible_width(text, SIZE_MAX));
		berth_err err;
		berth_fail(&err, BERTH_EFORMAT, "%s: unknown '%.7s'", text, text);
		assert_visible(err.msg);
	}
}

static void widths(void **state)
{
	(void)state;
	assert_int_equal(berth_visible_width("abc", SIZE_MAX), 3);
	assert_int_equal(berth_visible_width("abc", 2), 2);
	assert_int_equal(berth_visible_width("a\x1b", SIZE_MAX), 5);
	assert_int_equal(berth_visible_width("\xe6\xbc\xa2", SIZE_MAX), 2);      /* a wide letter */
	assert_int_equal(berth_visible_width("e\xcc\x81", SIZE_MAX), 1);         /* an accent on a letter */
	assert_int_equal(berth_visible_width("\xf3\xa0\x80\x81", SIZE_MAX), 10); /* \U000e0001 */
}

static const char *print(const char *fmt, ...) BERTH_PRINTF(1, 2);
static const char *print(const char *fmt, ...)
{
	static char buf[64];
	va_list args;
	va_start(args, fmt);
	berth_visible_vprint(buf, sizeof buf, fmt, args);
	va_end(args);
	return buf;
}

static void formats(void **state)
{
	(void)state;
	assert_string_equal(print("%s\n\x1b[K%%%c", "a\nb", '\a'), "a\\nb\n\x1b[K%\\x07");
	assert_string_equal(print("[%5s|%-5s|%*s|%-*s]", "ab", "ab", 3, "ab", 3, "ab"),
	                    "[   ab|ab   | ab|ab ]");
	assert_string_equal(print("[%6s|%-6s]", "\x1b", "\xe6\xbc\xa2"), "[  \\x1b|\xe6\xbc\xa2    ]");
	assert_string_equal(
		print("[%.2s|%.*s|%.1s|%.4s]", "abc", 1, "abc", "\xc3\xa9", "\xc3\xa9\xe6\xbc\xa2"),
		"[ab|a||\xc3\xa9]");
	assert_string_equal(print("%d %+d %05d %lld %llu %zu %ld %u %x %hhd", -3, 3, 42, -1LL, ~0ULL,
	                          (size_t)7, 8L, 9u, 255u, (signed char)-4),
	                    "-3 +3 00042 -1 18446744073709551615 7 8 9 ff -4");
	assert_string_equal(print("%.2f %g %+.1f %.*f %8.3f %.0f", 1.255, 1e-9, 2.0, 1, 0.25, 3.14159, 2.5),
	                    "1.25 1e-09 +2.0 0.2    3.142 2");
	/* cut between characters, and nothing behind the gap */
	assert_string_equal(print("%62s\xc3\xa9%s", "x", "y"),
	                    "                                                             x");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_class),
		cmocka_unit_test(any_bytes),
		cmocka_unit_test(widths),
		cmocka_unit_test(formats),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
