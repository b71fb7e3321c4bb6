/* Improvement of a PBQP answer, never to a worse one. Both steps are built from the reductions.
 *
 * Keeping: random nodes stay as they are until the rest reduces exactly. This is a neighbourhood of all that
 * has treewidth two, where 1-opt moves one node.
 *
 * Fusing two answers: only nodes where they differ are open, with the two alternatives that they have. Fusing
 * with "alternative a everywhere" expands a label. That untangles problems whose edges like equal
 * alternatives. */
#include "pbqp_work.h"
#include "rng.h"

enum {
	SWEEPS = 2,           /* of pbqp_raise_bound, before RN decides anew */
	NODES_IN_ALL = 60000, /* that the rounds of improvement visit, within: */
	MIN_ROUNDS = 3,
	MAX_ROUNDS = 200,
	/* rounds of keeping in a row without gain, after which the bound is raised further */
	IDLE_ROUNDS = 8,
	IDLE_RENEWALS = 3 /* times that this is done in a row without gain */
};

/* Take over a candidate if it is cheaper. */
static void offer(const pbqp_work *w, const int32_t *candidate, int32_t *x, int64_t *cost)
{
	int64_t c = pbqp_work_cost(w, candidate);
	if (c >= *cost)
		return;
	*cost = c;
	BERTH_COPY(x, candidate, w->n_nodes);
}

/* Reduce an extract wholly by rn, in the order of sequence [sub->n_nodes] if not NULL, and write the choices
 * to x; KEEP keeps those of x. counts may be NULL. Memory from sub->mem. */
static berth_status answer(pbqp_work *sub, pbqp_rn rn, const int32_t *sequence, int32_t *x,
                           pbqp_counts *counts, berth_err *err)
{
	pbqp_reducer r;
	int32_t *x_sub;
	BERTH_TRY_NEW(sub->mem, sub->n_nodes, err, x_sub);
	BERTH_TRY(pbqp_reducer_new(sub, rn != PBQP_RN_KEEP, &r, err));
	r.sequence = sequence;
	/* x_outer at the nodes of w, in the alternatives of w; x_outer must be allowed there. */
	for (int32_t s = 0; s < sub->n_nodes; s++) {
		const int32_t *alt = sub->outer_alt + sub->cost_off[s];
		x_sub[s] = 0;
		while (x_sub[s] < sub->n_alts[s] - 1 && alt[x_sub[s]] != x[sub->outer_node[s]])
			x_sub[s]++;
	}
	BERTH_TRY(pbqp_reduce_all(&r, rn, x_sub, err));
	pbqp_propagate(&r, x_sub);
	pbqp_work_lift(sub, x_sub, x);
	if (counts)
		*counts = r.n_taken;
	return BERTH_OK;
}

/* Solve a part of w by rn and offer the answer. Memory from sub->mem. */
static berth_status solve_part(const pbqp_work *w, pbqp_work *sub, pbqp_rn rn, const int32_t *sequence,
                               int32_t *x, int64_t *cost, berth_err *err)
{
	int32_t *candidate;
	BERTH_TRY_NEW(sub->mem, w->n_nodes, err, candidate);
	BERTH_COPY(candidate, x, w->n_nodes);
	BERTH_TRY(answer(sub, rn, sequence, candidate, NULL, err));
	offer(w, candidate, x, cost);
	return BERTH_OK;
}

/* Let random nodes keep their alternatives and optimise all others exactly. */
static berth_status keep_some(const pbqp_work *w, berth_rng *rng, int32_t *x, int64_t *cost, berth_err *err)
{
	pbqp_work sub;
	int32_t *sequence;
	BERTH_SCRATCH(w->mem);
	BERTH_TRY(pbqp_work_extract(w, NULL, w->mem, &sub, err));
	BERTH_TRY_NEW(w->mem, sub.n_nodes, err, sequence);
	for (int32_t s = 0; s < sub.n_nodes; s++)
		sequence[s] = s;
	for (int32_t s = sub.n_nodes - 1; s > 0; s--) {
		int32_t t = (int32_t)berth_rng_below(rng, (uint32_t)s + 1), swap = sequence[s];
		sequence[s] = sequence[t];
		sequence[t] = swap;
	}
	return solve_part(w, &sub, PBQP_RN_KEEP, sequence, x, cost, err);
}

/* The best mixture of x and other that the reductions find. */
static berth_status fuse(const pbqp_work *w, const int32_t *other, int32_t *x, int64_t *cost, berth_err *err)
{
	pbqp_work sub;
	bool *keep;
	BERTH_SCRATCH(w->mem);
	offer(w, other, x, cost);
	BERTH_TRY_NEW(w->mem, w->cost_off[w->n_nodes], err, keep);
	for (int32_t v = 0; v < w->n_nodes; v++)
		keep[w->cost_off[v] + x[v]] = keep[w->cost_off[v] + other[v]] = true;
	BERTH_TRY(pbqp_work_extract(w, keep, w->mem, &sub, err));
	if (sub.base < BERTH_PBQP_INF)
		BERTH_TRY(solve_part(w, &sub, PBQP_RN_LATE, NULL, x, cost, err));
	return BERTH_OK;
}

berth_status pbqp_solve_rn(const pbqp_work *w, pbqp_rn rn, int32_t *x, pbqp_counts *counts, berth_err *err)
{
	pbqp_work sub;
	BERTH_SCRATCH(w->mem);
	BERTH_CLEAR(x, w->n_nodes);
	BERTH_TRY(pbqp_work_extract(w, NULL, w->mem, &sub, err));
	return answer(&sub, rn, NULL, x, counts, err);
}

berth_status pbqp_solve_both(const pbqp_work *w, int32_t *x, int64_t *cost, pbqp_counts *counts,
                             berth_err *err)
{
	pbqp_counts late;
	int32_t *other;
	BERTH_TRY_NEW(w->mem, w->n_nodes, err, other);
	BERTH_TRY(pbqp_solve_rn(w, PBQP_RN_EARLY, x, counts, err));
	BERTH_TRY(pbqp_solve_rn(w, PBQP_RN_LATE, other, &late, err));
	*cost = pbqp_work_cost(w, x);
	if (pbqp_work_cost(w, other) < *cost)
		*counts = late;
	return fuse(w, other, x, cost, err);
}

/* Rounds that a kernel is worth: about as much work for every size. */
static int32_t max_rounds(int32_t n_nodes)
{
	int32_t rounds = NODES_IN_ALL / (n_nodes + 1);
	return rounds < MIN_ROUNDS ? MIN_ROUNDS : rounds > MAX_ROUNDS ? MAX_ROUNDS : rounds;
}

/* The choice that gives every node the label, where it has it; x elsewhere. */
static void uniform_choice(const pbqp_work *w, int32_t label, const int32_t *x, int32_t *uniform)
{
	for (int32_t v = 0; v < w->n_nodes; v++) {
		uniform[v] = x[v];
		BERTH_EACH (at, w->cost_off, v)
			if (w->label[at] == label && w->cost[at] < BERTH_PBQP_INF)
				uniform[v] = at - w->cost_off[v];
	}
}

/* The rounds of improvement: each takes the step whose latest round gained most. */
typedef struct rounds {
	const pbqp_work *w;
	int32_t *x, *other; /* the answer; scratch */
	int64_t *cost;
	berth_rng rng;
	int32_t n_labels;
	int64_t *label_gain, keep_gain; /* [n_labels] a label not tried since the latest gain counts 1 */
} rounds;

/* One round: expand the label of the largest gain, if that is larger than what keeping gained last; else
 * keep. */
static berth_status one_round(rounds *r, berth_err *err)
{
	int64_t before = *r->cost;
	int32_t label = 0;
	for (int32_t l = 1; l < r->n_labels; l++)
		if (r->label_gain[l] > r->label_gain[label])
			label = l;
	bool expand = r->n_labels > 0 && r->label_gain[label] > r->keep_gain;
	if (expand) {
		uniform_choice(r->w, label, r->x, r->other);
		BERTH_TRY(fuse(r->w, r->other, r->x, r->cost, err));
	} else {
		BERTH_TRY(keep_some(r->w, &r->rng, r->x, r->cost, err));
	}
	if (*r->cost < before)
		for (int32_t l = 0; l < r->n_labels; l++)
			if (r->label_gain[l] == 0)
				r->label_gain[l] = 1;
	*(expand ? &r->label_gain[label] : &r->keep_gain) = before - *r->cost;
	return BERTH_OK;
}

/* Raise the bound of w further, let RN decide anew on the moved costs, and fuse. */
static berth_status renew(pbqp_work *w, int32_t *x, int64_t *cost, int32_t *other, berth_err *err)
{
	BERTH_TRY(pbqp_raise_bound(w, SWEEPS, err));
	if (*cost <= pbqp_lower_bound(w))
		return BERTH_OK;
	BERTH_TRY(pbqp_solve_rn(w, PBQP_RN_EARLY, other, NULL, err));
	return fuse(w, other, x, cost, err);
}

static berth_status improve(pbqp_work *w, int32_t *x, int64_t *cost, int32_t *other, berth_err *err)
{
	rounds r;
	int32_t idle = 0, renewals = 0;
	r = (rounds){
		.w = w, .x = x, .other = other, .cost = cost, .rng = berth_rng_seed(0, 0), .keep_gain = 1};
	for (int32_t at = 0; at < w->cost_off[w->n_nodes]; at++)
		if (w->label[at] >= r.n_labels)
			r.n_labels = w->label[at] + 1;
	BERTH_TRY_NEW(w->mem, r.n_labels, err, r.label_gain);
	for (int32_t label = 0; label < r.n_labels; label++) {
		uniform_choice(w, label, x, other);
		int64_t gain = *cost - pbqp_work_cost(w, other);
		r.label_gain[label] = gain > 1 ? gain : 1;
	}
	for (int32_t n = max_rounds(w->n_nodes); n > 0 && *cost > pbqp_lower_bound(w); n--) {
		int64_t before = *cost;
		if (idle < IDLE_ROUNDS + r.n_labels) {
			BERTH_TRY(one_round(&r, err));
		} else if (renewals++ < IDLE_RENEWALS) {
			BERTH_TRY(renew(w, x, cost, other, err));
			idle = 0;
		} else {
			break;
		}
		if (*cost < before)
			idle = renewals = 0;
		else
			idle++;
	}
	return BERTH_OK;
}

berth_status pbqp_solve_best(pbqp_work *w, int32_t *x, int64_t *cost, pbqp_counts *counts, berth_err *err)
{
	int32_t *other;
	BERTH_TRY_NEW(w->mem, w->n_nodes, err, other);
	BERTH_TRY(pbqp_solve_both(w, x, cost, counts, err));
	BERTH_TRY(renew(w, x, cost, other, err));
	return *cost < BERTH_PBQP_INF ? improve(w, x, cost, other, err) : BERTH_OK;
}
