/* Plans of several copies of a model: the option --replicas, how many they are (replicas.h), how the models
 * are called, how they are written, and what is told of their rate. */
#include "copies_print.h"

#include "say.h"
#include "signals.h"

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

berth_status copies_model(cli *c, const char *spec, const char *words, const char **model, berth_err *err)
{
	*model = words ? berth_arena_printf(&c->mem, "%s:%s", spec, words) : spec;
	return berth_got(*model, err);
}

int32_t copies_given(const cli *c)
{
	for (int32_t i = 1; i < c->n_args; i++)
		if (strcmp(c->args[i], c->args[0]) != 0)
			return 0;
	return c->n_args > 1 ? c->n_args : 0;
}

void copies_print_rate(int32_t n, double period_s)
{
	char each[32];
	double sample_s = period_s / n;
	if (n > 0)
		cli_say("%d %s of the model: %s a sample, %.4g samples/s\n", (int)n,
		        n == 1 ? "copy" : "copies", berth_text_seconds(each, sample_s), 1 / sample_s);
}

void copies_print(const copies_plan *p, const char *what)
{
	if (!p->out)
		return;
	cli_say("\nwritten to %s%s: a plan of", p->out, what);
	for (int32_t k = 0; k < p->n; k++)
		cli_say(" %s", p->model[k]);
	cli_say("\n");
}

berth_status copies_write(cli *c, const copies_plan *p, const berth_placement *placement,
                          const berth_graph *g, const berth_system *s, berth_err *err)
{
	if (c->streams)
		cli_document_begin();
	berth_status st = berth_placement_write(placement, g, s, p->out, true, &c->tmp, err);
	if (c->streams)
		cli_document_end();
	return st;
}
