/* What collectives take by their algorithm, size and links, and what the fabric of a link adds. Tensors that
 * are parts of a collective are known by their names; docs/collectives.md has the formulas. */
#include "collective.h"

/* ---- formulas ---- */

/* Messages one after the other, and bytes that leave each port, as a part of all. */
typedef struct course {
	double steps, share;
} course;

static course course_of(berth_collective what, berth_collective_way way, double n)
{
	bool both = what == BERTH_ALL_REDUCE;
	double half = way == BERTH_WAY_RING ? n - 1 : way == BERTH_WAY_TREE ? ceil(log2(n)) : 1;
	course c = {both ? 2 * half : half, both ? 2 * (n - 1) / n : (n - 1) / n};
	if (both && way == BERTH_WAY_TREE)
		c.share = 2; /* in one tree a device sends a half up and two down, in the other a half up */
	if (both && way == BERTH_WAY_SWITCH)
		c.share = (n + 1) / n; /* all of it to be added, and an n-th of the sums to all */
	return c;
}

double berth_collective_s(berth_collective what, berth_collective_way way, int32_t n, double bytes,
                          const berth_fabric *f)
{
	assert(n >= 1);
	if (n == 1)
		return 0;
	if (way == BERTH_WAY_SWITCH && !f->adds)
		return INFINITY;
	course c = course_of(what, way, n);
	return f->start_s + c.steps * f->step_s + c.share * bytes / f->bandwidth;
}

double berth_collective_least_s(berth_collective what, int32_t n, double bytes, const berth_fabric *f,
                                berth_collective_way *way)
{
	double least_s = INFINITY;
	berth_collective_way best = BERTH_WAY_RING;
	for (int w = 0; w < BERTH_N_COLLECTIVE_WAYS; w++) {
		double s = berth_collective_s(what, (berth_collective_way)w, n, bytes, f);
		if (s >= least_s)
			continue;
		least_s = s;
		best = (berth_collective_way)w;
	}
	if (way)
		*way = best;
	return least_s;
}

/* ---- figures ---- */

/* Of all-reduces among 2, 4 and 8 A100 on NVSwitch; made by scripts/fit-links. */
#define START_S 4.48e-5
#define STEP_S 8.96e-7
#define NVLINK_SHARE 0.66 /* of what large copies reach */

/* Switches add from the fourth NVLink on: all links of a device go there. */
static bool link_adds(const char *name)
{
	return strncmp(name, "nvlink", 6) == 0 && name[6] >= '4' && name[6] <= '9' && strchr(name, 'x');
}

berth_fabric berth_link_fabric(const berth_link_row *link)
{
	bool nvlink = strncmp(link->name, "nvlink", 6) == 0;
	return (berth_fabric){START_S, STEP_S, link->bandwidth * (nvlink ? NVLINK_SHARE : 1),
	                      link_adds(link->name)};
}

/* 2 (n - 1) messages of bytes / n leave each port. */
void berth_collective_hop(int32_t n, double bytes, const berth_fabric *f, double *latency_s,
                          double *bandwidth)
{
	berth_collective_way way = BERTH_WAY_RING;
	berth_collective_least_s(BERTH_ALL_REDUCE, n, bytes, f, &way);
	course c = course_of(BERTH_ALL_REDUCE, way, n);
	double hops = 2 * (n - 1);
	*latency_s = (f->start_s + c.steps * f->step_s) / hops;
	*bandwidth = f->bandwidth * hops / n / c.share;
}

/* ---- tensors ---- */

static bool has_type(const berth_graph *g, int32_t op, const char *const *types)
{
	const char *own = g->op_type[op] < 0 ? "" : g->type_name[g->op_type[op]];
	while (*types && strcmp(own, *types) != 0)
		types++;
	return *types != NULL;
}

bool berth_tensor_is_collective(const berth_graph *g, int32_t t)
{
	static const char *const meets[] = {"AllReduce", "Concat", "GradSum", "Sum", NULL},
	                  *const reduces[] = {"AllReduce", NULL};
	int32_t from = g->tensor_producer[t];
	if (has_type(g, from, reduces))
		return true;
	if (!berth_piece_named(g->op_name[from]))
		return false;
	BERTH_EACH (e, g->tensor_use_off, t) {
		int32_t to = g->edge_consumer[e];
		if (has_type(g, to, meets) && berth_piece_named(g->op_name[to]))
			return true;
	}
	return false;
}
