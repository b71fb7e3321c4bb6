/* Contiguity, found in one pass over the operators. A piece is the forward, or the backward, operators of a
 * contiguous device. A path must not leave a piece and come back to it. */
#ifndef BERTH_CONTIGUITY_H
#define BERTH_CONTIGUITY_H

#include "problem_tables.h"

/* Of each operator, a bit for each piece. met: the operator, or one that leads to it, is in the piece. left:
 * a path to it has left the piece. Backwards the same over what it leads to. The last row is scratch. */
typedef struct contiguity {
	const berth_problem *p;
	size_t words;
	bool backwards;
	uint64_t *met, *left; /* [n_ops + 1][words] */
} contiguity;

/* Words of one row. */
size_t contiguity_words(const berth_problem *p);

/* Rows in scratch [2 * contiguity_words * (n_ops + 1)]. Operators then arrive and settle in topological
 * order; backwards: in the reverse of it. */
contiguity contiguity_new(const berth_problem *p, bool backwards, uint64_t *scratch);

/* Bring op's row to what leads to it, without op itself. The neighbours that lead to it are done. */
void contiguity_arrive(const contiguity *t, int32_t op);

/* Would op, which has arrived, re-enter its piece on dev? -1: no device, and no. */
bool contiguity_reenters(const contiguity *t, int32_t op, int32_t dev);

/* Count op itself, which has arrived, on dev. -1: not decided; it counts as whatever does no harm. */
void contiguity_settle(const contiguity *t, int32_t op, int32_t dev);

/* How many operators of op_dev [n_ops] re-enter their piece. Devices may be -1. breaks [n_ops] is set to 1 or
 * 0 for each; NULL: not asked for. O((ops + edges) * words). */
int64_t contiguity_broken(const berth_problem *p, const int32_t *op_dev, uint8_t *breaks, uint64_t *scratch);

#endif
