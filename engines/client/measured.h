/* The measured environment: an engine loads a graph and really runs its placements. This is the client's half
 * of the protocol in docs/formats.md. It asks in the terms of a graph and a system, and believes no answer
 * that cannot be true. The next call starts a dead engine again.
 *
 * Times are the engine's own, in seconds. The samples of an answer cannot last longer than the answer took:
 * what says so is not believed. */
#pragma once

#include "engine_client.h"
#include "graph.h"
#include "journal.h"
#include "statistics.h"
#include "system.h"

typedef struct berth_measured_cfg {
	berth_engine_cfg engine;
	const char *model;      /* where the graph comes from, as on the command line */
	const char *const *dim; /* [n_dims] sizes of symbolic dimensions, "NAME=N" */
	int32_t n_dims;
	double load_s;          /* limit for loading, default 300 */
	double answer_s;        /* limit for any other answer, default 120 */
	berth_journal *journal; /* what was asked and answered, to go on with a killed run; NULL: none */
	int32_t max_starts;     /* starts before the engine is given up, the first included; default 20 */
} berth_measured_cfg;

typedef struct berth_measured {
	berth_measured_cfg cfg;
	const berth_graph *g;
	const berth_system *s;
	berth_engine *engine;
	berth_arena *mem;
	const char *graph_json;
	const char *missing;    /* a file of weights that is not there: the engine made numbers; NULL: none */
	int32_t loaded_start;   /* the start of the engine that has the graph; 0: none */
	int32_t n_engine_devs;
	const char **engine_dev; /* [n_engine_devs] names, as heard first */
	int32_t *dev_engine;    /* [n_devs] device of the engine; -1: it has none of that name */
	int32_t *engine_sys;    /* [n_engine_devs] device of the system; -1: it has none of that name */
	int64_t runs;           /* runs of the whole model asked for so far, warm-up included */
	int32_t failures;       /* answers that were none */
	bool unwritten;         /* the journal could not be written: going on would lose measurements */
	/* Runs of placements are steps of one training: parameters and the optimizer's state stay. It begins
	 * anew with the first run after one that is none. trained: steps so far. An engine that is started
	 * again has lost it. */
	bool trains;
	int32_t trained;
} berth_measured;

/* Operators that ran as one piece on one device. Times [n_samples] from the start of the run. */
typedef struct berth_segment {
	int32_t dev, n_ops;     /* device of the system */
	int32_t *op;
	double *start_s, *end_s, *cpu_s;
} berth_segment;

typedef struct berth_measurement {
	int32_t n_samples, n_segments;
	double *wall_s, *cpu_s; /* [n_samples] makespan; CPU seconds of all workers, NAN: not said */
	/* [n_samples] Wall seconds for each CPU second of the work. Near 1 on a quiet machine. NAN: not
	 * said. */
	double *strain;
	berth_segment *segment; /* none for a run of the whole model */
	double ready_s;         /* that making the placement ready took, by the engine; NAN: not said */
	double max_difference;  /* of the outputs from the unsplit model's; NAN: not said */
	double *loss;           /* [n_samples] of training that goes on, before each step; NULL: none does */
	berth_spread wall;
} berth_measurement;

/* When an operator ran in one run, on the profiler's word. Seconds from the start of the run. */
typedef struct berth_operator_time {
	int32_t op, dev;        /* op -1: a kernel of no operator (a layout that was changed) */
	int32_t in;             /* the operator in whose kernel this one ran (fused); -1: its own */
	const char *kernel;     /* what the engine calls it; "": not said */
	double start_s, end_s;
} berth_operator_time;

/* Times of one operator on one device. */
typedef struct berth_profile_row {
	int32_t op, dev, n;     /* n samples; 0: it cannot run there */
	double *wall_s, *cpu_s; /* [n]; cpu NAN: not said */
} berth_profile_row;

typedef struct berth_transfer_row {
	int32_t from, to, n;
	int64_t bytes;
	double *wall_s;         /* [n] */
} berth_transfer_row;

/* What the engine takes for a run and for a segment beside the operators, in the median. NAN: not said. */
typedef struct berth_engine_overheads {
	double run_s, segment_s;
} berth_engine_overheads;

berth_measured_cfg berth_measured_cfg_default(void);

/* Start the engine and load the graph. g NULL: no graph, for transfers alone. mem holds it all; g and s are
 * borrowed. Always berth_measured_close it. Fails: as berth_engine_start; BERTH_EFORMAT (a model that the
 * engine cannot run), BERTH_ENOMEM. */
berth_status berth_measured_open(const berth_measured_cfg *cfg, const berth_graph *g, const berth_system *s,
                                 berth_arena *mem, berth_measured *out, berth_err *err);
void berth_measured_close(berth_measured *m);

/* Run a placement: warmup times unseen, then repeats times.
 *   op_dev  [n_ops]
 *   order   [n_ops] topological; each device keeps its operators in it. NULL: the engine's own order
 * The measurement lives in mem. tmp is scratch, another arena, reset at exit.
 * Fails: BERTH_EINFEASIBLE (a device that the engine lacks or has lost), BERTH_EFORMAT (outputs unlike the
 * unsplit model's, or a model that it cannot run so), BERTH_EIO and BERTH_ELIMIT (the engine died, hung or
 * lied), BERTH_ENOMEM. */
berth_status berth_measured_run(berth_measured *m, const int32_t *op_dev, const int32_t *order,
                                int32_t warmup, int32_t repeats, berth_arena *mem, berth_arena *tmp,
                                berth_measurement *out, berth_err *err);

/* When each operator starts and ends in a run of a placement. It is one run more, asked for as by
 * berth_measured_run, and may be slower than the others. rows [*n] live in mem. *n = 0: the engine does not
 * tell. An operator stands in them at most once. Fails: as berth_measured_run. */
berth_status berth_measured_operators(berth_measured *m, const int32_t *op_dev, const int32_t *order,
                                      berth_arena *mem, berth_arena *tmp, berth_operator_time **rows,
                                      int32_t *n, berth_err *err);

/* Do runs of the unsplit model on all threads tell anything? Not by the clock of the CPU: a session of
 * several threads tells no CPU time of its own. */
bool berth_measured_all_threads(const berth_measured *m);

/* Run the unsplit model as the engine does by itself, on so many threads (0: as many as it likes). Else as
 * berth_measured_run. */
berth_status berth_measured_whole(berth_measured *m, int32_t threads, int32_t warmup, int32_t repeats,
                                  berth_arena *mem, berth_arena *tmp, berth_measurement *out, berth_err *err);

/* Profile operators ops[n] (NULL: all) on device dev. rows [n] live in mem, in that order. An engine that
 * dies of it, or lies, is asked once more. Fails: as berth_measured_run. */
berth_status berth_measured_profile(berth_measured *m, const int32_t *ops, int32_t n, int32_t dev,
                                    int32_t warmup, int32_t repeats, berth_arena *mem, berth_arena *tmp,
                                    berth_profile_row **rows, berth_engine_overheads *overheads,
                                    berth_err *err);

/* Time transfers of bytes[n] between two devices. rows [n] live in mem. An engine that dies of it, or lies,
 * is asked once more. Fails: as berth_measured_run. */
berth_status berth_measured_transfers(berth_measured *m, int32_t from, int32_t to, const int64_t *bytes,
                                      int32_t n, int32_t repeats, berth_arena *mem, berth_arena *tmp,
                                      berth_transfer_row **rows, berth_err *err);

/* Has the engine, which is open, this device? Fails: BERTH_EINFEASIBLE, naming those that it has. */
berth_status berth_measured_check_device(const berth_measured *m, int32_t dev, berth_err *err);

/* Change the speed of a device from now on, to a fraction of what it was at the engine's start. It is for
 * trying out adaptation. Fails: as berth_measured_run. */
berth_status berth_measured_set_speed(berth_measured *m, int32_t dev, double speed, berth_arena *tmp,
                                      berth_err *err);

/* Runs of a placement until their median is known well enough. */

/* How often to run. The first turn runs warmup times unseen, then least times. Where the interval of the
 * median is wider than width (relative to the median), another turn runs twice as often, and so on up to most
 * times, or as often as an answer has time for. Each turn's samples stand by themselves, so that what
 * disturbed an earlier turn is gone. With time_s one run comes first, `before` is told what it took, and
 * turns have as many runs as fit into what is left: one at least. */
typedef struct berth_steady_cfg {
	int32_t warmup, least, most;
	double width;
	double time_s; /* 0: no limit */
	void (*before)(void *ctx, double run_s);
	void (*progress)(void *ctx, const char *what, int32_t done, int32_t of); /* NULL: none */
	void *progress_ctx;
} berth_steady_cfg;

/* The runs of the last turn. Else as berth_measured_run, with its errors. */
berth_status berth_steady_run(berth_measured *m, const berth_steady_cfg *cfg, const int32_t *op_dev,
                              const int32_t *order, berth_arena *mem, berth_arena *tmp,
                              berth_measurement *out, berth_err *err);
