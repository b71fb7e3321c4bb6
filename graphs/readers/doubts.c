/* Doubts about graphs that were written by hand: what is a slip, and what a dummy. */
#include "load.h"

#include "onnx.h"
#include "tasks.h"

#include <strings.h>

enum { MOST_NAMED = 3, MOST_TYPES = 8 };

static berth_status add(berth_read_report *r, const char *text, berth_arena *mem, berth_err *err)
{
	const char **all;
	BERTH_TRY(berth_got(text, err));
	BERTH_TRY_NEW(mem, r->n_warnings + 1, err, all);
	BERTH_COPY(all, r->warning, r->n_warnings);
	all[r->n_warnings++] = text;
	r->warning = all;
	return BERTH_OK;
}

/* A slip of the pen: an edit in four letters, or the case of letters. */
static bool is_slip(const char *type, const char *near)
{
	int most = (int)strlen(type) / 4;
	return near && (strcasecmp(type, near) == 0 || berth_text_distance(type, near) <= most);
}

static bool has_cost(const berth_graph *g, int32_t op)
{
	bool any = g->op_flops[op] > 0 || g->op_read_bytes[op] > 0 || g->op_write_bytes[op] > 0;
	BERTH_EACH (i, g->op_time_off, op)
		any |= !(g->time_s[i] <= 0);
	return any;
}

static berth_status doubt_costs(const berth_graph *g, berth_arena *mem, berth_arena *tmp,
                                berth_read_report *r, berth_err *err)
{
	int32_t n = 0, with = 0;
	bool *costs, *from;
	berth_strbuf names = {.mem = tmp};
	const char *text;
	BERTH_TRY_NEW(tmp, g->n_ops, err, costs, from);
	for (int32_t op = 0; op < g->n_ops; op++)
		with += costs[op] = has_cost(g, op);
	for (int32_t t = 0; t < g->n_tensors; t++)
		from[g->tensor_producer[t]] = true;
	for (int32_t op = 0; op < g->n_ops; op++)
		if (!costs[op] && (!with || (from[op] && g->op_in_off[op] < g->op_in_off[op + 1])) &&
		    n++ < MOST_NAMED)
			berth_strbuf_printf(&names, "%s'%.40s'", n > 1 ? ", " : "", g->op_name[op]);
	if (!n)
		return BERTH_OK;
	BERTH_TRY(berth_strbuf_done(&names, &text, NULL, err));
	return add(r,
	           berth_arena_printf(
			   mem, "%d operator%s without any cost (time, flops, bytes) take%s no time: %s%s",
			   (int)n, n == 1 ? "" : "s", n == 1 ? "s" : "", text,
			   n > MOST_NAMED ? " and others" : ""),
	           mem, err);
}

berth_status berth_graph_doubts(const berth_graph *g, berth_arena *mem, berth_arena *tmp,
                                berth_read_report *r, berth_err *err)
{
	bool dot = r->format && strcmp(r->format, berth_format_dot.name) == 0;
	if (!dot && (!r->format || strcmp(r->format, berth_format_json.name) != 0))
		return BERTH_OK;
	BERTH_SCRATCH(tmp);
	const char **known;
	int32_t n, told = 0;
	berth_strmap map;
	BERTH_TRY(berth_onnx_types(tmp, &known, &n, err));
	berth_strmap_init(&map, tmp);
	for (int32_t i = 0, found; i < n; i++)
		BERTH_TRY(berth_strmap_add(&map, known[i], i, &found, err));
	for (int32_t i = 0; i < g->n_types && told < MOST_TYPES; i++) {
		const char *type = g->type_name[i];
		const char *near =
			berth_strmap_get(&map, type) < 0 ? berth_text_nearest(type, known, n) : NULL;
		if (!is_slip(type, near))
			continue;
		told++;
		BERTH_TRY(add(
			r,
			berth_arena_printf(mem, "operators of type '%.60s' (did you mean '%s'?)", type, near),
			mem, err));
	}
	return dot ? doubt_costs(g, mem, tmp, r, err) : BERTH_OK;
}
