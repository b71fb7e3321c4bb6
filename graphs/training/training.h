/* One training step of an inference graph: the forward pass, a loss, the backward pass by differentiation
 * rules of the operator types, gradient sums, and optimiser updates. What the result looks like:
 *
 *   forward operators   as they were; those with parameters get state_bytes for the gradient and the
 *                       optimiser's state
 *   loss                SoftmaxCrossEntropyLoss over all outputs that depend on parameters
 *   OP/grad_input       gradient of the inputs (and of the parameters of normalisations and other light
 *                       types), type of OP
 *   OP/grad_weight      gradient of the parameters of products, biases, embeddings, type of OP
 *   OP/grad_sum         GradSum, where a tensor has several consumers
 *   OP/recompute        OP again, type of OP, where its segment's activations are not kept (op_segment)
 *   OP/update           OptimizerUpdate; NAME/update for a shared parameter, once
 *   NAME/all_reduce i of R   AllReduce: the i-th share of the gradient of a parameter that R replicas have
 *                       copies of, and NAME/update i of R for each copy
 *
 * All that touches the parameters of an operator shares its colocation group. A tensor that the backward
 * pass needs again has an edge to it, so it stays in memory until then. Gradients of parameters lie in
 * state_bytes, so their edges to the update carry 0 bytes. Additions and views whose sizes agree pass the
 * gradient on without an operator. Measured times of backward operators are the forward's times the cost
 * factor of the rule. Those of sums, updates and the loss scale with FLOPs and do not exceed the forward's.
 * Inputs from outside get no gradient.
 *
 * Operators that were cut into pieces (docs/splitting.md) are told by their names: pieces that share a
 * parameter are replicas with a copy of it each. The result of the model is not joined: each piece has a
 * loss of its own, loss/piece i of R. What pieces of a vocabulary would tell each other for that, two numbers
 * a token, is left out. */
#pragma once

#include "graph.h"

typedef enum berth_optimizer {
	BERTH_OPTIMIZER_SGD,      /* state: the gradient */
	BERTH_OPTIMIZER_MOMENTUM, /* the gradient and one more copy */
	BERTH_OPTIMIZER_ADAM      /* the gradient and two more copies */
} berth_optimizer;

typedef struct berth_training_report {
	int32_t n_unknown;
	/* [n_unknown] types without a rule, in order of first use ("" for none), in mem */
	const char **unknown_type;
	/* [n_ops of the step] the operator of g that it is, or that it is derived from (of a loss one that it
	 * takes from), in mem. Those that are operators of g come first, in their order. */
	const int32_t *op_of;
} berth_training_report;

typedef struct berth_training_options {
	berth_optimizer optimizer;     /* default Adam */
	int64_t elem_bytes;            /* bytes of a number, for FLOPs of loss, sums and updates; default 4 */
	/* [n_ops] operators of one number >= 0 (below n_ops) form a segment. Tensors that only it consumes
	 * are not kept for the backward pass but computed again. -1: keep. NULL (default): keep all. */
	const int32_t *op_segment;
	/* copies of a parameter that pieces of an operator share: runs of neighbouring pieces have one each,
	 * and stand on one device. 0 (default): a copy for each piece */
	int32_t replicas;
	berth_training_report *report; /* filled on success; may be NULL */
} berth_training_options;

berth_training_options berth_training_options_default(void);

/* Cut g along its topological order into n_segments (1 to n_ops) pieces of about equal bytes of tensors, for
 * op_segment [n_ops]. */
void berth_training_segments(const berth_graph *g, int32_t n_segments, int32_t *op_segment);

/* The training graph of g, in mem; strings are copied. opt NULL: defaults. tmp is scratch, reset at exit.
 * Fails: BERTH_EINVAL (no operator has parameters; g has backward operators already; elem_bytes < 1; a
 * segment out of range), BERTH_EFORMAT (sums beyond what a graph holds), BERTH_ENOMEM. O(ops + edges). */
berth_status berth_graph_training(const berth_graph *g, const berth_training_options *opt, berth_arena *mem,
                                  berth_arena *tmp, berth_graph *out, berth_err *err);
