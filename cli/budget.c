/* Makes the settings of a search of the options that searches share. Policies are opened and closed here, and
 * bounds and certificates made within the same budget. */
#include "budget.h"

#include "sandboxed.h"

#include "signals.h"

#include <unistd.h>

enum { MOST_THREADS = 64 };

cli_budget cli_budget_default(void)
{
	return (cli_budget){.objective = "latency",
	                    .evaluations = {berth_search_cfg_default().evaluations, false},
	                    .nodes = -1,
	                    .bound = "auto",
	                    .walks = 1,
	                    .seed = berth_search_cfg_default().seed};
}

/* -1: as many as the time allows. */
static int64_t evaluations_of(const cli_budget *b)
{
	return !b->evaluations.given && (b->limit_s[0] > 0 || b->limit_s[1] > 0) ? -1 : b->evaluations.n;
}

static int32_t n_cpus(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	return n < 1 ? 1 : n > MOST_THREADS ? MOST_THREADS : (int32_t)n;
}

berth_status cli_budget_open(const cli_budget *b, berth_search_cfg *out, berth_err *err)
{
	berth_search_options o = {b->objective, b->seed,  evaluations_of(b),
	                          b->limit_s[0],    b->limit_s[1], b->threads ? b->threads : n_cpus()};
	berth_search_cfg cfg;
	const atomic_int *cancel = cli_catch_signals(); /* before there is a thread to be seen */
	BERTH_TRY(berth_search_cfg_open(&o, &cfg, err));
	cfg.nodes = b->nodes > 0 ? b->nodes : 0;
	cfg.gap = b->gap;
	cfg.walks = b->walks;
	cfg.write_model = b->write_model;
	cfg.cancel = cancel;
	*out = cfg;
	return BERTH_OK;
}

static berth_bound_options bound_options(const cli_budget *b, const berth_objective *o)
{
	return (berth_bound_options){.bound = b->bound,
	                             .objective = o,
	                             .evaluations = evaluations_of(b),
	                             .time_s = b->limit_s[0] > 0 ? b->limit_s[0] : b->limit_s[1],
	                             .nodes = b->nodes};
}

berth_status cli_budget_bounds(const cli_budget *b, const berth_problem *p, const berth_objective *o,
                               berth_arena *tmp, berth_bounds *out, berth_err *err)
{
	berth_bound_options options = bound_options(b, o);
	return berth_search_bounds(p, &options, tmp, out, err);
}

berth_status cli_budget_certify(const cli_budget *b, const berth_problem *p, const berth_objective *o,
                                int64_t told_ns, berth_bound_proof *x, berth_arena *tmp, berth_err *err)
{
	berth_bound_options options = bound_options(b, o);
	return berth_search_certify(p, &options, told_ns, x, tmp, err);
}

berth_status cli_budget_policy(const cli_budget *b, cli *c, berth_search_cfg *cfg, berth_err *err)
{
	berth_policy_file *f;
	if (!b->policy)
		return BERTH_OK;
	BERTH_TRY_NEW(&c->mem, 1, err, f);
	BERTH_TRY(cli_policy_read(c, b->policy, f, err));
	cfg->policy = f;
	return BERTH_OK;
}

void cli_budget_close(berth_search_cfg *cfg)
{
	berth_pool_free(cfg->pool);
	cfg->pool = NULL;
}
