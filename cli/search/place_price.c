/* See place_price.h. */
#include "place_price.h"

#include "cuts.h"
#include "print.h"
#include "say.h"

#include <math.h>

static berth_status solve_finer(cli *c, const berth_graph *whole, const berth_solution *r,
                                const berth_search_cfg *cfg, berth_solution *out, berth_err *err)
{
	berth_problem *p;
	berth_bounds bounds;
	berth_search_cfg quiet = *cfg;
	quiet.progress = NULL;
	quiet.time_from = quiet.cpu_from = 0; /* the same budget once more */
	quiet.write_model = NULL;
	BERTH_TRY(BERTH_NEW(&c->mem, p, 1, err));
	BERTH_TRY(berth_problem_new(whole, r->p->s, &c->mem, &c->tmp, p, err));
	BERTH_TRY(berth_bounds_new(p, &c->tmp, &bounds, err));
	return berth_solve(p, &bounds, r->method, &quiet, &c->mem, &c->tmp, out, err);
}

berth_status place_price_find(cli *c, const cli_granularity *x, const berth_graph *whole,
                              const berth_solution *r, const berth_search_cfg *cfg, place_price *out,
                              berth_err *err)
{
	berth_solution finer;
	if (!cli_granularity_binds(x) || r->interrupted)
		return BERTH_OK;
	BERTH_TRY(solve_finer(c, whole, r, cfg, &finer, err));
	*out = (place_price){.known = !finer.interrupted,
	                     .value = finer.feasible ? finer.value : NAN,
	                     .cost = NAN,
	                     .cuts = r->p->max_cuts >= 0 && r->answered ? berth_cuts(r->p, r->op_dev) : -1};
	if (r->feasible && finer.feasible)
		out->cost = finer.value < r->value ? r->value / finer.value - 1 : 0;
	return BERTH_OK;
}

void place_price_print(const cli_granularity *x, const place_price *price, const berth_solution *r)
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

void place_price_put(berth_json_out *w, const cli_granularity *x, const place_price *price)
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
