/* A binary heap in an array of the caller's: its first element goes before all others. It is inlined where
 * the size and the comparison are constants. */
#ifndef BERTH_HEAP_H
#define BERTH_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Does *a go before *b? */
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

#endif
