/* Which element of a list has a name: a hash table of indices alone, 4 bytes a slot; the names stay in the
 * list, which tells them. */
#pragma once

#include "arena.h"

typedef const char *berth_name_of(const void *list, int32_t i);

/* Open addressing, at most three quarters full, in parts that stay when it grows: the list's names are put
 * in anew. */
typedef struct berth_name_index {
	berth_arena *mem;
	berth_name_of *name;
	const void *list;
	int32_t **part; /* of slots: index + 1; 0: free */
	size_t n_parts, cap, len;
} berth_name_index;

/* list is borrowed, and what name tells of an index that was added must not change. Elements 0, 1, ... are
 * added in order. */
void berth_name_index_init(berth_name_index *x, berth_arena *mem, berth_name_of *name, const void *list);

/* Room for n names, where none is in yet. Fails: BERTH_ENOMEM. */
berth_status berth_name_index_reserve(berth_name_index *x, size_t n, berth_err *err);

/* Empty, and without a name from here on; its memory goes back to the system. */
void berth_name_index_drop(berth_name_index *x);

/* The index of that name, or -1. */
int32_t berth_name_index_get(const berth_name_index *x, const char *name);

/* Add the next element of the list, whose name is not in yet; *i (if not NULL) = its index. Fails:
 * BERTH_ENOMEM. */
berth_status berth_name_index_add(berth_name_index *x, int32_t *i, berth_err *err);
