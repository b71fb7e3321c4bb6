/* Helpers of all tests; see support.h. */
#include "support.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* The search for leaks ends in a fault where a library was loaded that keeps memory for each thread, unless
 * it leaves that out. */
const char *__lsan_default_options(void);

const char *__lsan_default_options(void)
{
	return "use_tls=0";
}

void support_load_solver(void)
{
	setenv("OPENBLAS_NUM_THREADS", "1", 1);
	dlopen("libClp.so.1", RTLD_LAZY);
	dlopen("libCbcSolver.so.3", RTLD_LAZY);
}

void support_near(double a, double b, double tol, const char *what, const char *file, int line)
{
	if (fabs(a - b) <= tol)
		return;
	print_error("%s is %.17g, expected %.17g within %g\n", what, a, b, tol);
	_fail(file, line);
}

void support_ok(berth_status st, const berth_err *err, const char *file, int line)
{
	if (st == BERTH_OK)
		return;
	print_error("status %d: %s\n", (int)st, err ? err->msg : "(no message)");
	_fail(file, line);
}

void support_contains(const char *text, const char *part, const char *file, int line)
{
	if (strstr(text, part))
		return;
	print_error("'%s' is not in: %s\n", part, text);
	_fail(file, line);
}

int support_sampled(int all, int few, const char *what)
{
	if (getenv("BERTH_NIGHTLY"))
		return all;
	print_message("sampled: %d of %d %s\n", few, all, what);
	return few;
}

int support_one_in(int few, const char *what)
{
	if (!BERTH_DEBUG || getenv("BERTH_NIGHTLY"))
		return 1;
	print_message("sampled: one in %d %s\n", few, what);
	return few;
}

bool support_threads_only(void)
{
	if (!getenv("BERTH_THREADS_ONLY") || getenv("BERTH_NIGHTLY"))
		return false;
	print_message("cases of one thread are left to the other builds\n");
	return true;
}

bool support_answers_left(void)
{
	if (!BERTH_DEBUG || getenv("BERTH_NIGHTLY"))
		return false;
	print_message("sampled: answers are left to the builds without sanitizers\n");
	return true;
}

void support_linear(sized_work *work, void *ctx, int size, const char *what, const char *file, int line)
{
	double small = INFINITY, large = INFINITY;
	for (int tries = 0; tries < 5; tries++) {
		small = fmin(small, work(ctx, size / 16));
		large = fmin(large, work(ctx, size));
		if (large <= 64 * small)
			return;
	}
	print_error("%s: %g s, and %g s at 16 times the size\n", what, small, large);
	_fail(file, line);
}

long support_page_faults(void)
{
	struct rusage r;
	getrusage(RUSAGE_SELF, &r);
	return r.ru_minflt + r.ru_majflt;
}

static void *failing_alloc(void *ctx, size_t size)
{
	failing_allocator *f = ctx;
	long call = f->calls++;
	if (call == f->fail_at || (call > f->fail_at && !f->once))
		return NULL;
	f->live++;
	return malloc(size);
}

static void failing_free(void *ctx, void *p)
{
	failing_allocator *f = ctx;
	f->live--;
	free(p);
}

void failing_allocator_init(failing_allocator *f, long fail_at)
{
	*f = (failing_allocator){{failing_alloc, failing_free, f, true}, fail_at, 0, 0, false};
}

enum { BEFORE = 64 }; /* bytes that keep the size, and the alignment */

static void *metering_alloc(void *ctx, size_t size)
{
	metering_allocator *m = ctx;
	size_t *p = malloc(size + BEFORE);
	if (!p)
		return NULL;
	*p = size;
	m->now += size;
	m->peak = m->now > m->peak ? m->now : m->peak;
	return (char *)p + BEFORE;
}

static void metering_free(void *ctx, void *p)
{
	metering_allocator *m = ctx;
	size_t *start = (size_t *)(void *)((char *)p - BEFORE);
	m->now -= *start;
	free(start);
}

void metering_allocator_init(metering_allocator *m)
{
	*m = (metering_allocator){{metering_alloc, metering_free, m, false}, 0, 0};
}
