/* Collectives: n devices add up what each of them has, or hand out to all what each has. What one takes, by
 * formulas (docs/collectives.md); and which tensors of a graph a collective is made of, for the simulator has
 * it as transfers. */
#pragma once

#include "catalogue.h"
#include "graph.h"

typedef enum berth_collective {
	BERTH_ALL_REDUCE,     /* each has all sums afterwards */
	BERTH_REDUCE_SCATTER, /* each has an n-th of the sums */
	BERTH_ALL_GATHER,     /* each has an n-th before, and all afterwards */
	BERTH_N_COLLECTIVES
} berth_collective;

typedef enum berth_collective_way {
	BERTH_WAY_RING,
	BERTH_WAY_TREE,   /* two trees at once; of the other two, doubling and halving of distances */
	BERTH_WAY_SWITCH, /* the switch between the devices adds, and sends one message to all */
	BERTH_N_COLLECTIVE_WAYS
} berth_collective_way;

/* What joins the devices, each with a port of its own. */
typedef struct berth_fabric {
	double start_s;   /* until a collective moves anything */
	double step_s;    /* of a message from one device to another */
	double bandwidth; /* bytes/s that a port has in a collective, each way */
	bool adds;        /* there is a switch that adds */
} berth_fabric;

/* Seconds of a collective among n devices, 1 or more, of so many bytes: what each has before an all-reduce or
 * a reduce-scatter, after an all-gather. INFINITY: the fabric has no such way. 0 with one device. After
 * Thakur, Rabenseifner, Gropp (IJHPCA 2005), Sanders, Speck, Traeff (Parallel Computing 2009, the two
 * trees), Klenk et al. (ISCA 2020, the switch). */
double berth_collective_s(berth_collective what, berth_collective_way way, int32_t n, double bytes,
                          const berth_fabric *f);

/* The least of it, and *way, which may be NULL: the first that takes so long. */
double berth_collective_least_s(berth_collective what, int32_t n, double bytes, const berth_fabric *f,
                                berth_collective_way *way);

/* The fabric that GPUs make which are all joined by this link of the catalogue: fitted to measured
 * collectives (scripts/fit-links). */
berth_fabric berth_link_fabric(const berth_link_row *link);

/* The figures of a link between each two of n devices, 2 or more, by which each device sends an n-th to all
 * others, one after the other out of its port, and then again, in the time of an all-reduce of so many bytes
 * by the quickest way. */
void berth_collective_hop(int32_t n, double bytes, const berth_fabric *f, double *latency_s,
                          double *bandwidth);

/* Is tensor t one of the messages of a collective? Both ends are pieces of operators (graph.h), and one
 * of the consumers joins or adds what several give: its type is AllReduce, Concat, GradSum or Sum. Or an
 * AllReduce gives it. O(its consumers). */
bool berth_tensor_is_collective(const berth_graph *g, int32_t t);
