/* Groups that are chains: a node with one successor joins it where it is that one's only predecessor.
 * Nothing else is joined, so more groups than wanted remain where the graph branches. */
#include "group.h"

int32_t group_join_chains(const group_level *l, group_caps cap, int32_t most, int32_t *leader)
{
	int32_t joined = 0;
	for (int32_t v = 0; v < l->n; v++)
		leader[v] = v;
	for (int32_t head = 0; head < l->n && joined < most; head++) {
		if (leader[head] != head)
			continue;
		double cost = l->cost[head];
		int64_t bytes = l->bytes[head];
		for (int32_t v = head; joined < most && l->off[v + 1] - l->off[v] == 1;) {
			int32_t w = l->to[l->off[v]];
			if (l->in_off[w + 1] - l->in_off[w] != 1 || !group_fits(l, cap, cost, bytes, w))
				break;
			leader[w] = head;
			cost += l->cost[w];
			bytes += l->bytes[w];
			joined++;
			v = w;
		}
	}
	return joined;
}

berth_status group_run_chain(group_work *w, berth_err *err)
{
	int32_t *leader;
	if (!group_may_go_on(w))
		return BERTH_OK;
	BERTH_TRY(BERTH_NEW(w->tmp, leader, w->now.n, err));
	if (!group_join_chains(&w->now, group_caps_of(w), w->now.n - w->cfg->target, leader))
		return BERTH_OK;
	return group_take(w, leader, err);
}
