/* The policy that comes with berth: checkpoints/zero-shot.safetensors, built into the library. Its card
 * stands beside it. */
#ifndef BERTH_POLICY_BUILTIN_H
#define BERTH_POLICY_BUILTIN_H

#include "policy_file.h"

/* The file's bytes; made by the build. */
extern const unsigned char berth_policy_zero_shot[];
extern const size_t berth_policy_zero_shot_size;

/* Read it, into mem. Fails: BERTH_ENOMEM. */
berth_status berth_policy_builtin(berth_arena *mem, berth_policy_file *out, berth_err *err);

/* Is it the one whose weights have this digest (berth_policy_file_digest)? Fails: BERTH_ENOMEM. */
berth_status berth_policy_builtin_is(const char *digest, berth_arena *tmp, bool *yes, berth_err *err);

#endif
