/* Layouts within limits of the time that a request takes. Layers are due at times that grow with them: a
 * range is there in the mode that serves most of those that are done in time, requests go on where they come
 * in time, and so none takes longer than it may. When layers are due is what is searched for. */
#include "layout.h"

#include "rng.h"
#include "search.h"

/* ---- modes ---- */

static berth_status new_rates(int32_t n_layers, berth_arena *mem, berth_layout_rates *out, berth_err *err)
{
	int32_t size = (n_layers + 1) * (n_layers + 1);
	BERTH_TRY_NEW(mem, size, err, out->per_s, out->most_per_s);
	BERTH_TRY_NEW(mem, size, err, out->time_s[0], out->time_s[1]);
	BERTH_TRY_NEW(mem, size, err, out->batch, out->read_bytes);
	BERTH_TRY_NEW(mem, size, err, out->link_out, out->link_in);
	return BERTH_OK;
}

berth_status berth_layout_kind_new(berth_layout_kind *out, const char *name, int64_t n_nodes,
                                   int32_t n_layers, int32_t n_modes, berth_arena *mem, berth_err *err)
{
	int32_t size = (n_layers + 1) * (n_layers + 1);
	berth_layout_rates *mode;
	BERTH_TRY_NEW(mem, n_modes, err, mode);
	*out = (berth_layout_kind){.name = name, .n_nodes = n_nodes, .mode = mode, .n_modes = n_modes};
	for (int32_t i = 0; i < n_modes; i++)
		BERTH_TRY(new_rates(n_layers, mem, &mode[i], err));
	BERTH_TRY(new_rates(n_layers, mem, &out->now, err));
	BERTH_TRY_NEW(mem, size, err, out->least_s[0], out->least_s[1]);
	for (int32_t i = 0; i < size; i++)
		out->least_s[0][i] = out->least_s[1][i] = INFINITY;
	return BERTH_OK;
}

void berth_layout_offer(const berth_layout_kind *d, int32_t n_layers, int32_t mode, int32_t from, int32_t to,
                        double per_s, double most_per_s, const double *time_s, int64_t batch,
                        int64_t read_bytes, int32_t link)
{
	int32_t at = from * (n_layers + 1) + to;
	const berth_layout_rates *m = &d->mode[mode < d->n_modes ? mode : 0];
	m->most_per_s[at] = fmax(m->most_per_s[at], most_per_s);
	for (int i = 0; i < BERTH_MOST_LAYOUT_LIMITS; i++)
		d->least_s[i][at] = fmin(d->least_s[i][at], time_s[i]);
	if (per_s <= m->per_s[at])
		return;
	m->per_s[at] = per_s;
	m->batch[at] = batch;
	m->read_bytes[at] = read_bytes;
	m->link_out[at] = m->link_in[at] = link;
	for (int i = 0; i < BERTH_MOST_LAYOUT_LIMITS; i++)
		m->time_s[i][at] = time_s[i];
}

/* From a node of kind o on to one of kind k, by the links that are quickest. */
static double least_way_s(const berth_layout_task *x, int32_t limit, int32_t o, int32_t k)
{
	const double *link_s = x->limit[limit].link_s;
	int32_t n = x->n_kinds, at = o * n + k;
	double least = link_s ? INFINITY : 0;
	for (int32_t i = 0; link_s && i < berth_max(x->n_links, 1); i++)
		least = fmin(least, link_s[i * n * n + at]);
	return x->link_per_s && x->link_per_s[at] <= 0 ? INFINITY : least;
}

/* On the way to a node of kind k, at least; 0 where nothing has to come to it. */
static void least_ways_s(const berth_layout_task *x, int32_t k, double way_s[BERTH_MOST_LAYOUT_LIMITS])
{
	for (int32_t i = 0; i < x->n_limits; i++) {
		way_s[i] = INFINITY;
		for (int32_t o = 0; o < x->n_kinds; o++)
			way_s[i] =
				x->kind[o].n_nodes > 0 ? fmin(way_s[i], least_way_s(x, i, o, k)) : way_s[i];
	}
}

/* What a request takes at least from where it is done with the layers before from to where it is with to. */
static double need_s(const berth_layout_task *x, int32_t limit, const berth_layout_rates *m,
                     const double *way_s, int32_t from, int32_t to)
{
	return (from > 0 ? way_s[limit] : 0) + m->time_s[limit][from * (x->n_layers + 1) + to];
}

static void choose_mode(const berth_layout_task *x, const berth_layout_kind *d, const double *way_s,
                        int32_t from, int32_t to)
{
	int32_t at = from * (x->n_layers + 1) + to;
	d->now.per_s[at] = 0;
	for (int32_t i = 0; i < d->n_modes; i++) {
		const berth_layout_rates *m = &d->mode[i];
		bool can = m->per_s[at] > d->now.per_s[at];
		for (int32_t l = 0; l < x->n_limits && can; l++) {
			const double *due_s = x->limit[l].due_s;
			can = !due_s ||
			      need_s(x, l, m, way_s, from, to) <= (due_s[to] - due_s[from]) * (1 + 1e-9);
		}
		if (!can)
			continue;
		d->now.per_s[at] = m->per_s[at];
		d->now.batch[at] = m->batch[at];
		d->now.read_bytes[at] = m->read_bytes[at];
		d->now.link_out[at] = m->link_out[at];
		d->now.link_in[at] = m->link_in[at];
		for (int32_t l = 0; l < x->n_limits; l++)
			d->now.time_s[l][at] = m->time_s[l][at];
	}
}

void berth_layout_choose(const berth_layout_task *x)
{
	double way_s[BERTH_MOST_LAYOUT_LIMITS];
	for (int32_t k = 0; k < x->n_kinds; k++) {
		least_ways_s(x, k, way_s);
		for (int32_t f = 0; f < x->n_layers && x->kind[k].n_modes; f++)
			for (int32_t t = f + 1; t <= x->n_layers; t++)
				choose_mode(x, &x->kind[k], way_s, f, t);
	}
}

bool berth_layout_keeps(const berth_layout_task *x, const berth_layers *l)
{
	bool kept = true;
	for (int32_t i = 0; i < x->n_limits; i++)
		kept &= x->limit[i].most_s <= 0 || l->time_s[i] <= x->limit[i].most_s * (1 + 1e-9);
	return kept;
}

double berth_layout_quickest(const berth_layout_task *x, int32_t limit, double *done_s)
{
	double at_s[BERTH_MOST_LAYOUT_LAYERS + 1][BERTH_MOST_LAYOUT_KINDS] = {{0}}, /* comes to a node there
	                                                                             */
		way_s[BERTH_MOST_LAYOUT_KINDS][BERTH_MOST_LAYOUT_KINDS];
	int32_t L = x->n_layers;
	for (int32_t o = 0; o < x->n_kinds; o++)
		for (int32_t k = 0; k < x->n_kinds; k++)
			way_s[o][k] = least_way_s(x, limit, o, k);
	double best = INFINITY;
	for (int32_t t = 1; t <= L; t++) {
		double kind_s[BERTH_MOST_LAYOUT_KINDS];
		best = INFINITY;
		for (int32_t k = 0; k < x->n_kinds; k++) {
			double come_s = INFINITY; /* to any layer that the node holds */
			kind_s[k] = INFINITY;
			for (int32_t f = t - 1; f >= 0 && x->kind[k].n_nodes > 0; f--) {
				come_s = fmin(come_s, at_s[f][k]);
				kind_s[k] =
					fmin(kind_s[k], come_s + x->kind[k].least_s[limit][f * (L + 1) + t]);
			}
			best = fmin(best, kind_s[k]);
		}
		for (int32_t k = 0; k < x->n_kinds; k++) {
			at_s[t][k] = INFINITY;
			for (int32_t o = 0; o < x->n_kinds; o++)
				at_s[t][k] = fmin(at_s[t][k], kind_s[o] + way_s[o][k]);
		}
		if (done_s)
			done_s[t] = best;
	}
	return best;
}

/* ---- when layers are due ---- */

typedef struct dues {
	berth_layout_task x; /* due_s: of now */
	double *now[BERTH_MOST_LAYOUT_LIMITS], *best[BERTH_MOST_LAYOUT_LIMITS];
	berth_rng rng;
} dues;

/* What layers f to t have, from was on, goes from low to high. */
static void stretch(const double *was, int32_t f, int32_t t, double low, double high, double *due_s)
{
	for (int32_t l = f; l <= t; l++) {
		double all = was[t] - was[f],
		       part = all > 0 ? (was[l] - was[f]) / all : (double)(l - f) / (t - f);
		due_s[l] = t == f ? high : low + part * (high - low);
	}
}

/* The layers from .. to-1 have need; what is left the others share as they did, or one side as far as it can
 * has what it had. */
static void give_time(dues *d, int32_t limit, int32_t from, int32_t to, double need)
{
	int32_t L = d->x.n_layers;
	double was[BERTH_MOST_LAYOUT_LAYERS + 1], most = d->x.limit[limit].most_s, left = most - need;
	BERTH_COPY(was, d->now[limit], L + 1);
	double before = was[from], behind = most - was[to];
	uint32_t how = berth_rng_below(&d->rng, 3);
	if (how == 1)
		before = fmin(before, left);
	else if (how == 2)
		before = fmax(0, left - behind);
	else
		before = before + behind > 0 ? left * before / (before + behind) : left / 2;
	before = from == 0 ? 0 : to == L ? left : before;
	stretch(was, 0, from, 0, before, d->now[limit]);
	stretch(was, to, L, before + need, most, d->now[limit]);
	stretch(was, from, to, before, before + need, d->now[limit]);
}

/* A range gets just the time that a mode needs. */
static void move(dues *d)
{
	const berth_layout_task *x = &d->x;
	int32_t L = x->n_layers;
	for (int tries = 0; tries < 100; tries++) {
		int32_t k = (int32_t)berth_rng_below(&d->rng, (uint32_t)x->n_kinds),
			from = (int32_t)berth_rng_below(&d->rng, (uint32_t)L),
			to = from + 1 + (int32_t)berth_rng_below(&d->rng, (uint32_t)(L - from));
		const berth_layout_kind *of = &x->kind[k];
		const berth_layout_rates *m = &of->mode[berth_rng_below(&d->rng, (uint32_t)of->n_modes)];
		double way_s[BERTH_MOST_LAYOUT_LIMITS], need[BERTH_MOST_LAYOUT_LIMITS];
		bool can = of->n_nodes > 0 && m->per_s[from * (L + 1) + to] > 0;
		least_ways_s(x, k, way_s);
		for (int32_t i = 0; i < x->n_limits; i++) {
			need[i] = need_s(x, i, m, way_s, from, to);
			can &= !x->limit[i].due_s || need[i] <= x->limit[i].most_s;
		}
		for (int32_t i = 0; i < x->n_limits && can; i++)
			if (x->limit[i].due_s)
				give_time(d, i, from, to, need[i]);
		if (can)
			return;
	}
}

static void take(dues *d, double *const *from, double *const *to)
{
	for (int32_t i = 0; i < d->x.n_limits; i++)
		BERTH_COPY(to[i], from[i], d->x.n_layers + 1);
}

/* Layers are due in the share of time that the quickest has: first later, and what keeps the limits all the
 * same is taken; then, with requests that keep to it, what was best so far is moved. start [2]: of the search
 * without limits, and the caller's. */
static berth_status search_dues(dues *d, const berth_layout_task *given, const berth_layers *start,
                                int32_t effort, uint64_t seed, berth_arena *mem, berth_arena *tmp,
                                berth_layers *out, berth_err *err)
{
	static const double slack[] = {2, 1.4, 1, 0.7, 0.5};
	enum { ROUNDS = 200, LOOSE = sizeof slack / sizeof *slack };
	int32_t L = given->n_layers;
	d->x = *given;
	d->rng = berth_rng_seed(seed, BERTH_STREAM_WALK);
	for (int32_t i = 0; i < d->x.n_limits; i++) {
		double most_s = d->x.limit[i].most_s, least_s;
		BERTH_TRY_NEW(tmp, L + 1, err, d->now[i], d->best[i]);
		if (most_s <= 0)
			continue;
		least_s = berth_layout_quickest(&d->x, i, d->best[i]);
		if (!(least_s <= most_s * (1 + 1e-9)))
			return BERTH_OK;
		for (int32_t l = 0; l <= L; l++)
			d->best[i][l] *= most_s / fmax(least_s, 1e-300);
		d->x.limit[i].due_s = d->now[i];
	}
	for (int r = 0; r < ROUNDS; r++) {
		bool loose = r < LOOSE, long_one = loose || r == ROUNDS - 1;
		berth_search_cfg part;
		berth_layers now, from[] = {out->per_s > 0 ? *out : start[0], start[1]};
		if ((r >= LOOSE || out->per_s > 0) && given->cfg && berth_search_cfg_over(given->cfg))
			return BERTH_OK;
		from[0].bound_per_s = out->bound_per_s;
		d->x.cfg = berth_layout_part(given->cfg, loose ? 2 * (LOOSE - r) : ROUNDS - r, &part);
		d->x.spare |= out->per_s > 0;
		d->x.strict = !loose;
		take(d, d->best, d->now);
		for (int32_t i = 0; i < d->x.n_limits && loose; i++)
			for (int32_t l = 0; l <= L; l++)
				d->now[i][l] *= slack[r];
		for (int m = 0; !long_one && r > LOOSE && m <= r % 3; m++)
			move(d);
		berth_layout_choose(&d->x);
		BERTH_TRY(layout_ruin(&d->x, from, 2, long_one ? (effort + 2) / 3 : effort / ROUNDS + 1,
		                      seed + (uint64_t)r, mem, tmp, &now, err));
		if (now.per_s < out->per_s || !berth_layout_keeps(given, &now))
			continue;
		*out = now;
		if (!loose)
			take(d, d->now, d->best);
	}
	return BERTH_OK;
}

berth_status berth_layout_search(const berth_layout_task *x, const berth_layers *start, int32_t effort,
                                 uint64_t seed, berth_arena *mem, berth_arena *tmp, berth_layers *out,
                                 berth_err *err)
{
	berth_layers r = {0}, known[2] = {start ? *start : r, start ? *start : r};
	berth_layout_task free = *x;
	berth_search_cfg part;
	bool limited = false;
	dues d;
	BERTH_SCRATCH(tmp);
	for (int32_t i = 0; i < x->n_limits; i++) {
		limited |= x->limit[i].most_s > 0;
		free.limit[i].most_s = 0;
	}
	berth_layout_choose(&free);
	if (limited) {
		BERTH_TRY(layout_check(x, err));
		if (!(known->bound_per_s > 0))
			BERTH_TRY(berth_layout_bound(x, tmp, &known->bound_per_s, err));
		r.bound_per_s = known->bound_per_s;
		known->bound_per_s = 0;
		free.cfg = berth_layout_part(x->cfg, 4, &part);
	}
	BERTH_TRY(layout_ruin(&free, known, 1, effort, seed, mem, tmp, known, err));
	if (limited)
		known->bound_per_s = r.bound_per_s;
	if (!limited || (known->per_s > 0 && berth_layout_keeps(x, known)))
		r = *known;
	else
		BERTH_TRY(search_dues(&d, x, known, effort, seed, mem, tmp, &r, err));
	*out = r;
	return BERTH_OK;
}
