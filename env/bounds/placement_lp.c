/* Placement, order and memory for latency as a mixed-integer program. Its form is usual since J. Blazewicz et
 * al.; pieces are those of papers on model partitioning (Tarnawski et al., NeurIPS 2020; Ghannane and
 * Abdelfattah, DiviML, 2023). Columns and the rows that bind them:
 *
 *   x_ud      colocation group u stands on device d
 *                 sum_d x_ud = 1
 *   m_e,d,d'  edge e = (i, j) leads from d to d'; its marginals are x
 *                 sum_d' m_e,d,d' = x_id,  sum_d m_e,d,d' = x_jd'
 *   z_t,d,d'  tensor t travels from d to d', once for all consumers there
 *                 z_t,d,d' >= m_e,d,d'
 *   s_i, C    start, length
 *                 s_j >= s_i + sum_d w_id x_id + sum c_t,d,d' m_e,d,d'
 *                 C >= s_i + sum_d (w_id + tail_id) x_id
 *   o_ij      i before j, for pairs that no path orders
 *                 s_j >= s_i + w_id - M (3 - o_ij - x_id - x_jd), and mirrored
 *   loads     of devices, of memory pools and, with contention, of channels
 *                 C * slots_d >= sum_i w_id x_id,  C >= sum of its traffic,  C >= sum of its hops
 *   memory    what a device, or a pool, keeps for good
 *                 sum_u bytes_u x_ud <= limit_d,  sum over its devices of these <= bytes of the pool
 *
 * For the throughput C is the largest load: columns s and their rows are left out.
 *
 * It is a relaxation of the execution model (docs/proofs.md, "Linear relaxation"), so its bound holds for
 * every placement and order, and the reference simulator scores its answer. */
#include "placement_lp.h"

#include "ceft.h"

#define MODEL_UPPER 1000.0 /* the latency or load up to which a model holds, in its own time */

typedef struct work {
	const berth_problem *p;
	berth_placement_lp *m;
	berth_arena *mem;
	berth_err *err;
	double upper;
	bool whole, load; /* whole columns; the largest load in the place of the latency */
	int64_t *tail;    /* [n_ops][n_devs] */
	berth_ceft ceft;
	int32_t *pair_col; /* [n_tensors][n_devs][n_devs] z */
	uint8_t *above;    /* [n_ops][n_ops] column i of row j: a path leads from i to j */
} work;

static size_t cell(const work *w, int32_t i, int32_t d)
{
	return berth_cell(w->p, i, d);
}

static int32_t place_col(const work *w, int32_t op, int32_t d)
{
	return w->m->coloc_dev_col[cell(w, w->p->op_coloc[op], d)];
}

static double scaled(const work *w, int64_t ns)
{
	return (double)ns * w->m->scale;
}

static double op_time(const work *w, int32_t op, int32_t d)
{
	return scaled(w, berth_op_time(w->p, op, d));
}

static int32_t last_row(const work *w)
{
	return w->m->lp.n_rows - 1;
}

static berth_status name_of(const work *w, const char **name, const char *text)
{
	return (*name = text) ? BERTH_OK : berth_nomem(w->err);
}

/* x, s, C; every colocation group stands somewhere. */
static berth_status add_columns(work *w)
{
	const berth_problem *p = w->p;
	berth_lp *lp = &w->m->lp;
	const char *name;
	BERTH_TRY(berth_lp_col(lp, "length", 0, w->upper, 1, false, &w->m->length_col, w->err));
	for (int32_t u = 0; u < p->n_colocs; u++)
		for (int32_t d = 0; d < p->n_devs; d++) {
			w->m->coloc_dev_col[cell(w, u, d)] = -1;
			if (!berth_op_legal(p, p->coloc_op[p->coloc_off[u]], d))
				continue;
			BERTH_TRY(name_of(w, &name, berth_arena_printf(w->mem, "x_%d_%d", (int)u, (int)d)));
			BERTH_TRY(berth_lp_col(lp, name, 0, 1, 0, w->whole,
			                       &w->m->coloc_dev_col[cell(w, u, d)], w->err));
		}
	for (int32_t op = 0; op < p->n_ops && !w->load; op++) {
		BERTH_TRY(name_of(w, &name, berth_arena_printf(w->mem, "s_%d", (int)op)));
		BERTH_TRY(berth_lp_col(lp, name, 0, w->upper, 0, false, &w->m->op_start_col[op], w->err));
	}
	for (int32_t u = 0; u < p->n_colocs; u++) {
		BERTH_TRY(berth_lp_row(lp, NULL, 1, 1, w->err));
		for (int32_t d = 0; d < p->n_devs; d++)
			if (w->m->coloc_dev_col[cell(w, u, d)] >= 0)
				BERTH_TRY(berth_lp_put(lp, w->m->coloc_dev_col[cell(w, u, d)], 1, w->err));
	}
	return BERTH_OK;
}

/* The marginals of edge k of tensor t; cols out [n_devs][n_devs]. */
static berth_status add_marginals(work *w, int32_t t, int32_t k, int32_t *cols)
{
	const berth_problem *p = w->p;
	berth_lp *lp = &w->m->lp;
	int32_t devs = p->n_devs, i = p->g->tensor_producer[t], j = p->g->edge_consumer[k], z;
	for (int32_t d = 0; d < devs; d++)
		for (int32_t e = 0; e < devs; e++) {
			cols[d * devs + e] = -1;
			if (place_col(w, i, d) >= 0 && place_col(w, j, e) >= 0)
				BERTH_TRY(
					berth_lp_col(lp, NULL, 0, 1, 0, false, &cols[d * devs + e], w->err));
		}
	for (int side = 0; side < 2; side++)
		for (int32_t d = 0; d < devs; d++) {
			int32_t x = place_col(w, side ? j : i, d);
			if (x < 0)
				continue;
			BERTH_TRY(berth_lp_row(lp, NULL, 0, 0, w->err));
			(side ? w->m->in_row : w->m->out_row)[cell(w, k, d)] = last_row(w);
			BERTH_TRY(berth_lp_put(lp, x, -1, w->err));
			for (int32_t e = 0; e < devs; e++) {
				int32_t m = side ? cols[e * devs + d] : cols[d * devs + e];
				if (m >= 0)
					BERTH_TRY(berth_lp_put(lp, m, 1, w->err));
			}
		}
	for (int32_t d = 0; p->s->contention && d < devs; d++)
		for (int32_t e = 0; e < devs; e++)
			if (d != e && cols[d * devs + e] >= 0) {
				/* z of tensor t from d to e, made when first asked for. */
				int32_t *at = &w->pair_col[cell(w, t * w->p->n_devs + d, e)];
				if (*at < 0)
					BERTH_TRY(berth_lp_col(&w->m->lp, NULL, 0, 1, 0, false, at, w->err));
				z = *at;
				BERTH_TRY(berth_lp_row_of(lp, NULL, 0, BERTH_LP_INF, 2,
				                          (int32_t[]){z, cols[d * devs + e]},
				                          (double[]){1, -1}, w->err));
				w->m->way_row[cell(w, k * devs + d, e)] = last_row(w);
			}
	return BERTH_OK;
}

/* j starts after i and the way of the tensor. */
static berth_status add_edge(work *w, int32_t t, int32_t k, int32_t *cols)
{
	const berth_problem *p = w->p;
	berth_lp *lp = &w->m->lp;
	int32_t i = p->g->tensor_producer[t], j = p->g->edge_consumer[k], devs = p->n_devs;
	BERTH_TRY(add_marginals(w, t, k, cols));
	if (w->load)
		return BERTH_OK;
	BERTH_TRY(berth_lp_row(lp, NULL, 0, BERTH_LP_INF, w->err));
	w->m->flow_row[k] = last_row(w);
	BERTH_TRY(berth_lp_put(lp, w->m->op_start_col[j], 1, w->err));
	BERTH_TRY(berth_lp_put(lp, w->m->op_start_col[i], -1, w->err));
	for (int32_t d = 0; d < devs; d++)
		for (int32_t e = 0; e < devs; e++)
			if (cols[d * devs + e] >= 0)
				BERTH_TRY(berth_lp_put(lp, cols[d * devs + e],
				                       -op_time(w, i, d) -
				                               scaled(w, berth_transfer_ns(p, t, d, e)),
				                       w->err));
	return BERTH_OK;
}

static berth_status add_edges(work *w)
{
	const berth_graph *g = w->p->g;
	int32_t *cols;
	if (w->load && !w->p->s->contention)
		return BERTH_OK; /* no load is made by transfers */
	BERTH_TRY_NEW(w->mem, w->p->n_devs * w->p->n_devs, w->err, cols);
	for (int32_t t = 0; t < g->n_tensors; t++)
		BERTH_EACH (e, g->tensor_use_off, t)
			BERTH_TRY(add_edge(w, t, e, cols));
	return BERTH_OK;
}

static berth_status add_lengths(work *w)
{
	const berth_problem *p = w->p;
	berth_lp *lp = &w->m->lp;
	for (int32_t op = 0; op < p->n_ops; op++) {
		BERTH_TRY(berth_lp_row(lp, NULL, 0, BERTH_LP_INF, w->err));
		w->m->end_row[op] = last_row(w);
		BERTH_TRY(berth_lp_put(lp, w->m->length_col, 1, w->err));
		BERTH_TRY(berth_lp_put(lp, w->m->op_start_col[op], -1, w->err));
		for (int32_t d = 0; d < p->n_devs; d++)
			if (place_col(w, op, d) >= 0)
				BERTH_TRY(berth_lp_put(
					lp, place_col(w, op, d),
					-op_time(w, op, d) - scaled(w, w->tail[cell(w, op, d)]), w->err));
	}
	return BERTH_OK;
}

static int64_t coloc_bytes(const berth_problem *p, int32_t u)
{
	int64_t sum = 0;
	BERTH_EACH (k, p->coloc_off, u) {
		int32_t op = p->coloc_op[k];
		sum += berth_kept_bytes(p, op);
	}
	return sum;
}

/* Loads and memory of devices; colocation groups' times are summed as a colocation group has one column a
 * device. */
static berth_status add_devices(work *w)
{
	const berth_problem *p = w->p;
	berth_lp *lp = &w->m->lp;
	for (int32_t d = 0; d < p->n_devs; d++) {
		BERTH_TRY(berth_lp_row(lp, NULL, 0, BERTH_LP_INF, w->err));
		w->m->load_row[d] = last_row(w);
		BERTH_TRY(berth_lp_put(lp, w->m->length_col, p->s->dev_slots[d], w->err));
		for (int32_t u = 0; u < p->n_colocs; u++) {
			double sum = 0;
			BERTH_EACH (k, p->coloc_off, u)
				sum += op_time(w, p->coloc_op[k], d);
			if (w->m->coloc_dev_col[cell(w, u, d)] >= 0)
				BERTH_TRY(berth_lp_put(lp, w->m->coloc_dev_col[cell(w, u, d)], -sum, w->err));
		}
		if (p->dev_limit_bytes[d] < 0)
			continue;
		double unit = p->dev_limit_bytes[d] > 0 ? (double)p->dev_limit_bytes[d] : 1;
		BERTH_TRY(
			berth_lp_row(lp, NULL, -BERTH_LP_INF, (double)p->dev_limit_bytes[d] / unit, w->err));
		w->m->byte_row[d] = last_row(w);
		for (int32_t u = 0; u < p->n_colocs; u++)
			if (w->m->coloc_dev_col[cell(w, u, d)] >= 0)
				BERTH_TRY(berth_lp_put(lp, w->m->coloc_dev_col[cell(w, u, d)],
				                       (double)coloc_bytes(p, u) / unit, w->err));
	}
	return BERTH_OK;
}

/* Load of one hop over link on pool q. */
static int64_t hop_load(const berth_problem *p, size_t class, size_t link, int32_t q)
{
	const int64_t *load = p->class_link_pool_ns + 2 * (class * (size_t)p->s->n_links + link);
	const int32_t *pool = p->link_pool + 2 * link;
	return (pool[0] == q ? load[0] : 0) + (pool[1] == q ? load[1] : 0);
}

/* The length is no less than the traffic of pool q at its rate: that of operators and, where hops have
 * columns, of hops. */
static berth_status add_pool_load(work *w, int32_t q)
{
	const berth_problem *p = w->p;
	size_t devs = (size_t)p->n_devs;
	BERTH_TRY(berth_lp_row(&w->m->lp, NULL, 0, BERTH_LP_INF, w->err));
	w->m->load_row[p->n_devs + q] = last_row(w);
	BERTH_TRY(berth_lp_put(&w->m->lp, w->m->length_col, 1, w->err));
	for (int32_t u = 0; u < p->n_colocs; u++)
		for (int32_t d = 0; d < p->n_devs; d++) {
			int64_t sum = 0;
			if (w->m->coloc_dev_col[cell(w, u, d)] < 0 || berth_dev_pool(p, d) != q)
				continue;
			BERTH_EACH (k, p->coloc_off, u)
				sum += berth_op_pool_ns(p, p->coloc_op[k], d);
			if (sum > 0)
				BERTH_TRY(berth_lp_put(&w->m->lp, w->m->coloc_dev_col[cell(w, u, d)],
				                       -scaled(w, sum), w->err));
		}
	for (size_t k = 0; k < (size_t)p->g->n_tensors * devs * devs; k++) {
		int64_t sum = 0;
		if (w->pair_col[k] < 0)
			continue;
		size_t class = (size_t)p->tensor_class[k / (devs * devs)];
		int32_t r = p->class_pair_route[class * devs * devs + k % (devs * devs)];
		BERTH_EACH (h, p->route_off, r)
			sum += hop_load(p, class, (size_t)p->route_link[h], q);
		if (sum > 0)
			BERTH_TRY(berth_lp_put(&w->m->lp, w->pair_col[k], -scaled(w, sum), w->err));
	}
	return BERTH_OK;
}

static berth_status add_pool_memory(work *w, int32_t q)
{
	const berth_problem *p = w->p;
	double unit = fmax((double)p->s->pool_bytes[q], 1);
	if (p->s->pool_bytes[q] < 0)
		return BERTH_OK;
	BERTH_TRY(berth_lp_row(&w->m->lp, NULL, -BERTH_LP_INF, (double)p->s->pool_bytes[q] / unit, w->err));
	w->m->byte_row[p->n_devs + q] = last_row(w);
	for (int32_t u = 0; u < p->n_colocs; u++)
		for (int32_t d = 0; d < p->n_devs; d++)
			if (w->m->coloc_dev_col[cell(w, u, d)] >= 0 && berth_dev_pool(p, d) == q)
				BERTH_TRY(berth_lp_put(&w->m->lp, w->m->coloc_dev_col[cell(w, u, d)],
				                       (double)coloc_bytes(p, u) / unit, w->err));
	return BERTH_OK;
}

/* The length is no less than what one channel carries. */
static berth_status add_channel(work *w, int32_t c)
{
	const berth_problem *p = w->p;
	size_t devs = (size_t)p->n_devs;
	BERTH_TRY(berth_lp_row(&w->m->lp, NULL, 0, BERTH_LP_INF, w->err));
	w->m->channel_row[c] = last_row(w);
	BERTH_TRY(berth_lp_put(&w->m->lp, w->m->length_col, 1, w->err));
	for (size_t k = 0; k < (size_t)p->g->n_tensors * devs * devs; k++) {
		int64_t sum = 0;
		if (w->pair_col[k] < 0)
			continue;
		size_t class = (size_t)p->tensor_class[k / (devs * devs)];
		int32_t r = p->class_pair_route[class * devs * devs + k % (devs * devs)];
		BERTH_EACH (h, p->route_off, r)
			if (p->s->link_channel[p->route_link[h]] == c)
				sum += p->class_link_ns[class * (size_t)p->s->n_links +
				                        (size_t)p->route_link[h]];
		if (sum > 0)
			BERTH_TRY(berth_lp_put(&w->m->lp, w->pair_col[k], -scaled(w, sum), w->err));
	}
	return BERTH_OK;
}

static void find_paths(work *w)
{
	const berth_graph *g = w->p->g;
	size_t n = (size_t)g->n_ops;
	for (int32_t k = 0; k < g->n_ops; k++) {
		int32_t j = g->topo_op[k];
		uint8_t *row = w->above + (size_t)j * n;
		BERTH_EACH (e, g->op_in_off, j) {
			int32_t i = g->tensor_producer[g->in_tensor[e]];
			for (size_t a = 0; a < n; a++)
				row[a] |= w->above[(size_t)i * n + a];
			row[i] = 1;
		}
	}
}

/* Larger than s_i + w_id - s_j can be in a schedule no longer than upper. */
static double big(const work *w, int32_t i, int32_t d, int32_t j)
{
	int64_t least = BERTH_CEFT_NEVER, head = BERTH_CEFT_NEVER;
	for (int32_t e = 0; e < w->p->n_devs; e++) {
		if (berth_op_legal(w->p, i, e)) {
			int64_t after = berth_op_time(w->p, i, e) + w->tail[cell(w, i, e)];
			least = after < least ? after : least;
		}
		if (berth_op_legal(w->p, j, e)) {
			int64_t start = w->ceft.finish_ns[cell(w, j, e)] - berth_op_time(w->p, j, e);
			head = start < head ? start : head;
		}
	}
	double latest = w->upper - scaled(w, least) + op_time(w, i, d) - scaled(w, head);
	return latest > 0 ? latest : 0;
}

/* With order column o: on d, i (value 1) or j (value 0) is first. */
static berth_status add_no_overlap(work *w, int32_t o, int32_t i, int32_t j, int32_t d, bool first)
{
	double M = big(w, i, d, j), right = op_time(w, i, d) - (first ? 3 : 2) * M;
	return berth_lp_row_of(&w->m->lp, NULL, right, BERTH_LP_INF, 5,
	                       (int32_t[]){w->m->op_start_col[j], w->m->op_start_col[i], o,
	                                   place_col(w, i, d), place_col(w, j, d)},
	                       (double[]){1, -1, first ? -M : M, -M, -M}, w->err);
}

static berth_status add_orders(work *w)
{
	size_t n = (size_t)w->p->n_ops;
	find_paths(w);
	for (int32_t i = 0; i < w->p->n_ops; i++)
		for (int32_t j = i + 1; j < w->p->n_ops; j++)
			if (!w->above[(size_t)i * n + (size_t)j] && !w->above[(size_t)j * n + (size_t)i]) {
				int32_t o = -1;
				for (int32_t d = 0; d < w->p->n_devs; d++) {
					if (w->p->s->dev_slots[d] > 1 || place_col(w, i, d) < 0 ||
					    place_col(w, j, d) < 0 || w->p->op_coloc[i] == w->p->op_coloc[j])
						continue;
					if (o < 0)
						BERTH_TRY(berth_lp_col(&w->m->lp, NULL, 0, 1, 0, true, &o,
						                       w->err));
					BERTH_TRY(add_no_overlap(w, o, i, j, d, true));
					BERTH_TRY(add_no_overlap(w, o, j, i, d, false));
				}
			}
	return BERTH_OK;
}

static berth_status new_rows(const work *w, int32_t **row, size_t n)
{
	BERTH_TRY_NEW(w->mem, n, w->err, *row);
	memset(*row, 0xff, n * sizeof **row);
	return BERTH_OK;
}

static berth_status allocate(work *w)
{
	const berth_problem *p = w->p;
	size_t ops = (size_t)p->n_ops, devs = (size_t)p->n_devs,
	       pairs = (size_t)p->g->n_tensors * devs * devs;
	BERTH_TRY_NEW(w->mem, (size_t)p->n_colocs * devs, w->err, w->m->coloc_dev_col);
	BERTH_TRY_NEW(w->mem, ops, w->err, w->m->op_start_col);
	BERTH_TRY_NEW(w->mem, ops * devs, w->err, w->tail);
	if (w->whole)
		BERTH_TRY_NEW(w->mem, ops * ops, w->err, w->above);
	BERTH_TRY_NEW(w->mem, pairs, w->err, w->pair_col);
	memset(w->pair_col, 0xff, pairs * sizeof *w->pair_col);
	if (w->load)
		return BERTH_OK;
	berth_ceft_tails(p, NULL, w->tail);
	return berth_ceft_new(p, w->mem, &w->ceft, w->err);
}

static berth_status build(work *w)
{
	const berth_problem *p = w->p;
	berth_lp_init(&w->m->lp, p->g->name && p->g->name[0] ? p->g->name : "berth", w->mem);
	w->m->load = w->load;
	BERTH_TRY(allocate(w));
	size_t devs = (size_t)w->p->n_devs, edges = (size_t)w->p->g->n_edges,
	       resources = devs + (size_t)w->p->n_pools;
	berth_placement_lp *m = w->m;
	BERTH_TRY(new_rows(w, &m->load_row, resources));
	BERTH_TRY(new_rows(w, &m->byte_row, resources));
	BERTH_TRY(new_rows(w, &m->channel_row, (size_t)w->p->s->n_channels));
	BERTH_TRY(new_rows(w, &m->end_row, (size_t)w->p->n_ops));
	BERTH_TRY(new_rows(w, &m->flow_row, edges));
	BERTH_TRY(new_rows(w, &m->out_row, edges * devs));
	BERTH_TRY(new_rows(w, &m->in_row, edges * devs));
	BERTH_TRY(new_rows(w, &m->way_row, edges * devs * devs));
	BERTH_TRY(add_columns(w));
	BERTH_TRY(add_edges(w));
	if (!w->load)
		BERTH_TRY(add_lengths(w));
	BERTH_TRY(add_devices(w));
	for (int32_t q = 0; q < p->n_pools; q++) {
		BERTH_TRY(add_pool_load(w, q));
		BERTH_TRY(add_pool_memory(w, q));
	}
	for (int32_t c = 0; p->s->contention && c < p->s->n_channels; c++)
		BERTH_TRY(add_channel(w, c));
	return w->whole ? add_orders(w) : BERTH_OK;
}

berth_status berth_placement_lp_new(const berth_problem *p, int64_t upper_ns, bool whole, berth_arena *mem,
                                    berth_placement_lp *out, berth_err *err)
{
	work w = {.p = p, .m = out, .mem = mem, .err = err, .upper = MODEL_UPPER, .whole = whole};
	out->upper_ns = upper_ns;
	out->scale = w.upper / (double)upper_ns;
	return build(&w);
}

berth_status berth_load_lp_new(const berth_problem *p, int64_t upper_ns, berth_arena *mem,
                               berth_placement_lp *out, berth_err *err)
{
	work w = {.p = p, .m = out, .mem = mem, .err = err, .upper = MODEL_UPPER, .load = true};
	out->upper_ns = upper_ns;
	out->scale = w.upper / (double)upper_ns;
	return build(&w);
}
