/* What a configuration is worth by formulas; by a simulation of all of it as one graph, in which the exchange
 * is operators that take no time and tensors that do, so that it waits for channels and for slower copies as
 * they come; and its copies as a plan. */
#include "configuration.h"

/* ---- by formulas ---- */

const berth_goal_row berth_goals[BERTH_N_GOALS] = {
	[BERTH_GOAL_TIME] = {"time", "s/sample", false},  [BERTH_GOAL_POWER] = {"power", "W", true},
	[BERTH_GOAL_PEAK] = {"peak-power", "W", true},    [BERTH_GOAL_ENERGY] = {"energy", "J/sample", true},
	[BERTH_GOAL_EDP] = {"edp", "J s/sample^2", true},
};

berth_status berth_goal_parse(const char *name, berth_goal *out, berth_err *err)
{
	const char *names[BERTH_N_GOALS];
	int32_t at;
	for (int g = 0; g < BERTH_N_GOALS; g++)
		names[g] = berth_goals[g].name;
	BERTH_TRY(berth_text_find(names, BERTH_N_GOALS, name, "goal",
	                          "; expected time, power, peak-power, energy or edp", &at, err));
	*out = (berth_goal)at;
	return BERTH_OK;
}

double berth_goal_value(berth_goal goal, const berth_config_value *v)
{
	double n = (double)v->samples, values[BERTH_N_GOALS] = {
					       [BERTH_GOAL_TIME] = v->step_s / n,
					       [BERTH_GOAL_POWER] = v->power_w,
					       [BERTH_GOAL_PEAK] = v->peak_w,
					       [BERTH_GOAL_ENERGY] = v->energy_j / n,
					       [BERTH_GOAL_EDP] = v->energy_j * v->step_s / (n * n),
				       };
	return values[goal];
}

int32_t berth_config_members(const berth_copies *x, const berth_configuration *c, berth_member *member)
{
	int32_t n = 0;
	for (int32_t h = 0; h < x->c->n_hosts; h++) {
		const berth_layout *layout;
		if (c->host_layout[h] < 0)
			continue;
		layout = &x->host[h]->layout[c->host_layout[h]];
		for (int32_t i = 0; i < layout->n; i++) {
			const berth_crew *crew = &x->host[h]->crew[layout->crew[i]];
			int32_t b = berth_copy_batch(x, crew, c->deadline_ns);
			if (b < 0)
				return 0;
			member[n++] = (berth_member){h, crew, b};
		}
	}
	return n;
}

bool berth_config_predict(berth_exchanger *e, const berth_configuration *c, berth_exchange_kind kind,
                          berth_member *member, berth_config_value *out)
{
	const berth_copies *x = e->x;
	berth_config_value v = {.n_copies = berth_config_members(x, c, member)};
	double idle_w = 0, active_j = 0;
	int64_t slowest_ns = 0;
	for (int32_t k = 0; k < v.n_copies; k++) {
		const berth_copy_price *price = &member[k].crew->price[member[k].batch];
		v.samples += x->batch[member[k].batch];
		slowest_ns = price->time_ns > slowest_ns ? price->time_ns : slowest_ns;
		active_j += price->active_j;
		v.peak_w += price->peak_w;
		if (k == 0 || member[k].host != member[k - 1].host)
			idle_w += x->c->host_idle_w[member[k].host];
	}
	if (!v.n_copies || !berth_exchange_of(e, member, v.n_copies, kind, &v.exchange))
		return false;
	v.step_s = (double)slowest_ns * 1e-9 + v.exchange.time_s;
	v.energy_j = active_j + v.exchange.energy_j + idle_w * v.step_s;
	v.power_w = v.energy_j / v.step_s;
	v.peak_w += idle_w;
	*out = v;
	return v.step_s > 0;
}

/* ---- as one graph ---- */

typedef struct maker {
	const berth_copies *x;
	berth_member *member; /* [n] */
	int32_t n;
	berth_builder *b;
	int32_t *op_dev; /* [n_ops] */
	int32_t *order;  /* [n_ops] */
	int32_t n_ops;
	int32_t *member_first; /* [n] its operators' first */
	int32_t *host_at;      /* [n_hosts] the operator of its lead that has what the host has; -1: off */
	berth_arena *tmp;
	berth_err *err;
} maker;

/* ---- operators ---- */

/* One that takes no time, on a device. */
static berth_status add_moment(maker *m, int32_t dev, int32_t *op)
{
	char name[32];
	snprintf(name, sizeof name, "exchange/%d", m->n_ops);
	const char *own = berth_arena_strdup(m->tmp, name);
	BERTH_TRY(berth_got(own, m->err));
	BERTH_TRY(berth_builder_op(m->b, &(berth_op_spec){.name = own, .type = "AllReduce"}, op, m->err));
	BERTH_TRY(berth_builder_time(m->b, *op, "*", 0, m->err));
	m->op_dev[m->n_ops] = dev;
	m->order[m->n_ops++] = *op;
	return BERTH_OK;
}

/* Each edge is a tensor of its own. */
static berth_status add_edge(maker *m, int32_t from, int32_t to, int64_t bytes)
{
	return berth_builder_own_edge(m->b, from, to, bytes, m->err);
}

/* Where the operators of a copy stand, from the first on, and their order. Copies stand on devices of their
 * own, so that one order after the other keeps the order on each. */
static void put_copy(const berth_copies *x, const berth_member *m, int32_t first, int32_t *op_dev,
                     int32_t *op_order)
{
	const berth_copy_price *price = &m->crew->price[m->batch];
	int32_t to[BERTH_MAX_DEVS];
	berth_copy_devs(x, m->host, to);
	for (int32_t op = 0; op < x->graph[m->batch].n_ops; op++) {
		op_dev[first + op] = to[price->op_dev[op]];
		op_order[first + op] = first + price->op_order[op];
	}
}

/* ---- the exchange ---- */

/* A moment on dev when all of the copy that is there is done. */
static berth_status when_done(maker *m, int32_t k, int32_t dev, int32_t *at)
{
	const berth_graph *g = &m->x->graph[m->member[k].batch];
	BERTH_TRY(add_moment(m, dev, at));
	for (int32_t op = 0; op < g->n_ops; op++) {
		int32_t own = m->member_first[k] + op;
		if (m->op_dev[own] == dev && g->op_tensor_off[op] == g->op_tensor_off[op + 1])
			BERTH_TRY(add_edge(m, own, *at, 0));
	}
	return BERTH_OK;
}

typedef struct part { /* gradients that wait on a device */
	int32_t at;
	int64_t bytes;
} part;

/* The lead of each host gets the gradients of its copies. */
static berth_status gather_gradients(maker *m)
{
	part parts[BERTH_MAX_DEVS];
	int32_t n;
	for (int32_t h = 0; h < m->x->c->n_hosts; h++)
		m->host_at[h] = -1;
	for (int32_t k = 0; k < m->n;) {
		int32_t h = m->member[k].host;
		/* Those of the copies of one host, from member k on. Returns through k the first of another
		 * one. */
		int32_t host = m->member[k].host;
		for (n = 0; k < m->n && m->member[k].host == host; ++k) {
			const berth_crew *crew = m->member[k].crew;
			for (int32_t i = 0; i < crew->n; i++) {
				parts[n].bytes =
					crew->price[m->member[k].batch].dev_grad_bytes[crew->place[i]];
				BERTH_TRY(when_done(m, k, berth_copy_dev(m->x, host, crew->place[i]),
				                    &parts[n++].at));
			}
		}
		BERTH_TRY(add_moment(m, m->x->c->host_lead[h], &m->host_at[h]));
		for (int32_t i = 0; i < n; i++)
			BERTH_TRY(add_edge(m, parts[i].at, m->host_at[h], parts[i].bytes));
	}
	return BERTH_OK;
}

/* Hosts that take part, in their order. */
static int32_t list_hosts(const maker *m, int32_t *host)
{
	int32_t n = 0;
	for (int32_t h = 0; h < m->x->c->n_hosts; h++)
		if (m->host_at[h] >= 0)
			host[n++] = h;
	return n;
}

/* at [n]: the moments when the devices have what they give; when they have the sums. */
static berth_status go_around(maker *m, const int32_t dev[], int32_t at[], int32_t n)
{
	int32_t now[BERTH_MAX_DEVS];
	int64_t bytes = n ? (m->x->grad_bytes + n - 1) / n : 0;
	for (int32_t step = 0; n > 1 && step < 2 * (n - 1); step++) {
		for (int32_t i = 0; i < n; i++)
			BERTH_TRY(add_moment(m, dev[i], &now[i]));
		for (int32_t i = 0; i < n; i++) {
			BERTH_TRY(add_edge(m, at[i], now[i], 0));
			BERTH_TRY(add_edge(m, at[i], now[(i + 1) % n], bytes));
		}
		BERTH_COPY(at, now, n);
	}
	return BERTH_OK;
}

static berth_status add_ring(maker *m)
{
	int32_t host[BERTH_MAX_DEVS], dev[BERTH_MAX_DEVS] = {0}, at[BERTH_MAX_DEVS],
		n = list_hosts(m, host);
	for (int32_t i = 0; i < n; i++) {
		dev[i] = m->x->c->host_lead[host[i]];
		at[i] = m->host_at[host[i]];
	}
	BERTH_TRY(go_around(m, dev, at, n));
	for (int32_t i = 0; i < n; i++)
		m->host_at[host[i]] = at[i];
	return BERTH_OK;
}

static berth_status add_ring_of_devices(maker *m)
{
	int32_t dev[BERTH_MAX_DEVS] = {0}, at[BERTH_MAX_DEVS];
	for (int32_t k = 0; k < m->n; k++) {
		dev[k] = berth_copy_dev(m->x, m->member[k].host, m->member[k].crew->place[0]);
		BERTH_TRY(when_done(m, k, dev[k], &at[k]));
	}
	return go_around(m, dev, at, m->n);
}

static berth_status add_server(maker *m, int32_t server)
{
	int32_t host[BERTH_MAX_DEVS], n = list_hosts(m, host), all, at;
	BERTH_TRY(add_moment(m, m->x->c->host_lead[server], &all));
	for (int32_t i = 0; i < n; i++)
		BERTH_TRY(add_edge(m, m->host_at[host[i]], all, host[i] == server ? 0 : m->x->grad_bytes));
	for (int32_t i = 0; i < n; i++) {
		BERTH_TRY(add_moment(m, m->x->c->host_lead[host[i]], &at));
		BERTH_TRY(add_edge(m, all, at, host[i] == server ? 0 : m->x->grad_bytes));
		m->host_at[host[i]] = at;
	}
	return BERTH_OK;
}

/* ---- all of it ---- */

static berth_status make_graph(maker *m, const berth_exchange *how, berth_err *err)
{
	int32_t hosts = m->x->c->n_hosts;
	int32_t most = hosts * (2 * hosts + 3) + 1 + 2 * m->n * m->n;
	for (int32_t k = 0; k < m->n; k++)
		most += m->x->graph[m->member[k].batch].n_ops + 2 * m->member[k].crew->n;
	BERTH_TRY_NEW(m->tmp, most, err, m->op_dev, m->order);
	BERTH_TRY_NEW(m->tmp, m->n, err, m->member_first);
	BERTH_TRY_NEW(m->tmp, hosts, err, m->host_at);
	BERTH_TRY(berth_builder_new(m->tmp, "configuration", &m->b, err));
	for (int32_t k = 0; k < m->n; k++) {
		const berth_graph *g = &m->x->graph[m->member[k].batch];
		const char *name = berth_arena_printf(m->tmp, "copy%d", k);
		BERTH_TRY(berth_got(name, m->err));
		m->member_first[k] = m->n_ops;
		BERTH_TRY(berth_graph_restate(g, name, m->b, m->tmp, m->err));
		put_copy(m->x, &m->member[k], m->n_ops, m->op_dev, m->order);
		m->n_ops += g->n_ops;
	}
	if (m->n < 2)
		return BERTH_OK;
	if (how->kind == BERTH_EXCHANGE_DEVICES)
		return add_ring_of_devices(m);
	BERTH_TRY(gather_gradients(m));
	BERTH_TRY(how->kind == BERTH_EXCHANGE_SERVER ? add_server(m, how->server) : add_ring(m));
	/* Sums from the leads to the copies' devices. */
	for (int32_t k = 0; k < m->n; k++) {
		const berth_crew *crew = m->member[k].crew;
		for (int32_t i = 0; i < crew->n; i++) {
			int32_t at, dev = berth_copy_dev(m->x, m->member[k].host, crew->place[i]);
			BERTH_TRY(add_moment(m, dev, &at));
			BERTH_TRY(add_edge(m, m->host_at[m->member[k].host], at,
			               crew->price[m->member[k].batch].dev_grad_bytes[crew->place[i]]));
		}
	}
	return BERTH_OK;
}

static berth_status simulate_graph(maker *m, berth_arena *tmp, berth_config_value *out, bool *runs,
                                   berth_err *err)
{
	const berth_objective latency = berth_objective_of(BERTH_LATENCY);
	berth_graph g;
	berth_problem p;
	berth_eval e;
	berth_sim_result r;
	double above_w;
	BERTH_TRY(berth_builder_finish(m->b, tmp, &g, err));
	BERTH_TRY(berth_problem_new(&g, m->x->c->s, tmp, m->tmp, &p, err));
	BERTH_TRY(berth_eval_new(&p, &latency, tmp, &e, err));
	*runs = !(berth_eval_result(&e, m->op_dev, m->order, &r) > 0) && r.latency_ns > 0;
	if (!*runs)
		return BERTH_OK;
	BERTH_TRY(berth_peak_watts(&p, e.sim, m->op_dev, m->tmp, &above_w, err));
	const berth_cluster *c = m->x->c;
	double idle_w = 0, off_w = 0;
	for (int32_t h = 0; h < c->n_hosts; h++) {
		bool on = false;
		for (int32_t k = 0; k < m->n; k++)
			on |= m->member[k].host == h;
		*(on ? &idle_w : &off_w) += c->host_idle_w[h];
	}
	out->n_copies = m->n;
	for (int32_t k = 0; k < m->n; k++)
		out->samples += m->x->batch[m->member[k].batch];
	out->step_s = (double)r.latency_ns * 1e-9;
	out->energy_j = p.has_energy ? r.energy_j - off_w * out->step_s : NAN;
	out->power_w = out->energy_j / out->step_s;
	out->peak_w = idle_w + above_w;
	return BERTH_OK;
}

berth_status berth_config_simulate(const berth_copies *x, const berth_configuration *c,
                                   const berth_exchange *how, berth_arena *tmp, berth_arena *tmp2,
                                   berth_config_value *out, bool *runs, berth_err *err)
{
	maker m = {.x = x, .tmp = tmp2, .err = err};
	berth_config_value v = {.exchange = *how};
	berth_arena_mark mark = berth_arena_get_mark(tmp), mark2 = berth_arena_get_mark(tmp2);
	berth_status st = BERTH_NEW(tmp2, m.member, x->c->s->n_devs, err);
	*runs = false;
	if (st == BERTH_OK)
		m.n = berth_config_members(x, c, m.member);
	if (st == BERTH_OK && m.n) {
		st = make_graph(&m, how, err);
		if (st == BERTH_OK)
			st = simulate_graph(&m, tmp, &v, runs, err);
	}
	berth_arena_reset(tmp, mark);
	berth_arena_reset(tmp2, mark2);
	if (st == BERTH_OK && *runs)
		*out = v;
	return st;
}

/* ---- as a plan ---- */

static berth_status unite_copies(const berth_graph *graph, const berth_member *member, berth_arena *mem,
                          berth_arena *tmp, berth_config_plan *p, berth_err *err)
{
	berth_graph *all;
	if (p->n_copies == 1) {
		p->g = graph[member->batch];
		return BERTH_OK;
	}
	BERTH_TRY_NEW(tmp, p->n_copies, err, all);
	for (int32_t k = 0; k < p->n_copies; k++)
		all[k] = graph[member[k].batch];
	return berth_graph_union(all, p->n_copies, mem, tmp, &p->g, NULL, err);
}

static berth_status make_plan(const berth_copies *x, const berth_configuration *c, const berth_graph *graph,
                         berth_arena *mem, berth_arena *tmp, berth_config_plan *p, berth_err *err)
{
	berth_member member[BERTH_MAX_DEVS];
	int32_t *batch;
	p->n_copies = berth_config_members(x, c, member);
	BERTH_TRY_NEW(mem, p->n_copies, err, batch);
	BERTH_TRY(unite_copies(graph, member, mem, tmp, p, err));
	BERTH_TRY_NEW(mem, p->g.n_ops, err, p->op_dev, p->op_order);
	for (int32_t k = 0, first = 0; k < p->n_copies; k++) {
		batch[k] = member[k].batch;
		put_copy(x, &member[k], first, p->op_dev, p->op_order);
		first += x->graph[member[k].batch].n_ops;
	}
	p->batch = batch;
	berth_problem whole;
	berth_sim *sim;
	berth_sim_result r;
	BERTH_TRY(berth_problem_new(&p->g, x->c->s, mem, tmp, &whole, err));
	BERTH_TRY(berth_sim_new(&whole, mem, &sim, err));
	berth_sim_run(sim, p->op_dev, p->op_order, &r);
	p->latency_ns = r.latency_ns;
	return BERTH_OK;
}

berth_status berth_config_plan_new(const berth_copies *x, const berth_configuration *c,
                                   const berth_graph *graph, berth_arena *mem, berth_arena *tmp,
                                   berth_config_plan *out, berth_err *err)
{
	berth_config_plan p = {0};
	BERTH_SCRATCH(tmp);
	BERTH_TRY(make_plan(x, c, graph, mem, tmp, &p, err));
	*out = p;
	return BERTH_OK;
}
