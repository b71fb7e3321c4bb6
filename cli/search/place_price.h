/* What a granularity and a limit of cuts cost, told (yardsticks.h). */
#ifndef BERTH_CLI_PLACE_PRICE_H
#define BERTH_CLI_PLACE_PRICE_H

#include "cli_granularity.h"
#include "json.h"
#include "yardsticks.h"

/* A line of text; members of the object that is open. Nothing where it is not known. */
void place_price_print(const cli_granularity *x, const berth_finer *price, const berth_solution *r);
void place_price_put(berth_json_out *w, const cli_granularity *x, const berth_finer *price);

#endif
