/* A plan of a model folder as accelerate runs it, for its exporter. Inside of plans/export. */
#pragma once

#include "exporters.h"
#include "hf.h"

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

/* What transformers does by itself, device_map="auto": weights are shared evenly among the GPUs, then filled
 * in from the first module to the last, and what does not fit goes to the CPU and to the disk. After its
 * functions get_balanced_memory and infer_auto_device_map (transformers 5.12, accelerate 1.14).
 *
 * Cut room [n_gpus + 1], the free bytes of the GPUs and then of the CPU, to what "auto" lets them have. */
void accelerate_balance(const accelerate_model *m, double *room, int32_t n_gpus);

/* at [ACCELERATE_PARTS]: places in room, as balanced; n_gpus + 1: the disk. O(n_layers^2). */
void accelerate_fill(const accelerate_model *m, const double *room, int32_t n_gpus, int32_t *at);

typedef struct accelerate_plan {
	const berth_export_source *x;
	const int32_t *op_dev; /* [n_ops] the plan */
	decoder_model m;
	int32_t *part_dev; /* [ACCELERATE_PARTS] devices of modules; -1: none there, or nothing in the plan */
	const char **word; /* [n_devs] values of the map; NULL: the plan does not use it */
	berth_err *err;
} accelerate_plan;

bool accelerate_is_number(const char *text);

/* The place of the operator's module in the lists above; -1: the last row, which holds nothing. */
int32_t accelerate_part(const accelerate_plan *m, int32_t op);

/* m has x and err, and the model, if that was read before. Words and parts live in tmp, notes go to out.
 * Fails: BERTH_EINVAL (a device without a word), BERTH_EUNSUPPORTED (a module on two devices, by name),
 * BERTH_ENOMEM. O(ops). */
berth_status accelerate_open(accelerate_plan *m, const int32_t *op_dev, berth_export_out *out,
                             berth_arena *tmp);

/* Of an open plan. Beside a GPU, what is on the CPU or the disk is only stored there. */
bool accelerate_is_stored(const accelerate_plan *m, int32_t d);

/* The device that computes what is stored: the first GPU of the map, else the CPU; -1: all is on disk. */
int32_t accelerate_main(const accelerate_plan *m);

/* needs [n_devs]: bytes that each device holds at its peak: what is stored there, and where operators compute
 * their cache and tensors, with room for the largest weight that is copied in. weights [n_devs]: those stored
 * there. All 0 where the plan cannot run. tmp is scratch, reset at exit. Fails: BERTH_ENOMEM. A simulation.
 */
berth_status accelerate_needs(const accelerate_plan *m, berth_arena *tmp, int64_t *needs, int64_t *weights);
