/* The answer of berth place: filled once as a result, and told as text. The part that does not differ from
 * run to run stands by itself, for pages. */
#include "place.h"

#include "print.h"
#include "results.h"
#include "say.h"
#include "tell.h"

static const char *name_of(const place_state *s, const berth_objective *o)
{
	const bool both = s->decoder.on && s->decoder.d.uses.read > 0;
	return both ? berth_decoder_objective(o) : berth_objective_name(o);
}

#define ANSWER(K, IF) \
	K(TEXT, "graph", "", "name", s->g.name) \
	K(TEXT, "system", "", "name", s->s.name) \
	K(TEXT, "objective", "", "canonical", name_of(s, &r->objective)) \
	K(TEXT, "method", "", "", r->method->name) \
	K(NUMBER_OR_NULL, "value", "of the objective", "null: nothing feasible", r->value) \
	K(NUMBER_OR_NULL, "lower_bound", "of the objective", \
	  "proven; null: not known, or the limits conflict", r->lower_bound) \
	K(TEXT, "bound", "", \
	  "`fast`, `strong`, `auto` (strong, cut for want of work; in words: rough), or `proven` " \
	  "(by the method)", \
	  r->bound_kind) \
	K(NUMBER_OR_NULL, "gap", "share", "value / lower_bound - 1", r->gap) \
	IF(!isnan(s->single.value), NUMBER, "single_value", "of the objective", \
	   "of the best single device; missing: none is feasible", s->single.value) \
	IF(!isnan(s->single.value), NUMBER, "gain_error", "share", \
	   "how far value / single_value may be off, as far as times are predicted", s->gain_error) \
	IF(a->budget.gap > 0, NUMBER, "gap_asked", "share", \
	   "only with `--gap`: reached where `gap` is not above it", a->budget.gap) \
	K(BOOL, "dual_dropped", "", \
	  "the duals of the solver did not prove its value, so only what they prove is told", \
	  s->bounds.dropped) \
	IF(engine, OBJECT(engine_kind), "engine", "", "only with `--for`", engine) \
	IF(other, OBJECT(other_engine_kind), "in_engine", "", \
	   "only of an ONNX file without `--for`: what ONNX Runtime makes of it", other) \
	IF(certificate, OBJECT(certificate_kind), "certificate", "", "only with `--certificate`", \
	  certificate) \
	K(TEXT, "status", "", "`optimal` (proven), `limit` (an exact method's), `feasible`, `infeasible`", \
	  r->status) \
	K(BOOL, "feasible", "", "", r->feasible) \
	K(LIST(violation_kind), "violations", "", "what stands against the answer", \
	  report_violations(c, &s->p, &s->v.broken)) \
	IF(infeasible, ALL_OF(infeasible_kind), "", "", "", infeasible) \
	IF(infeasible && s->decoder.on, LIST(smaller_kind), "smaller", "", \
	   "only with violations, of a language model: smaller ones that fit, each placed", \
	   place_smaller_list(c, &s->smaller)) \
	IF(price, OBJECT(price_kind), "granularity", "", "only with `--granularity`", price) \
	IF(decoder, OBJECT(decoder_kind), "decoder", "", "only of a language model without `mode`", decoder) \
	K(INT, "seed", "", "", (int64_t)r->seed) \
	IF(r->walks > 1, INT, "walks", "", "of annealing, side by side; missing: 1", r->walks) \
	K(INT, "evaluations", "", "made; with `--replicas` those of choosing their number, too", \
	  r->evaluations) \
	IF(r->nodes, INT, "nodes", "", "of an exact method's search tree; else missing", r->nodes) \
	IF(r->groups, INT, "groups", "", \
	   "groups that an exact method solved in the place of the operators; only where it did", r->groups) \
	IF(r->groups, BOOL, "groups_optimal", "", \
	   "these are proven best, as groups; nothing is proven for the operators", r->groups_optimal) \
	IF(r->n_left_out, TEXTS, "seeds_left_out", "", \
	   "[seeds](execution-model.md#evaluations) cut for want of time; missing: none", r->left_out, \
	   r->n_left_out) \
	IF(s->copies.r.n, INT, "replicas", "", \
	   "only with `--replicas`, where a placement was found: copies of the model", s->copies.r.n) \
	IF(s->copies.r.n, NUMBER_OR_NULL, "sample_s", "s", "the same: value / copies", \
	   r->value / s->copies.r.n) \
	IF(packed, OBJECT(packed_kind), "compress", "", "only with `--compress`, where something runs", \
	  packed)
static RESULT_KIND(answer_kind, "", "", ANSWER);

#define DOCUMENT(K, IF) \
	K(ALL_OF(answer_kind), "", "", "", answer) \
	K(NUMBER, "solve_s", "s", "CPU time of all threads, of the method alone", s->r.solve_s) \
	K(NUMBER, "wall_s", "s", "of the clock", s->r.wall_s) \
	IF(s->parts.n, LIST(model_kind), "models", "", "only with several graphs", \
	   report_models(c, &s->parts, &s->t)) \
	K(LIST(device_kind), "devices", "", "", report_devices(c, &s->p, &s->t)) \
	IF(pipeline, OBJECT(pipeline_kind), "pipeline", "", \
	   "only with the objective throughput: [samples in flight](execution-model.md#samples-in-flight)", \
	   pipeline) \
	IF(s->p.n_pools, LIST(pool_kind), "memory_pools", "", "missing where the system has none", \
	   report_pools(c, &s->p, &s->t)) \
	K(MAP("text"), "placement", "", "device of each operator; empty where there is no answer", \
	  placement) \
	K(TEXT, "order", "", "rule that the value stands for, `given` with an order of its own", \
	  berth_order_name(s->r.order)) \
	IF(order, TEXTS, "order_ops", "", "only with `given`: the order", order, s->g.n_ops)
RESULT_KIND(place_document, "Place",
            "`place --json`. Exit code 3 where nothing feasible was found; the document is printed all the "
            "same.",
            DOCUMENT);

berth_status place_answer(cli *c, const place_args *a, const place_state *s, const berth_result **out,
                          berth_err *err)
{
	const berth_solution *r = &s->r;
	const berth_result *infeasible = NULL, *decoder = NULL,
			   *certificate = place_certificate_result(c, &s->certificate),
			   *engine = place_engine_result(c, &s->engine, r),
			   *other = place_engine_other(c, &s->engine),
			   *price = place_price_result(c, &a->granularity, &s->price),
			   *packed = r->answered ? report_packed(c, &s->p, &s->t) : NULL;
	if (s->v.broken.n)
		infeasible = report_infeasible_result(c, &s->p, &s->infeasible);
	if (s->decoder.on && r->answered)
		BERTH_TRY(place_decoder_result(c, &s->decoder.d, &s->p, &s->decoder.t, &decoder, err));
	*out = RESULT_NEW(&c->mem, answer_kind, ANSWER);
	return BERTH_OK;
}

berth_status place_put(cli *c, const place_state *s, const berth_result *answer, berth_err *err)
{
	berth_result_map *placement = berth_result_map_new(&c->mem);
	const berth_result *pipeline = report_pipeline_result(c, &s->p, &s->pipeline);
	const char **order = NULL;
	for (int32_t op = 0; s->r.answered && op < s->g.n_ops; op++)
		berth_result_map_add(placement, s->g.op_name[op],
		                     berth_result_text(s->s.dev_name[s->r.op_dev[op]]));
	if (s->r.op_order)
		BERTH_TRY_NEW(&c->mem, s->g.n_ops, err, order);
	for (int32_t k = 0; order && k < s->g.n_ops; k++)
		order[k] = s->g.op_name[s->r.op_order[k]];
	return cli_put_result(c, RESULT_NEW(&c->mem, place_document, DOCUMENT), err);
}

/* ---- text ---- */

/* How the answer stands to the best single device. */
static void print_speedup(const place_state *s)
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
	if (s->single.dev >= 0 && s->r.value > s->single.value)
		cli_say(", %s", s->s.dev_name[s->single.dev]);
	if (s->gain_error >= 0.005)
		cli_say(" (give or take %.0f %%)", 100 * s->gain_error);
}

/* What each metric of a sum or under a limit comes to. */
static void print_parts(const place_state *s)
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

static void print_head(const place_args *a, const place_state *s)
{
	const berth_solution *r = &s->r;
	char value[32], bound[32], gap[32], asked[32], count[32], time[32];
	const berth_metric_row *m = berth_objective_metric(&r->objective);
	cli_say("%s on %s", s->g.name, s->s.name);
	place_engine_print_head(&s->engine);
	cli_say(": ");
	if (r->feasible) {
		cli_say("%s %s", name_of(s, &r->objective),
		        cli_value(value, &r->objective, r->value));
		if (s->parts.n > 1 && m && m->per)
			cli_say(" a period of all %d %s\n", (int)s->parts.n,
			        s->copies.r.n ? "copies" : "models");
		else
			cli_say("%s%s\n", m && m->per ? " a " : "", m && m->per ? m->per : "");
		print_speedup(s);
		cli_say("; ");
		cli_say_bound(r->bound_kind, cli_value(bound, &r->objective, r->lower_bound));
		cli_say(", gap %s", cli_percent(gap, r->gap));
		if (a->budget.gap > 0)
			cli_say(" (%s asked for: %s)", cli_percent(asked, a->budget.gap),
			        r->gap <= a->budget.gap ? "reached" : "not reached");
		cli_say("\n");
		place_engine_print(&s->engine, &r->objective);
		/* The best single device of a cut program is slower than that of the model before the cut. */
		int32_t cut, pieces = berth_graph_pieces(&s->g, &cut);
		if (pieces)
			cli_say("cut: %d operator%s in %d pieces: compare with a plan of the whole model, "
			        "which one device may run faster\n",
			        (int)cut, cut == 1 ? " stands" : "s stand", (int)pieces);
		print_parts(s);
		copies_print_rate(s->copies.r.n, r->value);
	} else {
		cli_say("no placement was found that fits\n");
	}
	if (r->groups)
		cli_say("%s solved %d groups of the %d operators%s: nothing is proven for the operators\n",
		        r->method->name, (int)r->groups, (int)s->g.n_ops,
		        r->groups_optimal ? ", to the best of these groups" : "");
	cli_say("by %s, %s evaluations%s in %s", r->method->name, cli_count(count, r->evaluations),
	        r->beyond ? ", all by quick heuristics," : "", berth_text_seconds(time, r->wall_s));
	if (s->price.known)
		cli_say(" (and %s in %s by single operators)", cli_count(count, s->price.evaluations),
		        berth_text_seconds(time, s->price.wall_s));
	cli_say(", seed %llu", (unsigned long long)r->seed);
	if (r->walks > 1)
		cli_say(", %d walks", (int)r->walks);
	cli_say("\n");
}

berth_status place_print(cli *c, const place_args *a, const place_state *s, berth_err *err)
{
	bool period = s->r.feasible && berth_objective_is(&s->r.objective, BERTH_THROUGHPUT);
	if (s->r.answered) {
		print_head(a, s);
		place_price_print(&a->granularity, &s->price, &s->r);
		if (s->decoder.on)
			place_decoder_print_head(&s->decoder.d, &s->decoder.t, period ? s->r.value : 0);
		cli_say("\n");
		if (s->decoder.on) {
			BERTH_TRY(place_decoder_print_layers(c, &s->decoder.d, &s->p, &s->decoder.t, err));
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

