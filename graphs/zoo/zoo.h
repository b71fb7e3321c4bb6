/* The model zoo: operator graphs built in code from a few parameters, named by specs like
 * "zoo:resnet50:batch=8:training=1". */
#pragma once

#include "graph.h"
#include "spec.h"

struct zoo_net;

typedef struct berth_zoo_model {
	const char *name, *about;
	const berth_spec_param *param;
	int32_t n_params;
	/* adds the operators of the forward pass; errors stick to net */
	void (*build)(struct zoo_net *net);
	int variant; /* of its family */
} berth_zoo_model;

/* All models, [*n], in the order of the table that the program prints. */
const berth_zoo_model *berth_zoo_list(int32_t *n);

/* Does text name a zoo model rather than a file ("zoo:...")? */
bool berth_zoo_is_spec(const char *text);

/* The graph of a spec "zoo:NAME[:key=value...]". Its name is the spec without "zoo:", keys in the order of
 * the model's parameters, defaults left out. Figures follow the conventions of the ONNX importer;
 * BatchNormalization is folded into Conv except with training=1.
 *   mem   holds the graph      tmp   scratch, reset at exit
 * Fails: BERTH_EINVAL (unknown model or parameter, naming the nearest; a value out of its range; sizes
 * beyond 2^53 bytes), BERTH_ENOMEM. */
berth_status berth_zoo_build(const char *spec, berth_arena *mem, berth_arena *tmp, berth_graph *out,
                             berth_err *err);
