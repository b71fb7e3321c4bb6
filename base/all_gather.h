/* All-gather between processes, perhaps on several hosts, that do one thing together: ranks, as MPI has them.
 * All make the same steps; what takes long is dealt out, and what came of it is traded, so that all know the
 * same afterwards.
 *
 * * Where one fails, each other learns of it in its next trade, with its name and its message, and fails
 * alike. So nobody waits for one that has given up. One that is killed is the business of who started it:
 * mpirun ends the others. */
#pragma once

#include "arena.h"

#include <stdatomic.h>

/* ---- the transport: MPI, where a launcher (mpirun) has started the processes together ---- */

/* How bytes get from rank to rank. */
typedef struct berth_wire {
	int32_t n, me;
	/* Everybody's bytes to everybody: mine [size[me]], all [sum of size] in the order of ranks. All call
	 * it with the same sizes, 2 GiB in all at most. */
	void (*gather)(void *ctx, const void *mine, const int64_t *size, void *all);
	/* After the last gather. */
	void (*close)(void *ctx);
	/* End all ranks now, in the middle of whatever they do. Does not return. */
	void (*stop)(void *ctx, int exit_code);
	void *ctx;
} berth_wire;

/* The wire to those that an MPI launcher started with this process, in mem; one of no ranks (n 0) where none
 * did. Fails: BERTH_EUNSUPPORTED (there are others, and this berth was built without MPI), BERTH_ENOMEM,
 * BERTH_EIO. */
berth_status berth_wire_open(berth_arena *mem, berth_wire *out, berth_err *err);

/* ---- bytes ---- */

/* Plain data as bytes and back again, for another process of the same program on the same kind of machine.
 * One function says what stands there; it runs to count, to put and to take. */
typedef enum berth_pack_how { BERTH_PACK_COUNT, BERTH_PACK_PUT, BERTH_PACK_TAKE } berth_pack_how;

typedef struct berth_pack {
	berth_pack_how how;
	unsigned char *at;
	size_t n;         /* bytes counted or put so far; left to be taken */
	bool ended_early; /* more was taken than there was; those are zeros */
} berth_pack;

/* Count, put or take `size` bytes at x. */
void berth_pack_bytes(berth_pack *p, void *x, size_t size);

#define BERTH_PACK(p, x) berth_pack_bytes((p), &(x), sizeof(x))

/* ---- ranks ---- */

enum { BERTH_HOST_NAME = 64 };

/* All zeros but n = 1: one rank alone. */
typedef struct berth_ranks {
	int32_t n, me;
	berth_wire wire;
	char (*host)[BERTH_HOST_NAME]; /* [n] */
	const atomic_int *cancel;      /* of this rank; NULL: none */
	bool cancelled;      /* by the cancel of some rank: all agree on it, from the last trade on */
	bool failed;         /* some rank has, and all have told so: there are no trades any more */
	bool lost;           /* this one cannot go on within a trade; the others wait: stop them */
	double waited_cpu_s; /* CPU seconds that trades took */
} berth_ranks;

/* Ranks over a wire, and their hosts; one where wire->n is 0. Fails: BERTH_ENOMEM; as berth_ranks_agree. */
berth_status berth_ranks_open(const berth_wire *wire, berth_arena *mem, berth_ranks *out, berth_err *err);
void berth_ranks_close(berth_ranks *r);

/* What rank `rank` has made, its bytes counted, put, or taken in where that is another one. */
typedef berth_status berth_trade_fn(void *ctx, int32_t rank, berth_pack *p, berth_err *err);

/* What each rank has made to all others. Nothing with one rank. O(bytes of all). tmp is scratch. Fails where
 * some rank has failed (see above); BERTH_EUNSUPPORTED (over 2 GiB); BERTH_ENOMEM; as trade does, which the
 * others learn in the next one. */
berth_status berth_ranks_trade(berth_ranks *r, berth_trade_fn *trade, void *ctx, berth_arena *tmp,
                               berth_err *err);

/* All ranks come here with what they have: BERTH_OK where all are well. Else all get the message of the first
 * that is not, and its code: their own where all have the same. */
berth_status berth_ranks_agree(berth_ranks *r, berth_status st, berth_err *err);

/* Has this been cancelled, in the eyes of all? */
bool berth_ranks_cancelled(const berth_ranks *r);

/* Which rank does which of n items of work: each of order [n], the next to who has least so far, ties to the
 * lower rank. load [n_ranks] is scratch, set anew. O(n n_ranks). */
void berth_ranks_deal(int32_t n_ranks, int32_t n, const int32_t *order, const int64_t *work, int64_t *load,
                      int32_t *rank);
