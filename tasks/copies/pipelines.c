/* What a pipeline's step takes, exactly: 1F1B pass by pass. What its devices hold, its costs, and a bound. */
#include "pipelines.h"

/* ---- a stage ---- */

/* Of a part with the layers from .. to-1; INFINITY: it cannot run them. */
static double pass_s(const berth_train_task *x, const berth_train_part *a, int32_t from, int32_t to,
                     double *back_s)
{
	const berth_train_kind *k = &x->kind[a->kind];
	const berth_train_times *t = &k->times[a->batch * k->n_widths + a->width];
	*back_s = t->backward_s[to] - t->backward_s[from];
	return k->barred[to] > k->barred[from] ? INFINITY : t->forward_s[to] - t->forward_s[from];
}

static double hop_s(berth_train_hop h, double bytes)
{
	return h.latency_s + h.byte_s * bytes;
}

/* The slower of two ways. */
static berth_train_hop slower(berth_train_hop a, berth_train_hop b)
{
	return (berth_train_hop){fmax(a.latency_s, b.latency_s), fmax(a.byte_s, b.byte_s)};
}

/* All-reduce around a ring of all replicas. Those that fill a host, or a half, a quarter, ... of one, are in
 * one host, as blocks of such sizes always pack; each of a replica's devices adds up its own part there.
 * Between hosts all of it goes over one wire. */
static double sum_s(const berth_train_task *x, const berth_train_stage *g, double bytes)
{
	const berth_train_part *a = g->part;
	const berth_train_kind *k = &x->kind[a->kind];
	berth_train_hop way = {0};
	int32_t n = 0, all = a->n << a->width;
	for (const berth_train_part *p = a; p < a + g->n_parts; p++) {
		n += p->n;
		for (const berth_train_part *q = a; q <= p; q++)
			way = slower(way, x->hop[p->kind][q->kind]);
	}
	if (n < 2)
		return 0;
	if (g->n_parts == 1 && all <= berth_train_width(k->n_widths - 1) && (all & (all - 1)) == 0) {
		way = k->inside;
		bytes /= berth_train_width(a->width);
	}
	return 2.0 * (n - 1) * hop_s(way, bytes / n);
}

bool berth_train_stage_value(const berth_train_task *x, berth_train_stage *g, int32_t in_flight)
{
	double bytes = (double)(x->param_bytes[g->to] - x->param_bytes[g->from]), update_s = 0;
	g->forward_s = g->backward_s = 0;
	for (berth_train_part *a = g->part; a < g->part + g->n_parts; a++) {
		const berth_train_kind *k = &x->kind[a->kind];
		const double *update = k->times[a->batch * k->n_widths + a->width].update_s;
		const int64_t *kept = x->kept_bytes[a->batch];
		double back_s, ahead_s = pass_s(x, a, g->from, g->to, &back_s);
		int64_t all = x->held_bytes[g->to] - x->held_bytes[g->from] +
		              in_flight * (kept[g->to] - kept[g->from]) + x->work_bytes[a->batch];
		a->memory_bytes = (all + berth_train_width(a->width) - 1) >> a->width;
		if (isinf(ahead_s) || (k->memory_bytes >= 0 && a->memory_bytes > k->memory_bytes))
			return false;
		g->forward_s = fmax(g->forward_s, ahead_s);
		g->backward_s = fmax(g->backward_s, back_s);
		update_s = fmax(update_s, update[g->to] - update[g->from]);
	}
	g->sync_s = sum_s(x, g, bytes) + update_s;
	return isfinite(g->sync_s);
}

/* Hosts of a stage, at least, that send at once. */
static int32_t ways_of(const berth_train_task *x, const berth_train_stage *g)
{
	int32_t n = 0;
	for (int32_t i = 0; i < g->n_parts; i++)
		n += ((g->part[i].n << g->part[i].width) + x->kind[g->part[i].kind].per_host - 1) /
		     x->kind[g->part[i].kind].per_host;
	return n;
}

void berth_train_border(const berth_train_task *x, const berth_train_stage *a, const berth_train_stage *b,
                        double *ahead_s, double *back_s)
{
	double ahead = 0, back = 0;
	berth_train_hop way = {0};
	int32_t in = ways_of(x, a), out = ways_of(x, b), ways = x->one_wire ? 1 : in < out ? in : out;
	for (int32_t i = 0; i < b->n_parts; i++) {
		const berth_train_part *p = &b->part[i];
		ahead += (double)p->n * (double)x->forward_bytes[p->batch][b->from];
		back += (double)p->n * (double)x->backward_bytes[p->batch][b->from];
		for (int32_t k = 0; k < a->n_parts; k++)
			way = slower(way, x->hop[a->part[k].kind][p->kind]);
	}
	*ahead_s = hop_s(way, ahead / ways);
	*back_s = hop_s(way, back / ways);
}

double berth_train_stage_joules(const berth_train_task *x, const berth_train_stage *g, double n_micro)
{
	double sum = 0;
	for (const berth_train_part *a = g->part; a < g->part + g->n_parts; a++) {
		const berth_train_kind *k = &x->kind[a->kind];
		const double *update = k->times[a->batch * k->n_widths + a->width].update_s;
		double back_s, ahead_s = pass_s(x, a, g->from, g->to, &back_s);
		sum += (double)(a->n << a->width) * (k->busy_w - k->idle_w) *
		       (n_micro * (ahead_s + back_s) + update[g->to] - update[g->from]);
	}
	return sum;
}

double berth_train_goal_value(const berth_train_task *x, double step_s, double joules, const int32_t *n_devs,
                              double *energy_j, double *money)
{
	double idle_w = 0, price_h = 0;
	for (int32_t k = 0; k < x->n_kinds; k++)
		if (n_devs[k] > 0) {
			idle_w += n_devs[k] * x->kind[k].idle_w;
			price_h += n_devs[k] * x->kind[k].price_h;
		}
	*energy_j = joules + idle_w * step_s;
	*money = price_h * step_s / 3600;
	return x->goal == BERTH_TRAIN_TIME     ? step_s
	       : x->goal == BERTH_TRAIN_ENERGY ? *energy_j
	       : x->goal == BERTH_TRAIN_EDP    ? *energy_j * step_s
	                                       : *money;
}

/* ---- the pipeline ---- */

/* Passes of a stage that were made, when it is free, and when what each pass needs arrives. */
typedef struct lane {
	int32_t ahead, back;
	double free_s;
	double *ahead_at, *back_at; /* [n_micro] */
} lane;

/* The next pass of stage s, if what it needs is known: as many micro-batches are in flight as stages follow.
 * A stage is held until what it sends has arrived, as in engines that send without overlap. */
static bool run_next(berth_train_plan *p, lane *l, int32_t s, const double *ahead_s, const double *back_s)
{
	int32_t n = (int32_t)p->n_micro, window = p->n_stages - s, S = p->n_stages;
	lane *me = &l[s];
	bool ahead = me->ahead < n && me->ahead - me->back < window;
	int32_t i = ahead ? me->ahead : me->back;
	if (me->back == n)
		return false;
	if (ahead ? s > 0 && l[s - 1].ahead <= i : s < S - 1 && l[s + 1].back <= i)
		return false;
	double ready = ahead ? (s > 0 ? me->ahead_at[i] : 0) : s < S - 1 ? me->back_at[i] : 0;
	me->free_s = fmax(me->free_s, ready) + (ahead ? p->stage[s].forward_s : p->stage[s].backward_s);
	if (ahead && s < S - 1)
		l[s + 1].ahead_at[i] = me->free_s += ahead_s[s];
	else if (!ahead && s > 0)
		l[s - 1].back_at[i] = me->free_s += back_s[s - 1];
	me->ahead += ahead;
	me->back += !ahead;
	return true;
}

static berth_status run_passes(const berth_train_task *x, berth_train_plan *p, berth_arena *tmp,
                               berth_err *err)
{
	lane l[BERTH_MOST_TRAIN_STAGES] = {0};
	double ahead_s[BERTH_MOST_TRAIN_STAGES], back_s[BERTH_MOST_TRAIN_STAGES];
	for (int32_t s = 0; s < p->n_stages; s++)
		BERTH_TRY_NEW(tmp, p->n_micro, err, l[s].ahead_at, l[s].back_at);
	for (int32_t s = 0; s + 1 < p->n_stages; s++)
		berth_train_border(x, &p->stage[s], &p->stage[s + 1], &ahead_s[s], &back_s[s]);
	for (bool on = true; on;) {
		on = false;
		for (int32_t s = 0; s < p->n_stages; s++)
			while (run_next(p, l, s, ahead_s, back_s))
				on = true;
	}
	p->step_s = 0;
	for (int32_t s = 0; s < p->n_stages; s++)
		p->step_s = fmax(p->step_s, l[s].free_s + p->stage[s].sync_s);
	return BERTH_OK;
}

berth_status berth_train_value(const berth_train_task *x, berth_train_plan *p, bool *fits, berth_arena *tmp,
                               berth_err *err)
{
	int32_t used[BERTH_MOST_TRAIN_KINDS] = {0};
	double joules = 0;
	BERTH_SCRATCH(tmp);
	*fits = false;
	for (int32_t s = 0; s < p->n_stages; s++) {
		berth_train_stage *g = &p->stage[s];
		if (!berth_train_stage_value(x, g, (int32_t)berth_min(p->n_micro, p->n_stages - s)))
			return BERTH_OK;
		joules += berth_train_stage_joules(x, g, (double)p->n_micro);
		for (int32_t i = 0; i < g->n_parts; i++)
			used[g->part[i].kind] += g->part[i].n << g->part[i].width;
	}
	BERTH_TRY(run_passes(x, p, tmp, err));
	p->value = berth_train_goal_value(x, p->step_s, joules, used, &p->energy_j, &p->money);
	*fits = isfinite(p->step_s);
	return BERTH_OK;
}

/* ---- what no plan is below ---- */

void berth_train_least(const berth_train_task *x, double *work, double *path_s, double *speed)
{
	double share[BERTH_MOST_TRAIN_KINDS][2]; /* of a kind: all layers, those that it can run */
	for (int pass = 0; pass < 2; pass++)
		for (int32_t l = 0; l < x->n_layers; l++) {
			double least = INFINITY, quick = INFINITY;
			for (int32_t k = 0; k < x->n_kinds; k++) {
				const berth_train_kind *d = &x->kind[k];
				double own = INFINITY;
				for (int32_t i = 0; i < x->n_batches * d->n_widths; i++) {
					const berth_train_times *t = &d->times[i];
					double s = t->forward_s[l + 1] - t->forward_s[l] +
					           t->backward_s[l + 1] - t->backward_s[l];
					if (d->barred[l + 1] > d->barred[l])
						continue;
					own = fmin(own, s * berth_train_width(i % d->n_widths) /
					                        (double)x->batch[i / d->n_widths]);
					quick = fmin(quick, s);
				}
				if (pass == 0 && l == 0)
					share[k][0] = share[k][1] = 0;
				if (pass == 0)
					share[k][isinf(own)] += isinf(own) ? 1 : own;
				least = pass == 1 ? fmin(least, own / fmax(share[k][0], 1e-30)) : 0;
			}
			if (pass == 1) {
				work[l + 1] = work[l] + (isfinite(least) ? least : 0);
				path_s[l + 1] = path_s[l] + (isfinite(quick) ? quick : 0);
			}
		}
	for (int32_t k = 0; k < x->n_kinds; k++)
		speed[k] = share[k][1] < x->n_layers ? 1 / fmax(share[k][0], 1e-30) : 0;
}

double berth_train_bound_of(const berth_train_task *x, double work, double path_s, const double *speed)
{
	double all = 0;
	for (int32_t k = 0; k < x->n_kinds; k++)
		all += x->kind[k].n_devs * speed[k];
	return fmax(all > 0 ? (double)x->samples * work / all : 0, path_s) * (1 - 1e-9);
}

int64_t berth_train_lacks(const berth_train_task *x, int32_t from, int32_t to, int64_t *need, int32_t *kind,
                          int32_t *width)
{
	int64_t best = INT64_MAX;
	for (int32_t k = 0; k < x->n_kinds; k++)
		for (int32_t i = 0; i < x->n_batches * x->kind[k].n_widths; i++) {
			int32_t b = i / x->kind[k].n_widths, w = i % x->kind[k].n_widths;
			int64_t all = x->held_bytes[to] - x->held_bytes[from] + x->kept_bytes[b][to] -
			              x->kept_bytes[b][from] + x->work_bytes[b],
				each = (all + berth_train_width(w) - 1) >> w;
			int64_t lacks = x->kind[k].memory_bytes < 0 ? -1 : each - x->kind[k].memory_bytes;
			if (x->kind[k].barred[to] == x->kind[k].barred[from] && lacks < best) {
				best = lacks;
				*need = each;
				*kind = k;
				*width = berth_train_width(w);
			}
		}
	return best;
}
