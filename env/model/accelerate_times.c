/* How accelerate runs modules on the CPU and on the disk: they are only stored there, and dispatch_model
 * copies their weights to the first GPU of the map for each pass. (A map without a GPU runs on the CPU; that
 * is not priced where the system has a GPU.) */
#include "accelerate_times.h"

#include "array.h"

#include <math.h>
#include <string.h>

static bool is_stored(const berth_system *s, int32_t d)
{
	static const char *const words[] = {"cpu", "disk"};
	bool is = s->dev_class[d] == BERTH_CLASS_CPU;
	for (int i = 0; i < 2; i++)
		is |= strncmp(s->dev_kind[d], words[i], strlen(words[i])) == 0 ||
		      strncmp(s->dev_name[d], words[i], strlen(words[i])) == 0;
	return is;
}

/* By the route of the largest tensor. */
static int64_t copy_ns(const berth_problem *p, int64_t bytes, int32_t from, int32_t to)
{
	double sum = 0;
	if (!bytes || from == to || p->n_classes == 0)
		return 0;
	BERTH_EACH (i, p->route_off, p->class_pair_route[berth_class_cell(p, p->n_classes - 1, from, to)])
		sum += p->s->link_latency_s[p->route_link[i]] +
		       (double)bytes / p->s->link_bandwidth[p->route_link[i]];
	return llround(1e9 * sum);
}

static int64_t weights_of(const berth_graph *g, int32_t op)
{
	int64_t sum = g->op_param_bytes[op];
	BERTH_EACH (i, g->op_param_off, op)
		sum += g->param_bytes[g->op_param[i]];
	return sum;
}

/* What leaves dev, or comes to it, does so from main. */
static void move_transfers(berth_problem *p, int32_t dev, int32_t main)
{
	int64_t *ns = p->class_pair_ns;
	for (int32_t c = 0; c < p->n_classes; c++)
		for (int32_t d = 0; d < p->n_devs; d++) {
			bool here = d == main || d == dev;
			int64_t out = here ? 0 : ns[berth_class_cell(p, c, main, d)],
				in = here ? 0 : ns[berth_class_cell(p, c, d, main)];
			ns[berth_class_cell(p, c, dev, d)] = out;
			ns[berth_class_cell(p, c, d, dev)] = in;
		}
}

void berth_accelerate_times(berth_problem *p)
{
	int32_t main = 0;
	while (main < p->n_devs && is_stored(p->s, main))
		main++;
	if (main == p->n_devs)
		return;
	for (int32_t d = 0; d < p->n_devs; d++) {
		if (!is_stored(p->s, d))
			continue;
		for (int32_t op = 0; op < p->n_ops; op++) {
			int64_t *here = &p->op_dev_time_ns[berth_cell(p, op, d)],
				there = berth_op_time(p, op, main);
			if (there >= 0 && *here >= 0)
				*here = there + copy_ns(p, weights_of(p->g, op), d, main);
		}
		move_transfers(p, d, main);
	}
}
