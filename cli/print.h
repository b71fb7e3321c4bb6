/* Tables and documents on standard output. */
#pragma once

#include "cli.h"
#include "eval.h"
#include "json.h"

/* Columns that standard output has: $COLUMNS, else those of the terminal, else (pipes, files) SIZE_MAX. */
size_t cli_width(void);

/* Print words, broken at blanks so that no line passes width; a word that is longer stands alone. The first
 * line begins at column `at`, later ones are indented to `indent`. Ends the line. */
void cli_print_words(const char *text, size_t at, size_t indent, size_t width);

typedef enum cli_format { CLI_AS_TEXT, CLI_AS_CSV, CLI_AS_MARKDOWN, CLI_AS_LATEX } cli_format;

/* A table of cells, filled row by row. */
typedef struct cli_table {
	berth_arena *mem;
	const char *align;  /* one letter a column: 'l' or 'r' */
	size_t n_cols, n_cells, cap;
	const char **cell;  /* the headings first */
	bool failed;        /* out of memory; told by cli_table_print */
} cli_table;

void cli_table_init(cli_table *t, berth_arena *mem, const char *align);
/* Cells with the words of a text, with | between: the headings. */
void cli_table_head(cli_table *t, const char *words);
/* The next cell: by a format, or a text or a number: "-" where it is not known (NULL, NAN, bytes below 0). */
void cli_cell(cli_table *t, const char *fmt, ...) BERTH_PRINTF(2, 3);
void cli_cell_text(cli_table *t, const char *text);
void cli_cell_int(cli_table *t, int64_t n);
void cli_cell_seconds(cli_table *t, double seconds);
void cli_cell_bytes(cli_table *t, double bytes);
void cli_cell_percent(cli_table *t, double fraction);
void cli_cell_value(cli_table *t, const berth_objective *o, double value);
/* Text: columns two blanks apart; where they are wider than cli_width rows go on below, further in. Fails:
 * BERTH_ENOMEM. */
berth_status cli_table_print(const cli_table *t, cli_format format, berth_err *err);

/* A foreign word, in Markdown and LaTeX as no more than that: no end of a cell, no HTML, no link, no
 * emphasis, no command. */
void cli_say_word(const char *text, cli_format format);

/* "KIND bound FIGURE"; a strong one that was cut for want of work is a rough one. */
void cli_say_bound(const char *kind, const char *figure);

/* Print the finished document. Fails: BERTH_ENOMEM. */
berth_status cli_print_json(berth_json_out *w, berth_err *err);

/* Close the object that is the document, with what was warned of, and print it. Fails: BERTH_ENOMEM. */
berth_status cli_end_json(const cli *c, berth_json_out *w, berth_err *err);

/* "12.3 %" of a fraction; "-" for NAN. buf of 32 bytes. */
char *cli_percent(char buf[32], double fraction);

/* "9999", "10.0 K". buf of 32 bytes. */
char *cli_count(char buf[32], int64_t count);

/* "3.63 GFLOP", "0 MAC". buf of 32 bytes, the unit of at most 8. */
char *cli_amount(char buf[32], double x, const char *unit);

/* "1.24 ms" for values in seconds, "3.2 GiB" for bytes, "3.21 J" for the rest, "3.21" for sums; "-" for NAN.
 * buf of 32 bytes. */
char *cli_value(char buf[32], const berth_objective *o, double value);

/* A lower bound of the objective: as its value, but never rounded up. buf of 32 bytes. */
char *cli_bound(char buf[32], const berth_objective *o, double bound);

/* A value of the metric for people, in samples a second where it is told so. buf of 32 bytes. */
char *cli_metric(char buf[32], berth_metric m, double value);

/* A warning on standard error, unless --quiet; each text once. cli_end_json tells it too. Fails:
 * BERTH_ENOMEM. */
berth_status cli_warn(cli *c, berth_err *err, const char *fmt, ...) BERTH_PRINTF(3, 4);

/* What was found and is no fault, on standard error, unless --quiet; each text once. Fails: BERTH_ENOMEM. */
berth_status cli_note(cli *c, berth_err *err, const char *fmt, ...) BERTH_PRINTF(3, 4);

/* After input was read. Fails: BERTH_EFORMAT where something was warned of and --strict was given. */
berth_status cli_strict(const cli *c, berth_err *err);
