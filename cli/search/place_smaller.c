/* Why a problem is infeasible and what would let it fit: rules that cannot be kept together and changes of
 * them, found within a patience; smaller forms of a language model, looked for without a word
 * (decoder_smaller.h) and told in the words of the command line. */
#include "place_smaller.h"

#include "graph_load.h"
#include "say.h"

enum { MOST_RULES = 8, MOST_CHANGES = 5 };

berth_status report_infeasible_find(cli *c, const berth_problem *p, const berth_objective *o,
                                    const int32_t *op_dev, const int32_t *order, const berth_patience *until,
                                    report_infeasible *out, berth_err *err)
{
	BERTH_TRY(berth_infeasible_subset_find(p, o, until, &c->mem, &c->tmp, &out->subset, err));
	return berth_relax(p, o, &out->subset, op_dev, order, until, &c->mem, &c->tmp, &out->relax, err);
}

#define RULE(K, IF) \
	K(TEXT, "kind", "", "as of violations", berth_violation_name(r->kind)) \
	IF(r->op >= 0, TEXT, "op", "", "missing where it is of none", p->g->op_name[r->op]) \
	IF(r->dev >= 0, TEXT, "device", "", "the same", p->s->dev_name[r->dev]) \
	IF(r->pool >= 0, TEXT, "pool", "", "of `pool`", p->s->pool_name[r->pool]) \
	IF(r->group >= 0, TEXT, "group", "", "of `colocation` and `separation`", \
	   r->kind == BERTH_VIOLATION_COLOCATION ? p->g->coloc_name[r->group] : p->g->sep_name[r->group]) \
	IF(r->metric >= 0, TEXT, "metric", "", "of `limit`", berth_metrics[r->metric].name)
static RESULT_KIND(rule_kind, "Rule", "", RULE);

#define CONFLICT_RULE(K, IF) \
	K(ALL_OF(rule_kind), "", "", "", rule) \
	K(TEXT, "message", "", "", x->subset.message[i])
static RESULT_KIND(conflict_rule_kind, "Conflict rule", "", CONFLICT_RULE);

#define CONFLICT(K, IF) \
	K(BOOL, "proven", "", "no placement keeps the rules below; false: nothing is said", \
	  x->subset.proven) \
	K(BOOL, "smallest", "", "no conflict of fewer rules has a proof", x->subset.smallest) \
	K(BOOL, "cut_short", "", "time was over: rules may stand below that are not needed", \
	  x->subset.cut_short) \
	K(LIST(conflict_rule_kind), "rules", "", "none can be left out of the proof", rules)
static RESULT_KIND(conflict_kind, "", "", CONFLICT);

#define RELAXATION(K, IF) \
	K(ALL_OF(rule_kind), "", "", "", rule) \
	IF(change->add_bytes >= 0, INT, "add_bytes", "bytes", "of memory: to be added to the device", \
	   change->add_bytes) \
	IF(!isnan(change->most), NUMBER, "most", "of the metric", "of limits: the new one", change->most) \
	K(BOOL, "least", "", "of memory and limits: less is proven not to be enough", change->least) \
	K(TEXT, "text", "", "", change->text)
static RESULT_KIND(relaxation_kind, "Relaxation", "", RELAXATION);

#define INFEASIBLE(K, IF) \
	K(OBJECT(conflict_kind), "conflict", "", "only with violations", conflict) \
	K(LIST(relaxation_kind), "relaxations", "", \
	  "only with violations: what would have to give way, each tried", relaxations) \
	K(BOOL, "relaxations_together", "", "only with violations: all of them are needed, not one", \
	  x->relax.together)
RESULT_KIND(infeasible_kind, "", "", INFEASIBLE);

static const berth_result *rule_result(berth_arena *mem, const berth_problem *p, const berth_rule *r)
{
	return RESULT_NEW(mem, rule_kind, RULE);
}

const berth_result *report_infeasible_result(cli *c, const berth_problem *p, const report_infeasible *x)
{
	berth_arena *mem = &c->mem;
	berth_result_list *rules = berth_result_list_new(mem, &conflict_rule_kind);
	berth_result_list *relaxations = berth_result_list_new(mem, &relaxation_kind);
	for (int32_t i = 0; i < x->subset.n; i++) {
		const berth_result *rule = rule_result(mem, p, &x->subset.rule[i]);
		RESULT_ADD(rules, CONFLICT_RULE);
	}
	for (int32_t i = 0; i < x->relax.n; i++) {
		const berth_relaxation *change = &x->relax.item[i];
		const berth_result *rule = rule_result(mem, p, &change->rule);
		RESULT_ADD(relaxations, RELAXATION);
	}
	const berth_result *conflict = RESULT_NEW(mem, conflict_kind, CONFLICT);
	return RESULT_NEW(mem, infeasible_kind, INFEASIBLE);
}

void report_print_infeasible(const report_infeasible *x)
{
	const berth_infeasible_subset *c = &x->subset;
	const berth_relaxations *r = &x->relax;
	if (c->proven)
		cli_say("%s%s:\n",
		        c->n == 1 ? "no placement keeps this rule" : "no placement keeps all of these rules",
		        c->cut_short              ? " (the time was over: fewer may be a conflict)"
		        : c->n > 1 && c->smallest ? ", and fewer are no conflict"
		                                  : "");
	for (int32_t i = 0; i < c->n && i < MOST_RULES; i++)
		cli_say("  %s\n", c->message[i]);
	if (c->n > MOST_RULES)
		cli_say("  (and %d more)\n", c->n - MOST_RULES);
	if (!c->proven)
		cli_say("%s\n", c->cut_short ? "not looked into: the time was over"
		                             : "not proven: a longer search may find a placement");
	if (r->n)
		cli_say("%s\n", r->together ? "it would fit with all of"
		                : r->n == 1 ? "it would fit with"
		                            : "it would fit with any one of");
	for (int32_t i = 0; i < r->n && i < MOST_CHANGES; i++)
		cli_say("  %s%s\n", r->item[i].text, r->item[i].least ? " (less is not enough)" : "");
	if (r->n > MOST_CHANGES)
		cli_say("  (and %d more)\n", r->n - MOST_CHANGES);
}

/* ---- smaller forms of a language model ---- */

/* Silent, and nothing is noted: the trial's memory is given back. */
static berth_status load_trial(void *ctx, const char *spec, bool again, berth_graph *g, berth_system *s,
                               berth_read_report *report, berth_err *err)
{
	const place_decoder *x = ctx;
	cli *c = x->c;
	cli_texts warned = c->warned, noted = c->noted, called = c->called;
	bool quiet = c->quiet, strict = c->strict;
	(void)again;
	c->quiet = true;
	c->strict = false;
	berth_status st = cli_instance_load(c, spec, x->system, g, s, report, err);
	c->quiet = quiet;
	c->strict = strict;
	c->warned = warned;
	c->noted = noted;
	c->called = called;
	return st;
}

/* "context=6144", "weights=q4_k and cache=q8_0". */
static berth_status name_change(const berth_smaller_change *x, bool gguf, berth_arena *mem, const char **out,
                                berth_err *err)
{
	berth_strbuf b = {.mem = mem};
	if (x->granularity)
		berth_strbuf_printf(&b, "--granularity %s, with %s of %d layer%s on %s", x->granularity,
		                    x->experts ? "experts" : "parts", (int)x->layers,
		                    x->layers == 1 ? "" : "s", x->device);
	if (x->weights)
		berth_strbuf_printf(&b, "weights=%s", x->weights);
	if (x->weights && (x->cache || x->context))
		berth_strbuf_printf(&b, " and ");
	if (x->cache)
		berth_strbuf_printf(&b, "cache=%s", x->cache);
	if (x->context)
		berth_strbuf_printf(&b, "%s=%lld", berth_decoder_context_word(gguf), (long long)x->context);
	if (x->batch)
		berth_strbuf_printf(&b, "batch=%lld", (long long)x->batch);
	return berth_strbuf_done(&b, out, NULL, err);
}

berth_status place_smaller_find(cli *c, place_decoder *x, const berth_search_cfg *cfg,
                                const berth_patience *until, place_smaller *out, berth_err *err)
{
	berth_decoder_cfg how = x->cfg;
	how.load = load_trial;
	BERTH_TRY(berth_smaller_find(&x->d, &how, cfg, until, &c->mem, &c->tmp, &out->found, err));
	for (int32_t i = 0; i < out->found.n; i++)
		BERTH_TRY(name_change(&out->found.item[i], x->d.gguf, &c->mem, &out->text[i], err));
	return BERTH_OK;
}

void place_smaller_print(const place_smaller *s)
{
	if (s->found.n)
		cli_say("the model would fit with%s\n", s->found.n > 1 ? " any one of" : "");
	for (int32_t i = 0; i < s->found.n; i++)
		cli_say("  %s\n", s->text[i]);
	if (s->found.cut_short)
		cli_say("smaller models were not all tried: the time was over\n");
}

#define SMALLER(K, IF) \
	K(TEXT, "kind", "", "`context`, `cache`, `weights`, `batch`, `granularity` or `together`", \
	  s->found.item[i].kind) \
	K(TEXT, "text", "", "as a word of the model, or an option", s->text[i])
RESULT_KIND(smaller_kind, "", "", SMALLER);

const berth_result_list *place_smaller_list(cli *c, const place_smaller *s)
{
	berth_result_list *all = berth_result_list_new(&c->mem, &smaller_kind);
	for (int32_t i = 0; i < s->found.n; i++)
		RESULT_ADD(all, SMALLER);
	return all;
}
