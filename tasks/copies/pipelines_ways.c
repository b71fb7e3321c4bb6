/* What messages take between devices of a training step, by their kinds: in the whole cluster, and in each
 * host alone. */
#include "pipelines.h"

static void take_slower(berth_train_hop *h, double latency_s, double byte_s)
{
	h->latency_s = fmax(h->latency_s, latency_s);
	h->byte_s = fmax(h->byte_s, byte_s);
}

/* Does the way lead over a host without devices of either kind that would have to be on, and paid? */
static bool needs_others(const berth_problem *p, const berth_cluster *c, const int32_t *dev_kind, int32_t a,
                         int32_t b)
{
	const berth_system *s = c->s;
	BERTH_EACH (i, p->route_off, p->class_pair_route[a * s->n_devs + b]) {
		int32_t d = s->link_to[p->route_link[i]];
		bool own = !(s->dev_idle_w[d] > 0 || s->dev_price_h[d] > 0);
		BERTH_EACH (j, c->host_off, c->dev_host[d])
			own |= dev_kind[c->host_dev[j]] == dev_kind[a] ||
			       dev_kind[c->host_dev[j]] == dev_kind[b];
		if (!own)
			return true;
	}
	return false;
}

/* Between devices at / n_devs and at % n_devs, by messages of one byte and of `more` beyond it. */
static berth_train_hop way_of(const berth_problem *one, const berth_problem *many, double more, int32_t at)
{
	return (berth_train_hop){(double)one->class_pair_ns[at] / 1e9,
	                         (double)(many->class_pair_ns[at] - one->class_pair_ns[at]) / 1e9 / more};
}

/* Each unlike host of several as a cluster of its own, with the ways inside of it. */
static berth_status add_hosts(const berth_cluster *c, const int32_t *dev_kind, const berth_problem *one,
                              const berth_problem *many, double more, berth_train_task *x, berth_arena *mem,
                              berth_err *err)
{
	berth_train_host *host;
	x->n_hosts = 0;
	BERTH_TRY_NEW(mem, c->n_hosts, err, host);
	for (int32_t h = 0; h < c->n_hosts && c->n_hosts > 1; h++) {
		berth_train_host *new = &host[x->n_hosts];
		if (c->host_like[h] != h)
			continue;
		x->n_hosts++;
		new->name = c->host_name[h];
		BERTH_EACH (i, c->host_off, h) {
			int32_t a = c->host_dev[i];
			new->n_devs[dev_kind[a]]++;
			BERTH_EACH (j, c->host_off, h) {
				int32_t b = c->host_dev[j];
				berth_train_hop way = way_of(one, many, more, a * c->s->n_devs + b);
				if (a != b)
					take_slower(&new->hop[dev_kind[a]][dev_kind[b]], way.latency_s,
					            way.byte_s);
			}
		}
	}
	x->host = host;
	return BERTH_OK;
}

/* The slowest ways by devices' kinds: between hosts, where devices of both kinds are in unlike ones, and
 * inside of one, there by the figures of collectives. */
berth_status berth_train_ways(const berth_cluster *c, const int32_t *dev_kind, berth_train_task *x,
                              berth_arena *mem, berth_arena *tmp, berth_arena *tmp2, berth_err *err)
{
	const berth_system *s = c->s;
	bool far[BERTH_MOST_TRAIN_KINDS][BERTH_MOST_TRAIN_KINDS] = {0}; /* such are in unlike hosts */
	double more = 1 << 30;
	for (int32_t l = 0; l < s->n_links; l++)
		more = fmin(more, ceil(1e6 * s->link_bandwidth[l]));
	berth_problem one, many;
	BERTH_TRY(berth_cluster_probe(c, 1, tmp, tmp2, &one, err));
	BERTH_TRY(berth_cluster_probe(c, 1 + (int64_t)more, tmp, tmp2, &many, err));
	for (int pass = 0; pass < 2; pass++) /* hosts apart; then inside, where there are no others */
		for (int32_t a = 0; a < s->n_devs; a++)
			for (int32_t b = 0; b < s->n_devs; b++) {
				int32_t at = a * s->n_devs + b, link = s->link_of[at];
				berth_train_hop *h = &x->hop[dev_kind[a]][dev_kind[b]];
				berth_train_hop way = way_of(&one, &many, more, at);
				double latency_s = way.latency_s, byte_s = way.byte_s, bandwidth;
				bool apart = c->dev_host[a] != c->dev_host[b];
				if (a == b || apart == (pass == 1))
					continue;
				if (apart && needs_others(&many, c, dev_kind, a, b))
					latency_s = INFINITY;
				far[dev_kind[a]][dev_kind[b]] |= apart;
				if (pass == 0 || !far[dev_kind[a]][dev_kind[b]])
					take_slower(h, latency_s, byte_s);
				if (apart || dev_kind[a] != dev_kind[b])
					continue;
				if (link >= 0) {
					berth_collective_figures(s, link, &latency_s, &bandwidth);
					byte_s = 1 / bandwidth;
				}
				take_slower(&x->kind[dev_kind[a]].inside, latency_s, byte_s);
			}
	/* Does a channel carry what several hosts send to others? */
	for (int32_t l = 0; l < s->n_links; l++)
		for (int32_t m = 0; m < l && s->contention; m++)
			x->one_wire |= s->link_channel[l] == s->link_channel[m] &&
			               c->dev_host[s->link_from[l]] != c->dev_host[s->link_from[m]] &&
			               c->dev_host[s->link_from[l]] != c->dev_host[s->link_to[l]];
	return add_hosts(c, dev_kind, &one, &many, more, x, mem, err);
}
