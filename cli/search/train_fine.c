/* See train_fine.h. */
#include "train_fine.h"

#include "policy_builtin.h"
#include "portfolio.h"
#include "problem.h"
#include "sandboxed.h"
#include "say.h"
#include "text.h"

#include <math.h>

/* Is there a placement that fits? *why: what stands against it, where that is known. */
static berth_status fits(const berth_train_item *item, const berth_objective *objective, berth_arena *tmp,
                         bool *yes, berth_err *why, berth_err *err)
{
	berth_arena mem = {0};
	berth_search_cfg cfg = {.objective = *objective, .seed = 1};
	berth_search s;
	berth_portfolio portfolio;
	*yes = false;
	if (berth_problem_feasible(item->p, why) != BERTH_OK)
		return BERTH_OK;
	berth_status st = berth_search_new(item->p, &cfg, &mem, &s, err);
	if (st == BERTH_OK)
		st = berth_portfolio_run(&s, &mem, tmp, &portfolio, err);
	*yes = st == BERTH_OK && berth_score_feasible(s.best);
	berth_arena_free(&mem);
	if (st == BERTH_OK && !*yes)
		berth_fail(why, BERTH_EINFEASIBLE, "no heuristic finds a placement that fits the memory");
	return st;
}

static berth_status leave_out(cli *c, train_fine *x, const berth_train_item *item, const berth_err *why,
                              berth_err *err)
{
	const char *text =
		berth_arena_printf(&c->mem, "%s on %s: %s", item->graph, item->system, why->msg);
	if (!text)
		return berth_nomem(err);
	BERTH_TRY(BERTH_GROW(&c->mem, x->left_out.text, x->left_out.n, &x->left_out.cap, err));
	x->left_out.text[x->left_out.n++] = text;
	return cli_warn(c, err, "left out: %s", text);
}

berth_status train_fine_open(cli *c, uint64_t seed, const berth_objective *objective, train_fine *x,
                             berth_train_item **item, int32_t *n, berth_err *err)
{
	int32_t left = 0;
	BERTH_TRY(x->policy ? cli_policy_read(c, x->policy, &x->from, err)
	                    : berth_policy_builtin(&c->mem, &x->from, err));
	for (int32_t i = 0; i < *n; i++) {
		berth_err why;
		bool yes;
		BERTH_TRY(fits(&(*item)[i], objective, &c->tmp, &yes, &why, err));
		if (yes)
			(*item)[left++] = (*item)[i];
		else
			BERTH_TRY(leave_out(c, x, &(*item)[i], &why, err));
	}
	if (!left)
		return berth_fail(err, BERTH_EINFEASIBLE,
		                  "train --fine-tune: no pair is left to learn from: nothing fits");
	BERTH_TRY(cli_strict(c, err));
	BERTH_TRY(berth_fine_tune_split(*item, left, seed, &c->mem, &c->tmp, &x->parts, err));
	*item = x->parts.learned;
	*n = x->parts.n_learned;
	return BERTH_OK;
}

void train_fine_put(berth_json_out *w, const train_fine *x, const berth_train_tuned *t)
{
	berth_json_open(w, "tuned", '{');
	berth_json_put_string(w, "from", x->policy ? x->policy : "built-in");
	berth_json_put_int(w, "looks", t->looks);
	berth_json_put_int(w, "taken", t->taken);
	berth_json_put_bool(w, "early", t->over);
	berth_json_put_int(w, "evaluations", t->evaluations);
	berth_json_put_number(w, "cpu_s", t->cpu_s);
	berth_json_open(w, "pairs", '[');
	for (int32_t i = 0; i < t->n_pairs; i++) {
		berth_json_open(w, NULL, '{');
		berth_json_put_string(w, "graph", t->pair[i].graph);
		berth_json_put_string(w, "system", t->pair[i].system);
		berth_json_put_bool(w, "kept_aside", t->pair[i].kept);
		berth_json_put_number(w, "before", t->pair[i].before);
		berth_json_put_number(w, "after", t->pair[i].after);
		berth_json_close(w, '}');
	}
	berth_json_close(w, ']');
	berth_json_open(w, "left_out", '[');
	for (int32_t i = 0; i < x->left_out.n; i++)
		berth_json_put_string(w, NULL, x->left_out.text[i]);
	berth_json_close(w, ']');
	berth_json_close(w, '}');
}

/* What was taken, and why. */
static void say_taken(const train_fine *x, const berth_train_tuned *t)
{
	char cpu[32];
	const char *from = x->policy ? x->policy : "the built-in policy";
	if (t->taken)
		cli_say("%s, tuned, about %s of CPU: look %lld of %lld is taken, the best one that is on no "
		        "pair kept aside worse than before\n\n",
		        from, berth_text_seconds(cpu, t->cpu_s), (long long)t->taken, (long long)t->looks);
	else if (!t->looks)
		cli_say("%s is kept, after about %s of CPU: training ended before the first look at what was "
		        "learned\n\n",
		        from, berth_text_seconds(cpu, t->cpu_s));
	else
		cli_say("%s is kept, after about %s of CPU: at none of %lld looks what was learned was "
		        "better, and on no pair kept aside worse\n\n",
		        from, berth_text_seconds(cpu, t->cpu_s), (long long)t->looks);
}

berth_status train_fine_print(cli *c, const train_fine *x, const berth_objective *objective,
                              const berth_train_tuned *t, berth_err *err)
{
	cli_table table;
	char buf[32];
	say_taken(x, t);
	cli_table_init(&table, &c->mem, "lllrrr");
	cli_table_head(&table, "graph|system|in training|pass before|after|ratio");
	for (int32_t i = 0; i < t->n_pairs; i++) {
		const berth_train_look *p = &t->pair[i];
		cli_cell(&table, "%s", p->graph);
		cli_cell(&table, "%s", p->system);
		cli_cell(&table, "%s", p->kept ? "kept aside" : "learned from");
		cli_cell(&table, "%s", cli_value(buf, objective, p->before));
		cli_cell(&table, "%s", cli_value(buf, objective, p->after));
		if (isnan(p->after / p->before))
			cli_cell(&table, "-");
		else
			cli_cell(&table, "%.4f", p->after / p->before);
	}
	return cli_table_print(&table, CLI_AS_TEXT, err);
}
