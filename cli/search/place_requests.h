/* --requests: copies of the model for requests of unlike sizes, for throughput. */
#pragma once

#include "budget.h"
#include "methods.h"

typedef struct place_requests_args {
	cli_texts given;      /* SHARE:WORDS */
	const char *replicas; /* "auto" or the most copies */
	const char *on, *out; /* out NULL: not asked for */
} place_requests_args;

/* Load the model at each size, choose the copies, write and tell. Fails: BERTH_EINVAL (a bad share, too many
 * sizes, more than one model, another objective), BERTH_EINFEASIBLE (no copy fits), and as loading,
 * berth_mix_choose and writing do. */
berth_status place_requests(cli *c, const place_requests_args *a, const cli_budget *budget,
                            const berth_method *method, berth_err *err);
