/* The machines that come with berth: "system:NAME" wherever a system file can stand. */
#pragma once

#include "system.h"

/* One row per built-in machine. */
typedef struct berth_system_row {
	const char *name, *about;
	bool recipe; /* a file of docs/systems, as the page docs/systems.md shows it */
} berth_system_row;

/* The recipes: file, its system's name, what it is. Their texts are made by the build from the files. */
#define BERTH_RECIPES(X) \
	X(laptop, "laptop-m2", "a laptop: CPU and GPU of an Apple M2 on one memory") \
	X(workstation, "workstation", "a Ryzen 9 7950X, an RTX 4090 and an RTX 3060 on PCIe 4.0 x8") \
	X(edge_board, "edge_board", "a Jetson Orin Nano 8 GB: CPU and GPU on one memory") \
	X(three_servers, "three_servers", "three servers of a Xeon 4314 and an L4 on 10 GbE") \
	X(nvlink_box, "nvlink_box", "an EPYC 7742 and four A100 joined by NVLink")
#define BERTH_RECIPE_TEXT(file, name, about) \
	extern const unsigned char berth_recipe_##file[]; \
	extern const size_t berth_recipe_##file##_size;
BERTH_RECIPES(BERTH_RECIPE_TEXT)

/* Static table of *n rows. */
const berth_system_row *berth_system_builtin_list(int32_t *n);

/* The built-in called name (without "system:"), read from its JSON text as any file is. mem and tmp as in
 * berth_system_parse_json. Fails: BERTH_EINVAL for an unknown name (names the nearest), BERTH_ENOMEM. */
berth_status berth_system_builtin(const char *name, berth_arena *mem, berth_arena *tmp, berth_system *out,
                                  berth_err *err);
