/* The finished graph out of a builder. What is sorted is sorted by place
 * first, by counting, then within each place. What of the builder is in the graph goes back to the system at
 * once, so that a large graph does not stand there twice. */
#include "graph_build.h"

#include "sort.h"

#define MAX_SUM (INT64_C(1) << 62)
#define MAX_WORK 1e300

typedef struct finish {
	berth_builder *b;
	berth_arena *mem;
	berth_graph *g;
	size_t n_ops, n_edges;
	void *zeros;            /* [n_ops + 1] of 8 bytes */
	int32_t *nones;         /* [n_ops] of -1; NULL: not needed so far */
	int32_t *counted;       /* [n_ops + 1] 0, 1, 2, ... behind another 0; NULL: not needed so far */
	const char **device;    /* the builder's words, in mem */
	berth_err *err;
} finish;

/* A text of the builder, in mem. */
static berth_status put_text(finish *f, const char *from, const char **out)
{
	bool there = f->b->texts == f->mem && !f->b->borrows;
	*out = there ? from : berth_arena_strdup(f->mem, from);
	return *out ? BERTH_OK : berth_nomem(f->err);
}

/* Scratch of a step, unless the graph is made in the builder's own arena. */
static void drop(finish *f, berth_arena_mark mark)
{
	if (f->mem != f->b->tmp)
		berth_arena_reset(f->b->tmp, mark);
}

/* ---- sorting ---- */

/* What rows are compared by. */
typedef struct sorting {
	const berth_builder *b;
	const columns *c;
} sorting;

/* Rows of a table by their value in the column, 0..n_at-1: row[off[at]] .. row[off[at + 1] - 1] have the
 * value at, in their order by compare. off [n_at + 1] comes zeroed; row is scratch. */
static berth_status group_rows(finish *f, const columns *c, int column, size_t n_at, berth_compare *compare,
                               int32_t *off, int32_t **row)
{
	size_t n = c->n_rows, largest = 0;
	int32_t *scratch;
	BERTH_TRY_NEW(f->b->tmp, n, f->err, *row);
	if (n == 0)
		return BERTH_OK; /* off may be zeros that others have, too */
	for (size_t i = 0; i < n; i++)
		off[columns_int(c, column, i) + 1]++;
	for (size_t i = 0; i < n_at; i++)
		largest = (size_t)off[i + 1] > largest ? (size_t)off[i + 1] : largest;
	berth_csr_begin(off, n_at);
	for (size_t i = 0; i < n; i++)
		(*row)[off[columns_int(c, column, i)]++] = (int32_t)i;
	berth_csr_filled(off, n_at);
	BERTH_TRY_NEW(f->b->tmp, largest, f->err, scratch);
	for (size_t i = 0; i < n_at; i++)
		berth_sort(*row + off[i], (size_t)(off[i + 1] - off[i]), scratch, compare,
		           &(sorting){f->b, c});
	return BERTH_OK;
}

/* *off = [n_at + 1] in mem; where the table is empty zeros that others have too. */
static berth_status new_offsets(finish *f, const columns *c, size_t n_at, int32_t **off)
{
	if (c->n_rows == 0 && n_at <= f->n_ops) {
		*off = f->zeros;
		return BERTH_OK;
	}
	return BERTH_NEW(f->mem, *off, n_at + 1, f->err);
}

/* ---- operators ---- */

/* The list of 8 bytes an operator that *list points to. */
static berth_status finish_figures(finish *f, int column, void *list)
{
	void *x = f->zeros;
	if (columns_used(&f->b->op, column)) {
		BERTH_TRY(berth_got(x = berth_arena_alloc(f->mem, f->n_ops, sizeof(int64_t)), f->err));
		columns_move(&f->b->op, column, x);
	}
	memcpy(list, &x, sizeof x);
	return BERTH_OK;
}

static berth_status count_up(finish *f, int32_t **out)
{
	if (!f->counted) {
		BERTH_TRY_NEW(f->mem, f->n_ops + 2, f->err, f->counted);
		f->counted++;
		for (size_t i = 0; i <= f->n_ops; i++)
			f->counted[i] = (int32_t)i;
	}
	*out = f->counted;
	return BERTH_OK;
}

/* Indices that stand in a list of the graph's are kept there, as those of paths and stars do: zeros, or
 * (0,) k, k + 1, ... Then the memory of their own goes back to the system. */
static berth_status share(finish *f, int32_t **list, size_t n)
{
	int32_t *x = *list, *same;
	size_t zeros = 0;
	while (zeros < n && x[zeros] == 0)
		zeros++;
	size_t last = zeros == 2 ? n - 2 : n && x[0] >= 0 ? (size_t)x[0] + n - 1 : SIZE_MAX;
	if (zeros == n && n <= 2 * (f->n_ops + 1)) {
		same = f->zeros;
	} else {
		if (zeros > 2 || last > f->n_ops || x[n - 1] != (int32_t)last)
			return BERTH_OK;
		BERTH_TRY(count_up(f, &same));
		same = zeros == 2 ? same - 1 : same + x[0];
	}
	if (same == x || memcmp(same, x, n * sizeof *x) != 0)
		return BERTH_OK;
	berth_arena_forget(f->mem, x, n * sizeof *x);
	*list = same;
	return BERTH_OK;
}

/* Words that operators have, in order of first use. */
static berth_status finish_words(finish *f, const graph_words *w, int column, const char ***list, int32_t *n,
                                 int32_t **index)
{
	int32_t *as;
	*n = 0;
	BERTH_TRY_NEW(f->mem, w->word.n_rows, f->err, *list);
	if (!columns_used(&f->b->op, column)) {
		if (!f->nones) {
			BERTH_TRY_NEW(f->mem, f->n_ops, f->err, f->nones);
			for (size_t i = 0; i < f->n_ops; i++)
				f->nones[i] = -1;
		}
		*index = f->nones;
		return BERTH_OK;
	}
	berth_arena_mark mark = berth_arena_get_mark(f->b->tmp);
	BERTH_TRY_NEW(f->b->tmp, w->word.n_rows + 1, f->err, as);
	BERTH_TRY_NEW(f->mem, f->n_ops, f->err, *index);
	for (size_t op = 0; op < f->n_ops; op++) {
		int32_t i = columns_int(&f->b->op, column, op);
		if (i && !as[i]) {
			BERTH_TRY(put_text(f, graph_word(w, i - 1), &(*list)[*n]));
			as[i] = ++*n;
		}
		(*index)[op] = as[i] - 1;
	}
	columns_drop(&f->b->op, column);
	drop(f, mark);
	return BERTH_OK;
}

static berth_status finish_pins(finish *f)
{
	f->g->op_pin = f->zeros;
	if (!columns_used(&f->b->op, OP_PIN))
		return BERTH_OK;
	BERTH_TRY_NEW(f->mem, f->n_ops, f->err, f->g->op_pin);
	for (size_t op = 0; op < f->n_ops; op++) {
		int32_t i = columns_int(&f->b->op, OP_PIN, op);
		f->g->op_pin[op] = i ? f->device[i - 1] : NULL;
	}
	columns_drop(&f->b->op, OP_PIN);
	return BERTH_OK;
}

static berth_status finish_backward(finish *f)
{
	f->g->op_backward = f->zeros;
	if (!columns_used(&f->b->op, OP_BACKWARD))
		return BERTH_OK;
	BERTH_TRY_NEW(f->mem, f->n_ops, f->err, f->g->op_backward);
	for (size_t op = 0; op < f->n_ops; op++)
		f->g->op_backward[op] = columns_byte(&f->b->op, OP_BACKWARD, op) != 0;
	return BERTH_OK;
}

static berth_status finish_dtypes(finish *f)
{
	f->g->op_dtype = f->zeros;
	if (!columns_used(&f->b->op, OP_DTYPE))
		return BERTH_OK;
	BERTH_TRY_NEW(f->mem, f->n_ops, f->err, f->g->op_dtype);
	columns_move(&f->b->op, OP_DTYPE, f->g->op_dtype);
	return BERTH_OK;
}

/* Whatever is made of the sum is finite too. */
static berth_status check_work(const finish *f, int column, const char *what)
{
	double sum = 0;
	for (size_t i = 0; i < f->n_ops; i++)
		sum += columns_double(&f->b->op, column, i);
	return sum <= MAX_WORK ? BERTH_OK
	                       : berth_fail(f->err, BERTH_EFORMAT,
	                                    "all %s of the graph together are beyond 1e300", what);
}

static berth_status finish_ops(finish *f)
{
	berth_graph *g = f->g;
	f->zeros = berth_arena_alloc(f->mem, f->n_ops + 1, sizeof(int64_t));
	BERTH_TRY(berth_got(f->zeros, f->err));
	const berth_builder *b = f->b;
	double sum = 0;
	for (size_t i = 0; i < f->n_ops; i++)
		for (int column = OP_READ; column <= OP_OUTPUT; column++)
			sum += (double)columns_long(&b->op, column, i);
	for (size_t i = 0; i < b->edge.n_rows; i++)
		sum += (double)(columns_long(&b->edge, EDGE_BYTES, i) & ~GRAPH_OWN);
	for (size_t i = 0; i < b->param.n_rows; i++)
		sum += (double)columns_long(&b->param, PARAM_BYTES, i);
	if (sum >= (double)MAX_SUM / 2)
		return berth_fail(f->err, BERTH_EFORMAT,
		                  "all bytes of the graph together are %.3g, beyond 2^61", sum);
	BERTH_TRY(check_work(f, OP_FLOPS, "flops"));
	BERTH_TRY(check_work(f, OP_MACS, "macs"));
	size_t n = f->b->devices.word.n_rows;
	berth_name_index_drop(&f->b->ops);
	BERTH_TRY_NEW(f->mem, f->n_ops, f->err, g->op_name);
	columns_move(&f->b->op, OP_NAME, g->op_name);
	for (size_t op = 0; op < f->n_ops; op++)
		BERTH_TRY(put_text(f, g->op_name[op], &g->op_name[op]));
	f->b->names = g->op_name;
	BERTH_TRY_NEW(f->mem, n, f->err, f->device);
	for (size_t i = 0; i < n; i++)
		BERTH_TRY(put_text(f, graph_word(&f->b->devices, (int32_t)i), &f->device[i]));
	BERTH_TRY(finish_figures(f, OP_FLOPS, &g->op_flops));
	BERTH_TRY(finish_figures(f, OP_MACS, &g->op_macs));
	BERTH_TRY(finish_figures(f, OP_READ, &g->op_read_bytes));
	BERTH_TRY(finish_figures(f, OP_WRITE, &g->op_write_bytes));
	BERTH_TRY(finish_figures(f, OP_PARAM, &g->op_param_bytes));
	BERTH_TRY(finish_figures(f, OP_STATE, &g->op_state_bytes));
	BERTH_TRY(finish_figures(f, OP_WORKSPACE, &g->op_workspace_bytes));
	BERTH_TRY(finish_figures(f, OP_OUTPUT, &g->op_output_bytes));
	BERTH_TRY(finish_backward(f));
	BERTH_TRY(finish_dtypes(f));
	BERTH_TRY(graph_finish_dims(f->b, (int32_t *)f->zeros, f->mem, g, f->err));
	BERTH_TRY(finish_pins(f));
	BERTH_TRY(finish_words(f, &f->b->types, OP_TYPE, &g->type_name, &g->n_types, &g->op_type));
	BERTH_TRY(finish_words(f, &f->b->colocs, OP_COLOC, &g->coloc_name, &g->n_coloc_names,
	                       &g->op_coloc_name));
	return finish_words(f, &f->b->seps, OP_SEP, &g->sep_name, &g->n_seps, &g->op_sep);
}

/* ---- times, forbidden devices, parameters ---- */

static int compare_devices(const void *ctx, int32_t x, int32_t y)
{
	const sorting *by = ctx;
	const graph_words *devices = &by->b->devices;
	return strcmp(graph_word(devices, columns_int(by->c, PAIR_WHAT, (size_t)x)),
	              graph_word(devices, columns_int(by->c, PAIR_WHAT, (size_t)y)));
}

static int compare_uses(const void *ctx, int32_t x, int32_t y)
{
	const sorting *by = ctx;
	int32_t i = columns_int(by->c, PAIR_WHAT, (size_t)x), k = columns_int(by->c, PAIR_WHAT, (size_t)y);
	return BERTH_COMPARE(i, k);
}

/* Does each operator have one time, in their order? */
static bool has_time_each(const finish *f)
{
	size_t i = 0, n = f->b->time.n_rows;
	while (i < n && columns_int(&f->b->time, PAIR_AT, i) == (int32_t)i)
		i++;
	return i == f->n_ops && i == n;
}

/* op_time_off, and the times in its order. */
static berth_status order_times(finish *f, int32_t **row)
{
	const columns *c = &f->b->time;
	if (has_time_each(f)) {
		BERTH_TRY(count_up(f, &f->g->op_time_off));
		*row = f->g->op_time_off;
		return BERTH_OK;
	}
	BERTH_TRY(new_offsets(f, c, f->n_ops, &f->g->op_time_off));
	return group_rows(f, c, PAIR_AT, f->n_ops, compare_devices, f->g->op_time_off, row);
}

static berth_status finish_times(finish *f)
{
	columns *c = &f->b->time;
	berth_graph *g = f->g;
	int32_t *row;
	BERTH_TRY(order_times(f, &row));
	BERTH_TRY_NEW(f->mem, c->n_rows, f->err, g->time_key, g->time_s);
	for (size_t i = 0; i < c->n_rows; i++) {
		size_t at = (size_t)row[i];
		int32_t op = columns_int(c, PAIR_AT, at);
		int32_t key = columns_int(c, PAIR_WHAT, at);
		double seconds = columns_double(c, PAIR_SECONDS, at);
		if (key) /* pages of zeros stay untouched */
			g->time_key[i] = (uint16_t)key;
		if (!(seconds <= 0))
			g->time_s[i] = seconds;
		if ((int32_t)i > g->op_time_off[op] && g->time_key[i] == g->time_key[i - 1])
			return berth_fail(f->err, BERTH_EFORMAT, "operator '%s' has two times for '%s'",
			                  g->op_name[op], f->device[g->time_key[i]]);
	}
	g->n_times = (int32_t)c->n_rows;
	g->time_name = f->device;
	g->n_time_names = (int32_t)f->b->devices.word.n_rows;
	columns_drop_all(c);
	return BERTH_OK;
}

static berth_status finish_forbids(finish *f)
{
	columns *c = &f->b->forbid;
	berth_graph *g = f->g;
	int32_t *row;
	BERTH_TRY(new_offsets(f, c, f->n_ops, &g->op_forbid_off));
	BERTH_TRY(group_rows(f, c, PAIR_AT, f->n_ops, compare_devices, g->op_forbid_off, &row));
	BERTH_TRY_NEW(f->mem, c->n_rows, f->err, g->forbid_dev);
	for (size_t i = 0; i < c->n_rows; i++)
		g->forbid_dev[i] = f->device[columns_int(c, PAIR_WHAT, (size_t)row[i])];
	g->n_forbids = (int32_t)c->n_rows;
	columns_drop_all(c);
	return BERTH_OK;
}

static berth_status finish_uses(finish *f)
{
	const columns *c = &f->b->use;
	berth_graph *g = f->g;
	int32_t *row;
	BERTH_TRY(new_offsets(f, c, f->b->param.n_rows, &g->param_op_off));
	BERTH_TRY(group_rows(f, c, PAIR_AT, f->b->param.n_rows, compare_uses, g->param_op_off, &row));
	BERTH_TRY_NEW(f->mem, c->n_rows, f->err, g->param_op);
	for (size_t i = 0; i < c->n_rows; i++) {
		int32_t p = columns_int(c, PAIR_AT, (size_t)row[i]);
		g->param_op[i] = columns_int(c, PAIR_WHAT, (size_t)row[i]);
		if ((int32_t)i > g->param_op_off[p] && g->param_op[i] == g->param_op[i - 1])
			return berth_fail(f->err, BERTH_EFORMAT, "parameter '%s' names operator '%s' twice",
			                  columns_text(&f->b->param, PARAM_NAME, (size_t)p),
			                  g->op_name[g->param_op[i]]);
	}
	columns_drop_all(&f->b->use);
	return BERTH_OK;
}

static berth_status finish_params(finish *f)
{
	const columns *c = &f->b->param;
	berth_graph *g = f->g;
	size_t n = c->n_rows, n_uses = f->b->use.n_rows;
	int32_t *param;
	BERTH_TRY(finish_uses(f));
	BERTH_TRY_NEW(f->mem, n, f->err, g->param_name, g->param_bytes);
	BERTH_TRY_NEW(f->b->tmp, n_uses, f->err, param);
	for (size_t i = 0; i < n; i++) {
		BERTH_TRY(put_text(f, columns_text(c, PARAM_NAME, i), &g->param_name[i]));
		g->param_bytes[i] = columns_long(c, PARAM_BYTES, i);
		BERTH_EACH (k, g->param_op_off, i)
			param[k] = (int32_t)i;
	}
	g->n_params = (int32_t)n;
	columns_drop_all(&f->b->param);
	berth_name_index_drop(&f->b->params);
	g->op_param_off = g->op_param = f->zeros;
	return n_uses ? berth_csr_new(g->n_ops, (int32_t)n_uses, g->param_op, param, f->mem, &g->op_param_off,
	                              &g->op_param, f->err)
	              : BERTH_OK;
}

/* ---- tensors and edges ---- */

static int compare_edges(const void *ctx, int32_t x, int32_t y)
{
	const sorting *by = ctx;
	int c = graph_compare_names(graph_edge_tensor(by->b, (size_t)x), graph_edge_tensor(by->b, (size_t)y));
	int32_t i = columns_int(by->c, EDGE_TO, (size_t)x), k = columns_int(by->c, EDGE_TO, (size_t)y);
	return c ? c : BERTH_COMPARE(i, k);
}

static int64_t edge_bytes(const berth_builder *b, int32_t e)
{
	return columns_long(&b->edge, EDGE_BYTES, (size_t)e) & ~GRAPH_OWN;
}

static bool same_tensor(const berth_builder *b, int32_t x, int32_t y)
{
	return columns_int(&b->edge, EDGE_FROM, (size_t)x) == columns_int(&b->edge, EDGE_FROM, (size_t)y) &&
	       graph_compare_names(graph_edge_tensor(b, (size_t)x), graph_edge_tensor(b, (size_t)y)) == 0;
}

/* Two edges of one tensor, one behind the other. */
static berth_status check_pair(const finish *f, int32_t x, int32_t y)
{
	const berth_builder *b = f->b;
	const char *from = f->g->op_name[columns_int(&b->edge, EDGE_FROM, (size_t)y)],
		   *tensor = graph_edge_tensor(b, (size_t)y);
	int32_t to = columns_int(&b->edge, EDGE_TO, (size_t)y);
	if (!tensor)
		tensor = "(unnamed)";
	if (to == columns_int(&b->edge, EDGE_TO, (size_t)x))
		return berth_fail(f->err, BERTH_EFORMAT,
		                  "the edge from '%s' to '%s' with tensor %s stands twice", from,
		                  f->g->op_name[to], tensor);
	if (edge_bytes(b, x) != edge_bytes(b, y))
		return berth_fail(f->err, BERTH_EFORMAT,
		                  "tensor %s of '%s' has %lld bytes on one edge and %lld on another; name "
		                  "the tensors if they differ",
		                  tensor, from, (long long)edge_bytes(b, x), (long long)edge_bytes(b, y));
	double cut_x = columns_double(&b->edge, EDGE_CUT, (size_t)x),
	       cut_y = columns_double(&b->edge, EDGE_CUT, (size_t)y);
	if (cut_x < cut_y || cut_x > cut_y)
		return berth_fail(f->err, BERTH_EFORMAT,
		                  "tensor %s of '%s' has a cut of %g s on one edge and %g on another", tensor,
		                  from, cut_x, cut_y);
	return BERTH_OK;
}

/* The edges by (producer, tensor, consumer). */
typedef struct edge_list {
	const int32_t *row; /* [n_edges]; NULL: they came in this order */
	uint64_t *first;    /* bits: is it the first edge of its tensor? */
} edge_list;

static size_t edge_at(const edge_list *l, size_t i)
{
	return l->row ? (size_t)l->row[i] : i;
}

static bool is_first(const edge_list *l, size_t i)
{
	return l->first[i / 64] >> (i % 64) & 1;
}

static bool came_in_order(const berth_builder *b)
{
	const sorting by = {b, &b->edge};
	for (size_t e = 1; e < b->edge.n_rows; e++) {
		int32_t last = columns_int(&b->edge, EDGE_FROM, e - 1),
			from = columns_int(&b->edge, EDGE_FROM, e);
		if (last > from || (last == from && compare_edges(&by, (int32_t)e - 1, (int32_t)e) > 0))
			return false;
	}
	return true;
}

/* May they be merged? They are of one tensor. */
static bool parallel(const berth_builder *b, int32_t x, int32_t y)
{
	const columns *c = &b->edge;
	int64_t own = columns_long(c, EDGE_BYTES, (size_t)x) & columns_long(c, EDGE_BYTES, (size_t)y);
	return b->merge && columns_int(c, EDGE_TO, (size_t)x) == columns_int(c, EDGE_TO, (size_t)y) &&
	       (own & GRAPH_OWN || !graph_edge_tensor(b, (size_t)x));
}

static bool any_parallel(const berth_builder *b)
{
	for (size_t e = 1; b->merge && e < b->edge.n_rows; e++)
		if (same_tensor(b, (int32_t)e - 1, (int32_t)e) && parallel(b, (int32_t)e - 1, (int32_t)e))
			return true;
	return false;
}

/* Parallel edges become the first of them. */
static berth_status merge_edges(finish *f, int32_t *row)
{
	berth_builder *b = f->b;
	columns *c = &b->edge;
	size_t n = 0;
	for (size_t i = 0; i < f->n_edges; i++) {
		int32_t e = row[i], last = n ? row[n - 1] : -1;
		if (!n || !same_tensor(b, last, e) || !parallel(b, last, e)) {
			row[n++] = e;
			continue;
		}
		int64_t x = edge_bytes(b, last), y = edge_bytes(b, e);
		int64_t own = columns_long(c, EDGE_BYTES, (size_t)e) & GRAPH_OWN;
		x = b->merge == BERTH_MERGE_SUM ? x + y : x > y ? x : y;
		if (x > INT64_C(1) << 53)
			return berth_fail(f->err, BERTH_EFORMAT,
			                  "the edges from '%s' to '%s' have more than 2^53 bytes",
			                  f->g->op_name[columns_int(c, EDGE_FROM, (size_t)e)],
			                  f->g->op_name[columns_int(c, EDGE_TO, (size_t)e)]);
		BERTH_TRY(columns_set_long(c, EDGE_BYTES, (size_t)last, x | own, f->err));
	}
	f->n_edges = n;
	return BERTH_OK;
}

static berth_status order_edges(finish *f, edge_list *l)
{
	const columns *c = &f->b->edge;
	int32_t *row;
	f->n_edges = c->n_rows;
	BERTH_TRY_NEW(f->b->tmp, c->n_rows / 64 + 1, f->err, l->first);
	if (came_in_order(f->b) && !any_parallel(f->b))
		return BERTH_OK;
	BERTH_TRY_NEW(f->mem, f->n_ops + 1, f->err, f->g->op_tensor_off);
	BERTH_TRY(group_rows(f, c, EDGE_FROM, f->n_ops, compare_edges, f->g->op_tensor_off, &row));
	l->row = row;
	return f->b->merge ? merge_edges(f, row) : BERTH_OK;
}

static berth_status new_tensors(finish *f)
{
	berth_graph *g = f->g;
	size_t n = (size_t)g->n_tensors;
	bool few = n <= f->n_ops + 1,
	     named = columns_used(&f->b->edge, EDGE_TENSOR) || columns_used(&f->b->edge, EDGE_BYTES);
	g->tensor_name = f->zeros;
	g->tensor_bytes = f->zeros;
	if (named || !few)
		BERTH_TRY_NEW(f->mem, n, f->err, g->tensor_name);
	if (columns_used(&f->b->edge, EDGE_BYTES) || !few)
		BERTH_TRY_NEW(f->mem, n, f->err, g->tensor_bytes);
	if (columns_used(&f->b->edge, EDGE_CUT))
		BERTH_TRY_NEW(f->mem, n, f->err, g->tensor_cut_s);
	return BERTH_OK;
}

/* The tensor whose first edge is e. */
static berth_status put_tensor(finish *f, int32_t t, size_t e)
{
	const columns *c = &f->b->edge;
	berth_graph *g = f->g;
	const char *name = graph_edge_tensor(f->b, e);
	int64_t bytes = edge_bytes(f->b, (int32_t)e);
	if (bytes)
		g->tensor_bytes[t] = bytes;
	if (g->tensor_cut_s)
		g->tensor_cut_s[t] = columns_double(c, EDGE_CUT, e);
	if (columns_long(c, EDGE_BYTES, e) & GRAPH_OWN)
		g->tensor_name[t] = g->op_name[columns_int(c, EDGE_TO, e)];
	else if (name)
		BERTH_TRY(put_text(f, name, &g->tensor_name[t]));
	return BERTH_OK;
}

/* One list after the other, so that of those that are shared one at a time stands there. */
static berth_status finish_uses_of_tensors(finish *f, const edge_list *l)
{
	berth_graph *g = f->g;
	size_t n = f->n_edges;
	int32_t t = -1;
	BERTH_TRY_NEW(f->mem, n, f->err, g->edge_consumer);
	for (size_t i = 0; i < n; i++)
		g->edge_consumer[i] = columns_int(&f->b->edge, EDGE_TO, edge_at(l, i));
	BERTH_TRY(share(f, &g->edge_consumer, n));
	BERTH_TRY_NEW(f->mem, g->n_tensors + 1, f->err, g->tensor_use_off);
	for (size_t i = 0; i < n; i++) {
		t += is_first(l, i);
		g->tensor_use_off[t + 1] = (int32_t)i + 1;
	}
	return share(f, &g->tensor_use_off, (size_t)g->n_tensors + 1);
}

static berth_status finish_producers(finish *f, const edge_list *l)
{
	berth_graph *g = f->g;
	size_t n = f->n_edges;
	int32_t t = 0;
	BERTH_TRY_NEW(f->mem, g->n_tensors, f->err, g->tensor_producer);
	for (size_t i = 0; i < n; i++)
		if (is_first(l, i))
			g->tensor_producer[t++] = columns_int(&f->b->edge, EDGE_FROM, edge_at(l, i));
	BERTH_TRY(share(f, &g->tensor_producer, (size_t)g->n_tensors));
	if (l->row)
		memset(g->op_tensor_off, 0, (f->n_ops + 1) * sizeof *g->op_tensor_off);
	else
		BERTH_TRY(new_offsets(f, &f->b->edge, f->n_ops, &g->op_tensor_off));
	for (t = 0; t < g->n_tensors; t++)
		g->op_tensor_off[g->tensor_producer[t] + 1]++;
	if (n)
		berth_csr_begin(g->op_tensor_off, f->n_ops);
	return share(f, &g->op_tensor_off, f->n_ops + 1);
}

/* Edges by (producer, tensor, consumer) become tensors with uses; checks repeats and unequal bytes. */
static berth_status finish_tensors(finish *f)
{
	berth_graph *g = f->g;
	edge_list l = {0};
	int32_t t = 0;
	BERTH_TRY(order_edges(f, &l));
	/* Checks edges in order. */
	size_t n = f->n_edges;
	for (size_t i = 0; i < n; i++) {
		int32_t e = (int32_t)edge_at(&l, i), last = i ? (int32_t)edge_at(&l, i - 1) : -1;
		if (i && same_tensor(f->b, last, e)) {
			BERTH_TRY(check_pair(f, last, e));
			continue;
		}
		l.first[i / 64] |= UINT64_C(1) << (i % 64);
		f->g->n_tensors++;
	}
	BERTH_TRY(new_tensors(f));
	for (size_t i = 0; i < f->n_edges; i++)
		if (is_first(&l, i))
			BERTH_TRY(put_tensor(f, t++, edge_at(&l, i)));
	BERTH_TRY(finish_uses_of_tensors(f, &l));
	BERTH_TRY(finish_producers(f, &l));
	g->n_edges = (int32_t)f->n_edges;
	columns_drop_all(&f->b->edge);
	return BERTH_OK;
}

/* The tensors of each operator's inputs, tensors ascending. */
static berth_status finish_inputs(finish *f)
{
	berth_graph *g = f->g;
	int32_t *off;
	BERTH_TRY(new_offsets(f, &f->b->edge, f->n_ops, &g->op_in_off));
	BERTH_TRY_NEW(f->mem, g->n_edges, f->err, g->in_tensor);
	if (g->n_edges == 0)
		return BERTH_OK;
	off = g->op_in_off;
	for (int32_t e = 0; e < g->n_edges; e++)
		off[g->edge_consumer[e] + 1]++;
	berth_csr_begin(off, f->n_ops);
	for (int32_t t = 0; t < g->n_tensors; t++)
		BERTH_EACH (e, g->tensor_use_off, t)
			g->in_tensor[off[g->edge_consumer[e]]++] = t;
	berth_csr_filled(off, f->n_ops);
	BERTH_TRY(share(f, &g->in_tensor, (size_t)g->n_edges));
	return share(f, &g->op_in_off, f->n_ops + 1);
}

/* ---- topological order ---- */

/* An operator before op that Kahn's algorithm could not order either: op_topo < 0. */
static int32_t stuck_before(const berth_graph *g, int32_t op)
{
	int32_t i = g->op_in_off[op];
	while (g->op_topo[g->tensor_producer[g->in_tensor[i]]] >= 0)
		i++;
	return g->tensor_producer[g->in_tensor[i]];
}

/* A cycle among the operators that are left: walk back until one repeats, then name it. */
static berth_status fail_cycle(finish *f)
{
	const berth_graph *g = f->g;
	bool *seen;
	char path[360];
	size_t len = 0;
	int32_t op = 0, shown = 0;
	BERTH_TRY_NEW(f->b->tmp, f->n_ops, f->err, seen);
	while (g->op_topo[op] >= 0)
		op++;
	for (; !seen[op]; op = stuck_before(g, op))
		seen[op] = true;
	int32_t start = op;
	do {
		len += (size_t)snprintf(path + len, sizeof path - len, "'%.60s' <- ", g->op_name[op]);
		op = stuck_before(g, op);
	} while (op != start && ++shown < 4);
	snprintf(path + len, sizeof path - len, op == start ? "'%.60s'" : "... <- '%.60s'",
	         g->op_name[start]);
	return berth_fail(f->err, BERTH_EFORMAT, "the graph has a cycle: %s", path);
}

/* A heap that grows downwards: its element i is top[-i]. */
static void sift_up(int32_t *top, int32_t i)
{
	int32_t x = top[-i];
	for (; i > 0 && top[-((i - 1) / 2)] > x; i = (i - 1) / 2)
		top[-i] = top[-((i - 1) / 2)];
	top[-i] = x;
}

/* Do all tensors go to operators further on? Then the order of the file is Kahn's. */
static bool is_ordered(const berth_graph *g)
{
	for (int32_t t = 0; t < g->n_tensors; t++)
		BERTH_EACH (e, g->tensor_use_off, t)
			if (g->edge_consumer[e] <= g->tensor_producer[t])
				return false;
	return true;
}

/* Kahn's order, lowest operator index first. O(ops log ops + edges). Until an operator has its place,
 * op_topo is minus the number of inputs that it waits for; the heap of those that wait for none is the part
 * of topo_op that is still free. */
static berth_status finish_topo(finish *f)
{
	berth_graph *g = f->g;
	int32_t n = (int32_t)f->n_ops, n_heap = 0, n_done = 0;
	if (is_ordered(g)) {
		BERTH_TRY(count_up(f, &g->topo_op));
		g->op_topo = g->topo_op;
		return BERTH_OK;
	}
	BERTH_TRY_NEW(f->mem, n, f->err, g->topo_op, g->op_topo);
	int32_t *top = g->topo_op + (n ? n - 1 : 0);
	for (int32_t op = 0; op < n; op++) {
		g->op_topo[op] = g->op_in_off[op] - g->op_in_off[op + 1];
		if (!g->op_topo[op])
			top[-n_heap++] = op; /* ascending: already a heap */
	}
	while (n_heap) {
		int32_t least = top[0], x = top[-(--n_heap)], i = 0;
		for (;;) {
			int32_t c = 2 * i + 1;
			if (c >= n_heap)
				break;
			c += c + 1 < n_heap && top[-(c + 1)] < top[-c];
			if (top[-c] >= x)
				break;
			top[-i] = top[-c];
			i = c;
		}
		top[-i] = x;
		int32_t op = least;
		g->op_topo[op] = n_done;
		g->topo_op[n_done++] = op;
		for (int32_t e = g->tensor_use_off[g->op_tensor_off[op]];
		     e < g->tensor_use_off[g->op_tensor_off[op + 1]]; e++)
			if (++g->op_topo[g->edge_consumer[e]] == 0) {
				top[-n_heap] = g->edge_consumer[e];
				sift_up(top, n_heap++);
			}
	}
	return n_done == n ? BERTH_OK : fail_cycle(f);
}

/* ---- all of it ---- */

berth_status berth_builder_finish(berth_builder *b, berth_arena *mem, berth_graph *out, berth_err *err)
{
	static berth_status (*const steps[])(finish *) = {finish_ops,    finish_times,   finish_forbids,
	                                                  finish_params, finish_tensors, finish_inputs,
	                                                  finish_topo};
	berth_graph g = {.n_ops = (int32_t)b->op.n_rows};
	finish f = {.b = b, .mem = mem, .g = &g, .n_ops = b->op.n_rows, .err = err};
	BERTH_TRY(put_text(&f, b->name, &g.name));
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		berth_arena_mark mark = berth_arena_get_mark(b->tmp);
		BERTH_TRY(steps[i](&f));
		drop(&f, mark);
	}
	g.all_param_bytes = berth_graph_param_bytes(&g);
	berth_graph_must_hold(&g);
	*out = g;
	return BERTH_OK;
}
