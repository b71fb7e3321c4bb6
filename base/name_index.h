/* Which element of a list has a name: a hash table of indices alone, 4 bytes a slot; the names stay in the list, which tells them. */
#ifndef BERTH_NAME_INDEX_H
#define BERTH_NAME_INDEX_H

#include "arena.h"

#include <stdint.h>

typedef const char *berth_name_of(const void *list, int32_t i);

/* Open addressing, at most three quarters full, grows in its arena. */
typedef struct berth_name_index {
	berth_arena *mem;
	berth_name_of *name;
	const void *list;
	int32_t *slot; /* index + 1; 0: free */
	size_t cap, len;
} berth_name_index;

/* list is borrowed, and what name tells of an index that was added must not change. */
void berth_name_index_init(berth_name_index *x, berth_arena *mem, berth_name_of *name, const void *list);

/* Room for n names, where none is in yet. Fails: BERTH_ENOMEM. */
berth_status berth_name_index_reserve(berth_name_index *x, size_t n, berth_err *err);

/* The index of that name, or -1. */
int32_t berth_name_index_get(const berth_name_index *x, const char *name);

/* Add index i of the list unless its name is there. *found = the index of the name. Fails: BERTH_ENOMEM. */
berth_status berth_name_index_add(berth_name_index *x, int32_t i, int32_t *found, berth_err *err);

#endif
