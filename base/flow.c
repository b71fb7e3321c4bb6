/* Maximum flows by blocking flows: levels by distance, then paths along them until none has room. */
#include "flow.h"

berth_status berth_flow_new(int32_t n_nodes, int64_t most_joins, berth_arena *mem, berth_flow *out,
                            berth_err *err)
{
	*out = (berth_flow){.n_nodes = n_nodes, .most_arcs = 2 * most_joins};
	BERTH_TRY_NEW(mem, n_nodes, err, out->first, out->at, out->level, out->queue, out->path);
	BERTH_TRY_NEW(mem, out->most_arcs, err, out->next, out->room, out->to);
	berth_flow_clear(out);
	return BERTH_OK;
}

void berth_flow_clear(berth_flow *f)
{
	f->n_arcs = 0;
	for (int32_t v = 0; v < f->n_nodes; v++)
		f->first[v] = -1;
}

static void add_arc(berth_flow *f, int32_t from, int32_t to, int64_t room)
{
	assert(f->n_arcs < f->most_arcs);
	f->to[f->n_arcs] = to;
	f->room[f->n_arcs] = room;
	f->next[f->n_arcs] = f->first[from];
	f->first[from] = f->n_arcs++;
}

void berth_flow_join(berth_flow *f, int32_t from, int32_t to, int64_t room, int64_t back)
{
	add_arc(f, from, to, room);
	add_arc(f, to, from, back);
}

/* Distances from the source over arcs with room; -1: out of reach. Returns the arcs that were looked at. */
static int64_t find_levels(berth_flow *f, int32_t source)
{
	int32_t head = 0, tail = 0;
	int64_t looked = 0;
	for (int32_t v = 0; v < f->n_nodes; v++)
		f->level[v] = -1;
	f->level[source] = 0;
	f->queue[tail++] = source;
	while (head < tail) {
		int32_t v = f->queue[head++];
		for (int64_t a = f->first[v]; a >= 0; a = f->next[a], looked++)
			if (f->room[a] && f->level[f->to[a]] < 0) {
				f->level[f->to[a]] = f->level[v] + 1;
				f->queue[tail++] = f->to[a];
			}
	}
	return looked;
}

/* Fill the paths of the levels. Returns the arcs that were looked at. */
static int64_t block(berth_flow *f, int32_t source, int32_t sink)
{
	int32_t n = 0;
	int64_t looked = 0;
	BERTH_COPY(f->at, f->first, f->n_nodes);
	for (;;) {
		int32_t v = n ? f->to[f->path[n - 1]] : source;
		if (v == sink) {
			looked += n;
			/* Flow along the path of n arcs. Returns how many arcs of it stay: up to the first
			 * that is full. */
			int64_t most = BERTH_FLOW_ENDLESS;
			int32_t stays = n;
			for (int32_t i = 0; i < n; i++)
				most = f->room[f->path[i]] < most ? f->room[f->path[i]] : most;
			for (int32_t i = n - 1; i >= 0; i--) {
				f->room[f->path[i]] -= most;
				f->room[f->path[i] ^ 1] += most;
				stays = f->room[f->path[i]] ? stays : i;
			}
			n = stays;
			continue;
		}
		int64_t a = f->at[v];
		while (a >= 0 && !(f->room[a] && f->level[f->to[a]] == f->level[v] + 1)) {
			a = f->next[a];
			looked++;
		}
		f->at[v] = a;
		if (a >= 0) {
			f->path[n++] = a;
		} else if (n) { /* a dead end: the arc to it is passed over from now on */
			int64_t in = f->path[--n];
			f->at[f->to[in ^ 1]] = f->next[in];
		} else {
			return looked;
		}
	}
}

bool berth_flow_max(berth_flow *f, int32_t source, int32_t sink, bool (*go_on)(void *ctx, int64_t arcs),
                    void *ctx)
{
	int64_t looked = find_levels(f, source);
	while (f->level[sink] >= 0) {
		if (!go_on(ctx, looked))
			return false;
		looked = block(f, source, sink);
		looked += find_levels(f, source);
	}
	return true;
}
