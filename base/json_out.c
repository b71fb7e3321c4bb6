/* Writing of JSON: a text that grows, or is handed on piece by piece, with two-space indentation or none.
 * Words are escaped as far as people would not see them. */
#include "json.h"

#include "text.h"

#include <errno.h>

void berth_json_out_init(berth_json_out *w, berth_arena *mem, bool pretty)
{
	*w = (berth_json_out){.mem = mem, .pretty = pretty, .first = true};
}

void berth_json_out_reserve(berth_json_out *w, size_t bytes)
{
	w->text = berth_arena_alloc(w->mem, bytes, 1);
	w->cap = w->text ? bytes : 0;
}

void berth_json_out_to(berth_json_out *w, berth_json_sink *sink, void *ctx)
{
	w->sink = sink;
	w->sink_ctx = ctx;
}

/* Hand on what there is. */
static bool pass_on(berth_json_out *w)
{
	if (w->sink(w->sink_ctx, w->text, w->len) != 0)
		w->failed = w->sink_failed = true;
	w->len = 0;
	return !w->failed;
}

static bool grow(berth_json_out *w, size_t n)
{
	size_t cap = w->cap ? w->cap : 1024;
	while (cap < w->len + n)
		cap *= 2;
	char *t = berth_arena_alloc(w->mem, cap, 1);
	if (!t) {
		w->failed = true;
		return false;
	}
	if (w->len)
		memcpy(t, w->text, w->len);
	w->text = t;
	w->cap = cap;
	return true;
}

/* Where the next n bytes go; NULL: nowhere. */
static char *room(berth_json_out *w, size_t n)
{
	if (w->failed)
		return NULL;
	if (n > w->cap - w->len && w->sink && w->len && !pass_on(w))
		return NULL;
	if (n > w->cap - w->len && !grow(w, n))
		return NULL;
	return w->text + w->len;
}

static void put(berth_json_out *w, const char *s, size_t n)
{
	char *to = n ? room(w, n) : NULL;
	if (!to)
		return;
	memcpy(to, s, n);
	w->len += n;
}

static void puts_(berth_json_out *w, const char *s)
{
	put(w, s, strlen(s));
}

/* Where a new line begins, behind a comma or not; on one line a blank keeps values apart. */
static void newline(berth_json_out *w, bool comma)
{
	if (!w->pretty)
		return;
	if (w->flat) {
		put(w, " ", comma);
		return;
	}
	size_t n = 1 + 2 * (size_t)w->depth;
	char *to = room(w, n);
	if (!to)
		return;
	memset(to, ' ', n);
	*to = '\n';
	w->len += n;
}

/* What is not shown as it is: a control character or a byte that is no UTF-8, n 1, or a character that is not
 * seen. Exact all the same but for such bytes, which JSON cannot hold: U+FFFD stands for them. */
static void put_escaped(berth_json_out *w, const char *s, const berth_visible_char *c)
{
	char escape[48] = "\\n";
	unsigned char byte = (unsigned char)*s;
	unsigned long code = c->used > 1 ? strtoul(c->shown + 2, NULL, 16) : byte < 128 ? byte : 0xfffd;
	if (code > 0xffff)
		snprintf(escape, sizeof escape, "\\u%04lx\\u%04lx", 0xd800 + ((code - 0x10000) >> 10),
		         0xdc00 + (code & 0x3ff));
	else if (byte != '\n')
		snprintf(escape, sizeof escape, "\\u%04lx", code);
	puts_(w, escape);
}

/* The rest of a text, from what is to be escaped on. */
static void quote_rest(berth_json_out *w, const char *s, const char *end)
{
	const char *run = s;
	while (s < end) {
		unsigned char byte = (unsigned char)*s;
		berth_visible_char c = berth_visible_at(s, (size_t)(end - s));
		if (byte == '"' || byte == '\\' || c.shown[0] == '\\') {
			put(w, run, (size_t)(s - run));
			if (byte == '"' || byte == '\\')
				put(w, (char[]){'\\', (char)byte}, 2);
			else
				put_escaped(w, s, &c);
			run = s + c.used;
		}
		s += c.used;
	}
	put(w, run, (size_t)(s - run));
	put(w, "\"", 1);
}

/* Does it stand in a text as it is? */
static bool is_plain(char c)
{
	return c >= ' ' && c < 127 && c != '"' && c != '\\';
}

/* Most texts are plain: they are copied as they are looked at. */
static void quoted(berth_json_out *w, const char *s)
{
	size_t n = strlen(s), i = 0;
	char *to = room(w, n + 2);
	if (!to)
		return;
	*to++ = '"';
	for (; i < n && is_plain(s[i]); i++)
		to[i] = s[i];
	w->len += i + 1;
	if (i < n) {
		quote_rest(w, s + i, s + n);
		return;
	}
	to[n] = '"';
	w->len++;
}

/* Comma, line and key before a value. */
static void before(berth_json_out *w, const char *key)
{
	bool comma = !w->first;
	put(w, ",", comma);
	if (w->depth)
		newline(w, comma);
	w->first = false;
	if (key) {
		quoted(w, key);
		put(w, ": ", w->pretty ? 2 : 1);
	}
}

void berth_json_open(berth_json_out *w, const char *key, char bracket)
{
	before(w, key);
	put(w, &bracket, 1);
	w->depth++;
	w->first = true;
}

void berth_json_close(berth_json_out *w, char bracket)
{
	w->depth--;
	if (!w->first)
		newline(w, false);
	put(w, &bracket, 1);
	w->first = false;
}

void berth_json_put_string(berth_json_out *w, const char *key, const char *value)
{
	before(w, key);
	if (value)
		quoted(w, value);
	else
		puts_(w, "null");
}

void berth_json_put_numbers(berth_json_out *w, const char *key, const double *value, int32_t n)
{
	berth_json_open(w, key, '[');
	for (int32_t i = 0; i < n; i++)
		berth_json_put_number(w, NULL, value[i]);
	berth_json_close(w, ']');
}

void berth_json_put_ints(berth_json_out *w, const char *key, const int32_t *value, int32_t n)
{
	berth_json_open(w, key, '[');
	for (int32_t i = 0; i < n; i++)
		berth_json_put_int(w, NULL, value[i]);
	berth_json_close(w, ']');
}

void berth_json_put_strings(berth_json_out *w, const char *key, const char *const *value, int32_t n)
{
	berth_json_open(w, key, '[');
	for (int32_t i = 0; i < n; i++)
		berth_json_put_string(w, NULL, value[i]);
	berth_json_close(w, ']');
}

void berth_json_put_document(berth_json_out *w, const char *key, const char *text)
{
	before(w, key);
	puts_(w, text);
}

void berth_json_put_number(berth_json_out *w, const char *key, double value)
{
	char buf[32];
	before(w, key);
	puts_(w, isfinite(value) ? berth_text_double(buf, value) : "null");
}

void berth_json_put_int(berth_json_out *w, const char *key, int64_t value)
{
	char buf[32];
	before(w, key);
	snprintf(buf, sizeof buf, "%lld", (long long)value);
	puts_(w, buf);
}

void berth_json_put_bool(berth_json_out *w, const char *key, bool value)
{
	before(w, key);
	puts_(w, value ? "true" : "false");
}

void berth_json_put_null(berth_json_out *w, const char *key)
{
	before(w, key);
	puts_(w, "null");
}

void berth_json_put_ns(berth_json_out *w, const char *key, int64_t ns)
{
	berth_json_put_number(w, key, (double)ns / 1e9);
}

void berth_json_flat(berth_json_out *w, bool flat)
{
	w->flat = flat;
}

berth_status berth_json_done(berth_json_out *w, const char **text, size_t *len, berth_err *err)
{
	if (w->pretty)
		put(w, "\n", 1);
	put(w, "", 1);
	if (w->failed)
		return berth_nomem(err);
	*text = w->text;
	if (len)
		*len = w->len - 1;
	return BERTH_OK;
}

int berth_json_end(berth_json_out *w)
{
	if (w->pretty)
		put(w, "\n", 1);
	if (!w->failed)
		pass_on(w);
	if (w->failed && !w->sink_failed)
		errno = ENOMEM;
	return w->failed ? -1 : 0;
}
