/* Machines: from files, from bytes, and with changed figures. Plans are run on real ones here. */
#include "api.h"
#include "engine_find.h"
#include "load_system.h"
#include "measured.h"
#include "system_change.h"
#include "system_json.h"
#include "system_warnings.h"

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

typedef berth_status machine_maker(const void *from, berth_machine *m, berth_arena *tmp, berth_err *err);

/* A new machine that make fills. */
static berth_status new_machine(machine_maker *make, const void *from, berth_machine **out, berth_err *err)
{
	berth_arena tmp = {0};
	berth_machine *m = calloc(1, sizeof *m);
	BERTH_TRY(berth_got(m, err));
	berth_status st = make(from, m, &tmp, err);
	if (st == BERTH_OK)
		st = berth_system_warnings(&m->s, NULL, NULL, &m->mem, &tmp, &m->warning, &m->n_warnings,
		                           err);
	berth_arena_free(&tmp);
	GIVE(st, m, berth_machine_free, out);
}

static berth_status load(const void *from, berth_machine *m, berth_arena *tmp, berth_err *err)
{
	return berth_system_load(from, NULL, &m->mem, tmp, &m->s, err);
}

berth_status berth_machine_load(const char *spec, berth_machine **out, berth_err *err)
{
	return new_machine(load, spec, out, err);
}

static berth_status parse(const void *from, berth_machine *m, berth_arena *tmp, berth_err *err)
{
	const berth_content *c = from;
	return berth_system_parse_json(c->name, c->data, c->size, &m->mem, tmp, &m->s, err);
}

berth_status berth_machine_parse(const char *name, const void *data, size_t size, berth_machine **out,
                                 berth_err *err)
{
	const berth_content from = {.name = name, .data = data, .size = size};
	return new_machine(parse, &from, out, err);
}

typedef struct changed {
	const berth_machine *from;
	const char *changes;
} changed;

/* Written and read back, so that the new machine stands by itself. */
static berth_status change(const void *from, berth_machine *m, berth_arena *tmp, berth_err *err)
{
	const changed *c = from;
	berth_system copy;
	const char *text;
	size_t len;
	BERTH_TRY(berth_system_change(&c->from->s, c->changes ? c->changes : "", &m->mem, tmp, &copy, err));
	BERTH_TRY(berth_system_write_json(&copy, false, &m->mem, &text, &len, err));
	return berth_system_parse_json("changed machine", text, len, &m->mem, tmp, &m->s, err);
}

berth_status berth_machine_change(const berth_machine *machine, const char *changes, berth_machine **out,
                                  berth_err *err)
{
	const changed from = {machine, changes};
	return new_machine(change, &from, out, err);
}

void berth_machine_free(berth_machine *m)
{
	if (m)
		berth_arena_free(&m->mem);
	free(m);
}

const char *berth_machine_name(const berth_machine *m)
{
	return m->s.name;
}

int32_t berth_machine_count(const berth_machine *m)
{
	return m->s.n_devs;
}

const char *berth_machine_device(const berth_machine *m, int32_t device)
{
	return m->s.dev_name[device];
}

int32_t berth_machine_warnings(const berth_machine *m)
{
	return m->n_warnings;
}

const char *berth_machine_warning(const berth_machine *m, int32_t i)
{
	return m->warning[i];
}
