/* The tests of several files in one program, so that one link makes them all: PROGRAM NAME runs those of
 * NAME.c. The build names each file's main after the file and lists the names in unit_tests.h. */
#include "support.h"

#include <stdio.h>
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

int main(int argc, char **argv)
{
	support_load_solver();
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
		if (argc == 2 && strcmp(argv[1], tests[i].name) == 0)
			return tests[i].run();
	fprintf(stderr, "usage: %s NAME, one of", argv[0]);
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
		fprintf(stderr, " %s", tests[i].name);
	fprintf(stderr, "\n");
	return 2;
}
