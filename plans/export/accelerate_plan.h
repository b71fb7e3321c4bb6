/* A plan of a model folder as accelerate runs it, for its exporter. Inside of plans/export. */
#pragma once

#include "accelerate_auto.h"
#include "exporters.h"

#include "hf.h"

typedef struct accelerate_plan {
	const berth_export_source *x;
	const int32_t *op_dev; /* [n_ops] the plan */
	decoder_model m;
	int32_t *part_dev; /* [ACCELERATE_PARTS] devices of modules; -1: none there, or nothing in the plan */
	const char **word; /* [n_devs] values of the map; NULL: the plan does not use it */
	berth_err *err;
} accelerate_plan;

bool accelerate_is_number(const char *text);

/* The place of the operator's module in the lists of accelerate_auto.h; -1: the last row, which holds
 * nothing. */
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
