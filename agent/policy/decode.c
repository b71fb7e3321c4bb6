/* Places operator after operator along a list: features of the partial schedule for each device, the
 * choice, the schedule moved on. A pass that went before can guide it. */
#include "decode.h"

#include "around.h"
#include "ceft.h"
#include "traffic.h"

#define EXP _Generic((nn_real)0, float: expf, double: exp)
#define LOG _Generic((nn_real)0, float: logf, double: log)

struct berth_decoder {
	const berth_encoding *e;
	berth_partial *part;
	berth_ready ready;
	double unit, per_unit;   /* ns, mean time of an operator; 1 by it */
	double energy_unit;      /* J, mean of the least energy of an operator */
	int64_t *tail_ns;        /* [n_ops][n_devs], see ceft.h */
	nn_real *leaving;        /* [n_ops][n_devs] the feature of that name */
	int64_t *op_least_ns;    /* [n_ops] over legal devices */
	int64_t least_ns;        /* sum of them */
	/* of the episode */
	int64_t *key;            /* [n_ops] */
	int64_t *load_ns, *end_ns; /* [n_devs] */
	berth_traffic traffic;
	berth_around around;
	const berth_guide *guide; /* NULL: none */
	int64_t *coming_ns;      /* [n_devs] by the guide, not placed yet */
	int64_t rest_ns;         /* sum of least times not placed yet */
	/* of the step, [n_devs] */
	int64_t *start_ns, *finish_ns, *whole_ns, *guided_ns, *leaving_ns;
	double *input_bytes;
	berth_transfers *moves;
	nn_real *x, *squash, *logits, *logp;
	uint8_t *mask;
};

/* ---- set-up ---- */

static double at_most(double most, double x)
{
	return x < most ? x : most;
}

/* A time that is squashed with all others of its kind. */
static nn_real in_units(const berth_decoder *d, int64_t ns)
{
	return (nn_real)((double)ns * d->per_unit);
}

/* Features that go through log(1 + x). */
static const uint8_t squashed[] = {
	STEP_LATER,    STEP_LATER_OF_OWN, STEP_STARTS_LATER, STEP_REST_LATER,     STEP_TOO_LONG,   STEP_MOVED,
	STEP_QUEUE,    STEP_GUIDED_LATER, STEP_AIMED_ENERGY, STEP_AIMED_OVER,     STEP_GAP,        STEP_OWN,
	STEP_PRESSURE, STEP_FAN,          STEP_AIMED_WORST,  STEP_GUIDED_LEAVING,
};
enum { N_SQUASHED = sizeof squashed };

static void find_leaving(berth_decoder *d)
{
	const berth_problem *p = d->e->p;
	const berth_graph *g = p->g;
	for (int32_t op = 0; op < p->n_ops; op++)
		for (int32_t dev = 0; dev < p->n_devs && p->n_devs > 1; dev++) {
			double sum = 0;
			BERTH_EACH (t, g->op_tensor_off, op)
				for (int32_t to = 0; to < p->n_devs; to++)
					sum += (double)berth_transfer_ns(p, t, dev, to) / (p->n_devs - 1);
			d->leaving[berth_cell(p, op, dev)] = (nn_real)(sum * d->per_unit);
		}
	nn_log1p((size_t)p->n_ops * (size_t)p->n_devs, d->leaving);
}

/* J, as berth_op_joules. */
static double least_energy(const berth_problem *p, int32_t op)
{
	double least = INFINITY;
	for (int32_t v = 0; v < p->n_devs; v++)
		if (berth_op_legal(p, op, v))
			least = fmin(least, berth_op_joules(p, op, v));
	return least;
}

static void find_energy_unit(berth_decoder *d)
{
	const berth_problem *p = d->e->p;
	double total = 0;
	for (int32_t op = 0; p->has_energy && op < p->n_ops; op++)
		total += least_energy(p, op);
	d->energy_unit = total > 0 ? total / p->n_ops : 1;
}

static void find_least(berth_decoder *d)
{
	const berth_problem *p = d->e->p;
	double total = 0;
	for (int32_t op = 0; op < p->n_ops; op++) {
		int64_t least = INT64_MAX;
		for (int32_t dev = 0; dev < p->n_devs; dev++)
			if (berth_op_legal(p, op, dev) && berth_op_time(p, op, dev) < least)
				least = berth_op_time(p, op, dev);
		d->op_least_ns[op] = least;
		d->least_ns += least;
		total += (double)p->op_mean_ns[op];
	}
	d->unit = total > 0 ? total / p->n_ops : 1;
	d->per_unit = 1 / d->unit;
}

berth_status berth_decoder_new(const berth_encoding *e, berth_arena *mem, berth_decoder **out, berth_err *err)
{
	const berth_problem *p = e->p;
	size_t ops = (size_t)p->n_ops, devs = (size_t)p->n_devs;
	berth_decoder *d;
	BERTH_TRY_NEW(mem, 1, err, d);
	d->e = e;
	BERTH_TRY(berth_partial_new(p, mem, &d->part, err));
	BERTH_TRY(berth_ready_new(p->g, mem, &d->ready, err));
	BERTH_TRY_NEW(mem, ops * devs, err, d->tail_ns, d->leaving);
	BERTH_TRY_NEW(mem, ops, err, d->op_least_ns, d->key);
	BERTH_TRY(berth_traffic_new(p, mem, &d->traffic, err));
	BERTH_TRY_NEW(mem, devs, err, d->load_ns, d->coming_ns, d->leaving_ns, d->guided_ns, d->end_ns,
	              d->start_ns, d->finish_ns, d->whole_ns);
	BERTH_TRY_NEW(mem, devs, err, d->input_bytes);
	BERTH_TRY_NEW(mem, devs, err, d->moves);
	BERTH_TRY_NEW(mem, devs * N_STEP, err, d->x);
	BERTH_TRY_NEW(mem, devs * N_SQUASHED, err, d->squash);
	BERTH_TRY_NEW(mem, devs, err, d->logits, d->logp, d->mask);
	berth_ceft_tails(p, NULL, d->tail_ns);
	find_least(d);
	BERTH_TRY(berth_around_new(p, d->op_least_ns, mem, &d->around, err));
	find_energy_unit(d);
	find_leaving(d);
	*out = d;
	return BERTH_OK;
}

berth_status berth_episode_new(size_t n_ops, size_t n_cells, berth_arena *mem, berth_episode *out,
                               berth_err *err)
{
	*out = (berth_episode){0};
	BERTH_TRY_NEW(mem, n_ops, err, out->node);
	BERTH_TRY_NEW(mem, n_cells * N_STEP, err, out->x);
	BERTH_TRY_NEW(mem, n_cells, err, out->mask);
	BERTH_TRY_NEW(mem, n_ops, err, out->action, out->logp);
	return BERTH_NEW(mem, out->noise, n_ops, err);
}

berth_partial *berth_decoder_partial(berth_decoder *d)
{
	berth_partial_reset(d->part);
	return d->part;
}

void berth_decode_prior(const policy_dims *dims, nn_real params[])
{
	for (int32_t i = 0; i < policy_tensor_count(); i++) {
		policy_tensor t = policy_tensor_at(dims, i);
		if (strcmp(t.name, "step_skip") == 0) {
			params[t.offset + STEP_LATER] -= 4;
			params[t.offset + STEP_ENDS_FIRST] += 3;
		}
	}
}

/* ---- features ---- */

/* Bytes of the inputs by the device where they are made; returns their sum. *largest: device of the largest
 * one, -1: no input. */
static double find_inputs(berth_decoder *d, int32_t op, int32_t *largest)
{
	const berth_graph *g = d->e->p->g;
	double sum = 0, most = -1;
	BERTH_CLEAR(d->input_bytes, d->e->n_devs);
	*largest = -1;
	BERTH_EACH (i, g->op_in_off, op) {
		int32_t t = g->in_tensor[i], home = d->traffic.home[t];
		double bytes = (double)g->tensor_bytes[t];
		d->input_bytes[home] += bytes;
		sum += bytes;
		if (bytes > most) {
			most = bytes;
			*largest = home;
		}
	}
	return sum;
}

typedef struct least {
	int64_t start, finish, whole, guided;
} least;

/* Times on all devices that could take op: legal, and with room for its colocation group (forced: there
 * too); mask says which. */
static least find_times(berth_decoder *d, berth_partial *part, int32_t op, int32_t forced)
{
	const berth_problem *p = d->e->p;
	least l = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};
	int32_t bound = berth_partial_dev(part, op), coloc = p->op_coloc[op];
	for (int32_t v = 0; v < p->n_devs; v++) {
		if (bound >= 0)
			d->mask[v] = v == bound;
		else
			d->mask[v] = berth_op_legal(p, op, v) &&
			             (v == forced || berth_partial_fits(part, coloc, v));
		if (!d->mask[v])
			continue;
		d->moves[v] = berth_traffic_look(&d->traffic, op, v);
		d->start_ns[v] = berth_partial_start(part, op, v, d->moves[v].ready_ns, true);
		d->finish_ns[v] = d->start_ns[v] + berth_op_time(p, op, v);
		d->whole_ns[v] = d->finish_ns[v] + d->tail_ns[berth_cell(p, op, v)];
		l.start = d->start_ns[v] < l.start ? d->start_ns[v] : l.start;
		l.finish = d->finish_ns[v] < l.finish ? d->finish_ns[v] : l.finish;
		l.whole = d->whole_ns[v] < l.whole ? d->whole_ns[v] : l.whole;
		if (!d->guide)
			continue;
		d->guided_ns[v] = d->finish_ns[v] + d->guide->rest_ns[berth_cell(p, op, v)];
		l.guided = d->guided_ns[v] < l.guided ? d->guided_ns[v] : l.guided;
	}
	return l;
}

/* The length that can be hoped for: the critical path, what is placed, and all work spread evenly. */
static int64_t hoped_for(const berth_decoder *d, const berth_partial *part)
{
	int64_t load = d->rest_ns, length = berth_partial_length_ns(part);
	for (int32_t v = 0; v < d->e->n_devs; v++)
		load += d->load_ns[v];
	load /= d->e->n_devs;
	length = length > load ? length : load;
	length = length > d->e->path_ns ? length : d->e->path_ns;
	return length > 0 ? length : 1;
}

/* How full device v, or its memory pool, is at most with what is bound so far; below 0: no limit. */
static double fullness(const berth_partial *part, const berth_problem *p, int32_t v)
{
	int64_t memory = p->s->dev_memory_bytes[v], pool = berth_dev_pool_bytes(p, v);
	double own = memory < 0 ? -1 : (double)berth_partial_bytes(part, v) / ((double)memory + 1);
	return pool < 0 ? own : fmax(own, (double)berth_partial_pool_bytes(part, v) / ((double)pool + 1));
}

enum { HEIRS = 16 }; /* consumers of a tensor that are looked at */

/* Is the consumer of use i the first of its tensor, whose uses begin with first, to stand there by the
 * guide? */
static bool is_first_there(const berth_decoder *d, int32_t first, int32_t i)
{
	const int32_t *consumer = d->e->p->g->edge_consumer, *op_dev = d->guide->op_dev;
	for (int32_t k = first; k < i; k++)
		if (op_dev[consumer[k]] == op_dev[consumer[i]])
			return false;
	return true;
}

/* leaving_ns: of moving op's tensors from each device to where their consumers are by the guide. */
static void find_guided_leaving(berth_decoder *d, int32_t op)
{
	const berth_graph *g = d->e->p->g;
	BERTH_CLEAR(d->leaving_ns, d->e->n_devs);
	BERTH_EACH (t, g->op_tensor_off, op) {
		int32_t first = g->tensor_use_off[t], end = g->tensor_use_off[t + 1];
		end = end < first + HEIRS ? end : first + HEIRS;
		for (int32_t i = first; i < end; i++) {
			if (!is_first_there(d, first, i))
				continue;
			int32_t to = d->guide->op_dev[g->edge_consumer[i]];
			for (int32_t v = 0; v < d->e->n_devs; v++)
				d->leaving_ns[v] += berth_transfer_ns(d->e->p, t, v, to);
		}
	}
}

static void guided_features(const berth_decoder *d, int32_t op, int32_t v, least l, int64_t hope, nn_real *x)
{
	int64_t later = d->guided_ns[v] - l.guided;
	double critical = at_most(2, (double)(l.start + d->guide->rank_ns[op]) / (double)hope);
	x[STEP_GUIDED_LATER] = in_units(d, later);
	x[STEP_GUIDED_FIRST] = later == 0;
	x[STEP_GUIDED_HERE] = d->guide->op_dev[op] == v;
	x[STEP_GUIDED_CRITICAL] = (nn_real)critical; /* times the one above, when that is squashed */
	x[STEP_GUIDED_LEAVING] = in_units(d, d->leaving_ns[v]);
	x[STEP_GUIDED_END] = (nn_real)at_most(8, (double)(d->end_ns[v] + d->coming_ns[v]) / (double)hope);
}

/* The bottleneck that can be hoped for: the largest load so far, and all work spread evenly. */
static int64_t hoped_load(const berth_decoder *d)
{
	int64_t load = d->rest_ns, most = 1;
	for (int32_t v = 0; v < d->e->n_devs; v++) {
		load += d->load_ns[v];
		most = d->load_ns[v] > most ? d->load_ns[v] : most;
	}
	for (int32_t c = 0; c < d->e->p->s->n_channels; c++)
		most = d->traffic.load_ns[c] > most ? d->traffic.load_ns[c] : most;
	load /= d->e->n_devs;
	return load > most ? load : most;
}

static void load_features(const berth_decoder *d, int32_t op, int32_t v, int64_t hope, int64_t path_hope,
                          nn_real *x)
{
	nn_real w = (nn_real)d->e->aim.load;
	int64_t load = d->load_ns[v] + berth_op_time(d->e->p, op, v);
	x[STEP_AIMED_LOAD] = w * (nn_real)at_most(8, (double)load / (double)hope);
	x[STEP_AIMED_OVER] = load > hope ? in_units(d, load - hope) : 0;
	x[STEP_AIMED_CHANNELS] =
		w * (nn_real)at_most(8, (double)x[STEP_CHANNELS] * (double)path_hope / (double)hope);
}

/* Load that device v comes to where all that is not placed yet, but for op, goes where the guide has it. */
static int64_t coming_load(const berth_decoder *d, int32_t op, int32_t v)
{
	int64_t own = d->guide->op_dev[op] == v ? berth_op_time(d->e->p, op, v) : 0;
	return d->load_ns[v] + d->coming_ns[v] - own;
}

/* The two largest of these loads, and whose the largest is. */
typedef struct heaviest {
	int64_t most, next;
	int32_t dev;
} heaviest;

static heaviest find_heaviest(const berth_decoder *d, int32_t op)
{
	heaviest h = {0, 0, -1};
	for (int32_t v = 0; v < d->e->n_devs; v++) {
		int64_t load = coming_load(d, op, v);
		if (load > h.most)
			h = (heaviest){load, h.most, v};
		else if (load > h.next)
			h.next = load;
	}
	return h;
}

static void guided_load_features(const berth_decoder *d, int32_t op, int32_t v, heaviest h, int64_t hope,
                                 nn_real *x)
{
	nn_real w = (nn_real)d->e->aim.load;
	int64_t load = coming_load(d, op, v) + berth_op_time(d->e->p, op, v);
	int64_t others = v == h.dev ? h.next : h.most;
	x[STEP_AIMED_COMING] = w * (nn_real)at_most(8, (double)load / (double)hope);
	x[STEP_AIMED_WORST] = load > others ? in_units(d, load - others) : 0;
}

static void energy_features(const berth_decoder *d, int32_t op, int32_t v, double least_j, nn_real *x)
{
	nn_real w = (nn_real)d->e->aim.energy;
	double more = berth_op_joules(d->e->p, op, v) - least_j;
	x[STEP_AIMED_ENERGY] = (nn_real)(more / d->energy_unit);
	x[STEP_AIMED_THRIFTY] = more <= 0 ? w : 0;
}

/* Those that are the same for all devices, from STEP_PRESSURE on. */
enum { SHARED = STEP_CRITICALITY + 1 - STEP_PRESSURE };

/* critical: how critical op is. */
static void shared_features(const berth_decoder *d, const berth_partial *part, int32_t op, int64_t hope,
                            double critical, nn_real shared[SHARED])
{
	shared[0] = in_units(d, d->around.queue_all_ns / d->e->n_devs);
	shared[STEP_PROGRESS - STEP_PRESSURE] = (nn_real)berth_partial_length_ns(part) / (nn_real)hope;
	shared[STEP_OWN - STEP_PRESSURE] = in_units(d, d->op_least_ns[op]);
	shared[STEP_FAN - STEP_PRESSURE] = (nn_real)d->around.fan;
	shared[STEP_CRITICALITY - STEP_PRESSURE] = (nn_real)critical;
}

static void around_features(const berth_decoder *d, int32_t v, const nn_real shared[SHARED], nn_real *x)
{
	const berth_around *a = &d->around;
	int64_t waits = d->start_ns[v] - d->end_ns[v];
	x[STEP_MATES] = (nn_real)a->mate_share[v];
	x[STEP_HEIRS_SLOWER] = (nn_real)a->heirs_slower[v];
	x[STEP_QUEUE] = in_units(d, a->queue_ns[v]);
	x[STEP_GAP] = in_units(d, waits > 0 ? waits : 0);
	BERTH_COPY(x + STEP_PRESSURE, shared, SHARED);
}

/* What is made of features that are squashed. critical: how critical the operator is. */
static void weigh_features(const berth_decoder *d, double critical, nn_real *x)
{
	nn_real load = (nn_real)d->e->aim.load;
	x[STEP_CRITICAL] = (nn_real)critical * x[STEP_LATER];
	x[STEP_GUIDED_CRITICAL] *= x[STEP_GUIDED_LATER];
	x[STEP_AIMED_ENERGY] *= (nn_real)d->e->aim.energy;
	x[STEP_AIMED_OVER] *= load;
	x[STEP_AIMED_WORST] *= load;
}

static void find_features(berth_decoder *d, berth_partial *part, int32_t op, least l)
{
	bool energy = d->e->aim.energy > 0 && d->e->p->has_energy;
	double least_j = energy ? least_energy(d->e->p, op) : 0;
	int64_t hope_load = d->e->aim.load > 0 ? hoped_load(d) : 1;
	bool guided_loads = d->e->aim.load > 0 && d->guide;
	heaviest heavy = guided_loads ? find_heaviest(d, op) : (heaviest){0};
	const berth_problem *p = d->e->p;
	nn_real shared[SHARED];
	int32_t largest;
	double bytes = find_inputs(d, op, &largest);
	int64_t hope = hoped_for(d, part);
	berth_around_look(&d->around, part, op);
	if (d->guide)
		find_guided_leaving(d, op);
	double own = (double)d->op_least_ns[op] + 0.1 * d->unit,
	       critical = at_most(2, (double)(p->op_rank_ns[op] + l.start) / (double)hope);
	const float *slower = BERTH_ROW(d->around.slower, op, p->n_devs);
	shared_features(d, part, op, hope, critical, shared);
	for (int32_t v = 0; v < p->n_devs; v++) {
		nn_real *x = BERTH_ROW(d->x, v, N_STEP);
		double full = p->memory_free ? -1 : fullness(part, p, v);
		BERTH_CLEAR(x, N_STEP);
		if (!d->mask[v])
			continue;
		int64_t later = d->finish_ns[v] - l.finish;
		x[STEP_LATER] = in_units(d, later);
		x[STEP_LATER_OF_OWN] = (nn_real)((double)later / own);
		x[STEP_STARTS_LATER] = in_units(d, d->start_ns[v] - l.start);
		x[STEP_REST_LATER] = in_units(d, d->whole_ns[v] - l.whole);
		x[STEP_ENDS_FIRST] = later == 0;
		x[STEP_REST_FIRST] = d->whole_ns[v] == l.whole;
		x[STEP_LOAD] = (nn_real)d->load_ns[v] / (nn_real)hope;
		x[STEP_END] = (nn_real)d->end_ns[v] / (nn_real)hope;
		x[STEP_INPUTS_HERE] = bytes > 0 ? (nn_real)(d->input_bytes[v] / bytes) : 0;
		x[STEP_SLOWER] = (nn_real)slower[v];
		if (full >= 0) {
			x[STEP_MEMORY] = (nn_real)at_most(4, full);
			x[STEP_FULL] = !berth_partial_holds(part, p->op_coloc[op], v);
		}
		x[STEP_LEAVING] = d->leaving[berth_cell(p, op, v)];
		x[STEP_TOO_LONG] = d->whole_ns[v] > hope ? in_units(d, d->whole_ns[v] - hope) : 0;
		x[STEP_WITH_PRODUCER] = v == largest;
		x[STEP_MOVED] = in_units(d, d->moves[v].sum_ns);
		if (p->s->contention)
			x[STEP_CHANNELS] =
				(nn_real)at_most(8, (double)d->moves[v].busiest_ns / (double)hope);
		around_features(d, v, shared, x);
		if (d->guide)
			guided_features(d, op, v, l, hope, x);
		if (d->e->aim.load > 0)
			load_features(d, op, v, hope_load, hope, x);
		if (guided_loads)
			guided_load_features(d, op, v, heavy, hope_load, x);
		if (energy)
			energy_features(d, op, v, least_j, x);
	}
	for (int32_t v = 0; v < p->n_devs; v++)
		for (int k = 0; k < N_SQUASHED; k++)
			BERTH_ROW(d->squash, v, N_SQUASHED)[k] = BERTH_ROW(d->x, v, N_STEP)[squashed[k]];
	nn_log1p((size_t)p->n_devs * N_SQUASHED, d->squash);
	for (int32_t v = 0; v < p->n_devs; v++) {
		nn_real *x = BERTH_ROW(d->x, v, N_STEP);
		for (int k = 0; k < N_SQUASHED; k++)
			x[squashed[k]] = BERTH_ROW(d->squash, v, N_SQUASHED)[k];
		weigh_features(d, critical, x);
	}
}

/* ---- choosing ---- */

static int32_t most_probable(const berth_decoder *d)
{
	int32_t best = -1;
	for (int32_t v = 0; v < d->e->n_devs; v++)
		if (d->mask[v] && (best < 0 || d->logits[v] > d->logits[best]))
			best = v;
	return best;
}

static int32_t draw(const berth_decoder *d, berth_rng *rng)
{
	double u = berth_rng_unit(rng), sum = 0;
	int32_t pick = -1;
	for (int32_t v = 0; v < d->e->n_devs && u >= sum; v++)
		if (d->mask[v]) {
			pick = v; /* the last legal one takes what rounding leaves over */
			sum += (double)EXP(d->logp[v]);
		}
	return pick;
}

static int32_t choose(berth_decoder *d, const policy_stepper *net, const berth_decode_how *how,
                      berth_partial *part, int32_t op, least l, berth_episode *trace)
{
	find_features(d, part, op, l);
	policy_step_logits(net, d->e->co.op_group[op], d->x, d->logits);
	if (!how->rng && !trace)
		return most_probable(d);
	/* Log-probabilities of the legal devices at temperature 1 / sharp. */
	nn_real sharp = (nn_real)(1 / how->temperature);
	nn_real most = d->logits[most_probable(d)], sum = 0;
	for (int32_t v = 0; v < d->e->n_devs; v++)
		if (d->mask[v])
			sum += EXP(sharp * (d->logits[v] - most));
	for (int32_t v = 0; v < d->e->n_devs; v++)
		if (d->mask[v])
			d->logp[v] = sharp * (d->logits[v] - most) - LOG(sum);
	int32_t dev = how->force ? how->force[op] : how->rng ? draw(d, how->rng) : most_probable(d);
	if (trace) {
		size_t i = (size_t)trace->n_steps++, devs = (size_t)d->e->n_devs;
		trace->node[i] = d->e->co.op_group[op];
		trace->action[i] = dev;
		trace->logp[i] = d->logp[dev];
		BERTH_COPY(trace->x + i * devs * N_STEP, d->x, devs * N_STEP);
		memcpy(trace->mask + i * devs, d->mask, devs);
	}
	return dev;
}

/* ---- the whole ---- */

static void begin(berth_decoder *d, const nn_real *keys, const berth_decode_how *how, berth_episode *trace)
{
	const berth_problem *p = d->e->p;
	d->guide = how->guide && how->guide->is_set ? how->guide : NULL;
	const int64_t *rank_ns = d->guide ? d->guide->rank_ns : p->op_rank_ns;
	BERTH_CLEAR(d->coming_ns, p->n_devs);
	for (int32_t op = 0; d->guide && op < p->n_ops; op++)
		d->coming_ns[d->guide->op_dev[op]] += berth_op_time(p, op, d->guide->op_dev[op]);
	for (int32_t op = 0; op < p->n_ops; op++) {
		double noise = how->rng && how->key_sigma > 0 ? berth_rng_normal(how->rng) : 0;
		double moved = (double)keys[d->e->co.op_group[op]] + how->key_sigma * noise;
		d->key[op] = rank_ns[op] + llround(fmin(fmax(moved * d->unit, -0x1p60), 0x1p60));
		if (trace)
			trace->noise[op] = (nn_real)noise;
	}
	BERTH_CLEAR(d->load_ns, p->n_devs);
	BERTH_CLEAR(d->end_ns, p->n_devs);
	berth_traffic_reset(&d->traffic);
	d->rest_ns = d->least_ns;
	if (trace)
		trace->n_steps = 0;
	berth_ready_start(&d->ready, d->key);
	berth_around_start(&d->around, &d->ready);
}

void berth_decode(berth_decoder *d, const policy_stepper *net, const berth_decode_how *how,
                  berth_partial *part, berth_episode *trace)
{
	begin(d, net->keys, how, trace);
	for (int32_t op; (op = berth_ready_next(&d->ready)) >= 0;) {
		int32_t dev = berth_partial_dev(part, op);
		berth_around_take(&d->around, &d->ready, op);
		least l = find_times(d, part, op, how->force ? how->force[op] : -1);
		if (!memchr(d->mask, 1, (size_t)d->e->n_devs)) { /* no device has room */
			dev = berth_partial_roomiest(part, d->e->p->op_coloc[op]);
			find_times(d, part, op, dev);
		}
		if (dev < 0)
			dev = choose(d, net, how, part, op, l, trace);
		berth_partial_place(part, op, dev, d->start_ns[dev]);
		berth_traffic_note(&d->traffic, op, dev, d->finish_ns[dev]);
		d->load_ns[dev] += berth_op_time(d->e->p, op, dev);
		d->end_ns[dev] = d->finish_ns[dev] > d->end_ns[dev] ? d->finish_ns[dev] : d->end_ns[dev];
		d->rest_ns -= d->op_least_ns[op];
		if (d->guide)
			d->coming_ns[d->guide->op_dev[op]] -=
				berth_op_time(d->e->p, op, d->guide->op_dev[op]);
	}
}
