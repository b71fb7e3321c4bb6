/* See small_problem.h. */
#include "small_problem.h"

#include "graph_format.h"
#include "support.h"
#include "system_json.h"
#include "systems_builtin.h"
#include "zoo.h"

#include <string.h>

void read_both(const char *graph, const char *system, berth_arena *mem, berth_arena *tmp, berth_graph *g,
               berth_system *s)
{
	berth_err err;
	assert_ok(berth_graph_parse_json("graph", graph, strlen(graph), mem, tmp, g, &err), &err);
	assert_ok(berth_graph_check(g, &err), &err);
	assert_ok(berth_system_parse_json("system", system, strlen(system), mem, tmp, s, &err), &err);
}

void small_problem_make(small_problem *w, const char *graph, const char *system)
{
	berth_err err;
	memset(w, 0, sizeof *w);
	read_both(graph, system, &w->mem, &w->tmp, &w->g, &w->s);
	size_t used = berth_arena_get_mark(&w->tmp).used;
	assert_ok(berth_problem_new(&w->g, &w->s, &w->mem, &w->tmp, &w->p, &err), &err);
	assert_int_equal(berth_arena_get_mark(&w->tmp).used, used);
}

void small_problem_build(small_problem *w, const char *graph, const char *system)
{
	berth_err err;
	*w = (small_problem){0};
	assert_ok(berth_zoo_build(graph, &w->mem, &w->tmp, &w->g, &err), &err);
	assert_ok(berth_system_builtin(system, &w->mem, &w->tmp, &w->s, &err), &err);
	assert_ok(berth_problem_new(&w->g, &w->s, &w->mem, &w->tmp, &w->p, &err), &err);
}

void small_problem_free(small_problem *w)
{
	berth_arena_free(&w->mem);
	berth_arena_free(&w->tmp);
}
