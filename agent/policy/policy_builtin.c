/* The policy that comes with berth; see policy_builtin.h. */
#include "policy_builtin.h"

berth_status berth_policy_builtin(berth_arena *mem, berth_policy_file *out, berth_err *err)
{
	return berth_policy_file_decode("the built-in policy", berth_policy_zero_shot,
	                                berth_policy_zero_shot_size, mem, out, err);
}
