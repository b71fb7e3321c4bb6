/* The bound for a deadline and R hosts: no step is shorter than the deadline and the
 * least exchange among R hosts; no R hosts have more samples than the R that have most, each with its best
 * layout; and no mean of joules a sample over hosts is below the least of one of them. */
#include "configure.h"

enum { N_STARTS = 8, MOST_ROUNDS = 100 };

/* What a layout does by a deadline, on one host. */
typedef struct offer {
	int32_t layout; /* -1: nothing */
	double samples, active_j;
	int64_t slowest_ns;
} offer;

typedef struct start {
	double value;
	berth_configuration c;
} start;

typedef struct searcher {
	const berth_copies *x;
	berth_exchanger *e;
	berth_goal goal;
	berth_exchange_kind kind;
	berth_member *member;
	int64_t *deadline_ns; /* [n_deadlines] the times of all copies at all batches, ascending */
	int32_t n_deadlines, n_hosts;
	offer *offers; /* [n_offers] of unlike hosts for the deadline at hand */
	int32_t *offer_host;
	int32_t n_offers;
	offer *most, *best;   /* [n_hosts] with most samples; best for the goal */
	int32_t *by_goal;     /* [n_hosts] */
	double *most_samples; /* [n_hosts] descending */
	berth_configuration c;
	start starts[N_STARTS]; /* ascending by value */
	double found;           /* the best value so far */
	berth_config_visit *visit;
	void *ctx;
	berth_err *err;
} searcher;

/* ---- deadlines ---- */

static berth_status list_deadlines(searcher *s, berth_arena *tmp, berth_err *err)
{
	const berth_copies *x = s->x;
	int32_t n = 0, most = 0;
	for (int32_t h = 0; h < s->n_hosts; h++)
		most += x->host[h]->n_crews * x->n_batches;
	BERTH_TRY_NEW(tmp, most, err, s->deadline_ns);
	for (int32_t h = 0; h < s->n_hosts; h++)
		for (int32_t i = 0; i < x->host[h]->n_crews && x->c->host_like[h] == h; i++)
			for (int32_t b = 0; b < x->n_batches; b++)
				if (x->host[h]->crew[i].price[b].runs)
					s->deadline_ns[n++] = x->host[h]->crew[i].price[b].time_ns;
	s->n_deadlines = berth_config_sort_times(s->deadline_ns, n);
	return BERTH_OK;
}

/* ---- hosts alone ---- */

static offer offer_of(const searcher *s, int32_t host, int32_t layout, int64_t deadline_ns)
{
	const berth_layout *l = &s->x->host[host]->layout[layout];
	offer o = {.layout = layout};
	for (int32_t i = 0; i < l->n; i++) {
		const berth_crew *crew = &s->x->host[host]->crew[l->crew[i]];
		int32_t b = berth_copy_batch(s->x, crew, deadline_ns);
		if (b < 0)
			return (offer){.layout = -1};
		o.samples += (double)s->x->batch[b];
		o.active_j += crew->price[b].active_j;
		o.slowest_ns = crew->price[b].time_ns > o.slowest_ns ? crew->price[b].time_ns : o.slowest_ns;
	}
	return o;
}

/* The goal's value of the host alone, without an exchange. A lower bound of joules a sample for energy. */
static double value_alone(const searcher *s, int32_t host, const offer *o, double step_s)
{
	berth_config_value v = {.samples = (int64_t)o->samples, .step_s = step_s};
	if (o->layout < 0)
		return INFINITY;
	v.energy_j = o->active_j + s->x->c->host_idle_w[host] * step_s;
	v.power_w = v.peak_w = v.energy_j / step_s;
	return berth_goal_value(s->goal, &v);
}

static int descending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x > y ? -1 : x < y;
}

/* What the layouts of host h can do by the deadline, and the best two of them. Equal hosts are asked once. */
static void ask_host(searcher *s, int32_t h, int64_t deadline_ns)
{
	double step_s = (double)deadline_ns * 1e-9;
	int32_t like = s->x->c->host_like[h];
	s->most[h] = like == h ? (offer){.layout = -1} : s->most[like];
	s->best[h] = like == h ? (offer){.layout = -1} : s->best[like];
	for (int32_t l = 0; l < s->x->host[h]->n_layouts && like == h; l++) {
		offer o = offer_of(s, h, l, deadline_ns);
		if (o.layout < 0)
			continue;
		s->offer_host[s->n_offers] = h;
		s->offers[s->n_offers++] = o;
		if (o.samples > s->most[h].samples)
			s->most[h] = o;
		if (value_alone(s, h, &o, step_s) < value_alone(s, h, &s->best[h], step_s))
			s->best[h] = o;
	}
}

/* For the deadline: offers, and the hosts in the order of their best. */
static void rank_hosts(searcher *s, int64_t deadline_ns)
{
	double step_s = (double)deadline_ns * 1e-9;
	s->n_offers = 0;
	for (int32_t h = 0; h < s->n_hosts; h++) {
		int32_t k = h;
		ask_host(s, h, deadline_ns);
		s->most_samples[h] = s->most[h].samples;
		for (; k > 0 && value_alone(s, s->by_goal[k - 1], &s->best[s->by_goal[k - 1]], step_s) >
		                        value_alone(s, h, &s->best[h], step_s);
		     k--)
			s->by_goal[k] = s->by_goal[k - 1];
		s->by_goal[k] = h;
	}
	qsort(s->most_samples, (size_t)s->n_hosts, sizeof *s->most_samples, descending);
}

/* ---- bound ---- */

/* The least joules a sample that any layout of any host has in a step of step_s. */
static double least_joules(const searcher *s, double step_s)
{
	double least = INFINITY;
	for (int32_t i = 0; i < s->n_offers; i++) {
		double idle_w = s->x->c->host_idle_w[s->offer_host[i]];
		least = fmin(least, (s->offers[i].active_j + idle_w * step_s) / s->offers[i].samples);
	}
	return least;
}

/* What a host that can take part draws at least. */
static double least_watts(const searcher *s)
{
	double least = INFINITY;
	for (int32_t i = 0; i < s->n_offers; i++)
		least = fmin(least, s->x->c->host_idle_w[s->offer_host[i]]);
	return least;
}

static double bound_of(const searcher *s, int64_t deadline_ns, int32_t hosts)
{
	double samples = 0,
	       step_s = (double)deadline_ns * 1e-9 + berth_exchange_least_s(s->e, hosts, s->kind);
	for (int32_t i = 0; i < hosts; i++)
		samples += s->most_samples[i];
	switch (s->goal) {
	case BERTH_GOAL_TIME:
		return step_s / samples;
	case BERTH_GOAL_ENERGY:
		return least_joules(s, step_s);
	case BERTH_GOAL_EDP:
		return least_joules(s, step_s) * step_s / samples;
	case BERTH_GOAL_POWER:
	case BERTH_GOAL_PEAK:
	case BERTH_N_GOALS:
		break;
	}
	return hosts * least_watts(s);
}

/* ---- visits ---- */

static void keep_start(searcher *s, double value)
{
	int32_t k = N_STARTS - 1;
	if (!(value < s->starts[k].value))
		return;
	for (int32_t i = 0; i < N_STARTS; i++)
		if (s->starts[i].value == value && s->starts[i].c.deadline_ns == s->c.deadline_ns)
			return;
	for (; k > 0 && value < s->starts[k - 1].value; k--)
		s->starts[k] = s->starts[k - 1];
	s->starts[k] = (start){value, s->c};
}

/* The value of s->c, visited; INFINITY: it cannot be. The deadline is that of its slowest copy. */
static berth_status look_at_config(searcher *s, double *value)
{
	berth_config_value v;
	int64_t asked = s->c.deadline_ns, slowest = 0;
	berth_status st = BERTH_OK;
	int32_t n = berth_config_members(s->x, &s->c, s->member);
	*value = INFINITY;
	for (int32_t k = 0; k < n; k++) {
		int64_t t = s->member[k].crew->price[s->member[k].batch].time_ns;
		slowest = t > slowest ? t : slowest;
	}
	if (!n)
		return BERTH_OK;
	s->c.deadline_ns = slowest;
	if (berth_config_predict(s->e, &s->c, s->kind, s->member, &v)) {
		*value = berth_goal_value(s->goal, &v);
		s->found = fmin(s->found, *value);
		st = s->visit(s->ctx, &s->c, &v, s->err);
	}
	s->c.deadline_ns = asked;
	return st;
}

/* ---- starts ---- */

/* Every layout of every unlike host, by itself. */
static berth_status look_alone(searcher *s)
{
	double value;
	for (int32_t i = 0; i < s->n_offers; i++) {
		s->c.host_layout[s->offer_host[i]] = s->offers[i].layout;
		BERTH_TRY(look_at_config(s, &value));
		keep_start(s, value);
		s->c.host_layout[s->offer_host[i]] = -1;
	}
	return BERTH_OK;
}

static berth_status start_from(searcher *s, int64_t deadline_ns, double *least)
{
	double value;
	rank_hosts(s, deadline_ns);
	for (int32_t h = 0; h < s->n_hosts; h++)
		s->c.host_layout[h] = -1;
	s->c.deadline_ns = deadline_ns;
	BERTH_TRY(look_alone(s));
	for (int32_t n = 1; n <= s->n_hosts; n++) {
		int32_t h = s->by_goal[n - 1];
		double bound = bound_of(s, deadline_ns, n);
		if (s->best[h].layout < 0)
			break;
		s->c.host_layout[h] = s->best[h].layout;
		*least = fmin(*least, bound);
		if (!(bound < s->found))
			continue;
		BERTH_TRY(look_at_config(s, &value));
		keep_start(s, value);
	}
	return BERTH_OK;
}

/* ---- changes ---- */

/* Keep the change that was made to s->c where it gains; *gained. */
static berth_status try_change(searcher *s, double *value, bool *gained)
{
	double now;
	BERTH_TRY(look_at_config(s, &now));
	*gained = now < *value;
	*value = *gained ? now : *value;
	return BERTH_OK;
}

static berth_status change_host(searcher *s, int32_t h, double *value, bool *any)
{
	bool gained;
	for (int32_t l = -1; l < s->x->host[h]->n_layouts; l++) {
		int32_t old = s->c.host_layout[h];
		s->c.host_layout[h] = l;
		BERTH_TRY(try_change(s, value, &gained));
		*any |= gained;
		if (!gained)
			s->c.host_layout[h] = old;
	}
	return BERTH_OK;
}

/* A host that takes part goes, another one comes with each of its layouts. */
static berth_status change_places(searcher *s, int32_t goes, int32_t comes, double *value, bool *any)
{
	bool gained = false;
	int32_t old = s->c.host_layout[goes];
	if (old < 0 || s->c.host_layout[comes] >= 0 || s->x->c->host_like[goes] == s->x->c->host_like[comes])
		return BERTH_OK;
	s->c.host_layout[goes] = -1;
	for (int32_t l = 0; l < s->x->host[comes]->n_layouts && !gained; l++) {
		s->c.host_layout[comes] = l;
		BERTH_TRY(try_change(s, value, &gained));
	}
	*any |= gained;
	if (!gained) {
		s->c.host_layout[goes] = old;
		s->c.host_layout[comes] = -1;
	}
	return BERTH_OK;
}

static berth_status improve_start(searcher *s, const start *from)
{
	double value = from->value;
	bool any = true;
	s->c = from->c;
	for (int32_t round = 0; any && round < MOST_ROUNDS; round++) {
		any = false;
		for (int32_t h = 0; h < s->n_hosts; h++)
			BERTH_TRY(change_host(s, h, &value, &any));
		for (int32_t h = 0; h < s->n_hosts; h++)
			for (int32_t k = 0; k < s->n_hosts; k++)
				BERTH_TRY(change_places(s, h, k, &value, &any));
		bool gained;
		for (int32_t i = 0; i < s->n_deadlines; i++) {
			int64_t old = s->c.deadline_ns;
			s->c.deadline_ns = s->deadline_ns[i];
			BERTH_TRY(try_change(s, &value, &gained));
			any |= gained;
			if (!gained)
				s->c.deadline_ns = old;
		}
	}
	return BERTH_OK;
}

/* ---- all of it ---- */

static berth_status search_configs(searcher *s, double *bound)
{
	for (int32_t i = 0; i < s->n_deadlines; i++)
		BERTH_TRY(start_from(s, s->deadline_ns[i], bound));
	for (int32_t i = 0; i < N_STARTS; i++)
		if (isfinite(s->starts[i].value))
			BERTH_TRY(improve_start(s, &s->starts[i]));
	return BERTH_OK;
}

berth_status berth_config_search(berth_exchanger *e, berth_goal goal, berth_exchange_kind kind,
                                 berth_arena *tmp, berth_config_visit *visit, void *ctx, double *bound,
                                 berth_err *err)
{
	searcher s = {.x = e->x,
	              .e = e,
	              .goal = goal,
	              .kind = kind,
	              .n_hosts = e->x->c->n_hosts,
	              .found = INFINITY,
	              .visit = visit,
	              .ctx = ctx,
	              .err = err};
	BERTH_SCRATCH(tmp);
	*bound = INFINITY;
	const berth_cluster *c = s.x->c;
	BERTH_TRY_NEW(tmp, c->s->n_devs, err, s.member);
	BERTH_TRY_NEW(tmp, c->n_hosts, err, s.most, s.best, s.by_goal, s.most_samples);
	int32_t n = 0;
	for (int32_t h = 0; h < c->n_hosts; h++)
		n += s.x->host[h]->n_layouts;
	BERTH_TRY_NEW(tmp, n, err, s.offers, s.offer_host);
	for (int32_t i = 0; i < N_STARTS; i++)
		s.starts[i].value = INFINITY;
	BERTH_TRY(list_deadlines(&s, tmp, err));
	return search_configs(&s, bound);
}
