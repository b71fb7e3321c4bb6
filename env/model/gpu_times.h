/* How long an operator takes on a GPU that nobody has timed, from its shape and the GPU's datasheet. The
 * formula and its numbers are those of the execution model; no other device is meant. */
#pragma once

#include <stdbool.h>

typedef enum berth_time_class {
	BERTH_TIME_LINEAR, /* a product with weights: b and m are one */
	BERTH_TIME_BMM,    /* a product of two results */
	BERTH_TIME_CONV,
	BERTH_TIME_ELEMENTWISE, /* and all else that only its bytes and work tell of */
	BERTH_TIME_NORM,        /* over rows: layer norm and its kin */
	BERTH_TIME_SOFTMAX,
	BERTH_TIME_HALF, /* products in less than f32, on matrix units */
	BERTH_N_TIME_CLASSES
} berth_time_class;

/* An operator. What its class does not ask for is not looked at. */
typedef struct berth_time_query {
	berth_time_class class;
	double flops, bytes;    /* of the whole operator; bytes are read and written */
	double item_bytes;      /* of a number; products */
	double b, m, n, k;      /* products: b of m x k by k x n */
	double images, in, out; /* convolutions: channels of all groups */
	double height, width;   /* of the output in points; width also of a row (norm, softmax) */
	double kernel_height, kernel_width, groups, stride, dilation;
	double rows;
	bool alone; /* nothing runs before it or after it, so that the GPU is cool */
} berth_time_query;

/* A GPU. Peak, bandwidth, units and lanes are more than 0; another figure of 0 is not known. */
typedef struct berth_time_device {
	double peak_flops;  /* FLOP/s in the operator's precision */
	double bandwidth;   /* bytes/s */
	double units;       /* streaming multiprocessors, compute units */
	double lanes;       /* of a unit */
	double cache_bytes; /* L2 */
	double watts, process_nm;
	double overhead_s; /* of a call of the cheapest operator, by the host */
} berth_time_device;

typedef struct berth_time_estimate {
	double seconds;
	double error; /* expected, as a part of seconds */
} berth_time_estimate;

/* Seconds of an operator and what they are expected to be off by. Never less than flops / peak_flops (a
 * quarter of that for a convolution that can be done by Winograd's method), nor than what the bytes beyond
 * the cache take; more of b, m, n, k, images, channels, points, kernel, rows, width, flops or bytes is never
 * quicker. About 250 ns; a convolution 690. */
berth_time_estimate berth_time_on_gpu(const berth_time_query *q, const berth_time_device *d);

/* ---- for fitting ---- */

/* Kinds of GPU by process: 14 nm and more, 9 to 13, 8 and less. */
enum { BERTH_N_GENERATIONS = 3 };
int berth_time_generation(const berth_time_device *d);

/* The numbers of a formula, in the order of gpu_times_numbers.h. */
enum berth_time_number {
	BERTH_GPU_AT_128_128, /* efficiencies of tiles of a product's result, m by n */
	BERTH_GPU_AT_128_64,
	BERTH_GPU_AT_64_128,
	BERTH_GPU_AT_64_64,
	BERTH_GPU_AT_128_32,
	BERTH_GPU_AT_32_128,
	BERTH_GPU_AT_32_32,
	BERTH_GPU_AT_2_64,
	BERTH_GPU_BEGIN_K,      /* what begins and ends a tile costs so many k */
	BERTH_GPU_SPLIT_K,      /* a split of k costs so many k a part */
	BERTH_GPU_PEAK,         /* part of the peak that is reached */
	BERTH_GPU_JOULES,       /* 10^-12 J of an operation and nm, alone */
	BERTH_GPU_JOULES_LONG,  /* the same, in a model */
	BERTH_GPU_IDLE_WATTS,   /* of the board but for its multiplying */
	BERTH_GPU_HEAT_S,       /* alone, the power limit is half felt after so long */
	BERTH_GPU_FETCH,        /* part of the bandwidth at which tiles are fetched */
	BERTH_GPU_RESIDENT,     /* tiles of 128 x 128 that 64 lanes hold */
	BERTH_GPU_FETCH_JOIN,   /* how much of the shorter of computing and fetching is not hidden */
	BERTH_GPU_LONG_ROWS,    /* what rows that are far apart cost at most */
	BERTH_GPU_LONG_ROWS_AT, /* half of that at so many k a GB/s */
	BERTH_GPU_MEMORY,       /* part of the bandwidth that is reached */
	BERTH_GPU_MEMORY_JOIN,
	BERTH_GPU_CACHE,      /* how much quicker what fits the cache is */
	BERTH_GPU_CALL_S,     /* between two kernels */
	BERTH_GPU_ALONE_S,    /* what a call alone waits for besides */
	BERTH_GPU_HOST,       /* times of the device's overhead that the host needs */
	BERTH_GPU_WINOGRAD_2, /* efficiencies of methods for convolutions: of blocks of 2 x 2, of 4 x 4, as
	                         product */
	BERTH_GPU_WINOGRAD_4,
	BERTH_GPU_AS_PRODUCT,
	BERTH_GPU_TRANSFORM, /* part of the bandwidth that transforms of 4 x 4 reach */
	BERTH_GPU_PASSES,    /* what rows that do not fit the cache are read again */
	BERTH_GPU_PASSES_AT,
	BERTH_GPU_ITEM_OPS, /* operations for each number of a row */
	BERTH_GPU_ROW_S,    /* of a row on 64 lanes */
	BERTH_N_TIME_NUMBERS
};

/* Seconds by the numbers number [BERTH_N_TIME_NUMBERS] of the query's class. */
double berth_time_formula(const double *number, const berth_time_query *q, const berth_time_device *d);
