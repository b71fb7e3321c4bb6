/* The table of groupers, their driver and the checks of what they return: the graph of the groups is
 * acyclic, caps hold, colocation groups stay whole. */
#include "coarsen.h"

#include "group.h"

static const berth_grouper groupers[] = {
	{"chain", "chains of operators only", group_run_chain},
	{"heavy-edge", "chains, then heavy edges between neighbouring levels (Herrmann et al. 2019)",
	 group_run_heavy_edge},
	{"modularity", "communities of the graph weighted by bytes (Blondel et al. 2008), cut until acyclic",
	 group_run_modularity},
	{"by-score",
	 "components of the dominant edges by given scores (Duan et al. 2024), down to the target",
	 group_run_by_score},
};

enum { N_GROUPERS = sizeof groupers / sizeof *groupers, HEAVY_EDGE = 1 };

const berth_grouper *berth_grouper_list(int32_t *n)
{
	*n = N_GROUPERS;
	return groupers;
}

berth_status berth_grouper_find(const char *name, const berth_grouper **out, berth_err *err)
{
	const char *names[N_GROUPERS];
	int32_t at;
	for (int32_t i = 0; i < N_GROUPERS; i++)
		names[i] = groupers[i].name;
	BERTH_TRY(berth_text_find(names, N_GROUPERS, name, "grouper", "", &at, err));
	*out = &groupers[at];
	return BERTH_OK;
}

berth_coarsen_cfg berth_coarsen_cfg_default(int32_t target)
{
	return (berth_coarsen_cfg){.target = target, .max_bytes = INT64_MAX, .balance = 2.5};
}

/* ---- the whole ---- */

/* In debug builds: a broken invariant ends the program. Fails: BERTH_ENOMEM. */
static berth_status must_hold(const berth_graph *g, const berth_coarsening *c, const berth_coarsen_cfg *cfg,
                              berth_arena *tmp, berth_err *err)
{
	berth_err broken = {0};
	berth_status st = BERTH_DEBUG ? berth_coarsening_check(g, c, cfg, tmp, &broken) : BERTH_OK;
	if (st == BERTH_ENOMEM)
		return berth_nomem(err);
	berth_must(st, &broken);
	return BERTH_OK;
}

static berth_status run(group_work *w)
{
	const berth_coarsen_cfg *cfg = w->cfg;
	berth_coarsening *c = w->c;
	BERTH_TRY(group_number_colocs(w->g, c, w->mem, w->tmp, w->err));
	BERTH_TRY(group_first_level(w->g, cfg, c, &w->now, &w->level[0], w->tmp, w->err));
	c->n_levels = 1;
	w->counts[0] = c->n_colocs;
	BERTH_TRY((cfg->grouper ? cfg->grouper : &groupers[HEAVY_EDGE])->run(w));
	const berth_graph *g = w->g;
	c->n_groups = w->counts[c->n_levels - 1];
	BERTH_TRY_NEW(w->mem, g->n_ops, w->err, c->op_group);
	BERTH_TRY_NEW(w->mem, c->n_levels, w->err, c->level_n, c->level_map);
	for (int32_t l = 0; l < c->n_levels; l++) {
		c->level_n[l] = w->counts[l];
		c->level_map[l] = l + 1 < c->n_levels ? w->maps[l] : NULL;
	}
	for (int32_t op = 0; op < g->n_ops; op++) {
		int32_t v = c->op_coloc[op];
		for (int32_t l = 0; l + 1 < c->n_levels; l++)
			v = c->level_map[l][v];
		c->op_group[op] = v;
	}
	return BERTH_OK;
}

static berth_status coarsen(const berth_graph *g, const berth_coarsen_cfg *cfg, berth_arena *mem,
                            berth_arena *tmp, berth_coarsening *c, berth_err *err)
{
	group_work *w;
	BERTH_TRY_NEW(tmp, 1, err, w);
	*w = (group_work){.g = g, .cfg = cfg, .mem = mem, .tmp = tmp, .err = err, .c = c};
	for (int i = 0; i < 2; i++)
		berth_arena_init(&w->level[i], tmp->hook);
	berth_status st = run(w);
	for (int i = 0; i < 2; i++)
		berth_arena_free(&w->level[i]);
	BERTH_TRY(st);
	return must_hold(g, c, cfg, tmp, err);
}

berth_status berth_coarsen(const berth_graph *g, const berth_coarsen_cfg *cfg, berth_arena *mem,
                           berth_arena *tmp, berth_coarsening *out, berth_err *err)
{
	berth_coarsening c = {0};
	if (cfg->target < 1)
		return berth_fail(err, BERTH_EINVAL, "%d groups wanted; expected 1 or more", cfg->target);
	if (!(cfg->balance > 1))
		return berth_fail(err, BERTH_EINVAL, "balance %g; expected more than 1", cfg->balance);
	BERTH_SCRATCH(tmp);
	BERTH_TRY(coarsen(g, cfg, mem, tmp, &c, err));
	*out = c;
	return BERTH_OK;
}

/* ---- checks ---- */

/* Kahn's algorithm on the groups, over edges that run along the order of colocation groups. */
static berth_status check_acyclic(const berth_graph *g, const berth_coarsening *c, berth_arena *levels,
                                  berth_arena *tmp, berth_err *err)
{
	group_level colocs, groups;
	int32_t *map, *leader, n;
	berth_coarsen_cfg plain = berth_coarsen_cfg_default(1);
	BERTH_TRY(group_first_level(g, &plain, c, &colocs, levels, tmp, err));
	BERTH_TRY_NEW(tmp, c->n_colocs, err, map);
	for (int32_t op = 0; op < g->n_ops; op++)
		map[c->op_coloc[op]] = c->op_group[op];
	BERTH_TRY(group_contract(&colocs, map, c->n_groups, &groups, levels, tmp, err));
	BERTH_TRY_NEW(tmp, c->n_groups, err, leader);
	for (int32_t v = 0; v < c->n_groups; v++)
		leader[v] = v;
	BERTH_TRY(group_renumber(&groups, leader, map, &n, tmp, err));
	if (n != c->n_groups)
		return berth_fail(err, BERTH_EFORMAT,
		                  "the groups' graph has a cycle: %d of %d groups can be ordered", n,
		                  c->n_groups);
	return BERTH_OK;
}

berth_status berth_coarsening_check(const berth_graph *g, const berth_coarsening *c,
                                    const berth_coarsen_cfg *cfg, berth_arena *tmp, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	BERTH_ARENA(levels);
	berth_arena_init(&levels, tmp->hook);
	if (c->level_n[0] != c->n_colocs || c->level_n[c->n_levels - 1] != c->n_groups)
		return berth_fail(err, BERTH_EFORMAT, "levels go from %d to %d nodes, expected %d to %d",
		                  c->level_n[0], c->level_n[c->n_levels - 1], c->n_colocs, c->n_groups);
	for (int32_t op = 0; op < g->n_ops; op++) {
		int32_t v = c->op_coloc[op];
		for (int32_t l = 0; l < c->n_levels; l++) {
			if (v < 0 || v >= c->level_n[l])
				return berth_fail(err, BERTH_EFORMAT,
				                  "operator %d: node %d of level %d out of range", op, v, l);
			v = l + 1 < c->n_levels ? c->level_map[l][v] : v;
		}
		if (v != c->op_group[op])
			return berth_fail(err, BERTH_EFORMAT,
			                  "operator %d: levels lead to group %d, the map says %d", op, v,
			                  c->op_group[op]);
	}
	int32_t *coloc;
	BERTH_TRY_NEW(tmp, g->n_coloc_names, err, coloc);
	for (int32_t op = 0; op < g->n_ops; op++) {
		int32_t k = g->op_coloc_name[op];
		if (k >= 0 && coloc[k] && coloc[k] != c->op_coloc[op] + 1)
			return berth_fail(err, BERTH_EFORMAT,
			                  "operator %d: its colocation group is in two nodes", op);
		if (k >= 0)
			coloc[k] = c->op_coloc[op] + 1;
	}
	BERTH_TRY(check_acyclic(g, c, &levels, tmp, err));
	int64_t *bytes;
	int32_t *first;
	bool *several;
	BERTH_TRY_NEW(tmp, c->n_groups, err, bytes, first, several);
	for (int32_t op = 0; op < g->n_ops; op++) {
		int32_t v = c->op_group[op];
		bytes[v] += cfg->op_bytes ? cfg->op_bytes[op] : group_default_bytes(g, op);
		several[v] |= first[v] && first[v] != c->op_coloc[op] + 1;
		first[v] = c->op_coloc[op] + 1;
	}
	for (int32_t v = 0; v < c->n_groups; v++)
		if (several[v] && bytes[v] > cfg->max_bytes)
			return berth_fail(err, BERTH_EFORMAT, "group %d holds %lld bytes, the cap is %lld", v,
			                  (long long)bytes[v], (long long)cfg->max_bytes);
	return BERTH_OK;
}
