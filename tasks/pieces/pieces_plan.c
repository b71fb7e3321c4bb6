/* What is cut: the requests, shares in whole units, and the rows that pieces of a chain need. */
#include "pieces_state.h"

/* ---- one node along one dimension ---- */

void pieces_range(const pieces_spec *s, int32_t k, int64_t a, int64_t b, int64_t *from, int64_t *to)
{
	const pieces_in *in = &s->in[k];
	const pieces_window *w = &s->window;
	*from = a / in->den * in->num;
	*to = b / in->den * in->num;
	if (!in->window)
		return;
	*from = a * w->stride - w->before;
	*to = (b - 1) * w->stride - w->before + w->extent;
	*from = *from < 0 ? 0 : *from;
	*to = *to > w->length ? w->length : *to;
}

static const char *shapes_why(const pieces_at *at)
{
	const onnx_node *n = at->n;
	if (n->folded)
		return "it is known without running";
	if (n->n_out < 1 || n->out[0] < 0)
		return "its first output is left out";
	for (int32_t k = 0; k < n->n_in; k++)
		if (n->in[k] >= 0 && onnx_count(at->m->value[n->in[k]].rank, at->m->value[n->in[k]].dim) < 1)
			return "the shape of what it takes is not known";
	for (int32_t o = 0; o < n->n_out; o++)
		if (n->out[o] >= 0 &&
		    onnx_count(at->m->value[n->out[o]].rank, at->m->value[n->out[o]].dim) < 1)
			return "the shape of what it makes is not known";
	return NULL;
}

/* What Sum takes. */
static const char *sum_why(const pieces_at *at)
{
	int32_t elem = pieces_output(at)->elem;
	if (elem == ONNX_BFLOAT16)
		return at->m->opset < 13 ? "below opset 13 Sum takes no bfloat16" : NULL;
	return elem == ONNX_FLOAT || elem == ONNX_FLOAT16 || elem == ONNX_DOUBLE
	               ? NULL
	               : "its pieces cannot be added: Sum takes no elements of its type";
}

static const char *output_why(const pieces_at *at, const pieces_spec *s)
{
	const onnx_value *y = pieces_output(at);
	if (s->dim == PIECES_INNER)
		return at->n->n_out == 1 ? sum_why(at) : "it has more than one output";
	for (int32_t o = 0; o < at->n->n_out; o++) {
		const onnx_value *v = at->n->out[o] < 0 ? NULL : &at->m->value[at->n->out[o]];
		if (v && (v->rank <= s->dim || v->dim[s->dim] != s->length))
			return "its outputs have other shapes";
	}
	return pieces_is_open(at, y, s->dim) ? "the dimension is not fixed by the file" : NULL;
}

static int64_t input_length(const pieces_spec *s, int32_t k)
{
	return s->in[k].window ? s->window.length : s->length / s->in[k].den * s->in[k].num;
}

/* What the pieces take can be had. */
static const char *inputs_why(const pieces_state *x, const pieces_at *at, const pieces_spec *s)
{
	bool cuts = false;
	for (int32_t k = 0; k < at->n->n_in; k++) {
		const onnx_value *v = pieces_input(at, k);
		if (!v || s->in[k].dim < 0)
			continue;
		cuts = true;
		if (v->rank <= s->in[k].dim || v->dim[s->in[k].dim] != input_length(s, k))
			return "its shapes do not fit together";
		if (pieces_is_open(at, v, s->in[k].dim))
			return "a dimension of what it takes is not fixed by the file";
		if (!v->constant && !v->weight_input && !v->tensor)
			continue;
		const char *why = pieces_tensor_why(x, at->n->in[k], s->in[k].dim);
		if (why)
			return why;
	}
	return cuts || s->edit == PIECES_SHAPE ? NULL : "nothing that it takes can be cut";
}

berth_status pieces_consider(pieces_state *x, int32_t node, int32_t dim, pieces_spec *s, const char **why,
                             berth_err *err)
{
	pieces_at at = pieces_at_node(x, node);
	pieces_rule *rule;
	*s = (pieces_spec){.dim = dim, .unit = 1};
	*why = shapes_why(&at);
	rule = *why ? NULL : pieces_rule_of(&at, dim, why);
	if (!rule)
		return BERTH_OK;
	BERTH_TRY_NEW(x->mem, at.n->n_in, err, s->in);
	for (int32_t k = 0; k < at.n->n_in; k++)
		s->in[k] = (pieces_in){.dim = PIECES_WHOLE, .num = 1, .den = 1};
	if (dim >= 0)
		s->length = pieces_output(&at)->dim[dim];
	*why = rule(&at, s);
	if (!*why)
		*why = output_why(&at, s);
	if (!*why)
		*why = inputs_why(x, &at, s);
	return BERTH_OK;
}

/* ---- shares ---- */

/* What all shares are taken times, so that their sum is finite: a power of two, which changes no digit. */
static int scale_of(int32_t k, const double *share)
{
	double most = 0;
	int power;
	for (int32_t i = 0; i < k; i++)
		most = share[i] > most ? share[i] : most;
	frexp(most, &power);
	return -power;
}

/* Shares in whole units, none of them empty. */
static const char *bounds_of(const pieces_spec *s, int32_t k, const double *share, int64_t *own)
{
	int64_t units = s->length / s->unit;
	int scale = scale_of(k, share);
	double sum = 0, before = 0;
	if (units < k)
		return s->unit > 1 ? "the dimension has fewer groups than parts"
		                   : "the dimension is shorter than parts are many";
	for (int32_t i = 0; i < k; i++)
		sum += ldexp(share[i], scale);
	for (int32_t i = 1; i < k; i++) {
		before += ldexp(share[i - 1], scale);
		own[i] = (int64_t)(before / sum * (double)units + 0.5);
		own[i] = own[i] < own[i - 1] + 1 ? own[i - 1] + 1 : own[i];
		own[i] = own[i] > units - (k - i) ? units - (k - i) : own[i];
	}
	own[k] = units;
	for (int32_t i = 0; i <= k; i++)
		own[i] *= s->unit;
	return NULL;
}

/* A window that sees nothing but padding cannot stand alone. */
static const char *pieces_why(const pieces_at *at, const pieces_spec *s, int32_t k, const int64_t *own)
{
	for (int32_t i = 0; i < k; i++)
		for (int32_t j = 0; j < at->n->n_in; j++) {
			int64_t from, to;
			pieces_range(s, j, own[i], own[i + 1], &from, &to);
			if (s->in[j].window && from >= to)
				return "a piece would see nothing but padding";
		}
	return NULL;
}

/* The dimension along which a sum is made in shares: of images the batch, else rows; of others the last but
 * one that is long enough. PIECES_INNER: there is none. */
static int32_t sum_dim(const pieces_at *at, int32_t k)
{
	const onnx_value *y = pieces_output(at);
	bool image = strncmp(at->n->type, "Conv", 4) == 0;
	for (int32_t i = 0; i + 1 < y->rank; i++) {
		int32_t d = !image ? y->rank - 2 - i : i == 0 ? 0 : i + 1;
		if (y->dim[d] >= k && !pieces_is_open(at, y, d))
			return d;
	}
	return PIECES_INNER;
}

static berth_status share_sum(pieces_state *x, const pieces_at *at, pieces_cut *c, berth_err *err)
{
	pieces_spec s = {.dim = sum_dim(at, c->k), .unit = 1};
	if (s.dim < 0)
		return BERTH_OK;
	s.length = pieces_output(at)->dim[s.dim];
	BERTH_TRY_NEW(x->mem, c->k + 1, err, c->sum_own);
	if (!bounds_of(&s, c->k, c->share, c->sum_own))
		c->out_dim = s.dim;
	return BERTH_OK;
}

berth_status pieces_make(pieces_state *x, int32_t node, const pieces_spec *s, const pieces_parts *parts,
                         const char **why, berth_err *err)
{
	int32_t k = parts->k;
	pieces_at at = pieces_at_node(x, node);
	pieces_cut *c;
	char *word;
	BERTH_TRY_NEW(x->mem, 1, err, c);
	BERTH_TRY_NEW(x->mem, k + 1, err, c->own);
	BERTH_TRY_NEW(x->mem, k, err, c->from, c->to, c->name);
	BERTH_TRY_NEW(x->mem, 16, err, word);
	*why = bounds_of(s, k, parts->share, c->own);
	if (!*why)
		*why = pieces_why(&at, s, k, c->own);
	if (*why)
		return BERTH_OK;
	c->spec = *s;
	c->k = k;
	c->axis = pieces_axis_word(&at, s->dim, word);
	for (int32_t i = 0; i < k; i++) {
		c->from[i] = c->own[i];
		c->to[i] = c->own[i + 1];
	}
	c->share = parts->share;
	c->each = parts->each;
	c->out_dim = s->dim;
	x->cut[node] = c;
	return c->each && s->dim == PIECES_INNER ? share_sum(x, &at, c, err) : BERTH_OK;
}

/* ---- the cheapest dimension ---- */

static double bytes_of(const pieces_state *x, int32_t v)
{
	bool known;
	return (double)onnx_value_bytes(&x->m.value[v], &known);
}

bool pieces_stands_cut(const pieces_state *x, int32_t v, int32_t k, int32_t dim)
{
	int32_t node = x->m.value[v].producer;
	const pieces_cut *c = node >= 0 ? x->cut[node] : NULL;
	return c && c->k == k && c->out_dim == dim;
}

bool pieces_is_cut(const pieces_state *x, int32_t v)
{
	int32_t node = x->m.value[v].producer;
	return node >= 0 && x->cut[node] && x->cut[node]->out_dim >= 0;
}

/* Bytes that pieces take from others, where each piece is on a device of its own: what is cut otherwise goes
 * everywhere, what stands whole is handed out, rows at a border go one further, and sums come together. */
static double traffic_bytes(const pieces_state *x, int32_t node, const pieces_spec *s, int32_t k)
{
	const onnx_node *n = &x->m.node[node];
	double sum = s->dim == PIECES_INNER ? bytes_of(x, n->out[0]) * (k - 1) : 0;
	for (int32_t j = 0; j < n->n_in; j++) {
		int32_t v = n->in[j];
		if (v < 0 || x->m.value[v].constant || x->m.value[v].weight_input)
			continue;
		double bytes = bytes_of(x, v), part = (double)(k - 1) / k;
		if (s->in[j].dim < 0)
			sum += bytes * (k - 1);
		else if (pieces_stands_cut(x, v, k, s->in[j].dim)) {
			double over = s->in[j].window ? (double)(s->window.extent - s->window.stride) : 0;
			sum += over > 0 ? bytes * over * (k - 1) / (double)s->window.length : 0;
		} else
			sum += pieces_is_cut(x, v) ? 2 * bytes * part : bytes * part;
	}
	return sum;
}

/* Bytes of weights that every piece has. */
static double repeated_bytes(const pieces_state *x, int32_t node, const pieces_spec *s, int32_t k)
{
	const onnx_node *n = &x->m.node[node];
	double sum = 0;
	for (int32_t j = 0; j < n->n_in; j++)
		if (n->in[j] >= 0 && s->in[j].dim < 0 && !s->in[j].first && x->m.value[n->in[j]].n_roots)
			sum += bytes_of(x, n->in[j]) * (k - 1);
	return sum;
}

berth_status pieces_make_cheapest(pieces_state *x, int32_t node, const pieces_parts *parts, const char **why,
                                  berth_err *err)
{
	int32_t k = parts->k;
	pieces_at at = pieces_at_node(x, node);
	double best = 0, best_repeated = 0;
	*why = shapes_why(&at);
	if (*why)
		return BERTH_OK;
	pieces_cut *chosen = NULL;
	if (pieces_output(&at)->rank == 0)
		*why = "its result is one number";
	for (int32_t d = 0; d <= pieces_output(&at)->rank; d++) {
		pieces_spec s;
		const char * not ;
		int32_t dim = d < pieces_output(&at)->rank ? d : PIECES_INNER;
		x->cut[node] = NULL;
		BERTH_TRY(pieces_consider(x, node, dim, &s, &not, err));
		if (!not )
			BERTH_TRY(pieces_make(x, node, &s, parts, &not, err));
		if (not ) {
			*why = *why && dim == PIECES_INNER ? *why : not ;
			continue;
		}
		double cost = traffic_bytes(x, node, &s, k), rep = repeated_bytes(x, node, &s, k);
		if (chosen && (cost > best || (cost == best && rep >= best_repeated)))
			continue;
		best = cost;
		best_repeated = rep;
		chosen = x->cut[node];
	}
	x->cut[node] = chosen;
	*why = chosen ? NULL : *why;
	return BERTH_OK;
}

/* ---- requests ---- */

static const char *label_of(const pieces_state *x, int32_t node)
{
	return onnx_node_label(&x->m, &x->m.node[node]);
}

/* How dimensions can be fixed: " (give --dim N=...)", a word for each that the file names. */
static berth_status list_dims(const pieces_state *x, const char **out, berth_err *err)
{
	berth_strbuf b = {.mem = x->mem};
	const char *between = " (give ";
	for (size_t s = 0; s < x->m.n_symbols; s++) {
		if (!x->m.symbol_of_input[s] || pieces_is_given(x->read, x->m.symbol[s]))
			continue;
		berth_strbuf_printf(&b, "%s--dim %s=N", between, x->m.symbol[s]);
		between = ", ";
	}
	berth_strbuf_printf(&b, "%s", *between == ',' ? ")" : "");
	return berth_strbuf_done(&b, out, NULL, err);
}

static berth_status note_refused(pieces_state *x, int32_t node, const char *why, berth_err *err)
{
	pieces_model *o = x->out;
	const char *dims;
	if (strstr(why, "not fixed")) {
		BERTH_TRY(list_dims(x, &dims, err));
		why = berth_arena_printf(x->mem, "%s%s", why, dims);
		BERTH_TRY(berth_got(why, err));
	}
	return BERTH_PUSH(x->mem, o->refused, o->n_refused, &x->cap_refused, err,
	                  (pieces_refused){label_of(x, node), x->m.node[node].type, why});
}

static berth_status no_operator(const pieces_state *x, const char *name, berth_err *err)
{
	const char **names;
	char hint[128];
	BERTH_TRY_NEW(x->mem, x->m.n_nodes, err, names);
	for (size_t i = 0; i < x->m.n_nodes; i++)
		names[i] = label_of(x, (int32_t)i);
	berth_text_suggest(hint, sizeof hint, name, names, (int32_t)x->m.n_nodes);
	return berth_fail(err, BERTH_EINVAL,
	                  "%s: no operator '%s'%s (berth show --granularity op lists them)", x->m.file, name,
	                  hint);
}

static berth_status find_node(const pieces_state *x, const char *name, int32_t *node, berth_err *err)
{
	*node = berth_strmap_get(&x->s->label, name);
	if (*node >= 0 && x->s->again[*node])
		return berth_fail(err, BERTH_EINVAL, "%s: two nodes are called '%s'", x->m.file, name);
	return *node < 0 ? no_operator(x, name, err) : BERTH_OK;
}

/* The operator has no such axis: these it has. */
static berth_status no_axis(const pieces_state *x, const pieces_at *at, const pieces_ask *ask,
                            berth_err *err)
{
	berth_strbuf b = {.mem = x->mem};
	char number[16];
	const char *text, *why;
	int32_t rank = pieces_output(at)->rank;
	for (int32_t d = 0; d < rank; d++) {
		const char *word = pieces_axis_word(at, d, number);
		berth_strbuf_printf(&b, "%s%d", d ? ", " : "", (int)d);
		if (word != number)
			berth_strbuf_printf(&b, " (%s)", word);
	}
	if (pieces_rule_of(at, PIECES_INNER, &why))
		berth_strbuf_printf(&b, "%s%s", rank ? ", " : "", pieces_axis_word(at, PIECES_INNER, number));
	BERTH_TRY(berth_strbuf_done(&b, &text, NULL, err));
	return berth_fail(err, BERTH_EINVAL, "%s: operator '%s' (%s) has no axis '%s'; it has: %s", x->m.file,
	                  ask->op, at->n->type, ask->axis, text);
}

static berth_status answer_ask(pieces_state *x, const pieces_ask *ask, int32_t node, berth_err *err)
{
	pieces_at at = pieces_at_node(x, node);
	const pieces_parts parts = {ask->k, ask->share, ask->each};
	const char *why = shapes_why(&at);
	pieces_spec s;
	if (!why && !ask->axis)
		BERTH_TRY(pieces_make_cheapest(x, node, &parts, &why, err));
	if (!why && ask->axis) {
		int32_t dim = pieces_axis_of(&at, ask->axis);
		if (dim < PIECES_INNER)
			return no_axis(x, &at, ask, err);
		BERTH_TRY(pieces_consider(x, node, dim, &s, &why, err));
		if (!why)
			BERTH_TRY(pieces_make(x, node, &s, &parts, &why, err));
	}
	return why ? note_refused(x, node, why, err) : BERTH_OK;
}

static bool is_wanted(const pieces_options *o, const char *type)
{
	for (int32_t i = 0; i < o->n_types; i++)
		if (strcmp(o->type[i], type) == 0)
			return true;
	return o->n_types == 0;
}

static berth_status cut_all_others(pieces_state *x, const bool *named, berth_err *err)
{
	const pieces_options *o = x->opt;
	for (size_t i = 0; o->k && i < x->m.n_nodes; i++) {
		int32_t node = x->m.order[i];
		const char *why;
		if (named[node] || x->m.node[node].folded || !is_wanted(o, x->m.node[node].type))
			continue;
		BERTH_TRY(pieces_make_styled(x, node, &why, err));
		if (why)
			BERTH_TRY(note_refused(x, node, why, err));
	}
	return BERTH_OK;
}

/* ---- receptive fields ---- */

/* Piece i of the node computes what piece i of those that take its output needs, too. */
static void widen_piece(pieces_cut *before, const pieces_cut *c, int32_t k)
{
	for (int32_t i = 0; i < c->k; i++) {
		int64_t from, to, unit = before->spec.unit;
		pieces_range(&c->spec, k, c->from[i], c->to[i], &from, &to);
		from = from / unit * unit;
		to = (to + unit - 1) / unit * unit;
		before->from[i] = from < before->from[i] ? from : before->from[i];
		before->to[i] = to > before->to[i] ? to : before->to[i];
	}
}

/* Last nodes first: what a follower computes more than its own counts, too. However far a piece's windows
 * reach, it computes all those rows, and none of them is sent. */
static void overlap_windows(pieces_state *x)
{
	for (size_t j = x->m.n_nodes; j-- > 0;) {
		int32_t node = x->m.order[j];
		const pieces_cut *c = x->cut[node];
		for (int32_t k = 0; c && k < x->m.node[node].n_in; k++) {
			int32_t v = x->m.node[node].in[k];
			if (v >= 0 && c->spec.in[k].dim >= 0 &&
			    pieces_stands_cut(x, v, c->k, c->spec.in[k].dim) &&
			    x->cut[x->m.value[v].producer]->spec.dim >= 0)
				widen_piece(x->cut[x->m.value[v].producer], c, k);
		}
	}
}

/* The model has operators of the type, or there is a rule for it. */
static berth_status check_type(const pieces_state *x, const char *type, berth_err *err)
{
	const char **known;
	size_t rules = 0;
	int32_t n = 0;
	char hint[128];
	while (pieces_rule_type(rules))
		rules++;
	BERTH_TRY_NEW(x->mem, x->m.n_nodes + rules, err, known);
	for (size_t i = 0; i < rules; i++)
		known[n++] = pieces_rule_type(i);
	for (size_t i = 0; i < x->m.n_nodes; i++)
		known[n++] = x->m.node[i].type;
	for (int32_t i = 0; i < n; i++)
		if (strcmp(known[i], type) == 0)
			return BERTH_OK;
	return berth_fail(err, BERTH_EINVAL,
	                  "%s: --types: there is no operator of type '%s'%s, and no rule for that type",
	                  x->m.file, type, berth_text_suggest(hint, sizeof hint, type, known, n));
}

berth_status pieces_plan(pieces_state *x, berth_err *err)
{
	bool *named;
	int32_t *ask;
	for (int32_t i = 0; i < x->opt->n_types; i++)
		BERTH_TRY(check_type(x, x->opt->type[i], err));
	BERTH_TRY_NEW(x->mem, x->m.n_nodes, err, named);
	BERTH_TRY_NEW(x->mem, x->opt->n_asks, err, ask);
	for (int32_t i = 0; i < x->opt->n_asks; i++) {
		BERTH_TRY(find_node(x, x->opt->ask[i].op, &ask[i], err));
		if (named[ask[i]])
			return berth_fail(err, BERTH_EINVAL, "operator '%s' is to be cut twice",
			                  x->opt->ask[i].op);
		named[ask[i]] = true;
	}
	for (int32_t i = 0; i < x->opt->n_asks; i++)
		BERTH_TRY(answer_ask(x, &x->opt->ask[i], ask[i], err));
	x->out->n_asked = x->out->n_refused;
	BERTH_TRY(cut_all_others(x, named, err));
	if (x->opt->overlap)
		overlap_windows(x);
	return BERTH_OK;
}
