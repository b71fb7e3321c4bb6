/* Units of measure behind a number: "16GB", "10us", "80GB/s". */
#pragma once

#include "status.h"

typedef enum berth_quantity {
	BERTH_PLAIN,           /* a number without a unit */
	BERTH_COUNT,           /* K, M, G in steps of 1000 */
	BERTH_TOKENS,          /* and sizes of tensors: k, M in steps of 1024, as model cards have it */
	BERTH_SECONDS,         /* s, ms, us, ns, min, h */
	BERTH_BYTES,           /* B, KB, MB, GB, TB in steps of 1000; KiB, MiB, GiB, TiB in steps of 1024 */
	BERTH_BYTES_PER_S,     /* the same with /s; Mbit/s, Gbit/s */
	BERTH_FLOPS_PER_S,     /* FLOP/s, MFLOP/s, GFLOP/s, TFLOP/s, PFLOP/s; MFLOPS and so on */
	BERTH_WATTS,           /* W, mW, kW */
	BERTH_JOULES,          /* J, mJ, kJ */
	BERTH_JOULES_PER_BYTE, /* J/B, nJ/B, pJ/B */
	BERTH_N_QUANTITIES
} berth_quantity;

/* Factor to the SI unit (bytes; FLOP/s) of the unit that text starts with; 1 where it starts with no letter.
 * *end, which may be NULL, is what follows the unit. 0: the quantity has no such unit; *end is text. */
double berth_unit(berth_quantity q, const char *text, const char **end);

/* The number that text begins with, in SI: with a unit behind it, a blank between them or none. *end is
 * behind it. NAN: there is no number (*end is text), or a unit that is none of the quantity's (*end is the
 * unit). The one way to read a number with a unit that people write. */
double berth_unit_number(berth_quantity q, const char *text, const char **end);

/* x in the unit that leaves 1 to 999 before it, where there is one: "24 GB", "7 us". buf of 64 bytes. Returns
 * buf. */
const char *berth_unit_text(berth_quantity q, double x, char buf[64]);

/* The units of a quantity with commas between, "" where it has none. buf of 96 bytes. Returns buf. */
const char *berth_unit_names(berth_quantity q, char buf[96]);
