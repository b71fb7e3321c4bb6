/* Divides a user's pairs into those that are learned from and those that are kept aside; where there are
 * few, draws of their systems are kept aside. The settings of a tuning follow from them. */
#include "fine_tune.h"

enum { EVERY = 4, DRAWS = 2 };

#define SPREAD 0.1

/* [n] times e^z each. */
static berth_status spread(const double *x, int32_t n, berth_rng *rng, berth_arena *mem, double **out,
                           berth_err *err)
{
	BERTH_TRY_NEW(mem, n, err, *out);
	for (int32_t i = 0; i < n; i++)
		(*out)[i] = x[i] * exp(SPREAD * berth_rng_normal(rng));
	return BERTH_OK;
}

/* Links that share a channel keep sharing it; both ways of a link may come to differ. */
static berth_status draw(const berth_train_item *item, int32_t k, berth_rng *rng, berth_arena *mem,
                         berth_arena *tmp, berth_train_item *out, berth_err *err)
{
	const berth_system *s = item->p->s;
	berth_system *y;
	berth_problem *p;
	char *name;
	BERTH_TRY_NEW(mem, 1, err, y, p);
	*y = *s;
	BERTH_TRY(spread(s->dev_peak_flops, s->n_devs, rng, mem, &y->dev_peak_flops, err));
	/* Peaks of all precisions go with that of f32. */
	BERTH_TRY_NEW(mem, s->n_devs * BERTH_N_PRECISIONS, err, y->dev_peaks);
	for (int32_t i = 0; i < s->n_devs * BERTH_N_PRECISIONS; i++) {
		int32_t d = i / BERTH_N_PRECISIONS;
		y->dev_peaks[i] =
			s->dev_peaks[i] *
			(s->dev_peak_flops[d] > 0 ? y->dev_peak_flops[d] / s->dev_peak_flops[d] : 1);
	}
	BERTH_TRY(spread(s->dev_mem_bandwidth, s->n_devs, rng, mem, &y->dev_mem_bandwidth, err));
	BERTH_TRY(spread(s->link_bandwidth, s->n_links, rng, mem, &y->link_bandwidth, err));
	BERTH_TRY(spread(s->link_latency_s, s->n_links, rng, mem, &y->link_latency_s, err));
	BERTH_TRY(berth_got(name = berth_arena_printf(mem, "%s, draw %d", item->system, k + 1), err));
	y->name = name;
	BERTH_TRY(berth_problem_new(item->p->g, y, mem, tmp, p, err));
	*out = (berth_train_item){p, item->graph, name};
	return BERTH_OK;
}

berth_status berth_fine_tune_split(const berth_train_item *item, int32_t n, uint64_t seed, berth_arena *mem,
                                   berth_arena *tmp, berth_fine_tune *out, berth_err *err)
{
	berth_rng rng = berth_rng_seed(seed, BERTH_STREAM_TUNE);
	berth_fine_tune x = {0};
	BERTH_TRY_NEW(mem, n, err, x.learned);
	BERTH_TRY_NEW(mem, DRAWS * n, err, x.kept);
	for (int32_t i = 0; i < n; i++)
		if (n >= EVERY && (i + 1) % EVERY == 0)
			x.kept[x.n_kept++] = item[i];
		else
			x.learned[x.n_learned++] = item[i];
	for (int32_t k = 0; n < EVERY && k < DRAWS; k++)
		for (int32_t i = 0; i < n; i++)
			BERTH_TRY(draw(&item[i], k, &rng, mem, tmp, &x.kept[x.n_kept++], err));
	*out = x;
	return BERTH_OK;
}

/* ---- settings ---- */

berth_status berth_fine_tune_cfg(const berth_policy_file *from, const berth_fine_tune *x, double seconds,
                                 berth_train_cfg *out, berth_err *err)
{
	berth_train_cfg cfg = berth_train_cfg_default();
	double per = 0;
	if (from->cfg.decoding != BERTH_SEQUENTIAL)
		return berth_fail(err, BERTH_EUNSUPPORTED,
		                  "fine-tuning: the policy decodes %s; those that decode %s alone are tuned",
		                  berth_decoding_name(from->cfg.decoding),
		                  berth_decoding_name(BERTH_SEQUENTIAL));
	if (from->base)
		return berth_fail(err, BERTH_EINVAL,
		                  "fine-tuning: the policy was tuned from another one, and tries its "
		                  "placement, too; tune the one that it was tuned from");
	int32_t at_once = cfg.learner.at_once;
	cfg.learner = from->cfg;
	cfg.learner.at_once = at_once;
	cfg.from = from;
	cfg.kept = x->kept;
	cfg.n_kept = x->n_kept;
	for (int32_t i = 0; i < x->n_learned; i++)
		per += berth_train_cost_s(x->learned[i].p) / x->n_learned;
	cfg.evaluations = (int64_t)ceil(seconds / per);
	*out = cfg;
	return BERTH_OK;
}
