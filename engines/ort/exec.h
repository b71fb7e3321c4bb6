/* Running tasks on workers. Each device has one worker, pinned to a core. A worker runs its tasks in the
 * order in which they are listed, each as soon as the tensors that it reads are there. There are two
 * implementations: threads, and processes on several hosts (hosts.h). */
#pragma once

#include "arena.h"

enum { EXEC_MAX_WORKERS = 64 };

typedef struct exec_task {
	int32_t worker;
	int32_t n_in, n_out;
	/* Buffers read and written. Each buffer is written by one task, listed before those that read it. */
	const int32_t *in, *out;
	/* Called on the worker. began: exec_now at the start of the whole run. */
	void (*run)(void *ctx, double began);
	void *ctx;
	/* What run writes beside the buffers. Where workers are processes it is told to all of them. */
	void *told;
	size_t told_bytes;
} exec_task;

typedef struct exec_buffer {
	void *data;
	size_t bytes;
	int32_t producer;          /* task; -1: there from the start */
	bool floats;               /* numbers of 32 bits, which may travel with less */
} exec_buffer;

typedef struct exec_kind {
	/* n workers on cores[n]. Fails: BERTH_EIO (no thread), BERTH_ENOMEM. */
	berth_status (*open)(int32_t n, const int32_t *cores, berth_arena *mem, void **ex, berth_err *err);
	void (*close)(void *ex);
	/* Can the tasks have these buffers? NULL: any. Fails: BERTH_EFORMAT. */
	berth_status (*admit)(const exec_buffer *buffers, int32_t n, berth_err *err);
	/* Run all once; returns when all are done. */
	berth_status (*run)(void *ex, const exec_task *tasks, int32_t n, exec_buffer *buffers,
	                    berth_err *err);
} exec_kind;

extern const exec_kind exec_threads;

/* Seconds of a monotonic clock; CPU seconds of this thread. */
double exec_now(void);
double exec_cpu(void);
