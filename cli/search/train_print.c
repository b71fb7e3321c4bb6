/* What berth train tells when it has ended: the document, text, and the page of --report, which has the
 * document but for what differs from run to run. */
#include "cmd_train.h"

#include "print.h"
#include "report.h"
#include "results.h"
#include "say.h"
#include "statistics.h"
#include "tell.h"

/* ---- the document ---- */

#define RANK(K, IF) \
	K(TEXT, "host", "", "", k->host) \
	K(INT, "evaluations", "", \
	  "that it made, in this run; `--resume` makes those of the first heuristics again", k->evaluations) \
	K(NUMBER, "cpu_s", "s", "without waiting for the others, and what goes over the wire", k->cpu_s)
static RESULT_KIND(rank_kind, "", "", RANK);

#define BEST(K, IF) \
	CLI_PAIR(K, b->graph, b->system) \
	K(NUMBER_OR_NULL, "value", "of the objective", "null: nothing feasible", b->value) \
	K(NUMBER_OR_NULL, "seed_value", "of the objective", "of the best heuristic of the portfolio", \
	  b->portfolio_value) \
	K(TEXT_OR_NULL, "seed_method", "", "which", b->portfolio_method) \
	K(BOOL, "collapsed", "", "nothing is left to learn of the pair", b->collapsed)
static RESULT_KIND(best_kind, "", "", BEST);

#define LOOK(K, IF) \
	CLI_PAIR(K, p->graph, p->system) \
	K(BOOL, "kept_aside", "", "it was not learned from", p->kept) \
	K(NUMBER_OR_NULL, "before", "of the objective", \
	  "one pass of the policy that training began with; null: it does not fit", p->before) \
	K(NUMBER_OR_NULL, "after", "of the objective", "of the policy that is written", p->after)
static RESULT_KIND(look_kind, "", "", LOOK);

#define TUNED(K, IF) \
	K(TEXT, "from", "", "the policy that training began with: its file, or `built-in`", \
	  t->a->budget.policy ? t->a->budget.policy : "built-in") \
	K(INT, "looks", "", "passes over all pairs", x->looks) \
	K(INT, "taken", "", "the look whose policy is written; 0: the one that it began with", x->taken) \
	K(BOOL, "early", "", "it ended before its budget did", x->over) \
	K(INT, "evaluations", "", "of looks", x->evaluations) \
	K(NUMBER, "cpu_s", "s", "of all, about, by a rule of thumb", x->cpu_s) \
	K(LIST(look_kind), "pairs", "", "those kept aside first", pairs) \
	K(TEXTS, "left_out", "", "pairs that nothing was found for that fits, and why", t->left_out.text, \
	  t->left_out.n)
static RESULT_KIND(tuned_kind, "Tuned part", "", TUNED);

#define TRAIN(K, IF) \
	K(TEXT, "policy", "", "the file", t->a->out) \
	IF(t->engine, TEXT, "for", "", "the engine whose plans it learned to make; missing: none", \
	   t->engine->name) \
	K(INT, "evaluations", "", "over all pairs, of all runs", r->evaluations) \
	K(INT, "asked", "", "`--evaluations`", t->cfg.evaluations) \
	K(INT, "before", "", "evaluations of the runs that this one goes on from", r->before) \
	K(INT, "searched", "", \
	  "of `evaluations`: by the searches from the best placements, after learning", r->searched) \
	K(INT, "steps", "", "", r->steps) \
	K(INT, "taught", "", "of them, of imitating teachers", r->taught) \
	K(BOOL, "resumed", "", "it went on from a checkpoint", r->resumed) \
	K(TEXT, "stopped", "", \
	  "why: `budget`; `learned`: all pairs collapsed; `proven`: what was found is proven best; " \
	  "`early`: fine-tuning found no better policy any more; `enough`: more than asked was made " \
	  "before, nothing was trained; `interrupted`", \
	  train_stopped_by(t)) \
	IF(!on_page, NUMBER, "wall_s", "s", "", t->wall_s) \
	IF(!on_page, LIST(rank_kind), "ranks", "", \
	   "the processes that trained together, in their order; one without `mpirun`", ranks) \
	K(LIST(best_kind), "best", "", "one a pair of graph and system", best) \
	IF(t->a->fine_tune, OBJECT(tuned_kind), "tuned", "", "only with `--fine-tune`", tuned_part(c, t)) \
	IF(t->a->measured.on, OBJECT(train_measured_kind), "measured", "", "only with `--env measured`", \
	   train_measured_result(c, &t->measured))
RESULT_KIND(train_document, "Train", "", TRAIN);

/* Did nothing but proofs end it before its budget? */
static bool is_rest_spared(const train_run *t)
{
	return !t->result.done && !t->interrupted && t->result.evaluations < t->cfg.evaluations;
}

const char *train_stopped_by(const train_run *t)
{
	if (t->result.nothing)
		return "enough";
	if (t->interrupted)
		return "interrupted";
	if (t->result.tuned.over)
		return "early";
	return t->result.done ? "learned" : is_rest_spared(t) ? "proven" : "budget";
}

static const berth_result *tuned_part(cli *c, const train_run *t)
{
	const berth_train_tuned *x = &t->result.tuned;
	berth_result_list *pairs = berth_result_list_new(&c->mem, &look_kind);
	for (const berth_train_look *p = x->pair; p && p - x->pair < x->n_pairs; p++)
		RESULT_ADD(pairs, LOOK);
	return RESULT_NEW(&c->mem, tuned_kind, TUNED);
}

static const berth_result *document(cli *c, const train_run *t, bool on_page)
{
	const berth_train_result *r = &t->result;
	berth_result_list *ranks = berth_result_list_new(&c->mem, &rank_kind);
	berth_result_list *best = berth_result_list_new(&c->mem, &best_kind);
	for (const berth_train_rank *k = r->rank; k && k - r->rank < r->n_ranks; k++)
		RESULT_ADD(ranks, RANK);
	for (const berth_train_best *b = r->best; b && b < r->best + t->n_items; b++)
		RESULT_ADD(best, BEST);
	return RESULT_NEW(&c->mem, train_document, TRAIN);
}

static berth_status write_report(cli *c, const train_run *t, berth_err *err)
{
	berth_page page;
	const berth_train_item *only = t->n_items == 1 ? t->item : NULL;
	BERTH_TRY(cli_report_open(c, &page, "train", only ? only->graph : NULL, only ? only->system : NULL,
	                          berth_objective_unit(&t->cfg.objective), document(c, t, true), err));
	BERTH_TRY(train_curves_put(&page.w, &t->curves, t->result.resumed, err));
	return cli_report_write(c, &page, t->a->report, err);
}

/* ---- text ---- */

enum { MOST_PAIRS = 20 }; /* that have rows */

/* Is the budget no larger than what the first heuristics take? */
static bool spent_at_start(const train_run *t)
{
	const berth_train_result *r = &t->result;
	return r->steps == r->taught && !r->searched && !r->done && !t->interrupted &&
	       r->evaluations >= t->cfg.evaluations;
}

/* What became of the budget. */
static void print_spent(const train_run *t)
{
	const train_args *a = t->a;
	const berth_train_result *r = &t->result;
	char made[32], asked[32], learned[32], searched[32], before[32];
	cli_count(made, r->evaluations);
	cli_count(asked, t->cfg.evaluations);
	cli_count(learned, r->evaluations - r->searched);
	cli_count(searched, r->searched);
	if (r->nothing) {
		cli_say("%s: nothing was trained: it has made %s evaluations already, --evaluations asks for "
		        "%s\n\n",
		        a->out, made, asked);
		return;
	}
	if (spent_at_start(t)) {
		cli_say("%s: no step of learning: the first heuristics of each pair took all of %s "
		        "evaluations, and the policy %s; give more --evaluations than that\n\n",
		        a->out, made,
		        a->fine_tune ? "is what it began with"
		        : a->teach   ? "does no more than imitate its teachers"
		                     : "does no more than imitate them");
		return;
	}
	if (a->fine_tune)
		cli_say("%s: %s evaluations: %lld steps of learning\n", a->out, made, (long long)r->steps);
	else if (a->teach)
		cli_say("%s: %lld steps of being taught; %s evaluations: %lld steps of learning\n", a->out,
		        (long long)r->taught, made, (long long)(r->steps - r->taught));
	else
		cli_say("%s: %s evaluations: %lld steps of learning by %s, search from the best placements "
		        "by %s\n",
		        a->out, made, (long long)r->steps, learned, searched);
	if (t->engine)
		cli_say("valued as %s runs plans\n", t->engine->title);
	if (r->resumed)
		cli_say("gone on from a checkpoint of %s\n", cli_count(before, r->before));
	if (r->tuned.over)
		cli_say("ended early, of %s evaluations: no policy was taken any more\n", asked);
	else if (r->done && r->evaluations < t->cfg.evaluations)
		cli_say("ended early, of %s evaluations: nothing is left to learn, the policy draws the same "
		        "again and again\n",
		        asked);
	else if (r->done)
		cli_say("learning ended early, the search took the rest: the policy draws the same again and "
		        "again\n");
	else if (is_rest_spared(t))
		cli_say("of %s evaluations the rest was not needed: what was found is proven best\n", asked);
	cli_say("\n");
}

/* The rows of a table over n pairs that it has. */
static int32_t rows_shown(int32_t n)
{
	return n > MOST_PAIRS ? MOST_PAIRS : n;
}

static void print_more(int32_t n)
{
	if (rows_shown(n) < n)
		cli_say("(and %d more; --json has all)\n", n - rows_shown(n));
}

static berth_status print_tuned(cli *c, const train_run *t, berth_err *err)
{
	const berth_train_tuned *x = &t->result.tuned;
	cli_table table;
	/* What was taken, and why. */
	char cpu[32];
	cli_say("%s", t->a->budget.policy ? t->a->budget.policy : "the built-in policy");
	berth_text_seconds(cpu, x->cpu_s);
	if (x->taken)
		cli_say(", tuned, about %s of CPU: look %lld of %lld is taken, the best one that is on no "
		        "pair kept aside worse than before\n\n",
		        cpu, (long long)x->taken, (long long)x->looks);
	else if (!x->looks)
		cli_say(" is kept, after about %s of CPU: training ended before the first look at what was "
		        "learned\n\n",
		        cpu);
	else
		cli_say(" is kept, after about %s of CPU: at none of %lld looks what was learned was "
		        "better, and on no pair kept aside worse\n\n",
		        cpu, (long long)x->looks);
	cli_table_init(&table, &c->mem, "lllrrr");
	cli_table_head(&table, "graph|system|in training|pass before|after|ratio");
	for (const berth_train_look *p = x->pair; p && p - x->pair < rows_shown(x->n_pairs); p++) {
		double ratio = p->after / p->before;
		cli_cell_text(&table, p->graph);
		cli_cell_text(&table, p->system);
		cli_cell_text(&table, p->kept ? "kept aside" : "learned from");
		cli_cell_value(&table, &t->cfg.objective, p->before);
		cli_cell_value(&table, &t->cfg.objective, p->after);
		cli_cell(&table, isnan(ratio) ? "-" : "%.4f", ratio);
	}
	BERTH_TRY(cli_table_print(&table, CLI_AS_TEXT, err));
	print_more(x->n_pairs);
	return BERTH_OK;
}

/* What was found by what heuristics found, over all pairs that have both. */
static berth_status print_gain(cli *c, const train_run *t, berth_err *err)
{
	double *ratio;
	int32_t n = 0, nothing = 0;
	BERTH_TRY_NEW(&c->mem, t->n_items, err, ratio);
	for (const berth_train_best *b = t->result.best; b && b < t->result.best + t->n_items; b++) {
		ratio[n] = b->value / b->portfolio_value;
		n += isfinite(ratio[n]) && ratio[n] > 0;
		nothing += !isfinite(b->value);
	}
	if (n > 0)
		cli_say("best by best seed: %.4f in the geometric mean of %d pairs\n",
		        berth_geomean(ratio, n), n);
	if (nothing > 0)
		cli_say("pairs that nothing was found for that fits: %d\n", nothing);
	return BERTH_OK;
}

static berth_status print_best(cli *c, const train_run *t, berth_err *err)
{
	const berth_train_best *best = t->result.best;
	const int32_t shown = rows_shown(t->n_items);
	cli_table table;
	cli_table_init(&table, &c->mem, "llrrll");
	cli_table_head(&table, "graph|system|best|best seed|of|left to learn");
	for (const berth_train_best *b = best; b && b < best + shown; b++) {
		cli_cell_text(&table, b->graph);
		cli_cell_text(&table, b->system);
		cli_cell_value(&table, &b->objective, b->value);
		cli_cell_value(&table, &b->objective, b->portfolio_value);
		cli_cell_text(&table, b->portfolio_method);
		cli_cell_text(&table, b->collapsed ? "nothing" : "some");
	}
	BERTH_TRY(cli_table_print(&table, CLI_AS_TEXT, err));
	print_more(t->n_items);
	return shown < t->n_items ? print_gain(c, t, err) : BERTH_OK;
}

static berth_status print_ranks(cli *c, const berth_train_result *r, berth_err *err)
{
	cli_table table;
	char buf[32];
	if (r->n_ranks < 2)
		return BERTH_OK;
	cli_table_init(&table, &c->mem, "rlrr");
	cli_table_head(&table, "rank|host|evaluations|CPU");
	for (int32_t i = 0; i < r->n_ranks; i++) {
		cli_cell_int(&table, i);
		cli_cell_text(&table, r->rank[i].host);
		cli_cell(&table, "%s", cli_count(buf, r->rank[i].evaluations));
		cli_cell_seconds(&table, r->rank[i].cpu_s);
	}
	cli_say("\n");
	return cli_table_print(&table, CLI_AS_TEXT, err);
}

berth_status train_tell(cli *c, const train_run *t, berth_err *err)
{
	if (t->seeds)
		return train_seeds_add(c, t, err);
	BERTH_TRY(cli_result(c, document(c, t, false), err));
	if (cli_in_words(c)) {
		print_spent(t);
		BERTH_TRY(t->a->fine_tune ? print_tuned(c, t, err) : print_best(c, t, err));
		BERTH_TRY(print_ranks(c, &t->result, err));
		if (t->a->measured.on)
			train_measured_print(&t->measured);
	}
	return t->a->report ? write_report(c, t, err) : BERTH_OK;
}
