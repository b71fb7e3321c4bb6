/* What transformers does by itself (device_map="auto"): weights shared evenly among the GPUs, then filled in
 * from the first module to the last. Modules are asked from the outside in: the body, its parts, single
 * layers. The names are those of the functions there. */
#include "accelerate_auto.h"

static int64_t total(const accelerate_model *m)
{
	int64_t sum = 0;
	for (int32_t k = 0; k < ACCELERATE_PARTS(m->n_layers); k++)
		sum += m->bytes[k];
	return sum;
}

void accelerate_balance(const accelerate_model *m, double *room, int32_t n_gpus)
{
	const int64_t all = total(m), mean = m->n_leaves ? all / m->n_leaves : 0,
		      block = m->n_layers ? m->bytes[ACCELERATE_LAYER] : 0;
	room[n_gpus] *= 0.9;
	if (n_gpus == 1)
		room[0] *= 0.9;
	if (n_gpus < 2)
		return;
	double each = (double)(all / n_gpus + (int64_t)(1.25 * (double)(block > mean ? block : mean)));
	for (int32_t i = 0; i < n_gpus - 1; i++)
		room[i] = each < room[i] ? each : room[i];
}

typedef struct filling {
	const accelerate_model *m;
	int32_t from, end;              /* modules that are left */
	bool body_split, layers_split;
	int64_t max_layer_size;
} filling;

/* The module at the front ends here: all but the output, the list of layers, or a single one. */
static int32_t front_end(const filling *f)
{
	const int32_t norm = ACCELERATE_NORM(f->m->n_layers);
	if (f->from == ACCELERATE_EMBED && !f->body_split)
		return ACCELERATE_OUTPUT(f->m->n_layers);
	return f->from == ACCELERATE_LAYER && !f->layers_split ? norm : f->from + 1;
}

static bool split(filling *f, int32_t to)
{
	if (to == ACCELERATE_OUTPUT(f->m->n_layers) && !f->body_split)
		return f->body_split = true;
	if (f->from == ACCELERATE_LAYER && !f->layers_split && f->m->n_layers)
		return f->layers_split = true;
	return false;
}

static int64_t bytes_of(const filling *f, int32_t from, int32_t to)
{
	int64_t sum = 0;
	for (int32_t k = from; k < to; k++)
		sum += f->m->bytes[k];
	return sum;
}

static void find_max_layer(filling *f, int32_t from)
{
	f->max_layer_size = 0;
	for (int32_t k = from; k < f->end; k++)
		if (f->m->bytes[k] > f->max_layer_size)
			f->max_layer_size = f->m->bytes[k];
}

/* The largest layer is looked for anew when none of that size is left behind the front. */
static void drop_max_layer(filling *f, int32_t to)
{
	for (int32_t k = to; k < f->end; k++)
		if (f->m->bytes[k] == f->max_layer_size)
			return;
	find_max_layer(f, to);
}

/* With the output, where that is tied to the embedding. */
static void put(filling *f, int32_t to, int32_t device, int32_t *at)
{
	const int32_t output = ACCELERATE_OUTPUT(f->m->n_layers);
	for (int32_t k = f->from; k < to; k++)
		at[k] = device;
	if (f->m->tied && f->from == ACCELERATE_EMBED)
		at[f->end = output] = device;
	f->from = to;
}

void accelerate_fill(const accelerate_model *m, const double *room, int32_t n_gpus, int32_t *at)
{
	filling f = {.m = m, .end = ACCELERATE_PARTS(m->n_layers)};
	const int32_t disk = n_gpus + 1;
	int32_t device = 0;
	double used = 0;
	find_max_layer(&f, 0);
	while (f.from < f.end) {
		int32_t to = front_end(&f);
		drop_max_layer(&f, to);
		const bool main = device == 0 || device == n_gpus; /* keeps room for a layer from elsewhere */
		const double reserved = main ? (double)f.max_layer_size : 0;
		if (device == disk || used + (double)bytes_of(&f, f.from, to) <= room[device] - reserved) {
			used += (double)bytes_of(&f, f.from, to);
			put(&f, to, device, at);
		} else if (split(&f, to)) {
			find_max_layer(&f, f.from);
		} else {
			device++;
			used = 0;
		}
	}
}
