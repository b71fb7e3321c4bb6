/* Helpers of all tests: assertions that also fail on NaN, an allocator that fails on demand, text of small
 * files. */
#ifndef BERTH_TEST_SUPPORT_H
#define BERTH_TEST_SUPPORT_H

#include "arena.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

/* Do times, and the memory of arenas, say something of the product? Not where sanitizers watch, nor without
 * optimisation. */
#if BERTH_DEBUG || !defined(__OPTIMIZE__)
enum { IS_TIMED = 0 };
#else
enum { IS_TIMED = 1 };
#endif

/* Passes only if |a - b| <= tol; NaN fails. */
#define assert_near(a, b, tol) support_near((a), (b), (tol), #a, __FILE__, __LINE__)
void support_near(double a, double b, double tol, const char *what, const char *file, int line);

/* Passes if the call is BERTH_OK; prints the message of err otherwise. */
#define assert_ok(call, err) support_ok((call), (err), __FILE__, __LINE__)
void support_ok(berth_status st, const berth_err *err, const char *file, int line);

/* Passes if text holds part; prints both otherwise. */
#define assert_contains(text, part) support_contains((text), (part), __FILE__, __LINE__)
void support_contains(const char *text, const char *part, const char *file, int line);

/* An allocator whose call number fail_at (0, 1, ...) fails, and every one after it; counts calls and blocks
 * not freed. */
typedef struct failing_allocator {
	berth_allocator hook;
	long fail_at, calls, live;
} failing_allocator;
void failing_allocator_init(failing_allocator *f, long fail_at);

/* An allocator that knows how many bytes are taken, and how many were at most. */
typedef struct metering_allocator {
	berth_allocator hook;
	size_t now, peak;
} metering_allocator;
void metering_allocator_init(metering_allocator *m);

#endif
