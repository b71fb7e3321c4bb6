/* What llama.cpp does by itself; see engine_default.h. Of n layers and the output the last `units` go to the
 * GPUs, the k-th of them to the first GPU whose part of the free memory, with those before it, is above
 * k / units (llama_model::load_tensors). */
#include "engine_default.h"

#include "llama_units.h"

#include <string.h>

enum { MOST_UNITS = 1000 };

typedef struct filling {
	const berth_problem *p;
	int32_t n_units;    /* layers and the output */
	int32_t *op_unit;   /* [n_ops] -1: in front */
	double *unit_bytes; /* [n_units] weights and cache */
	bool experts;
	int32_t cpu, n_gpus, gpu[BERTH_MAX_DEVS];
	double room[BERTH_MAX_DEVS], part[BERTH_MAX_DEVS]; /* [n_gpus] bytes; sums of parts of them all */
} filling;

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static bool is_called(const berth_system *s, int32_t d, const char *word)
{
	return begins(s->dev_kind[d], word) || begins(s->dev_name[d], word);
}

/* A GPU without a limit counts as the largest one with a limit does. */
static void find_devices(filling *f)
{
	const berth_system *s = f->p->s;
	double most = 0, sum = 0;
	f->cpu = -1;
	for (int32_t d = 0; d < s->n_devs; d++) {
		if (is_called(s, d, "cpu") && f->cpu < 0)
			f->cpu = d;
		if (!is_called(s, d, "gpu") && !is_called(s, d, "cuda"))
			continue;
		double bytes = (double)s->dev_memory_bytes[d] * (1 - s->dev_memory_margin[d]);
		f->room[f->n_gpus] = s->dev_memory_bytes[d] < 0 ? -1 : bytes;
		f->gpu[f->n_gpus++] = d;
		most = bytes > most ? bytes : most;
	}
	for (int32_t i = 0; i < f->n_gpus; i++) {
		sum += f->room[i] >= 0 ? f->room[i] : most > 0 ? most : 1;
		f->part[i] = sum;
	}
	for (int32_t i = 0; i < f->n_gpus; i++)
		f->part[i] /= sum > 0 ? sum : 1;
}

static berth_status count_bytes(filling *f, berth_arena *tmp, berth_err *err)
{
	const berth_graph *g = f->p->g;
	int32_t n_layers = f->n_units - 1, *seen; /* of shared parameters: the last unit that has it, + 2 */
	BERTH_TRY(BERTH_NEW(tmp, f->op_unit, g->n_ops, err));
	BERTH_TRY(BERTH_NEW(tmp, f->unit_bytes, f->n_units, err));
	BERTH_TRY(BERTH_NEW(tmp, seen, g->n_params, err));
	for (int32_t op = 0; op < g->n_ops; op++) {
		int32_t unit = f->op_unit[op] = llama_unit(g->op_name[op], n_layers);
		f->experts = f->experts || strstr(g->op_name[op], "_exps");
		if (unit < 0)
			continue;
		f->unit_bytes[unit] += (double)g->op_param_bytes[op] + (double)g->op_state_bytes[op];
		for (int32_t k = g->op_param_off[op]; k < g->op_param_off[op + 1]; k++) {
			int32_t param = g->op_param[k];
			if (seen[param] != unit + 2)
				f->unit_bytes[unit] += (double)g->param_bytes[param];
			seen[param] = unit + 2;
		}
	}
	return BERTH_OK;
}

/* The GPU of the k-th of so many units. */
static int32_t gpu_of(const filling *f, int32_t k, int32_t units)
{
	int32_t i = 0;
	while (i + 1 < f->n_gpus && f->part[i] <= (double)k / units)
		i++;
	return i;
}

static bool fits(const filling *f, int32_t units)
{
	double used[BERTH_MAX_DEVS] = {0};
	for (int32_t k = 0; k < units; k++)
		used[gpu_of(f, k, units)] += f->unit_bytes[f->n_units - units + k];
	for (int32_t i = 0; i < f->n_gpus; i++)
		if (f->room[i] >= 0 && used[i] > f->room[i])
			return false;
	return true;
}

static void place(const filling *f, int32_t units, int32_t *op_dev)
{
	int32_t first = f->n_units - units;
	for (int32_t op = 0; op < f->p->n_ops; op++) {
		int32_t unit = f->op_unit[op];
		op_dev[op] = unit < first ? f->cpu : f->gpu[gpu_of(f, unit - first, units)];
	}
}

static berth_status fill(filling *f, berth_arena *tmp, int32_t *op_dev, const char **why, berth_err *err)
{
	int32_t units = 0;
	BERTH_TRY(count_bytes(f, tmp, err));
	if (f->n_gpus)
		for (units = f->n_units; units > 0 && !fits(f, units);)
			units--;
	*why = NULL;
	if (f->n_gpus && units < f->n_units && f->experts)
		*why = "not all of it fits, and which experts llama.cpp leaves on the CPU is not known here";
	else
		place(f, units, op_dev);
	return BERTH_OK;
}

berth_status llama_default(const berth_problem *p, berth_arena *tmp, int32_t *op_dev, const char **why,
                           berth_err *err)
{
	filling f = {.p = p, .n_units = llama_layers(p->g) + 1};
	find_devices(&f);
	*why = f.n_units == 1 || f.n_units > MOST_UNITS ? "llama.cpp runs GGUF models"
	       : f.cpu < 0                              ? "llama.cpp needs a CPU"
	                                                : NULL;
	if (*why)
		return BERTH_OK;
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	berth_status st = fill(&f, tmp, op_dev, why, err);
	berth_arena_reset(tmp, mark);
	return st;
}
