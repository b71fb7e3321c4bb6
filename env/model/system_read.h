/* Between the readers of a berth-system file: system_json.c, which reads the whole, and system_device.c,
 * which reads its devices. */
#pragma once

#include "catalogue.h"
#include "json.h"
#include "system.h"
#include "text.h"

/* A list of numbers by type as it grows. */
typedef struct system_by_type {
	const char *key;
	berth_by_type *to;
	size_t cap_type, cap_value;
} system_by_type;

typedef struct system_reader {
	berth_arena *mem, *tmp;
	berth_system s;
	berth_strmap devs, channels, pools;
	size_t cap_runs;
	berth_catalogue catalogue; /* once a device is like one of it */
	system_by_type efficiency, scale;
	int32_t n_read, n_pools_read; /* devices */
} system_reader;

berth_status system_copy_word(system_reader *r, const char *word, const char **out, berth_err *err);
/* A number in the range of its key, where it is there. */
berth_status system_read_figure(const berth_json *at, const char *key, berth_quantity q, bool required,
                                double *out, berth_err *err);
/* Bytes, or null for no limit (-1); else *out stays. */
berth_status system_read_bytes(const berth_json *at, const char *key, int64_t *out, berth_err *err);

/* Absent figures of n elements of a kind, and those of element i that the file has. Fails: BERTH_EFORMAT,
 * BERTH_ENOMEM. */
berth_status system_new_figures(system_reader *r, int of, int32_t n, berth_err *err);
berth_status system_read_figures(const berth_json *at, system_reader *r, int of, int32_t i, berth_err *err);

/* All devices of the file. Fails: as above. */
berth_status system_read_devices(const berth_json *doc, system_reader *r, berth_err *err);

/* Devices of the catalogue in systems: what "like" stands for, and a whole computer in a line of text. */
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
