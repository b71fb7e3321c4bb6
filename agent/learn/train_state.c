/* Checkpoints of training: the policy, and the state between two rounds, which is plain arrays. */
#include "trainer.h"

#include "file.h"

enum { SHARED = 5, SHARED_TUNED = 7 };
/* Arrays of an item. */
enum { A_ACTION, A_REWARD, A_PLACEMENT, A_ORDER, N_ARRAYS };

/* Checkpoints that take longer than this (seconds) take a tenth of the time at most. */
#define LONG_S 0.1
enum { SAVE_SHARE = 9 };

/* Whole numbers of an item that are saved; doubles as their bits. */
enum {
	N_EPISODES,
	N_MEAN,
	N_VAR,
	N_WINDOW,
	N_EVALUATIONS,
	N_EXCESS,
	N_VALUE,
	N_HAS_ORDER,
	N_FLAT,
	N_COUNTS
};
/* and of the whole. */
enum { T_STEPS, T_ADAM, T_SEARCHED, T_SEARCH_START, T_SEARCH_SPENT, T_TURN, T_BUDGET, T_COUNTS };
/* and of fine-tuning. */
enum { L_LOOKS, L_TAKEN, L_EVALUATIONS, L_COUNTS };

static int64_t bits(double x)
{
	int64_t b;
	memcpy(&b, &x, sizeof b);
	return b;
}

static double from_bits(int64_t b)
{
	double x;
	memcpy(&x, &b, sizeof x);
	return x;
}

/* The arrays of the state with their names and shapes. For reading they are to be filled; for writing those
 * of items are made when they are asked for, so that the state is never in memory as a whole. */
typedef struct state {
	safetensors_tensor *t;
	int32_t n;
	int64_t *counts, *total;        /* [n_items][N_COUNTS], [T_COUNTS] */
	int64_t *looks;                 /* [L_COUNTS] */
	uint8_t *digest;
	/* for reading [n_items] */
	int64_t **reward, **order;
	uint8_t **action, **dev;
	/* for writing: the trainer, and room for the largest of its items */
	const trainer *w;
	int64_t *wide;
	uint8_t *narrow;
	int32_t *op_dev, *op_order;
	berth_arena *tmp;
} state;

static void name_tensor(state *s, const char *name, safetensors_dtype type, int64_t rows, int64_t columns,
                        const void *data)
{
	s->t[s->n++] = (safetensors_tensor){name, type, 2, {rows, columns}, data};
}

/* In the order of the arrays, their data NULL where they are written. */
static berth_status name_item(state *s, const trainer *w, int32_t i, berth_err *err)
{
	int64_t ops = w->pair[i].n_ops, window = berth_learner_window(&w->cfg->learner),
		groups = w->l.pair[i].e.n_groups;
	char *name[N_ARRAYS];
	static const char *const part[] = {"action", "reward", "placement", "order"};
	for (int k = 0; k < N_ARRAYS; k++)
		BERTH_TRY(berth_got(name[k] = berth_arena_printf(s->tmp, "state.%d.%s", i, part[k]), err));
	if (!s->w) {
		BERTH_TRY_NEW(s->tmp, window * groups, err, s->action[i]);
		BERTH_TRY_NEW(s->tmp, window, err, s->reward[i]);
		BERTH_TRY_NEW(s->tmp, ops, err, s->dev[i], s->order[i]);
	}
	name_tensor(s, name[A_ACTION], SAFETENSORS_U8, window, groups, s->w ? NULL : s->action[i]);
	name_tensor(s, name[A_REWARD], SAFETENSORS_I64, 1, window, s->w ? NULL : s->reward[i]);
	name_tensor(s, name[A_PLACEMENT], SAFETENSORS_U8, 1, ops, s->w ? NULL : s->dev[i]);
	name_tensor(s, name[A_ORDER], SAFETENSORS_I64, 1, ops, s->w ? NULL : s->order[i]);
	return BERTH_OK;
}

/* Room for the arrays of any one item. */
static berth_status make_room(state *s, berth_err *err)
{
	const trainer *w = s->w;
	size_t ops = 0, window = (size_t)berth_learner_window(&w->cfg->learner), actions = 0;
	for (int32_t i = 0; i < w->n_items; i++) {
		size_t n = (size_t)w->pair[i].n_ops, own = window * (size_t)w->l.pair[i].e.n_groups;
		ops = n > ops ? n : ops;
		actions = own > actions ? own : actions;
	}
	BERTH_TRY_NEW(s->tmp, ops > window ? ops : window, err, s->wide);
	BERTH_TRY_NEW(s->tmp, ops > actions ? ops : actions, err, s->narrow);
	BERTH_TRY_NEW(s->tmp, ops, err, s->op_dev);
	return BERTH_NEW(s->tmp, s->op_order, ops, err);
}

/* writes: the trainer whose state is written; NULL: it is read. */
static berth_status lay_out(const trainer *w, const trainer *writes, berth_arena *tmp, state *s,
                            berth_err *err)
{
	size_t n = (size_t)w->n_items;
	int64_t params = (int64_t)w->l.adam.n;
	*s = (state){.w = writes, .tmp = tmp};
	BERTH_TRY_NEW(tmp, SHARED_TUNED + N_ARRAYS * n, err, s->t);
	BERTH_TRY_NEW(tmp, n * N_COUNTS, err, s->counts);
	BERTH_TRY_NEW(tmp, T_COUNTS, err, s->total);
	BERTH_TRY_NEW(tmp, L_COUNTS, err, s->looks);
	if (writes) {
		BERTH_TRY(make_room(s, err));
	} else {
		BERTH_TRY_NEW(tmp, n, err, s->reward, s->order, s->action, s->dev);
	}
	size_t digests = n + (size_t)w->cfg->n_kept;
	BERTH_TRY_NEW(tmp, digests * TRAIN_DIGEST, err, s->digest);
	if (w->cfg->n_kept)
		memcpy(s->digest + n * TRAIN_DIGEST, w->tune.kept, (digests - n) * TRAIN_DIGEST);
	name_tensor(s, "state.counts", SAFETENSORS_I64, (int64_t)n, N_COUNTS, s->counts);
	name_tensor(s, "state.total", SAFETENSORS_I64, 1, T_COUNTS, s->total);
	name_tensor(s, "state.items", SAFETENSORS_U8, (int64_t)digests, TRAIN_DIGEST, s->digest);
	name_tensor(s, "state.adam_m", SAFETENSORS_F32, 1, params, w->l.adam.m);
	name_tensor(s, "state.adam_v", SAFETENSORS_F32, 1, params, w->l.adam.v);
	if (trainer_tunes(w)) {
		name_tensor(s, "state.tuned", SAFETENSORS_F32, 1, params, w->l.params);
		name_tensor(s, "state.looks", SAFETENSORS_I64, 1, L_COUNTS, s->looks);
	}
	for (int32_t i = 0; i < w->n_items; i++)
		BERTH_TRY(name_item(s, w, i, err));
	return BERTH_OK;
}

/* What is kept of all items at once. */
static void take_item(const trainer *w, int32_t i, state *s)
{
	const berth_pair *pair = &w->l.pair[i];
	const berth_search *h = &w->search[i];
	int64_t *c = BERTH_ROW(s->counts, i, N_COUNTS);
	c[N_EPISODES] = pair->episodes;
	c[N_MEAN] = bits(pair->baseline.mean);
	c[N_VAR] = bits(pair->baseline.var);
	c[N_WINDOW] = pair->n_window;
	c[N_EVALUATIONS] = h->evaluations;
	c[N_EXCESS] = bits(h->best.excess);
	c[N_VALUE] = bits(h->best.value);
	c[N_HAS_ORDER] = h->best_has_order;
	c[N_FLAT] = w->turns.flat[i];
	memcpy(BERTH_ROW(s->digest, i, TRAIN_DIGEST), w->pair[i].digest, TRAIN_DIGEST);
}

/* The window of an item; zeros behind what there is. */
static const void *tell_window(state *s, const berth_pair *pair, bool actions)
{
	size_t window = (size_t)berth_learner_window(&s->w->cfg->learner), groups = (size_t)pair->e.n_groups,
	       n = (size_t)pair->n_window * (actions ? groups : 1);
	if (!actions) {
		for (size_t k = 0; k < window; k++)
			s->wide[k] = k < n ? bits(pair->window_reward[k]) : 0;
		return s->wide;
	}
	for (size_t k = 0; k < window * groups; k++)
		s->narrow[k] = k < n ? (uint8_t)pair->window_action[k] : 0;
	return s->narrow;
}

/* Array k of the state, of an item. */
static const void *tell_item(void *ctx, int32_t k)
{
	state *s = ctx;
	int32_t from = trainer_tunes(s->w) ? SHARED_TUNED : SHARED;
	int32_t i = (k - from) / N_ARRAYS, array = (k - from) % N_ARRAYS;
	if (array == A_ACTION || array == A_REWARD)
		return tell_window(s, &s->w->l.pair[i], array == A_ACTION);
	trainer_incumbent(s->w, i, s->op_dev, s->op_order);
	for (int32_t op = 0; op < s->w->pair[i].n_ops; op++)
		if (array == A_PLACEMENT)
			s->narrow[op] = (uint8_t)s->op_dev[op];
		else
			s->wide[op] = s->op_order[op];
	return array == A_PLACEMENT ? (const void *)s->narrow : s->wide;
}

berth_status trainer_save(trainer *w, berth_err *err)
{
	if (!trainer_writes(w))
		return BERTH_OK;
	BERTH_SCRATCH(w->tmp);
	double started = berth_wall_seconds();
	state s;
	berth_policy_file f = {.dims = w->l.dims,
	                       .cfg = w->cfg->learner,
	                       .objective = w->cfg->objective,
	                       .each_objective = w->cfg->each_objective,
	                       .seed = w->cfg->seed,
	                       .steps = w->l.steps,
	                       .evaluations = trainer_made(w),
	                       .trained_on = w->trained_on,
	                       .at_once = w->cfg->learner.at_once,
	                       .teach = w->cfg->teach,
	                       .params = w->tune.best ? w->tune.best : w->l.params};
	berth_policy_card card = berth_policy_card_blank();
	if (trainer_tunes(w)) { /* before the first look nothing but what it begins with is known */
		card.from = w->tune.from;
		f.card = &card;
		f.base = w->tune.chosen ? w->cfg->from->params : w->cfg->from->base;
	}
	if (w->tune.best)
		BERTH_TRY(trainer_tune_card(w, w->tmp, &card, err));
	BERTH_TRY(lay_out(w, w, w->tmp, &s, err));
	s.total[T_STEPS] = w->l.steps;
	s.total[T_ADAM] = w->l.adam.step;
	s.total[T_SEARCHED] = w->searched;
	s.total[T_SEARCH_START] = w->search_start;
	s.total[T_SEARCH_SPENT] = w->search_spent;
	s.total[T_TURN] = w->turns.next;
	s.total[T_BUDGET] = w->cfg->evaluations;
	s.looks[L_LOOKS] = w->tune.looks;
	s.looks[L_TAKEN] = w->tune.chosen;
	s.looks[L_EVALUATIONS] = w->tune.evaluations;
	for (int32_t i = 0; i < w->n_items; i++)
		take_item(w, i, &s);
	const safetensors_file more = {.n_tensors = s.n, .tensor = s.t, .get = tell_item, .ctx = &s};
	berth_status st = w->cfg->saving ? w->cfg->saving(w->cfg->update_ctx, err) : BERTH_OK;
	if (st == BERTH_OK)
		st = berth_file_keep(w->cfg->path, w->older, err);
	if (st == BERTH_OK)
		st = berth_policy_file_write(w->cfg->path, &f, &more, w->tmp, err);
	w->saved = berth_wall_seconds();
	w->save_took = w->saved - started;
	return st;
}

/* The tensor of that name, looked for from *from on and around: in a file they stand in the order of the
 * state, within one type. */
static const safetensors_tensor *find_from(const safetensors_file *raw, const char *name, int32_t *from)
{
	for (int32_t k = 0; k < raw->n_tensors; k++) {
		int32_t at = (*from + k) % raw->n_tensors;
		if (strcmp(raw->tensor[at].name, name) == 0) {
			*from = at + 1;
			return &raw->tensor[at];
		}
	}
	return NULL;
}

/* Copy the data of every tensor of the state out of the file, after its shape was checked. */
static berth_status fill(const char *path, const safetensors_file *raw, state *s, berth_err *err)
{
	static const size_t size[] = {[SAFETENSORS_F32] = 4, [SAFETENSORS_I64] = 8, [SAFETENSORS_U8] = 1};
	int32_t from[] = {[SAFETENSORS_F32] = 0, [SAFETENSORS_I64] = 0, [SAFETENSORS_U8] = 0};
	for (int32_t i = 0; i < s->n; i++) {
		const safetensors_tensor *want = &s->t[i],
		                         *have = find_from(raw, want->name, &from[want->dtype]);
		if (!have)
			return berth_fail(err, BERTH_EFORMAT,
			                  "%s: cannot resume: it holds a policy, but no training state ('%s' "
			                  "is missing)",
			                  path, want->name);
		if (have->dtype != want->dtype || have->n_dims != 2 || have->shape[0] != want->shape[0] ||
		    have->shape[1] != want->shape[1])
			return berth_fail(err, BERTH_EFORMAT,
			                  "%s: cannot resume: '%s' is of another training (other graphs, "
			                  "systems or settings)",
			                  path, want->name);
		if (safetensors_count(want))
			memcpy((void *)(uintptr_t)want->data, have->data,
			       safetensors_count(want) * size[want->dtype]);
	}
	return BERTH_OK;
}

/* Can it be a number of something that was counted? */
static bool is_count(int64_t x)
{
	return x >= 0 && x <= INT64_C(1) << 53;
}

static bool window_holds(const berth_pair *pair, int32_t devs, const uint8_t *action, const int64_t *reward,
                         int64_t n)
{
	size_t groups = (size_t)pair->e.n_groups;
	for (size_t k = 0; k < (size_t)n * groups; k++)
		if (action[k] >= devs || !pair->e.in.mask[k % groups * (size_t)devs + action[k]])
			return false;
	for (int64_t k = 0; k < n; k++)
		if (!isfinite(from_bits(reward[k])))
			return false;
	return true;
}

/* Take the incumbent where it keeps the rules and costs what it is said to. */
static berth_status put_incumbent(berth_search *h, const int64_t *c, const uint8_t *dev, const int64_t *order,
                                  berth_arena *tmp, bool *holds, berth_err *err)
{
	const berth_problem *p = h->p;
	berth_score said = {from_bits(c[N_EXCESS]), from_bits(c[N_VALUE])};
	BERTH_SCRATCH(tmp);
	int32_t *op_dev, *op_order;
	BERTH_TRY_NEW(tmp, p->n_ops, err, op_dev, op_order);
	*holds = true;
	for (int32_t op = 0; *holds && op < p->n_ops; op++) {
		op_dev[op] = dev[op];
		*holds = dev[op] < p->n_devs && berth_op_legal(p, op, dev[op]) && order[op] >= 0 &&
		         order[op] < p->n_ops && dev[p->coloc_op[p->coloc_off[p->op_coloc[op]]]] == dev[op];
		op_order[op] = *holds ? (int32_t)order[op] : 0;
	}
	bool ordered = c[N_HAS_ORDER] == 1;
	*holds = *holds && (!ordered || berth_order_is_topological(p->g, op_order, tmp));
	if (*holds) {
		berth_score now = berth_eval_run(&h->eval[0], op_dev, ordered ? op_order : NULL);
		*holds = now.excess == said.excess && fabs(now.value - said.value) <= 1e-9 * fabs(now.value);
		h->best = now;
		h->best_has_order = ordered;
		for (int32_t op = 0; op < p->n_ops; op++) {
			h->best_dev[op] = op_dev[op];
			h->best_order[op] = op_order[op];
		}
	}
	return BERTH_OK;
}

/* The incumbent of a pair that is streamed. The rank that runs its portfolio opens it, and looks whether it
 * holds. */
static berth_status put_streamed(trainer *w, int32_t i, const state *s, bool *holds, berth_err *err)
{
	const int64_t *c = BERTH_ROW(s->counts, i, N_COUNTS);
	berth_search *h = &w->search[i];
	bool mine = w->pair[i].rank == w->ranks->me;
	BERTH_TRY(mine ? trainer_open(w, i, err) : trainer_open_slot(w, i, err));
	if (mine) {
		BERTH_TRY(put_incumbent(h, c, s->dev[i], s->order[i], w->tmp, holds, err));
		return trainer_close(w, i, err);
	}
	h->best = (berth_score){from_bits(c[N_EXCESS]), from_bits(c[N_VALUE])};
	h->best_has_order = c[N_HAS_ORDER] == 1;
	for (int32_t op = 0; op < w->pair[i].n_ops; op++) {
		h->best_dev[op] = s->dev[i][op];
		h->best_order[op] = (int32_t)s->order[i][op];
	}
	return trainer_close(w, i, err);
}

static berth_status put_item(trainer *w, const char *path, int32_t i, const state *s, berth_err *err)
{
	berth_pair *pair = &w->l.pair[i];
	berth_search *h = &w->search[i];
	const int64_t *c = BERTH_ROW(s->counts, i, N_COUNTS);
	double mean = from_bits(c[N_MEAN]), var = from_bits(c[N_VAR]);
	bool ok = is_count(c[N_WINDOW]) && c[N_WINDOW] <= berth_learner_window(&w->cfg->learner) &&
	          is_count(c[N_EPISODES]) && is_count(c[N_EVALUATIONS]) && is_count(c[N_FLAT]) &&
	          (c[N_HAS_ORDER] == 0 || c[N_HAS_ORDER] == 1) && isfinite(mean) && var >= 0 && isfinite(var);
	if (trainer_streams(w) && ok)
		BERTH_TRY(put_streamed(w, i, s, &ok, err));
	else if (ok && (ok = window_holds(pair, h->p->n_devs, s->action[i], s->reward[i], c[N_WINDOW])))
		BERTH_TRY(put_incumbent(h, c, s->dev[i], s->order[i], w->tmp, &ok, err));
	if (!ok)
		return berth_fail(err, BERTH_EFORMAT,
		                  "%s: cannot resume: the state of '%s' contradicts itself", path,
		                  w->pair[i].item.graph);
	pair->episodes = c[N_EPISODES];
	pair->baseline.mean = from_bits(c[N_MEAN]);
	pair->baseline.var = from_bits(c[N_VAR]);
	pair->n_window = (int32_t)c[N_WINDOW];
	h->evaluations = c[N_EVALUATIONS];
	w->turns.flat[i] = c[N_FLAT];
	for (int32_t k = 0; k < pair->n_window; k++)
		pair->window_reward[k] = from_bits(s->reward[i][k]);
	for (size_t k = 0; k < (size_t)pair->n_window * (size_t)pair->e.n_groups; k++)
		pair->window_action[k] = s->action[i][k];
	return BERTH_OK;
}

static berth_status same_training(const trainer *w, const berth_policy_file *f, berth_err *err)
{
	const char *path = w->cfg->path;
	if (strcmp(f->trained_on, w->trained_on) != 0)
		return berth_fail(err, BERTH_EFORMAT,
		                  "%s: cannot resume: it was trained on %.120s, not on %.120s", path,
		                  f->trained_on, w->trained_on);
	if (f->seed != w->cfg->seed || !berth_objective_equal(&f->objective, &w->cfg->objective) ||
	    f->each_objective != w->cfg->each_objective)
		return berth_fail(err, BERTH_EFORMAT,
		                  "%s: cannot resume: it was trained with seed %llu for %s", path,
		                  (unsigned long long)f->seed, berth_policy_file_objective(f));
	if (policy_param_count(&f->known) != policy_param_count(&f->dims))
		return berth_fail(err, BERTH_EFORMAT,
		                  "%s: cannot resume: an earlier berth began it, with fewer features: train "
		                  "anew with another -o; --fine-tune --policy begins with its weights",
		                  path);
	if (!berth_learner_cfg_equal(&f->cfg, &w->cfg->learner))
		return berth_fail(
			err, BERTH_EFORMAT,
			"%s: cannot resume: it was trained with other settings; 'berth show' lists them",
			path);
	const char *from = f->card ? f->card->from : NULL;
	if (trainer_tunes(w) && !from)
		return berth_fail(err, BERTH_EFORMAT,
		                  "%s: cannot resume: it was not begun with --fine-tune: leave that out to "
		                  "go on with it; to tune it give it by --policy, another -o, no --resume",
		                  path);
	if (!trainer_tunes(w) && from)
		return berth_fail(err, BERTH_EFORMAT,
		                  "%s: cannot resume: it was begun with --fine-tune: give that, too", path);
	if (trainer_tunes(w) && strcmp(from, w->tune.from) != 0)
		return berth_fail(err, BERTH_EFORMAT,
		                  "%s: cannot resume: it began with another policy, of SHA-256 %.64s", path,
		                  from);
	if (f->teach != w->cfg->teach && (f->teach == 0 || w->cfg->teach == 0))
		return berth_fail(err, BERTH_EFORMAT, "%s: cannot resume: it was trained with%s --teach",
		                  path, f->teach ? "" : "out");
	if (f->teach != w->cfg->teach)
		return berth_fail(err, BERTH_EFORMAT,
		                  "%s: cannot resume: it was trained with --teach %lld, not %lld", path,
		                  (long long)f->teach, (long long)w->cfg->teach);
	if (f->at_once != w->cfg->learner.at_once)
		return berth_fail(err, BERTH_EFORMAT,
		                  "%s: cannot resume: it was trained with --at-once %d, not %d", path,
		                  (int)f->at_once, (int)w->cfg->learner.at_once);
	return BERTH_OK;
}

/* The checkpoint; where it is damaged, the one before it is named. */
static berth_status read_checkpoint(trainer *w, berth_policy_file *f, berth_err *err)
{
	berth_err why;
	berth_status st = berth_policy_file_read(w->cfg->path, w->mem, f, &why);
	bool there = false;
	if (st == BERTH_EFORMAT && berth_file_there(w->older, &there, NULL) == BERTH_OK && there)
		return berth_fail(err, st,
		                  "%.300s; the checkpoint before it is %s: move it there to go on from it",
		                  why.msg, w->older);
	return st == BERTH_OK ? st : berth_fail(err, st, "%s", why.msg);
}

/* The moments of Adam are the learner's own arrays: they are filled already. */
static bool moments_hold(const trainer *w)
{
	for (size_t k = 0; k < w->l.adam.n; k++)
		if (!isfinite(w->l.params[k]) || !isfinite(w->l.adam.m[k]) || !isfinite(w->l.adam.v[k]) ||
		    w->l.adam.v[k] < 0)
			return false;
	return true;
}

/* What no look took is the policy of the start; what one took holds it. */
static bool tuned_holds(const trainer *w, const berth_policy_file *f, int64_t taken)
{
	const nn_real *same = taken ? f->base : f->params;
	return same && memcmp(same, w->cfg->from->params, w->l.adam.n * sizeof *same) == 0;
}

/* There is a step for each look at least. */
static berth_status check_totals(const trainer *w, const berth_policy_file *f, const state *s, berth_err *err)
{
	bool ok = s->total[T_SEARCHED] <= w->n_items && moments_hold(w) &&
		  s->looks[L_TAKEN] <= s->looks[L_LOOKS] && s->looks[L_LOOKS] <= s->total[T_STEPS] &&
		  (!trainer_tunes(w) || tuned_holds(w, f, s->looks[L_TAKEN]));
	for (int k = 0; k < T_COUNTS; k++)
		ok &= is_count(s->total[k]) || (k == T_SEARCH_START && s->total[k] == -1);
	for (int k = 0; k < L_COUNTS; k++)
		ok &= is_count(s->looks[k]);
	return ok ? BERTH_OK
	          : berth_fail(err, BERTH_EFORMAT, "%s: cannot resume: its state contradicts itself",
	                       w->cfg->path);
}

static berth_status check_items(const trainer *w, const state *s, berth_err *err)
{
	for (int32_t i = 0; i < w->n_items + w->cfg->n_kept; i++) {
		int32_t aside = i - w->n_items;
		const berth_train_item *item = aside < 0 ? &w->pair[i].item : &w->cfg->kept[aside];
		const char *digest =
			aside < 0 ? w->pair[i].digest : BERTH_ROW(w->tune.kept, aside, TRAIN_DIGEST);
		if (memcmp(BERTH_ROW(s->digest, i, TRAIN_DIGEST), digest, TRAIN_DIGEST) != 0)
			return berth_fail(err, BERTH_EFORMAT,
			                  "%s: cannot resume: '%s' on '%s' has changed since", w->cfg->path,
			                  item->graph, item->system);
	}
	return BERTH_OK;
}

berth_status trainer_load(trainer *w, bool *begun, berth_err *err)
{
	berth_policy_file f;
	state s;
	const char *path = w->cfg->path;
	BERTH_TRY(read_checkpoint(w, &f, err));
	BERTH_TRY(same_training(w, &f, err));
	BERTH_TRY(lay_out(w, NULL, w->mem, &s, err));
	BERTH_TRY(fill(path, &f.raw, &s, err));
	BERTH_TRY(check_items(w, &s, err));
	BERTH_TRY(check_totals(w, &f, &s, err));
	/* Imitation of the portfolio comes first, and steps of Adam with it. */
	*begun = s.total[T_ADAM] != 0 || s.total[T_STEPS] != 0 || s.total[T_SEARCHED] != 0;
	if (!*begun && trainer_tunes(w))
		BERTH_COPY(w->l.params, w->cfg->from->params, w->l.adam.n);
	if (!*begun)
		return BERTH_OK;
	for (int32_t i = 0; i < w->n_items; i++)
		BERTH_TRY(put_item(w, path, i, &s, err));
	BERTH_COPY(trainer_tunes(w) ? w->tune.best : w->l.params, f.params, w->l.adam.n);
	w->l.steps = s.total[T_STEPS];
	w->l.adam.step = s.total[T_ADAM];
	w->searched = s.total[T_SEARCHED];
	w->search_start = s.total[T_SEARCH_START];
	w->search_spent = s.total[T_SEARCH_SPENT];
	w->turns.next = s.total[T_TURN];
	w->saved_budget = s.total[T_BUDGET];
	w->tune.looks = s.looks[L_LOOKS];
	w->tune.chosen = s.looks[L_TAKEN];
	w->tune.evaluations = s.looks[L_EVALUATIONS];
	return trainer_tunes(w) ? trainer_tune_resume(w, err) : BERTH_OK;
}

berth_status trainer_maybe_save(trainer *w, double step_s, berth_err *err)
{
	double since = berth_wall_seconds() - w->saved;
	bool due = since >= w->cfg->save_s || step_s > 0.1 * w->cfg->save_s;
	if (w->save_took > LONG_S && since < SAVE_SHARE * w->save_took)
		return BERTH_OK;
	return due ? trainer_save(w, err) : BERTH_OK;
}
