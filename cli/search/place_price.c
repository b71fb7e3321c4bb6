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

void place_price_put(berth_json_out *w, const cli_granularity *x, const berth_finer *price)
{
	if (!price->known)
		return;
	berth_json_open(w, "granularity", '{');
	berth_json_put_string(w, "name", x->name ? x->name : berth_grain_name(BERTH_GRAIN_OP));
	if (x->max_cuts >= 0) {
		berth_json_put_int(w, "max_cuts", x->max_cuts);
		berth_json_put_int(w, "cuts", price->cuts);
	}
	berth_json_put_number(w, "finer_value", price->value);
	berth_json_put_number(w, "cost", price->cost);
	berth_json_close(w, '}');
}
