/* What transformers does by itself, device_map="auto": weights are shared evenly among the GPUs, then filled
 * in from the first module to the last, and what does not fit goes to the CPU and to the disk. After its
 * functions get_balanced_memory and infer_auto_device_map (transformers 5.12, accelerate 1.14). Inside of
 * plans/export. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Places in the lists below: modules in the order of the model. */
enum {
	ACCELERATE_EMBED,
	ACCELERATE_POSITION,
	ACCELERATE_LAYER /* the first of n_layers; behind them: */
};
#define ACCELERATE_NORM(n_layers) ((n_layers) + 2)
#define ACCELERATE_ROTARY(n_layers) ((n_layers) + 3)
#define ACCELERATE_OUTPUT(n_layers) ((n_layers) + 4)
#define ACCELERATE_PARTS(n_layers) ((n_layers) + 5)

typedef struct accelerate_model {
	const int64_t *bytes; /* [ACCELERATE_PARTS] of weights and buffers; 0: there is no such module */
	int32_t n_layers;
	int32_t n_leaves;     /* modules with weights or buffers of their own */
	bool tied;            /* the output has the weights of the embedding, and counts 0 */
} accelerate_model;

/* Cut room [n_gpus + 1], the free bytes of the GPUs and then of the CPU, to what "auto" lets them have. */
void accelerate_balance(const accelerate_model *m, double *room, int32_t n_gpus);

/* at [ACCELERATE_PARTS]: places in room, as balanced; n_gpus + 1: the disk. O(n_layers^2). */
void accelerate_fill(const accelerate_model *m, const double *room, int32_t n_gpus, int32_t *at);
