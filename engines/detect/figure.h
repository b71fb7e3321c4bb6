/* A figure of the description of a machine, and where it comes from. No figure is made up: one that nobody
 * tells is missing. */
#pragma once

#include "status.h"

typedef enum berth_origin {                        /* the best one first */
	                    BERTH_ORIGIN_GIVEN,    /* by the user */
	                    BERTH_ORIGIN_MEASURED, /* here and now */
	                    BERTH_ORIGIN_DRIVER, /* told by a driver or the system, or computed from what they
	                                            tell */
	                    BERTH_ORIGIN_TABLE,  /* a datasheet's, by the device's name (catalogue.h) */
	                    BERTH_ORIGIN_MISSING
} berth_origin;

typedef struct berth_figure {
	double value; /* SI units; 0 where missing */
	berth_origin origin;
	char how[112]; /* by what it was measured, from what computed; why it is missing; "" */
} berth_figure;

/* "given", "measured", "driver", "table", "missing". */
const char *berth_origin_name(berth_origin o);

/* A missing figure; how says why. */
berth_figure berth_figure_missing(const char *why);

/* A figure of one origin. One that is out of [least, most], or no number, is missing, and how says so. */
berth_figure berth_figure_of(double value, double least, double most, berth_origin origin, const char *fmt,
                             ...) BERTH_PRINTF(5, 6);

/* The one with the better origin; a where both are alike. */
const berth_figure *berth_figure_better(const berth_figure *a, const berth_figure *b);

/* Ranges that figures of real devices lie in: what is beyond is a driver's mistake. */
#define BERTH_LEAST_FLOPS 1e6
#define BERTH_MOST_FLOPS 1e18
#define BERTH_LEAST_BANDWIDTH 1e5
#define BERTH_MOST_BANDWIDTH 1e16
#define BERTH_LEAST_MEMORY 1048576.0
#define BERTH_MOST_MEMORY 0x1p50
