/* See compiled_instance.h. */
#include "compiled_instance.h"

#include "graph_format.h"
#include "instance.h"
#include "support.h"
#include "system_json.h"

#include <string.h>

void compiled_instance_make(compiled_instance *c, uint64_t seed)
{
	berth_err err;
	instance in;
	memset(c, 0, sizeof *c);
	instance_make(seed, 14, 5, &in);
	assert_ok(berth_graph_parse_json("g", in.graph, strlen(in.graph), &c->mem, &c->tmp, &c->g, &err),
	          &err);
	assert_ok(berth_system_parse_json("s", in.system, strlen(in.system), &c->mem, &c->tmp, &c->s, &err),
	          &err);
	assert_ok(berth_placement_parse_json("p", in.placement, strlen(in.placement), &c->g, &c->s, &c->mem,
	                                     &c->tmp, &c->placement, NULL, &err),
	          &err);
	assert_ok(berth_problem_new(&c->g, &c->s, &c->mem, &c->tmp, &c->p, &err), &err);
	assert_ok(berth_timeline_new(&c->p, c->placement.op_dev, c->placement.order, &c->mem, &c->t, &err),
	          &err);
	instance_free(&in);
}

void compiled_instance_free(compiled_instance *c)
{
	berth_arena_free(&c->mem);
	berth_arena_free(&c->tmp);
}

int compiled_instance_each(uint64_t n, int (*check)(compiled_instance *c, uint64_t seed))
{
	int sum = 0;
	for (uint64_t seed = 0; seed < n; seed++) {
		compiled_instance c;
		compiled_instance_make(&c, seed);
		if (c.t.r.runs && !c.placement.order && c.p.n_ops > 0)
			sum += check(&c, seed);
		compiled_instance_free(&c);
	}
	return sum;
}
