/* The table of cost models, found by name. What follows from their fields stands here, too. */
#include "cost_model.h"

extern const berth_cost_model berth_cost_tarnawski, berth_cost_placeto;

const berth_cost_model berth_cost_reference = {.name = "reference",
                                               .has_energy = true,
                                               .has_orders = true,
                                               .memory_over_time = true,
                                               .strong_bounds = true,
                                               .exact_methods = true};

/* Published simulators in which transfers never wait and devices start what is ready first: GiPH (2023) and
 * Doppler (2026). */
static const berth_cost_model giph = {.name = "giph", .contention_free = true},
                              doppler = {.name = "doppler", .contention_free = true};

static const berth_cost_model *const models[] = {
	&berth_cost_reference,
	&berth_cost_tarnawski,
	&berth_cost_placeto,
	&giph,
	&doppler,
	&berth_cost_serial,
};
enum { N_MODELS = sizeof models / sizeof *models };

berth_status berth_cost_model_find(const char *name, const berth_cost_model **out, berth_err *err)
{
	const char *names[N_MODELS];
	char all[256], tail[280];
	int32_t at;
	for (int i = 0; i < N_MODELS; i++)
		names[i] = models[i]->name;
	snprintf(tail, sizeof tail, "; expected %s", berth_cost_model_names(NULL, all, sizeof all));
	if (berth_text_find(names, N_MODELS, name, "cost model", tail, &at, err) != BERTH_OK)
		return berth_fail_in(err, BERTH_EFORMAT, "%s", "");
	*out = models[at];
	return BERTH_OK;
}

const char *berth_cost_model_names(bool (*has)(const berth_cost_model *m), char *buf, size_t size)
{
	size_t len = 0;
	int left = 0;
	for (int i = 0; i < N_MODELS; i++)
		left += !has || has(models[i]);
	buf[0] = '\0';
	for (int i = 0; i < N_MODELS && len < size; i++)
		if (!has || has(models[i])) {
			const char *gap = --left > 1 ? ", " : left == 1 ? " or " : "";
			len += (size_t)snprintf(buf + len, size - len, "%s%s", models[i]->name, gap);
		}
	return buf;
}

bool berth_cost_model_sums(const berth_cost_model *m)
{
	return m->op_seconds != NULL;
}

bool berth_cost_model_pays(const berth_problem *p, int32_t dev)
{
	const berth_cost_model *m = p->s->cost_model;
	return m->s_per_byte && m->s_per_byte(p, dev) >= 0;
}
