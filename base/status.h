/* Status codes and error messages. Every public function that can fail returns a berth_status and, where
 * the caller gives one, fills a berth_err with a message that says what, where, what was found, what was
 * expected, what to do. The standard headers that most sources use come with it. */
#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef BERTH_STATUS_H
#define BERTH_STATUS_H

typedef enum berth_status {
	BERTH_OK = 0,
	BERTH_EINVAL,      /* wrong argument: a call or command line that can never work */
	BERTH_ENOMEM,      /* an allocation failed */
	BERTH_EIO,         /* the operating system refused a read or a write */
	BERTH_EFORMAT,     /* an input file is malformed or contradicts itself */
	BERTH_EINFEASIBLE, /* the problem has no legal placement (or the given one is not legal) */
	BERTH_ELIMIT,      /* a limit was reached before there was an answer */
	BERTH_EINTERRUPTED, /* cancelled from outside; the best answer so far stands */
	BERTH_EUNSUPPORTED /* the method asked for cannot do this kind of problem */
} berth_status;

/* Caller-owned, may be NULL everywhere. Unchanged on success. */
typedef struct berth_err {
	berth_status code;
	char msg[512];
} berth_err;

#if defined(__GNUC__)
#define BERTH_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#else
#define BERTH_PRINTF(fmt, first)
#endif

/* Fill err (if any) and return code. Words in a message are made visible (visible.h); where it is
 * longer than the buffer it is cut. */
berth_status berth_fail(berth_err *err, berth_status code, const char *fmt, ...) BERTH_PRINTF(3, 4);

/* The one message for a failed allocation. */
berth_status berth_nomem(berth_err *err);

/* Put text in front of the message of err: the file or the place that the failing callee did not know.
 * Returns code. Where memory ran out that stays, and so does its message. */
berth_status berth_fail_in(berth_err *err, berth_status code, const char *fmt, ...) BERTH_PRINTF(3, 4);

/* For the checks between passes of debug builds (BERTH_DEBUG): unless st is BERTH_OK, a pass of our own
 * broke what it promises. Prints the message of err and ends the program, like assert. */
void berth_must(berth_status st, const berth_err *err);

/* Exit status of the program for a status (design: 0 done, 1 our fault, 2 usage, 3 infeasible, 4 bad input,
 * 5 I/O, 6 limit, 130 interrupted). */
int berth_exit_code(berth_status code);

/* Return from the calling function if call fails. */
#define BERTH_TRY(call)                          \
	do {                                     \
		berth_status try_status_ = (call); \
		if (try_status_ != BERTH_OK)     \
			return try_status_;      \
	} while (0)

#endif
