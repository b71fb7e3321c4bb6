/* Arrays whose length stands elsewhere: copied, cleared, and walked part by part; and whole numbers. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Use BERTH_COPY and BERTH_CLEAR. */
static inline void *berth_copy(void *to, const void *from, size_t n_bytes)
{
	return n_bytes ? memmove(to, from, n_bytes) : to;
}

static inline void *berth_clear(void *to, size_t n_bytes)
{
	return n_bytes ? memset(to, 0, n_bytes) : to;
}

/* n elements of one size, which may overlap; with n = 0 both may be NULL. It is the first of them. */
#define BERTH_COPY(to, from, n) \
	berth_copy((to), (from), \
	           (size_t)(n) * sizeof *(to) * sizeof(char[sizeof *(to) == sizeof *(from) ? 1 : -1]))

/* n elements of 0. */
#define BERTH_CLEAR(to, n) berth_clear((to), (size_t)(n) * sizeof *(to))

/* Row i of a table with rows of n elements. */
#define BERTH_ROW(table, i, n) ((table) + (size_t)(i) * (size_t)(n))

/* A loop over part k of what offsets cut into parts: i from off[k] up to off[k + 1]. */
#define BERTH_EACH(i, off, k) \
	for (int32_t i = (off)[k], end_of_##i = (off)[(k) + 1]; i < end_of_##i; i++)

static inline int64_t berth_max(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static inline int64_t berth_min(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* -1, 0, 1: a is the smaller, both are equal, a is the larger. */
#define BERTH_COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

/* The greatest that divides both; of 0 and b it is b. */
static inline int64_t berth_common_divisor(int64_t a, int64_t b)
{
	for (int64_t rest; b; a = b, b = rest)
		rest = a % b;
	return a;
}
