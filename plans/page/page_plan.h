/* A simulated placement for a page: what ran when on which device, transfers, memory, the graph. */
#pragma once

#include "json.h"
#include "timeline.h"

enum {
	BERTH_PAGE_OPS = 5000,  /* operators that are shown one by one: the longest */
	BERTH_PAGE_HOPS = 5000, /* transfers: the longest */
	BERTH_PAGE_STEPS = 2000 /* changes of memory on one device; fewer on systems of many devices */
};

/* "plan": {...}, see docs/formats.md. t->r.runs must hold. What is left out of a large plan is said in it.
 * mem holds what w borrows, tmp is scratch, another arena, reset at exit. Fails: BERTH_ENOMEM. One
 * simulation, and O((ops + hops) log). */
berth_status berth_page_put_plan(berth_json_out *w, const berth_problem *p, const berth_timeline *t,
                                 berth_arena *mem, berth_arena *tmp, berth_err *err);
