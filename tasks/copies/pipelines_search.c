/* Stages from the last one to the first, by a dynamic program: so many stages, with the layers from l on, on
 * so many devices of each kind. Of what leads there it keeps all that no other beats in the time through, the
 * period, what is left behind the last pass and in joules; what cannot beat the best so far is dropped. The
 * best of all micro-batches are valued pass by pass, and their borders moved. Work is counted, and what there
 * may be of it shared out: where all ways are too many, those that promise most go on. */
#include "pipelines.h"

enum {
	MOST_CUTS = 24,     /* runs of layers that borders of the program stand between */
	MOST_STATES = 4096, /* numbers of devices of each kind */
	MOST_OPTIONS = 600, /* ways to make a stage for one size of micro-batches */
	MOST_FRONT = 24,    /* ways to one state */
	MOST_BEST = 256,    /* plans that are valued whole */
	KEPT = 8            /* of a quick search, for the thorough one after it */
};
/* Part of the work that a quick search may take first. */
static const double QUICK = 0.1;

typedef struct option {
	berth_train_stage g; /* parts alone */
	int32_t mask;        /* kinds */
	int32_t units[BERTH_MOST_TRAIN_KINDS];
	int32_t state; /* what it adds to a state's number */
	double cost;   /* share of all devices' speed that it holds, times what it takes */
} option;

/* Of an option with the layers of some cuts: once it is known to fit with `fits` micro-batches in flight. */
typedef struct known {
	double forward_s, backward_s, sync_s, joules;
	int32_t fits, lacks; /* lacks: it does not fit with so many; 0: not known */
} known;

/* An option before a way: what is the same for all numbers of layers. */
typedef struct join {
	int32_t after, option, n, state, used[BERTH_MOST_TRAIN_KINDS]; /* n: stages of the way */
	double left, ahead_s, back_s; /* left: speed of the devices that are left */
} join;

typedef struct entry {
	double value; /* no plan that goes on from there has less */
	double sum_s, period_s, extra_s, joules;
	int32_t option, cut, state, before, next; /* before: the stages behind; next: of the same state */
} entry;

typedef struct candidate {
	double value;
	berth_train_plan plan;
} candidate;

/* A way that may go on. */
typedef struct pick {
	double value;
	int32_t way;
} pick;

typedef struct program {
	const berth_train_task *x;
	const atomic_int *cancel;
	int32_t cut[MOST_CUTS + 1], n_cuts; /* cut[0] = 0 .. cut[n_cuts] = n_layers */
	int32_t unit[BERTH_MOST_TRAIN_KINDS], level[BERTH_MOST_TRAIN_KINDS], step[BERTH_MOST_TRAIN_KINDS];
	int32_t n_states;
	double *work, *path_s, speed[BERTH_MOST_TRAIN_KINDS];
	option *opt; /* of the size at hand */
	int32_t n_opts;
	size_t opt_cap;
	int64_t micro_batch, n_micro;
	entry *e; /* all ways; 0 is the end of the pipeline */
	int32_t n_entries;
	size_t entry_cap;
	int32_t *head[2]; /* [n_cuts+1][n_states] first way with as many stages; 0: none */
	candidate *best;  /* [n_best] by value */
	int32_t n_best;
	double looked_at, spent; /* stages that were tried; steps of the search */
	bool left_out;           /* ways, for there would be too many steps */
	known *stage;            /* [n_cuts+1][n_opts][n_cuts+1] by the last cut and the first */
	pick *pick;              /* [n_states * MOST_FRONT] of one cut */
	berth_train_progress *tell;
	void *ctx;
	berth_arena *tmp;
} program;

/* ---- stages of one size of micro-batches ---- */

static berth_status add_option(program *d, const berth_train_part *part, int32_t n, berth_err *err)
{
	option o = {.g = {.n_parts = n}};
	for (int32_t i = 0; i < n; i++) {
		int32_t k = part[i].kind, devs = part[i].n << part[i].width;
		o.g.part[i] = part[i];
		o.mask |= 1 << k;
		o.units[k] = (devs + d->unit[k] - 1) / d->unit[k];
		o.state += o.units[k] * d->step[k];
		o.cost += devs * d->speed[k];
		if (o.units[k] > d->level[k])
			return BERTH_OK;
	}
	/* What it takes for all layers, the barred ones as nothing. */
	double most = 0;
	for (int32_t i = 0; i < n; i++) {
		const berth_train_kind *k = &d->x->kind[part[i].kind];
		const berth_train_times *t = &k->times[part[i].batch * k->n_widths + part[i].width];
		most = fmax(most, t->forward_s[d->x->n_layers] + t->backward_s[d->x->n_layers]);
	}
	o.cost *= most;
	return BERTH_PUSH(d->tmp, d->opt, d->n_opts, &d->opt_cap, err, o);
}

/* The parts of kinds from `kind` on that make up `left` samples. */
static berth_status add_parts(program *d, int32_t kind, int64_t left, berth_train_part *part, int32_t n,
                              berth_err *err)
{
	if (left == 0)
		return add_option(d, part, n, err);
	for (int32_t k = kind; n < 2 && k < d->x->n_kinds; k++)
		for (int32_t w = 0; w < d->x->kind[k].n_widths; w++)
			for (int32_t b = 0; b < d->x->n_batches; b++)
				for (int32_t r = 1;
				     r << w <= d->x->kind[k].n_devs && r * d->x->batch[b] <= left; r++) {
					bool all = r * d->x->batch[b] == left;
					part[n] = (berth_train_part){k, w, b, r, 0};
					if (all || n == 0)
						BERTH_TRY(add_parts(d, k + 1, left - r * d->x->batch[b], part,
						                    n + 1, err));
				}
	return BERTH_OK;
}

static int by_cost(const void *a, const void *b)
{
	const option *x = a, *y = b;
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

/* ---- the program ---- */

/* Has other nothing that w beats it in? The kinds that its first stage talks by are the same. */
static bool beats(const program *d, const entry *w, const entry *other)
{
	return d->opt[w->option].mask == d->opt[other->option].mask && w->sum_s <= other->sum_s &&
	       w->period_s <= other->period_s && w->extra_s <= other->extra_s &&
	       (d->x->goal == BERTH_TRAIN_TIME || d->x->goal == BERTH_TRAIN_MONEY ||
	        w->joules <= other->joules);
}

static double step_of(const program *d, const entry *w)
{
	return w->sum_s + (double)(d->n_micro - 1) * w->period_s + fmax(w->extra_s, 0);
}

/* The goal's value of no plan that goes on from there is less; of whole ones it is what the formula says. */
static double least_value(const program *d, const join *j, const entry *w)
{
	int32_t l = d->cut[w->cut];
	double behind = d->work[l] * (double)d->micro_batch, energy_j, money;
	entry all = *w;
	if (l > 0)
		all.period_s = fmax(all.period_s, j->left > 0 ? behind / j->left : INFINITY);
	all.sum_s += d->path_s[l];
	all.extra_s = l > 0 ? 0 : all.extra_s;
	return berth_train_goal_value(d->x, step_of(d, &all), w->joules, j->used, &energy_j, &money);
}

/* What is not followed any more. Passes that wait for the others' first answers hide some work that the
 * formula counts: the fewer micro-batches, the more of all. */
static double worth_less(const program *d)
{
	return d->n_best ? d->best->value * fmin(1.2, 1.03 + 1 / (double)d->n_micro) : INFINITY;
}

/* Puts a way into its state's list, unless one there beats it; what it beats goes, or else the worst. */
static berth_status keep_way(program *d, int32_t *head, entry w, berth_err *err)
{
	int32_t n = 0, *at = head, *worst = NULL;
	while (*at) {
		entry *o = &d->e[*at];
		if (beats(d, o, &w))
			return BERTH_OK;
		if (beats(d, &w, o)) {
			*at = o->next;
			continue;
		}
		if (!worst || step_of(d, o) > step_of(d, &d->e[*worst]))
			worst = at;
		n++;
		at = &o->next;
	}
	if (n >= MOST_FRONT) {
		if (step_of(d, &d->e[*worst]) <= step_of(d, &w))
			return BERTH_OK;
		*worst = d->e[*worst].next;
	}
	w.next = *head;
	BERTH_TRY(BERTH_PUSH(d->tmp, d->e, d->n_entries, &d->entry_cap, err, w));
	*head = d->n_entries - 1;
	return BERTH_OK;
}

static void take_whole(program *d, int32_t last, double value)
{
	int32_t at = d->n_best < MOST_BEST ? d->n_best++ : MOST_BEST - 1;
	candidate c = {.value = value};
	c.plan.micro_batch = d->micro_batch;
	c.plan.n_micro = d->n_micro;
	for (int32_t i = last; i; i = d->e[i].before) {
		berth_train_stage *g = &c.plan.stage[c.plan.n_stages++];
		*g = d->opt[d->e[i].option].g;
		g->from = d->cut[d->e[i].cut];
		g->to = d->cut[d->e[d->e[i].before].cut];
	}
	while (at > 0 && d->best[at - 1].value > value) {
		d->best[at] = d->best[at - 1];
		at--;
	}
	d->best[at] = c;
}

/* What an option takes for the layers between two cuts; NULL: it holds no so many. */
static const known *stage_of(program *d, const join *j, int32_t c)
{
	int32_t to = d->e[j->after].cut, flight = (int32_t)berth_min(d->n_micro, j->n + 1);
	known *s = &d->stage[((int64_t)to * d->n_opts + j->option) * (d->n_cuts + 1) + c];
	d->looked_at++;
	if (flight <= s->fits)
		return s;
	if (s->lacks && flight >= s->lacks)
		return NULL;
	berth_train_stage g = d->opt[j->option].g;
	g.from = d->cut[c];
	g.to = d->cut[to];
	if (!berth_train_stage_value(d->x, &g, flight)) {
		s->lacks = flight;
		return NULL;
	}
	bool joules = d->x->goal == BERTH_TRAIN_ENERGY || d->x->goal == BERTH_TRAIN_EDP;
	*s = (known){.forward_s = g.forward_s,
	             .backward_s = g.backward_s,
	             .sync_s = g.sync_s,
	             .joules = joules ? berth_train_stage_joules(d->x, &g, (double)d->n_micro) : 0,
	             .fits = flight,
	             .lacks = s->lacks};
	return s;
}

/* The join with the layers from cut c on. False: it holds no more. */
static bool extend(program *d, const join *j, int32_t c, entry *out)
{
	const entry *b = &d->e[j->after];
	const known *g = stage_of(d, j, c);
	if (!g)
		return false;
	double own_s = g->forward_s + g->backward_s;
	*out = *b;
	out->sum_s += own_s + j->ahead_s + j->back_s;
	/* Nobody waits longer for its own last answer than for the ones of as many before it. */
	out->period_s = fmax(fmax(b->period_s, own_s), fmax(j->ahead_s, j->back_s));
	if (d->n_micro > j->n + 1)
		out->period_s = fmax(out->period_s, out->sum_s / (j->n + 1));
	out->extra_s = fmax(g->sync_s, b->extra_s - g->backward_s - j->back_s);
	out->joules += g->joules;
	out->option = j->option;
	out->cut = c;
	out->state = j->state;
	out->before = j->after;
	out->value = least_value(d, j, out);
	return true;
}

/* Option o before way `after`, which has n stages. False: so many devices are not left. */
static bool join_of(const program *d, int32_t after, int32_t o, int32_t n, join *j)
{
	const entry *b = &d->e[after];
	const option *opt = &d->opt[o];
	*j = (join){.after = after, .option = o, .n = n, .state = b->state + opt->state};
	for (int32_t k = 0, rest = b->state; k < d->x->n_kinds; k++) {
		int32_t units = rest % (d->level[k] + 1) + opt->units[k];
		if (units > d->level[k])
			return false;
		rest /= d->level[k] + 1;
		j->used[k] = (int32_t)berth_min(units * d->unit[k], d->x->kind[k].n_devs);
		j->left += (d->x->kind[k].n_devs - j->used[k]) * d->speed[k];
	}
	if (n > 0) {
		berth_train_stage next = d->opt[b->option].g;
		next.from = d->cut[b->cut];
		berth_train_border(d->x, &opt->g, &next, &j->ahead_s, &j->back_s);
	}
	return true;
}

static berth_status extend_way(program *d, int32_t after, int32_t n, int32_t *to, berth_err *err)
{
	for (int32_t o = 0; o < d->n_opts; o++) {
		join j;
		d->spent++;
		if (!join_of(d, after, o, n, &j))
			continue;
		for (int32_t c = d->e[after].cut - 1; c >= 0; c--) {
			entry w;
			d->spent++;
			if (!extend(d, &j, c, &w))
				break; /* more layers need more */
			if (w.value > worth_less(d))
				continue;
			if (c > 0) {
				BERTH_TRY(keep_way(d, &to[c * d->n_states + w.state], w, err));
				continue;
			}
			if (d->n_best == MOST_BEST && w.value >= d->best[MOST_BEST - 1].value)
				continue;
			BERTH_TRY(BERTH_PUSH(d->tmp, d->e, d->n_entries, &d->entry_cap, err, w));
			take_whole(d, d->n_entries - 1, w.value);
		}
	}
	return BERTH_OK;
}

static int by_value(const void *a, const void *b)
{
	const pick *x = a, *y = b;
	int order = BERTH_COMPARE(x->value, y->value);
	return order ? order : BERTH_COMPARE(x->way, y->way);
}

/* All ways of n stages, or those of each cut that promise most, within so much work. */
static berth_status extend_level(program *d, const int32_t *from, int32_t n, int32_t *to, double work,
                                 bool *any, berth_err *err)
{
	double until = d->spent + work, steps = d->n_cuts * (d->n_cuts + 1) / 2.0;
	*any = false;
	BERTH_CLEAR(to, (d->n_cuts + 1) * d->n_states);
	for (int32_t c = 1; c < d->n_cuts; c++) {
		int32_t n_picks = 0;
		for (int32_t i = c * d->n_states; i < (c + 1) * d->n_states; i++)
			for (int32_t w = from[i]; w; w = d->e[w].next)
				if (d->e[w].value <= worth_less(d))
					d->pick[n_picks++] = (pick){d->e[w].value, w};
		/* Ways of all cuts alike. */
		int32_t most = (int32_t)fmin(fmax((until - d->spent) / (steps * d->n_opts), 1), INT32_MAX);
		steps -= c;
		if (n_picks > most) {
			qsort(d->pick, (size_t)n_picks, sizeof *d->pick, by_value);
			d->left_out = true;
			n_picks = most;
		}
		for (int32_t i = 0; i < n_picks; i++) {
			*any = true;
			if (d->cancel && *d->cancel)
				return berth_fail(err, BERTH_EINTERRUPTED, "interrupted");
			if (d->pick[i].value <= worth_less(d))
				BERTH_TRY(extend_way(d, d->pick[i].way, n, to, err));
		}
	}
	return BERTH_OK;
}

static berth_status solve_size(program *d, double work, berth_err *err)
{
	int32_t most = d->n_cuts < BERTH_MOST_TRAIN_STAGES ? d->n_cuts : BERTH_MOST_TRAIN_STAGES;
	double until = d->spent + work;
	bool any = true;
	entry end = {.cut = d->n_cuts, .extra_s = -INFINITY};
	d->n_entries = 0;
	BERTH_TRY(BERTH_PUSH(d->tmp, d->e, d->n_entries, &d->entry_cap, err, end));
	BERTH_CLEAR(d->stage, (size_t)(d->n_cuts + 1) * (size_t)d->n_opts * (size_t)(d->n_cuts + 1));
	BERTH_CLEAR(d->head[0], (d->n_cuts + 1) * d->n_states);
	BERTH_TRY(extend_way(d, 0, 0, d->head[0], err));
	for (int32_t n = 1; n < most && any; n++)
		BERTH_TRY(extend_level(d, d->head[(n + 1) % 2], n, d->head[n % 2],
		                       (until - d->spent) / (most - n), &any, err));
	return BERTH_OK;
}

/* ---- the whole ---- */

/* Devices of a kind count by units where all numbers of all kinds are too many; layers by runs of equal work.
 */
static void make_coarse(program *d)
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

static berth_status solve_sizes(program *d, double work, berth_err *err)
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
		BERTH_TRY(add_parts(d, 0, d->micro_batch, part, 0, err));
		if (d->n_opts == 0)
			continue;
		qsort(d->opt, (size_t)d->n_opts, sizeof *d->opt, by_cost);
		d->n_opts = d->n_opts < MOST_OPTIONS ? d->n_opts : MOST_OPTIONS;
		BERTH_TRY(solve_size(d, (until - d->spent) / (sizes - done), err));
	}
	return BERTH_OK;
}

/* The plan with borders moved by one, two or four layers as long as that is better. */
static berth_status move_borders(program *d, berth_train_plan *p, berth_err *err)
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

static berth_status choose(program *d, berth_train_plan *out, berth_err *err)
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

berth_status berth_train_search(const berth_train_task *x, double work, const atomic_int *cancel,
                                berth_train_progress *tell, void *ctx, berth_arena *tmp,
                                berth_train_plan *out, berth_err *err)
{
	program d = {.x = x, .cancel = cancel, .tell = tell, .ctx = ctx, .tmp = tmp};
	BERTH_SCRATCH(tmp);
	*out = (berth_train_plan){0};
	BERTH_TRY_NEW(tmp, x->n_layers + 1, err, d.work, d.path_s);
	berth_train_least(x, d.work, d.path_s, d.speed);
	make_coarse(&d);
	BERTH_TRY_NEW(tmp, (d.n_cuts + 1) * d.n_states, err, d.head[0], d.head[1]);
	BERTH_TRY_NEW(tmp, MOST_BEST, err, d.best);
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
