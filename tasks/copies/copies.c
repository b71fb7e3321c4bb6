/* A crew of one device holds all of the model; what several hold is found by a search in which
 * no other device is legal. Both are simulated on the whole system, so that operators start in the order that
 * they start in beside other copies. */
#include "copies.h"

#include "solve.h"

typedef struct pricer {
	berth_copies *x;
	const berth_method *method;
	berth_search_cfg search;
	berth_arena *mem, *tmp;
} pricer;

/* ---- one copy ---- */

/* op_dev is on devices of the host; order NULL: by the rule. */
static berth_status price_placement(pricer *r, const berth_problem *p, int32_t host, const int32_t *op_dev,
                                    const int32_t *order, berth_copy_price *out, berth_err *err)
{
	const berth_objective latency = berth_objective_of(BERTH_LATENCY);
	berth_eval e;
	berth_sim_result sim;
	int32_t *dev, *starts;
	int64_t *bytes;
	double idle_w = 0;
	BERTH_TRY(berth_eval_new(p, &latency, r->tmp, &e, err));
	r->x->evaluations++;
	if (!order && p->s->order == BERTH_ORDER_GIVEN)
		order = p->g->topo_op;
	if (berth_eval_result(&e, op_dev, order, &sim) > 0)
		return BERTH_OK;
	BERTH_TRY_NEW(r->mem, p->n_ops, err, dev, starts);
	BERTH_TRY_NEW(r->mem, berth_host_size(r->x->c, host), err, bytes);
	BERTH_COPY(dev, op_dev, p->n_ops);
	berth_sim_start_order(e.sim, starts);
	/* Parameters by device: each shared one once for all its users there. */
	const berth_cluster *c = r->x->c;
	const berth_graph *g = p->g;
	int32_t first = c->host_off[host], n = berth_host_size(c, host), *place;
	BERTH_TRY_NEW(r->tmp, p->n_devs, err, place);
	for (int32_t i = 0; i < n; i++)
		place[c->host_dev[first + i]] = i;
	for (int32_t op = 0; op < g->n_ops; op++)
		bytes[place[op_dev[op]]] += g->op_param_bytes[op];
	for (int32_t k = 0; k < g->n_params; k++)
		BERTH_EACH (i, g->param_op_off, k) {
			bool seen = false;
			for (int32_t j = g->param_op_off[k]; j < i && !seen; j++)
				seen = op_dev[g->param_op[j]] == op_dev[g->param_op[i]];
			bytes[place[op_dev[g->param_op[i]]]] += seen ? 0 : g->param_bytes[k];
		}
	for (int32_t d = 0; d < p->n_devs; d++)
		idle_w += p->s->dev_idle_w[d];
	*out = (berth_copy_price){.runs = true,
	                          .time_ns = sim.latency_ns,
	                          .active_j = sim.energy_j - idle_w * 1e-9 * (double)sim.latency_ns,
	                          .op_dev = dev,
	                          .op_order = starts,
	                          .dev_grad_bytes = bytes};
	return berth_peak_watts(p, e.sim, op_dev, r->tmp, &out->peak_w, err);
}

static berth_status price_batch(pricer *r, int32_t host, const int32_t *dev, int32_t n, int32_t b,
                                berth_copy_price *out, berth_err *err)
{
	const berth_problem *p = &r->x->problem[b];
	berth_problem q;
	int32_t *op_dev;
	bool can;
	/* Other devices than the crew's are not legal in q, which is p otherwise. Has every operator a
	 * device? */
	size_t size = (size_t)p->n_ops * (size_t)p->n_devs;
	q = *p;
	can = true;
	BERTH_TRY_NEW(r->tmp, size, err, q.op_dev_legal);
	for (int32_t op = 0; op < p->n_ops; op++) {
		bool any = false;
		for (int32_t i = 0; i < n; i++) {
			size_t at = (size_t)op * (size_t)p->n_devs + (size_t)dev[i];
			q.op_dev_legal[at] = p->op_dev_legal[at];
			any |= p->op_dev_legal[at] != 0;
		}
		can = can && any;
	}
	if (!can)
		return BERTH_OK;
	if (n > 1) {
		berth_bounds bounds;
		berth_solution s;
		BERTH_TRY(berth_bounds_new(&q, r->tmp, &bounds, err));
		berth_status st = berth_solve(&q, &bounds, r->method, &r->search, r->mem, r->tmp, &s, err);
		if (st == BERTH_ELIMIT)
			return BERTH_OK;
		BERTH_TRY(st);
		r->x->evaluations += s.evaluations;
		if (s.interrupted)
			return berth_fail(err, BERTH_EINTERRUPTED, "interrupted while copies were placed");
		return s.feasible ? price_placement(r, &q, host, s.op_dev, s.op_order, out, err) : BERTH_OK;
	}
	BERTH_TRY_NEW(r->tmp, p->n_ops, err, op_dev);
	for (int32_t op = 0; op < p->n_ops; op++)
		op_dev[op] = dev[0];
	return price_placement(r, p, host, op_dev, NULL, out, err);
}

static berth_status price_crew(pricer *r, int32_t host, berth_crew *crew, berth_err *err)
{
	int32_t dev[BERTH_MAX_DEVS];
	for (int32_t i = 0; i < crew->n; i++)
		dev[i] = berth_copy_dev(r->x, host, crew->place[i]);
	BERTH_TRY_NEW(r->mem, r->x->n_batches, err, crew->price);
	for (int32_t b = 0; b < r->x->n_batches; b++) {
		BERTH_SCRATCH(r->tmp);
		BERTH_TRY(price_batch(r, host, dev, crew->n, b, &crew->price[b], err));
	}
	return BERTH_OK;
}

/* ---- sets of devices ---- */

/* Unlike sets of a host's devices: so many of each kind, the first ones. */
typedef struct sets {
	int32_t n_kinds, n_devs;
	int32_t kind_of[BERTH_MAX_DEVS]; /* [n_devs] of the place */
	int32_t size[BERTH_MAX_DEVS];    /* [n_kinds] */
	int32_t taken[BERTH_MAX_DEVS];   /* [n_kinds] of the set at hand */
} sets;

static sets sets_of(const berth_cluster *c, int32_t host)
{
	sets x = {.n_devs = berth_host_size(c, host)};
	for (int32_t i = 0; i < x.n_devs; i++) {
		int32_t d = c->host_dev[c->host_off[host] + i], k = x.n_kinds;
		for (int32_t j = 0; j < i && k == x.n_kinds; j++)
			if (c->dev_like[d] == c->dev_like[c->host_dev[c->host_off[host] + j]])
				k = x.kind_of[j];
		x.kind_of[i] = k;
		x.size[k]++;
		x.n_kinds += k == x.n_kinds;
	}
	return x;
}

/* The next set; false behind the last one. */
static bool next_set(sets *x)
{
	for (int32_t k = 0; k < x->n_kinds; k++) {
		if (x->taken[k] < x->size[k]) {
			x->taken[k]++;
			return true;
		}
		x->taken[k] = 0;
	}
	return false;
}

static int32_t places_of(const sets *x, int32_t place[])
{
	int32_t used[BERTH_MAX_DEVS] = {0}, n = 0;
	for (int32_t i = 0; i < x->n_devs; i++)
		if (used[x->kind_of[i]] < x->taken[x->kind_of[i]]) {
			used[x->kind_of[i]]++;
			place[n++] = i;
		}
	return n;
}

/* Do links both ways lead from each of the devices to each other one within the set? */
static bool are_joined(const berth_copies *x, int32_t host, const int32_t place[], int32_t n)
{
	const berth_system *s = x->c->s;
	int32_t found[BERTH_MAX_DEVS] = {0}, n_found = 1;
	bool seen[BERTH_MAX_DEVS] = {true};
	for (int32_t k = 0; k < n_found; k++)
		for (int32_t b = 0; b < n; b++) {
			int32_t from = berth_copy_dev(x, host, place[found[k]]),
				to = berth_copy_dev(x, host, place[b]);
			if (seen[b] || s->link_of[from * s->n_devs + to] < 0 ||
			    s->link_of[to * s->n_devs + from] < 0)
				continue;
			seen[b] = true;
			found[n_found++] = b;
		}
	return n_found == n;
}

/* ---- hosts ---- */

static berth_status add_crew(pricer *r, int32_t host, const int32_t place[], int32_t n, berth_host_copies *h,
                             size_t *cap, berth_err *err)
{
	int32_t *own;
	BERTH_TRY(BERTH_GROW(r->mem, h->crew, h->n_crews, cap, err));
	BERTH_TRY_NEW(r->mem, n, err, own);
	BERTH_COPY(own, place, n);
	h->crew[h->n_crews] = (berth_crew){.n = n, .place = own};
	return price_crew(r, host, &h->crew[h->n_crews++], err);
}

static berth_status add_layout(pricer *r, const int32_t crew[], int32_t n, berth_host_copies *h, size_t *cap,
                               berth_err *err)
{
	int32_t *own;
	BERTH_TRY(BERTH_GROW(r->mem, h->layout, h->n_layouts, cap, err));
	BERTH_TRY_NEW(r->mem, n, err, own);
	BERTH_COPY(own, crew, n);
	h->layout[h->n_layouts++] = (berth_layout){n, own};
	return BERTH_OK;
}

static bool any_runs(const berth_copies *x, const berth_crew *crew)
{
	for (int32_t b = 0; b < x->n_batches; b++)
		if (crew->price[b].runs)
			return true;
	return false;
}

static berth_status add_set(pricer *r, int32_t host, const sets *x, berth_host_copies *h, size_t cap[2],
                            berth_err *err)
{
	int32_t place[BERTH_MAX_DEVS], n = places_of(x, place);
	bool apart = true;
	for (int32_t i = 0; i < n; i++)
		apart = apart && any_runs(r->x, &h->crew[place[i]]);
	if (apart)
		BERTH_TRY(add_layout(r, place, n, h, &cap[1], err));
	if (n == 1 || !are_joined(r->x, host, place, n))
		return BERTH_OK;
	BERTH_TRY(add_crew(r, host, place, n, h, &cap[0], err));
	int32_t last = h->n_crews - 1;
	return any_runs(r->x, &h->crew[last]) ? add_layout(r, &last, 1, h, &cap[1], err) : BERTH_OK;
}

static berth_status ask_host(pricer *r, int32_t host, berth_host_copies *h, berth_err *err)
{
	sets x = sets_of(r->x->c, host);
	size_t cap[2] = {0};
	double n = 1;
	for (int32_t k = 0; k < x.n_kinds; k++)
		n *= 1 + x.size[k];
	if (n > BERTH_MOST_DEVICE_SETS)
		return berth_fail(err, BERTH_ELIMIT,
		                  "host '%.80s' has %.3g unlike sets of devices, more than %d: describe it "
		                  "with fewer devices, or as several hosts",
		                  r->x->c->host_name[host], n, BERTH_MOST_DEVICE_SETS);
	/* Crew i is the device at place i alone. */
	for (int32_t i = 0; i < x.n_devs; i++)
		BERTH_TRY(add_crew(r, host, &i, 1, h, &cap[0], err));
	while (next_set(&x))
		BERTH_TRY(add_set(r, host, &x, h, cap, err));
	return BERTH_OK;
}

/* ---- all ---- */

/* The device at the same place of the equal host. */
static int32_t twin_of(const berth_cluster *c, int32_t dev)
{
	int32_t h = c->dev_host[dev], place = 0;
	while (c->host_dev[c->host_off[h] + place] != dev)
		place++;
	return c->host_dev[c->host_off[c->host_like[h]] + place];
}

static berth_status check_graph(const berth_graph *g, berth_err *err)
{
	bool training = false;
	for (int32_t op = 0; op < g->n_ops; op++) {
		training |= g->op_backward[op];
		if (g->op_pin[op] || g->op_forbid_off[op] < g->op_forbid_off[op + 1])
			return berth_fail(
				err, BERTH_EINVAL,
				"graph '%.80s': operator '%.80s' is pinned to a device or kept off one, "
				"but copies of the graph go to all of them: leave the rule out",
				g->name, g->op_name[op]);
	}
	return training ? BERTH_OK
	                : berth_fail(err, BERTH_EINVAL,
	                             "graph '%.80s' has no backward pass: what is configured is training; "
	                             "give --training, or the word training=1 of a zoo model",
	                             g->name);
}

berth_status berth_copies_new(berth_cluster *c, const berth_graph *graph, const int64_t *batch,
                              int32_t n_batches, const berth_method *method, const berth_search_cfg *search,
                              berth_arena *mem, berth_arena *tmp, berth_copies *out, berth_err *err)
{
	berth_copies x = {.c = c, .n_batches = n_batches, .batch = batch, .graph = graph};
	pricer r = {&x, method, *search, mem, tmp};
	berth_host_copies *own;
	BERTH_TRY_NEW(mem, x.n_batches, err, x.problem);
	for (int32_t b = 0; b < x.n_batches; b++) {
		BERTH_TRY(check_graph(&x.graph[b], err));
		BERTH_TRY(berth_problem_new(&x.graph[b], x.c->s, mem, tmp, &x.problem[b], err));
	}
	x.grad_bytes = berth_graph_param_bytes(&x.graph[0]);
	/* Times are measured for devices by name, too: those that differ are not equal. */
	for (int32_t b = 0; b < x.n_batches; b++)
		for (int32_t op = 0; op < x.problem[b].n_ops; op++)
			for (int32_t d = 0; d < c->s->n_devs; d++) {
				const berth_problem *p = &x.problem[b];
				int32_t h = c->dev_host[d], twin = twin_of(c, d);
				if (berth_op_time(p, op, d) != berth_op_time(p, op, c->dev_like[d]))
					c->dev_like[d] = d;
				if (berth_op_time(p, op, d) != berth_op_time(p, op, twin))
					c->host_like[h] = h;
			}
	BERTH_TRY_NEW(mem, c->n_hosts, err, x.host, own);
	for (int32_t h = 0; h < c->n_hosts; h++) {
		x.host[h] = &own[c->host_like[h]];
		if (c->host_like[h] == h)
			BERTH_TRY(ask_host(&r, h, &own[h], err));
	}
	*out = x;
	return BERTH_OK;
}

void berth_copy_devs(const berth_copies *x, int32_t host, int32_t *dev)
{
	int32_t like = x->c->host_like[host];
	for (int32_t i = 0; i < berth_host_size(x->c, like); i++)
		dev[berth_copy_dev(x, like, i)] = berth_copy_dev(x, host, i);
}

int32_t berth_copy_batch(const berth_copies *x, const berth_crew *crew, int64_t deadline_ns)
{
	for (int32_t b = x->n_batches - 1; b >= 0; b--)
		if (crew->price[b].runs && crew->price[b].time_ns <= deadline_ns)
			return b;
	return -1;
}

typedef struct step {
	int64_t at_ns;
	double watts;
} step;

/* What ends at an instant ends before others start. */
static int by_time(const void *a, const void *b)
{
	const step *x = a, *y = b;
	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	return x->watts < y->watts ? -1 : x->watts > y->watts;
}

static int32_t list_steps(const berth_problem *p, const berth_sim *sim, const int32_t *op_dev, step *out)
{
	const int64_t *start = berth_sim_last(sim).start_ns, *end = berth_sim_last(sim).end_ns;
	int32_t n = 0;
	for (int32_t op = 0; op < p->n_ops; op++) {
		int32_t d = op_dev[op];
		double watts = (p->s->dev_busy_w[d] - p->s->dev_idle_w[d]) / p->s->dev_slots[d];
		if (end[op] == start[op])
			continue;
		out[n++] = (step){start[op], watts};
		out[n++] = (step){end[op], -watts};
	}
	qsort(out, (size_t)n, sizeof *out, by_time);
	return n;
}

berth_status berth_peak_watts(const berth_problem *p, const berth_sim *sim, const int32_t *op_dev,
                              berth_arena *tmp, double *out, berth_err *err)
{
	step *all;
	double now = 0, most = 0;
	BERTH_SCRATCH(tmp);
	*out = NAN;
	if (!p->has_energy)
		return BERTH_OK;
	BERTH_TRY_NEW(tmp, 2 * p->n_ops, err, all);
	int32_t n = list_steps(p, sim, op_dev, all);
	for (int32_t i = 0; i < n; i++) {
		now += all[i].watts;
		most = fmax(most, now);
	}
	*out = most;
	return BERTH_OK;
}
