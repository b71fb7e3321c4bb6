/* How an operator type differentiates: what its backward pass costs and which tensors of the forward pass it
 * needs again. */
#ifndef BERTH_TRAINING_RULES_H
#define BERTH_TRAINING_RULES_H

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
	const char *type;
	training_cost cost;
	unsigned keep;
} training_rule;

/* The rule of a type (NULL: no type), with cost TRAINING_UNKNOWN where the table has none. O(log types). */
training_rule training_rule_of(const char *type);

#endif
