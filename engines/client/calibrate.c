/* A simulator that learns from measured runs: what a run tells of operators, cuts and links, the equations
 * that are fitted to it, and following a machine that changes. */
#include "calibrate.h"

#include "sort.h"
#include "times.h"

static const double least_s = 1e-9;

/* Means over the operators that run on all devices. Where no operator does, over all of them. */
static void set_units(berth_calibration *c)
{
	int32_t n_devs = c->s->n_devs, n_all = 0;
	size_t n = 0;
	double all = 0, bytes = 0, *sum = c->slowness;
	for (int32_t op = 0; op < c->g->n_ops; op++) {
		const double *t = c->prior_s + (size_t)op * (size_t)n_devs;
		bool everywhere = true;
		for (int32_t d = 0; d < n_devs; d++) {
			everywhere &= !isnan(t[d]);
			all += isnan(t[d]) ? 0 : t[d];
			n += isnan(t[d]) ? 0 : 1;
		}
		n_all += everywhere;
		for (int32_t d = 0; d < n_devs && everywhere; d++)
			sum[d] += t[d];
	}
	c->unit_s = n ? all / (double)n : least_s;
	double mean = 0;
	for (int32_t d = 0; d < n_devs; d++)
		mean += sum[d] / n_devs;
	for (int32_t d = 0; d < n_devs; d++)
		c->slowness[d] = n_all ? sum[d] / mean : 1;
	for (int32_t t = 0; t < c->g->n_tensors; t++)
		bytes += (double)c->g->tensor_bytes[t] / c->g->n_tensors;
	c->unit_bytes = bytes > 0 ? bytes : 1;
}

berth_status berth_calibration_new(const berth_graph *g, const berth_system *s, const double *time_s,
                                   berth_arena *mem, berth_calibration *out, berth_err *err)
{
	berth_calibration c = {.g = g, .s = s, .mem = mem};
	size_t n = (size_t)g->n_ops * (size_t)s->n_devs;
	BERTH_TRY_NEW(mem, n, err, c.prior_s, c.time_s);
	BERTH_TRY_NEW(mem, s->n_devs, err, c.slowness);
	BERTH_TRY_NEW(mem, g->n_tensors, err, c.prior_cut_s);
	for (int i = 0; i < 2; i++)
		BERTH_TRY_NEW(mem, g->n_tensors, err, c.cut_s[i]);
	for (int32_t t = 0; g->tensor_cut_s && t < g->n_tensors; t++)
		c.prior_cut_s[t] = c.cut_s[BERTH_CUT_OUT][t] = c.cut_s[BERTH_CUT_IN][t] =
			g->tensor_cut_s[t] / 2;
	for (size_t i = 0; i < n; i++)
		c.prior_s[i] = c.time_s[i] = time_s[i] < least_s ? least_s : time_s[i]; /* a NAN stays */
	set_units(&c);
	*out = c;
	return BERTH_OK;
}

/* ---- what a run tells ---- */

/* One sample of one segment: where its time went. */
typedef struct moment {
	double own_s;  /* its work, and the wait for nothing but the device */
	double hand_s; /* hand-off of a link; NAN: it waited for none */
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

static int earlier(const void *ctx, int32_t a, int32_t b)
{
	const berth_segment *s = ctx;
	return BERTH_COMPARE(s[a].start_s[0], s[b].start_s[0]);
}

static berth_status open_reader(const berth_calibration *c, const berth_measurement *m, berth_arena *tmp,
                                reader *r, berth_err *err)
{
	int32_t *last, *order, *scratch;
	*r = (reader){.c = c, .m = m};
	BERTH_TRY_NEW(tmp, c->g->n_ops, err, r->op_segment);
	BERTH_TRY_NEW(tmp, m->n_segments, err, r->before, order, scratch);
	BERTH_TRY_NEW(tmp, c->s->n_devs, err, last);
	memset(last, -1, (size_t)c->s->n_devs * sizeof *last);
	for (int32_t k = 0; k < m->n_segments; k++) {
		order[k] = k;
		for (int32_t i = 0; i < m->segment[k].n_ops; i++)
			r->op_segment[m->segment[k].op[i]] = k;
	}
	berth_sort(order, (size_t)m->n_segments, scratch, earlier, m->segment);
	for (int32_t i = 0; i < m->n_segments; i++) {
		int32_t k = order[i], *before = &last[m->segment[k].dev];
		r->before[k] = *before;
		*before = k;
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
		BERTH_EACH (e, g->op_in_off, s->op[i]) {
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
	double start = s->start_s[r->sample],
	       free_at = r->before[k] >= 0 ? r->m->segment[r->before[k]].end_s[r->sample] : 0;
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

/* Median time of segment k over the calm samples. NAN: there is none. keep: keep its hand-offs, if any. */
static berth_status observe(berth_calibration *c, reader *r, int32_t k, double max_strain, bool keep,
                            double *room, berth_arena *tmp, double *seconds, berth_err *err)
{
	int32_t n = 0, n_hands = 0, link = -1;
	int64_t bytes = 0;
	double *hand = room + r->m->n_samples, handed;
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
	BERTH_TRY(berth_median_of(room, n, tmp, seconds, err));
	if (!keep || 2 * n_hands <= n)
		return BERTH_OK;
	BERTH_TRY(berth_median_of(hand, n_hands, tmp, &handed, err));
	return BERTH_PUSH(c->mem, c->handoff, c->n_handoffs, &c->cap_handoff, err,
	                  (berth_handoff){link, bytes, handed});
}

static bool goes_elsewhere(const reader *r, int32_t t, int32_t dev)
{
	const berth_graph *g = r->c->g;
	BERTH_EACH (e, g->tensor_use_off, t)
		if (r->m->segment[r->op_segment[g->edge_consumer[e]]].dev != dev)
			return true;
	return false;
}

static berth_status add_end(berth_calibration *c, int32_t tensor, int32_t op, berth_cut_side side,
                            berth_observed *o, berth_err *err)
{
	BERTH_TRY(BERTH_PUSH(c->mem, c->end, c->n_ends, &c->cap_end, err,
	                     (berth_cut_end){tensor, c->g->op_type[op], side}));
	o->n_ends++;
	return BERTH_OK;
}

/* List the ends of segment k. stamp [n_tensors] gets k + 1 where a tensor came in already. */
static berth_status list_ends(berth_calibration *c, const reader *r, int32_t k, int32_t *stamp,
                              berth_observed *o, berth_err *err)
{
	const berth_graph *g = r->c->g;
	const berth_segment *s = &r->m->segment[k];
	o->first_end = c->n_ends;
	for (int32_t i = 0; i < s->n_ops; i++) {
		BERTH_EACH (e, g->op_in_off, s->op[i]) {
			int32_t t = g->in_tensor[e];
			if (stamp[t] == k + 1 ||
			    r->m->segment[r->op_segment[g->tensor_producer[t]]].dev == s->dev)
				continue;
			stamp[t] = k + 1;
			BERTH_TRY(add_end(c, t, s->op[i], BERTH_CUT_IN, o, err));
		}
		BERTH_EACH (t, g->op_tensor_off, s->op[i])
			if (goes_elsewhere(r, t, s->dev))
				BERTH_TRY(add_end(c, t, s->op[i], BERTH_CUT_OUT, o, err));
	}
	return BERTH_OK;
}

/* What segments of the measurement tell: o [n_segments], with NAN seconds where no sample was calm. keep:
 * keep their hand-offs. */
static berth_status observe_all(berth_calibration *c, const berth_measurement *m, double max_strain,
                                bool keep, berth_arena *tmp, berth_observed **out, berth_err *err)
{
	reader r;
	double *room;
	int32_t *stamp;
	berth_observed *o;
	BERTH_TRY(open_reader(c, m, tmp, &r, err));
	BERTH_TRY_NEW(tmp, 2 * m->n_samples, err, room);
	BERTH_TRY_NEW(tmp, c->g->n_tensors, err, stamp);
	BERTH_TRY_NEW(tmp, m->n_segments, err, o);
	for (int32_t k = 0; k < m->n_segments; k++) {
		const berth_segment *s = &m->segment[k];
		o[k] = (berth_observed){.dev = s->dev, .n_ops = s->n_ops, .op = s->op};
		BERTH_TRY(observe(c, &r, k, max_strain, keep, room, tmp, &o[k].seconds, err));
		if (!isnan(o[k].seconds))
			BERTH_TRY(list_ends(c, &r, k, stamp, &o[k], err));
	}
	*out = o;
	return BERTH_OK;
}

berth_status berth_calibration_add(berth_calibration *c, const berth_measurement *m, double max_strain,
                                   berth_arena *tmp, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	berth_observed *o;
	BERTH_TRY(observe_all(c, m, max_strain, true, tmp, &o, err));
	for (int32_t k = 0; k < m->n_segments; k++) {
		if (isnan(o[k].seconds))
			continue;
		BERTH_TRY(BERTH_GROW(c->mem, c->seen, c->n_seen, &c->cap_seen, err));
		o[k].seconds = fmax(o[k].seconds, least_s);
		c->seen[c->n_seen++] = o[k];
	}
	c->n_runs++;
	return BERTH_OK;
}

/* ---- fitting ---- */

/* Where the time of an operator on a device stands. */
static size_t place_of(const berth_calibration *c, int32_t op, int32_t dev)
{
	return (size_t)op * (size_t)c->s->n_devs + (size_t)dev;
}

static double predicted(const berth_calibration *c, const berth_observed *o)
{
	double ends = 0, operators = 0;
	for (int32_t i = 0; i < o->n_ends; i++) {
		const berth_cut_end *e = &c->end[o->first_end + (size_t)i];
		ends += c->cut_s[e->side][e->tensor];
	}
	for (int32_t i = 0; i < o->n_ops; i++)
		operators += c->time_s[place_of(c, o->op[i], o->dev)];
	return operators + ends * c->slowness[o->dev];
}

static void scale(berth_calibration *c, const berth_observed *o, double factor)
{
	for (int32_t i = 0; i < o->n_ops; i++) {
		double *t = &c->time_s[place_of(c, o->op[i], o->dev)];
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

/* Where the unknowns of the equations stand. */
typedef struct unknowns {
	int32_t device, type, op, own; /* factors of times */
	/* Costs of cuts: a constant and a share of bytes each, for each side. */
	int32_t every_cut, type_cut, tensor_cut;
	int32_t n_types, n;
} unknowns;

static unknowns lay_out(const berth_calibration *c)
{
	int32_t n_devs = c->s->n_devs, n_types = c->g->n_types + 1; /* the last: no type */
	unknowns u = {.n_types = n_types};
	u.type = u.device + n_devs;
	u.op = u.type + n_devs * n_types;
	u.own = u.op + c->g->n_ops;
	u.every_cut = u.own + c->g->n_ops * n_devs;
	u.type_cut = u.every_cut + 4;
	u.tensor_cut = u.type_cut + 4 * n_types;
	u.n = u.tensor_cut + 2 * c->g->n_tensors;
	return u;
}

/* How far each unknown is expected from its mean. These figures belong to no machine or model: fits change
 * little within a factor of three (docs/measured.md). */
static void expect(const unknowns *u, berth_ridge *r)
{
	static const double device = 3, type = 0.5, op = 0.3, own = 0.05, every_cut = 1, type_cut = 0.2,
			    tensor_cut = 0.2;
	for (int32_t i = 0; i < u->n; i++) {
		r->mean[i] = i < u->type;
		r->deviation[i] = i < u->type         ? device
		                  : i < u->op         ? type
		                  : i < u->own        ? op
		                  : i < u->every_cut  ? own
		                  : i < u->type_cut   ? every_cut
		                  : i < u->tensor_cut ? type_cut
		                                      : tensor_cut;
	}
}

static int32_t type_of(const unknowns *u, int32_t type)
{
	return type < 0 ? u->n_types - 1 : type;
}

typedef struct term {
	int32_t col;
	double x;
} term;

enum { OP_TERMS = 4, CUT_TERMS = 5 };

/* Parts of an operator's factor. */
static void op_terms(const berth_calibration *c, const unknowns *u, int32_t op, int32_t d, term out[OP_TERMS])
{
	out[0] = (term){u->device + d, 1};
	out[1] = (term){u->type + d * u->n_types + type_of(u, c->g->op_type[op]), 1};
	out[2] = (term){u->op + op, 1};
	out[3] = (term){u->own + op * c->s->n_devs + d, 1};
}

/* Parts of a cut's cost in units of time. What is a tensor's own is mostly a share of its bytes. */
static void cut_terms(const berth_calibration *c, const unknowns *u, int32_t tensor, int32_t type,
                      berth_cut_side side, term out[CUT_TERMS])
{
	double bytes = (double)c->g->tensor_bytes[tensor] / c->unit_bytes;
	int32_t second = side == BERTH_CUT_IN, k = u->type_cut + 4 * type_of(u, type) + 2 * second;
	out[0] = (term){u->every_cut + 2 * second, 1};
	out[1] = (term){u->every_cut + 2 * second + 1, bytes};
	out[2] = (term){k, 1};
	out[3] = (term){k + 1, bytes};
	out[4] = (term){u->tensor_cut + 2 * tensor + second, 0.3 + bytes};
}

static double value_of(const berth_ridge *r, const term *t, int n)
{
	double sum = 0;
	for (int i = 0; i < n; i++)
		sum += t[i].x * r->beta[t[i].col];
	return sum;
}

static berth_status put_terms(berth_ridge *r, const term *t, int n, double factor, berth_err *err)
{
	for (int i = 0; i < n; i++)
		BERTH_TRY(berth_ridge_put(r, t[i].col, t[i].x * factor, err));
	return BERTH_OK;
}

static berth_status put_segment(const berth_calibration *c, const unknowns *u, const berth_observed *o,
                                berth_ridge *r, berth_err *err)
{
	static const double noise = 0.1; /* of a segment that lasts as long as a mean operator */
	term t[CUT_TERMS];
	double known = 0;
	for (int32_t i = 0; i < o->n_ends; i++)
		known += c->prior_cut_s[c->end[o->first_end + (size_t)i].tensor] * c->slowness[o->dev];
	BERTH_TRY(berth_ridge_row(r, o->seconds - known, noise * sqrt(o->seconds * c->unit_s), err));
	for (int32_t i = 0; i < o->n_ops; i++) {
		op_terms(c, u, o->op[i], o->dev, t);
		BERTH_TRY(put_terms(r, t, OP_TERMS, c->prior_s[place_of(c, o->op[i], o->dev)], err));
	}
	for (int32_t i = 0; i < o->n_ends; i++) {
		const berth_cut_end *e = &c->end[o->first_end + (size_t)i];
		cut_terms(c, u, e->tensor, e->type, e->side, t);
		BERTH_TRY(put_terms(r, t, CUT_TERMS, c->unit_s * c->slowness[o->dev], err));
	}
	return BERTH_OK;
}

/* In-ends by the mean over the consumers. */
static void take_cuts(berth_calibration *c, const unknowns *u, const berth_ridge *r)
{
	const berth_graph *g = c->g;
	term x[CUT_TERMS];
	for (int32_t t = 0; t < g->n_tensors; t++) {
		int32_t n = g->tensor_use_off[t + 1] - g->tensor_use_off[t];
		cut_terms(c, u, t, g->op_type[g->tensor_producer[t]], BERTH_CUT_OUT, x);
		c->cut_s[BERTH_CUT_OUT][t] = c->prior_cut_s[t] + c->unit_s * value_of(r, x, CUT_TERMS);
		c->cut_s[BERTH_CUT_IN][t] = c->prior_cut_s[t];
		BERTH_EACH (e, g->tensor_use_off, t) {
			cut_terms(c, u, t, g->op_type[g->edge_consumer[e]], BERTH_CUT_IN, x);
			c->cut_s[BERTH_CUT_IN][t] += c->unit_s * value_of(r, x, CUT_TERMS) / n;
		}
	}
}

/* The answer to perturbed equations is a draw from the posterior (Papandreou, Yuille, NeurIPS 2010). */
static void perturb(berth_ridge *r, berth_rng *rng)
{
	for (int32_t i = 0; i < r->n_cols; i++)
		r->mean[i] += r->deviation[i] * berth_rng_normal(rng);
	for (int32_t i = 0; i < r->n_rows; i++)
		r->row[i].y += r->row[i].noise * berth_rng_normal(rng);
}

static berth_status fit(berth_calibration *c, berth_arena *tmp, berth_err *err)
{
	enum { STEPS = 400 };
	unknowns u = lay_out(c);
	berth_ridge r;
	BERTH_TRY(berth_ridge_new(u.n, tmp, &r, err));
	expect(&u, &r);
	for (size_t k = 0; k < c->n_seen; k++)
		BERTH_TRY(put_segment(c, &u, &c->seen[k], &r, err));
	if (c->draw)
		perturb(&r, c->draw);
	BERTH_TRY(berth_ridge_solve(&r, STEPS, tmp, err));
	term t[OP_TERMS];
	for (int32_t op = 0; op < c->g->n_ops; op++)
		for (int32_t d = 0; d < c->s->n_devs; d++) {
			size_t at = place_of(c, op, d);
			op_terms(c, &u, op, d, t);
			c->time_s[at] = isnan(c->prior_s[at])
			                        ? c->prior_s[at]
			                        : fmax(least_s, c->prior_s[at] * value_of(&r, t, OP_TERMS));
		}
	take_cuts(c, &u, &r);
	return BERTH_OK;
}

berth_status berth_calibration_fit(berth_calibration *c, berth_arena *tmp, double *before, double *after,
                                   berth_err *err)
{
	BERTH_SCRATCH(tmp);
	if (before)
		*before = segment_error(c);
	berth_status st = fit(c, tmp, err);
	if (after)
		*after = segment_error(c);
	return st;
}

berth_status berth_calibration_graph(const berth_calibration *c, const berth_system *s, berth_arena *mem,
                                     berth_graph *out, berth_err *err)
{
	berth_graph g;
	BERTH_TRY(berth_graph_with_times(c->g, s, c->time_s, mem, &g, err));
	BERTH_TRY_NEW(mem, g.n_tensors, err, g.tensor_cut_s);
	for (int32_t t = 0; t < g.n_tensors; t++)
		g.tensor_cut_s[t] = fmax(0, c->cut_s[BERTH_CUT_OUT][t] + c->cut_s[BERTH_CUT_IN][t]);
	*out = g;
	return BERTH_OK;
}

/* ---- links ---- */

/* Median distance of points to a line. x is lost. */
static double off_line(double *x, const double *y, int32_t n, double start, double slope, berth_arena *tmp)
{
	for (int32_t i = 0; i < n; i++)
		x[i] = fabs(y[i] - start - slope * x[i]);
	return berth_median(x, n, tmp);
}

/* By the latest hand-offs of a link, at most MAX. What they say of a byte counts where it brings the line
 * twice as near to them: of tensors that are all alike nothing of it is to be learned. Else the bandwidth
 * stays, and the latency is what is left. */
static berth_status fit_link(const berth_calibration *c, int32_t link, berth_arena *tmp, double *latency_s,
                             double *s_per_byte, berth_err *err)
{
	enum { LEAST = 8, MAX = 400 };
	double *bytes, *seconds, *left, start, slope;
	int32_t n = 0;
	BERTH_TRY_NEW(tmp, MAX, err, bytes, seconds, left);
	for (size_t i = c->n_handoffs; i-- > 0 && n < MAX;)
		if (c->handoff[i].link == link) {
			bytes[n] = (double)c->handoff[i].bytes;
			seconds[n] = c->handoff[i].seconds;
			left[n] = seconds[n] - *s_per_byte * bytes[n];
			n++;
		}
	if (n < LEAST)
		return BERTH_OK;
	BERTH_TRY(berth_line_through(bytes, seconds, n, tmp, &start, &slope, err));
	double rest = fmax(0, berth_median(left, n, tmp));
	BERTH_COPY(left, bytes, n);
	double as_given = off_line(left, seconds, n, rest, *s_per_byte, tmp),
	       fitted = off_line(bytes, seconds, n, start, slope, tmp);
	if (isnan(as_given) || isnan(fitted))
		return berth_nomem(err);
	*latency_s = fitted > as_given / 2 ? rest : start;
	*s_per_byte = fitted > as_given / 2 ? *s_per_byte : slope;
	return BERTH_OK;
}

berth_status berth_calibration_links(const berth_calibration *c, berth_arena *mem, berth_arena *tmp,
                                     berth_system *out, berth_err *err)
{
	static const double most_bandwidth = 1e13;
	berth_system s = *c->s;
	BERTH_TRY_NEW(mem, s.n_links, err, s.link_latency_s, s.link_bandwidth);
	BERTH_COPY(s.link_latency_s, c->s->link_latency_s, s.n_links);
	BERTH_COPY(s.link_bandwidth, c->s->link_bandwidth, s.n_links);
	for (int32_t l = 0; l < s.n_links; l++) {
		BERTH_SCRATCH(tmp);
		double latency = s.link_latency_s[l], per_byte = 1 / s.link_bandwidth[l];
		BERTH_TRY(fit_link(c, l, tmp, &latency, &per_byte, err));
		s.link_latency_s[l] = latency;
		s.link_bandwidth[l] = per_byte > 1 / most_bandwidth ? 1 / per_byte : most_bandwidth;
	}
	*out = s;
	return BERTH_OK;
}

/* ---- following ---- */

/* By what factor the segments of device d, taken together, differ from their prediction. 1: it ran none. */
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

berth_status berth_calibration_follow(berth_calibration *c, const berth_measurement *m, double rate,
                                      berth_arena *tmp, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	berth_observed *o;
	size_t n_ends = c->n_ends; /* those of this measurement are not kept */
	BERTH_TRY(observe_all(c, m, 0, false, tmp, &o, err));
	for (int32_t d = 0; d < c->s->n_devs; d++) {
		/* Segments by what is left of their difference, then all of the device by what they have in
		 * common. */
		double common = drift(c, o, m->n_segments, d);
		for (int32_t k = 0; k < m->n_segments; k++) {
			double have = predicted(c, &o[k]);
			if (o[k].dev == d && o[k].seconds > 0 && have > 0)
				scale(c, &o[k], 1 + rate * (o[k].seconds / (have * common) - 1));
		}
		for (int32_t op = 0; op < c->g->n_ops; op++)
			c->time_s[place_of(c, op, d)] *= 1 + rate * (common - 1);
	}
	c->n_ends = n_ends;
	return BERTH_OK;
}
