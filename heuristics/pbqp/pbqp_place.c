/* A placement problem as a PBQP: which alternatives colocation groups have, which pairs of them cost
 * something together, and the statement of it all in whole numbers. */
#include "pbqp_place.h"

#include "coloc.h"

#define MAX_ENTRIES 33554432.0 /* of all matrices together: 256 MiB */

static int32_t producer_coloc(const berth_problem *p, int32_t tensor)
{
	return p->op_coloc[p->g->tensor_producer[tensor]];
}

/* Pairs of a tensor and another colocation group that consumes it; use_tensor NULL counts only. latest
 * [n_colocs] is scratch. */
static int32_t list_uses(const berth_problem *p, int32_t *latest, int32_t *use_tensor, int32_t *use_to)
{
	int32_t n = 0;
	for (int32_t u = 0; u < p->n_colocs; u++)
		latest[u] = -1;
	for (int32_t t = 0; t < p->g->n_tensors; t++)
		BERTH_EACH (e, p->g->tensor_use_off, t) {
			int32_t to = p->op_coloc[p->g->edge_consumer[e]];
			if (to == producer_coloc(p, t) || latest[to] == t)
				continue;
			latest[to] = t;
			if (use_tensor) {
				use_tensor[n] = t;
				use_to[n] = to;
			}
			n++;
		}
	return n;
}

/* The alternatives of a colocation group, ascending, before any are left out; list [n_devs] out. */
static int32_t usable_devices(const berth_problem *p, int32_t coloc, int32_t *list)
{
	int32_t n = 0;
	/* Bytes that a colocation group holds from start to end: parameters, state and what leaves the
	 * graph. */
	int64_t bytes = 0;
	BERTH_EACH (i, p->coloc_off, coloc)
		bytes += berth_kept_bytes(p, p->coloc_op[i]);
	for (int32_t d = 0; d < p->n_devs; d++)
		if (berth_coloc_legal(p, coloc, d) &&
		    (berth_dev_most_bytes(p, d) < 0 || bytes <= berth_dev_most_bytes(p, d)))
			list[n++] = d;
	if (n > 0)
		return n;
	for (int32_t d = 0; d < p->n_devs; d++)
		if (berth_coloc_legal(p, coloc, d))
			list[n++] = d;
	return n;
}

/* Leave the `most` fastest devices of list[n], the lower index of equals; still ascending. */
static int32_t leave_fastest(const berth_problem *p, int32_t coloc, int32_t *list, int32_t n, int32_t most)
{
	while (n > most) {
		int32_t slowest = 0;
		for (int32_t i = 1; i < n; i++)
			if (berth_coloc_time(p, coloc, list[i]) >= berth_coloc_time(p, coloc, list[slowest]))
				slowest = i;
		n--;
		BERTH_COPY(list + slowest, list + slowest + 1, n - slowest);
	}
	return n;
}

static berth_status list_alternatives(pbqp_place *m, berth_arena *mem, berth_err *err)
{
	const berth_problem *p = m->p;
	int32_t n = 0, most = p->n_devs;
	if ((double)m->n_uses * most * most > MAX_ENTRIES)
		most = (int32_t)fmax(1, sqrt(MAX_ENTRIES / m->n_uses));
	BERTH_TRY_NEW(mem, (size_t)p->n_colocs + 1, err, m->alt_off);
	BERTH_TRY_NEW(mem, (size_t)p->n_colocs * (size_t)most + (size_t)p->n_devs, err, m->alt_dev);
	for (int32_t u = 0; u < p->n_colocs; u++) {
		int32_t *list = m->alt_dev + n;
		n += leave_fastest(p, u, list, usable_devices(p, u, list), most);
		m->alt_off[u + 1] = n;
	}
	return BERTH_OK;
}

bool pbqp_place_has(const pbqp_place *m, int32_t coloc, int32_t dev)
{
	BERTH_EACH (at, m->alt_off, coloc)
		if (m->alt_dev[at] == dev)
			return true;
	return false;
}

berth_status pbqp_place_new(const berth_problem *p, berth_arena *mem, pbqp_place *out, berth_err *err)
{
	pbqp_place m = {.p = p};
	int32_t *latest;
	BERTH_TRY_NEW(mem, p->n_colocs, err, latest);
	m.n_uses = list_uses(p, latest, NULL, NULL);
	BERTH_TRY_NEW(mem, m.n_uses, err, m.use_tensor, m.use_to);
	list_uses(p, latest, m.use_tensor, m.use_to);
	BERTH_TRY(list_alternatives(&m, mem, err));
	*out = m;
	return BERTH_OK;
}

/* ---- solving ---- */

/* Costs become whole numbers of 2^-40 of the sum of the largest ones. */
typedef struct statement {
	const pbqp_pricer *x;
	const pbqp_place *m;
	berth_pbqp *q;
	double scale;
	int64_t *matrix; /* [n_devs * n_devs] */
} statement;

/* Pairs of colocation groups that cost something together: the uses, then the rivals. */
static void pair_at(const statement *s, int32_t k, int32_t *u, int32_t *v)
{
	const pbqp_place *m = s->m;
	bool is_use = k < m->n_uses;
	*u = is_use ? producer_coloc(m->p, m->use_tensor[k]) : s->x->rival[k - m->n_uses].a;
	*v = is_use ? m->use_to[k] : s->x->rival[k - m->n_uses].b;
}

static double pair_price(const statement *s, int32_t k, int32_t from, int32_t to)
{
	if (k < s->m->n_uses)
		return from == to ? 0 : pbqp_move_price(s->x, k, from, to);
	return from == to ? s->x->rival[k - s->m->n_uses].cost / s->m->p->s->dev_slots[from] : 0;
}

static double largest_move(const statement *s, int32_t use)
{
	const pbqp_place *m = s->m;
	int32_t u, v;
	double most = 0;
	pair_at(s, use, &u, &v);
	BERTH_EACH (i, m->alt_off, u)
		BERTH_EACH (j, m->alt_off, v)
			most = fmax(most, pair_price(s, use, m->alt_dev[i], m->alt_dev[j]));
	return most;
}

static double sum_of_largest(const statement *s)
{
	const pbqp_place *m = s->m;
	double sum = 0;
	for (int32_t u = 0; u < m->p->n_colocs; u++) {
		double most = 0;
		BERTH_EACH (at, m->alt_off, u) {
			double cost = pbqp_coloc_price(s->x, u, m->alt_dev[at]);
			most = isfinite(cost) && cost > most ? cost : most;
		}
		sum += most;
	}
	for (int32_t use = 0; use < m->n_uses; use++)
		sum += largest_move(s, use);
	for (int32_t r = 0; r < s->x->n_rivals; r++)
		sum += s->x->rival[r].cost;
	return sum;
}

static int64_t whole(const statement *s, double cost)
{
	return isfinite(cost) ? (int64_t)(cost * s->scale + 0.5) : BERTH_PBQP_INF;
}

static berth_status state_problem(statement *s, berth_arena *tmp, berth_err *err)
{
	const pbqp_place *m = s->m;
	const berth_problem *p = m->p;
	int32_t *n_alts, n_pairs = m->n_uses + s->x->n_rivals;
	BERTH_TRY_NEW(tmp, p->n_colocs, err, n_alts);
	BERTH_TRY_NEW(tmp, (size_t)p->n_devs * (size_t)p->n_devs, err, s->matrix);
	for (int32_t u = 0; u < p->n_colocs; u++)
		n_alts[u] = m->alt_off[u + 1] - m->alt_off[u];
	BERTH_TRY(berth_pbqp_new(p->n_colocs, n_alts, tmp, &s->q, err));
	BERTH_TRY(berth_pbqp_reserve(s->q, (size_t)n_pairs, err));
	double sum = sum_of_largest(s);
	s->scale = sum > 0 ? 0x1p40 / sum : 1;
	for (int32_t u = 0; u < p->n_colocs; u++) {
		int64_t *cost = berth_pbqp_node(s->q, u);
		BERTH_EACH (at, m->alt_off, u)
			*cost++ = whole(s, pbqp_coloc_price(s->x, u, m->alt_dev[at]));
	}
	for (int32_t k = 0; k < n_pairs; k++) {
		int32_t u, v, n = 0;
		pair_at(s, k, &u, &v);
		BERTH_EACH (i, m->alt_off, u)
			BERTH_EACH (j, m->alt_off, v)
				s->matrix[n++] = whole(s, pair_price(s, k, m->alt_dev[i], m->alt_dev[j]));
		BERTH_TRY(berth_pbqp_edge(s->q, u, v, s->matrix, err));
	}
	return BERTH_OK;
}

berth_status pbqp_place_solve(const pbqp_pricer *x, int32_t *op_dev, berth_arena *tmp, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	const pbqp_place *m = x->m;
	statement s = {.x = x, .m = m};
	berth_pbqp_stats stats;
	int32_t *alt;
	BERTH_TRY(state_problem(&s, tmp, err));
	BERTH_TRY_NEW(tmp, m->p->n_colocs, err, alt);
	BERTH_TRY(berth_pbqp_solve(s.q, x->mode, 0, alt, &stats, tmp, err));
	if (stats.cost >= BERTH_PBQP_INF)
		return BERTH_OK;
	for (int32_t op = 0; op < m->p->n_ops; op++)
		op_dev[op] = m->alt_dev[m->alt_off[m->p->op_coloc[op]] + alt[m->p->op_coloc[op]]];
	return BERTH_OK;
}
