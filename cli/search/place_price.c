/* Tells what a granularity and a limit of cuts cost: as a line of text, and as members of a document. */
#include "place_price.h"

#include "print.h"
#include "say.h"

#include <math.h>

void place_price_print(const cli_granularity *x, const berth_finer *price, const berth_solution *r)
{
	char text[160], value[32], percent[32];
	if (!price->known)
		return;
	cli_granularity_text(x, text, sizeof text);
	cli_value(value, &r->objective, price->value);
	if (price->cost > 0)
		cli_say("%s cost%s %s against single operators (%s)\n", text, x->max_cuts >= 0 ? "" : "s",
		        cli_percent(percent, price->cost), value);
	else if (r->feasible && !isnan(price->value))
		cli_say("%s cost%s nothing: single operators come to %s with the same budget\n", text,
		        x->max_cuts >= 0 ? "" : "s", value);
	else if (r->feasible)
		cli_say("single operators come to nothing that fits with the same budget\n");
	else if (!isnan(price->value))
		cli_say("without %s there is a placement: %s\n", text, value);
}

#define PRICE(K, IF) \
	K(TEXT, "name", "", "`op`, `block`, `layer` or the file", \
	  x->name ? x->name : berth_grain_name(BERTH_GRAIN_OP)) \
	IF(x->max_cuts >= 0, INT, "max_cuts", "", "only with `:max-cuts=N`", x->max_cuts) \
	IF(x->max_cuts >= 0, INT, "cuts", "", "the same: those of the answer; -1: there is none", \
	  price->cuts) \
	K(NUMBER_OR_NULL, "finer_value", "of the objective", "of single operators; null: nothing fits", \
	  price->value) \
	K(NUMBER_OR_NULL, "cost", "share", \
	  "value / finer_value - 1, at least 0; null: one of them is missing", \
	  price->cost)
RESULT_KIND(price_kind, "", "", PRICE);

const berth_result *place_price_result(cli *c, const cli_granularity *x, const berth_finer *price)
{
	return price->known ? RESULT_NEW(&c->mem, price_kind, PRICE) : NULL;
}
