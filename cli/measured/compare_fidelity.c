/* compare --fidelity: one row a graph. */
#include "compare_fidelity.h"

#include "fidelity.h"
#include "graph_load.h"
#include "print.h"
#include "progress.h"
#include "report.h"
#include "text.h"

#include <math.h>

enum { MOST_PLACEMENTS = 100000 };

cli_fidelity cli_fidelity_default(void)
{
	berth_fidelity_cfg usual = berth_fidelity_cfg_default();
	return (cli_fidelity){
		.engine = CLI_ENGINE_DEFAULT, .placements = usual.test, .max_strain = usual.max_strain};
}

typedef struct row {
	const char *graph, *system, *engine;
	berth_fidelity r;
} row;

static berth_status run_graph(cli *c, const cli_fidelity *f, const char *spec, const char *system,
                              uint64_t seed, row *out, berth_err *err)
{
	berth_measured m;
	berth_graph *g;
	berth_system *s;
	berth_fidelity_cfg how = berth_fidelity_cfg_default();
	cli_progress progress;
	BERTH_TRY(BERTH_NEW(&c->mem, g, 1, err));
	BERTH_TRY(BERTH_NEW(&c->mem, s, 1, err));
	BERTH_TRY(cli_instance_load(c, spec, system, g, s, NULL, err));
	*out = (row){.graph = g->name, .system = s->name};
	BERTH_TRY(cli_engine_open(c, &f->engine, spec, g, s, NULL, &m, &out->engine, err));
	how.seed = seed;
	how.test = (int32_t)f->placements;
	how.max_strain = f->max_strain;
	how.progress = how.profile.progress = cli_progress_count;
	how.progress_ctx = how.profile.progress_ctx = &progress;
	cli_progress_open(&progress, c, g->name);
	berth_status st = berth_fidelity_run(&m, &how, &c->mem, &c->tmp, &out->r, err);
	cli_progress_end(&progress);
	berth_measured_close(&m);
	if (st == BERTH_OK && out->r.n_failed)
		st = cli_warn(c, err, "%s: placements left out: %d; the last: %s", g->name,
		              out->r.n_failed, out->r.failure);
	return st;
}

static void put_error(berth_json_out *w, const char *key, const berth_fidelity_error *e)
{
	berth_json_open(w, key, '{');
	berth_json_put_number(w, "mape", e->mape);
	berth_json_put_number(w, "bias", e->bias);
	berth_json_put_number(w, "tau", e->tau);
	berth_json_put_int(w, "pairs", e->pairs);
	berth_json_put_int(w, "all_pairs", e->all_pairs);
	berth_json_put_number(w, "regret", e->regret);
	berth_json_close(w, '}');
}

static void put_row(berth_json_out *w, const row *x)
{
	const berth_fidelity *r = &x->r;
	berth_json_open(w, NULL, '{');
	berth_json_put_string(w, "graph", x->graph);
	berth_json_put_string(w, "system", x->system);
	berth_json_put_string(w, "engine", x->engine);
	berth_json_put_int(w, "calibration_placements", r->n_calibration);
	berth_json_put_int(w, "test_placements", r->n_test);
	berth_json_put_int(w, "flagged", r->n_flagged);
	berth_json_put_int(w, "failed", r->n_failed);
	berth_json_put_string(w, "failure", r->failure);
	berth_json_put_number(w, "predicted_least_s", r->least_s);
	berth_json_put_number(w, "predicted_most_s", r->most_s);
	berth_json_flat(w, true);
	put_error(w, "profiled", &r->profiled);
	put_error(w, "calibrated", &r->calibrated);
	berth_json_flat(w, false);
	berth_json_put_number(w, "regret_in_turns", r->turns_regret);
	berth_json_put_number(w, "segment_error_before", r->segment_error_before);
	berth_json_put_number(w, "segment_error_after", r->segment_error_after);
	berth_json_put_number(w, "strain", r->median_strain);
	berth_json_put_number(w, "interval_width", r->median_width);
	berth_json_put_number(w, "whole_1_thread_s", r->whole_1_s);
	berth_json_put_number(w, "whole_all_threads_s", r->whole_all_s);
	berth_json_put_number(w, "best_measured_s", r->best_s);
	berth_json_put_number(w, "wall_s", r->wall_s);
	berth_json_flat(w, true);
	berth_json_put_numbers(w, "measured_s", r->measured_s, r->n);
	berth_json_put_numbers(w, "low_s", r->low_s, r->n);
	berth_json_put_numbers(w, "high_s", r->high_s, r->n);
	berth_json_put_numbers(w, "profiled_s", r->profiled_s, r->n);
	berth_json_put_numbers(w, "calibrated_s", r->calibrated_s, r->n);
	berth_json_flat(w, false);
	berth_json_close(w, '}');
}

static void put_rows(berth_json_out *w, const row *rows, int32_t n)
{
	berth_json_open(w, "fidelity", '[');
	for (int32_t i = 0; i < n; i++)
		put_row(w, &rows[i]);
	berth_json_close(w, ']');
}

static berth_status print_json(cli *c, const row *rows, int32_t n, berth_err *err)
{
	berth_json_out w;
	berth_json_out_init(&w, &c->mem, true);
	berth_json_open(&w, NULL, '{');
	put_rows(&w, rows, n);
	return cli_end_json(c, &w, err);
}

static berth_status write_report(cli *c, const char *path, const row *rows, int32_t n, berth_err *err)
{
	berth_page page;
	BERTH_TRY(cli_report_open(c, &page, "fidelity", n == 1 ? rows->graph : NULL,
	                          n == 1 ? rows->system : NULL, "s", err));
	berth_json_open(&page.w, "document", '{');
	put_rows(&page.w, rows, n);
	berth_json_close(&page.w, '}');
	return cli_report_write(c, &page, path, err);
}

static void add_ratio(cli_table *t, int decimals, double x)
{
	if (isnan(x))
		cli_cell(t, "-");
	else
		cli_cell(t, "%.*f", decimals, x);
}

static void add_row(cli_table *t, const row *x)
{
	char a[32];
	const berth_fidelity *r = &x->r;
	cli_cell(t, "%s", x->graph);
	cli_cell(t, "%d", r->n_test);
	cli_cell(t, "%d", r->n_flagged + r->n_failed);
	add_ratio(t, 2, r->most_s / r->least_s);
	cli_cell(t, "%s", cli_percent(a, r->profiled.mape));
	add_ratio(t, 3, r->profiled.tau);
	cli_cell(t, "%s", cli_percent(a, r->calibrated.mape));
	add_ratio(t, 3, r->calibrated.tau);
	cli_cell(t, "%lld of %lld", (long long)r->calibrated.pairs, (long long)r->calibrated.all_pairs);
	cli_cell(t, "%s", cli_percent(a, r->calibrated.regret));
	cli_cell(t, "%s", cli_percent(a, r->turns_regret));
	add_ratio(t, 2, r->median_strain);
	for (int i = 0; i < 3; i++) {
		double x_s = i == 0 ? r->best_s : i == 1 ? r->whole_1_s : r->whole_all_s;
		cli_cell(t, "%s", isnan(x_s) ? "-" : berth_text_seconds(a, x_s));
	}
}

static berth_status print_table(cli *c, const row *rows, int32_t n, berth_err *err)
{
	cli_table t;
	cli_table_init(&t, &c->mem, "lrrrrrrrrrrrrrr");
	cli_table_head(&t, "graph|tested|left out|range|profiled MAPE|tau|calibrated MAPE|tau|pairs");
	cli_table_head(&t, "regret|in turns|strain|best|whole, 1 thread|whole, all threads");
	for (int32_t i = 0; i < n; i++)
		add_row(&t, &rows[i]);
	return cli_table_print(&t, CLI_AS_TEXT, err);
}

berth_status cli_fidelity_run(cli *c, const cli_fidelity *f, const char *system, uint64_t seed,
                              berth_err *err)
{
	row *rows;
	int32_t n = 0;
	berth_status st = BERTH_OK;
	if (f->placements > MOST_PLACEMENTS)
		return berth_fail(err, BERTH_EINVAL, "compare: option --placements: %lld is above %d",
		                  (long long)f->placements, MOST_PLACEMENTS);
	BERTH_TRY(BERTH_NEW(&c->mem, rows, c->n_args, err));
	for (; n < c->n_args && st == BERTH_OK; n += st == BERTH_OK)
		st = run_graph(c, f, c->args[n], system, seed, &rows[n], err);
	if (c->json && (n || st == BERTH_OK)) /* what was measured is told, whatever came then */
		BERTH_TRY(print_json(c, rows, n, err));
	else if (!c->quiet && n)
		BERTH_TRY(print_table(c, rows, n, err));
	if (f->report && n)
		BERTH_TRY(write_report(c, f->report, rows, n, err));
	return st;
}
