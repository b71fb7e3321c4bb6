/* Sizes of micro-batches, each with the ways to make a stage of it, given to a dynamic program. The best of
 * all sizes are valued pass by pass, and their borders moved. Work is counted, and what there may be of it
 * shared out. */
#include "pipelines_program.h"

enum {
	MOST_STATES = 4096, /* numbers of devices of each kind */
	KEPT = 8            /* of a quick search, for the thorough one after it */
};
/* Part of the work that a quick search may take first. */
static const double QUICK = 0.1;
/* Beside it, for all hosts alone together. */
static const double ALONE = 0.5;

/* ---- stages of one size of micro-batches ---- */

static int by_cost(const void *a, const void *b)
{
	const train_option *x = a, *y = b;
	int order = BERTH_COMPARE(x->g.n_parts, y->g.n_parts);
	if (order == 0)
		order = BERTH_COMPARE(x->cost, y->cost);
	for (int i = 0; i < 2 && order == 0; i++) {
		const berth_train_part *p = &x->g.part[i], *q = &y->g.part[i];
		order = p->kind != q->kind     ? BERTH_COMPARE(p->kind, q->kind)
		        : p->width != q->width ? BERTH_COMPARE(p->width, q->width)
		        : p->batch != q->batch ? BERTH_COMPARE(p->batch, q->batch)
		                               : BERTH_COMPARE(p->n, q->n);
	}
	return order;
}

/* Only the cheapest are used, so only twice as many are ever held. */
static void keep_cheapest(train_program *d)
{
	qsort(d->opt, (size_t)d->n_opts, sizeof *d->opt, by_cost);
	d->n_opts = d->n_opts < MOST_OPTIONS ? d->n_opts : MOST_OPTIONS;
}

static void add_option(train_program *d, const berth_train_part *part, int32_t n)
{
	train_option o = {.g = {.n_parts = n}};
	double most = 0; /* what it takes for all layers, the barred ones as nothing */
	for (int32_t i = 0; i < n; i++) {
		int32_t k = part[i].kind, devs = part[i].n << part[i].width;
		const berth_train_kind *kind = &d->x->kind[k];
		const berth_train_times *t = &kind->times[part[i].batch * kind->n_widths + part[i].width];
		o.g.part[i] = part[i];
		o.mask |= 1 << k;
		o.units[k] = (devs + d->unit[k] - 1) / d->unit[k];
		o.state += o.units[k] * d->step[k];
		o.cost += devs * d->speed[k];
		if (o.units[k] > d->level[k])
			return;
		most = fmax(most, t->forward_s[d->x->n_layers] + t->backward_s[d->x->n_layers]);
	}
	o.cost *= most;
	if (d->n_opts == 2 * MOST_OPTIONS)
		keep_cheapest(d);
	d->opt[d->n_opts++] = o;
}

/* The parts of kinds from `kind` on that make up `left` samples: one, or two. */
static void add_parts(train_program *d, int32_t kind, int64_t left, berth_train_part *part, int32_t n)
{
	for (int32_t k = kind; k < d->x->n_kinds; k++)
		for (int32_t w = 0; w < d->x->kind[k].n_widths; w++)
			for (int32_t b = 0; b < d->x->n_batches; b++) {
				int64_t batch = d->x->batch[b], most = d->x->kind[k].n_devs >> w;
				most = berth_min(most, left / batch);
				for (int64_t r = 1; n == 0 && r <= most && r * batch < left; r++) {
					part[n] = (berth_train_part){k, w, b, (int32_t)r, 0};
					add_parts(d, k + 1, left - r * batch, part, n + 1);
				}
				if (left % batch == 0 && left / batch <= most) {
					part[n] = (berth_train_part){k, w, b, (int32_t)(left / batch), 0};
					add_option(d, part, n + 1);
				}
			}
}

/* ---- the whole ---- */

/* Devices of a kind count by units where all numbers of all kinds are too many; layers by runs of equal
 * work. */
static void make_coarse(train_program *d)
{
	const berth_train_task *x = d->x;
	for (int32_t k = 0; k < x->n_kinds; k++)
		d->unit[k] = 1;
	for (;;) {
		int32_t most = 0;
		double states = 1;
		for (int32_t k = 0; k < x->n_kinds; k++) {
			d->level[k] = x->kind[k].n_devs / d->unit[k];
			states *= d->level[k] + 1;
			most = d->level[k] > d->level[most] ? k : most;
		}
		if (states <= MOST_STATES || d->level[most] <= 1)
			break;
		d->unit[most] *= 2;
	}
	d->n_states = 1;
	for (int32_t k = 0; k < x->n_kinds; k++) {
		d->step[k] = d->n_states;
		d->n_states *= d->level[k] + 1;
	}
	d->n_cuts = x->n_layers < MOST_CUTS ? x->n_layers : MOST_CUTS;
	for (int32_t c = 1, l = 0; c <= d->n_cuts; c++) {
		double to = d->work[x->n_layers] * c / d->n_cuts;
		int32_t last = x->n_layers - (d->n_cuts - c);
		for (l++; l < last && (d->n_cuts == x->n_layers ? false : d->work[l] < to * (1 - 1e-9));)
			l++;
		d->cut[c] = c == d->n_cuts ? x->n_layers : l;
	}
}

/* Numbers of micro-batches of a step, from n on; 0: no more. */
static int64_t next_size(const berth_train_task *x, int64_t n)
{
	while (n <= x->samples && n <= BERTH_MOST_MICRO_BATCHES && x->samples % n)
		n++;
	return n <= x->samples && n <= BERTH_MOST_MICRO_BATCHES ? n : 0;
}

static berth_status solve_sizes(train_program *d, double work, berth_err *err)
{
	int32_t sizes = 0, done = 0;
	double until = d->spent + work;
	for (int64_t n = next_size(d->x, 1); n; n = next_size(d->x, n + 1))
		sizes++;
	for (int64_t n = next_size(d->x, 1); n; n = next_size(d->x, n + 1), done++) {
		berth_train_part part[2];
		if (d->tell)
			d->tell(d->ctx, "sizes of micro-batches", done, sizes);
		d->n_micro = n;
		d->micro_batch = d->x->samples / n;
		d->n_opts = 0;
		add_parts(d, 0, d->micro_batch, part, 0);
		if (d->n_opts == 0)
			continue;
		keep_cheapest(d);
		BERTH_TRY(train_program_solve(d, (until - d->spent) / (sizes - done), err));
	}
	return BERTH_OK;
}

/* The plan with borders moved by one, two or four layers as long as that is better. */
static berth_status move_borders(train_program *d, berth_train_plan *p, berth_err *err)
{
	bool fits, gained = true;
	while (gained) {
		gained = false;
		for (int32_t s = 1; s < p->n_stages; s++)
			for (int32_t i = 0; i < 6; i++) {
				berth_train_plan q = *p;
				int32_t by = i % 2 ? 1 << i / 2 : -(1 << i / 2), at = q.stage[s].from + by;
				if (at <= q.stage[s - 1].from || at >= q.stage[s].to)
					continue;
				q.stage[s].from = q.stage[s - 1].to = at;
				BERTH_TRY(berth_train_value(d->x, &q, &fits, d->tmp, err));
				if (fits && q.value < p->value * (1 - 1e-9)) {
					*p = q;
					gained = true;
				}
			}
	}
	return BERTH_OK;
}

static berth_status choose(train_program *d, berth_train_plan *out, berth_err *err)
{
	enum { MOVED = 8 };
	for (int32_t i = 0; i < d->n_best; i++) {
		berth_train_plan p = d->best[i].plan;
		bool fits;
		BERTH_TRY(berth_train_value(d->x, &p, &fits, d->tmp, err));
		if (fits && i < MOVED)
			BERTH_TRY(move_borders(d, &p, err));
		if (fits && (out->n_stages == 0 || p.value < out->value))
			*out = p;
	}
	return BERTH_OK;
}

static berth_status search(const berth_train_task *x, double work, const atomic_int *cancel,
                           berth_train_progress *tell, void *ctx, berth_arena *tmp, berth_train_plan *out,
                           berth_err *err)
{
	train_program d = {.x = x, .cancel = cancel, .tell = tell, .ctx = ctx, .tmp = tmp};
	BERTH_SCRATCH(tmp);
	*out = (berth_train_plan){0};
	BERTH_TRY_NEW(tmp, x->n_layers + 1, err, d.work, d.path_s);
	berth_train_least(x, d.work, d.path_s, d.speed);
	make_coarse(&d);
	BERTH_TRY_NEW(tmp, (d.n_cuts + 1) * d.n_states, err, d.head[0], d.head[1]);
	BERTH_TRY_NEW(tmp, MOST_BEST, err, d.best);
	BERTH_TRY_NEW(tmp, 2 * MOST_OPTIONS, err, d.opt);
	BERTH_TRY_NEW(tmp, d.n_states * MOST_FRONT, err, d.pick);
	BERTH_TRY_NEW(tmp, (d.n_cuts + 1) * MOST_OPTIONS * (d.n_cuts + 1), err, d.stage);
	BERTH_TRY(solve_sizes(&d, QUICK * work, err));
	if (d.left_out) {
		d.n_best = d.n_best < KEPT ? d.n_best : KEPT;
		BERTH_TRY(solve_sizes(&d, work - d.spent, err));
	}
	BERTH_TRY(choose(&d, out, err));
	out->bound_s = berth_train_bound_of(x, d.work[x->n_layers], d.path_s[x->n_layers], d.speed);
	out->looked_at = d.looked_at;
	return BERTH_OK;
}

/* Ways between devices of a kind are the slowest that there are: where those between hosts are slow, one host
 * by itself may do better. */
berth_status berth_train_search(const berth_train_task *x, double work, const atomic_int *cancel,
                                berth_train_progress *tell, void *ctx, berth_arena *tmp,
                                berth_train_plan *out, berth_err *err)
{
	BERTH_TRY(search(x, work, cancel, tell, ctx, tmp, out, err));
	for (const berth_train_host *h = x->host; h && h < x->host + x->n_hosts; h++) {
		berth_train_task one = *x;
		berth_train_plan alone;
		one.one_wire = false;
		memcpy(one.hop, h->hop, sizeof one.hop);
		for (int32_t k = 0; k < x->n_kinds; k++)
			one.kind[k].n_devs = h->n_devs[k];
		BERTH_TRY(search(&one, ALONE * work / x->n_hosts, cancel, NULL, NULL, tmp, &alone, err));
		alone.looked_at += out->looked_at;
		alone.bound_s = out->bound_s;
		out->looked_at = alone.looked_at;
		if (alone.n_stages > 0 && (out->n_stages == 0 || alone.value < out->value * (1 - 1e-9))) {
			*out = alone;
			out->host = h->name;
		}
	}
	return BERTH_OK;
}
