/* `dp`: the contiguous dynamic program over ideals of J. Tarnawski, A. Phanishayee, N. Devanur, D. Mahajan,
 * F. Nina Paravecino, NeurIPS 2020, section 4, for the throughput that is the largest load of a device
 * (cost_model.h). An ideal is a set of nodes that holds all producers of its nodes. The devices take the
 * differences of a chain of ideals, so that no device is left and entered again.
 *
 *   dp[c][a][I] = least over J in I of the larger of dp of J with one device fewer and the load of I \ J on
 *                 that device
 *
 * Nodes are colocation groups, those on a circle fused. Backward operators follow their colocation group.
 * Colocation groups that have no forward operator are ordered by the backward edges turned round, as the
 * artificial forward nodes of the paper are.
 *
 * A linearised run comes first: its ideals are the prefixes of one topological order. Its value cuts the full
 * run. A set whose computing alone lasts longer can not be part of a better answer, nor can a larger set. Nor
 * can an ideal on so many devices that those left can not compute the rest within that value.
 *
 * The linearised answer stands where the full run is too large: beyond MOST_NODES nodes, MOST_IDEALS ideals
 * (dp_ideals.c), MOST_VALUES values of the table, or MOST_SETS sets looked at (fewer where a set is tried for
 * more than USUAL_STATES numbers of devices). Where the linearised run is too large as well, the best single
 * device stands. All limits are counts, so the answer is the same on every machine, unless time or Ctrl-C
 * ends the search. */
#include "max_load_search.h"

#include "cost_model.h"
#include "dp_ideals.h"
#include "method.h"
#include "registry.h"
#include "seeds.h"

enum { MOST_VALUES = 1 << 26, USUAL_STATES = 64 };
static const int64_t MOST_SETS = INT64_C(400000000), SEED_SETS = INT64_C(4000000);
enum { SEED_NODES = 1000 }; /* beyond them a seed is the linearised run alone */
#define SET_NS 15.0

typedef struct kind {
	int32_t first, n;      /* devices first .. first + n - 1, all alike */
	double s_per_byte;     /* of transfers; 0: none are paid (CPUs) */
	int64_t memory;        /* -1: unlimited */
} kind;

typedef struct dp {
	const berth_problem *p;
	berth_search *s;
	berth_arena *tmp;
	kind acc, cpu;
	dp_nodes node;
	double *node_acc, *node_cpu;   /* [node.n] seconds; infinite: cannot run there */
	int64_t *node_bytes;           /* [node.n] */
	dp_ideals ideal;
	/* values [ideal.n][cpu.n + 1][acc.n + 1] */
	double *value;
	int32_t *from;                 /* ideal before; -1: as with a device fewer, or the empty one */
	uint8_t *on_cpu;
	/* the set at hand, I \ J */
	bool *in_set;                  /* [n_ops] */
	int32_t *uses_in_set;          /* [n_tensors] */
	double set_in, set_out;        /* bytes */
	int64_t set_bytes;
	int32_t *seen;                 /* [ideal.n] */
	int64_t sets, most_sets, may_sets; /* of a run; its limit; that of few states */
	double cut;                    /* answers at or above it are of no use */
	/* computing in the measure of the faster kind: seconds of a node, of all after an ideal, and how much
	 * of it a device of each kind does a second at most */
	double *node_work, *rest_work, acc_speed, cpu_speed;
	bool *useful;                  /* [cpu.n + 1][acc.n + 1] of the ideal at hand */
	double most_done;              /* work of an ideal from which one device more makes a useful one */
} dp;

/* ---- kinds of devices ---- */

static bool alike(const berth_problem *p, int32_t a, int32_t b)
{
	for (int32_t op = 0; op < p->n_ops; op++)
		if (berth_op_legal(p, op, a) != berth_op_legal(p, op, b) ||
		    berth_op_time(p, op, a) != berth_op_time(p, op, b))
			return false;
	return p->dev_limit_bytes[a] == p->dev_limit_bytes[b];
}

/* Devices first .. first + n - 1 are alike, and accelerators or not. */
static bool all_alike(const berth_problem *p, int32_t first, int32_t n, bool acc)
{
	for (int32_t v = first; v < first + n; v++)
		if (berth_cost_model_pays(p, v) != acc || !alike(p, first, v))
			return false;
	return true;
}

/* Accelerators first, CPUs after them, as the files have them. */
static berth_status find_kinds(dp *d, berth_err *err)
{
	const berth_problem *p = d->p;
	const berth_system *y = p->s;
	const berth_objective *o = &d->s->cfg.objective;
	char names[256];
	int32_t n_acc = 0;
	while (n_acc < p->n_devs && berth_cost_model_pays(p, n_acc))
		n_acc++;
	if (!berth_cost_model_sums(y->cost_model) || p->coupled || !all_alike(p, 0, n_acc, true) ||
	    !all_alike(p, n_acc, p->n_devs - n_acc, false) || !berth_objective_is(o, BERTH_THROUGHPUT) ||
	    berth_objective_has_limits(o))
		return berth_fail(err, BERTH_EUNSUPPORTED,
		                  "method dp solves the throughput of the cost model %s, on accelerators "
		                  "that are all alike and CPUs that are all alike",
		                  berth_cost_model_names(berth_cost_model_sums, names, sizeof names));
	d->acc = (kind){.n = n_acc, .memory = -1};
	d->cpu = (kind){.first = n_acc, .n = p->n_devs - n_acc, .memory = -1};
	if (d->acc.n) {
		d->acc.s_per_byte = y->cost_model->s_per_byte(p, 0);
		d->acc.memory = p->dev_limit_bytes[0];
	}
	if (d->cpu.n)
		d->cpu.memory = p->dev_limit_bytes[n_acc];
	return BERTH_OK;
}

static double seconds_on(const berth_problem *p, int32_t op, const kind *k)
{
	bool runs = k->n > 0 && berth_op_legal(p, op, k->first);
	return runs ? p->s->cost_model->op_seconds(p, op, k->first) : INFINITY;
}

/* ---- nodes ---- */

static berth_status weigh_nodes(dp *d, berth_err *err)
{
	const berth_problem *p = d->p;
	BERTH_TRY_NEW(d->tmp, d->node.n, err, d->node_acc, d->node_cpu, d->node_bytes);
	for (int32_t op = 0; op < p->n_ops; op++) {
		int32_t v = d->node.op_node[op];
		d->node_acc[v] += seconds_on(p, op, &d->acc);
		d->node_cpu[v] += seconds_on(p, op, &d->cpu);
		d->node_bytes[v] += p->g->op_param_bytes[op] + p->g->op_state_bytes[op];
	}
	BERTH_TRY_NEW(d->tmp, d->node.n, err, d->node_work);
	for (int32_t v = 0; v < d->node.n; v++) {
		double work = fmin(d->node_acc[v], d->node_cpu[v]);
		d->node_work[v] = isfinite(work) ? work : 0;
		if (!(d->node_work[v] > 0))
			continue;
		d->acc_speed = fmax(d->acc_speed, work / d->node_acc[v]);
		d->cpu_speed = fmax(d->cpu_speed, work / d->node_cpu[v]);
	}
	return BERTH_OK;
}

/* ---- the set at hand ---- */

/* Operator op enters (sign 1) or leaves (-1) the set; in_set says so afterwards. */
static void move_op(dp *d, int32_t op, int sign)
{
	const berth_graph *g = d->p->g;
	BERTH_EACH (x, g->op_tensor_off, op) {
		double bytes = (double)g->tensor_bytes[x];
		int32_t uses = g->tensor_use_off[x + 1] - g->tensor_use_off[x];
		d->set_in -= d->uses_in_set[x] > 0 ? sign * bytes : 0;
		d->set_out += d->uses_in_set[x] < uses ? sign * bytes : 0;
	}
	d->in_set[op] = sign > 0;
	BERTH_EACH (i, g->op_in_off, op) {
		int32_t x = g->in_tensor[i], uses = g->tensor_use_off[x + 1] - g->tensor_use_off[x];
		double bytes = (double)g->tensor_bytes[x];
		bool inside = d->in_set[g->tensor_producer[x]];
		int32_t before = d->uses_in_set[x], after = d->uses_in_set[x] += sign;
		if (inside)
			d->set_out += bytes * ((after < uses) - (before < uses));
		else
			d->set_in += bytes * ((after > 0) - (before > 0));
	}
}

static void move_node(dp *d, int32_t v, int sign)
{
	int32_t first = d->node.op_off[v], end = d->node.op_off[v + 1];
	for (int32_t k = first; k < end; k++)
		move_op(d, d->node.op[sign > 0 ? k : end - 1 - (k - first)], sign);
	d->set_bytes += sign * d->node_bytes[v];
}

/* ---- the program ---- */

static size_t state_of(const dp *d, int32_t i, int32_t c, int32_t a)
{
	return ((size_t)i * (size_t)(d->cpu.n + 1) + (size_t)c) * (size_t)(d->acc.n + 1) + (size_t)a;
}

static void improve(dp *d, size_t state, double value, int32_t from, bool on_cpu)
{
	if (!(value < d->value[state]))
		return;
	d->value[state] = value;
	d->from[state] = from;
	d->on_cpu[state] = on_cpu;
}

/* One set more. False: that is enough. */
static bool count_set(dp *d)
{
	if (d->sets >= d->most_sets)
		return false;
	if (++d->sets % 4096 == 0) {
		berth_search_budget_left(d->s, 1); /* time and cancelling */
		if (d->s->stopped)
			d->sets = d->most_sets;
	}
	return d->sets < d->most_sets;
}

/* What c CPUs and a accelerators can compute within the cut; a little more, for sums are rounded. */
static double capacity(const dp *d, int32_t c, int32_t a)
{
	double acc = a ? a * d->acc_speed : 0, cpu = c ? c * d->cpu_speed : 0; /* no 0 times infinity */
	return acc + cpu > 0 ? (acc + cpu) * d->cut * (1 + 1e-9) : 0;
}

/* On how many devices can ideal i be of use: those can compute it, and the others the rest? None: false. */
static bool find_useful(dp *d, int32_t i)
{
	double rest = d->rest_work[i], done = d->rest_work[0] - rest;
	bool any = false;
	d->most_done = -1;
	for (int32_t c = 0; c <= d->cpu.n; c++)
		for (int32_t a = 0; a <= d->acc.n; a++) {
			bool useful = done <= capacity(d, c, a) &&
			              rest <= capacity(d, d->cpu.n - c, d->acc.n - a);
			d->useful[state_of(d, 0, c, a)] = useful;
			any |= useful;
			if (useful && a)
				d->most_done = fmax(d->most_done, capacity(d, c, a - 1));
			if (useful && c)
				d->most_done = fmax(d->most_done, capacity(d, c - 1, a));
		}
	return any;
}

/* The set between ideal j and ideal i on one more device. */
static void try_set(dp *d, int32_t i, int32_t j, double acc, double cpu)
{
	double acc_load = acc + (d->set_in + d->set_out) * d->acc.s_per_byte;
	if (d->acc.memory >= 0 && d->set_bytes > d->acc.memory)
		acc_load = INFINITY;
	if (d->cpu.memory >= 0 && d->set_bytes > d->cpu.memory)
		cpu = INFINITY;
	if (d->rest_work[0] - d->rest_work[j] > d->most_done || !(acc_load < d->cut || cpu < d->cut))
		return;
	for (int32_t c = 0; c <= d->cpu.n; c++)
		for (int32_t a = 0; a <= d->acc.n; a++) {
			size_t to = state_of(d, i, c, a);
			if (!d->useful[state_of(d, 0, c, a)])
				continue;
			if (a && acc_load < d->cut)
				improve(d, to, fmax(acc_load, d->value[state_of(d, j, c, a - 1)]), j, false);
			if (c && cpu < d->cut)
				improve(d, to, fmax(cpu, d->value[state_of(d, j, c - 1, a)]), j, true);
		}
}

/* All ideals below j, while the set to i may still be of use on some device. acc, cpu: its computing. */
static void descend(dp *d, int32_t i, int32_t j, double acc, double cpu)
{
	BERTH_EACH (k, d->ideal.down_off, j) {
		int32_t to = d->ideal.down_to[k], v = d->ideal.down_node[k];
		double acc_now = acc + d->node_acc[v], cpu_now = cpu + d->node_cpu[v];
		bool fits = d->acc.memory < 0 || d->set_bytes + d->node_bytes[v] <= d->acc.memory;
		if (d->seen[to] == i || !((acc_now < d->cut && fits) || cpu_now < d->cut) || !count_set(d))
			continue;
		d->seen[to] = i;
		move_node(d, v, 1);
		try_set(d, i, to, acc_now, cpu_now);
		descend(d, i, to, acc_now, cpu_now);
		move_node(d, v, -1);
	}
}

static berth_status new_values(dp *d, berth_err *err)
{
	size_t states = state_of(d, d->ideal.n, 0, 0);
	BERTH_TRY_NEW(d->tmp, states, err, d->value, d->from, d->on_cpu);
	BERTH_TRY_NEW(d->tmp, d->ideal.n, err, d->seen);
	for (size_t i = 0; i < states; i++) {
		d->value[i] = i < state_of(d, 1, 0, 0) ? 0 : INFINITY; /* ideal 0 is empty */
		d->from[i] = -1;
	}
	for (int32_t i = 0; i < d->ideal.n; i++)
		d->seen[i] = -1;
	BERTH_TRY_NEW(d->tmp, state_of(d, 1, 0, 0), err, d->useful);
	BERTH_TRY_NEW(d->tmp, d->ideal.n, err, d->rest_work);
	for (int32_t i = d->ideal.n - 1; i >= 0; i--)
		BERTH_EACH (k, d->ideal.down_off, i)
			d->rest_work[d->ideal.down_to[k]] =
				d->rest_work[i] + d->node_work[d->ideal.down_node[k]];
	return BERTH_OK;
}

/* A device more is never worse: a state's value, and where it comes from. */
static void spread_devices(dp *d, int32_t i)
{
	for (int32_t c = 0; c <= d->cpu.n; c++)
		for (int32_t a = 0; a <= d->acc.n; a++) {
			size_t to = state_of(d, i, c, a);
			for (int k = 0; k < 2; k++) {
				if (k ? !c : !a)
					continue;
				size_t less = k ? state_of(d, i, c - 1, a) : state_of(d, i, c, a - 1);
				if (d->value[less] < d->value[to]) {
					d->value[to] = d->value[less];
					d->from[to] = d->from[less];
					d->on_cpu[to] = d->on_cpu[less];
				}
			}
		}
}

/* Follow the answer back: each step's nodes go to the next device of its kind. */
static void read_answer(const dp *d, int32_t *op_dev)
{
	int32_t i = d->ideal.n - 1, c = d->cpu.n, a = d->acc.n;
	while (i > 0) {
		size_t state = state_of(d, i, c, a);
		int32_t j = d->from[state];
		bool on_cpu = d->on_cpu[state];
		int32_t dev = on_cpu ? d->cpu.first + --c : d->acc.first + --a;
		for (int32_t v = 0; v < d->node.n; v++) {
			bool taken = dp_ideals_has(&d->ideal, i, v) && !dp_ideals_has(&d->ideal, j, v);
			for (int32_t k = d->node.op_off[v]; taken && k < d->node.op_off[v + 1]; k++)
				op_dev[d->node.op[k]] = dev;
		}
		i = j;
	}
}

static berth_status solve(dp *d, int32_t *op_dev, berth_err *err)
{
	int64_t states = (int64_t)state_of(d, 1, 0, 0);
	if (states * d->ideal.n > MOST_VALUES)
		return BERTH_OK;
	BERTH_TRY(new_values(d, err));
	d->sets = 0;
	d->most_sets = states > USUAL_STATES ? d->may_sets / states * USUAL_STATES : d->may_sets;
	for (int32_t i = 1; i < d->ideal.n; i++) {
		d->set_in = d->set_out = 0;
		d->set_bytes = 0;
		if (!find_useful(d, i))
			continue;
		if (d->ideal.bits)
			descend(d, i, i, 0, 0);
		else {
			/* The same for prefixes, of which each has one below it. */
			double acc = 0, cpu = 0;
			int32_t j = i;
			while (j > 0) {
				int32_t v = j - 1;
				bool fits =
					d->acc.memory < 0 || d->set_bytes + d->node_bytes[v] <= d->acc.memory;
				acc += d->node_acc[v];
				cpu += d->node_cpu[v];
				if (!((acc < d->cut && fits) || cpu < d->cut) || !count_set(d))
					break;
				move_node(d, v, 1);
				try_set(d, i, --j, acc, cpu);
			}
			for (; j < i; j++)
				move_node(d, j, -1);
		}
		spread_devices(d, i);
	}
	double value = d->value[state_of(d, d->ideal.n - 1, d->cpu.n, d->acc.n)];
	if (d->sets >= d->most_sets || !isfinite(value))
		return BERTH_OK;
	d->cut = value;
	read_answer(d, op_dev);
	berth_search_offer(d->s, op_dev, NULL);
	return BERTH_OK;
}

/* The linearised run, then the full one for up to most_nodes nodes. */
static berth_status solve_both(dp *d, int32_t most_nodes, berth_err *err)
{
	const berth_problem *p = d->p;
	int32_t *op_dev;
	bool all;
	BERTH_TRY(dp_nodes_new(p, d->tmp, &d->node, err));
	BERTH_TRY(weigh_nodes(d, err));
	BERTH_TRY_NEW(d->tmp, p->n_ops, err, d->in_set);
	BERTH_TRY_NEW(d->tmp, p->g->n_tensors, err, d->uses_in_set);
	BERTH_TRY_NEW(d->tmp, p->n_ops, err, op_dev);
	BERTH_TRY(dp_ideals_prefixes(&d->node, d->tmp, &d->ideal, err));
	BERTH_TRY(solve(d, op_dev, err));
	if (d->node.n > most_nodes)
		return BERTH_OK;
	BERTH_TRY(dp_ideals_all(&d->node, d->tmp, &d->ideal, &all, err));
	return all ? solve(d, op_dev, err) : BERTH_OK;
}

static berth_status dp_run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	dp d = {.p = s->p, .s = s, .tmp = tmp, .cut = INFINITY, .may_sets = MOST_SETS};
	BERTH_TRY(find_kinds(&d, err));
	BERTH_TRY(berth_method_run(&berth_method_single, s, tmp, err));
	return s->p->n_ops ? solve_both(&d, INT32_MAX, err) : BERTH_OK;
}

berth_status berth_dp_seed(berth_search *s, berth_arena *tmp, berth_err *err)
{
	dp d = {.p = s->p, .s = s, .tmp = tmp, .cut = INFINITY, .may_sets = SEED_SETS};
	BERTH_SCRATCH(tmp);
	berth_status st = BERTH_OK;
	if (s->p->n_ops == 0 || find_kinds(&d, NULL) != BERTH_OK)
		return BERTH_OK;
	berth_seeds_begin(s);
	if (berth_search_afford(s, SET_NS * (double)SEED_SETS))
		st = solve_both(&d, SEED_NODES, err);
	berth_seeds_cut(s, "dp");
	berth_seeds_end(s);
	return st;
}

const berth_method berth_method_dp = {
	"dp", "Contiguous dynamic program over ideals for max-load throughput (Tarnawski et al. 2020).",
	false, dp_run, NULL, "Tarnawski et al., NeurIPS 2020"};
