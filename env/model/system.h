/* The machine: devices, directed links between them, the channels that the links occupy, and the memories
 * that devices share. Plain arrays, read-only once built. system_json.h reads and writes files,
 * systems_builtin.h has the built-in machines. How a system and a graph give durations is for problem.h. */
#pragma once

#include "arena.h"
#include "catalogue.h"
#include "units.h"

/* By which rule a device chooses among its ready operators. GIVEN comes with a placement. */
typedef enum berth_order {
	BERTH_ORDER_PRIORITY, /* largest upward rank first */
	BERTH_ORDER_FIFO,     /* earliest ready first */
	BERTH_ORDER_PROGRAM,  /* topological index, waiting for the next one */
	BERTH_ORDER_GIVEN     /* the placement's own order, waiting for the next one */
} berth_order;

/* By which rule a channel chooses among the hops that it is to carry (with contention). */
typedef enum berth_channel_order {
	BERTH_CHANNELS_REQUEST, /* by request time (default) */
	/* by the producers' places in the program, or in the placement's order, waiting for the next one */
	BERTH_CHANNELS_PROGRAM,
	BERTH_N_CHANNEL_ORDERS
} berth_channel_order;

typedef struct berth_cost_model berth_cost_model;     /* cost_model.h */
typedef struct berth_engine_rules berth_engine_rules; /* engine_rules.h */

enum {
	BERTH_MAX_DEVS = 256,  /* devices of a system */
	BERTH_MAX_SLOTS = 1024 /* operators that one device runs at once */
};

/* A number by type of operators for each device, in file order; "*" stands for every other type. */
typedef struct berth_by_type {
	int32_t *off; /* [n_devs+1] */
	const char **type;
	double *value;
} berth_by_type;

/* SI units: seconds, bytes, FLOP/s, bytes/s, watts, joules. All strings and arrays belong to the arena that
 * it was read into. */
typedef struct berth_system {
	const char *name;
	bool contention; /* a channel carries one transfer at a time (default) */
	berth_order order;
	berth_channel_order channel_order;
	const berth_cost_model *cost_model; /* how placements are valued; static */
	const berth_engine_rules *engine;   /* that it stands for (berth_system_for); NULL: none; static */
	double op_gap_s; /* rest after each operator, where the cost model has it; else 0 */
	int32_t n_devs, n_links, n_channels, n_pools;

	/* devices [n_devs], in file order */
	const char **dev_name, **dev_kind; /* kind: the name where none was given */
	const char **dev_host;             /* the computer that it is part of; NULL: not given */
	double *dev_peak_flops;            /* FLOP/s in single precision, 0: not given */
	double *dev_peaks; /* [dev * BERTH_N_PRECISIONS + precision] the others; 0: it lacks that precision */
	double *dev_mem_bandwidth;         /* bytes/s, 0: not given */
	double *dev_op_overhead_s;
	int64_t *dev_memory_bytes;       /* -1: unlimited */
	double *dev_memory_margin;       /* fraction of it that is kept free, [0, 1) */
	bool *dev_contiguous;            /* its operators are one piece: no path leaves it and comes back */
	int32_t *dev_slots;              /* [1, BERTH_MAX_SLOTS] */
	double *dev_idle_w, *dev_busy_w; /* both NAN: not given */
	double *dev_price_h;             /* of an hour, in any currency; NAN: not given */

	/* By what the model of times goes. A device without a class or one of the figures is timed by the
	 * roofline, and so are all where roofline is set. */
	bool roofline;
	const char **word; /* [n_words] what was said of times beside its file: "times=roofline" */
	int32_t n_words;
	const char **dev_like;   /* row of the catalogue that its figures are from; NULL: none */
	berth_device_class *dev_class;
	int32_t *dev_units;      /* multiprocessors of a GPU, cores of a CPU; 0: not given, as below */
	int32_t *dev_lanes;      /* f32 multiply-adds that a unit does a cycle */
	double *dev_cache_bytes; /* last level */
	double *dev_fresh_bandwidth; /* at which memory is written that the operating system just gave */
	double *dev_power_w;         /* its limit */
	double *dev_process_nm;  /* as the vendor calls the process */
	const char **dev_calibrated; /* by what its scale was found, for people; NULL: it was not */

	/* > 0. "*": 1 is put in front where the file leaves it out. */
	berth_by_type efficiency; /* fraction of the peak, of the roofline; above 1 where a kernel beats it */
	berth_by_type scale;      /* what times are multiplied by, by the roofline but for the overhead */

	/* Types that a device runs, in file order. */
	bool *dev_runs_all;    /* [n_devs] no list was given: it runs every type */
	int32_t *dev_runs_off; /* [n_devs+1] into runs_type */
	const char **runs_type;

	/* Directed links [n_links], in file order; "both_ways" made two neighbours. */
	int32_t *link_from, *link_to, *link_channel;
	double *link_latency_s, *link_bandwidth, *link_joules_per_byte; /* joules: 0 where not given */
	/* of a message of a collective (collective.h); NAN: as any other */
	double *link_collective_latency_s, *link_collective_bandwidth;
	int32_t *link_of; /* [from * n_devs + to]: the link, or -1 */
	/* What a packed tensor takes on a link (berth_system_pack); NULL: none is packed. No file states
	 * them. */
	double *link_packed_latency_s, *link_packed_s_per_byte;
	int pack_factor; /* 0: none */

	/* channels [n_channels], numbered by their first link */
	const char **channel_name; /* the name that links share; NULL: a link's own */

	/* memory pools [n_pools], in file order: memory that devices share */
	const char **pool_name;
	double *pool_bandwidth; /* bytes/s of all members together */
	int64_t *pool_bytes;    /* what they may hold together; -1: unlimited */
	int32_t *dev_pool;      /* [n_devs] the pool that it is a member of; -1: none */
} berth_system;

/* "priority", "fifo", "program", "given". */
const char *berth_order_name(berth_order order);

/* "request", "program". */
const char *berth_channel_order_name(berth_channel_order order);

/* Index of the device called name, or -1. O(n_devs). */
int32_t berth_system_find_dev(const berth_system *s, const char *name);

/* The number of an operator type on device dev: the type's own, else that of "*". NULL: an operator without a
 * type. O(entries of dev). */
double berth_by_type_get(const berth_by_type *x, int32_t dev, const char *type);

/* FLOP/s of device dev in precision p, or in what stands in for it there: *used. 0: none is given. */
double berth_system_peak(const berth_system *s, int32_t dev, berth_precision p, berth_precision *used);

/* Does the list of dev, or its absence, let a type run there? A NULL type stands in no list. Measured times
 * override it; they are not asked here. */
bool berth_system_runs(const berth_system *s, int32_t dev, const char *type);

/* Seconds of a hop over link l, cuts aside: as it is, or packed where that is less. 0 bytes go as they are.
 */
double berth_hop_s(const berth_system *s, int32_t l, double bytes);
/* Does any link have figures for messages of collectives? O(n_links). */
bool berth_system_has_collectives(const berth_system *s);
/* The figures of link l for such messages, which are those of any other where it has none. */
void berth_collective_figures(const berth_system *s, int32_t l, double *latency_s, double *bandwidth);
/* Seconds of such a message, not packed. */
double berth_collective_hop_s(const berth_system *s, int32_t l, double bytes);
/* Does a tensor of so many bytes go packed over link l? */
bool berth_hop_packed(const berth_system *s, int32_t l, double bytes);

/* All that the comments above promise, and that each device reaches each other one by links. Errors are also
 * figures out of range, two links for one ordered pair, busy_w < idle_w, and one of the two watts without the
 * other.
 *   tmp   scratch, 10 bytes per device, returned at exit
 * Fails: BERTH_EFORMAT, naming the device or the pair; BERTH_ENOMEM. O(devices * devices + links). */
berth_status berth_system_check(const berth_system *s, berth_arena *tmp, berth_err *err);

/* A figure of each device, link or memory pool, or another one of the format: its key in files, its range and
 * what stands where a file leaves it out. The ranges keep every quotient and product of figures finite. */
typedef struct berth_system_figure {
	const char *key;
	enum { BERTH_OF_DEVICE, BERTH_OF_LINK, BERTH_OF_POOL, BERTH_OF_OTHERS } of;
	enum { BERTH_FIGURE_NUMBER, BERTH_FIGURE_BYTES, BERTH_FIGURE_COUNT } type;
	size_t array; /* offset of its array in a system; not of others */
	double least, most, absent;
	bool optional; /* absent says that it is not given */
	berth_quantity quantity;
} berth_system_figure;

enum { BERTH_N_FIGURES = 25 };
extern const berth_system_figure berth_system_figures[BERTH_N_FIGURES];

/* The figure of element i, and to set it. */
double berth_system_figure_get(const berth_system *s, const berth_system_figure *f, int32_t i);
void berth_system_figure_set(berth_system *s, const berth_system_figure *f, int32_t i, double x);
/* Are the figures of devices, links or pools a and b the same? */
bool berth_system_figures_same(const berth_system *s, int of, int32_t a, int32_t b);
/* Is x a figure that is given? */
bool berth_system_figure_given(const berth_system_figure *f, double x);
/* A new array of it in mem, of copies of those of `from`, or absent ones where that is NULL. Fails:
 * BERTH_ENOMEM. */
berth_status berth_system_figure_new(berth_system *s, const berth_system_figure *f, int32_t n,
                                     const berth_system *from, berth_arena *mem, berth_err *err);

/* Is x in the range of the figure key ("bandwidth", "slots", "efficiency", ... as in the file)? Fails:
 * BERTH_EFORMAT "KEY is X; expected A to B". */
berth_status berth_system_figure_check(const char *key, double x, berth_err *err);

/* As every pool is checked, for one: its name, figures and members. Fails: BERTH_EFORMAT. */
berth_status berth_pool_check(const berth_system *s, int32_t pool, berth_err *err);

/* Does the device's kind or name begin so ("cpu", "gpu"), or is it of that class? */
bool berth_system_is(const berth_system *s, int32_t dev, const char *begins);

/* Index of the pool called name, or -1. O(n_pools). */
int32_t berth_system_find_pool(const berth_system *s, const char *name);
