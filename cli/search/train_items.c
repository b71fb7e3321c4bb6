/* The pairs of a training: their words, of the command line or of a file; how they are loaded, held or read
 * anew each turn; and for fine-tuning those that something fits. */
#include "cmd_train.h"

#include "graph_load.h"
#include "option_files.h"
#include "print.h"
#include "sandboxed.h"
#include "system_change.h"

/* More pairs are read anew for each of their turns. */
enum { PAIRS_HELD = 256 };

/* ---- words ---- */

/* The next word of a line, ended where it ends; NULL: there is none. */
static char *next_word(char **at)
{
	char *word = *at + strspn(*at, " \t\r");
	if (!*word)
		return NULL;
	*at = word + strcspn(word, " \t\r");
	if (**at)
		*(*at)++ = 0;
	return word;
}

/* A line of the file, without its end. */
static berth_status read_line(cli *c, const char *file, int32_t number, char *line, train_run *t,
                              berth_err *err)
{
	char *at = line;
	line[strcspn(line, "#")] = 0;
	const char *graph = next_word(&at), *system = graph ? next_word(&at) : NULL;
	if (!graph)
		return BERTH_OK;
	if (!system || next_word(&at))
		return berth_fail(err, BERTH_EFORMAT, "%s:%d: %s; expected GRAPH SYSTEM", file, (int)number,
		                  system ? "there are more than two words" : "the system is missing");
	BERTH_TRY(cli_check_named(c, graph, "a pair", err));
	BERTH_TRY(cli_check_named(c, system, "a pair", err));
	t->graph[t->n_pairs] = graph;
	t->system[t->n_pairs++] = system;
	return BERTH_OK;
}

static berth_status read_file(cli *c, const char *file, train_run *t, berth_err *err)
{
	char *text;
	size_t lines;
	BERTH_TRY(cli_read_lines(c, file, &text, &lines, err));
	BERTH_TRY_NEW(&c->mem, lines, err, t->graph, t->system);
	int32_t number = 1;
	for (char *line = text, *next; line; line = next, number++) {
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		BERTH_TRY(read_line(c, file, number, line, t, err));
	}
	return t->n_pairs ? BERTH_OK : berth_fail(err, BERTH_EFORMAT, "%s: there is no pair in it", file);
}

/* One where none is named: that of the workload. */
static int32_t n_systems(const train_run *t)
{
	return t->a->on.n ? t->a->on.n : 1;
}

static berth_status read_words(cli *c, train_run *t, berth_err *err)
{
	const char *file = t->a->pairs;
	int64_t n = (int64_t)c->n_args * n_systems(t);
	if (file && (c->n_args || t->a->on.n))
		return berth_fail(err, BERTH_EINVAL,
		                  "train --pairs: the file has the graphs and systems; leave GRAPH and --on "
		                  "out");
	if (!file && !c->n_args)
		return berth_fail(err, BERTH_EINVAL, "train: GRAPH is missing; or give --pairs FILE");
	if (n > INT32_MAX)
		return berth_fail(err, BERTH_EINVAL, "train: more than %d pairs", INT32_MAX);
	t->n_pairs = file ? 0 : (int32_t)n;
	return file ? read_file(c, file, t, err) : BERTH_OK;
}

/* ---- loading ---- */

/* Pair i. Its memory is drawn anew where it is the turn of --tight. */
static berth_status load_item(cli *c, const train_run *t, int32_t i, berth_train_item *out, berth_err *err)
{
	const train_args *a = t->a;
	const char *graph = t->graph ? t->graph[i] : c->args[i / n_systems(t)];
	/* NULL: that of the workload */
	const char *system = t->graph ? t->system[i] : a->on.n ? a->on.text[i % n_systems(t)] : NULL;
	berth_rng rng = berth_rng_seed(a->budget.seed, BERTH_STREAM_TIGHTEN + (uint64_t)i);
	berth_graph *g;
	berth_system *y;
	berth_problem *p;
	BERTH_TRY_NEW(&c->mem, 1, err, g, y, p);
	BERTH_TRY(cli_instance_load(c, graph, system, g, y, NULL, err));
	BERTH_TRY(cli_granularity_apply(c, &t->whole, g, err));
	BERTH_TRY(berth_engine_kernels(y, NULL, g, &c->mem, &c->tmp, err));
	if (a->tight && (i + 1) % a->tight == 0)
		BERTH_TRY(berth_system_tighten(g, &rng, y, &c->tmp, err));
	BERTH_TRY(berth_problem_new(g, y, &c->mem, &c->tmp, p, err));
	*out = (berth_train_item){p, g->name, y->name};
	return BERTH_OK;
}

/* The same in arenas, and in silence: it is read more than once. */
berth_status train_items_stream(void *ctx, int32_t i, berth_arena *mem, berth_arena *tmp,
                                berth_train_item *out, berth_err *err)
{
	const train_run *t = ctx;
	cli c = *t->c;
	c.mem = *mem;
	c.tmp = *tmp;
	c.warned = c.noted = c.called = (cli_texts){0};
	c.quiet = true;
	berth_status st = load_item(&c, t, i, out, err);
	*mem = c.mem;
	*tmp = c.tmp;
	return st;
}

/* ---- fine-tuning ---- */

/* Is there a placement that fits? *why: what stands against it, where that is known. */
static berth_status fits(const berth_train_item *item, const berth_objective *objective, berth_arena *tmp,
                         bool *yes, berth_err *why, berth_err *err)
{
	berth_arena mem = {0};
	berth_search_cfg cfg = {.objective = *objective, .seed = 1};
	berth_search s;
	berth_portfolio portfolio;
	*yes = false;
	if (berth_problem_feasible(item->p, why) != BERTH_OK)
		return BERTH_OK;
	berth_status st = berth_search_new(item->p, &cfg, &mem, &s, err);
	if (st == BERTH_OK)
		st = berth_portfolio_run(&s, &mem, tmp, &portfolio, err);
	*yes = st == BERTH_OK && berth_score_feasible(s.best);
	berth_arena_free(&mem);
	if (st == BERTH_OK && !*yes)
		berth_fail(why, BERTH_EINFEASIBLE, "no heuristic finds a placement that fits the memory");
	return st;
}

/* Those that are learned from. */
static berth_status choose_items(cli *c, train_run *t, berth_err *err)
{
	const char *policy = t->a->budget.policy;
	berth_objective objective;
	int32_t left = 0;
	BERTH_TRY(berth_objective_parse(t->a->budget.objective, &objective, err));
	BERTH_TRY(policy ? cli_policy_read(c, policy, &t->from, err)
	                 : berth_policy_builtin(&c->mem, &t->from, err));
	for (int32_t i = 0; i < t->n_items; i++) {
		berth_err why;
		bool yes;
		BERTH_TRY(fits(&t->item[i], &objective, &c->tmp, &yes, &why, err));
		if (yes)
			t->item[left++] = t->item[i];
		else {
			const char *text = berth_arena_printf(&c->mem, "%s on %s: %s", t->item[i].graph,
			                                      t->item[i].system, why.msg);
			BERTH_TRY(berth_got(text, err));
			BERTH_TRY(BERTH_PUSH(&c->mem, t->left_out.text, t->left_out.n, &t->left_out.cap, err,
			                     text));
			BERTH_TRY(cli_warn(c, err, "left out: %s", text));
		}
	}
	if (!left)
		return berth_fail(err, BERTH_EINFEASIBLE,
		                  "train --fine-tune: no pair is left to learn from: nothing fits");
	BERTH_TRY(cli_strict(c, err));
	BERTH_TRY(berth_fine_tune_split(t->item, left, t->a->budget.seed, &c->mem, &c->tmp, &t->parts, err));
	t->item = t->parts.learned;
	t->n_items = t->parts.n_learned;
	return BERTH_OK;
}

/* The engine of --for, before anything is read. Where best plans are found exactly nothing is to learn. */
static berth_status open_engine(cli *c, train_run *t, berth_err *err)
{
	t->whole = cli_granularity_default();
	if (c->engine)
		BERTH_TRY(berth_rules_find(c->engine, &t->engine, err));
	if (t->engine && berth_exporter_for(t->engine)->best)
		return berth_fail(err, BERTH_EINVAL,
		                  "train --for %s: its best plans in whole layers are found exactly, and "
		                  "need no policy: berth place MODEL --on SYSTEM --for %s",
		                  t->engine->name, t->engine->name);
	return cli_granularity_open(c, &t->whole, err);
}

berth_status train_items_open(cli *c, train_run *t, berth_err *err)
{
	BERTH_TRY(open_engine(c, t, err));
	BERTH_TRY(read_words(c, t, err));
	int32_t n = t->n_pairs;
	if (n > PAIRS_HELD && t->a->fine_tune)
		return berth_fail(err, BERTH_EINVAL, "train --fine-tune: at most %d pairs, not %d",
		                  PAIRS_HELD, (int)n);
	if (n > PAIRS_HELD && strcmp(t->a->decoding, berth_decoding_name(BERTH_SEQUENTIAL)) == 0) {
		t->n_items = n;
		return t->a->report ? berth_fail(err, BERTH_EINVAL,
		                                 "train --report: curves of at most %d pairs, not %d",
		                                 PAIRS_HELD, (int)n)
		                    : BERTH_OK;
	}
	BERTH_TRY_NEW(&c->mem, n, err, t->item);
	for (; t->n_items < n; t->n_items++)
		BERTH_TRY(load_item(c, t, t->n_items, &t->item[t->n_items], err));
	return t->a->fine_tune ? choose_items(c, t, err) : BERTH_OK;
}
