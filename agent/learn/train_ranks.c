/* Training over ranks (all_gather.h): who does what, and what is traded so that all know all of the state.
 * With one rank there is nothing to trade. */
#include "trainer.h"

#include "sha256.h"
#include "sort.h"

/* ---- who does what ---- */

static int compare_work(const void *ctx, int32_t a, int32_t b)
{
	const int64_t *work = ctx;
	return BERTH_COMPARE(work[b], work[a]);
}

berth_status trainer_deal(trainer *w, int32_t n, const int64_t *work, int32_t *rank, berth_err *err)
{
	BERTH_SCRATCH(w->tmp);
	int32_t *order, *scratch;
	int64_t *load;
	BERTH_TRY_NEW(w->tmp, n, err, order, scratch);
	BERTH_TRY_NEW(w->tmp, w->ranks->n, err, load);
	for (int32_t i = 0; i < n; i++)
		order[i] = i;
	berth_sort(order, (size_t)n, scratch, compare_work, work);
	berth_ranks_deal(w->ranks->n, n, order, work, load, rank);
	return BERTH_OK;
}

berth_status trainer_deal_items(trainer *w, berth_err *err)
{
	BERTH_SCRATCH(w->tmp);
	int64_t *work;
	int32_t *rank;
	BERTH_TRY_NEW(w->tmp, w->n_items, err, work, rank);
	for (int32_t i = 0; i < w->n_items; i++)
		work[i] = (int64_t)w->items[i].p->n_ops * w->items[i].p->n_devs;
	BERTH_TRY(trainer_deal(w, w->n_items, work, rank, err));
	for (int32_t i = 0; i < w->n_items; i++)
		w->pair[i].rank = rank[i];
	return BERTH_OK;
}

/* ---- all alike ---- */

typedef struct said {
	trainer *w;
	const char *what; /* that is compared; NULL: rank 0 tells the others */
	char text[65];
	bool *x;
} said;

static berth_status trade_first(void *ctx, int32_t rank, berth_pack *p, berth_err *err)
{
	const said *s = ctx;
	(void)err;
	if (rank == 0)
		BERTH_PACK(p, *s->x);
	return BERTH_OK;
}

berth_status trainer_by_first(trainer *w, bool *x, berth_err *err)
{
	said s = {.w = w, .x = x};
	return berth_ranks_trade(w->ranks, trade_first, &s, w->tmp, err);
}

static berth_status trade_digest(void *ctx, int32_t rank, berth_pack *p, berth_err *err)
{
	said *s = ctx;
	char theirs[65];
	memcpy(theirs, s->text, sizeof theirs);
	BERTH_PACK(p, theirs);
	return memcmp(theirs, s->text, sizeof theirs) == 0
	               ? BERTH_OK
	               : berth_fail(err, BERTH_EINVAL, "rank %d, on %s, has another %s", (int)rank,
	                            s->w->ranks->host[rank], s->what);
}

static berth_status same_digest(trainer *w, const char *what, const void *data, size_t size, berth_err *err)
{
	said s = {.w = w, .what = what};
	berth_sha256_hex(data, size, s.text);
	berth_status st = berth_ranks_trade(w->ranks, trade_digest, &s, w->tmp, err);
	return berth_ranks_agree(w->ranks, st, err);
}

berth_status trainer_check_inputs(trainer *w, berth_err *err)
{
	BERTH_ARENA(mem);
	berth_strbuf b = {.mem = &mem};
	const char *text;
	size_t len;
	if (w->ranks->n == 1)
		return BERTH_OK;
	berth_strbuf_printf(&b, "berth %s; %s; seed %llu; %lld evaluations; teachers %lld; ",
	                    BERTH_VERSION,
	                    w->cfg->each_objective ? "each" : berth_objective_name(&w->cfg->objective),
	                    (unsigned long long)w->cfg->seed,
	                    (long long)w->cfg->evaluations, (long long)w->cfg->teach);
#define X(type, field, note, initial, least, most)                                                           \
	berth_strbuf_printf(&b, #field " %a; ", (double)w->cfg->learner.field);
	BERTH_LEARNER_CFG(X, X)
#undef X
	for (int32_t i = 0; i < w->n_items; i++)
		berth_strbuf_add(&b, w->pair[i].digest, TRAIN_DIGEST);
	if (w->cfg->n_kept)
		berth_strbuf_add(&b, w->tune.kept, (size_t)w->cfg->n_kept * TRAIN_DIGEST);
	BERTH_TRY(berth_strbuf_done(&b, &text, &len, err));
	return same_digest(w, "version of berth, or other graphs, systems or settings", text, len, err);
}

berth_status trainer_check_state(trainer *w, berth_err *err)
{
	size_t n = w->l.adam.n, at = 0;
	BERTH_ARENA(mem);
	nn_real *x;
	if (w->ranks->n == 1)
		return BERTH_OK;
	BERTH_TRY_NEW(&mem, 3 * n, err, x);
	BERTH_COPY(x + at++ * n, w->l.params, n);
	BERTH_COPY(x + at++ * n, w->l.adam.m, n);
	BERTH_COPY(x + at * n, w->l.adam.v, n);
	return same_digest(w, "checkpoint, or computes in other bits (another kind of CPU)", x,
	                   3 * n * sizeof *x, err);
}

/* ---- portfolios ---- */

static berth_status pack_name(berth_pack *p, const char **name, berth_arena *mem, berth_err *err)
{
	size_t n = p->how == BERTH_PACK_TAKE ? 0 : strlen(*name);
	char *copy;
	BERTH_PACK(p, n);
	if (p->how != BERTH_PACK_TAKE) {
		berth_pack_bytes(p, (void *)(uintptr_t)*name, n);
		return BERTH_OK;
	}
	BERTH_TRY_NEW(mem, (n < p->n ? n : p->n) + 1, err, copy);
	berth_pack_bytes(p, copy, n < p->n ? n : p->n);
	*name = copy;
	return BERTH_OK;
}

/* Methods' names are told after training: they live in mem, placements in the pair's; NULL: there are none.
 */
static berth_status pack_portfolio(berth_pack *p, berth_portfolio *x, int32_t n_ops, berth_arena *mem,
                                   berth_arena *pair, berth_err *err)
{
	BERTH_PACK(p, x->n);
	BERTH_PACK(p, x->best);
	BERTH_PACK(p, x->reference);
	for (int32_t i = 0; i < x->n && i < BERTH_MOST_SEEDS; i++) {
		berth_portfolio_answer *a = &x->answer[i];
		BERTH_TRY(pack_name(p, &a->method, mem, err));
		BERTH_PACK(p, a->score);
		if (pair && p->how == BERTH_PACK_TAKE)
			BERTH_TRY_NEW(pair, n_ops, err, a->op_dev);
		if (pair)
			berth_pack_bytes(p, a->op_dev, (size_t)n_ops * sizeof *a->op_dev);
	}
	return BERTH_OK;
}

static void pack_best(berth_pack *p, berth_search *s)
{
	BERTH_PACK(p, s->evaluations);
	BERTH_PACK(p, s->best);
	BERTH_PACK(p, s->best_has_order);
}

void trainer_pack_found(berth_pack *p, berth_search *s, int32_t n_ops)
{
	size_t row = (size_t)n_ops * sizeof *s->best_dev;
	pack_best(p, s);
	berth_pack_bytes(p, s->best_dev, row);
	berth_pack_bytes(p, s->best_order, row);
}

/* Some items, so that a trade is not too large. */
typedef struct some {
	trainer *w;
	int32_t first, end;
} some;

static berth_status trade_starts(void *ctx, int32_t rank, berth_pack *p, berth_err *err)
{
	const some *x = ctx;
	for (int32_t i = x->first; i < x->end; i++)
		if (x->w->pair[i].rank == rank) {
			train_pair *pair = &x->w->pair[i];
			berth_search *s = &x->w->search[i];
			BERTH_PACK(p, pair->bound);
			BERTH_TRY(
				pack_portfolio(p, &pair->portfolio, s->p->n_ops, x->w->mem, &pair->mem, err));
			trainer_pack_found(p, s, s->p->n_ops);
			s->cfg.cancel = x->w->cfg->cancel;
			s->cfg.objective = pair->objective;
		}
	return BERTH_OK;
}

enum { OPS_AT_ONCE = 1 << 20 };

berth_status trainer_trade_starts(trainer *w, berth_err *err)
{
	some x = {.w = w};
	while (x.end < w->n_items) {
		int64_t ops = 0;
		for (x.first = x.end; x.end < w->n_items && ops < OPS_AT_ONCE; x.end++)
			ops += w->items[x.end].p->n_ops;
		BERTH_TRY(berth_ranks_trade(w->ranks, trade_starts, &x, w->tmp, err));
	}
	return BERTH_OK;
}

static berth_status pack_streamed(trainer *w, int32_t i, berth_pack *p, berth_err *err)
{
	train_pair *pair = &w->pair[i];
	berth_search *s = &w->search[i];
	berth_pair *learned = &w->l.pair[i];
	BERTH_TRY(pack_name(p, &pair->item.graph, w->mem, err));
	BERTH_TRY(pack_name(p, &pair->item.system, w->mem, err));
	BERTH_TRY(pack_portfolio(p, &pair->portfolio, 0, w->mem, NULL, err));
	BERTH_PACK(p, pair->n_ops);
	BERTH_PACK(p, pair->digest);
	BERTH_PACK(p, pair->bound);
	BERTH_PACK(p, pair->objective);
	BERTH_PACK(p, learned->n_ops);
	BERTH_PACK(p, learned->e.n_groups);
	BERTH_PACK(p, learned->e.n_devs);
	pack_best(p, s);
	if (p->how == BERTH_PACK_TAKE) {
		BERTH_TRY_NEW(w->mem, pair->n_ops, err, pair->dev);
		BERTH_TRY_NEW(&w->starts, pair->n_ops, err, pair->start);
	}
	if (p->how == BERTH_PACK_TAKE && s->best_has_order)
		BERTH_TRY_NEW(w->mem, pair->n_ops, err, pair->order);
	berth_pack_bytes(p, pair->dev, (size_t)pair->n_ops);
	berth_pack_bytes(p, pair->start, (size_t)pair->n_ops);
	if (s->best_has_order)
		berth_pack_bytes(p, pair->order, (size_t)pair->n_ops * sizeof *pair->order);
	s->cfg.cancel = w->cfg->cancel;
	return BERTH_OK;
}

static berth_status trade_streamed(void *ctx, int32_t rank, berth_pack *p, berth_err *err)
{
	const some *x = ctx;
	for (int32_t i = x->first; i < x->end; i++)
		if (x->w->pair[i].rank == rank)
			BERTH_TRY(pack_streamed(x->w, i, p, err));
	return BERTH_OK;
}

berth_status trainer_trade_streamed(trainer *w, int32_t first, int32_t end, berth_err *err)
{
	some x = {w, first, end};
	return berth_ranks_trade(w->ranks, trade_streamed, &x, w->tmp, err);
}

static berth_status trade_sizes(void *ctx, int32_t rank, berth_pack *p, berth_err *err)
{
	learner_sizes *most = ctx;
	size_t *mine[] = {&most->groups, &most->cells, &most->ops, &most->op_cells, &most->acts, &most->rows};
	size_t x[6];
	(void)rank;
	(void)err;
	for (int k = 0; k < 6; k++)
		x[k] = *mine[k];
	BERTH_PACK(p, x);
	for (int k = 0; k < 6; k++)
		*mine[k] = x[k] > *mine[k] ? x[k] : *mine[k];
	return BERTH_OK;
}

berth_status trainer_trade_sizes(trainer *w, learner_sizes *z, berth_err *err)
{
	return berth_ranks_trade(w->ranks, trade_sizes, z, w->tmp, err);
}

/* ---- what was done ---- */

static berth_status trade_done(void *ctx, int32_t rank, berth_pack *p, berth_err *err)
{
	berth_train_rank *x = (berth_train_rank *)ctx + rank;
	(void)err;
	BERTH_PACK(p, x->evaluations);
	BERTH_PACK(p, x->cpu_s);
	return BERTH_OK;
}

berth_status trainer_trade_done(trainer *w, int64_t own, berth_train_rank **out, berth_err *err)
{
	const berth_ranks *r = w->ranks;
	BERTH_TRY_NEW(w->mem, r->n, err, *out);
	for (int32_t i = 0; i < r->n; i++)
		(*out)[i].host = r->host ? r->host[i] : "";
	(*out)[r->me].evaluations = own;
	(*out)[r->me].cpu_s = berth_cpu_seconds() - w->cpu_started - r->waited_cpu_s;
	return berth_ranks_trade(w->ranks, trade_done, *out, w->tmp, err);
}
