/* Checking certificates: what kinds share, the simple kinds, and the linear relaxation by weak duality
 * (docs/proofs.md). The checker takes nothing from the code that makes bounds, nor from the simulator: the
 * test layering holds it to that. */
#include "certificate.h"

#include "certificate_cases.h"
#include "cost_model.h"
#include "machines.h"

const char *berth_certificate_name(berth_certificate_kind kind)
{
	static const char *const name[BERTH_N_CERTIFICATES] = {"path", "load", "relaxation", "blocks",
	                                                       "windows", "machines"};
	return name[kind];
}

int64_t certificate_quotient(certificate_wide num, certificate_wide den, bool up)
{
	if (num <= 0)
		return 0;
	certificate_wide q = num / den + (up && num % den != 0);
	return q < CERTIFICATE_NEVER ? (int64_t)q : CERTIFICATE_NEVER;
}

certificate_wide certificate_charge(const berth_problem *p, const int64_t *price, int32_t op, int32_t d)
{
	certificate_wide sum = (certificate_wide)price[d] * berth_op_time(p, op, d);
	int32_t pool = berth_dev_pool(p, d);
	return pool < 0 ? sum : sum + (certificate_wide)price[p->n_devs + pool] * berth_op_pool_ns(p, op, d);
}

/* What op's bytes cost on d at prices of devices and pools; NULL: nothing. */
static certificate_wide rent(const int64_t *price, const berth_problem *p, int32_t op, int32_t d)
{
	int32_t pool = berth_dev_pool(p, d);
	return !price ? 0
	              : (certificate_wide)berth_kept_bytes(p, op) *
	                        (price[d] + (pool < 0 ? 0 : price[p->n_devs + pool]));
}

/* A load need not be a whole number where a device has several slots; a latency is. */
berth_status certificate_load(const berth_certificate *c, const berth_problem *p, berth_arena *tmp,
                              int64_t *proven_ns, berth_err *err)
{
	certificate_wide num = 0, den = 0;
	(void)tmp;
	for (int32_t k = 0; k < berth_n_resources(p); k++) {
		int64_t limit = berth_limit_bytes(p, k);
		if (c->byte_price && c->byte_price[k] > 0 && limit < 0)
			return berth_fail(err, BERTH_EFORMAT, "it prices memory that has no limit");
		den += (certificate_wide)c->price[k] * berth_units(p, k);
		num -= c->byte_price && limit > 0 ? (certificate_wide)c->byte_price[k] * limit : 0;
	}
	if (den == 0)
		return berth_fail(err, BERTH_EFORMAT, "all of its prices are 0");
	for (int32_t op = 0; op < p->n_ops; op++) {
		certificate_wide least = -1;
		for (int32_t d = 0; d < p->n_devs; d++)
			if (berth_op_legal(p, op, d)) {
				certificate_wide charge = certificate_charge(p, c->price, op, d) +
				                          rent(c->byte_price, p, op, d);
				least = least < 0 || charge < least ? charge : least;
			}
		num += least < 0 ? 0 : least;
	}
	*proven_ns = certificate_quotient(num, den, !c->load);
	return BERTH_OK;
}

/* ---- a path ---- */

/* The longest tensor that leads from one operator to the next; -1: none. */
static int32_t tensor_to(const berth_problem *p, int32_t from, int32_t to)
{
	int32_t best = -1;
	BERTH_EACH (i, p->g->op_in_off, to) {
		int32_t t = p->g->in_tensor[i];
		if (p->g->tensor_producer[t] == from &&
		    (best < 0 || p->g->tensor_bytes[t] > p->g->tensor_bytes[best]))
			best = t;
	}
	return best;
}

/* at[d] of the next operator of the path, over the unit; below 0: it cannot stand there. */
static void follow(const berth_certificate *c, const berth_problem *p, int32_t t, int32_t op,
                   const certificate_wide *before, certificate_wide *at)
{
	for (int32_t d = 0; d < p->n_devs; d++) {
		certificate_wide least = t < 0 ? 0 : -1;
		for (int32_t l = 0; t >= 0 && l < p->n_devs; l++) {
			certificate_wide there =
				before[l] + (certificate_wide)c->unit * berth_transfer_ns(p, t, l, d);
			if (before[l] >= 0 && (least < 0 || there < least))
				least = there;
		}
		at[d] = berth_op_legal(p, op, d) && least >= 0
		                ? least + (certificate_wide)c->unit * berth_op_time(p, op, d) +
		                          rent(c->price, p, op, d)
		                : -1;
	}
}

/* The path at its best with what its operators' bytes cost, the cheapest places of all other bytes, less what
 * the limits are worth. */
berth_status certificate_path(const berth_certificate *c, const berth_problem *p, berth_arena *tmp,
                              int64_t *proven_ns, berth_err *err)
{
	certificate_wide *at, length;
	bool *on_path;
	BERTH_TRY_NEW(tmp, 2 * p->n_devs, err, at);
	BERTH_TRY_NEW(tmp, p->n_ops, err, on_path);
	length = -1;
	for (int32_t k = 0; k < c->n_path; k++) {
		int32_t op = c->path[k], t = k ? tensor_to(p, c->path[k - 1], op) : -1;
		if (k && t < 0)
			return berth_fail(err, BERTH_EFORMAT,
			                  "its path is none: '%.80s' takes nothing from '%.80s'",
			                  p->g->op_name[op], p->g->op_name[c->path[k - 1]]);
		follow(c, p, t, op, at + (k % 2) * p->n_devs, at + (k + 1) % 2 * p->n_devs);
		on_path[op] = true;
	}
	for (int32_t d = 0; d < p->n_devs && c->n_path; d++) {
		certificate_wide here = at[c->n_path % 2 * p->n_devs + d];
		if (here >= 0 && (length < 0 || here < length))
			length = here;
	}
	if (length < 0)
		return BERTH_OK;
	for (int32_t k = 0; k < berth_n_resources(p); k++) {
		int64_t limit = berth_limit_bytes(p, k);
		if (c->price[k] > 0 && limit < 0)
			return berth_fail(err, BERTH_EFORMAT, "it prices memory that has no limit");
		length -= (certificate_wide)c->price[k] * (limit < 0 ? 0 : limit);
	}
	for (int32_t op = 0; op < p->n_ops; op++) {
		certificate_wide least = -1;
		for (int32_t d = 0; d < p->n_devs && !on_path[op]; d++)
			if (berth_op_legal(p, op, d) && (least < 0 || rent(c->price, p, op, d) < least))
				least = rent(c->price, p, op, d);
		length += least < 0 ? 0 : least;
	}
	*proven_ns = certificate_quotient(length, c->unit, true);
	return BERTH_OK;
}

/* ---- machines ---- */

static berth_status certificate_machines(const berth_certificate *c, const berth_problem *p, berth_arena *tmp,
                                         int64_t *proven_ns, berth_err *err)
{
	berth_machines m;
	BERTH_TRY(berth_machines_new(p, tmp, &m, err));
	if (berth_machines_full(&m, c->bound_ns))
		*proven_ns = c->bound_ns;
	return BERTH_OK;
}

/* ---- all kinds ---- */

static berth_status prove(const berth_certificate *c, const berth_problem *p, berth_arena *tmp,
                          int64_t *proven_ns, berth_err *err)
{
	if (c->load && c->kind != BERTH_CERTIFICATE_LOAD && c->kind != BERTH_CERTIFICATE_RELAXATION)
		return berth_fail(err, BERTH_EFORMAT,
		                  "a proof by %s is of the latency, not of the throughput",
		                  berth_certificate_name(c->kind));
	switch (c->kind) {
	case BERTH_CERTIFICATE_PATH:
		return certificate_path(c, p, tmp, proven_ns, err);
	case BERTH_CERTIFICATE_LOAD:
		return certificate_load(c, p, tmp, proven_ns, err);
	case BERTH_CERTIFICATE_RELAXATION:
		return certificate_relaxation(c, p, tmp, proven_ns, err);
	case BERTH_CERTIFICATE_BLOCKS:
		return certificate_blocks(c, p, tmp, proven_ns, err);
	case BERTH_CERTIFICATE_MACHINES:
		return certificate_machines(c, p, tmp, proven_ns, err);
	default:
		return certificate_windows(c, p, tmp, proven_ns, err);
	}
}

berth_status berth_certificate_prove(const berth_certificate *c, const berth_problem *p, berth_arena *tmp,
                                     int64_t *proven_ns, berth_err *err)
{
	*proven_ns = 0;
	if (!p->s->cost_model->strong_bounds)
		return berth_fail(err, BERTH_EUNSUPPORTED,
		                  "certificates are of the execution model, not of the cost model %s",
		                  p->s->cost_model->name);
	BERTH_SCRATCH(tmp);
	BERTH_TRY(prove(c, p, tmp, proven_ns, err));
	if (!c->load)
		*proven_ns = berth_round_up_ns(p, *proven_ns);
	return BERTH_OK;
}

berth_status berth_certificate_check(const berth_certificate *c, const berth_problem *p, berth_arena *tmp,
                                     berth_err *err)
{
	int64_t proven_ns;
	BERTH_TRY(berth_certificate_prove(c, p, tmp, &proven_ns, err));
	if (proven_ns < c->bound_ns)
		return berth_fail(err, BERTH_EFORMAT, "it claims %lld ns, but proves %lld ns",
		                  (long long)c->bound_ns, (long long)proven_ns);
	return BERTH_OK;
}

/* ---- the linear relaxation ---- */

enum { MOST = 1 << 20 };

typedef struct work {
	const berth_certificate *c;
	const berth_problem *p;
	int64_t *tail;           /* [n_ops][n_devs] least time after the end there */
	certificate_wide *place; /* [n_ops][n_devs] what standing there costs */
	certificate_wide num, den;
} work;

static size_t cell(const work *w, int32_t i, int32_t d)
{
	return berth_cell(w->p, i, d);
}

/* Least time from the end of op on d to the end of its consumer j. */
static int64_t after(const work *w, int32_t t, int32_t d, int32_t j)
{
	int64_t least = CERTIFICATE_NEVER;
	for (int32_t e = 0; e < w->p->n_devs; e++) {
		if (!berth_op_legal(w->p, j, e))
			continue;
		int64_t all =
			berth_transfer_ns(w->p, t, d, e) + berth_op_time(w->p, j, e) + w->tail[cell(w, j, e)];
		least = all < least ? all : least;
	}
	return least;
}

static void find_tails(work *w)
{
	const berth_graph *g = w->p->g;
	for (int32_t k = g->n_ops - 1; k >= 0; k--)
		for (int32_t d = 0, op = g->topo_op[k]; d < w->p->n_devs; d++)
			BERTH_EACH (t, g->op_tensor_off, op)
				BERTH_EACH (e, g->tensor_use_off, t) {
					int64_t way = after(w, t, d, g->edge_consumer[e]);
					int64_t *tail = &w->tail[cell(w, op, d)];
					*tail = way > *tail ? way : *tail;
				}
}

/* The rows of loads, memory and ends: what an operator pays for its device, and what the length is worth. */
static void charge_places(work *w)
{
	const berth_certificate *c = w->c;
	const berth_problem *p = w->p;
	for (int32_t k = 0; k < berth_n_resources(p); k++) {
		int64_t limit = berth_limit_bytes(p, k);
		w->den += (certificate_wide)c->price[k] * berth_units(p, k);
		w->num -= limit < 0 ? 0 : (certificate_wide)c->byte_price[k] * limit;
	}
	for (int32_t op = 0; op < p->n_ops; op++) {
		w->den += c->end_price[op];
		for (int32_t d = 0; d < p->n_devs; d++) {
			int32_t pool = berth_dev_pool(p, d);
			int64_t byte = c->byte_price[d] + (pool < 0 ? 0 : c->byte_price[p->n_devs + pool]);
			if (berth_op_legal(p, op, d))
				w->place[cell(w, op, d)] =
					certificate_charge(p, c->price, op, d) +
					(certificate_wide)byte * berth_kept_bytes(p, op) +
					(certificate_wide)c->end_price[op] *
						(berth_op_time(p, op, d) + w->tail[cell(w, op, d)]);
		}
	}
}

/* What the channels and pools of the way of tensor t from d to e cost. */
static certificate_wide toll(const work *w, int32_t t, int32_t d, int32_t e)
{
	const berth_problem *p = w->p;
	size_t first = (size_t)p->tensor_class[t] * (size_t)p->s->n_links;
	int32_t r = berth_route(p, t, d, e);
	certificate_wide sum = 0;
	BERTH_EACH (h, p->route_off, r) {
		size_t link = (size_t)p->route_link[h];
		sum += (certificate_wide)w->c->channel_price[p->s->link_channel[link]] *
		       p->class_link_ns[first + link];
		for (size_t side = 0; side < 2 && p->n_pools; side++) {
			int32_t pool = p->link_pool[2 * link + side];
			if (pool >= 0)
				sum += (certificate_wide)w->c->price[p->n_devs + pool] *
				       p->class_link_pool_ns[2 * (first + link) + side];
		}
	}
	return sum;
}

/* A tensor goes a way once for all consumers there: their parts are at most the toll, or it is paid beside.
 */
static void charge_ways(work *w, int32_t t)
{
	const berth_problem *p = w->p;
	const berth_graph *g = p->g;
	size_t pairs = (size_t)p->n_devs * (size_t)p->n_devs;
	for (int32_t d = 0; d < p->n_devs; d++)
		for (int32_t e = 0; e < p->n_devs; e++) {
			size_t pair = cell(w, d, e);
			certificate_wide rest = d != e && p->s->contention ? toll(w, t, d, e) : 0;
			BERTH_EACH (k, g->tensor_use_off, t)
				rest -= (certificate_wide)w->c->way_price[(size_t)k * pairs + pair] *
				        w->c->grain;
			w->num += rest < 0 ? rest : 0;
		}
}

/* One edge: the least over the devices of both ends of what its rows leave. Shares go to the places. */
static void charge_edge(work *w, int32_t t, int32_t k)
{
	const berth_certificate *c = w->c;
	const berth_problem *p = w->p;
	int32_t i = p->g->tensor_producer[t], j = p->g->edge_consumer[k];
	certificate_wide least = 0;
	bool any = false;
	for (int32_t d = 0; d < p->n_devs; d++) {
		certificate_wide out = (certificate_wide)c->out_share[cell(w, k, d)] * c->grain;
		w->place[cell(w, i, d)] += out;
		w->place[cell(w, j, d)] += (certificate_wide)c->in_share[cell(w, k, d)] * c->grain;
		for (int32_t e = 0; e < p->n_devs && berth_op_legal(p, i, d); e++) {
			if (!berth_op_legal(p, j, e))
				continue;
			size_t at = (berth_cell(p, k, d)) * (size_t)p->n_devs + (size_t)e;
			certificate_wide cost =
				(certificate_wide)c->flow[k] *
					(berth_op_time(p, i, d) + berth_transfer_ns(p, t, d, e)) +
				(certificate_wide)c->way_price[at] * c->grain - out -
				(certificate_wide)c->in_share[cell(w, k, e)] * c->grain;
			least = !any || cost < least ? cost : least;
			any = true;
		}
	}
	w->num += least;
}

/* Starts are between 0 and upper; each colocation group takes its cheapest device. */
static berth_status close_columns(work *w, berth_arena *tmp, berth_err *err)
{
	const berth_certificate *c = w->c;
	const berth_problem *p = w->p;
	certificate_wide *start;
	BERTH_TRY_NEW(tmp, p->n_ops, err, start);
	for (int32_t t = 0; t < p->g->n_tensors; t++)
		BERTH_EACH (k, p->g->tensor_use_off, t) {
			start[p->g->tensor_producer[t]] += c->flow[k];
			start[p->g->edge_consumer[k]] -= c->flow[k];
		}
	for (int32_t op = 0; op < p->n_ops; op++) {
		start[op] += c->end_price[op];
		w->num += start[op] < 0 ? start[op] * c->upper_ns : 0;
	}
	for (int32_t u = 0; u < p->n_colocs; u++) {
		certificate_wide least = 0;
		bool any = false;
		for (int32_t d = 0; d < p->n_devs; d++) {
			certificate_wide sum = 0;
			BERTH_EACH (k, p->coloc_off, u)
				sum += w->place[cell(w, p->coloc_op[k], d)];
			if (berth_op_legal(p, p->coloc_op[p->coloc_off[u]], d) && (!any || sum < least)) {
				least = sum;
				any = true;
			}
		}
		w->num += least;
	}
	return BERTH_OK;
}

static berth_status check_kind(const work *w, berth_err *err)
{
	const berth_problem *p = w->p;
	if (p->n_ops > MOST || p->g->n_edges > MOST)
		return berth_fail(err, BERTH_EFORMAT,
		                  "a proof by relaxation is of %d operators and edges at most", MOST);
	for (int32_t k = 0; k < berth_n_resources(p); k++)
		if (w->c->byte_price[k] > 0 && berth_limit_bytes(p, k) < 0)
			return berth_fail(err, BERTH_EFORMAT, "it prices memory that has no limit");
	for (int32_t k = 0; k < p->s->n_channels && !p->s->contention; k++)
		if (w->c->channel_price[k] > 0)
			return berth_fail(err, BERTH_EFORMAT, "it prices channels, where no transfer waits");
	bool timed = false;
	for (int32_t op = 0; op < p->n_ops; op++)
		timed |= w->c->end_price[op] > 0;
	for (int32_t k = 0; k < p->g->n_edges; k++)
		timed |= w->c->flow[k] > 0;
	return timed && w->c->load ? berth_fail(err, BERTH_EFORMAT,
	                                        "ends and flows are of the latency, not of the throughput")
	                           : BERTH_OK;
}

berth_status certificate_relaxation(const berth_certificate *c, const berth_problem *p, berth_arena *tmp,
                                    int64_t *proven_ns, berth_err *err)
{
	work w = {.c = c, .p = p};
	size_t cells = (size_t)p->n_ops * (size_t)p->n_devs;
	BERTH_TRY(check_kind(&w, err));
	BERTH_TRY_NEW(tmp, cells, err, w.tail, w.place);
	find_tails(&w);
	charge_places(&w);
	for (int32_t t = 0; t < p->g->n_tensors; t++) {
		charge_ways(&w, t);
		BERTH_EACH (k, p->g->tensor_use_off, t)
			charge_edge(&w, t, k);
	}
	for (int32_t k = 0; k < p->s->n_channels; k++)
		w.den += c->channel_price[k];
	if (w.den == 0)
		return berth_fail(err, BERTH_EFORMAT, "all of its prices are 0");
	BERTH_TRY(close_columns(&w, tmp, err));
	int64_t bound = certificate_quotient(w.num, w.den, !c->load);
	*proven_ns = bound < c->upper_ns ? bound : c->upper_ns;
	return BERTH_OK;
}
