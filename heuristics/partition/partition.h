/* Graph partitioning as placement: the colocation groups of a problem as an undirected weighted graph,
 * devices as parts of unequal size and distance, a library that cuts, and what makes a legal placement of
 * its parts. Each library stands in one file (partition_NAME.c), with partition_NAME_none.c in its place
 * where it is not installed. */
#pragma once

#include "search.h"

/* Colocation groups and the time that they take and exchange, on some of the devices. Sums of work, of bytes,
 * and of edge times distance stay below 2^30. */
typedef struct partition_job {
	int32_t n_colocs, n_parts; /* 2 <= n_parts <= n_colocs */
	/* CSR [n_colocs+1]; an edge stands at both of its ends, one edge a pair, no loops */
	int32_t *off, *to;
	int32_t *weight;  /* of an edge, >= 1: mean transfer time between the devices */
	double weight_ns; /* what 1 of weight times 1 of distance stands for */
	int32_t *work;    /* [n_colocs] >= 1: mean time on the devices */
	int32_t *bytes;   /* [n_colocs] >= 0: what moves with a colocation group; NULL: memory is free */
	/* [n_colocs] the part of a colocation group that only one of the devices can have; -1: any */
	int32_t *fixed;
	int32_t *part_dev;      /* [n_parts] */
	double *share;          /* [n_parts] of the work, by speed; > 0, sum 1 */
	double *bytes_share;    /* [n_parts] of the bytes; > 0, sum 1 */
	double bytes_imbalance; /* as many times its share of bytes has room in a part; > 1 */
	/* [n_parts][n_parts] symmetric, 0 on the diagonal, else DISTANCE_UNIT (the smallest) to
	 * DISTANCE_MOST: time of transfers */
	int32_t *distance;
} partition_job;

enum { PARTITION_DISTANCE_UNIT = 8, PARTITION_DISTANCE_MOST = 4096 };

typedef struct partition_library {
	const char *name, *package;
	/* part out [n_colocs]; a part may have imbalance times its share of the work. Called in a process of
	 * its own. Fails: BERTH_ENOMEM, BERTH_EUNSUPPORTED (the library refused). */
	berth_status (*cut)(const partition_job *j, double imbalance, int32_t *part, berth_err *err);
} partition_library;

/* cut is NULL where berth was built without the library. */
extern const partition_library partition_metis, partition_scotch;

/* The job of colocation groups on the n_parts devices part_dev. In mem; tmp is scratch, reset at exit.
 * Fails: BERTH_ENOMEM. O((ops + edges) * n_parts). */
berth_status partition_job_new(const berth_problem *p, int32_t n_parts, const int32_t *part_dev,
                               berth_arena *mem, berth_arena *tmp, partition_job *out, berth_err *err);

/* Devices by speed, the fastest first. Those without a legal colocation group are left out. dev out [n_devs];
 * returns how many. speed out [n_devs]: how fast it runs those that can be there, against the mean of all
 * devices. */
int32_t partition_devs_by_speed(const berth_problem *p, int32_t *dev, double *speed);

/* Devices for parts: those of the job, swapped between two parts as long as that takes off the sum of
 * operator and transfer times. Fixed colocation groups count where they are fixed; an illegal one counts as
 * on another device. part_dev out [n_parts]. tmp is scratch, reset at exit. Fails: BERTH_ENOMEM. */
berth_status partition_match(const berth_problem *p, const partition_job *j, const int32_t *part,
                             int32_t *part_dev, berth_arena *tmp, berth_err *err);

/* The placement of parts. A colocation group that is not legal on its part's device goes to the legal one
 * with the least time of its own and of its transfers. */
void partition_place(const berth_problem *p, const partition_job *j, const int32_t *part,
                     const int32_t *part_dev, int32_t *op_dev);

/* Cut for several choices of devices, the fastest 2, 3, 4, 8, ... of them, and two imbalances, and offer
 * every placement. Where the library has no answer the best single device is offered. Fails:
 * BERTH_EUNSUPPORTED (built without the library), BERTH_ENOMEM. */
berth_status partition_run(berth_search *s, const partition_library *lib, berth_arena *tmp, berth_err *err);
