/* --granularity G[:max-cuts=N]: rules that a verb lays on the graphs it reads. */
#pragma once

#include "granularity.h"
#include "options.h"
#include "result.h"
#include "yardsticks.h"

typedef struct cli_granularity {
	const char *name; /* a grain, or a file; NULL: not given */
	int64_t max_cuts; /* -1: not given */
} cli_granularity;

cli_granularity cli_granularity_default(void);

#define CLI_GRANULARITY(x) \
	{"granularity", 0, CLI_FILE_IN, &(x)->name, "G", \
	 "what stands on one device as a whole: op, block, layer, kernel, or a file of blocks; with " \
	 ":max-cuts=N behind it at most N borders between blocks that follow each other are on two " \
	 "devices\top; --for accelerate or vllm: layer; --for ort: kernel"}

/* Take the number of cuts off the name; without a name, what the engine of --for keeps whole. Once,
 * before the others. Fails: BERTH_EINVAL, BERTH_ENOMEM. */
berth_status cli_granularity_open(cli *c, cli_granularity *x, berth_err *err);

/* Is there anything to keep to? */
bool cli_granularity_binds(const cli_granularity *x);

/* The blocks of g, in c->mem. Fails: BERTH_EINVAL (neither a word nor a file), and as
 * berth_granularity_find and berth_granularity_read do. */
berth_status cli_granularity_blocks(cli *c, const cli_granularity *x, const berth_graph *g,
                                    berth_granularity *out, berth_err *err);

/* g with the rules, in c->mem. Nothing where none bind. Fails: as above. */
berth_status cli_granularity_apply(cli *c, const cli_granularity *x, berth_graph *g, berth_err *err);

/* What they cost: a line of text; a result, NULL where it is not known. */
void place_price_print(const cli_granularity *x, const berth_finer *price, const berth_solution *r);
extern const berth_result_kind price_kind;
const berth_result *place_price_result(cli *c, const cli_granularity *x, const berth_finer *price);
