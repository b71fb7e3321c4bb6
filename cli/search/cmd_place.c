/* berth place: load, bound, run the method, check, write, report. */
#include "place.h"

#include "graph_load.h"
#include "op_times.h"
#include "own_method.h"
#include "page_plan.h"
#include "place_requests.h"
#include "print.h"
#include "progress.h"
#include "signals.h"
#include "simple.h"

/* Of a time: of a search that is made again; to tell what is infeasible, at least. */
#define AGAIN_SHARE 0.1
#define WHY_SHARE 0.05

/* ---- passes ---- */

/* For an interruption that finds the search, or what comes after it, unable to end by itself. */
static berth_status keep_best(cli *c, const place_args *a, place_state *s, berth_search_cfg *cfg,
                              berth_err *err)
{
	place_rescue *x = &s->rescue;
	x->path = a->out;
	x->s = &s->s;
	x->g = s->decoder.on ? &s->decoder.d.whole : &s->whole;
	x->decoder = s->decoder.on ? &s->decoder.d : NULL;
	x->use = s->decoder.use;
	x->method = s->method;
	x->for_engine = s->engine.plan.engine;
	return place_rescue_open(c, &s->p, cfg, x, err);
}

/* May bounds take seconds? */
static bool bounds_are_slow(const cli_budget *b)
{
	enum { LONG_S = 2, MANY = 100000 }; /* bounds have a tenth of the search */
	return strcmp(b->bound, "strong") == 0 ||
	       (strcmp(b->bound, "fast") != 0 &&
	        (b->limit_s[0] >= LONG_S || b->limit_s[1] >= LONG_S || b->evaluations.n >= MANY));
}

/* A plan for an interruption that comes before the search, while bounds are looked for. It is no part of the
 * answer, and where there is none so quickly there is none; nor for an engine, which may not be told it. */
static berth_status keep_first(cli *c, const place_args *a, place_state *s, berth_err *err)
{
	const berth_method *quick;
	berth_search_cfg cfg;
	berth_bounds fast;
	berth_solution r;
	bool slow = a->out && !s->s.engine && bounds_are_slow(&a->budget);
	if (!slow || a->pareto.objectives.n || a->requests.n || a->replicas)
		return BERTH_OK;
	BERTH_TRY(berth_method_find("heft", &quick, err));
	BERTH_TRY(cli_budget_open(&a->budget, &cfg, err));
	cfg.write_model = NULL;
	berth_status st = keep_best(c, a, s, &cfg, err);
	if (st == BERTH_OK)
		st = berth_bounds_new(&s->p, &c->tmp, &fast, err);
	if (st == BERTH_OK)
		st = berth_solve(&s->p, &fast, quick, &cfg, &c->mem, &c->tmp, &r, NULL);
	if (st == BERTH_ENOMEM)
		berth_nomem(err);
	cli_budget_close(&cfg);
	return st == BERTH_ENOMEM ? st : BERTH_OK;
}

static berth_status compile(cli *c, const place_args *a, place_state *s, berth_err *err)
{
	cli_budget budget = a->budget;
	s->g = s->whole;
	if (s->copies.r.interrupted) /* there is no time for another bound */
		budget.bound = "fast";
	BERTH_TRY(cli_granularity_apply(c, &a->granularity, &s->g, err));
	if (!a->granularity.name)
		BERTH_TRY(berth_engine_kernels(&s->s, NULL, &s->g, &c->mem, &c->tmp, err));
	BERTH_TRY(berth_problem_new(&s->g, &s->s, &c->mem, &c->tmp, &s->p, err));
	BERTH_TRY(place_decoder_mix(c, &s->decoder, &s->p, err));
	BERTH_TRY(keep_first(c, a, s, err));
	return cli_budget_bounds(&budget, &s->p, a->pareto.objectives.n ? NULL : &s->objective, &c->tmp,
	                         &s->bounds, err);
}

static berth_status load(cli *c, const place_args *a, place_state *s, berth_err *err)
{
	if (s->decoder.on)
		BERTH_TRY(place_decoder_load(c, a->on, &a->granularity, &s->decoder, &s->whole, &s->s, err));
	else
		BERTH_TRY(cli_models_load(c, a->on, &s->whole, &s->s, &s->parts, err));
	s->copies.asked = a->replicas;
	if (a->replicas)
		BERTH_TRY(place_replicas_choose(c, &a->budget, &s->objective, s->method, &s->s, &s->copies,
		                                &s->whole, &s->parts, err));
	return compile(c, a, s, err);
}

static berth_status check(cli *c, place_state *s, berth_err *err)
{
	if (!s->r.answered)
		return berth_check_problem(&s->p, &c->mem, &s->v.broken, err);
	const berth_problem *p = s->engine.plan.engine ? &s->engine.p : &s->p;
	BERTH_TRY(berth_judge(p, s->r.op_dev, s->r.op_order, &s->r.objective, &c->mem, &s->t, &s->v, err));
	return report_pipeline_find(c, &s->p, &s->t, &s->r.objective, &s->pipeline, err);
}

/* The best single device, and how far predicted times let the answer be compared with it. */
static berth_status compare_with_single(cli *c, place_state *s, const berth_objective *o, berth_err *err)
{
	int32_t *op_dev;
	BERTH_TRY(berth_single_best(&s->p, o, &c->mem, &s->single, err));
	if (s->single.dev < 0 || !s->r.answered)
		return BERTH_OK;
	BERTH_TRY_NEW(&c->mem, s->p.n_ops, err, op_dev);
	berth_single_placement(&s->p, s->single.dev, op_dev);
	s->gain_error = berth_ratio_error(&s->p, s->r.op_dev, op_dev);
	return BERTH_OK;
}

static berth_status warn_late(cli *c, const place_args *a, berth_err *err)
{
	char given[32];
	const double *limit_s = a->budget.limit_s;
	return cli_warn(c, err,
	                "--time %s%s: over when the quick heuristics ended, which run whatever it is; "
	                "nothing was searched",
	                berth_text_seconds(given, fmax(limit_s[0], limit_s[1])),
	                limit_s[1] > 0 ? " of the CPU" : "");
}

static berth_status search(cli *c, const place_args *a, place_state *s, berth_err *err)
{
	berth_search_cfg cfg;
	cli_progress progress;
	const berth_solution before = s->r; /* empty, but where a search is made again */
	BERTH_TRY(cli_budget_open(&a->budget, &cfg, err));
	/* The time holds from the start of the program. A search that is made again gets a tenth more. */
	if (s->again) {
		cfg.time_s *= AGAIN_SHARE;
		cfg.cpu_s *= AGAIN_SHARE;
	} else {
		cfg.time_from = c->wall_from;
		cfg.cpu_from = c->cpu_from;
	}
	cli_progress_start(&progress, c, s->g.name, &cfg);
	if (s->copies.r.n) {
		cfg.start_dev = s->copies.r.op_dev;
		cfg.start_order = s->copies.r.op_order;
	} else if (s->engine.plan.engine)
		cfg.start_dev = berth_engine_plan_start(&s->engine.plan);
	berth_status st = keep_best(c, a, s, &cfg, err);
	if (st == BERTH_OK)
		st = cli_budget_policy(&a->budget, c, &cfg, err);
	if (st == BERTH_OK)
		st = berth_solve(&s->p, &s->bounds, s->method, &cfg, &c->mem, &c->tmp, &s->r, err);
	if (st == BERTH_OK && s->r.note)
		st = cli_warn(c, err, "method %s: %s", s->method->name, s->r.note);
	if (st == BERTH_OK && s->r.late && !s->r.interrupted)
		st = warn_late(c, a, err);
	if (st == BERTH_OK)
		st = berth_engine_plan_take(&s->engine.plan, &cfg.objective, &s->r, &c->mem, &c->tmp, err);
	s->r.evaluations += s->copies.r.evaluations + before.evaluations;
	s->r.wall_s += before.wall_s;
	s->r.solve_s += before.solve_s;
	cli_progress_end(&progress);
	if (st == BERTH_OK)
		st = compare_with_single(c, s, &cfg.objective, err);
	if (st == BERTH_OK && (c->json || !c->quiet) && cli_granularity_binds(&a->granularity) &&
	    !s->s.engine)
		st = berth_finer_find(&s->whole, &s->r, &cfg, &c->mem, &c->tmp, &s->price, err);
	cli_budget_close(&cfg);
	return st;
}

/* Seconds that are left of --time, a share of them at least; 0: no limit. The CPU time is that
 * of the one thread that looks for what is infeasible. */
static double seconds_left(const cli *c, const cli_budget *b)
{
	double wall = b->limit_s[0] - (berth_wall_seconds() - c->wall_from),
	       cpu = b->limit_s[1] - (berth_cpu_seconds() - c->cpu_from);
	wall = b->limit_s[0] > 0 ? fmax(wall, WHY_SHARE * b->limit_s[0]) : INFINITY;
	cpu = b->limit_s[1] > 0 ? fmax(cpu, WHY_SHARE * b->limit_s[1]) : INFINITY;
	return isinf(wall) && isinf(cpu) ? 0 : fmin(wall, cpu);
}

static berth_status find_smaller(cli *c, const place_args *a, place_state *s, const berth_patience *until,
                                 berth_err *err)
{
	const berth_search_cfg cfg = {.objective = s->objective, .seed = a->budget.seed};
	return s->decoder.on ? place_smaller_find(c, &s->decoder, &cfg, until, &s->smaller, err) : BERTH_OK;
}

static berth_patience patience(const cli *c, const place_args *a)
{
	berth_patience until = {.cancel = cli_catch_signals()};
	double left = seconds_left(c, &a->budget);
	if (left > 0)
		until.end_s = berth_wall_seconds() + left;
	return until;
}

/* A plan that fits by the simulator, for which the engine has no room: what would fit stands before that,
 * unless there are rules, which may be what the engine cannot be told. */
static berth_status search_or_tell(cli *c, const place_args *a, place_state *s, berth_err *err)
{
	berth_status st = search(c, a, s, err);
	if (st != BERTH_EUNSUPPORTED || c->pin.n || c->forbid.n || c->colocate.n)
		return st;
	const berth_err why = *err;
	const berth_patience until = patience(c, a);
	BERTH_TRY(find_smaller(c, a, s, &until, err));
	if (cli_in_words(c))
		place_smaller_print(&s->smaller);
	*err = why;
	return st;
}

static berth_status find_infeasible(cli *c, const place_args *a, place_state *s, berth_err *err)
{
	const berth_patience until = patience(c, a);
	BERTH_TRY(report_infeasible_find(c, &s->p, &s->r.objective, s->r.op_dev, s->r.op_order,
	                                 &until, &s->infeasible, err));
	BERTH_TRY(find_smaller(c, a, s, &until, err));
	s->r.interrupted = atomic_load(until.cancel);
	return BERTH_OK;
}

static berth_status write_out(cli *c, const place_args *a, place_state *s, berth_err *err)
{
	place_rescue *x = &s->rescue;
	berth_placement placement = x->as;
	berth_problem whole;
	berth_solution r = s->r;
	if (s->decoder.on)
		berth_decoder_solution(&s->decoder.d, &whole, &r);
	BERTH_TRY(berth_solution_tell(&r, &c->mem, &placement, err));
	if (s->decoder.on)
		placement.objective = berth_decoder_objective(&r.objective);
	if (c->streams)
		cli_document_begin();
	berth_status st = berth_placement_write(&placement, x->g, x->s, a->out, true, &c->tmp, err);
	if (st == BERTH_OK)
		place_rescue_done(x);
	if (c->streams)
		cli_document_end();
	return st;
}

static berth_status check_args(cli *c, const place_args *a, place_state *s, berth_err *err)
{
	const char *grain = a->granularity.name;
	bool layers = s->decoder.on || a->granularity.max_cuts >= 0 ||
	              (grain && strcmp(grain, berth_grain_name(BERTH_GRAIN_OP)) != 0);
	if (s->decoder.use && !s->decoder.on)
		return berth_fail(err, BERTH_EINVAL,
		                  "place: --use is for a language model that is placed for both uses: one, "
		                  "without the word mode");
	if (c->compress && s->decoder.on)
		return berth_fail(err, BERTH_EINVAL,
		                  "place: --compress is for one use of a language model: give it the "
		                  "word mode");
	if (a->replicas && (a->pareto.objectives.n || layers))
		return berth_fail(err, BERTH_EINVAL,
		                  "place: --replicas places operators of one graph: leave out --pareto, "
		                  "--granularity, and give a language model the word mode");
	BERTH_TRY(berth_objective_parse(a->budget.objective, &s->objective, err));
	s->certificate.path = a->certificate;
	BERTH_TRY(place_certificate_check(&s->certificate, &s->objective, c->n_args > 1 || a->replicas, err));
	return berth_method_named(a->method, &c->mem, &s->method, err);
}

/* --pareto: a front instead of one answer. */
static berth_status place_front(cli *c, place_args *a, place_state *s, berth_err *err)
{
	a->pareto.out = a->out;
	a->pareto.report = a->report;
	BERTH_TRY(load(c, a, s, err));
	return place_pareto(c, &a->pareto, &a->budget, &s->p, &s->bounds, err);
}

/* --requests: copies for a mix of sizes instead of one answer. */
static berth_status place_mix(cli *c, const place_args *a, place_state *s, berth_err *err)
{
	const place_requests_args x = {a->requests, a->replicas, a->on, a->out};
	BERTH_TRY(check_args(c, a, s, err));
	BERTH_TRY(place_replicas_check(&s->objective, err));
	if (berth_objective_has_limits(&s->objective))
		return berth_fail(err, BERTH_EINVAL,
		                  "place: --requests keeps no limits: give --objective throughput alone");
	return place_requests(c, &x, &a->budget, s->method, err);
}

/* The answer holds for prefill too, or is searched anew with more held back for it. */
static berth_status fit_prefill(cli *c, const place_args *a, place_state *s, berth_err *err)
{
	if (s->r.answered)
		BERTH_TRY(berth_decoder_judge(&s->decoder.d, &s->r, &c->mem, err));
	while (s->r.feasible && !s->decoder.d.v.feasible && !s->r.interrupted &&
	       berth_decoder_tighten(&s->decoder.d, &s->whole)) {
		s->again = true;
		BERTH_TRY(compile(c, a, s, err));
		BERTH_TRY(search(c, a, s, err));
		BERTH_TRY(check(c, s, err));
		if (s->r.answered)
			BERTH_TRY(berth_decoder_judge(&s->decoder.d, &s->r, &c->mem, err));
	}
	if (s->r.feasible && !s->decoder.d.v.feasible) {
		s->v = s->decoder.d.v;
		s->r.feasible = false;
	}
	return BERTH_OK;
}

/* A language model whose use is left open is placed for both uses. By layers: a plan for an engine is made of
 * what that can be told. */
static berth_status open_decoder(cli *c, place_args *a, place_state *s, berth_err *err)
{
	const char *spec = c->args[0];
	if (c->n_args > 1)
		return BERTH_OK;
	BERTH_TRY(place_decoder_open(c, &spec, &s->decoder, err));
	BERTH_TRY_NEW(&c->mem, 1, err, c->args);
	BERTH_TRY(berth_got(c->args[0] = berth_arena_strdup(&c->mem, spec), err));
	s->decoder.on &= !a->pareto.objectives.n;
	bool told = c->engine && strcmp(c->engine, "none") != 0;
	if (s->decoder.on && !a->granularity.name && !told)
		a->granularity.name = berth_grain_name(BERTH_GRAIN_LAYER);
	return BERTH_OK;
}

static berth_status place(cli *c, const place_args *a, place_state *s, berth_err *err)
{
	const berth_result *answer;
	BERTH_TRY(check_args(c, a, s, err));
	BERTH_TRY(load(c, a, s, err));
	BERTH_TRY(place_certificate_check_system(&s->certificate, &s->s, err));
	BERTH_TRY(place_engine_open(c, c->args[0], &s->whole, &s->s, &s->decoder, &s->engine, err));
	BERTH_TRY(search_or_tell(c, a, s, err));
	BERTH_TRY(check(c, s, err));
	if (s->decoder.on) {
		BERTH_TRY(fit_prefill(c, a, s, err));
		BERTH_TRY(place_decoder_judge(c, &s->decoder, &s->r, &s->t, err));
	}
	BERTH_TRY(place_engine_look(c, &s->r, &s->engine, err));
	if (s->v.broken.n && !s->r.interrupted)
		BERTH_TRY(find_infeasible(c, a, s, err));
	if (a->out && s->r.feasible)
		BERTH_TRY(write_out(c, a, s, err));
	if (!s->r.interrupted)
		BERTH_TRY(place_certificate_write(c, &a->budget, &s->p, &s->r, &s->certificate, err));
	BERTH_TRY(place_answer(c, a, s, &answer, err));
	if (c->json)
		BERTH_TRY(place_put(c, s, answer, err));
	else if (cli_in_words(c))
		BERTH_TRY(place_print(c, a, s, err));
	if (a->report) {
		berth_page page;
		BERTH_TRY(cli_report_open(c, &page, "place", s->g.name, s->s.name,
		                          berth_objective_unit(&s->r.objective), answer, err));
		if (s->r.answered && s->t.r.runs)
			BERTH_TRY(berth_page_put_plan(&page.w, &s->p, &s->t, &c->mem, &c->tmp, err));
		BERTH_TRY(cli_report_write(c, &page, a->report, err));
	}
	if (s->r.interrupted)
		return berth_fail(err, BERTH_EINTERRUPTED,
		                  "interrupted; the best placement so far is the answer");
	if (s->v.broken.n)
		return berth_fail(err, BERTH_EINFEASIBLE, "infeasible: %s%s%s%s", s->v.broken.item[0].message,
		                  s->v.broken.n > 1 ? " (and more)" : "", a->out ? "; not written: " : "",
		                  a->out ? a->out : "");
	return BERTH_OK;
}

static berth_status run(cli *c, berth_err *err)
{
	place_args a = {.method = berth_method_default()->name,
	          .budget = cli_budget_default(),
	          .granularity = cli_granularity_default()};
	place_state s = {0};
	const cli_option options[] = {
		CLI_ON(&a.on),
		{"method", 0, CLI_TEXT, &a.method, "M",
	         "placement method; 'berth methods' lists them; ./mine.so: yours"},
		{"pareto", 0, CLI_LIST, &a.pareto.objectives, "O,O",
	         "a front of placements for two objectives, as in latency,energy"},
		CLI_GRANULARITY(&a.granularity),
		{"replicas", 0, CLI_TEXT, &a.replicas, "N|auto",
	         "copies of the model at once, for throughput; auto tries up to twice the devices"},
		{"requests", 0, CLI_LIST, &a.requests, "SHARE:WORD=N,...",
	         "requests of unlike sizes for --replicas, as in 0.7:batch=1,0.3:batch=8\tall alike"},
		CLI_BUDGET(&a.budget),
		{"gap", 0, CLI_SHARE, &a.budget.gap, "G",
	         "end a search when the best is proven this close: 1%, 0.01"},
		{"use", 0, CLI_TEXT, &s.decoder.use, "USE:W,...",
	         "of a language model: shares of tokens that are made and read, as in answer:0.8,read:0.2"
	         "\tanswer:1"},
		{"walks", 0, CLI_THREADS, &a.budget.walks, "N",
	         "walks of annealing side by side, for as many threads; results depend on N"},
		{"write-model", 0, CLI_FILE_ONLY, &a.budget.write_model, "FILE",
	         "write the model of method milp as MPS"},
		{"output", 'o', CLI_FILE_OUT, &a.out, "OUT", "write the placement file"},
		{"certificate", 0, CLI_FILE_ONLY, &a.certificate, "FILE",
	         "write why nothing is below the bound, for check-certificate"},
		CLI_REPORT(&a.report),
		CLI_COMPRESS(c),
		CLI_RULES(c),
		CLI_FOR(c),
		CLI_INPUT(c),
		CLI_COMMON(c)};
	BERTH_TRY(cli_parse(c, options, 1, -1, err));
	if (c->help)
		return BERTH_OK;
	s.engine.method_named = a.method != berth_method_default()->name;
	bool usual = !s.engine.method_named && !a.pareto.objectives.n && !a.replicas && !c->training;
	if (c->n_args == 1 && usual)
		BERTH_TRY(place_engine_choose(c, c->args[0], &s.engine, err));
	BERTH_TRY(cli_granularity_open(c, &a.granularity, err));
	BERTH_TRY(open_decoder(c, &a, &s, err));
	berth_status st = a.pareto.objectives.n ? place_front(c, &a, &s, err)
	                  : a.requests.n        ? place_mix(c, &a, &s, err)
	                                        : place(c, &a, &s, err);
	cli_rescue_by(NULL, NULL, 0); /* it would read s */
	place_engine_close(&s.engine);
	return st;
}

static const cli_rule rules[] = {
	{"pareto", "method", "place: --pareto is a search of its own; leave out --method"},
	{"pareto", "certificate", "place: --pareto tells no single bound; leave out --certificate"},
	{"pareto", "gap", "place: --pareto has no gap to end at; leave out --gap"},
	{"for", "pareto|replicas|requests",
         "place: --for is for one plan of one model: leave out --pareto, --replicas and --requests"},
	{"requests", "report", "place: --requests has no page: leave out --report"},
	{"requests", "!replicas",
         "place: --requests is for copies of the model: give --replicas auto, or the most copies"}};

const cli_verb cmd_place = {
	"place",
	"place GRAPH... --on SYSTEM [--method M] [--objective O | --pareto O,O] [--policy FILE] "
        "[--evaluations N] [--time S] [--seed N] [-o OUT] [--report FILE.html]",
	"decide which device runs which operator",
	"Ctrl-C stops the search; the best placement so far is written and the exit code is 130.\n"
	"Example: berth place model.onnx --on system:cpu+2gpu --time 10 -o plan.json\n",
	run,
	CLI_RULES_OF(rules)};
