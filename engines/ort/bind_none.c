/* Stands in where hwloc was not found at build. Threads stay where the system puts them. */
#include "exec.h"

void bind_to(int32_t core)
{
	(void)core;
}
