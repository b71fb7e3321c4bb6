/* A program of pieces, from what becomes of each operator to its score. */
#include "cut_making.h"
#include "load.h"
#include "op_times.h"

static berth_status find_may(berth_cutting *c, berth_arena *mem, berth_err *err)
{
	const berth_graph *g = c->ruled;
	const berth_system *s = c->p->s;
	size_t n_devs = (size_t)c->p->n_devs;
	bool *may;
	c->may = NULL;
	if (!g)
		return BERTH_OK;
	BERTH_TRY_NEW(mem, (size_t)g->n_ops * n_devs, err, may);
	for (int32_t op = 0; op < g->n_ops; op++) {
		bool *row = may + (size_t)op * n_devs;
		for (int32_t d = 0; d < s->n_devs; d++)
			row[d] = !g->op_pin[op] || strcmp(g->op_pin[op], s->dev_name[d]) == 0;
		BERTH_EACH (i, g->op_forbid_off, op) {
			int32_t d = berth_system_find_dev(s, g->forbid_dev[i]);
			if (d >= 0)
				row[d] = false;
		}
	}
	c->may = may;
	return BERTH_OK;
}

berth_status berth_cutting_open(berth_cutting *c, berth_arena *mem, berth_err *err)
{
	berth_strmap ops;
	pieces_axes *list;
	int32_t n;
	BERTH_TRY(find_may(c, mem, err));
	BERTH_TRY(berth_graph_names(c->p->g, mem, &ops, err));
	BERTH_TRY(pieces_list(c->source, c->outside, mem, &list, &n, err));
	BERTH_TRY_NEW(mem, c->p->n_ops, err, c->axes);
	for (int32_t i = 0; i < n; i++) {
		int32_t op = berth_strmap_get(&ops, list[i].op);
		if (op >= 0)
			c->axes[op] = &list[i];
	}
	return BERTH_OK;
}

int32_t berth_cut_way_most(const berth_cut_way *w)
{
	int32_t most = 0;
	for (int32_t i = 1; i < w->k; i++)
		if (w->share[i] > w->share[most])
			most = i;
	return w->dev[most];
}

int32_t berth_cut_way_devices(const berth_cut_way *w)
{
	int32_t n = 0;
	for (int32_t i = 0; i < w->k; i++) {
		int32_t before = 0;
		while (w->dev[before] != w->dev[i])
			before++;
		n += before == i;
	}
	return n;
}

/* ---- cutting ---- */

static bool is_cut(const cut_making *m, int32_t op)
{
	bool pinned = m->c->ruled && m->c->ruled->op_pin[op];
	return m->c->axes[op] && !pinned && m->op[op].way->k > 1;
}

static berth_status cut_model(const cut_making *m, berth_err *err)
{
	const berth_cutting *c = m->c;
	const berth_graph *g = c->p->g;
	const berth_cut_op *op = m->op;
	pieces_ask *ask;
	pieces_options opt = {.outside = c->outside};
	BERTH_TRY_NEW(m->mem, g->n_ops, err, ask);
	for (int32_t i = 0; i < g->n_ops; i++) {
		int32_t at = g->topo_op[i];
		if (is_cut(m, at))
			ask[opt.n_asks++] = (pieces_ask){c->axes[at]->op, op[at].axis, op[at].way->k,
			                                 op[at].way->share, op[at].each};
	}
	opt.ask = ask;
	return pieces_cut_source(c->source, &opt, m->mem, &m->x->made, err);
}

static berth_status read_cut_model(cut_making *m, berth_err *err)
{
	const pieces_model *made = &m->x->made;
	BERTH_SCRATCH(m->tmp);
	size_t size;
	const char *data = berth_file_join(made->piece, made->n_pieces, m->tmp, &size);
	BERTH_TRY(berth_got(data, err));
	return berth_graph_parse(m->c->name, data, size, m->c->after, m->mem, m->tmp, &m->cut, NULL, err);
}

/* ---- times ---- */

/* Of the work of operator `whole`, what `piece` of the cut model has. */
static double share_of(const berth_graph *from, int32_t whole, const berth_graph *g, int32_t piece)
{
	if (from->op_flops[whole] > 0)
		return g->op_flops[piece] / from->op_flops[whole];
	if (from->op_write_bytes[whole] > 0)
		return (double)g->op_write_bytes[piece] / (double)from->op_write_bytes[whole];
	return 1;
}

static double piece_seconds(double whole_s, double overhead_s, double share)
{
	double fixed = fmin(overhead_s, whole_s);
	return fixed + share * (whole_s - fixed);
}

/* The times of operator `at`, from row n on; returns the row behind them. */
static int32_t put_times(cut_making *m, int32_t at, int32_t n)
{
	const berth_system *s = m->c->p->s;
	const berth_graph *from = m->c->p->g;
	berth_graph *g = &m->cut;
	cut_origin o = m->origin[at];
	double seconds;
	for (int32_t d = 0; o.op >= 0 && d < s->n_devs; d++) {
		if (!berth_op_measured(from, s, o.op, d, &seconds))
			continue;
		g->time_key[n] = (uint16_t)d;
		g->time_s[n++] = o.piece < 0 || isnan(seconds)
		                         ? seconds
		                         : piece_seconds(seconds, s->dev_op_overhead_s[d],
		                                         share_of(from, o.op, &m->cut, at));
	}
	return n;
}

/* Give operators of m->cut the times of those that they come from, for all devices that have one.
 * A whole one has its operator's time T. A piece with a share s of the work has o + s (T - o), with o the
 * device's overhead of an operator, at most T: what does not shrink with the piece. The share is that of
 * FLOP, or of bytes written where an operator has none. What stands between pieces has no time of its own.
 * origin is set. In m->mem. O(operators * devices). Fails: BERTH_ENOMEM. */
static berth_status take_times(cut_making *m, berth_err *err)
{
	const berth_system *s = m->c->p->s;
	berth_graph *g = &m->cut;
	size_t most = (size_t)g->n_ops * (size_t)s->n_devs;
	if (m->c->p->g->n_times == 0)
		return BERTH_OK;
	BERTH_TRY_NEW(m->mem, g->n_ops + 1, err, g->op_time_off);
	BERTH_TRY_NEW(m->mem, most, err, g->time_key, g->time_s);
	g->time_name = s->dev_name;
	g->n_time_names = s->n_devs;
	for (int32_t op = 0; op < g->n_ops; op++)
		g->op_time_off[op + 1] = put_times(m, op, g->op_time_off[op]);
	g->n_times = g->op_time_off[g->n_ops];
	return BERTH_OK;
}

/* ---- rules ---- */

/* The operator of the whole model whose rules hold for each of the cut one: what stands between pieces goes
 * with what it takes from, or else with what takes from it. -1: none. */
static berth_status find_rulers(const cut_making *m, int32_t **out, berth_err *err)
{
	const berth_graph *g = &m->cut;
	int32_t *of;
	BERTH_TRY_NEW(m->tmp, g->n_ops, err, of);
	for (int32_t i = 0; i < g->n_ops; i++) {
		int32_t op = g->topo_op[i], first = g->op_in_off[op];
		of[op] = m->origin[op].op;
		if (of[op] < 0 && first < g->op_in_off[op + 1])
			of[op] = of[g->tensor_producer[g->in_tensor[first]]];
	}
	for (int32_t i = g->n_ops; i-- > 0;) {
		int32_t op = g->topo_op[i], first = g->tensor_use_off[g->op_tensor_off[op]];
		if (of[op] < 0 && g->op_tensor_off[op] < g->op_tensor_off[op + 1])
			of[op] = of[g->edge_consumer[first]];
	}
	*out = of;
	return BERTH_OK;
}

static berth_status take_rules(cut_making *m, berth_err *err)
{
	const berth_graph *from = m->c->ruled;
	berth_graph *g = &m->cut;
	int32_t *of, *off, n = 0;
	const char **dev;
	if (!from)
		return BERTH_OK;
	BERTH_TRY(find_rulers(m, &of, err));
	for (int32_t i = 0; i < g->n_ops; i++)
		n += of[i] < 0 ? 0 : from->op_forbid_off[of[i] + 1] - from->op_forbid_off[of[i]];
	BERTH_TRY_NEW(m->mem, g->n_ops, err, g->op_pin);
	BERTH_TRY_NEW(m->mem, g->n_ops + 1, err, off);
	BERTH_TRY_NEW(m->mem, n, err, dev);
	for (int32_t i = 0; i < g->n_ops; i++) {
		g->op_pin[i] = m->origin[i].op < 0 ? NULL : from->op_pin[m->origin[i].op];
		off[i + 1] = off[i];
		for (int32_t k = of[i] < 0 ? 0 : from->op_forbid_off[of[i]];
		     of[i] >= 0 && k < from->op_forbid_off[of[i] + 1]; k++)
			dev[off[i + 1]++] = from->forbid_dev[k];
	}
	g->op_forbid_off = off;
	g->forbid_dev = dev;
	g->n_forbids = n;
	return BERTH_OK;
}

/* ---- what is placed ---- */

/* Copies of weights that pieces share: of micro-batches one a device. 0: one a piece. */
static int32_t replicas_of(const cut_making *m)
{
	int32_t least = 0;
	for (int32_t op = 0; op < m->c->p->n_ops; op++) {
		int32_t n = is_cut(m, op) ? berth_cut_way_devices(m->op[op].way) : 0;
		if (n && n < m->op[op].way->k && (!least || n < least))
			least = n;
	}
	return least;
}

/* The cut model itself. */
static berth_status take_model(cut_making *m, berth_err *err)
{
	m->x->g = m->cut;
	BERTH_TRY_NEW(m->tmp, m->cut.n_ops, err, m->copy);
	for (int32_t i = 0; i < m->cut.n_ops; i++)
		m->copy[i] = i;
	m->of = m->copy;
	return BERTH_OK;
}

static berth_status take_step(cut_making *m, berth_err *err)
{
	berth_training_report report;
	berth_training_options opt = *m->c->training;
	opt.report = &report;
	opt.replicas = m->x->replicas = replicas_of(m);
	BERTH_TRY(berth_graph_training(&m->cut, &opt, m->mem, m->tmp, &m->x->g, err));
	BERTH_TRY_NEW(m->tmp, m->cut.n_ops, err, m->copy);
	memset(m->copy, -1, (size_t)m->cut.n_ops * sizeof *m->copy);
	m->of = report.op_of;
	for (int32_t i = m->x->g.n_ops; i-- > 0;) /* the first: itself */
		m->copy[m->of[i]] = i;
	return BERTH_OK;
}

berth_status berth_cut_program_make(const berth_cutting *c, const berth_cut_op *op, berth_arena *mem,
                                    berth_arena *tmp, berth_cut_program *out, berth_err *err)
{
	cut_making m = {.c = c, .op = op, .x = out, .mem = mem, .tmp = tmp};
	BERTH_SCRATCH(tmp);
	*out = (berth_cut_program){.order = NULL};
	BERTH_TRY(cut_model(&m, err));
	BERTH_TRY(read_cut_model(&m, err));
	/* The origin of each operator of the cut model, by names. */
	const pieces_model *made = &m.x->made;
	berth_strmap after, before;
	BERTH_TRY(berth_graph_names(&m.cut, m.tmp, &after, err));
	BERTH_TRY(berth_graph_names(m.c->p->g, m.tmp, &before, err));
	BERTH_TRY_NEW(m.tmp, m.cut.n_ops, err, m.origin);
	for (int32_t i = 0; i < m.cut.n_ops; i++)
		m.origin[i] = (cut_origin){berth_strmap_get(&before, m.cut.op_name[i]), -1};
	for (int32_t i = 0; i < made->n_made; i++) {
		int32_t whole = berth_strmap_get(&before, made->made[i].op);
		for (int32_t k = 0; whole >= 0 && k < made->made[i].k; k++) {
			int32_t piece = berth_strmap_get(&after, made->made[i].name[k]);
			if (piece >= 0)
				m.origin[piece] = (cut_origin){whole, k};
		}
	}
	BERTH_TRY(take_times(&m, err));
	BERTH_TRY(take_rules(&m, err));
	BERTH_TRY(m.c->training ? take_step(&m, err) : take_model(&m, err));
	BERTH_TRY(berth_problem_new(&m.x->g, m.c->p->s, m.mem, m.tmp, &m.x->p, err));
	BERTH_TRY(cut_place(&m, err));
	return cut_order(&m, err);
}
