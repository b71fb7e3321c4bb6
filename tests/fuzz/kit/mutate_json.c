/* JSON, by the places of its values. A text that is no JSON any more is changed as far as its brackets go. */
#include "mutate.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MAX_VALUES = 400, MAX_DEPTH = 64 };

/* A value text[from .. to); key_from: where its key begins, or itself where it has none. */
typedef struct value {
	size_t key_from, from, to;
	char kind;   /* { [ " or 0: a number or a word */
	bool member; /* it has a key */
} value;

typedef struct values {
	mutate_bytes b;
	mutate_rng r;
	value v[MAX_VALUES];
	size_t n;
	const char *const *words;
	size_t n_words;
} values;

static size_t behind_string(const mutate_bytes *b, size_t i)
{
	for (i++; i < b->n && b->data[i] != '"'; i++)
		i += b->data[i] == '\\';
	return i < b->n ? i + 1 : b->n;
}

static bool is_space(uint8_t c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static bool is_sign(uint8_t c)
{
	return c == ',' || c == ':' || c == '{' || c == '}' || c == '[' || c == ']' || c == '"' ||
	       is_space(c);
}

static size_t skip_spaces(const mutate_bytes *b, size_t i)
{
	while (i < b->n && is_space(b->data[i]))
		i++;
	return i;
}

/* Places of all values. Keys are strings with a colon behind them. */
static void find_values(values *x)
{
	const mutate_bytes *b = &x->b;
	size_t open[MAX_DEPTH], depth = 0, key = SIZE_MAX;
	x->n = 0;
	for (size_t i = 0; i < b->n && x->n < MAX_VALUES;) {
		uint8_t c = b->data[i];
		size_t end = i + 1;
		value v = {key == SIZE_MAX ? i : key, i, i, 0, key != SIZE_MAX};
		if (c == '}' || c == ']') {
			if (depth)
				x->v[open[--depth]].to = i + 1;
		} else if (c == '{' || c == '[') {
			v.kind = (char)c;
			if (depth < MAX_DEPTH)
				open[depth++] = x->n;
			x->v[x->n++] = v;
			key = SIZE_MAX;
		} else if (c == '"') {
			end = behind_string(b, i);
			size_t colon = skip_spaces(b, end);
			v.kind = '"';
			v.to = end;
			if (colon < b->n && b->data[colon] == ':' && key == SIZE_MAX) {
				key = i;
				end = colon + 1;
			} else {
				x->v[x->n++] = v;
				key = SIZE_MAX;
			}
		} else if (!is_sign(c)) {
			while (end < b->n && !is_sign(b->data[end]))
				end++;
			v.to = end;
			x->v[x->n++] = v;
			key = SIZE_MAX;
		}
		i = end;
	}
	while (depth)
		x->v[open[--depth]].to = b->n;
}

static const value *any(values *x)
{
	return &x->v[mutate_below(&x->r, x->n)];
}

/* One of a kind ('\0': numbers and words), if a few tries find one. */
static const value *any_of(values *x, char kind)
{
	for (int i = 0; i < 12; i++) {
		const value *v = any(x);
		if (v->kind == kind && v->to > v->from)
			return v;
	}
	return NULL;
}

static const char *number_text(values *x, char buf[40])
{
	static const char *const odd[] = {"-1",     "0.5",  "1e-9", "1e308", "1e400", "-0",
	                                  "1e-320", "null", "true", "false", "1e15",  "1e6",
	                                  "1e-3",   "2",    "1e18", "0.1",   "3",     "4096"};
	uint64_t n = mutate_number(&x->r);
	if (mutate_below(&x->r, 2))
		snprintf(buf, 40, "%s", odd[mutate_below(&x->r, sizeof odd / sizeof *odd)]);
	else if (mutate_below(&x->r, 3))
		snprintf(buf, 40, "%" PRIu64, n);
	else
		snprintf(buf, 40, "%" PRIu64 "e%d", n % 100, (int)mutate_below(&x->r, 40) - 20);
	return buf;
}

static bool put_over(values *x, const value *v, const void *text, size_t len)
{
	return mutate_splice(&x->b, v->from, v->to, text, len);
}

static bool put_word(values *x, const value *v, size_t from, size_t to)
{
	char quoted[80];
	(void)v;
	if (!x->n_words)
		return false;
	int n = snprintf(quoted, sizeof quoted, "\"%s\"", x->words[mutate_below(&x->r, x->n_words)]);
	return mutate_splice(&x->b, from, to, quoted, (size_t)n);
}

static bool change_number(values *x)
{
	char buf[40];
	const value *v = any_of(x, '\0');
	return v && put_over(x, v, number_text(x, buf), strlen(buf));
}

static bool change_string(values *x)
{
	const value *v = any_of(x, '"'), *other = any_of(x, '"');
	if (!v)
		return false;
	if (other && mutate_below(&x->r, 4))
		return put_over(x, v, x->b.data + other->from, other->to - other->from);
	return put_word(x, v, v->from, v->to);
}

static bool change_key(values *x)
{
	const value *v = any(x);
	size_t end = v->member ? behind_string(&x->b, v->key_from) : 0;
	return v->member && put_word(x, v, v->key_from, end);
}

/* An element or member without the comma before or behind it. */
static bool drop(values *x)
{
	const value *v = any(x);
	size_t from = v->key_from, to = skip_spaces(&x->b, v->to);
	if (to < x->b.n && x->b.data[to] == ',') {
		to++;
	} else {
		to = v->to;
		while (from > 0 && is_space(x->b.data[from - 1]))
			from--;
		from -= from > 0 && x->b.data[from - 1] == ',';
	}
	return mutate_splice(&x->b, from, to, "", 0);
}

/* An element or member, and a comma before it, behind another of its sort. */
static bool copy(values *x)
{
	const value *v = any(x), *to = any(x);
	for (int i = 0; i < 8 && to->member != v->member; i++)
		to = any(x);
	if (mutate_below(&x->r, 3) == 0)
		to = v;
	size_t at = to->to, n = v->to - v->key_from, before = x->b.n;
	if (!mutate_splice(&x->b, at, at, x->b.data + v->key_from, n))
		return false;
	(void)before;
	return mutate_splice(&x->b, at, at, ",", 1);
}

static bool put_elsewhere(values *x)
{
	const value *v = any(x), *to = any(x);
	return put_over(x, to, x->b.data + v->from, v->to - v->from);
}

static bool swap(values *x)
{
	const value *a = any(x), *b = any(x);
	const value *first = a->from < b->from ? a : b, *second = a->from < b->from ? b : a;
	uint8_t kept[256];
	size_t n = second->to - second->from;
	if (first->to > second->from || n > sizeof kept)
		return false;
	memcpy(kept, x->b.data + second->from, n);
	return put_over(x, second, x->b.data + first->from, first->to - first->from) &&
	       put_over(x, first, kept, n);
}

static bool add_member(values *x)
{
	char text[120], buf[40];
	const value *v = any_of(x, '{');
	if (!v || !x->n_words)
		return false;
	const char *key = x->words[mutate_below(&x->r, x->n_words)];
	bool empty = skip_spaces(&x->b, v->from + 1) + 1 >= v->to;
	static const char *const shape[] = {"[]", "{}", "\"\"", "true"};
	size_t k = mutate_below(&x->r, 8);
	int n = snprintf(text, sizeof text, "\"%s\":%s%s", key, k < 4 ? shape[k] : number_text(x, buf),
	                 empty ? "" : ",");
	return mutate_splice(&x->b, v->from + 1, v->from + 1, text, (size_t)n);
}

static bool other_kind(values *x)
{
	static const char *const text[] = {"null", "[]", "{}", "\"\"", "0", "true", "-1.5", "[[]]"};
	const char *s = text[mutate_below(&x->r, sizeof text / sizeof *text)];
	return put_over(x, any(x), s, strlen(s));
}

static bool wrap(values *x)
{
	const value *v = any(x);
	return mutate_splice(&x->b, v->to, v->to, "]", 1) && mutate_splice(&x->b, v->from, v->from, "[", 1);
}

/* libFuzzer's own changes inside one string or number, or of all. */
static bool change_bytes(values *x)
{
	uint8_t part[128];
	const value *v = any(x);
	size_t n = v->to - v->from;
	if (n > 60 || mutate_below(&x->r, 8) == 0) {
		x->b.n = LLVMFuzzerMutate(x->b.data, x->b.n, x->b.max);
		return true;
	}
	memcpy(part, x->b.data + v->from, n);
	return put_over(x, v, part, LLVMFuzzerMutate(part, n, sizeof part));
}

size_t mutate_json(uint8_t *data, size_t size, size_t max, unsigned seed, const char *const *words)
{
	static bool (*const change[])(values * x) = {
		change_number, change_number, change_string, change_string, change_key,  drop,
		drop,          copy,          copy,          put_elsewhere, swap,        add_member,
		add_member,    other_kind,    wrap,          change_bytes,  change_bytes};
	values x = {.b = {data, size, max}, .r = mutate_seed(seed), .words = words};
	while (words && words[x.n_words])
		x.n_words++;
	for (size_t left = 1 + mutate_below(&x.r, 4); left > 0; left--) {
		find_values(&x);
		if (!x.n)
			return LLVMFuzzerMutate(data, x.b.n, max);
		for (int tries = 0; tries < 6; tries++)
			if (change[mutate_below(&x.r, sizeof change / sizeof *change)](&x))
				break;
	}
	return x.b.n;
}

/* ---- lines ---- */

typedef struct line {
	size_t from, to; /* without its newline */
} line;

static size_t find_lines(const mutate_bytes *b, line *l, size_t most)
{
	size_t n = 0, from = 0;
	for (size_t i = 0; i <= b->n && n < most; i++)
		if (i == b->n || b->data[i] == '\n') {
			l[n++] = (line){from, i};
			from = i + 1;
		}
	return n;
}

static void change_line(mutate_bytes *b, line l, mutate_rng *r, const char *const *words)
{
	uint8_t part[4096];
	size_t n = l.to - l.from;
	if (n > sizeof part / 2)
		return;
	memcpy(part, b->data + l.from, n);
	n = mutate_json(part, n, sizeof part, mutate_draw(r), words);
	mutate_splice(b, l.from, l.to, part, n);
}

size_t mutate_lines(uint8_t *data, size_t size, size_t max, unsigned seed, const char *const *words)
{
	enum { MAX_LINES = 64 };
	mutate_bytes b = {data, size, max};
	mutate_rng r = mutate_seed(seed);
	line l[MAX_LINES];
	size_t n = find_lines(&b, l, MAX_LINES);
	line one = l[mutate_below(&r, n)], other = l[mutate_below(&r, n)];
	switch (mutate_below(&r, 12)) {
	case 0:
		mutate_splice(&b, one.from, one.to + (one.to < b.n), "", 0);
		break;
	case 1:
		if (mutate_splice(&b, other.from, other.from, b.data + one.from, one.to - one.from))
			mutate_splice(&b, other.from + one.to - one.from, other.from + one.to - one.from,
			              "\n", 1);
		break;
	case 2:
		mutate_splice(&b, one.from, one.to, b.data + other.from, other.to - other.from);
		break;
	case 3:
		mutate_splice(&b, one.from + mutate_below(&r, one.to - one.from + 1), b.n, "", 0);
		break;
	case 4:
		mutate_splice(&b, one.to, one.to + (one.to < b.n), "", 0);
		break;
	case 5:
		b.n = LLVMFuzzerMutate(data, b.n, max);
		break;
	default:
		change_line(&b, one, &r, words);
	}
	return b.n;
}
