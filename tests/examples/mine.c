/* A method of one's own (docs/research.md): a list schedule, then groups to where the value is less.
 *
 *     cc -shared -fPIC -o mine.so mine.c
 *     berth compare zoo:resnet50 --on system:cpu+2gpu --methods berth,./mine.so */
#include <berth.h>

#include <stdlib.h>
#include <string.h>

static int run(const berth_own_run *r)
{
	const berth_view *v = r->view;
	size_t bytes = (size_t)v->n_ops * sizeof(int32_t);
	int32_t *best = malloc(bytes), *next = malloc(bytes), *order = malloc(bytes);
	if (!best || !next || !order)
		return 1;
	/* By falling rank, each to the device where it ends first. */
	for (int32_t k = 0; k < v->n_ops; k++) {
		int32_t to = 0;
		for (int32_t d = 1; d < v->n_devs; d++)
			if (r->finish(r->e, v->rank_op[k], d) < r->finish(r->e, v->rank_op[k], to))
				to = d;
		if (r->put(r->e, v->rank_op[k], to) == INT64_MAX)
			return 2; /* no device has the memory for it */
	}
	r->take(r->e, best, order);
	r->value(r->e, best, order, NULL);
	double least = r->value(r->e, best, NULL, NULL);
	/* Whole groups to another device, while that helps. */
	for (int32_t g = 0, idle = 0; r->left(r->e) > 0 && idle++ < v->n_groups; g = (g + 1) % v->n_groups)
		for (int32_t d = 0; d < v->n_devs; d++) {
			int32_t first = v->group_op[v->group_off[g]];
			if (d == best[first] || !v->op_dev_legal[first * v->n_devs + d])
				continue;
			memcpy(next, best, bytes);
			for (int32_t i = v->group_off[g]; i < v->group_off[g + 1]; i++)
				next[v->group_op[i]] = d;
			double value = r->near(r->e, best, next, NULL);
			if (value < least) {
				least = value;
				memcpy(best, next, bytes);
				idle = 0;
			}
		}
	return 0; /* the process ends here: what it has taken goes with it */
}

const berth_own_method berth_method = {BERTH_OWN_METHOD_VERSION, "A list schedule, improved by single moves.",
                                       run};
