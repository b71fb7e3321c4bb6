/* The placement network: reads a graph of nodes (operators or groups) and a machine as plain arrays of
 * features, and gives one logit per (node, device). Nodes and devices are encoded by message passing in both
 * directions (messages of a node are means over its neighbours, after Hamilton et al. 2017; residual with
 * layer normalisation), then scored in pairs:
 *   z[node][dev] = A h_node + B h_dev + C pair_x + b
 *   logit[node][dev] = v . relu(z) + skip . pair_x
 * A second head decodes step by step along a schedule: the same encoding, with features x of each device at
 * that moment,
 *   logit[step][dev] = step_v . relu(z[node of step][dev] + S x) + step_skip . x
 * and key[node] = order_v . h_node moves a node's operators forward or back in the list. Any number of
 * nodes, edges and devices goes through the same parameters, and relabelling nodes or devices relabels the
 * logits.
 *
 * Parameters, gradients and activations are one block each, so zero, clip, Adam, save and compare are one
 * loop. Sampling and losses stand in policy_loss.h; features, rollouts and training stand elsewhere. */
#pragma once

#include "arena.h"
#include "nn.h"
#include "rng.h"

/* Widths of the input features (node_in, dev_in >= 1, the rest >= 0), of the hidden layers (>= 1), and
 * message rounds among nodes (>= 0). */
typedef struct policy_dims {
	int32_t node_in, edge_in, dev_in, pair_in, link_in, step_in, hidden, rounds;
} policy_dims;

/* One instance's inputs, caller-owned. Features should be of order 1. */
typedef struct policy_input {
	int32_t n_nodes, n_edges, n_devs;
	const nn_real *node_x; /* [n_nodes][node_in] */
	const nn_real *edge_x; /* [n_edges][edge_in] */
	const nn_real *dev_x;  /* [n_devs][dev_in] */
	const nn_real *pair_x; /* [n_nodes][n_devs][pair_in] */
	/* [n_devs][n_devs][link_in], row from, column to. The diagonal is not read as a message. */
	const nn_real *link_x;
	const int32_t *edge_from, *edge_to; /* [n_edges] nodes; never the same node twice */
	/* [n_nodes][n_devs] 1: legal. Every node has a legal device. The logits do not depend on it. */
	const uint8_t *mask;
} policy_input;

/* The model as in nn_table.h and nn_gemm.h, with the dimensions as d. This table gives the layout of the
 * block, the initial values and the names in checkpoints. Weights are stored (in, out). The two halves of a
 * message's columns are its two directions. */
#define POLICY_PARAMS(X)                                      \
	X(node_w1, 1, d->node_in, d->hidden, HE)              \
	X(node_b1, 1, 1, d->hidden, ZERO)                     \
	X(node_w2, 1, d->hidden, d->hidden, HE)               \
	X(node_b2, 1, 1, d->hidden, ZERO)                     \
	NN_ROUND_PARAMS(X, node_, d->rounds, d->edge_in, d->hidden) \
	X(dev_w1, 1, d->dev_in, d->hidden, HE)                \
	X(dev_b1, 1, 1, d->hidden, ZERO)                      \
	X(dev_w2, 1, d->hidden, d->hidden, HE)                \
	X(dev_b2, 1, 1, d->hidden, ZERO)                      \
	NN_ROUND_PARAMS(X, dev_, 1, d->link_in, d->hidden) \
	X(score_node, 1, d->hidden, d->hidden, HE)            \
	X(score_dev, 1, d->hidden, d->hidden, HE)             \
	X(score_pair, 1, d->pair_in, d->hidden, HE)           \
	X(score_b, 1, 1, d->hidden, ZERO)                     \
	X(score_v, 1, d->hidden, 1, SMALL)                    \
	X(score_skip, 1, d->pair_in, 1, SMALL)                \
	X(step_x, 1, d->step_in, d->hidden, HE)               \
	X(step_v, 1, d->hidden, 1, SMALL)                     \
	X(step_skip, 1, d->step_in, 1, SMALL)                 \
	X(order_v, 1, d->hidden, 1, SMALL)

/* One parameter tensor: values [copies][rows][columns] from offset on in the block. */
typedef struct policy_tensor {
	const char *name;
	int32_t copies, rows, columns;
	size_t offset, size;
} policy_tensor;

/* Number of tensors, and the index-th of them. */
int32_t policy_tensor_count(void);
policy_tensor policy_tensor_at(const policy_dims *d, int32_t index);

/* Elements of the block of parameters (and of the block of gradients). */
size_t policy_param_count(const policy_dims *d);

/* Elements of the block of activations for an instance of these sizes. Grows with every size: a block made
 * for the largest instance serves all. */
size_t policy_acts_size(const policy_dims *d, int32_t n_nodes, int32_t n_edges, int32_t n_devs);

/* Those that forward passes use, the first of them. */
size_t policy_forward_size(const policy_dims *d, int32_t n_nodes, int32_t n_edges, int32_t n_devs);

/* Normal weights of variance 2 / rows (He et al. 2015), zero biases. The last layer is a hundred times
 * smaller, so that an untrained policy is near uniform. */
void policy_init(const policy_dims *d, nn_real params[], berth_rng *rng);

/* Sizes (n_nodes >= 0, n_devs >= 1), ends of edges, finite features, and a legal device for every node.
 * Fails: BERTH_EINVAL with the place; BERTH_EINFEASIBLE for a node without a legal device. O(input). */
berth_status policy_input_check(const policy_dims *d, const policy_input *in, berth_err *err);

/* logits[n_nodes][n_devs], of checked inputs. acts keeps what policy_backward needs. */
void policy_forward(const policy_dims *d, const nn_real params[restrict], const policy_input *in,
                    nn_real acts[restrict], nn_real logits[restrict]);
/* grads += the gradient for dlogits[n_nodes][n_devs], after policy_forward of the same params, input and
 * acts. */
void policy_backward(const policy_dims *d, const nn_real params[restrict], const policy_input *in,
                     nn_real acts[restrict], const nn_real dlogits[restrict], nn_real grads[restrict]);

/* ---- step by step ---- */

/* The encodings alone, into acts: policy_forward without its head. */
void policy_embed(const policy_dims *d, const nn_real params[restrict], const policy_input *in,
                  nn_real acts[restrict]);

/* key[n_nodes] of embedded acts: how far each node's operators move forward in the list. */
const nn_real *policy_keys(const policy_dims *d, const policy_input *in, const nn_real acts[]);

/* Steps of the sequential head: rows of one matrix, any number of episodes one after the other. */
typedef struct policy_steps {
	size_t n;
	const int32_t *node; /* [n] */
	const nn_real *x;    /* [n][n_devs][step_in] */
} policy_steps;

/* logits[n][n_devs] of steps, after policy_embed. hidden [n][n_devs][hidden] keeps what
 * policy_steps_backward needs. */
void policy_steps_forward(const policy_dims *d, const nn_real params[restrict], const policy_input *in,
                          const nn_real acts[restrict], const policy_steps *steps, nn_real hidden[restrict],
                          nn_real logits[restrict]);
/* The same for one step at a time, without trace; made once for embedded acts, for being called once a
 * decision. */
typedef struct policy_stepper {
	size_t n_devs, hidden, step_in;
	const nn_real *z, *x, *v, *skip;
	const nn_real *keys; /* as policy_keys */
} policy_stepper;

policy_stepper policy_stepper_of(const policy_dims *d, const nn_real params[], const policy_input *in,
                                 const nn_real acts[]);
/* logits[n_devs] of one step; x[n_devs][step_in]. O(n_devs * step_in * hidden). */
void policy_step_logits(const policy_stepper *s, int32_t node, const nn_real x[restrict],
                        nn_real logits[restrict]);

/* Backward of any number of policy_steps_forward, between a begin and an end: begin; for each, steps; then
 * end with the gradient of the keys (NULL: 0). grads accumulate. hidden is overwritten. */
void policy_backward_begin(const policy_dims *d, const policy_input *in, nn_real acts[]);
void policy_steps_backward(const policy_dims *d, const nn_real params[restrict], const policy_input *in,
                           nn_real acts[restrict], const policy_steps *steps, nn_real hidden[restrict],
                           const nn_real dlogits[restrict], nn_real grads[restrict]);
void policy_backward_end(const policy_dims *d, const nn_real params[restrict], const policy_input *in,
                         nn_real acts[restrict], const nn_real dkeys[], nn_real grads[restrict]);
