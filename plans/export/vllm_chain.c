/* Which GPU runs which layers: the best and the nearest plan of vLLM's stages, and what it does by itself.
 * The best one is found by a dynamic program over runs of neighbouring layers. */
#include "vllm_plan.h"

#include "check.h"

/* ---- runs of units ---- */

/* After units 0 .. i-1 are placed on the GPUs of a set, the last of them on `last`. */
typedef struct chain {
	const vllm_plan *p;
	const double *cost, *pass, *room;
	int32_t n, n_gpus;
	double *best;              /* [sets][n_gpus][n + 1] */
	int32_t *from_unit, *from; /* [sets][n_gpus][n + 1] where the run began, and the GPU before it; -1 */
} chain;

static size_t cell(const chain *c, uint32_t set, int32_t last, int32_t i)
{
	return ((size_t)set * (size_t)c->n_gpus + (size_t)last) * (size_t)(c->n + 1) + (size_t)i;
}

/* A run from unit i on, on GPU d, behind what cost `sum` and ended on GPU `before`. */
static void extend(chain *c, uint32_t set, int32_t before, int32_t d, int32_t i, double sum)
{
	double bytes = 0;
	set |= 1u << d;
	if (before >= 0 && c->pass)
		sum += c->pass[((size_t)i * (size_t)c->n_gpus + (size_t)before) * (size_t)c->n_gpus +
		               (size_t)d];
	for (int32_t j = i; j < c->n; j++) {
		sum += c->cost[(size_t)j * (size_t)c->n_gpus + (size_t)d];
		bytes += (double)c->p->unit_bytes[j];
		const size_t at = cell(c, set, d, j + 1);
		if (bytes > c->room[d])
			break;
		if (sum >= c->best[at])
			continue;
		c->best[at] = sum;
		c->from_unit[at] = i;
		c->from[at] = before;
	}
}

static void fill(chain *c)
{
	for (int32_t d = 0; d < c->n_gpus; d++)
		extend(c, 0, -1, d, 0, 0);
	for (uint32_t set = 1; set < 1u << c->n_gpus; set++)
		for (int32_t last = 0; last < c->n_gpus; last++)
			for (int32_t i = 1; i < c->n; i++) {
				const double sum = c->best[cell(c, set, last, i)];
				for (int32_t d = 0; d < c->n_gpus && sum < HUGE_VAL; d++)
					if (!(set >> d & 1))
						extend(c, set, last, d, i, sum);
			}
}

/* Units to GPUs such that each has one run of neighbours, once: the least sum, by dynamic programming over
 * sets of GPUs and units.
 *   cost    [n_units][n_gpus] of a unit there; infinite: it cannot be
 *   pass    [n_units][n_gpus][n_gpus] between the unit before and this one, from and to; NULL: 0
 *   room    [n_gpus] bytes that unit_bytes of its run may sum up to
 *   unit_gpu  out [n_units]
 *   sum     out; infinite: there is none, and unit_gpu is not set
 * At most VLLM_MOST_GPUS are looked at, the first. tmp is scratch, reset at exit. Fails: BERTH_ENOMEM.
 * O(2^gpus * gpus^2 * units^2). */
static berth_status fill_chain(const vllm_plan *p, const double *cost, const double *pass, const double *room,
                        berth_arena *tmp, int32_t *unit_gpu, double *sum)
{
	BERTH_SCRATCH(tmp);
	chain c = {.p = p, .cost = cost, .pass = pass, .room = room, .n = p->n_units, .n_gpus = p->n_gpus};
	uint32_t set = 0;
	int32_t last = -1;
	const size_t n = cell(&c, 1u << c.n_gpus, 0, 0);
	BERTH_TRY_NEW(tmp, n, p->err, c.best, c.from_unit, c.from);
	for (size_t k = 0; k < n; k++)
		c.best[k] = HUGE_VAL;
	fill(&c);
	*sum = HUGE_VAL;
	for (uint32_t s = 1; s < 1u << c.n_gpus; s++)
		for (int32_t d = 0; d < c.n_gpus; d++)
			if (c.best[cell(&c, s, d, c.n)] < *sum) {
				*sum = c.best[cell(&c, s, d, c.n)];
				set = s;
				last = d;
			}
	int32_t end = c.n;
	while (last >= 0) {
		const size_t at = cell(&c, set, last, end);
		for (int32_t j = c.from_unit[at]; j < end; j++)
			unit_gpu[j] = last;
		set &= ~(1u << last);
		end = c.from_unit[at];
		last = c.from[at];
	}
	return BERTH_OK;
}

/* ---- what units take ---- */

/* cost [n_units][n_gpus], pass [n_units][n_gpus][n_gpus], seconds; infinite where an operator must not be.
 * Tensors that go further than to the next unit are left out. */
static void find_times(const vllm_plan *p, double *cost, double *pass)
{
	const berth_graph *g = p->x->g;
	const int32_t n = p->n_gpus;
	for (int32_t op = 0; op < g->n_ops; op++) {
		double *row = BERTH_ROW(cost, p->op_unit[op], n);
		for (int32_t d = 0; d < n; d++) {
			row[d] += berth_op_legal(p->x->p, op, p->gpu[d])
			                  ? (double)berth_op_time(p->x->p, op, p->gpu[d]) / 1e9
			                  : HUGE_VAL;
		}
		BERTH_EACH (t, g->op_tensor_off, op) {
			bool next = false;
			BERTH_EACH (u, g->tensor_use_off, t)
				next = next || p->op_unit[g->edge_consumer[u]] == p->op_unit[op] + 1;
			if (!next)
				continue;
			double *to = BERTH_ROW(pass, p->op_unit[op] + 1, n * n);
			for (int32_t a = 0; a < n; a++)
				for (int32_t b = 0; b < n; b++)
					to[a * n + b] += a == b ? 0
					                        : (double)berth_transfer_ns(
									  p->x->p, t, p->gpu[a], p->gpu[b]) /
					                                  1e9;
		}
	}
}

static double room_of(const vllm_plan *p, int32_t i)
{
	const int64_t bytes = p->x->s->dev_memory_bytes[p->gpu[i]];
	return bytes < 0 ? HUGE_VAL : p->share * (double)bytes;
}

static void put_units(const vllm_plan *p, const int32_t *unit_gpu, int32_t *op_dev)
{
	for (int32_t op = 0; op < p->x->g->n_ops; op++)
		op_dev[op] = p->gpu[unit_gpu[p->op_unit[op]]];
}

/* Is each shared weight that of embedding and output, or of one unit? Only then unit_bytes of a run is what
 * it holds: of all units, which has both, too much by it. */
static bool shares_simply(const vllm_plan *p)
{
	const berth_graph *g = p->x->g;
	for (int32_t k = 0; k < g->n_params; k++) {
		const int32_t first = p->op_unit[g->param_op[g->param_op_off[k]]];
		BERTH_EACH (u, g->param_op_off, k) {
			const int32_t unit = p->op_unit[g->param_op[u]];
			if (unit != first && !(first == 0 && unit == p->n_units - 1))
				return false;
		}
	}
	return true;
}

/* ---- the best ---- */

/* All on the fastest GPU that holds it by vllm_weigh: what the sums of unit_bytes may have left out. */
static berth_status try_single(const vllm_plan *p, const double *cost, berth_arena *tmp, int32_t *op_dev,
                               double *sum)
{
	vllm_memory *memory;
	int32_t *unit_gpu;
	*sum = HUGE_VAL;
	int32_t best = -1;
	BERTH_TRY_NEW(tmp, p->x->s->n_devs, p->err, memory);
	BERTH_TRY_NEW(tmp, p->n_units, p->err, unit_gpu);
	for (int32_t d = 0; d < p->n_gpus; d++) {
		double all = 0;
		for (int32_t k = 0; k < p->n_units; k++) {
			all += cost[(size_t)k * (size_t)p->n_gpus + (size_t)d];
			unit_gpu[k] = d;
		}
		if (all >= *sum)
			continue;
		put_units(p, unit_gpu, op_dev);
		BERTH_TRY(vllm_weigh(p, op_dev, tmp, memory));
		if (vllm_full(p, memory) >= 0)
			continue;
		*sum = all;
		best = d;
	}
	for (int32_t k = 0; best >= 0 && k < p->n_units; k++)
		unit_gpu[k] = best;
	if (best >= 0)
		put_units(p, unit_gpu, op_dev);
	return BERTH_OK;
}

/* Less room for what is too full, by what its buffers take, until the choice fits. */
static berth_status choose(const vllm_plan *p, const double *cost, const double *pass, double *room,
                           berth_arena *tmp, int32_t *op_dev, double *least, bool *found)
{
	vllm_memory *memory;
	int32_t *unit_gpu;
	double sum;
	BERTH_TRY_NEW(tmp, p->x->s->n_devs, p->err, memory);
	BERTH_TRY_NEW(tmp, p->n_units, p->err, unit_gpu);
	for (int round = 0;; round++) {
		BERTH_TRY(fill_chain(p, cost, pass, room, tmp, unit_gpu, &sum));
		*least = round ? *least : sum;
		*found = sum < HUGE_VAL;
		if (!*found)
			return BERTH_OK;
		put_units(p, unit_gpu, op_dev);
		BERTH_TRY(vllm_weigh(p, op_dev, tmp, memory));
		const int32_t full = vllm_full(p, memory);
		if (full < 0)
			return BERTH_OK;
		const vllm_memory *m = &memory[full];
		const double fits = (double)(m->room - m->buffers), holds = (double)(m->weights + m->cache);
		room[vllm_gpu(p, full)] = fits < holds ? fits : holds - 1;
	}
}

berth_status vllm_best(const vllm_plan *p, berth_arena *tmp, int32_t *op_dev, double *bound)
{
	BERTH_SCRATCH(tmp);
	vllm_plan few = *p;
	few.n_gpus = p->n_gpus < VLLM_MOST_GPUS ? p->n_gpus : VLLM_MOST_GPUS;
	const size_t n = (size_t)few.n_gpus, units = (size_t)few.n_units;
	double *cost, *pass, *room, single, least = HUGE_VAL;
	int32_t *alone;
	bool found;
	BERTH_TRY_NEW(tmp, n + 1, p->err, room);
	BERTH_TRY_NEW(tmp, units * n + 1, p->err, cost);
	BERTH_TRY_NEW(tmp, (units + 1) * n * n + 1, p->err, pass);
	BERTH_TRY_NEW(tmp, p->x->g->n_ops, p->err, alone);
	find_times(&few, cost, pass);
	for (int32_t d = 0; d < few.n_gpus; d++)
		room[d] = room_of(p, d);
	BERTH_TRY(try_single(&few, cost, tmp, alone, &single));
	BERTH_TRY(choose(&few, cost, pass, room, tmp, op_dev, &least, &found));
	if (!found && !(single < HUGE_VAL))
		return berth_fail(p->err, BERTH_EINFEASIBLE,
		                  "no run of layers on each GPU fits: vLLM may take %.0f %% of its memory",
		                  100 * p->share);
	if (single < HUGE_VAL && (!found || single <= berth_export_serial(p->x->p, op_dev)))
		BERTH_COPY(op_dev, alone, p->x->g->n_ops);
	*bound = few.n_gpus < p->n_gpus || !shares_simply(p) ? NAN : fmin(least, single);
	return BERTH_OK;
}

/* ---- the nearest ---- */

berth_status vllm_nearest(const vllm_plan *p, berth_arena *tmp, int32_t *op_dev)
{
	BERTH_SCRATCH(tmp);
	vllm_plan few = *p;
	few.n_gpus = p->n_gpus < VLLM_MOST_GPUS ? p->n_gpus : VLLM_MOST_GPUS;
	const size_t n = (size_t)few.n_gpus, units = (size_t)few.n_units;
	const berth_graph *g = p->x->g;
	double *cost, *pass, *room, sum = HUGE_VAL;
	int32_t *unit_gpu;
	BERTH_TRY_NEW(tmp, units * n + 1, p->err, cost);
	BERTH_TRY_NEW(tmp, (units + 1) * n * n + 1, p->err, pass);
	BERTH_TRY_NEW(tmp, n + 1, p->err, room);
	BERTH_TRY_NEW(tmp, units, p->err, unit_gpu);
	if (p->x->p)
		find_times(&few, cost, pass);
	for (size_t i = 0; i < units * n; i++)
		cost[i] *= 1e-9; /* of equal ones the shortest */
	for (int32_t op = 0; op < g->n_ops; op++)
		for (int32_t d = 0; d < few.n_gpus; d++)
			cost[(size_t)p->op_unit[op] * n + (size_t)d] += p->x->op_dev[op] != p->gpu[d];
	for (int tight = 1; tight >= 0 && !(sum < HUGE_VAL); tight--) {
		for (int32_t d = 0; d < few.n_gpus; d++)
			room[d] = tight ? room_of(p, d) : HUGE_VAL;
		BERTH_TRY(fill_chain(&few, cost, NULL, room, tmp, unit_gpu, &sum));
	}
	if (!(sum < HUGE_VAL))
		return berth_fail(p->err, BERTH_EUNSUPPORTED, "no GPUs can run all layers of the plan");
	put_units(p, unit_gpu, op_dev);
	return BERTH_OK;
}

/* ---- what it does by itself ---- */

berth_status vllm_usual(const vllm_plan *p, berth_arena *tmp, int32_t *op_dev, bool *known)
{
	BERTH_SCRATCH(tmp);
	int32_t *unit_gpu;
	vllm_memory *memory;
	*known = p->n_gpus > 0;
	if (!*known)
		return BERTH_OK;
	BERTH_TRY_NEW(tmp, p->n_units, p->err, unit_gpu);
	BERTH_TRY_NEW(tmp, p->x->s->n_devs, p->err, memory);
	put_units(p, unit_gpu, op_dev);
	BERTH_TRY(vllm_weigh(p, op_dev, tmp, memory));
	if (vllm_full(p, memory) < 0)
		return BERTH_OK;
	const int32_t n = p->n_gpus < p->n_units ? p->n_gpus : p->n_units;
	/* units of GPU i of n: as many on each, what is left over from the last but one backwards. */
	for (int32_t i = 0, at = 0; i < n; i++)
		for (int32_t k = p->n_units / n + (n - 1 - i >= 1 && n - 1 - i <= p->n_units % n); k > 0; k--)
			unit_gpu[at++] = i;
	put_units(p, unit_gpu, op_dev);
	return BERTH_OK;
}
