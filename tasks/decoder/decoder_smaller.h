/* The smallest changes that let a language model fit that does not: fewer tokens, smaller types of the cache
 * or of weights, fewer sequences, parts of layers (experts) on other devices. Each is verified by placing. */
#pragma once

#include "decoder_uses.h"

enum { BERTH_MOST_SMALLER = 8 };

/* What is changed is above 0, or not NULL. */
typedef struct berth_smaller_change {
	const char *kind; /* "context", "cache", "weights", "batch", "granularity", "together" */
	int64_t context, batch;
	const char *cache, *weights; /* types */
	const char *granularity;     /* a finer one: */
	int32_t layers;              /* so many stand on several devices, */
	bool experts;                /* some with experts apart, */
	const char *device;          /* most of which are there */
} berth_smaller_change;

typedef struct berth_smaller {
	berth_smaller_change item[BERTH_MOST_SMALLER];
	int32_t n;
	bool cut_short; /* the time was over before all was tried */
} berth_smaller;

/* Find them for the model of x, which is not changed.
 *   how    loads the model by its words; it is asked often, and is to tell nobody
 *   cfg    objective and seed of the placements that verify; each takes a few hundred evaluations
 *   until  nothing more is tried behind it
 * Together changes are told only where none alone is enough. Fails: BERTH_ENOMEM, BERTH_EIO. */
berth_status berth_smaller_find(const berth_decoder *x, const berth_decoder_cfg *how,
                                const berth_search_cfg *cfg, const berth_patience *until, berth_arena *mem,
                                berth_arena *tmp, berth_smaller *out, berth_err *err);
