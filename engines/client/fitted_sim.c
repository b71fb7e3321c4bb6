/* A simulator whose times of operators and links were measured: as profiled, then re-fitted to runs. */
#include "fitted_sim.h"

#include "times.h"

static berth_status compile(berth_fitted_sim *f, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	BERTH_TRY(berth_problem_new(&f->g, &f->s, mem, tmp, &f->p, err));
	return berth_sim_new(&f->p, mem, &f->sim, err);
}

berth_status berth_fitted_sim_profiled(const berth_profile *profile, const berth_graph *g,
                                       const berth_system *s, berth_arena *mem, berth_arena *tmp,
                                       berth_fitted_sim *out, berth_err *err)
{
	BERTH_TRY(berth_profile_system(profile, s, g->n_ops, mem, &out->s, err));
	BERTH_TRY(berth_graph_with_times(g, &out->s, profile->time_s, mem, &out->g, err));
	return compile(out, mem, tmp, err);
}

berth_status berth_fitted_sim_calibrated(const berth_calibration *c, berth_arena *mem, berth_arena *tmp,
                                         berth_fitted_sim *out, berth_err *err)
{
	out->s = *c->s;
	BERTH_TRY(berth_calibration_graph(c, &out->s, mem, &out->g, err));
	return compile(out, mem, tmp, err);
}

berth_status berth_fitted_sim_refit(berth_calibration *c, berth_arena *mem, berth_arena *tmp, double *before,
                                    double *after, berth_fitted_sim *out, berth_err *err)
{
	BERTH_TRY(berth_calibration_fit(c, tmp, before, after, err));
	BERTH_TRY(berth_calibration_links(c, mem, tmp, &out->s, err));
	BERTH_TRY(berth_calibration_graph(c, &out->s, mem, &out->g, err));
	return compile(out, mem, tmp, err);
}

double berth_fitted_sim_latency_s(const berth_fitted_sim *f, const int32_t *op_dev, const int32_t *order)
{
	berth_sim_result r;
	berth_sim_run(f->sim, op_dev, order, &r);
	return (double)r.latency_ns * 1e-9;
}
