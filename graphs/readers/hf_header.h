/* The header of a safetensors file, as models are stored in: names, types and shapes of tensors. Weights are
 * not touched; a file that ends behind its header is enough. (base/safetensors.h reads files of berth's own,
 * with their data and a digest.) */
#ifndef BERTH_HF_HEADER_H
#define BERTH_HF_HEADER_H

#include "arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HF_RANK = 4 };

typedef struct hf_tensor {
	const char *name; /* gone when the visit ends */
	int32_t n_dims;
	int64_t dim[HF_RANK]; /* 1 from n_dims on */
	int32_t elem_bytes;
	int64_t bytes; /* at most 2^53 */
} hf_tensor;

/* Does data[size] begin as a safetensors file does? */
bool hf_header_is(const char *data, size_t size);

/* Visit the tensors in the order of the header. Forwards what visit fails with. Fails: BERTH_EFORMAT,
 * BERTH_ENOMEM. */
berth_status hf_header_each(const char *file, const char *data, size_t size,
                            berth_status (*visit)(void *ctx, const hf_tensor *t, berth_err *err), void *ctx,
                            berth_err *err);

#endif
