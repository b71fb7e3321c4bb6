/* The configuration of a cluster for a goal: every one is looked at, or those that a search visits; the best
 * by formulas are simulated whole. */
#include "configure.h"

/* ---- every configuration ---- */

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

int32_t berth_config_sort_times(int64_t *ns, int32_t n)
{
	int32_t unlike = 0;
	qsort(ns, (size_t)n, sizeof *ns, ascending);
	for (int32_t i = 0; i < n; i++)
		if (i == 0 || ns[i] != ns[i - 1])
			ns[unlike++] = ns[i];
	return unlike;
}

/* The times of the copies at all batches: what a deadline can be. */
static int32_t list_deadlines(const walker *w)
{
	const berth_copies *x = w->x;
	int32_t n = 0;
	for (int32_t h = 0; h < x->c->n_hosts; h++) {
		const berth_layout *l =
			w->c.host_layout[h] < 0 ? NULL : &x->host[h]->layout[w->c.host_layout[h]];
		for (int32_t i = 0; l && i < l->n; i++)
			for (int32_t b = 0; b < x->n_batches; b++)
				if (x->host[h]->crew[l->crew[i]].price[b].runs)
					w->deadline_ns[n++] = x->host[h]->crew[l->crew[i]].price[b].time_ns;
	}
	return berth_config_sort_times(w->deadline_ns, n);
}

static berth_status walk_hosts(walker *w, int32_t host)
{
	if (host == w->x->c->n_hosts) {
		berth_config_value v;
		int32_t n = list_deadlines(w);
		for (int32_t i = 0; i < n; i++) {
			w->c.deadline_ns = w->deadline_ns[i];
			if (berth_config_predict(w->e, &w->c, w->kind, w->member, &v))
				BERTH_TRY(w->visit(w->ctx, &w->c, &v, w->err));
		}
		return BERTH_OK;
	}
	int32_t last =
		w->before[host] < 0 ? w->x->host[host]->n_layouts - 1 : w->c.host_layout[w->before[host]];
	for (int32_t l = -1; l <= last; l++) {
		w->c.host_layout[host] = l;
		BERTH_TRY(walk_hosts(w, host + 1));
	}
	return BERTH_OK;
}

berth_status berth_configure_each(berth_exchanger *e, berth_exchange_kind kind, berth_arena *tmp,
                                  berth_config_visit *visit, void *ctx, berth_err *err)
{
	walker w = {.x = e->x, .e = e, .kind = kind, .visit = visit, .ctx = ctx, .err = err};
	BERTH_SCRATCH(tmp);
	const berth_cluster *c = w.x->c;
	BERTH_TRY_NEW(tmp, c->s->n_devs, err, w.member);
	BERTH_TRY_NEW(tmp, c->s->n_devs * w.x->n_batches, err, w.deadline_ns);
	BERTH_TRY_NEW(tmp, c->n_hosts, err, w.before);
	for (int32_t h = 0; h < c->n_hosts; h++) {
		w.before[h] = -1;
		for (int32_t k = 0; k < h; k++)
			if (c->host_like[k] == c->host_like[h])
				w.before[h] = k;
	}
	return walk_hosts(&w, 0);
}

/* Ways to give m equal hosts one of n layouts or none: multisets. */
static double count_multisets(double n, int32_t m)
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
			all *= count_multisets(x->host[h]->n_layouts, equal);
	}
	return all * copies * x->n_batches;
}

/* ---- the best of them ---- */

enum { MOST_FRONT = 64 };

typedef struct chooser {
	const berth_copies *x;
	const berth_configure_cfg *cfg;
	const atomic_int *cancel;
	berth_configure_choice *list; /* [n] of most BERTH_MOST_WHOLE, the best of the goal so far, ascending
	                               */
	double *list_value;           /* [n] by the formulas; [n_tried] as simulated, INFINITY: cannot be */
	int32_t n, n_tried;
	berth_configure_choice *front; /* [n_front] by time, energy falling */
	int32_t n_front;
	berth_configured *out;
	berth_arena *mem, *tmp, *tmp2;
} chooser;

berth_configure_cfg berth_configure_cfg_default(void)
{
	return (berth_configure_cfg){
		.goal = BERTH_GOAL_TIME, .exchange = BERTH_EXCHANGE_BEST, .most = 1000000, .n_whole = 16};
}

/* ---- the best so far ---- */

static bool same_config(const chooser *ch, const berth_configuration *a, const berth_configuration *b)
{
	return a->deadline_ns == b->deadline_ns &&
	       memcmp(a->host_layout, b->host_layout, (size_t)ch->x->c->n_hosts * sizeof *a->host_layout) ==
	               0;
}

/* Equal values stand in the order in which they came. */
static void keep_best(chooser *ch, const berth_configuration *c, const berth_config_value *v)
{
	double value = berth_goal_value(ch->cfg->goal, v);
	int32_t k = ch->n;
	if (k == BERTH_MOST_WHOLE && !(value < ch->list_value[k - 1]))
		return;
	for (int32_t i = 0; i < ch->n; i++)
		if (ch->list_value[i] == value && same_config(ch, &ch->list[i].c, c))
			return;
	if (k == BERTH_MOST_WHOLE)
		k--;
	else
		ch->n++;
	for (; k > 0 && value < ch->list_value[k - 1]; k--) {
		ch->list[k] = ch->list[k - 1];
		ch->list_value[k] = ch->list_value[k - 1];
	}
	ch->list[k] = (berth_configure_choice){.c = *c, .predicted = *v};
	ch->list_value[k] = value;
}

/* ---- the front ---- */

static double time_of(const berth_config_value *v)
{
	return berth_goal_value(BERTH_GOAL_TIME, v);
}

static double energy_of(const berth_config_value *v)
{
	return berth_goal_value(BERTH_GOAL_ENERGY, v);
}

static void keep_front(chooser *ch, const berth_configuration *c, const berth_config_value *v)
{
	double t = time_of(v), e = energy_of(v);
	int32_t at = 0, end;
	while (at < ch->n_front && time_of(&ch->front[at].predicted) < t)
		at++;
	if (isnan(e) || (at > 0 && energy_of(&ch->front[at - 1].predicted) <= e) ||
	    (at < ch->n_front && time_of(&ch->front[at].predicted) == t &&
	     energy_of(&ch->front[at].predicted) <= e))
		return;
	for (end = at; end < ch->n_front && energy_of(&ch->front[end].predicted) >= e;)
		end++;
	/* those from at to end give way */
	BERTH_COPY(ch->front + at + 1, ch->front + end, ch->n_front - end);
	ch->n_front -= end - at - 1;
	ch->front[at] = (berth_configure_choice){.c = *c, .predicted = *v};
	if (ch->n_front > MOST_FRONT) {
		/* Take out the point whose neighbours are nearest to each other, ends never. */
		int32_t least = 1;
		double nearest = INFINITY;
		for (int32_t i = 1; i + 1 < ch->n_front; i++) {
			const berth_config_value *a = &ch->front[i - 1].predicted,
						 *b = &ch->front[i + 1].predicted;
			double gap = log(time_of(b) / time_of(a)) + log(energy_of(a) / energy_of(b));
			if (gap < nearest) {
				nearest = gap;
				least = i;
			}
		}
		for (int32_t i = least; i + 1 < ch->n_front; i++)
			ch->front[i] = ch->front[i + 1];
		ch->n_front--;
	}
}

static berth_status keep_config(void *ctx, const berth_configuration *c, const berth_config_value *v,
                          berth_err *err)
{
	chooser *ch = ctx;
	ch->out->looked_at++;
	if (ch->cancel && atomic_load(ch->cancel))
		return berth_fail(err, BERTH_EINTERRUPTED, "interrupted while configurations were looked at");
	keep_best(ch, c, v);
	keep_front(ch, c, v);
	return BERTH_OK;
}

/* ---- simulated whole ---- */

static berth_status simulate_choice(chooser *ch, berth_configure_choice *y, bool *runs, berth_err *err)
{
	ch->out->n_whole++;
	BERTH_TRY(berth_config_simulate(ch->x, &y->c, &y->predicted.exchange, ch->tmp, ch->tmp2,
	                                &y->simulated, runs, err));
	/* An engine runs each copy by itself: of one run of all there is what memory tells. */
	if (ch->x->c->s->engine)
		y->simulated = y->predicted;
	return BERTH_OK;
}

/* Among those of the best that were simulated; NULL: none. */
static const berth_configure_choice *simulated_as(const chooser *ch, const berth_configuration *c, bool *runs)
{
	for (int32_t i = 0; i < ch->n_tried; i++)
		if (same_config(ch, &ch->list[i].c, c)) {
			*runs = ch->list_value[i] < INFINITY;
			return &ch->list[i];
		}
	return NULL;
}

/* By time, then by energy; what is not known comes last. */
static int by_simulated_time(const berth_configure_choice *x, const berth_configure_choice *y)
{
	const double a[] = {time_of(&x->simulated), energy_of(&x->simulated)},
		     b[] = {time_of(&y->simulated), energy_of(&y->simulated)};
	int order = 0;
	for (int i = 0; i < 2 && !order; i++)
		order = isnan(a[i]) || isnan(b[i]) ? isnan(a[i]) - isnan(b[i]) : BERTH_COMPARE(a[i], b[i]);
	return order;
}

/* Equal ones keep their order. */
static void sort_front(berth_configure_choice *front, int32_t n)
{
	for (int32_t i = 1; i < n; i++) {
		const berth_configure_choice x = front[i];
		int32_t k = i;
		for (; k > 0 && by_simulated_time(&x, &front[k - 1]) < 0; k--)
			front[k] = front[k - 1];
		front[k] = x;
	}
}

/* The front of what was simulated: the predicted front, and the best of the goal. */
static berth_status simulate_front(chooser *ch, berth_err *err)
{
	int32_t n = 0;
	bool runs;
	for (int32_t i = 0; i < ch->n_front; i++) {
		const berth_configure_choice *known = simulated_as(ch, &ch->front[i].c, &runs);
		if (known)
			ch->front[i].simulated = known->simulated;
		else
			BERTH_TRY(simulate_choice(ch, &ch->front[i], &runs, err));
		if (runs)
			ch->front[n++] = ch->front[i];
	}
	if (ch->out->found && !isnan(energy_of(&ch->out->best.simulated)))
		ch->front[n++] = ch->out->best;
	sort_front(ch->front, n);
	for (int32_t i = 0; i < n; i++) {
		int32_t k = ch->out->n_front;
		if (k == 0 || energy_of(&ch->front[i].simulated) < energy_of(&ch->front[k - 1].simulated))
			ch->front[ch->out->n_front++] = ch->front[i];
	}
	ch->out->front = ch->front;
	return BERTH_OK;
}

/* ---- all of it ---- */

static berth_status configure_all(chooser *ch, berth_err *err)
{
	const berth_configure_cfg *cfg = ch->cfg;
	berth_exchanger e;
	BERTH_TRY(berth_exchanger_new(ch->x, ch->mem, ch->tmp, &e, err));
	BERTH_TRY_NEW(ch->mem, BERTH_MOST_WHOLE, err, ch->list, ch->list_value);
	BERTH_TRY_NEW(ch->mem, MOST_FRONT + 2, err, ch->front);
	ch->out->all = berth_configurations_most(ch->x) <= (double)cfg->most;
	if (ch->out->all)
		BERTH_TRY(berth_configure_each(&e, cfg->exchange, ch->tmp, keep_config, ch, err));
	else
		BERTH_TRY(berth_config_search(&e, cfg->goal, cfg->exchange, ch->tmp, keep_config, ch,
		                              &ch->out->bound, err));
	if (ch->out->all)
		ch->out->bound = ch->n ? ch->list_value[0] : INFINITY;
	/* Where none of the best fits beside the buffers of the exchange, one of the next may. */
	double least = INFINITY;
	bool runs;
	for (int32_t i = 0; i < ch->n && (i < ch->cfg->n_whole || !ch->out->found); i++) {
		BERTH_TRY(simulate_choice(ch, &ch->list[i], &runs, err));
		double value = runs ? berth_goal_value(ch->cfg->goal, &ch->list[i].simulated) : INFINITY;
		ch->list_value[i] = value;
		ch->n_tried = i + 1;
		if (!(value < least))
			continue;
		least = value;
		ch->out->best = ch->list[i];
		ch->out->found = true;
	}
	return simulate_front(ch, err);
}

berth_status berth_configure(const berth_copies *x, const berth_configure_cfg *cfg, const atomic_int *cancel,
                             berth_arena *mem, berth_arena *tmp, berth_arena *tmp2, berth_configured *out,
                             berth_err *err)
{
	berth_configured r = {.bound = NAN};
	chooser ch = {.x = x, .cfg = cfg, .cancel = cancel, .out = &r, .mem = mem, .tmp = tmp, .tmp2 = tmp2};
	const berth_system *s = x->c->s;
	for (int32_t d = 0; d < s->n_devs && berth_goals[cfg->goal].needs_watts; d++)
		if (isnan(s->dev_idle_w[d]))
			return berth_fail(err, BERTH_EINVAL,
			                  "goal %s needs watts, but device '%.80s' has no \"idle_w\" and "
			                  "\"busy_w\": add them, or choose the goal time",
			                  berth_goals[cfg->goal].name, s->dev_name[d]);
	BERTH_TRY(configure_all(&ch, err));
	*out = r;
	return BERTH_OK;
}
