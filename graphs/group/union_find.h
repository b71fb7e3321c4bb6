/* Disjoint sets of indices: a forest in which the lowest index of each set stands on top. */
#ifndef BERTH_UNION_FIND_H
#define BERTH_UNION_FIND_H

#include <stdint.h>

/* up [n]: at first up[i] = i. */
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

#endif
