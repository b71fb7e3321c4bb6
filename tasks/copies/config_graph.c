/* A configuration as one graph: the copies, and the exchange as operators that take no time and tensors that
 * do; see configuration.h. Simulated, it waits for channels and for slower copies as they come. */
#include "configuration.h"

#include "eval.h"
#include "graph_union.h"
#include "power_peak.h"

#include <math.h>
#include <stdio.h>

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
	if (!own)
		return berth_nomem(m->err);
	BERTH_TRY(berth_builder_op(m->b, &(berth_op_spec){.name = own}, op, m->err));
	BERTH_TRY(berth_builder_time(m->b, *op, "*", 0, m->err));
	m->op_dev[m->n_ops] = dev;
	m->order[m->n_ops++] = *op;
	return BERTH_OK;
}

/* Each edge is a tensor of its own. */
static berth_status send(maker *m, int32_t from, int32_t to, int64_t bytes)
{
	return berth_builder_own_edge(m->b, from, to, bytes, m->err);
}

static berth_status add_copy(maker *m, int32_t k)
{
	const berth_member *x = &m->member[k];
	const berth_graph *g = &m->x->graph[x->batch];
	const berth_copy_price *price = &x->crew->price[x->batch];
	int32_t to[BERTH_MAX_DEVS];
	berth_copy_devs(m->x, x->host, to);
	const char *name = berth_arena_printf(m->tmp, "copy%d", k);
	if (!name)
		return berth_nomem(m->err);
	m->member_first[k] = m->n_ops;
	BERTH_TRY(berth_graph_restate(g, name, m->b, m->tmp, m->err));
	for (int32_t op = 0; op < g->n_ops; op++) {
		m->order[m->n_ops + op] = m->n_ops + price->op_order[op];
		m->op_dev[m->n_ops + op] = to[price->op_dev[op]];
	}
	m->n_ops += g->n_ops;
	return BERTH_OK;
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
			BERTH_TRY(send(m, own, *at, 0));
	}
	return BERTH_OK;
}

typedef struct part { /* gradients that wait on a device */
	int32_t at;
	int64_t bytes;
} part;

/* Those of the copies of one host, from member k on. Returns through *k the first of another one. */
static berth_status list_parts(maker *m, int32_t *k, part parts[BERTH_MAX_DEVS], int32_t *n)
{
	int32_t host = m->member[*k].host;
	for (*n = 0; *k < m->n && m->member[*k].host == host; ++*k) {
		const berth_crew *crew = m->member[*k].crew;
		for (int32_t i = 0; i < crew->n; i++) {
			parts[*n].bytes = crew->price[m->member[*k].batch].dev_grad_bytes[crew->place[i]];
			BERTH_TRY(when_done(m, *k, berth_copy_dev(m->x, host, crew->place[i]),
			                    &parts[(*n)++].at));
		}
	}
	return BERTH_OK;
}

/* The lead of each host gets the gradients of its copies. */
static berth_status gather(maker *m)
{
	part parts[BERTH_MAX_DEVS];
	int32_t n;
	for (int32_t h = 0; h < m->x->c->n_hosts; h++)
		m->host_at[h] = -1;
	for (int32_t k = 0; k < m->n;) {
		int32_t h = m->member[k].host;
		BERTH_TRY(list_parts(m, &k, parts, &n));
		BERTH_TRY(add_moment(m, m->x->c->host_lead[h], &m->host_at[h]));
		for (int32_t i = 0; i < n; i++)
			BERTH_TRY(send(m, parts[i].at, m->host_at[h], parts[i].bytes));
	}
	return BERTH_OK;
}

/* Sums from the leads to the copies' devices. */
static berth_status scatter(maker *m)
{
	for (int32_t k = 0; k < m->n; k++) {
		const berth_crew *crew = m->member[k].crew;
		for (int32_t i = 0; i < crew->n; i++) {
			int32_t at, dev = berth_copy_dev(m->x, m->member[k].host, crew->place[i]);
			BERTH_TRY(add_moment(m, dev, &at));
			BERTH_TRY(send(m, m->host_at[m->member[k].host], at,
			               crew->price[m->member[k].batch].dev_grad_bytes[crew->place[i]]));
		}
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

static berth_status go_round(maker *m)
{
	int32_t host[BERTH_MAX_DEVS], now[BERTH_MAX_DEVS], n = list_hosts(m, host);
	int64_t bytes = n ? (m->x->grad_bytes + n - 1) / n : 0;
	for (int32_t step = 0; n > 1 && step < 2 * (n - 1); step++) {
		for (int32_t i = 0; i < n; i++)
			BERTH_TRY(add_moment(m, m->x->c->host_lead[host[i]], &now[i]));
		for (int32_t i = 0; i < n; i++) {
			BERTH_TRY(send(m, m->host_at[host[i]], now[i], 0));
			BERTH_TRY(send(m, m->host_at[host[i]], now[(i + 1) % n], bytes));
		}
		for (int32_t i = 0; i < n; i++)
			m->host_at[host[i]] = now[i];
	}
	return BERTH_OK;
}

static berth_status serve(maker *m, int32_t server)
{
	int32_t host[BERTH_MAX_DEVS], n = list_hosts(m, host), all, at;
	BERTH_TRY(add_moment(m, m->x->c->host_lead[server], &all));
	for (int32_t i = 0; i < n; i++)
		BERTH_TRY(send(m, m->host_at[host[i]], all, host[i] == server ? 0 : m->x->grad_bytes));
	for (int32_t i = 0; i < n; i++) {
		BERTH_TRY(add_moment(m, m->x->c->host_lead[host[i]], &at));
		BERTH_TRY(send(m, all, at, host[i] == server ? 0 : m->x->grad_bytes));
		m->host_at[host[i]] = at;
	}
	return BERTH_OK;
}

/* ---- all of it ---- */

static berth_status alloc(maker *m, berth_err *err)
{
	int32_t hosts = m->x->c->n_hosts;
	int32_t most = hosts * (2 * hosts + 3) + 1;
	for (int32_t k = 0; k < m->n; k++)
		most += m->x->graph[m->member[k].batch].n_ops + 2 * m->member[k].crew->n;
	BERTH_TRY(BERTH_NEW(m->tmp, m->op_dev, most, err));
	BERTH_TRY(BERTH_NEW(m->tmp, m->order, most, err));
	BERTH_TRY(BERTH_NEW(m->tmp, m->member_first, m->n, err));
	BERTH_TRY(BERTH_NEW(m->tmp, m->host_at, hosts, err));
	return berth_builder_new(m->tmp, "configuration", &m->b, err);
}

static berth_status make(maker *m, const berth_exchange *how, berth_err *err)
{
	BERTH_TRY(alloc(m, err));
	for (int32_t k = 0; k < m->n; k++)
		BERTH_TRY(add_copy(m, k));
	if (m->n < 2)
		return BERTH_OK;
	BERTH_TRY(gather(m));
	BERTH_TRY(how->kind == BERTH_EXCHANGE_SERVER ? serve(m, how->server) : go_round(m));
	return scatter(m);
}

static void tell(const maker *m, const berth_problem *p, const berth_sim_result *r, double above_w,
                 berth_config_value *out)
{
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
	out->step_s = (double)r->latency_ns * 1e-9;
	out->energy_j = p->has_energy ? r->energy_j - off_w * out->step_s : NAN;
	out->power_w = out->energy_j / out->step_s;
	out->peak_w = idle_w + above_w;
}

static berth_status simulate(maker *m, berth_arena *tmp, berth_config_value *out, bool *runs, berth_err *err)
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
	tell(m, &p, &r, above_w, out);
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
		st = make(&m, how, err);
		if (st == BERTH_OK)
			st = simulate(&m, tmp, &v, runs, err);
	}
	berth_arena_reset(tmp, mark);
	berth_arena_reset(tmp2, mark2);
	if (st == BERTH_OK && *runs)
		*out = v;
	return st;
}
