/* The smallest changes that let a language model fit that does not: fewer tokens, smaller types of the cache
 * or of weights, fewer sequences, parts of layers (experts) on other devices. Each is verified by placing. */
#ifndef BERTH_CLI_PLACE_SMALLER_H
#define BERTH_CLI_PLACE_SMALLER_H

#include "place_decoder.h"

enum { PLACE_SMALLER_MOST = 8 };

typedef struct place_smaller {
	struct {
		const char *kind; /* "context", "cache", "weights", "batch", "granularity", "together" */
		const char *text; /* "--ctx 6144" */
	} item[PLACE_SMALLER_MOST];
	int32_t n;
	bool cut_short; /* the time was over before all was tried */
} place_smaller;

/* Find them for the model of x, which is not changed.
 *   cfg    objective and seed of the placements that verify; each takes a few hundred evaluations
 *   until  nothing more is tried behind it
 * Together changes are told only where none alone is enough. Fails: BERTH_ENOMEM, BERTH_EIO. */
berth_status place_smaller_find(cli *c, const place_decoder *x, const char *system,
                                const cli_granularity *granularity, const berth_search_cfg *cfg,
                                const berth_patience *until, place_smaller *out, berth_err *err);

void place_smaller_print(const place_smaller *s);
/* "smaller":[{kind, text}]. */
void place_smaller_put(berth_json_out *w, const place_smaller *s);

#endif
