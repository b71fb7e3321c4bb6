/* Work in a process of its own: for libraries that keep global state, install signal handlers, print, hang,
 * or end the process that they run in. */
#pragma once

#include "threads.h"

#include <sys/types.h>

/* Memory that the work writes its result to. */
typedef struct berth_apart_block {
	void *data;
	size_t bytes;
} berth_apart_block;

/* Run work(ctx) in a child with a copy of the caller's memory, and bring back the blocks as it left them.
 * The child prints and reads nothing, leaves no core file, has no file open and ends when this process does.
 * It is killed when the patience is over (NULL: never is). What it started goes with it, as a group of
 * processes of its own, which Ctrl-C does not reach: berth_leftovers_clear does. *answered: false where the
 * child ended before its work did; the blocks are undefined then. Fails: as work does (the blocks are then as
 * they were), BERTH_ENOMEM (berth_apart_no_memory, too), BERTH_EIO (no process, or no way to hear of it, or
 * to have it end with this one). */
berth_status berth_apart(const berth_patience *patience, berth_status (*work)(void *ctx, berth_err *err),
                         void *ctx, int n_blocks, const berth_apart_block *blocks, bool *answered,
                         berth_err *err);

/* The same, for limit_s seconds at most: then the child is killed. A child that the kernel keeps in spite of
 * that is left behind. *how tells what came of it. */
typedef enum berth_apart_end { BERTH_APART_ANSWERED, BERTH_APART_ENDED, BERTH_APART_LATE } berth_apart_end;
berth_status berth_apart_within(double limit_s, berth_status (*work)(void *ctx, berth_err *err), void *ctx,
                                int n_blocks, const berth_apart_block *blocks, berth_apart_end *how,
                                berth_err *err);

/* The same as both, with *by_signal: the signal that ended the child, 0: none did, -1: this process could not
 * hear of it; left as it is where no child was begun. end_s of until is set. */
berth_status berth_apart_until(const berth_patience *until, berth_status (*work)(void *ctx, berth_err *err),
                               void *ctx, int n_blocks, const berth_apart_block *blocks,
                               berth_apart_end *how, int *by_signal, berth_err *err);

/* For work in the child, where a library that runs out of memory would end the process: it leaves, and the
 * caller's berth_apart fails with BERTH_ENOMEM. */
_Noreturn void berth_apart_no_memory(void);

/* In a child, first of all: it ends when the thread that made it ends, that is at the latest with the process
 * `parent`. false: that is gone already, or the system has no such thing. */
bool berth_apart_end_with(pid_t parent);

/* A pipe for a child's answer. Programs that other threads start do not inherit it. 0, or -1 and errno. */
int berth_apart_pipe(int fd[2]);
