/* The processor's name out of /proc/cpuinfo of several kinds of machines. */
#include "cpu_model.h"
#include "support.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define X86(n, model)                                                                                        \
	"processor\t: " #n "\nvendor_id\t: Maker\ncpu family\t: 6\nmodel\t\t: 85\nmodel name\t: " model      \
	"\nstepping\t: 7\nflags\t\t: fpu vme\n\n"
#define ARM(n, part)                                                                                         \
	"processor\t: " #n "\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU "         \
	                   "variant\t: 0x3\nCPU part\t: " part "\nCPU revision\t: 1\n\n"

static void test_names(void **state)
{
	(void)state;
	static const struct { const char *text; int32_t core; const char *name; } cases[] = {
		{X86(0, "Quick 1000 @ 2.50GHz") X86(1, "Quick 1000 @ 2.50GHz"), 1,
		 "Quick 1000 @ 2.50GHz 6/85/7"},
		{X86(0, "Large") X86(1, "Small") X86(10, "Other"), 1, "Small 6/85/7"}, /* unlike cores */
		{X86(0, "Large") X86(10, "Other"), 10, "Other 6/85/7"},
		{X86(0, "Large"), 3, ""},
		{ARM(0, "0xd0c") ARM(1, "0xd05"), 1, "0x41/0x3/0xd05/1"},
		{"processor\t: 0\ncpu\t\t: POWER9, altivec supported\nclock\t\t: 3000MHz\n", 0,
		 "POWER9, altivec supported"},
		{"processor", 0, ""},
		{"", 0, ""},
	};
	char path[64], name[64];
	snprintf(path, sizeof path, "/tmp/berth-cpuinfo-%ld", (long)getpid());
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		FILE *f = fopen(path, "w");
		assert_non_null(f);
		fputs(cases[i].text, f);
		fclose(f);
		cpu_model(path, cases[i].core, name, sizeof name);
		assert_string_equal(name, cases[i].name);
		cpu_model(path, cases[i].core, name, 6);
		assert_true(strncmp(name, cases[i].name, 5) == 0 && strlen(name) <= 5);
	}
	unlink(path);
	cpu_model("/nowhere/cpuinfo", 0, name, sizeof name);
	assert_string_equal(name, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_names)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
