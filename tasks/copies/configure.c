/* See configure.h. */
#include "configure.h"

#include "config_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static void copy_to(const chooser *ch, berth_configure_choice *to, const berth_configuration *c,
                    const berth_config_value *v)
{
	int32_t *layout = to->c.host_layout;
	memcpy(layout, c->host_layout, (size_t)ch->x->c->n_hosts * sizeof *layout);
	to->c = (berth_configuration){layout, c->deadline_ns};
	to->predicted = *v;
}

static bool same(const chooser *ch, const berth_configuration *a, const berth_configuration *b)
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
		if (ch->list_value[i] == value && same(ch, &ch->list[i].c, c))
			return;
	if (k == BERTH_MOST_WHOLE)
		k--;
	else
		ch->n++;
	berth_configure_choice spare = ch->list[k];
	for (; k > 0 && value < ch->list_value[k - 1]; k--) {
		ch->list[k] = ch->list[k - 1];
		ch->list_value[k] = ch->list_value[k - 1];
	}
	ch->list[k] = spare;
	ch->list_value[k] = value;
	copy_to(ch, &ch->list[k], c, v);
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

/* Take out the point whose neighbours are nearest to each other, ends never. */
static void thin(chooser *ch)
{
	int32_t least = 1;
	double nearest = INFINITY;
	for (int32_t i = 1; i + 1 < ch->n_front; i++) {
		const berth_config_value *a = &ch->front[i - 1].predicted, *b = &ch->front[i + 1].predicted;
		double gap = log(time_of(b) / time_of(a)) + log(energy_of(a) / energy_of(b));
		if (gap < nearest) {
			nearest = gap;
			least = i;
		}
	}
	berth_configure_choice spare = ch->front[least];
	for (int32_t i = least; i + 1 < ch->n_front; i++)
		ch->front[i] = ch->front[i + 1];
	ch->front[--ch->n_front] = spare;
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
	if (end > at) { /* they give way */
		berth_configure_choice spare[MOST_FRONT + 1];
		int32_t gone = end - at - 1;
		memcpy(spare, ch->front + at + 1, (size_t)gone * sizeof *spare);
		memmove(ch->front + at + 1, ch->front + end, (size_t)(ch->n_front - end) * sizeof *spare);
		ch->n_front -= gone;
		memcpy(ch->front + ch->n_front, spare, (size_t)gone * sizeof *spare);
	} else {
		berth_configure_choice spare = ch->front[ch->n_front];
		memmove(ch->front + at + 1, ch->front + at, (size_t)(ch->n_front - at) * sizeof spare);
		ch->front[at] = spare;
		ch->n_front++;
	}
	copy_to(ch, &ch->front[at], c, v);
	if (ch->n_front > MOST_FRONT)
		thin(ch);
}

static berth_status visit(void *ctx, const berth_configuration *c, const berth_config_value *v,
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

static berth_status simulate(chooser *ch, berth_configure_choice *y, bool *runs, berth_err *err)
{
	ch->out->n_whole++;
	return berth_config_simulate(ch->x, &y->c, &y->predicted.exchange, ch->tmp, ch->tmp2, &y->simulated,
	                             runs, err);
}

/* Among those of the best that were simulated; NULL: none. */
static const berth_configure_choice *simulated_as(const chooser *ch, const berth_configuration *c, bool *runs)
{
	for (int32_t i = 0; i < ch->n_tried; i++)
		if (same(ch, &ch->list[i].c, c)) {
			*runs = ch->list_value[i] < INFINITY;
			return &ch->list[i];
		}
	return NULL;
}

/* Where none of the best fits beside the buffers of the exchange, one of the next may. */
static berth_status choose(chooser *ch, berth_err *err)
{
	double least = INFINITY;
	bool runs;
	for (int32_t i = 0; i < ch->n && (i < ch->cfg->n_whole || !ch->out->found); i++) {
		BERTH_TRY(simulate(ch, &ch->list[i], &runs, err));
		double value = runs ? berth_goal_value(ch->cfg->goal, &ch->list[i].simulated) : INFINITY;
		ch->list_value[i] = value;
		ch->n_tried = i + 1;
		if (!(value < least))
			continue;
		least = value;
		ch->out->best = ch->list[i];
		ch->out->found = true;
	}
	return BERTH_OK;
}

static int by_simulated_time(const void *a, const void *b)
{
	const berth_configure_choice *x = a, *y = b;
	double d = time_of(&x->simulated) - time_of(&y->simulated);
	return d < 0 ? -1 : d > 0;
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
			BERTH_TRY(simulate(ch, &ch->front[i], &runs, err));
		if (runs)
			ch->front[n++] = ch->front[i];
	}
	if (ch->out->found && !isnan(energy_of(&ch->out->best.simulated)))
		ch->front[n++] = ch->out->best;
	qsort(ch->front, (size_t)n, sizeof *ch->front, by_simulated_time);
	for (int32_t i = 0; i < n; i++) {
		int32_t k = ch->out->n_front;
		if (k == 0 || energy_of(&ch->front[i].simulated) < energy_of(&ch->front[k - 1].simulated))
			ch->front[ch->out->n_front++] = ch->front[i];
	}
	ch->out->front = ch->front;
	return BERTH_OK;
}

/* ---- all of it ---- */

static berth_status alloc_choices(chooser *ch, int32_t n, berth_configure_choice **out, berth_err *err)
{
	BERTH_TRY(BERTH_NEW(ch->mem, *out, n, err));
	for (int32_t i = 0; i < n; i++)
		BERTH_TRY(BERTH_NEW(ch->mem, (*out)[i].c.host_layout, ch->x->c->n_hosts, err));
	return BERTH_OK;
}

static berth_status configure(chooser *ch, berth_err *err)
{
	const berth_configure_cfg *cfg = ch->cfg;
	berth_exchanger e;
	BERTH_TRY(berth_exchanger_new(ch->x, ch->mem, ch->tmp, &e, err));
	BERTH_TRY(alloc_choices(ch, BERTH_MOST_WHOLE, &ch->list, err));
	BERTH_TRY(alloc_choices(ch, MOST_FRONT + 2, &ch->front, err));
	BERTH_TRY(BERTH_NEW(ch->mem, ch->list_value, BERTH_MOST_WHOLE, err));
	ch->out->all = berth_configurations_most(ch->x) <= (double)cfg->most;
	if (ch->out->all)
		BERTH_TRY(berth_configure_each(&e, cfg->exchange, ch->tmp, visit, ch, err));
	else
		BERTH_TRY(berth_config_search(&e, cfg->goal, cfg->exchange, ch->tmp, visit, ch,
		                              &ch->out->bound, err));
	if (ch->out->all)
		ch->out->bound = ch->n ? ch->list_value[0] : INFINITY;
	BERTH_TRY(choose(ch, err));
	return simulate_front(ch, err);
}

static berth_status check(const berth_copies *x, berth_goal goal, berth_err *err)
{
	const berth_system *s = x->c->s;
	for (int32_t d = 0; d < s->n_devs && berth_goals[goal].needs_watts; d++)
		if (isnan(s->dev_idle_w[d]))
			return berth_fail(err, BERTH_EINVAL,
			                  "goal %s needs watts, but device '%.80s' has no \"idle_w\" and "
			                  "\"busy_w\": add them, or choose the goal time",
			                  berth_goals[goal].name, s->dev_name[d]);
	return BERTH_OK;
}

berth_status berth_configure(const berth_copies *x, const berth_configure_cfg *cfg, const atomic_int *cancel,
                             berth_arena *mem, berth_arena *tmp, berth_arena *tmp2, berth_configured *out,
                             berth_err *err)
{
	berth_configured r = {.bound = NAN};
	chooser ch = {.x = x, .cfg = cfg, .cancel = cancel, .out = &r, .mem = mem, .tmp = tmp, .tmp2 = tmp2};
	BERTH_TRY(check(x, cfg->goal, err));
	BERTH_TRY(configure(&ch, err));
	*out = r;
	return BERTH_OK;
}
