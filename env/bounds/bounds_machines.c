/* The bound by machines (bounds_parts.h): the largest claim that machines.h leaves no schedule below. */
#include "bounds_parts.h"
#include "machines.h"

enum { FIRST_STEP = 32 }; /* a part of the bound */
#define EVER (INT64_MAX / 8) /* ns, behind any schedule */

typedef struct search {
	berth_bound_work *budget;
	berth_machines m;
	int64_t unit;
	bool cut;
} search;

/* Is no schedule shorter than so many units? */
static bool proves(search *s, int64_t units)
{
	int64_t before = s->m.steps;
	s->m.most_steps = before + s->budget->left_ns;
	bool full = berth_machines_full(&s->m, units * s->unit);
	s->cut = !berth_bound_spend(s->budget, s->m.steps - before);
	return full;
}

berth_status berth_bounds_machines(const berth_problem *p, int64_t known_ns, berth_bound_work *budget,
                                   berth_arena *tmp, int64_t *lower_ns, berth_err *err)
{
	search s = {.budget = budget, .unit = berth_common_divisor_ns(p)};
	BERTH_SCRATCH(tmp);
	*lower_ns = 0;
	if (!berth_machines_work(p) ||
	    !berth_bound_spend(budget, (int64_t)(p->g->n_edges + p->n_ops) * p->n_devs * p->n_devs))
		return BERTH_OK;
	BERTH_TRY(berth_machines_new(p, tmp, &s.m, err));
	if (proves(&s, EVER / s.unit))
		return BERTH_OK; /* there is no schedule at all: not for times' sake, others say why */
	int64_t low = berth_round_up_ns(p, known_ns) / s.unit, step = low / FIRST_STEP + 1;
	for (; !s.cut && proves(&s, low + step); step *= 2)
		low += step;
	for (int64_t high = low + step; high - low > 1 && !s.cut;) {
		int64_t middle = low + (high - low) / 2;
		if (proves(&s, middle))
			low = middle;
		else
			high = middle;
	}
	*lower_ns = low * s.unit;
	const berth_certificate c = {.kind = BERTH_CERTIFICATE_MACHINES, .bound_ns = *lower_ns};
	return *lower_ns > known_ns ? berth_bound_proof_offer(budget->proof, p, &c, tmp, err) : BERTH_OK;
}
