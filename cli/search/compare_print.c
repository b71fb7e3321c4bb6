/* Three tables: rows (one for each method, instance and seed), instances (for each method and instance,
 * over its seeds), and methods (for each method, over all instances). */
#include "compare_print.h"

#include "cpu_measure.h"
#include "results.h"
#include "say.h"
#include "tell.h"

/* Summaries [n_blocks][n_methods]; methods that were not reached have no rows. */
static berth_status summarise(cli *c, const cli_comparison *r, berth_compare_summary **out, berth_err *err)
{
	berth_compare_summary *s;
	BERTH_TRY_NEW(&c->mem, r->n_blocks * r->n_methods, err, s);
	for (int32_t k = 0; k < r->n_blocks; k++)
		for (int32_t m = 0; m < r->n_methods; m++) {
			const cli_compare_block *b = &r->block[k];
			int32_t first = m * r->n_seeds, left = b->n - first,
				n = left < r->n_seeds ? left : r->n_seeds;
			BERTH_TRY(berth_compare_summarise(b->row + (n > 0 ? first : 0), n > 0 ? n : 0,
			                                  &c->tmp, &s[k * r->n_methods + m], err));
		}
	*out = s;
	return BERTH_OK;
}

/* Blocks that are complete; only the last one may be cut short. */
static int32_t n_complete(const cli_comparison *r)
{
	int32_t n = r->n_blocks;
	return n && r->block[n - 1].n < r->n_methods * r->n_seeds ? n - 1 : n;
}

static berth_status over_instances(cli *c, const cli_comparison *r, const berth_compare_summary *s,
                                   berth_compare_overall **out, berth_err *err)
{
	BERTH_TRY_NEW(&c->mem, r->n_methods, err, *out);
	return berth_compare_over_instances(s, n_complete(r), r->n_methods, r->single, r->against, &c->tmp,
	                                    *out, err);
}

static double single_of(const cli_comparison *r, const berth_compare_summary *s, int32_t block)
{
	return r->single < 0 ? NAN : s[block * r->n_methods + r->single].median;
}

/* ---- the document ---- */

#define ROW(K, IF) \
	CLI_PAIR(K, b->graph, b->system) \
	K(TEXT, "objective", "", "", berth_objective_name(&r->objective)) \
	K(TEXT, "method", "", "", r->name[row->method]) \
	K(INT, "seed", "", "", (int64_t)row->seed) \
	K(NUMBER_OR_NULL, "value", "of the objective", \
	  "the better of the system's rule and the method's own order", \
	  row->value) \
	K(NUMBER_OR_NULL, "lower_bound", "of the objective", "", row->lower_bound) \
	K(NUMBER_OR_NULL, "gap", "share", "", row->gap) \
	K(BOOL, "feasible", "", "", row->feasible) \
	K(TEXT, "order", "", "rule that the value stands for", berth_order_name(row->order)) \
	K(INT, "evaluations", "", "", row->evaluations) \
	K(NUMBER, "solve_s", "s", "CPU time of all threads", row->solve_s) \
	K(NUMBER, "wall_s", "s", "", row->wall_s) \
	K(TEXT, "status", "", "`ok`, `infeasible`, `unsupported`, `limit` (no answer within one), `error`", \
	  row->status) \
	K(TEXT, "bound", "", "`fast`, `strong` or `auto`, as in [place](#place)", b->bound_kind) \
	IF(row->note, TEXT, "note", "", "why there is no value, or an early end; else missing", row->note)
static RESULT_KIND(row_kind, "Row", "", ROW);

#define INSTANCE(K, IF) \
	CLI_PAIR(K, b->graph, b->system) \
	K(TEXT, "objective", "", "", berth_objective_name(&r->objective)) \
	K(TEXT, "method", "", "", r->name[method]) \
	K(INT, "seeds", "", "rows", m->n_rows) \
	K(INT, "feasible", "", "rows with a value", m->n_feasible) \
	K(NUMBER_OR_NULL, "median", "of the objective", "over rows with a value", m->median) \
	K(NUMBER_OR_NULL, "least", "of the objective", "", m->least) \
	K(NUMBER_OR_NULL, "most", "of the objective", "", m->most) \
	K(NUMBER_OR_NULL, "low", "of the objective", \
	  "95 % bootstrap interval of the median; null below 5 values", m->low) \
	K(NUMBER_OR_NULL, "high", "of the objective", "", m->high) \
	K(NUMBER_OR_NULL, "gap", "share", "of the median", m->gap) \
	K(NUMBER_OR_NULL, "ratio", "", "median over that of `single`", m->median / single) \
	K(NUMBER, "evaluations", "", "mean", m->evaluations) \
	K(NUMBER, "solve_s", "s", "mean", m->solve_s) \
	K(TEXT, "status", "", "of its first row", b->row[method * r->n_seeds].status)
static RESULT_KIND(instance_kind, "Instance", "", INSTANCE);

#define METHOD(K, IF) \
	K(TEXT, "method", "", "", r->name[method]) \
	K(INT, "instances", "", "", o->n_instances) \
	K(INT, "feasible", "", "with a value", o->n_feasible) \
	K(NUMBER_OR_NULL, "ratio", "", "geometric mean of value over that of `single`", o->ratio.middle) \
	K(NUMBER_OR_NULL, "ratio_low", "", "95 % bootstrap interval; null below 5", o->ratio.low) \
	K(NUMBER_OR_NULL, "ratio_high", "", "", o->ratio.high) \
	K(INT, "ratio_instances", "", "in it", o->n_ratios) \
	K(NUMBER_OR_NULL, "gap", "share", "geometric mean of value / bound, less 1", o->gap) \
	K(INT, "gap_instances", "", "in it", o->n_gaps) \
	K(TEXT, "against", "", "method that wins are counted against", r->name[r->against]) \
	K(INT, "wins", "", "", o->wins) \
	K(INT, "ties", "", "within 1e-9", o->ties) \
	K(INT, "losses", "", "", o->losses) \
	K(NUMBER_OR_NULL, "p", "", "two-sided signed-rank test", o->p) \
	K(NUMBER_OR_NULL, "p_corrected", "", "after Holm", o->p_corrected) \
	K(NUMBER, "evaluations", "", "mean over rows", o->evaluations) \
	K(NUMBER, "solve_s", "s", "mean over rows", o->solve_s)
static RESULT_KIND(method_kind, "Method over all", "", METHOD);

#define BUDGET(K, IF) \
	K(INT_OR_NULL, "evaluations", "", "null: limited by time", \
	  r->time_s > 0 || r->cpu_s > 0 ? -1 : r->evaluations) \
	K(NUMBER_OR_NULL, "time_s", "s", "null: not limited", r->time_s > 0 ? r->time_s : NAN) \
	K(NUMBER_OR_NULL, "cpu_s", "s", "null: not limited", r->cpu_s > 0 ? r->cpu_s : NAN) \
	K(INT, "seeds", "", "", r->n_seeds)
static RESULT_KIND(budget_kind, "", "", BUDGET);

#define DOCUMENT(K, IF) \
	K(LIST(row_kind), "rows", "", "one a graph, system, method and seed; a method is also a file of " \
	  "`--placement`, or `ort default` of `--for`", t->rows) \
	K(OBJECT(budget_kind), "budget", "", "of each row", budget) \
	K(LIST(instance_kind), "instances", "", "one a graph, system and method, over its seeds", \
	  t->instances) \
	K(LIST(method_kind), "methods", "", "one a method, over all instances", t->methods)
RESULT_KIND(compare_document, "Compare",
            "`compare --json` has all three tables; `--format csv` prints one of them with these keys as "
            "columns.",
            DOCUMENT);

static void add_rows(berth_result_list *list, const cli_comparison *r, const cli_compare_block *b)
{
	for (int32_t i = 0; i < b->n; i++) {
		const berth_compare_row *row = &b->row[i];
		RESULT_ADD(list, ROW);
	}
}

/* Of the block, as far as methods were reached. */
static void add_instances(berth_result_list *list, const cli_comparison *r, const berth_compare_summary *s,
                          int32_t block)
{
	const cli_compare_block *b = &r->block[block];
	double single = single_of(r, s, block);
	for (int32_t method = 0; method < r->n_methods; method++) {
		const berth_compare_summary *m = &s[block * r->n_methods + method];
		if (m->n_rows)
			RESULT_ADD(list, INSTANCE);
	}
}

typedef struct tables {
	berth_result_list *rows, *instances, *methods;
	const berth_result *document;
} tables;

static berth_status fill(cli *c, const cli_comparison *r, tables *t, berth_err *err)
{
	berth_compare_summary *s;
	berth_compare_overall *overall;
	berth_arena *mem = &c->mem;
	BERTH_TRY(summarise(c, r, &s, err));
	BERTH_TRY(over_instances(c, r, s, &overall, err));
	t->rows = berth_result_list_new(mem, &row_kind);
	t->instances = berth_result_list_new(mem, &instance_kind);
	t->methods = berth_result_list_new(mem, &method_kind);
	for (int32_t k = 0; k < r->n_blocks; k++) {
		add_rows(t->rows, r, &r->block[k]);
		add_instances(t->instances, r, s, k);
	}
	for (int32_t method = 0; method < r->n_methods; method++) {
		const berth_compare_overall *o = &overall[method];
		RESULT_ADD(t->methods, METHOD);
	}
	const berth_result *budget = RESULT_NEW(mem, budget_kind, BUDGET);
	t->document = RESULT_NEW(mem, compare_document, DOCUMENT);
	return BERTH_OK;
}

berth_status cli_compare_document(cli *c, const cli_comparison *r, const berth_result **out, berth_err *err)
{
	tables t;
	BERTH_TRY(fill(c, r, &t, err));
	*out = t.document;
	return BERTH_OK;
}

/* ---- tables for people ---- */

#define ONE_SEED "method=method|value={median|status}|"
#define MANY_SEEDS \
	"method=method|median={median|status}|least .. most={least} .. {most}|" \
	"95 % of medians=[{low} .. {high}]|"
#define INSTANCE_END "gap=gap|it / single=[{ratio:.3f}]|evaluations={evaluations:K}|CPU time=[{solve_s}]"
#define METHOD_COLUMNS \
	"method=method|feasible=feasible|it / single=[{ratio:.3f}]|" \
	"95 % of means=[{ratio_low:.3f} .. {ratio_high:.3f}]|gap=gap|" \
	"won / tied / lost={wins} / {ties} / {losses}|" \
	"p={p_corrected:.2g}|evaluations={evaluations:K}|CPU time=[{solve_s}]"

/* What stands before the words of a table: a heading, a line of its own, a comment in a paper's source. */
static const char *before_words(cli_format format)
{
	return format == CLI_AS_MARKDOWN ? "### " : format == CLI_AS_LATEX ? "% " : "";
}

static void end_words(cli_format format)
{
	cli_say(format == CLI_AS_MARKDOWN ? "\n\n" : "\n");
}

/* For papers: what each row may take, and what made it. */
static void say_budget(const cli_comparison *r, cli_format format)
{
	char n[32], s[32], cpu[128];
	if (format != CLI_AS_MARKDOWN && format != CLI_AS_LATEX)
		return;
	cli_say(format == CLI_AS_LATEX ? "%% " : "\n");
	if (r->time_s > 0 || r->cpu_s > 0)
		cli_say("Each row: %s of %s", berth_text_seconds(s, r->time_s > 0 ? r->time_s : r->cpu_s),
		        r->time_s > 0 ? "the clock" : "CPU time");
	else
		cli_say("Each row: %s evaluations", cli_count(n, r->evaluations));
	cli_say(", %d seed%s; berth %s on ", (int)r->n_seeds, r->n_seeds == 1 ? "" : "s", BERTH_VERSION);
	cli_say_word(berth_cpu_name(cpu), format);
	cli_say(".\n");
}

static void heading(const cli_comparison *r, const cli_compare_block *b, cli_format format)
{
	char bound[32];
	cli_say("%s", before_words(format));
	cli_say_word(b->graph, format);
	cli_say(" on ");
	cli_say_word(b->system, format);
	cli_say(", ");
	cli_say_word(berth_objective_name(&r->objective), format);
	cli_say("; ");
	cli_say_bound(b->bound_kind, b->n ? cli_value(bound, &r->objective, b->row[0].lower_bound) : "-");
	end_words(format);
}

/* The instances of a block are neighbours in the list of all: the next ones from *at on. */
static berth_status print_block(cli *c, const cli_comparison *r, const tables *t, int32_t block, int32_t *at,
                                cli_format format, berth_err *err)
{
	const cli_compare_block *b = &r->block[block];
	berth_result_list own = *t->instances;
	own.item += *at;
	own.n = (b->n + r->n_seeds - 1) / r->n_seeds;
	own.n = own.n < r->n_methods ? own.n : r->n_methods;
	*at += own.n;
	heading(r, b, format);
	return cli_tell_rows(c, &own, &r->objective, format,
	                     r->n_seeds > 1 ? MANY_SEEDS INSTANCE_END : ONE_SEED INSTANCE_END,
	                     err);
}

static void print_notes(const cli_comparison *r, const cli_compare_block *b, cli_format format)
{
	for (int32_t i = 0; i < b->n; i++)
		if (b->row[i].note &&
		    (i == 0 || b->row[i - 1].method != b->row[i].method || !b->row[i - 1].note)) {
			cli_say(format == CLI_AS_LATEX ? "%% " : "");
			cli_say_word(r->name[b->row[i].method], format);
			cli_say(": ");
			cli_say_word(b->row[i].note, format);
			cli_say("\n");
		}
}

static berth_status print_methods(cli *c, const cli_comparison *r, const tables *t, cli_format format,
                                  berth_err *err)
{
	cli_say("%sall %d instances, ", before_words(format), n_complete(r));
	cli_say_word(berth_objective_name(&r->objective), format);
	cli_say(format == CLI_AS_MARKDOWN ? "; against "
	                                  : ": means over instances; won, tied, lost and p are against ");
	cli_say_word(r->name[r->against], format);
	end_words(format);
	return cli_tell_rows(c, t->methods, &r->objective, format, METHOD_COLUMNS, err);
}

static berth_status print_tables(cli *c, const cli_comparison *r, const cli_compare_format *f,
                                 const tables *t, berth_err *err)
{
	int32_t at = 0;
	bool instances = !f->named || f->table == CLI_TABLE_INSTANCES,
	     methods = f->named ? f->table == CLI_TABLE_METHODS : n_complete(r) > 1;
	for (int32_t k = 0; instances && k < r->n_blocks; k++) {
		if (k)
			cli_say("\n");
		BERTH_TRY(print_block(c, r, t, k, &at, f->as, err));
		print_notes(r, &r->block[k], f->as);
	}
	if (instances && methods)
		cli_say("\n");
	if (methods)
		BERTH_TRY(print_methods(c, r, t, f->as, err));
	say_budget(r, f->as);
	return BERTH_OK;
}

berth_status cli_compare_print(cli *c, const cli_comparison *r, const cli_compare_format *f, berth_err *err)
{
	tables t;
	if (c->quiet && !c->json)
		return BERTH_OK;
	BERTH_TRY(fill(c, r, &t, err));
	BERTH_TRY(cli_result(c, t.document, err));
	if (!cli_in_words(c))
		return BERTH_OK;
	if (f->as == CLI_AS_CSV || (f->named && f->table == CLI_TABLE_ROWS))
		return cli_tell_all(c,
		                    f->table == CLI_TABLE_INSTANCES ? t.instances
		                    : f->table == CLI_TABLE_METHODS ? t.methods
		                                                    : t.rows,
		                    f->as, err);
	return print_tables(c, r, f, &t, err);
}
