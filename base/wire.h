/* A way for bytes between processes, perhaps on several hosts, that a launcher (mpirun) has started together:
 * ranks, as MPI has them. */
#ifndef BERTH_WIRE_H
#define BERTH_WIRE_H

#include "arena.h"

#include <stdint.h>

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

#endif
