/* Pipelines by a dynamic program from the last stage to the first: so many stages, with the layers from l on,
 * on so many devices of each kind. Of what leads there it keeps all that no other beats in the time through,
 * the period, the first stage's pass and sum of gradients, what the others have left then, and in joules.
 * What cannot beat the best so far is dropped.
 * Work is counted: where all ways are too many, those that promise most go on. */
#include "pipelines_program.h"

/* An option before a way: what is the same for all numbers of layers. */
typedef struct join {
	int32_t after, option, n, state, used[BERTH_MOST_TRAIN_KINDS]; /* n: stages of the way */
	double left, ahead_s, back_s; /* left: speed of the devices that are left */
} join;

/* Has other nothing that w beats it in? The kinds that its first stage talks by are the same. */
static bool beats(const train_program *d, const train_entry *w, const train_entry *other)
{
	return d->opt[w->option].mask == d->opt[other->option].mask && w->sum_s <= other->sum_s &&
	       w->period_s <= other->period_s && w->first_s <= other->first_s &&
	       w->own_sync_s <= other->own_sync_s && w->behind_s <= other->behind_s &&
	       (d->x->goal == BERTH_TRAIN_TIME || d->x->goal == BERTH_TRAIN_MONEY ||
	        w->joules <= other->joules);
}

static double step_of(const train_program *d, const train_entry *w)
{
	return w->sum_s + (double)(d->n_micro - 1) * w->period_s + fmax(fmax(w->own_sync_s, w->behind_s), 0);
}

/* The goal's value of no plan that goes on from there is less; of whole ones it is what the formula says. */
static double least_value(const train_program *d, const join *j, const train_entry *w)
{
	int32_t l = d->cut[w->cut];
	double behind = d->work[l] * (double)d->micro_batch, energy_j, money;
	train_entry all = *w;
	if (l > 0) {
		all.period_s = fmax(all.period_s, j->left > 0 ? behind / j->left : INFINITY);
		all.own_sync_s = all.behind_s = 0;
	}
	all.sum_s += d->path_s[l];
	return berth_train_goal_value(d->x, step_of(d, &all), w->joules, j->used, &energy_j, &money);
}

/* What is not followed any more. Passes that wait for the others' first answers hide some work that the
 * formula counts: the fewer micro-batches, the more of all. */
static double worth_less(const train_program *d)
{
	return d->n_best ? d->best->value * fmin(1.2, 1.03 + 1 / (double)d->n_micro) : INFINITY;
}

/* Puts a way into its state's list, unless one there beats it; what it beats goes, or else the worst. */
static berth_status keep_way(train_program *d, int32_t *head, train_entry w, berth_err *err)
{
	int32_t n = 0, *at = head, *worst = NULL;
	while (*at) {
		train_entry *o = &d->e[*at];
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

static void take_whole(train_program *d, int32_t last, double value)
{
	int32_t at = d->n_best < MOST_BEST ? d->n_best++ : MOST_BEST - 1;
	train_candidate c = {.value = value};
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
static const train_known *stage_of(train_program *d, const join *j, int32_t c)
{
	int32_t to = d->e[j->after].cut, flight = (int32_t)berth_min(d->n_micro, j->n + 1);
	train_known *s = &d->stage[((int64_t)to * d->n_opts + j->option) * (d->n_cuts + 1) + c];
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
	*s = (train_known){.forward_s = g.forward_s,
	             .backward_s = g.backward_s,
	             .sync_s = g.sync_s,
	             .joules = joules ? berth_train_stage_joules(d->x, &g, (double)d->n_micro) : 0,
	             .fits = flight,
	             .lacks = s->lacks};
	return s;
}

/* The join with the layers from cut c on. False: it holds no more. */
static bool extend(train_program *d, const join *j, int32_t c, train_entry *out)
{
	const train_entry *b = &d->e[j->after];
	const train_known *g = stage_of(d, j, c);
	if (!g)
		return false;
	double own_s = g->forward_s + g->backward_s;
	*out = *b;
	out->sum_s += own_s + j->ahead_s + j->back_s;
	out->first_s = own_s + j->ahead_s;
	out->period_s = fmax(b->period_s, fmax(out->first_s, b->first_s + j->back_s));
	/* Nobody waits longer for its own last answer than for the ones of as many before it. */
	if (d->n_micro > j->n + 1)
		out->period_s = fmax(out->period_s, out->sum_s / (j->n + 1));
	/* The next stage sums its gradients behind its last answer's sending, the others while it sends. */
	out->behind_s = fmax(b->own_sync_s, b->behind_s - j->back_s) - g->backward_s;
	out->own_sync_s = g->sync_s;
	out->joules += g->joules;
	out->option = j->option;
	out->cut = c;
	out->state = j->state;
	out->before = j->after;
	out->value = least_value(d, j, out);
	return true;
}

/* Option o before way `after`, which has n stages. False: so many devices are not left. */
static bool join_of(const train_program *d, int32_t after, int32_t o, int32_t n, join *j)
{
	const train_entry *b = &d->e[after];
	const train_option *opt = &d->opt[o];
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

static berth_status extend_way(train_program *d, int32_t after, int32_t n, int32_t *to, berth_err *err)
{
	for (int32_t o = 0; o < d->n_opts; o++) {
		join j;
		d->spent++;
		if (!join_of(d, after, o, n, &j))
			continue;
		for (int32_t c = d->e[after].cut - 1; c >= 0; c--) {
			train_entry w;
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
	const train_pick *x = a, *y = b;
	int order = BERTH_COMPARE(x->value, y->value);
	return order ? order : BERTH_COMPARE(x->way, y->way);
}

/* All ways of n stages, or those of each cut that promise most, within so much work. */
static berth_status extend_level(train_program *d, const int32_t *from, int32_t n, int32_t *to,
                                 double work, bool *any, berth_err *err)
{
	double until = d->spent + work, steps = d->n_cuts * (d->n_cuts + 1) / 2.0;
	*any = false;
	BERTH_CLEAR(to, (d->n_cuts + 1) * d->n_states);
	for (int32_t c = 1; c < d->n_cuts; c++) {
		int32_t n_picks = 0;
		for (int32_t i = c * d->n_states; i < (c + 1) * d->n_states; i++)
			for (int32_t w = from[i]; w; w = d->e[w].next)
				if (d->e[w].value <= worth_less(d))
					d->pick[n_picks++] = (train_pick){d->e[w].value, w};
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

berth_status train_program_solve(train_program *d, double work, berth_err *err)
{
	int32_t most = d->n_cuts < BERTH_MOST_TRAIN_STAGES ? d->n_cuts : BERTH_MOST_TRAIN_STAGES;
	double until = d->spent + work;
	bool any = true;
	train_entry end = {.cut = d->n_cuts, .own_sync_s = -INFINITY, .behind_s = -INFINITY};
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
