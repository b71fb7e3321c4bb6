/* `berth split --on SYSTEM`: what is searched for is loaded by the words of the command line. The search
 * itself is split_model.h. */
#include "cmd_split.h"

#include "check.h"
#include "graph_load.h"
#include "load.h"
#include "own_method.h"
#include "progress.h"

/* A profile has the operators of its model, in their order, with their work. */
static berth_status check_timed(const split_search_args *a, const char *model, const berth_graph *g,
                                const berth_graph *timed, berth_err *err)
{
	const char *hint = "'berth profile MODEL --on SYSTEM -o FILE' writes a profile";
	if (timed->n_ops != g->n_ops)
		return berth_fail(err, BERTH_EINVAL,
		                  "%s is no profile of %s: it has %d operators, the model %d; %s", a->profile,
		                  model, (int)timed->n_ops, (int)g->n_ops, hint);
	for (int32_t op = 0; op < g->n_ops; op++)
		if (strcmp(timed->op_name[op], g->op_name[op]) != 0 || timed->op_flops[op] != g->op_flops[op])
			return berth_fail(err, BERTH_EINVAL,
			                  "%s is no profile of %s: its operator %d is '%s' of %.17g FLOP, in "
			                  "the model '%s' of %.17g; %s",
			                  a->profile, model, (int)op, timed->op_name[op], timed->op_flops[op],
			                  g->op_name[op], g->op_flops[op], hint);
	if (timed->n_times == 0)
		return berth_fail(err, BERTH_EINVAL, "%s has no measured times; %s", a->profile, hint);
	return BERTH_OK;
}

/* The model's graph: with times where a profile is given. */
static berth_status take_times(cli *c, split_search *x, const char *model, const berth_graph **g,
                               berth_err *err)
{
	if (!x->a->profile)
		return BERTH_OK;
	BERTH_TRY(berth_graph_load(x->a->profile, NULL, &c->mem, &c->tmp, &x->timed, NULL, err));
	BERTH_TRY(check_timed(x->a, model, *g, &x->timed, err));
	*g = &x->timed;
	return BERTH_OK;
}

/* What is placed: the model's operators, with rules, or a training step of that. */
static berth_status load_placed(cli *c, split_search *x, const char *spec, berth_err *err)
{
	x->ruled = *x->q.g;
	BERTH_TRY(cli_rules_add(c, &x->s, &x->ruled, err));
	x->placed = x->ruled;
	x->training = berth_training_options_default();
	x->q.ruled = &x->ruled;
	x->q.placed = &x->placed;
	if (!c->training)
		return BERTH_OK;
	x->q.training = &x->training;
	return cli_training_make(c, spec, &x->training, &x->placed, err);
}

typedef struct program_progress {
	cli_progress *line;
	double told; /* when, by the clock: ten times a second at most */
} program_progress;

static void tell_program(void *ctx, const berth_cut_result *r, int64_t most, berth_score best)
{
	program_progress *p = ctx;
	char of[32] = "", value[32], count[32];
	double now = berth_wall_seconds();
	if (!p->line->on || now - p->told < 0.1)
		return;
	p->told = now;
	if (most < INT32_MAX) /* else the time ends it */
		snprintf(of, sizeof of, " of %d", (int)most);
	cli_progress_line(p->line, ": %s%s programs of pieces, %s", cli_count(count, r->programs), of,
	                  berth_score_feasible(best) ? cli_value(value, &p->line->objective, best.value)
	                                             : "none fits yet");
}

static berth_status search_cuts(cli *c, split_search *x, berth_search_cfg *cfg, berth_err *err)
{
	cli_progress progress;
	program_progress programs = {.line = &progress};
	cfg->time_from = c->wall_from;
	cfg->cpu_from = c->cpu_from;
	x->q.cfg = cfg;
	x->q.told = tell_program;
	x->q.ctx = &programs;
	cli_progress_start(&progress, c, x->q.g->name, cfg);
	berth_status st = cli_budget_policy(&x->a->budget, c, cfg, err);
	if (st == BERTH_OK)
		st = berth_split_search(&x->q, &c->mem, &c->tmp, &x->x, err);
	cli_progress_end(&progress);
	return st;
}

berth_status split_search_run(cli *c, const split_search_args *a, const berth_split_request *q,
                              split_search *x, pieces_model *made, berth_err *err)
{
	berth_search_cfg cfg;
	x->a = a;
	x->q = *q;
	x->q.bound = a->budget.bound;
	BERTH_TRY(berth_method_named(a->method, &c->mem, &x->q.method, err));
	BERTH_TRY(cli_budget_open(&a->budget, &cfg, err));
	berth_status st = take_times(c, x, q->model->name, &x->q.g, err);
	if (st == BERTH_OK)
		st = cli_system_load(c, a->on, x->q.g, &x->s, err);
	x->q.s = &x->s;
	if (st == BERTH_OK)
		st = load_placed(c, x, q->model->name, err);
	if (st == BERTH_OK)
		st = search_cuts(c, x, &cfg, err);
	cli_budget_close(&cfg);
	BERTH_TRY(st);
	if (!x->x.best->feasible) {
		/* Rules that leave an operator no device are told here, as `place` tells them. */
		berth_violations broken;
		BERTH_TRY(berth_check_problem(&x->x.placed, &c->mem, &broken, err));
		return berth_fail(
			err, BERTH_EINFEASIBLE,
			"infeasible: neither whole operators nor pieces were found to fit on '%s': %s%s",
			x->s.name,
			broken.n ? broken.item[0].message
				 : "'berth place' with the same options tells what stands against it",
			broken.n > 1 ? " (and more)" : "");
	}
	*made = x->x.made;
	return BERTH_OK;
}
