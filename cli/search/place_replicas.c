/* The options of copies of a model are read and held against each other, the number of copies is chosen
 * (replicas.h), and told. */
#include "place_replicas.h"

#include "copies_print.h"
#include "text.h"

#include <string.h>

#define TIME_SHARE 0.5 /* for choosing the number; the rest is for the search with it */

berth_status place_replicas_number(const char *text, int32_t *least, int32_t *most, berth_err *err)
{
	const char *end;
	double x = berth_text_number(text, &end);
	if (strcmp(text, "auto") == 0)
		return BERTH_OK;
	if (end == text || *end || !(x >= 1 && x <= BERTH_MOST_REPLICAS) || x != (double)(int32_t)x)
		return berth_fail(
			err, BERTH_EINVAL,
			"option --replicas: '%.40s' is neither auto nor a number of copies from 1 to %d",
			text, BERTH_MOST_REPLICAS);
	*least = *most = (int32_t)x;
	return BERTH_OK;
}

berth_status place_replicas_check(const berth_objective *objective, berth_err *err)
{
	if (berth_objective_is(objective, BERTH_THROUGHPUT))
		return BERTH_OK;
	return berth_fail(err, BERTH_EINVAL,
	                  "place: --replicas is for throughput: give --objective throughput");
}

void place_replicas_limit(const cli *c, double share, berth_search_cfg *cfg)
{
	cfg->time_s *= share;
	cfg->cpu_s *= share;
	cfg->time_from = c->wall_from;
	cfg->cpu_from = c->cpu_from;
}

berth_status place_replicas_choose(cli *c, const cli_budget *budget, const berth_objective *objective,
                                   const berth_method *method, const berth_system *s, place_replicas *x,
                                   berth_graph *g, berth_graph_parts *parts, berth_err *err)
{
	int32_t least = 1, most = berth_replicas_most(g, s);
	berth_search_cfg cfg;
	BERTH_TRY(place_replicas_check(objective, err));
	if (c->n_args > 1)
		return berth_fail(err, BERTH_EINVAL, "place: --replicas takes one model");
	BERTH_TRY(place_replicas_number(x->asked, &least, &most, err));
	BERTH_TRY(cli_budget_open(budget, &cfg, err));
	place_replicas_limit(c, TIME_SHARE, &cfg);
	berth_status st = cli_budget_policy(budget, c, &cfg, err);
	if (st == BERTH_OK)
		st = berth_replicas_choose(g, s, least, most, method, &cfg, &c->mem, &c->tmp, &x->r, err);
	cli_budget_close(&cfg);
	if (st == BERTH_OK) {
		*g = x->r.g;
		*parts = x->r.parts;
	}
	return st;
}

void place_replicas_print(const place_replicas *x, double value)
{
	copies_print_rate(x->r.n, value);
}
