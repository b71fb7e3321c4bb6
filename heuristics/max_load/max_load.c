/* Loads of devices under moves. A move of one operator changes the loads of the device that it leaves and of
 * the one that it comes to, and no other. */
#include "max_load.h"

#include "cost_model.h"
#include "sort.h"

/* ---- items ---- */

static int32_t root_of(int32_t *parent, int32_t u)
{
	while (parent[u] != u)
		u = parent[u] = parent[parent[u]];
	return u;
}

/* Least cost of a tensor over accelerators; INFINITY without any. */
static double least_cost(const berth_max_load *m, int32_t tensor)
{
	double least = INFINITY;
	for (int32_t d = 0; d < m->p->n_devs; d++)
		if (berth_cost_model_pays(m->p, d))
			least = fmin(least, (double)m->p->g->tensor_bytes[tensor] * m->dev_s_per_byte[d]);
	return least;
}

static void join(const berth_max_load *m, double cut_s, int32_t *parent)
{
	const berth_graph *g = m->p->g;
	for (int32_t x = 0; x < g->n_tensors; x++) {
		if (!(least_cost(m, x) > cut_s))
			continue;
		BERTH_EACH (e, g->tensor_use_off, x) {
			int32_t a = root_of(parent, m->p->op_coloc[g->tensor_producer[x]]),
				b = root_of(parent, m->p->op_coloc[g->edge_consumer[e]]);
			parent[a < b ? b : a] = a < b ? a : b;
		}
	}
}

static berth_status weigh_items(berth_max_load *m, berth_arena *mem, berth_err *err)
{
	const berth_problem *p = m->p;
	size_t devs = (size_t)p->n_devs;
	BERTH_TRY_NEW(mem, (size_t)m->n_items * devs, err, m->item_s);
	BERTH_TRY_NEW(mem, m->n_items, err, m->item_bytes);
	for (int32_t op = 0; op < p->n_ops; op++) {
		size_t i = (size_t)m->op_item[op];
		m->item_bytes[i] += p->g->op_param_bytes[op] + p->g->op_state_bytes[op];
		for (int32_t d = 0; d < p->n_devs; d++)
			m->item_s[i * devs + (size_t)d] +=
				berth_op_legal(p, op, d) ? p->s->cost_model->op_seconds(p, op, d) : INFINITY;
	}
	return BERTH_OK;
}

/* Neighbours of an item into list, each once; seen [n_items] holds the item that saw it last. Returns how
 * many. */
static int32_t list_near(const berth_max_load *m, int32_t item, int32_t *seen, int32_t *list)
{
	const berth_graph *g = m->p->g;
	int32_t n = 0;
	BERTH_EACH (k, m->item_off, item) {
		int32_t op = m->item_op[k];
		BERTH_EACH (i, g->op_in_off, op) {
			int32_t other = m->op_item[g->tensor_producer[g->in_tensor[i]]];
			if (other != item && seen[other] != item) {
				seen[other] = item;
				list[n++] = other;
			}
		}
		BERTH_EACH_USE (e, g, op) {
			int32_t other = m->op_item[g->edge_consumer[e]];
			if (other != item && seen[other] != item) {
				seen[other] = item;
				list[n++] = other;
			}
		}
	}
	return n;
}

static berth_status build(berth_max_load *m, double cut_s, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = m->p;
	if ((int64_t)p->g->n_tensors * p->n_devs > INT32_MAX)
		return berth_fail(err, BERTH_ELIMIT, "%d tensors on %d devices are too many", p->g->n_tensors,
		                  p->n_devs);
	BERTH_TRY_NEW(mem, p->n_devs, err, m->dev_s_per_byte, m->dev_limit_bytes);
	for (int32_t d = 0; d < p->n_devs; d++) {
		m->dev_s_per_byte[d] = fmax(p->s->cost_model->s_per_byte(p, d), 0);
		m->dev_limit_bytes[d] = p->dev_limit_bytes[d] < 0 ? INT64_MAX : p->dev_limit_bytes[d];
	}
	int32_t *parent, *number, n_cpus = 0;
	BERTH_TRY_NEW(mem, p->n_ops, err, m->op_item);
	BERTH_TRY_NEW(tmp, p->n_colocs, err, parent, number);
	for (int32_t u = 0; u < p->n_colocs; u++)
		parent[u] = u;
	for (int32_t d = 0; d < p->n_devs; d++)
		n_cpus += !berth_cost_model_pays(p, d);
	if (n_cpus <= 1 && n_cpus < p->n_devs)
		join(m, cut_s, parent);
	for (int32_t u = 0; u < p->n_colocs; u++)
		/* A root is the lowest of its colocation groups, so it has its number first. */
		number[u] = root_of(parent, u) == u ? m->n_items++ : number[root_of(parent, u)];
	for (int32_t op = 0; op < p->n_ops; op++)
		m->op_item[op] = number[p->op_coloc[op]];
	BERTH_TRY(berth_csr_new(m->n_items, p->n_ops, m->op_item, NULL, mem, &m->item_off, &m->item_op, err));
	BERTH_TRY(weigh_items(m, mem, err));
	int32_t *seen;
	BERTH_TRY_NEW(tmp, m->n_items, err, seen);
	BERTH_TRY_NEW(mem, (size_t)m->n_items + 1, err, m->near_off);
	BERTH_TRY_NEW(mem, 2 * (size_t)m->p->g->n_edges, err, m->near_item);
	for (int32_t i = 0; i < m->n_items; i++)
		seen[i] = -1;
	for (int32_t i = 0; i < m->n_items; i++)
		m->near_off[i + 1] = m->near_off[i] + list_near(m, i, seen, m->near_item + m->near_off[i]);
	size_t devs = (size_t)m->p->n_devs;
	BERTH_TRY_NEW(mem, m->n_items, err, m->item_dev);
	BERTH_TRY_NEW(mem, (size_t)m->p->g->n_tensors * devs, err, m->uses);
	BERTH_TRY_NEW(mem, devs, err, m->load_s);
	return BERTH_NEW(mem, m->dev_bytes, devs, err);
}

berth_status berth_max_load_new(const berth_problem *p, double cut_s, berth_arena *mem, berth_arena *tmp,
                                berth_max_load *out, berth_err *err)
{
	berth_max_load m = {.p = p};
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	berth_status st = build(&m, cut_s, mem, tmp, err);
	if (mem != tmp)
		berth_arena_reset(tmp, mark);
	if (st == BERTH_OK)
		*out = m;
	return st;
}

/* ---- placements ---- */

static double cost(const berth_max_load *m, int32_t tensor, int32_t dev)
{
	return (double)m->p->g->tensor_bytes[tensor] * m->dev_s_per_byte[dev];
}

static int32_t n_uses(const berth_graph *g, int32_t tensor)
{
	return g->tensor_use_off[tensor + 1] - g->tensor_use_off[tensor];
}

void berth_max_load_place(berth_max_load *m, const int32_t *op_dev)
{
	const berth_graph *g = m->p->g;
	size_t devs = (size_t)m->p->n_devs;
	BERTH_CLEAR(m->uses, (size_t)g->n_tensors * devs);
	BERTH_CLEAR(m->load_s, devs);
	BERTH_CLEAR(m->dev_bytes, devs);
	for (int32_t i = 0; i < m->n_items; i++) {
		int32_t dev = m->item_dev[i] = op_dev[m->item_op[m->item_off[i]]];
		m->load_s[dev] += m->item_s[(size_t)i * devs + (size_t)dev];
		m->dev_bytes[dev] += m->item_bytes[i];
	}
	for (int32_t x = 0; x < g->n_tensors; x++) {
		BERTH_EACH (e, g->tensor_use_off, x)
			m->uses[(size_t)x * devs + (size_t)m->item_dev[m->op_item[g->edge_consumer[e]]]]++;
		/* Transfers of a tensor whose uses are counted. */
		int32_t home = m->item_dev[m->op_item[g->tensor_producer[x]]];
		const int32_t *uses = BERTH_ROW(m->uses, x, m->p->n_devs);
		for (int32_t d = 0; d < m->p->n_devs; d++)
			if (d == home ? uses[d] < n_uses(m->p->g, x) : uses[d] > 0)
				m->load_s[d] += cost(m, x, d);
	}
}

void berth_max_load_move(berth_max_load *m, int32_t item, int32_t dev)
{
	const berth_graph *g = m->p->g;
	size_t devs = (size_t)m->p->n_devs;
	int32_t a = m->item_dev[item];
	if (a == dev)
		return;
	/* Of the item's own tensors, the producer and the consumers inside it move together. In whatever
	 * order, each step is counted rightly. */
	BERTH_EACH (k, m->item_off, item) {
		int32_t op = m->item_op[k];
		BERTH_EACH (i, g->op_in_off, op) {
			int32_t x = g->in_tensor[i], maker = m->op_item[g->tensor_producer[x]];
			/* A consumer of x, which is made at home, goes from a to dev. */
			int32_t home = maker == item ? a : m->item_dev[maker];
			int32_t *uses = BERTH_ROW(m->uses, x, m->p->n_devs), all = n_uses(m->p->g, x);
			int32_t before_a = uses[a]--, before_b = uses[dev]++;
			if (home == a)
				m->load_s[a] += before_a == all ? cost(m, x, a) : 0;
			else
				m->load_s[a] -= before_a == 1 ? cost(m, x, a) : 0;
			if (home == dev)
				m->load_s[dev] -= before_b + 1 == all ? cost(m, x, dev) : 0;
			else
				m->load_s[dev] += before_b == 0 ? cost(m, x, dev) : 0;
		}
	}
	BERTH_EACH (k, m->item_off, item)
		BERTH_EACH (x, g->op_tensor_off, m->item_op[k]) {
			/* The producer of x goes from a to dev. */
			const int32_t *uses = BERTH_ROW(m->uses, x, m->p->n_devs);
			int32_t all = n_uses(m->p->g, x);
			double on_a = cost(m, x, a), on_b = cost(m, x, dev);
			m->load_s[a] += ((uses[a] > 0) - (uses[a] < all)) * on_a;
			m->load_s[dev] += ((uses[dev] < all) - (uses[dev] > 0)) * on_b;
		}
	m->load_s[a] -= m->item_s[(size_t)item * devs + (size_t)a];
	m->load_s[dev] += m->item_s[(size_t)item * devs + (size_t)dev];
	m->dev_bytes[a] -= m->item_bytes[item];
	m->dev_bytes[dev] += m->item_bytes[item];
	m->item_dev[item] = dev;
}

void berth_max_load_devs(const berth_max_load *m, int32_t *op_dev)
{
	for (int32_t op = 0; op < m->p->n_ops; op++)
		op_dev[op] = m->item_dev[m->op_item[op]];
}

static int longer_first(const void *pa, const void *pb)
{
	double a = *(const double *)pa, b = *(const double *)pb;
	return BERTH_COMPARE(b, a);
}

/* Least time on an accelerator; -1: a CPU can take it, or nobody. */
static double bound_to_accelerators(const berth_max_load *m, int32_t item, double upper_s)
{
	double least = INFINITY;
	for (int32_t d = 0; d < m->p->n_devs; d++) {
		double s = m->item_s[berth_cell(m->p, item, d)];
		if (berth_cost_model_pays(m->p, d))
			least = fmin(least, s);
		else if (s <= upper_s)
			return -1;
	}
	return isfinite(least) ? least : -1;
}

/* sum[i]: of the i longest. */
static double count_bound(const double *sum, int32_t n, int32_t n_acc)
{
	double bound = 0;
	for (int32_t j = 1; j <= n; j++)
		for (int32_t k = 1; k <= n_acc; k++) {
			int32_t rest = j % n_acc, held = k * (j / n_acc) + (k < rest ? k : rest);
			bound = fmax(bound, (sum[j] - sum[j - held]) / k);
		}
	return bound;
}

berth_status berth_max_load_bound(const berth_max_load *m, double upper_s, berth_arena *tmp, double *bound_s,
                                  berth_err *err)
{
	BERTH_SCRATCH(tmp);
	double *length, *sum;
	int32_t n = 0, n_acc = 0;
	BERTH_TRY_NEW(tmp, m->n_items, err, length);
	BERTH_TRY_NEW(tmp, (size_t)m->n_items + 1, err, sum);
	for (int32_t d = 0; d < m->p->n_devs; d++)
		n_acc += berth_cost_model_pays(m->p, d);
	for (int32_t i = 0; i < m->n_items && n_acc; i++) {
		double least = bound_to_accelerators(m, i, upper_s);
		if (least >= 0)
			length[n++] = least;
	}
	qsort(length, (size_t)n, sizeof *length, longer_first);
	for (int32_t i = 0; i < n; i++)
		sum[i + 1] = sum[i] + length[i];
	*bound_s = n_acc ? count_bound(sum, n, n_acc) * (1 - 1e-12) : 0; /* sums round */
	return BERTH_OK;
}
