/* The hosts of a system, and which of them are equal. Two hosts are equal where changing places is an
 * automorphism of the system: devices, links, channels and memory pools all go to equal ones. Such changes of
 * places can be made one after the other, so being equal is transitive. */
#include "cluster.h"

/* ---- equal under a change of places ---- */

typedef struct places {
	const berth_system *s;
	int32_t *to;               /* [n_devs] where each device goes */
	int32_t *channel;          /* [n_channels] where each goes; -1: not seen yet */
	int32_t *from;             /* [n_channels] its inverse */
	int32_t *pool, *pool_from; /* [n_pools] the same */
} places;

static bool same_by_type(const berth_by_type *x, int32_t a, int32_t b)
{
	int32_t n = x->off[a + 1] - x->off[a];
	if (n != x->off[b + 1] - x->off[b])
		return false;
	for (int32_t i = 0, at = x->off[a], to = x->off[b]; i < n; i++)
		if (strcmp(x->type[at + i], x->type[to + i]) != 0 || x->value[at + i] != x->value[to + i])
			return false;
	return true;
}

static bool same_lists(const berth_system *s, int32_t a, int32_t b)
{
	int32_t m = s->dev_runs_off[a + 1] - s->dev_runs_off[a];
	if (m != s->dev_runs_off[b + 1] - s->dev_runs_off[b] || s->dev_runs_all[a] != s->dev_runs_all[b])
		return false;
	for (int32_t i = 0; i < m; i++)
		if (strcmp(s->runs_type[s->dev_runs_off[a] + i], s->runs_type[s->dev_runs_off[b] + i]) != 0)
			return false;
	return true;
}

bool berth_device_figures_same(const berth_system *s, int32_t a, int32_t b)
{
	if (!berth_system_figures_same(s, BERTH_OF_DEVICE, a, b))
		return false;
	const double *peaks = s->dev_peaks;
	for (int p = 0; p < BERTH_N_PRECISIONS; p++)
		if (peaks[a * BERTH_N_PRECISIONS + p] != peaks[b * BERTH_N_PRECISIONS + p])
			return false;
	return s->dev_class[a] == s->dev_class[b] && s->dev_contiguous[a] == s->dev_contiguous[b] &&
	       same_by_type(&s->efficiency, a, b) && same_by_type(&s->scale, a, b) && same_lists(s, a, b);
}

/* Let a go to b in a map and its inverse; false where either goes elsewhere already. */
static bool goes_to(int32_t *to, int32_t *from, int32_t a, int32_t b)
{
	if (to[a] < 0 && from[b] < 0) {
		to[a] = b;
		from[b] = a;
	}
	return to[a] == b;
}

static bool same_pool(places *x, int32_t d)
{
	const berth_system *s = x->s;
	int32_t a = s->dev_pool[d], b = s->dev_pool[x->to[d]];
	if (a < 0 || b < 0)
		return a == b;
	return s->pool_bandwidth[a] == s->pool_bandwidth[b] && s->pool_bytes[a] == s->pool_bytes[b] &&
	       goes_to(x->pool, x->pool_from, a, b);
}

static void forget(places *x)
{
	for (int32_t i = 0; i < x->s->n_channels; i++)
		x->channel[i] = x->from[i] = -1;
	for (int32_t i = 0; i < x->s->n_pools; i++)
		x->pool[i] = x->pool_from[i] = -1;
}

/* A device without a kind has its name for one; measured times may go by it, but of disks there are none. */
static const char *kind_of(const berth_system *s, int32_t dev)
{
	bool unnamed = strcmp(s->dev_kind[dev], s->dev_name[dev]) == 0;
	return unnamed && berth_system_is(s, dev, "disk") ? "disk" : s->dev_kind[dev];
}

/* Is the system the same where a[n] and b[n] have changed places? */
static bool change_places(places *x, const int32_t *a, const int32_t *b, int32_t n)
{
	bool same = true;
	for (int32_t i = 0; i < n && same; i++)
		same = berth_device_figures_same(x->s, a[i], b[i]) &&
		       strcmp(kind_of(x->s, a[i]), kind_of(x->s, b[i])) == 0;
	if (!same)
		return false;
	for (int32_t i = 0; i < n; i++) {
		x->to[a[i]] = b[i];
		x->to[b[i]] = a[i];
	}
	forget(x);
	for (int32_t d = 0; d < x->s->n_devs && same; d++)
		same = same_pool(x, d);
	for (int32_t l = 0; l < x->s->n_links && same; l++) {
		const berth_system *s = x->s;
		int32_t k = s->link_of[x->to[s->link_from[l]] * s->n_devs + x->to[s->link_to[l]]];
		same = k >= 0 && berth_system_figures_same(s, BERTH_OF_LINK, l, k) &&
		       goes_to(x->channel, x->from, s->link_channel[l], s->link_channel[k]);
	}
	for (int32_t i = 0; i < n; i++) {
		x->to[a[i]] = a[i];
		x->to[b[i]] = b[i];
	}
	return same;
}

static berth_status compare_all(berth_cluster *c, berth_arena *tmp, berth_err *err)
{
	const berth_system *s = c->s;
	places x = {.s = s};
	BERTH_TRY_NEW(tmp, s->n_devs, err, x.to);
	BERTH_TRY_NEW(tmp, s->n_channels, err, x.channel, x.from);
	BERTH_TRY_NEW(tmp, s->n_pools, err, x.pool, x.pool_from);
	for (int32_t d = 0; d < s->n_devs; d++)
		x.to[d] = d;
	for (int32_t h = 0; h < c->n_hosts; h++) {
		const int32_t *dev = c->host_dev + c->host_off[h];
		int32_t n = berth_host_size(c, h);
		c->host_like[h] = h;
		for (int32_t k = 0; k < h && c->host_like[h] == h; k++)
			if (c->host_like[k] == k && berth_host_size(c, k) == n &&
			    change_places(&x, c->host_dev + c->host_off[k], dev, n))
				c->host_like[h] = k;
		for (int32_t i = 0; i < n; i++) {
			c->dev_like[dev[i]] = dev[i];
			for (int32_t k = 0; k < i && c->dev_like[dev[i]] == dev[i]; k++)
				if (c->dev_like[dev[k]] == dev[k] && change_places(&x, &dev[k], &dev[i], 1))
					c->dev_like[dev[i]] = dev[k];
		}
	}
	return BERTH_OK;
}

/* ---- hosts ---- */

static berth_status name_hosts(berth_cluster *c, berth_err *err)
{
	const berth_system *s = c->s;
	for (int32_t d = 0; d < s->n_devs; d++) {
		const char *name = s->dev_host[d] ? s->dev_host[d] : s->name;
		int32_t h = 0;
		if (!s->dev_host[d] != !s->dev_host[0])
			return berth_fail(
				err, BERTH_EFORMAT,
				"system '%.80s': device '%.80s' has no \"host\", but others have one: "
				"give all devices one, or none",
				s->name, s->dev_name[s->dev_host[d] ? 0 : d]);
		while (h < c->n_hosts && strcmp(c->host_name[h], name) != 0)
			h++;
		if (h == c->n_hosts)
			c->host_name[c->n_hosts++] = name;
		c->dev_host[d] = h;
		c->host_off[h + 1]++;
	}
	return BERTH_OK;
}

static void choose_leads(berth_cluster *c)
{
	for (int32_t h = 0; h < c->n_hosts; h++) {
		int32_t most = -1;
		BERTH_EACH (i, c->host_off, h) {
			/* Links of the device: to other hosts, and any. */
			int32_t dev = c->host_dev[i];
			const berth_system *s = c->s;
			int32_t out = 0, any = 0;
			for (int32_t l = 0; l < s->n_links; l++)
				if (s->link_from[l] == dev || s->link_to[l] == dev) {
					any++;
					out += c->dev_host[s->link_from[l]] != c->dev_host[s->link_to[l]];
				}
			int32_t n = c->n_hosts > 1 ? out : any;
			if (n > most) {
				most = n;
				c->host_lead[h] = c->host_dev[i];
			}
		}
	}
}

berth_status berth_cluster_new(const berth_system *s, berth_arena *mem, berth_arena *tmp, berth_cluster *out,
                               berth_err *err)
{
	berth_cluster c = {.s = s};
	BERTH_TRY_NEW(mem, s->n_devs, err, c.host_name);
	BERTH_TRY_NEW(mem, s->n_devs + 1, err, c.host_off);
	BERTH_TRY_NEW(mem, s->n_devs, err, c.host_dev, c.dev_host, c.host_lead, c.host_like, c.dev_like,
	              c.host_idle_w);
	BERTH_TRY(name_hosts(&c, err));
	int32_t at = 0;
	for (int32_t h = 0; h < c.n_hosts; h++) {
		c.host_off[h + 1] += c.host_off[h];
		c.host_idle_w[h] = 0;
		for (int32_t d = 0; d < c.s->n_devs; d++)
			if (c.dev_host[d] == h) {
				c.host_dev[at++] = d;
				c.host_idle_w[h] += c.s->dev_idle_w[d];
			}
	}
	choose_leads(&c);
	BERTH_SCRATCH(tmp);
	BERTH_TRY(compare_all(&c, tmp, err));
	*out = c;
	return BERTH_OK;
}

berth_status berth_cluster_probe(const berth_cluster *c, int64_t bytes, berth_arena *mem, berth_arena *tmp,
                                 berth_problem *out, berth_err *err)
{
	berth_builder *b;
	berth_graph *g;
	BERTH_TRY_NEW(mem, 1, err, g);
	BERTH_TRY(berth_builder_new(tmp, "probe", &b, err));
	BERTH_TRY(berth_builder_op(b, &(berth_op_spec){.name = "from"}, NULL, err));
	BERTH_TRY(berth_builder_op(b, &(berth_op_spec){.name = "to"}, NULL, err));
	BERTH_TRY(berth_builder_edge(b, 0, 1, bytes, NULL, err));
	BERTH_TRY(berth_builder_finish(b, mem, g, err));
	return berth_problem_new(g, c->s, mem, tmp, out, err);
}
