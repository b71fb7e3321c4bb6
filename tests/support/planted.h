/* Instances whose best latency is known: a schedule in which no device ever waits, cut into operators and
 * transfers that fit between them.
 *
 * Devices are unlike: device d has the price lambda_d, and these add up to 1. An operator that the schedule
 * runs on device d for t takes at least t * lambda_d / lambda_e on any device e. So for every placement the
 * loads L_e weighted by the prices add up to at least the horizon T, the largest load is at least T, and so
 * is the latency: the planted schedule, which takes T, is best. (Weak duality of the load bound.) */
#ifndef PLANTED_H
#define PLANTED_H

#include "placement.h"
#include "problem.h"

typedef enum planted_kind {
	PLANTED_LOOSE,  /* tensors take a part of the time between their ends; others than neighbours are
	                   joined */
	PLANTED_CHAINS, /* the operators of a device also hang together in chains, by tensors that take longer
	                 * to move than their operators to run: whole chains have to move at once */
	PLANTED_KINDS
} planted_kind;

extern const char *const planted_kind_name[PLANTED_KINDS];

typedef struct planted {
	berth_graph graph;
	berth_system system;
	berth_problem problem;
	int32_t *dev, *order; /* [n_ops] the planted placement and the order that it runs in */
	double latency_s;     /* of it: no other is below */
} planted;

/* n_ops operators, at least one a device; n_devs from 1 to 16. One seed gives one instance. In mem. Fails:
 * BERTH_ENOMEM. */
berth_status planted_make(planted_kind kind, int32_t n_ops, int32_t n_devs, uint64_t seed, berth_arena *mem,
                          berth_arena *tmp, planted *out, berth_err *err);

#endif
