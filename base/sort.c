/* Sorting by merging, from runs of one on, which keeps the order of equals; and lists by key, by counting. */
#include "sort.h"

static bool is_sorted(const int32_t *x, size_t n, berth_compare *compare, const void *ctx)
{
	for (size_t i = 1; i < n; i++)
		if (compare(ctx, x[i - 1], x[i]) > 0)
			return false;
	return true;
}

/* The sorted halves x[0, mid) and x[mid, n). */
static void merge(int32_t *x, size_t mid, size_t n, int32_t *scratch, berth_compare *compare, const void *ctx)
{
	size_t i = 0, k = mid, to = 0;
	memcpy(scratch, x, mid * sizeof *x);
	while (i < mid && k < n)
		x[to++] = compare(ctx, scratch[i], x[k]) <= 0 ? scratch[i++] : x[k++];
	memcpy(x + to, scratch + i, (mid - i) * sizeof *x);
}

void berth_sort(int32_t *x, size_t n, int32_t *scratch, berth_compare *compare, const void *ctx)
{
	if (is_sorted(x, n, compare, ctx))
		return;
	for (size_t run = 1; run < n; run *= 2)
		for (size_t at = 0; at + run < n; at += 2 * run) {
			size_t end = n - at < 2 * run ? n - at : 2 * run;
			if (compare(ctx, x[at + run - 1], x[at + run]) > 0)
				merge(x + at, run, end, scratch, compare, ctx);
		}
}

void berth_csr_begin(int32_t *off, size_t n)
{
	for (size_t i = 0; i < n; i++)
		off[i + 1] += off[i];
}

void berth_csr_filled(int32_t *off, size_t n)
{
	memmove(off + 1, off, n * sizeof *off);
	off[0] = 0;
}

berth_status berth_csr_new(int32_t n_keys, int32_t n_items, const int32_t *key, const int32_t *value,
                           berth_arena *mem, int32_t **off, int32_t **list, berth_err *err)
{
	int32_t *start, *out, *fill;
	BERTH_TRY_NEW(mem, (size_t)n_keys + 2, err, start);
	BERTH_TRY_NEW(mem, n_items, err, out);
	/* While a list is filled, its end stands where the next one's start will. */
	fill = start + 1;
	for (int32_t i = 0; i < n_items; i++)
		fill[key[i] + 1]++;
	berth_csr_begin(fill, (size_t)n_keys);
	for (int32_t i = 0; i < n_items; i++)
		out[fill[key[i]]++] = value ? value[i] : i;
	*off = start;
	*list = out;
	return BERTH_OK;
}
