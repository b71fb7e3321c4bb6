/* What every verb of the program gets, and the table of verbs. */
#pragma once

#include "arena.h"
#include "sandbox.h"

typedef struct cli_texts {
	const char **text; /* [n] */
	int32_t n;
	size_t cap;
} cli_texts;

/* What came out of a sandbox last. */
typedef struct cli_read_before {
	const char *path, *text;
	size_t size;
} cli_read_before;

typedef struct cli {
	/* where the program began, by berth_wall_seconds and berth_cpu_seconds */
	double wall_from, cpu_from;
	bool json;             /* --json: one document on standard output and nothing else there */
	bool quiet;            /* --quiet: errors only, and no text on standard output */
	bool strict;           /* --strict: input that is warned of is refused */
	bool warns_of_some;    /* the verb itself warns of the system, when it knows which devices count */
	bool no_sandbox;       /* --no-sandbox */
	bool sandbox;          /* files are read in one: else it was not wanted, or there is none here */
	cli_texts dim;         /* --dim NAME=N of verbs that read graphs */
	bool training;         /* --training of them */
	const char *times;     /* --times of them: "model", "roofline"; NULL: as the system says */
	const char *engine;    /* --for of them; NULL: not given */
	const char *times_against; /* plan without that word: --times may not change its system */
	cli_texts calibrate;   /* --calibrate MODEL=SECONDS@DEVICE of them */
	const char *compress;  /* --compress of them; NULL: not given */
	cli_texts pin, forbid, colocate; /* --pin, --forbid, --colocate of verbs that place */
	bool help;             /* --help was asked for and printed: nothing else is to be done */
	const struct cli_verb *verb;
	int argc;              /* the words of the command line, the verb first */
	char **argv;
	const struct cli_option *options; /* of the verb */
	uint64_t given;        /* which of them were given, a bit each */
	bool streams;          /* one of them writes to standard output: no text goes there */
	int n_args;            /* what is left beside the options */
	char **args;
	cli_texts warned, noted; /* what cli_warn and cli_note have told */
	cli_texts called;        /* names of the graphs that were read, each with what it was read from */
	cli_read_before read_before;
	const struct cli_used_file *written; /* [n_written] what the options write (option_files.h) */
	int32_t n_written;
	berth_arena mem, tmp;  /* results; scratch */
} cli;

/* What does not go together, or not alone. Names of options, with | between. */
typedef struct cli_rule {
	const char *these; /* "": the rule holds always */
	const char *those; /* where one of these and one of those is given, or after a ! none of those */
	const char *why;   /* then this is told; its first %s is the name of the first of these */
} cli_rule;

typedef struct cli_verb {
	const char *name;
	const char *usage;   /* the line after "usage: " */
	const char *about;   /* what it does, in one line */
	const char *details; /* lines of --help after the options: what comes out, an example */
	berth_status (*run)(cli *c, berth_err *err);
	const cli_rule *rule; /* [n_rules] of its options, looked at in this order */
	int n_rules;
} cli_verb;

/* Is there anything to be told as text on standard output? */
static inline bool cli_in_words(const cli *c)
{
	return !c->json && !c->quiet && !c->streams;
}

extern const cli_verb cmd_place, cmd_train, cmd_compare, cmd_simulate, cmd_measure, cmd_profile, cmd_adapt,
	cmd_configure, cmd_export, cmd_import_plan, cmd_split, cmd_check_certificate, cmd_show, cmd_methods,
	cmd_zoo, cmd_systems, cmd_devices, cmd_keys;

/* All verbs, ended by NULL, in the order of the help. */
extern const cli_verb *const cli_verbs[];
