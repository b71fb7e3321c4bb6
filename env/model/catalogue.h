/* The catalogue: figures of real devices and links, from datasheets. They stand in devices.csv, which is
 * built into the library. */
#pragma once

#include "arena.h"
#include "precision.h"

typedef enum berth_device_class {
	BERTH_CLASS_NONE, /* of no row: not said */
	BERTH_CLASS_GPU,
	BERTH_CLASS_CPU,
	BERTH_CLASS_NPU,
	BERTH_N_DEVICE_CLASSES
} berth_device_class;

/* "gpu", "cpu", "npu"; NULL: none. */
const char *berth_device_class_name(berth_device_class c);

/* A device. SI units; a figure of 0 is not known, or is none. Texts are never NULL. */
typedef struct berth_device_row {
	const char *name;         /* "nvidia-a100-sxm-40gb" */
	const char *vendor;       /* "NVIDIA" */
	const char *architecture; /* "Ampere" */
	berth_device_class device_class;
	int32_t year;             /* when it came out */
	double process_nm;        /* as the maker of the chip calls the process */
	int32_t units;            /* streaming multiprocessors, compute units, Xe cores; cores of a CPU */
	int32_t lanes;            /* f32 multiply-adds of a unit a cycle, on vectors; 0: units differ */
	double clock_hz;          /* of the peaks: boost of a GPU; of a CPU see base_hz */
	double peak[BERTH_N_PRECISIONS]; /* FLOP/s or operations/s, dense; 0: it lacks it */
	double mem_bandwidth;     /* bytes/s */
	double memory_bytes;      /* 0: none of its own */
	double cache_bytes;       /* the last level: L2 of a GPU (Infinity Cache of RDNA), L3 of a CPU */
	double watts;             /* rated: of the board, the package or the module */

	/* CPUs alone */
	double base_hz;           /* clock_hz is the turbo of all cores where that is public, else this */
	int32_t simd_bits;        /* of a vector register */
	int32_t fma_units;        /* multiply-adds of whole vectors that a core starts a cycle */
	int32_t memory_channels;
	bool has_amx;             /* Intel's matrix units */

	const char *drivers;      /* what drivers call it alone, '|' between names; "": not known */
	const char *source;       /* documents; behind "unverified:" the figures that none of them has */
} berth_device_row;

/* A link, one way. */
typedef struct berth_link_row {
	const char *name;      /* "pcie4x16" */
	double raw_bandwidth;  /* bytes/s of the wires, less the line code */
	double bandwidth;      /* bytes/s that large copies reach */
	double latency_s;      /* of a small copy */
	bool both_ways;        /* each way has that bandwidth while the other one is used */
	const char *source;
} berth_link_row;

typedef struct berth_catalogue {
	berth_device_row *device; /* [n_devices], in file order */
	berth_link_row *link;     /* [n_links] */
	int32_t n_devices, n_links;
} berth_catalogue;

/* The catalogue, all in mem. O(its text), about a millisecond. Fails: BERTH_ENOMEM. */
berth_status berth_catalogue_read(berth_arena *mem, berth_catalogue *out, berth_err *err);

/* The row called name, where the vendor in front may be left out, and the size of memory behind it (the
 * first such row); "RTX 4090" and "rtx4090" are rtx-4090. *out is borrowed from the catalogue. tmp: scratch,
 * returned at exit. Fails: BERTH_EFORMAT, naming the nearest; BERTH_ENOMEM. */
berth_status berth_device_find(const berth_catalogue *c, const char *name, berth_arena *tmp,
                               const berth_device_row **out, berth_err *err);
berth_status berth_link_find(const berth_catalogue *c, const char *name, berth_arena *tmp,
                             const berth_link_row **out, berth_err *err);

/* Read a text of the form of devices.csv: sections that begin with a line of the names of their columns, a
 * row a line, "#" before a comment; the last column takes the rest of its line. All texts in mem. Fails:
 * BERTH_EFORMAT with the line, BERTH_ENOMEM. */
berth_status berth_catalogue_parse(const char *text, size_t size, berth_arena *mem, berth_catalogue *out,
                                   berth_err *err);

/* devices.csv; made by the build. */
extern const unsigned char berth_devices_csv[];
extern const size_t berth_devices_csv_size;
