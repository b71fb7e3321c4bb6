/* Products of small matrices, row-major. The sums run over the inner index from its beginning, one product
 * after the other; those of a matrix and a vector in a fixed number of parts. So the bits depend on the
 * numbers and shapes alone, not on CPU or threads. Nothing is allocated.
 *
 * The sizes of policies: inner and outer sides of some tens, rows from one to some thousands. */
#ifndef BERTH_NN_GEMM_H
#define BERTH_NN_GEMM_H

#include "nn_real.h"

#include <stddef.h>

/* A factor as it stands in memory. */
typedef enum nn_factor {
	NN_AS_IS,     /* rows of the factor are rows of the array */
	NN_TRANSPOSED /* rows of the factor are columns of the array */
} nn_factor;

/* c[N,M] += a[N,K] @ b[K,M], either factor stored as told. O(N K M). */
void nn_gemm_add(size_t N, size_t K, size_t M, nn_real c[restrict], nn_factor ta, const nn_real a[restrict],
                 nn_factor tb, const nn_real b[restrict]);

#endif
