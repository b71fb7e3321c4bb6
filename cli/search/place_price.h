/* What a granularity and a limit of cuts cost: the same method with the same budget without them. */
#ifndef BERTH_CLI_PLACE_PRICE_H
#define BERTH_CLI_PLACE_PRICE_H

#include "cli_granularity.h"
#include "json.h"
#include "solve.h"

typedef struct place_price {
	bool known;
	double value;       /* of single operators; NAN: nothing was found that fits */
	double cost;        /* coarse value / finer value - 1, at least 0; NAN: one of them is not known */
	int64_t cuts;       /* of the answer; -1: cuts are not limited */
} place_price;

/* Solve `whole` on the system of r's problem by r's method, and put that beside r. A finer plan is never
 * worse: the coarse one is legal there too. Nothing is asked where no rules bind. Fails: as berth_solve does.
 * */
berth_status place_price_find(cli *c, const cli_granularity *x, const berth_graph *whole,
                              const berth_solution *r, const berth_search_cfg *cfg, place_price *out,
                              berth_err *err);

/* A line of text; members of the object that is open. Nothing where it is not known. */
void place_price_print(const cli_granularity *x, const place_price *price, const berth_solution *r);
void place_price_put(berth_json_out *w, const cli_granularity *x, const place_price *price);

#endif
