/* Where hwloc was not found at build: threads stay where the system puts them. */
#include "exec.h"

void bind_to(int32_t core)
{
	(void)core;
}
