/* Models that share a graph (graph_union.h), and layers, both told by the scopes of operators' names. */
#include "granularity_find.h"

#include "sort.h"

#include <ctype.h>

bool block_scope(const char *text, size_t *at, size_t *end, bool *last)
{
	*at += strspn(text + *at, "./:");
	*end = *at + strcspn(text + *at, "./:");
	*last = !text[*end];
	return *end > *at;
}

/* What stands before the numbers of sister scopes. */
typedef struct stem {
	const char *number; /* the first that came */
	size_t len;
	bool repeats; /* another one came, too */
} stem;

typedef struct stems {
	block_finder *f;
	berth_strmap index;
	stem *stem;
	int32_t n;
	size_t cap;
	bool alone; /* a number needs no sister, but the scope is the number alone: a model of one layer */
} stems;

/* Where the number at the end of a scope begins: digits, perhaps with one letter behind them ("5", "5b"). end
 * where it has none. */
static size_t number_at(const char *text, size_t at, size_t end)
{
	size_t from = end;
	if (end - at > 1 && isalpha((unsigned char)text[end - 1]) && isdigit((unsigned char)text[end - 2]))
		from--;
	size_t digits = from;
	while (digits > at && isdigit((unsigned char)text[digits - 1]))
		digits--;
	return digits < from ? digits : end;
}

/* The next scope behind *at that ends in a number: text[*at .. *end), the number from *from on. Experts are
 * no layers. Returns false behind the last. */
static bool next_numbered(const char *text, size_t *at, size_t *end, size_t *from)
{
	static const char experts[] = "experts";
	size_t n = sizeof experts - 1;
	bool last;
	for (*at = *end; block_scope(text, at, end, &last) && !last; *at = *end) {
		bool of_experts = *at > n && memcmp(text + *at - 1 - n, experts, n) == 0;
		*from = number_at(text, *at, *end);
		if (*from < *end && !of_experts)
			return true;
	}
	return false;
}

/* Bytes of the name that tell its layer; 0: none. */
static size_t layer_len(const stems *s, const char *name, size_t skip)
{
	size_t at = 0, end = skip, from, ends_in_number = 0;
	while (next_numbered(name, &at, &end, &from)) {
		const char *key = berth_arena_strndup(s->f->tmp, name, from);
		int32_t i = key ? berth_strmap_get(&s->index, key) : -1;
		if (i < 0 || (!s->stem[i].repeats && !s->alone))
			continue;
		if (from == at)
			return end;
		if (!s->alone && !ends_in_number)
			ends_in_number = end;
	}
	return ends_in_number;
}

static int32_t layer_lens(const stems *s, size_t *len)
{
	int32_t n_named = 0;
	for (int32_t op = 0; op < s->f->g->n_ops; op++) {
		len[op] = layer_len(s, s->f->g->op_name[s->f->op_root[op]], s->f->op_skip[op]);
		n_named += len[op] > 0;
	}
	return n_named;
}

berth_status blocks_by_name(block_finder *f)
{
	stems s = {.f = f};
	berth_strmap labels;
	size_t *len;
	int32_t n_named;
	berth_strmap_init(&s.index, f->tmp);
	berth_strmap_init(&labels, f->tmp);
	BERTH_TRY_NEW(f->tmp, f->g->n_ops, f->err, len);
	for (int32_t op = 0; op < f->g->n_ops; op++) {
		const char *name = f->g->op_name[f->op_root[op]];
		size_t at = 0, end = f->op_skip[op], from;
		while (next_numbered(name, &at, &end, &from)) {
			int32_t i;
			const char *key = berth_arena_strndup(s.f->tmp, name, from);
			BERTH_TRY(berth_got(key, s.f->err));
			BERTH_TRY(berth_strmap_add(&s.index, key, s.n, &i, s.f->err));
			if (i == s.n) {
				BERTH_TRY(BERTH_PUSH(s.f->tmp, s.stem, s.n, &s.cap, s.f->err,
				                     (stem){name + from, end - from, false}));
			}
			stem *x = &s.stem[i];
			x->repeats |= x->len != end - from || memcmp(x->number, name + from, x->len) != 0;
		}
	}
	n_named = layer_lens(&s, len);
	s.alone = n_named <= f->g->n_ops / 2;
	if (s.alone)
		n_named = layer_lens(&s, len);
	for (int32_t op = 0; op < f->g->n_ops && n_named > f->g->n_ops / 2; op++)
		if (len[op]) {
			const char *key = berth_arena_strndup(f->mem, f->g->op_name[f->op_root[op]], len[op]);
			int32_t label;
			BERTH_TRY(berth_got(key, f->err));
			BERTH_TRY(berth_strmap_add(&labels, key, f->n_labels, &label, f->err));
			if (label == f->n_labels)
				BERTH_TRY(block_label(f, key + strspn(key, "./:"), len[op], &label));
			f->op_label[op] = label;
		}
	return BERTH_OK;
}

/* ---- models ---- */

/* A part of the graph, by its lowest operator. */
typedef struct part {
	const char *scope;
	size_t len;
	int32_t n_ops, model;
	bool common; /* all operators have the scope */
} part;

static void add(part *x, const char *name)
{
	size_t at = 0, end;
	bool last;
	if (!block_scope(name, &at, &end, &last) || last)
		return;
	if (!x->n_ops++) {
		*x = (part){.scope = name + at, .len = end - at, .n_ops = 1, .common = true};
		return;
	}
	x->common &= x->len == end - at && memcmp(x->scope, name + at, x->len) == 0;
}

berth_status blocks_find_models(block_finder *f)
{
	const berth_graph *g = f->g;
	int32_t *up, *n_ops;
	part *list;
	BERTH_TRY_NEW(f->tmp, g->n_ops, f->err, up, n_ops, list, f->op_model, f->op_skip);
	for (int32_t op = 0; op < g->n_ops; op++)
		up[op] = op;
	for (int32_t t = 0; t < g->n_tensors; t++)
		BERTH_EACH (e, g->tensor_use_off, t)
			berth_union_join(up, g->tensor_producer[t], g->edge_consumer[e]);
	for (int32_t i = 0; i < g->n_params; i++)
		for (int32_t k = g->param_op_off[i] + 1; k < g->param_op_off[i + 1]; k++)
			berth_union_join(up, g->param_op[k - 1], g->param_op[k]);
	for (int32_t op = 0; op < g->n_ops; op++) {
		n_ops[berth_union_top(up, op)]++;
		add(&list[berth_union_top(up, op)], g->op_name[op]);
	}
	for (int32_t op = 0; op < g->n_ops; op++) {
		part *x = &list[op];
		if (up[op] == op && x->common && x->n_ops > 1 && x->n_ops == n_ops[op])
			x->model = ++f->n_models;
	}
	for (int32_t op = 0; op < g->n_ops && f->n_models > 1; op++) {
		const part *x = &list[berth_union_top(up, op)];
		f->op_model[op] = x->model;
		f->op_skip[op] = x->model ? strspn(g->op_name[op], "./:") + x->len : 0;
	}
	return BERTH_OK;
}

/* Layers as what repeats, where names do not tell them. The forward operators in
 * topological order are cut into pieces wherever one tensor alone goes on. Pieces are equal that have the
 * same types and connections. From the first piece on, the shortest sequence of pieces that is followed by an
 * equal one is a layer, as often as it comes. */
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
