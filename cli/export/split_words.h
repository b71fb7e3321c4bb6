/* What `berth split` is told: operators, axes and shares as words. */
#ifndef BERTH_CLI_SPLIT_WORDS_H
#define BERTH_CLI_SPLIT_WORDS_H

#include "cli.h"
#include "pieces.h"

typedef struct split_words {
	cli_texts cut, types; /* NAME=AXIS:SHARES; types of operators */
	const char *parts;    /* K, or shares; NULL: not given */
	const char *rows;     /* "send" or "twice"; NULL: send */
	const char *style;    /* "cheapest", "data" or "tensor"; NULL: cheapest */
	const char *out, *data;
	const char *on; /* a machine to search for; NULL: not given */
} split_words;

/* Into opt, in mem. Fails: BERTH_EINVAL, BERTH_ENOMEM. */
berth_status split_words_read(const split_words *w, berth_arena *mem, pieces_options *opt, berth_err *err);

#endif
