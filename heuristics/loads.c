/* What a move does to joules and to loads, without simulating it. Loads of devices, channels and memory pools
 * are exact where all operators have a device; joules are so but for slow-downs in memory pools. */
#include "loads.h"

#include "coloc.h"

bool berth_prices_known(const berth_objective *o)
{
	bool some = false;
	for (int m = 0; m < BERTH_N_METRICS; m++) {
		if (!o->sums[m] && !berth_objective_is(o, (berth_metric)m))
			continue;
		if (m != BERTH_LATENCY && m != BERTH_ENERGY && m != BERTH_EDP)
			return false;
		some = true;
	}
	return some;
}

static double weight_of(const berth_objective *o, berth_metric m)
{
	return o->sums[m] ? o->weight[m] : berth_objective_is(o, m) ? 1 : 0;
}

berth_status berth_prices_new(const berth_problem *p, const berth_objective *objective, berth_arena *mem,
                              berth_prices *out, berth_err *err)
{
	berth_prices x = {.p = p, .objective = objective, .per_ns = 1};
	BERTH_TRY_NEW(mem, p->g->n_tensors, err, x.seen);
	BERTH_TRY(berth_dests_new(p, mem, &x.dests, err));
	for (int32_t d = 0; d < p->n_devs && p->has_energy; d++)
		x.idle_w += p->s->dev_idle_w[d];
	*out = x;
	return BERTH_OK;
}

static double joules_above_idle(const berth_prices *x, const berth_base_log *b)
{
	double sum = 0;
	for (int32_t op = 0; op < x->p->n_ops; op++)
		sum += berth_op_joules(x->p, op, b->op_dev[op]);
	for (int32_t h = 0; h < b->n_ends - x->p->n_ops; h++)
		sum += x->p->s->link_joules_per_byte[b->hops[h].link] *
		       (double)x->p->g->tensor_bytes[b->hops[h].tensor];
	return sum;
}

void berth_prices_update(berth_prices *x, const berth_base_log *base)
{
	double energy = weight_of(x->objective, BERTH_ENERGY), edp = weight_of(x->objective, BERTH_EDP);
	if (x->serial == base->serial || !(energy > 0 || edp > 0))
		return;
	double s = (double)base->latency_ns * 1e-9, joules = joules_above_idle(x, base) + x->idle_w * s;
	x->serial = base->serial;
	x->per_joule = energy + edp * s;
	x->per_ns = 1e-9 * (weight_of(x->objective, BERTH_LATENCY) + energy * x->idle_w +
	                    edp * (joules + s * x->idle_w));
}

/* Of bringing tensor t to all that take it. */
static double tensor_joules(berth_prices *x, int32_t t, const int32_t *op_dev)
{
	const berth_graph *g = x->p->g;
	int32_t home = op_dev[g->tensor_producer[t]];
	double sum = 0;
	berth_dests_find(&x->dests, g, t, op_dev);
	for (int32_t i = 0; i < x->dests.n; i++)
		sum += berth_transfer_joules(x->p, t, home, x->dests.dev[i]);
	return sum;
}

static double tensor_change(berth_prices *x, int32_t t, const int32_t *base_dev, const int32_t *op_dev)
{
	if (x->seen[t] == x->stamp)
		return 0;
	x->seen[t] = x->stamp;
	return tensor_joules(x, t, op_dev) - tensor_joules(x, t, base_dev);
}

double berth_prices_joules(berth_prices *x, const int32_t *base_dev, const int32_t *op_dev, int32_t n,
                           const int32_t *op)
{
	const berth_graph *g = x->p->g;
	double sum = 0;
	x->stamp++;
	for (int32_t i = 0; i < n; i++) {
		int32_t v = op[i];
		sum += berth_op_joules(x->p, v, op_dev[v]) - berth_op_joules(x->p, v, base_dev[v]);
		BERTH_EACH (t, g->op_tensor_off, v)
			sum += tensor_change(x, t, base_dev, op_dev);
		BERTH_EACH (k, g->op_in_off, v)
			sum += tensor_change(x, g->in_tensor[k], base_dev, op_dev);
	}
	return sum;
}

double berth_prices_joules_at(const berth_prices *x, int32_t op, int32_t d, const int32_t *op_dev,
                              bool (*stays)(const void *ctx, int32_t op), const void *ctx)
{
	const berth_graph *g = x->p->g;
	double sum = berth_op_joules(x->p, op, d);
	BERTH_EACH (k, g->op_in_off, op) {
		int32_t t = g->in_tensor[k], home = op_dev[g->tensor_producer[t]];
		if (home != d)
			sum += berth_transfer_joules(x->p, t, home, d);
	}
	BERTH_EACH (t, g->op_tensor_off, op)
		BERTH_EACH (e, g->tensor_use_off, t) {
			int32_t to = g->edge_consumer[e];
			if (op_dev[to] != d && stays(ctx, to))
				sum += berth_transfer_joules(x->p, t, d, op_dev[to]);
		}
	return sum;
}

berth_status berth_loads_new(const berth_problem *p, berth_arena *mem, berth_loads *out, berth_err *err)
{
	berth_loads x = {.p = p, .n = p->n_devs + p->s->n_channels + p->n_pools};
	BERTH_TRY_NEW(mem, x.n, err, x.load, x.trial, x.touched, x.list);
	BERTH_TRY_NEW(mem, p->g->n_tensors, err, x.seen);
	BERTH_TRY_NEW(mem, p->n_ops, err, x.moves);
	BERTH_TRY_NEW(mem, p->n_colocs, err, x.placed);
	BERTH_TRY(berth_dests_new(p, mem, &x.dests, err));
	*out = x;
	return BERTH_OK;
}

/* ---- the resources that operators and tensors load ---- */

typedef void visit(berth_loads *x, int32_t resource, double ns);

static void visit_op(berth_loads *x, int32_t op, int32_t d, double sign, visit *f)
{
	const berth_problem *p = x->p;
	int32_t pool = berth_dev_pool(p, d);
	f(x, d, sign * (double)berth_op_time(p, op, d) / p->s->dev_slots[d]);
	if (pool >= 0)
		f(x, p->n_devs + p->s->n_channels + pool, sign * (double)berth_op_pool_ns(p, op, d));
}

static void visit_hop(berth_loads *x, int32_t t, int32_t link, double sign, visit *f)
{
	const berth_problem *p = x->p;
	size_t at = (size_t)p->tensor_class[t] * (size_t)p->s->n_links + (size_t)link;
	if (p->s->contention)
		f(x, p->n_devs + p->s->link_channel[link], sign * (double)p->class_link_ns[at]);
	for (size_t k = 0; k < 2 && p->n_pools; k++)
		if (p->link_pool[2 * (size_t)link + k] >= 0)
			f(x, p->n_devs + p->s->n_channels + p->link_pool[2 * (size_t)link + k],
			  sign * (double)p->class_link_pool_ns[2 * at + k]);
}

static void visit_way(berth_loads *x, int32_t t, int32_t from, int32_t to, double sign, visit *f)
{
	const berth_problem *p = x->p;
	int32_t route = berth_route(p, t, from, to);
	BERTH_EACH (i, p->route_off, route)
		visit_hop(x, t, p->route_link[i], sign, f);
}

static void visit_tensor(berth_loads *x, int32_t t, const int32_t *op_dev, double sign, visit *f)
{
	berth_dests_find(&x->dests, x->p->g, t, op_dev);
	for (int32_t i = 0; i < x->dests.n; i++)
		visit_way(x, t, op_dev[x->p->g->tensor_producer[t]], x->dests.dev[i], sign, f);
}

/* ---- the placement at hand ---- */

static void add(berth_loads *x, int32_t r, double ns)
{
	if (x->touched[r] != x->stamp) {
		x->touched[r] = x->stamp;
		x->trial[r] = x->load[r];
		x->list[x->n_list++] = r;
	}
	x->trial[r] += ns;
}

static void begin_trial(berth_loads *x)
{
	x->stamp++;
	x->n_list = 0;
}

void berth_loads_begin(berth_loads *x, const int32_t *op_dev)
{
	const berth_graph *g = x->p->g;
	BERTH_CLEAR(x->load, x->n);
	begin_trial(x);
	for (int32_t op = 0; op < g->n_ops; op++)
		visit_op(x, op, op_dev[op], 1, add);
	for (int32_t t = 0; t < g->n_tensors; t++)
		visit_tensor(x, t, op_dev, 1, add);
	x->most = 0;
	for (int32_t i = 0; i < x->n_list; i++) {
		int32_t r = x->list[i];
		x->load[r] = x->trial[r];
		if (x->load[r] > x->most) {
			x->most = x->load[r];
			x->top = r;
		}
	}
}

static void look_for_top(berth_loads *x, int32_t r, double ns)
{
	x->found |= r == x->top && ns > 0;
}

bool berth_loads_critical(berth_loads *x, int32_t op, const int32_t *op_dev)
{
	const berth_graph *g = x->p->g;
	x->found = false;
	visit_op(x, op, op_dev[op], 1, look_for_top);
	for (int32_t t = g->op_tensor_off[op]; t < g->op_tensor_off[op + 1] && !x->found; t++)
		visit_tensor(x, t, op_dev, 1, look_for_top);
	for (int32_t k = g->op_in_off[op]; k < g->op_in_off[op + 1] && !x->found; k++) {
		int32_t home = op_dev[g->tensor_producer[g->in_tensor[k]]];
		if (home != op_dev[op])
			visit_way(x, g->in_tensor[k], home, op_dev[op], 1, look_for_top);
	}
	return x->found;
}

/* ---- changes ---- */

static double potential(const berth_loads *x, double load)
{
	double a = x->most > 0 ? load / x->most : load;
	a *= a;
	a *= a;
	a *= a;
	return a * a;
}

static void change_tensor(berth_loads *x, int32_t t, const int32_t *base_dev, const int32_t *op_dev)
{
	if (x->seen[t] == x->stamp)
		return;
	x->seen[t] = x->stamp;
	visit_tensor(x, t, base_dev, -1, add);
	if (op_dev)
		visit_tensor(x, t, op_dev, 1, add);
}

/* What op loads goes from where it is in base_dev to where it is in op_dev, or (NULL) away. */
static void change_op(berth_loads *x, int32_t op, const int32_t *base_dev, const int32_t *op_dev)
{
	const berth_graph *g = x->p->g;
	visit_op(x, op, base_dev[op], -1, add);
	if (op_dev)
		visit_op(x, op, op_dev[op], 1, add);
	BERTH_EACH (t, g->op_tensor_off, op)
		change_tensor(x, t, base_dev, op_dev);
	BERTH_EACH (k, g->op_in_off, op)
		change_tensor(x, g->in_tensor[k], base_dev, op_dev);
}

double berth_loads_change(berth_loads *x, const int32_t *base_dev, const int32_t *op_dev, int32_t n,
                          const int32_t *op)
{
	double sum = 0;
	begin_trial(x);
	for (int32_t i = 0; i < n; i++)
		change_op(x, op[i], base_dev, op_dev);
	for (int32_t i = 0; i < x->n_list; i++)
		sum += potential(x, x->trial[x->list[i]]) - potential(x, x->load[x->list[i]]);
	return sum;
}

/* ---- placing anew ---- */

static void grow(berth_loads *x, int32_t r, double ns)
{
	double now = x->touched[r] == x->stamp ? x->trial[r] : x->load[r];
	x->growth += potential(x, now + ns) - potential(x, now);
}

/* What op loads on d, with its tensors to and from all that have their devices. */
static void visit_at(berth_loads *x, int32_t op, int32_t d, const int32_t *op_dev, visit *f)
{
	const berth_graph *g = x->p->g;
	visit_op(x, op, d, 1, f);
	BERTH_EACH (k, g->op_in_off, op) {
		int32_t t = g->in_tensor[k], from = g->tensor_producer[t];
		if (x->moves[from] != x->stamp && op_dev[from] != d)
			visit_way(x, t, op_dev[from], d, 1, f);
	}
	BERTH_EACH (t, g->op_tensor_off, op)
		BERTH_EACH (e, g->tensor_use_off, t) {
			int32_t to = g->edge_consumer[e];
			if (x->moves[to] != x->stamp && op_dev[to] != d)
				visit_way(x, t, d, op_dev[to], 1, f);
		}
}

static int32_t choose(berth_loads *x, int32_t op, double noise, berth_rng *rng, const int32_t *op_dev)
{
	int32_t coloc = x->p->op_coloc[op], chosen = op_dev[op];
	double least = INFINITY;
	for (int32_t d = 0; d < x->p->n_devs; d++) {
		if (!berth_coloc_legal(x->p, coloc, d))
			continue;
		x->growth = 0;
		visit_at(x, op, d, op_dev, grow);
		double price = x->growth - noise * log(1 - berth_rng_unit(rng));
		if (price < least) {
			least = price;
			chosen = d;
		}
	}
	return chosen;
}

void berth_loads_place(berth_loads *x, int32_t n, const int32_t *op, double noise, berth_rng *rng,
                       int32_t *op_dev)
{
	begin_trial(x);
	for (int32_t i = 0; i < n; i++) {
		x->moves[op[i]] = x->stamp;
		change_op(x, op[i], op_dev, NULL);
	}
	for (int32_t i = 0; i < n; i++) {
		int32_t coloc = x->p->op_coloc[op[i]];
		if (x->placed[coloc] != x->stamp)
			berth_coloc_put(x->p, coloc, choose(x, op[i], noise, rng, op_dev), op_dev);
		x->placed[coloc] = x->stamp;
		visit_at(x, op[i], op_dev[op[i]], op_dev, add);
		x->moves[op[i]] = 0;
	}
}
