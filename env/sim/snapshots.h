/* Snapshots of a simulation between two instants: taken, put back, and compared with where another run is. */
#pragma once

#include "sim_state.h"

typedef struct live_move {
	int32_t id;
	transfer move;
} live_move;

typedef struct snapshot {
	int64_t now;
	uint64_t instant;
	int32_t n_ended, n_moves, n_heap, n_pieces, n_ready;
	int32_t n_way, n_live; /* transfers under way; with those that were delivered and still hold memory */
	int32_t n_ends;        /* logged before it */
	size_t n_hops;         /* the same */
	int32_t *waits;        /* of that block of the simulator what it follows */
	device *dev;           /* [n_devs] */
	channel *chan;         /* [n_channels] */
	int64_t *sums;         /* [n_sums] of the simulator */
	int64_t *mem_bytes;    /* [resources] where memory is followed */

	/* in the store, one behind the other */
	event *heap;       /* [n_heap] */
	pool_piece *piece; /* [n_pieces] under way in pools */
	live_move *live;   /* [n_live] */
	uint64_t *ready;   /* [n_ready] device after device */
} snapshot;

/* Those of one run. */
typedef struct snapshots {
	berth_sim *sim;
	int32_t most, n;
	snapshot *at;        /* [most + 1] by time; behind the n-th the end of the run */
	int64_t *peak_bytes; /* [most + 2][resources] row i since snapshot i - 1, or the beginning */
	unsigned char *store;
	size_t store_size, store_used;
} snapshots;

/* Room for snapshots of sim, in mem; none: for the end of a run alone. Fails: BERTH_ENOMEM. */
berth_status snapshots_new(berth_sim *sim, bool none, berth_arena *mem, snapshots *out, berth_err *err);

/* The simulator's state as snapshot q->n, which is not counted yet. Its peaks are those since the snapshot
 * before. False: the store has no room. */
bool snapshots_take(snapshots *q);

/* Keep the first n. */
void snapshots_keep(snapshots *q, int32_t n);

/* Index of the last snapshot before time; -1: none. */
int32_t snapshots_before(const snapshots *q, int64_t time);

/* Put the simulator into the state of k, but for sums and bytes held. Its ready lists have their room, and
 * it knows whether it follows memory. */
void snapshot_restore(berth_sim *s, const snapshot *k);

/* Is the simulator's state that of k, but for the time, sums and memory? */
bool snapshot_is_like(const berth_sim *s, const snapshot *k);
