/* The tests of several files in one program, so that one link makes them all: PROGRAM NAME runs those of
 * NAME.c. The build names each file's main after the file and lists the names in unit_tests.h. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEST(name) int name(void);
#include "unit_tests.h"
#undef TEST

#define TEST(name) {#name, name},
static const struct {
	const char *name;
	int (*run)(void);
} tests[] = {
#include "unit_tests.h"
};

/* The search for leaks ends in a fault where a library was loaded that keeps memory for each thread, unless
 * it leaves that out. */
const char *__lsan_default_options(void);

const char *__lsan_default_options(void)
{
	return "use_tls=0";
}

/* Tests solve thousands of linear programs, each in a process of its own, which finds the solver loaded.
 * Where it is not installed there is nothing to load. */
static void load_solver(void)
{
	setenv("OPENBLAS_NUM_THREADS", "1", 1);
	dlopen("libClp.so.1", RTLD_LAZY);
	dlopen("libCbcSolver.so.3", RTLD_LAZY);
}

int main(int argc, char **argv)
{
	load_solver();
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
		if (argc == 2 && strcmp(argv[1], tests[i].name) == 0)
			return tests[i].run();
	fprintf(stderr, "usage: %s NAME, one of", argv[0]);
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
		fprintf(stderr, " %s", tests[i].name);
	fprintf(stderr, "\n");
	return 2;
}
