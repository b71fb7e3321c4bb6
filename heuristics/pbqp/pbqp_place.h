/* A placement problem as a PBQP. A node is a colocation group, its alternatives are its legal devices, and an
 * edge is what one colocation group reads of another. The prices of times, transfers and rivalry come from
 * outside. Private to the PBQP methods.
 *
 * A tensor with several consumers is sent once per device, which no sum over pairs can say. Each consuming
 * colocation group pays for it here: an upper bound, exact where a tensor has one consuming colocation group
 * or none of them share a foreign device. */
#ifndef BERTH_PBQP_PLACE_H
#define BERTH_PBQP_PLACE_H

#include "pbqp.h"
#include "problem.h"

typedef struct pbqp_place {
	const berth_problem *p;
	int32_t *alt_off;   /* [n_colocs+1] into alt_dev */
	int32_t *alt_dev;   /* alternatives, ascending */
	int32_t n_uses;     /* pairs of a tensor and another colocation group that consumes it */
	int32_t *use_tensor, *use_to; /* to: the consuming colocation group */
} pbqp_place;

/* Costs in any one unit, >= 0; INFINITY forbids. */
typedef struct pbqp_prices {
	berth_pbqp_mode mode; /* RN_BOTH where the sum stands for something else: improving it gains nothing
	                         there */
	double (*coloc)(const void *ctx, int32_t coloc, int32_t dev);
	double (*move)(const void *ctx, int32_t use, int32_t from, int32_t to); /* from != to */
	const void *ctx;
	int32_t n_rivals;              /* pairs of colocation groups that hinder each other on one device: */
	const int32_t *rival_a, *rival_b;
	const double *rival_cost; /* paid where they share a device with one slot, less with more slots */
} pbqp_prices;

/* The graph of the model, in mem. Alternatives are the legal devices into whose memory what stays of the
 * colocation group fits; all legal ones where it fits nowhere. Of these the slowest are left out where the
 * matrices would be too large. Fails: BERTH_ENOMEM. */
berth_status pbqp_place_new(const berth_problem *p, berth_arena *mem, pbqp_place *out, berth_err *err);

/* Is dev among the alternatives of the colocation group? */
bool pbqp_place_has(const pbqp_place *m, int32_t coloc, int32_t dev);

/* Place every colocation group for a small sum of prices, nearly the least one by BERTH_PBQP_BEST. op_dev
 * [n_ops] in and out: unchanged where all is forbidden. tmp is scratch. Fails: BERTH_ENOMEM. */
berth_status pbqp_place_solve(const pbqp_place *m, const pbqp_prices *prices, int32_t *op_dev,
                              berth_arena *tmp, berth_err *err);

#endif
