/* Options of the verbs that run models: which engine, and where its program is. */
#pragma once

#include "measured.h"
#include "options.h"

typedef struct cli_engine {
	const char *name;  /* NULL: not given, torch for a module, else ort */
	const char *model; /* NULL: the graph itself */
	double timeout_s;
	bool slows;        /* devices: not by an execution provider, whose speed cannot be set */
} cli_engine;

/* Where --on is missing. */
#define CLI_THIS_MACHINE "berth profile --system describes this machine, as system:host"

#define CLI_ENGINE_DEFAULT {.timeout_s = 300}

#define CLI_ENGINE_ON(on) \
	{"on", 0, CLI_FILE_IN, (on), "SYSTEM", "the machine; its devices have the names of the engine's"}
#define CLI_ENGINE(e) \
	{"engine", 0, CLI_COMMAND, &(e)->name, "E", \
	 "the engine: a name, or a command line with a '/'\ttorch for Python modules, else ort"}, \
	{"model", 0, CLI_FILE_IN, &(e)->model, "FILE", \
	 "the model that the engine loads, where GRAPH is a description of it"}
#define CLI_TIMEOUT(e) \
	{"timeout", 0, CLI_SECONDS, &(e)->timeout_s, "S", "seconds that an answer of the engine may take"}

/* How to start the engine. A name stands for the program berth-engine-NAME beside this one or in PATH. ort
 * alone for a system (or NULL) whose one device is a CPU of several cores: with ONNX Runtime's own CPU
 * provider on so many of those that are there, unless it slows devices; else a worker a core.
 * Fails: BERTH_EIO (no such engine, with what brings it), BERTH_EINVAL, BERTH_ENOMEM. */
berth_status cli_engine_cfg(cli *c, const cli_engine *e, const char *graph, const berth_system *s,
                            berth_measured_cfg *out, berth_err *err);

/* Start the engine with graph g, which the command line calls `graph`, and system s.
 *   cancel  what ends waiting for an answer, or NULL
 *   text    out: name, version and command of the engine, as caches and reports call it
 * berth_measured_close(m) has to follow. Fails: as cli_engine_cfg and berth_measured_open. */
berth_status cli_engine_open(cli *c, const cli_engine *e, const char *graph, const berth_graph *g,
                             const berth_system *s, const atomic_int *cancel, berth_measured *m,
                             const char **text, berth_err *err);
