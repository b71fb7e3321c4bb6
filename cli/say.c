/* Printing; see say.h. */
#include "say.h"

#include "visible_format.h"

#include <stdio.h>
#include <string.h>

enum { BUFFER = 1024 };

/* A stream, and what is on its way there: standard error has no buffer of its own. */
typedef struct way {
	FILE *to;
	size_t n;
	char text[BUFFER];
} way;

static void send(way *w)
{
	fwrite(w->text, 1, w->n, w->to);
	w->n = 0;
}

static void put(void *to, const char *text, size_t n)
{
	way *w = to;
	while (n) {
		size_t part = n < BUFFER - w->n ? n : BUFFER - w->n;
		memcpy(w->text + w->n, text, part);
		w->n += part;
		text += part;
		n -= part;
		if (w->n == BUFFER)
			send(w);
	}
}

static void say(FILE *stream, const char *fmt, va_list args)
{
	way w = {.to = stream};
	berth_visible_vformat(&(berth_visible_sink){put, &w}, fmt, args);
	send(&w);
}

void cli_say(const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	say(stdout, fmt, args);
	va_end(args);
}

void cli_vsay_error(const char *fmt, va_list args)
{
	say(stderr, fmt, args);
}

void cli_say_error(const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	cli_vsay_error(fmt, args);
	va_end(args);
}

void cli_say_blanks(size_t n)
{
	for (; n; n--)
		putchar(' ');
}

void cli_put_document(const char *text, size_t n)
{
	fwrite(text, 1, n, stdout);
}
