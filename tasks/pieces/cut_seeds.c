/* Programs that the search over cuts starts from, by rule: whole operators, all cut for the quickest devices,
 * long ones alone; and as people cut models: data and tensor parallelism (pieces_style tells their sources),
 * and pipelines of micro-batches (Huang et al., "GPipe: Efficient Training of Giant Neural Networks using
 * Pipeline Parallelism", NeurIPS 2019, section 2.2; in the order that a program gets). */
#include "cut_seeds.h"

berth_status berth_cut_whole(int32_t dev, berth_arena *mem, const berth_cut_way **out, berth_err *err)
{
	static const double all = 1;
	berth_cut_way *w;
	int32_t *d;
	BERTH_TRY_NEW(mem, 1, err, w, d);
	*d = dev;
	*w = (berth_cut_way){1, d, &all};
	*out = w;
	return BERTH_OK;
}

int32_t berth_cut_quickest(const berth_cutting *c, const int32_t *op, int32_t n, int32_t *dev, double *ns)
{
	const berth_problem *p = c->p;
	int32_t k = 0;
	for (int32_t d = 0; d < p->n_devs; d++) {
		bool all = true, some = !c->may;
		ns[d] = 0;
		for (int32_t i = 0; i < n && all; i++) {
			all = berth_op_legal(p, op[i], d);
			ns[d] += all ? (double)berth_op_time(p, op[i], d) : 0;
			some = some || BERTH_ROW(c->may, op[i], p->n_devs)[d];
		}
		if (!all || !some)
			continue;
		int32_t at = k++;
		for (; at > 0 && ns[dev[at - 1]] > ns[d]; at--)
			dev[at] = dev[at - 1];
		dev[at] = d;
	}
	return k;
}

berth_status berth_cut_by_speed(const int32_t *dev, int32_t k, const double *ns, berth_arena *mem,
                                const berth_cut_way **out, berth_err *err)
{
	berth_cut_way *w;
	int32_t *d;
	double *share;
	BERTH_TRY_NEW(mem, 1, err, w);
	BERTH_TRY_NEW(mem, k, err, d, share);
	for (int32_t i = 0; i < k; i++) {
		int32_t at = i;
		for (; at > 0 && d[at - 1] > dev[i]; at--)
			d[at] = d[at - 1];
		d[at] = dev[i];
	}
	for (int32_t i = 0; i < k; i++)
		share[i] = 1 / fmax(ns[d[i]], 1);
	*w = (berth_cut_way){k, d, share};
	*out = w;
	return BERTH_OK;
}

/* ---- the seeds ---- */

/* As the plan of whole operators has it. */
static berth_status make_whole(const berth_cutting *c, int32_t i, berth_arena *mem, berth_cut_op *op,
                               bool *more, berth_err *err)
{
	const berth_cut_way **way;
	*more = i == 0 && c->whole_dev;
	if (!*more)
		return BERTH_OK;
	BERTH_TRY_NEW(mem, c->p->n_devs, err, way);
	for (int32_t k = 0; k < c->p->n_ops; k++) {
		int32_t d = c->whole_dev[k];
		if (!way[d])
			BERTH_TRY(berth_cut_whole(d, mem, &way[d], err));
		op[k] = (berth_cut_op){way[d], NULL, false};
	}
	return BERTH_OK;
}

/* Everything for the k quickest devices, and what cannot be cut. *most: operators by their time on the
 * quickest, most of all first; NULL: not wanted. */
static berth_status for_quickest(const berth_cutting *c, int32_t k, berth_arena *mem, berth_cut_op *op,
                                 bool *more, berth_err *err)
{
	const berth_problem *p = c->p;
	const berth_cut_way *way;
	int32_t *dev;
	double *ns;
	BERTH_TRY_NEW(mem, p->n_devs, err, dev, ns);
	*more = k <= berth_cut_quickest(c, p->g->topo_op, p->n_ops, dev, ns);
	if (!*more)
		return BERTH_OK;
	BERTH_TRY(berth_cut_by_speed(dev, k, ns, mem, &way, err));
	for (int32_t i = 0; i < p->n_ops; i++)
		op[i] = (berth_cut_op){way, NULL, false};
	return BERTH_OK;
}

static berth_status make_all(const berth_cutting *c, int32_t i, berth_arena *mem, berth_cut_op *op,
                             bool *more, berth_err *err)
{
	return for_quickest(c, i + 2, mem, op, more, err);
}

/* Of the plan of whole operators only those are cut that take more than this part of the longest one. */
static berth_status make_large(const berth_cutting *c, int32_t i, berth_arena *mem, berth_cut_op *op,
                               bool *more, berth_err *err)
{
	static const double part[] = {0.5, 0.1};
	const int32_t parts = sizeof part / sizeof *part;
	const berth_problem *p = c->p;
	berth_cut_op *all;
	double longest = 0;
	*more = c->whole_dev != NULL;
	BERTH_TRY_NEW(mem, p->n_ops, err, all);
	if (*more)
		BERTH_TRY(for_quickest(c, i / parts + 2, mem, all, more, err));
	if (!*more)
		return BERTH_OK;
	BERTH_TRY(make_whole(c, 0, mem, op, more, err));
	for (int32_t k = 0; k < p->n_ops; k++)
		longest = fmax(longest, c->axes[k] ? (double)p->op_mean_ns[k] : 0);
	for (int32_t k = 0; k < p->n_ops; k++)
		if ((double)p->op_mean_ns[k] > part[i % parts] * longest)
			op[k] = all[k];
	return BERTH_OK;
}

/* ---- styles ---- */

/* The quickest devices [n], and their times ns [n_devs] of all operators. */
typedef struct crew {
	int32_t *dev, n;
	double *ns;
} crew;

static berth_status find_crew(const berth_cutting *c, berth_arena *mem, crew *out, berth_err *err)
{
	BERTH_TRY_NEW(mem, c->p->n_devs, err, out->dev, out->ns);
	out->n = berth_cut_quickest(c, c->p->g->topo_op, c->p->n_ops, out->dev, out->ns);
	return BERTH_OK;
}

/* Axes of the style for parts of such shares, into op; what it leaves whole has none, and gets *rest. *more:
 * it cuts something. */
static berth_status axes_of(const berth_cutting *c, pieces_style style, const berth_cut_way *parts,
                            berth_arena *mem, berth_cut_op *op, bool *more, berth_err *err)
{
	const berth_graph *g = c->p->g;
	const pieces_options opt = {
		.k = parts->k, .share = parts->share, .style = style, .each = true, .outside = c->outside};
	pieces_model made;
	berth_strmap ops;
	BERTH_TRY(pieces_plan_source(c->source, &opt, mem, &made, err));
	BERTH_TRY(berth_graph_names(g, mem, &ops, err));
	for (int32_t i = 0; i < g->n_ops; i++)
		op[i] = (berth_cut_op){.each = true};
	*more = made.n_made > 0;
	for (int32_t i = 0; i < made.n_made; i++) {
		int32_t at = berth_strmap_get(&ops, made.made[i].op);
		if (at >= 0)
			op[at].axis = made.made[i].axis;
	}
	return BERTH_OK;
}

/* Piece i of all on the i-th device of the k quickest, with a share by its speed. */
static berth_status spread_pieces(const berth_cutting *c, pieces_style style, int32_t k, berth_arena *mem,
                           berth_cut_op *op, bool *more, berth_err *err)
{
	const berth_cut_way *way, *whole;
	crew w;
	BERTH_TRY(find_crew(c, mem, &w, err));
	*more = k <= w.n;
	if (!*more)
		return BERTH_OK;
	BERTH_TRY(berth_cut_by_speed(w.dev, k, w.ns, mem, &way, err));
	BERTH_TRY(berth_cut_whole(w.dev[0], mem, &whole, err));
	BERTH_TRY(axes_of(c, style, way, mem, op, more, err));
	for (int32_t i = 0; i < c->p->n_ops; i++)
		op[i].way = op[i].axis ? way : whole;
	return BERTH_OK;
}

static berth_status make_data(const berth_cutting *c, int32_t i, berth_arena *mem, berth_cut_op *op,
                              bool *more, berth_err *err)
{
	return spread_pieces(c, PIECES_DATA, i + 2, mem, op, more, err);
}

static berth_status make_tensor(const berth_cutting *c, int32_t i, berth_arena *mem, berth_cut_op *op,
                              bool *more, berth_err *err)
{
	return spread_pieces(c, PIECES_TENSOR, i + 2, mem, op, more, err);
}

/* ---- pipelines ---- */

/* Stages in topological order, each with a part of all work by its device's speed: the stage of the operator
 * in whose middle `done` of `all` is done. */
static int32_t stage_at(const crew *w, int32_t k, double done, double all)
{
	double sum = 0, before = 0;
	int32_t s = 0;
	for (int32_t i = 0; i < k; i++)
		sum += 1 / fmax(w->ns[w->dev[i]], 1);
	while (s < k - 1 && (before + 1 / fmax(w->ns[w->dev[s]], 1)) / sum * all <= done)
		before += 1 / fmax(w->ns[w->dev[s++]], 1);
	return s;
}

static berth_status lay_pipeline(const berth_cutting *c, int32_t k, int32_t micro, berth_arena *mem,
                             berth_cut_op *op, bool *more, berth_err *err)
{
	const berth_problem *p = c->p;
	berth_cut_way **stage;
	const berth_cut_way **whole;
	double all = 0, done = 0;
	crew w;
	BERTH_TRY(find_crew(c, mem, &w, err));
	*more = k <= w.n;
	if (!*more)
		return BERTH_OK;
	BERTH_TRY_NEW(mem, k, err, stage, whole);
	for (int32_t s = 0; s < k; s++) {
		/* Equal pieces, all on the stage's device. */
		int32_t dev = w.dev[s];
		int32_t *devs;
		double *share;
		BERTH_TRY_NEW(mem, 1, err, stage[s]);
		BERTH_TRY_NEW(mem, micro, err, devs, share);
		for (int32_t i = 0; i < micro; i++) {
			devs[i] = dev;
			share[i] = 1;
		}
		*stage[s] = (berth_cut_way){micro, devs, share};
		BERTH_TRY(berth_cut_whole(w.dev[s], mem, &whole[s], err));
	}
	BERTH_TRY(axes_of(c, PIECES_DATA, stage[0], mem, op, more, err));
	for (int32_t i = 0; i < p->n_ops; i++)
		all += (double)p->op_mean_ns[i];
	for (int32_t i = 0; i < p->n_ops; i++) {
		int32_t at = p->g->topo_op[i];
		double ns = (double)p->op_mean_ns[at];
		int32_t s = stage_at(&w, k, done + ns / 2, all);
		op[at].way = op[at].axis ? stage[s] : whole[s];
		done += ns;
	}
	return BERTH_OK;
}

/* The least number of equal micro-batches from `least` on; where there is none, so many, or one a line. */
static int32_t micro_batches(int64_t lines, int32_t least)
{
	int64_t most = lines < PIECES_MOST ? lines : PIECES_MOST;
	for (int32_t n = least; n <= most; n++)
		if (lines % n == 0)
			return n;
	return least < most ? least : (int32_t)most;
}

/* Micro-batches for each stage: one, two, four; for 2, 3, ... devices. */
static berth_status make_pipeline(const berth_cutting *c, int32_t i, berth_arena *mem, berth_cut_op *op,
                                bool *more, berth_err *err)
{
	int32_t k = i / 3 + 2;
	int64_t lines;
	/* Lines of the batch; 0: nothing can be cut along it. */
	static const double share[] = {1, 1};
	const pieces_options opt = {.k = 2, .share = share, .style = PIECES_DATA, .outside = c->outside};
	pieces_model made;
	BERTH_TRY(pieces_plan_source(c->source, &opt, mem, &made, err));
	lines = made.n_made ? made.made[0].length : 0;
	*more = lines > 1;
	return *more ? lay_pipeline(c, k, micro_batches(lines, k << i % 3), mem, op, more, err) : BERTH_OK;
}

/* ---- all ---- */

const berth_cut_seed berth_cut_seeds[] = {
	{"whole", "whole operators, as they are placed best", make_whole},
	{"all", "all operators, for the quickest devices, shares by speed", make_all},
	{"large", "operators that take long, for the quickest devices", make_large},
	{"data", "along the batch, for the quickest devices", make_data},
	{"tensor", "products by columns and along what is summed in turn", make_tensor},
	{"pipeline", "stages on the quickest devices, the batch in micro-batches", make_pipeline},
};
const int32_t berth_n_cut_seeds = sizeof berth_cut_seeds / sizeof *berth_cut_seeds;
