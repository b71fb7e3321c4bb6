/* The policy that comes with berth; see policy_builtin.h. */
#include "policy_builtin.h"

#include <string.h>

berth_status berth_policy_builtin(berth_arena *mem, berth_policy_file *out, berth_err *err)
{
	return berth_policy_file_decode("the built-in policy", berth_policy_zero_shot,
	                                berth_policy_zero_shot_size, mem, out, err);
}

berth_status berth_policy_builtin_is(const char *digest, berth_arena *tmp, bool *yes, berth_err *err)
{
	berth_policy_file f;
	char own[65];
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	berth_status st = berth_policy_builtin(tmp, &f, err);
	if (st == BERTH_OK) {
		berth_policy_file_digest(&f, own);
		*yes = strcmp(own, digest) == 0;
	}
	berth_arena_reset(tmp, mark);
	return st;
}
