/* Which processor a core belongs to. Times are those of one machine, and who keeps them has to know which. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* What the file (/proc/cpuinfo) calls the processor of a core, cut to name[size]. It is the "model name",
 * which a virtual machine may share with others, and numbers: family, model and stepping (x86);
 * implementer, variant, part and revision (ARM). On POWER it is "cpu". "" where the file says none, or is
 * not there. */
void cpu_model(const char *path, int32_t core, char *name, size_t size);
