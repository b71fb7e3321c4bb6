/* Sorting of indices by what they stand for. */
#ifndef BERTH_SORT_H
#define BERTH_SORT_H

#include <stddef.h>
#include <stdint.h>

/* < 0, 0, > 0: a stands before b, beside it, behind it. */
typedef int berth_compare(const void *ctx, int32_t a, int32_t b);

/* Sort x[n], equals in the order that they had; scratch[n]. O(n) where it is sorted, else O(n log n). */
void berth_sort(int32_t *x, size_t n, int32_t *scratch, berth_compare *compare, const void *ctx);

#endif
