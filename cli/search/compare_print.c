/* Three tables: rows (one for each method, instance and seed), instances (for each method and instance,
 * over its seeds), and methods (for each method, over all instances). */
#include "compare_print.h"

#include "print.h"
#include "say.h"
#include "text.h"

#include <math.h>

/* Summaries [n_blocks][n_methods]; methods that were not reached have no rows. */
static berth_status summarise(cli *c, const cli_comparison *r, berth_compare_summary **out, berth_err *err)
{
	berth_compare_summary *s;
	BERTH_TRY(BERTH_NEW(&c->mem, s, r->n_blocks * r->n_methods, err));
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
	BERTH_TRY(BERTH_NEW(&c->mem, *out, r->n_methods, err));
	return berth_compare_over_instances(s, n_complete(r), r->n_methods, r->single, r->against, &c->tmp,
	                                    *out, err);
}

static double single_of(const cli_comparison *r, const berth_compare_summary *s, int32_t block)
{
	return r->single < 0 ? NAN : s[block * r->n_methods + r->single].median;
}

/* ---- JSON ---- */

static void put_row(berth_json_out *w, const cli_comparison *r, const cli_compare_block *b,
                    const berth_compare_row *row)
{
	berth_json_open(w, NULL, '{');
	berth_json_put_string(w, "graph", b->graph);
	berth_json_put_string(w, "system", b->system);
	berth_json_put_string(w, "objective", berth_objective_name(&r->objective));
	berth_json_put_string(w, "method", r->name[row->method]);
	berth_json_put_int(w, "seed", (int64_t)row->seed);
	berth_json_put_number(w, "value", row->value);
	berth_json_put_number(w, "lower_bound", row->lower_bound);
	berth_json_put_string(w, "bound", b->bound_kind);
	berth_json_put_number(w, "gap", row->gap);
	berth_json_put_string(w, "status", row->status);
	berth_json_put_bool(w, "feasible", row->feasible);
	berth_json_put_string(w, "order", berth_order_name(row->order));
	berth_json_put_int(w, "evaluations", row->evaluations);
	berth_json_put_number(w, "solve_s", row->solve_s);
	berth_json_put_number(w, "wall_s", row->wall_s);
	if (row->note)
		berth_json_put_string(w, "note", row->note);
	berth_json_close(w, '}');
}

static void put_instance(berth_json_out *w, const cli_comparison *r, const berth_compare_summary *s,
                         int32_t block, int32_t method)
{
	const berth_compare_summary *m = &s[block * r->n_methods + method];
	berth_json_open(w, NULL, '{');
	berth_json_put_string(w, "graph", r->block[block].graph);
	berth_json_put_string(w, "system", r->block[block].system);
	berth_json_put_string(w, "method", r->name[method]);
	berth_json_put_int(w, "seeds", m->n_rows);
	berth_json_put_int(w, "feasible", m->n_feasible);
	berth_json_put_number(w, "median", m->median);
	berth_json_put_number(w, "least", m->least);
	berth_json_put_number(w, "most", m->most);
	berth_json_put_number(w, "low", m->low);
	berth_json_put_number(w, "high", m->high);
	berth_json_put_number(w, "gap", m->gap);
	berth_json_put_number(w, "ratio", m->median / single_of(r, s, block));
	berth_json_put_number(w, "evaluations", m->evaluations);
	berth_json_put_number(w, "solve_s", m->solve_s);
	berth_json_close(w, '}');
}

static void put_method(berth_json_out *w, const cli_comparison *r, const berth_compare_overall *o,
                       int32_t method)
{
	berth_json_open(w, NULL, '{');
	berth_json_put_string(w, "method", r->name[method]);
	berth_json_put_int(w, "instances", o->n_instances);
	berth_json_put_int(w, "feasible", o->n_feasible);
	berth_json_put_number(w, "ratio", o->ratio.middle);
	berth_json_put_number(w, "ratio_low", o->ratio.low);
	berth_json_put_number(w, "ratio_high", o->ratio.high);
	berth_json_put_int(w, "ratio_instances", o->n_ratios);
	berth_json_put_number(w, "gap", o->gap);
	berth_json_put_int(w, "gap_instances", o->n_gaps);
	berth_json_put_string(w, "against", r->name[r->against]);
	berth_json_put_int(w, "wins", o->wins);
	berth_json_put_int(w, "ties", o->ties);
	berth_json_put_int(w, "losses", o->losses);
	berth_json_put_number(w, "p", o->p);
	berth_json_put_number(w, "p_corrected", o->p_corrected);
	berth_json_put_number(w, "evaluations", o->evaluations);
	berth_json_put_number(w, "solve_s", o->solve_s);
	berth_json_close(w, '}');
}

static void put_budget(berth_json_out *w, const cli_comparison *r)
{
	berth_json_open(w, "budget", '{');
	if (!(r->time_s > 0 || r->cpu_s > 0))
		berth_json_put_int(w, "evaluations", r->evaluations);
	else
		berth_json_put_null(w, "evaluations");
	berth_json_put_number(w, "time_s", r->time_s > 0 ? r->time_s : NAN);
	berth_json_put_number(w, "cpu_s", r->cpu_s > 0 ? r->cpu_s : NAN);
	berth_json_put_int(w, "seeds", r->n_seeds);
	berth_json_close(w, '}');
}

static void put_all(berth_json_out *w, const cli_comparison *r, const berth_compare_summary *s,
                    const berth_compare_overall *o)
{
	berth_json_open(w, "rows", '[');
	for (int32_t k = 0; k < r->n_blocks; k++)
		for (int32_t i = 0; i < r->block[k].n; i++)
			put_row(w, r, &r->block[k], &r->block[k].row[i]);
	berth_json_close(w, ']');
	put_budget(w, r);
	berth_json_open(w, "instances", '[');
	for (int32_t i = 0; i < r->n_blocks * r->n_methods; i++)
		if (s[i].n_rows)
			put_instance(w, r, s, i / r->n_methods, i % r->n_methods);
	berth_json_close(w, ']');
	berth_json_open(w, "methods", '[');
	for (int32_t m = 0; m < r->n_methods; m++)
		put_method(w, r, &o[m], m);
	berth_json_close(w, ']');
}

berth_status cli_compare_put(cli *c, berth_json_out *w, const cli_comparison *r, berth_err *err)
{
	berth_compare_summary *s;
	berth_compare_overall *o;
	BERTH_TRY(summarise(c, r, &s, err));
	BERTH_TRY(over_instances(c, r, s, &o, err));
	put_all(w, r, s, o);
	return BERTH_OK;
}

static berth_status print_json(cli *c, const cli_comparison *r, berth_err *err)
{
	berth_json_out w;
	berth_json_out_init(&w, &c->mem, true);
	berth_json_open(&w, NULL, '{');
	BERTH_TRY(cli_compare_put(c, &w, r, err));
	return cli_end_json(c, &w, err);
}

/* ---- every figure in columns, for other programs ---- */

static void head(cli_table *t, const char *const *name, size_t n)
{
	for (size_t i = 0; i < n; i++)
		cli_cell(t, "%s", name[i]);
}

static void number_cell(cli_table *t, double x)
{
	char buf[32];
	cli_cell(t, "%s", isfinite(x) ? berth_text_double(buf, x) : "");
}

static void number_cells(cli_table *t, const double *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		number_cell(t, x[i]);
}

static void place_cells(cli_table *t, const cli_comparison *r, const cli_compare_block *b)
{
	cli_cell(t, "%s", b->graph);
	cli_cell(t, "%s", b->system);
	cli_cell(t, "%s", berth_objective_name(&r->objective));
}

static void fill_rows(cli_table *t, const cli_comparison *r)
{
	static const char *const names[] = {"graph",       "system",      "objective", "method",   "seed",
	                                    "value",       "lower_bound", "gap",       "feasible", "order",
	                                    "evaluations", "solve_s",     "wall_s",    "status",   "bound"};
	cli_table_init(t, t->mem, "lllllllllllllll");
	head(t, names, 15);
	for (int32_t k = 0; k < r->n_blocks; k++)
		for (int32_t i = 0; i < r->block[k].n; i++) {
			const berth_compare_row *row = &r->block[k].row[i];
			place_cells(t, r, &r->block[k]);
			cli_cell(t, "%s", r->name[row->method]);
			cli_cell(t, "%llu", (unsigned long long)row->seed);
			number_cells(t, (const double[]){row->value, row->lower_bound, row->gap}, 3);
			cli_cell(t, "%s", row->feasible ? "true" : "false");
			cli_cell(t, "%s", berth_order_name(row->order));
			cli_cell(t, "%lld", (long long)row->evaluations);
			number_cells(t, (const double[]){row->solve_s, row->wall_s}, 2);
			cli_cell(t, "%s", row->status);
			cli_cell(t, "%s", r->block[k].bound_kind);
		}
}

static void fill_instances(cli_table *t, const cli_comparison *r, const berth_compare_summary *s)
{
	static const char *const names[] = {"graph",    "system", "objective", "method",      "seeds",
	                                    "feasible", "median", "least",     "most",        "low",
	                                    "high",     "gap",    "ratio",     "evaluations", "solve_s"};
	cli_table_init(t, t->mem, "lllllllllllllll");
	head(t, names, 15);
	for (int32_t i = 0; i < r->n_blocks * r->n_methods; i++) {
		const berth_compare_summary *m = &s[i];
		if (!m->n_rows)
			continue;
		place_cells(t, r, &r->block[i / r->n_methods]);
		cli_cell(t, "%s", r->name[i % r->n_methods]);
		cli_cell(t, "%d", m->n_rows);
		cli_cell(t, "%d", m->n_feasible);
		double ratio = m->median / single_of(r, s, i / r->n_methods);
		number_cells(t,
		             (const double[]){m->median, m->least, m->most, m->low, m->high, m->gap, ratio,
		                              m->evaluations, m->solve_s},
		             9);
	}
}

static void fill_methods(cli_table *t, const cli_comparison *r, const berth_compare_overall *overall)
{
	static const char *const names[] = {
		"method",          "instances", "feasible",      "ratio",       "ratio_low", "ratio_high",
		"ratio_instances", "gap",       "gap_instances", "against",     "wins",      "ties",
		"losses",          "p",         "p_corrected",   "evaluations", "solve_s"};
	cli_table_init(t, t->mem, "lllllllllllllllll");
	head(t, names, 17);
	for (int32_t m = 0; m < r->n_methods; m++) {
		const berth_compare_overall *o = &overall[m];
		cli_cell(t, "%s", r->name[m]);
		cli_cell(t, "%d", o->n_instances);
		cli_cell(t, "%d", o->n_feasible);
		number_cells(t, (const double[]){o->ratio.middle, o->ratio.low, o->ratio.high}, 3);
		cli_cell(t, "%d", o->n_ratios);
		number_cell(t, o->gap);
		cli_cell(t, "%d", o->n_gaps);
		cli_cell(t, "%s", r->name[r->against]);
		cli_cell(t, "%d", o->wins);
		cli_cell(t, "%d", o->ties);
		cli_cell(t, "%d", o->losses);
		number_cells(t, (const double[]){o->p, o->p_corrected, o->evaluations, o->solve_s}, 4);
	}
}

static berth_status print_csv(cli *c, const cli_comparison *r, const cli_compare_format *f,
                              const berth_compare_summary *s, const berth_compare_overall *o, berth_err *err)
{
	cli_table t = {.mem = &c->mem};
	if (f->table == CLI_TABLE_INSTANCES)
		fill_instances(&t, r, s);
	else if (f->table == CLI_TABLE_METHODS)
		fill_methods(&t, r, o);
	else
		fill_rows(&t, r);
	return cli_table_print(&t, CLI_AS_CSV, err);
}

static berth_status print_rows(cli *c, const cli_comparison *r, cli_format format, berth_err *err)
{
	cli_table t = {.mem = &c->mem};
	fill_rows(&t, r);
	return cli_table_print(&t, format, err);
}

/* ---- tables for people ---- */

static void spread_cells(cli_table *t, const berth_compare_summary *m, const berth_objective *o)
{
	char a[32], b[32];
	cli_cell(t, "%s .. %s", cli_value(a, o, m->least), cli_value(b, o, m->most));
	if (isnan(m->low))
		cli_cell(t, "-");
	else
		cli_cell(t, "%s .. %s", cli_value(a, o, m->low), cli_value(b, o, m->high));
}

static void summary_cells(cli_table *t, const cli_comparison *r, const berth_compare_row *row,
                          const berth_compare_summary *m, double single)
{
	char buf[32];
	const berth_objective *o = &r->objective;
	cli_cell(t, "%s", m->n_feasible ? cli_value(buf, o, m->median) : row->status);
	if (r->n_seeds > 1)
		spread_cells(t, m, o);
	cli_cell(t, "%s", cli_percent(buf, m->gap));
	if (single > 0 && m->median > 0)
		cli_cell(t, "%.2f", single / m->median);
	else
		cli_cell(t, "-");
	cli_cell(t, "%s", cli_count(buf, llround(m->evaluations)));
	cli_cell(t, "%s", m->solve_s > 0 ? berth_text_seconds(buf, m->solve_s) : "-");
}

static void heading(const cli_comparison *r, const cli_compare_block *b, cli_format format)
{
	char bound[32];
	cli_say(format == CLI_AS_MARKDOWN ? "### " : "");
	cli_say_word(b->graph, format);
	cli_say(" on ");
	cli_say_word(b->system, format);
	cli_say(", ");
	cli_say_word(berth_objective_name(&r->objective), format);
	cli_say(format == CLI_AS_MARKDOWN ? "; %s bound %s\n\n" : "; %s bound %s\n", b->bound_kind,
	        b->n ? cli_value(bound, &r->objective, b->row[0].lower_bound) : "-");
}

static berth_status print_block(cli *c, const cli_comparison *r, const berth_compare_summary *s,
                                int32_t block, cli_format format, berth_err *err)
{
	cli_table t;
	const cli_compare_block *b = &r->block[block];
	bool many = r->n_seeds > 1;
	cli_table_init(&t, &c->mem, many ? "lrrrrrrr" : "lrrrrr");
	cli_cell(&t, "method");
	cli_cell(&t, "%s", many ? "median" : "value");
	if (many) {
		cli_table_head(&t, "least .. most|95 % of medians");
	}
	cli_table_head(&t, "gap|single / it|evaluations|CPU time");
	for (int32_t m = 0; m * r->n_seeds < b->n; m++) {
		cli_cell(&t, "%s", r->name[m]);
		summary_cells(&t, r, &b->row[m * r->n_seeds], &s[block * r->n_methods + m],
		              single_of(r, s, block));
	}
	heading(r, b, format);
	return cli_table_print(&t, format, err);
}

static void print_notes(const cli_comparison *r, const cli_compare_block *b, cli_format format)
{
	for (int32_t i = 0; i < b->n; i++)
		if (b->row[i].note &&
		    (i == 0 || b->row[i - 1].method != b->row[i].method || !b->row[i - 1].note)) {
			cli_say("%s: ", r->name[b->row[i].method]);
			cli_say_word(b->row[i].note, format);
			cli_say("\n");
		}
}

static void overall_cells(cli_table *t, const berth_compare_overall *o)
{
	char buf[32];
	cli_cell(t, "%d", o->n_feasible);
	if (o->n_ratios)
		cli_cell(t, "%.3f", o->ratio.middle);
	else
		cli_cell(t, "-");
	if (isnan(o->ratio.low))
		cli_cell(t, "-");
	else
		cli_cell(t, "%.3f .. %.3f", o->ratio.low, o->ratio.high);
	cli_cell(t, "%s", cli_percent(buf, o->gap));
	cli_cell(t, "%d / %d / %d", o->wins, o->ties, o->losses);
	if (isnan(o->p_corrected))
		cli_cell(t, "-");
	else
		cli_cell(t, "%.2g", o->p_corrected);
	cli_cell(t, "%s", cli_count(buf, llround(o->evaluations)));
	cli_cell(t, "%s", o->solve_s > 0 ? berth_text_seconds(buf, o->solve_s) : "-");
}

static berth_status print_methods(cli *c, const cli_comparison *r, const berth_compare_overall *o,
                                  cli_format format, berth_err *err)
{
	cli_table t;
	cli_table_init(&t, &c->mem, "lrrrrrrrr");
	cli_table_head(&t, "method|feasible|it / single|95 % of means|gap|won / tied / lost|p");
	cli_table_head(&t, "evaluations|CPU time");
	for (int32_t m = 0; m < r->n_methods; m++) {
		cli_cell(&t, "%s", r->name[m]);
		overall_cells(&t, &o[m]);
	}
	cli_say(format == CLI_AS_MARKDOWN ? "### all %d instances, " : "all %d instances, ", n_complete(r));
	cli_say_word(berth_objective_name(&r->objective), format);
	cli_say(format == CLI_AS_MARKDOWN ? "; against %s\n\n" : "; against %s\n",
	        r->name[r->against]);
	return cli_table_print(&t, format, err);
}

static berth_status print_tables(cli *c, const cli_comparison *r, const cli_compare_format *f,
                                 const berth_compare_summary *s, const berth_compare_overall *o,
                                 berth_err *err)
{
	cli_format format = f->as == CLI_COMPARE_MARKDOWN ? CLI_AS_MARKDOWN : CLI_AS_TEXT;
	if (f->named && f->table == CLI_TABLE_ROWS)
		return print_rows(c, r, format, err);
	bool instances = !f->named || f->table == CLI_TABLE_INSTANCES,
	     methods = f->named ? f->table == CLI_TABLE_METHODS : n_complete(r) > 1;
	for (int32_t k = 0; instances && k < r->n_blocks; k++) {
		if (k)
			cli_say("\n");
		BERTH_TRY(print_block(c, r, s, k, format, err));
		print_notes(r, &r->block[k], format);
	}
	if (instances && methods)
		cli_say("\n");
	return methods ? print_methods(c, r, o, format, err) : BERTH_OK;
}

berth_status cli_compare_print(cli *c, const cli_comparison *r, const cli_compare_format *f, berth_err *err)
{
	berth_compare_summary *s;
	berth_compare_overall *o;
	if (f->as == CLI_COMPARE_JSON)
		return print_json(c, r, err);
	if (c->quiet)
		return BERTH_OK;
	BERTH_TRY(summarise(c, r, &s, err));
	BERTH_TRY(over_instances(c, r, s, &o, err));
	if (f->as == CLI_COMPARE_CSV)
		return print_csv(c, r, f, s, o, err);
	return print_tables(c, r, f, s, o, err);
}
