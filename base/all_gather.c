/* A trade is: what everybody has to say in short; where one has failed, the messages; else the
 * bytes. So each learns of a failure wherever it comes to the others. */
#include "all_gather.h"

#include "threads.h"

#include <unistd.h>

/* What each says first. */
typedef struct greeting {
	int64_t bytes;
	int32_t status, cancel;
} greeting;

static int32_t wants_out(const berth_ranks *r)
{
	return r->cancelled || (r->cancel && atomic_load(r->cancel));
}

bool berth_ranks_cancelled(const berth_ranks *r)
{
	return r->n > 1 ? r->cancelled : wants_out(r);
}

static void gather(berth_ranks *r, const void *mine, const int64_t *size, void *all)
{
	double before = berth_cpu_seconds();
	r->wire.gather(r->wire.ctx, mine, size, all);
	r->waited_cpu_s += berth_cpu_seconds() - before;
}

static berth_status gather_equal(berth_ranks *r, const void *mine, size_t bytes, void *all, berth_arena *tmp,
                                 berth_err *err)
{
	int64_t *size;
	BERTH_TRY_NEW(tmp, r->n, err, size);
	for (int32_t i = 0; i < r->n; i++)
		size[i] = (int64_t)bytes;
	gather(r, mine, size, all);
	return BERTH_OK;
}

/* The messages. All ranks tell the first one, by its name, but where all have failed: that is no rank's
 * own fault. */
static berth_status tell_failure(berth_ranks *r, const greeting *said, berth_arena *tmp, berth_err *err)
{
	berth_err mine = {0}, *all;
	int32_t first = -1, n_failed = 0;
	for (int32_t i = r->n - 1; i >= 0; i--)
		if (said[i].status != BERTH_OK) {
			first = i;
			n_failed++;
		}
	if (said[r->me].status != BERTH_OK && err)
		mine = *err;
	BERTH_TRY_NEW(tmp, r->n, err, all);
	BERTH_TRY(gather_equal(r, &mine, sizeof mine, all, tmp, err));
	r->failed = true;
	all[first].msg[sizeof all[first].msg - 1] = '\0';
	berth_status code = (berth_status)said[first].status;
	if (n_failed == r->n)
		return berth_fail(err, code, "%s", all[first].msg);
	return berth_fail(err, code, "rank %d of %d, on %s: %s", (int)first, (int)r->n,
	                  r->host ? r->host[first] : "?", all[first].msg);
}

/* Everybody's first words, said [n]. */
static berth_status greet(berth_ranks *r, greeting mine, greeting **said, berth_arena *tmp, berth_err *err)
{
	berth_err why = {0};
	bool failed = false;
	mine.cancel = wants_out(r);
	BERTH_TRY_NEW(tmp, r->n, &why, *said);
	BERTH_TRY(gather_equal(r, &mine, sizeof mine, *said, tmp, &why));
	for (int32_t i = 0; i < r->n; i++) {
		r->cancelled |= (*said)[i].cancel != 0;
		failed |= (*said)[i].status != BERTH_OK;
	}
	return failed ? tell_failure(r, *said, tmp, err) : BERTH_OK;
}

static berth_status take_others(berth_ranks *r, const greeting *said, unsigned char *all,
                                berth_trade_fn *trade, void *ctx, berth_err *err)
{
	for (int32_t i = 0; i < r->n; all += said[i].bytes, i++) {
		berth_pack p = {BERTH_PACK_TAKE, all, (size_t)said[i].bytes, false};
		if (i == r->me)
			continue;
		BERTH_TRY(trade(ctx, i, &p, err));
		if (p.n > 0 || p.ended_early)
			return berth_fail(err, BERTH_EINVAL, "rank %d tells something else than was asked",
			                  (int)i);
	}
	return BERTH_OK;
}

/* The bytes of all, in tmp. */
static berth_status trade_bytes(berth_ranks *r, const unsigned char *mine, const greeting *said,
                                unsigned char **all, berth_arena *tmp, berth_err *err)
{
	int64_t *size, sum = 0;
	BERTH_TRY_NEW(tmp, r->n, err, size);
	for (int32_t i = 0; i < r->n; i++)
		sum += size[i] = said[i].bytes;
	if (sum > INT32_MAX) {
		r->failed = true; /* all see the same sizes */
		return berth_fail(err, BERTH_EUNSUPPORTED, "ranks cannot trade more than 2 GiB at once");
	}
	BERTH_TRY_NEW(tmp, sum, err, *all);
	if (sum > 0)
		gather(r, mine, size, *all);
	return BERTH_OK;
}

static berth_status trade_in(berth_ranks *r, berth_trade_fn *trade, void *ctx, berth_arena *tmp,
                             berth_err *err)
{
	berth_pack count = {.how = BERTH_PACK_COUNT}, put = {.how = BERTH_PACK_PUT};
	greeting *said;
	unsigned char *mine, *all = NULL;
	BERTH_TRY(trade(ctx, r->me, &count, err));
	BERTH_TRY_NEW(tmp, count.n, err, mine);
	put.at = mine;
	BERTH_TRY(trade(ctx, r->me, &put, err));
	r->lost = true; /* up to where all have everything */
	berth_status st = greet(r, (greeting){.bytes = (int64_t)count.n}, &said, tmp, err);
	if (st == BERTH_OK)
		st = trade_bytes(r, mine, said, &all, tmp, err);
	r->lost = st != BERTH_OK && !r->failed;
	return st == BERTH_OK ? take_others(r, said, all, trade, ctx, err) : st;
}

berth_status berth_ranks_trade(berth_ranks *r, berth_trade_fn *trade, void *ctx, berth_arena *tmp,
                               berth_err *err)
{
	if (r->n == 1)
		return BERTH_OK;
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	berth_status st = trade_in(r, trade, ctx, tmp, err);
	berth_arena_reset(tmp, mark);
	return st;
}

berth_status berth_ranks_agree(berth_ranks *r, berth_status st, berth_err *err)
{
	berth_arena tmp = {0};
	greeting *said;
	if (r->n == 1 || r->failed || r->lost)
		return st;
	berth_status agreed = greet(r, (greeting){.status = (int32_t)st}, &said, &tmp, err);
	r->lost = agreed != BERTH_OK && !r->failed;
	berth_arena_free(&tmp);
	return agreed;
}

/* ---- beginning and end ---- */

static berth_status trade_host(void *ctx, int32_t rank, berth_pack *p, berth_err *err)
{
	berth_ranks *r = ctx;
	(void)err;
	berth_pack_bytes(p, r->host[rank], BERTH_HOST_NAME);
	r->host[rank][BERTH_HOST_NAME - 1] = '\0';
	return BERTH_OK;
}

berth_status berth_ranks_open(const berth_wire *wire, berth_arena *mem, berth_ranks *out, berth_err *err)
{
	*out = (berth_ranks){.n = wire->n > 0 ? wire->n : 1, .me = wire->me, .wire = *wire};
	out->lost = out->n > 1; /* the others begin to trade */
	BERTH_TRY_NEW(mem, out->n, err, out->host);
	if (gethostname(out->host[out->me], BERTH_HOST_NAME - 1) != 0)
		strcpy(out->host[out->me], "?");
	out->lost = false;
	return berth_ranks_trade(out, trade_host, out, mem, err);
}

void berth_ranks_close(berth_ranks *r)
{
	if (r->wire.n > 0)
		r->wire.close(r->wire.ctx);
	*r = (berth_ranks){.n = 1};
}

void berth_ranks_deal(int32_t n_ranks, int32_t n, const int32_t *order, const int64_t *work, int64_t *load,
                      int32_t *rank)
{
	memset(load, 0, (size_t)n_ranks * sizeof *load);
	for (int32_t k = 0; k < n; k++) {
		int32_t least = 0;
		for (int32_t i = 1; i < n_ranks; i++)
			least = load[i] < load[least] ? i : least;
		load[least] += work[order[k]];
		rank[order[k]] = least;
	}
}

void berth_pack_bytes(berth_pack *p, void *x, size_t size)
{
	if (size == 0)
		return;
	if (p->how == BERTH_PACK_TAKE) {
		size_t there = size < p->n ? size : p->n;
		p->ended_early |= there < size;
		memcpy(x, p->at, there);
		memset((unsigned char *)x + there, 0, size - there);
		p->at += there;
		p->n -= there;
		return;
	}
	if (p->how == BERTH_PACK_PUT) {
		memcpy(p->at, x, size);
		p->at += size;
	}
	p->n += size;
}
