/* An engine is a program that runs models. berth speaks to it by JSON lines over its standard input and
 * output; docs/formats.md has the protocol. This file starts it, asks it with a time limit, and survives
 * whatever it does. What questions and answers mean is measured.h's business.
 *
 * An engine that crashes, hangs, closes its output or writes what is no answer is killed, with all that it
 * started. The message of the failing call says what happened and ends with the engine's last words. The next
 * question starts it again. */
#pragma once

#include "json.h"

#include <stdatomic.h>

enum { BERTH_ENGINE_PROTOCOL = 1 };

typedef struct berth_engine_cfg {
	const char *name;        /* for messages */
	/* The program and its arguments, ended by NULL. Without a slash it is looked for in PATH. */
	const char *const *argv;
	double hello_s;           /* limit of the first answer, default 60 */
	const atomic_int *cancel; /* not 0: stop waiting and kill the engine; NULL: none */
} berth_engine_cfg;

typedef struct berth_engine_device {
	const char *name, *kind;
	int64_t memory_bytes; /* -1: not said */
	int32_t threads;      /* of a CPU's kernels; 0: on all cores */
	const char *text;     /* all that it says of the device, as JSON; the key of a cache of times */
} berth_engine_device;

/* What the engine said of itself at its latest start. */
typedef struct berth_engine_hello {
	const char *engine, *version;
	const char *clock;  /* which clock takes its samples' wall_s; "wall" by default */
	bool fuses;         /* it runs several operators as one kernel */
	int32_t n_devs;     /* >= 1 */
	berth_engine_device *dev;
} berth_engine_hello;

typedef struct berth_engine berth_engine;

/* Start the engine and hear its hello. Everything lives in mem. cfg's texts must outlive the engine.
 * berth_engine_stop ends the process. The thread that starts it should live as long: some engines, ours too,
 * end with it. Fails: BERTH_EIO (no such program, no answer, a bad one), BERTH_ELIMIT
 * (no answer in time), BERTH_EINTERRUPTED, BERTH_ENOMEM. */
berth_status berth_engine_start(const berth_engine_cfg *cfg, berth_arena *mem, berth_engine **out,
                                berth_err *err);
/* Run the program of cfg for one line of output, within limit_s seconds and of at most `most` bytes, and end
 * it. asked: what it finds on its standard input; NULL: nothing. The line lives in mem. Where it leaves
 * without one, by exit code 2, 4 or 5, the last line that it wrote to standard error is the message, and
 * BERTH_EINVAL, BERTH_EFORMAT or BERTH_EIO the status. Fails also as berth_engine_start does. */
berth_status berth_engine_line(const berth_engine_cfg *cfg, const char *asked, double limit_s, size_t most,
                               berth_arena *mem, const char **text, size_t *size, berth_err *err);
/* Ask it to leave, and kill it where it does not. e may be NULL. */
void berth_engine_stop(berth_engine *e);

const berth_engine_hello *berth_engine_says(const berth_engine *e);
const char *berth_engine_name(const berth_engine *e);
/* How often it was started. A caller that sees the number change has to load its model again. */
int32_t berth_engine_starts(const berth_engine *e);

bool berth_engine_runs(const berth_engine *e);

/* Start it again where it died. Fails as berth_engine_start does. */
berth_status berth_engine_revive(berth_engine *e, berth_err *err);

/* Begin a question: opens {"id":N,"do":what. The caller adds members; berth_engine_ask closes it. */
void berth_engine_question(berth_engine *e, const char *what, berth_json_out *w, berth_arena *tmp);
/* Send it and wait at most limit_s seconds for an answer of at most `most` bytes. *answer is the caller's, to
 * be freed by cJSON_Delete. A refusal fails by its "kind", and the engine lives on: BERTH_EFORMAT ("model"),
 * BERTH_EINFEASIBLE ("device"), BERTH_EIO (any other). Fails also: BERTH_EIO (it died, or wrote no
 * answer), BERTH_ELIMIT (no answer in time), BERTH_EINTERRUPTED, BERTH_ENOMEM. */
berth_status berth_engine_ask(berth_engine *e, berth_json_out *w, double limit_s, size_t most, cJSON **answer,
                              berth_err *err);
/* Kill the engine, for the caller found an answer that makes no sense. Adds the engine's name to the message.
 * Returns BERTH_EIO. */
berth_status berth_engine_lied(berth_engine *e, berth_err *err, const char *fmt, ...) BERTH_PRINTF(3, 4);
