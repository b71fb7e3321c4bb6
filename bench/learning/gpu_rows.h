/* Public measurements of operators on GPUs, as the time model takes them. */
#pragma once

#include "gpu_times.h"

#include "bench.h"

enum { GPU_DEVICES = 8 };

typedef struct gpu_row {
	int32_t device;
	double seconds;
	berth_time_query q;
} gpu_row;

typedef struct gpu_rows {
	berth_time_device device[GPU_DEVICES]; /* overhead_s: the median of small element-wise operators, or 0
	                                        */
	gpu_row *row[BERTH_N_TIME_CLASSES];    /* shuffled */
	int32_t n[BERTH_N_TIME_CLASSES];
	double overhead_s; /* the median of those of the devices */
} gpu_rows;

/* The device that a file of measurements means; -1: none of them. */
int32_t gpu_device_named(const char *name);
const char *gpu_device_label(int32_t device);

/* Read gpu-ops-f32.csv and llm-ops-f16.csv of a folder, all in mem. What fails ends the program. */
void gpu_rows_read(const char *folder, berth_arena *mem, gpu_rows *out);

/* A text file of a folder, whole, in mem. */
char *gpu_file(const char *folder, const char *name, berth_arena *mem);
/* Cut the next line of *text into at most n cells; their number, 0 at the end. */
int gpu_cells(char **text, char **cell, int n);

/* Operators in f32 and in f16 (item_bytes 2). */
berth_time_query gpu_linear(double m, double k, double n, double item_bytes);
berth_time_query gpu_bmm(double b, double m, double k, double n);
berth_time_query gpu_elementwise(double numbers, double moved);
berth_time_query gpu_over_rows(berth_time_class class, double rows, double width);
