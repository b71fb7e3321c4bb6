/* The slow oracle: the execution model once more, written independently, straight from the JSON texts.
 *
 * It shares no code with the project, so that agreement of the two means something. Everything is found by
 * scanning everything at each instant; it is for graphs of tens of operators. It does not validate its
 * input: it refuses only what it cannot simulate. Out of memory aborts. */
#ifndef ORACLE_H
#define ORACLE_H

#include <stdbool.h>
#include <stdint.h>

enum { ORACLE_MAX_DEVICES = 16 };

typedef struct oracle_device {
	int64_t peak_memory_bytes;
	double busy_s; /* sum of how long its operators ran / slots */
} oracle_device;

typedef struct oracle_pool {
	int64_t peak_memory_bytes; /* of all members together */
	double load_s;             /* traffic at the whole bandwidth */
} oracle_pool;

typedef struct oracle_result {
	bool runs;         /* false: an operator sits where it cannot run; then nothing else is set */
	bool feasible;     /* rules_kept and memory_fits */
	bool rules_kept;   /* pin, forbid and colocate are respected */
	bool memory_fits;  /* no device's peak is above its memory_bytes, no pool's above its bytes */
	int64_t latency_ns;
	double load_s;     /* throughput: the largest load, seconds per sample */
	bool has_energy;   /* every device of the system has idle_w and busy_w */
	double energy_j;
	int n_devices;
	oracle_device device[ORACLE_MAX_DEVICES];
	int n_pools;
	oracle_pool pool[ORACLE_MAX_DEVICES];
	int n_ops;
	int64_t *start_ns, *end_ns; /* [n_ops], in file order */
	int32_t *dev;               /* [n_ops] */
	int n_transfers, n_hops;    /* tensors moved to another device, and hops they took */
	int n_waits;                /* hops that started later than they were requested */
	int n_slowed_ops, n_slowed_hops; /* that a memory pool made longer */
} oracle_result;

/* Simulates one placement. 0, or -1 when the texts cannot be understood: no JSON, a name that is not there,
 * an operator without a device, a cycle, no path between two devices, more than ORACLE_MAX_DEVICES, order
 * "given" without an order, an order that is not a topological order of all operators. `out` is then empty.
 * oracle_free in both cases. */
int oracle_simulate(const char *graph_json, const char *system_json, const char *placement_json,
                    oracle_result *out);
void oracle_free(oracle_result *r);

/* The best of each objective by itself; -1 and NAN where there is none (energy and edp: also where a device
 * has no watts). */
typedef struct oracle_best {
	int64_t latency_ns;
	double load_s, energy_j, edp;
} oracle_best;

typedef struct oracle_optimum {
	int n_placements, n_run, n_feasible; /* all, those where every operator can run, those that are
	                                        feasible too */
	oracle_best feasible;
	oracle_best any_memory; /* pin, forbid and colocate respected, memory ignored */
	oracle_best any;        /* every placement that runs */
} oracle_optimum;

/* Simulates every placement under the system's order rule. 0, or -1 as above, or when n_devices^n_ops >
 * 20000. */
int oracle_brute_force(const char *graph_json, const char *system_json, oracle_optimum *out);

#endif
