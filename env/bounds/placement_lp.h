/* The mixed-integer model of placement for latency, and its linear relaxation; see placement_lp.c. */
#pragma once

#include "certificate.h"
#include "lp.h"
#include "problem.h"

typedef struct berth_placement_lp {
	berth_lp lp;
	double scale;           /* model time of one nanosecond */
	int32_t *coloc_dev_col; /* [n_colocs][n_devs] -1: not legal */
	int32_t *op_start_col;  /* [n_ops] */
	int32_t length_col;
	bool load;              /* the length is the largest load */
	int64_t upper_ns;
	/* rows; -1: there is none */
	int32_t *load_row, *byte_row; /* [n_devs + n_pools] */
	int32_t *channel_row;         /* [n_channels] */
	int32_t *end_row;             /* [n_ops] the length is after the operator */
	int32_t *flow_row;            /* [n_edges] the consumer starts after */
	int32_t *out_row, *in_row;    /* [n_edges][n_devs] marginals of the producer, of the consumer */
	int32_t *way_row;             /* [n_edges][n_devs][n_devs] a way that is gone for the edge */
} berth_placement_lp;

/* The model of p for latencies up to upper_ns (> 0), in mem. Where whole is set it has whole columns and
 * the orders of operators on a device; else it is the linear relaxation without orders. Fails:
 * BERTH_ENOMEM. O(edges * devs^2), whole: + ops^2 * devs. */
berth_status berth_placement_lp_new(const berth_problem *p, int64_t upper_ns, bool whole, berth_arena *mem,
                                    berth_placement_lp *out, berth_err *err);

/* The linear relaxation for the throughput, for largest loads up to upper_ns (> 0): length_col is the largest
 * load of a device or channel. Without starts, op_start_col is not set. As above. */
berth_status berth_load_lp_new(const berth_problem *p, int64_t upper_ns, berth_arena *mem,
                               berth_placement_lp *out, berth_err *err);

/* The duals y [n_rows] of a relaxation as a certificate, in mem: rounded to whole numbers, and repaired so
 * that no more time flows into an operator than out of it. Numbers that are not finite, or of the wrong sign,
 * count as 0. What it proves is for berth_certificate_prove to say. Fails: BERTH_ENOMEM.
 * O(edges * devs^2). */
berth_status berth_placement_certificate(const berth_placement_lp *m, const berth_problem *p, const double *y,
                                         berth_arena *mem, berth_certificate *out, berth_err *err);
