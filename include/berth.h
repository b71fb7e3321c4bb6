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
 * (JSON), ONNX, GGUF, a model folder (config.json and safetensors), Graphviz DOT, STG (Standard Task Graph
 * Set), DAX (Pegasus), WfCommons, and the graph of a workload of Tarnawski et al. (2020). Words behind the
 * name (":key=value") are sizes of ONNX and GGUF models and units of task graphs. Weights are not read. */
BERTH_API berth_status berth_model_load(const char *spec, berth_model **out, berth_err *err);
/* The same from the bytes of such a file; name stands for it in messages. A GGUF model in several files
 * must be loaded. */
BERTH_API berth_status berth_model_parse(const char *name, const void *data, size_t size, berth_model **out,
                                         berth_err *err);
BERTH_API void berth_model_free(berth_model *model);

BERTH_API const char *berth_model_name(const berth_model *model);
/* Operators are numbered 0 .. count-1, in the order of the file. */
BERTH_API int32_t berth_model_count(const berth_model *model);
BERTH_API const char *berth_model_op(const berth_model *model, int32_t op);
/* -1 where no operator is called so. */
BERTH_API int32_t berth_model_find(const berth_model *model, const char *name);
/* What reading the model left in doubt, one sentence each: operator types that are not known, loops of
 * unknown length. */
BERTH_API int32_t berth_model_warnings(const berth_model *model);
BERTH_API const char *berth_model_warning(const berth_model *model, int32_t i);

/* A machine from a berth-system file or "system:NAME". */
BERTH_API berth_status berth_machine_load(const char *spec, berth_machine **out, berth_err *err);
BERTH_API berth_status berth_machine_parse(const char *name, const void *data, size_t size,
                                           berth_machine **out, berth_err *err);
BERTH_API void berth_machine_free(berth_machine *machine);

BERTH_API const char *berth_machine_name(const berth_machine *machine);
BERTH_API int32_t berth_machine_count(const berth_machine *machine);
BERTH_API const char *berth_machine_device(const berth_machine *machine, int32_t device);
/* What the machine's description leaves out or misspells, so that plans come out too good, one sentence each:
 * a device without peak_flops, say. Models with measured times may not need it. */
BERTH_API int32_t berth_machine_warnings(const berth_machine *machine);
BERTH_API const char *berth_machine_warning(const berth_machine *machine, int32_t i);

/* ---- plans ---- */

/* Which device runs which operator. A plan borrows its model and machine, which must outlive it. */
typedef struct berth_plan berth_plan;

/* How to search. Zero or NULL takes the default. Which field holds for what; the others are not looked at:
 *
 *   berth_place           all but resume
 *   berth_pareto_front    objective, policy, seed, evaluations, time_s, threads, bound, progress, walks
 *   berth_lower_bound     objective, evaluations, time_s, bound, pin, forbid, colocate, granularity, max_cuts
 *   berth_policy_train    objective, seed, evaluations, threads, resume, progress
 *   berth_task_compare    all but method, start, resume
 *   berth_task_configure  method, seed, evaluations, time_s, threads
 *   berth_task_copies     method, policy, seed, evaluations, time_s, threads, walks
 *   berth_task_split      method, objective, policy, seed, evaluations, time_s, threads, bound, pin, forbid,
 *                         progress, walks */
typedef struct berth_options {
	const char *method;    /* default "berth"; `berth methods` lists them; "./mine.so": your own */
	const char *objective; /* "latency" (default), "throughput", "energy", "edp", "power", "memory",
	                          "0.7*latency+0.3*energy", "throughput:latency<=20ms" */
	const char *policy;    /* file of a trained policy */
	uint64_t seed;         /* default 1 */
	int64_t evaluations;   /* placements that may be tried; default 10000, without limit where a time is
	                          given */
	double time_s;         /* seconds that the search may take */
	int32_t threads;       /* default 1; results do not depend on it */
	const char *bound;     /* how strong a lower bound: "fast", "strong", which is slower, or "auto"
	                          (default): strong as far as 0.2 s or a tenth of the search goes */
	/* A plan to start from: the answer is no worse on this machine. It is of the same model, and of a
	 * machine with the same devices, whose figures may differ. */
	const struct berth_plan *start;
	bool resume;           /* training only: go on from the checkpoint at its path, where there is one */
	/* Rules beside the model's own, each list NULL or ended by NULL. "OPS=DEVICE": operators that stand
	 * on a device, and such that do not; "OPS": operators that share one. OPS is a name, or a pattern
	 * with * and ?, as in "layer1.*"; several stand with commas between. */
	const char *const *pin, *const *forbid, *const *colocate;
	/* What stands on one device as a whole: "op" (default), "block" or "layer". */
	const char *granularity;
	int32_t max_cuts;      /* borders between blocks on different devices, at most; -1: none; 0: any */
	/* Called some ten times a second from the calling thread with what was reached (value NAN: nothing
	 * yet); not 0 stops the search. */
	int (*progress)(void *ctx, int64_t evaluations, double value);
	void *progress_ctx;
	int32_t walks;         /* of annealing, side by side, for as many threads; default 1. Results depend
	                          on it */
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

/* What is there to choose from: the methods of berth_options, in the order of `berth methods`. */
BERTH_API int32_t berth_method_count(void);
BERTH_API const char *berth_method_name(int32_t i);
/* One sentence with the source. */
BERTH_API const char *berth_method_about(int32_t i);

/* ---- advanced: models in code, changed machines ---- */

/* A model that is made operator by operator. */
typedef struct berth_draft berth_draft;

/* An operator: sizes in bytes, work in FLOP. Zero-initialise it and set what is known; texts are copied.
 * docs/formats.md says what each means. */
typedef struct berth_op {
	const char *name, *type; /* name: required, unique; type: such as "Conv" */
	double flops;
	int64_t read_bytes, write_bytes; /* what it reads, parameters included, and what it writes */
	int64_t param_bytes, state_bytes, workspace_bytes, output_bytes;
	const char *colocate, *separate; /* groups that stand on one device; of which no two share one */
	const char *pin;                 /* the device that it stands on */
	bool backward;                   /* it belongs to the backward pass of a training step */
	const char *dtype;               /* what it computes in, such as "f16"; NULL: "f32" */
	const char *dims;                /* shape of its work, as in "b=1,m=8,n=64,k=32"; NULL: not told */
} berth_op;

BERTH_API berth_status berth_draft_new(const char *name, berth_draft **out, berth_err *err);
BERTH_API void berth_draft_free(berth_draft *draft);
/* Append an operator; *index, where index is not NULL, is its number. Fails: BERTH_EINVAL (no name, or one
 * that is there already; a figure below 0; an unknown dtype; dims that contradict the figures),
 * BERTH_ENOMEM. */
BERTH_API berth_status berth_draft_op(berth_draft *draft, const berth_op *op, int32_t *index, berth_err *err);
/* One use of a tensor of the operator `from` by the operator `to`. tensor NULL: its only, unnamed output. */
BERTH_API berth_status berth_draft_edge(berth_draft *draft, int32_t from, int32_t to, int64_t bytes,
                                        const char *tensor, berth_err *err);
/* A measured time on a device or a kind of device, or (NULL) on all that have none of their own; NAN: it
 * cannot run there. */
BERTH_API berth_status berth_draft_time(berth_draft *draft, int32_t op, const char *device, double seconds,
                                        berth_err *err);
/* A device that the operator may not stand on. */
BERTH_API berth_status berth_draft_forbid(berth_draft *draft, int32_t op, const char *device, berth_err *err);
/* A parameter that the operators op [n] share: it is held once on each device that has one of them. */
BERTH_API berth_status berth_draft_shared(berth_draft *draft, const char *name, int64_t bytes,
                                          const int32_t *op, int32_t n, berth_err *err);
/* The model. The draft takes no more then, also where this fails. Fails: BERTH_EINVAL (a cycle; the same edge
 * twice; one tensor of two sizes), BERTH_ENOMEM. */
BERTH_API berth_status berth_draft_model(berth_draft *draft, berth_model **out, berth_err *err);

/* What if: a copy of the machine with changes as `berth simulate --set` has them, such as
 * "gpu0.memory_bytes=2x,cpu0->gpu0.bandwidth=5e10". A plan on it: berth_plan_new for what an old plan costs
 * there, berth_place with options.start for a better one. Fails: BERTH_EINVAL (no such device, link or key;
 * a figure out of range), BERTH_ENOMEM. */
BERTH_API berth_status berth_machine_change(const berth_machine *machine, const char *changes,
                                            berth_machine **out, berth_err *err);

/* ---- advanced: bounds, and two objectives at once ---- */

/* No plan has less, in the unit of the options' objective; NAN: not known. Of the options only objective,
 * bound, evaluations and time_s are used. Fails: BERTH_EINFEASIBLE (an operator that no device can run),
 * BERTH_EINVAL, BERTH_EFORMAT (an objective of energy on a machine without watts), BERTH_ENOMEM. */
BERTH_API berth_status berth_lower_bound(const berth_model *model, const berth_machine *machine,
                                         const berth_options *options, double *out, berth_err *err);

/* Plans of which none is better than another in both objectives: that of the options and `against`. They
 * stand by rising value of the first; each is a plan of the first objective. At most `most` of them (0: 64).
 * method and start of the options are not used. The front owns its plans. Fails: as berth_place. */
typedef struct berth_front berth_front;
BERTH_API berth_status berth_pareto_front(const berth_model *model, const berth_machine *machine,
                                          const berth_options *options, const char *against, int32_t most,
                                          berth_front **out, berth_err *err);
BERTH_API void berth_front_free(berth_front *front);
BERTH_API int32_t berth_front_count(const berth_front *front);
BERTH_API const berth_plan *berth_front_plan(const berth_front *front, int32_t i);
BERTH_API int64_t berth_front_evaluations(const berth_front *front);

/* ---- advanced: what a plan costs, and why ---- */

/* A plan from devices [berth_model_count]; order may be NULL, or operators [berth_model_count] in a
 * topological order that each device keeps to. */
BERTH_API berth_status berth_plan_new(const berth_model *model, const berth_machine *machine,
                                      const int32_t *device, const int32_t *order, berth_plan **out,
                                      berth_err *err);

/* "optimal" (proven), "limit" (an exact method reached a limit), "feasible" or "infeasible". */
BERTH_API const char *berth_plan_status(const berth_plan *plan);
/* What made it; NULL: not said. */
BERTH_API const char *berth_plan_method(const berth_plan *plan);
BERTH_API const char *berth_plan_objective(const berth_plan *plan);

typedef struct berth_cost {
	double latency_s, throughput_per_s;
	double energy_j, edp;   /* NAN where a device has no watts */
} berth_cost;

/* Cost of a plan by the simulator. Fails: BERTH_EINFEASIBLE where an operator sits where it cannot run;
 * BERTH_ENOMEM. */
BERTH_API berth_status berth_plan_cost(const berth_plan *plan, berth_cost *out, berth_err *err);

/* What a plan takes of one device. */
typedef struct berth_device_use {
	int32_t operators;
	double busy_s;       /* sum of how long its operators run */
	double load_s;       /* sum of their times alone by the operators that it runs at once */
	int64_t peak_bytes;  /* most memory that is held at one time */
	int64_t limit_bytes; /* that may be held; -1: unlimited */
	int64_t sent_bytes;  /* over its links, passing through included */
} berth_device_use;

/* Fails: BERTH_EINVAL (no such device), BERTH_EINFEASIBLE as above. */
BERTH_API berth_status berth_plan_device_use(const berth_plan *plan, int32_t device, berth_device_use *out,
                                             berth_err *err);

/* Start and end of an operator in the simulation, seconds; NAN where it cannot run. */
BERTH_API void berth_plan_op_times(const berth_plan *plan, int32_t op, double *start_s, double *end_s);
/* The operators as they start, into order [berth_model_count]: a topological order. Fails: BERTH_EINFEASIBLE
 * as above, BERTH_ENOMEM. */
BERTH_API berth_status berth_plan_order(const berth_plan *plan, int32_t *order, berth_err *err);

/* What stands against the plan, one sentence each; none where it is feasible. */
BERTH_API int32_t berth_plan_violations(const berth_plan *plan);
BERTH_API const char *berth_plan_violation(const berth_plan *plan, int32_t i);

/* Where the latency goes, along the critical chain: computing, and what was lost. It borrows the plan.
 * Fails: BERTH_EINFEASIBLE as above, BERTH_ENOMEM. */
typedef struct berth_account berth_account;
BERTH_API berth_status berth_plan_explain(const berth_plan *plan, berth_account **out, berth_err *err);
BERTH_API void berth_account_free(berth_account *account);
BERTH_API double berth_account_compute(const berth_account *account); /* seconds */
/* Causes of loss by falling time: what it is, its seconds in all, and how often. The seconds of all and those
 * of computing are the latency. */
BERTH_API int32_t berth_account_count(const berth_account *account);
BERTH_API const char *berth_account_lost(const berth_account *account, int32_t i, double *seconds,
                                         int32_t *times);

/* Why one operator runs where and when it does. */
typedef struct berth_op_reason {
	int32_t device;
	double ready_s, start_s, end_s; /* ready: its last input is there */
	double slack_s;     /* how much later it could end without a later end of the run; 0: critical */
	int32_t best_other; /* where it would be best if not here; -1: it can run nowhere else */
} berth_op_reason;

/* value, where not NULL, is [berth_machine_count]: the plan's value with this operator, and all that is
 * colocated with it, on each device; NAN where that is not feasible. Fails: BERTH_EINVAL (no such operator),
 * BERTH_EINFEASIBLE as above, BERTH_ENOMEM. One simulation a device. */
BERTH_API berth_status berth_plan_explain_op(const berth_plan *plan, int32_t op, berth_op_reason *out,
                                             double *value, berth_err *err);

/* Write the simulated timeline as a Chrome trace. Fails: BERTH_EINFEASIBLE as above, BERTH_EIO,
 * BERTH_ENOMEM. */
BERTH_API berth_status berth_plan_trace(const berth_plan *plan, const char *path, berth_err *err);

/* Write the plan in the words of the program that is to run or show it.
 *   target  "ort", "csv" or another of berth_export_name
 *   file    the model, as berth_model_load took it; NULL where the target reads no model again
 *   theirs  [berth_machine_count] what the target calls each device, NULL where that is not told; NULL: of
 *           none
 * Fails: BERTH_EINVAL (no such target; the file or a name is missing), BERTH_EUNSUPPORTED (the target
 * cannot express the plan), BERTH_EINFEASIBLE (an operator sits where it cannot run, or the target can hardly
 * run the plan), BERTH_EFORMAT, BERTH_EIO, BERTH_ENOMEM. */
BERTH_API berth_status berth_plan_export(const berth_plan *plan, const char *target, const char *file,
                                         const char *const *theirs, const char *path, berth_err *err);
BERTH_API int32_t berth_export_count(void);
BERTH_API const char *berth_export_name(int32_t i);
BERTH_API const char *berth_export_about(int32_t i);

/* ---- advanced: a method of your own (docs/research.md) ---- */

/* A model on a machine with the rules of the options, as arrays that are the library's: nothing is copied.
 * They stand as long as the evaluator. Later versions add fields at the end. Times are whole nanoseconds. A
 * list x_off [n+1] parts what it is of: part k is x_off[k] .. x_off[k+1]-1. */
typedef struct berth_view {
	int32_t n_ops, n_devs, n_types, n_groups, n_tensors, n_edges, n_sizes, n_links, n_blocks;
	/* operators [n_ops] */
	const char *const *op_name, *const *type_name; /* type_name [n_types] */
	const int32_t *op_type;        /* -1: none */
	const double *op_flops;
	const int64_t *op_read_bytes, *op_write_bytes, *op_param_bytes, *op_state_bytes, *op_workspace_bytes,
		*op_output_bytes;
	const int64_t *op_dev_time_ns; /* [n_ops][n_devs]; -1: it cannot run there */
	const uint8_t *op_dev_legal;   /* [n_ops][n_devs] 1: it can, and no rule forbids the device */
	const int64_t *op_rank_ns;     /* upward rank: mean times and transfers along the longest path */
	const int32_t *topo_op, *rank_op; /* all operators, producers first: by the file, by falling rank */
	/* Operators of one group share a device; of one set of op_apart (-1: of none) no two do. */
	const int32_t *op_group, *group_off, *group_op, *op_apart;
	/* Operators of a block follow each other, and at most max_cuts (-1: any number) of the borders
	 * between blocks lie between devices. op_block NULL: there are no blocks. */
	const int32_t *op_block;
	int32_t max_cuts;
	/* Tensors [n_tensors]: those of op are op_tensor_off[op] on. An edge is one use: those of tensor t
	 * are tensor_edge_off[t] on. Inputs of op: op_in_off[op] on in in_tensor. */
	const int32_t *op_tensor_off, *tensor_producer, *tensor_edge_off, *edge_consumer;
	const int32_t *op_in_off, *in_tensor;
	const int64_t *tensor_bytes;
	/* Sizes of tensors, and when each is there: [n_sizes][n_devs][n_devs], from one device to another, by
	 * its route, with nothing in its way. */
	const int32_t *tensor_size;
	const int64_t *size_pair_ns;
	/* devices [n_devs] */
	const char *const *dev_name, *const *dev_kind;
	const int64_t *dev_limit_bytes;   /* -1: unlimited */
	const int32_t *dev_slots;         /* operators that run at once */
	const bool *dev_contiguous;       /* no path leaves it and comes back */
	const double *dev_idle_w, *dev_busy_w; /* NAN: not given */
	/* links [n_links] */
	const int32_t *link_from, *link_to;
	const double *link_bandwidth, *link_latency_s; /* bytes a second */
} berth_view;

/* What placements are worth. One thread uses it at a time; it borrows model and machine. Of the options,
 * objective, seed, pin, forbid, colocate, granularity, max_cuts and bound hold, and evaluations and time_s
 * where they are given. */
typedef struct berth_evaluator berth_evaluator;
BERTH_API berth_status berth_evaluator_new(const berth_model *model, const berth_machine *machine,
                                           const berth_options *options, berth_evaluator **out,
                                           berth_err *err);
BERTH_API void berth_evaluator_free(berth_evaluator *e);
BERTH_API const berth_view *berth_evaluator_view(const berth_evaluator *e);
BERTH_API uint64_t berth_evaluator_seed(const berth_evaluator *e);

/* Evaluations that may still be made; 0 also where the time is over or, in the hands of berth, the best is
 * proven best. Beyond them nothing is valued: the answer is INFINITY. */
BERTH_API int64_t berth_evaluator_left(berth_evaluator *e);
/* How many placements and orders were none, and how many evaluations were asked for beyond those. */
BERTH_API void berth_evaluator_faults(const berth_evaluator *e, int64_t *illegal, int64_t *beyond);
/* The objective's value of device [n_ops]; order: operators [n_ops] in a topological order, or NULL, the
 * system's rule. One evaluation. *excess is 0 where the placement fits and keeps all rules and limits, and
 * else tells by how much not; excess NULL: such a placement is worth INFINITY. Both are INFINITY where it is
 * none (an operator on a device that is not legal for it, or apart from its group; an order that is none).
 * The best is kept: of the least excess, then of the least value. */
BERTH_API double berth_evaluator_value(berth_evaluator *e, const int32_t *device, const int32_t *order,
                                       double *excess);
/* The same, quicker, for a placement that differs little from base [n_ops], while base stays the same. */
BERTH_API double berth_evaluator_near(berth_evaluator *e, const int32_t *base, const int32_t *device,
                                      double *excess);
/* The best so far, as a plan of the evaluator: it stands until the next call of this function. Fails:
 * BERTH_ELIMIT (none was valued), BERTH_ENOMEM. */
BERTH_API berth_status berth_evaluator_plan(berth_evaluator *e, const berth_plan **out, berth_err *err);

/* The schedule that a list method builds, one of each evaluator: operators have a device and a time one after
 * the other, producers first, in idle gaps too. Transfers do not wait for each other in it. */

/* Begin anew. memory: the share of tensors that devices must hold at once: 1, as at first, is safe; 0: only
 * what stays for good counts; below 0: nothing. */
BERTH_API void berth_schedule_clear(berth_evaluator *e, double memory);
/* When op would end on the device at the earliest, ns. INT64_MAX: it may not stand there (not legal, its
 * group is elsewhere, another of its set is there, no memory is left), a producer has no time yet, or it has
 * one. */
BERTH_API int64_t berth_schedule_finish(berth_evaluator *e, int32_t op, int32_t device);
/* Put it there. Returns the same. */
BERTH_API int64_t berth_schedule_put(berth_evaluator *e, int32_t op, int32_t device);
/* Its devices [n_ops] and the order of starts [n_ops] (may be NULL); false: not all operators stand. */
BERTH_API bool berth_schedule_take(const berth_evaluator *e, int32_t *device, int32_t *order);

/* A method for `berth compare --methods ./mine.so`, `--method` and berth_options.method: a shared
 * object that exports one table, `const berth_own_method berth_method`. It links nothing: what it calls comes
 * with the run, each as the function of the same name above. It runs in a process of its own, which is ended
 * where it does not return. It may do what any program may: name only what you trust. */
#define BERTH_OWN_METHOD_VERSION 1
typedef struct berth_own_run {
	berth_evaluator *e;
	const berth_view *view;
	uint64_t seed;
	int64_t (*left)(berth_evaluator *e);
	double (*value)(berth_evaluator *e, const int32_t *device, const int32_t *order, double *excess);
	double (*near)(berth_evaluator *e, const int32_t *base, const int32_t *device, double *excess);
	void (*clear)(berth_evaluator *e, double memory);
	int64_t (*finish)(berth_evaluator *e, int32_t op, int32_t device);
	int64_t (*put)(berth_evaluator *e, int32_t op, int32_t device);
	bool (*take)(const berth_evaluator *e, int32_t *device, int32_t *order);
} berth_own_run;

typedef struct berth_own_method {
	int32_t version;   /* BERTH_OWN_METHOD_VERSION */
	const char *about; /* one sentence with the source */
	/* The best placement that it has valued is the answer. 0, or why not: a number that is told. */
	int (*run)(const berth_own_run *r);
} berth_own_method;

/* ---- advanced: tasks of several searches ---- */

/* What a task answers, as a JSON object. */
typedef struct berth_document berth_document;
BERTH_API const char *berth_document_text(const berth_document *document);
BERTH_API void berth_document_free(berth_document *document);

/* Methods side by side, each with the budget of the options and with `seeds` seeds from theirs on. methods is
 * ended by NULL; NULL: those of `berth compare`. Keys: graph, system, objective, lower_bound, methods
 * (method, median, least, most, gap, rows: seed, status, value, gap, evaluations, note). Fails: BERTH_EINVAL,
 * BERTH_EFORMAT, BERTH_EIO, BERTH_EINTERRUPTED (progress stopped it), BERTH_ENOMEM. */
BERTH_API berth_status berth_task_compare(const berth_model *model, const berth_machine *machine,
                                          const berth_options *options, const char *const *methods,
                                          int32_t seeds, berth_document **out, berth_err *err);

/* Which hosts and devices of a cluster train together, each copy with its batch. models are one training step
 * at each batch [n], which rise. goal: "time", "power", "peak-power", "energy" or "edp". evaluations (default
 * 1000) are those of each copy that is placed on several devices. Keys: goal, value, bound, samples, step_s,
 * energy_j, power_w, peak_w, exchange, copies (host, batch, devices). Fails: BERTH_EINVAL (no training step;
 * a goal that needs watts), BERTH_EINFEASIBLE (no copy fits), BERTH_ELIMIT (a host of too many unlike
 * devices), BERTH_ENOMEM. */
BERTH_API berth_status berth_task_configure(const berth_model *const *models, const int64_t *batch, int32_t n,
                                            const berth_machine *machine, const char *goal,
                                            const berth_options *options, berth_document **out,
                                            berth_err *err);

/* So many copies of the model on one machine that samples a second are the most: least to most of them (0, 0:
 * from one up to twice the devices). Each number is searched with the budget of the options. Keys: graph,
 * system, per_s, evaluations, copies (the device of each operator by its name), order (of all operators, as
 * in "MODEL-2/OP"; missing: that of the machine). Fails: BERTH_EINFEASIBLE (none has a placement),
 * BERTH_EINVAL, BERTH_EFORMAT, BERTH_EIO, BERTH_ENOMEM. */
BERTH_API berth_status berth_task_copies(const berth_model *model, const berth_machine *machine,
                                         int32_t least, int32_t most, const berth_options *options,
                                         berth_document **out, berth_err *err);

/* Operators of an ONNX model are cut for the machine, by a search, and their pieces placed.
 *   file  the model       cut  the new model's file
 *   plan  the placement's file, for the new model; NULL: not wanted
 * Where whole operators are better the new model is the old one. Keys: graph, system, objective, value,
 * whole_value, lower_bound, evaluations, cut (operator, type, axis, pieces: name, device, from, to), warnings
 * (of weights in files that the new model does not stand beside). Fails:
 * BERTH_EINVAL (no ONNX model), BERTH_EINFEASIBLE (nothing fits), BERTH_EFORMAT, BERTH_EUNSUPPORTED,
 * BERTH_EIO, BERTH_ENOMEM. */
BERTH_API berth_status berth_task_split(const char *file, const berth_machine *machine,
                                        const berth_options *options, const char *cut, const char *plan,
                                        berth_document **out, berth_err *err);

/* ---- experimental: may change in any release ---- */

/* Train a policy on every model on every machine and write it to path. Of the options, method, policy, bound,
 * start and time_s are not used; evaluations is for all of them together (default 20000). progress is not
 * told a value. Fails: BERTH_EINTERRUPTED where progress stopped it (the policy so far is written),
 * BERTH_EINVAL, BERTH_EINFEASIBLE, BERTH_EFORMAT, BERTH_EIO (also where another training of path goes on),
 * BERTH_ENOMEM. */
BERTH_API berth_status berth_policy_train(const berth_model *const *models, int32_t n_models,
                                          const berth_machine *const *machines, int32_t n_machines,
                                          const berth_options *options, const char *path, berth_err *err);

typedef struct berth_measured_cost {
	double latency_s, low_s, high_s; /* median of the runs, and its interval (95 % from 6 runs on) */
	int32_t runs;
	double max_difference; /* of the outputs from the unsplit model's; NAN: not said */
} berth_measured_cost;

/* Run a plan for real: an engine loads the model's file and runs the plan on devices of the same names. It is
 * a program of its own (docs/engines.md), which is started and ended here.
 *   file    the model, as berth_model_load takes it
 *   engine  "ort" (NULL), another name, or a command line with a '/'
 *   runs    0: 21, and up to 168 until the median is known to 3 %
 * Fails: BERTH_EIO (no such engine, or it died), BERTH_ELIMIT (it hung), BERTH_EFORMAT (a model that it
 * cannot run), BERTH_EINFEASIBLE (a device that it lacks), BERTH_EINVAL, BERTH_ENOMEM. */
BERTH_API berth_status berth_plan_measure(const berth_plan *plan, const char *file, const char *engine,
                                          int32_t runs, berth_measured_cost *out, berth_err *err);

#ifdef __cplusplus
}
#endif

#endif
