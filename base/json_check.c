/* See json_check.h. One pass; of the brackets that are open one bit each is kept. */
#include "json_check.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { DEEPEST = 1000, LONGEST_NUMBER = 63 };

typedef struct scan {
	const char *at, *end;
	uint64_t object[DEEPEST / 64 + 1]; /* a bit a level: is it an object? */
	int depth;
} scan;

static void blanks(scan *s)
{
	while (s->at < s->end && (*s->at == ' ' || *s->at == '\n' || *s->at == '\r' || *s->at == '\t'))
		s->at++;
}

static bool take(scan *s, char c)
{
	if (s->at == s->end || *s->at != c)
		return false;
	s->at++;
	return true;
}

static bool digits(scan *s)
{
	const char *from = s->at;
	while (s->at < s->end && *s->at >= '0' && *s->at <= '9')
		s->at++;
	return s->at > from;
}

static bool number(scan *s)
{
	const char *from = s->at;
	take(s, '-');
	if (!take(s, '0') && !digits(s))
		return false;
	if (take(s, '.') && !digits(s))
		return false;
	if (take(s, 'e') || take(s, 'E')) {
		if (!take(s, '+'))
			take(s, '-');
		if (!digits(s))
			return false;
	}
	return s->at - from <= LONGEST_NUMBER;
}

/* Four hexadecimal digits. -1: there are none. */
static long hex(scan *s)
{
	long x = 0;
	if (s->end - s->at < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		char c = *s->at++;
		int digit = c >= '0' && c <= '9'   ? c - '0'
		            : c >= 'a' && c <= 'f' ? c - 'a' + 10
		            : c >= 'A' && c <= 'F' ? c - 'A' + 10
		                                   : -1;
		if (digit < 0)
			return -1;
		x = x * 16 + digit;
	}
	return x;
}

/* Behind "\u". */
static bool code_point(scan *s)
{
	long first = hex(s);
	if (first < 0 || (first >= 0xdc00 && first <= 0xdfff))
		return false;
	if (first < 0xd800 || first > 0xdbff)
		return true;
	if (!take(s, '\\') || !take(s, 'u'))
		return false;
	long second = hex(s);
	return second >= 0xdc00 && second <= 0xdfff;
}

static bool string(scan *s)
{
	if (!take(s, '"'))
		return false;
	while (s->at < s->end) {
		char c = *s->at++;
		if (c == '"')
			return true;
		if ((unsigned char)c < ' ')
			return false;
		if (c != '\\')
			continue;
		if (s->at == s->end)
			return false;
		c = *s->at++;
		if (c == 'u' ? !code_point(s) : !strchr("\"\\/bfnrt", c) || !c)
			return false;
	}
	return false;
}

static bool word(scan *s, const char *text)
{
	size_t n = strlen(text);
	if ((size_t)(s->end - s->at) < n || memcmp(s->at, text, n) != 0)
		return false;
	s->at += n;
	return true;
}

static bool in_object(const scan *s)
{
	return s->object[s->depth / 64] >> (s->depth % 64) & 1;
}

static bool open_bracket(scan *s, bool object)
{
	if (s->depth == DEEPEST)
		return false;
	s->depth++;
	uint64_t bit = UINT64_C(1) << (s->depth % 64);
	s->object[s->depth / 64] = object ? s->object[s->depth / 64] | bit : s->object[s->depth / 64] & ~bit;
	return true;
}

static bool key(scan *s)
{
	blanks(s);
	if (!string(s))
		return false;
	blanks(s);
	return take(s, ':');
}

/* A value that is whole, or the opening bracket of one; *open tells. */
static bool begin_value(scan *s, bool *open)
{
	*open = false;
	blanks(s);
	if (s->at == s->end)
		return false;
	switch (*s->at) {
	case '"': return string(s);
	case 't': return word(s, "true");
	case 'f': return word(s, "false");
	case 'n': return word(s, "null");
	case '{':
	case '[':
		*open = true;
		return open_bracket(s, *s->at++ == '{');
	default: return number(s);
	}
}

/* Behind a value: brackets that close, a comma if more comes. *more tells whether another value is due. */
static bool end_value(scan *s, bool *more)
{
	for (*more = false; s->depth > 0; s->depth--) {
		blanks(s);
		if (take(s, ',')) {
			*more = true;
			return !in_object(s) || key(s);
		}
		if (!take(s, in_object(s) ? '}' : ']'))
			return false;
	}
	return true;
}

const char *berth_json_fault(const char *text, size_t size)
{
	scan s = {.at = text, .end = text + size};
	for (bool more = true; more;) {
		bool open;
		if (!begin_value(&s, &open))
			return s.at;
		if (open) {
			blanks(&s);
			if (s.at < s.end && *s.at == (in_object(&s) ? '}' : ']')) {
				if (!end_value(&s, &more))
					return s.at;
			} else if (in_object(&s) && !key(&s)) {
				return s.at;
			}
		} else if (!end_value(&s, &more)) {
			return s.at;
		}
	}
	blanks(&s);
	return s.at == s.end ? NULL : s.at;
}
