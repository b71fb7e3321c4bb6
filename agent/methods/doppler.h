/* The two policies of DOPPLER (Yao et al., ICLR 2026): which ready operator goes next (SEL), and to which
 * device (PLC). One encoding of the graph, made once an episode, serves both:
 *   f_v             = relu(FF(x_v))
 *   h               = rounds of messages over the graph, from f
 *   SEL score(v)    = MLP[f_v | h_v | h along v's critical path down | the same up],
 *                     with a softmax over the ready operators
 *   PLC score(v, d) = MLP[FF(state of d) | f_v | h_v | h of the operators on d],
 *                     with a softmax over the legal devices
 * An MLP has one hidden layer, so all that does not depend on the step is multiplied out once. A step then
 * costs O(devs * hidden^2).
 *
 * Faithful: the two heads and what each sees, the encoding made once an episode, two layers a head.
 * Reconstruction: messages go in both directions, with a residual and layer normalisation (nn_gemm.h). h is
 * averaged along paths. On a device it is summed, relative to the device's fair share of all operators. So
 * graphs of any length give features of order 1.
 *
 * Nothing here allocates or fails. nn_real as in nn.h. */
#pragma once

#include "nn.h"
#include "partial.h"
#include "rng.h"

enum { DOPPLER_NODE = 5, DOPPLER_EDGE = 1, DOPPLER_DEV = 6 };

typedef struct doppler_dims {
	int32_t hidden, rounds; /* >= 1, >= 0 */
} doppler_dims;

/* One instance, caller-owned. */
typedef struct doppler_input {
	int32_t n_ops, n_edges, n_devs;
	const nn_real *node_x;              /* [n_ops][DOPPLER_NODE] */
	const nn_real *edge_x;              /* [n_edges][DOPPLER_EDGE] */
	const int32_t *edge_from, *edge_to; /* [n_edges] */
	const int32_t *topo_op;             /* [n_ops] a topological order */
	/* [n_ops] the next operator of the critical path, down and up. -1: the path ends. */
	const int32_t *below, *above;
	const int32_t *out_off, *out_to; /* CSR of the edges by producer: for the ready operators */
} doppler_input;

/* As in nn_table.h and nn_gemm.h, weights (in, out): H hidden, R rounds. */
#define DOPPLER_PARAMS(X)                                                                                    \
	X(node_w, 1, DOPPLER_NODE, H, HE)                                                                    \
	X(node_b, 1, 1, H, ZERO)                                                                             \
	NN_ROUND_PARAMS(X, , R, DOPPLER_EDGE, H)                                                             \
	X(sel_f, 1, H, H, HE)                                                                                \
	X(sel_h, 1, H, H, HE)                                                                                \
	X(sel_down, 1, H, H, HE)                                                                             \
	X(sel_up, 1, H, H, HE)                                                                               \
	X(sel_b, 1, 1, H, ZERO)                                                                              \
	X(sel_v, 1, H, 1, SMALL)                                                                             \
	X(dev_w, 1, DOPPLER_DEV, H, HE)                                                                      \
	X(dev_b, 1, 1, H, ZERO)                                                                              \
	X(plc_dev, 1, H, H, HE)                                                                              \
	X(plc_f, 1, H, H, HE)                                                                                \
	X(plc_h, 1, H, H, HE)                                                                                \
	X(plc_held, 1, H, H, HE)                                                                             \
	X(plc_b, 1, 1, H, ZERO)                                                                              \
	X(plc_v, 1, H, 1, SMALL)

size_t doppler_param_count(const doppler_dims *d);

/* Normal weights of variance 2 / rows, zero biases. The last layers are a hundred times smaller. */
void doppler_init(const doppler_dims *d, nn_real params[], berth_rng *rng);

/* Elements of the activations of an instance, and of the scratch of one episode. */
size_t doppler_acts_size(const doppler_dims *d, const doppler_input *in);

size_t doppler_work_size(const doppler_dims *d, const doppler_input *in);

/* Everything that does not depend on the step, into acts. */
void doppler_embed(const doppler_dims *d, const nn_real params[restrict], const doppler_input *in,
                   nn_real acts[restrict]);

/* SEL scores [n_ops] of embedded acts. */
const nn_real *doppler_scores(const doppler_dims *d, const doppler_input *in, const nn_real acts[]);

/* PLC logits [n_devs] of an operator. dev_x [n_devs][DOPPLER_DEV]; held [n_devs][hidden] is what devices
 * hold, 0 at first; scratch [2 n_devs][hidden]. */
void doppler_place_logits(const doppler_dims *d, const nn_real params[restrict], const doppler_input *in,
                          const nn_real acts[restrict], int32_t op, const nn_real dev_x[restrict],
                          const nn_real held[restrict], nn_real scratch[restrict], nn_real logits[restrict]);

/* Afterwards: op is on dev. */
void doppler_hold(const doppler_dims *d, const doppler_input *in, const nn_real acts[restrict], int32_t op,
                  int32_t dev, nn_real held[restrict]);

/* What an episode did, step by step. */
typedef struct doppler_episode {
	int32_t *op, *dev; /* [n_ops] a topological order; where each went */
	nn_real *dev_x;    /* [n_ops][n_devs][DOPPLER_DEV] */
	uint8_t *mask;     /* [n_ops][n_devs] devices that could be chosen */
} doppler_episode;

/* Backward of any number of episodes between a begin and an end. The loss of one is
 *   - weight / n_ops * sum over steps of (log-probability of the operator among the ready ones + of its
 *     device)
 * which is returned: REINFORCE with weight an advantage, imitation with weight 1. work: doppler_work_size
 * elements; ready, waits: scratch [n_ops] each. O(steps * (ready + devs * hidden^2)). grads accumulate. */
void doppler_backward_begin(const doppler_dims *d, const doppler_input *in, nn_real acts[]);

double doppler_episode_backward(const doppler_dims *d, const nn_real params[restrict],
                                const doppler_input *in, nn_real acts[restrict], const doppler_episode *ep,
                                double weight, nn_real work[restrict], int32_t ready[restrict],
                                int32_t waits[restrict], nn_real grads[restrict]);

void doppler_backward_end(const doppler_dims *d, const nn_real params[restrict], const doppler_input *in,
                          nn_real acts[restrict], nn_real grads[restrict]);

/* ---- the ready operators; for episodes too ---- */

/* In ready [n_ops], of which *n are set. waits [n_ops] counts edges of producers that were not taken. */
void doppler_ready_start(const doppler_input *in, int32_t ready[restrict], int32_t waits[restrict],
                         int32_t *n);

/* Take the i-th. The last one moves to its place, and consumers that become ready follow. */
int32_t doppler_ready_take(const doppler_input *in, int32_t ready[restrict], int32_t waits[restrict],
                           int32_t *n, int32_t i);

/* Softmax of the scores over the ready operators, p [n]. */
void doppler_ready_probs(const nn_real scores[restrict], const int32_t ready[restrict], int32_t n,
                         nn_real p[restrict]);

/* Episodes of DOPPLER on a problem: what its two policies see, and list schedules that they make. */

/* A problem as the network reads it. */
typedef struct doppler_view {
	const berth_problem *p;
	doppler_input in;
	double unit_ns;       /* mean operator time: unit of all times that a device's state is made of */
	int64_t *op_least_ns; /* [n_ops] least time over legal devices */
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
