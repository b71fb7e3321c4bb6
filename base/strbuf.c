/* A growing text; see strbuf.h. */
#include "strbuf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Room for n bytes and a closing 0. */
static bool reserve(berth_strbuf *b, size_t n)
{
	size_t cap = b->cap ? b->cap : 256;
	if (b->failed)
		return false;
	if (b->len + n + 1 <= b->cap)
		return true;
	while (cap < b->len + n + 1)
		cap *= 2;
	char *text = berth_arena_alloc(b->mem, cap, 1);
	if (!text) {
		b->failed = true;
		return false;
	}
	if (b->len)
		memcpy(text, b->text, b->len);
	b->text = text;
	b->cap = cap;
	return true;
}

void berth_strbuf_add(berth_strbuf *b, const char *text, size_t n)
{
	if (!reserve(b, n))
		return;
	if (n) /* nothing may be told as NULL */
		memcpy(b->text + b->len, text, n);
	b->len += n;
	b->text[b->len] = '\0';
}

void berth_strbuf_printf(berth_strbuf *b, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0 || !reserve(b, (size_t)n))
		return;
	va_start(ap, fmt);
	vsnprintf(b->text + b->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)n;
}

berth_status berth_strbuf_done(berth_strbuf *b, const char **text, size_t *len, berth_err *err)
{
	berth_strbuf_add(b, "", 0);
	if (b->failed)
		return berth_nomem(err);
	*text = b->text;
	*len = b->len;
	return BERTH_OK;
}
