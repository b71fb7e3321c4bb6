/* What a granularity and a limit of cuts cost, told (yardsticks.h). */
#pragma once

#include "cli_granularity.h"
#include "result.h"
#include "yardsticks.h"

/* A line of text; a result, NULL where it is not known. */
void place_price_print(const cli_granularity *x, const berth_finer *price, const berth_solution *r);
extern const berth_result_kind price_kind;
const berth_result *place_price_result(cli *c, const cli_granularity *x, const berth_finer *price);
