/* The one way of the program to standard output and standard error. What a caller writes in a format is
 * trusted: colours, ends of lines. Every %s and %c is not: it is made visible (visible.h), so that no
 * name can move the cursor, hide text or look like a line of ours. */
#pragma once

#include "status.h"

#include <stdarg.h>

/* To be called first: where a caller closed standard input, output or error, no file that is opened later
 * takes its place, so that no words of ours get into it. Reading or writing there fails, as it did. Fails:
 * BERTH_EIO. */
berth_status cli_hold_streams(berth_err *err);

/* From here on this process says nothing more: another one speaks for it. *voice: standard error as it was,
 * or -1. Fails: BERTH_EIO. */
berth_status cli_fall_silent(int *voice, berth_err *err);

/* To standard error again, by the voice of cli_fall_silent. -1: it was never silent. */
void cli_speak_again(int voice);

/* printf to standard output. What fails stays with the stream: main tells it at the end. */
void cli_say(const char *fmt, ...) BERTH_PRINTF(1, 2);

/* What was said there goes out now, for whoever may be ended before it leaves main. */
void cli_say_now(void);

/* The same to standard error, at once. */
void cli_say_error(const char *fmt, ...) BERTH_PRINTF(1, 2);
void cli_vsay_error(const char *fmt, va_list args);

/* One of the two: for a report that stands on standard error where a document takes standard output. */
typedef void (*cli_sayer)(const char *fmt, ...) BERTH_PRINTF(1, 2);

/* A line to standard error past its stream, whose lock a thread may hold that stands still. */
void cli_say_past(const char *text);

/* n columns of blanks on standard output. */
void cli_say_blanks(size_t n);

/* A document to standard output, byte by byte: JSON (which writes such characters as \uXXXX), DOT, CSV. */
void cli_put_document(const char *text, size_t n);

/* The same at once, and not cut by an interruption. */
void cli_put_whole(const char *text, size_t n);
