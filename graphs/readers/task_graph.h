/* What the readers of task graphs share: operators with times, edges with times, the graph's name. */
#pragma once

#include "status.h"
#include "tasks.h"

/* ---- the text being read, for formats that are no JSON: a place in it, and messages that tell line and
 * column. Nothing is copied. ---- */

typedef struct scan {
	const char *file, *text;
	size_t size, at;
	berth_err *err;
} scan;

/* A part of the text, not ended by 0. */
typedef struct scan_word {
	const char *text;
	size_t n;
} scan_word;

/* Where the content of a text begins: past spaces, comments of any of the formats, and the mark of UTF-8.
 * At its end where data is no text. For telling formats apart; it has no name for messages. */
scan scan_begin(const char *data, size_t size);
/* All of a file. */
scan scan_of(const berth_content *from, berth_err *err);

/* "FILE:LINE:COLUMN: ..." of the byte at; always returns BERTH_EFORMAT. */
berth_status scan_fail(const scan *s, size_t at, const char *fmt, ...) BERTH_PRINTF(3, 4);
/* The same place before the message of a callee that knows none, where st is BERTH_EFORMAT. Returns st. */
berth_status scan_placed(const scan *s, size_t at, berth_status st);

bool scan_end(const scan *s);
/* The byte here; 0 at the end. */
char scan_peek(const scan *s);
/* Past spaces and line breaks. */
void scan_spaces(scan *s);
/* Past word, if it stands here. */
bool scan_take(scan *s, const char *word);
/* Past all up to and with word; false (and to the end) where it does not occur. */
bool scan_past(scan *s, const char *word);

bool scan_is(scan_word w, const char *text);
/* For "%.*s" in messages. */
int scan_shown(scan_word w);
/* The same without regard to case. */
bool scan_is_any_case(scan_word w, const char *text);
/* Is w a number, finite? And not negative? */
bool scan_signed(scan_word w, double *out);
bool scan_number(scan_word w, double *out);

/* ---- the graph ---- */

typedef struct task_graph {
	const berth_task_options *opt;
	berth_builder *b;
	berth_arena *tmp;
	berth_err *err;
	berth_arena *mem;          /* of the graph and its report */
	berth_read_report *report; /* NULL: nobody asks for warnings */
} task_graph;

/* A reader: a builder named after the file, filled, and the graph of it. */
typedef berth_status task_graph_reader(const task_graph *t, const berth_content *from, berth_arena *mem,
                                       berth_graph *out);

task_graph_reader task_graph_dot, task_graph_stg, task_graph_dax, task_graph_wfcommons;

/* Run it with scratch that is given back; where it fails nothing stays in mem. opt NULL: defaults; report may
 * be NULL. */
berth_status task_graph_read(task_graph_reader *read, const berth_content *from,
                             const berth_task_options *opt,
                             berth_arena *mem, berth_arena *tmp, berth_graph *out, berth_read_report *report,
                             berth_err *err);
/* The same with options from words. */
berth_status task_graph_read_words(task_graph_reader *read, const berth_content *from,
                                   const berth_read_options *words, berth_arena *mem, berth_arena *tmp,
                                   berth_graph *out, berth_read_report *report, berth_err *err);
/* One more warning, at most TASK_GRAPH_WARNINGS of them. */
enum { TASK_GRAPH_WARNINGS = 8 };
berth_status task_graph_warn(const task_graph *t, const char *fmt, ...) BERTH_PRINTF(2, 3);
/* The graph where st is BERTH_OK; else, and where it is none, the file's name before the message. */
berth_status task_graph_finish(const task_graph *t, berth_status st, const char *file, berth_arena *mem,
                               berth_graph *out);

/* A builder named after the file. */
berth_status task_graph_new(task_graph *t, const char *file);
/* An operator; seconds (in units of the file) NAN: no time is known. */
berth_status task_graph_op(task_graph *t, const berth_op_spec *spec, double time, int32_t *op);
/* May the operator take that time (in units of the file; NAN: not known)? For a message with the place; the
 * time itself comes by task_graph_time. */
berth_status task_graph_check_time(const task_graph *t, int32_t op, double time);
/* The time (in units of the file; NAN: not known) of an operator that is there, once; dummy: one of which
 * no FLOPs are known either takes 0. */
berth_status task_graph_time(task_graph *t, int32_t op, double time, bool dummy);
/* Bytes of an edge of that time, at most 2^53; -1: more. */
int64_t task_graph_bytes(const task_graph *t, double time);
/* Is it a name? UTF-8, without 0 bytes, not empty; else BERTH_EFORMAT without a place. */
berth_status task_graph_check_name(const task_graph *t, scan_word w);
/* A copy with a closing 0; UTF-8, without 0 bytes, not empty; else BERTH_EFORMAT without a place. */
berth_status task_graph_name(const task_graph *t, scan_word w, const char **out);
