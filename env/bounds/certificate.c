/* Checking certificates: what kinds share, and the simple kinds. See certificate.h. */
#include "certificate.h"

#include "certificate_check.h"
#include "cost_model.h"

const char *berth_certificate_name(berth_certificate_kind kind)
{
	static const char *const name[BERTH_N_CERTIFICATES] = {"path", "load", "relaxation", "blocks",
	                                                       "windows"};
	return name[kind];
}

int64_t certificate_quotient(certificate_wide num, certificate_wide den, bool up)
{
	if (num <= 0)
		return 0;
	certificate_wide q = num / den + (up && num % den != 0);
	return q < CERTIFICATE_NEVER ? (int64_t)q : CERTIFICATE_NEVER;
}

int64_t certificate_kept_bytes(const berth_problem *p, int32_t op)
{
	const berth_graph *g = p->g;
	return g->op_param_bytes[op] + g->op_state_bytes[op] + g->op_output_bytes[op];
}

int64_t certificate_limit(const berth_problem *p, int32_t resource)
{
	return resource < p->n_devs ? p->dev_limit_bytes[resource] : p->s->pool_bytes[resource - p->n_devs];
}

int32_t certificate_units(const berth_problem *p, int32_t resource)
{
	return resource < p->n_devs ? p->s->dev_slots[resource] : 1;
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
	              : (certificate_wide)certificate_kept_bytes(p, op) *
	                        (price[d] + (pool < 0 ? 0 : price[p->n_devs + pool]));
}

/* A load need not be a whole number where a device has several slots; a latency is. */
berth_status certificate_load(const berth_certificate *c, const berth_problem *p, berth_arena *tmp,
                              int64_t *proven_ns, berth_err *err)
{
	certificate_wide num = 0, den = 0;
	(void)tmp;
	for (int32_t k = 0; k < p->n_devs + p->n_pools; k++) {
		int64_t limit = certificate_limit(p, k);
		if (c->byte_price && c->byte_price[k] > 0 && limit < 0)
			return berth_fail(err, BERTH_EFORMAT, "it prices memory that has no limit");
		den += (certificate_wide)c->price[k] * certificate_units(p, k);
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
	for (int32_t i = p->g->op_in_off[to]; i < p->g->op_in_off[to + 1]; i++) {
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

static berth_status walk_path(const berth_certificate *c, const berth_problem *p, certificate_wide *at,
                              bool *on_path, certificate_wide *length, berth_err *err)
{
	*length = -1;
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
		if (here >= 0 && (*length < 0 || here < *length))
			*length = here;
	}
	return BERTH_OK;
}

/* The path at its best with what its operators' bytes cost, the cheapest places of all other bytes, less what
 * the limits are worth. */
berth_status certificate_path(const berth_certificate *c, const berth_problem *p, berth_arena *tmp,
                              int64_t *proven_ns, berth_err *err)
{
	certificate_wide *at, length;
	bool *on_path;
	BERTH_TRY(BERTH_NEW(tmp, at, 2 * p->n_devs, err));
	BERTH_TRY(BERTH_NEW(tmp, on_path, p->n_ops, err));
	BERTH_TRY(walk_path(c, p, at, on_path, &length, err));
	if (length < 0)
		return BERTH_OK;
	for (int32_t k = 0; k < p->n_devs + p->n_pools; k++) {
		int64_t limit = certificate_limit(p, k);
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
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	berth_status st = prove(c, p, tmp, proven_ns, err);
	berth_arena_reset(tmp, mark);
	return st;
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
