/* Placements by minimum cuts. */
#pragma once

#include "flow.h"
#include "problem.h"

/* The placement on two devices with the least sum of operator and transfer times, by a minimum cut: H. S.
 * Stone, "Multiprocessor scheduling with the aid of network flow algorithms", IEEE Trans. Software Eng.
 * SE-3(1), 1977. A tensor travels once, however many consumers it has on the other device, as in C. Hu, W.
 * Bao, D. Wang, F. Liu, "Dynamic adaptive DNN surgery for inference acceleration on the edge", INFOCOM 2019.
 *
 * The sum is the latency where nothing overlaps: in a chain, or on a device and a server of which one
 * waits for the other. */

typedef struct berth_min_cut {
	const berth_problem *p;
	berth_flow flow;
	int32_t *node;    /* [n_colocs] its node; -1: it stays */
	int32_t *fixed;   /* [n_colocs] where it is now */
	int64_t *stay[2]; /* [n_colocs] what it costs to be on the first device, on the second one */
	uint8_t *seen;    /* [n_devs] */
	int32_t n_nodes;
} berth_min_cut;

/* Room for cuts of p, in mem. Fails: BERTH_ENOMEM, BERTH_ELIMIT (more than 2^30 nodes). */
berth_status berth_min_cut_new(const berth_problem *p, berth_arena *mem, berth_min_cut *out, berth_err *err);

/* Change a placement to the one with the least sum among all that leave the colocation groups where they are
 * that are on neither of the devices dev[0] and dev[1], and spread the others over these two. Transfers from
 * and to the former count. price_ns [n_colocs][n_devs], or NULL: none, is what a colocation group costs on a
 * device beside its time, at most BERTH_MOST_PRICE; BERTH_FLOW_ENDLESS: it may not stand there. op_dev in out
 * [n_ops]. Returns false where go_on ended it; then op_dev is as it was. */
bool berth_min_cut_place(berth_min_cut *c, const int32_t dev[2], const int64_t *price_ns,
                         bool (*go_on)(void *ctx, int64_t arcs), void *ctx, int32_t *op_dev);

#define BERTH_MOST_PRICE (INT64_C(1) << 50)

/* What the bytes of colocation groups cost on each device, at so many ns a byte [n_devs]: rounded down, as
 * long as it is no more than BERTH_MOST_PRICE. out [n_colocs][n_devs]. */
void berth_price_bytes(const berth_problem *p, const int64_t *coloc_bytes, const double *byte_ns,
                       int64_t *out);

/* Sum of the times of all operators, and of all tensors to each other device that they are needed on, in ns.
 * seen [n_devs] is scratch of zeros, and left so. */
int64_t berth_sum_of_times(const berth_problem *p, const int32_t *op_dev, uint8_t *seen);
