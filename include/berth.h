/* berth: which device runs which operator of a neural network. The users' header, from simple to advanced;
 * nothing else of the library is for users.
 *
 *     berth_model *model; berth_machine *machine; berth_plan *plan; berth_err err;
 *     if (berth_model_load("model.onnx", &model, &err) || berth_machine_load("system:cpu+2gpu", &machine,
 *       &err) || berth_place(model, machine, NULL, &plan, &err))
 *             fprintf(stderr, "%s\n", err.msg);
 *     else
 *             printf("%g s, operator 0 on %s\n", berth_plan_value(plan), berth_machine_device(machine,
 *               berth_plan_device(plan, 0)));
 *
 * Everything that a function makes is freed by the caller with the function named _free. No global state:
 * threads may work on different objects, and read the same one. The library never prints and never ends the
 * program. */
#ifndef BERTH_H
#define BERTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define BERTH_API __attribute__((visibility("default")))
#else
#define BERTH_API
#endif

/* ---- errors ---- */

#ifndef BERTH_STATUS_H /* the library's own copy */
/* 0 is success. On any other the outputs are untouched and err, where it is not NULL, says what, where, and
 * what to do. */
typedef enum berth_status {
	BERTH_OK = 0,
	BERTH_EINVAL,      /* a wrong argument */
	BERTH_ENOMEM,      /* out of memory */
	BERTH_EIO,         /* a file could not be read or written */
	BERTH_EFORMAT,     /* a file is malformed */
	BERTH_EINFEASIBLE, /* no legal placement */
	BERTH_ELIMIT,      /* a limit was reached before there was an answer */
	BERTH_EINTERRUPTED, /* stopped by the caller; the best answer so far stands */
	BERTH_EUNSUPPORTED /* the method asked for cannot do this kind of problem */
} berth_status;

typedef struct berth_err {
	berth_status code;
	char msg[512];
} berth_err;
#endif

/* "1.2.3" */
BERTH_API const char *berth_version(void);

/* ---- models and machines ---- */

typedef struct berth_model berth_model;     /* operators and the tensors between them */
typedef struct berth_machine berth_machine; /* devices and the links between them */

/* A model from a file or "zoo:NAME[:key=value...]". Files, told apart by their content: berth-graph
 * (JSON), ONNX, GGUF, Graphviz DOT, STG (Standard Task Graph Set), DAX (Pegasus), and the graph of a
 * workload of Tarnawski et al. (2020). Words behind the name (":key=value") are sizes of ONNX and GGUF
 * models and units of task graphs. Weights are not read. */
BERTH_API berth_status berth_model_load(const char *spec, berth_model **out, berth_err *err);
/* The same from the bytes of such a file; name stands for it in messages. A GGUF model in several files
 * must be loaded. */
BERTH_API berth_status berth_model_parse(const char *name, const void *data, size_t size, berth_model **out,
                                         berth_err *err);
BERTH_API void berth_model_free(berth_model *model);

/* Operators are numbered 0 .. count-1, in the order of the file. */
BERTH_API int32_t berth_model_count(const berth_model *model);
BERTH_API const char *berth_model_op(const berth_model *model, int32_t op);
/* -1 where no operator is called so. */
BERTH_API int32_t berth_model_find(const berth_model *model, const char *name);

/* A machine from a berth-system file or "system:NAME". */
BERTH_API berth_status berth_machine_load(const char *spec, berth_machine **out, berth_err *err);
BERTH_API berth_status berth_machine_parse(const char *name, const void *data, size_t size,
                                           berth_machine **out, berth_err *err);
BERTH_API void berth_machine_free(berth_machine *machine);

BERTH_API int32_t berth_machine_count(const berth_machine *machine);
BERTH_API const char *berth_machine_device(const berth_machine *machine, int32_t device);

/* ---- plans ---- */

/* Which device runs which operator. A plan borrows its model and machine, which must outlive it. */
typedef struct berth_plan berth_plan;

/* How to search. Zero or NULL takes the default. */
typedef struct berth_options {
	const char *method;    /* default "berth"; `berth methods` lists them */
	const char *objective; /* "latency" (default), "throughput", "energy", "edp", "power",
	                          "0.7*latency+0.3*energy", "throughput:latency<=20ms" */
	const char *policy;    /* file of a trained policy */
	uint64_t seed;         /* default 1 */
	int64_t evaluations;   /* placements that may be tried; default 10000, without limit where a time is
	                          given */
	double time_s;         /* seconds that the search may take */
	int32_t threads;       /* default 1; results do not depend on it */
	/* Called some ten times a second from the calling thread with what was reached (value NAN: nothing
	 * yet); not 0 stops the search. */
	int (*progress)(void *ctx, int64_t evaluations, double value);
	void *progress_ctx;
} berth_options;

/* Search for a good plan. options may be NULL. A plan that breaks a rule or a memory is a plan too: see
 * berth_plan_feasible. Fails: BERTH_EINFEASIBLE (an operator that no device can run), BERTH_EINVAL,
 * BERTH_EFORMAT, BERTH_EIO, BERTH_ELIMIT, BERTH_ENOMEM. */
BERTH_API berth_status berth_place(const berth_model *model, const berth_machine *machine,
                                   const berth_options *options, berth_plan **out, berth_err *err);
BERTH_API void berth_plan_free(berth_plan *plan);

/* Device of an operator, as a number or as names. NULL where no operator is called so. */
BERTH_API int32_t berth_plan_device(const berth_plan *plan, int32_t op);
BERTH_API const char *berth_plan_device_of(const berth_plan *plan, const char *op);

/* Does it keep all rules and fit all memories? */
BERTH_API bool berth_plan_feasible(const berth_plan *plan);
/* What was minimised: seconds, seconds per sample, joules, joule-seconds or watts; NAN where it is not
 * feasible. No plan can have less than the bound. */
BERTH_API double berth_plan_value(const berth_plan *plan);
BERTH_API double berth_plan_lower_bound(const berth_plan *plan);
BERTH_API int64_t berth_plan_evaluations(const berth_plan *plan);

/* Write a berth-placement file, atomically. Read one, made for the same model and machine. */
BERTH_API berth_status berth_plan_write(const berth_plan *plan, const char *path, berth_err *err);
BERTH_API berth_status berth_plan_read(const char *path, const berth_model *model,
                                       const berth_machine *machine, berth_plan **out, berth_err *err);

/* ---- advanced: what a plan costs, and why ---- */

/* A plan from devices [berth_model_count]; order may be NULL, or operators [berth_model_count] in a
 * topological order that each device keeps to. */
BERTH_API berth_status berth_plan_new(const berth_model *model, const berth_machine *machine,
                                      const int32_t *device, const int32_t *order, berth_plan **out,
                                      berth_err *err);

typedef struct berth_cost {
	double latency_s, throughput_per_s;
	double energy_j, edp;   /* NAN where a device has no watts */
} berth_cost;

/* Cost of a plan by the simulator. Fails: BERTH_EINFEASIBLE where an operator sits where it cannot run;
 * BERTH_ENOMEM. */
BERTH_API berth_status berth_plan_cost(const berth_plan *plan, berth_cost *out, berth_err *err);

/* Start and end of an operator in the simulation, seconds; NAN where it cannot run. */
BERTH_API void berth_plan_op_times(const berth_plan *plan, int32_t op, double *start_s, double *end_s);

/* What stands against the plan, one sentence each; none where it is feasible. */
BERTH_API int32_t berth_plan_violations(const berth_plan *plan);
BERTH_API const char *berth_plan_violation(const berth_plan *plan, int32_t i);

/* Write the simulated timeline as a Chrome trace. Fails: BERTH_EINFEASIBLE as above, BERTH_EIO,
 * BERTH_ENOMEM. */
BERTH_API berth_status berth_plan_trace(const berth_plan *plan, const char *path, berth_err *err);

/* ---- experimental: may change in any release ---- */

/* Train a policy on every model on every machine and write it to path. Of the options, method, policy and
 * time_s are not used; evaluations is for all of them together (default 20000). progress is not told a
 * value. Fails: BERTH_EINTERRUPTED where progress stopped it (the policy so far is written), BERTH_EINVAL,
 * BERTH_EINFEASIBLE, BERTH_EFORMAT, BERTH_EIO, BERTH_ENOMEM. */
BERTH_API berth_status berth_policy_train(const berth_model *const *models, int32_t n_models,
                                          const berth_machine *const *machines, int32_t n_machines,
                                          const berth_options *options, const char *path, berth_err *err);

#ifdef __cplusplus
}
#endif

#endif
