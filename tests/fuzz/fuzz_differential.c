/* Bytes as the draws of a random graph, system and placement, on which parts of the library are held against
 * each other (differential_checks.h). The first byte says which check and how large. */
#include "differential_checks.h"
#include "fuzz.h"
#include "instance.h"

#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	instance in;
	differential_case c;
	if (size < 2)
		return 0;
	const differential_check *check = &differential_checks[data[0] % differential_n_checks];
	instance_make_from(data + 1, size - 1, 3 + data[0] / 32, 2 + data[0] / 64, &in);
	bool is = differential_open(&c, in.graph, in.system, in.placement, size);
	const char *why = is ? check->run(&c) : NULL;
	if (why)
		fprintf(stderr, "%s: %s\n%s\n%s\n%s\n", check->name, why, in.graph, in.system, in.placement);
	must(is && !why);
	differential_close(&c);
	instance_free(&in);
	return 0;
}
