/* The table of precisions: name, bits, what stands in for each. A device that has a peak for none of a chain
 * computes at that of f32. */
#include "precision.h"

#include "text.h"

static const struct {
	const char *name;
	int bits;
	berth_precision fallback;
} row[BERTH_N_PRECISIONS] = {
	[BERTH_PRECISION_NONE] = {"", 32, BERTH_F32},
	[BERTH_F64] = {"f64", 64, BERTH_F32},
	[BERTH_F32] = {"f32", 32, BERTH_PRECISION_NONE},
	[BERTH_TF32] = {"tf32", 32, BERTH_F32},
	[BERTH_F16] = {"f16", 16, BERTH_F32},
	[BERTH_BF16] = {"bf16", 16, BERTH_F32},
	[BERTH_F8] = {"f8", 8, BERTH_F16},
	[BERTH_INT8] = {"int8", 8, BERTH_F16},
	[BERTH_INT4] = {"int4", 4, BERTH_INT8},
	[BERTH_W8A16] = {"w8a16", 8, BERTH_F16},
	[BERTH_W4A16] = {"w4a16", 4, BERTH_F16},
};

const char *berth_precision_name(berth_precision p)
{
	return row[p].name;
}

int berth_precision_bits(berth_precision p)
{
	return row[p].bits;
}

berth_precision berth_precision_fallback(berth_precision p)
{
	return row[p].fallback;
}

berth_status berth_precision_find(const char *name, berth_precision *out, berth_err *err)
{
	const char *names[BERTH_N_PRECISIONS];
	int32_t at;
	for (int i = 1; i < BERTH_N_PRECISIONS; i++)
		names[i - 1] = row[i].name;
	BERTH_TRY(berth_text_find(names, BERTH_N_PRECISIONS - 1, name, "precision", "", &at, err));
	*out = (berth_precision)(at + 1);
	return BERTH_OK;
}
