/* What numbers an operator computes in, and in which a device that lacks them computes instead. */
#pragma once

#include "arena.h"

typedef enum berth_precision {
	BERTH_PRECISION_NONE, /* not said: read as f32 */
	BERTH_F64,
	BERTH_F32,
	BERTH_TF32, /* stored as f32 */
	BERTH_F16,
	BERTH_BF16,
	BERTH_F8,
	BERTH_INT8,
	BERTH_INT4,
	BERTH_W8A16, /* weights of 8 bits, arithmetic in f16 */
	BERTH_W4A16, /* weights of 4 bits, arithmetic in f16 */
	BERTH_N_PRECISIONS
} berth_precision;

/* "f32", ...; "" where nothing is said. */
const char *berth_precision_name(berth_precision p);
/* Fails: BERTH_EINVAL, naming the nearest. */
berth_status berth_precision_find(const char *name, berth_precision *out, berth_err *err);
/* Bits that a number (of the weights, where these are apart) is stored in. */
int berth_precision_bits(berth_precision p);
/* What p is computed in where a device lacks it: the next one of a chain that ends at f32, whose own is none.
 * Whole numbers go to f16, as engines unpack them. */
berth_precision berth_precision_fallback(berth_precision p);
