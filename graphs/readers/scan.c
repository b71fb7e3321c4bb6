/* See scan.h. */
#include "scan.h"

#include "text.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* "FILE:LINE:COLUMN: " of the byte at. */
static void place_of(const scan *s, size_t at, char *buf, size_t size)
{
	size_t line = 1, start = 0;
	for (size_t i = 0; i < at && i < s->size; i++)
		if (s->text[i] == '\n') {
			line++;
			start = i + 1;
		}
	snprintf(buf, size, "%.300s:%zu:%zu: ", s->file, line, at - start + 1);
}

berth_status scan_fail(const scan *s, size_t at, berth_err *err, const char *fmt, ...)
{
	char place[360], text[300];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	place_of(s, at, place, sizeof place);
	return berth_fail(err, BERTH_EFORMAT, "%s%s", place, text);
}

berth_status scan_placed(const scan *s, size_t at, berth_status st, berth_err *err)
{
	char place[360];
	if (st != BERTH_EFORMAT)
		return st;
	place_of(s, at, place, sizeof place);
	return berth_fail_in(err, st, "%s", place);
}

bool scan_end(const scan *s)
{
	return s->at >= s->size;
}

char scan_peek(const scan *s)
{
	return scan_end(s) ? '\0' : s->text[s->at];
}

void scan_spaces(scan *s)
{
	while (!scan_end(s) && (s->text[s->at] == ' ' || (s->text[s->at] >= '\t' && s->text[s->at] <= '\r')))
		s->at++;
}

bool scan_take(scan *s, const char *word)
{
	size_t n = strlen(word);
	if (s->size - s->at < n || memcmp(s->text + s->at, word, n) != 0)
		return false;
	s->at += n;
	return true;
}

bool scan_past(scan *s, const char *word)
{
	for (; !scan_end(s); s->at++)
		if (s->text[s->at] == word[0] && scan_take(s, word))
			return true;
	return false;
}

scan scan_begin(const char *data, size_t size)
{
	scan s = {"", data, berth_text_is(data, size) ? size : 0, 0};
	scan_take(&s, "\xef\xbb\xbf");
	for (;;) {
		scan_spaces(&s);
		if (scan_take(&s, "//") || scan_take(&s, "#"))
			scan_past(&s, "\n");
		else if (scan_take(&s, "/*"))
			scan_past(&s, "*/");
		else
			return s;
	}
}

bool scan_is(scan_word w, const char *text)
{
	return strlen(text) == w.n && memcmp(w.text, text, w.n) == 0;
}

bool scan_is_any_case(scan_word w, const char *text)
{
	if (strlen(text) != w.n)
		return false;
	for (size_t i = 0; i < w.n; i++)
		if (tolower((unsigned char)w.text[i]) != tolower((unsigned char)text[i]))
			return false;
	return true;
}

bool scan_number(scan_word w, double *out)
{
	char text[64];
	const char *end;
	if (w.n == 0 || w.n >= sizeof text)
		return false;
	memcpy(text, w.text, w.n);
	text[w.n] = '\0';
	double x = berth_text_number(text, &end);
	if (*end || !isfinite(x) || x < 0)
		return false;
	*out = x + 0; /* no -0 */
	return true;
}
