/* How far predictions of what an engine takes are off: by engine, kinds of devices and kind of plan. A gain
 * below that is none that can be told. Rows are measurements: those of engine_errors.csv, which is compiled
 * in, and those of the user, which compare --fidelity keeps in engine_errors.csv of berth_cache_path. */
#pragma once

#include "graph.h"
#include "system.h"

/* Of what is told the mean decides. */
typedef struct berth_engine_error {
	double mean, median;
	int32_t n; /* rows */
} berth_engine_error;

/* The plan op_dev [n_ops] of g on s in that engine ("ort:rules" is "ort"). Rows count whose engine, devices
 * and kind of plan are its own or "*". Those that fit best, the engine first, then devices, then the plan; of
 * these the user's of ten runs at least, if there are any.
 *   devices  the word in the place of the one that the placement tells; NULL
 *   brief    its operators take little time each: rows of such count before "*", but the user's
 *   tmp      scratch, reset at exit
 * Fails: BERTH_EFORMAT (the user's file: where), BERTH_EIO, BERTH_ENOMEM. O(ops + rows). */
berth_status berth_engine_error_of(const char *engine, const berth_graph *g, const berth_system *s,
                                   const int32_t *op_dev, const char *devices, bool brief,
                                   berth_arena *tmp, berth_engine_error *out, berth_err *err);

/* Keep a measurement of n runs of a graph on all devices of s: their predicted and measured seconds. One of
 * the same graph and system goes. *path, in mem: the file. tmp is scratch, reset at exit. Fails: as above.
 * Not where there is no such engine (berth_rules_find), or n is 0: *path is NULL then. */
berth_status berth_engine_errors_keep(const char *engine, const berth_system *s, const char *graph, int32_t n,
                                      const double *predicted, const double *measured, berth_arena *mem,
                                      berth_arena *tmp, const char **path, berth_err *err);

/* engine_errors.csv; made by the build. */
extern const unsigned char berth_engine_errors_csv[];
extern const size_t berth_engine_errors_csv_size;
