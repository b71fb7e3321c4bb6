/* Stages of a chain of blocks. The chain is cut into at most MOST_PIECES pieces of about equal weight. A
 * state of the dynamic program is the number of stages so far, the pieces that they cover and the last
 * device. Memory of a stage is what its pieces keep, and a part of what passes through them. Devices come in
 * a fixed order and none twice, so that what a stage holds is all that its device holds: few devices in every
 * order, more in some. One more answer lets devices come twice, and does not know what they hold in all. Then
 * borders are moved, stages are taken to other devices, and devices exchanged, by real scores, as long as
 * that improves. */
#include "stages.h"

#include "coloc.h"
#include "constraints.h"

enum { MOST_PIECES = 64, EVERY_ORDER = 4, N_ORDERS = 5 };
#define NEVER 1e300

typedef struct stages {
	berth_search *s;
	const berth_problem *p;
	const int32_t *wanted;   /* [n_ops] or NULL */
	int32_t n, n_devs, most; /* pieces, devices, stages at most */
	bool load;               /* the longest stage counts, not the sum */
	int32_t *order, *op_chain, *chain_piece;
	double *time;           /* [n][n_devs] ns; below 0: not legal there */
	double *away;           /* [n][n_devs] ns of operators that are wanted elsewhere */
	double *kept, *passing; /* [n] bytes */
	double *move; /* [n][n_devs][n_devs] ns of tensors that cross the border in front of the piece */
	double *cost; /* [most + 1][n + 1][n_devs] */
	int32_t *from, *from_dev;
	int32_t *piece_dev, *trial;       /* [n]; [n_ops] */
	int32_t *chain_dev, *chain_trial; /* [n_chain] */
} stages;

/* ---- pieces ---- */

/* Weight is half time, half memory, so that neither makes a piece too large. */
static berth_status cut_pieces(stages *x, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = x->p;
	double *weight, time = 1, bytes = 1, sum = 0;
	int64_t *coloc_bytes;
	BERTH_TRY_NEW(tmp, p->n_chain, err, weight);
	BERTH_TRY_NEW(tmp, p->n_colocs, err, coloc_bytes);
	berth_coloc_bytes(p, coloc_bytes);
	for (int32_t op = 0; op < p->n_ops; op++)
		time += (double)p->op_mean_ns[op];
	for (int32_t k = 0; k < p->n_chain; k++)
		bytes += (double)coloc_bytes[p->chain_coloc[k]];
	for (int32_t op = 0; op < p->n_ops; op++)
		weight[x->op_chain[op]] += 0.5 * (double)p->op_mean_ns[op] / time;
	for (int32_t k = 0; k < p->n_chain; k++) {
		weight[k] += 0.5 * (double)coloc_bytes[p->chain_coloc[k]] / bytes;
		sum += weight[k];
		int32_t piece = p->n_chain <= MOST_PIECES ? k : (int32_t)(sum * (MOST_PIECES - 1));
		bool next = k == 0 || piece > x->chain_piece[k - 1];
		x->chain_piece[k] = k == 0 ? 0 : next ? x->n : x->chain_piece[k - 1];
		x->n += next;
	}
	return BERTH_OK;
}

static int32_t piece_of(const stages *x, int32_t op)
{
	return x->chain_piece[x->op_chain[op]];
}

static void fill_piece(stages *x, int32_t op)
{
	const berth_graph *g = x->p->g;
	size_t row = (size_t)piece_of(x, op) * (size_t)x->n_devs;
	double passing = (double)g->op_workspace_bytes[op], *most = &x->passing[piece_of(x, op)];
	for (int32_t d = 0; d < x->n_devs; d++) {
		double *time = &x->time[row + (size_t)d];
		*time = *time < 0 || !berth_op_legal(x->p, op, d)
		                ? -1
		                : *time + (double)berth_op_time(x->p, op, d);
		if (x->wanted && x->wanted[op] != d)
			x->away[row + (size_t)d] += (double)x->p->op_mean_ns[op];
	}
	x->kept[piece_of(x, op)] += (double)berth_kept_bytes(x->p, op);
	BERTH_EACH (i, g->op_param_off, op)
		x->kept[piece_of(x, op)] += (double)g->param_bytes[g->op_param[i]];
	BERTH_EACH (t, g->op_tensor_off, op)
		passing += (double)g->tensor_bytes[t];
	BERTH_EACH (i, g->op_in_off, op)
		passing += (double)g->tensor_bytes[g->in_tensor[i]];
	*most = passing > *most ? passing : *most;
}

static berth_status fill(stages *x, berth_arena *tmp, berth_err *err)
{
	size_t n = (size_t)x->n, d = (size_t)x->n_devs, cells = ((size_t)x->most + 1) * (n + 1) * d;
	BERTH_TRY_NEW(tmp, n * d, err, x->time, x->away);
	BERTH_TRY_NEW(tmp, n, err, x->kept, x->passing);
	BERTH_TRY_NEW(tmp, n * d * d, err, x->move);
	BERTH_TRY_NEW(tmp, cells, err, x->cost, x->from, x->from_dev);
	BERTH_TRY_NEW(tmp, n, err, x->piece_dev);
	for (int32_t op = 0; op < x->p->n_ops; op++)
		fill_piece(x, op);
	for (int32_t t = 0; t < x->p->g->n_tensors; t++) {
		/* A tensor crosses the borders between its producer and its last consumer, either way. */
		const berth_graph *g = x->p->g;
		int32_t first = piece_of(x, g->tensor_producer[t]), last = first;
		BERTH_EACH (e, g->tensor_use_off, t) {
			int32_t piece = piece_of(x, g->edge_consumer[e]);
			last = piece > last ? piece : last;
		}
		for (int32_t i = first + 1; i <= last; i++)
			for (int32_t a = 0; a < x->n_devs; a++)
				for (int32_t b = 0; b < x->n_devs; b++)
					x->move[((size_t)i * (size_t)x->n_devs + (size_t)a) *
					                (size_t)x->n_devs +
					        (size_t)b] += (double)berth_transfer_ns(x->p, t, a, b);
	}
	return BERTH_OK;
}

/* ---- the dynamic program ---- */

typedef struct question {
	bool nearest;        /* to what is wanted */
	bool again;          /* devices may come twice */
	double passing;      /* part of what passes that a stage has to hold */
	const int32_t *rank; /* [n_devs] place of a device in the order */
} question;

static size_t cell(const stages *x, int32_t stage, int32_t pieces, int32_t dev)
{
	return ((size_t)stage * ((size_t)x->n + 1) + (size_t)pieces) * (size_t)x->n_devs + (size_t)dev;
}

/* The cheapest state that a stage on dev can follow, with `pieces` covered by `stage` stages. *before = its
 * device. */
static double entry(const stages *x, const question *q, int32_t stage, int32_t pieces, int32_t dev,
                    int32_t *before)
{
	double best = NEVER;
	if (stage == 0)
		return pieces == 0 ? 0 : NEVER;
	for (int32_t d = 0; d < x->n_devs && pieces < x->n; d++) {
		double cost = x->cost[cell(x, stage, pieces, d)];
		if (d == dev || cost >= NEVER || (!q->again && q->rank[d] >= q->rank[dev]))
			continue;
		double move = x->move[((size_t)pieces * (size_t)x->n_devs + (size_t)d) * (size_t)x->n_devs +
		                      (size_t)dev];
		cost += q->nearest || x->load ? 1e-3 * move : move;
		if (cost < best) {
			best = cost;
			*before = d;
		}
	}
	return best;
}

/* All states that a stage on dev reaches from one. */
static void extend(const stages *x, const question *q, int32_t stage, int32_t first, int32_t dev,
                   double before, int32_t before_dev)
{
	double limit = x->p->dev_limit_bytes[dev] < 0 ? NEVER : (double)x->p->dev_limit_bytes[dev], time = 0,
	       kept = 0, passing = 0;
	for (int32_t i = first; i < x->n; i++) {
		size_t at = (size_t)i * (size_t)x->n_devs + (size_t)dev, to = cell(x, stage + 1, i + 1, dev);
		if (x->time[at] < 0)
			return;
		time += q->nearest ? x->away[at] + 1e-3 * x->time[at] : x->time[at];
		kept += x->kept[i];
		passing = x->passing[i] > passing ? x->passing[i] : passing;
		if (kept + q->passing * passing > limit)
			return;
		double cost = !x->load ? before + time : before > time ? before : time;
		if (cost < x->cost[to]) {
			x->cost[to] = cost;
			x->from[to] = first;
			x->from_dev[to] = before_dev;
		}
	}
}

/* The cheapest stages into x->piece_dev; NEVER: there are none. */
static double solve(stages *x, const question *q)
{
	size_t cells = ((size_t)x->most + 1) * ((size_t)x->n + 1) * (size_t)x->n_devs;
	double best = NEVER;
	int32_t stage = 0, dev = 0, end = x->n;
	for (size_t i = 0; i < cells; i++)
		x->cost[i] = NEVER;
	for (int32_t k = 0; k < x->most; k++)
		for (int32_t i = 0; i < x->n; i++)
			for (int32_t d = 0; d < x->n_devs; d++) {
				int32_t before_dev = -1;
				double before = entry(x, q, k, i, d, &before_dev);
				if (before < NEVER)
					extend(x, q, k, i, d, before, before_dev);
			}
	for (int32_t k = 1; k <= x->most; k++)
		for (int32_t d = 0; d < x->n_devs; d++)
			if (x->cost[cell(x, k, x->n, d)] < best) {
				best = x->cost[cell(x, k, x->n, d)];
				stage = k;
				dev = d;
			}
	for (; best < NEVER && stage > 0; stage--) {
		size_t at = cell(x, stage, end, dev);
		for (int32_t i = x->from[at]; i < end; i++)
			x->piece_dev[i] = dev;
		end = x->from[at];
		dev = x->from_dev[at];
	}
	return best;
}

/* ---- orders of devices ---- */

/* Order number k into rank [n_devs]; false: no more. */
static bool every_order(const stages *x, int32_t k, int32_t *rank)
{
	int32_t taken[EVERY_ORDER] = {0};
	for (int32_t i = 0; i < x->n_devs; i++) {
		int32_t left = x->n_devs - i, skip = k % left, d = 0;
		k /= left;
		while (taken[d] || skip--)
			d++;
		taken[d] = 1;
		rank[d] = i;
	}
	return k == 0;
}

/* By index, by speed, by memory, each way but the last. */
static bool some_order(const stages *x, int32_t k, int32_t *rank)
{
	for (int32_t d = 0; d < x->n_devs && k < N_ORDERS; d++) {
		rank[d] = 0;
		for (int32_t o = 0; o < x->n_devs; o++) {
			double a = d, b = o;
			for (int32_t i = 0; i < x->n && (k == 2 || k == 3); i++) {
				a += x->time[(size_t)i * (size_t)x->n_devs + (size_t)d] * 1e6;
				b += x->time[(size_t)i * (size_t)x->n_devs + (size_t)o] * 1e6;
			}
			if (k == 4) {
				int64_t da = x->p->dev_limit_bytes[d], db = x->p->dev_limit_bytes[o];
				a -= da < 0 ? NEVER : (double)da * 1e3;
				b -= db < 0 ? NEVER : (double)db * 1e3;
			}
			rank[d] += k == 1 || k == 3 ? b > a || (b >= a && o < d) : b < a || (b <= a && o < d);
		}
	}
	return k < N_ORDERS;
}

/* The cheapest over all orders, into x->piece_dev. */
static berth_status solve_orders(stages *x, question *q, bool *found, berth_arena *tmp, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	int32_t *rank, *kept;
	double best = NEVER;
	BERTH_TRY_NEW(tmp, x->n_devs, err, rank);
	BERTH_TRY_NEW(tmp, x->n, err, kept);
	q->rank = rank;
	for (int32_t k = 0; x->n_devs <= EVERY_ORDER ? every_order(x, k, rank) : some_order(x, k, rank);
	     k++) {
		double cost = solve(x, q);
		if (cost < best) {
			best = cost;
			BERTH_COPY(kept, x->piece_dev, x->n);
		}
		if (q->again)
			break;
	}
	*found = best < NEVER;
	if (*found)
		BERTH_COPY(x->piece_dev, kept, x->n);
	return BERTH_OK;
}

/* ---- scores ---- */

/* A group that comes several times goes where it comes first. */
static void spread(const stages *x, const int32_t *chain_dev, int32_t *op_dev)
{
	for (int32_t k = x->p->n_chain - 1; k >= 0; k--)
		if (berth_coloc_legal(x->p, x->p->chain_coloc[k], chain_dev[k]))
			berth_coloc_put(x->p, x->p->chain_coloc[k], chain_dev[k], op_dev);
}

static berth_score score_of(const stages *x, const int32_t *chain_dev)
{
	spread(x, chain_dev, x->trial);
	return berth_search_offer(x->s, x->trial, NULL);
}

/* Keep chain_trial if it is better. */
static bool consider(stages *x, berth_score *best)
{
	berth_score score = score_of(x, x->chain_trial);
	if (!berth_score_less(score, *best))
		return false;
	*best = score;
	BERTH_COPY(x->chain_dev, x->chain_trial, x->p->n_chain);
	return true;
}

static berth_status answer(stages *x, bool nearest, bool again, berth_score *best, berth_arena *tmp,
                           berth_err *err)
{
	static const double passing[] = {1, 0, 2, 4};
	for (int i = 0; i < 4; i++) {
		question q = {.nearest = nearest, .again = again, .passing = passing[i]};
		bool found;
		BERTH_TRY(solve_orders(x, &q, &found, tmp, err));
		for (int32_t k = 0; k < x->p->n_chain && found; k++)
			x->chain_trial[k] = x->piece_dev[x->chain_piece[k]];
		if (found && consider(x, best) && berth_score_feasible(*best))
			return BERTH_OK;
		if (again || (found && i == 0 && x->p->memory_free))
			return BERTH_OK;
	}
	return BERTH_OK;
}

/* ---- moves of borders ---- */

static bool may_try(const stages *x, int64_t *left)
{
	return (*left)-- > 0 && berth_search_budget_left(x->s, 1) > 0;
}

static int32_t stage_end(const stages *x, int32_t at)
{
	int32_t end = at + 1;
	while (end < x->p->n_chain && x->chain_dev[end] == x->chain_dev[at])
		end++;
	return end;
}

/* Blocks [first, end) to dev, the rest as it is. */
static void try_put(stages *x, int32_t first, int32_t end, int32_t dev)
{
	BERTH_COPY(x->chain_trial, x->chain_dev, x->p->n_chain);
	for (int32_t k = first; k < end; k++)
		x->chain_trial[k] = dev;
}

/* The border in front of place `at`, by 1, 2, 4 ... blocks each way. */
static bool move_border(stages *x, int32_t at, berth_score *best, int64_t *left)
{
	int32_t n = x->p->n_chain;
	for (int32_t step = 1; step < n; step *= 2) {
		if (at - step >= 0 && may_try(x, left)) {
			try_put(x, at - step, at, x->chain_dev[at]);
			if (consider(x, best))
				return true;
		}
		if (at + step <= n && may_try(x, left)) {
			try_put(x, at, at + step, x->chain_dev[at - 1]);
			if (consider(x, best))
				return true;
		}
	}
	return false;
}

/* The stage [first, end) to another device, which takes this one's in exchange if it has a stage. */
static bool move_stage(stages *x, int32_t first, int32_t end, berth_score *best, int64_t *left)
{
	int32_t from = x->chain_dev[first];
	for (int32_t d = 0; d < x->n_devs; d++) {
		bool other = false;
		if (d == from || !may_try(x, left))
			continue;
		try_put(x, first, end, d);
		if (consider(x, best))
			return true;
		for (int32_t k = 0; k < x->p->n_chain; k++) {
			other |= x->chain_dev[k] == d;
			x->chain_trial[k] = x->chain_dev[k] == d      ? from
			                    : x->chain_dev[k] == from ? d
			                                              : x->chain_dev[k];
		}
		if (other && may_try(x, left) && consider(x, best))
			return true;
	}
	return false;
}

/* ---- all of it ---- */

static berth_status offer(stages *x, int32_t *op_dev, int64_t evaluations, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = x->p;
	BERTH_TRY_NEW(tmp, p->n_ops, err, x->order, x->op_chain);
	BERTH_TRY_NEW(tmp, p->n_chain, err, x->chain_piece, x->chain_dev, x->chain_trial);
	BERTH_TRY_NEW(tmp, p->n_ops, err, x->trial);
	BERTH_TRY(berth_cuts_operators(p, x->order, x->op_chain, tmp, err));
	BERTH_TRY(cut_pieces(x, tmp, err));
	x->most = p->max_cuts >= 0 && p->max_cuts + 1 < x->n_devs ? p->max_cuts + 1 : x->n_devs;
	x->most = x->most < x->n ? x->most : x->n;
	BERTH_TRY(fill(x, tmp, err));
	for (int32_t u = 0; u < x->p->n_colocs; u++) {
		int32_t d = 0;
		while (d + 1 < x->n_devs && !berth_coloc_legal(x->p, u, d))
			d++;
		berth_coloc_put(x->p, u, x->wanted ? berth_coloc_dev(x->p, u, x->wanted) : d, x->trial);
	}
	for (int32_t k = 0; k < x->p->n_chain; k++)
		x->chain_dev[k] = berth_coloc_dev(x->p, x->p->chain_coloc[k], x->trial);
	berth_score best = score_of(x, x->chain_dev);
	if (x->wanted)
		BERTH_TRY(answer(x, true, false, &best, tmp, err));
	BERTH_TRY(answer(x, false, true, &best, tmp, err));
	BERTH_TRY(answer(x, false, false, &best, tmp, err));
	int64_t left = evaluations;
	bool improved = true;
	while (improved && left > 0) {
		improved = false;
		for (int32_t at = 0; at < x->p->n_chain && left > 0; at = stage_end(x, at)) {
			if (at > 0)
				improved |= move_border(x, at, &best, &left);
			improved |= move_stage(x, at, stage_end(x, at), &best, &left);
		}
	}
	spread(x, x->chain_dev, x->trial);
	if (op_dev)
		BERTH_COPY(op_dev, x->trial, p->n_ops);
	return BERTH_OK;
}

berth_status berth_stages_offer(berth_search *s, int32_t *op_dev, int64_t evaluations, berth_arena *tmp,
                                berth_err *err)
{
	stages x = {.s = s,
	            .p = s->p,
	            .wanted = op_dev,
	            .n_devs = s->p->n_devs,
	            .load = berth_objective_is(&s->cfg.objective, BERTH_THROUGHPUT)};
	if (s->p->n_ops == 0)
		return BERTH_OK;
	BERTH_SCRATCH(tmp);
	return offer(&x, op_dev, evaluations, tmp, err);
}
