/* Whether the operators of a graph have shapes, for the tests of all that makes graphs. */
#pragma once

#include "graph.h"

/* Operators that work or move bytes and have no shape for it: macs without a product or a convolution, others
 * without rows. Fails where a shape is other work than the macs, or stands where nothing is done. */
int32_t shapes_missing(const berth_graph *g);
/* Passes if op's shape is of that kind with these numbers, and it computes in that precision. */
void shapes_check(const berth_graph *g, const char *op, berth_precision dtype, berth_dims_kind kind,
                  const int64_t at[BERTH_MOST_DIMS]);
#define assert_shape(g, op, dtype, kind, ...) \
	shapes_check((g), (op), (dtype), BERTH_DIMS_##kind, (const int64_t[BERTH_MOST_DIMS]){__VA_ARGS__})
