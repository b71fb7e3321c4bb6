/* Work on a stranger's bytes, in a child process that can do nothing else: no file, socket, process or
 * signal, bounded memory and time. A fault of a reader that somebody makes use of stays in there. What comes
 * back is bytes, which the caller has to doubt as it would doubt the file.
 *
 * By seccomp filters of Linux on x86-64 and arm64. It is not apart.h's child, which is for libraries that
 * cannot be trusted to behave: that one may do what this process may. */
#pragma once

#include "arena.h"

typedef struct berth_sandbox {
	int64_t memory_bytes; /* address space beyond what the caller has */
	int32_t cpu_s;        /* processor time */
	int64_t answer_bytes; /* of what comes back */
} berth_sandbox;

/* What serves any model that berth was tried with. */
#define BERTH_SANDBOX_MEMORY ((int64_t)4 << 30)
#define BERTH_SANDBOX_ANSWER ((int64_t)2 << 30)
#define BERTH_SANDBOX_CPU_S 120

/* What runs in the child, with a copy of the caller's memory. It may allocate (mem is its own), read the
 * clock and no more; its answer goes to *data [*size]. */
typedef berth_status berth_sandbox_work(void *ctx, berth_arena *mem, const char **data, size_t *size,
                                        berth_err *err);

/* Run work(ctx) in such a child. Its answer comes into mem, with a closing 0 not counted in *size. *data and
 * *size may be NULL. name stands in messages: the file that is read. Files are opened or mapped before.
 * Fails: as work does, with its message; BERTH_EIO (the child did what it may not, crashed, took too long or
 * answered too much; this system cannot do it), BERTH_ENOMEM. About a millisecond and
 * the way of the bytes through a pipe. */
berth_status berth_sandbox_run(const berth_sandbox *s, const char *name, berth_sandbox_work *work, void *ctx,
                               berth_arena *mem, const char **data, size_t *size, berth_err *err);

typedef enum berth_sandbox_state {
	BERTH_SANDBOX_ABSENT,  /* this build has none: another system, or sanitizers */
	BERTH_SANDBOX_REFUSED, /* the kernel, or a container, has no seccomp filters */
	BERTH_SANDBOX_WORKS
} berth_sandbox_state;

/* Can there be one? A system call. */
berth_sandbox_state berth_sandbox_there(void);

/* The walls; sandbox.c alone calls it. From here on this process may allocate memory that is not
 * executable, write to `fd`, read the clock, ask how much memory there is, return from signals and end. The
 * kernel ends it at any other system call (SIGSYS). False: this system cannot do it. */
bool sandbox_close_walls(int fd);
