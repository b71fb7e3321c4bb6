/* Devices of the catalogue in systems: what "like" stands for, and a whole computer in a line of text. */
#pragma once

#include "catalogue.h"
#include "system.h"

/* The efficiencies that the roofline takes for a type where nobody states them. */
typedef struct berth_type_default {
	const char *type;
	double value;
} berth_type_default;

/* By class, "*" first, ended by a type of NULL. */
const berth_type_default *berth_like_efficiency(berth_device_class c);

/* The figures of device d of s, but for its efficiencies. Borrows the row's name. */
void berth_system_like(berth_system *s, int32_t d, const berth_device_row *row);

/* The text of a berth-system file of one computer, in mem, by words with "," or "+" between: cpu=, gpu= and
 * npu= are devices of the catalogue, named by class and number, the vendor may be left out; link= joins the
 * first CPU with all others (all pairs, where there is no CPU), one called nvlink... the GPUs with each
 * other. Default link: pcie4x16. tmp is scratch, reset at exit. Fails: BERTH_EINVAL (a word, a name that the
 * catalogue lacks), BERTH_ENOMEM. */
berth_status berth_system_host_text(const char *words, berth_arena *mem, berth_arena *tmp, const char **text,
                                    size_t *size, berth_err *err);
