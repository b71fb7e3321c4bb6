/* Public measurements of operators on GPUs, as the time model takes them, and the numbers of the model that
 * are fitted to them. What fails ends the program. */
#pragma once

#include "entries.h"
#include "gpu_times.h"

enum { GPU_DEVICES = 8, GPU_WHOLES = 100 };

typedef struct gpu_row {
	int32_t device;
	double seconds;
	berth_time_query q;
} gpu_row;

typedef struct gpu_rows {
	berth_time_device device[GPU_DEVICES]; /* overhead_s: median of small element-wise operators, or 0 */
	gpu_row *row[BERTH_N_TIME_CLASSES];    /* shuffled */
	int32_t n[BERTH_N_TIME_CLASSES];
	double overhead_s; /* the median of those of the devices */
} gpu_rows;

const char *gpu_device_label(int32_t device);

/* Read gpu-ops-f32.csv and llm-ops-f16.csv of a folder, all in mem. */
void gpu_rows_read(const char *folder, berth_arena *mem, gpu_rows *out);

typedef struct gpu_whole {
	int32_t device;
	char *model; /* of the file: "bert_large-inf-512-8" */
	bool training;
	double seconds;
} gpu_whole;

/* Those of gpu-models.csv that one of the devices ran as it is: neither fused, nor in parts, nor a mixture of
 * experts. Their number. */
int gpu_wholes_read(const char *folder, berth_arena *mem, gpu_whole *out);

/* Operators in f32 and in f16 (item_bytes 2). */
berth_time_query gpu_linear(double m, double k, double n, double item_bytes);
berth_time_query gpu_bmm(double b, double m, double k, double n);
berth_time_query gpu_elementwise(double numbers, double moved);
berth_time_query gpu_over_rows(berth_time_class class, double rows, double width);

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
