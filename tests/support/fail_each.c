/* See fail_each.h. */
#include "fail_each.h"

#include "support.h"

#include <string.h>

/* Is the k-th failure told? *more: was there one? Children of the process may have it to themselves. */
static bool is_told(fallible *work, void *ctx, long k, bool once, bool *more)
{
	failing_allocator f;
	berth_arena mem, tmp;
	berth_err err = {0};
	failing_allocator_init(&f, k);
	f.once = once;
	berth_arena_init(&mem, &f.hook);
	berth_arena_init(&tmp, &f.hook);
	berth_status st = work(ctx, &mem, &tmp, &err);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	*more = st != BERTH_OK;
	bool told = *more ? st == BERTH_ENOMEM && err.code == st && strstr(err.msg, "memory")
	                  : f.calls <= k && k > 0;
	if (!told || f.live)
		print_error("allocation %ld fails%s: status %d, '%s', %ld blocks left\n", k,
		            once ? " once" : "", (int)st, err.msg, f.live);
	return told && !f.live;
}

void support_fails_each(fallible *work, void *ctx, long step, const char *file, int line)
{
	for (int once = 0; once < 2; once++) {
		bool more = true;
		for (long k = 0; more; k += step)
			if (!is_told(work, ctx, k, once, &more))
				_fail(file, line);
	}
}
