/* What `berth split` tells: what was cut, what was not and why, what it costs, and with --on what was
 * searched for. */
#include "cmd_split.h"

#include "results.h"
#include "say.h"
#include "tell.h"

static int64_t tensor_bytes(const berth_graph *g)
{
	int64_t sum = 0;
	for (int32_t t = 0; t < g->n_tensors; t++)
		sum += g->tensor_bytes[t];
	return sum;
}

static double flops_of(const berth_graph *g, const berth_strmap *map, const char *name)
{
	int32_t op = berth_strmap_get(map, name);
	return op < 0 ? 0 : g->op_flops[op];
}

/* What pieces compute beyond their operators: rows that two of them have. */
static berth_status twice(const split_told *t, berth_arena *mem, double *out, berth_err *err)
{
	berth_strmap before, after;
	*out = 0;
	BERTH_TRY(berth_graph_names(t->before, mem, &before, err));
	BERTH_TRY(berth_graph_names(t->after, mem, &after, err));
	for (int32_t i = 0; i < t->p->n_made; i++) {
		const pieces_made *m = &t->p->made[i];
		double sum = 0;
		for (int32_t k = 0; k < m->k; k++)
			sum += flops_of(t->after, &after, m->name[k]);
		*out += sum - flops_of(t->before, &before, m->op);
	}
	return BERTH_OK;
}

static int64_t bytes_made(const pieces_model *p)
{
	int64_t sum = 0;
	for (size_t i = 0; i < p->n_pieces; i++)
		sum += (int64_t)p->piece[i].size;
	return sum;
}

/* ---- the document ---- */

#define GAIN(K, IF) \
	K(TEXT, "type", "", "", g->type) \
	K(INT, "operators", "", "of this type that are cut", g->ops) \
	K(INT, "pieces", "", "", g->pieces) \
	K(NUMBER, "least_share", "share", "of a piece", g->least_share) \
	K(NUMBER, "most_share", "share", "", g->most_share) \
	K(NUMBER_OR_NULL, "undone", "of the objective", \
	  "as `by_rule`, with these operators whole; null: it does not fit", g->undone)
static RESULT_KIND(gain_kind, "", "", GAIN);

#define SEARCH(K, IF) \
	K(TEXT, "system", "", "", x->s.name) \
	K(TEXT_OR_NULL, "profile", "", "of the model; null: times are predicted", \
	  x->a->profile) \
	K(TEXT, "objective", "", "", berth_objective_name(&r->objective)) \
	K(BOOL, "training", "", "a training step was placed: values are of it", x->x.c.training != NULL) \
	K(INT_OR_NULL, "replicas", "", \
	  "copies of weights that pieces of an operator share, as of `show --training --replicas`; null: a " \
	  "copy a piece", \
	  x->x.replicas ? x->x.replicas : -1) \
	K(TEXT, "method", "", "that placed whole operators and pieces", r->method->name) \
	K(NUMBER, "value", "of the objective", "of the answer", r->value) \
	K(NUMBER_OR_NULL, "whole_value", "of the objective", "of whole operators; null: none fits", \
	  x->x.r.whole.value) \
	K(NUMBER_OR_NULL, "whole_bound", "of the objective", "no placement of whole operators is below", \
	  x->x.r.whole.lower_bound) \
	K(NUMBER_OR_NULL, "lower_bound", "of the objective", \
	  "no program is below, of whole operators or pieces ([proofs.md](proofs.md#programs-of-pieces-cut_" \
	  "explainc)); with `training` that of the forward pass; null: not known", \
	  x->x.r.lower_bound) \
	K(NUMBER_OR_NULL, "gap", "share", "value / lower_bound - 1", \
	  berth_gap(r->value, x->x.r.lower_bound)) \
	K(TEXT_OR_NULL, "from", "", "the rule that the program began as; null: nothing is cut", \
	  x->x.r.gains ? x->x.r.cut.from : NULL) \
	K(INT, "seed", "", "", (int64_t)r->seed) \
	K(INT, "programs", "", "that were made and scored, those of `search.gains` among them", \
	  x->x.r.programs) \
	K(INT, "evaluations", "", \
	  "all that were made, of programs (two to five each) and placements together", x->x.r.evaluations) \
	K(TEXT_OR_NULL, "plan", "", "`--plan`", x->a->plan) \
	K(NUMBER_OR_NULL, "by_rule", "of the objective", \
	  "of the program with its pieces placed by rule; null: nothing is cut", \
	  x->x.r.gains ? x->x.r.cut.program->score.value : NAN) \
	K(LIST(gain_kind), "gains", "", "what the cuts of each type gain", gains)
static RESULT_KIND(search_kind, "", "", SEARCH);

#define FIGURES(K, IF) \
	K(INT, "operators", "", "", g->n_ops) \
	K(NUMBER, "flops", "FLOP", "of one run", berth_graph_flops(g)) \
	K(NUMBER, "macs", "MAC", "of them, in pairs", berth_graph_macs(g)) \
	K(INT, "param_bytes", "bytes", "parameters, shared ones once", berth_graph_param_bytes(g)) \
	K(INT, "tensor_bytes", "bytes", "of tensors between operators", tensor_bytes(g))
static RESULT_KIND(figures_kind, "", "", FIGURES);

#define PIECE(K, IF) \
	K(TEXT, "name", "", "of its operator in the new model", m->name[i]) \
	IF(search, TEXT, "device", "", "with `--on`: where it is placed; else missing", \
	   berth_split_device(&search->x, m->name[i])) \
	K(INT, "from", "lines", "its share begins there", m->own[i]) \
	K(INT, "to", "lines", "and ends before that", m->own[i + 1]) \
	IF(more, INT, "computes_from", "lines", "what it computes, where that is more; else missing", \
	   m->from[i]) \
	IF(more, INT, "computes_to", "lines", "", m->to[i])
static RESULT_KIND(piece_kind, "", "", PIECE);

#define CUT(K, IF) \
	K(TEXT, "operator", "", "", m->op) \
	K(TEXT, "type", "", "", m->type) \
	K(TEXT, "axis", "", "a word, or a dimension of its first output", m->axis) \
	K(INT, "length", "lines", "of the axis", m->length) \
	K(LIST(piece_kind), "pieces", "", "", pieces)
static RESULT_KIND(cut_kind, "", "", CUT);

#define REFUSED(K, IF) \
	K(TEXT, "operator", "", "", p->refused[i].op) \
	K(TEXT, "type", "", "", p->refused[i].type) \
	K(TEXT, "reason", "", "", p->refused[i].why)
static RESULT_KIND(refused_kind, "", "", REFUSED);

#define SPLIT(K, IF) \
	K(TEXT, "graph", "", "", t->before->name) \
	K(TEXT, "output", "", "the new model", t->out) \
	K(INT, "bytes", "bytes", "its length", bytes_made(p)) \
	K(TEXT_OR_NULL, "data", "", "the new file of weights; null: none was needed", \
	  p->n_copies ? t->data : NULL) \
	IF(t->search, OBJECT(search_kind), "search", "", "with `--on`: what was found; else missing", \
	  search) \
	K(OBJECT(figures_kind), "before", "", "the graph of the model", before) \
	K(OBJECT(figures_kind), "after", "", "the graph of the new model", after) \
	K(NUMBER, "twice_flops", "FLOP", \
	  "what pieces compute beyond their operators: rows that two of them have", more) \
	K(INT, "slices", "", "`Slice` nodes between pieces", p->n_slices) \
	K(INT, "joins", "", "`Concat` nodes", p->n_joins) \
	K(INT, "sums", "", "`Sum` nodes", p->n_sums) \
	K(LIST(cut_kind), "cut", "", "in the order of the graph", cuts) \
	K(LIST(refused_kind), "refused", "", "operators that stay whole, those of `--cut` first", refused)
RESULT_KIND(split_document, "Split",
            "`split --json`. The file `-o` is an ONNX model ([splitting.md](splitting.md)).", SPLIT);

static const berth_result *figures_of(cli *c, const berth_graph *g)
{
	return RESULT_NEW(&c->mem, figures_kind, FIGURES);
}

static const berth_result *search_of(cli *c, const split_search *x)
{
	const berth_solution *r = x->x.best;
	berth_result_list *gains = berth_result_list_new(&c->mem, &gain_kind);
	for (int32_t i = 0; i < x->x.n_gains; i++) {
		const berth_cut_gain *g = &x->x.gain[i];
		RESULT_ADD(gains, GAIN);
	}
	return RESULT_NEW(&c->mem, search_kind, SEARCH);
}

static void add_cut(cli *c, berth_result_list *cuts, const pieces_made *m, const split_search *search)
{
	berth_result_list *pieces = berth_result_list_new(&c->mem, &piece_kind);
	for (int32_t i = 0; i < m->k; i++) {
		bool more = m->from[i] != m->own[i] || m->to[i] != m->own[i + 1];
		RESULT_ADD(pieces, PIECE);
	}
	RESULT_ADD(cuts, CUT);
}

/* ---- text: the search ---- */

/* Where the program by rule is so many times the answer, what it tells is not true of the answer. */
#define TOO_FAR 1.25

/* What the cuts of each type gain: without them the program, with all placed by the same rule, is so much
 * worse. */
static berth_status print_gains(cli *c, const split_search *x, berth_err *err)
{
	const berth_objective *o = &x->x.r.cut.r.objective;
	double by_rule = x->x.r.cut.program->score.value;
	cli_table table;
	char value[32];
	if (by_rule > TOO_FAR * x->x.r.cut.r.value) {
		cli_say("what each type gains is not told: pieces placed by rule come to %s, too far from "
		        "the answer\n",
		        cli_value(value, o, by_rule));
		return BERTH_OK;
	}
	cli_table_init(&table, &c->mem, "lrrrrr");
	cli_table_head(&table, "cut|operators|pieces|shares|whole instead|change");
	for (int32_t i = 0; i < x->x.n_gains; i++) {
		const berth_cut_gain *g = &x->x.gain[i];
		cli_cell_text(&table, g->type);
		cli_cell_int(&table, g->ops);
		cli_cell_int(&table, g->pieces);
		cli_cell(&table, "%.0f-%.0f %%", 100 * g->least_share, 100 * g->most_share);
		cli_cell(&table, "%s", isnan(g->undone) ? "does not fit" : cli_value(value, o, g->undone));
		if (isnan(g->undone))
			cli_cell(&table, "-");
		else
			cli_cell(&table, "%+.1f %%", 100 * (g->undone / by_rule - 1));
	}
	BERTH_TRY(cli_table_print(&table, CLI_AS_TEXT, err));
	cli_say("(against %s, the program with its pieces placed by rule)\n", cli_value(value, o, by_rule));
	return BERTH_OK;
}

/* Where nothing is cut, the bound of whole operators comes first, which is the nearer one. */
static void print_bounds(const split_search *x)
{
	const berth_solution *r = x->x.best;
	double whole = x->x.r.whole.lower_bound, all = x->x.r.lower_bound;
	char bound[32], gap[32];
	if (!x->x.r.gains && !isnan(whole))
		cli_say("no placement of whole operators is below %s, gap %s\n",
		        cli_bound(bound, &r->objective, whole), cli_percent(gap, berth_gap(r->value, whole)));
	if (!isnan(all))
		cli_say("whatever is cut, nothing is below %s%s, gap %s%s\n",
		        cli_bound(bound, &r->objective, all),
		        x->x.c.training ? ", a bound of the forward pass" : "",
		        cli_percent(gap, berth_gap(r->value, all)),
		        berth_gap(r->value, all) > 1 ? ": a loose bound (docs/proofs.md)" : "");
}

static berth_status print_search(cli *c, const split_told *t, const berth_result *r, berth_err *err)
{
	const split_search *x = t->search;
	const berth_objective *o = &x->x.best->objective;
	cli_tell(r, o, "on {system}: {training?training step: }{objective} {value}");
	if (!x->x.r.gains)
		cli_say(" with whole operators, and no program of pieces was found to be better: nothing is "
		        "cut\n");
	else if (!x->x.r.whole.feasible)
		cli_say("; no placement of whole operators was found that fits\n");
	else {
		cli_tell(r, o, ", with whole operators {whole_value}");
		cli_say(" (%.2f times that)\n", x->x.r.whole.value / x->x.best->value);
	}
	cli_tell(r, NULL,
	         "by cuts and {method}, {programs:K} programs and {evaluations:K} evaluations, "
	         "seed {seed}\n");
	if (!x->x.r.programs && !x->x.r.interrupted)
		cli_say("no program of pieces was tried: %s\n",
		        x->x.r.close ? "whole operators are as close to the bound as was asked for"
		                     : "the budget was too small");
	print_bounds(x);
	cli_tell(r, NULL, "[plan: {plan}\n]");
	if (x->x.c.training && x->x.replicas)
		cli_say("pieces on one device are micro-batches: the step is that of 'berth show %s "
		        "--training --replicas %d'\n",
		        t->out, (int)x->x.replicas);
	return x->x.n_gains ? print_gains(c, x, err) : BERTH_OK;
}

/* ---- text: the cuts ---- */

static berth_status print_figures(cli *c, const berth_result *r, berth_err *err)
{
	static const char *const row[] = {"before", "after"};
	char buf[512];
	cli_table table;
	cli_table_init(&table, &c->mem, "lrrrr");
	cli_table_head(&table, "|operators|work|parameters|tensors");
	for (int i = 0; i < 2; i++) {
		const berth_result *of = berth_result_get(r, row[i], NULL).is.object;
		cli_cell_text(&table, row[i]);
		cli_cell(&table, "%s", cli_tell_value(buf, of, NULL, "operators", ""));
		cli_cell(&table, "%s", cli_tell_value(buf, of, NULL, "flops", ""));
		cli_cell(&table, "%s", cli_tell_value(buf, of, NULL, "param_bytes", ""));
		cli_cell(&table, "%s", cli_tell_value(buf, of, NULL, "tensor_bytes", ""));
	}
	return cli_table_print(&table, CLI_AS_TEXT, err);
}

/* Operators that stay whole, beside those that were warned of: a line for each type and reason. */
static berth_status print_refused(const pieces_model *p, berth_arena *mem, berth_err *err)
{
	berth_strmap groups;
	int32_t *first, *n; /* of [n_groups] */
	int32_t n_groups = 0;
	berth_strmap_init(&groups, mem);
	BERTH_TRY_NEW(mem, p->n_refused, err, first, n);
	for (int32_t i = p->n_asked; i < p->n_refused; i++) {
		const char *key = berth_arena_printf(mem, "%s\n%s", p->refused[i].type, p->refused[i].why);
		int32_t at;
		BERTH_TRY(berth_got(key, err));
		BERTH_TRY(berth_strmap_add(&groups, key, n_groups, &at, err));
		if (at == n_groups)
			first[n_groups++] = i;
		n[at]++;
	}
	for (int32_t g = 0; g < n_groups; g++) {
		const pieces_refused *r = &p->refused[first[g]];
		if (n[g] == 1)
			cli_say("%s (%s) stays whole: %s\n", r->op, r->type, r->why);
		else
			cli_say("%s and %d more (%s) stay whole: %s\n", r->op, (int)n[g] - 1, r->type,
			        r->why);
	}
	return BERTH_OK;
}

berth_status split_tell(cli *c, const split_told *t, berth_err *err)
{
	const pieces_model *p = t->p;
	const berth_result *r;
	int64_t n = 0;
	const berth_result *before = figures_of(c, t->before), *after = figures_of(c, t->after);
	const berth_result *search = t->search ? search_of(c, t->search) : NULL;
	berth_result_list *cuts = berth_result_list_new(&c->mem, &cut_kind),
			  *refused = berth_result_list_new(&c->mem, &refused_kind);
	double more;
	BERTH_TRY(twice(t, &c->mem, &more, err));
	for (int32_t i = 0; i < p->n_made; i++)
		add_cut(c, cuts, &p->made[i], t->search);
	for (int32_t i = 0; i < p->n_refused; i++)
		RESULT_ADD(refused, REFUSED);
	r = RESULT_NEW(&c->mem, split_document, SPLIT);
	BERTH_TRY(cli_result(c, r, err));
	if (!cli_in_words(c))
		return BERTH_OK;
	for (int32_t i = 0; i < p->n_made; i++)
		n += p->made[i].k;
	cli_tell(r, NULL, "{graph}: {cut operator} cut into ");
	cli_say("%lld pieces: ", (long long)n);
	cli_tell(r, NULL, "{output}, {bytes}\n");
	if (t->search)
		BERTH_TRY(print_search(c, t, berth_result_get(r, "search", NULL).is.object, err));
	BERTH_TRY(print_figures(c, r, err));
	cli_tell(r, NULL, "between pieces: {slices} Slice, {joins} Concat, {sums} Sum");
	if (p->n_lookups)
		cli_say(", %d others around pieces of a vocabulary", (int)p->n_lookups);
	if (berth_result_get(r, "twice_flops", NULL).is.number > 0)
		cli_tell(r, NULL, "; computed twice: {twice_flops}");
	cli_say("\n");
	return print_refused(p, &c->mem, err);
}
