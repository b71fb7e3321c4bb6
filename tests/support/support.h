/* Helpers of all tests: assertions that also fail on NaN, an allocator that fails on demand, text of small
 * files. */
#pragma once

#include "arena.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

/* Do arenas take what they take in the product? With BERTH_DEBUG they keep guards. */
enum { BARE_ARENAS = !BERTH_DEBUG };

/* Passes only if |a - b| <= tol; NaN fails. */
#define assert_near(a, b, tol) support_near((a), (b), (tol), #a, __FILE__, __LINE__)
void support_near(double a, double b, double tol, const char *what, const char *file, int line);

/* Passes if the call is BERTH_OK; prints the message of err otherwise. */
#define assert_ok(call, err) support_ok((call), (err), __FILE__, __LINE__)
void support_ok(berth_status st, const berth_err *err, const char *file, int line);

/* Passes if text holds part; prints both otherwise. */
#define assert_contains(text, part) support_contains((text), (part), __FILE__, __LINE__)
void support_contains(const char *text, const char *part, const char *file, int line);

/* Passes if work is about linear in its size. work does it once and returns the CPU seconds of what is
 * tested. At 16 times the size it may take 64 times as long, where a square takes 256 times; a disturbed
 * comparison is made again, five times at most. */
typedef double sized_work(void *ctx, int size);
#define assert_linear(work, ctx, size, what) support_linear((work), (ctx), (size), (what), __FILE__, __LINE__)
void support_linear(sized_work *work, void *ctx, int size, const char *what, const char *file, int line);

/* How many instances of what a test goes through: all in the nightly tier (BERTH_NIGHTLY is set), else few,
 * and it says so. */
int support_sampled(int all, int few, const char *what);

/* Sanitized a test takes one in few of what there is, and says so; by night, and in other builds, all: 1. */
int support_one_in(int few, const char *what);

/* Whether only cases with threads are wanted (BERTH_THREADS_ONLY is set, and BERTH_NIGHTLY not); says so. */
bool support_threads_only(void);

/* Whether a case that is there for its answers is left to the builds without sanitizers (this one has them,
 * and BERTH_NIGHTLY is not set): its code runs in other cases, too. Says so. */
bool support_answers_left(void);

/* Loads the solver of linear programs, where it is installed. For programs that solve thousands, each in a
 * process of its own, which finds it loaded then. */
void support_load_solver(void);

/* Pages that this process has touched for the first time so far. */
long support_page_faults(void);

/* An allocator whose call number fail_at (0, 1, ...) fails, and every one after it unless once is set; counts
 * calls and blocks not freed. Arenas call it for each of their blocks. */
typedef struct failing_allocator {
	berth_allocator hook;
	long fail_at, calls, live;
	bool once;
} failing_allocator;
void failing_allocator_init(failing_allocator *f, long fail_at);

/* An allocator that knows how many bytes are taken, and how many were at most. */
typedef struct metering_allocator {
	berth_allocator hook;
	size_t now, peak;
} metering_allocator;
void metering_allocator_init(metering_allocator *m);
