/* A file of tensors changed by a script, and sealed again: what is behind the digest is reached however the
 * file was changed. A script is a few bytes: of each edit its kind, then what it needs. */
#pragma once

#include "safetensors.h"

/* from, edited by script[size], as the bytes of a file with the right digest, in mem. NULL: the edits make no
 * file (two tensors of one name). */
const void *edit_tensors(const safetensors_file *from, const uint8_t *script, size_t size, berth_arena *mem,
                         size_t *out_size);
