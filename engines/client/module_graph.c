/* See module_graph.h. */
#include "module_graph.h"

#include "engine_find.h"

#include <string.h>

static const double limit_s = 600;
static const size_t most = (size_t)1 << 30; /* bytes of an answer, as of a graph from a pipe */

/* The engine by a name that tells, where it dies, what it was reading. */
static berth_status find(const char *spec, berth_arena *mem, berth_engine_cfg *out, berth_err *err)
{
	const char *slash = strrchr(spec, '/');
	BERTH_TRY(berth_engine_find("torch", mem, out, err));
	out->name = berth_arena_printf(mem, "torch for %s", slash ? slash + 1 : spec);
	return out->name ? BERTH_OK : berth_nomem(err);
}

berth_status berth_module_graph_of(const char *spec, berth_arena *mem, const char **text, size_t *size,
                                   berth_err *err)
{
	berth_engine_cfg found = {0};
	BERTH_TRY(find(spec, mem, &found, err));
	const char *const argv[] = {found.argv[0], "graph", "--", spec, NULL};
	found.argv = argv;
	return berth_engine_line(&found, NULL, limit_s, most, mem, text, size, err);
}

berth_status berth_module_place_of(const char *spec, const char *asked, berth_arena *mem, const char **text,
                                   size_t *size, berth_err *err)
{
	berth_engine_cfg found = {0};
	BERTH_TRY(find(spec, mem, &found, err));
	const char *const argv[] = {found.argv[0], "place", "--", spec, NULL};
	found.argv = argv;
	return berth_engine_line(&found, asked, limit_s, most, mem, text, size, err);
}
