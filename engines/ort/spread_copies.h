/* An operator many times in one graph, side by side. */
#ifndef BERTH_SPREAD_COPIES_H
#define BERTH_SPREAD_COPIES_H

#include "ort_model.h"

typedef struct spread_copies {
	int32_t n;             /* copies beside the operator itself */
	int32_t apart;         /* the value that each copy has for itself: an input that is no constant */
	const char **in_name;  /* [n] */
	int32_t n_out;         /* outputs of all copies */
	const char **out_name; /* [n_out] */
} spread_copies;

/* Can op have copies? Operators with bodies cannot, nor those of constants alone: copies of equal inputs
 * would be made one. */
bool spread_copies_can(const ort_model *m, int32_t op);

/* Append n copies of op to the model of op alone (ort_model_part). Names live in mem. Fails: BERTH_EFORMAT,
 * BERTH_ENOMEM. */
berth_status spread_copies_append(ort_model *m, int32_t op, int32_t n, berth_arena *mem, ort_bytes *model,
                                  spread_copies *out, berth_err *err);

#endif
