/* When gradients are exchanged, transfer by transfer: each host's copies give theirs to its lead, then
 * leads exchange over a ring or a server, and the sums go back. */
#include "exchange.h"

const char *berth_exchange_name(berth_exchange_kind kind)
{
	static const char *const name[] = {"best", "ring", "server", "devices", "none"};
	return name[kind];
}

/* ---- transfers ---- */

/* When bytes that are ready on one device are on the other. */
static double send_bytes(berth_exchanger *e, int32_t from, int32_t to, double bytes, double ready_s,
                       double *energy_j)
{
	const berth_problem *p = &e->probe;
	const berth_cluster *c = e->x->c;
	const berth_system *s = c->s;
	if (from == to)
		return ready_s;
	int32_t route = p->class_pair_route[from * p->n_devs + to];
	BERTH_EACH (i, p->route_off, route) {
		int32_t l = p->route_link[i], channel = s->link_channel[l];
		double *free_s = &e->channel_free_s[channel];
		e->stuck |= !e->on[c->dev_host[s->link_to[l]]];
		*energy_j += bytes * s->link_joules_per_byte[l];
		if (s->contention && *free_s > ready_s)
			ready_s = *free_s;
		ready_s += berth_collective_hop_s(s, l, bytes);
		if (*free_s < 0)
			e->touched[e->n_touched++] = channel;
		*free_s = ready_s;
	}
	return ready_s;
}

/* order[n]: 0 .. n-1 by when each is ready. */
static void by_readiness(int32_t *order, const double *ready_s, int32_t n)
{
	for (int32_t i = 0; i < n; i++) {
		int32_t k = i;
		for (; k > 0 && ready_s[order[k - 1]] > ready_s[i]; k--)
			order[k] = order[k - 1];
		order[k] = i;
	}
}

/* ---- within hosts ---- */

/* A copy's devices send their gradients to the lead of its host, or get the sums from it. Returns when the
 * last of them has arrived. */
static double within_host(berth_exchanger *e, const berth_member *m, bool back, double ready_s,
                          double *energy_j)
{
	const berth_copy_price *price = &m->crew->price[m->batch];
	int32_t lead = e->x->c->host_lead[m->host];
	double last_s = ready_s;
	for (int32_t i = 0; i < m->crew->n; i++) {
		int32_t dev = berth_copy_dev(e->x, m->host, m->crew->place[i]);
		double bytes = (double)price->dev_grad_bytes[m->crew->place[i]];
		last_s = fmax(last_s,
		              send_bytes(e, back ? lead : dev, back ? dev : lead, bytes, ready_s, energy_j));
	}
	return last_s;
}

/* The lead of each host gets the gradients of its copies: ready_s. Returns the number of hosts, listed. */
static int32_t gather_gradients(berth_exchanger *e, const berth_member *member, int32_t n, int32_t host[],
                      double *energy_j)
{
	double *time_s = e->now_s;
	int32_t hosts = 0;
	for (int32_t k = 0; k < n; k++) {
		time_s[k] = (double)member[k].crew->price[member[k].batch].time_ns * 1e-9;
		if (k == 0 || member[k].host != member[k - 1].host)
			host[hosts++] = member[k].host;
		e->ready_s[member[k].host] = 0;
	}
	by_readiness(e->order, time_s, n);
	for (int32_t i = 0; i < n; i++) {
		const berth_member *m = &member[e->order[i]];
		double at = within_host(e, m, false, time_s[e->order[i]], energy_j);
		e->ready_s[m->host] = fmax(e->ready_s[m->host], at);
	}
	return hosts;
}

static double scatter_sums(berth_exchanger *e, const berth_member *member, int32_t n, double *energy_j)
{
	double last_s = 0;
	for (int32_t k = 0; k < n; k++)
		last_s = fmax(last_s, within_host(e, &member[k], true, e->ready_s[member[k].host], energy_j));
	return last_s;
}

/* ---- between hosts ---- */

/* 2 (R - 1) steps, in each of which each of the devices sends an R-th to the next one. at_s [n]: when each
 * has what it gives; then, when it has all sums. */
static void go_around(berth_exchanger *e, const int32_t dev[], double at_s[], int32_t n, double *energy_j)
{
	double part = ceil((double)e->x->grad_bytes / n);
	for (int32_t step = 0; step < 2 * (n - 1); step++) {
		BERTH_COPY(e->next_s, at_s, n);
		by_readiness(e->order, at_s, n);
		for (int32_t k = 0; k < n; k++) {
			int32_t i = e->order[k], to = (i + 1) % n;
			double at = send_bytes(e, dev[i], dev[to], part, at_s[i], energy_j);
			e->next_s[to] = fmax(e->next_s[to], at);
		}
		BERTH_COPY(at_s, e->next_s, n);
	}
}

/* Returns when the last device has all sums. */
static double go_around_devices(berth_exchanger *e, const berth_member *member, int32_t n, double *energy_j)
{
	int32_t dev[BERTH_MAX_DEVS] = {0};
	double last_s = 0;
	for (int32_t k = 0; k < n; k++) {
		dev[k] = berth_copy_dev(e->x, member[k].host, member[k].crew->place[0]);
		e->now_s[k] = (double)member[k].crew->price[member[k].batch].time_ns * 1e-9;
	}
	go_around(e, dev, e->now_s, n, energy_j);
	for (int32_t k = 0; k < n; k++)
		last_s = fmax(last_s, e->now_s[k]);
	return last_s;
}

/* One way to do it. */
static void try_one(berth_exchanger *e, const berth_member *member, int32_t n, berth_exchange_kind kind,
                    int32_t server, double slowest_s, berth_exchange *best)
{
	int32_t host[BERTH_MAX_DEVS];
	berth_exchange y = {.kind = kind, .server = server};
	for (int32_t i = 0; i < e->n_touched; i++)
		e->channel_free_s[e->touched[i]] = -1;
	e->n_touched = 0;
	e->stuck = false;
	if (kind == BERTH_EXCHANGE_DEVICES) {
		y.time_s = go_around_devices(e, member, n, &y.energy_j) - slowest_s;
	} else {
		int32_t hosts = gather_gradients(e, member, n, host, &y.energy_j);
		if (kind == BERTH_EXCHANGE_RING) {
			int32_t lead[BERTH_MAX_DEVS] = {0};
			for (int32_t i = 0; i < hosts; i++) {
				lead[i] = e->x->c->host_lead[host[i]];
				e->now_s[i] = e->ready_s[host[i]];
			}
			go_around(e, lead, e->now_s, hosts, &y.energy_j);
			for (int32_t i = 0; i < hosts; i++)
				e->ready_s[host[i]] = e->now_s[i];
		} else {
			const int32_t *lead = e->x->c->host_lead;
			double all_s = 0, bytes = (double)e->x->grad_bytes, *now_s = e->now_s;
			for (int32_t i = 0; i < hosts; i++)
				now_s[i] = e->ready_s[host[i]];
			by_readiness(e->order, now_s, hosts);
			for (int32_t k = 0; k < hosts; k++) {
				int32_t i = e->order[k];
				all_s = fmax(all_s, send_bytes(e, lead[host[i]], lead[server], bytes,
				                               now_s[i], &y.energy_j));
			}
			for (int32_t i = 0; i < hosts; i++)
				e->ready_s[host[i]] =
					send_bytes(e, lead[server], lead[host[i]], bytes, all_s, &y.energy_j);
		}
		y.time_s = scatter_sums(e, member, n, &y.energy_j) - slowest_s;
	}
	if (!e->stuck && y.time_s < best->time_s)
		*best = y;
}

static bool whole_on_devices(const berth_member *member, int32_t n)
{
	while (n > 0 && member[n - 1].crew->n == 1)
		n--;
	return n == 0;
}

bool berth_exchange_of(berth_exchanger *e, const berth_member *member, int32_t n, berth_exchange_kind kind,
                       berth_exchange *out)
{
	berth_exchange best = {.time_s = INFINITY};
	int64_t slowest_ns = 0;
	*out = (berth_exchange){.kind = BERTH_EXCHANGE_NONE, .server = -1};
	if (n < 2)
		return true;
	for (int32_t k = 0; k < n; k++) {
		int64_t t = member[k].crew->price[member[k].batch].time_ns;
		e->on[member[k].host] = true;
		slowest_ns = t > slowest_ns ? t : slowest_ns;
	}
	/* In one host there are no other hosts to go around: ring and server are the same. */
	double slowest_s = (double)slowest_ns * 1e-9;
	bool many = member[0].host != member[n - 1].host, any = kind == BERTH_EXCHANGE_BEST;
	if ((any && many) || kind == BERTH_EXCHANGE_RING)
		try_one(e, member, n, BERTH_EXCHANGE_RING, -1, slowest_s, &best);
	for (int32_t k = 0; k < n && (any || kind == BERTH_EXCHANGE_SERVER); k++)
		if (k == 0 || member[k].host != member[k - 1].host)
			try_one(e, member, n, BERTH_EXCHANGE_SERVER, member[k].host, slowest_s, &best);
	if (((any && e->collectives) || kind == BERTH_EXCHANGE_DEVICES) && whole_on_devices(member, n))
		try_one(e, member, n, BERTH_EXCHANGE_DEVICES, -1, slowest_s, &best);
	for (int32_t k = 0; k < n; k++)
		e->on[member[k].host] = false;
	*out = best;
	return best.time_s < INFINITY;
}

/* The slowest copy's gradients go along 2 (R - 1) steps of the ring, and over as many borders of hosts around
 * all devices; a server that is the slowest host has but to send them to R - 1 hosts, over the channels that
 * lead out of it. */
double berth_exchange_least_s(const berth_exchanger *e, int32_t n_hosts, berth_exchange_kind kind)
{
	double bytes = (double)e->x->grad_bytes, r = n_hosts;
	double ring_s = 2 * (r - 1) * (e->least_latency_s + bytes / r / e->most_bandwidth),
	       server_s = e->least_latency_s + bytes / e->most_bandwidth,
	       devices_s = 2 * (r - 1) *
	                   (e->least_latency_s + bytes / e->x->c->s->n_devs / e->most_bandwidth);
	if (e->x->c->s->contention && e->most_ways > 0)
		server_s *= ceil((r - 1) / e->most_ways);
	if (n_hosts < 2)
		return 0;
	return kind == BERTH_EXCHANGE_RING      ? ring_s
	       : kind == BERTH_EXCHANGE_SERVER  ? server_s
	       : kind == BERTH_EXCHANGE_DEVICES ? devices_s
	       : e->collectives                 ? fmin(devices_s, fmin(ring_s, server_s))
	                                        : fmin(ring_s, server_s);
}

/* ---- scratch ---- */

/* Channels of links that lead from the host to others. */
static int32_t count_ways(const berth_cluster *c, int32_t host)
{
	const berth_system *s = c->s;
	int32_t n = 0;
	for (int32_t l = 0; l < s->n_links; l++) {
		bool out = c->dev_host[s->link_from[l]] == host && c->dev_host[s->link_to[l]] != host;
		for (int32_t k = 0; k < l && out; k++)
			out = c->dev_host[s->link_from[k]] != host || c->dev_host[s->link_to[k]] == host ||
			      s->link_channel[k] != s->link_channel[l];
		n += out;
	}
	return n;
}

berth_status berth_exchanger_new(const berth_copies *x, berth_arena *mem, berth_arena *tmp,
                                 berth_exchanger *out, berth_err *err)
{
	const berth_cluster *c = x->c;
	berth_exchanger e = {.x = x, .least_latency_s = INFINITY};
	BERTH_TRY(berth_cluster_probe(c, x->grad_bytes, mem, tmp, &e.probe, err));
	BERTH_TRY_NEW(mem, c->n_hosts, err, e.on);
	BERTH_TRY_NEW(mem, c->s->n_channels, err, e.channel_free_s);
	for (int32_t i = 0; i < c->s->n_channels; i++)
		e.channel_free_s[i] = -1;
	BERTH_TRY_NEW(mem, c->s->n_channels, err, e.touched);
	e.collectives = berth_system_has_collectives(c->s);
	BERTH_TRY_NEW(mem, c->n_hosts, err, e.ready_s);
	BERTH_TRY_NEW(mem, c->s->n_devs, err, e.now_s, e.next_s, e.order);
	for (int32_t l = 0; l < c->s->n_links; l++)
		if (c->dev_host[c->s->link_from[l]] != c->dev_host[c->s->link_to[l]]) {
			double latency_s, bandwidth;
			berth_collective_figures(c->s, l, &latency_s, &bandwidth);
			e.least_latency_s = fmin(e.least_latency_s, latency_s);
			e.most_bandwidth = fmax(e.most_bandwidth, bandwidth);
		}
	for (int32_t h = 0; h < c->n_hosts; h++) {
		int32_t n = count_ways(c, h);
		e.most_ways = n > e.most_ways ? n : e.most_ways;
	}
	*out = e;
	return BERTH_OK;
}
