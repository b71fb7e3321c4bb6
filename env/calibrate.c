/* See calibrate.h. */
#include "calibrate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double least_s = 1e-9;

berth_status berth_calibration_new(const berth_graph *g, const berth_system *s, const double *time_s, berth_arena *mem, berth_calibration *out, berth_err *err)
{
	berth_calibration c = {.g = g, .s = s, .mem = mem};
	size_t n = (size_t)g->n_ops * (size_t)s->n_devs;
	BERTH_TRY(BERTH_NEW(mem, c.time_s, n, err));
	for (size_t i = 0; i < n; i++)
		c.time_s[i] = time_s[i] < least_s ? least_s : time_s[i]; /* a NAN stays */
	*out = c;
	return BERTH_OK;
}

/* ---- what a run tells ---- */

/* One sample of one segment: where its time went. */
typedef struct moment {
	double own_s;    /* its work, and the wait for nothing but the device */
	double hand_s;   /* hand-off of a link; NAN: it waited for none */
	int32_t link;
	int64_t bytes;
} moment;

typedef struct reader {
	const berth_calibration *c;
	const berth_measurement *m;
	int32_t *op_segment; /* [n_ops] */
	int32_t *before;     /* [n_segments] the segment that its device ran before; -1 */
	int32_t sample;
} reader;

typedef struct by_time {
	double start_s;
	int32_t segment;
} by_time;

static int earlier(const void *a, const void *b)
{
	const by_time *x = a, *y = b;
	if (x->start_s != y->start_s)
		return x->start_s < y->start_s ? -1 : 1;
	return x->segment - y->segment;
}

static berth_status open_reader(const berth_calibration *c, const berth_measurement *m, berth_arena *tmp, reader *r, berth_err *err)
{
	by_time *order;
	int32_t *last;
	*r = (reader){.c = c, .m = m};
	BERTH_TRY(BERTH_NEW(tmp, r->op_segment, c->g->n_ops, err));
	BERTH_TRY(BERTH_NEW(tmp, r->before, m->n_segments, err));
	BERTH_TRY(BERTH_NEW(tmp, order, m->n_segments, err));
	BERTH_TRY(BERTH_NEW(tmp, last, c->s->n_devs, err));
	memset(last, -1, (size_t)c->s->n_devs * sizeof *last);
	for (int32_t k = 0; k < m->n_segments; k++) {
		order[k] = (by_time){m->segment[k].start_s[0], k};
		for (int32_t i = 0; i < m->segment[k].n_ops; i++)
			r->op_segment[m->segment[k].op[i]] = k;
	}
	qsort(order, (size_t)m->n_segments, sizeof *order, earlier);
	for (int32_t i = 0; i < m->n_segments; i++) {
		int32_t k = order[i].segment;
		r->before[k] = last[m->segment[k].dev];
		last[m->segment[k].dev] = k;
	}
	return BERTH_OK;
}

/* Latest tensor that came to segment k from elsewhere: when it was made, where, and its bytes. */
static double last_arrival(const reader *r, int32_t k, int32_t *from, int64_t *bytes)
{
	const berth_graph *g = r->c->g;
	const berth_segment *s = &r->m->segment[k];
	double latest = -1;
	for (int32_t i = 0; i < s->n_ops; i++)
		for (int32_t e = g->op_in_off[s->op[i]]; e < g->op_in_off[s->op[i] + 1]; e++) {
			int32_t t = g->in_tensor[e];
			const berth_segment *maker = &r->m->segment[r->op_segment[g->tensor_producer[t]]];
			double made = maker->end_s[r->sample];
			if (maker->dev == s->dev || made <= latest)
				continue;
			latest = made;
			*from = maker->dev;
			*bytes = g->tensor_bytes[t];
		}
	return latest;
}

static moment look(const reader *r, int32_t k)
{
	const berth_segment *s = &r->m->segment[k];
	int32_t from = 0;
	moment x = {.hand_s = NAN, .link = -1};
	double start = s->start_s[r->sample], free_at = r->before[k] >= 0 ? r->m->segment[r->before[k]].end_s[r->sample] : 0;
	double came = last_arrival(r, k, &from, &x.bytes);
	x.own_s = s->end_s[r->sample] - start;
	if (came > free_at) {
		x.hand_s = fmax(0, start - came);
		x.link = r->c->s->link_of[from * r->c->s->n_devs + s->dev];
	} else {
		x.own_s += fmax(0, start - free_at);
	}
	return x;
}

static bool calm(const berth_measurement *m, int32_t sample, double max_strain)
{
	return !(max_strain > 0 && m->strain[sample] > max_strain);
}

/* Median time of segment k over the calm samples; its hand-offs, if any, are kept. NAN: no calm sample. */
static berth_status observe(berth_calibration *c, reader *r, int32_t k, double max_strain, bool keep, double *room, berth_arena *tmp, double *seconds, berth_err *err)
{
	int32_t n = 0, n_hands = 0, link = -1;
	int64_t bytes = 0;
	double *hand = room + r->m->n_samples;
	berth_spread s = {.median = NAN};
	for (r->sample = 0; r->sample < r->m->n_samples; r->sample++) {
		if (!calm(r->m, r->sample, max_strain))
			continue;
		moment x = look(r, k);
		room[n++] = x.own_s;
		if (x.link >= 0) {
			link = x.link;
			bytes = x.bytes;
			hand[n_hands++] = x.hand_s;
		}
	}
	if (n)
		BERTH_TRY(berth_spread_of(room, n, tmp, &s, err));
	*seconds = s.median;
	if (!keep || 2 * n_hands <= n)
		return BERTH_OK;
	BERTH_TRY(berth_spread_of(hand, n_hands, tmp, &s, err));
	BERTH_TRY(BERTH_GROW(c->mem, c->handoff, c->n_handoffs, &c->cap_handoff, err));
	c->handoff[c->n_handoffs++] = (berth_handoff){link, bytes, s.median};
	return BERTH_OK;
}

static bool goes_elsewhere(const reader *r, int32_t t, int32_t dev)
{
	const berth_graph *g = r->c->g;
	for (int32_t e = g->tensor_use_off[t]; e < g->tensor_use_off[t + 1]; e++)
		if (r->m->segment[r->op_segment[g->edge_consumer[e]]].dev != dev)
			return true;
	return false;
}

/* Count the ends of segment k; stamp [n_tensors] has k + 1 where a tensor was counted. */
static void count_ends(const reader *r, int32_t k, int32_t *stamp, berth_observed *o)
{
	const berth_graph *g = r->c->g;
	const berth_segment *s = &r->m->segment[k];
	for (int32_t i = 0; i < s->n_ops; i++) {
		for (int32_t e = g->op_in_off[s->op[i]]; e < g->op_in_off[s->op[i] + 1]; e++) {
			int32_t t = g->in_tensor[e];
			if (stamp[t] == k + 1 || r->m->segment[r->op_segment[g->tensor_producer[t]]].dev == s->dev)
				continue;
			stamp[t] = k + 1;
			o->n_ends++;
			o->end_bytes += (double)g->tensor_bytes[t];
		}
		for (int32_t t = g->op_tensor_off[s->op[i]]; t < g->op_tensor_off[s->op[i] + 1]; t++)
			if (goes_elsewhere(r, t, s->dev)) {
				o->n_ends++;
				o->end_bytes += (double)g->tensor_bytes[t];
			}
	}
}

static berth_status add_all(berth_calibration *c, const berth_measurement *m, double max_strain, berth_arena *tmp, berth_err *err)
{
	reader r;
	double *room;
	int32_t *stamp;
	BERTH_TRY(open_reader(c, m, tmp, &r, err));
	BERTH_TRY(BERTH_NEW(tmp, room, 2 * m->n_samples, err));
	BERTH_TRY(BERTH_NEW(tmp, stamp, c->g->n_tensors, err));
	for (int32_t k = 0; k < m->n_segments; k++) {
		const berth_segment *s = &m->segment[k];
		double seconds;
		BERTH_TRY(observe(c, &r, k, max_strain, true, room, tmp, &seconds, err));
		if (isnan(seconds))
			continue;
		BERTH_TRY(BERTH_GROW(c->mem, c->seen, c->n_seen, &c->cap_seen, err));
		c->seen[c->n_seen] = (berth_observed){s->dev, s->n_ops, s->op, fmax(seconds, least_s), 0, 0};
		count_ends(&r, k, stamp, &c->seen[c->n_seen++]);
	}
	c->n_runs++;
	return BERTH_OK;
}

berth_status berth_calibration_add(berth_calibration *c, const berth_measurement *m, double max_strain, berth_arena *tmp, berth_err *err)
{
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	berth_status st = add_all(c, m, max_strain, tmp, err);
	berth_arena_reset(tmp, mark);
	return st;
}

/* ---- fitting ---- */

static double at_ends(const berth_calibration *c, const berth_observed *o)
{
	return c->end_s * o->n_ends + c->end_s_per_byte * o->end_bytes;
}

static double of_operators(const berth_calibration *c, const berth_observed *o)
{
	double sum = 0;
	for (int32_t i = 0; i < o->n_ops; i++)
		sum += c->time_s[(size_t)o->op[i] * (size_t)c->s->n_devs + (size_t)o->dev];
	return sum;
}

static double predicted(const berth_calibration *c, const berth_observed *o)
{
	return of_operators(c, o) + at_ends(c, o);
}

static void scale(berth_calibration *c, const berth_observed *o, double factor)
{
	for (int32_t i = 0; i < o->n_ops; i++) {
		double *t = &c->time_s[(size_t)o->op[i] * (size_t)c->s->n_devs + (size_t)o->dev];
		*t = fmax(least_s, *t * factor);
	}
}

static double segment_error(const berth_calibration *c)
{
	double wrong = 0, all = 0;
	for (size_t k = 0; k < c->n_seen; k++) {
		wrong += fabs(predicted(c, &c->seen[k]) - c->seen[k].seconds);
		all += c->seen[k].seconds;
	}
	return all > 0 ? wrong / all : 0;
}

/* All of a device first: what no run tells gets that much. */
static void scale_devices(berth_calibration *c)
{
	for (int32_t d = 0; d < c->s->n_devs; d++) {
		double want = 0, have = 0;
		for (size_t k = 0; k < c->n_seen; k++)
			if (c->seen[k].dev == d) {
				want += fmax(c->seen[k].seconds - at_ends(c, &c->seen[k]), 0.1 * c->seen[k].seconds);
				have += of_operators(c, &c->seen[k]);
			}
		for (int32_t op = 0; have > 0 && op < c->g->n_ops; op++)
			c->time_s[(size_t)op * (size_t)c->s->n_devs + (size_t)d] *= want / have;
	}
}

/* Cost of ends by least squares on what the operators leave, relative to each segment; neither figure below 0. */
static void fit_ends(berth_calibration *c)
{
	double nn = 0, nb = 0, bb = 0, rn = 0, rb = 0;
	for (size_t k = 0; k < c->n_seen; k++) {
		const berth_observed *o = &c->seen[k];
		double n = o->n_ends, b = o->end_bytes, w = 1 / o->seconds, left = o->seconds - of_operators(c, o);
		nn += w * n * n;
		nb += w * n * b;
		bb += w * b * b;
		rn += w * n * left;
		rb += w * b * left;
	}
	for (int i = 0; i < 200; i++) {
		c->end_s = nn > 0 ? fmax(0, (rn - nb * c->end_s_per_byte) / nn) : 0;
		c->end_s_per_byte = bb > 0 ? fmax(0, (rb - nb * c->end_s) / bb) : 0;
	}
}

static void sweep(berth_calibration *c, double relaxation)
{
	for (size_t k = 0; k < c->n_seen; k++) {
		const berth_observed *o = &c->seen[k];
		double have = of_operators(c, o), want = fmax(o->seconds - at_ends(c, o), 0.1 * o->seconds);
		if (have > 0)
			scale(c, o, pow(want / have, relaxation));
	}
}

void berth_calibration_fit(berth_calibration *c, int32_t sweeps, double *before, double *after)
{
	if (before)
		*before = segment_error(c);
	fit_ends(c);
	scale_devices(c);
	for (int32_t n = 0; n < sweeps; n++) {
		fit_ends(c);
		sweep(c, 0.5 / (1 + 0.1 * n));
	}
	if (after)
		*after = segment_error(c);
}

/* ---- links ---- */

/* The latest hand-offs of a link, at most MAX. */
static berth_status fit_link(const berth_calibration *c, int32_t link, berth_arena *tmp, double *latency_s, double *s_per_byte, int32_t *n, berth_err *err)
{
	enum { MAX = 400 };
	double *bytes, *seconds;
	BERTH_TRY(BERTH_NEW(tmp, bytes, MAX, err));
	BERTH_TRY(BERTH_NEW(tmp, seconds, MAX, err));
	*n = 0;
	for (size_t i = c->n_handoffs; i-- > 0 && *n < MAX;)
		if (c->handoff[i].link == link) {
			bytes[*n] = (double)c->handoff[i].bytes;
			seconds[(*n)++] = c->handoff[i].seconds;
		}
	return *n < 8 ? BERTH_OK : berth_line_through(bytes, seconds, *n, tmp, latency_s, s_per_byte, err);
}

berth_status berth_calibration_links(const berth_calibration *c, berth_arena *mem, berth_arena *tmp, berth_system *out, berth_err *err)
{
	static const double most_bandwidth = 1e13;
	berth_system s = *c->s;
	size_t size = (size_t)s.n_links * sizeof(double);
	BERTH_TRY(BERTH_NEW(mem, s.link_latency_s, s.n_links, err));
	BERTH_TRY(BERTH_NEW(mem, s.link_bandwidth, s.n_links, err));
	memcpy(s.link_latency_s, c->s->link_latency_s, size);
	memcpy(s.link_bandwidth, c->s->link_bandwidth, size);
	for (int32_t l = 0; l < s.n_links; l++) {
		berth_arena_mark mark = berth_arena_get_mark(tmp);
		double latency = s.link_latency_s[l], per_byte = 1 / s.link_bandwidth[l];
		int32_t n;
		BERTH_TRY(fit_link(c, l, tmp, &latency, &per_byte, &n, err));
		berth_arena_reset(tmp, mark);
		latency += 2 * c->end_s;
		per_byte += 2 * c->end_s_per_byte;
		s.link_latency_s[l] = latency;
		s.link_bandwidth[l] = per_byte > 1 / most_bandwidth ? 1 / per_byte : most_bandwidth;
	}
	*out = s;
	return BERTH_OK;
}

/* ---- following ---- */

/* By what factor the segments of device d differ from their prediction, taken together; 1 where it ran none. */
static double drift(const berth_calibration *c, const berth_observed *o, int32_t n, int32_t d)
{
	double want = 0, have = 0;
	for (int32_t k = 0; k < n; k++)
		if (o[k].dev == d && o[k].seconds > 0) {
			want += o[k].seconds;
			have += predicted(c, &o[k]);
		}
	return have > 0 ? want / have : 1;
}

/* Segments by what is left of their difference, then all of the device by what they have in common. */
static void follow_device(berth_calibration *c, const berth_observed *o, int32_t n, int32_t d, double rate)
{
	double common = drift(c, o, n, d);
	for (int32_t k = 0; k < n; k++) {
		double have = predicted(c, &o[k]);
		if (o[k].dev == d && o[k].seconds > 0 && have > 0)
			scale(c, &o[k], 1 + rate * (o[k].seconds / (have * common) - 1));
	}
	for (int32_t op = 0; op < c->g->n_ops; op++)
		c->time_s[(size_t)op * (size_t)c->s->n_devs + (size_t)d] *= 1 + rate * (common - 1);
}

static berth_status follow(berth_calibration *c, const berth_measurement *m, double rate, berth_arena *tmp, berth_err *err)
{
	reader r;
	double *room;
	berth_observed *o;
	BERTH_TRY(open_reader(c, m, tmp, &r, err));
	BERTH_TRY(BERTH_NEW(tmp, room, 2 * m->n_samples, err));
	BERTH_TRY(BERTH_NEW(tmp, o, m->n_segments, err));
	for (int32_t k = 0; k < m->n_segments; k++) {
		const berth_segment *s = &m->segment[k];
		o[k] = (berth_observed){s->dev, s->n_ops, s->op, 0, 0, 0};
		BERTH_TRY(observe(c, &r, k, 0, false, room, tmp, &o[k].seconds, err));
	}
	for (int32_t d = 0; d < c->s->n_devs; d++)
		follow_device(c, o, m->n_segments, d, rate);
	return BERTH_OK;
}

berth_status berth_calibration_follow(berth_calibration *c, const berth_measurement *m, double rate, berth_arena *tmp, berth_err *err)
{
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	berth_status st = follow(c, m, rate, tmp, err);
	berth_arena_reset(tmp, mark);
	return st;
}
