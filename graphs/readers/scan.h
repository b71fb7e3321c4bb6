/* A text being read, for formats that are no JSON: a place in it, and messages that tell line and column.
 * Nothing is copied. */
#ifndef BERTH_SCAN_H
#define BERTH_SCAN_H

#include "status.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct scan {
	const char *file, *text;
	size_t size, at;
} scan;

/* A part of the text, not ended by 0. */
typedef struct scan_word {
	const char *text;
	size_t n;
} scan_word;

/* Where the content of a text begins: past spaces, comments of any of the formats, and the mark of UTF-8.
 * At its end where data is no text. For telling formats apart; it has no name for messages. */
scan scan_begin(const char *data, size_t size);

/* "FILE:LINE:COLUMN: ..." of the byte at; always returns BERTH_EFORMAT. */
berth_status scan_fail(const scan *s, size_t at, berth_err *err, const char *fmt, ...) BERTH_PRINTF(4, 5);
/* The same place before the message of a callee that knows none, where st is BERTH_EFORMAT. Returns st. */
berth_status scan_placed(const scan *s, size_t at, berth_status st, berth_err *err);

bool scan_end(const scan *s);
/* The byte here; 0 at the end. */
char scan_peek(const scan *s);
/* Past spaces and line breaks. */
void scan_spaces(scan *s);
/* Past word, if it stands here. */
bool scan_take(scan *s, const char *word);
/* Past all up to and with word; false (and to the end) where it does not occur. */
bool scan_past(scan *s, const char *word);

bool scan_is(scan_word w, const char *text);
/* The same without regard to case. */
bool scan_is_any_case(scan_word w, const char *text);
/* Is w a number, finite and not negative? */
bool scan_number(scan_word w, double *out);

#endif
