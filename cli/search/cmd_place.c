/* berth place: load, bound, run the method, check, write, report. */
#include "budget.h"
#include "cli_granularity.h"
#include "graph.h"
#include "graph_load.h"
#include "page_plan.h"
#include "place_certificate.h"
#include "place_decoder.h"
#include "place_pareto.h"
#include "place_price.h"
#include "place_replicas.h"
#include "place_requests.h"
#include "place_rescue.h"
#include "place_smaller.h"
#include "print.h"
#include "progress.h"
#include "report.h"
#include "report_infeasible.h"
#include "report_packed.h"
#include "report_page.h"
#include "report_pipeline.h"
#include "report_pools.h"
#include "say.h"
#include "signals.h"
#include "solve.h"
#include "text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Of a time: of a search that is made again; to tell what is infeasible, at least. */
#define AGAIN_SHARE 0.1
#define WHY_SHARE 0.05

typedef struct args {
	const char *on, *method, *out, *report;
	place_pareto_args pareto;
	cli_budget budget;
	cli_granularity granularity;
	decoder_args decoder;
	const char *certificate;
	const char *replicas;
	cli_texts requests;
} args;

typedef struct state {
	const berth_method *method;
	berth_objective objective;
	berth_graph whole; /* as it was read */
	berth_graph g;     /* with the rules of --granularity and --max-cuts */
	berth_graph_parts parts; /* where several models share the machine */
	berth_system s;
	berth_problem p;
	berth_bounds bounds;
	berth_solution r;
	berth_timeline t;
	report_pipeline pipeline;
	berth_verdict v;
	report_infeasible infeasible; /* where something is broken */
	place_smaller smaller;
	berth_finer price;
	place_decoder decoder; /* of a language model, whose decoding graph is `whole` */
	place_rescue rescue;
	bool again;          /* a search for an answer that holds for prefill, too */
	place_certificate certificate;
	place_replicas copies;
	berth_single single; /* the best single device, to compare with: no part of the answer's cost */
} state;

static bool to_stdout(const args *a)
{
	return a->out && strcmp(a->out, "-") == 0;
}

/* ---- passes ---- */

static berth_status compile(cli *c, const args *a, state *s, berth_err *err)
{
	cli_budget budget = a->budget;
	s->g = s->whole;
	if (s->copies.r.interrupted) /* there is no time for another bound */
		budget.bound = "fast";
	BERTH_TRY(cli_granularity_apply(c, &a->granularity, &s->g, err));
	BERTH_TRY(berth_problem_new(&s->g, &s->s, &c->mem, &c->tmp, &s->p, err));
	return cli_budget_bounds(&budget, &s->p, a->pareto.objectives.n ? NULL : &s->objective, &c->tmp,
	                         &s->bounds, err);
}

static berth_status load(cli *c, const args *a, state *s, berth_err *err)
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

static berth_status check(cli *c, state *s, berth_err *err)
{
	if (!s->r.answered)
		return berth_check_problem(&s->p, &c->mem, &s->v.broken, err);
	BERTH_TRY(berth_judge(&s->p, s->r.op_dev, s->r.op_order, &s->r.objective, &c->mem, &s->t, &s->v,
	                      err));
	return report_pipeline_find(c, &s->p, &s->t, &s->r.objective, &s->pipeline, err);
}

/* For an interruption that finds the search, or what comes after it, unable to end by itself. */
static berth_status keep_best(cli *c, const args *a, state *s, berth_search_cfg *cfg, berth_err *err)
{
	place_rescue *x = &s->rescue;
	x->path = a->out;
	x->s = &s->s;
	x->g = s->decoder.on ? &s->decoder.d.whole : &s->whole;
	x->decoder = s->decoder.on ? &s->decoder.d : NULL;
	x->method = s->method;
	return place_rescue_open(c, &s->p, cfg, x, err);
}

/* The time holds from the start of the program. A search that is made again gets a tenth more. */
static void limit_time(const cli *c, const state *s, berth_search_cfg *cfg)
{
	if (s->again) {
		cfg->time_s *= AGAIN_SHARE;
		cfg->cpu_s *= AGAIN_SHARE;
	} else {
		cfg->time_from = c->wall_from;
		cfg->cpu_from = c->cpu_from;
	}
}

static berth_status search(cli *c, const args *a, state *s, berth_err *err)
{
	berth_search_cfg cfg;
	cli_progress progress;
	BERTH_TRY(cli_budget_open(&a->budget, &cfg, err));
	limit_time(c, s, &cfg);
	cli_progress_start(&progress, c, s->g.name, &cfg);
	if (s->copies.r.n)
		cfg.start_dev = s->copies.r.op_dev;
	berth_status st = keep_best(c, a, s, &cfg, err);
	if (st == BERTH_OK)
		st = cli_budget_policy(&a->budget, c, &cfg, err);
	if (st == BERTH_OK)
		st = berth_solve(&s->p, &s->bounds, s->method, &cfg, &c->mem, &c->tmp, &s->r, err);
	s->r.evaluations += s->copies.r.evaluations;
	cli_progress_end(&progress);
	if (st == BERTH_OK && !c->json && !c->quiet)
		st = berth_single_best(&s->p, &cfg.objective, &c->mem, &s->single, err);
	if (st == BERTH_OK && (c->json || !c->quiet) && cli_granularity_binds(&a->granularity))
		st = berth_finer_find(&s->whole, &s->r, &cfg, &c->mem, &c->tmp, &s->price, err);
	cli_budget_close(&cfg);
	return st;
}

/* Seconds that are left of --time and --cpu-time, a share of them at least; 0: no limit. The CPU time is that
 * of the one thread that looks for what is infeasible. */
static double seconds_left(const cli *c, const cli_budget *b)
{
	double wall = b->time_s - (berth_wall_seconds() - c->wall_from),
	       cpu = b->cpu_s - (berth_cpu_seconds() - c->cpu_from);
	wall = b->time_s > 0 ? fmax(wall, WHY_SHARE * b->time_s) : INFINITY;
	cpu = b->cpu_s > 0 ? fmax(cpu, WHY_SHARE * b->cpu_s) : INFINITY;
	return isinf(wall) && isinf(cpu) ? 0 : fmin(wall, cpu);
}

static berth_status find_infeasible(cli *c, const args *a, state *s, berth_err *err)
{
	berth_patience until = {.cancel = cli_catch_signals()};
	double left = seconds_left(c, &a->budget);
	if (left > 0)
		until.end_s = berth_wall_seconds() + left;
	BERTH_TRY(report_infeasible_find(c, &s->p, &s->r.objective, s->r.op_dev, s->r.op_order,
	                                 &until, &s->infeasible, err));
	if (s->decoder.on)
		BERTH_TRY(place_smaller_find(c, &s->decoder,
		                             &(berth_search_cfg){.objective = s->r.objective,
		                                                 .seed = a->budget.seed},
		                             &until, &s->smaller, err));
	s->r.interrupted = atomic_load(until.cancel);
	return BERTH_OK;
}

static berth_status write_out(cli *c, const args *a, state *s, berth_err *err)
{
	place_rescue *x = &s->rescue;
	berth_placement placement = x->as;
	berth_problem whole;
	berth_solution r = s->r;
	if (s->decoder.on)
		berth_decoder_solution(&s->decoder.d, &whole, &r);
	BERTH_TRY(berth_solution_tell(&r, &c->mem, &placement, err));
	if (to_stdout(a))
		cli_document_begin();
	berth_status st = berth_placement_write(&placement, x->g, x->s, a->out, true, &c->tmp, err);
	if (st == BERTH_OK)
		place_rescue_done(x);
	if (to_stdout(a))
		cli_document_end();
	return st;
}

/* ---- output ---- */

static void put_placement(berth_json_out *w, const state *s)
{
	berth_json_open(w, "placement", '{');
	for (int32_t op = 0; s->r.answered && op < s->g.n_ops; op++)
		berth_json_put_string(w, s->g.op_name[op], s->s.dev_name[s->r.op_dev[op]]);
	berth_json_close(w, '}');
	berth_json_put_string(w, "order", berth_order_name(s->r.order));
	if (!s->r.op_order)
		return;
	berth_json_open(w, "order_ops", '[');
	berth_json_flat(w, true);
	for (int32_t k = 0; k < s->g.n_ops; k++)
		berth_json_put_string(w, NULL, s->g.op_name[s->r.op_order[k]]);
	berth_json_close(w, ']');
	berth_json_flat(w, false);
}

static void put_left_out(berth_json_out *w, const berth_solution *r)
{
	berth_json_open(w, "seeds_left_out", '[');
	for (int32_t i = 0; i < r->n_left_out; i++)
		berth_json_put_string(w, NULL, r->left_out[i]);
	berth_json_close(w, ']');
}

/* What does not differ from run to run, but for the placement itself. */
static berth_status put_answer(cli *c, berth_json_out *w, const args *a, const state *s, berth_err *err)
{
	const berth_solution *r = &s->r;
	berth_json_put_string(w, "graph", s->g.name);
	berth_json_put_string(w, "system", s->s.name);
	berth_json_put_string(w, "objective", berth_objective_name(&r->objective));
	berth_json_put_string(w, "method", r->method->name);
	berth_json_put_number(w, "value", r->value);
	berth_json_put_number(w, "lower_bound", r->lower_bound);
	berth_json_put_string(w, "bound", r->bound_kind);
	berth_json_put_number(w, "gap", r->gap);
	if (a->budget.gap > 0)
		berth_json_put_number(w, "gap_asked", a->budget.gap);
	berth_json_put_bool(w, "dual_dropped", s->bounds.dropped);
	place_certificate_put(w, &s->certificate);
	berth_json_put_string(w, "status", r->status);
	berth_json_put_bool(w, "feasible", r->feasible);
	report_put_violations(w, &s->p, &s->v.broken);
	if (s->v.broken.n)
		report_put_infeasible(w, &s->p, &s->infeasible);
	if (s->v.broken.n && s->decoder.on)
		place_smaller_put(w, &s->smaller);
	place_price_put(w, &a->granularity, &s->price);
	if (s->decoder.on && r->answered)
		BERTH_TRY(place_decoder_put(c, w, &s->decoder.d, &s->p, &s->t, err));
	berth_json_put_int(w, "seed", (int64_t)r->seed);
	if (r->walks > 1)
		berth_json_put_int(w, "walks", r->walks);
	berth_json_put_int(w, "evaluations", r->evaluations);
	if (r->nodes)
		berth_json_put_int(w, "nodes", r->nodes);
	if (r->groups) {
		berth_json_put_int(w, "groups", r->groups);
		berth_json_put_bool(w, "groups_optimal", r->groups_optimal);
	}
	if (r->n_left_out)
		put_left_out(w, r);
	place_replicas_put(w, &s->copies, r->value);
	if (r->answered)
		report_put_packed(c, w, &s->p, &s->t);
	return BERTH_OK;
}

static berth_status print_json(cli *c, const args *a, const state *s, berth_err *err)
{
	berth_json_out w;
	berth_json_out_init(&w, &c->mem, true);
	berth_json_open(&w, NULL, '{');
	BERTH_TRY(put_answer(c, &w, a, s, err));
	berth_json_put_number(&w, "solve_s", s->r.solve_s);
	berth_json_put_number(&w, "wall_s", s->r.wall_s);
	report_put_models(&w, &s->parts, &s->t);
	report_put_devices(&w, &s->p, &s->t);
	report_put_pipeline(&w, &s->p, &s->pipeline);
	report_put_pools(&w, &s->p, &s->t);
	put_placement(&w, s);
	return cli_end_json(c, &w, err);
}

static berth_status write_report(cli *c, const args *a, const state *s, berth_err *err)
{
	berth_page page;
	BERTH_TRY(cli_report_open(c, &page, "place", s->g.name, s->s.name,
	                          berth_objective_unit(&s->r.objective), err));
	berth_json_open(&page.w, "document", '{');
	BERTH_TRY(put_answer(c, &page.w, a, s, err));
	berth_json_close(&page.w, '}');
	if (s->r.answered && s->t.r.runs)
		BERTH_TRY(berth_page_put_plan(&page.w, &s->p, &s->t, &c->mem, &c->tmp, err));
	return cli_report_write(c, &page, a->report, err);
}

/* How the answer stands to the best single device. */
static void print_speedup(const state *s)
{
	const berth_metric_row *m = berth_objective_metric(&s->r.objective);
	if (s->single.why)
		cli_say("%s", s->single.why);
	else if (m && m->of_time > 0 && !m->of_energy && s->r.value > 0)
		cli_say("%.2f times as fast as the best single device", s->single.value / s->r.value);
	else if (s->single.value > 0)
		cli_say("%.1f %% %s than the best single device",
		        100 * fabs(1 - s->r.value / s->single.value),
		        s->r.value > s->single.value ? "more" : "less");
	else
		cli_say("as good as the best single device");
}

/* The best single device of a cut program is slower than that of the model before the cut. */
static void print_cut(const berth_graph *g)
{
	int32_t cut, pieces = berth_graph_pieces(g, &cut);
	if (pieces)
		cli_say("cut: %d operator%s in %d pieces: compare with a plan of the whole model, which one "
		        "device may run faster\n",
		        (int)cut, cut == 1 ? " stands" : "s stand", (int)pieces);
}

/* What each metric of a sum or under a limit comes to. */
static void print_parts(const state *s)
{
	char value[32], most[32];
	const berth_objective *o = &s->r.objective;
	const char *before = "";
	if (berth_objective_metric(o) && !berth_objective_has_limits(o))
		return;
	for (int m = 0; m < BERTH_N_METRICS; m++) {
		if (!o->sums[m] && !o->limits[m])
			continue;
		cli_say("%s%s %s", before, berth_metrics[m].name,
		        cli_metric(value, (berth_metric)m, s->v.metric[m]));
		if (o->limits[m])
			cli_say(" (limit %s)", cli_metric(most, (berth_metric)m, o->most[m]));
		before = ", ";
	}
	cli_say("\n");
}

static void print_head(const args *a, const state *s)
{
	const berth_solution *r = &s->r;
	char value[32], bound[32], gap[32], asked[32], count[32], time[32];
	const berth_metric_row *m = berth_objective_metric(&r->objective);
	cli_say("%s on %s: ", s->g.name, s->s.name);
	if (r->feasible) {
		cli_say("%s %s", berth_objective_name(&r->objective),
		        cli_value(value, &r->objective, r->value));
		if (s->parts.n > 1 && m && m->per)
			cli_say(" a period of all %d %s\n", (int)s->parts.n,
			        s->copies.r.n ? "copies" : "models");
		else
			cli_say("%s%s\n", m && m->per ? " a " : "", m && m->per ? m->per : "");
		print_speedup(s);
		cli_say("; %s bound %s, gap %s", r->bound_kind,
		        cli_value(bound, &r->objective, r->lower_bound), cli_percent(gap, r->gap));
		if (a->budget.gap > 0)
			cli_say(" (%s asked for: %s)", cli_percent(asked, a->budget.gap),
			        r->gap <= a->budget.gap ? "reached" : "not reached");
		cli_say("\n");
		print_cut(&s->g);
		print_parts(s);
		place_replicas_print(&s->copies, r->value);
	} else {
		cli_say("no placement was found that fits\n");
	}
	if (r->groups)
		cli_say("%s solved %d groups of the %d operators%s: nothing is proven for the operators\n",
		        r->method->name, (int)r->groups, (int)s->g.n_ops,
		        r->groups_optimal ? ", to the best of these groups" : "");
	cli_say("by %s, %s evaluations in %s, seed %llu", r->method->name, cli_count(count, r->evaluations),
	        berth_text_seconds(time, r->wall_s), (unsigned long long)r->seed);
	if (r->walks > 1)
		cli_say(", %d walks", (int)r->walks);
	cli_say("\n");
}

static berth_status print_text(cli *c, const args *a, const state *s, berth_err *err)
{
	bool period = s->r.feasible && berth_objective_is(&s->r.objective, BERTH_THROUGHPUT);
	if (s->r.answered) {
		print_head(a, s);
		place_price_print(&a->granularity, &s->price, &s->r);
		if (s->decoder.on)
			place_decoder_print_head(&s->decoder.d, &s->t, period ? s->r.value : 0);
		cli_say("\n");
		if (s->decoder.on) {
			BERTH_TRY(place_decoder_print_layers(c, &s->decoder.d, &s->p, &s->t, err));
			cli_say("\n");
		}
		BERTH_TRY(report_print_models(c, &s->parts, &s->t, err));
		BERTH_TRY(report_print_devices(c, &s->p, &s->t, &s->r.objective, s->pipeline.x.peak_bytes,
		                               err));
		BERTH_TRY(report_print_pools(c, &s->p, &s->t, &s->r.objective, err));
		report_print_pipeline(&s->p, &s->pipeline);
		report_print_packed(c, &s->p, &s->t);
		cli_say("\n");
		BERTH_TRY(report_print_lost(c, &s->p, &s->t, err));
	}
	if (s->v.broken.n) {
		cli_say("infeasible:\n");
		report_print_violations(&s->v.broken);
		report_print_infeasible(&s->infeasible);
		place_smaller_print(&s->smaller);
	} else if (a->out) {
		cli_say("written to %s\n", a->out);
	}
	place_certificate_print(&s->certificate, s->r.interrupted);
	return BERTH_OK;
}

static berth_status check_args(const cli *c, const args *a, state *s, berth_err *err)
{
	const char *grain = a->granularity.name;
	bool layers = s->decoder.on || a->granularity.max_cuts >= 0 ||
	              (grain && strcmp(grain, berth_grain_name(BERTH_GRAIN_OP)) != 0);
	if (c->compress && s->decoder.on)
		return berth_fail(err, BERTH_EINVAL,
		                  "place: --compress is for one use of a language model: give it the "
		                  "word mode");
	if (a->replicas && (a->pareto.objectives.n || layers))
		return berth_fail(err, BERTH_EINVAL,
		                  "place: --replicas places operators of one graph: leave out --pareto, "
		                  "--granularity and --max-cuts, and give a language model the word mode");
	BERTH_TRY(berth_objective_parse(a->budget.objective, &s->objective, err));
	s->certificate.path = a->certificate;
	BERTH_TRY(place_certificate_check(&s->certificate, &s->objective, c->n_args > 1 || a->replicas, err));
	return berth_method_find(a->method, &s->method, err);
}

/* --pareto: a front instead of one answer. */
static berth_status place_front(cli *c, args *a, state *s, berth_err *err)
{
	a->pareto.out = a->out;
	a->pareto.report = a->report;
	if (a->method != berth_method_default()->name) /* it was given */
		return berth_fail(err, BERTH_EINVAL,
		                  "place: --pareto is a search of its own; leave out --method");
	if (a->certificate)
		return berth_fail(err, BERTH_EINVAL,
		                  "place: --pareto tells no single bound; leave out --certificate");
	if (a->budget.gap > 0)
		return berth_fail(err, BERTH_EINVAL, "place: --pareto has no gap to end at; leave out --gap");
	BERTH_TRY(load(c, a, s, err));
	return place_pareto(c, &a->pareto, &a->budget, &s->p, &s->bounds, err);
}

/* --requests: copies for a mix of sizes instead of one answer. */
static berth_status place_mix(cli *c, const args *a, state *s, berth_err *err)
{
	const place_requests_args x = {a->requests, a->replicas, a->on, a->out};
	BERTH_TRY(check_args(c, a, s, err));
	BERTH_TRY(place_replicas_check(&s->objective, err));
	if (a->report)
		return berth_fail(err, BERTH_EINVAL, "place: --requests has no page: leave out --report");
	if (berth_objective_has_limits(&s->objective))
		return berth_fail(err, BERTH_EINVAL,
		                  "place: --requests keeps no limits: give --objective throughput alone");
	return place_requests(c, &x, &a->budget, s->method, err);
}

/* The answer holds for prefill too, or is searched anew with more held back for it. */
static berth_status fit_prefill(cli *c, const args *a, state *s, berth_err *err)
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

/* A language model whose use is left open is placed by layers for both uses. */
static berth_status open_decoder(cli *c, args *a, state *s, berth_err *err)
{
	const char *spec = c->args[0];
	if (c->n_args > 1 && (a->decoder.context || a->decoder.batch || a->decoder.cache))
		return berth_fail(err, BERTH_EINVAL,
		                  "place: --ctx, --batch and --kv-type take one model; give several "
		                  "theirs as words");
	if (c->n_args > 1)
		return BERTH_OK;
	BERTH_TRY(place_decoder_open(c, &a->decoder, &spec, &s->decoder, err));
	BERTH_TRY(BERTH_NEW(&c->mem, c->args, 1, err));
	if (!(c->args[0] = berth_arena_strdup(&c->mem, spec)))
		return berth_nomem(err);
	s->decoder.on &= !a->pareto.objectives.n;
	if (s->decoder.on && !a->granularity.name)
		a->granularity.name = berth_grain_name(BERTH_GRAIN_LAYER);
	return BERTH_OK;
}

static berth_status place(cli *c, const args *a, state *s, berth_err *err)
{
	BERTH_TRY(check_args(c, a, s, err));
	BERTH_TRY(load(c, a, s, err));
	BERTH_TRY(place_certificate_check_system(&s->certificate, &s->s, err));
	BERTH_TRY(search(c, a, s, err));
	BERTH_TRY(check(c, s, err));
	if (s->decoder.on)
		BERTH_TRY(fit_prefill(c, a, s, err));
	if (s->v.broken.n && !s->r.interrupted)
		BERTH_TRY(find_infeasible(c, a, s, err));
	if (a->out && s->r.feasible)
		BERTH_TRY(write_out(c, a, s, err));
	if (!s->r.interrupted)
		BERTH_TRY(place_certificate_write(c, &a->budget, &s->p, &s->r, &s->certificate, err));
	if (c->json)
		BERTH_TRY(print_json(c, a, s, err));
	else if (!c->quiet && !to_stdout(a))
		BERTH_TRY(print_text(c, a, s, err));
	if (a->report)
		BERTH_TRY(write_report(c, a, s, err));
	if (s->r.interrupted)
		return berth_fail(err, BERTH_EINTERRUPTED,
		                  "interrupted; the best placement so far is the answer");
	if (s->v.broken.n)
		return berth_fail(err, BERTH_EINFEASIBLE, "infeasible: %s%s%s%s", s->v.broken.item[0].message,
		                  s->v.broken.n > 1 ? " (and more)" : "", a->out ? "; not written: " : "",
		                  a->out ? a->out : "");
	return BERTH_OK;
}

static berth_status run(cli *c, int argc, char **argv, berth_err *err)
{
	args a = {.method = berth_method_default()->name,
	          .pareto = {.points = 64},
	          .budget = cli_budget_default(),
	          .granularity = cli_granularity_default()};
	state s = {0};
	const cli_option options[] = {
		{"on", 0, CLI_FILE_IN, &a.on, "SYSTEM", "the machine"},
		{"method", 0, CLI_TEXT, &a.method, "M", "placement method; 'berth methods' lists them"},
		{"pareto", 0, CLI_LIST, &a.pareto.objectives, "O,O",
	         "a front of placements for two objectives, as in latency,energy"},
		{"points", 0, CLI_COUNT, &a.pareto.points, "N", "placements of a front at most"},
		CLI_GRANULARITY(&a.granularity),
		CLI_DECODER(&a.decoder),
		{"replicas", 0, CLI_TEXT, &a.replicas, "N|auto",
	         "copies of the model at once, for throughput; auto tries up to twice the devices"},
		{"requests", 0, CLI_LIST, &a.requests, "SHARE:WORD=N,...",
	         "requests of unlike sizes for --replicas, as in 0.7:batch=1,0.3:batch=8\tall alike"},
		CLI_BUDGET(&a.budget),
		{"output", 'o', CLI_FILE_OUT, &a.out, "OUT", "write the placement file"},
		{"certificate", 0, CLI_FILE_ONLY, &a.certificate, "FILE",
	         "write why nothing is below the bound, for check-certificate"},
		CLI_REPORT(&a.report),
		CLI_COMPRESS(c),
		CLI_RULES(c),
		CLI_INPUT(c),
		CLI_COMMON(c)};
	BERTH_TRY(cli_parse(c, &cmd_place, options, argc, argv, 1, -1, err));
	if (c->help)
		return BERTH_OK;
	BERTH_TRY(open_decoder(c, &a, &s, err));
	berth_status st = a.pareto.objectives.n ? place_front(c, &a, &s, err)
	                  : a.requests.n        ? place_mix(c, &a, &s, err)
	                                        : place(c, &a, &s, err);
	cli_rescue_by(NULL, NULL, 0); /* it would read s */
	return st;
}

const cli_verb cmd_place = {
	"place",
	"place GRAPH... --on SYSTEM [--method M] [--objective O | --pareto O,O] [--policy FILE] "
        "[--evaluations N] [--time S] [--seed N] [-o OUT] [--report FILE.html]",
	"decide which device runs which operator",
	"Ctrl-C stops the search; the best placement so far is written and the exit code is 130.\n"
	"Example: berth place model.onnx --on system:cpu+2gpu --time 10 -o plan.json\n",
	run};
