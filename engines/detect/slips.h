/* Figures of a system that are off by a power of 1000 from anything that was built, and what was probably
 * meant: 24 bytes of memory for 24 GB. */
#pragma once

#include "catalogue.h"
#include "system.h"

/* What devices and links of the catalogue have of a figure, from the least to the most; of what it does not
 * tell (overheads, energy of transfers) what is met. usual: their middle. */
typedef struct berth_built {
	double least, usual, most;
} berth_built;

/* Of the figure f of devices of a class (BERTH_CLASS_NONE: any), in precision p where it is a peak. most 0:
 * nothing is known of such a figure. O(rows). */
berth_built berth_built_range(const berth_catalogue *c, const berth_system_figure *f,
                              berth_device_class class, berth_precision p);

/* Is x so far outside of the range that a slip of a unit is nearer than a device of today, and does some
 * power of 1000 bring it back? *meant: by the one that comes nearest to the usual. A figure that stands for
 * no cost or no limit (1e15 bytes, 1e-12 s, and so on) is none, and neither is 0. */
bool berth_slip(const berth_system_figure *f, const berth_built *range, double x, double *meant);
