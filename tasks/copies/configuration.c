/* What a configuration is worth, by formulas; see configuration.h. */
#include "configuration.h"

#include "text.h"

#include <math.h>

const berth_goal_row berth_goals[BERTH_N_GOALS] = {
	[BERTH_GOAL_TIME] = {"time", "s/sample", false},  [BERTH_GOAL_POWER] = {"power", "W", true},
	[BERTH_GOAL_PEAK] = {"peak-power", "W", true},    [BERTH_GOAL_ENERGY] = {"energy", "J/sample", true},
	[BERTH_GOAL_EDP] = {"edp", "J s/sample^2", true},
};

berth_status berth_goal_parse(const char *name, berth_goal *out, berth_err *err)
{
	const char *names[BERTH_N_GOALS];
	int32_t at;
	for (int g = 0; g < BERTH_N_GOALS; g++)
		names[g] = berth_goals[g].name;
	BERTH_TRY(berth_text_find(names, BERTH_N_GOALS, name, "goal",
	                          "; expected time, power, peak-power, energy or edp", &at, err));
	*out = (berth_goal)at;
	return BERTH_OK;
}

double berth_goal_value(berth_goal goal, const berth_config_value *v)
{
	double n = (double)v->samples, values[BERTH_N_GOALS] = {
					       [BERTH_GOAL_TIME] = v->step_s / n,
					       [BERTH_GOAL_POWER] = v->power_w,
					       [BERTH_GOAL_PEAK] = v->peak_w,
					       [BERTH_GOAL_ENERGY] = v->energy_j / n,
					       [BERTH_GOAL_EDP] = v->energy_j * v->step_s / (n * n),
				       };
	return values[goal];
}

int32_t berth_config_members(const berth_copies *x, const berth_configuration *c, berth_member *member)
{
	int32_t n = 0;
	for (int32_t h = 0; h < x->c->n_hosts; h++) {
		const berth_layout *layout;
		if (c->host_layout[h] < 0)
			continue;
		layout = &x->host[h]->layout[c->host_layout[h]];
		for (int32_t i = 0; i < layout->n; i++) {
			const berth_crew *crew = &x->host[h]->crew[layout->crew[i]];
			int32_t b = berth_copy_batch(x, crew, c->deadline_ns);
			if (b < 0)
				return 0;
			member[n++] = (berth_member){h, crew, b};
		}
	}
	return n;
}

bool berth_config_predict(berth_exchanger *e, const berth_configuration *c, berth_exchange_kind kind,
                          berth_member *member, berth_config_value *out)
{
	const berth_copies *x = e->x;
	berth_config_value v = {.n_copies = berth_config_members(x, c, member)};
	double idle_w = 0, active_j = 0;
	int64_t slowest_ns = 0;
	for (int32_t k = 0; k < v.n_copies; k++) {
		const berth_copy_price *price = &member[k].crew->price[member[k].batch];
		v.samples += x->batch[member[k].batch];
		slowest_ns = price->time_ns > slowest_ns ? price->time_ns : slowest_ns;
		active_j += price->active_j;
		v.peak_w += price->peak_w;
		if (k == 0 || member[k].host != member[k - 1].host)
			idle_w += x->c->host_idle_w[member[k].host];
	}
	if (!v.n_copies || !berth_exchange_of(e, member, v.n_copies, kind, &v.exchange))
		return false;
	v.step_s = (double)slowest_ns * 1e-9 + v.exchange.time_s;
	v.energy_j = active_j + v.exchange.energy_j + idle_w * v.step_s;
	v.power_w = v.energy_j / v.step_s;
	v.peak_w += idle_w;
	*out = v;
	return v.step_s > 0;
}
