/* Fitting the numbers of the time model to measurements. */
#pragma once

#include "gpu_rows.h"

/* Logarithms of a class's numbers: what generations share, and what each has more. */
typedef struct gpu_fit {
	berth_time_class class;
	double shared[BERTH_N_TIME_NUMBERS], own[BERTH_N_GENERATIONS][BERTH_N_TIME_NUMBERS];
} gpu_fit;

/* Fit a class without the rows of device left_out (-1: with all). The loss is the mean absolute logarithm of
 * predicted to measured time, from 1 on a third as steep, and a part that draws numbers to what is likely and
 * generations to each other. Adam, with gradients by differences; the same on any machine. Seconds. */
void gpu_fit_class(const gpu_rows *rows, berth_time_class class, int32_t left_out, gpu_fit *out);

/* number [BERTH_N_TIME_NUMBERS] of a generation; those that the class does not have are 0. */
void gpu_fit_numbers(const gpu_fit *f, int generation, double *number);

/* What multiplying costs in a model, as a part of what it costs alone. */
#define GPU_JOULES_LONG 0.79
