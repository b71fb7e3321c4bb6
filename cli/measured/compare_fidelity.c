/* compare --fidelity: one row a graph. */
#include "compare_fidelity.h"

#include "engine_errors.h"
#include "fidelity.h"
#include "graph_load.h"
#include "progress.h"
#include "report.h"
#include "results.h"
#include "tell.h"

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

/* Exports of this user go by it from now on. */
static berth_status keep_error(cli *c, const char *engine, const row *x, const berth_system *s,
                               berth_err *err)
{
	const char *path;
	const berth_fidelity *r = &x->r;
	BERTH_TRY(berth_engine_errors_keep(engine, s, x->graph, r->n, r->profiled_s, r->measured_s, &c->mem,
	                                   &c->tmp, &path, err));
	return path ? cli_note(c, err, "%s: the error of predictions for %s is kept in %s", x->graph, engine,
	                       path)
	            : BERTH_OK;
}

static berth_status run_graph(cli *c, const cli_fidelity *f, const char *spec, const char *system,
                              uint64_t seed, row *out, berth_err *err)
{
	berth_measured m;
	berth_graph *g;
	berth_system *s;
	berth_fidelity_cfg how = berth_fidelity_cfg_default();
	cli_progress progress;
	BERTH_TRY_NEW(&c->mem, 1, err, g, s);
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
	const char *name = berth_arena_strdup(&c->mem, berth_engine_says(m.engine)->engine);
	berth_measured_close(&m);
	if (st == BERTH_OK)
		st = berth_got(name, err);
	if (st == BERTH_OK)
		st = keep_error(c, name, out, s, err);
	if (st == BERTH_OK && out->r.n_failed)
		st = cli_warn(c, err, "%s: placements left out: %d; the last: %s", g->name, out->r.n_failed,
		              out->r.failure);
	return st;
}

#define ERRORS(K, IF)                                                                                        \
	K(NUMBER_OR_NULL, "mape", "", "mean of abs(predicted - measured) / measured", e->mape)               \
	K(NUMBER_OR_NULL, "bias", "", "mean of (predicted - measured) / measured", e->bias)                  \
	K(NUMBER_OR_NULL, "tau", "", "Kendall's, over pairs with disjoint intervals", e->tau)                \
	K(INT, "pairs", "", "such pairs", e->pairs)                                                          \
	K(INT, "all_pairs", "", "", e->all_pairs)                                                            \
	K(NUMBER_OR_NULL, "regret", "", "measured time of the choice / least, less 1", e->regret)
static RESULT_FLAT_KIND(errors_kind, "Errors", "", ERRORS);

#define ROW(K, IF)                                                                                           \
	CLI_PAIR(K, x->graph, x->system)                                                                     \
	K(TEXT, "engine", "", "", x->engine)                                                                 \
	K(INT, "calibration_placements", "", "that counted", r->n_calibration)                               \
	K(INT, "test_placements", "", "that counted", r->n_test)                                             \
	K(INT, "flagged", "", "too few calm samples", r->n_flagged)                                          \
	K(INT, "failed", "", "the engine failed", r->n_failed)                                               \
	K(TEXT_OR_NULL, "failure", "", "the last", r->failure)                                               \
	K(NUMBER_OR_NULL, "predicted_least_s", "s", "range of the calibrated predictions", r->least_s)       \
	K(NUMBER_OR_NULL, "predicted_most_s", "s", "", r->most_s)                                            \
	K(OBJECT(errors_kind), "profiled", "", "of the simulator as profiled", errors_of(c, &r->profiled))   \
	K(OBJECT(errors_kind), "calibrated", "", "after calibration", errors_of(c, &r->calibrated))          \
	K(NUMBER_OR_NULL, "regret_in_turns", "", "of the calibrated choice, by runs turn by turn",           \
	  r->turns_regret)                                                                                   \
	K(NUMBER_OR_NULL, "segment_error_before", "", "of the calibration runs' segments",                   \
	  r->segment_error_before)                                                                           \
	K(NUMBER_OR_NULL, "segment_error_after", "", "", r->segment_error_after)                             \
	K(NUMBER_OR_NULL, "strain", "", "median of the test runs", r->median_strain)                         \
	K(NUMBER_OR_NULL, "interval_width", "", "median of interval / median", r->median_width)              \
	K(NUMBER_OR_NULL, "whole_1_thread_s", "s", "the unsplit model", r->whole_1_s)                        \
	K(NUMBER_OR_NULL, "whole_all_threads_s", "s",                                                        \
	  "null: by the clock of the CPU, which tells nothing of it", r->whole_all_s)                        \
	K(NUMBER_OR_NULL, "best_measured_s", "s", "least of the test placements", r->best_s)                 \
	K(NUMBER, "wall_s", "s", "all of it", r->wall_s)                                                     \
	K(NUMBERS, "measured_s", "s", "a test placement each: median", r->measured_s, r->n)                  \
	K(NUMBERS, "low_s", "s", "its interval", r->low_s, r->n)                                             \
	K(NUMBERS, "high_s", "s", "", r->high_s, r->n)                                                       \
	K(NUMBERS, "profiled_s", "s", "predicted as profiled", r->profiled_s, r->n)                          \
	K(NUMBERS, "calibrated_s", "s", "and after calibration", r->calibrated_s, r->n)
static RESULT_KIND(row_kind, "", "", ROW);

#define FIDELITY(K, IF) K(LIST(row_kind), "fidelity", "", "one a graph", list)
RESULT_KIND(fidelity_document, "Fidelity",
            "`compare --fidelity --json`; what is done: [measured.md](measured.md).", FIDELITY);

static const berth_result *errors_of(cli *c, const berth_fidelity_error *e)
{
	return RESULT_NEW(&c->mem, errors_kind, ERRORS);
}

static const berth_result *fill(cli *c, const row *rows, int32_t n)
{
	berth_result_list *list = berth_result_list_new(&c->mem, &row_kind);
	for (const row *x = rows; x && x - rows < n; x++) {
		const berth_fidelity *r = &x->r;
		RESULT_ADD(list, ROW);
	}
	return RESULT_NEW(&c->mem, fidelity_document, FIDELITY);
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
	const berth_fidelity *r = &x->r;
	cli_cell_text(t, x->graph);
	cli_cell_int(t, r->n_test);
	cli_cell_int(t, r->n_flagged + r->n_failed);
	add_ratio(t, 2, r->most_s / r->least_s);
	cli_cell_percent(t, r->profiled.mape);
	add_ratio(t, 3, r->profiled.tau);
	cli_cell_percent(t, r->calibrated.mape);
	add_ratio(t, 3, r->calibrated.tau);
	cli_cell(t, "%lld of %lld", (long long)r->calibrated.pairs, (long long)r->calibrated.all_pairs);
	cli_cell_percent(t, r->calibrated.regret);
	cli_cell_percent(t, r->turns_regret);
	add_ratio(t, 2, r->median_strain);
	for (int i = 0; i < 3; i++) {
		double x_s = i == 0 ? r->best_s : i == 1 ? r->whole_1_s : r->whole_all_s;
		cli_cell_seconds(t, x_s);
	}
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
	BERTH_TRY_NEW(&c->mem, c->n_args, err, rows);
	for (; n < c->n_args && st == BERTH_OK; n += st == BERTH_OK)
		st = run_graph(c, f, c->args[n], system, seed, &rows[n], err);
	const berth_result *r = fill(c, rows, n);
	if (c->json && (n || st == BERTH_OK)) /* what was measured is told, whatever came then */
		BERTH_TRY(cli_put_result(c, r, err));
	else if (!c->quiet && n) {
		cli_table t;
		cli_table_init(&t, &c->mem, "lrrrrrrrrrrrrrr");
		cli_table_head(&t, "graph|tested|left out|range|profiled MAPE|tau|calibrated MAPE|tau|pairs");
		cli_table_head(&t, "regret|in turns|strain|best|whole, 1 thread|whole, all threads");
		for (int32_t i = 0; i < n; i++)
			add_row(&t, &rows[i]);
		BERTH_TRY(cli_table_print(&t, CLI_AS_TEXT, err));
	}
	if (f->report && n) {
		berth_page page;
		BERTH_TRY(cli_report_open(c, &page, "fidelity", n == 1 ? rows->graph : NULL,
		                          n == 1 ? rows->system : NULL, "s", r, err));
		BERTH_TRY(cli_report_write(c, &page, f->report, err));
	}
	return st;
}
