/* Running plans for real. */
#include "api.h"

#include "engine_find.h"
#include "measured.h"

enum { LEAST_RUNS = 21, MOST_RUNS = 168 };

static berth_status run(const berth_plan *plan, berth_measured *m, int32_t runs, berth_arena *mem,
                        berth_arena *tmp, berth_measured_cost *out, berth_err *err)
{
	berth_steady_cfg cfg = {.warmup = 3,
	                        .least = runs ? runs : LEAST_RUNS,
	                        .most = runs ? runs : MOST_RUNS,
	                        .width = 0.03};
	berth_measurement r;
	int32_t *order;
	BERTH_TRY_NEW(mem, plan->p.n_ops, err, order);
	BERTH_TRY(berth_plan_order(plan, order, err));
	BERTH_TRY(berth_steady_run(m, &cfg, plan->placement.op_dev, order, mem, tmp, &r, err));
	*out = (berth_measured_cost){.latency_s = r.wall.median,
	                             .low_s = r.wall.low,
	                             .high_s = r.wall.high,
	                             .runs = r.n_samples,
	                             .max_difference = r.max_difference};
	return BERTH_OK;
}

static berth_status measure(const berth_plan *plan, const char *file, const char *engine, int32_t runs,
                            berth_arena *mem, berth_arena *tmp, berth_measured_cost *out, berth_err *err)
{
	berth_measured_cfg cfg = berth_measured_cfg_default();
	berth_read_options words;
	berth_measured m;
	BERTH_TRY(api_plan_runs(plan, err));
	BERTH_TRY(berth_engine_find(engine ? engine : "ort", mem, &cfg.engine, err));
	BERTH_TRY(berth_graph_split(file, NULL, mem, &cfg.model, &words, err));
	cfg.dim = words.dim;
	cfg.n_dims = words.n_dims;
	BERTH_TRY(berth_measured_open(&cfg, plan->p.g, plan->p.s, mem, &m, err));
	berth_status st = run(plan, &m, runs, mem, tmp, out, err);
	berth_measured_close(&m);
	return st;
}

berth_status berth_plan_measure(const berth_plan *plan, const char *file, const char *engine, int32_t runs,
                                berth_measured_cost *out, berth_err *err)
{
	berth_arena mem = {0}, tmp = {0};
	if (runs < 0 || !file)
		return berth_fail(err, BERTH_EINVAL, "measuring needs the model's file and no number of runs "
		                                     "below 0; found %s and %d",
		                  file ? file : "none", (int)runs);
	berth_status st = measure(plan, file, engine, runs, &mem, &tmp, out, err);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return st;
}
