/* Foreign words made fit to be seen, by the tables of Unicode, and printf of them: the formats of C, but for
 * %n, %p, long double and wide characters; numbers go through snprintf. */
#include "visible.h"

#include <assert.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int berth_text_utf8(const char *text, size_t n, uint32_t *code)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *p = (const unsigned char *)text;
	int len = *p < 0x80 ? 1 : *p >> 5 == 6 ? 2 : *p >> 4 == 14 ? 3 : *p >> 3 == 30 ? 4 : 0;
	if (len == 0 || (size_t)len > n)
		return 0;
	uint32_t c = len == 1 ? *p : *p & (0x7fu >> len);
	for (int i = 1; i < len; i++) {
		if (p[i] >> 6 != 2)
			return 0;
		c = c << 6 | (p[i] & 63u);
	}
	if (c < least[len] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	*code = c;
	return len;
}

typedef struct range {
	uint32_t first, last;
} range;

/* Not seen, or they turn the direction: Cf, Zl, Zp and Default_Ignorable_Code_Point of Unicode 15. */
static const range hidden[] = {
	{0x80, 0x9f},       {0xad, 0xad},       {0x34f, 0x34f},     {0x600, 0x605},     {0x61c, 0x61c},
	{0x6dd, 0x6dd},     {0x70f, 0x70f},     {0x890, 0x891},     {0x8e2, 0x8e2},     {0x115f, 0x1160},
	{0x17b4, 0x17b5},   {0x180b, 0x180f},   {0x200b, 0x200f},   {0x2028, 0x202e},   {0x2060, 0x206f},
	{0x3164, 0x3164},   {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},   {0xfff0, 0xfffb},
	{0x110bd, 0x110bd}, {0x110cd, 0x110cd}, {0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
	{0xe0000, 0xe0fff},
};

/* Marks that stand on the character before. */
static const range combining[] = {
	{0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},   {0x610, 0x61a},   {0x64b, 0x65f},
	{0x6d6, 0x6dc},   {0x900, 0x902},   {0x93c, 0x93c},   {0x941, 0x948},   {0x94d, 0x94d},
	{0xe31, 0xe31},   {0xe34, 0xe3a},   {0xe47, 0xe4e},   {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff},
	{0x20d0, 0x20f0}, {0x3099, 0x309a}, {0xfe20, 0xfe2f},
};

/* Two columns each: East_Asian_Width W and F by their blocks. */
static const range wide[] = {
	{0x1100, 0x115e},   {0x2e80, 0x303e},   {0x3041, 0x3098},   {0x309b, 0x33ff},   {0x3400, 0x4dbf},
	{0x4e00, 0xa4cf},   {0xa960, 0xa97f},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe6f},
	{0xff00, 0xff60},   {0xffe0, 0xffe6},   {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff},
	{0x20000, 0x3fffd},
};

static bool is_in(const range *list, size_t n, uint32_t code)
{
	for (size_t i = 0; i < n; i++)
		if (code >= list[i].first && code <= list[i].last)
			return true;
	return false;
}

#define IS_IN(list, code) is_in(list, sizeof(list) / sizeof *(list), code)

berth_visible_char berth_visible_at(const char *text, size_t n)
{
	berth_visible_char c = {.used = 1, .cells = 1};
	unsigned char byte = (unsigned char)text[0];
	uint32_t code = 0;
	int len = berth_text_utf8(text, n, &code);
	if (byte >= ' ' && byte < 127)
		c.shown[0] = text[0];
	else if (byte == '\n' || byte == '\t' || byte == '\r')
		snprintf(c.shown, sizeof c.shown, "\\%c", byte == '\n' ? 'n' : byte == '\t' ? 't' : 'r');
	else if (len <= 1)
		snprintf(c.shown, sizeof c.shown, "\\x%02x", (unsigned)byte);
	else if (IS_IN(hidden, code))
		snprintf(c.shown, sizeof c.shown, code > 0xffff ? "\\U%08lx" : "\\u%04lx",
		         (unsigned long)code);
	else
		memcpy(c.shown, text, (size_t)len);
	c.used = len > 1 ? len : 1;
	if (len > 1 && c.shown[0] != '\\')
		c.cells = IS_IN(combining, code) ? 0 : IS_IN(wide, code) ? 2 : 1;
	else
		c.cells = (int)strlen(c.shown);
	return c;
}

char *berth_visible_copy(char *out, size_t size, const char *text, size_t n)
{
	size_t len = 0;
	n = strnlen(text, n);
	for (size_t i = 0; i < n;) {
		berth_visible_char c = berth_visible_at(text + i, n - i);
		size_t more = strlen(c.shown);
		if (more >= size - len)
			break;
		memcpy(out + len, c.shown, more);
		len += more;
		i += (size_t)c.used;
	}
	out[len] = '\0';
	return out;
}

size_t berth_visible_width(const char *text, size_t n)
{
	size_t cells = 0;
	n = strnlen(text, n);
	for (size_t i = 0; i < n;) {
		berth_visible_char c = berth_visible_at(text + i, n - i);
		cells += (size_t)c.cells;
		i += (size_t)c.used;
	}
	return cells;
}

/* n, less the first bytes of a character that ends behind text[n - 1]. */
static size_t whole_length(const char *text, size_t n)
{
	static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
	for (size_t back = 1; back <= 3 && back <= n; back++) {
		unsigned char c = (unsigned char)text[n - back];
		if (c >> 6 != 2)
			return c >= lead[back] ? n - back : n;
	}
	return n;
}

/* ---- printf ---- */

/* One conversion of a format. */
typedef struct spec {
	char flags[8], length[3], kind;
	int width, precision; /* -1: none */
} spec;

/* A list of arguments that a function may take from. */
typedef struct arguments {
	va_list list;
} arguments;

enum { NUMBER_MOST = 512 };

static int read_count(const char **p, arguments *args)
{
	if (**p == '*') {
		++*p;
		return va_arg(args->list, int);
	}
	char *end;
	long n = strtol(*p, &end, 10);
	*p = end;
	return n < INT_MAX ? (int)n : INT_MAX;
}

/* What stands behind a %. Returns the text after it. */
static const char *read_spec(const char *p, arguments *args, spec *s)
{
	*s = (spec){.width = 0, .precision = -1};
	size_t n = strspn(p, "-+ #0");
	assert(n < sizeof s->flags - 1);
	memcpy(s->flags, p, n);
	p += n;
	if (*p == '*' || (*p >= '1' && *p <= '9'))
		s->width = read_count(&p, args);
	if (*p == '.') {
		p++;
		s->precision = *p == '*' || (*p >= '0' && *p <= '9') ? read_count(&p, args) : 0;
	}
	if (s->width < 0) {
		s->flags[n] = '-';
		s->width = s->width > -INT_MAX ? -s->width : INT_MAX;
	}
	n = strspn(p, "hlzjt");
	assert(n < sizeof s->length);
	memcpy(s->length, p, n);
	s->kind = p[n];
	return p + n + 1;
}

static void put_blanks(const berth_visible_sink *to, size_t n)
{
	for (; n; n--)
		to->put(to->to, " ", 1);
}

static void put_text(const berth_visible_sink *to, const spec *s, const char *text)
{
	size_t n = s->precision < 0 ? strlen(text) : strnlen(text, (size_t)s->precision);
	if (s->precision >= 0 && n == (size_t)s->precision)
		n = whole_length(text, n);
	size_t own = s->width ? berth_visible_width(text, n) : 0;
	size_t pad = (size_t)s->width > own ? (size_t)s->width - own : 0;
	bool left = strchr(s->flags, '-');
	put_blanks(to, left ? 0 : pad);
	for (size_t i = 0; i < n;) {
		berth_visible_char c = berth_visible_at(text + i, n - i);
		to->put(to->to, c.shown, strlen(c.shown));
		i += (size_t)c.used;
	}
	put_blanks(to, left ? pad : 0);
}

static long long take_signed(const spec *s, arguments *args)
{
	switch (s->length[0]) {
	case 'l':
		return s->length[1] ? va_arg(args->list, long long) : va_arg(args->list, long);
	case 'z':
		return (long long)va_arg(args->list, size_t);
	case 'j':
		return (long long)va_arg(args->list, intmax_t);
	case 't':
		return (long long)va_arg(args->list, ptrdiff_t);
	default:
		return va_arg(args->list, int);
	}
}

static unsigned long long take_unsigned(const spec *s, arguments *args)
{
	switch (s->length[0]) {
	case 'l':
		return s->length[1] ? va_arg(args->list, unsigned long long)
		                    : va_arg(args->list, unsigned long);
	case 'z':
		return va_arg(args->list, size_t);
	case 'j':
		return va_arg(args->list, uintmax_t);
	case 't':
		return (unsigned long long)va_arg(args->list, ptrdiff_t);
	default:
		return va_arg(args->list, unsigned);
	}
}

static void put_one(const berth_visible_sink *to, const spec *s, arguments *args)
{
	if (s->kind == 's') {
		const char *text = va_arg(args->list, const char *);
		put_text(to, s, text ? text : "(none)");
	} else if (s->kind == 'c') {
		char one[2] = {(char)va_arg(args->list, int), '\0'};
		put_text(to, s, one);
	} else if (s->kind == '%') {
		to->put(to->to, "%", 1);
	} else {
		assert(s->kind && strchr("diouxXeEfFgGaA", s->kind));
		char fmt[32], number[NUMBER_MOST];
		bool whole = strchr("diouxX", s->kind);
		snprintf(fmt, sizeof fmt, "%%%s*.*%s%c", s->flags, whole ? "ll" : "", s->kind);
		int width = s->width < NUMBER_MOST ? s->width : NUMBER_MOST - 1;
		if (s->kind == 'd' || s->kind == 'i')
			snprintf(number, sizeof number, fmt, width, s->precision, take_signed(s, args));
		else if (whole)
			snprintf(number, sizeof number, fmt, width, s->precision, take_unsigned(s, args));
		else
			snprintf(number, sizeof number, fmt, width, s->precision, va_arg(args->list, double));
		to->put(to->to, number, strlen(number));
	}
}

void berth_visible_vformat(const berth_visible_sink *to, const char *fmt, va_list list)
{
	arguments args;
	va_copy(args.list, list);
	while (*fmt) {
		size_t n = strcspn(fmt, "%");
		to->put(to->to, fmt, n);
		fmt += n;
		if (*fmt) {
			spec s;
			fmt = read_spec(fmt + 1, &args, &s);
			put_one(to, &s, &args);
		}
	}
	va_end(args.list);
}

typedef struct buffer {
	char *text;
	size_t size, len;
} buffer;

static void put_in_buffer(void *to, const char *text, size_t n)
{
	buffer *b = to;
	size_t room = b->size - 1 - b->len;
	size_t part = n < room ? n : whole_length(text, room);
	memcpy(b->text + b->len, text, part);
	b->len += part;
	if (part < n)
		b->size = b->len + 1; /* nothing behind a gap */
	b->text[b->len] = '\0';
}

char *berth_visible_vprint(char *out, size_t size, const char *fmt, va_list list)
{
	buffer b = {out, size, 0};
	out[0] = '\0';
	berth_visible_vformat(&(berth_visible_sink){put_in_buffer, &b}, fmt, list);
	return out;
}
