/* Training; see train.h. The state between two steps is plain arrays; a checkpoint is all of them. */
#include "train.h"

#include "file.h"
#include "graph_json.h"
#include "methods.h"
#include "refine.h"
#include "system_json.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum { START_PASSES = 8, START_STEPS = 8, MORE_PER_ITEM = 5, SHARED = 5, DIGEST = 128 };

/* Whole numbers of an item that are saved; doubles as their bits. */
enum { N_EPISODES, N_MEAN, N_VAR, N_WINDOW, N_EVALUATIONS, N_EXCESS, N_VALUE, N_HAS_ORDER, N_COUNTS };
/* and of the whole. */
enum { T_STEPS, T_ADAM, T_REFINED, T_COUNTS };

typedef struct trainer {
	const berth_train_cfg *cfg;
	const berth_train_item *items;
	int32_t n_items;
	berth_arena *mem, *tmp;
	berth_search *search;     /* [n_items] */
	berth_portfolio *portfolio; /* [n_items] */
	double *bound;            /* [n_items] */
	berth_learner l;
	int64_t refined;          /* items whose incumbent has been refined */
	char (*digest)[DIGEST + 2]; /* [n_items] SHA-256 of graph and system */
	char *trained_on;
	double started, saved;
	/* Where the checkpoint before the present one is kept while training goes on. NULL: none is
	 * written. */
	const char *older;
} trainer;

berth_train_cfg berth_train_cfg_default(void)
{
	berth_learner_cfg learner = berth_learner_cfg_default();
	learner.decoding = BERTH_SEQUENTIAL;
	learner.hints = false;
	learner.hidden = 32;
	learner.batch = 32; /* 16 episodes */
	learner.epochs = 2;
	learner.at_once = 8;
	learner.entropy = 0.001;
	return (berth_train_cfg){.learner = learner, .seed = 1, .evaluations = 20000, .save_s = 1};
}

/* ---- set-up ---- */

static berth_status name_items(trainer *w, berth_err *err)
{
	char *text = berth_arena_strdup(w->mem, "");
	for (int32_t i = 0; text && i < w->n_items; i++)
		text = berth_arena_printf(w->mem, "%s%s%s on %s", text, i ? "; " : "", w->items[i].graph,
		                          w->items[i].system);
	w->trained_on = text;
	if (!text)
		return berth_nomem(err);
	BERTH_TRY(BERTH_NEW(w->mem, w->digest, w->n_items, err));
	for (int32_t i = 0; i < w->n_items; i++) {
		char graph[65], system[65];
		BERTH_TRY(berth_graph_sha256(w->items[i].p->g, w->tmp, graph, err));
		BERTH_TRY(berth_system_sha256(w->items[i].p->s, w->tmp, system, err));
		memcpy(w->digest[i], graph, 64);
		memcpy(w->digest[i] + 64, system, 64);
	}
	return BERTH_OK;
}

static berth_status open_searches(trainer *w, berth_err *err)
{
	berth_search **all;
	berth_search_cfg cfg = {.objective = w->cfg->objective,
	                        .seed = w->cfg->seed,
	                        .evaluations = INT64_MAX,
	                        .pool = w->cfg->pool,
	                        .cancel = w->cfg->cancel};
	BERTH_TRY(BERTH_NEW(w->mem, w->search, w->n_items, err));
	BERTH_TRY(BERTH_NEW(w->mem, w->portfolio, w->n_items, err));
	BERTH_TRY(BERTH_NEW(w->mem, w->bound, w->n_items, err));
	BERTH_TRY(BERTH_NEW(w->mem, all, w->n_items, err));
	for (int32_t i = 0; i < w->n_items; i++) {
		berth_bounds b;
		const berth_problem *p = w->items[i].p;
		all[i] = &w->search[i];
		BERTH_TRY(berth_search_new(p, &cfg, w->mem, all[i], err));
		BERTH_TRY(berth_bounds_new(p, w->tmp, &b, err));
		BERTH_TRY(berth_bounds_objective(p, &b, &w->cfg->objective, w->tmp, &w->bound[i], err));
		BERTH_TRY(berth_portfolio_run(all[i], w->mem, w->tmp, &w->portfolio[i], err));
	}
	BERTH_TRY(berth_learner_new(&w->cfg->learner, w->cfg->seed, NULL, all, w->n_items, w->mem, w->tmp,
	                            &w->l, err));
	for (int32_t i = 0; i < w->n_items; i++)
		w->l.pair[i].reference = w->portfolio[i].reference;
	return BERTH_OK;
}

/* Soft imitation of the best of each item's portfolio, in turns so that no item is forgotten. */
static berth_status imitate(trainer *w, berth_err *err)
{
	for (int pass = 0; pass < START_PASSES; pass++)
		for (int32_t i = 0; i < w->n_items; i++) {
			const int32_t *op_dev = w->portfolio[i].answer[w->portfolio[i].best].op_dev;
			BERTH_TRY(berth_learner_clone_starts(&w->l, i, 1, &op_dev, START_STEPS, err));
		}
	return BERTH_OK;
}

static int64_t evaluations_made(const trainer *w)
{
	int64_t sum = 0;
	for (int32_t i = 0; i < w->n_items; i++)
		sum += w->search[i].evaluations;
	return sum;
}

/* ---- checkpoints ---- */

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

/* The arrays of the state with their names and shapes, for writing (values are there) and for reading (to be
 * filled). */
typedef struct state {
	safetensors_tensor *t;
	int32_t n;
	int64_t *counts, *total;        /* [n_items][N_COUNTS], [T_COUNTS] */
	int64_t **reward, **order;      /* [n_items] */
	uint8_t **action, **dev, *digest;
	berth_arena *tmp;
} state;

static void name_tensor(state *s, const char *name, safetensors_dtype type, int64_t rows, int64_t columns,
                        const void *data)
{
	s->t[s->n++] = (safetensors_tensor){name, type, 2, {rows, columns}, data};
}

static berth_status name_item(state *s, const trainer *w, int32_t i, berth_err *err)
{
	const berth_pair *pair = &w->l.pair[i];
	int64_t ops = w->items[i].p->n_ops, window = berth_learner_window(&w->cfg->learner),
		groups = pair->e.n_groups;
	char *name[4];
	static const char *const part[] = {"action", "reward", "placement", "order"};
	for (int k = 0; k < 4; k++)
		if (!(name[k] = berth_arena_printf(s->tmp, "state.%d.%s", i, part[k])))
			return berth_nomem(err);
	BERTH_TRY(BERTH_NEW(s->tmp, s->action[i], window * groups, err));
	BERTH_TRY(BERTH_NEW(s->tmp, s->reward[i], window, err));
	BERTH_TRY(BERTH_NEW(s->tmp, s->dev[i], ops, err));
	BERTH_TRY(BERTH_NEW(s->tmp, s->order[i], ops, err));
	name_tensor(s, name[0], SAFETENSORS_U8, window, groups, s->action[i]);
	name_tensor(s, name[1], SAFETENSORS_I64, 1, window, s->reward[i]);
	name_tensor(s, name[2], SAFETENSORS_U8, 1, ops, s->dev[i]);
	name_tensor(s, name[3], SAFETENSORS_I64, 1, ops, s->order[i]);
	return BERTH_OK;
}

static berth_status lay_out(const trainer *w, berth_arena *tmp, state *s, berth_err *err)
{
	size_t n = (size_t)w->n_items;
	int64_t params = (int64_t)w->l.adam.n;
	*s = (state){.tmp = tmp};
	BERTH_TRY(BERTH_NEW(tmp, s->t, SHARED + MORE_PER_ITEM * n, err));
	BERTH_TRY(BERTH_NEW(tmp, s->counts, n * N_COUNTS, err));
	BERTH_TRY(BERTH_NEW(tmp, s->total, T_COUNTS, err));
	BERTH_TRY(BERTH_NEW(tmp, s->reward, n, err));
	BERTH_TRY(BERTH_NEW(tmp, s->order, n, err));
	BERTH_TRY(BERTH_NEW(tmp, s->action, n, err));
	BERTH_TRY(BERTH_NEW(tmp, s->dev, n, err));
	BERTH_TRY(BERTH_NEW(tmp, s->digest, n * DIGEST, err));
	name_tensor(s, "state.counts", SAFETENSORS_I64, (int64_t)n, N_COUNTS, s->counts);
	name_tensor(s, "state.total", SAFETENSORS_I64, 1, T_COUNTS, s->total);
	name_tensor(s, "state.items", SAFETENSORS_U8, (int64_t)n, DIGEST, s->digest);
	name_tensor(s, "state.adam_m", SAFETENSORS_F32, 1, params, w->l.adam.m);
	name_tensor(s, "state.adam_v", SAFETENSORS_F32, 1, params, w->l.adam.v);
	for (int32_t i = 0; i < w->n_items; i++)
		BERTH_TRY(name_item(s, w, i, err));
	return BERTH_OK;
}

static void take_item(const trainer *w, int32_t i, state *s)
{
	const berth_pair *pair = &w->l.pair[i];
	const berth_search *h = &w->search[i];
	int64_t *c = s->counts + (size_t)i * N_COUNTS;
	c[N_EPISODES] = pair->episodes;
	c[N_MEAN] = bits(pair->baseline.mean);
	c[N_VAR] = bits(pair->baseline.var);
	c[N_WINDOW] = pair->n_window;
	c[N_EVALUATIONS] = h->evaluations;
	c[N_EXCESS] = bits(h->best.excess);
	c[N_VALUE] = bits(h->best.value);
	c[N_HAS_ORDER] = h->best_has_order;
	for (int32_t k = 0; k < pair->n_window; k++)
		s->reward[i][k] = bits(pair->window_reward[k]);
	for (size_t k = 0; k < (size_t)pair->n_window * (size_t)pair->e.n_groups; k++)
		s->action[i][k] = (uint8_t)pair->window_action[k];
	for (int32_t op = 0; op < h->p->n_ops; op++) {
		s->dev[i][op] = (uint8_t)h->best_dev[op];
		s->order[i][op] = h->best_has_order ? h->best_order[op] : 0;
	}
	memcpy(s->digest + (size_t)i * DIGEST, w->digest[i], DIGEST);
}

static berth_status save(trainer *w, berth_err *err)
{
	berth_arena_mark mark = berth_arena_get_mark(w->tmp);
	state s;
	berth_policy_file f = {.dims = w->l.dims,
	                       .cfg = w->cfg->learner,
	                       .objective = w->cfg->objective,
	                       .seed = w->cfg->seed,
	                       .steps = w->l.steps,
	                       .evaluations = evaluations_made(w),
	                       .trained_on = w->trained_on,
	                       .params = w->l.params};
	BERTH_TRY(lay_out(w, w->tmp, &s, err));
	s.total[T_STEPS] = w->l.steps;
	s.total[T_ADAM] = w->l.adam.step;
	s.total[T_REFINED] = w->refined;
	for (int32_t i = 0; i < w->n_items; i++)
		take_item(w, i, &s);
	berth_status st = berth_file_keep(w->cfg->path, w->older, err);
	if (st == BERTH_OK)
		st = berth_policy_file_write(w->cfg->path, &f, s.t, s.n, w->tmp, err);
	berth_arena_reset(w->tmp, mark);
	w->saved = berth_wall_seconds();
	return st;
}

/* Copy the data of every tensor of the state out of the file, after its shape was checked. */
static berth_status fill(const char *path, const safetensors_file *raw, state *s, berth_err *err)
{
	static const size_t size[] = {[SAFETENSORS_F32] = 4, [SAFETENSORS_I64] = 8, [SAFETENSORS_U8] = 1};
	for (int32_t i = 0; i < s->n; i++) {
		const safetensors_tensor *want = &s->t[i], *have = safetensors_find(raw, want->name);
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

static berth_status put_item(trainer *w, const char *path, int32_t i, const state *s, berth_err *err)
{
	berth_pair *pair = &w->l.pair[i];
	berth_search *h = &w->search[i];
	const int64_t *c = s->counts + (size_t)i * N_COUNTS;
	int32_t devs = h->p->n_devs, ops = h->p->n_ops;
	bool ok = c[N_WINDOW] >= 0 && c[N_WINDOW] <= berth_learner_window(&w->cfg->learner) &&
	          c[N_EPISODES] >= 0 && c[N_EVALUATIONS] >= 0;
	for (size_t k = 0; ok && k < (size_t)c[N_WINDOW] * (size_t)pair->e.n_groups; k++)
		ok = s->action[i][k] < devs &&
		     pair->e.in.mask[k % (size_t)pair->e.n_groups * (size_t)devs + s->action[i][k]];
	for (int32_t op = 0; ok && op < ops; op++)
		ok = s->dev[i][op] < devs && berth_op_legal(h->p, op, s->dev[i][op]) &&
		     s->order[i][op] >= 0 && s->order[i][op] < ops;
	if (!ok)
		return berth_fail(err, BERTH_EFORMAT,
		                  "%s: cannot resume: the state of '%s' contradicts itself", path,
		                  w->items[i].graph);
	pair->episodes = c[N_EPISODES];
	pair->baseline.mean = from_bits(c[N_MEAN]);
	pair->baseline.var = from_bits(c[N_VAR]);
	pair->n_window = (int32_t)c[N_WINDOW];
	h->evaluations = c[N_EVALUATIONS];
	h->best = (berth_score){from_bits(c[N_EXCESS]), from_bits(c[N_VALUE])};
	h->best_has_order = c[N_HAS_ORDER] != 0;
	for (int32_t k = 0; k < pair->n_window; k++)
		pair->window_reward[k] = from_bits(s->reward[i][k]);
	for (size_t k = 0; k < (size_t)pair->n_window * (size_t)pair->e.n_groups; k++)
		pair->window_action[k] = s->action[i][k];
	for (int32_t op = 0; op < ops; op++) {
		h->best_dev[op] = s->dev[i][op];
		h->best_order[op] = (int32_t)s->order[i][op];
	}
	return BERTH_OK;
}

static berth_status same_training(const trainer *w, const berth_policy_file *f, berth_err *err)
{
	const char *path = w->cfg->path;
	if (strcmp(f->trained_on, w->trained_on) != 0)
		return berth_fail(err, BERTH_EFORMAT,
		                  "%s: cannot resume: it was trained on %.120s, not on %.120s", path,
		                  f->trained_on, w->trained_on);
	if (f->seed != w->cfg->seed || !berth_objective_equal(&f->objective, &w->cfg->objective))
		return berth_fail(err, BERTH_EFORMAT,
		                  "%s: cannot resume: it was trained with seed %llu for %s", path,
		                  (unsigned long long)f->seed, berth_objective_name(&f->objective));
	if (!berth_learner_cfg_equal(&f->cfg, &w->cfg->learner))
		return berth_fail(
			err, BERTH_EFORMAT,
			"%s: cannot resume: it was trained with other settings; 'berth show' lists them",
			path);
	return BERTH_OK;
}

/* The checkpoint; where it is damaged, the one before it is named. */
static berth_status read_checkpoint(trainer *w, berth_policy_file *f, berth_err *err)
{
	berth_err why;
	berth_status st = berth_policy_file_read(w->cfg->path, w->mem, w->tmp, f, &why);
	if (st == BERTH_EFORMAT && access(w->older, R_OK) == 0)
		return berth_fail(err, st,
		                  "%.300s; the checkpoint before it is %s: move it there to go on from it",
		                  why.msg, w->older);
	return st == BERTH_OK ? st : berth_fail(err, st, "%s", why.msg);
}

static berth_status load(trainer *w, berth_err *err)
{
	berth_policy_file f;
	state s;
	const char *path = w->cfg->path;
	BERTH_TRY(read_checkpoint(w, &f, err));
	BERTH_TRY(same_training(w, &f, err));
	BERTH_TRY(lay_out(w, w->mem, &s, err));
	BERTH_TRY(fill(path, &f.raw, &s, err));
	for (int32_t i = 0; i < w->n_items; i++) {
		if (memcmp(s.digest + (size_t)i * DIGEST, w->digest[i], DIGEST) != 0)
			return berth_fail(err, BERTH_EFORMAT,
			                  "%s: cannot resume: '%s' on '%s' has changed since", path,
			                  w->items[i].graph, w->items[i].system);
		BERTH_TRY(put_item(w, path, i, &s, err));
	}
	memcpy(w->l.params, f.params, policy_param_count(&w->l.dims) * sizeof *f.params);
	w->l.steps = s.total[T_STEPS];
	w->l.adam.step = s.total[T_ADAM];
	w->refined = s.total[T_REFINED];
	return BERTH_OK;
}

/* ---- the run ---- */

static bool cancelled(const trainer *w)
{
	return w->cfg->cancel && atomic_load(w->cfg->cancel);
}

static berth_status maybe_save(trainer *w, berth_err *err)
{
	if (!w->cfg->path || berth_wall_seconds() - w->saved < w->cfg->save_s)
		return BERTH_OK;
	return save(w, err);
}

static void tell(trainer *w, int32_t item, const berth_step_stats *stats)
{
	int64_t made = evaluations_made(w);
	const berth_search *h = &w->search[item];
	berth_train_update u = {w->l.steps,
	                        made,
	                        item,
	                        *stats,
	                        berth_score_feasible(h->best) ? h->best.value : NAN,
	                        w->bound[item],
	                        (double)made / fmax(berth_wall_seconds() - w->started, 1e-9)};
	if (w->cfg->update)
		w->cfg->update(w->cfg->update_ctx, &u);
}

/* Items in turn, neighbours in the list far apart: they are often one graph on several systems. */
static int32_t item_of(const trainer *w, int64_t step)
{
	enum { STRIDE = 7919 }; /* a prime */
	return (int32_t)(step * (w->n_items % STRIDE ? STRIDE : 1) % w->n_items);
}

/* The rate falls to 0 over the second half. */
static berth_status learn(trainer *w, berth_err *err)
{
	int64_t budget = w->cfg->evaluations - w->cfg->evaluations / 5, left;
	int32_t batch = w->cfg->learner.batch;
	while (!w->refined && (left = budget - evaluations_made(w)) > 0 && !cancelled(w)) {
		berth_step_stats stats[BERTH_MOST_AT_ONCE];
		berth_turn turn[BERTH_MOST_AT_ONCE];
		int32_t n = 0;
		w->l.lr_scale = fmin(1, 2 * (double)left / (double)budget);
		for (; n < w->cfg->learner.at_once && left > 0; n++, left -= batch)
			turn[n] = (berth_turn){item_of(w, w->l.steps + n),
			                       left < batch ? (int32_t)left : batch};
		BERTH_TRY(berth_learner_round(&w->l, n, turn, stats, err));
		for (int32_t k = 0; k < n; k++)
			tell(w, turn[k].pair, &stats[k]);
		BERTH_TRY(maybe_save(w, err));
	}
	return BERTH_OK;
}

/* Refine one incumbent, on a copy of its search: an interrupted refinement leaves no trace, so that resuming
 * makes the same steps. */
static berth_status refine_item(trainer *w, int32_t i, int64_t evaluations, berth_err *err)
{
	berth_search *h = &w->search[i], copy = *h;
	size_t bytes = (size_t)h->p->n_ops * sizeof *h->best_dev;
	berth_rng rng = berth_rng_seed(w->cfg->seed, BERTH_STREAM_SEARCH + (uint64_t)i);
	berth_levels levels;
	int32_t *op_dev;
	berth_score score = h->best;
	BERTH_TRY(berth_levels_new(h->p, &w->l.pair[i].e.co, w->tmp, &levels, err));
	BERTH_TRY(BERTH_NEW(w->tmp, op_dev, h->p->n_ops, err));
	BERTH_TRY(BERTH_NEW(w->mem, copy.best_dev, h->p->n_ops, err));
	BERTH_TRY(BERTH_NEW(w->mem, copy.best_order, h->p->n_ops, err));
	memcpy(op_dev, h->best_dev, bytes);
	memcpy(copy.best_dev, h->best_dev, bytes);
	memcpy(copy.best_order, h->best_order, bytes);
	BERTH_TRY(berth_refine(&copy, &levels, op_dev, &score, evaluations, &rng, w->tmp, err));
	if (!cancelled(w))
		*h = copy;
	return BERTH_OK;
}

/* Refine the incumbents, item by item, with what is left of the budget. */
static berth_status refine(trainer *w, berth_err *err)
{
	while (w->refined < w->n_items && !cancelled(w)) {
		int32_t i = (int32_t)w->refined;
		int64_t share = (w->cfg->evaluations - evaluations_made(w)) / (w->n_items - i);
		berth_arena_mark mark = berth_arena_get_mark(w->tmp);
		if (w->items[i].p->n_ops && share > 0)
			BERTH_TRY(refine_item(w, i, share, err));
		berth_arena_reset(w->tmp, mark);
		if (cancelled(w))
			return BERTH_OK;
		w->refined++;
		BERTH_TRY(maybe_save(w, err));
	}
	return BERTH_OK;
}

static double value_of(berth_score score)
{
	return berth_score_feasible(score) ? score.value : NAN;
}

static berth_status report(const trainer *w, berth_train_result *out, berth_err *err)
{
	out->evaluations = evaluations_made(w);
	out->steps = w->l.steps;
	BERTH_TRY(BERTH_NEW(w->mem, out->best, w->n_items, err));
	for (int32_t i = 0; i < w->n_items; i++) {
		const berth_search *h = &w->search[i];
		const berth_portfolio_answer *start = &w->portfolio[i].answer[w->portfolio[i].best];
		out->best[i] = (berth_train_best){.value = value_of(h->best),
		                                  .portfolio_value = value_of(start->score),
		                                  .portfolio_method = start->method,
		                                  .op_dev = h->best_dev};
	}
	return BERTH_OK;
}

berth_status berth_train(const berth_train_cfg *cfg, const berth_train_item *items, int32_t n_items,
                         berth_arena *mem, berth_arena *tmp, berth_train_result *out, berth_err *err)
{
	trainer w = {.cfg = cfg,
	             .items = items,
	             .n_items = n_items,
	             .mem = mem,
	             .tmp = tmp,
	             .started = berth_wall_seconds()};
	*out = (berth_train_result){0};
	if (n_items < 1)
		return berth_fail(err, BERTH_EINVAL, "nothing to train on");
	if (cfg->path && !(w.older = berth_arena_printf(mem, "%s.older", cfg->path)))
		return berth_nomem(err);
	BERTH_TRY(name_items(&w, err));
	BERTH_TRY(open_searches(&w, err));
	out->resumed = cfg->resume && cfg->path && access(cfg->path, F_OK) == 0;
	if (out->resumed)
		BERTH_TRY(load(&w, err));
	else
		BERTH_TRY(imitate(&w, err));
	w.saved = berth_wall_seconds();
	BERTH_TRY(learn(&w, err));
	bool stop = cancelled(&w);
	if (!stop) {
		BERTH_TRY(refine(&w, err));
		stop = cancelled(&w);
	}
	if (cfg->path)
		BERTH_TRY(save(&w, err));
	if (cfg->path && !stop)
		unlink(w.older); /* nothing is left to go on with */
	BERTH_TRY(report(&w, out, err));
	return stop ? berth_fail(err, BERTH_EINTERRUPTED, "interrupted after %lld evaluations",
	                         (long long)out->evaluations)
	            : BERTH_OK;
}
