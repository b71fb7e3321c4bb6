/* Graphs, systems and placements from the command line. What is to be warned of is said once on standard
 * error: what an importer had to assume, what the description of a machine leaves out
 * (system_warnings.h), a placement that was made for something else. */
#pragma once

#include "cli.h"
#include "graph_union.h"
#include "load_system.h"
#include "options.h"
#include "placement.h"
#include "system.h"
#include "training.h"

#define CLI_CALIBRATE(c) \
	{"calibrate", 0, CLI_MANY, &(c)->calibrate, "MODEL=S@DEV", \
	 "a model as it was timed on a device (zoo:resnet50=6.1ms@gpu0): times predicted there go by it"}

/* Fit the devices of s by what c->calibrate says, and tell how. DEVICE is a device, or a kind of several. A
 * timing that is far off is warned of. Fails: BERTH_EINVAL (a text of another form, an unknown device, a
 * model that it cannot run), as berth_graph_load, cli_warn. */
berth_status cli_calibrate(cli *c, berth_system *s, berth_err *err);
/* The same of one device by so many timings, and tell it: what was timed is `by`. */
struct berth_timing;
berth_status cli_calibrate_device(cli *c, berth_system *s, int32_t dev, const struct berth_timing *timing,
                                  int32_t n, const char *by, berth_err *err);

/* For the table of every verb that reads a graph and a system. */
#define CLI_ON(on) {"on", 0, CLI_FILE_IN, (on), "SYSTEM", "the machine"}
#define CLI_TIMES(c) \
	{"times", 0, CLI_TEXT, &(c)->times, "model|roofline", \
	 "how times are predicted that nobody measured\tas the system or plan says: model"}, \
	CLI_CALIBRATE(c)
#define CLI_INPUT(c) CLI_TIMES(c), CLI_READING(c)
#define CLI_READING(c) \
	{"dim", 0, CLI_MANY, &(c)->dim, "NAME=N", \
	 "a symbolic dimension of an ONNX model, or how often its loop NAME runs; a word of other " \
	 "models, as in batch=8 (--ctx N is context=N, --batch N is batch=N)\t1"}, \
	{"strict", 0, CLI_FLAG, &(c)->strict, NULL, \
	 "refuse a graph or a system that would be warned of"}, \
	CLI_SANDBOX(c)

/* For the table of every verb that places or simulates by cli_instance_load or cli_models_load. */
#define CLI_COMPRESS(c) \
	{"compress", 0, CLI_TEXT, &(c)->compress, "2x|4x|8x", \
	 "tensors travel packed to a part of their bytes where that is quicker, with a stated error"}

#define CLI_FOR(c) \
	{"for", 0, CLI_TEXT, &(c)->engine, "ENGINE", \
	 "the engine that is to run the plan, whose rules value it: ort, llama.cpp, accelerate, torch, " \
	 "openvino, vllm, none\tof a plan's file its own; place: of GGUF files llama.cpp, of model folders " \
	 "accelerate"}

/* For the table of every verb that places, simulates or learns. */
#define CLI_RULES(c) \
	{"pin", 0, CLI_MANY, &(c)->pin, "OP=DEVICE", \
	 "keep operators on a device; OP may be a pattern, as in 'layer1.*'"}, \
	{"forbid", 0, CLI_MANY, &(c)->forbid, "OP=DEVICE", "keep operators off a device"}, \
	{"colocate", 0, CLI_MANY, &(c)->colocate, "OP,...", "keep operators on one device together"}, \
	{"training", 0, CLI_FLAG, &(c)->training, NULL, \
	 "a whole training step (Adam) of an inference graph instead of it"}

#define CLI_TOLD_OTHERWISE "%s: placed with %s, and %s%s is given: leave it out, or place anew"

/* Tell what r has to tell of the graph of spec. Fails: as cli_check_external and cli_warn. */
berth_status cli_graph_told(cli *c, const char *spec, const berth_read_report *r, berth_err *err);

/* berth_graph_load and berth_instance_load with c->dim; instances get what CLI_RULES asks.
 * berth_system_load; its g is the graph that is to be placed, or NULL. report may be NULL. Fails: as those,
 * cli_warn and cli_strict; systems as cli_calibrate. */
berth_status cli_graph_load(cli *c, const char *spec, berth_graph *g, berth_read_report *report,
                            berth_err *err);
berth_status cli_instance_load(cli *c, const char *graph, const char *system, berth_graph *g, berth_system *s,
                               berth_read_report *report, berth_err *err);
/* Are the files beside a model that others are going to read (an engine) safe from what this command writes?
 * What no importer reads is let pass. Fails: BERTH_EINVAL, BERTH_ENOMEM. */
berth_status cli_model_check(cli *c, const char *spec, berth_err *err);
/* Warn of what these devices [n_devs] (NULL: all) lack for g. A verb that knows later which they are
 * (c->warns_of_some) calls it itself. Fails: BERTH_ENOMEM, and as cli_strict. */
berth_status cli_system_warn(cli *c, const char *spec, const berth_system *s, const berth_graph *g,
                             const bool *dev, berth_err *err);
berth_status cli_system_load(cli *c, const char *spec, const berth_graph *g, berth_system *s, berth_err *err);

/* What --times and --calibrate say of a system that was read. Fails: BERTH_EINVAL (an unknown word; another
 * one than the plan was made by), as cli_calibrate. */
berth_status cli_system_times(cli *c, berth_system *s, berth_err *err);

/* What --compress says; 0: it was not given. Fails: BERTH_EINVAL. */
berth_status cli_compress_factor(const cli *c, int *factor, berth_err *err);

/* With --training (*training) a module goes by its own step: *spec becomes SPEC:mode=training, *training
 * false. Fails: BERTH_ENOMEM. */
berth_status cli_training_module(cli *c, bool *training, const char **spec, berth_err *err);

/* --training: the step instead of g, as opt tells it (its report is not looked at). What has no rule is
 * warned of. Fails: as berth_graph_training, cli_warn. */
berth_status cli_training_make(cli *c, const char *spec, const berth_training_options *opt, berth_graph *g,
                               berth_err *err);
/* The rules of --pin, --forbid and --colocate. Fails: as berth_graph_add_rules. */
berth_status cli_rules_add(cli *c, const berth_system *s, berth_graph *g, berth_err *err);

/* All graphs of the command line as one, where there are several (graph_union.h); parts is empty where there
 * is one. Fails: as cli_instance_load; BERTH_EINVAL (several without a system). */
berth_status cli_models_load(cli *c, const char *system, berth_graph *g, berth_system *s,
                             berth_graph_parts *parts, berth_err *err);

/* berth_placement_read. Fails: as that, cli_warn. */
berth_status cli_placement_read(cli *c, const char *path, const berth_graph *g, const berth_system *s,
                                berth_placement *out, berth_err *err);
