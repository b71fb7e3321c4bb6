/* berth adapt: run step after step and follow the machine. */
#include "adapt.h"
#include "engine.h"
#include "graph_load.h"
#include "print.h"
#include "say.h"
#include "text.h"

#include <math.h>
#include <string.h>

typedef struct args {
	const char *on, *slow, *method;
	cli_engine engine;
	int64_t steps, window;
	double limit;
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

static berth_status load(cli *c, const args *a, state *s, berth_err *err)
{
	BERTH_TRY(cli_instance_load(c, c->args[0], a->on, &s->g, &s->s, NULL, err));
	s->cfg = berth_adapt_cfg_default();
	s->cfg.steps = (int32_t)a->steps;
	s->cfg.window = (int32_t)a->window;
	s->cfg.threshold = a->limit;
	s->cfg.method = a->method;
	s->cfg.trains = a->train;
	s->oracle = a->oracle;
	if (a->oracle && !a->slow)
		return berth_fail(err, BERTH_EINVAL,
		                  "option --oracle: there is nothing to know without --slow");
	return read_slow(a, s, err);
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
	berth_status st = all_ways(c, &m, s, err);
	s->failures = m.failures;
	berth_measured_close(&m);
	return st;
}

/* ---- output ---- */

static void put_steps(berth_json_out *w, const char *key, const berth_adaptation *r)
{
	berth_json_open(w, key, '[');
	for (int32_t i = 0; i < r->n; i++) {
		berth_json_open(w, NULL, '{');
		berth_json_put_int(w, "step", r->step[i]);
		berth_json_put_number(w, "step_s", r->step_s[i]);
		berth_json_put_number(w, "predicted_s", r->predicted_s[i]);
		berth_json_close(w, '}');
	}
	berth_json_close(w, ']');
}

static void put_losses(berth_json_out *w, const char *key, const state *s, const berth_adaptation *r)
{
	if (!r->loss)
		return;
	berth_json_open(w, key, '[');
	for (int32_t i = 0; i < s->cfg.steps; i++)
		berth_json_put_number(w, NULL, r->loss[i]);
	berth_json_close(w, ']');
}

static void put_switches(berth_json_out *w, const berth_adaptation *r)
{
	berth_json_open(w, "switches", '[');
	for (int32_t i = 0; i < r->n_switches; i++) {
		const berth_switch *x = &r->sw[i];
		berth_json_open(w, NULL, '{');
		berth_json_put_int(w, "step", x->step);
		if (!x->back)
			berth_json_put_int(w, "asked", x->asked_step);
		berth_json_put_bool(w, "done", x->done);
		berth_json_put_bool(w, "back", x->back);
		berth_json_put_int(w, "moved", x->n_moved);
		berth_json_put_number(w, "predicted_from_s", x->predicted_from_s);
		berth_json_put_number(w, "predicted_to_s", x->predicted_to_s);
		berth_json_put_number(w, "move_s", x->migration_s);
		berth_json_close(w, '}');
	}
	berth_json_close(w, ']');
}

static berth_status print_json(cli *c, const state *s, berth_err *err)
{
	berth_json_out w;
	bool compared = s->cfg.slow_dev >= 0;
	berth_json_out_init(&w, &c->mem, true);
	berth_json_open(&w, NULL, '{');
	berth_json_put_string(&w, "graph", s->g.name);
	berth_json_put_string(&w, "system", s->s.name);
	berth_json_put_string(&w, "engine", s->engine);
	berth_json_put_string(&w, "method", s->cfg.method);
	berth_json_put_number(&w, "before_s", s->moving.before_s);
	berth_json_put_number(&w, "after_without_s", compared ? s->still.after_s : NAN);
	berth_json_put_number(&w, "after_with_s", s->moving.after_s);
	berth_json_put_number(&w, "again_without_s", compared ? s->still.again_s : NAN);
	berth_json_put_number(&w, "again_with_s", s->moving.again_s);
	berth_json_put_number(&w, "ready_s", s->moving.ready_s);
	berth_json_put_int(&w, "solved", s->moving.n_solved);
	berth_json_put_number(&w, "solve_s", s->moving.solve_s);
	berth_json_put_number(&w, "waited_s", s->moving.waited_s);
	berth_json_put_number(&w, "total_without_s", compared ? s->still.total_s : NAN);
	berth_json_put_number(&w, "total_with_s", s->moving.total_s);
	berth_json_put_number(&w, "total_oracle_s", s->oracle ? s->known.total_s : NAN);
	berth_json_put_int(&w, "failures", s->failures);
	berth_json_flat(&w, true);
	put_switches(&w, &s->moving);
	put_steps(&w, "steps", &s->moving);
	put_steps(&w, "steps_without", &s->still);
	put_steps(&w, "steps_oracle", &s->known);
	put_losses(&w, "losses", s, &s->moving);
	put_losses(&w, "losses_without", s, &s->still);
	berth_json_open(&w, "placement", '{');
	for (int32_t i = 0; i < s->g.n_ops; i++)
		berth_json_put_string(&w, s->g.op_name[i], s->s.dev_name[s->moving.op_dev[i]]);
	berth_json_close(&w, '}');
	berth_json_flat(&w, false);
	return cli_end_json(c, &w, err);
}

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

static void print_sums(const state *s)
{
	char a[32], b[32], d[32];
	int32_t steps = s->cfg.steps;
	if (s->cfg.slow_dev >= 0 && (s->oracle || s->cfg.trains))
		cli_say("all %d steps: %s without adapting, %s with it%s%s\n", (int)steps,
		        berth_text_seconds(a, s->still.total_s), berth_text_seconds(b, s->moving.total_s),
		        s->oracle ? ", by an oracle " : "",
		        s->oracle ? berth_text_seconds(d, s->known.total_s) : "");
	if (s->cfg.trains)
		cli_say("loss from %.6g to %.6g\n", s->moving.loss[0], s->moving.loss[steps - 1]);
	if (s->cfg.trains && s->cfg.slow_dev >= 0)
		cli_say("losses with and without adapting differ by at most %.2g\n", loss_difference(s));
}

/* A step while the device is as before, slow, and as before again. */
static void print_slowed(const state *s)
{
	char a[32], b[32], d[32];
	bool ended = !isnan(s->moving.again_s);
	cli_say("a step before %s was slowed down %s, %s %s without adapting, %s with it",
	        s->s.dev_name[s->cfg.slow_dev], berth_text_seconds(a, s->moving.before_s),
	        ended ? "meanwhile" : "afterwards", berth_text_seconds(b, s->still.after_s),
	        berth_text_seconds(d, s->moving.after_s));
	if (ended)
		cli_say(", afterwards %s and %s", berth_text_seconds(a, s->still.again_s),
		        berth_text_seconds(b, s->moving.again_s));
	cli_say("\n");
}

static void print_text(const state *s)
{
	char a[32], b[32], d[32];
	cli_say("%s on %s, by %s\n", s->g.name, s->s.name, s->engine);
	if (s->cfg.slow_dev >= 0)
		print_slowed(s);
	else
		cli_say("a step %s, at the end %s\n", berth_text_seconds(a, s->moving.before_s),
		        berth_text_seconds(b, s->moving.after_s));
	print_sums(s);
	if (s->failures)
		cli_say("the engine failed %d times and was started again\n", (int)s->failures);
	for (int32_t i = 0; i < s->moving.n_switches; i++) {
		const berth_switch *x = &s->moving.sw[i];
		cli_say("step %d: %s, %d operator%s %s; %s %s instead of %s a step, the move %s\n",
		        (int)x->step,
		        x->back   ? "went back"
		        : x->done ? "switched"
		                  : "stayed",
		        (int)x->n_moved, x->n_moved == 1 ? "" : "s", x->done ? "moved" : "would move",
		        x->back ? "measured" : "predicted",
		        berth_text_seconds(a, x->predicted_to_s), berth_text_seconds(b, x->predicted_from_s),
		        berth_text_seconds(d, x->migration_s));
	}
}

static berth_status run(cli *c, int argc, char **argv, berth_err *err)
{
	args a = {
		.engine = CLI_ENGINE_DEFAULT, .method = "ceft-pbqp", .steps = 200, .window = 5, .limit = 0.1};
	state s = {0};
	const cli_option options[] = {{"on", 0, CLI_FILE_IN, &a.on, "SYSTEM",
	                               "the machine; its devices have the names of the engine's"},
	                              CLI_ENGINE(&a.engine),
	                              {"steps", 0, CLI_COUNT, &a.steps, "N", "steps to run"},
	                              {"window", 0, CLI_COUNT, &a.window, "N", "steps between two looks"},
	                              {"threshold", 0, CLI_SECONDS, &a.limit, "X",
	                               "relative difference that asks for a new placement"},
	                              {"method", 0, CLI_TEXT, &a.method, "M", "what solves it again"},
	                              {"slow", 0, CLI_TEXT, &a.slow, "DEVICE=SPEED@STEP[-END]",
	                               "slow a device down at a step; run without adapting too"},
	                              {"oracle", 0, CLI_FLAG, &a.oracle, NULL,
	                               "run it also with placements made by who knows of the slow-down"},
	                              {"train", 0, CLI_FLAG, &a.train, NULL,
	                               "steps go on training from each other; tell their losses"},
	                              CLI_INPUT(c),
	                              CLI_COMMON(c)};
	BERTH_TRY(cli_parse(c, &cmd_adapt, options, argc, argv, 1, 1, err));
	if (c->help)
		return BERTH_OK;
	if (!a.on)
		return berth_fail(err, BERTH_EINVAL, "adapt: --on SYSTEM is missing");
	if (a.steps > 1000000 || a.window > a.steps)
		return berth_fail(
			err, BERTH_EINVAL,
			"adapt: at most a million steps, and a window of no more than them, were expected");
	BERTH_TRY(load(c, &a, &s, err));
	BERTH_TRY(adapt(c, &a, &s, err));
	if (c->json)
		return print_json(c, &s, err);
	if (!c->quiet)
		print_text(&s);
	return BERTH_OK;
}

const cli_verb cmd_adapt = {
	"adapt", "adapt GRAPH --on SYSTEM --engine E [--steps N] [--slow DEVICE=SPEED@STEP]",
	"run step after step, and place anew when times change",
	"Times of the steps pull the profile along; where they part from what was predicted, the placement "
	"is solved again while steps go on, and taken if it pays for the move over the "
	"steps that are left.\n"
	"Example: berth adapt model.onnx --on host.json --engine ort --steps 300 --slow cpu1=0.25@100\n",
	run};
