/* `pbqp` and `ceft-pbqp`: placement as a partitioned Boolean quadratic problem (Anderson & Gregg, CGO 2018,
 * for the layers of networks; Huang, Fu & Hsu, SAMOS 2019, for placements with CEFT). Of the second paper
 * only the abstract could be read: this is a reconstruction.
 *
 * The sum that a PBQP minimises is work and transfers. That is no run time: on equal devices it is least on a
 * single one. So the problem is solved in rounds under different prices (pbqp_place.h), each answer is
 * simulated, and the best one is kept:
 *   1. the plain problem: times and transfer times
 *   2. price vectors that refer in turn to two schedules: the plain answer with nothing waiting for a device,
 *      and a list schedule (as HEFT makes it)
 *   3. price vectors that refer to the best simulated answer so far. Devices with more than the mean load are
 *      dearer. Only a part of the operators, next to one another in topological order, may move: all at once
 *      would leave the busiest device together.
 * A device that an answer filled beyond its memory asks a price per byte from then on. The best placement is
 * also scheduled and offered with that order.
 *
 * Throughput: 3. prices loads of devices and channels by how near they are to the largest. Energy, EDP and
 * power: joules above idling are added to the prices, which is exact. The rest is the time that idling
 * devices or the product take from latency.
 *
 * `ceft-pbqp` pins the colocation groups of the CEFT critical path to the path's devices in 1. and 2.; rounds
 * 3. are free of them. */
#include "ceft.h"
#include "coloc.h"
#include "method.h"
#include "partial.h"
#include "pbqp_place.h"
#include "seeds.h"

/* Chosen greedily among 240 on twelve zoo models on each built-in system: each adds most to the best of
 * those before it. */
static const pbqp_vector unhindered_vector[] = {{.5, .3, 1, .5},  {0, .1, .5, 1},    {0, 1, 1, .5},
                                                {1, .03, .5, .5}, {.5, .03, .25, 1}, {.5, 1, .5, 1},
                                                {1, 1, 2, .5}};
static const pbqp_vector scheduled_vector[] = {{.5, .1, 2, .5},  {.5, .03, 2, 1}, {1, 1, 2, .5},
                                               {1, .03, .5, .5}, {0, 1, 2, .5},   {.5, .3, 2, .5},
                                               {0, .1, .5, .5}};
static const pbqp_vector plain_vector = {0, 1, 0, 1};

enum {
	N_VECTORS = 7,     /* of each list */
	N_FREE_ROUNDS = 24,
	MIN_ROUNDS = 5,
	N_POWER_ROUNDS = 4,
	BLOCK_SHARE = 6    /* one in so many operators may move in rounds 3 */
};
#define MAX_ENTRIES 0x1p28  /* of matrices in all rounds together; fewer rounds where there would be more */
#define LOAD_GAIN                                                                                            \
	3.0 /* price of a device: exp(gain * (its load - mean load)), loads as parts of the latency */
#define LOAD_SHARPNESS 6.0  /* throughput: price of a load: (load / largest) to this power */

typedef struct rounds {
	berth_search *s;
	const berth_problem *p;
	pbqp_place m;
	pbqp_pricer x;
	double idle_watts;       /* of all devices; 0 where not known */
	double byte_price;       /* that doubles the price of everything */
	int32_t *op_dev;         /* [n_ops] the latest answer */
	int32_t *plain_dev;      /* [n_ops] the answer of round 1 */
	double *dev_load_price;  /* [n_devs] of the load dual */
	berth_partial *list;     /* the list schedule */
	int32_t *list_dev;
	berth_rng rng;

	berth_score best;        /* the best answer, and how the simulator ran it */
	int32_t *best_dev;
	int64_t *best_start_ns, *best_end_ns, *best_dev_ns, *best_channel_ns;
	double best_length_ns;
} rounds;

/* ---- weights of the objective ---- */

/* Adds the weights of one metric: of a second of latency, and of a joule above idle. As EDP = E T, its change
 * is T dE + E dT, and dE has idle_watts dT in it. */
static void weigh_metric(const rounds *r, berth_metric m, double weight, double seconds,
                         double *second_weight, double *joule_weight)
{
	const berth_metric_row *row = &berth_metrics[m];
	double mean_watts = seconds > 0 ? r->best.value / (seconds * seconds) : r->idle_watts;
	bool alone = berth_objective_is(&r->s->cfg.objective, m);
	double scale = weight;
	if (!row->of_energy && !row->of_time)
		return; /* memory has a price of its own */
	if (!row->of_energy) {
		*second_weight += weight;
		return;
	}
	/* Alone, all that is multiplied by the latency is divided by it. */
	if (row->of_time && !alone)
		scale = row->of_time > 0 ? weight * fmax(seconds, 1e-9) : weight / fmax(seconds, 1e-9);
	*joule_weight += scale;
	if (row->of_time == 0)
		*second_weight += scale * r->idle_watts;
	if (row->of_time > 0)
		*second_weight += scale * (r->idle_watts + (alone ? mean_watts : r->idle_watts));
}

/* Weight of latency against joules above idle; of latency alone, 1 a nanosecond. */
static void weigh(rounds *r)
{
	const berth_objective *o = &r->s->cfg.objective;
	double seconds = isfinite(r->best.value) ? r->best_length_ns * 1e-9 : 0, second_weight = 0,
	       joule_weight = 0;
	for (int m = 0; m < BERTH_N_METRICS; m++)
		if (o->sums[m] || berth_objective_is(o, (berth_metric)m))
			weigh_metric(r, (berth_metric)m, o->sums[m] ? o->weight[m] : 1, seconds,
			             &second_weight, &joule_weight);
	r->x.ns_weight = joule_weight > 0 ? second_weight * 1e-9 : 1;
	r->x.joule_weight = joule_weight;
}

/* ---- answers ---- */

/* Was device d, or its memory pool, filled beyond its limit by the latest answer? */
static bool is_overfull(const rounds *r, int32_t d)
{
	const berth_sim *sim = r->s->eval[0].sim;
	int64_t own = r->p->dev_limit_bytes[d], pool = berth_dev_pool_bytes(r->p, d);
	return (own >= 0 && berth_sim_last(sim).peak_bytes[d] > own) ||
	       (pool >= 0 && berth_sim_last(sim).pool_peak_bytes[berth_dev_pool(r->p, d)] > pool);
}

/* Simulate the latest answer, unless it is the best one again. */
static void consider(rounds *r)
{
	size_t n = (size_t)r->p->n_ops;
	const berth_sim *sim = r->s->eval[0].sim;
	if (isfinite(r->best.value) && memcmp(r->op_dev, r->best_dev, n * sizeof *r->op_dev) == 0)
		return;
	berth_score score = berth_search_offer(r->s, r->op_dev, NULL);
	double scale = r->x.ns_weight > 0 ? r->x.ns_weight : 1e-9;
	for (int32_t d = 0; d < r->p->n_devs && !r->p->memory_free; d++)
		if (is_overfull(r, d))
			r->x.dev_byte_weight[d] =
				fmax(2 * r->x.dev_byte_weight[d], scale * r->byte_price / 4);
	if (!berth_score_less(score, r->best))
		return;
	r->best = score;
	BERTH_COPY(r->best_dev, r->op_dev, n);
	BERTH_COPY(r->best_start_ns, berth_sim_last(sim).start_ns, n);
	BERTH_COPY(r->best_end_ns, berth_sim_last(sim).end_ns, n);
	BERTH_COPY(r->best_dev_ns, berth_sim_last(sim).dev_time_ns, r->p->n_devs);
	BERTH_COPY(r->best_channel_ns, berth_sim_last(sim).channel_ns, r->p->s->n_channels);
	r->best_length_ns = 0;
	for (int32_t op = 0; op < r->p->n_ops; op++)
		r->best_length_ns = fmax(r->best_length_ns, (double)r->best_end_ns[op]);
}

/* Joules add up as the plain problem does. Else the sum stands for a run time, and a better sum is not a
 * better run: on 80 pairs of models and systems improving it cost 2.4 times the work for 1.004 times the
 * latency. */
static berth_status answer(rounds *r, const pbqp_vector *v, berth_arena *tmp, berth_err *err)
{
	r->x.mode = v == &plain_vector && r->x.joule_weight > 0 ? BERTH_PBQP_BEST : BERTH_PBQP_RN_BOTH;
	BERTH_TRY(pbqp_pricer_place(&r->x, v, r->op_dev, tmp, err));
	consider(r);
	return BERTH_OK;
}

/* ---- the rounds ---- */

/* Round 1; where idling has a price, also without it. */
static berth_status plain_round(rounds *r, berth_arena *tmp, berth_err *err)
{
	weigh(r);
	if (r->x.joule_weight > 0 && r->x.ns_weight > 0) {
		double ns_weight = r->x.ns_weight;
		r->x.ns_weight = 0;
		BERTH_TRY(answer(r, &plain_vector, tmp, err));
		r->x.ns_weight = ns_weight;
	}
	BERTH_TRY(answer(r, &plain_vector, tmp, err));
	const berth_metric_row *m = berth_objective_metric(&r->s->cfg.objective);
	if (m && m->of_time < 0) {
		/* Power is a quotient of two sums, if all operators run one after the other. Its least value
		 * is where the numerator less that value times the denominator is least (Dinkelbach 1967). */
		for (int32_t k = 0; k < N_POWER_ROUNDS && isfinite(r->best.value); k++) {
			r->x.rebate_watts = fmax(r->best.value - r->idle_watts, 0);
			BERTH_TRY(answer(r, &plain_vector, tmp, err));
		}
	}
	BERTH_COPY(r->plain_dev, r->op_dev, r->p->n_ops);
	weigh(r);
	return BERTH_OK;
}

static berth_status vector_round(rounds *r, int32_t k, berth_arena *tmp, berth_err *err)
{
	if (k % 2 == 0) {
		BERTH_TRY(pbqp_pricer_schedule(&r->x, r->list_dev, berth_partial_start_ns(r->list),
		                               berth_partial_end_ns(r->list), tmp, err));
		return answer(r, &scheduled_vector[k / 2], tmp, err);
	}
	BERTH_TRY(pbqp_pricer_unhindered(&r->x, r->plain_dev, tmp, err));
	return answer(r, &unhindered_vector[k / 2], tmp, err);
}

static double dev_load_ns(const rounds *r, int32_t d)
{
	return (double)r->best_dev_ns[d] / r->p->s->dev_slots[d];
}

static berth_status free_round(rounds *r, int32_t k, berth_arena *tmp, berth_err *err)
{
	BERTH_TRY(pbqp_pricer_schedule(&r->x, r->best_dev, r->best_start_ns, r->best_end_ns, tmp, err));
	weigh(r);
	const berth_metric_row *m = berth_objective_metric(&r->s->cfg.objective);
	if (m && m->by_load) {
		/* Throughput: no weight on latency; loads near the largest are dear, and none is free. */
		const berth_system *s = r->p->s;
		double most = 1;
		for (int32_t d = 0; d < s->n_devs; d++)
			most = fmax(most, dev_load_ns(r, d));
		for (int32_t c = 0; c < s->n_channels && s->contention; c++)
			most = fmax(most, (double)r->best_channel_ns[c]);
		r->x.ns_weight = 0;
		for (int32_t d = 0; d < s->n_devs; d++)
			r->x.dev_ns_weight[d] = 0.01 + pow(dev_load_ns(r, d) / most, LOAD_SHARPNESS);
		for (int32_t c = 0; c < s->n_channels && s->contention; c++)
			r->x.channel_ns_weight[c] =
				0.01 + pow((double)r->best_channel_ns[c] / most, LOAD_SHARPNESS);
	} else {
		double mean = 0, length = fmax(r->best_length_ns, 1);
		for (int32_t d = 0; d < r->p->n_devs; d++)
			mean += dev_load_ns(r, d) / length / r->p->n_devs;
		for (int32_t d = 0; d < r->p->n_devs; d++)
			r->x.dev_load_price[d] =
				r->dev_load_price[d] * exp(LOAD_GAIN * (dev_load_ns(r, d) / length - mean));
	}
	/* Only colocation groups that begin in a random stretch of the topological order, taken as a ring,
	 * may leave the best placement. */
	int32_t n = r->p->n_ops, size = n / BLOCK_SHARE + 1,
		first = (int32_t)berth_rng_below(&r->rng, (uint32_t)n);
	for (int32_t u = 0; u < r->p->n_colocs; u++) {
		int32_t at = r->p->g->op_topo[r->p->coloc_op[r->p->coloc_off[u]]];
		r->x.coloc_pin[u] = (at - first + n) % n < size ? -1 : berth_coloc_dev(r->p, u, r->best_dev);
	}
	return answer(r, &scheduled_vector[k % N_VECTORS], tmp, err);
}

/* Offer the best placement with the order of a list schedule of it. */
static berth_status offer_order(rounds *r, berth_arena *tmp, berth_err *err)
{
	int32_t *order;
	BERTH_TRY_NEW(tmp, r->p->n_ops, err, order);
	berth_partial_reset(r->list);
	for (int32_t u = 0; u < r->p->n_colocs; u++)
		berth_partial_bind(r->list, u, berth_coloc_dev(r->p, u, r->best_dev));
	BERTH_TRY(berth_partial_schedule(r->list, r->p->op_rank_ns, tmp, err));
	berth_partial_order(r->list, order);
	berth_search_offer(r->s, r->best_dev, order);
	return BERTH_OK;
}

static int32_t count_rounds(const rounds *r)
{
	double n = r->p->n_devs, entries = ((double)r->m.n_uses + 3.0 * r->p->n_ops) * n * n + 1,
	       most = MAX_ENTRIES / entries;
	int32_t all = 2 * N_VECTORS + N_FREE_ROUNDS;
	if (!(r->x.ns_weight > 0) || !berth_can_move(r->p))
		return 0; /* the plain problem is all there is */
	return most < MIN_ROUNDS ? MIN_ROUNDS : most > all ? all : (int32_t)most;
}

/* ---- set-up ---- */

static berth_status new_rounds(rounds *r, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = r->p;
	r->best = berth_score_worst();
	r->rng = berth_rng_seed(r->s->cfg.seed, BERTH_STREAM_METHOD);
	BERTH_TRY(pbqp_place_new(p, tmp, &r->m, err));
	BERTH_TRY(pbqp_pricer_new(&r->m, tmp, &r->x, err));
	int32_t n = r->p->n_ops, n_devs = r->p->n_devs;
	BERTH_TRY_NEW(tmp, n, err, r->op_dev, r->plain_dev, r->list_dev);
	BERTH_TRY_NEW(tmp, n_devs, err, r->dev_load_price);
	BERTH_TRY_NEW(tmp, n, err, r->best_dev, r->best_start_ns, r->best_end_ns);
	BERTH_TRY_NEW(tmp, n_devs, err, r->best_dev_ns);
	BERTH_TRY_NEW(tmp, r->p->s->n_channels, err, r->best_channel_ns);
	BERTH_COPY(r->dev_load_price, r->x.dev_load_price, p->n_devs);
	/* Mean price of a byte if all bytes cost what all least times do. */
	double ns = 0, bytes = 1;
	for (int32_t op = 0; op < r->p->n_ops; op++)
		ns += (double)r->p->op_mean_ns[op];
	for (int32_t u = 0; u < r->p->n_colocs; u++)
		bytes += (double)r->x.coloc_bytes[u];
	r->byte_price = fmax(ns, 1) / bytes;
	for (int32_t d = 0; d < p->n_devs && p->has_energy; d++)
		r->idle_watts += p->s->dev_idle_w[d];
	for (int32_t op = 0; op < p->n_ops; op++) /* legal, should no round have an answer */
		r->op_dev[op] = r->m.alt_dev[r->m.alt_off[p->op_coloc[op]]];
	return berth_partial_new(p, tmp, &r->list, err);
}

static berth_status pbqp_run(berth_search *s, bool path, berth_arena *tmp, berth_err *err)
{
	rounds r = {.s = s, .p = s->p};
	BERTH_TRY(new_rounds(&r, tmp, err));
	if (path) {
		/* Pin the colocation groups of the CEFT critical path to its devices, in the prices and in
		 * the list schedule. A colocation group that the path has on two devices keeps the later
		 * one. */
		berth_ceft c;
		BERTH_TRY(berth_ceft_new(r.p, tmp, &c, err));
		for (berth_ceft_step at = c.end; at.op >= 0; at = berth_ceft_before(&c, at)) {
			int32_t u = r.p->op_coloc[at.op];
			if (berth_partial_dev(r.list, at.op) < 0 && pbqp_place_has(&r.m, u, at.dev) &&
			    berth_partial_fits(r.list, u, at.dev)) {
				berth_partial_bind(r.list, u, at.dev);
				r.x.coloc_pin[u] = at.dev;
			}
		}
	}
	BERTH_TRY(berth_partial_schedule(r.list, r.p->op_rank_ns, tmp, err));
	berth_partial_devs(r.list, r.list_dev);
	r.s->worked_ns += berth_seed_list_ns(r.p) + berth_seed_pbqp_round_ns(r.p);
	BERTH_TRY(plain_round(&r, tmp, err));
	int32_t n = count_rounds(&r);
	for (int32_t k = 0; k < n && berth_search_afford(r.s, berth_seed_pbqp_round_ns(r.p)); k++)
		BERTH_TRY(k < 2 * N_VECTORS ? vector_round(&r, k, tmp, err)
		                            : free_round(&r, k - 2 * N_VECTORS, tmp, err));
	return berth_search_afford(r.s, berth_seed_list_ns(r.p)) ? offer_order(&r, tmp, err) : BERTH_OK;
}

static berth_status run_pbqp(berth_search *s, berth_arena *tmp, berth_err *err)
{
	return pbqp_run(s, false, tmp, err);
}

static berth_status run_ceft_pbqp(berth_search *s, berth_arena *tmp, berth_err *err)
{
	return pbqp_run(s, true, tmp, err);
}

const berth_method berth_method_pbqp = {
	"pbqp",
	"PBQP over units under changing prices, the best of about 40 answers (after Anderson, Gregg 2018).",
	false, run_pbqp, NULL, "Anderson, Gregg, CGO 2018"};
const berth_method berth_method_ceft_pbqp = {
	"ceft-pbqp", "PBQP with the CEFT critical path pinned (after Huang, Fu, Hsu 2019).", false,
	run_ceft_pbqp, NULL, "Huang, Fu, Hsu, SAMOS 2019"};
