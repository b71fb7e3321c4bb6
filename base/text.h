/* Text helpers: nearest known word, a string-to-index map, numbers that read back exactly, sizes and times
 * for people, and a text that grows. */
#pragma once

#include "arena.h"
#include "visible.h"

/* Levenshtein distance of two words, each cut at 63 bytes. */
int berth_text_distance(const char *a, const char *b);

/* The first word of list[n] that begins with word, from three letters on, else the one that it is but for the
 * case of letters or marks between them, or by what other programs call it (n_ctx), or a part of; else the
 * nearest one (ties: first); NULL: none is near enough to be a likely slip. */
const char *berth_text_nearest(const char *word, const char *const *list, int32_t n);

/* " (did you mean 'X'?)" or "", from berth_text_nearest, with others that are as near. Returns buf. */
char *berth_text_suggest(char *buf, size_t size, const char *word, const char *const *list, int32_t n);

/* Where word stands among names[n]: *at. Fails: BERTH_EINVAL, "unknown WHAT 'WORD' (did you mean 'X'?)" and
 * then the tail, such as "; 'berth zoo' lists them". A tail of NULL lists the names: "; known: A, B". */
berth_status berth_text_find(const char *const *names, int32_t n, const char *word, const char *what,
                             const char *tail, int32_t *at, berth_err *err);

/* Is data[size] text, by its first 256 bytes? Text has no control characters but tabs and ends of lines. */
bool berth_text_is(const char *data, size_t size);

/* Where word, which is not empty, stands in text[size] for the first time; NULL: nowhere. */
const char *berth_text_search(const char *text, size_t size, const char *word);
bool berth_text_contains(const char *text, size_t size, const char *word);

/* Is text[n] well-formed UTF-8? */
bool berth_text_is_utf8(const char *text, size_t n);

/* Map from strings to indices; keys are borrowed and must outlive the map. Open addressing, grows in its
 * arena. */
typedef struct berth_strmap {
	berth_arena *mem;
	struct berth_strmap_slot *slot;
	size_t cap, len;
} berth_strmap;

void berth_strmap_init(berth_strmap *m, berth_arena *mem);
/* Room for n keys, where the map is empty. Fails: BERTH_ENOMEM. */
berth_status berth_strmap_reserve(berth_strmap *m, size_t n, berth_err *err);
/* Index of key, or -1. */
int32_t berth_strmap_get(const berth_strmap *m, const char *key);
/* Add key -> value unless the key is there. *found = its value then, else value; found may be NULL. Fails:
 * BERTH_ENOMEM. */
berth_status berth_strmap_add(berth_strmap *m, const char *key, int32_t value, int32_t *found,
                              berth_err *err);

/* The number that text begins with: decimal digits, perhaps with a sign, a point and an exponent. *end is
 * behind it. NAN and *end = text where there is none: "inf", "nan", hexadecimal digits and blanks, which
 * strtod reads, are no numbers here. Infinite where it is too large. */
double berth_text_number(const char *text, const char **end);

/* text[n] as a whole number from 0 to most: digits and nothing else. false: it is none, and *out stays. The
 * one way to read one in a file's text: what others take "-5" for, or "12abc", is no number here. */
bool berth_text_whole(const char *text, size_t n, uint64_t most, uint64_t *out);
/* The one that text begins with, by all digits there; *end, which may be NULL, is behind it. -1: there is
 * none, or it is above most. */
int32_t berth_text_digits(const char *text, int32_t most, const char **end);
/* Does text[n] end as the name of a part does, "-00001-of-00003"? Its number, from 1 on, and how many there
 * are; false: it does not. The last BERTH_TEXT_PART bytes are that ending. */
enum { BERTH_TEXT_PART = 15 };
bool berth_text_part(const char *text, size_t n, int32_t *part, int32_t *of);

/* Shortest decimal of x that reads back to the same double; integers up to 2^53 without exponent. x finite.
 * buf of 32 bytes. Returns buf. */
char *berth_text_double(char buf[32], double x);

/* For people: "1.25 ms", "3.2 GiB", "4.09 G"; whole bytes, nanoseconds and counts as such. buf of 32 bytes.
 * Return buf. */
char *berth_text_seconds(char buf[32], double seconds);
char *berth_text_bytes(char buf[32], double bytes);
/* A lower bound: five digits and not above it, as in "7.0275 ms". unit: "s", "B", any other of at most 12
 * bytes or "". buf of 32 bytes. Returns buf. */
char *berth_text_down(char buf[32], double x, const char *unit);
/* "9.54 MiB (10000000 bytes)"; "512 bytes" below a KiB. buf of 64 bytes. */
char *berth_text_bytes_exact(char buf[64], int64_t bytes);
char *berth_text_count(char buf[32], double count);

typedef struct berth_strbuf {
	berth_arena *mem; /* set by the caller, the rest zero */
	char *text;
	size_t len, cap;
	bool failed;
} berth_strbuf;

/* text may be NULL where n is 0. */
void berth_strbuf_add(berth_strbuf *b, const void *text, size_t n);
void berth_strbuf_printf(berth_strbuf *b, const char *fmt, ...) BERTH_PRINTF(2, 3);
/* The text with a closing 0; len may be NULL. Fails: BERTH_ENOMEM. */
berth_status berth_strbuf_done(berth_strbuf *b, const char **text, size_t *len, berth_err *err);
