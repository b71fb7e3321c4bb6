/* What building a training graph and recomputing its activations share. */
#pragma once

#include "sort.h"
#include "training.h"

typedef enum training_cost {
	TRAINING_NONE, /* no gradient: indices, shapes, comparisons */
	/* the gradient of the output is that of the input: no operator (as TRAINING_ONCE where sizes
	 * differ) */
	TRAINING_PASS,
	/* multiply-accumulates: as the forward for each input, and as the forward for the weights */
	TRAINING_PRODUCT,
	/* the gradient of the output is a part of that of the input: no operator, but a sum that puts it in
	 * its place */
	TRAINING_PART,
	TRAINING_ONCE,    /* as the forward */
	TRAINING_TWICE,   /* about twice the forward */
	TRAINING_UNKNOWN  /* not in the table: taken for TRAINING_TWICE, keeping inputs */
} training_cost;

enum { /* kept from the forward pass */
	KEEP_NOTHING = 0,
	KEEP_INPUTS = 1,
	KEEP_OUTPUTS = 2,
	KEEP_OTHERS = 4 /* for the gradient of an input only the other inputs; for that of the weights all */
};

typedef struct training_rule {
	training_cost cost;
	unsigned keep;
} training_rule;

/* A gradient: an output of a derived operator. */
typedef struct gradient {
	int32_t op;
	const char *tensor;
	int64_t bytes;
	double cut_s;        /* as that of the tensor whose gradient it is */
	int32_t last_reader; /* an operator reads a gradient once, however often it is a summand */
} gradient;

/* The list of gradients that the consumers of a tensor give. */
typedef struct summand {
	int32_t grad, next;
} summand;

/* Slots are the tensors of g, then one virtual tensor an operator for an output that leaves the graph and is
 * no tensor. */
typedef struct trainer {
	const berth_graph *g;
	const berth_training_options *opt;
	berth_arena *tmp;
	berth_err *err;
	berth_builder *b;
	training_rule *type_rule; /* [n_types + 1], first that of operators without a type */
	bool *op_active;       /* its gradient is wanted and exists */
	int32_t *op_root;      /* union-find over colocation */
	const char **op_group; /* of roots; NULL: free */
	int32_t *op_new;       /* the forward operator in the new graph; -1: a join that is left out */
	int64_t *op_piece;     /* operators of equal numbers are the same pieces */
	int64_t *op_replica;   /* operators of equal numbers share copies of parameters */
	int32_t *op_out_slot;  /* what the loss reads; -1: nothing */
	int32_t *op_update_of; /* operator that gives the gradient of its parameters; -1: none */
	const char **op_update_tensor;
	int32_t *slot_first;   /* into summand; -1: none */
	int32_t *slot_grad;    /* after summing, into gradient; -1: none */
	bool *tensor_dropped;  /* given up after the forward pass, computed again for the backward pass */
	int32_t *op_copy;      /* operator that computes its outputs again; -1: none yet */
	int32_t *segment_trigger; /* [n_ops] operator whose end lets a segment's copies start; -1: none yet */
	gradient *grad;
	summand *summand;
	size_t n_grads, cap_grad, n_summands, cap_summand;
	int32_t *of; /* [n_of] of each operator of the new graph: the one of g that it comes from */
	size_t n_of, cap_of;
} trainer;

const char *training_type_of(const berth_graph *g, int32_t op);
/* Colocation group of all that touches op's parameters; NULL where it has none. */
const char *training_group_of(trainer *t, int32_t op);

/* Seconds that each hop of what the slot holds takes (tensor_cut_s of the graph). */
double training_cut_s(const trainer *t, int32_t slot);
berth_status training_put_edge(trainer *t, int32_t from, int32_t to, int64_t bytes, double cut_s,
                               const char *name);
/* An edge that carries a tensor of g, from where it, or a copy of it, is made. */
berth_status training_edge(trainer *t, int32_t from, int32_t to, int32_t tensor);

/* So many numbers in rows as wide as op's results where these divide them, else in one row. */
berth_dims training_rows(const trainer *t, int32_t op, int64_t bytes);
/* The dims of op for one gradient of its work, and of `times` such products; rows stay as they are. */
berth_dims training_backward_dims(const berth_graph *g, int32_t op, bool for_weights, double times);

/* Copy forbidden devices, and measured times scaled by factor. */
berth_status training_copy_limits(trainer *t, int32_t from, int32_t to, double factor);
/* An operator of the new graph, which comes from op. */
berth_status training_put_op(trainer *t, int32_t op, const berth_op_spec *spec, int32_t *out);
/* An operator derived from op, called base/what, that computes in op's precision; its measured times are op's
 * times factor. */
berth_status training_derive(trainer *t, int32_t op, const char *base, const char *what, berth_op_spec spec,
                             double factor, int32_t *out);

/* As training_derive for sums, updates and the loss: times go with FLOPs, and are no longer than op's. */
berth_status training_derive_light(trainer *t, int32_t op, const char *base, const char *what,
                                   berth_op_spec spec, int32_t *out);
/* Gradient and optimiser state in units of the parameters. */
int64_t training_optimizer_copies(const trainer *t);

/* ---- training_replicas.c ---- */

/* Set op_piece, op_replica and op_new: by the names of pieces. Fails: BERTH_ENOMEM. */
berth_status training_name_replicas(trainer *t);
/* Updates of all parameters, and the sums of gradients of copies. Fails: BERTH_ENOMEM. */
berth_status training_update(trainer *t);

/* ---- what is computed again ---- */

/* May its outputs be computed again? */
bool training_recomputes(const trainer *t, int32_t op);

/* What is given up, once the outputs are chosen. Fails: BERTH_ENOMEM. */
berth_status training_prepare_recompute(trainer *t);

/* An edge that brings a tensor of the forward pass to a backward operator: from where it was made, or from a
 * copy of the operators that lead to it in their segment. trigger: an operator whose end is a good time to
 * start the copies: it gives the gradient that enters the segment. */
berth_status training_read(trainer *t, int32_t tensor, int32_t trigger, int32_t reader);

/* The rule of a type (NULL: no type), with cost TRAINING_UNKNOWN where the table has none. O(types). */
training_rule training_rule_of(const char *type);
