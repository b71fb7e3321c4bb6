/* berth train: a policy learned offline on many graphs and systems. */
#include "bounds.h"
#include "budget.h"
#include "cli_granularity.h"
#include "cli_ranks.h"
#include "file.h"
#include "graph_load.h"
#include "print.h"
#include "progress.h"
#include "report.h"
#include "say.h"
#include "signals.h"
#include "system_change.h"
#include "text.h"
#include "train.h"
#include "train_curves.h"
#include "train_fine.h"
#include "train_items.h"
#include "train_log.h"
#include "train_measured.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* More pairs are read anew for each of their turns. */
enum { PAIRS_HELD = 256 };

typedef struct args {
	cli_texts on;
	const char *log, *out, *decoding, *env, *report, *pairs;
	cli_train_measured measured;
	bool resume, fine_tune, each_objective;
	int64_t tight; /* every how many pairs; 0: none */
	int64_t at_once, teach, width;
	cli_budget budget;
	cli_granularity granularity;
} args;

typedef struct state {
	/* [n_items] in the order of pairs; NULL: they are too many to be held */
	berth_train_item *item;
	int32_t n_items;
	const cli *c;
	const args *a;
	train_items pairs;
	berth_train_cfg cfg;
	berth_train_result result;
	train_measured measured; /* of --env measured */
	train_fine fine;         /* of --fine-tune */
	double wall_s;
	train_log log;          /* empty without --log */
	berth_ranks ranks;      /* the first one writes and speaks */
	int voice;              /* of cli_ranks_open */
	berth_file_lock lock;   /* of the policy */
	train_curves curves;    /* empty without --report */
	cli_progress progress;
	double told;
	struct stat before; /* the file of the policy as it was, all 0: it was not there */
	bool interrupted;
} state;

/* ---- set-up ---- */

/* Pair i of graph and system. Its memory is drawn anew where it is the turn of --tight. */
static berth_status load_item(cli *c, const args *a, const char *graph, const char *system, int32_t i,
                              berth_train_item *out, berth_err *err)
{
	berth_rng rng = berth_rng_seed(a->budget.seed, BERTH_STREAM_TIGHTEN + (uint64_t)i);
	berth_graph *g;
	berth_system *y;
	berth_problem *p;
	BERTH_TRY(BERTH_NEW(&c->mem, g, 1, err));
	BERTH_TRY(BERTH_NEW(&c->mem, y, 1, err));
	BERTH_TRY(BERTH_NEW(&c->mem, p, 1, err));
	BERTH_TRY(cli_instance_load(c, graph, system, g, y, NULL, err));
	BERTH_TRY(cli_granularity_apply(c, &a->granularity, g, err));
	if (a->tight && (i + 1) % a->tight == 0)
		BERTH_TRY(berth_system_tighten(g, &rng, y, &c->tmp, err));
	BERTH_TRY(berth_problem_new(g, y, &c->mem, &c->tmp, p, err));
	*out = (berth_train_item){p, g->name, y->name};
	return BERTH_OK;
}

/* The same in arenas, and in silence: it is read more than once. */
static berth_status stream_item(void *ctx, int32_t i, berth_arena *mem, berth_arena *tmp,
                                berth_train_item *out, berth_err *err)
{
	const state *s = ctx;
	const args *a = s->a;
	const char *graph, *system;
	cli c = *s->c;
	c.mem = *mem;
	c.tmp = *tmp;
	c.warned = (cli_texts){0};
	c.quiet = true;
	train_items_words(&s->pairs, i, &graph, &system);
	berth_status st = load_item(&c, a, graph, system, i, out, err);
	*mem = c.mem;
	*tmp = c.tmp;
	return st;
}

static berth_status load_items(cli *c, const args *a, state *s, berth_err *err)
{
	int32_t n = s->pairs.n;
	const char *graph, *system;
	if (n > PAIRS_HELD && a->fine_tune)
		return berth_fail(err, BERTH_EINVAL, "train --fine-tune: at most %d pairs, not %d",
		                  PAIRS_HELD, (int)n);
	if (n > PAIRS_HELD && strcmp(a->decoding, berth_decoding_name(BERTH_SEQUENTIAL)) == 0) {
		s->n_items = n;
		return BERTH_OK;
	}
	BERTH_TRY(BERTH_NEW(&c->mem, s->item, n, err));
	for (int32_t i = 0; i < n; i++, s->n_items++) {
		train_items_words(&s->pairs, i, &graph, &system);
		BERTH_TRY(load_item(c, a, graph, system, i, &s->item[i], err));
	}
	return BERTH_OK;
}

/* Those that are learned from. */
static berth_status tune_items(cli *c, const args *a, state *s, berth_err *err)
{
	berth_objective objective;
	BERTH_TRY(berth_objective_parse(a->budget.objective, &objective, err));
	s->fine.policy = a->budget.policy;
	return train_fine_open(c, a->budget.seed, &objective, &s->fine, &s->item, &s->n_items, err);
}

/* ---- while it runs ---- */

/* How much is done, what the policy draws on average, and how long it takes still. */
static void tell_progress(state *s, const berth_train_update *u)
{
	if (u->taught < u->to_teach) {
		cli_progress_line(&s->progress, ": %lld of %lld turns taught, %d pair%s",
		                  (long long)u->taught, (long long)u->to_teach, (int)s->n_items,
		                  s->n_items == 1 ? "" : "s");
		return;
	}
	char made[32], asked[32], rate[32], left[32], learned[32] = "";
	double per_s = u->evaluations_per_s, rest = (double)(s->cfg.evaluations - u->evaluations);
	if (u->n_collapsed)
		snprintf(learned, sizeof learned, " (%d learned)", (int)u->n_collapsed);
	cli_progress_line(&s->progress,
	                  ": %s of %s tried, %d pair%s%s, draws %.2f x the best single device, %s/s, %s left",
	                  cli_count(made, u->evaluations), cli_count(asked, s->cfg.evaluations),
	                  (int)s->n_items, s->n_items == 1 ? "" : "s", learned, exp(u->mean_reward),
	                  berth_text_count(rate, per_s),
	                  per_s > 0 ? berth_text_seconds(left, fmax(rest, 0) / per_s) : "?");
}

static void updated(void *ctx, const berth_train_update *u)
{
	state *s = ctx;
	double now = berth_wall_seconds();
	train_log_add(&s->log, u);
	train_curves_add(&s->curves, u);
	if (now - s->told < 0.1)
		return;
	s->told = now;
	tell_progress(s, u);
}

static berth_status saving(void *ctx, berth_err *err)
{
	state *s = ctx;
	return train_log_sync(&s->log, err);
}

/* How training ended that was interrupted, also on the rescue's thread. What is left is the checkpoint. */
static void say_interrupted(void *ctx, char *text, size_t size)
{
	const state *s = ctx;
	struct stat now = {0};
	bool there = stat(s->cfg.path, &now) == 0;
	if (there && (s->cfg.resume || !berth_file_is_same(&now, &s->before)))
		snprintf(text, size, "interrupted; %.200s has the last checkpoint, --resume goes on from it",
		         s->cfg.path);
	else
		snprintf(text, size, "interrupted before there was a checkpoint");
}

/* What is learned, and how. */
static berth_status settings(const args *a, state *s, berth_err *err)
{
	s->cfg = berth_train_cfg_default();
	if (a->fine_tune)
		BERTH_TRY(berth_fine_tune_cfg(&s->fine.from, &s->fine.parts, BERTH_FINE_TUNE_S, &s->cfg,
		                              err));
	else
		BERTH_TRY(berth_decoding_parse(a->decoding, &s->cfg.learner.decoding, err));
	if (a->budget.evaluations.n)
		s->cfg.evaluations = a->budget.evaluations.n;
	s->cfg.learner.at_once = (int32_t)a->at_once;
	s->cfg.teach = a->teach;
	if (a->width)
		s->cfg.learner.hidden = (int32_t)a->width;
	return BERTH_OK;
}

static berth_status train(cli *c, const args *a, state *s, berth_err *err)
{
	berth_search_cfg search;
	BERTH_TRY(settings(a, s, err));
	BERTH_TRY(cli_budget_open(&a->budget, &search, err));
	s->cfg.objective = search.objective;
	s->cfg.each_objective = a->each_objective;
	s->cfg.seed = search.seed;
	s->cfg.pool = search.pool;
	s->cfg.cancel = search.cancel;
	s->cfg.path = a->out;
	s->cfg.resume = a->resume;
	s->cfg.ranks = &s->ranks;
	s->cfg.update = updated;
	s->cfg.saving = saving;
	s->cfg.update_ctx = s;
	s->cfg.open = stream_item;
	s->cfg.open_ctx = s;
	if (stat(a->out, &s->before) != 0)
		s->before = (struct stat){0};
	if (s->ranks.me == 0)
		cli_rescue_by(say_interrupted, s, 0);
	search.evaluations = s->cfg.evaluations;
	cli_progress_start(&s->progress, c, "train", &search);
	double wall = berth_wall_seconds();
	berth_status st = berth_train(&s->cfg, s->item, s->n_items, &c->mem, &c->tmp, &s->result, err);
	s->wall_s = berth_wall_seconds() - wall;
	s->interrupted = st == BERTH_EINTERRUPTED;
	cli_progress_end(&s->progress);
	cli_budget_close(&search);
	if (!s->interrupted)
		return st;
	char text[400];
	say_interrupted(s, text, sizeof text);
	return berth_fail(err, st, "%s", text);
}

/* ---- output ---- */

/* As --json tells it. */
static const char *stopped_by(const state *s)
{
	if (s->result.nothing)
		return "enough";
	if (s->interrupted)
		return "interrupted";
	return s->result.tuned.over ? "early" : s->result.done ? "learned" : "budget";
}

static void put_counts(berth_json_out *w, const args *a, const state *s)
{
	berth_json_put_string(w, "policy", a->out);
	berth_json_put_int(w, "evaluations", s->result.evaluations);
	berth_json_put_int(w, "asked", s->cfg.evaluations);
	berth_json_put_int(w, "before", s->result.before);
	berth_json_put_int(w, "searched", s->result.searched);
	berth_json_put_int(w, "steps", s->result.steps);
	berth_json_put_int(w, "taught", s->result.taught);
	berth_json_put_bool(w, "resumed", s->result.resumed);
	berth_json_put_string(w, "stopped", stopped_by(s));
}

static void put_best(berth_json_out *w, const args *a, const state *s)
{
	berth_json_open(w, "best", '[');
	for (int32_t i = 0; s->result.best && i < s->n_items; i++) {
		berth_json_open(w, NULL, '{');
		berth_json_put_string(w, "graph", s->result.best[i].graph);
		berth_json_put_string(w, "system", s->result.best[i].system);
		berth_json_put_number(w, "value", s->result.best[i].value);
		berth_json_put_number(w, "seed_value", s->result.best[i].portfolio_value);
		berth_json_put_string(w, "seed_method", s->result.best[i].portfolio_method);
		berth_json_put_bool(w, "collapsed", s->result.best[i].collapsed);
		berth_json_close(w, '}');
	}
	berth_json_close(w, ']');
	if (a->fine_tune)
		train_fine_put(w, &s->fine, &s->result.tuned);
	if (a->measured.on)
		train_measured_put(w, &s->measured);
}

static berth_status write_report(cli *c, const args *a, const state *s, berth_err *err)
{
	berth_page page;
	const berth_train_item *only = s->n_items == 1 ? s->item : NULL;
	BERTH_TRY(cli_report_open(c, &page, "train", only ? only->graph : NULL, only ? only->system : NULL,
	                          berth_objective_unit(&s->cfg.objective), err));
	berth_json_open(&page.w, "document", '{');
	put_counts(&page.w, a, s);
	put_best(&page.w, a, s);
	berth_json_close(&page.w, '}');
	BERTH_TRY(train_curves_put(&page.w, &s->curves, s->result.resumed, err));
	return cli_report_write(c, &page, a->report, err);
}

static berth_status print_json(cli *c, const args *a, const state *s, berth_err *err)
{
	berth_json_out w;
	berth_json_out_init(&w, &c->mem, true);
	berth_json_open(&w, NULL, '{');
	put_counts(&w, a, s);
	berth_json_put_number(&w, "wall_s", s->wall_s);
	cli_ranks_put(&w, &s->result);
	put_best(&w, a, s);
	return cli_end_json(c, &w, err);
}

/* Is the budget no larger than what the first heuristics take? */
static bool spent_at_start(const state *s)
{
	const berth_train_result *r = &s->result;
	return r->steps == r->taught && !r->searched && !r->done && !s->interrupted &&
	       r->evaluations >= s->cfg.evaluations;
}

/* What became of the budget. */
static void print_spent(const args *a, const state *s)
{
	const berth_train_result *r = &s->result;
	char made[32], asked[32], learned[32], searched[32], before[32];
	cli_count(made, r->evaluations);
	cli_count(asked, s->cfg.evaluations);
	cli_count(learned, r->evaluations - r->searched);
	cli_count(searched, r->searched);
	if (r->nothing) {
		cli_say("%s: nothing was trained: it has made %s evaluations already, --evaluations asks for "
		        "%s\n\n",
		        a->out, made, asked);
		return;
	}
	if (spent_at_start(s) && a->fine_tune) {
		cli_say("%s: no step of learning: the first heuristics of each pair took all of %s "
		        "evaluations, and the policy is what it began with; give more --evaluations than "
		        "that\n\n",
		        a->out, made);
		return;
	}
	if (spent_at_start(s)) {
		cli_say("%s: no step of learning: the first heuristics of each pair took all of %s "
		        "evaluations, and the policy does no more than imitate %s; give more "
		        "--evaluations than that\n\n",
		        a->out, made, a->teach ? "its teachers" : "them");
		return;
	}
	if (a->fine_tune)
		cli_say("%s: %s evaluations: %lld steps of learning\n", a->out, made, (long long)r->steps);
	else if (a->teach)
		cli_say("%s: %lld steps of being taught; %s evaluations: %lld steps of learning\n", a->out,
		        (long long)r->taught, made, (long long)(r->steps - r->taught));
	else
		cli_say("%s: %s evaluations: %lld steps of learning by %s, search from the best placements "
		        "by %s\n",
		        a->out, made, (long long)r->steps, learned, searched);
	if (r->resumed)
		cli_say("gone on from a checkpoint of %s\n", cli_count(before, r->before));
	if (r->tuned.over)
		cli_say("ended early, of %s evaluations: no policy was taken any more\n", asked);
	else if (r->done && r->evaluations < s->cfg.evaluations)
		cli_say("ended early, of %s evaluations: nothing is left to learn, the policy draws the same "
		        "again and again\n",
		        asked);
	else if (r->done)
		cli_say("learning ended early, the search took the rest: the policy draws the same again and "
		        "again\n");
	else if (!s->interrupted && r->evaluations < s->cfg.evaluations)
		cli_say("of %s evaluations the rest was not needed: what was found is proven best\n", asked);
	cli_say("\n");
}

static berth_status print_text(cli *c, const args *a, const state *s, berth_err *err)
{
	cli_table t;
	char buf[32];
	print_spent(a, s);
	if (a->fine_tune) {
		BERTH_TRY(train_fine_print(c, &s->fine, &s->cfg.objective, &s->result.tuned, err));
		return cli_ranks_print(c, &s->result, err);
	}
	cli_table_init(&t, &c->mem, "llrrll");
	cli_table_head(&t, "graph|system|best|best seed|of|left to learn");
	for (int32_t i = 0; s->result.best && i < s->n_items; i++) {
		const berth_train_best *b = &s->result.best[i];
		cli_cell(&t, "%s", b->graph);
		cli_cell(&t, "%s", b->system);
		cli_cell(&t, "%s", cli_value(buf, &b->objective, b->value));
		cli_cell(&t, "%s", cli_value(buf, &b->objective, b->portfolio_value));
		cli_cell(&t, "%s", b->portfolio_method ? b->portfolio_method : "-");
		cli_cell(&t, "%s", b->collapsed ? "nothing" : "some");
	}
	BERTH_TRY(cli_table_print(&t, CLI_AS_TEXT, err));
	BERTH_TRY(cli_ranks_print(c, &s->result, err));
	if (a->measured.on)
		train_measured_print(&s->measured);
	return BERTH_OK;
}

/* Runs for real tell times, and of one run alone. */
static berth_status check_objective(const args *a, berth_err *err)
{
	berth_objective objective;
	BERTH_TRY(berth_objective_parse(a->budget.objective, &objective, err));
	return berth_objective_is(&objective, BERTH_LATENCY)
	               ? BERTH_OK
	               : berth_fail(err, BERTH_EINVAL, "train --env measured: the objective is latency");
}

static berth_status check_args(args *a, int n_graphs, berth_err *err)
{
	if (a->env && strcmp(a->env, "simulated") != 0 && strcmp(a->env, "measured") != 0)
		return berth_fail(err, BERTH_EINVAL, "option --env: '%.60s' is not simulated or measured",
		                  a->env);
	if (a->at_once < 1 || a->at_once > BERTH_MOST_AT_ONCE)
		return berth_fail(err, BERTH_EINVAL, "option --at-once: %lld is not from 1 to %d",
		                  (long long)a->at_once, BERTH_MOST_AT_ONCE);
	a->measured.on = a->env && strcmp(a->env, "measured") == 0;
	BERTH_TRY(cli_train_measured_check(&a->measured, err));
	if (a->budget.policy && !a->fine_tune)
		return berth_fail(err, BERTH_EINVAL,
		                  "train --policy: what to begin with; it goes with --fine-tune");
	bool other = strcmp(a->decoding, berth_decoding_name(BERTH_SEQUENTIAL)) != 0;
	if (a->fine_tune && (a->measured.on || other))
		return berth_fail(err, BERTH_EINVAL, "train --fine-tune: not with %s",
		                  a->measured.on ? "--env measured" : "another --decoding than sequential");
	if (a->teach && (a->fine_tune || a->measured.on || other))
		return berth_fail(err, BERTH_EINVAL, "train --teach: not with %s",
		                  a->fine_tune     ? "--fine-tune"
		                  : a->measured.on ? "--env measured"
		                                   : "another --decoding than sequential");
	if (a->width > BERTH_WIDEST)
		return berth_fail(err, BERTH_EINVAL, "option --width: %lld is not from 1 to %d",
		                  (long long)a->width, BERTH_WIDEST);
	if (a->width && (a->fine_tune || a->measured.on))
		return berth_fail(err, BERTH_EINVAL, "train --width: not with %s",
		                  a->fine_tune ? "--fine-tune" : "--env measured");
	if (a->each_objective && (a->fine_tune || a->measured.on))
		return berth_fail(err, BERTH_EINVAL, "train --each-objective: not with %s",
		                  a->fine_tune ? "--fine-tune" : "--env measured");
	if (a->each_objective && a->budget.objective && strcmp(a->budget.objective, "latency") != 0)
		return berth_fail(err, BERTH_EINVAL,
		                  "train --each-objective: each pair has an objective of its own; leave "
		                  "--objective out");
	if (a->measured.on && (n_graphs != 1 || a->on.n != 1))
		return berth_fail(err, BERTH_EINVAL,
		                  "train --env measured: one GRAPH and one SYSTEM are expected");
	if (a->measured.on)
		BERTH_TRY(check_objective(a, err));
	return a->out ? BERTH_OK : berth_fail(err, BERTH_EINVAL, "train: -o POLICY is missing; it is a file");
}

/* All that writes: the log, the journal, the policy. */
static berth_status run_locked(cli *c, args *a, state *s, berth_err *err)
{
	if (a->report && a->log && a->resume)
		BERTH_TRY(train_curves_read(&s->curves, a->log, &c->tmp, err));
	if (a->measured.on)
		BERTH_TRY(train_measured_open(c, &a->measured, c->args[0], a->out, a->resume, &a->budget,
		                              &s->item[0], &s->measured, err));
	if (s->measured.ended_before)
		return train_measured_say_ended(c, a->out, err);
	berth_status st = train_log_open(a->log, a->resume, &s->log, err);
	if (st == BERTH_OK)
		st = train(c, a, s, err);
	if (a->measured.on && st == BERTH_OK)
		st = train_measured_run(c, a->out, &s->measured, err);
	train_measured_close(&s->measured);
	train_log_close(&s->log);
	if (st != BERTH_OK && st != BERTH_EINTERRUPTED)
		return st;
	if (c->json)
		BERTH_TRY(print_json(c, a, s, err));
	else if (!c->quiet)
		BERTH_TRY(print_text(c, a, s, err));
	if (a->report)
		BERTH_TRY(write_report(c, a, s, err));
	return st;
}

/* What comes before training. All ranks read the same; the first one has the files that are written. */
static berth_status prepare(cli *c, args *a, state *s, berth_err *err)
{
	if (s->ranks.n > 1 && a->measured.on)
		return berth_fail(err, BERTH_EINVAL,
		                  "train --env measured: an engine runs for one rank alone; leave mpirun "
		                  "out");
	BERTH_TRY(train_items_open(c, a->pairs, &a->on, &s->pairs, err));
	BERTH_TRY(load_items(c, a, s, err));
	if (a->fine_tune)
		BERTH_TRY(tune_items(c, a, s, err));
	if (a->report && !s->item)
		return berth_fail(err, BERTH_EINVAL, "train --report: curves of at most %d pairs, not %d",
		                  PAIRS_HELD, (int)s->n_items);
	if (s->ranks.me > 0) {
		a->log = a->report = NULL;
		return BERTH_OK;
	}
	if (a->report)
		BERTH_TRY(train_curves_new(s->item, s->n_items, &s->curves, err));
	return berth_file_lock_take(a->out, "another training", &c->mem, &s->lock, err);
}

static berth_status run_ranks(cli *c, args *a, state *s, berth_err *err)
{
	berth_status st = berth_ranks_agree(&s->ranks, prepare(c, a, s, err), err);
	if (st == BERTH_OK)
		st = berth_ranks_agree(&s->ranks, run_locked(c, a, s, err), err);
	berth_file_release(&s->lock);
	return st;
}

static berth_status run_all(cli *c, args *a, state *s, berth_err *err)
{
	BERTH_TRY(check_args(a, c->n_args, err));
	berth_status st = cli_ranks_open(c, &s->ranks, &s->voice, err);
	if (st == BERTH_OK)
		st = run_ranks(c, a, s, err);
	cli_ranks_close(&s->ranks, s->voice, st, err);
	return st;
}

static berth_status run(cli *c, int argc, char **argv, berth_err *err)
{
	args a = {.measured = cli_train_measured_default(),
	          .decoding = berth_decoding_name(berth_train_cfg_default().learner.decoding),
	          .at_once = BERTH_TRAINED_AT_ONCE,
	          .budget = cli_budget_default(),
	          .granularity = cli_granularity_default()};
	state s = {.lock.fd = -1, .c = c, .a = &a};
	a.budget.evaluations.n = 0;
	const cli_option options[] = {
		{"on", 0, CLI_FILES_IN, &a.on, "SYSTEM,...", "the machines"},
		CLI_OBJECTIVE(&a.budget),
		CLI_GRANULARITY(&a.granularity),
		{"decoding", 0, CLI_TEXT, &a.decoding, "D",
	         "sequential: operator by operator along a schedule; or one-shot"},
		{"each-objective", 0, CLI_FLAG, &a.each_objective, NULL,
	         "each pair has an objective of its own, drawn by the seed: latency, throughput, energy or "
	         "edp"},
		{"tight", 0, CLI_COUNT, &a.tight, "K",
	         "every K-th pair of graph and system gets little memory: 1.1 to 3 times what the graph "
	         "needs"},
		{"pairs", 0, CLI_FILE_IN, &a.pairs, "FILE",
	         "the pairs to train on, one a line: GRAPH SYSTEM; in the place of GRAPH and --on"},
		{"teach", 0, CLI_COUNT, &a.teach, "N",
	         "search each pair with N evaluations, three times, and imitate what is found before all "
	         "else; not counted with --evaluations"},
		{"width", 0, CLI_COUNT, &a.width, "N", "width of the network\t32"},
		{"at-once", 0, CLI_COUNT, &a.at_once, "N",
	         "batches drawn from one policy: so many threads and ranks have work; 1 to 256"},
		{"evaluations", 0, CLI_COUNT, &a.budget.evaluations.n, "N",
	         "placements over all graphs and systems; a fifth for the last search\t20K; with --fine-tune "
	         "about 5 CPU minutes of them"},
		{"fine-tune", 0, CLI_FLAG, &a.fine_tune, NULL,
	         "begin with a trained policy; keep the best on pairs that are kept aside"},
		{"policy", 0, CLI_FILE_IN, &a.budget.policy, "FILE",
	         "with --fine-tune: the policy to begin with\tthe built-in one"},
		{"seed", 0, CLI_SEED, &a.budget.seed, "N", "start of the random numbers"},
		{"threads", 0, CLI_THREADS, &a.budget.threads, "N",
	         "worker threads; no effect on results\tall CPUs"},
		{"env", 0, CLI_TEXT, &a.env, "E",
	         "simulated, or measured: by an engine, after the simulator\tsimulated"},
		CLI_TRAIN_MEASURED(&a.measured),
		{"resume", 0, CLI_FLAG, &a.resume, NULL,
	         "go on from POLICY, if it is there, to the same bits; with more evaluations, further"},
		{"log", 0, CLI_FILE_ONLY, &a.log, "FILE", "write one JSON line an update"},
		{"output", 'o', CLI_CHECKPOINT, &a.out, "POLICY", "the checkpoint (safetensors)"},
		CLI_REPORT(&a.report),
		CLI_RULES(c),
		CLI_INPUT(c),
		CLI_COMMON(c)};
	BERTH_TRY(cli_parse(c, &cmd_train, options, argc, argv, 0, -1, err));
	if (c->help)
		return BERTH_OK;
	berth_status st = run_all(c, &a, &s, err);
	cli_rescue_by(NULL, NULL, 0); /* it would read s */
	train_curves_free(&s.curves);
	return st;
}

const cli_verb cmd_train = {
	"train",
	"train GRAPH... --on SYSTEM[,SYSTEM...] | --pairs FILE [--teach N] [--fine-tune] [--objective O] "
	"[--evaluations N] [--seed N] [--env simulated|measured] [--engine E] [--resume] [--log FILE] "
	"[--report FILE.html] -o POLICY",
	"train a placement policy on graphs and systems",
	"Ctrl-C writes the checkpoint and ends with exit code 130; --resume goes on from there.\n"
	"mpirun -n N berth train ... trains with N processes, on any hosts, to the same policy.\n"
	"Example: berth train zoo:resnet50 zoo:bert-base --on system:edge,system:cpu+2gpu -o "
	"mixed.safetensors\n",
	run};
