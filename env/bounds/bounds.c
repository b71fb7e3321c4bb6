/* Lower bounds of all metrics, put together: the quick ones that every answer carries, and stronger ones
 * as far as an effort goes. */
#include "bounds.h"

#include "bounds_load.h"
#include "bounds_parts.h"
#include "ceft.h"
#include "cost_model.h"
#include "least_sum.h"
#include "machines.h"

/* Load of op on dev, or on its memory pool where that is more, in ns. */
static double load_of(const berth_problem *p, int32_t op, int32_t dev)
{
	int32_t slots = p->s->dev_slots[dev];
	return fmax((double)berth_op_time(p, op, dev) / slots * (slots > 1 ? BERTH_DOWN : 1),
	            (double)berth_op_pool_ns(p, op, dev));
}

/* Longest of the operators' shortest loads: max_i min_d load_id, in ns. */
static double longest_operator(const berth_problem *p)
{
	double most = 0;
	for (int32_t op = 0; op < p->n_ops; op++) {
		double least = INFINITY;
		for (int32_t d = 0; d < p->n_devs; d++)
			if (berth_op_legal(p, op, d))
				least = fmin(least, load_of(p, op, d));
		if (isfinite(least))
			most = fmax(most, least);
	}
	return most;
}

/* Idle power of all devices, and the least extra energy of all operators. */
static void least_energy(const berth_problem *p, double *idle_w, double *busy_j)
{
	const berth_system *s = p->s;
	*idle_w = *busy_j = 0;
	for (int32_t d = 0; d < p->n_devs; d++)
		*idle_w += s->dev_idle_w[d];
	for (int32_t op = 0; op < p->n_ops; op++) {
		double least = INFINITY;
		for (int32_t d = 0; d < p->n_devs; d++)
			if (berth_op_legal(p, op, d))
				least = fmin(least, (s->dev_busy_w[d] - s->dev_idle_w[d]) *
				                            ((double)berth_op_time(p, op, d) * 1e-9 /
				                             s->dev_slots[d]));
		if (isfinite(least))
			*busy_j += least;
	}
	if (berth_may_be_alone(p)) {
		int32_t d = p->alone_dev;
		*busy_j = fmin(*busy_j, (s->dev_busy_w[d] - s->dev_idle_w[d]) *
		                                ((double)p->alone_sum_ns * 1e-9 / s->dev_slots[d]));
	}
}

/* Values of all metrics from the parts. */
static void set_values(berth_bounds *b, berth_bound_parts parts)
{
	parts.peak_bytes = b->parts.peak_bytes;
	b->parts = parts;
	for (int m = 0; m < BERTH_N_METRICS; m++)
		b->value[m] = berth_metrics[m].bound(&parts);
}

/* Values of all metrics from the bounds of the latency and the load. */
static berth_status fill_values(const berth_problem *p, double load_s, berth_arena *tmp, berth_bounds *b,
                                berth_err *err)
{
	double latency = (double)b->latency_ns / 1e9;
	berth_bound_parts x = {latency, load_s, NAN, NAN, NAN, 0};
	if (p->has_energy) {
		double idle_w, busy_j, joint, path;
		berth_joint energy = {0, 0, 1, INFINITY, INFINITY, INFINITY};
		least_energy(p, &idle_w, &busy_j);
		BERTH_TRY(
			berth_joint_bound(p, &energy, (double)b->ceft_ns * 1e-9, latency, tmp, &joint, err));
		BERTH_TRY(berth_path_joint(p, &energy, 0, tmp, &path, err));
		x.energy_j = fmax(fmax((idle_w * latency + busy_j) * BERTH_DOWN, joint), path);
		BERTH_TRY(berth_path_edp(p, latency, x.energy_j, tmp, &x.edp, err));
		x.idle_w = idle_w * BERTH_DOWN;
	}
	set_values(b, x);
	return BERTH_OK;
}

static void set_own_values(const berth_problem *p, int64_t latency_ns, double load_s, berth_bounds *b)
{
	berth_bound_parts x = {(double)latency_ns / 1e9, load_s, NAN, NAN, NAN, 0};
	b->latency_ns = latency_ns;
	if (p->has_energy) {
		double idle_w, busy_j;
		least_energy(p, &idle_w, &busy_j);
		x.energy_j = (idle_w * x.latency_s + busy_j) * BERTH_DOWN;
		x.edp = x.energy_j * x.latency_s * BERTH_DOWN;
		x.idle_w = idle_w * BERTH_DOWN;
	}
	set_values(b, x);
}

/* Under a cost model with bounds of its own. */
static berth_status cost_model_bounds(const berth_problem *p, berth_arena *tmp, berth_bounds *b,
                                      berth_err *err)
{
	berth_cost_bounds own;
	double load;
	BERTH_TRY(berth_load_dual(p, &b->load_ns, &load, tmp, err));
	load = fmax(load, longest_operator(p));
	BERTH_TRY(p->s->cost_model->bounds(p, b->load_ns, load, tmp, &own, err));
	b->ceft_ns = own.path_ns;
	set_own_values(p, own.latency_ns, own.load_s, b);
	return BERTH_OK;
}

static berth_status all_bounds(const berth_problem *p, berth_arena *tmp, berth_bounds *b, berth_err *err)
{
	berth_ceft ceft;
	double load;
	int64_t peak;
	BERTH_TRY(berth_bounds_peak(p, tmp, &peak, err));
	b->parts.peak_bytes = (double)peak;
	if (p->s->cost_model->bounds)
		return cost_model_bounds(p, tmp, b, err);
	BERTH_TRY(berth_ceft_new(p, tmp, &ceft, err));
	BERTH_TRY(berth_load_dual(p, &b->load_ns, &load, tmp, err));
	b->ceft_ns = ceft.length_ns;
	b->latency_ns = berth_round_up_ns(p, b->ceft_ns > b->load_ns ? b->ceft_ns : b->load_ns);
	return fill_values(p, fmax(load, longest_operator(p)) * 1e-9, tmp, b, err);
}

/* The bound by machines: the largest claim that machines.h leaves no schedule below. */
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

/* From a bound that is known, up to the largest claim that machines.h leaves no schedule below. *lower_ns: 0
 * where no device has several operators that stand nowhere else, where nothing is legal, or too little work
 * is left. tmp is scratch, reset at exit. Fails: BERTH_ENOMEM. */
static berth_status bound_machines(const berth_problem *p, int64_t known_ns, berth_bound_work *budget,
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

static berth_status strengthen(const berth_problem *p, const berth_bound_effort *effort,
                               berth_bound_proof *proof, berth_arena *tmp, berth_bounds *b, berth_err *err)
{
	berth_bound_work work = {.left_ns = effort->work_ns, .proof = proof};
	double load_ns = 0, load_s = b->parts.load_s;
	int64_t latency_ns = b->latency_ns, under_memory_ns;
	BERTH_TRY(berth_bounds_load_memory(p, &work, tmp, &under_memory_ns, err));
	load_s = fmax(load_s, (double)under_memory_ns * 1e-9 * BERTH_DOWN);
	latency_ns = under_memory_ns > latency_ns ? under_memory_ns : latency_ns;
	if (effort->load)
		BERTH_TRY(berth_bounds_load_lp(p, load_s * 1e9, &work, tmp, &load_ns, err));
	load_s = fmax(load_s, load_ns * 1e-9);
	if (effort->latency) {
		int64_t nodes = effort->nodes;
		int64_t bound, most = latency_ns;
		BERTH_TRY(bound_machines(p, most, &work, tmp, &bound, err));
		most = bound > most ? bound : most;
		BERTH_TRY(berth_bounds_windows(p, &work, tmp, &bound, err));
		most = bound > most ? bound : most;
		BERTH_TRY(berth_bounds_blocks(p, nodes, &work, tmp, &bound, err));
		most = bound > most ? bound : most;
		BERTH_TRY(berth_bounds_memory(p, &work, tmp, &bound, err));
		most = bound > most ? bound : most;
		BERTH_TRY(berth_bounds_lp(p, most, &work, tmp, &bound, err));
		latency_ns = berth_round_up_ns(p, bound > most ? bound : most);
	}
	b->kind = work.cut ? "auto" : "strong";
	b->dropped = work.dropped;
	if (latency_ns == b->latency_ns && load_s <= b->parts.load_s)
		return BERTH_OK;
	berth_bounds stronger = *b;
	stronger.latency_ns = latency_ns;
	BERTH_TRY(fill_values(p, load_s, tmp, &stronger, err));
	/* Some values are searched for, so they need not grow with the latency. */
	for (int m = 0; m < BERTH_N_METRICS; m++)
		if (stronger.value[m] < b->value[m])
			stronger.value[m] = b->value[m];
	*b = stronger;
	return BERTH_OK;
}

static bool spend(void *ctx, double ns)
{
	return berth_bound_spend(ctx, (int64_t)fmin(ns, (double)BERTH_BOUND_ALL));
}

berth_status berth_bounds_strengthen(const berth_problem *p, const berth_bound_effort *effort,
                                     berth_arena *tmp, berth_bounds *b, berth_err *err)
{
	berth_bounds stronger = *b;
	BERTH_SCRATCH(tmp);
	if (p->s->cost_model->sums_times) {
		/* Under a cost model whose latency is the sum of all times. */
		berth_bound_work work = {.left_ns = effort->work_ns};
		const berth_sum_asker who = {.go_on = spend, .ctx = &work};
		int64_t ns;
		BERTH_TRY(berth_least_sum(p, &who, tmp, &ns, err));
		b->kind = work.cut ? "auto" : "strong";
		if (ns > b->latency_ns)
			set_own_values(p, ns, fmax(b->parts.load_s, (double)ns * 1e-9), b);
		return BERTH_OK;
	}
	if (!p->s->cost_model->strong_bounds)
		return BERTH_OK;
	BERTH_TRY(strengthen(p, effort, NULL, tmp, &stronger, err));
	*b = stronger;
	return BERTH_OK;
}

berth_status berth_bounds_certify(const berth_problem *p, const berth_bound_effort *effort,
                                  berth_bound_proof *proof, berth_arena *tmp, berth_err *err)
{
	berth_bounds b;
	BERTH_TRY(berth_bounds_new(p, tmp, &b, err));
	BERTH_SCRATCH(tmp);
	/* Those of the bounds that every answer carries. */
	berth_certificate paths = {.kind = BERTH_CERTIFICATE_BLOCKS};
	BERTH_TRY(berth_load_certify(p, proof, tmp, err));
	BERTH_TRY(berth_bound_proof_offer(proof, p, &paths, tmp, err));
	return effort ? strengthen(p, effort, proof, tmp, &b, err) : BERTH_OK;
}

berth_status berth_bounds_new(const berth_problem *p, berth_arena *tmp, berth_bounds *out, berth_err *err)
{
	berth_bounds b = {.kind = "fast"};
	BERTH_SCRATCH(tmp);
	BERTH_TRY(all_bounds(p, tmp, &b, err));
	*out = b;
	return BERTH_OK;
}

static berth_status bound_under_limits(const berth_problem *p, const berth_bounds *b,
                                       const berth_objective *o, berth_arena *tmp, double *out,
                                       berth_err *err)
{
	double apart = berth_objective_sum(o, b->value), together, path;
	/* Weights and limits of the metrics that joint bounds weigh against each other. */
	double weight[BERTH_N_JOINT + 1] = {0}, most[BERTH_N_JOINT + 1] = {INFINITY, INFINITY, INFINITY};
	for (int m = 0; m < BERTH_N_METRICS; m++) {
		int k = (int)berth_metrics[m].joint;
		weight[k] += o->sums[m] ? o->weight[m] : berth_objective_is(o, (berth_metric)m);
		most[k] = o->limits[m] ? fmin(most[k], o->most[m]) : most[k];
	}
	berth_joint j = (berth_joint){.latency = weight[BERTH_JOINT_LATENCY],
	                              .load = weight[BERTH_JOINT_LOAD],
	                              .energy = weight[BERTH_JOINT_ENERGY],
	                              .most_latency = most[BERTH_JOINT_LATENCY],
	                              .most_load = most[BERTH_JOINT_LOAD],
	                              .most_energy = most[BERTH_JOINT_ENERGY]};
	*out = apart;
	bool alone = (!berth_objective_has_limits(o) && *berth_objective_unit(o)) ||
	             !p->s->cost_model->strong_bounds;
	if (alone || isnan(apart) || (!p->has_energy && isfinite(j.most_energy)))
		return BERTH_OK;
	BERTH_TRY(berth_joint_bound(p, &j, (double)b->ceft_ns * 1e-9, (double)b->latency_ns * 1e-9, tmp,
	                            &together, err));
	BERTH_TRY(berth_path_joint(p, &j, b->parts.load_s, tmp, &path, err));
	together = fmax(together, path);
	for (int m = 0; m < BERTH_N_METRICS; m++)
		if (o->sums[m] && berth_metrics[m].joint == BERTH_N_JOINT)
			together += o->weight[m] * b->value[m] * BERTH_DOWN;
	*out = fmax(apart, together);
	return BERTH_OK;
}

berth_status berth_bounds_limits_infeasible(const berth_problem *p, const berth_bounds *b,
                                          const berth_objective *o, berth_arena *tmp, bool *out,
                                          berth_err *err)
{
	*out = false;
	for (int m = 0; m < BERTH_N_METRICS && !*out; m++) {
		berth_objective alone = *o;
		double least;
		if (!o->limits[m])
			continue;
		for (int k = 0; k < BERTH_N_METRICS; k++) {
			alone.sums[k] = k == m;
			alone.weight[k] = k == m;
		}
		alone.limits[m] = false;
		BERTH_TRY(bound_under_limits(p, b, &alone, tmp, &least, err));
		*out = least > o->most[m] * (1 + 1e-9);
	}
	return BERTH_OK;
}

berth_status berth_bounds_objective(const berth_problem *p, const berth_bounds *b, const berth_objective *o,
                                    berth_arena *tmp, double *out, berth_err *err)
{
	bool infeasible = false;
	BERTH_TRY(bound_under_limits(p, b, o, tmp, out, err));
	if (berth_objective_has_limits(o) && p->s->cost_model->strong_bounds)
		BERTH_TRY(berth_bounds_limits_infeasible(p, b, o, tmp, &infeasible, err));
	if (infeasible)
		*out = NAN;
	return BERTH_OK;
}

double berth_gap(double value, double bound)
{
	return bound > 0 ? value / bound - 1 : NAN;
}

/* ---- how much they may cost ---- */

/* LEAST_NS: of an effort. EVALUATION_NS: of an evaluation, for each operator and edge. */
#define LEAST_NS 2e8
#define EVALUATION_NS 50.0
#define SHARE 0.1 /* of the search */

berth_bound_effort berth_bound_effort_all(const berth_objective *o)
{
	berth_bound_effort e = {.nodes = BERTH_BOUND_NODES, .work_ns = BERTH_BOUND_ALL};
	e.latency = e.load = !o;
	for (int m = 0; o && m < BERTH_N_METRICS; m++) {
		if (!o->sums[m] && !o->limits[m] && !berth_objective_is(o, (berth_metric)m))
			continue;
		e.load |= m == BERTH_THROUGHPUT;
		e.latency |= m != BERTH_THROUGHPUT;
	}
	return e;
}

int64_t berth_bound_work_for(const berth_problem *p, int64_t evaluations, double time_s)
{
	double search_ns = (double)evaluations * EVALUATION_NS * ((double)p->n_ops + p->g->n_edges);
	if (time_s > 0)
		search_ns = fmin(search_ns, time_s * 1e9);
	double least_ns = time_s > 0 ? fmin(LEAST_NS, SHARE * time_s * 1e9) : LEAST_NS;
	return (int64_t)fmin(fmax(least_ns, SHARE * search_ns), (double)(BERTH_BOUND_ALL / 2));
}
