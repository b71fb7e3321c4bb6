/* JSON in and out; see json.h. */
#include "json.h"

#include "json_check.h"
#include "json_large.h"
#include "text.h"
#include "visible.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

static void position(const char *text, const char *at, int *line, int *column)
{
	*line = *column = 1;
	for (; text < at; text++) {
		if (*text == '\n') {
			++*line;
			*column = 1;
		} else {
			++*column;
		}
	}
}

static bool only_space(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
		p++;
	return p == end;
}

static berth_status syntax_error(const char *file, const char *text, const char *at, const char *end,
                                 const char *what, berth_err *err)
{
	int line, column;
	char near[24] = "the end of the file";
	position(text, at, &line, &column);
	if (at < end) {
		int n = 0;
		near[n++] = '\'';
		while (n < 18 && at < end && (unsigned char)*at >= ' ')
			near[n++] = *at++;
		near[n++] = '\'';
		near[n] = '\0';
	}
	return berth_fail(err, BERTH_EFORMAT, "%s:%d:%d: %s near %s", file, line, column, what, near);
}

/* The first \u0000 that is no \\u0000; NULL: none. */
static const char *find_nul(const char *text, size_t size)
{
	static const char nul[] = "\\u0000";
	const char *end = text + size, *at = text;
	while ((at = berth_text_search(at, (size_t)(end - at), nul))) {
		const char *first = at;
		while (first > text && first[-1] == '\\')
			first--;
		if ((at - first) % 2 == 0)
			return at;
		at++;
	}
	return NULL;
}

/* UTF-8 text with something in it, in which no string would end before its end. */
static berth_status check_text(const char *file, const char *text, size_t size, berth_err *err)
{
	const char *nul;
	if (memchr(text, '\0', size))
		return berth_fail(err, BERTH_EFORMAT, "%s: not JSON text: it holds a NUL byte", file);
	if (!berth_text_is_utf8(text, size))
		return berth_fail(err, BERTH_EFORMAT, "%s: not JSON text: it is not UTF-8", file);
	if (only_space(text, text + size))
		return berth_fail(err, BERTH_EFORMAT, "%s:1:1: the file is empty; expected a JSON object",
		                  file);
	if ((nul = find_nul(text, size)))
		return syntax_error(file, text, nul, text + size, "no text may hold a NUL:", err);
	return BERTH_OK;
}

/* Text that does not even begin like JSON may be a file of another kind. */
static const char *what_is_wrong(const char *text, const char *at, const char *end)
{
	bool first = only_space(text, at);
	if (first && at < end && *at != '{' && *at != '[')
		return "neither JSON nor another format that is read here,";
	return "JSON syntax error";
}

berth_status berth_json_check(const char *file, const char *text, size_t size, berth_err *err)
{
	BERTH_TRY(check_text(file, text, size, err));
	const char *fault = berth_json_fault(text, size);
	return fault ? syntax_error(file, text, fault, text + size,
	                             what_is_wrong(text, fault, text + size), err) : BERTH_OK;
}

berth_status berth_json_parse(const char *file, const char *text, size_t size, cJSON **out, berth_err *err)
{
	const char *end = text;
	BERTH_TRY(check_text(file, text, size, err));
	cJSON *doc = cJSON_ParseWithLengthOpts(text, size, &end, 0);
	if (!doc && !berth_json_fault(text, size))
		return berth_nomem(err);
	if (!doc)
		return syntax_error(file, text, end, text + size, what_is_wrong(text, end, text + size), err);
	if (!only_space(end, text + size)) {
		cJSON_Delete(doc);
		while (*end == ' ' || *end == '\n' || *end == '\r' || *end == '\t')
			end++;
		return syntax_error(file, text, end, text + size, "text after the end of the JSON document",
		                    err);
	}
	*out = doc;
	return BERTH_OK;
}

/* The pointer of at, written from the back of buf; returns its start. */
static const char *pointer(const berth_json *at, char *buf, size_t size)
{
	size_t i = size - 1;
	buf[i] = '\0';
	for (; at->up; at = at->up) {
		char number[16];
		const char *s = at->key;
		if (!s) {
			snprintf(number, sizeof number, "%d", at->index);
			s = number;
		}
		size_t n = strlen(s);
		if (n + 1 > i)
			break;
		i -= n;
		memcpy(buf + i, s, n);
		buf[--i] = '/';
	}
	return buf[i] ? buf + i : "/";
}

berth_status berth_json_fail(const berth_json *at, berth_err *err, const char *fmt, ...)
{
	char buf[200], msg[400];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(msg, sizeof msg, fmt, ap);
	va_end(ap);
	return berth_fail(err, BERTH_EFORMAT, "%s: %s: %s", at->file, pointer(at, buf, sizeof buf), msg);
}

berth_status berth_json_placed(const berth_json *at, berth_status st, berth_err *err)
{
	char buf[200];
	if (st == BERTH_EFORMAT)
		berth_fail_in(err, st, "%s: %s: ", at->file, pointer(at, buf, sizeof buf));
	return st;
}

berth_status berth_json_find(const berth_json *doc, const char *key, const char *const *names, int32_t n,
                             const char *word, const char *what, const char *tail, int32_t *at,
                             berth_err *err)
{
	berth_json v = berth_json_get(doc, key);
	berth_err why;
	return berth_text_find(names, n, word, what, tail, at, &why) == BERTH_OK
	               ? BERTH_OK
	               : berth_json_fail(&v, err, "%s", why.msg);
}

berth_json berth_json_get(const berth_json *at, const char *key)
{
	return (berth_json){cJSON_GetObjectItemCaseSensitive(at->item, key), at->file, at, key, 0};
}

berth_json berth_json_at(const berth_json *at, const cJSON *item, int32_t index)
{
	return (berth_json){item, at->file, at, NULL, index};
}

berth_json berth_json_member(const berth_json *at, const cJSON *item)
{
	return (berth_json){item, at->file, at, item->string, 0};
}

static const char *kind_of(const cJSON *item)
{
	if (cJSON_IsObject(item)) return "an object";
	if (cJSON_IsArray(item)) return "an array";
	if (cJSON_IsString(item)) return "a string";
	if (cJSON_IsNumber(item)) return "a number";
	if (cJSON_IsBool(item)) return "true or false";
	return "null";
}

static berth_status expected(const berth_json *at, const char *what, berth_err *err)
{
	return berth_json_fail(at, err, "expected %s, found %s", what, kind_of(at->item));
}

typedef struct seen_keys {
	const berth_json *object;
	const char *const *known;
	int32_t n;
	uint64_t seen;
} seen_keys;

static berth_status see_key(void *ctx, const berth_json *item, berth_err *err)
{
	seen_keys *k = ctx;
	int32_t i;
	berth_err why;
	if (berth_text_find(k->known, k->n, item->key, "key", "", &i, &why) != BERTH_OK)
		return berth_json_fail(k->object, err, "%s", why.msg);
	if (k->seen >> i & 1)
		return berth_json_fail(k->object, err, "key '%s' stands twice", item->key);
	k->seen |= UINT64_C(1) << i;
	return BERTH_OK;
}

berth_status berth_json_keys(const berth_json *at, const char *const *known, berth_err *err)
{
	seen_keys k = {.object = at, .known = known};
	if (!cJSON_IsObject(at->item))
		return expected(at, "an object", err);
	while (known[k.n])
		k.n++;
	return berth_json_each(at, see_key, &k, err);
}

/* The required or optional member key of at; *there tells whether to go on. */
static berth_status member(const berth_json *at, const char *key, bool required, berth_json *out, bool *there,
                           berth_err *err)
{
	*out = berth_json_get(at, key);
	*there = out->item != NULL;
	if (berth_json_is_text(at->item))
		return berth_json_fail(at, err,
		                       "too large an object: it has more than 1000 members, or stands in "
		                       "another one and has more than 64 KB");
	if (!*there && required)
		return berth_json_fail(at, err, "key '%s' is missing", key);
	return BERTH_OK;
}

berth_status berth_json_format(const berth_json *at, const char *format, int version, berth_err *err)
{
	const char *f = NULL;
	int32_t v = 0;
	if (!cJSON_IsObject(at->item))
		return expected(at, "an object", err);
	BERTH_TRY(berth_json_string(at, "format", true, &f, err));
	berth_json at_format = berth_json_get(at, "format"), at_version = berth_json_get(at, "version");
	if (strcmp(f, format) != 0)
		return berth_json_fail(&at_format, err, "format is '%.60s', expected '%s'", f, format);
	BERTH_TRY(berth_json_int(at, "version", true, 0, INT32_MAX, &v, err));
	if (v != version)
		return berth_json_fail(&at_version, err,
		                       "version %d of %s is not known here; this berth reads version %d", v,
		                       format, version);
	return BERTH_OK;
}

berth_status berth_json_string(const berth_json *at, const char *key, bool required, const char **out,
                               berth_err *err)
{
	berth_json v;
	bool there;
	BERTH_TRY(member(at, key, required, &v, &there, err));
	if (!there)
		return BERTH_OK;
	if (!cJSON_IsString(v.item))
		return expected(&v, "a string", err);
	*out = v.item->valuestring;
	return BERTH_OK;
}

berth_status berth_json_value(const berth_json *at, double min, double *out, berth_err *err)
{
	if (!cJSON_IsNumber(at->item))
		return expected(at, "a number", err);
	double x = at->item->valuedouble;
	if (!isfinite(x))
		return berth_json_fail(at, err, "the number is too large");
	if (!(x >= min))
		return berth_json_fail(at, err, "%.17g is below the least value, %.17g", x, min);
	*out = x;
	return BERTH_OK;
}

berth_status berth_json_number(const berth_json *at, const char *key, bool required, double min, double *out,
                               berth_err *err)
{
	berth_json v;
	bool there;
	BERTH_TRY(member(at, key, required, &v, &there, err));
	if (!there)
		return BERTH_OK;
	return berth_json_value(&v, min, out, err);
}

berth_status berth_json_bytes(const berth_json *at, const char *key, bool required, int64_t *out,
                              berth_err *err)
{
	double x = -1;
	BERTH_TRY(berth_json_number(at, key, required, 0, &x, err));
	if (x < 0)
		return BERTH_OK;
	if (x != floor(x) || x > 0x1p53) {
		berth_json v = berth_json_get(at, key);
		return berth_json_fail(&v, err, "%.17g is not a whole number of bytes up to 2^53", x);
	}
	*out = (int64_t)x;
	return BERTH_OK;
}

berth_status berth_json_int(const berth_json *at, const char *key, bool required, int32_t min, int32_t max,
                            int32_t *out, berth_err *err)
{
	double x = NAN;
	BERTH_TRY(berth_json_number(at, key, required, min, &x, err));
	if (isnan(x))
		return BERTH_OK;
	if (x != floor(x) || x > max) {
		berth_json v = berth_json_get(at, key);
		return berth_json_fail(&v, err, "%.17g is not a whole number from %d to %d", x, min, max);
	}
	*out = (int32_t)x;
	return BERTH_OK;
}

berth_status berth_json_bool(const berth_json *at, const char *key, bool *out, berth_err *err)
{
	berth_json v;
	bool there;
	BERTH_TRY(member(at, key, false, &v, &there, err));
	if (!there)
		return BERTH_OK;
	if (!cJSON_IsBool(v.item))
		return expected(&v, "true or false", err);
	*out = cJSON_IsTrue(v.item);
	return BERTH_OK;
}

berth_status berth_json_array(const berth_json *at, const char *key, bool required, berth_json *out,
                              berth_err *err)
{
	bool there;
	BERTH_TRY(member(at, key, required, out, &there, err));
	return !there || cJSON_IsArray(out->item) ? BERTH_OK : expected(out, "an array", err);
}

berth_status berth_json_object(const berth_json *at, const char *key, bool required, berth_json *out,
                               berth_err *err)
{
	bool there;
	BERTH_TRY(member(at, key, required, out, &there, err));
	return !there || cJSON_IsObject(out->item) ? BERTH_OK : expected(out, "an object", err);
}

/* ---- writing ---- */

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
