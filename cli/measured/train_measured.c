/* train --env measured: the engine is opened, its answers kept in a journal, and after training the policy is
 * corrected by real runs. What that came to is told as a part of the document. */
#include "train_measured.h"

#include "file.h"
#include "graph_format.h"
#include "option_files.h"
#include "placement.h"
#include "print.h"
#include "results.h"
#include "say.h"
#include "signals.h"
#include "system_json.h"
#include "tell.h"

#include <unistd.h>

enum { DIGEST = 128 };
/* A tensor of the policy: SHA-256 of the graph and of the system that the run was for. */
static const char end_mark[] = "measured.ended";

static berth_status digest_of(cli *c, const berth_graph *g, const berth_system *s, char digest[DIGEST + 1],
                              berth_err *err)
{
	BERTH_TRY(berth_graph_sha256(g, &c->tmp, digest, err));
	return berth_system_sha256(s, &c->tmp, digest + DIGEST / 2, err);
}

/* Does the policy come from a run for the same graph and system that has ended? A file that holds no
 * policy is for the training to complain about. */
static berth_status find_end(cli *c, const char *policy, const berth_problem *p, bool *ended, berth_err *err)
{
	char digest[DIGEST + 1];
	berth_policy_file f;
	berth_err why;
	bool there;
	*ended = false;
	BERTH_TRY(berth_file_there(policy, &there, err));
	if (!there)
		return BERTH_OK;
	berth_status st = berth_policy_file_read(policy, &c->mem, &f, &why);
	if (st != BERTH_OK)
		return st == BERTH_EFORMAT ? BERTH_OK : berth_fail(err, st, "%s", why.msg);
	BERTH_TRY(digest_of(c, p->g, p->s, digest, err));
	const safetensors_tensor *t = safetensors_find(&f.raw, end_mark);
	*ended = t && t->dtype == SAFETENSORS_U8 && safetensors_count(t) == DIGEST &&
	         memcmp(t->data, digest, DIGEST) == 0;
	return BERTH_OK;
}

/* Whose answers a journal holds, on one line. */
static berth_status journal_of(cli *c, const train_measured *t, const char **out, berth_err *err)
{
	const berth_engine_hello *h = berth_engine_says(t->m.engine);
	char digest[DIGEST + 1];
	berth_json_out w;
	BERTH_TRY(digest_of(c, t->m.g, t->m.s, digest, err));
	berth_json_out_init(&w, &c->mem, false);
	berth_json_open(&w, NULL, '{');
	berth_json_put_string(&w, "engine", t->engine);
	berth_json_put_string(&w, "model", t->m.cfg.model);
	berth_json_put_strings(&w, "dims", t->m.cfg.dim, t->m.cfg.n_dims);
	berth_json_open(&w, "devices", '[');
	for (int32_t d = 0; d < h->n_devs; d++)
		berth_json_put_document(&w, NULL, h->dev[d].text);
	berth_json_close(&w, ']');
	berth_json_put_string(&w, "graph_and_system", digest);
	berth_json_close(&w, '}');
	return berth_json_done(&w, out, NULL, err);
}

static berth_status open_journal(cli *c, bool resume, train_measured *t, berth_err *err)
{
	const char *of;
	BERTH_TRY(journal_of(c, t, &of, err));
	BERTH_TRY(berth_journal_open(t->journal_path, resume, of, &c->mem, &t->journal, err));
	t->m.cfg.journal = t->journal;
	return BERTH_OK;
}

cli_train_measured cli_train_measured_default(void)
{
	return (cli_train_measured){.engine = CLI_ENGINE_DEFAULT, .runs = berth_mtrain_cfg_default().runs};
}

berth_status train_measured_open(cli *c, const cli_train_measured *x, const char *graph, const char *policy,
                                 bool resume, const cli_budget *b, berth_train_item *item,
                                 train_measured *out, berth_err *err)
{
	if (!(out->journal_path = berth_arena_printf(&c->mem, "%s" TRAIN_MEASURED_JOURNAL, policy)))
		return berth_nomem(err);
	if (resume)
		BERTH_TRY(find_end(c, policy, item->p, &out->ended_before, err));
	if (out->ended_before) {
		unlink(out->journal_path); /* where the run was killed in its last moment */
		return BERTH_OK;
	}
	out->placement = x->placement;
	out->budget = b;
	out->cfg = berth_mtrain_cfg_default();
	out->cfg.runs = x->runs;
	out->cfg.seed = b->seed;
	out->cfg.cancel = cli_catch_signals();
	out->r = (berth_mtrain_result){.simulated_error = NAN, .first_error = NAN, .best_s = NAN};
	BERTH_TRY(cli_engine_open(c, &x->engine, graph, item->p->g, item->p->s, out->cfg.cancel, &out->m,
	                          &out->engine, err));
	out->open = true;
	berth_status st = open_journal(c, resume, out, err);
	if (st == BERTH_OK)
		st = berth_mtrain_open(&out->m, &out->cfg, &c->mem, &c->tmp, &out->t, err);
	if (st != BERTH_OK)
		train_measured_close(out);
	else
		item->p = &out->t.sim.p;
	return st;
}

void train_measured_close(train_measured *t)
{
	if (t->open)
		berth_measured_close(&t->m);
	t->open = false;
	berth_journal_close(t->journal);
	t->journal = NULL;
}

/* The policy comes after the placement: it says that all is done. */
berth_status train_measured_run(cli *c, const char *path, train_measured *t, berth_err *err)
{
	berth_policy_file f;
	BERTH_TRY(berth_policy_file_read(path, &c->mem, &f, err));
	/* With worker threads for the searches. */
	berth_search_cfg search;
	BERTH_TRY(cli_budget_open(t->budget, &search, err));
	t->cfg.pool = search.pool;
	berth_status st = berth_mtrain_run(&t->t, &c->tmp, &t->r, err);
	t->cfg.pool = NULL;
	cli_budget_close(&search);
	t->replayed = berth_journal_replayed(t->journal);
	t->ended = st == BERTH_OK;
	BERTH_TRY(st);
	if (t->r.accepted && t->placement) {
		berth_placement p;
		BERTH_TRY(berth_placement_new(t->m.g, t->m.s, &c->mem, &c->tmp, &p, err));
		for (int32_t i = 0; i < t->m.g->n_ops; i++)
			p.op_dev[i] = t->r.op_dev[i];
		BERTH_TRY_NEW(&c->mem, t->m.g->n_ops, err, p.order);
		for (int32_t i = 0; i < t->m.g->n_ops; i++)
			p.order[i] = t->r.order[i];
		p.method = "train";
		p.objective = "latency";
		p.seed = t->cfg.seed;
		p.value = t->r.best_s;
		BERTH_TRY(berth_placement_write(&p, t->m.g, t->m.s, t->placement, true, &c->tmp, err));
	}
	if (t->r.n_measured) {
		char digest[DIGEST + 1];
		BERTH_TRY(digest_of(c, t->m.g, t->m.s, digest, err));
		const safetensors_tensor end = {end_mark, SAFETENSORS_U8, 1, {DIGEST}, digest};
		const safetensors_file more = {.n_tensors = 1, .tensor = &end};
		BERTH_TRY(berth_policy_file_write(path, &f, &more, &c->tmp, err));
	}
	unlink(t->journal_path);
	return BERTH_OK;
}

/* ---- output ---- */

#define RIVAL(K, IF) \
	K(TEXT, "name", "", "", v->name) \
	K(NUMBER_OR_NULL, "latency_s", "s", "", v->seconds) \
	K(NUMBER_OR_NULL, "ratio", "", "the placement's time over it, median of turns", v->ratio.median) \
	K(NUMBER_OR_NULL, "low", "", "interval", v->ratio.low) \
	K(NUMBER_OR_NULL, "high", "", "", v->ratio.high) \
	K(BOOL, "beaten", "", "the interval lies below 1", v->beaten)
static RESULT_KIND(rival_kind, "", "", RIVAL);

#define MEASURED(K, IF) \
	K(TEXT, "engine", "", "name, version and options", t->engine) \
	K(BOOL, "accepted", "", "faster than each below, by its interval", r->accepted) \
	K(NUMBER_OR_NULL, "latency_s", "s", "of the fastest measured placement", r->best_s) \
	K(INT, "runs", "", "asked for, failed ones and warm-up too", r->runs) \
	K(INT, "placements", "", "measured", r->n_measured) \
	K(INT, "failed", "", "", r->n_failed) \
	K(TEXT_OR_NULL, "failure", "", "the last", r->failure) \
	K(INT, "rounds", "", "of measuring and fitting", r->rounds) \
	K(NUMBER_OR_NULL, "error_before", "", \
	  "mean relative error of the simulator over the first half of them", r->first_error) \
	K(NUMBER_OR_NULL, "error_after", "", "over the second", r->simulated_error) \
	K(INT, "turns", "", "of the final comparison", r->pairs) \
	K(INT, "replayed", "", "questions answered by the journal", t->replayed) \
	K(LIST(rival_kind), "against", "", "best single device, unsplit model on one thread and on all", \
	  rivals)
RESULT_KIND(train_measured_kind, "Measured part", "", MEASURED);

#define ENDED(K, IF) \
	K(TEXT, "policy", "", "", policy) \
	K(BOOL, "ended", "", "true", true)
RESULT_KIND(train_ended_document, "Ended training",
            "`train --env measured --resume` where the run has ended before:", ENDED);

const berth_result *train_measured_result(cli *c, const train_measured *t)
{
	const berth_mtrain_result *r = &t->r;
	berth_result_list *rivals = berth_result_list_new(&c->mem, &rival_kind);
	for (const berth_rival *v = r->rival; v < r->rival + BERTH_N_RIVALS && v->name; v++)
		RESULT_ADD(rivals, RIVAL);
	return RESULT_NEW(&c->mem, train_measured_kind, MEASURED);
}

void train_measured_print(const train_measured *t)
{
	const berth_mtrain_result *r = &t->r;
	char a[32], b[32];
	cli_say("\nmeasured by %s: %d placements in %lld runs, %d failed\n", t->engine, (int)r->n_measured,
	        (long long)r->runs, (int)r->n_failed);
	if (r->failure)
		cli_say("last failure: %s\n", r->failure);
	if (!isnan(r->first_error))
		cli_say("the simulator was off by %s over the first half", cli_percent(a, r->first_error));
	if (!isnan(r->first_error))
		cli_say(", by %s over the second\n", cli_percent(b, r->simulated_error));
	for (int i = 0; i < BERTH_N_RIVALS && r->rival[i].name; i++)
		cli_say("%s against %s (%s): %.3f of its time, interval %.3f to %.3f: %s\n",
		        berth_text_seconds(a, r->best_s), r->rival[i].name,
		        berth_text_seconds(b, r->rival[i].seconds), r->rival[i].ratio.median,
		        r->rival[i].ratio.low, r->rival[i].ratio.high,
		        r->rival[i].beaten ? "better" : "not better");
	if (!t->ended)
		return;
	if (!r->n_measured && !r->n_failed) {
		long long least = (long long)berth_mtrain_least_runs();
		cli_say(t->cfg.runs < least
		                ? "nothing was measured: it takes --runs %lld or more\n"
		                : "nothing was measured: the time was over before; it takes %lld runs\n",
		        least);
		return;
	}
	cli_say(r->accepted ? "accepted%s%s\n" : "not accepted: keep the engine's default%s%s\n",
	        r->accepted && t->placement ? ", written to " : "",
	        r->accepted && t->placement ? t->placement : "");
}

berth_status train_measured_say_ended(cli *c, const char *policy, berth_err *err)
{
	BERTH_TRY(cli_result(c, RESULT_NEW(&c->mem, train_ended_document, ENDED), err));
	if (cli_in_words(c))
		cli_say("%s: its training with measured runs has ended, there is nothing to go on with; "
		        "without --resume it begins anew\n",
		        policy);
	return BERTH_OK;
}
