/* Cases of a block: which devices its operators may still stand on, and which of them start before which.
 * What follows from a case is here, for those who check trees of cases and those who make them. */
#pragma once

#include "certificate.h"

/* What the kinds of certificates share, for them alone. */
__extension__ typedef __int128 certificate_wide;

#define CERTIFICATE_NEVER (INT64_MAX / 4)

/* num / den in whole numbers, rounded up or down; 0 where it is below 0, CERTIFICATE_NEVER where it is
 * above. den > 0. */
int64_t certificate_quotient(certificate_wide num, certificate_wide den, bool up);

/* What a nanosecond of op on d costs at prices of devices and pools. */
certificate_wide certificate_charge(const berth_problem *p, const int64_t *price, int32_t op, int32_t d);

/* The kinds; *proven_ns as in berth_certificate_prove. */
berth_status certificate_path(const berth_certificate *c, const berth_problem *p, berth_arena *tmp,
                              int64_t *proven_ns, berth_err *err);
berth_status certificate_load(const berth_certificate *c, const berth_problem *p, berth_arena *tmp,
                              int64_t *proven_ns, berth_err *err);
berth_status certificate_relaxation(const berth_certificate *c, const berth_problem *p, berth_arena *tmp,
                                    int64_t *proven_ns, berth_err *err);
berth_status certificate_blocks(const berth_certificate *c, const berth_problem *p, berth_arena *tmp,
                                int64_t *proven_ns, berth_err *err);
berth_status certificate_windows(const berth_certificate *c, const berth_problem *p, berth_arena *tmp,
                                 int64_t *proven_ns, berth_err *err);

/* An input of an operator, or a use of its output, within the block. */
typedef struct berth_block_edge {
	int32_t tensor, other;
} berth_block_edge;

/* A gate, what stands between it and the next one, and that one. Time begins with the end of the first. */
typedef struct berth_block {
	const berth_problem *p;
	int32_t n;                 /* operators */
	bool entry, exit;          /* has a gate before (operator 0), has one that ends it (operator n - 1) */
	int32_t *op;               /* [n] operators of the problem in topological order */
	int32_t *in_off, *out_off; /* [n+1] */
	berth_block_edge *in, *out;
	uint64_t *above; /* [n] operators before it, by paths within the block */
	int8_t *mirror;  /* [n_devs][n_devs] 1: mirror images, 0: not, -1: not known yet */
	/* scratch */
	int64_t *head, *tail;        /* [n][n_devs] least time before the start, after the end */
	int32_t *order;              /* [n] */
	struct berth_block_job *job; /* [n + edges * hops] */
	int32_t n_jobs;              /* room */
} berth_block;

/* Operator i may stand on the devices dev[i] (bits); above[i] and below[i] are before and after it. */
typedef struct berth_case {
	uint32_t dev[BERTH_CERTIFICATE_TREE_OPS];
	uint64_t above[BERTH_CERTIFICATE_TREE_OPS], below[BERTH_CERTIFICATE_TREE_OPS];
} berth_case;

/* The block of operators op [n], n <= BERTH_CERTIFICATE_TREE_OPS, at most BERTH_CERTIFICATE_TREE_DEVS
 * devices. Fails: BERTH_ENOMEM, BERTH_EUNSUPPORTED (too many). O(edges of the block + operators of the
 * problem). */
berth_status berth_block_new(const berth_problem *p, int32_t n, const int32_t *op, bool entry, bool exit,
                             berth_arena *mem, berth_block **out, berth_err *err);

/* The case that all others are in: the gates on from and to, where they are there. */
void berth_block_first_case(const berth_block *b, int32_t from, int32_t to, berth_case *c);

/* Draw conclusions for schedules that end before claim_ns: devices and orders that cannot be are taken out.
 * True: nothing is left. O(rounds * edges * devs^2). */
bool berth_case_conclude(berth_block *b, int64_t claim_ns, berth_case *c);

/* Do loads at these prices leave nothing? After berth_case_conclude. */
bool berth_case_overloaded(const berth_block *b, int64_t claim_ns, const berth_case *c, const int64_t *price);

/* Does each schedule of the case with d in use have a mirror image, as long, with e in use in its place? */
bool berth_case_mirrored(berth_block *b, const berth_case *c, int32_t d, int32_t e);

/* The two ways on. The second is for operators on one device of one slot. */
void berth_case_place(const berth_block *b, berth_case *c, int32_t i, int32_t dev);
void berth_case_order(const berth_block *b, berth_case *c, int32_t i, int32_t j);

static inline bool berth_case_fixed(const berth_case *c, int32_t i)
{
	return c->dev[i] && !(c->dev[i] & (c->dev[i] - 1));
}

/* The device of an operator that is fixed. */
static inline int32_t berth_case_dev(const berth_case *c, int32_t i)
{
	return __builtin_ctz(c->dev[i]);
}

/* On one device, of one slot, in an order that is open? */
bool berth_case_open_pair(const berth_block *b, const berth_case *c, int32_t i, int32_t j);

static inline size_t berth_block_cell(const berth_block *b, int32_t i, int32_t d)
{
	return (size_t)i * (size_t)b->p->n_devs + (size_t)d;
}

/* Time of operator i on d: from the block's beginning on, the first gate takes none. */
static inline int64_t berth_block_time(const berth_block *b, int32_t i, int32_t d)
{
	return b->entry && i == 0 ? 0 : berth_op_time(b->p, b->op[i], d);
}
