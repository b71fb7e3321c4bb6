/* Placements that keep the rules: an exact search for one, or a proof that there is none, and passes that
 * mend one that breaks them. */
#include "constraints.h"

enum { PROOF_STEPS = 20000 };
#define PROOF_WORK 4e6 /* steps times operators and edges */

/* ---- exact search ---- */

typedef struct solver {
	const berth_problem *p;
	const int32_t *wanted;  /* [n_ops] or NULL */
	bool pieces;            /* contiguity too */
	int32_t n, *coloc;      /* [n] the colocation groups to decide, in order */
	int32_t *tried;         /* [n] devices tried of each */
	int32_t *op_dev;        /* [n_ops] -1: not decided */
	int32_t *sep_dev_taken; /* [n_seps][n_devs] operators there */
	uint64_t *scratch;
} solver;

static bool coloc_legal(const berth_problem *p, int32_t coloc, int32_t dev)
{
	return p->op_dev_legal[berth_cell(p, p->coloc_op[p->coloc_off[coloc]], dev)];
}

/* Put the colocation group on dev, or take it off (count -1). */
static void assign(solver *s, int32_t coloc, int32_t dev, int32_t count)
{
	const berth_problem *p = s->p;
	BERTH_EACH (i, p->coloc_off, coloc) {
		int32_t op = p->coloc_op[i], sep = p->g->op_sep[op];
		s->op_dev[op] = count > 0 ? dev : -1;
		if (sep >= 0)
			s->sep_dev_taken[berth_cell(p, sep, dev)] += count;
	}
}

static bool fits(const solver *s, int32_t coloc, int32_t dev)
{
	const berth_problem *p = s->p;
	BERTH_EACH (i, p->coloc_off, coloc) {
		int32_t sep = p->g->op_sep[p->coloc_op[i]];
		if (sep >= 0 && s->sep_dev_taken[berth_cell(p, sep, dev)] > 1)
			return false;
	}
	return !s->pieces || contiguity_broken(p, s->op_dev, NULL, s->scratch) == 0;
}

/* The k-th device to try: the wanted one, then all by index. -1: no more. */
static int32_t device_at(const solver *s, int32_t coloc, int32_t k)
{
	int32_t first = s->wanted ? s->wanted[s->p->coloc_op[s->p->coloc_off[coloc]]] : -1;
	if (k == 0)
		return first >= 0 ? first : s->p->n_devs;
	return k <= s->p->n_devs ? (k - 1 == first ? s->p->n_devs : k - 1) : -1;
}

/* Depth first, up to `steps` assignments. 1: found; 0: none; -1: gave up. */
static int descend(solver *s, int64_t steps)
{
	int32_t at = 0;
	while (at < s->n) {
		int32_t coloc = s->coloc[at], dev = device_at(s, coloc, s->tried[at]);
		if (dev < 0) {
			s->tried[at] = 0;
			if (at-- == 0)
				return 0;
			assign(s, s->coloc[at], device_at(s, s->coloc[at], s->tried[at] - 1), -1);
			continue;
		}
		s->tried[at]++;
		if (dev >= s->p->n_devs || !coloc_legal(s->p, coloc, dev))
			continue;
		if (steps-- <= 0)
			return -1;
		assign(s, coloc, dev, 1);
		if (fits(s, coloc, dev))
			at++;
		else
			assign(s, coloc, dev, -1);
	}
	return 1;
}

static bool in_separation(const berth_problem *p, int32_t coloc)
{
	BERTH_EACH (i, p->coloc_off, coloc)
		if (p->g->op_sep[p->coloc_op[i]] >= 0)
			return true;
	return false;
}

static int32_t n_legal(const berth_problem *p, int32_t coloc)
{
	int32_t n = 0;
	for (int32_t d = 0; d < p->n_devs; d++)
		n += coloc_legal(p, coloc, d);
	return n;
}

/* Separated colocation groups, those with fewest legal devices first. Then, with pieces, the others in
 * topological order of their first operator. */
static void queue_colocs(solver *s, bool *queued)
{
	const berth_problem *p = s->p;
	for (int32_t legal = 0; legal <= p->n_devs && p->g->n_seps; legal++)
		for (int32_t u = 0; u < p->n_colocs; u++)
			if (!queued[u] && in_separation(p, u) && n_legal(p, u) == legal) {
				queued[u] = true;
				s->coloc[s->n++] = u;
			}
	for (int32_t k = 0; k < p->n_ops && s->pieces; k++) {
		int32_t u = p->op_coloc[p->g->topo_op[k]];
		if (!queued[u]) {
			queued[u] = true;
			s->coloc[s->n++] = u;
		}
	}
}

static berth_status solve(const berth_problem *p, const int32_t *wanted, bool pieces, int64_t steps,
                          int32_t *op_dev, int *found, berth_arena *tmp, berth_err *err)
{
	solver s = {.p = p, .wanted = wanted, .pieces = pieces, .op_dev = op_dev};
	bool *queued;
	BERTH_SCRATCH(tmp);
	BERTH_TRY_NEW(tmp, p->n_colocs, err, s.coloc, s.tried, queued);
	BERTH_TRY_NEW(tmp, (size_t)p->g->n_seps * (size_t)p->n_devs, err, s.sep_dev_taken);
	BERTH_TRY_NEW(tmp, berth_constraints_scratch(p), err, s.scratch);
	for (int32_t op = 0; op < p->n_ops; op++)
		op_dev[op] = -1;
	queue_colocs(&s, queued);
	*found = descend(&s, steps);
	return BERTH_OK;
}

static int64_t piece_steps(const berth_problem *p)
{
	return (int64_t)(PROOF_WORK / (double)(p->n_ops + p->g->n_edges + 1));
}

berth_status berth_constraints_prove(const berth_problem *p, berth_arena *tmp, bool *infeasible,
                                     berth_err *err)
{
	int32_t *op_dev;
	int found;
	BERTH_SCRATCH(tmp);
	BERTH_TRY_NEW(tmp, p->n_ops, err, op_dev);
	BERTH_TRY(solve(p, NULL, false, PROOF_STEPS, op_dev, &found, tmp, err));
	*infeasible = found == 0 || berth_cuts_least(p) > p->max_cuts;
	if (p->n_pieces) {
		BERTH_TRY(solve(p, NULL, true, piece_steps(p), op_dev, &found, tmp, err));
		*infeasible |= found == 0;
	}
	return BERTH_OK;
}

/* ---- mending ---- */

typedef struct mender {
	const berth_problem *p;
	const int32_t *wanted;
	const int32_t *fixed; /* [n_ops] devices of separated colocation groups; -1: free */
	int32_t *op_dev;      /* [n_ops] */
	bool *bound;          /* [n_colocs] */
	uint64_t *scratch;
} mender;

static void put(mender *m, int32_t coloc, int32_t dev)
{
	BERTH_EACH (i, m->p->coloc_off, coloc)
		m->op_dev[m->p->coloc_op[i]] = dev;
	m->bound[coloc] = true;
}

/* A legal device that op does not re-enter: the wanted one, else that of a producer, else the fastest. Where
 * there is none, op stays. */
static int32_t choose(const mender *m, const contiguity *t, int32_t op)
{
	const berth_problem *p = m->p;
	const berth_graph *g = p->g;
	int32_t coloc = p->op_coloc[op], wanted = m->wanted[op], best = -1;
	if (coloc_legal(p, coloc, wanted) && !contiguity_reenters(t, op, wanted))
		return wanted;
	for (int32_t i = g->op_in_off[op]; !t->backwards && i < g->op_in_off[op + 1]; i++) {
		int32_t d = m->op_dev[g->tensor_producer[g->in_tensor[i]]];
		if (d >= 0 && coloc_legal(p, coloc, d) && !contiguity_reenters(t, op, d))
			return d;
	}
	for (int32_t d = 0; d < p->n_devs; d++)
		if (coloc_legal(p, coloc, d) && !contiguity_reenters(t, op, d) &&
		    (best < 0 || berth_op_time(p, op, d) < berth_op_time(p, op, best)))
			best = d;
	return best >= 0 ? best : m->op_dev[op];
}

/* One pass over all operators; op_dev starts from the wanted placement. */
static bool pass(mender *m, bool backwards)
{
	const berth_problem *p = m->p;
	contiguity t = contiguity_new(p, backwards, m->scratch);
	for (int32_t u = 0; u < p->n_colocs; u++) {
		int32_t op = p->coloc_op[p->coloc_off[u]];
		int32_t dev = coloc_legal(p, u, m->wanted[op]) ? m->wanted[op] : m->op_dev[op];
		put(m, u, m->fixed[op] >= 0 ? m->fixed[op] : dev);
		m->bound[u] = m->fixed[op] >= 0;
	}
	for (int32_t k = 0; k < p->n_ops; k++) {
		int32_t op = p->g->topo_op[backwards ? p->n_ops - 1 - k : k], coloc = p->op_coloc[op];
		contiguity_arrive(&t, op);
		if (!m->bound[coloc])
			put(m, coloc, choose(m, &t, op));
		contiguity_settle(&t, op, m->op_dev[op]);
	}
	return berth_groups_broken(p, m->op_dev, m->scratch) == 0;
}

/* All colocation groups on dev where they can be. op_dev keeps legal devices for the rest. */
static bool pass_on(mender *m, int32_t dev, int32_t *trial)
{
	for (int32_t op = 0; op < m->p->n_ops; op++)
		trial[op] = dev;
	m->wanted = trial;
	return pass(m, false) || pass(m, true);
}

static bool passes(mender *m, const int32_t *wanted, int32_t *trial)
{
	enum { MOST_DEVICES = 16 };
	m->wanted = wanted;
	if (pass(m, false) || pass(m, true))
		return true;
	for (int32_t d = 0; d < m->p->n_devs && d < MOST_DEVICES; d++)
		if (pass_on(m, d, trial))
			return true;
	return false;
}

berth_status berth_constraints_mend(const berth_problem *p, int32_t *op_dev, bool *kept, berth_arena *tmp,
                                    berth_err *err)
{
	BERTH_SCRATCH(tmp);
	mender m = {.p = p};
	int32_t *wanted, *fixed, *trial;
	size_t bytes = (size_t)p->n_ops * sizeof *op_dev;
	int found;
	BERTH_TRY_NEW(tmp, p->n_ops, err, wanted, fixed, trial, m.op_dev);
	BERTH_TRY_NEW(tmp, p->n_colocs, err, m.bound);
	BERTH_TRY_NEW(tmp, berth_constraints_scratch(p), err, m.scratch);
	*kept = berth_groups_broken(p, op_dev, m.scratch) == 0;
	if (*kept || !bytes)
		return BERTH_OK;
	memcpy(wanted, op_dev, bytes);
	memcpy(m.op_dev, op_dev, bytes);
	BERTH_TRY(solve(p, wanted, false, PROOF_STEPS, fixed, &found, tmp, err));
	if (found != 1)
		return BERTH_OK;
	m.fixed = fixed;
	*kept = passes(&m, wanted, trial);
	if (*kept)
		memcpy(op_dev, m.op_dev, bytes);
	if (*kept || !p->n_pieces)
		return BERTH_OK;
	BERTH_TRY(solve(p, wanted, true, piece_steps(p), trial, &found, tmp, err));
	*kept = found == 1;
	if (*kept)
		memcpy(op_dev, trial, bytes);
	return BERTH_OK;
}
