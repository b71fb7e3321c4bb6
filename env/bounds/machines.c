/* Conclusions from machines, until nothing changes: heads and tails along data, devices that cannot be, jobs
 * that must come first or last, and sets of jobs that do not fit. See machines.h. */
#include "machines.h"

#include "cost_model.h"

#include <stdlib.h>

enum {
	ROUNDS = 64,
	MOST_SORTED = 128, /* jobs of a machine in which first and last ones are looked for */
	MOST_JOBS = 2048   /* in which sets are looked for that do not fit */
};

#define NEVER (INT64_MAX / 4)

/* ---- common divisor ---- */

int64_t berth_common_divisor_ns(const berth_problem *p)
{
	int64_t all = 0;
	if (p->n_pools > 0 || p->s->cost_model->run)
		return 1;
	for (int32_t op = 0; op < p->n_ops && all != 1; op++)
		for (int32_t d = 0; d < p->n_devs; d++)
			if (berth_op_legal(p, op, d))
				all = berth_common_divisor(all, berth_op_time(p, op, d));
	for (int64_t i = 0; i < (int64_t)p->n_classes * p->s->n_links && all != 1; i++)
		all = berth_common_divisor(all, p->class_link_ns[i]);
	return all > 0 ? all : 1;
}

int64_t berth_round_up_ns(const berth_problem *p, int64_t bound_ns)
{
	int64_t unit = berth_common_divisor_ns(p), rest = bound_ns % unit;
	return rest == 0 ? bound_ns : bound_ns + unit - rest;
}

/* ---- heads, tails and devices ---- */

static int64_t *head_at(berth_machines *m, int32_t op, int32_t d)
{
	return &m->head[berth_cell(m->p, op, d)];
}

static int64_t *tail_at(berth_machines *m, int32_t op, int32_t d)
{
	return &m->tail[berth_cell(m->p, op, d)];
}

static bool may_stand(berth_machines *m, int32_t op, int32_t d)
{
	return *head_at(m, op, d) < NEVER;
}

/* The only device that is left of op; -1: there are several. */
static int32_t only_dev(berth_machines *m, int32_t op)
{
	int32_t only = -1;
	for (int32_t d = 0; d < m->p->n_devs; d++)
		if (may_stand(m, op, d)) {
			if (only >= 0)
				return -1;
			only = d;
		}
	return only;
}

static void raise(berth_machines *m, int64_t *x, int64_t to)
{
	if (*x >= to)
		return;
	*x = to;
	m->changed = true;
}

/* Least time that tensor t of `from` is there after, to device d; or from there to the end, by consumer to.
 */
static int64_t arrival(berth_machines *m, int32_t t, int32_t from, int32_t d)
{
	int64_t least = NEVER;
	for (int32_t l = 0; l < m->p->n_devs; l++)
		if (may_stand(m, from, l)) {
			int64_t at = *head_at(m, from, l) + berth_op_time(m->p, from, l) +
			             berth_transfer_ns(m->p, t, l, d);
			least = at < least ? at : least;
		}
	return least;
}

static int64_t rest_by(berth_machines *m, int32_t t, int32_t to, int32_t d)
{
	int64_t least = NEVER;
	for (int32_t l = 0; l < m->p->n_devs; l++)
		if (may_stand(m, to, l)) {
			int64_t ns = berth_transfer_ns(m->p, t, d, l) + berth_op_time(m->p, to, l) +
			             *tail_at(m, to, l);
			least = ns < least ? ns : least;
		}
	return least;
}

static void pass_heads(berth_machines *m)
{
	const berth_graph *g = m->p->g;
	for (int32_t k = 0; k < g->n_ops && !m->none; k++) {
		int32_t op = g->topo_op[k];
		for (int32_t d = 0; d < m->p->n_devs; d++)
			BERTH_EACH (i, g->op_in_off, op)
				if (may_stand(m, op, d))
					raise(m, head_at(m, op, d),
					      arrival(m, g->in_tensor[i], g->tensor_producer[g->in_tensor[i]],
					              d));
	}
}

static void pass_tails(berth_machines *m)
{
	const berth_graph *g = m->p->g;
	for (int32_t k = g->n_ops - 1; k >= 0 && !m->none; k--) {
		int32_t op = g->topo_op[k];
		for (int32_t d = 0; d < m->p->n_devs; d++)
			BERTH_EACH (t, g->op_tensor_off, op)
				BERTH_EACH (e, g->tensor_use_off, t)
					if (may_stand(m, op, d))
						raise(m, tail_at(m, op, d),
						      rest_by(m, t, g->edge_consumer[e], d));
	}
}

static void narrow(berth_machines *m)
{
	for (int32_t op = 0; op < m->p->n_ops && !m->none; op++)
		for (int32_t d = 0; d < m->p->n_devs; d++)
			if (may_stand(m, op, d) &&
			    *head_at(m, op, d) + berth_op_time(m->p, op, d) + *tail_at(m, op, d) >=
			            m->claim_ns) {
				/* op does not stand on d, nor do those that share its device. */
				int32_t c = m->p->op_coloc[op];
				m->changed = true;
				BERTH_EACH (i, m->p->coloc_off, c) {
					int32_t other = m->p->coloc_op[i];
					bool any = false;
					*head_at(m, other, d) = NEVER;
					for (int32_t k = 0; k < m->p->n_devs; k++)
						any |= may_stand(m, other, k);
					m->none |= !any;
				}
			}
}

/* ---- jobs of a machine ---- */

static int32_t list_jobs(berth_machines *m, int32_t d)
{
	int32_t n = 0;
	for (int32_t op = 0; op < m->p->n_ops; op++)
		if (may_stand(m, op, d))
			m->job[n++] = (berth_machine_job){*head_at(m, op, d), berth_op_time(m->p, op, d),
			                                  *tail_at(m, op, d), op, only_dev(m, op) == d};
	return n;
}

static int by_head(const void *a, const void *b)
{
	const berth_machine_job *x = a, *y = b;
	return x->head != y->head ? BERTH_COMPARE(y->head, x->head)
	                          : BERTH_COMPARE(x->op, y->op);
}

/* Of the jobs that stand here with a tail of at least `tail`, and any least head: all of them fit before the
 * claim? */
static bool fits(const berth_machines *m, int32_t n, int64_t tail)
{
	int64_t sum = 0;
	for (int32_t k = 0; k < n; k++) {
		const berth_machine_job *j = &m->job[k];
		if (!j->fixed || j->tail < tail)
			continue;
		sum += j->time;
		if (j->head + sum + tail >= m->claim_ns)
			return false;
	}
	return true;
}

/* When job i can start at least, as it must come behind some of these. */
static int64_t start_behind(const berth_machines *m, int32_t n, int64_t tail, const berth_machine_job *i)
{
	int64_t sum = 0, most = 0, start = i->head;
	for (int32_t k = 0; k < n; k++) {
		const berth_machine_job *j = &m->job[k];
		if (!j->fixed || j->tail < tail || j == i)
			continue;
		sum += j->time;
		most = j->head + sum > most ? j->head + sum : most;
		if ((j->head < i->head ? j->head : i->head) + sum + i->time + tail >= m->claim_ns)
			start = most > start ? most : start;
	}
	return start;
}

/* Jobs are sorted by heads, the latest first. */
static void look_at_sets(berth_machines *m, int32_t n, int64_t *(*side)(berth_machines *, int32_t, int32_t),
                         int32_t d)
{
	for (int32_t c = 0; c < n && !m->none; c++) {
		if (!m->job[c].fixed)
			continue;
		m->steps += n;
		if (!fits(m, n, m->job[c].tail))
			m->none = true;
		for (int32_t i = 0; i < n && n <= MOST_SORTED && !m->none; i++) {
			const berth_machine_job *j = &m->job[i];
			if (j->fixed && j->tail >= m->job[c].tail)
				continue;
			m->steps += n;
			raise(m, side(m, j->op, d), start_behind(m, n, m->job[c].tail, j));
		}
	}
}

/* The same for heads, and with time turned round for tails. */
static void look_at_machine(berth_machines *m, int32_t d)
{
	int32_t n = list_jobs(m, d);
	if (n > MOST_JOBS)
		return;
	qsort(m->job, (size_t)n, sizeof *m->job, by_head);
	look_at_sets(m, n, head_at, d);
	n = m->none ? 0 : list_jobs(m, d);
	for (int32_t k = 0; k < n; k++) {
		int64_t head = m->job[k].head;
		m->job[k].head = m->job[k].tail;
		m->job[k].tail = head;
	}
	qsort(m->job, (size_t)n, sizeof *m->job, by_head);
	look_at_sets(m, n, tail_at, d);
}

/* ---- a claim ---- */

bool berth_machines_full(berth_machines *m, int64_t claim_ns)
{
	const berth_problem *p = m->p;
	m->claim_ns = claim_ns;
	m->none = false;
	for (int32_t op = 0; op < m->p->n_ops; op++)
		for (int32_t d = 0; d < m->p->n_devs; d++) {
			*head_at(m, op, d) = berth_op_legal(m->p, op, d) ? 0 : NEVER;
			*tail_at(m, op, d) = 0;
		}
	m->changed = true;
	for (int round = 0; round < ROUNDS && m->changed && !m->none && m->steps <= m->most_steps; round++) {
		m->changed = false;
		m->steps += 2 * (int64_t)(p->g->n_edges + p->n_ops) * p->n_devs * p->n_devs;
		pass_heads(m);
		pass_tails(m);
		narrow(m);
		for (int32_t d = 0; d < p->n_devs && !m->none; d++)
			if (p->s->dev_slots[d] == 1)
				look_at_machine(m, d);
	}
	return m->none;
}

bool berth_machines_work(const berth_problem *p)
{
	for (int32_t d = 0; d < p->n_devs; d++) {
		int32_t n = 0;
		for (int32_t op = 0; op < p->n_ops && p->s->dev_slots[d] == 1; op++) {
			bool elsewhere = !berth_op_legal(p, op, d);
			for (int32_t k = 0; k < p->n_devs && !elsewhere; k++)
				elsewhere = k != d && berth_op_legal(p, op, k);
			if (!elsewhere && ++n > 1)
				return true;
		}
	}
	return false;
}

berth_status berth_machines_new(const berth_problem *p, berth_arena *mem, berth_machines *out, berth_err *err)
{
	berth_machines m = {.p = p, .most_steps = INT64_MAX};
	size_t cells = (size_t)p->n_ops * (size_t)p->n_devs;
	BERTH_TRY_NEW(mem, cells, err, m.head, m.tail);
	BERTH_TRY_NEW(mem, p->n_ops, err, m.job);
	*out = m;
	return BERTH_OK;
}
