/* Depth, width and sums by type; see stats.h. */
#include "stats.h"

#include "piece_names.h"

#include <stdbool.h>

/* The most operators on one level. Counts replace the levels, as -1 - count, so that a large graph needs no
 * second list: what stood in a count's place is counted next. */
static int32_t width_of(int32_t *level, int32_t n)
{
	int32_t width = 0;
	for (int32_t i = 0; i < n; i++) {
		int32_t at = level[i];
		if (at >= 0)
			level[i] = -1;
		while (at >= 0) {
			int32_t there = level[at];
			level[at] = there < 0 ? there - 1 : -2;
			width = -1 - level[at] > width ? -1 - level[at] : width;
			at = there;
		}
	}
	return width;
}

/* Distance of each operator from the sources, and from it depth and width. */
static berth_status levels(const berth_graph *g, berth_arena *tmp, berth_graph_stats *s, berth_err *err)
{
	int32_t *level;
	BERTH_TRY(BERTH_NEW(tmp, level, g->n_ops, err));
	for (int32_t k = 0; k < g->n_ops; k++) {
		int32_t op = g->topo_op[k];
		for (int32_t i = g->op_in_off[op]; i < g->op_in_off[op + 1]; i++) {
			int32_t from = level[g->tensor_producer[g->in_tensor[i]]];
			level[op] = from + 1 > level[op] ? from + 1 : level[op];
		}
		s->depth = level[op] + 1 > s->depth ? level[op] + 1 : s->depth;
	}
	s->width = width_of(level, g->n_ops);
	return BERTH_OK;
}

static void sort_types(const berth_graph *g, berth_graph_stats *s)
{
	for (int32_t n = 0; n <= g->n_types; n++) { /* insertion: there are few types */
		int32_t i = n;
		for (; i > 0 && s->type_ops[s->type_by_ops[i - 1]] < s->type_ops[n]; i--)
			s->type_by_ops[i] = s->type_by_ops[i - 1];
		s->type_by_ops[i] = n;
	}
}

static int32_t type_of(const berth_graph *g, int32_t op)
{
	return g->op_type[op] < 0 ? g->n_types : g->op_type[op];
}

static void add_up(const berth_graph *g, berth_graph_stats *s)
{
	for (int32_t op = 0; op < g->n_ops; op++) {
		int32_t type = type_of(g, op);
		s->type_ops[type]++;
		s->type_flops[type] += g->op_flops[op];
		s->type_macs[type] += g->op_macs[op];
		s->type_read_bytes[type] += g->op_read_bytes[op];
		s->type_write_bytes[type] += g->op_write_bytes[op];
		s->type_param_bytes[type] += g->op_param_bytes[op];
		s->type_state_bytes[type] += g->op_state_bytes[op];
		s->state_bytes += g->op_state_bytes[op];
		s->moved_bytes += g->op_read_bytes[op] + g->op_write_bytes[op];
		s->memory_bytes += g->op_state_bytes[op] + g->op_output_bytes[op];
	}
	for (int32_t i = 0; i < g->n_params; i++)
		if (g->param_op_off[i] < g->param_op_off[i + 1])
			s->type_param_bytes[type_of(g, g->param_op[g->param_op_off[i]])] += g->param_bytes[i];
}

int32_t berth_graph_pieces(const berth_graph *g, int32_t *cut_ops)
{
	int32_t pieces = 0;
	*cut_ops = 0;
	for (int32_t op = 0; op < g->n_ops; op++) {
		int32_t i = berth_piece_number(g->op_name[op], NULL, NULL);
		*cut_ops += i == 1;
		pieces += i > 0;
	}
	return pieces;
}

berth_status berth_graph_stats_new(const berth_graph *g, berth_arena *mem, berth_arena *tmp,
                                   berth_graph_stats *out, berth_err *err)
{
	berth_graph_stats s = {.memory_bytes = berth_graph_param_bytes(g)};
	size_t types = (size_t)g->n_types + 1;
	BERTH_TRY(BERTH_NEW(mem, s.type_ops, types, err));
	BERTH_TRY(BERTH_NEW(mem, s.type_flops, types, err));
	BERTH_TRY(BERTH_NEW(mem, s.type_macs, types, err));
	BERTH_TRY(BERTH_NEW(mem, s.type_read_bytes, types, err));
	BERTH_TRY(BERTH_NEW(mem, s.type_write_bytes, types, err));
	BERTH_TRY(BERTH_NEW(mem, s.type_param_bytes, types, err));
	BERTH_TRY(BERTH_NEW(mem, s.type_state_bytes, types, err));
	BERTH_TRY(BERTH_NEW(mem, s.type_by_ops, types, err));
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	berth_status st = levels(g, tmp, &s, err);
	berth_arena_reset(tmp, mark);
	BERTH_TRY(st);
	add_up(g, &s);
	for (int32_t t = 0; t < g->n_tensors; t++)
		s.tensor_bytes += g->tensor_bytes[t];
	sort_types(g, &s);
	s.pieces = berth_graph_pieces(g, &s.cut_ops);
	*out = s;
	return BERTH_OK;
}
