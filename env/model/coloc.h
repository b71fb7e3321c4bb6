/* Colocation groups: what they weigh, where they may go, putting one on a device. */
#pragma once

#include "problem.h"

static inline bool berth_coloc_legal(const berth_problem *p, int32_t coloc, int32_t dev)
{
	return berth_op_legal(p, p->coloc_op[p->coloc_off[coloc]], dev);
}

/* The device of a colocation group that stands whole in op_dev [n_ops]. */
static inline int32_t berth_coloc_dev(const berth_problem *p, int32_t coloc, const int32_t *op_dev)
{
	return op_dev[p->coloc_op[p->coloc_off[coloc]]];
}

static inline void berth_coloc_put(const berth_problem *p, int32_t coloc, int32_t dev, int32_t *op_dev)
{
	BERTH_EACH (i, p->coloc_off, coloc)
		op_dev[p->coloc_op[i]] = dev;
}

/* Put every colocation group that may run on device dev there. The others stay where they are. Did all go
 * there? */
bool berth_coloc_put_all(const berth_problem *p, int32_t dev, int32_t *op_dev);

/* Has any colocation group more than one legal device? */
bool berth_can_move(const berth_problem *p);

/* Sum of the operator times of a colocation group on a device, in ns. */
int64_t berth_coloc_time(const berth_problem *p, int32_t coloc, int32_t dev);

/* Bytes that a colocation group takes with it to another device: parameters, shared ones too, state, outputs
 * and tensors of its operators. out [n_colocs]. */
void berth_coloc_bytes(const berth_problem *p, int64_t *coloc_bytes);
