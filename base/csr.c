/* Lists by key; see csr.h. */
#include "csr.h"

berth_status berth_csr_new(int32_t n_keys, int32_t n_items, const int32_t *key, const int32_t *value,
                           berth_arena *mem, int32_t **off, int32_t **list, berth_err *err)
{
	int32_t *start, *out, *fill;
	BERTH_TRY(BERTH_NEW(mem, start, (size_t)n_keys + 2, err));
	BERTH_TRY(BERTH_NEW(mem, out, n_items, err));
	/* While a list is filled, its end stands where the next one's start will. */
	fill = start + 1;
	for (int32_t i = 0; i < n_items; i++)
		fill[key[i] + 1]++;
	for (int32_t k = 0; k < n_keys; k++)
		fill[k + 1] += fill[k];
	for (int32_t i = 0; i < n_items; i++)
		out[fill[key[i]]++] = value ? value[i] : i;
	*off = start;
	*list = out;
	return BERTH_OK;
}
