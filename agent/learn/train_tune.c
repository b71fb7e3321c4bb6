/* Fine-tuning: training that begins at a policy, looks at what it comes to at even places of the budget, and
 * keeps the best. */
#include "proposals.h"
#include "trainer.h"

enum { LOOKS = 32, PATIENCE = 12 };

/* What does not fit counts as a hundred times the value before. */
#define WORST 100.0

/* A pair that is kept aside has to be as good as before, but for rounding. */
#define ROUNDING 1e-9

/* ---- one look ---- */

/* One pass over one pair. */
typedef struct pass {
	const berth_train_item *item;
	berth_search_cfg cfg;
	berth_arena mem, tmp;
	double value;
	int64_t evaluations;
} pass;

static berth_status pass_over(pass *x, berth_err *err)
{
	berth_search s;
	BERTH_TRY(berth_search_new(x->item->p, &x->cfg, &x->mem, &s, err));
	BERTH_TRY(berth_method_run(&berth_method_policy, &s, &x->tmp, err));
	x->value = berth_score_feasible(s.best) ? s.best.value : NAN;
	x->evaluations = s.evaluations;
	return BERTH_OK;
}

static berth_status run_pass(void *ctx, int32_t i, berth_err *err)
{
	pass *x = (pass *)ctx + i;
	berth_status st = pass_over(x, err);
	berth_arena_free(&x->mem);
	berth_arena_free(&x->tmp);
	return st;
}

static const berth_train_item *item_of(const trainer *w, int32_t i)
{
	return i < w->cfg->n_kept ? &w->cfg->kept[i] : &w->items[i - w->cfg->n_kept];
}

/* Values [n] of one pass with the parameters, several pairs at once. */
static berth_status look_at(trainer *w, const nn_real *params, double *value, berth_err *err)
{
	BERTH_SCRATCH(w->tmp);
	berth_policy_file f = *w->cfg->from;
	pass *x;
	if (params != w->cfg->from->params) {
		f.base = w->cfg->from->params;
		f.params = params;
	}
	BERTH_TRY_NEW(w->tmp, w->tune.n, err, x);
	for (int32_t i = 0; i < w->tune.n; i++)
		x[i] = (pass){.item = item_of(w, i),
		              .cfg = {.objective = w->cfg->objective, .seed = w->cfg->seed, .policy = &f}};
	BERTH_TRY(trainer_each(w, w->tune.n, run_pass, x, err));
	for (int32_t i = 0; i < w->tune.n; i++) {
		value[i] = x[i].value;
		w->tune.evaluations += x[i].evaluations;
	}
	return BERTH_OK;
}

/* ---- which one is taken ---- */

static double loss(double now, double first)
{
	double ratio = now / first;
	if (isnan(first))
		return isnan(now) ? 0 : -log(WORST);
	return log(isnan(ratio) ? WORST : ratio);
}

/* Mean of log(first / now). -INFINITY: a pair that is kept aside is worse than at first. */
static double gain_of(const trainer *w, const double *now)
{
	const train_tune *t = &w->tune;
	double sum = 0;
	for (int32_t i = 0; i < t->n; i++) {
		double lost = loss(now[i], t->first[i]);
		if (i < w->cfg->n_kept && lost > ROUNDING)
			return -INFINITY;
		sum -= lost;
	}
	return sum / t->n;
}

static void take(trainer *w, const nn_real *params, double gain)
{
	train_tune *t = &w->tune;
	BERTH_COPY(t->best, params, w->l.adam.n);
	BERTH_COPY(t->taken, t->now, t->n);
	t->gain = gain;
	t->chosen = t->looks;
}

berth_status trainer_tune_open(trainer *w, berth_err *err)
{
	train_tune *t = &w->tune;
	t->n = w->cfg->n_kept + w->n_items;
	berth_policy_file_digest(w->cfg->from, t->from);
	BERTH_TRY_NEW(w->mem, t->n, err, t->first, t->taken, t->now);
	BERTH_TRY_NEW(w->mem, w->cfg->n_kept * TRAIN_DIGEST, err, t->kept);
	for (int32_t i = 0; i < w->cfg->n_kept; i++)
		BERTH_TRY(
			trainer_digest(w->cfg->kept[i].p, w->tmp, BERTH_ROW(t->kept, i, TRAIN_DIGEST), err));
	return BERTH_OK;
}

berth_status trainer_tune_begin(trainer *w, berth_err *err)
{
	train_tune *t = &w->tune;
	BERTH_TRY_NEW(w->mem, w->l.adam.n, err, t->best);
	BERTH_TRY(look_at(w, w->cfg->from->params, t->first, err));
	BERTH_COPY(t->now, t->first, t->n);
	take(w, w->cfg->from->params, 0);
	return BERTH_OK;
}

berth_status trainer_tune_resume(trainer *w, berth_err *err)
{
	train_tune *t = &w->tune;
	int64_t evaluations = t->evaluations;
	BERTH_TRY(look_at(w, t->best, t->taken, err));
	t->evaluations = evaluations;
	t->gain = gain_of(w, t->taken);
	return t->gain >= 0 ? BERTH_OK
	                    : berth_fail(err, BERTH_EFORMAT,
	                                 "%s: cannot resume: its policy is worse than the one that it began "
	                                 "with",
	                                 w->cfg->path);
}

/* The budget's share of the looks so far and one more. Training that went on with a larger budget can have
 * had more than LOOKS: then only its end is left. */
static int64_t next_place(const train_tune *t, int64_t budget)
{
	int64_t k = t->looks < LOOKS ? t->looks + 1 : LOOKS;
	return k * (budget / LOOKS) + k * (budget % LOOKS) / LOOKS;
}

berth_status trainer_tune_look(trainer *w, int64_t learned, int64_t budget, berth_err *err)
{
	train_tune *t = &w->tune;
	if (learned < budget && learned < next_place(t, budget))
		return BERTH_OK;
	BERTH_TRY(look_at(w, w->l.params, t->now, err));
	t->looks++;
	double gain = gain_of(w, t->now);
	if (gain > t->gain)
		take(w, w->l.params, gain);
	return BERTH_OK;
}

bool trainer_tune_over(const trainer *w)
{
	return trainer_tunes(w) && w->tune.looks - w->tune.chosen >= PATIENCE;
}

/* ---- the report ---- */

/* For an operator and a device, of a policy 64 units wide. Measured on models of 80 to 1,000 operators and
 * machines of 3 to 8 devices. */
#define EVALUATION_S 6.5e-7

double berth_train_cost_s(const berth_problem *p)
{
	return EVALUATION_S * ((double)p->n_ops * p->n_devs + 1);
}

/* Looks count for each of their pairs alike. */
static double cpu_seconds(const trainer *w)
{
	const train_tune *t = &w->tune;
	double s = 0;
	for (int32_t i = 0; i < t->n; i++)
		s += (double)t->evaluations / t->n * berth_train_cost_s(item_of(w, i)->p);
	for (int32_t i = 0; i < w->n_items; i++)
		s += (double)w->search[i].evaluations * berth_train_cost_s(w->items[i].p);
	return s;
}

berth_status trainer_tune_card(const trainer *w, berth_arena *mem, berth_policy_card *out, berth_err *err)
{
	const train_tune *t = &w->tune;
	berth_policy_card card = berth_policy_card_blank();
	berth_card_pair *kept;
	BERTH_TRY_NEW(mem, w->cfg->n_kept, err, kept);
	for (int32_t i = 0; i < w->cfg->n_kept; i++)
		kept[i] = (berth_card_pair){item_of(w, i)->graph, item_of(w, i)->system, t->first[i],
		                            t->taken[i]};
	card.from = t->from;
	card.pairs = w->n_items;
	card.evaluations = trainer_made(w) + t->evaluations;
	card.cpu_s = cpu_seconds(w);
	card.looks = t->looks;
	card.taken = t->chosen;
	card.kept = kept;
	card.n_kept = w->cfg->n_kept;
	*out = card;
	return BERTH_OK;
}

berth_status trainer_tune_report(const trainer *w, berth_train_tuned *out, berth_err *err)
{
	const train_tune *t = &w->tune;
	*out = (berth_train_tuned){.looks = t->looks,
	                           .taken = t->chosen,
	                           .evaluations = t->evaluations,
	                           .cpu_s = cpu_seconds(w),
	                           .over = trainer_tune_over(w) &&
	                                   trainer_made(w) - w->search_spent < w->cfg->evaluations,
	                           .n_pairs = t->n};
	BERTH_TRY_NEW(w->mem, t->n, err, out->pair);
	for (int32_t i = 0; i < t->n; i++) {
		const berth_train_item *item = item_of(w, i);
		out->pair[i] = (berth_train_look){item->graph, item->system, i < w->cfg->n_kept, t->first[i],
		                                  t->taken[i]};
	}
	return BERTH_OK;
}
