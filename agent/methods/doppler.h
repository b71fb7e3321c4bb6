/* Episodes of DOPPLER on a problem: what its two policies see, and list schedules that they make. */
#ifndef BERTH_DOPPLER_H
#define BERTH_DOPPLER_H

#include "doppler_net.h"
#include "partial.h"

/* A problem as the network reads it. */
typedef struct doppler_view {
	const berth_problem *p;
	doppler_input in;
	double unit_ns; /* mean operator time: unit of all times that a device's state is made of */
	int64_t *op_least_ns;       /* [n_ops] least time over legal devices */
} doppler_view;

/* Features of operators (own time, critical path down and up, transfers in and out: all means over devices,
 * standardised over the graph) and of edges (mean transfer), in mem. tmp is scratch, reset at exit. Fails:
 * BERTH_ENOMEM. O(edges + ops * devs). */
berth_status doppler_view_new(const berth_problem *p, berth_arena *mem, berth_arena *tmp, doppler_view *out,
                              berth_err *err);

/* What one worker needs for episodes. */
typedef struct doppler_actor {
	const doppler_view *v;
	const doppler_dims *dims;
	berth_partial *part;
	nn_real *p, *held, *scratch, *logits;
	int32_t *ready, *waits;
	int64_t *load_ns, *ready_ns, *start_ns, *input_ns, *input_start_ns, *input_end_ns; /* [n_devs] */
} doppler_actor;

berth_status doppler_actor_new(const doppler_view *v, const doppler_dims *dims, berth_arena *mem,
                               doppler_actor *out, berth_err *err);

/* Room for an episode in mem. */
berth_status doppler_episode_new(const doppler_view *v, berth_arena *mem, doppler_episode *out,
                                 berth_err *err);

/* Schedule all operators. Afterwards a->part holds the schedule.
 *   rng NULL   the teacher: the ready operator with the longest critical path down (ties: the lower
 *              topological index), where it can start first; params and acts are not read
 *   rng        SEL and PLC draw
 *   memory     share of tensors that memory is asked for, as berth_partial_limit_memory has it
 * O(edges * devs + steps * (ready + devs * hidden^2)). */
void doppler_episode_run(doppler_actor *a, const nn_real *params, const nn_real *acts, berth_rng *rng,
                         double memory, doppler_episode *ep);

#endif
