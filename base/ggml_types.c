/* Types of ggml with their blocks. Ids are those in files; ids between that are missing were used by types
 * that are gone. */
#include "ggml_types.h"

#include <ctype.h>

enum { F32 = 0, F16 = 1, F64 = 28, BF16 = 30 };

static const ggml_type types[] = {
	[F32] = {"F32", 1, 4},       [F16] = {"F16", 1, 2},       [2] = {"Q4_0", 32, 18},
	[3] = {"Q4_1", 32, 20},      [6] = {"Q5_0", 32, 22},      [7] = {"Q5_1", 32, 24},
	[8] = {"Q8_0", 32, 34},      [9] = {"Q8_1", 32, 36},      [10] = {"Q2_K", 256, 84},
	[11] = {"Q3_K", 256, 110},   [12] = {"Q4_K", 256, 144},   [13] = {"Q5_K", 256, 176},
	[14] = {"Q6_K", 256, 210},   [15] = {"Q8_K", 256, 292},   [16] = {"IQ2_XXS", 256, 66},
	[17] = {"IQ2_XS", 256, 74},  [18] = {"IQ3_XXS", 256, 98}, [19] = {"IQ1_S", 256, 50},
	[20] = {"IQ4_NL", 32, 18},   [21] = {"IQ3_S", 256, 110},  [22] = {"IQ2_S", 256, 82},
	[23] = {"IQ4_XS", 256, 136}, [24] = {"I8", 1, 1},         [25] = {"I16", 1, 2},
	[26] = {"I32", 1, 4},        [27] = {"I64", 1, 8},        [F64] = {"F64", 1, 8},
	[29] = {"IQ1_M", 256, 56},   [BF16] = {"BF16", 1, 2},     [34] = {"TQ1_0", 256, 54},
	[35] = {"TQ2_0", 256, 66},   [39] = {"MXFP4", 32, 17},    [40] = {"NVFP4", 64, 36}};

const ggml_type *ggml_type_of(uint32_t id)
{
	return id < sizeof types / sizeof *types && types[id].name ? &types[id] : NULL;
}

static int same(const char *upper, const char *lower)
{
	while (*upper && *lower == tolower((unsigned char)*upper)) {
		upper++;
		lower++;
	}
	return *upper == *lower;
}

const ggml_type *ggml_type_named(const char *name)
{
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (types[i].name && same(types[i].name, name))
			return &types[i];
	return NULL;
}

berth_precision ggml_precision(const ggml_type *type)
{
	switch (type - types) {
	case F32:
		return BERTH_F32;
	case F16:
		return BERTH_F16;
	case F64:
		return BERTH_F64;
	case BF16:
		return BERTH_BF16;
	default:
		return type->bytes * 8 > type->elements * 5 ? BERTH_W8A16 : BERTH_W4A16;
	}
}

double ggml_bytes(const ggml_type *type, int64_t elements, double rows)
{
	return (double)((elements + type->elements - 1) / type->elements) * type->bytes * rows;
}
