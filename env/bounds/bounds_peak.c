/* Bounds of the peak of memory: what one operator needs, and what stays to the end in all memories. A
 * memory is a pool, or a device outside of pools. */
#include "bounds_parts.h"
#include "cost_model.h"

enum { MOST_SUBSETS = 8 };

typedef struct peak {
	const berth_problem *p;
	bool activations; /* tensors, workspace and outputs take memory, too */
	int32_t n_memories;
	int32_t *dev_memory;  /* [n_devs] */
	int64_t *limit_bytes; /* [n_memories] INT64_MAX: none */
	int64_t *kept_bytes;  /* [n_colocs] parameters and state of the group, shared ones once */
	int64_t *end_bytes;   /* [n_colocs] and all that leaves the graph from it */
	uint32_t *legal;      /* [n_colocs] memories that the group may stand on, where they are few */
	int64_t *weight;      /* [2^n] bytes that stand on no memories but these; else [1], all */
	uint32_t all;
} peak;

/* ---- memories ---- */

static berth_status find_memories(peak *k, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = k->p;
	BERTH_TRY_NEW(tmp, p->n_devs, err, k->dev_memory);
	BERTH_TRY_NEW(tmp, berth_n_resources(p), err, k->limit_bytes);
	k->n_memories = p->n_pools;
	for (int32_t i = 0; i < p->n_pools; i++)
		k->limit_bytes[i] = p->s->pool_bytes[i] < 0 ? INT64_MAX : p->s->pool_bytes[i];
	for (int32_t d = 0; d < p->n_devs; d++) {
		k->dev_memory[d] = berth_dev_pool(p, d);
		if (k->dev_memory[d] >= 0)
			continue;
		k->limit_bytes[k->n_memories] = p->dev_limit_bytes[d] < 0 ? INT64_MAX : p->dev_limit_bytes[d];
		k->dev_memory[d] = k->n_memories++;
	}
	k->all = k->n_memories <= MOST_SUBSETS ? (1u << k->n_memories) - 1 : 0;
	return BERTH_OK;
}

/* ---- what groups keep ---- */

static berth_status sum_groups(peak *k, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = k->p;
	const berth_graph *g = p->g;
	int32_t *seen;
	BERTH_TRY_NEW(tmp, p->n_colocs, err, seen, k->kept_bytes, k->end_bytes, k->legal);
	for (int32_t op = 0; op < p->n_ops; op++) {
		int32_t u = p->op_coloc[op];
		k->kept_bytes[u] += g->op_param_bytes[op] + g->op_state_bytes[op];
		k->end_bytes[u] += k->activations ? g->op_output_bytes[op] : 0;
		for (int32_t d = 0; d < p->n_devs && k->all; d++)
			if (berth_op_legal(p, op, d))
				k->legal[u] |= 1u << k->dev_memory[d];
	}
	for (int32_t i = 0; i < g->n_params; i++)
		BERTH_EACH (x, g->param_op_off, i) {
			int32_t u = p->op_coloc[g->param_op[x]];
			k->kept_bytes[u] += seen[u] == i + 1 ? 0 : g->param_bytes[i];
			seen[u] = i + 1;
		}
	for (int32_t u = 0; u < p->n_colocs; u++)
		k->end_bytes[u] += k->kept_bytes[u];
	return BERTH_OK;
}

/* What is held where the operator starts. */
static int64_t need_of(const peak *k, int32_t op)
{
	const berth_graph *g = k->p->g;
	int64_t bytes = k->kept_bytes[k->p->op_coloc[op]];
	if (!k->activations)
		return bytes;
	bytes += g->op_workspace_bytes[op] + g->op_output_bytes[op];
	BERTH_EACH (i, g->op_in_off, op)
		bytes += g->tensor_bytes[g->in_tensor[i]];
	BERTH_EACH (t, g->op_tensor_off, op)
		bytes += g->tensor_bytes[t];
	return bytes;
}

static int64_t largest_need(const peak *k)
{
	int64_t most = 0;
	for (int32_t op = 0; op < k->p->n_ops; op++) {
		int64_t need = need_of(k, op), end = k->end_bytes[k->p->op_coloc[op]];
		need = need > end ? need : end;
		most = need > most ? need : most;
	}
	return most;
}

/* ---- what memories hold together ---- */

static void weigh(peak *k, uint32_t memories, int64_t bytes)
{
	k->weight[memories ? memories : k->all] += bytes;
}

/* Each group's bytes where it may stand, each shared parameter's once where one of its users may. */
static berth_status weigh_all(peak *k, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = k->p;
	const berth_graph *g = p->g;
	BERTH_TRY_NEW(tmp, (size_t)k->all + 1, err, k->weight);
	for (int32_t op = 0; op < p->n_ops; op++)
		weigh(k, k->legal[p->op_coloc[op]],
		      g->op_param_bytes[op] + g->op_state_bytes[op] +
		              (k->activations ? g->op_output_bytes[op] : 0));
	for (int32_t i = 0; i < g->n_params; i++) {
		uint32_t some = 0;
		BERTH_EACH (x, g->param_op_off, i)
			some |= k->legal[p->op_coloc[g->param_op[x]]];
		if (g->param_op_off[i] < g->param_op_off[i + 1])
			weigh(k, some, g->param_bytes[i]);
	}
	for (uint32_t bit = 1; bit < k->all + 1; bit <<= 1)
		for (uint32_t set = 0; set <= k->all; set++)
			if (set & bit)
				k->weight[set] += k->weight[set ^ bit];
	return BERTH_OK;
}

/* Do the memories of the set hold what must stand there, each at most level? */
static bool holds(const peak *k, uint32_t set, int64_t level, bool limits)
{
	int64_t left = k->weight[set];
	for (int32_t i = 0; i < k->n_memories && left > 0; i++)
		if (!k->all || set >> i & 1)
			left -= limits && k->limit_bytes[i] < level ? k->limit_bytes[i] : level;
	return left <= 0;
}

static bool all_hold(const peak *k, int64_t level, bool limits)
{
	for (uint32_t set = k->all;; set--) {
		if (!holds(k, set, level, limits))
			return false;
		if (!set)
			return true;
	}
}

/* The least level. Limits that hold nothing at any level make no bound: then there is no placement. */
static int64_t least_level(const peak *k)
{
	int64_t low = 0, high = k->weight[k->all];
	bool limits = all_hold(k, high, true);
	while (low < high) {
		int64_t mid = low + (high - low) / 2;
		if (all_hold(k, mid, limits))
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

berth_status berth_bounds_peak(const berth_problem *p, berth_arena *tmp, int64_t *least_bytes, berth_err *err)
{
	peak k = {.p = p, .activations = p->s->cost_model->memory_over_time};
	BERTH_SCRATCH(tmp);
	BERTH_TRY(find_memories(&k, tmp, err));
	BERTH_TRY(sum_groups(&k, tmp, err));
	BERTH_TRY(weigh_all(&k, tmp, err));
	int64_t need = largest_need(&k), level = least_level(&k);
	*least_bytes = need > level ? need : level;
	return BERTH_OK;
}
