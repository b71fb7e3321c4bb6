/* Seeds; see seeds.h. The nanoseconds are those of an ordinary core, measured on random graphs of 1,000 to
 * 20,000 operators on six devices, and rounded up. */
#include "seeds.h"

#include "registry.h"

#include <math.h>
#include <string.h>

#define SHARE 0.1           /* of the time */
#define LIST_NS 60.0        /* of a list schedule, for each operator, edge and device */
#define TABLE_ENTRY_NS 2.0  /* of PEFT's table, for each edge and pair of devices */
#define PBQP_ENTRY_NS 100.0 /* of a round, for each entry of the matrices of edges and rivals */
#define PBQP_LEAST_EDGES 2  /* of an operator: what has few edges runs side by side and has rivals */

static double single_ns(const berth_problem *p)
{
	return berth_search_evaluation_ns(p) * p->n_devs;
}

double berth_seed_list_ns(const berth_problem *p)
{
	return LIST_NS * ((double)p->n_ops + p->g->n_edges) * p->n_devs + 2 * berth_search_evaluation_ns(p);
}

double berth_seed_table_ns(const berth_problem *p)
{
	return TABLE_ENTRY_NS * p->g->n_edges * p->n_devs * p->n_devs;
}

static double priced_ahead_ns(const berth_problem *p)
{
	return berth_seed_table_ns(p) + berth_seed_list_ns(p);
}

double berth_seed_pbqp_round_ns(const berth_problem *p)
{
	double edges = fmax(p->g->n_edges, (double)PBQP_LEAST_EDGES * p->n_ops);
	return PBQP_ENTRY_NS * edges * p->n_devs * p->n_devs + berth_search_evaluation_ns(p);
}

/* The plain problem, behind a list schedule. */
static double pbqp_ns(const berth_problem *p)
{
	return berth_seed_list_ns(p) + berth_seed_pbqp_round_ns(p);
}

const berth_seed berth_seeds[] = {{&berth_method_single, single_ns},
                                  {&berth_method_heft, berth_seed_list_ns},
                                  {&berth_method_heft_priced, berth_seed_list_ns},
                                  {&berth_method_peft_priced, priced_ahead_ns},
                                  {&berth_method_peft_contended, priced_ahead_ns},
                                  {&berth_method_ceft_cpop, berth_seed_list_ns},
                                  {&berth_method_pbqp, pbqp_ns},
                                  {&berth_method_ceft_pbqp, pbqp_ns}};
const int32_t berth_n_seeds = (int32_t)(sizeof berth_seeds / sizeof *berth_seeds);

void berth_seeds_begin(berth_search *s)
{
	double most_ns = SHARE * 1e9 * fmax(s->cfg.time_s, s->cfg.cpu_s);
	if (berth_search_timed(s))
		s->may_work_ns = s->worked_ns + fmax(most_ns, BERTH_SURE_NS);
}

void berth_seeds_end(berth_search *s)
{
	s->may_work_ns = INFINITY;
}

static void name_left_out(berth_search *s, const char *name)
{
	for (int32_t k = 0; k < s->n_left_out; k++)
		if (strcmp(s->left_out[k], name) == 0)
			return;
	if (s->n_left_out < BERTH_MOST_SEEDS)
		s->left_out[s->n_left_out++] = name;
}

static void leave_out(berth_search *s, const char *name)
{
	s->cut = false;
	if (berth_search_timed(s))
		name_left_out(s, name);
}

void berth_seeds_take_over(berth_search *s, const berth_search *within)
{
	for (int32_t k = 0; k < within->n_left_out; k++)
		name_left_out(s, within->left_out[k]);
}

/* Is there so much left? It is counted where it is done. */
static bool is_left(berth_search *s, double ns)
{
	double before = s->worked_ns;
	bool left = berth_search_afford(s, ns);
	s->worked_ns = before;
	return left;
}

bool berth_seeds_may_run(berth_search *s, int32_t i)
{
	if (i == 0)
		s->worked_ns += berth_seeds[0].work_ns(s->p);
	if (i == 0 || is_left(s, berth_seeds[i].work_ns(s->p)))
		return true;
	leave_out(s, berth_seeds[i].method->name);
	return false;
}

void berth_seeds_cut(berth_search *s, const char *name)
{
	if (s->cut)
		leave_out(s, name);
}

void berth_seeds_have_run(berth_search *s, int32_t i)
{
	berth_seeds_cut(s, berth_seeds[i].method->name);
}

berth_status berth_start_from_portfolio(berth_search *s, berth_arena *tmp, berth_err *err)
{
	berth_seeds_begin(s);
	for (int32_t i = 0; i < berth_n_seeds; i++) {
		if (!berth_seeds_may_run(s, i))
			continue;
		BERTH_TRY(berth_method_run(berth_seeds[i].method, s, tmp, err));
		berth_seeds_have_run(s, i);
	}
	berth_seeds_end(s);
	return BERTH_OK;
}
