/* Work that runs out of memory at each of its allocations in turn. */
#ifndef FAIL_EACH_H
#define FAIL_EACH_H

#include "arena.h"

/* What is tried: it may allocate from both arenas, which are empty. */
typedef berth_status fallible(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err);

/* Runs work with its k-th allocation failing, for k = 0, step, 2 step, ... until nothing is left to fail;
 * first with all behind it failing, too, then alone. Passes if each failure is BERTH_ENOMEM with its message,
 * nothing stays allocated, and some run failed. */
#define assert_fails_each(work, ctx, step) support_fails_each((work), (ctx), (step), __FILE__, __LINE__)
void support_fails_each(fallible *work, void *ctx, long step, const char *file, int line);

#endif
