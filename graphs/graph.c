/* Checks and sums of the operator graph: what it holds, its depth and width, and all of it by type. It is
 * made in graph_build.c and graph_finish.c. */
#include "graph_build.h"

#include "graph.h"

int graph_compare_names(const char *a, const char *b)
{
	if (!a || !b)
		return (a != NULL) - (b != NULL);
	return strcmp(a, b);
}

static berth_status check_offsets(const char *what, const int32_t *off, int32_t n, int32_t total,
                                  berth_err *err)
{
	if (off[0] != 0 || off[n] != total)
		return berth_fail(err, BERTH_EFORMAT, "%s: offsets span %d to %d, expected 0 to %d", what,
		                  off[0], off[n], total);
	for (int32_t i = 0; i < n; i++)
		if (off[i] > off[i + 1])
			return berth_fail(err, BERTH_EFORMAT, "%s: offset %d falls", what, i);
	return BERTH_OK;
}

/* list[off[k] .. off[k + 1]) ascends within 0 .. n-1. */
static berth_status check_ascending(const char *what, const int32_t *off, const int32_t *list, int32_t k,
                                    int32_t n, berth_err *err)
{
	BERTH_EACH (i, off, k)
		if (list[i] < 0 || list[i] >= n || (i > off[k] && list[i - 1] >= list[i]))
			return berth_fail(err, BERTH_EFORMAT, "%s %d not ascending", what, k);
	return BERTH_OK;
}

berth_status berth_graph_check(const berth_graph *g, berth_err *err)
{
	int32_t n_uses = g->param_op_off[g->n_params];
	BERTH_TRY(check_offsets("op_time_off", g->op_time_off, g->n_ops, g->n_times, err));
	BERTH_TRY(check_offsets("op_forbid_off", g->op_forbid_off, g->n_ops, g->n_forbids, err));
	BERTH_TRY(check_offsets("op_tensor_off", g->op_tensor_off, g->n_ops, g->n_tensors, err));
	BERTH_TRY(check_offsets("tensor_use_off", g->tensor_use_off, g->n_tensors, g->n_edges, err));
	BERTH_TRY(check_offsets("op_in_off", g->op_in_off, g->n_ops, g->n_edges, err));
	BERTH_TRY(check_offsets("param_op_off", g->param_op_off, g->n_params, n_uses, err));
	BERTH_TRY(check_offsets("op_param_off", g->op_param_off, g->n_ops, n_uses, err));
	for (int32_t op = 0; op < g->n_ops; op++) {
		if (g->op_topo[op] < 0 || g->op_topo[op] >= g->n_ops || g->topo_op[g->op_topo[op]] != op)
			return berth_fail(err, BERTH_EFORMAT,
			                  "operator %d: topological order and its inverse disagree", op);
		if (g->op_type[op] >= g->n_types || g->op_coloc_name[op] >= g->n_coloc_names ||
		    g->op_sep[op] >= g->n_seps)
			return berth_fail(err, BERTH_EFORMAT,
			                  "operator %d: type, colocation or separation group out of range",
			                  op);
		BERTH_EACH (t, g->op_tensor_off, op)
			if (g->tensor_producer[t] != op ||
			    (t > g->op_tensor_off[op] &&
			     graph_compare_names(g->tensor_name[t - 1], g->tensor_name[t]) >= 0))
				return berth_fail(err, BERTH_EFORMAT, "tensor %d: wrong producer or order",
				                  t);
		BERTH_EACH (i, g->op_in_off, op) {
			int32_t t = g->in_tensor[i];
			if (t < 0 || t >= g->n_tensors || g->op_topo[g->tensor_producer[t]] >= g->op_topo[op])
				return berth_fail(err, BERTH_EFORMAT,
				                  "operator %d: input %d does not come before it", op, i);
		}
		BERTH_TRY(check_ascending("parameters of operator", g->op_param_off, g->op_param, op,
		                          g->n_params, err));
	}
	for (int32_t p = 0; p < g->n_params; p++)
		BERTH_TRY(check_ascending("users of parameter", g->param_op_off, g->param_op, p, g->n_ops,
		                          err));
	for (int32_t t = 0; t < g->n_tensors; t++)
		BERTH_TRY(check_ascending("consumers of tensor", g->tensor_use_off, g->edge_consumer, t,
		                          g->n_ops, err));
	return BERTH_OK;
}

void berth_graph_must_hold(const berth_graph *g)
{
	berth_err broken;
	if (BERTH_DEBUG)
		berth_must(berth_graph_check(g, &broken), &broken);
}

static const char *word(const char *const *list, int32_t i)
{
	return i >= 0 ? list[i] : NULL;
}

berth_op_spec berth_graph_op_spec(const berth_graph *g, int32_t op)
{
	return (berth_op_spec){.name = g->op_name[op],
	                       .type = word(g->type_name, g->op_type[op]),
	                       .flops = g->op_flops[op],
	                       .macs = g->op_macs[op],
	                       .read_bytes = g->op_read_bytes[op],
	                       .write_bytes = g->op_write_bytes[op],
	                       .param_bytes = g->op_param_bytes[op],
	                       .state_bytes = g->op_state_bytes[op],
	                       .workspace_bytes = g->op_workspace_bytes[op],
	                       .output_bytes = g->op_output_bytes[op],
	                       .colocate = word(g->coloc_name, g->op_coloc_name[op]),
	                       .separate = word(g->sep_name, g->op_sep[op]),
	                       .pin = g->op_pin[op],
	                       .backward = g->op_backward[op],
	                       .dtype = (berth_precision)g->op_dtype[op],
	                       .dims = *berth_graph_dims(g, op)};
}

const char *berth_graph_stem(const char *path, size_t *n)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
	*n = dot && dot > name ? (size_t)(dot - name) : strlen(name);
	return name;
}

int32_t berth_graph_find(const berth_graph *g, const char *name)
{
	for (int32_t op = 0; op < g->n_ops; op++)
		if (strcmp(g->op_name[op], name) == 0)
			return op;
	return -1;
}

berth_status berth_graph_names(const berth_graph *g, berth_arena *mem, berth_strmap *map, berth_err *err)
{
	berth_strmap_init(map, mem);
	BERTH_TRY(berth_strmap_reserve(map, (size_t)g->n_ops, err));
	for (int32_t op = 0; op < g->n_ops; op++)
		BERTH_TRY(berth_strmap_add(map, g->op_name[op], op, NULL, err));
	return BERTH_OK;
}

const char *berth_graph_time_name(const berth_graph *g, int32_t i)
{
	return g->time_name[g->time_key[i]];
}

berth_status berth_graph_join_time_names(const berth_graph *g, const char *const *more, size_t n,
                                         berth_arena *mem, berth_graph *out, berth_err *err)
{
	size_t n_old = (size_t)g->n_time_names;
	if (n_old + n > GRAPH_MAX_DEVICES)
		return berth_fail(err, BERTH_EFORMAT, "more than %d names of devices", GRAPH_MAX_DEVICES);
	BERTH_TRY_NEW(mem, n_old + n, err, out->time_name);
	if (n_old)
		memcpy(out->time_name, g->time_name, n_old * sizeof *out->time_name);
	if (n)
		memcpy(out->time_name + n_old, more, n * sizeof *out->time_name);
	out->n_time_names = (int32_t)(n_old + n);
	return BERTH_OK;
}

double berth_graph_flops(const berth_graph *g)
{
	double sum = 0;
	for (int32_t op = 0; op < g->n_ops; op++)
		sum += g->op_flops[op];
	return sum;
}

double berth_graph_macs(const berth_graph *g)
{
	double sum = 0;
	for (int32_t op = 0; op < g->n_ops; op++)
		sum += g->op_macs[op];
	return sum;
}

int64_t berth_graph_op_weights(const berth_graph *g, int32_t op)
{
	int64_t sum = g->op_param_bytes[op];
	BERTH_EACH (i, g->op_param_off, op)
		sum += g->param_bytes[g->op_param[i]];
	return sum;
}

bool berth_graph_has_weights(const berth_graph *g, int32_t op)
{
	return g->op_param_bytes[op] > 0 || g->op_param_off[op + 1] > g->op_param_off[op];
}

int64_t berth_graph_param_bytes(const berth_graph *g)
{
	int64_t sum = 0;
	for (int32_t op = 0; op < g->n_ops; op++)
		sum += g->op_param_bytes[op];
	for (int32_t p = 0; p < g->n_params; p++)
		sum += g->param_bytes[p];
	return sum;
}

/* ---- depth, width and sums by type ---- */

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

static int32_t type_of(const berth_graph *g, int32_t op)
{
	return g->op_type[op] < 0 ? g->n_types : g->op_type[op];
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
	BERTH_TRY_NEW(mem, types, err, s.type_ops, s.type_flops, s.type_macs, s.type_read_bytes,
	              s.type_write_bytes, s.type_param_bytes, s.type_state_bytes, s.type_by_ops);
	BERTH_SCRATCH(tmp);
	/* Distance of each operator from the sources, and from it depth and width. */
	int32_t *level;
	BERTH_TRY_NEW(tmp, g->n_ops, err, level);
	for (int32_t k = 0; k < g->n_ops; k++) {
		int32_t op = g->topo_op[k];
		BERTH_EACH (i, g->op_in_off, op) {
			int32_t from = level[g->tensor_producer[g->in_tensor[i]]];
			level[op] = from + 1 > level[op] ? from + 1 : level[op];
		}
		s.depth = level[op] + 1 > s.depth ? level[op] + 1 : s.depth;
	}
	s.width = width_of(level, g->n_ops);
	for (int32_t op = 0; op < g->n_ops; op++) {
		int32_t type = type_of(g, op);
		s.type_ops[type]++;
		s.type_flops[type] += g->op_flops[op];
		s.type_macs[type] += g->op_macs[op];
		s.type_read_bytes[type] += g->op_read_bytes[op];
		s.type_write_bytes[type] += g->op_write_bytes[op];
		s.type_param_bytes[type] += g->op_param_bytes[op];
		s.type_state_bytes[type] += g->op_state_bytes[op];
		s.state_bytes += g->op_state_bytes[op];
		s.moved_bytes += g->op_read_bytes[op] + g->op_write_bytes[op];
		s.memory_bytes += g->op_state_bytes[op] + g->op_output_bytes[op];
	}
	for (int32_t i = 0; i < g->n_params; i++)
		if (g->param_op_off[i] < g->param_op_off[i + 1])
			s.type_param_bytes[type_of(g, g->param_op[g->param_op_off[i]])] += g->param_bytes[i];
	for (int32_t t = 0; t < g->n_tensors; t++)
		s.tensor_bytes += g->tensor_bytes[t];
	for (int32_t n = 0; n <= g->n_types; n++) { /* insertion: there are few types */
		int32_t i = n;
		for (; i > 0 && s.type_ops[s.type_by_ops[i - 1]] < s.type_ops[n]; i--)
			s.type_by_ops[i] = s.type_by_ops[i - 1];
		s.type_by_ops[i] = n;
	}
	s.pieces = berth_graph_pieces(g, &s.cut_ops);
	*out = s;
	return BERTH_OK;
}

/* What the names of pieces tell: their number, how many there are, whether they are joined. A name that
 * was taken has "#2" behind it. */
/* The last place where the mark stands; NULL: nowhere. */
static const char *last(const char *name, const char *mark)
{
	const char *at = NULL;
	for (const char *s = strstr(name, mark); s; s = strstr(s + 1, mark))
		at = s;
	return at;
}

static bool ends(const char *rest)
{
	return *rest == '\0' || *rest == '#';
}

/* Behind "2 of 3"; NULL: text begins with something else. */
static const char *read_pair(const char *text, int32_t *i, int32_t *k)
{
	static const char of[] = " of ";
	*i = berth_text_digits(text, 999, &text);
	if (*i < 1 || strncmp(text, of, sizeof of - 1) != 0)
		return NULL;
	*k = berth_text_digits(text + sizeof of - 1, 999, &text);
	return *i <= *k ? text : NULL;
}

/* Of "2 of 3" the number 2, and 3 in *of, which may be NULL; 0: it is something else. */
static int32_t read_number(const char *text, int32_t *of)
{
	int32_t i, k;
	const char *end = read_pair(text, &i, &k);
	if (!end || !ends(end))
		return 0;
	if (of)
		*of = k;
	return i;
}

/* As berth_piece_number for any mark. */
static int32_t number(const char *name, const char *mark, int32_t *of, size_t *len)
{
	const char *at = last(name, mark);
	int32_t i = at ? read_number(at + strlen(mark), of) : 0;
	if (i && len)
		*len = (size_t)(at - name);
	return i;
}

int32_t berth_piece_number(const char *name, int32_t *of, size_t *len)
{
	return number(name, "/piece ", of, len);
}

bool berth_piece_is_part(const char *name)
{
	return number(name, "/piece ", NULL, NULL) > 0 || number(name, "/sum ", NULL, NULL) > 0;
}

bool berth_piece_is_join(const char *name)
{
	static const char mark[] = "/joined";
	const char *at = last(name, mark);
	return at && ends(at + sizeof mark - 1);
}

int32_t berth_piece_share(const char *name, int32_t *of)
{
	const char *at = last(name, " of ");
	while (at && at > name && at[-1] != ' ')
		at--;
	return at && at > name ? read_number(at, of) : 0;
}

bool berth_piece_named(const char *name)
{
	for (const char *at = strstr(name, " of "); at; at = strstr(at + 1, " of ")) {
		int32_t i, k;
		const char *from = at;
		while (from > name && from[-1] >= '0' && from[-1] <= '9')
			from--;
		if (read_pair(from, &i, &k))
			return true;
	}
	return false;
}
