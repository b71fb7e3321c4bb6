/* Objectives and scores; the values are those of the execution model. */
#include "eval.h"

#include "text.h"

#include <math.h>
#include <string.h>

static const char *const objective_name[BERTH_N_OBJECTIVES] = {"latency", "throughput", "energy", "edp", "power"};
static const char *const objective_unit[BERTH_N_OBJECTIVES] = {"s", "s/sample", "J", "J s", "W"};

const char *berth_objective_name(berth_objective o)
{
	return objective_name[o];
}

const char *berth_objective_unit(berth_objective o)
{
	return objective_unit[o];
}

berth_status berth_objective_parse(const char *name, berth_objective *out, berth_err *err)
{
	char hint[96];
	for (int i = 0; i < BERTH_N_OBJECTIVES; i++)
		if (strcmp(name, objective_name[i]) == 0) {
			*out = (berth_objective)i;
			return BERTH_OK;
		}
	return berth_fail(err, BERTH_EINVAL, "unknown objective '%.60s'%s; known: latency, throughput, energy, edp, power", name,
	                  berth_text_suggest(hint, sizeof hint, name, objective_name, BERTH_N_OBJECTIVES));
}

berth_status berth_objective_check(berth_objective o, const berth_problem *p, berth_err *err)
{
	if (o == BERTH_LATENCY || o == BERTH_THROUGHPUT || p->has_energy)
		return BERTH_OK;
	for (int32_t d = 0; d < p->n_devs; d++)
		if (isnan(p->s->dev_idle_w[d]) || isnan(p->s->dev_busy_w[d]))
			return berth_fail(err, BERTH_EFORMAT, "objective %s needs idle_w and busy_w on every device; '%s' of system '%s' has none",
			                  objective_name[o], p->s->dev_name[d], p->s->name);
	return BERTH_OK;
}

double berth_objective_value(berth_objective o, const berth_sim_result *r)
{
	double latency = (double)r->latency_ns / 1e9;
	switch (o) {
	case BERTH_LATENCY: return latency;
	case BERTH_THROUGHPUT: return r->load_s;
	case BERTH_ENERGY: return r->energy_j;
	case BERTH_EDP: return r->energy_j * latency;
	case BERTH_POWER: return latency > 0 ? r->energy_j / latency : 0;
	}
	return NAN;
}

berth_score berth_score_worst(void)
{
	return (berth_score){INFINITY, INFINITY};
}

berth_status berth_eval_new(const berth_problem *p, berth_objective objective, berth_arena *mem, berth_eval *out, berth_err *err)
{
	BERTH_TRY(berth_objective_check(objective, p, err));
	*out = (berth_eval){p, objective, NULL};
	return berth_sim_new(p, mem, &out->sim, err);
}

berth_score berth_eval_run(berth_eval *e, const int32_t *op_dev, const int32_t *order)
{
	berth_sim_result r;
	berth_sim_run(e->sim, op_dev, order, &r);
	if (!r.runs)
		return berth_score_worst();
	return (berth_score){r.excess, berth_objective_value(e->objective, &r)};
}
