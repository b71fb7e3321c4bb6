/* Units of measure behind a number: "16GB", "10us", "80GB/s". */
#pragma once

#include "status.h"

typedef enum berth_quantity {
	BERTH_PLAIN,           /* a number without a unit */
	BERTH_SECONDS,         /* s, ms, us, ns */
	BERTH_BYTES,           /* B, KB, MB, GB, TB in steps of 1000; KiB, MiB, GiB, TiB in steps of 1024 */
	BERTH_BYTES_PER_S,     /* the same with /s */
	BERTH_FLOPS_PER_S,     /* FLOP/s, MFLOP/s, GFLOP/s, TFLOP/s, PFLOP/s */
	BERTH_WATTS,           /* W, mW, kW */
	BERTH_JOULES,          /* J, mJ, kJ */
	BERTH_JOULES_PER_BYTE, /* J/B, nJ/B, pJ/B */
	BERTH_N_QUANTITIES
} berth_quantity;

/* Factor to the SI unit (bytes; FLOP/s) of the unit that text starts with; 1 where it starts with no letter.
 * *end, which may be NULL, is what follows the unit. 0: the quantity has no such unit; *end is text. */
double berth_unit(berth_quantity q, const char *text, const char **end);

/* The units of a quantity with commas between, "" where it has none. buf of 96 bytes. Returns buf. */
const char *berth_unit_names(berth_quantity q, char buf[96]);
