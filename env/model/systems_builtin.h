/* The machines that come with berth: "system:NAME" wherever a system file can stand. */
#pragma once

#include "system.h"

/* One row per built-in machine. */
typedef struct berth_system_row {
	const char *name, *about;
} berth_system_row;

/* Static table of *n rows. */
const berth_system_row *berth_system_builtin_list(int32_t *n);

/* The built-in called name (without "system:"), read from its JSON text as any file is. mem and tmp as in
 * berth_system_parse_json. Fails: BERTH_EINVAL for an unknown name (names the nearest), BERTH_ENOMEM. */
berth_status berth_system_builtin(const char *name, berth_arena *mem, berth_arena *tmp, berth_system *out,
                                  berth_err *err);
