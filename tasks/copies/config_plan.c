/* See config_plan.h. */
#include "config_plan.h"

#include "sim.h"

/* Copies stand on devices of their own, so that one order after the other keeps the order on each. */
static void put_copy(const berth_copies *x, const berth_member *m, int32_t first, berth_config_plan *p)
{
	const berth_copy_price *price = &m->crew->price[m->batch];
	int32_t to[BERTH_MAX_DEVS];
	berth_copy_devs(x, m->host, to);
	for (int32_t op = 0; op < x->graph[m->batch].n_ops; op++) {
		p->op_dev[first + op] = to[price->op_dev[op]];
		p->op_order[first + op] = first + price->op_order[op];
	}
}

static berth_status unite(const berth_graph *graph, const berth_member *member, berth_arena *mem,
                          berth_arena *tmp, berth_config_plan *p, berth_err *err)
{
	berth_graph *all;
	if (p->n_copies == 1) {
		p->g = graph[member->batch];
		return BERTH_OK;
	}
	BERTH_TRY(BERTH_NEW(tmp, all, p->n_copies, err));
	for (int32_t k = 0; k < p->n_copies; k++)
		all[k] = graph[member[k].batch];
	return berth_graph_union(all, p->n_copies, mem, tmp, &p->g, NULL, err);
}

static berth_status simulate(const berth_copies *x, berth_arena *mem, berth_arena *tmp,
                             berth_config_plan *p, berth_err *err)
{
	berth_problem whole;
	berth_sim *sim;
	berth_sim_result r;
	BERTH_TRY(berth_problem_new(&p->g, x->c->s, mem, tmp, &whole, err));
	BERTH_TRY(berth_sim_new(&whole, mem, &sim, err));
	berth_sim_run(sim, p->op_dev, p->op_order, &r);
	p->latency_ns = r.latency_ns;
	return BERTH_OK;
}

static berth_status make(const berth_copies *x, const berth_configuration *c, const berth_graph *graph,
                         berth_arena *mem, berth_arena *tmp, berth_config_plan *p, berth_err *err)
{
	berth_member member[BERTH_MAX_DEVS];
	int32_t *batch;
	p->n_copies = berth_config_members(x, c, member);
	BERTH_TRY(BERTH_NEW(mem, batch, p->n_copies, err));
	BERTH_TRY(unite(graph, member, mem, tmp, p, err));
	BERTH_TRY(BERTH_NEW(mem, p->op_dev, p->g.n_ops, err));
	BERTH_TRY(BERTH_NEW(mem, p->op_order, p->g.n_ops, err));
	for (int32_t k = 0, first = 0; k < p->n_copies; k++) {
		batch[k] = member[k].batch;
		put_copy(x, &member[k], first, p);
		first += x->graph[member[k].batch].n_ops;
	}
	p->batch = batch;
	return simulate(x, mem, tmp, p, err);
}

berth_status berth_config_plan_new(const berth_copies *x, const berth_configuration *c,
                                   const berth_graph *graph, berth_arena *mem, berth_arena *tmp,
                                   berth_config_plan *out, berth_err *err)
{
	berth_config_plan p = {0};
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	berth_status st = make(x, c, graph, mem, tmp, &p, err);
	berth_arena_reset(tmp, mark);
	if (st == BERTH_OK)
		*out = p;
	return st;
}
