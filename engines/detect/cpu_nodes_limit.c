/* The memory that a container may use, by Linux's control groups (cgroups(7)): version 2, else 1. */
#include "cpu_nodes.h"

#include <stdio.h>

/* The number in a file; 0: there is none ("max", or no file). */
static int64_t read_limit(const char *sysfs, const char *file)
{
	char path[512];
	long long bytes = 0;
	snprintf(path, sizeof path, "%s/fs/cgroup/%s", sysfs, file);
	FILE *f = fopen(path, "r");
	if (f && fscanf(f, "%lld", &bytes) != 1)
		bytes = 0;
	if (f)
		fclose(f);
	return bytes;
}

void berth_cpu_nodes_limit(berth_cpu_nodes *nodes, const char *sysfs)
{
	berth_cpu_node *node = &nodes->node[0];
	int64_t limit = read_limit(sysfs, "memory.max");
	if (limit <= 0)
		limit = read_limit(sysfs, "memory/memory.limit_in_bytes");
	if (nodes->n != 1 || limit <= 0 || (node->memory_bytes > 0 && limit >= node->memory_bytes))
		return;
	if (node->memory_bytes == 0 && limit > (int64_t)1 << 50) /* version 1 writes "none" as a great number
	                                                          */
		return;
	node->memory_bytes = limit;
	node->limited = true;
}
