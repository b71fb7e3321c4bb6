/* Placements that differ little from the base: a moved operator changes nothing before its inputs are made,
 * and nothing of memory after what it makes is used up. */
#include "moved.h"

berth_status moved_new(const berth_sim *sim, berth_arena *mem, moved *out, berth_err *err)
{
	*out = (moved){.p = sim->p, .sim = sim};
	BERTH_TRY_NEW(mem, sim->p->n_ops, err, out->base_dev, out->base_key, out->base_start_ns,
	              out->base_end_ns, out->op);
	BERTH_TRY_NEW(mem, berth_n_resources(sim->p), err, out->more_bytes, out->ever_bytes);
	return BERTH_OK;
}

void moved_find(moved *m, const int32_t *op_dev, const uint32_t *op_key)
{
	enum { BLOCK = 32 };
	const uint32_t *key = op_key ? op_key : m->base_key;
	m->n = 0;
	for (int32_t from = 0; from < m->p->n_ops; from += BLOCK) {
		int32_t end = m->p->n_ops - from < BLOCK ? m->p->n_ops : from + BLOCK;
		size_t count = (size_t)(end - from);
		if (memcmp(op_dev + from, m->base_dev + from, count * sizeof *op_dev) == 0 &&
		    memcmp(key + from, m->base_key + from, count * sizeof *key) == 0)
			continue;
		for (int32_t op = from; op < end; op++)
			if (op_dev[op] != m->base_dev[op] || key[op] != m->base_key[op])
				m->op[m->n++] = op;
	}
}

bool moved_can_run(const moved *m, const int32_t *op_dev)
{
	bool can = true;
	for (int32_t i = 0; i < m->n; i++)
		can &= berth_op_time(m->p, m->op[i], op_dev[m->op[i]]) >= 0;
	return can;
}

/* ---- memory ---- */

/* What op holds for itself, with all of its shared parameters. */
static int64_t own_bytes(const moved *m, int32_t op)
{
	const berth_graph *g = m->p->g;
	int64_t bytes = g->op_param_bytes[op] + g->op_state_bytes[op] + m->sim->op_start_bytes[op];
	BERTH_EACH (k, g->op_param_off, op)
		bytes += g->param_bytes[g->op_param[k]];
	return bytes;
}

/* A copy is counted for each consumer. */
void moved_count_ever(moved *m)
{
	const berth_problem *p = m->p;
	const berth_graph *g = p->g;
	BERTH_CLEAR(m->ever_bytes, p->n_devs);
	for (int32_t op = 0; op < p->n_ops; op++) {
		int32_t d = m->base_dev[op];
		m->ever_bytes[d] += own_bytes(m, op);
		BERTH_EACH (k, g->op_in_off, op)
			if (m->base_dev[g->tensor_producer[g->in_tensor[k]]] != d)
				m->ever_bytes[d] += g->tensor_bytes[g->in_tensor[k]];
	}
	sim_sum_pools(p, m->ever_bytes);
}

/* Bytes that moving op can bring to all devices together, at most: its own, its inputs, and what it makes
 * once for each consumer. */
static int64_t bytes_of(const moved *m, int32_t op)
{
	const berth_graph *g = m->p->g;
	int64_t bytes = own_bytes(m, op);
	BERTH_EACH (k, g->op_in_off, op)
		bytes += g->tensor_bytes[g->in_tensor[k]];
	BERTH_EACH (t, g->op_tensor_off, op)
		bytes += g->tensor_bytes[t] * (g->tensor_use_off[t + 1] - g->tensor_use_off[t]);
	return bytes;
}

bool moved_sure_to_fit(const moved *m)
{
	int64_t more = 0;
	bool sure = true;
	if (m->p->memory_free)
		return true;
	for (int32_t i = 0; i < m->n; i++)
		more += bytes_of(m, m->op[i]);
	for (int32_t i = 0; i < berth_n_resources(m->p); i++) {
		int64_t limit = berth_limit_bytes(m->p, i);
		sure &= limit < 0 || m->ever_bytes[i] + more <= limit;
	}
	return sure;
}

/* Add sign * the bytes of shared parameter q to each device that holds a user of it under op_dev. */
static void add_shared(moved *m, int32_t q, const int32_t *op_dev, int64_t sign)
{
	const berth_graph *g = m->p->g;
	int32_t *seen = m->sim->dest_move; /* -1 between runs */
	BERTH_EACH (k, g->param_op_off, q) {
		int32_t d = op_dev[g->param_op[k]];
		if (seen[d] == -1)
			m->more_bytes[d] += sign * g->param_bytes[q];
		seen[d] = 0;
	}
	BERTH_EACH (k, g->param_op_off, q)
		seen[op_dev[g->param_op[k]]] = -1;
}

void moved_count_bytes(moved *m, const int32_t *op_dev)
{
	const berth_graph *g = m->p->g;
	BERTH_CLEAR(m->more_bytes, m->p->n_devs);
	for (int32_t i = 0; i < m->n; i++) {
		int32_t op = m->op[i];
		int64_t bytes = g->op_param_bytes[op] + g->op_state_bytes[op];
		if (op_dev[op] == m->base_dev[op])
			continue;
		m->more_bytes[op_dev[op]] += bytes;
		m->more_bytes[m->base_dev[op]] -= bytes;
		BERTH_EACH (k, g->op_param_off, op) {
			int32_t q = g->op_param[k], first = g->param_op_off[q];
			while (op_dev[g->param_op[first]] == m->base_dev[g->param_op[first]])
				first++;
			if (g->param_op[first] != op) /* counted with its first moved user */
				continue;
			add_shared(m, q, op_dev, 1);
			add_shared(m, q, m->base_dev, -1);
		}
	}
	sim_sum_pools(m->p, m->more_bytes);
}

/* ---- from when on ---- */

/* When input k of all is made in the base. */
static int64_t made_ns(const moved *m, int32_t k)
{
	return m->base_end_ns[m->p->g->tensor_producer[m->p->g->in_tensor[k]]];
}

int64_t moved_next_ns(const moved *m, int64_t time)
{
	int64_t next = INT64_MAX;
	for (int32_t i = 0; i < m->n; i++) {
		bool made = true;
		BERTH_EACH (k, m->p->g->op_in_off, m->op[i]) {
			int64_t end = made_ns(m, k);
			made &= end <= time;
			next = end > time && end < next ? end : next;
		}
		if (made && m->base_end_ns[m->op[i]] > time)
			return -1;
	}
	return next;
}

bool moved_input_on_its_way(const moved *m, const snapshot *k)
{
	const berth_graph *g = m->p->g;
	for (int32_t l = 0; l < k->n_way; l++)
		for (int32_t i = 0; i < m->n; i++)
			BERTH_EACH (j, g->op_in_off, m->op[i])
				if (g->in_tensor[j] == k->live[l].move.tensor)
					return true;
	return false;
}

/* Have all consumers of what op makes ended by that time in the base? */
static bool is_used_up(const moved *m, int32_t op, int64_t time)
{
	const berth_graph *g = m->p->g;
	BERTH_EACH_USE (e, g, op)
		if (m->base_end_ns[g->edge_consumer[e]] > time)
			return false;
	return true;
}

bool moved_holds_the_same(const moved *m, int64_t time)
{
	for (int32_t i = 0; i < m->n; i++) {
		if (m->base_end_ns[m->op[i]] > time) {
			BERTH_EACH (k, m->p->g->op_in_off, m->op[i])
				if (made_ns(m, k) <= time)
					return false;
		} else if (!is_used_up(m, m->op[i], time)) {
			return false;
		}
	}
	return true;
}
