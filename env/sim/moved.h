/* The base of incremental runs, and what differs from it: which operators, from when on, and in memory. */
#pragma once

#include "snapshots.h"

typedef struct moved {
	const berth_problem *p;
	const berth_sim *sim;

	/* the base */
	int32_t *base_dev;  /* [n_ops] */
	uint32_t *base_key; /* [n_ops] */
	int64_t *base_start_ns, *base_end_ns; /* [n_ops] */
	int64_t *ever_bytes; /* [resources] all that it ever holds */

	int32_t *op, n;      /* [n_ops] operators that differ from it */
	int64_t *more_bytes; /* [resources] held beyond what the base holds at the same moment */
} moved;

/* Room for them, in mem. Fails: BERTH_ENOMEM. */
berth_status moved_new(const berth_sim *sim, berth_arena *mem, moved *out, berth_err *err);

/* Find operators that are elsewhere in op_dev [n_ops], or have another key in op_key [n_ops]; NULL: keys do
 * not count. With another key an operator changes nothing before it is ready. */
void moved_find(moved *m, const int32_t *op_dev, const uint32_t *op_key);

/* Can they all run where op_dev has them? */
bool moved_can_run(const moved *m, const int32_t *op_dev);

/* ever_bytes, of base_dev. */
void moved_count_ever(moved *m);

/* Is it proven that the base with the moved operators anywhere else fits? */
bool moved_sure_to_fit(const moved *m);

/* more_bytes of parameters and state, that came and went with the moved operators. */
void moved_count_bytes(moved *m, const int32_t *op_dev);

/* The first end of a producer of a moved operator after time in the base. Where nothing differs, nothing does
 * until then; time -1: in all of the run. INT64_MAX: there is none. -1: a moved operator has all its inputs
 * and has not ended, which differs. */
int64_t moved_next_ns(const moved *m, int64_t time);

/* Is an input of a moved operator on its way to any device in k? It may come to where the operator was, or
 * to where it is. */
bool moved_input_on_its_way(const moved *m, const snapshot *k);

/* The state equals that of a snapshot at that time. Are the same tensors held at the same places, and will be
 * until the next difference? Who has ended is the same in both, and so is what goes from where to where, but
 * for tensors that moved operators make, and those that they wait for. */
bool moved_holds_the_same(const moved *m, int64_t time);
