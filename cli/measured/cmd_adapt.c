/* berth adapt: run step after step and follow the machine. */
#include "adapt.h"
#include "engine.h"
#include "graph_load.h"
#include "results.h"
#include "run_history.h"
#include "say.h"
#include "tell.h"

typedef struct args {
	const char *on, *slow;
	cli_engine engine;
	int64_t steps;
	bool train, oracle;
} args;

typedef struct state {
	berth_graph g;
	berth_system s;
	berth_adapt_cfg cfg;
	const char *engine;
	berth_adaptation still, moving, known; /* without adapting, with it, and by an oracle */
	bool oracle;
	int32_t failures;               /* of the engine, that were survived */
} state;

/* DEVICE=SPEED@STEP[-END] */
static berth_status read_slow(const args *a, state *s, berth_err *err)
{
	char name[64];
	const char *end;
	size_t n = a->slow ? strcspn(a->slow, "=") : 0;
	if (!a->slow)
		return BERTH_OK;
	if (!n || n >= sizeof name || a->slow[n] != '=')
		return berth_fail(err, BERTH_EINVAL, "option --slow: '%.60s' is not DEVICE=SPEED@STEP",
		                  a->slow);
	memcpy(name, a->slow, n);
	name[n] = '\0';
	s->cfg.slow_dev = berth_system_find_dev(&s->s, name);
	s->cfg.slow_speed = berth_text_number(a->slow + n + 1, &end);
	double step = *end == '@' ? berth_text_number(end + 1, &end) : -1, until = s->cfg.steps;
	if (*end == '-')
		until = berth_text_number(end + 1, &end);
	if (s->cfg.slow_dev < 0)
		return berth_fail(err, BERTH_EINVAL, "option --slow: the system has no device '%s'", name);
	bool good = !*end && step >= 0 && step < s->cfg.steps && step == floor(step) && until > step &&
	            until <= s->cfg.steps && until == floor(until);
	if (!good || !(s->cfg.slow_speed > 0 && s->cfg.slow_speed <= 1))
		return berth_fail(err, BERTH_EINVAL,
		                  "option --slow: '%.60s' is not DEVICE=SPEED@STEP with a speed in (0, 1] "
		                  "and a step below %d",
		                  a->slow, (int)s->cfg.steps);
	s->cfg.slow_step = (int32_t)step;
	s->cfg.slow_end = (int32_t)until;
	return BERTH_OK;
}

/* Once more on the machine as it was at first. */
static berth_status again(cli *c, berth_measured *m, state *s, const berth_profile *profile,
                          berth_adaptation *out, berth_err *err)
{
	BERTH_TRY(berth_measured_set_speed(m, s->cfg.slow_dev, 1, &c->tmp, err));
	s->cfg.ready_s = s->still.ready_s; /* the engine still has the first placement */
	return berth_adapt_run(m, &s->cfg, profile, &c->mem, &c->tmp, out, err);
}

/* Where a device is slowed down without adapting, by an oracle where it is asked for, and with adapting. */
static berth_status all_ways(cli *c, berth_measured *m, state *s, berth_err *err)
{
	berth_profile profile;
	BERTH_TRY(berth_profile_run(m, &s->cfg.profile, &c->mem, &c->tmp, &profile, err));
	if (s->cfg.slow_dev >= 0) {
		s->cfg.adapting = false;
		BERTH_TRY(berth_adapt_run(m, &s->cfg, &profile, &c->mem, &c->tmp, &s->still, err));
		s->cfg.oracle = s->oracle;
		if (s->oracle)
			BERTH_TRY(again(c, m, s, &profile, &s->known, err));
		s->cfg.oracle = false;
		s->cfg.adapting = true;
		return again(c, m, s, &profile, &s->moving, err);
	}
	return berth_adapt_run(m, &s->cfg, &profile, &c->mem, &c->tmp, &s->moving, err);
}

static berth_status adapt(cli *c, const args *a, state *s, berth_err *err)
{
	berth_measured m;
	BERTH_TRY(cli_engine_open(c, &a->engine, c->args[0], &s->g, &s->s, NULL, &m, &s->engine, err));
	berth_status st = BERTH_OK;
	for (int32_t d = 0; d < s->s.n_devs && st == BERTH_OK; d++)
		st = berth_measured_check_device(&m, d, err);
	if (st == BERTH_OK)
		st = all_ways(c, &m, s, err);
	s->failures = m.failures;
	berth_measured_close(&m);
	return st;
}

/* ---- the document ---- */

#define WINDOW(K, IF) \
	K(INT, "step", "", "its first", r->step[i]) \
	K(NUMBER, "step_s", "s", "median of its steps", r->step_s[i]) \
	K(NUMBER, "predicted_s", "s", "", r->predicted_s[i])
static RESULT_FLAT_KIND(window_kind, "Window", "", WINDOW);

#define SWITCH(K, IF) \
	K(INT, "step", "", "", x->step) \
	IF(!x->back, INT, "asked", "", "step from which on it was solved; missing: it goes back", \
	  x->asked_step) \
	K(BOOL, "done", "", "false: it did not pay", x->done) \
	K(BOOL, "back", "", "to one that was measured to be better", x->back) \
	K(INT, "moved", "", "operators", x->n_moved) \
	K(NUMBER, "predicted_from_s", "s", "a step before; measured where it goes back", \
	  x->predicted_from_s) \
	K(NUMBER, "predicted_to_s", "s", "and after", x->predicted_to_s) \
	K(NUMBER, "move_s", "s", "price of the move", x->migration_s)
static RESULT_FLAT_KIND(switch_kind, "", "", SWITCH);

#define ADAPT(K, IF) \
	CLI_PAIR(K, s->g.name, s->s.name) \
	K(TEXT, "engine", "", "", s->engine) \
	K(TEXT, "method", "", "what solves again", BERTH_REPLAN_METHOD) \
	K(NUMBER_OR_NULL, "before_s", "s", "median step before the device was slowed down", \
	  s->moving.before_s) \
	K(NUMBER_OR_NULL, "after_without_s", "s", \
	  "over the last third of the windows while it was, without adapting; null: no `--slow`", \
	  compared ? s->still.after_s : NAN) \
	K(NUMBER_OR_NULL, "after_with_s", "s", "with it", s->moving.after_s) \
	K(NUMBER_OR_NULL, "again_without_s", "s", \
	  "over the last third since it is as fast as before, without adapting; null: it stays slow, or no " \
	  "`--slow`", \
	  compared ? s->still.again_s : NAN) \
	K(NUMBER_OR_NULL, "again_with_s", "s", "with it", s->moving.again_s) \
	K(NUMBER_OR_NULL, "ready_s", "s", "what making a placement ready took", s->moving.ready_s) \
	K(INT, "solved", "", "times that it was solved again while steps went on", s->moving.n_solved) \
	K(NUMBER, "solve_s", "s", "that this took", s->moving.solve_s) \
	K(NUMBER, "waited_s", "s", "that steps stood still for an answer", s->moving.waited_s) \
	K(NUMBER_OR_NULL, "total_without_s", "s", \
	  "all steps, moves aside, without adapting; null: no `--slow`", compared ? s->still.total_s : NAN) \
	K(NUMBER, "total_with_s", "s", "with it", s->moving.total_s) \
	K(NUMBER_OR_NULL, "total_oracle_s", "s", "by the oracle; null: no `--oracle`", \
	  s->oracle ? s->known.total_s : NAN) \
	K(INT, "failures", "", "of the engine, survived", s->failures) \
	K(LIST(switch_kind), "switches", "", "decisions, refused ones too", switches) \
	K(LIST(window_kind), "steps", "", "", steps) \
	K(LIST(window_kind), "steps_without", "", "empty: no `--slow`", without) \
	K(LIST(window_kind), "steps_oracle", "", "empty: no `--oracle`", oracle) \
	IF(s->moving.loss, NUMBERS_OR_NULLS, "losses", "", "before each step; missing: no `--train`", \
	   s->moving.loss, s->cfg.steps) \
	IF(s->still.loss, NUMBERS_OR_NULLS, "losses_without", "", "missing: no `--train`, or no `--slow`", \
	   s->still.loss, s->cfg.steps) \
	K(MAP("text"), "placement", "", "the last", placement)
RESULT_KIND(adapt_document, "Adapt", "", ADAPT);

static const berth_result_list *windows_of(cli *c, const berth_adaptation *r)
{
	berth_result_list *list = berth_result_list_new(&c->mem, &window_kind);
	for (int32_t i = 0; i < r->n; i++)
		RESULT_ADD(list, WINDOW);
	return list;
}

/* switches: the list in the result, too. */
static const berth_result *fill(cli *c, const state *s, berth_result_list *switches)
{
	bool compared = s->cfg.slow_dev >= 0;
	const berth_result_list *steps = windows_of(c, &s->moving), *without = windows_of(c, &s->still),
				*oracle = windows_of(c, &s->known);
	berth_result_map *placement = berth_result_map_new(&c->mem);
	for (int32_t i = 0; i < s->moving.n_switches; i++) {
		const berth_switch *x = &s->moving.sw[i];
		RESULT_ADD(switches, SWITCH);
	}
	for (int32_t i = 0; i < s->g.n_ops; i++)
		berth_result_map_add(placement, s->g.op_name[i],
		                     berth_result_text(s->s.dev_name[s->moving.op_dev[i]]));
	return RESULT_NEW(&c->mem, adapt_document, ADAPT);
}

/* ---- text ---- */

/* Relative to the larger one; 0 where none is. */
static double loss_difference(const state *s)
{
	double worst = 0;
	for (int32_t i = 0; i < s->cfg.steps; i++) {
		double x = s->moving.loss[i], y = s->still.loss[i], top = fmax(fabs(x), fabs(y));
		if (top > 0)
			worst = fmax(worst, fabs(x - y) / top);
	}
	return worst;
}

/* A step while the device is as before, slow, and as before again. */
static void print_slowed(const state *s, const berth_result *r)
{
	bool ended = !isnan(s->moving.again_s);
	cli_say("a step before %s was slowed down ", s->s.dev_name[s->cfg.slow_dev]);
	cli_tell(r, NULL, ended ? "{before_s}, meanwhile " : "{before_s}, afterwards ");
	cli_tell(r, NULL, "{after_without_s} without adapting, {after_with_s} with it");
	cli_tell(r, NULL, ended ? ", afterwards {again_without_s} and {again_with_s}\n" : "\n");
}

static void print_text(const state *s, const berth_result *r, const berth_result_list *switches)
{
	cli_tell(r, NULL, "{graph} on {system}, by {engine}\n");
	if (s->cfg.slow_dev >= 0)
		print_slowed(s, r);
	else
		cli_tell(r, NULL, "a step {before_s}, at the end {after_with_s}\n");
	int32_t steps = s->cfg.steps;
	if (s->cfg.slow_dev >= 0 && (s->oracle || s->cfg.trains)) {
		cli_say("all %d steps: ", (int)steps);
		cli_tell(r, NULL, "{total_without_s} without adapting, {total_with_s} with it");
		cli_tell(r, NULL, s->oracle ? ", by an oracle {total_oracle_s}\n" : "\n");
	}
	if (s->cfg.trains)
		cli_say("loss from %.6g to %.6g\n", s->moving.loss[0], s->moving.loss[steps - 1]);
	if (s->cfg.trains && s->cfg.slow_dev >= 0)
		cli_say("losses with and without adapting differ by at most %.2g\n", loss_difference(s));
	cli_tell(r, NULL, "[the engine failed {failures} times and was started again\n]");
	for (int32_t i = 0; i < switches->n; i++) {
		const berth_result *x = &switches->item[i];
		cli_tell(x, NULL,
		         s->moving.sw[i].back ? "step {step}: went back"
		                              : "step {step}: {done?switched}{done!stayed}");
		cli_tell(x, NULL,
		         ", {moved operator} {done?moved}{done!would move}; {back?measured}{back!predicted} "
		         "{predicted_to_s} instead of {predicted_from_s} a step, the move {move_s}\n");
	}
}

static berth_status run(cli *c, berth_err *err)
{
	args a = {.engine = CLI_ENGINE_DEFAULT, .steps = 200};
	state s = {0};
	const cli_option options[] = {
		CLI_ENGINE_ON(&a.on),
		CLI_ENGINE(&a.engine),
		{"steps", 0, CLI_COUNT, &a.steps, "N", "steps to run"},
		{"slow", 0, CLI_TEXT, &a.slow, "DEVICE=SPEED@STEP[-END]",
	         "slow a device down at a step; run without adapting too"},
		{"oracle", 0, CLI_FLAG, &a.oracle, NULL,
	         "run it also with placements made by who knows of the slow-down"},
		{"train", 0, CLI_FLAG, &a.train, NULL,
	         "steps go on training from each other; tell their losses"},
		CLI_READING(c),
		CLI_COMMON(c)};
	BERTH_TRY(cli_parse(c, options, 1, 1, err));
	if (c->help)
		return BERTH_OK;
	if (a.steps > 1000000 || a.steps < berth_adapt_cfg_default().window)
		return berth_fail(err, BERTH_EINVAL, "adapt: %d to a million steps were expected",
		                  (int)berth_adapt_cfg_default().window);
	BERTH_TRY(cli_instance_load(c, c->args[0], a.on, &s.g, &s.s, NULL, err));
	s.cfg = berth_adapt_cfg_default();
	s.cfg.steps = (int32_t)a.steps;
	s.cfg.trains = a.train;
	s.oracle = a.oracle;
	a.engine.slows = a.slow;
	BERTH_TRY(read_slow(&a, &s, err));
	BERTH_TRY(adapt(c, &a, &s, err));
	berth_result_list *switches = berth_result_list_new(&c->mem, &switch_kind);
	const berth_result *r = fill(c, &s, switches);
	BERTH_TRY(cli_result(c, r, err));
	if (cli_in_words(c))
		print_text(&s, r, switches);
	return BERTH_OK;
}

static const cli_rule rules[] = {
	{"", "!on", "adapt: --on SYSTEM is missing; " CLI_THIS_MACHINE},
	{"oracle", "!slow", "option --oracle: there is nothing to know without --slow"}};

const cli_verb cmd_adapt = {
	"adapt", "adapt GRAPH --on SYSTEM --engine E [--steps N] [--slow DEVICE=SPEED@STEP]",
	"run step after step, and place anew when times change",
	"Times of the steps pull the profile along; where they part from what was predicted, the placement "
	"is solved again while steps go on, and taken if it pays for the move over the "
	"steps that are left.\n"
	"Example: berth adapt model.onnx --on host.json --engine ort --steps 300 --slow cpu1=0.25@100\n",
	run,
	CLI_RULES_OF(rules)};
