/* The least sum of times under limits of memory. The dual of the limits is climbed by subgradients with the
 * steps of B. T. Polyak, "Minimization of unsmooth functionals", USSR Comp. Math. Math. Phys. 9(3), 1969.
 * What is cheapest at the prices, and fits, is a placement found. */
#include "least_sum.h"

#include "coloc.h"
#include "min_cut.h"

enum { MOST_STEPS = 100, PATIENCE = 5 };

#define ARC_NS 4.0     /* of work, to look at an arc */
#define ENTRY_NS 100.0 /* to solve a PBQP, for each entry of its matrices */
#define UP (1 + 0x1p-40)
#define HOPE 0.02      /* of the bound: how far above it the value is, where none is known */
#define LEAST_PACE 0.01
#define CLIMB_NS 3e8   /* of work, after which no step is begun */
#define MOST_NS 0x1p56 /* of all bytes at their price */

typedef struct climber {
	const berth_problem *p;
	const berth_sum_asker *who;
	berth_min_cut cut;   /* two devices */
	berth_sum_pbqp pbqp; /* other numbers */
	int32_t n;           /* devices and pools */
	int64_t *limit;      /* [n] bytes at rest; -1: none */
	double *room_ns;     /* [n] the price of all its bytes */
	/* [n] bytes of the latest placement / limit - 1; scratch */
	double *over, *over_before;
	int64_t *coloc_bytes, *price_ns, *used;
	bool *usable;        /* [n_colocs][n_devs] */
	uint8_t *seen;       /* [n_devs] zeros */
	double *byte_ns, total_bytes;
	int32_t *op_dev;
	bool ended, fits;
	int64_t bound_ns, best_ns; /* INT64_MAX: none is known */
	double now_ns;       /* of the dual */
	double spent_ns;     /* of work */
} climber;

/* What an operator needs at once beside what its group keeps before: tensors that it makes and reads. */
static int64_t bytes_at_once(const berth_graph *g, int32_t op)
{
	int64_t sum = g->op_workspace_bytes[op];
	BERTH_EACH (t, g->op_tensor_off, op)
		sum += g->tensor_bytes[t];
	BERTH_EACH (i, g->op_in_off, op) /* ascending */
		sum += i > g->op_in_off[op] && g->in_tensor[i] == g->in_tensor[i - 1]
		               ? 0
		               : g->tensor_bytes[g->in_tensor[i]];
	return sum;
}

/* The least that a device holds at some time with the group on it. */
static int64_t least_bytes(const climber *c, int32_t u)
{
	int64_t most = 0, outputs = 0;
	BERTH_EACH (i, c->p->coloc_off, u) {
		int64_t bytes = bytes_at_once(c->p->g, c->p->coloc_op[i]);
		most = bytes > most ? bytes : most;
		outputs += c->p->g->op_output_bytes[c->p->coloc_op[i]];
	}
	return c->coloc_bytes[u] + (most > outputs ? most - outputs : 0);
}

static bool has_room(const climber *c, int32_t d, int64_t bytes)
{
	int32_t pool = berth_dev_pool(c->p, d);
	return (c->limit[d] < 0 || bytes <= c->limit[d]) &&
	       (pool < 0 || c->limit[c->p->n_devs + pool] < 0 || bytes <= c->limit[c->p->n_devs + pool]);
}

/* Where groups may stand: where they fit, if they fit anywhere. Each is put on the first such device. */
static void find_usable(climber *c)
{
	const berth_problem *p = c->p;
	for (int32_t u = 0; u < p->n_colocs; u++) {
		bool somewhere = false;
		int64_t bytes = least_bytes(c, u);
		for (int32_t d = 0; d < p->n_devs; d++)
			somewhere |= berth_coloc_legal(p, u, d) && has_room(c, d, bytes);
		for (int32_t d = p->n_devs - 1; d >= 0; d--) {
			bool *at = &c->usable[berth_cell(p, u, d)];
			*at = berth_coloc_legal(p, u, d) && (!somewhere || has_room(c, d, bytes));
			if (*at)
				berth_coloc_put(p, u, d, c->op_dev);
		}
	}
}

static berth_status open_climber(climber *c, berth_arena *mem, berth_err *err)
{
	const berth_problem *p = c->p;
	size_t cells = (size_t)p->n_colocs * (size_t)p->n_devs;
	bool *counted;
	c->n = berth_n_resources(p);
	BERTH_TRY_NEW(mem, c->n, err, c->limit, c->used);
	BERTH_TRY_NEW(mem, c->n, err, c->room_ns, c->over, c->over_before);
	BERTH_TRY_NEW(mem, p->n_colocs, err, c->coloc_bytes);
	BERTH_TRY_NEW(mem, cells, err, c->price_ns);
	BERTH_TRY_NEW(mem, cells, err, c->usable);
	BERTH_TRY_NEW(mem, p->n_devs, err, c->byte_ns);
	BERTH_TRY_NEW(mem, p->n_devs, err, c->seen);
	BERTH_TRY_NEW(mem, p->n_ops, err, c->op_dev);
	BERTH_TRY_NEW(mem, p->g->n_params, err, counted);
	if (c->who->coloc_bytes)
		BERTH_COPY(c->coloc_bytes, c->who->coloc_bytes, p->n_colocs);
	else {
		/* Bytes that a colocation group keeps; a shared parameter counts for its first user. */
		int64_t *coloc_bytes = c->coloc_bytes;
		const berth_graph *g = p->g;
		BERTH_CLEAR(coloc_bytes, p->n_colocs);
		BERTH_CLEAR(counted, g->n_params);
		for (int32_t op = 0; op < p->n_ops; op++) {
			coloc_bytes[p->op_coloc[op]] += berth_kept_bytes(p, op);
			BERTH_EACH (i, g->op_param_off, op) {
				int32_t param = g->op_param[i];
				coloc_bytes[p->op_coloc[op]] += counted[param] ? 0 : g->param_bytes[param];
				counted[param] = true;
			}
		}
	}
	for (int32_t u = 0; u < p->n_colocs; u++)
		c->total_bytes += (double)c->coloc_bytes[u];
	for (int32_t k = 0; k < c->n; k++)
		c->limit[k] = berth_limit_bytes(p, k);
	find_usable(c);
	if (p->n_devs == 2)
		return berth_min_cut_new(p, mem, &c->cut, err);
	return berth_sum_pbqp_new(p, c->usable, mem, &c->pbqp, err);
}

/* What colocation groups pay for bytes. Returns what the rooms are worth together, rounded up. */
static double set_prices(climber *c)
{
	const berth_problem *p = c->p;
	double worth = 0;
	for (int32_t k = 0; k < c->n; k++)
		worth += c->room_ns[k] * UP;
	for (int32_t d = 0; d < p->n_devs; d++) {
		int32_t pool = berth_dev_pool(p, d), q = p->n_devs + pool;
		c->byte_ns[d] = c->limit[d] > 0 ? c->room_ns[d] / (double)c->limit[d] : 0;
		if (pool >= 0 && c->limit[q] > 0)
			c->byte_ns[d] += c->room_ns[q] / (double)c->limit[q];
	}
	berth_price_bytes(p, c->coloc_bytes, c->byte_ns, c->price_ns);
	for (int32_t u = 0; u < p->n_colocs; u++)
		for (int32_t d = 0; d < p->n_devs; d++)
			if (!c->usable[berth_cell(p, u, d)])
				c->price_ns[berth_cell(p, u, d)] = BERTH_FLOW_ENDLESS;
	return ceil(worth);
}

static bool afford(climber *c, double ns)
{
	c->spent_ns += ns;
	return c->who->go_on(c->who->ctx, ns);
}

static bool afford_arcs(void *ctx, int64_t arcs)
{
	return afford(ctx, ARC_NS * (double)arcs);
}

/* The cheapest placement at the prices: op_dev, and *least_ns with the prices. */
static berth_status solve(climber *c, bool effort, int64_t *least_ns, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = c->p;
	if (p->n_devs != 2) {
		c->ended = !c->pbqp.q || !afford(c, ENTRY_NS * c->pbqp.entries);
		return c->ended ? BERTH_OK
		                : berth_sum_pbqp_solve(&c->pbqp, c->price_ns, effort, c->op_dev, least_ns,
		                                       tmp, err);
	}
	c->ended = !berth_min_cut_place(&c->cut, (int32_t[2]){0, 1}, c->price_ns, afford_arcs, c, c->op_dev);
	if (c->ended)
		return BERTH_OK;
	*least_ns = berth_sum_of_times(p, c->op_dev, c->seen);
	for (int32_t u = 0; u < p->n_colocs; u++)
		*least_ns += c->price_ns[berth_cell(p, u, berth_coloc_dev(p, u, c->op_dev))];
	return BERTH_OK;
}

static berth_status look(climber *c, bool effort, berth_arena *tmp, berth_err *err)
{
	int64_t least_ns = 0;
	double worth_ns = set_prices(c);
	BERTH_TRY(solve(c, effort, &least_ns, tmp, err));
	if (c->ended)
		return BERTH_OK;
	c->now_ns = (double)least_ns - worth_ns;
	int64_t bound_ns = least_ns - (int64_t)worth_ns;
	c->bound_ns = bound_ns > c->bound_ns ? bound_ns : c->bound_ns;
	const berth_problem *p = c->p;
	BERTH_CLEAR(c->used, c->n);
	for (int32_t u = 0; u < p->n_colocs; u++) {
		int32_t d = berth_coloc_dev(p, u, c->op_dev), pool = berth_dev_pool(p, d);
		c->used[d] += c->coloc_bytes[u];
		if (pool >= 0)
			c->used[p->n_devs + pool] += c->coloc_bytes[u];
	}
	c->fits = true;
	for (int32_t k = 0; k < c->n; k++) {
		c->over[k] = c->limit[k] > 0 ? (double)c->used[k] / (double)c->limit[k] - 1 : 0;
		c->fits &= c->limit[k] < 0 || c->used[k] <= c->limit[k];
	}
	/* Tell what was found. */
	int64_t ns = INT64_MAX;
	if (c->who->found)
		ns = c->who->found(c->who->ctx, c->op_dev, c->coloc_bytes, c->fits);
	else if (c->fits)
		ns = berth_sum_of_times(c->p, c->op_dev, c->seen);
	c->best_ns = ns < c->best_ns ? ns : c->best_ns;
	return BERTH_OK;
}

/* All bytes together cost no more than counts well. */
static double most_price(const climber *c, int32_t k)
{
	return MOST_NS * (double)c->limit[k] / c->total_bytes;
}

/* Move the prices of rooms along the subgradient. Returns false where it is 0: no prices are better. */
static bool move_prices(climber *c, double pace)
{
	bool known = c->best_ns < INT64_MAX;
	double norm = 0, target_ns = known ? (double)c->best_ns : (double)c->bound_ns * (1 + HOPE);
	for (int32_t k = 0; k < c->n; k++) {
		if (c->limit[k] <= 0 || (c->room_ns[k] == 0 && c->over[k] < 0))
			c->over[k] = 0;
		norm += c->over[k] * c->over[k];
	}
	double length = pace * fmax(target_ns - c->now_ns, 1) / norm;
	for (int32_t k = 0; k < c->n && norm > 0; k++) {
		if (c->over[k] != 0)
			c->room_ns[k] =
				fmin(fmax(c->room_ns[k] + length * c->over[k], 0), most_price(c, k));
	}
	return norm > 0;
}

static berth_status climb(climber *c, berth_arena *tmp, berth_err *err)
{
	double pace = 1;
	int idle = 0;
	BERTH_TRY(look(c, true, tmp, err));
	if (!c->ended && !c->fits) {
		/* The other end: what is too full holds as little as it can. Prices are 0 before and
		 * after. */
		double now_ns = c->now_ns;
		BERTH_COPY(c->over_before, c->over, c->n);
		for (int32_t i = 0; i < c->n && !c->fits && !c->ended; i++) {
			for (int32_t k = 0; k < c->n; k++)
				c->room_ns[k] = c->over[k] > 0 ? most_price(c, k) : c->room_ns[k];
			BERTH_TRY(look(c, false, tmp, err));
		}
		c->now_ns = now_ns;
		BERTH_COPY(c->over, c->over_before, c->n);
		BERTH_CLEAR(c->room_ns, c->n);
	}
	for (int i = 0; i < MOST_STEPS && !c->ended && c->bound_ns < c->best_ns; i++) {
		int64_t before = c->bound_ns;
		if (c->spent_ns > CLIMB_NS || !move_prices(c, pace))
			break;
		BERTH_TRY(look(c, false, tmp, err));
		idle = c->bound_ns > before ? 0 : idle + 1;
		if (idle == PATIENCE) {
			idle = 0;
			pace /= 2;
		}
		if (pace < LEAST_PACE)
			break;
	}
	return BERTH_OK;
}

berth_status berth_least_sum(const berth_problem *p, const berth_sum_asker *who, berth_arena *tmp,
                             int64_t *bound_ns, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	climber c = {.p = p, .who = who, .best_ns = INT64_MAX};
	*bound_ns = 0;
	if (berth_problem_feasible(p, NULL) != BERTH_OK)
		return BERTH_OK; /* an operator may stand nowhere */
	BERTH_TRY(open_climber(&c, tmp, err));
	BERTH_TRY(climb(&c, tmp, err));
	*bound_ns = who->coloc_bytes ? 0 : c.bound_ns;
	if (berth_may_be_alone(p) && p->alone_sum_ns < *bound_ns)
		*bound_ns = p->alone_sum_ns;
	return BERTH_OK;
}
