/* Lists by key, one after the other in one array (compressed sparse rows). */
#ifndef BERTH_CSR_H
#define BERTH_CSR_H

#include "arena.h"

#include <stdint.h>

/* For every key 0 .. n_keys - 1 the values of the items that have it, in the order of the items.
 *   key    [n_items] in 0 .. n_keys - 1
 *   value  [n_items]; NULL: an item's value is its index
 *   off    out [n_keys + 1]: the list of key k is (*list)[(*off)[k]] .. (*list)[(*off)[k + 1] - 1]
 *   list   out [n_items]
 * Both live in mem. Fails: BERTH_ENOMEM. O(n_keys + n_items). */
berth_status berth_csr_new(int32_t n_keys, int32_t n_items, const int32_t *key, const int32_t *value,
                           berth_arena *mem, int32_t **off, int32_t **list, berth_err *err);

#endif
