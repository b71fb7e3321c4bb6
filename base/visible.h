/* Foreign words made fit to be seen: names from files, words of engines, arguments. A terminal obeys what
 * some characters say; a person does not see others. Both come out as the letters that stand for them. */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the well-formed UTF-8 character (RFC 3629) at text[0], n > 0, and which it is. 0: no such
 * character. */
int berth_text_utf8(const char *text, size_t n, uint32_t *code);

/* Longest text that stands for a character or a byte, with its closing 0. */
enum { BERTH_VISIBLE_MOST = 11 };

/* One character of a text, as it is shown. */
typedef struct berth_visible_char {
	char shown[BERTH_VISIBLE_MOST];
	int used;  /* bytes of the text that it stands for, from 1 on */
	int cells; /* columns of a terminal: 0, 1 or 2 where it is shown as it is */
} berth_visible_char;

/* The character at text[0], n > 0. Shown as it is, or in the letters of C: \n \t \r and \x1b for control
 * characters and bytes that are no UTF-8, \u202e and \U000e0001 for characters that are not seen or that turn
 * the direction (the controls of C1, separators of lines, format characters, Default_Ignorable_Code_Point of
 * Unicode 15). A backslash stays one, so that what was made visible once stays as it is. */
berth_visible_char berth_visible_at(const char *text, size_t n);

/* Text up to n bytes (or its end) in out, of which size > 0 bytes are used at most: cut between characters,
 * with a closing 0. Neither may overlap. Returns out. */
char *berth_visible_copy(char *out, size_t size, const char *text, size_t n);

/* Columns that a terminal takes for text up to n bytes, made visible (or its end). East Asian wide
 * characters take two, combining ones none (the usual blocks). */
size_t berth_visible_width(const char *text, size_t n);

/* ---- printf of foreign words ----
 *
 * * What a caller writes in a format is trusted; what comes in through it is not, for it may stand in a
 * file that somebody else made: every %s and %c is made visible. */

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
