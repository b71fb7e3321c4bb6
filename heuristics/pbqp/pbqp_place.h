/* A placement problem as a PBQP. A node is a colocation group, its alternatives are its legal devices, and an
 * edge is what one colocation group reads of another. Private to the PBQP methods.
 *
 * A tensor with several consumers is sent once per device, which no sum over pairs can say. Each consuming
 * colocation group pays for it here: an upper bound, exact where a tensor has one consuming colocation group
 * or none of them share a foreign device. */
#pragma once

#include "pbqp.h"
#include "problem.h"

typedef struct pbqp_place {
	const berth_problem *p;
	int32_t *alt_off;             /* [n_colocs+1] into alt_dev */
	int32_t *alt_dev;             /* alternatives, ascending */
	int32_t n_uses;               /* pairs of a tensor and another colocation group that consumes it */
	int32_t *use_tensor, *use_to; /* to: the consuming colocation group */
} pbqp_place;

/* The graph of the model, in mem. Alternatives are the legal devices into whose memory what stays of the
 * colocation group fits; all legal ones where it fits nowhere. Of these the slowest are left out where the
 * matrices would be too large. Fails: BERTH_ENOMEM. */
berth_status pbqp_place_new(const berth_problem *p, berth_arena *mem, pbqp_place *out, berth_err *err);

/* Is dev among the alternatives of the colocation group? */
bool pbqp_place_has(const pbqp_place *m, int32_t coloc, int32_t dev);

/* What a colocation group on a device and a transfer between two cost, as seen from a schedule. These prices
 * make a sum over colocation groups and pairs (a PBQP) stand for a run time, a load or an energy. Private to
 * the PBQP methods.
 *
 * Times: an operator or transfer with slack, seen from the schedule's end, need not be fast. It pays a share
 * of its time, and in full only what it would take beyond its slack.
 *
 * Rivals are operators that the schedule runs at the same time. They pay for sharing a device: the overlap
 * that slack does not absorb.
 *
 * Load prices let all devices attract alike where the load decides, not the critical path. */

/* One choice of how to price time. */
typedef struct pbqp_vector {
	/* 0: a colocation group pays its time. 1: its time at the load prices of devices. Between: a
	 * mixture. */
	double load;
	/* share of its time that is paid with all the slack there is, in (0, 1]; 1: slack plays no role */
	double idle;
	double rival; /* weight of rivalry */
	double move;  /* weight of transfer times */
} pbqp_vector;

/* Two colocation groups that hinder each other on one device. */
typedef struct pbqp_rival {
	int32_t a, b;
	double cost; /* paid where they share a device with one slot, less with more slots */
} pbqp_rival;

typedef struct pbqp_pricer {
	const pbqp_place *m;
	pbqp_vector vector;
	/* RN_BOTH where the sum stands for something else: improving it gains nothing there */
	berth_pbqp_mode mode;
	double ns_weight;    /* of latency, per nanosecond */
	double joule_weight; /* of energy above idle, per joule */
	/* for the time of an operator, to its longest: what makes energy per time small */
	double rebate_watts;
	/* [n_devs], [n_channels] of load, per nanosecond and slot */
	double *dev_ns_weight, *channel_ns_weight;
	double *dev_byte_weight; /* [n_devs] of memory, per byte */
	double *dev_load_price;  /* [n_devs] */
	int64_t *coloc_bytes;    /* [n_colocs] what moves with a colocation group */
	int32_t *coloc_pin;      /* [n_colocs] its only device, or -1 */
	int32_t *coloc_use;      /* [n_colocs] scratch: the use of the tensor at hand; -1 */

	/* the schedule that slack and rivalry refer to */
	bool scheduled;
	int32_t *op_dev;
	/* [n_ops] tail: from its end to the schedule's end at least */
	int64_t *start_ns, *end_ns, *tail_ns, length_ns;
	double *op_share, *use_share;  /* share of its time that an operator, a use pays */
	double *use_slack_ns, *use_ns; /* [n_uses] of the tightest consumer in the colocation group */

	int32_t n_rivals;
	pbqp_rival *rival; /* growing in tmp */
} pbqp_pricer;

/* A pricer with all weights 0, no pins and no schedule, in mem; load prices and bytes set. Fails:
 * BERTH_ENOMEM. */
berth_status pbqp_pricer_new(const pbqp_place *m, berth_arena *mem, pbqp_pricer *out, berth_err *err);

/* Refer to a schedule: starts and ends [n_ops] of operators on op_dev, by the simulator or a list scheduler.
 * They are copied. */
berth_status pbqp_pricer_schedule(pbqp_pricer *x, const int32_t *op_dev, const int64_t *start_ns,
                                  const int64_t *end_ns, berth_arena *tmp, berth_err *err);

/* The same, for the schedule in which nothing waits but for its inputs. */
berth_status pbqp_pricer_unhindered(pbqp_pricer *x, const int32_t *op_dev, berth_arena *tmp, berth_err *err);

/* Place for the prices of the vector. op_dev [n_ops] out. tmp is scratch, reset at exit. Fails:
 * BERTH_ENOMEM. */
berth_status pbqp_pricer_place(pbqp_pricer *x, const pbqp_vector *vector, int32_t *op_dev, berth_arena *tmp,
                               berth_err *err);

/* ---- between pbqp_price.c and pbqp_place.c ---- */

/* Prices in any one unit, >= 0; INFINITY forbids. Of a colocation group on a device; of a use whose tensor
 * goes from one device to another. */
double pbqp_coloc_price(const pbqp_pricer *x, int32_t coloc, int32_t dev);
double pbqp_move_price(const pbqp_pricer *x, int32_t use, int32_t from, int32_t to);

/* Place every colocation group for a small sum of the present prices. op_dev [n_ops] in and out: unchanged
 * where all is forbidden. tmp is scratch. Fails: BERTH_ENOMEM. */
berth_status pbqp_place_solve(const pbqp_pricer *x, int32_t *op_dev, berth_arena *tmp, berth_err *err);
