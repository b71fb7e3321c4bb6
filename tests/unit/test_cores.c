/* The cores of this process: as many as it may use, also where taskset leaves it one. With an argument:
 * prints how many there are. */
#include "cores.h"
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *self;

static void test_list(void **state)
{
	(void)state;
	int32_t core[BERTH_MAX_CORES], first = -1;
	int32_t n = berth_cores(core, BERTH_MAX_CORES);
	assert_true(n >= 1 && n <= sysconf(_SC_NPROCESSORS_ONLN));
	for (int32_t i = 1; i < n; i++)
		assert_true(core[i] > core[i - 1]);
	assert_int_equal(berth_cores(core, 0), 0);
	assert_int_equal(berth_cores(&first, 1), 1);
	assert_int_equal(first, core[0]);
}

static int32_t count_on(int32_t core)
{
	char command[1200];
	int n = -1;
	snprintf(command, sizeof command, "taskset -c %d '%s' count", (int)core, self);
	FILE *f = popen(command, "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%d", &n), 1);
	assert_int_equal(pclose(f), 0);
	return n;
}

static void test_fewer(void **state)
{
	(void)state;
	int32_t core[BERTH_MAX_CORES], n = berth_cores(core, BERTH_MAX_CORES);
	if (n < 2 || system("taskset -V >/dev/null 2>&1") != 0) {
		printf("skipped: taskset and two cores are needed\n");
		skip();
	}
	assert_int_equal(count_on(core[0]), 1);
	assert_int_equal(count_on(core[n - 1]), 1);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_list), cmocka_unit_test(test_fewer)};
	int32_t core[BERTH_MAX_CORES];
	if (argc > 1)
		return printf("%d\n", (int)berth_cores(core, BERTH_MAX_CORES)) < 0;
	self = argv[0];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
