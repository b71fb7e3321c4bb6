/* Layouts by ruin and recreate (Schrimpf, Schneider, Stamm-Wilbrandt, Dueck: "Record breaking optimization
 * results using the ruin and recreate principle", J. Comp. Physics 159, 2000). Without limits of links the
 * flow is the least rate that any layer has (docs/proofs.md), so that a flow is asked for and what layers
 * lack of it is made small, which costs little; where links hold flows back the flow itself is what counts.
 */
#include "layout.h"

#include "rng.h"
#include "search.h"

enum { MOST_UNITS = 64, MOST_OUT = 8 };

/* Nodes of a kind that go together; one where the kind has few. from == to: they hold nothing. */
typedef struct unit {
	int32_t kind, from, to;
	int64_t n;
} unit;

typedef struct search {
	const berth_layout_task *x;
	unit *unit, *best; /* [n_units] now; of the best so far */
	int32_t n_units;
	double *has, *kept;  /* [n_layers] rate of each layer now; before the last step */
	double *need, *lack; /* [n_layers] what each lacks; [n_layers+1] sums of the first layers' */
	double *strength;    /* [n_kinds] most rate times layers */
	int32_t *end;        /* [n_kinds][n_layers] behind the last layer of the longest range from there */
	double best_per_s, asked; /* of best; the flow that is asked for */
	double bound_per_s;
	int64_t tries;
	berth_rng rng;
	berth_arena *tmp, *own; /* own: of one flow */
} search;

bool berth_layout_over(const berth_search_cfg *cfg, int64_t *tries, double per_s, double bound_per_s)
{
	if (tries && ++*tries % 64 == 1 && cfg && cfg->progress)
		cfg->progress(cfg->progress_ctx, &(berth_progress){.evaluations = *tries,
		                                                   .best = {per_s > 0 ? 0 : 1, 1 / per_s},
		                                                   .mean = NAN,
		                                                   .bound = 1 / bound_per_s});
	return cfg && berth_search_cfg_over(cfg);
}

bool berth_layout_enough(const berth_search_cfg *cfg, double per_s)
{
	return per_s > 0 && cfg && cfg->cancel && atomic_load(cfg->cancel);
}

const berth_search_cfg *berth_layout_part(const berth_search_cfg *cfg, int n, berth_search_cfg *part)
{
	if (!cfg)
		return NULL;
	*part = berth_search_cfg_part(cfg, 1.0 / n);
	berth_search_cfg_begin(part);
	return part;
}

/* Asked before each try. */
static bool is_over(search *s)
{
	return berth_layout_over(s->x->cfg, &s->tries, s->best_per_s, s->bound_per_s);
}

/* Before there is an answer: only the user ends it, where there are others. */
static bool may_end(search *s)
{
	return s->best_per_s > 0 ? is_over(s) : s->x->spare && berth_layout_enough(s->x->cfg, 1);
}

static double rate_at(const search *s, int32_t kind, int32_t from, int32_t to)
{
	return s->x->kind[kind].now.per_s[from * (s->x->n_layers + 1) + to];
}

static void give(search *s, const unit *u, double sign)
{
	double per_s = sign * (double)u->n * rate_at(s, u->kind, u->from, u->to);
	for (int32_t l = u->from; l < u->to; l++)
		s->has[l] += per_s;
}

static double lack_of(const search *s, int32_t l)
{
	return fmax(0, s->asked - s->has[l]);
}

static double lack_all(const search *s)
{
	double all = 0;
	for (int32_t l = 0; l < s->x->n_layers; l++)
		all += lack_of(s, l);
	return all;
}

static double least_rate(const search *s)
{
	double least = INFINITY;
	for (int32_t l = 0; l < s->x->n_layers; l++)
		least = fmin(least, s->has[l]);
	return fmax(0, least);
}

#define WASTE 1e-3 /* what is given beyond that counts */

/* The range that fills most of what layers lack, of nearly equal ones that which wastes less; now and then
 * one is overlooked. What cannot be better, as no layer takes more than it lacks, is not summed. */
static void place_unit(search *s, unit *u, bool blink)
{
	int32_t L = s->x->n_layers;
	double best = 0;
	for (int32_t l = 0; l < L; l++) {
		s->need[l] = lack_of(s, l);
		s->lack[l + 1] = s->lack[l] + s->need[l];
	}
	u->from = u->to = 0;
	for (int32_t from = 0; from < L && s->lack[L] - s->lack[from] > best; from++) {
		for (int32_t to = from + 1; to <= s->end[u->kind * L + from]; to++) {
			double per_s = (double)u->n * rate_at(s, u->kind, from, to), fills = 0;
			double all = per_s * (to - from), most = fmin(all, s->lack[to] - s->lack[from]);
			if (most <= best || most - WASTE * (all - most) + 1e-9 * s->lack[L] <= best)
				continue;
			for (int32_t l = from; l < to; l++)
				fills += fmin(per_s, s->need[l]);
			fills -= WASTE * (all - fills);
			if (fills > best && !(blink && berth_rng_below(&s->rng, 50) == 0)) {
				best = fills;
				u->from = from;
				u->to = to;
			}
		}
	}
	give(s, u, 1);
}

/* Any range that it can hold: where links decide, what layers lack says little. */
static void place_anywhere(search *s, unit *u)
{
	int32_t L = s->x->n_layers, from = (int32_t)berth_rng_below(&s->rng, (uint32_t)L),
		most = s->end[u->kind * L + from];
	u->from = from;
	u->to = from + (most > from ? 1 + (int32_t)berth_rng_below(&s->rng, (uint32_t)(most - from)) : 0);
	if (!(rate_at(s, u->kind, from, u->to) > 0))
		u->to = from;
	give(s, u, 1);
}

static void keep_best(search *s, double per_s)
{
	if (per_s <= s->best_per_s * (1 + 1e-12))
		return;
	s->best_per_s = per_s;
	BERTH_COPY(s->best, s->unit, s->n_units);
}

/* Units that are taken out: some around a layer, that which lacks most or any, or any units. */
static int32_t choose_out(search *s, int32_t *out)
{
	int32_t L = s->x->n_layers, at = (int32_t)berth_rng_below(&s->rng, (uint32_t)L), n = 0;
	int32_t most = s->n_units < MOST_OUT ? s->n_units : MOST_OUT;
	int32_t want = 1 + (int32_t)berth_rng_below(&s->rng, (uint32_t)most);
	int32_t wide = (int32_t)berth_rng_below(&s->rng, (uint32_t)(L / 2 + 2));
	if (berth_rng_below(&s->rng, 2) == 0)
		for (int32_t l = 0; l < L; l++)
			at = s->has[l] < s->has[at] ? l : at;
	if (berth_rng_below(&s->rng, 4) == 0)
		wide = L;
	for (int32_t tries = 0; n < want && tries < 4 * want; tries++) {
		int32_t i = (int32_t)berth_rng_below(&s->rng, (uint32_t)s->n_units);
		const unit *u = &s->unit[i];
		bool known = u->to > u->from && (u->from > at + wide || u->to <= at - wide);
		for (int32_t k = 0; k < n && !known; k++)
			known = out[k] == i;
		if (!known)
			out[n++] = i;
	}
	return n;
}

/* The strong ones first, or in the order they were drawn. */
static void order_out(search *s, int32_t *out, int32_t n)
{
	if (berth_rng_below(&s->rng, 2) == 0)
		return;
	for (int32_t i = 1; i < n; i++)
		for (int32_t k = i; k > 0; k--) {
			const unit *a = &s->unit[out[k - 1]], *b = &s->unit[out[k]];
			if (s->strength[a->kind] * (double)a->n >= s->strength[b->kind] * (double)b->n)
				break;
			int32_t swap = out[k];
			out[k] = out[k - 1];
			out[k - 1] = swap;
		}
}

/* What the units as they are let flow. */
static berth_status flow_of(search *s, berth_layers *l, berth_arena *mem, double *per_s, berth_err *err)
{
	int32_t n = 0;
	BERTH_TRY_NEW(mem, s->n_units, err, l->group);
	for (int32_t i = 0; i < s->n_units; i++) {
		const unit *u = &s->unit[i];
		int32_t at = 0;
		if (u->from == u->to)
			continue;
		while (at < n && !(l->group[at].kind == u->kind && l->group[at].from == u->from &&
		                   l->group[at].to == u->to))
			at++;
		if (at == n)
			l->group[n++] = (berth_layout_group){.kind = u->kind, .from = u->from, .to = u->to};
		l->group[at].n += u->n;
	}
	l->n_groups = n;
	BERTH_TRY(berth_layout_flow(s->x, l, mem, s->tmp, err));
	*per_s = l->per_s;
	return BERTH_OK;
}

/* The same without its ways: where no link and no time limits it, the least rate of a layer. */
static berth_status find_flow(search *s, double *per_s, berth_err *err)
{
	BERTH_SCRATCH(s->own);
	berth_layers l;
	*per_s = least_rate(s);
	return s->x->link_per_s || s->x->aligned || s->x->strict ? flow_of(s, &l, s->own, per_s, err)
	                                                         : BERTH_OK;
}

/* One step: some units out and in again. Taken back unless what lacks, or with by_flow the flow, is not
 * worse, or not by much. */
static berth_status step(search *s, double heat, bool by_flow, double *value, berth_err *err)
{
	unit was[MOST_OUT];
	int32_t out[MOST_OUT], n = choose_out(s, out);
	double now;
	BERTH_COPY(s->kept, s->has, s->x->n_layers);
	for (int32_t i = 0; i < n; i++) {
		was[i] = s->unit[out[i]];
		give(s, &was[i], -1);
		s->unit[out[i]].to = s->unit[out[i]].from = 0;
	}
	order_out(s, out, n);
	for (int32_t i = 0; i < n; i++)
		if (berth_rng_below(&s->rng, by_flow ? 2 : s->n_units <= MOST_OUT ? 4 : 16) == 0)
			place_anywhere(s, &s->unit[out[i]]);
		else
			place_unit(s, &s->unit[out[i]], true);
	if (by_flow) {
		BERTH_TRY(find_flow(s, &now, err));
		keep_best(s, now);
		now = 1e-2 * lack_all(s) / s->x->n_layers - now;
	} else {
		now = lack_all(s);
		keep_best(s, least_rate(s));
	}
	if (now <= *value - heat * log(fmax(1e-12, berth_rng_unit(&s->rng)))) {
		*value = now;
		return BERTH_OK;
	}
	for (int32_t i = n - 1; i >= 0; i--)
		s->unit[out[i]] = was[i];
	BERTH_COPY(s->has, s->kept, s->x->n_layers);
	return BERTH_OK;
}

static void begin_with(search *s, const unit *from)
{
	BERTH_COPY(s->unit, from, s->n_units);
	BERTH_CLEAR(s->has, s->x->n_layers);
	for (int32_t i = 0; i < s->n_units; i++)
		give(s, &s->unit[i], 1);
}

/* From the best so far, or anew, until that is reached. */
static berth_status ask_for(search *s, double per_s, int32_t effort, bool by_flow, bool anew, berth_err *err)
{
	double value;
	s->asked = per_s;
	begin_with(s, s->best);
	for (int32_t i = 0; anew && i < s->n_units; i++) {
		give(s, &s->unit[i], -1);
		place_anywhere(s, &s->unit[i]);
	}
	value = by_flow ? 1e-2 * lack_all(s) / s->x->n_layers - (anew ? 0 : s->best_per_s) : lack_all(s);
	for (int32_t i = 0; i < effort && s->best_per_s < per_s * (1 - 1e-12) && !is_over(s); i++)
		BERTH_TRY(step(s, 0.02 * per_s * (1 - (double)i / effort), by_flow, &value, err));
	return BERTH_OK;
}

/* From nothing, the strong kinds first: those of one kind after those of the other. */
static void build_up(search *s, double per_s)
{
	s->asked = per_s;
	BERTH_CLEAR(s->has, s->x->n_layers);
	for (int32_t i = 0; i < s->n_units && !may_end(s); i++)
		place_unit(s, &s->unit[i], false);
	keep_best(s, least_rate(s));
}

/* Stages of nearly equal length, each node to the one with the least rate of those that it can hold (as Swarm
 * does: Ryabinin, Dettmers, Diskin, Borzunov, ICML 2023). */
static berth_status build_stages(search *s, int32_t n, bool by_flow, berth_err *err)
{
	int32_t L = s->x->n_layers;
	BERTH_CLEAR(s->has, L);
	for (int32_t i = 0; i < s->n_units; i++) {
		unit *u = &s->unit[i];
		u->from = u->to = 0;
		for (int32_t k = 0; k < n; k++) {
			int32_t from = k * L / n, to = (k + 1) * L / n;
			if (rate_at(s, u->kind, from, to) > 0 &&
			    (u->to == 0 || s->has[from] < s->has[u->from])) {
				u->from = from;
				u->to = to;
			}
		}
		give(s, u, 1);
	}
	if (!by_flow || least_rate(s) <= s->best_per_s) {
		keep_best(s, by_flow ? 0 : least_rate(s));
		return BERTH_OK;
	}
	double per_s;
	BERTH_TRY(find_flow(s, &per_s, err));
	keep_best(s, per_s);
	return BERTH_OK;
}

/* The flow that is asked for between the best so far and the least that was not reached, halved each time. */
static berth_status raise(search *s, double high, int32_t effort, bool by_flow, berth_err *err)
{
	for (int32_t n = 1; n <= s->x->n_layers && !may_end(s); n++)
		BERTH_TRY(build_stages(s, n, by_flow, err));
	for (int round = 0; round < 12 && high > s->best_per_s * 1.001 && !is_over(s); round++) {
		double ask = round ? (s->best_per_s + high) / 2 : high;
		BERTH_TRY(ask_for(s, ask, effort, by_flow, by_flow && round % 2 == 1, err));
		high = s->best_per_s < ask * (1 - 1e-12) ? ask : high;
	}
	return BERTH_OK;
}

/* ---- all of it ---- */

berth_status layout_check(const berth_layout_task *x, berth_err *err)
{
	int32_t L = x->n_layers;
	if (L < 1 || L > BERTH_MOST_LAYOUT_LAYERS)
		return berth_fail(err, BERTH_EINVAL, "%d layers; expected 1 to %d", L,
		                  BERTH_MOST_LAYOUT_LAYERS);
	for (int32_t k = 0; k < x->n_kinds; k++) {
		const berth_layout_kind *d = &x->kind[k];
		for (int32_t i = 0; i < (L + 1) * (L + 1); i++)
			if (!(d->now.per_s[i] >= 0 && d->now.per_s[i] < 1e12))
				return berth_fail(err, BERTH_EINVAL,
				                  "a node of %.80s with layers %d to %d has %.10g requests a "
				                  "second; expected 0 to 1e12",
				                  d->name, i / (L + 1) + 1, i % (L + 1), d->now.per_s[i]);
		for (int32_t i = 0; x->link_per_s && i < berth_max(x->n_links, 1) * x->n_kinds; i++) {
			int32_t o = i % x->n_kinds;
			double per_s = x->link_per_s[(i / x->n_kinds * x->n_kinds + k) * x->n_kinds + o];
			if (!(per_s >= 0))
				return berth_fail(err, BERTH_EINVAL,
				                  "links from %.80s to %.80s carry %.10g requests a second; "
				                  "expected 0 or more",
				                  d->name, x->kind[o].name, per_s);
		}
	}
	return BERTH_OK;
}

static berth_status make_units(search *s, berth_err *err)
{
	const berth_layout_task *x = s->x;
	int32_t L = x->n_layers;
	BERTH_TRY_NEW(s->tmp, x->n_kinds * MOST_UNITS, err, s->unit, s->best);
	BERTH_TRY_NEW(s->tmp, x->n_kinds, err, s->strength);
	BERTH_TRY_NEW(s->tmp, L + 1, err, s->has, s->kept, s->need, s->lack);
	BERTH_TRY_NEW(s->tmp, x->n_kinds * L, err, s->end);
	for (int32_t i = 0; i < x->n_kinds * L; i++) {
		s->end[i] = i % L;
		for (int32_t t = i % L + 1; t <= L; t++)
			s->end[i] = rate_at(s, i / L, i % L, t) > 0 ? t : s->end[i];
	}
	for (int32_t k = 0; k < x->n_kinds; k++) {
		int64_t nodes = x->kind[k].n_nodes, n = berth_min(nodes, MOST_UNITS);
		for (int32_t f = 0; f < L; f++)
			for (int32_t t = f + 1; t <= L; t++)
				s->strength[k] = fmax(s->strength[k], (t - f) * rate_at(s, k, f, t));
		for (int64_t i = 0; i < n; i++)
			s->unit[s->n_units++] = (unit){.kind = k, .n = nodes / n + (i < nodes % n)};
	}
	for (int32_t i = 1; i < s->n_units; i++) /* the strong kinds first */
		for (int32_t k = i; k > 0 && s->strength[s->unit[k - 1].kind] < s->strength[s->unit[k].kind];
		     k--) {
			unit swap = s->unit[k];
			s->unit[k] = s->unit[k - 1];
			s->unit[k - 1] = swap;
		}
	BERTH_COPY(s->best, s->unit, s->n_units); /* they hold nothing */
	return BERTH_OK;
}

/* Units as near to given groups as their numbers allow. */
static void take_start(search *s, const berth_layers *start)
{
	BERTH_CLEAR(s->has, s->x->n_layers);
	for (int32_t i = 0; i < s->n_units; i++)
		s->unit[i].from = s->unit[i].to = 0;
	for (int32_t g = 0; g < start->n_groups; g++) {
		int64_t left = start->group[g].n;
		for (int32_t i = 0; i < s->n_units && left > 0; i++) {
			unit *u = &s->unit[i];
			if (u->kind != start->group[g].kind || u->to > u->from ||
			    !(rate_at(s, u->kind, start->group[g].from, start->group[g].to) > 0))
				continue;
			u->from = start->group[g].from;
			u->to = start->group[g].to;
			give(s, u, 1);
			left -= u->n;
		}
	}
	keep_best(s, least_rate(s));
}

static bool comes_before(const berth_layout_group *a, const berth_layout_group *b)
{
	return a->from < b->from || (a->from == b->from && a->to < b->to);
}

/* The weak ones first, those go whose lack costs nothing. */
static berth_status leave_out(search *s, berth_layers *l, berth_arena *mem, berth_err *err)
{
	double per_s = s->best_per_s;
	begin_with(s, s->best);
	for (int32_t i = s->n_units - 1; i >= 0 && !is_over(s); i--) {
		unit was = s->unit[i];
		double now;
		if (was.from == was.to)
			continue;
		give(s, &was, -1);
		s->unit[i].from = s->unit[i].to = 0;
		now = least_rate(s);
		if (now >= per_s * (1 - 1e-9))
			BERTH_TRY(find_flow(s, &now, err));
		if (now >= per_s * (1 - 1e-9))
			continue;
		s->unit[i] = was;
		give(s, &was, 1);
	}
	BERTH_TRY(flow_of(s, l, mem, &per_s, err));
	for (int32_t i = 1; i < l->n_groups; i++) /* by their first layers */
		for (int32_t k = i; k > 0 && comes_before(&l->group[k], &l->group[k - 1]); k--) {
			berth_layout_group swap = l->group[k];
			l->group[k] = l->group[k - 1];
			l->group[k - 1] = swap;
		}
	return berth_layout_flow(s->x, l, mem, s->tmp, err);
}

static berth_status run(search *s, const berth_layers *start, int n, int32_t effort, berth_layers *out,
                        berth_arena *mem, berth_err *err)
{
	berth_layers now;
	double per_s;
	BERTH_TRY(make_units(s, err));
	out->bound_per_s = start->bound_per_s;
	if (!(out->bound_per_s > 0))
		BERTH_TRY(berth_layout_bound(s->x, s->tmp, &out->bound_per_s, err));
	if (!(out->bound_per_s > 0))
		return BERTH_OK;
	for (int i = 0; i < n; i++)
		take_start(s, &start[i]);
	s->bound_per_s = out->bound_per_s;
	for (int i = 0; i < 20 && !may_end(s); i++) { /* one answer at the least */
		for (int32_t k = 0; k < s->n_units; k++)
			s->unit[k].from = s->unit[k].to = 0;
		build_up(s, out->bound_per_s * (1 - 0.04 * i));
	}
	BERTH_TRY(raise(s, out->bound_per_s, effort, false, err));
	begin_with(s, s->best);
	BERTH_TRY(flow_of(s, &now, mem, &per_s, err));
	if (per_s < s->best_per_s * (1 - 1e-6) || s->n_units <= MOST_OUT) {
		double most = fmin(1, (double)MOST_OUT / s->n_units); /* a flow takes that many times longer
		                                                       */
		s->best_per_s = per_s;
		BERTH_TRY(raise(s, out->bound_per_s, (int32_t)ceil(effort * most * most), true, err));
	}
	BERTH_TRY(leave_out(s, &now, mem, err));
	out->per_s = now.per_s;
	BERTH_COPY(out->time_s, now.time_s, BERTH_MOST_LAYOUT_LIMITS);
	out->group = now.group;
	out->n_groups = now.n_groups;
	out->way = now.way;
	out->n_ways = now.n_ways;
	return BERTH_OK;
}

berth_status layout_ruin(const berth_layout_task *x, const berth_layers *start, int n, int32_t effort,
                         uint64_t seed, berth_arena *mem, berth_arena *tmp, berth_layers *out, berth_err *err)
{
	BERTH_ARENA(own);
	search s = {.x = x, .tmp = tmp, .own = &own, .rng = berth_rng_seed(seed, BERTH_STREAM_WALK)};
	berth_layers r = {0};
	BERTH_SCRATCH(tmp);
	BERTH_TRY(layout_check(x, err));
	BERTH_TRY(run(&s, start, n, effort, &r, mem, err));
	*out = r;
	return BERTH_OK;
}
