/* Lists of indices put in order: sorted by what they stand for, in lists by key, as a heap, and joined
 * into sets. */
#pragma once

#include "arena.h"

/* < 0, 0, > 0: a stands before b, beside it, behind it. */
typedef int berth_compare(const void *ctx, int32_t a, int32_t b);

/* Sort x[n], equals in the order that they had; scratch[n]. O(n) where it is sorted, else O(n log n). */
void berth_sort(int32_t *x, size_t n, int32_t *scratch, berth_compare *compare, const void *ctx);

/* For lists made by hand: off [n + 1] has the length of list i at i + 1, and becomes where each begins. Who
 * fills the lists moves that to where they end; and back again. */
void berth_csr_begin(int32_t *off, size_t n);
void berth_csr_filled(int32_t *off, size_t n);

/* For every key 0 .. n_keys - 1 the values of the items that have it, in the order of the items.
 *   key    [n_items] in 0 .. n_keys - 1
 *   value  [n_items]; NULL: an item's value is its index
 *   off    out [n_keys + 1]: the list of key k is (*list)[(*off)[k]] .. (*list)[(*off)[k + 1] - 1]
 *   list   out [n_items]
 * Both live in mem. Fails: BERTH_ENOMEM. O(n_keys + n_items). */
berth_status berth_csr_new(int32_t n_keys, int32_t n_items, const int32_t *key, const int32_t *value,
                           berth_arena *mem, int32_t **off, int32_t **list, berth_err *err);

/* A binary heap in an array of the caller's: its first element goes before all others. It is inlined where
 * the size and the comparison are constants. Does *a go before *b? */
typedef bool berth_heap_before(const void *ctx, const void *a, const void *b);

/* Put a copy of *item into the heap of n elements of so many bytes, which has room for one more. It is not an
 * element. Of equals the one that was there stays further up. O(log n). */
static inline void berth_heap_push(void *heap, size_t n, size_t size, const void *item,
                                   berth_heap_before *before, const void *ctx)
{
	char *h = heap;
	size_t i = n;
	for (; i > 0 && before(ctx, item, h + (i - 1) / 2 * size); i = (i - 1) / 2)
		memcpy(h + i * size, h + (i - 1) / 2 * size, size);
	memcpy(h + i * size, item, size);
}

/* Take the first of n > 0 elements out; the caller has read it. O(log n). */
static inline void berth_heap_pop(void *heap, size_t n, size_t size, berth_heap_before *before,
                                  const void *ctx)
{
	char *h = heap;
	const char *last = h + (n - 1) * size;
	size_t i = 0;
	for (size_t c; (c = 2 * i + 1) < n - 1; i = c) {
		c += c + 1 < n - 1 && before(ctx, h + (c + 1) * size, h + c * size);
		if (!before(ctx, h + c * size, last))
			break;
		memcpy(h + i * size, h + c * size, size);
	}
	memmove(h + i * size, last, size);
}

/* Disjoint sets of indices: a forest in which the lowest index of each set stands on top. up [n]: at first
 * up[i] = i. */
static inline int32_t berth_union_top(int32_t *up, int32_t i)
{
	while (up[i] != i)
		i = up[i] = up[up[i]];
	return i;
}

static inline void berth_union_join(int32_t *up, int32_t a, int32_t b)
{
	a = berth_union_top(up, a);
	b = berth_union_top(up, b);
	up[a < b ? b : a] = a < b ? a : b;
}
