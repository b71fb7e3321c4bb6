/* What the units of llama.cpp's plans cost and hold, for the search for the best plan. A unit is a layer, or
 * the output behind the last one. Sums over units in front make the cost of a run a difference. */
#pragma once

#include "llama_plan.h"

/* Above all times, and small enough that sums over all layers stay whole numbers. */
#define LLAMA_NEVER ((int64_t)1 << 50)

typedef struct llama_units {
	int32_t n; /* units: layers, and the output */
	/* Devices beside the CPU by kinds: those of a kind have the same times, memory and links. Kind k is
	 * kind_dev[kind_off[k]] up to kind_dev[kind_off[k + 1]]. Columns are kinds, the CPU behind them. */
	int32_t n_kinds, *kind_off, *kind_dev;
	int32_t cpu;        /* the device; -1: the system has none */
	bool has_disk;      /* what the CPU does not hold is read from there */
	/* Sums over the units in front of each, [n_kinds + 1][n + 1]: nanoseconds of the unit whole on a
	 * device; what experts on the CPU add; the smaller of both ways. LLAMA_NEVER: it cannot run there. */
	int64_t *whole_ns, *apart_ns, *least_ns;
	double *apart_rate; /* [n_kinds] nanoseconds that a byte of experts on the CPU adds, at least */
	int64_t *bytes, *expert_bytes; /* [n + 1] sums of weights and cache; of experts among them */
	int64_t *border_ns; /* [n][n_kinds + 1][n_kinds + 1] from the unit before (0: the embedding) */
	int64_t *embed_ns;  /* [n_kinds + 1] */
	int64_t embed_bytes;
	/* [n] experts that may stand on the CPU alone: whole_ns has them there, bytes do not have them */
	bool *forced;
	int64_t forced_bytes; /* of all of these */
	bool tied; /* embedding and output share a matrix */
} llama_units;

/* Of x, which has a problem: operators one after the other, and tensors to each device that needs them
 * between. What tensors take that skip a unit is not in it. All lives in mem, tmp is scratch, another arena,
 * reset at exit. Fails: BERTH_ENOMEM. O(kinds * ops + layers * kinds^2 + devs^2 * kinds). */
berth_status llama_units_new(const berth_export_source *x, const berth_gguf_list *file, berth_arena *mem,
                             berth_arena *tmp, llama_units *out, berth_err *err);
