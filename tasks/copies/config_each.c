/* Every configuration of a cluster; see configure.h. Layouts of hosts that are equal never rise from one such
 * host to the next one, so that each choice comes once. */
#include "configure.h"

#include <stdlib.h>

typedef struct walker {
	const berth_copies *x;
	berth_exchanger *e;
	berth_exchange_kind kind;
	berth_configuration c;
	berth_member *member;
	int32_t *before;      /* [n_hosts] the equal host before it; -1: none */
	int64_t *deadline_ns; /* [n_deadlines] of the layouts at hand */
	berth_config_visit *visit;
	void *ctx;
	berth_err *err;
} walker;

static int ascending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return x < y ? -1 : x > y;
}

/* The times of the copies at all batches: what a deadline can be. */
static int32_t list_deadlines(const walker *w)
{
	const berth_copies *x = w->x;
	int32_t n = 0, k = 0;
	for (int32_t h = 0; h < x->c->n_hosts; h++) {
		const berth_layout *l =
			w->c.host_layout[h] < 0 ? NULL : &x->host[h]->layout[w->c.host_layout[h]];
		for (int32_t i = 0; l && i < l->n; i++)
			for (int32_t b = 0; b < x->n_batches; b++)
				if (x->host[h]->crew[l->crew[i]].price[b].runs)
					w->deadline_ns[n++] = x->host[h]->crew[l->crew[i]].price[b].time_ns;
	}
	qsort(w->deadline_ns, (size_t)n, sizeof *w->deadline_ns, ascending);
	for (int32_t i = 0; i < n; i++)
		if (i == 0 || w->deadline_ns[i] != w->deadline_ns[i - 1])
			w->deadline_ns[k++] = w->deadline_ns[i];
	return k;
}

static berth_status visit_deadlines(walker *w)
{
	berth_config_value v;
	int32_t n = list_deadlines(w);
	for (int32_t i = 0; i < n; i++) {
		w->c.deadline_ns = w->deadline_ns[i];
		if (berth_config_predict(w->e, &w->c, w->kind, w->member, &v))
			BERTH_TRY(w->visit(w->ctx, &w->c, &v, w->err));
	}
	return BERTH_OK;
}

static berth_status walk(walker *w, int32_t host)
{
	if (host == w->x->c->n_hosts)
		return visit_deadlines(w);
	int32_t last =
		w->before[host] < 0 ? w->x->host[host]->n_layouts - 1 : w->c.host_layout[w->before[host]];
	for (int32_t l = -1; l <= last; l++) {
		w->c.host_layout[host] = l;
		BERTH_TRY(walk(w, host + 1));
	}
	return BERTH_OK;
}

static berth_status prepare(walker *w, berth_arena *tmp, berth_err *err)
{
	const berth_cluster *c = w->x->c;
	BERTH_TRY(BERTH_NEW(tmp, w->c.host_layout, c->n_hosts, err));
	BERTH_TRY(BERTH_NEW(tmp, w->member, c->s->n_devs, err));
	BERTH_TRY(BERTH_NEW(tmp, w->deadline_ns, c->s->n_devs * w->x->n_batches, err));
	BERTH_TRY(BERTH_NEW(tmp, w->before, c->n_hosts, err));
	for (int32_t h = 0; h < c->n_hosts; h++) {
		w->before[h] = -1;
		for (int32_t k = 0; k < h; k++)
			if (c->host_like[k] == c->host_like[h])
				w->before[h] = k;
	}
	return BERTH_OK;
}

berth_status berth_configure_each(berth_exchanger *e, berth_exchange_kind kind, berth_arena *tmp,
                                  berth_config_visit *visit, void *ctx, berth_err *err)
{
	walker w = {.x = e->x, .e = e, .kind = kind, .visit = visit, .ctx = ctx, .err = err};
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	berth_status st = prepare(&w, tmp, err);
	if (st == BERTH_OK)
		st = walk(&w, 0);
	berth_arena_reset(tmp, mark);
	return st;
}

/* Ways to give m equal hosts one of n layouts or none: multisets. */
static double ways(double n, int32_t m)
{
	double out = 1;
	for (int32_t i = 1; i <= m; i++)
		out *= (n + i) / i;
	return out;
}

double berth_configurations_most(const berth_copies *x)
{
	double all = 1, copies = 0;
	for (int32_t h = 0; h < x->c->n_hosts; h++) {
		int32_t equal = 0;
		copies += berth_host_size(x->c, h);
		for (int32_t k = 0; k < x->c->n_hosts; k++)
			equal += x->c->host_like[k] == h;
		if (equal)
			all *= ways(x->host[h]->n_layouts, equal);
	}
	return all * copies * x->n_batches;
}
