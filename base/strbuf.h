/* A growing text in an arena. A failed allocation sticks and is told at the end. */
#ifndef BERTH_STRBUF_H
#define BERTH_STRBUF_H

#include "arena.h"

#include <stdbool.h>

typedef struct berth_strbuf {
	berth_arena *mem; /* set by the caller, the rest zero */
	char *text;
	size_t len, cap;
	bool failed;
} berth_strbuf;

/* text may be NULL where n is 0. */
void berth_strbuf_add(berth_strbuf *b, const char *text, size_t n);
void berth_strbuf_printf(berth_strbuf *b, const char *fmt, ...) BERTH_PRINTF(2, 3);
/* The text with a closing 0. Fails: BERTH_ENOMEM. */
berth_status berth_strbuf_done(berth_strbuf *b, const char **text, size_t *len, berth_err *err);

#endif
