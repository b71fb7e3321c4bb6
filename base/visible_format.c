/* printf of foreign words; see visible_format.h. The formats of C, but for %n, %p, long double and wide
 * characters; numbers go through snprintf. */
#include "visible_format.h"

#include "visible.h"

#include <assert.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void put_visible(const berth_visible_sink *to, const char *text, size_t n)
{
	for (size_t i = 0; i < n;) {
		berth_visible_char c = berth_visible_at(text + i, n - i);
		to->put(to->to, c.shown, strlen(c.shown));
		i += (size_t)c.used;
	}
}

static void put_text(const berth_visible_sink *to, const spec *s, const char *text)
{
	size_t n = s->precision < 0 ? strlen(text) : strnlen(text, (size_t)s->precision);
	if (s->precision >= 0 && n == (size_t)s->precision)
		n = berth_visible_whole(text, n);
	size_t own = s->width ? berth_visible_width(text, n) : 0;
	size_t pad = (size_t)s->width > own ? (size_t)s->width - own : 0;
	bool left = strchr(s->flags, '-');
	put_blanks(to, left ? 0 : pad);
	put_visible(to, text, n);
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

static void put_number(const berth_visible_sink *to, const spec *s, arguments *args)
{
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
		put_number(to, s, args);
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
	size_t part = n < room ? n : berth_visible_whole(text, room);
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
