/* Keeps a copy of the best placement beside the search, under a lock. A thread of its own writes it where
 * an interruption finds the search unable to end in time. */
#include "place_rescue.h"

#include "plan_words.h"
#include "print.h"
#include "signals.h"

enum { NS_PER_OP = 100 }; /* of writing the file, half as much again as on a quiet machine */

static void kept(void *ctx, const berth_search *s)
{
	place_rescue *x = ctx;
	size_t bytes = (size_t)s->p->n_ops * sizeof *x->op_dev;
	if (x->for_engine)
		return;
	pthread_mutex_lock(&x->lock);
	x->score = s->best;
	x->bound = s->bound;
	x->evaluations = s->evaluations;
	x->has_order = s->best_has_order;
	if (bytes)
		memcpy(x->op_dev, s->best_dev, bytes);
	if (bytes && s->best_has_order)
		memcpy(x->order, s->best_order, bytes);
	pthread_mutex_unlock(&x->lock);
}

/* ---- on the rescue's thread ---- */

static berth_status write_best(cli *own, const place_rescue *x, bool *fits, berth_err *err)
{
	berth_problem p = {.g = x->g, .s = x->s};
	berth_solution r = (berth_solution){.p = &p,
	                                    .method = x->method,
	                                    .objective = x->objective,
	                                    .seed = x->as.seed,
	                                    .evaluations = x->evaluations,
	                                    .value = x->score.value,
	                                    .lower_bound = x->bound,
	                                    .answered = true,
	                                    .feasible = true,
	                                    .op_dev = x->op_dev,
	                                    .op_order = x->has_order ? x->order : NULL};
	berth_placement placement = x->as;
	if (x->decoder) {
		/* The answer as one of prefill, which it must fit. *fits: it does. */
		berth_decoder decoder = *x->decoder;
		BERTH_TRY(berth_decoder_judge(&decoder, &r, &own->mem, err));
		*fits = decoder.v.feasible;
		berth_decoder_solution(&decoder, &p, &r);
	}
	if (!*fits)
		return BERTH_OK;
	BERTH_TRY(berth_solution_tell(&r, &own->mem, &placement, err));
	if (x->decoder)
		placement.objective = berth_decoder_objective(&r.objective);
	return berth_placement_write(&placement, x->g, x->s, x->path, false, &own->tmp, err);
}

/* The lock is never given back: the program ends. */
static void rescue(void *ctx, char *text, size_t size)
{
	place_rescue *x = ctx;
	berth_err err = {.code = BERTH_OK};
	cli own = {0};
	char value[32];
	pthread_mutex_lock(&x->lock);
	bool fits = berth_score_feasible(x->score);
	if (x->written)
		snprintf(text, size, "interrupted; the best placement so far is the answer");
	else if (fits && x->path && write_best(&own, x, &fits, &err) != BERTH_OK)
		snprintf(text, size, "interrupted; %.300s", err.msg);
	else if (!fits)
		snprintf(text, size, "interrupted before there was a placement");
	else if (x->path)
		snprintf(text, size, "interrupted; the best placement so far is written to %.200s", x->path);
	else
		snprintf(text, size, "interrupted; the best placement so far is %s; it was not to be written",
		         cli_value(value, &x->objective, x->score.value));
}

/* ---- on the verb's ---- */

static berth_status open_rescue(cli *c, const berth_problem *p, place_rescue *x, berth_err *err)
{
	pthread_mutex_init(&x->lock, NULL);
	x->written = false;
	if (!x->op_dev) { /* else the best of a search before stays until there is one */
		x->score = berth_score_worst();
		BERTH_TRY_NEW(&c->mem, p->n_ops, err, x->op_dev, x->order);
	}
	if (!x->path || x->as.graph_sha256)
		return BERTH_OK;
	BERTH_TRY(berth_placement_new(x->g, x->s, &c->mem, &c->tmp, &x->as, err));
	if (x->decoder)
		x->as.use = x->use ? x->use : "answer:1";
	return c->n_args == 1 ? cli_plan_words_tell(c, c->args[0], x->decoder != NULL, &x->as, err)
	                      : cli_plan_words_tell_all(c, &x->as, err);
}

/* The start of the search, where it breaks no rule, as what is written. */
static berth_status keep_start(cli *c, const berth_problem *p, const berth_search_cfg *cfg, place_rescue *x,
                               berth_err *err)
{
	berth_timeline t;
	berth_verdict v = {.feasible = false};
	if (x->for_engine && cfg->start_dev)
		BERTH_TRY(berth_judge(p, cfg->start_dev, NULL, &cfg->objective, &c->mem, &t, &v, err));
	x->for_engine = v.feasible;
	if (!v.feasible)
		return BERTH_OK;
	BERTH_COPY(x->op_dev, cfg->start_dev, p->n_ops);
	x->score = (berth_score){0, v.value};
	x->bound = NAN;
	x->has_order = false;
	return BERTH_OK;
}

berth_status place_rescue_open(cli *c, const berth_problem *p, berth_search_cfg *cfg, place_rescue *x,
                               berth_err *err)
{
	cli_rescue_by(NULL, NULL, 0); /* that of a search before */
	BERTH_TRY(open_rescue(c, p, x, err));
	BERTH_TRY(keep_start(c, p, cfg, x, err));
	x->objective = cfg->objective;
	x->as.seed = cfg->seed;
	cfg->kept = kept;
	cfg->kept_ctx = x;
	cli_rescue_by(rescue, x, x->path ? (long)NS_PER_OP * p->n_ops : 0);
	return BERTH_OK;
}

void place_rescue_done(place_rescue *x)
{
	pthread_mutex_lock(&x->lock);
	x->written = true;
	pthread_mutex_unlock(&x->lock);
}
