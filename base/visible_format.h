/* printf of foreign words. What a caller writes in a format is trusted; what comes in through it is not, for
 * it may stand in a file that somebody else made: every %s and %c is made visible (visible.h). */
#ifndef BERTH_VISIBLE_FORMAT_H
#define BERTH_VISIBLE_FORMAT_H

#include <stdarg.h>
#include <stddef.h>

/* Where the text goes, piece by piece; no character is cut in two. */
typedef struct berth_visible_sink {
	void (*put)(void *to, const char *text, size_t n);
	void *to;
} berth_visible_sink;

/* Widths of %s count the columns that are shown; a precision counts bytes of the text, less the first bytes
 * of a character that it would cut in two. The list is as before. */
void berth_visible_vformat(const berth_visible_sink *to, const char *fmt, va_list list);

/* The same into out, of which size > 0 bytes are used at most: cut between characters, with a closing 0. What
 * the list has may stand in no part of out. Returns out. */
char *berth_visible_vprint(char *out, size_t size, const char *fmt, va_list list);

#endif
