/* See fail_each.h. */
#include "fail_each.h"

#include "support.h"

#include <string.h>

void support_fails_each(fallible *work, void *ctx, long step, const char *file, int line)
{
	berth_status st = BERTH_ENOMEM;
	for (long k = 0; st != BERTH_OK; k += step) {
		failing_allocator f;
		berth_arena mem, tmp;
		berth_err err = {0};
		failing_allocator_init(&f, k);
		berth_arena_init(&mem, &f.hook);
		berth_arena_init(&tmp, &f.hook);
		st = work(ctx, &mem, &tmp, &err);
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
		bool told = st == BERTH_ENOMEM && err.code == st && strstr(err.msg, "memory");
		if ((st == BERTH_OK && k > 0 && f.live == 0) || (told && f.live == 0))
			continue;
		print_error("allocation %ld fails: status %d, '%s', %ld blocks left\n", k, (int)st, err.msg,
		            f.live);
		_fail(file, line);
	}
}
