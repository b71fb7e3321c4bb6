/* berth profile --system: the description of this machine. */
#pragma once

#include "engine.h"

typedef struct profile_system_args {
	const char *out;   /* NULL: what system:host stands for */
	cli_engine engine; /* name NULL: none */
	int32_t repeats;   /* samples of each transfer that an engine times */
	bool software;     /* devices that are software, too */
	cli_texts set;     /* NAME.KEY=VALUE */
} profile_system_args;

/* Describe it, write the system, and print what each figure comes from. Fails: BERTH_EINVAL (--set),
 * BERTH_EIO (no place for the file, no process, an engine), BERTH_EFORMAT (--strict), BERTH_ENOMEM. */
berth_status profile_system(cli *c, const profile_system_args *a, berth_err *err);
