/* Chooses copies of a model for requests of unlike sizes: which are there, and how many requests of each size
 * go to each. Copies are priced by searches, their rates by a linear program. */
#include "request_mix.h"

#include "bounds_load.h"
#include "cost_model.h"
#include "simplex.h"

enum { MOST_COPIES = 256 };

#define SHARING 0.2 /* of the time, kept for choosing among the copies that searches found */
#define SPARE   1e-3 /* of the requests that may be lost to have fewer copies */

/* A copy that may be: what a request of each size loads it with. */
typedef struct candidate {
	const int32_t *op_dev; /* [n_ops] */
	double *load_s;        /* [n sizes][n_loads] NAN at the first: such a request does not fit */
	bool out;              /* it was taken out */
	double *per_s;         /* [n sizes] */
} candidate;

typedef struct mixer {
	const berth_requests *x;
	const berth_system *s;
	berth_problem *p; /* [n sizes] */
	berth_eval *e;    /* [n sizes] */
	int32_t n_loads;  /* devices, channels with contention, memory pools */
	candidate *list;  /* [n] */
	int32_t n;
	const berth_search_cfg *cfg;
	double unit_s; /* about what a request takes: figures of the linear program are near 1 */
	berth_arena *mem, *tmp;
} mixer;

static bool is_cancelled(const mixer *m)
{
	return m->cfg->cancel && atomic_load(m->cfg->cancel);
}

/* The shares so far are then the answer. */
static bool is_over(const mixer *m)
{
	return berth_search_cfg_over(m->cfg);
}

/* ---- the sizes ---- */

static berth_status check_same(const berth_graph *a, const berth_graph *b, berth_err *err)
{
	bool same = a->n_ops == b->n_ops;
	for (int32_t op = 0; op < a->n_ops && same; op++)
		same = strcmp(a->op_name[op], b->op_name[op]) == 0;
	if (same)
		return BERTH_OK;
	return berth_fail(err, BERTH_EINVAL,
	                  "requests of unlike sizes go through the same copies, but graphs '%.80s' and "
	                  "'%.80s' have unlike operators",
	                  a->name, b->name);
}

static berth_status compile_sizes(mixer *m, berth_err *err)
{
	const berth_objective load = berth_objective_of(BERTH_THROUGHPUT);
	if (m->s->cost_model->run)
		return berth_fail(err, BERTH_EINVAL,
		                  "requests of unlike sizes: the cost model %s has loads of its own",
		                  m->s->cost_model->name);
	m->n_loads = m->s->n_devs + (m->s->contention ? m->s->n_channels : 0) + m->s->n_pools;
	BERTH_TRY_NEW(m->tmp, m->x->n, err, m->p, m->e);
	BERTH_TRY_NEW(m->tmp, MOST_COPIES, err, m->list);
	for (int32_t i = 0; i < m->x->n; i++) {
		BERTH_TRY(check_same(&m->x->graph[0], &m->x->graph[i], err));
		BERTH_TRY(berth_problem_new(&m->x->graph[i], m->s, m->mem, m->tmp, &m->p[i], err));
		BERTH_TRY(berth_eval_new(&m->p[i], &load, m->tmp, &m->e[i], err));
	}
	return BERTH_OK;
}

/* ---- copies that may be ---- */

static void read_loads(const mixer *m, const berth_sim *sim, double *load_s)
{
	const berth_system *s = m->s;
	for (int32_t d = 0; d < s->n_devs; d++)
		*load_s++ = (double)berth_sim_last(sim).dev_time_ns[d] * 1e-9 / s->dev_slots[d];
	for (int32_t c = 0; s->contention && c < s->n_channels; c++)
		*load_s++ = (double)berth_sim_last(sim).channel_ns[c] * 1e-9;
	for (int32_t i = 0; i < m->p->n_pools; i++)
		*load_s++ = (double)berth_sim_last(sim).pool_ns[i] * 1e-9;
}

/* Not twice, and where a request of some size fits. */
static berth_status add_candidate(mixer *m, const int32_t *op_dev, berth_err *err)
{
	size_t n_ops = (size_t)m->x->graph->n_ops;
	candidate c = {0};
	int32_t *own;
	berth_sim_result r;
	bool any = false;
	for (int32_t k = 0; k < m->n; k++)
		if (memcmp(m->list[k].op_dev, op_dev, n_ops * sizeof *op_dev) == 0)
			return BERTH_OK;
	if (m->n == MOST_COPIES)
		return BERTH_OK;
	BERTH_TRY_NEW(m->mem, n_ops, err, own);
	BERTH_TRY_NEW(m->mem, m->x->n, err, c.per_s);
	BERTH_TRY_NEW(m->mem, m->x->n * m->n_loads, err, c.load_s);
	memcpy(own, op_dev, n_ops * sizeof *own);
	c.op_dev = own;
	for (int32_t i = 0; i < m->x->n; i++) {
		const int32_t *order = m->s->order == BERTH_ORDER_GIVEN ? m->x->graph[i].topo_op : NULL;
		double *load_s = c.load_s + i * m->n_loads;
		*load_s = NAN;
		if (berth_eval_result(&m->e[i], own, order, &r) > 0)
			continue;
		read_loads(m, m->e[i].sim, load_s);
		any = true;
	}
	if (any)
		m->list[m->n++] = c;
	return BERTH_OK;
}

/* For size i: one copy, and as many as are best. */
static berth_status add_searched(mixer *m, int32_t i, int32_t most, const berth_method *method,
                                 const berth_search_cfg *cfg, berth_mix *out, berth_err *err)
{
	berth_replicas r;
	for (int way = 0; way < (most > 1 ? 2 : 1) && !out->interrupted; way++) {
		berth_search_cfg own =
			berth_search_cfg_part(cfg, way ? 1.0 / (m->x->n - i) : 0.1 / (m->x->n - i));
		int32_t up_to = way ? most : 1;
		berth_status st = berth_replicas_choose(&m->x->graph[i], m->s, 1, up_to, method, &own, m->mem,
		                                        m->tmp, &r, err);
		out->interrupted |= st == BERTH_EINTERRUPTED;
		if (st == BERTH_EINTERRUPTED) /* devices alone may be an answer */
			return BERTH_OK;
		BERTH_TRY(st);
		out->evaluations += r.evaluations;
		out->interrupted |= r.interrupted;
		for (int32_t k = 0; k < r.n; k++)
			BERTH_TRY(add_candidate(m, r.op_dev + k * m->x->graph->n_ops, err));
	}
	return BERTH_OK;
}

/* ---- shares ---- */

static bool takes_size(const candidate *c, const mixer *m, int32_t i)
{
	return !c->out && !isnan(c->load_s[i * m->n_loads]);
}

/* The columns of candidates that are in, and the size of each: col [n * sizes]. Returns their number. */
static int32_t list_columns(const mixer *m, int32_t *col)
{
	int32_t n = 0;
	for (int32_t c = 0; c < m->n * m->x->n; c++)
		if (takes_size(&m->list[c / m->x->n], m, c % m->x->n))
			col[n++] = c;
	return n;
}

static double load_of(const mixer *m, int32_t col, int32_t r)
{
	return m->list[col / m->x->n].load_s[col % m->x->n * m->n_loads + r];
}

/* The resources that some column loads: res [n_loads]. Returns their number. */
static int32_t list_loads(const mixer *m, const int32_t *col, int32_t n_cols, int32_t *res)
{
	int32_t n = 0;
	for (int32_t r = 0; r < m->n_loads; r++) {
		bool any = false;
		for (int32_t c = 0; c < n_cols && !any; c++)
			any = load_of(m, col[c], r) > 0;
		if (any)
			res[n++] = r;
	}
	return n;
}

/* The most requests a second, with per_s of each candidate. Columns: candidate and size; the last one all
 * requests. Rows: what each resource has; each size has its share. */
static berth_status share_out(mixer *m, double *per_s, berth_err *err)
{
	BERTH_SCRATCH(m->tmp);
	int32_t sizes = m->x->n, *col, *res;
	double *a, *limit, *gain, *x;
	BERTH_TRY_NEW(m->tmp, m->n * sizes, err, col);
	BERTH_TRY_NEW(m->tmp, m->n_loads, err, res);
	int32_t n = list_columns(m, col), loads = list_loads(m, col, n, res), rows = loads + sizes;
	BERTH_TRY_NEW(m->tmp, (size_t)rows * ((size_t)n + 1), err, a);
	BERTH_TRY_NEW(m->tmp, rows, err, limit);
	BERTH_TRY_NEW(m->tmp, n + 1, err, gain, x);
	for (int32_t k = 0; k < loads; k++) {
		limit[k] = 1;
		for (int32_t c = 0; c < n; c++)
			a[k * (n + 1) + c] = load_of(m, col[c], res[k]) / m->unit_s;
	}
	for (int32_t c = 0; c < n; c++)
		a[(loads + col[c] % sizes) * (n + 1) + c] = -1;
	for (int32_t i = 0; i < sizes; i++)
		a[(loads + i) * (n + 1) + n] = m->x->share[i];
	gain[n] = 1;
	BERTH_TRY(berth_simplex_max(rows, n + 1, a, limit, gain, m->tmp, x, per_s, err));
	*per_s /= m->unit_s;
	for (int32_t k = 0; k < m->n; k++)
		memset(m->list[k].per_s, 0, (size_t)sizes * sizeof *m->list[k].per_s);
	for (int32_t c = 0; c < n; c++)
		m->list[col[c] / sizes].per_s[col[c] % sizes] = x[c] / m->unit_s;
	return BERTH_OK;
}

static bool is_used(const candidate *c, int32_t sizes)
{
	for (int32_t i = 0; i < sizes; i++)
		if (c->per_s[i] > 0)
			return true;
	return false;
}

/* ---- do they fit together ---- */

/* The size with the most bytes among those that the candidate gets. */
static int32_t largest_size(const mixer *m, const candidate *c)
{
	int32_t most = -1;
	double bytes = -1;
	for (int32_t i = 0; i < m->x->n; i++) {
		double sum = 0;
		for (int32_t t = 0; t < m->x->graph[i].n_tensors; t++)
			sum += (double)m->x->graph[i].tensor_bytes[t];
		if (c->per_s[i] > 0 && sum > bytes) {
			most = i;
			bytes = sum;
		}
	}
	return most;
}

/* A request of the largest size in each used copy at once. */
static berth_status fit_together(const mixer *m, bool *fit, berth_err *err)
{
	const berth_objective load = berth_objective_of(BERTH_THROUGHPUT);
	BERTH_SCRATCH(m->tmp);
	BERTH_ARENA(own);
	berth_graph *part, all;
	berth_problem p;
	berth_eval e;
	berth_sim_result r;
	int32_t *op_dev, n = 0, n_ops = m->x->graph->n_ops;
	BERTH_TRY_NEW(m->tmp, m->n, err, part);
	BERTH_TRY_NEW(m->tmp, (size_t)m->n * (size_t)n_ops, err, op_dev);
	for (int32_t k = 0; k < m->n; k++) {
		if (!is_used(&m->list[k], m->x->n))
			continue;
		BERTH_COPY(op_dev + n * n_ops, m->list[k].op_dev, n_ops);
		part[n++] = m->x->graph[largest_size(m, &m->list[k])];
	}
	BERTH_TRY(berth_graph_union(part, n, &own, m->tmp, &all, NULL, err));
	BERTH_TRY(berth_problem_new(&all, m->s, &own, m->tmp, &p, err));
	BERTH_TRY(berth_eval_new(&p, &load, m->tmp, &e, err));
	const int32_t *order = m->s->order == BERTH_ORDER_GIVEN ? all.topo_op : NULL;
	*fit = !(berth_eval_result(&e, op_dev, order, &r) > 0);
	return BERTH_OK;
}

/* Take out the used copy whose lack costs least: *which, -1 where the time is over. Shares are those without
 * the last one tried. */
static berth_status take_one_out(mixer *m, int32_t *which, berth_err *err)
{
	double best = -1, per_s;
	bool used[MOST_COPIES];
	*which = -1;
	for (int32_t k = 0; k < m->n; k++)
		used[k] = is_used(&m->list[k], m->x->n);
	for (int32_t k = 0; k < m->n; k++) {
		if (!used[k])
			continue;
		if (is_over(m)) {
			*which = -1;
			return BERTH_OK;
		}
		m->list[k].out = true;
		BERTH_TRY(share_out(m, &per_s, err));
		m->list[k].out = false;
		if (per_s > best) {
			best = per_s;
			*which = k;
		}
	}
	m->list[*which].out = true;
	return BERTH_OK;
}

/* Copies go that nearly nothing is lost without. */
static berth_status thin_out(mixer *m, double *per_s, berth_err *err)
{
	double enough = *per_s * (1 - SPARE), now;
	for (int32_t k = 0; k < m->n; k++)
		m->list[k].out |= !is_used(&m->list[k], m->x->n);
	for (;;) {
		int32_t which;
		bool fit = false;
		BERTH_TRY(take_one_out(m, &which, err));
		if (which < 0)
			return share_out(m, per_s, err);
		BERTH_TRY(share_out(m, &now, err));
		if (now >= enough)
			BERTH_TRY(fit_together(m, &fit, err));
		if (!fit) {
			m->list[which].out = false;
			return share_out(m, per_s, err);
		}
		*per_s = now;
	}
}

static int32_t count_used(const mixer *m)
{
	int32_t n = 0;
	for (int32_t k = 0; k < m->n; k++)
		n += is_used(&m->list[k], m->x->n);
	return n;
}

/* Does a copy that is in take that size? */
static bool is_taken(const mixer *m, int32_t i)
{
	for (int32_t k = 0; k < m->n; k++)
		if (takes_size(&m->list[k], m, i))
			return true;
	return false;
}

/* Where the copies that are in leave sizes out: the candidate that takes most of these, of equals the one
 * that serves most requests of them; -1: none takes any. */
static int32_t widest_candidate(const mixer *m, const bool *barred)
{
	int32_t best = -1, most = 0;
	double least_s = INFINITY;
	for (int32_t k = 0; k < m->n; k++) {
		candidate c = m->list[k];
		c.out = barred[k] || !c.out;
		int32_t n = 0;
		double time_s = 0;
		for (int32_t i = 0; i < m->x->n; i++)
			n += takes_size(&c, m, i) && !is_taken(m, i);
		for (int32_t r = 0; r < m->n_loads && n; r++) {
			double sum_s = 0;
			for (int32_t i = 0; i < m->x->n; i++)
				if (takes_size(&c, m, i) && !is_taken(m, i))
					sum_s += m->x->share[i] * c.load_s[i * m->n_loads + r];
			time_s = fmax(time_s, sum_s);
		}
		if (n > most || (n > 0 && n == most && time_s < least_s)) {
			best = k;
			most = n;
			least_s = time_s;
		}
	}
	return best;
}

/* The candidate that adds most to those that are in, of those not barred; -1: none adds enough. */
static berth_status best_to_add(mixer *m, const bool *barred, double now, int32_t *best, berth_err *err)
{
	double most = now * (1 + SPARE), per_s;
	*best = -1;
	for (int32_t k = 0; k < m->n; k++) {
		if (barred[k] || !m->list[k].out)
			continue;
		if (now > 0 && is_over(m))
			break;
		m->list[k].out = false;
		BERTH_TRY(share_out(m, &per_s, err));
		m->list[k].out = true;
		if (per_s > most) {
			most = per_s;
			*best = k;
		}
	}
	if (*best < 0 && !(now > 0))
		*best = widest_candidate(m, barred);
	return BERTH_OK;
}

/* From the best copy on, the one more that adds most and fits beside the others, one after the other. Where
 * no copy takes all sizes, the first ones are there to take them. */
static berth_status build_up(mixer *m, int32_t most, double *per_s, berth_err *err)
{
	bool barred[MOST_COPIES] = {false};
	int32_t n = 0;
	for (int32_t k = 0; k < m->n; k++)
		m->list[k].out = true;
	BERTH_TRY(share_out(m, per_s, err));
	while (n < most) {
		int32_t k;
		bool fit = true;
		BERTH_TRY(best_to_add(m, barred, *per_s, &k, err));
		if (k < 0)
			break;
		m->list[k].out = false;
		BERTH_TRY(share_out(m, per_s, err));
		if (*per_s > 0)
			BERTH_TRY(fit_together(m, &fit, err));
		n += fit;
		barred[k] = true;
		m->list[k].out = !fit;
	}
	return share_out(m, per_s, err);
}

/* All that is of use, where it fits; else as many as fit. *per_s is 0 where nothing fits. */
static berth_status choose_copies(mixer *m, int32_t most, double *per_s, berth_err *err)
{
	bool fit = false;
	BERTH_TRY(share_out(m, per_s, err));
	if (isinf(*per_s))
		return berth_fail(err, BERTH_EINVAL, "a request of graph '%.80s' takes no time",
		                  m->x->graph->name);
	if (*per_s > 0 && count_used(m) <= most)
		BERTH_TRY(fit_together(m, &fit, err));
	return fit ? thin_out(m, per_s, err) : build_up(m, most, per_s, err);
}

/* ---- beside what ---- */

/* Requests a second of one copy for all sizes; 0: some size does not fit. */
static double alone_per_s(const mixer *m, const candidate *c)
{
	double most = 0;
	for (int32_t r = 0; r < m->n_loads; r++) {
		double sum = 0;
		for (int32_t i = 0; i < m->x->n; i++)
			sum += m->x->share[i] * c->load_s[i * m->n_loads + r];
		most = fmax(most, sum);
	}
	for (int32_t i = 0; i < m->x->n; i++)
		if (isnan(c->load_s[i * m->n_loads]))
			return 0;
	return most > 0 ? 1 / most : 0;
}

static void compare_alone(const mixer *m, berth_mix *out)
{
	out->device = -1;
	for (int32_t k = 0; k < m->n; k++) {
		const candidate *c = &m->list[k];
		double per_s = alone_per_s(m, c);
		bool one_device = true;
		for (int32_t op = 1; op < m->x->graph->n_ops && one_device; op++)
			one_device = c->op_dev[op] == c->op_dev[0];
		out->one_per_s = fmax(out->one_per_s, per_s);
		if (one_device && per_s > out->device_per_s) {
			out->device_per_s = per_s;
			out->device = c->op_dev[0];
		}
	}
}

/* The load dual of a mean request: its operators are those of all sizes, each with its share of the time, in
 * picoseconds rounded down. */
static berth_status bound_mix(const mixer *m, berth_mix *out, berth_err *err)
{
	berth_builder *b;
	berth_graph g;
	berth_problem p;
	int64_t whole_ps;
	double load_ps;
	char name[32];
	BERTH_TRY(berth_builder_new(m->tmp, "mean", &b, err));
	for (int32_t i = 0, n = 0; i < m->x->n; i++)
		for (int32_t op = 0; op < m->p[i].n_ops; op++, n++) {
			snprintf(name, sizeof name, "%d", n);
			BERTH_TRY(berth_builder_op(b, &(berth_op_spec){.name = name}, NULL, err));
			for (int32_t d = 0; d < m->s->n_devs; d++) {
				double ns = m->x->share[i] * (double)berth_op_time(&m->p[i], op, d);
				double ps = berth_op_legal(&m->p[i], op, d) ? floor(1e3 * ns) : NAN;
				BERTH_TRY(berth_builder_time(b, n, m->s->dev_name[d], ps * 1e-9, err));
			}
		}
	BERTH_TRY(berth_builder_finish(b, m->mem, &g, err));
	BERTH_TRY(berth_problem_new(&g, m->s, m->mem, m->tmp, &p, err));
	BERTH_TRY(berth_load_dual(&p, &whole_ps, &load_ps, m->tmp, err));
	out->bound_per_s = load_ps > 0 ? 1e12 / load_ps : INFINITY;
	return BERTH_OK;
}

/* ---- all of it ---- */

static berth_status make_mix(mixer *m, int32_t most, const berth_method *method, const berth_search_cfg *cfg,
                        berth_mix *out, berth_err *err)
{
	berth_search_cfg searches = *cfg;
	searches.time_s *= 1 - SHARING;
	searches.cpu_s *= 1 - SHARING;
	BERTH_TRY(compile_sizes(m, err));
	int32_t *op_dev;
	BERTH_TRY_NEW(m->tmp, m->x->graph->n_ops, err, op_dev);
	for (int32_t d = 0; d < m->s->n_devs; d++) {
		bool legal = true;
		for (int32_t op = 0; op < m->x->graph->n_ops; op++) {
			op_dev[op] = d;
			legal = legal && berth_op_legal(m->p, op, d);
		}
		if (legal)
			BERTH_TRY(add_candidate(m, op_dev, err));
	}
	for (int32_t i = 0; i < m->x->n && !out->interrupted; i++)
		BERTH_TRY(add_searched(m, i, most, method, &searches, out, err));
	compare_alone(m, out);
	m->unit_s = out->one_per_s > 0 ? 1 / out->one_per_s : 1;
	BERTH_TRY(choose_copies(m, most, &out->per_s, err));
	out->interrupted |= is_cancelled(m);
	BERTH_TRY(bound_mix(m, out, err));
	BERTH_TRY_NEW(m->mem, m->n, err, out->copy);
	for (int32_t k = 0; k < m->n && out->per_s > 0; k++)
		if (is_used(&m->list[k], m->x->n))
			out->copy[out->n++] = (berth_mix_copy){m->list[k].op_dev, m->list[k].per_s,
			                                       largest_size(m, &m->list[k])};
	return BERTH_OK;
}

berth_status berth_mix_choose(const berth_requests *x, const berth_system *s, int32_t most,
                              const berth_method *method, const berth_search_cfg *cfg, berth_arena *mem,
                              berth_arena *tmp, berth_mix *out, berth_err *err)
{
	berth_search_cfg timed = *cfg;
	mixer m = {.x = x, .s = s, .cfg = &timed, .mem = mem, .tmp = tmp};
	berth_mix r = {0};
	BERTH_SCRATCH(tmp);
	berth_search_cfg_begin(&timed);
	BERTH_TRY(make_mix(&m, most, method, &timed, &r, err));
	*out = r;
	return BERTH_OK;
}

berth_status berth_mix_unite(const berth_requests *x, const berth_mix *m, berth_arena *mem, berth_arena *tmp,
                             berth_graph *all, int32_t **op_dev, berth_err *err)
{
	berth_graph *part;
	int32_t n_ops = x->graph[0].n_ops;
	BERTH_TRY_NEW(mem, m->n, err, part);
	BERTH_TRY_NEW(mem, (size_t)m->n * (size_t)n_ops, err, *op_dev);
	for (int32_t k = 0; k < m->n; k++) {
		part[k] = x->graph[m->copy[k].most];
		BERTH_COPY(*op_dev + k * n_ops, m->copy[k].op_dev, n_ops);
	}
	*all = part[0];
	return m->n > 1 ? berth_graph_union(part, m->n, mem, tmp, all, NULL, err) : BERTH_OK;
}
