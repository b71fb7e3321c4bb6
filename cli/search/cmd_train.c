/* berth train: a policy learned offline on many graphs and systems, by one process or by several ranks, of
 * which the first one speaks and writes for all. */
#include "cmd_train.h"

#include "graph_load.h"
#include "option_files.h"
#include "print.h"
#include "report.h"
#include "say.h"
#include "signals.h"

/* ---- while it runs ---- */

/* How much is done, what the policy draws on average, and how long it takes still. */
static void tell_progress(train_run *t, const berth_train_update *u)
{
	if (u->taught < u->to_teach) {
		cli_progress_line(&t->progress, ": %lld of %lld turns taught, %d pair%s",
		                  (long long)u->taught, (long long)u->to_teach, (int)t->n_items,
		                  t->n_items == 1 ? "" : "s");
		return;
	}
	char made[32], asked[32], rate[32], left[32], learned[32] = "";
	double per_s = u->evaluations_per_s, rest = (double)(t->cfg.evaluations - u->evaluations);
	if (u->n_collapsed)
		snprintf(learned, sizeof learned, " (%d learned)", (int)u->n_collapsed);
	cli_progress_line(&t->progress,
	                  ": %s of %s tried, %d pair%s%s, draws %.2f x the best single device, %s/s, %s left",
	                  cli_count(made, u->evaluations), cli_count(asked, t->cfg.evaluations),
	                  (int)t->n_items, t->n_items == 1 ? "" : "s", learned, exp(u->mean_reward),
	                  berth_text_count(rate, per_s),
	                  per_s > 0 ? berth_text_seconds(left, fmax(rest, 0) / per_s) : "?");
}

static void updated(void *ctx, const berth_train_update *u)
{
	train_run *t = ctx;
	double now = berth_wall_seconds();
	train_log_add(&t->log, u);
	train_curves_add(&t->curves, u);
	if (now - t->told < 0.1)
		return;
	t->told = now;
	tell_progress(t, u);
}

static berth_status saving(void *ctx, berth_err *err)
{
	train_run *t = ctx;
	return train_log_sync(&t->log, err);
}

/* How training ended that was interrupted, also on the rescue's thread. What is left is the checkpoint. */
static void say_interrupted(void *ctx, char *text, size_t size)
{
	const train_run *t = ctx;
	struct stat now = {0};
	bool there = stat(t->cfg.path, &now) == 0;
	if (there && (t->cfg.resume || !berth_file_is_same(&now, &t->before)))
		snprintf(text, size, "interrupted; %.200s has the last checkpoint, --resume goes on from it",
		         t->cfg.path);
	else
		snprintf(text, size, "interrupted before there was a checkpoint");
}

/* What is learned, and how. */
static berth_status settings(train_run *t, berth_err *err)
{
	const train_args *a = t->a;
	t->cfg = berth_train_cfg_default();
	if (a->fine_tune)
		BERTH_TRY(berth_fine_tune_cfg(&t->from, &t->parts, BERTH_FINE_TUNE_S, &t->cfg,
		                              err));
	else
		BERTH_TRY(berth_decoding_parse(a->decoding, &t->cfg.learner.decoding, err));
	if (a->budget.evaluations.n)
		t->cfg.evaluations = a->budget.evaluations.n;
	t->cfg.learner.at_once = (int32_t)a->at_once;
	t->cfg.teach = a->teach;
	if (a->width)
		t->cfg.learner.hidden = (int32_t)a->width;
	return BERTH_OK;
}

static berth_status train(cli *c, train_run *t, berth_err *err)
{
	const train_args *a = t->a;
	berth_search_cfg search;
	BERTH_TRY(settings(t, err));
	BERTH_TRY(cli_budget_open(&a->budget, &search, err));
	t->cfg.objective = search.objective;
	t->cfg.each_objective = a->each_objective;
	t->cfg.engine = t->engine ? t->engine->name : NULL;
	t->cfg.seed = a->budget.seed;
	t->cfg.pool = search.pool;
	t->cfg.cancel = search.cancel;
	t->cfg.path = a->out;
	t->cfg.resume = a->resume;
	t->cfg.ranks = t->ranks;
	t->cfg.update = updated;
	t->cfg.saving = saving;
	t->cfg.update_ctx = t;
	t->cfg.open = train_items_stream;
	t->cfg.open_ctx = t;
	if (stat(a->out, &t->before) != 0)
		t->before = (struct stat){0};
	if (t->ranks->me == 0)
		cli_rescue_by(say_interrupted, t, 0);
	search.evaluations = t->cfg.evaluations;
	cli_progress_start(&t->progress, c, "train", &search);
	double wall = berth_wall_seconds();
	berth_status st = berth_train(&t->cfg, t->item, t->n_items, &c->mem, &c->tmp, &t->result, err);
	t->wall_s = berth_wall_seconds() - wall;
	t->interrupted = st == BERTH_EINTERRUPTED;
	cli_progress_end(&t->progress);
	cli_budget_close(&search);
	if (!t->interrupted)
		return st;
	char text[400];
	say_interrupted(t, text, sizeof text);
	return berth_fail(err, st, "%s", text);
}

/* ---- arguments ---- */

static berth_status check_args(const cli *c, train_args *a, berth_err *err)
{
	if (a->env && strcmp(a->env, "simulated") != 0 && strcmp(a->env, "measured") != 0)
		return berth_fail(err, BERTH_EINVAL, "option --env: '%.60s' is not simulated or measured",
		                  a->env);
	if (a->at_once < 1 || a->at_once > BERTH_MOST_AT_ONCE)
		return berth_fail(err, BERTH_EINVAL, "option --at-once: %lld is not from 1 to %d",
		                  (long long)a->at_once, BERTH_MOST_AT_ONCE);
	a->measured.on = a->env && strcmp(a->env, "measured") == 0;
	const char *runs = a->measured.on ? NULL : cli_given(c, "engine|model|timeout|runs|placement");
	if (runs)
		return berth_fail(err, BERTH_EINVAL,
		                  "train: --%s is of runs by an engine, which --env measured asks for; "
		                  "give that, too, or leave --%s out",
		                  runs, runs);
	bool other = strcmp(a->decoding, berth_decoding_name(BERTH_SEQUENTIAL)) != 0;
	const char *decoding = other ? "another --decoding than sequential" : NULL;
	const char *measured = a->measured.on ? "--env measured" : NULL;
	const char *learned = a->fine_tune ? "--fine-tune" : measured;
	const struct {
		const char *option;
		bool given;
		const char *beside; /* what it is not for; NULL: nothing that was given */
	} clash[] = {{"--fine-tune", a->fine_tune, measured ? measured : decoding},
	             {"--teach", a->teach, learned ? learned : decoding},
	             {"--width", a->width, learned},
	             {"--objective each", a->each_objective, learned},
	             {"--for", c->engine && strcmp(c->engine, "none") != 0, measured}};
	if (a->width > BERTH_WIDEST)
		return berth_fail(err, BERTH_EINVAL, "option --width: %lld is not from 1 to %d",
		                  (long long)a->width, BERTH_WIDEST);
	for (size_t i = 0; i < sizeof clash / sizeof *clash; i++)
		if (clash[i].given && clash[i].beside)
			return berth_fail(err, BERTH_EINVAL, "train %s: not with %s", clash[i].option,
			                  clash[i].beside);
	if (a->measured.on && (c->n_args != 1 || a->on.n != 1))
		return berth_fail(err, BERTH_EINVAL,
		                  "train --env measured: one GRAPH and one SYSTEM are expected");
	const char *one = a->seeds ? cli_given(c, "log|report") : NULL;
	if (a->seeds && (one || a->measured.on || a->each_objective))
		return berth_fail(err, BERTH_EINVAL, "train --seeds: not with %s%s", one ? "--" : "",
		                  one ? one : a->measured.on ? "--env measured" : "--objective each");
	if (a->measured.on) {
		/* Runs for real tell times, and of one run alone. */
		berth_objective objective;
		BERTH_TRY(berth_objective_parse(a->budget.objective, &objective, err));
		BERTH_TRY(berth_objective_is(&objective, BERTH_LATENCY)
		                  ? BERTH_OK
		                  : berth_fail(err, BERTH_EINVAL,
		                               "train --env measured: the objective is latency"));
	}
	return BERTH_OK;
}

/* ---- ranks ---- */

/* The ranks that a launcher started with this process; one alone where none did. Says how many there are. All
 * but the first fall silent; *voice is what run_ranks speaks with at its end. */
static berth_status open_ranks(cli *c, berth_ranks *out, int *voice, berth_err *err)
{
	berth_wire wire;
	*out = (berth_ranks){.n = 1};
	*voice = -1;
	BERTH_TRY(berth_wire_open(&c->mem, &wire, err));
	BERTH_TRY(berth_ranks_open(&wire, &c->mem, out, err));
	int32_t n = 0;
	for (int32_t i = 0; i < out->n; i++) {
		bool known = false;
		for (int32_t k = 0; k < i && !known; k++)
			known = strcmp(out->host[i], out->host[k]) == 0;
		n += !known;
	}
	int32_t hosts = n;
	if (out->n > 1 && out->me == 0 && !c->quiet)
		cli_say_error("berth: %d ranks on %d host%s\n", (int)out->n, (int)hosts,
		              hosts == 1 ? "" : "s");
	if (out->me == 0)
		return BERTH_OK;
	c->quiet = true;
	c->json = false;
	berth_status st = cli_fall_silent(voice, err);
	out->lost = st != BERTH_OK; /* the others begin to trade */
	return st;
}

/* ---- all of it ---- */

/* All that writes: the log, the journal, the policy. */
static berth_status run_locked(cli *c, train_args *a, train_run *t, berth_err *err)
{
	if (a->report && a->log && a->resume)
		BERTH_TRY(train_curves_read(&t->curves, a->log, &c->tmp, err));
	if (a->measured.on)
		BERTH_TRY(train_measured_open(c, &a->measured, c->args[0], a->out, a->resume, &a->budget,
		                              &t->item[0], &t->measured, err));
	if (t->measured.ended_before)
		return train_measured_say_ended(c, a->out, err);
	berth_status st = train_log_open(a->log, a->resume, &t->log, err);
	if (st == BERTH_OK)
		st = train(c, t, err);
	if (a->measured.on && st == BERTH_OK)
		st = train_measured_run(c, a->out, &t->measured, err);
	train_measured_close(&t->measured);
	train_log_close(&t->log);
	if (st != BERTH_OK && st != BERTH_EINTERRUPTED)
		return st;
	BERTH_TRY(train_tell(c, t, err));
	return st;
}

/* What comes before training. All ranks read the same; the first one has the files that are written. */
static berth_status prepare(cli *c, train_args *a, train_run *t, berth_err *err)
{
	if (t->ranks->n > 1 && a->measured.on)
		return berth_fail(err, BERTH_EINVAL,
		                  "train --env measured: an engine runs for one rank alone; leave mpirun "
		                  "out");
	BERTH_TRY(train_items_open(c, t, err));
	if (t->seeds && !t->item)
		return berth_fail(err, BERTH_EINVAL, "train --seeds: %d pairs are too many to be held",
		                  (int)t->n_items);
	if (t->ranks->me > 0) {
		a->log = a->report = NULL;
		return BERTH_OK;
	}
	if (a->report)
		BERTH_TRY(train_curves_new(t->item, t->n_items, &t->curves, err));
	return berth_file_lock_take(a->out, "another training", &c->mem, &t->lock, err);
}

static berth_status run_one(cli *c, train_args *a, berth_ranks *ranks, train_seeds *seeds, berth_err *err)
{
	train_run t = {.lock.fd = -1, .c = c, .a = a, .ranks = ranks, .seeds = seeds};
	berth_status st = berth_ranks_agree(ranks, prepare(c, a, &t, err), err);
	if (st == BERTH_OK)
		st = berth_ranks_agree(ranks, run_locked(c, a, &t, err), err);
	berth_file_release(&t.lock);
	cli_rescue_by(NULL, NULL, 0); /* it would read t */
	train_curves_free(&t.curves);
	return st;
}

/* One training after the other, each as --seed alone has it. Those that have ended are told in any case. */
static berth_status run_seeds(cli *c, const train_args *a, berth_ranks *ranks, berth_err *err)
{
	const int64_t last = (int64_t)a->budget.seed + a->seeds - 1;
	train_seeds seeds = {0};
	train_args *one;
	berth_status st = BERTH_OK;
	if (ranks->n > 1)
		return berth_fail(err, BERTH_EINVAL,
		                  "train --seeds: one process trains them; leave mpirun out, or train seed "
		                  "by seed (--seed)");
	if (!cli_is_pattern(a->out) || a->budget.seed < 1 || a->budget.seed > PLACE_PARETO_POINTS ||
	    a->seeds > PLACE_PARETO_POINTS || last > PLACE_PARETO_POINTS)
		return berth_fail(err, BERTH_EINVAL,
		                  "train --seeds: seeds are from 1 to %d, and -o takes a name with %%d for "
		                  "the seed, as in ours-%%d.safetensors",
		                  PLACE_PARETO_POINTS);
	BERTH_TRY_NEW(&c->mem, a->seeds, err, seeds.seed, one);
	for (int32_t i = 0; i < a->seeds; i++) {
		berth_file_lock lock;
		one[i] = *a;
		one[i].budget.seed += (uint64_t)i;
		one[i].out = cli_numbered(&c->mem, a->out, (int32_t)one[i].budget.seed);
		BERTH_TRY(berth_got(one[i].out, err));
		BERTH_TRY(berth_file_writable(one[i].out, err));
		BERTH_TRY(berth_file_lock_take(one[i].out, "another training", &c->mem, &lock, err));
		berth_file_release(&lock);
	}
	for (int32_t i = 0; i < a->seeds && st == BERTH_OK; i++)
		st = run_one(c, &one[i], ranks, &seeds, err);
	berth_err untold = {BERTH_OK, ""};
	if (seeds.n && train_tell_seeds(c, &seeds, &untold) != BERTH_OK && st == BERTH_OK)
		st = berth_fail(err, untold.code, "%s", untold.msg);
	return st;
}

static berth_status run_ranks(cli *c, train_args *a, berth_err *err)
{
	berth_ranks ranks;
	int voice;
	BERTH_TRY(check_args(c, a, err));
	berth_status st = open_ranks(c, &ranks, &voice, err);
	if (st == BERTH_OK)
		st = a->seeds ? berth_ranks_agree(&ranks, run_seeds(c, a, &ranks, err), err)
		              : run_one(c, a, &ranks, NULL, err);
	/* All are done, this one with st. Where they have failed the first one tells err now and empties it:
	 * later a launcher may end it, as others have left with a failure. Where this one has failed in the
	 * middle of a trade it tells so, and ends the others, which wait for it, and itself. */
	if (st != BERTH_OK && ranks.n > 1 && ranks.me == 0 && !ranks.lost) {
		cli_say_now();
		cli_say_error("berth: %s\n", err->msg);
		*err->msg = '\0';
	}
	if (ranks.lost) {
		cli_speak_again(voice);
		cli_say_error("berth: rank %d: %s\n", (int)ranks.me, err->msg);
		ranks.wire.stop(ranks.wire.ctx, berth_exit_code(st));
	}
	berth_ranks_close(&ranks);
	return st;
}

static berth_status run(cli *c, berth_err *err)
{
	train_args a = {.measured = cli_train_measured_default(),
	          .decoding = berth_decoding_name(berth_train_cfg_default().learner.decoding),
	          .at_once = BERTH_TRAINED_AT_ONCE,
	          .budget = cli_budget_default()};
	a.budget.evaluations.n = 0;
	const cli_option options[] = {
		{"on", 0, CLI_FILES_IN, &a.on, "SYSTEM,...", "the machines"},
		{"objective", 0, CLI_TEXT, &a.budget.objective, "O",
	         "what to make small: latency, throughput, energy, edp, power, memory, sums, limits; each: "
	         "every pair has one of its own, drawn by the seed: latency, throughput, energy or edp"},
		{"decoding", 0, CLI_TEXT, &a.decoding, "D",
	         "sequential: operator by operator along a schedule; or one-shot"},
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
		{"seeds", 0, CLI_COUNT, &a.seeds, "N",
	         "so many policies, with seeds from --seed on, their spread, and the best; -o NAME-%d"},
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
		{"for", 0, CLI_TEXT, &c->engine, "ENGINE",
	         "the engine that is to run plans, whose rules value them: ort, accelerate, torch, "
	         "openvino\tnone"},
		CLI_READING(c),
		CLI_COMMON(c)};
	BERTH_TRY(cli_parse(c, options, 0, -1, err));
	if (c->help)
		return BERTH_OK;
	a.each_objective = strcmp(a.budget.objective, "each") == 0;
	if (a.each_objective)
		a.budget.objective = berth_metrics[BERTH_LATENCY].name;
	return run_ranks(c, &a, err);
}

static const cli_rule rules[] = {
	{"policy", "!fine-tune", "train --policy: what to begin with; it goes with --fine-tune"},
	{"", "!output", "train: -o POLICY is missing; it is a file"}};

const cli_verb cmd_train = {
	"train",
	"train GRAPH... --on SYSTEM[,SYSTEM...] | --pairs FILE [--for ENGINE] [--teach N] [--fine-tune] "
	"[--objective O] "
	"[--evaluations N] [--seed N] [--seeds N] [--env simulated|measured] [--engine E] [--resume] "
	"[--log FILE] [--report FILE.html] -o POLICY",
	"train a placement policy on graphs and systems",
	"Ctrl-C writes the checkpoint and ends with exit code 130; --resume goes on from there.\n"
	"mpirun -n N berth train ... trains with N processes, on any hosts, to the same policy.\n"
	"Example: berth train zoo:resnet50 zoo:bert-base --on system:edge,system:cpu+2gpu -o "
	"mixed.safetensors\n",
	run,
	CLI_RULES_OF(rules)};
