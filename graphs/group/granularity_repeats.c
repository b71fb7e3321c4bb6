/* Layers as what repeats, where names do not tell them. The forward operators in
 * topological order are cut into pieces wherever one tensor alone goes on. Pieces are equal that have the
 * same types and connections. From the first piece on, the shortest sequence of pieces that is followed by an
 * equal one is a layer, as often as it comes. */
#include "granularity_find.h"

enum { MOST_PIECES = 64 }; /* of a layer */

typedef struct pieces {
	block_finder *f;
	int32_t n_ops, *op; /* [n_ops] forward operators in topological order */
	int32_t *op_at;     /* [operators of the graph] place in that; -1: not forward */
	int32_t n, *off;    /* [n+1] pieces: op[off[i]] .. op[off[i+1]-1] */
	int32_t *kind;      /* [n] equal pieces have equal kinds */
} pieces;

/* Place of the last forward consumer of t; -1: none. */
static int32_t last_use(const pieces *x, int32_t t)
{
	const berth_graph *g = x->f->g;
	int32_t last = -1;
	BERTH_EACH (e, g->tensor_use_off, t) {
		int32_t at = x->op_at[g->edge_consumer[e]];
		last = at > last ? at : last;
	}
	return last;
}

/* Is t used at several places all along the graph, as masks and tables of positions are? */
static bool is_global(const pieces *x, int32_t t, int32_t first, int32_t last)
{
	const berth_graph *g = x->f->g;
	return last - first > x->n_ops / 2 && g->tensor_use_off[t + 1] - g->tensor_use_off[t] > 2;
}

/* A piece ends behind each operator after which at most one tensor is still to be used. */
static berth_status cut(pieces *x)
{
	const berth_graph *g = x->f->g;
	int32_t *ends, live = 0;
	BERTH_TRY_NEW(x->f->tmp, (size_t)x->n_ops + 1, x->f->err, ends, x->off);
	for (int32_t k = 0; k < x->n_ops; k++) {
		live -= ends[k];
		BERTH_EACH (t, g->op_tensor_off, x->op[k]) {
			int32_t last = last_use(x, t);
			last = is_global(x, t, k, last) ? -1 : last;
			live += last > k;
			ends[last > k ? last : x->n_ops]++;
		}
		if (live <= 1 || k + 1 == x->n_ops)
			x->off[++x->n] = k + 1;
	}
	return BERTH_OK;
}

static int descending(const void *a, const void *b)
{
	const int32_t *x = a, *y = b;
	return BERTH_COMPARE(*y, *x);
}

/* Types of a piece's operators, and how far back in the piece their inputs come from, whatever their order.
 */
static berth_status describe(const pieces *x, int32_t piece, const char **out)
{
	const berth_graph *g = x->f->g;
	berth_strbuf text = {.mem = x->f->tmp};
	BERTH_EACH (k, x->off, piece) {
		int32_t op = x->op[k], n = g->op_in_off[op + 1] - g->op_in_off[op], *back;
		BERTH_TRY_NEW(x->f->tmp, n, x->f->err, back);
		for (int32_t i = 0; i < n; i++) {
			int32_t from = x->op_at[g->tensor_producer[g->in_tensor[g->op_in_off[op] + i]]];
			back[i] = from >= x->off[piece] ? k - from : 0;
		}
		if (n)
			qsort(back, (size_t)n, sizeof *back, descending);
		berth_strbuf_printf(&text, "%d", g->op_type[op]);
		for (int32_t i = 0; i < n; i++)
			berth_strbuf_printf(&text, ",%d", back[i]);
		berth_strbuf_printf(&text, ";");
	}
	return berth_strbuf_done(&text, out, NULL, x->f->err);
}

/* Is the sequence of n pieces from i on followed by an equal one? */
static bool comes_again(const pieces *x, int32_t i, int32_t n)
{
	return i + 2 * n <= x->n && memcmp(x->kind + i, x->kind + i + n, (size_t)n * sizeof *x->kind) == 0;
}

static berth_status label_pieces(const pieces *x, int32_t first, int32_t n)
{
	block_finder *f = x->f;
	int32_t label;
	const char *name = berth_arena_printf(f->mem, "layer.%d", f->n_labels);
	BERTH_TRY(berth_got(name, f->err));
	BERTH_TRY(block_label(f, name, 0, &label));
	for (int32_t k = x->off[first]; k < x->off[first + n]; k++)
		f->op_label[x->op[k]] = label;
	return BERTH_OK;
}

berth_status blocks_by_repeats(block_finder *f)
{
	pieces x = {.f = f};
	int32_t n_found = 0;
	const berth_graph *g = x.f->g;
	BERTH_TRY_NEW(x.f->tmp, g->n_ops, x.f->err, x.op, x.op_at);
	for (int32_t k = 0; k < g->n_ops; k++) {
		int32_t op = g->topo_op[k];
		bool forward = x.f->op_root[op] == op && !g->op_backward[op];
		x.op_at[op] = forward ? x.n_ops : -1;
		if (forward)
			x.op[x.n_ops++] = op;
	}
	BERTH_TRY(cut(&x));
	berth_strmap kinds;
	berth_strmap_init(&kinds, x.f->tmp);
	BERTH_TRY_NEW(x.f->tmp, x.n, x.f->err, x.kind);
	for (int32_t i = 0; i < x.n; i++) {
		const char *text;
		BERTH_TRY(describe(&x, i, &text));
		BERTH_TRY(berth_strmap_add(&kinds, text, i, &x.kind[i], x.f->err));
	}
	for (int32_t i = 0; i < x.n;) {
		int32_t n = 1;
		while (n <= MOST_PIECES && !comes_again(&x, i, n))
			n++;
		if (n > MOST_PIECES) {
			i++;
			continue;
		}
		for (; comes_again(&x, i, n); i += n)
			BERTH_TRY(label_pieces(&x, i, n));
		BERTH_TRY(label_pieces(&x, i, n));
		i += n;
	}
	for (int32_t k = 0; k < x.n_ops; k++)
		n_found += f->op_label[x.op[k]] >= 0;
	if (n_found <= x.n_ops / 2) /* by chance */
		f->n_labels = 0;
	for (int32_t op = 0; op < f->g->n_ops; op++)
		f->op_label[op] = f->op_label[f->op_root[op]];
	return BERTH_OK;
}
