/* What would let a language model fit that does not (decoder_smaller.h), told in words of the command line.
 */
#pragma once

#include "decoder_smaller.h"
#include "place_decoder.h"
#include "result.h"

typedef struct place_smaller {
	berth_smaller found;
	const char *text[BERTH_MOST_SMALLER]; /* [found.n] "context=6144" */
} place_smaller;

/* berth_smaller_find for the model of x. */
berth_status place_smaller_find(cli *c, place_decoder *x, const berth_search_cfg *cfg,
                                const berth_patience *until, place_smaller *out, berth_err *err);

void place_smaller_print(const place_smaller *s);
extern const berth_result_kind smaller_kind;
const berth_result_list *place_smaller_list(cli *c, const place_smaller *s);
