/* Groups of operators by the first words of their names; see page_graph.h. */
#include "page_graph.h"

#include "granularity.h"
#include "text.h"

#include <string.h>

enum { MOST_WORDS = 12, N_RUNS = 400 };

/* How many bytes of a name its first words take, without the last word of all, which is the operator's own.
 * 0: it has no such words. */
static size_t head_of(const char *name, int32_t words)
{
	size_t head = 0;
	for (size_t i = 1; name[i] && words > 0; i++)
		if ((name[i] == '/' || name[i] == '.') && name[i + 1]) {
			head = i;
			words--;
		}
	return head;
}

/* Group all operators by that many words. False: more than BERTH_PAGE_GROUPS groups, or one alone. */
static berth_status by_words(const berth_graph *g, int32_t words, berth_arena *tmp, int32_t *op_group,
                             const char **label, int32_t *n_groups, bool *ok, berth_err *err)
{
	berth_strmap map;
	berth_strmap_init(&map, tmp);
	*n_groups = 0;
	for (int32_t k = 0; k < g->n_ops && *n_groups <= BERTH_PAGE_GROUPS; k++) {
		int32_t op = g->topo_op[k];
		char *head = berth_arena_strndup(tmp, g->op_name[op], head_of(g->op_name[op], words));
		if (!head)
			return berth_nomem(err);
		BERTH_TRY(berth_strmap_add(&map, head, *n_groups, &op_group[op], err));
		if (op_group[op] == *n_groups && *n_groups < BERTH_PAGE_GROUPS)
			label[*n_groups] = head;
		*n_groups += op_group[op] == *n_groups;
	}
	*ok = *n_groups > 1 && *n_groups <= BERTH_PAGE_GROUPS;
	return BERTH_OK;
}

static berth_status by_runs(const berth_graph *g, berth_arena *mem, int32_t *op_group, const char **label,
                            int32_t *n_groups, berth_err *err)
{
	int32_t each = (g->n_ops + N_RUNS - 1) / N_RUNS;
	*n_groups = (g->n_ops + each - 1) / each;
	for (int32_t k = 0; k < g->n_ops; k++)
		op_group[g->topo_op[k]] = k / each;
	for (int32_t i = 0; i < *n_groups; i++) {
		int32_t last = (i + 1) * each < g->n_ops ? (i + 1) * each : g->n_ops;
		label[i] = berth_arena_printf(mem, "%d-%d", i * each + 1, last);
		if (!label[i])
			return berth_nomem(err);
	}
	return BERTH_OK;
}

/* Layers that repeat, where there are some and not too many; else runs. */
static berth_status by_layers(const berth_graph *g, berth_arena *mem, berth_arena *tmp, int32_t *op_group,
                              const char **label, int32_t *n_groups, int32_t *words, berth_err *err)
{
	berth_granularity x;
	berth_status st = berth_granularity_find(g, BERTH_GRAIN_LAYER, mem, tmp, &x, NULL);
	if (st == BERTH_ENOMEM)
		return berth_nomem(err);
	if (st != BERTH_OK || x.n_blocks < 2 || x.n_blocks > BERTH_PAGE_GROUPS)
		return by_runs(g, mem, op_group, label, n_groups, err);
	for (int32_t op = 0; op < g->n_ops; op++)
		op_group[op] = x.op_block[op];
	for (int32_t i = 0; i < x.n_blocks; i++)
		label[i] = x.block_name[i];
	*n_groups = x.n_blocks;
	*words = -1;
	return BERTH_OK;
}

/* Words first that leave many groups. */
static berth_status group(const berth_graph *g, berth_arena *mem, berth_arena *tmp, int32_t *op_group,
                          const char **label, int32_t *n_groups, int32_t *words, berth_err *err)
{
	for (*words = MOST_WORDS; *words > 0; --*words) {
		bool ok = false;
		berth_arena_mark mark = berth_arena_get_mark(tmp);
		BERTH_TRY(by_words(g, *words, tmp, op_group, label, n_groups, &ok, err));
		for (int32_t i = 0; ok && i < *n_groups; i++)
			if (!(label[i] = berth_arena_strdup(mem, label[i])))
				return berth_nomem(err);
		berth_arena_reset(tmp, mark);
		if (ok)
			return BERTH_OK;
	}
	return by_layers(g, mem, tmp, op_group, label, n_groups, words, err);
}

berth_status page_group(const berth_graph *g, berth_arena *mem, berth_arena *tmp, int32_t *op_group,
                        const char ***label, int32_t *n_groups, int32_t *words, berth_err *err)
{
	BERTH_TRY(BERTH_NEW(mem, *label, BERTH_PAGE_GROUPS, err));
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	berth_status st = group(g, mem, tmp, op_group, *label, n_groups, words, err);
	berth_arena_reset(tmp, mark);
	return st;
}
