/* Cost models: how placements are valued. The first is the execution model (sim.h), the others are those of
 * published systems (docs/execution-model.md, "Other cost models"). A cost model is one file that defines one
 * berth_cost_model, and one line in the table of cost_model.c. All other code asks what a model can do, by
 * the fields below, and never which one it is. */
#pragma once

#include "problem_tables.h"

/* One run of a placement. The caller gives the arrays; all of them are filled. */
typedef struct berth_cost_run {
	int64_t *start_ns, *end_ns; /* [n_ops] */
	int64_t latency_ns;
	double load_s; /* seconds per sample: the largest load */
	/* Where memory counts over time: what devices and, behind them, memory pools hold at rest, and their
	 * peaks so far [berth_n_resources]. NULL: nobody asks, or memory does not count so. */
	int64_t *mem_bytes, *peak_bytes;
	int64_t *link_bytes; /* [n_links] all 0; where energy is defined: what goes over each */
} berth_cost_run;

/* Lower bounds that hold for every placement. */
typedef struct berth_cost_bounds {
	int64_t path_ns;    /* of the latency, by paths alone */
	int64_t latency_ns; /* of the latency, by whatever is known */
	double load_s;
} berth_cost_bounds;

struct berth_cost_model {
	const char *name; /* value of "cost_model" in a system file */

	/* What it can do. */
	bool has_energy;       /* energy is defined, where devices have watts */
	bool has_orders;       /* what is ready starts by orders and keys (system.h, berth_sim_use_keys) */
	bool memory_over_time; /* tensors, outputs and workspaces count, as they come and go; else parameters
	                        * and state alone */
	bool strong_bounds;    /* the proofs of docs/bounds.md beyond `bounds` hold */
	bool exact_methods;    /* what exact methods solve is this model */
	bool sums_times;       /* the latency is the sum of all operator times, and of each tensor's to each
	                        * other device that needs it */
	double op_gap_s;       /* default of the system's op_gap_s; 0: a file must not give one */

	/* This name is a shorthand: the execution model with "contention": false and "order": "fifo". No
	 * system has it as its model. */
	bool contention_free;

	/* Scratch of one thread, in mem; one run of op_dev [n_ops], where every operator can run. Memory at
	 * rest is the caller's to count. NULL, as all functions below: the execution model, which sim.c runs.
	 * Fails: BERTH_ENOMEM. */
	berth_status (*new_scratch)(const berth_problem *p, berth_arena *mem, void **out, berth_err *err);
	void (*run)(void *scratch, const int32_t *op_dev, berth_cost_run *out);

	/* Lower bounds, from those of the largest sum of operator times on one device: work_ns in whole
	 * nanoseconds, load_ns as a double. tmp is scratch, which the caller resets. Fails: BERTH_ENOMEM. */
	berth_status (*bounds)(const berth_problem *p, int64_t work_ns, double load_ns, berth_arena *tmp,
	                       berth_cost_bounds *out, berth_err *err);

	/* Where the throughput is the largest load of a device, and loads are plain sums: seconds of op on
	 * dev, where it can run; seconds that a byte in or out costs dev (it asks p->s alone), below 0 where
	 * it costs nothing. NULL: loads are not of this kind. */
	double (*op_seconds)(const berth_problem *p, int32_t op, int32_t dev);
	double (*s_per_byte)(const berth_problem *p, int32_t dev);
};

/* The execution model, the default of files. */
extern const berth_cost_model berth_cost_reference;
/* One thing after the other (cost_serial.c). */
extern const berth_cost_model berth_cost_serial;

/* Fails: BERTH_EFORMAT, naming the nearest and listing all. */
berth_status berth_cost_model_find(const char *name, const berth_cost_model **out, berth_err *err);

/* The names of the models that have what is asked for, as "a, b or c", in buf. has NULL: all. */
const char *berth_cost_model_names(bool (*has)(const berth_cost_model *m), char *buf, size_t size);

/* Is the throughput the largest plain sum (op_seconds)? */
bool berth_cost_model_sums(const berth_cost_model *m);

/* Does dev pay for what goes in and out (an accelerator) under p's cost model? */
bool berth_cost_model_pays(const berth_problem *p, int32_t dev);
