/* Whole models on GPUs: their operators, and what was measured. */
#pragma once

#include "gpu_rows.h"

typedef struct gpu_whole {
	int32_t device;
	char *model; /* of the file: "bert_large-inf-512-8" */
	bool training;
	double seconds;
} gpu_whole;

enum { GPU_WHOLES = 100 };

/* Those of gpu-models.csv that one of the devices ran as it is: neither fused, nor in parts, nor a mixture of
 * experts. Their number. */
int gpu_wholes_read(const char *folder, berth_arena *mem, gpu_whole *out);

/* Seconds of a model on a GPU: the sum of its operators, each by number [class][BERTH_N_TIME_NUMBERS]. */
double gpu_whole_seconds(const gpu_whole *w, const berth_time_device *d,
                         double number[][BERTH_N_TIME_NUMBERS]);
