/* Seeds of the search over cuts; see cut_seeds.h. */
#include "cut_seeds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

berth_status berth_cut_whole(int32_t dev, berth_arena *mem, const berth_cut_way **out, berth_err *err)
{
	static const double all = 1;
	berth_cut_way *w;
	int32_t *d;
	BERTH_TRY(BERTH_NEW(mem, w, 1, err));
	BERTH_TRY(BERTH_NEW(mem, d, 1, err));
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
			some = some || c->may[(size_t)op[i] * (size_t)p->n_devs + (size_t)d];
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
	BERTH_TRY(BERTH_NEW(mem, w, 1, err));
	BERTH_TRY(BERTH_NEW(mem, d, k, err));
	BERTH_TRY(BERTH_NEW(mem, share, k, err));
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
	BERTH_TRY(BERTH_NEW(mem, way, c->p->n_devs, err));
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
	BERTH_TRY(BERTH_NEW(mem, dev, p->n_devs, err));
	BERTH_TRY(BERTH_NEW(mem, ns, p->n_devs, err));
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
	BERTH_TRY(BERTH_NEW(mem, all, p->n_ops, err));
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

const berth_cut_seed berth_cut_seeds[] = {
	{"whole", "whole operators, as they are placed best", make_whole},
	{"all", "all operators, for the quickest devices, shares by speed", make_all},
	{"large", "operators that take long, for the quickest devices", make_large},
	{"data", "along the batch, for the quickest devices", berth_cut_data},
	{"tensor", "products by columns and along what is summed in turn", berth_cut_tensor},
	{"pipeline", "stages on the quickest devices, the batch in micro-batches", berth_cut_pipeline},
};
const int32_t berth_n_cut_seeds = sizeof berth_cut_seeds / sizeof *berth_cut_seeds;
