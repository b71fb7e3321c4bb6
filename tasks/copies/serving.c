/* One pipeline, the parts of one server, copies over several servers, and how often each is used: by a
 * dynamic program where that is little work, else by a relaxation that is rounded down. */
#include "serving.h"

#include "simplex.h"

enum { MOST_STATES = 1 << 20 };

/* ---- one pipeline ---- */

typedef struct pipeline {
	const berth_serving *x;
	const int32_t *n_devs;
	int64_t *time_ns[BERTH_MOST_SERVER_KINDS]; /* [n_blocks+1] sums of the first blocks */
	int64_t *bytes, *state;                    /* [n_blocks+1] */
	int32_t *cannot[BERTH_MOST_SERVER_KINDS]; /* [n_blocks+1] blocks among the first that it cannot run */
	int32_t *reach;                           /* [states] blocks done by so many devices of each kind */
	int32_t n_states;
} pipeline;

static berth_status sum_blocks(pipeline *l, berth_arena *tmp, berth_err *err)
{
	const berth_serving *x = l->x;
	BERTH_TRY_NEW(tmp, x->n_blocks + 1, err, l->bytes, l->state);
	for (int32_t b = 0; b < x->n_blocks; b++) {
		l->bytes[b + 1] = l->bytes[b] + x->block_bytes[b];
		l->state[b + 1] = l->state[b] + x->block_state_bytes[b];
	}
	l->n_states = 1;
	for (int32_t k = 0; k < x->n_kinds; k++) {
		BERTH_TRY_NEW(tmp, x->n_blocks + 1, err, l->time_ns[k], l->cannot[k]);
		for (int32_t b = 0; b < x->n_blocks; b++) {
			bool can = x->kind[k].block_ns[b] >= 0;
			l->time_ns[k][b + 1] = l->time_ns[k][b] + (can ? x->kind[k].block_ns[b] : 0);
			l->cannot[k][b + 1] = l->cannot[k][b] + !can;
		}
		l->n_states *= l->n_devs[k] + 1;
	}
	return BERTH_NEW(tmp, l->reach, l->n_states, err);
}

/* What one device of kind k reads of the blocks from .. to-1 from its disk; -1: it cannot have them. */
static int64_t read_bytes(const pipeline *l, int32_t k, int32_t from, int32_t to)
{
	int64_t work = to > from ? l->x->work_bytes : 0;
	return l->cannot[k][to] != l->cannot[k][from]
	               ? -1
	               : berth_serving_read_bytes(&l->x->kind[k], l->bytes[to] - l->bytes[from] + work,
	                                          l->state[to] - l->state[from] + work);
}

/* -1: the same. */
static int64_t stage_ns(const pipeline *l, int32_t k, int32_t from, int32_t to)
{
	int64_t read = read_bytes(l, k, from, to), run_ns = l->time_ns[k][to] - l->time_ns[k][from];
	double ns = read > 0 ? berth_serving_step_ns(&l->x->kind[k], (double)run_ns, read) : 0;
	return read > 0 ? llround(ceil(fmin(1e18, ns))) : read < 0 ? -1 : run_ns;
}

/* May one device of kind k have the blocks from .. to-1? */
static bool holds_blocks(const pipeline *l, int32_t k, int32_t from, int32_t to, int64_t period_ns)
{
	int64_t ns = stage_ns(l, k, from, to);
	return ns >= 0 && ns <= period_ns;
}

/* The farthest block that it comes to from there. */
static int32_t extend_stage(const pipeline *l, int32_t k, int32_t from, int64_t period_ns)
{
	int32_t low = from, high = l->x->n_blocks;
	while (low < high) {
		int32_t mid = low + (high - low + 1) / 2;
		if (holds_blocks(l, k, from, mid, period_ns))
			low = mid;
		else
			high = mid - 1;
	}
	return low;
}

/* Do the devices have all blocks within the period, in some order? What fewer blocks are left to is never
 * worse, so that each number of devices of each kind needs its farthest block alone. */
static bool fits_period(pipeline *l, int64_t period_ns)
{
	for (int32_t s = 1; s < l->n_states; s++) {
		int32_t best = 0, step = 1, rest = s;
		for (int32_t k = 0; k < l->x->n_kinds; k++) {
			int32_t digit = rest % (l->n_devs[k] + 1);
			rest /= l->n_devs[k] + 1;
			if (digit > 0) {
				int32_t to = extend_stage(l, k, l->reach[s - step], period_ns);
				best = to > best ? to : best;
			}
			step *= l->n_devs[k] + 1;
		}
		l->reach[s] = best;
	}
	return l->reach[l->n_states - 1] == l->x->n_blocks;
}

static int64_t shortest_period(pipeline *l)
{
	int64_t low = 0, high = 0;
	for (int32_t k = 0; k < l->x->n_kinds; k++) {
		double read_ns = (double)l->bytes[l->x->n_blocks] * l->x->kind[k].disk_byte_ns;
		high = berth_max(
			high, berth_max(l->time_ns[k][l->x->n_blocks], llround(ceil(fmin(1e18, read_ns)))));
	}
	if (!fits_period(l, high))
		return -1;
	while (low < high) {
		int64_t mid = low + (high - low) / 2;
		if (fits_period(l, mid))
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

/* The kind of the last device of state s, which takes the blocks from *from on; *before: the state without
 * it. */
static int32_t last_of(const pipeline *l, int32_t s, int64_t period_ns, int32_t *from, int32_t *before)
{
	int32_t k = 0, step = 1, rest = s;
	for (;; k++) {
		int32_t digit = rest % (l->n_devs[k] + 1);
		if (digit > 0 && extend_stage(l, k, l->reach[s - step], period_ns) == l->reach[s])
			break;
		rest /= l->n_devs[k] + 1;
		step *= l->n_devs[k] + 1;
	}
	*before = s - step;
	*from = l->reach[*before];
	return k;
}

/* Of a sample, all borders as slow as the slowest. */
static int64_t time_through(pipeline *l, int64_t period_ns, int64_t border_ns)
{
	int64_t ns = -border_ns;
	fits_period(l, period_ns);
	for (int32_t s = l->n_states - 1, before; s > 0; s = before) {
		int32_t from, to = l->reach[s], k = last_of(l, s, period_ns, &from, &before);
		if (to > from)
			ns += stage_ns(l, k, from, to) + border_ns;
	}
	return ns;
}

/* Of those that the copy may have, in any order of its devices; -1: some have no link. */
static int64_t slowest_border(const berth_serving *x, const berth_serving_group *g)
{
	int64_t ns = 0;
	int32_t n = 0;
	bool whole = false;
	for (int32_t k = 0; k < x->n_kinds; k++) {
		n += g->n_devs[k];
		whole |= g->servers[k] > 0;
	}
	for (int32_t k = 0; k < x->n_kinds; k++) {
		if (g->n_devs[k] > 0)
			ns = berth_max(ns, berth_max(n > 1 || whole ? x->kind[k].inside_ns : 0,
			                             whole ? x->kind[k].outside_ns : 0));
		for (int32_t o = 0; o < x->n_kinds; o++) {
			if (g->servers[k] < (k == o ? 2 : 1) || g->servers[o] < 1)
				continue;
			if (x->link_ns[k][o] < 0)
				return -1;
			ns = berth_max(ns, x->link_ns[k][o]);
		}
	}
	return ns;
}

/* The shortest period, or the shortest at which a sample keeps its limit: the longer the period, the fewer
 * borders, and the more of the quick devices. That of the stages is returned; reach is as it says. */
static int64_t period_of_stages(pipeline *l, berth_serving_group *g)
{
	const berth_serving *x = l->x;
	int64_t border_ns = slowest_border(x, g), low = border_ns < 0 ? -1 : shortest_period(l), high = low;
	g->period_ns = -1;
	if (low < 0)
		return -1;
	g->latency_ns = time_through(l, low, border_ns);
	while (x->most_ns > 0 && g->latency_ns > x->most_ns && high <= x->most_ns) {
		high = high > 0 ? 2 * high : 1;
		g->latency_ns = time_through(l, high, border_ns);
	}
	if (x->most_ns > 0 && g->latency_ns > x->most_ns)
		return -1;
	while (low < high) {
		int64_t mid = low + (high - low) / 2;
		if (time_through(l, mid, border_ns) <= x->most_ns)
			high = mid;
		else
			low = mid + 1;
	}
	g->latency_ns = time_through(l, high, border_ns);
	g->period_ns = berth_max(high, border_ns);
	return high;
}

berth_status berth_serving_period(const berth_serving *x, berth_serving_group *g, berth_arena *tmp,
                                  berth_err *err)
{
	pipeline l = {.x = x, .n_devs = g->n_devs};
	BERTH_SCRATCH(tmp);
	BERTH_TRY(sum_blocks(&l, tmp, err));
	period_of_stages(&l, g);
	return BERTH_OK;
}

berth_status berth_serving_stages(const berth_serving *x, const berth_serving_group *g, berth_arena *mem,
                                  berth_arena *tmp, berth_serving_stage **stage, int32_t *n_stages,
                                  berth_err *err)
{
	pipeline l = {.x = x, .n_devs = g->n_devs};
	BERTH_SCRATCH(tmp);
	int32_t n = 0, at;
	for (int32_t k = 0; k < x->n_kinds; k++)
		n += g->n_devs[k];
	BERTH_TRY_NEW(mem, n, err, *stage);
	BERTH_TRY(sum_blocks(&l, tmp, err));
	berth_serving_group again = *g;
	int64_t period_ns = period_of_stages(&l, &again);
	at = n;
	for (int32_t s = l.n_states - 1, before; s > 0; s = before) {
		int32_t from, to = l.reach[s], k = last_of(&l, s, period_ns, &from, &before);
		if (to > from)
			(*stage)[--at] = (berth_serving_stage){k, from, to, read_bytes(&l, k, from, to)};
	}
	*n_stages = n - at;
	*stage += at;
	return BERTH_OK;
}

/* ---- parts of one server ---- */

/* Ways to use servers: a server of one kind by itself, or several whole servers with one copy. */
typedef struct column {
	double per_s;
	int32_t servers[BERTH_MOST_SERVER_KINDS];
	berth_serving_group copy; /* of the one copy */
	int32_t kind;             /* of a server by itself; -1: several servers */
} column;

typedef struct planner {
	const berth_serving *x;
	column *col;
	int32_t n_cols;
	size_t cap;
	int32_t *part[BERTH_MOST_SERVER_KINDS]; /* [n_devs+1] devices of the last part of the best division */
	berth_serving_group *parts[BERTH_MOST_SERVER_KINDS]; /* [n_devs+1] a copy on so many devices */
	double alone[BERTH_MOST_SERVER_KINDS];               /* samples a second of a server by itself */
	int64_t tries;
	int64_t *x_n; /* [n_cols] how often each is used */
	int64_t left[BERTH_MOST_SERVER_KINDS];
	berth_serving_plan *plan;
	berth_arena *mem, *tmp;
} planner;

static double rate_of(int64_t period_ns)
{
	return period_ns > 0 ? 1e9 / (double)period_ns : 0;
}

static berth_status add_column(planner *l, column c, berth_err *err)
{
	return BERTH_PUSH(l->mem, l->col, l->n_cols, &l->cap, err, c);
}

/* The best division of a server's devices into parts with a copy each. */
static berth_status divide_server(planner *l, int32_t k, berth_err *err)
{
	const berth_server_kind *d = &l->x->kind[k];
	double *best;
	BERTH_TRY_NEW(l->tmp, d->n_devs + 1, err, best);
	BERTH_TRY_NEW(l->mem, d->n_devs + 1, err, l->part[k], l->parts[k]);
	for (int32_t n = 1; n <= d->n_devs; n++) {
		l->parts[k][n].n_devs[k] = n;
		l->plan->solved++;
		BERTH_TRY(berth_serving_period(l->x, &l->parts[k][n], l->tmp, err));
	}
	for (int32_t n = 1; n <= d->n_devs; n++)
		for (int32_t part = 1; part <= n; part++) {
			double per_s = best[n - part] + rate_of(l->parts[k][part].period_ns);
			if (per_s > best[n]) {
				best[n] = per_s;
				l->part[k][n] = part;
			}
		}
	l->alone[k] = best[d->n_devs];
	column c = {.per_s = l->alone[k], .kind = k};
	c.servers[k] = 1;
	return c.per_s > 0 ? add_column(l, c, err) : BERTH_OK;
}

/* ---- several servers ---- */

/* Samples a second that devices have at most: prices of kinds are the inverse of their time for all. */
static double most_per_s(const berth_serving *x, const double *n_devs)
{
	double sum = 0, least = 0, all_ns[BERTH_MOST_SERVER_KINDS] = {0};
	for (int32_t k = 0; k < x->n_kinds; k++)
		for (int32_t b = 0; b < x->n_blocks; b++)
			all_ns[k] += x->kind[k].block_ns[b] < 0 ? 1e18 : (double)x->kind[k].block_ns[b];
	for (int32_t b = 0; b < x->n_blocks; b++) {
		double part = INFINITY;
		for (int32_t k = 0; k < x->n_kinds; k++)
			if (n_devs[k] > 0 && x->kind[k].block_ns[b] >= 0)
				part = fmin(part, (double)x->kind[k].block_ns[b] / all_ns[k]);
		least += part;
	}
	for (int32_t k = 0; k < x->n_kinds; k++)
		sum += n_devs[k] / all_ns[k];
	return isfinite(least) && least > 0 ? 1e9 * sum / least * (1 + 1e-12) : 0;
}

/* A copy on so many whole servers of each kind, where it may be better than these alone. */
static berth_status try_group(planner *l, const int32_t *servers, berth_err *err)
{
	const berth_serving *x = l->x;
	double many[BERTH_MOST_SERVER_KINDS] = {0}, alone = 0, states = 1;
	int32_t kinds = 0;
	column c = {.kind = -1};
	for (int32_t k = 0; k < x->n_kinds; k++) {
		c.servers[k] = c.copy.servers[k] = servers[k];
		c.copy.n_devs[k] = servers[k] * x->kind[k].n_devs;
		many[k] = c.copy.n_devs[k];
		alone += servers[k] * l->alone[k];
		states *= c.copy.n_devs[k] + 1;
		kinds += servers[k] > 0;
	}
	if (most_per_s(x, many) <= alone * (1 + 1e-9))
		return BERTH_OK;
	if (states > MOST_STATES || berth_layout_over(x->cfg, &l->tries, 0, 0)) {
		l->plan->left_out++;
		return BERTH_OK;
	}
	l->plan->solved++;
	BERTH_TRY(berth_serving_period(x, &c.copy, l->tmp, err));
	c.per_s = rate_of(c.copy.period_ns);
	if (x->most_ns > 0 && kinds > 1) { /* what the limit changed may have a better way to keep it */
		berth_serving free = *x;
		berth_serving_group any = c.copy;
		free.most_ns = 0;
		BERTH_TRY(berth_serving_period(&free, &any, l->tmp, err));
		l->plan->left_out += any.period_ns != c.copy.period_ns;
	}
	return c.per_s > alone * (1 + 1e-9) ? add_column(l, c, err) : BERTH_OK;
}

static berth_status try_groups(planner *l, int32_t k, int32_t left, int32_t n, int32_t *servers,
                               berth_err *err)
{
	if (k == l->x->n_kinds)
		return n > 1 ? try_group(l, servers, err) : BERTH_OK;
	for (int32_t i = 0; i <= left && i <= l->x->kind[k].n_servers; i++) {
		servers[k] = i;
		BERTH_TRY(try_groups(l, k + 1, left - i, n + i, servers, err));
	}
	servers[k] = 0;
	return BERTH_OK;
}

/* ---- how often each ---- */

/* The best use of what is left, by a dynamic program over how many servers of each kind are used. */
static berth_status fill_rest(planner *l, berth_err *err)
{
	int32_t rows = l->x->n_kinds, *by;
	size_t states = 1, step[BERTH_MOST_SERVER_KINDS];
	double *best;
	for (int32_t k = 0; k < rows; k++) {
		step[k] = states;
		states *= (size_t)l->left[k] + 1;
	}
	BERTH_TRY_NEW(l->tmp, states, err, best, by);
	for (size_t s = 0; s < states; s++) {
		by[s] = -1;
		for (int32_t k = 0; k < rows; k++) /* a server may stay idle */
			if (s / step[k] % ((size_t)l->left[k] + 1) > 0 && best[s - step[k]] > best[s]) {
				best[s] = best[s - step[k]];
				by[s] = -2 - k;
			}
		for (int32_t c = 0; c < l->n_cols; c++) {
			size_t less = 0;
			bool can = true;
			for (int32_t k = 0; k < rows; k++) {
				can &= s / step[k] % ((size_t)l->left[k] + 1) >= (size_t)l->col[c].servers[k];
				less += step[k] * (size_t)l->col[c].servers[k];
			}
			if (can && best[s - less] + l->col[c].per_s > best[s]) {
				best[s] = best[s - less] + l->col[c].per_s;
				by[s] = c;
			}
		}
	}
	for (size_t s = states - 1; by[s] != -1;) {
		if (by[s] <= -2) {
			s -= step[-2 - by[s]];
			continue;
		}
		const column *c = &l->col[by[s]];
		l->x_n[by[s]]++;
		for (int32_t k = 0; k < rows; k++)
			s -= step[k] * (size_t)c->servers[k];
	}
	return BERTH_OK;
}

static bool few_states(const planner *l)
{
	double states = 1;
	for (int32_t k = 0; k < l->x->n_kinds; k++)
		states *= (double)l->left[k] + 1;
	return states * (l->n_cols + 1) <= 2e7;
}

/* All by the dynamic program where that is little work; else the relaxation rounded down, a few copies less,
 * and the program for the rest. */
static berth_status choose_numbers(planner *l, berth_err *err)
{
	double *x;
	BERTH_TRY_NEW(l->tmp, l->n_cols, err, x, l->x_n);
	/* max per_s x, servers x <= n. */
	int32_t rows = l->x->n_kinds;
	double *a, *gain, limit[BERTH_MOST_SERVER_KINDS];
	BERTH_TRY_NEW(l->tmp, (size_t)rows * (size_t)l->n_cols, err, a);
	BERTH_TRY_NEW(l->tmp, l->n_cols, err, gain);
	for (int32_t k = 0; k < rows; k++)
		limit[k] = (double)l->x->kind[k].n_servers;
	for (int32_t c = 0; c < l->n_cols; c++) {
		gain[c] = l->col[c].per_s;
		for (int32_t k = 0; k < rows; k++)
			a[k * l->n_cols + c] = l->col[c].servers[k];
	}
	BERTH_TRY(berth_simplex_max(rows, l->n_cols, a, limit, gain, l->tmp, x, &l->plan->groups_per_s, err));
	if (isinf(l->plan->groups_per_s)) /* rounding: what is known of any plan holds */
		l->plan->groups_per_s = l->plan->bound_per_s;
	for (int32_t k = 0; k < l->x->n_kinds; k++)
		l->left[k] = l->x->kind[k].n_servers;
	bool exact = few_states(l);
	for (int32_t spare = 4; !exact && spare >= 0; spare--) {
		for (int32_t k = 0; k < l->x->n_kinds; k++)
			l->left[k] = l->x->kind[k].n_servers;
		for (int32_t c = 0; c < l->n_cols; c++) {
			double n = floor(x[c] + 1e-9) - spare;
			l->x_n[c] = n > 0 ? (int64_t)n : 0;
			for (int32_t k = 0; k < l->x->n_kinds; k++)
				l->left[k] -= l->x_n[c] * l->col[c].servers[k];
		}
		if (few_states(l))
			break;
	}
	if (few_states(l))
		BERTH_TRY(fill_rest(l, err));
	for (int32_t c = 0; c < l->n_cols; c++)
		l->plan->per_s += (double)l->x_n[c] * l->col[c].per_s;
	if (exact)
		l->plan->groups_per_s = l->plan->per_s;
	if (l->plan->left_out > 0)
		l->plan->groups_per_s = l->plan->bound_per_s;
	return BERTH_OK;
}

/* ---- the plan ---- */

static void add_parts(planner *l, int32_t k, int64_t servers)
{
	for (int32_t left = l->x->kind[k].n_devs; left > 0 && l->part[k][left] > 0;) {
		int32_t n = l->part[k][left], i = 0;
		berth_serving_plan *plan = l->plan;
		left -= n;
		while (i < plan->n_groups &&
		       !(plan->group[i].n_devs[k] == n && plan->group[i].servers[k] == 0))
			i++;
		if (i == plan->n_groups) {
			plan->group[plan->n_groups++] = l->parts[k][n];
		}
		plan->group[i].n += servers;
		plan->n_copies += servers;
	}
}

static berth_status tell_groups(planner *l, berth_err *err)
{
	int32_t most = l->n_cols;
	for (int32_t k = 0; k < l->x->n_kinds; k++)
		most += l->x->kind[k].n_devs;
	BERTH_TRY_NEW(l->mem, most, err, l->plan->group);
	for (int32_t c = 0; c < l->n_cols; c++) {
		const column *col = &l->col[c];
		if (l->x_n[c] == 0)
			continue;
		if (col->kind >= 0) {
			add_parts(l, col->kind, l->x_n[c]);
			continue;
		}
		berth_serving_group *g = &l->plan->group[l->plan->n_groups++];
		*g = col->copy;
		g->n = l->x_n[c];
		l->plan->n_copies += l->x_n[c];
	}
	return BERTH_OK;
}

static berth_status solve_servers(planner *l, berth_err *err)
{
	const berth_serving *x = l->x;
	double all[BERTH_MOST_SERVER_KINDS];
	int32_t servers[BERTH_MOST_SERVER_KINDS] = {0};
	for (int32_t k = 0; k < x->n_kinds; k++) {
		BERTH_TRY(divide_server(l, k, err));
		all[k] = (double)x->kind[k].n_servers * x->kind[k].n_devs;
	}
	l->plan->bound_per_s = most_per_s(x, all);
	if (x->spans)
		BERTH_TRY(try_groups(l, 0, BERTH_MOST_SPAN, 0, servers, err));
	BERTH_TRY(choose_numbers(l, err));
	return tell_groups(l, err);
}

berth_status berth_serving_solve(const berth_serving *x, berth_arena *mem, berth_arena *tmp,
                                 berth_serving_plan *out, berth_err *err)
{
	berth_serving_plan plan = {0};
	planner l = {.x = x, .plan = &plan, .mem = mem, .tmp = tmp};
	BERTH_SCRATCH(tmp);
	BERTH_TRY(solve_servers(&l, err));
	*out = plan;
	return BERTH_OK;
}
