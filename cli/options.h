/* Options of a verb: a table, read by getopt_long, printed by --help. */
#pragma once

#include "cli.h"

/* What an option takes and what `into` points to: texts, lists, numbers, in this order. */
typedef enum cli_kind {
	CLI_FLAG,       /* nothing; bool */
	CLI_TEXT,       /* text; const char * */
	CLI_WORD,       /* nothing, or one of the words of `value`, | between; const char *, "": nothing */
	CLI_COMMAND,    /* a command line, whose words may be files that are read; const char * */
	CLI_FILE_IN,    /* a file that is read, or a word; const char * */
	CLI_FILE_OUT,   /* a file that is written, "-": standard output; const char * */
	CLI_FILE_ONLY,  /* a file that is written, never standard output; const char * */
	CLI_FILE_BOTH,  /* one that is read and written; const char * */
	CLI_CHECKPOINT, /* one that is written and perhaps read, with those beside it; const char * */
	CLI_MANY,       /* text, any number of times; cli_texts */
	CLI_LIST,       /* words with commas between; cli_texts */
	CLI_FILES_MANY, /* the same as CLI_MANY: files that are read, NAME= may stand before */
	CLI_FILES_IN,   /* the same as CLI_LIST: files that are read, or words */
	CLI_COUNT,      /* a whole number from 1 to 2^53, suffixes K, M, G; int64_t */
	CLI_BUDGET_N,   /* the same from 0 on */
	CLI_USUAL,      /* the same from 0 on, where it matters whether it was given; cli_usual */
	CLI_SEED,       /* a whole number from 0 to 2^53; uint64_t */
	CLI_THREADS,    /* 1 to 1024; int32_t */
	CLI_SECONDS,    /* above 0; double */
	CLI_LIMIT,      /* the same, or with "cpu" behind it; double [2], of the clock and of the CPU */
	CLI_SHARE       /* above 0; a part of one, below it, or with "%"; double, the part */
} cli_kind;

typedef struct cli_usual {
	int64_t n; /* holds the default before */
	bool given;
} cli_usual;

typedef struct cli_option {
	const char *name;  /* NULL ends a table */
	char letter;       /* 0: none */
	cli_kind kind;
	/* Holds the default before, which the help tells: that of texts, lists and numbers, where there is
	 * one (numbers: above 0, seeds and CLI_BUDGET_N: 0 and above). */
	void *into;
	const char *value; /* what the value is called in the help; NULL for flags */
	const char *help;  /* behind a tab what holds, in words, where `into` holds no default */
} cli_option;

/* The last rows of a verb's table: of one that prints a text and nothing else, */
#define CLI_HELP(c) \
	{"help", 'h', CLI_FLAG, &(c)->help, NULL, "print this help"}, {NULL, 0, CLI_FLAG, NULL, NULL, NULL}
#define CLI_JSON(c) {"json", 0, CLI_FLAG, &(c)->json, NULL, "print one JSON document on standard output"}

/* and of one that does something as well. */
#define CLI_SANDBOX(c) \
	{"no-sandbox", 0, CLI_FLAG, &(c)->no_sandbox, NULL, \
	 "read files here, not in a process that can do nothing else"}
#define CLI_COMMON(c) \
	CLI_JSON(c), \
	{"quiet", 'q', CLI_FLAG, &(c)->quiet, NULL, "print errors only (and the document of --json)"}, \
	CLI_HELP(c)

/* Read the command line into the table's places. What is left goes to c->args: min_args to max_args of them;
 * max_args -1: any number. Prints the help where it is asked for (c->help), else the files of
 * the command are looked at (cli_check_files), then the verb's rules. Fails: BERTH_EINVAL (an unknown option,
 * naming the nearest; a bad value; another number of arguments; a rule), and as cli_check_files. */
berth_status cli_parse(cli *c, const cli_option *options, int min_args, int max_args, berth_err *err);

/* The first of these options, names with | between, that was given; NULL: none. While the table lives. */
const char *cli_given(const cli *c, const char *names);

/* The rules of a verb. */
#define CLI_RULES_OF(rules) .rule = (rules), .n_rules = (int)(sizeof (rules) / sizeof *(rules))

