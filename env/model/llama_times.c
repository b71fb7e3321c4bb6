/* How llama.cpp runs operators otherwise than their devices would: those on the CPU that see many tokens run
 * on a GPU, with copies of their weights (op offload); attention on the CPU is slow. docs/export.md tells how
 * the figures were measured. */
#include "llama_times.h"

#include "array.h"

#include <math.h>
#include <string.h>

enum { OFFLOADED_ROWS = 32 };

#define COPY_RATE 4.3e9      /* bytes/s at most: weights lie in pages that a GPU cannot read by itself */
#define ATTENTION_SHARE 0.02 /* of its peak is what attention reaches on a CPU: 0.5 to 1.4e9 macs/s a core */

static bool is_cpu(const berth_system *s, int32_t d)
{
	return s->dev_class[d] == BERTH_CLASS_CPU || strncmp(s->dev_kind[d], "cpu", 3) == 0 ||
	       strncmp(s->dev_name[d], "cpu", 3) == 0;
}

/* Rows of an operator by its shape: of tokens, of heads of each, or of experts of each. */
static double rows_of(const berth_graph *g, int32_t op)
{
	const berth_dims *d = berth_graph_dims(g, op);
	return d->kind == BERTH_DIMS_PRODUCT ? (double)d->at[0] * (double)d->at[1] : (double)d->at[0];
}

static bool is_source(const berth_graph *g, int32_t op)
{
	return g->op_in_off[op] == g->op_in_off[op + 1];
}

/* Tokens that come in at once. */
static double tokens_of(const berth_graph *g)
{
	double most = 0;
	for (int32_t op = 0; op < g->n_ops; op++)
		if (is_source(g, op))
			most = fmax(most, rows_of(g, op));
	return most;
}

/* What it keeps on its device: weights and cache, of which it reads no more. */
static double kept_bytes(const berth_graph *g, int32_t op)
{
	double sum = (double)g->op_param_bytes[op] + (double)g->op_state_bytes[op];
	BERTH_EACH (i, g->op_param_off, op)
		sum += (double)g->param_bytes[g->op_param[i]];
	return fmin(sum, (double)g->op_read_bytes[op]);
}

static double copy_s(const berth_problem *p, int32_t from, int32_t to, double bytes)
{
	double sum = 0;
	if (bytes <= 0 || p->n_classes == 0)
		return 0;
	BERTH_EACH (i, p->route_off, p->class_pair_route[berth_class_cell(p, 0, from, to)])
		sum += berth_hop_s(p->s, p->route_link[i], bytes);
	return fmax(sum, bytes / COPY_RATE);
}

/* Nanoseconds of op on the quickest GPU, with copies of what stands on the CPU; -1: on none. */
static int64_t offloaded_ns(const berth_problem *p, int32_t op, int32_t cpu)
{
	int64_t best = -1;
	for (int32_t d = 0; d < p->n_devs; d++) {
		int64_t ns = berth_op_time(p, op, d);
		if (is_cpu(p->s, d) || ns < 0)
			continue;
		ns += llround(1e9 * copy_s(p, cpu, d, kept_bytes(p->g, op)));
		best = best < 0 || ns < best ? ns : best;
	}
	return best;
}

/* Of attention on the CPU, at least. */
static int64_t attention_ns(const berth_problem *p, int32_t op, int32_t cpu)
{
	berth_precision used;
	double rate = ATTENTION_SHARE / 2 * berth_system_peak(p->s, cpu, BERTH_F32, &used);
	int64_t ns = berth_op_time(p, op, cpu),
		least = rate > 0 ? llround(1e9 * p->g->op_macs[op] / rate) : 0;
	return ns > least ? ns : least;
}

/* The embedding is looked up where it stands. */
void berth_llama_times(berth_problem *p)
{
	bool many = tokens_of(p->g) >= OFFLOADED_ROWS;
	for (int32_t op = 0; op < p->n_ops; op++)
		for (int32_t d = 0; d < p->n_devs; d++) {
			int64_t *ns = &p->op_dev_time_ns[berth_cell(p, op, d)], offloaded = -1;
			if (*ns < 0 || !is_cpu(p->s, d) || is_source(p->g, op))
				continue;
			if (many && rows_of(p->g, op) >= OFFLOADED_ROWS)
				offloaded = offloaded_ns(p, op, d);
			if (offloaded >= 0)
				*ns = offloaded;
			else if (p->g->op_state_bytes[op] > 0)
				*ns = attention_ns(p, op, d);
		}
}
