/* Processes on several hosts that send each other bytes. There are two implementations: MPI where it was
 * found at build, and one that stands in. One thread uses it. Where one process is lost the others are ended,
 * by who started them (hosts_start.c). */
#pragma once

#include "arena.h"

typedef struct mesh mesh;

enum { MESH_MOST_BYTES = 1 << 30, MESH_TAGS = 32768 };

/* Join the others. Fails: BERTH_EIO (not built in), BERTH_ENOMEM. */
berth_status mesh_open(berth_arena *mem, mesh **out, berth_err *err);
/* All of them leave together. */
void mesh_close(mesh *m);
int32_t mesh_self(const mesh *m);
int32_t mesh_size(const mesh *m);

/* Ends all processes: those who wait for this one would wait for ever. */
_Noreturn void mesh_give_up(const char *why);

/* Begin a message. data [bytes <= MESH_MOST_BYTES] is left alone until it is over. Messages from one process
 * to another with one tag (0 .. MESH_TAGS - 1) arrive in their order. Gives up where memory runs out. */
void mesh_send(mesh *m, int32_t to, int32_t tag, const void *data, size_t bytes);
void mesh_receive(mesh *m, int32_t from, int32_t tag, void *data, size_t bytes);
/* Messages that were begun and are not over. */
int32_t mesh_open_messages(const mesh *m);
/* How many are over since the last call; done(ctx, tag, receive) is told of each. Does not wait. */
int32_t mesh_progress(mesh *m, void (*done)(void *ctx, int32_t tag, bool receive), void *ctx);

/* What follows is made of these. */

/* data[bytes] of `from` is everybody's from now on. */
void mesh_tell(mesh *m, int32_t from, void *data, size_t bytes);
/* All have the same status from now on, and its message: BERTH_OK where all had, else the first other one
 * that says why. */
berth_status mesh_agree(mesh *m, berth_status st, berth_err *err);
/* An instant for all to start, not far from now: seconds of each one's own clock (exec_now). Clocks are
 * compared by the quickest of some round trips (Cristian 1989). No message may be open. */
double mesh_instant(mesh *m);
