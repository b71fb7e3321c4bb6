/* Which axis each operator is cut along, by styles that people use (pieces.h names their sources). */
#include "pieces_state.h"

static bool is_weight(const pieces_state *x, int32_t v)
{
	const onnx_value *a = &x->m.value[v];
	return a->constant || a->weight_input || a->tensor;
}

/* ---- data ---- */

/* The first input that is no weight; NULL: there is none. */
static const onnx_value *first_input(const pieces_state *x)
{
	for (size_t i = 0; i < x->m.n_inputs; i++)
		if (!is_weight(x, x->m.input[i]))
			return &x->m.value[x->m.input[i]];
	return NULL;
}

/* Samples of the first input. */
static int64_t batch_of(const pieces_state *x)
{
	const onnx_value *v = first_input(x);
	return v && v->rank > 0 ? v->dim[0] : 0;
}

/* Why nothing of the model can be cut along the batch. NULL: some of it may be. */
static const char *batch_why(pieces_state *x, int32_t node)
{
	pieces_at at = pieces_at_node(x, node);
	const onnx_value *v = first_input(x);
	if (!v || v->rank <= 0)
		return "the model has no batch: its first input has no dimensions that are known";
	if (pieces_is_open(&at, v, 0))
		return "the batch is not fixed by the file";
	return v->dim[0] == 1 ? "the batch is 1" : NULL;
}

/* The dimension of the batch; -1: it has none. */
static int32_t batch_dim(const pieces_state *x, int32_t v)
{
	const onnx_value *a = &x->m.value[v];
	if (is_weight(x, v))
		return -1;
	if (a->producer >= 0)
		return x->cut[a->producer] ? x->cut[a->producer]->out_dim : -1;
	return a->rank > 0 && a->dim[0] == batch_of(x) ? 0 : -1;
}

/* Does each piece take the samples of its own, and all of what has no batch? */
static bool keeps_batch(const pieces_state *x, const onnx_node *n, const pieces_spec *s)
{
	bool any = false;
	for (int32_t k = 0; k < n->n_in; k++) {
		int32_t dim = n->in[k] < 0 ? -1 : batch_dim(x, n->in[k]);
		if (n->in[k] >= 0 && s->in[k].dim != dim)
			return false;
		any |= dim >= 0;
	}
	return any;
}

static berth_status along_batch(pieces_state *x, int32_t node, const pieces_parts *parts, const char **why,
                                berth_err *err)
{
	const onnx_node *n = &x->m.node[node];
	const onnx_value *y = n->n_out && n->out[0] >= 0 ? &x->m.value[n->out[0]] : NULL;
	*why = batch_why(x, node);
	if (*why)
		return BERTH_OK;
	*why = "no dimension of it is the batch";
	for (int32_t d = 0; y && d < y->rank; d++) {
		pieces_spec s;
		const char *not_so;
		BERTH_TRY(pieces_consider(x, node, d, &s, &not_so, err));
		if (not_so || !keeps_batch(x, n, &s))
			continue;
		return pieces_make(x, node, &s, parts, why, err);
	}
	return BERTH_OK;
}

/* ---- tensor ---- */

/* A product whose second factor is a weight. */
static bool has_weight(const pieces_state *x, const onnx_node *n)
{
	bool product = !strcmp(n->type, "MatMul") || !strcmp(n->type, "Gemm") || !strcmp(n->type, "Conv");
	return product && n->n_in > 1 && n->in[1] >= 0 && is_weight(x, n->in[1]);
}

/* Along dim, or along what is summed where the pieces of what it takes are there (of a table: always). */
static berth_status try_along(pieces_state *x, int32_t node, int32_t dim, const pieces_parts *parts,
                              const char **why, berth_err *err)
{
	const onnx_node *n = &x->m.node[node];
	pieces_spec s;
	BERTH_TRY(pieces_consider(x, node, dim, &s, why, err));
	if (!*why && dim == PIECES_INNER && has_weight(x, n) &&
	    !pieces_stands_cut(x, n->in[0], parts->k, s.in[0].dim))
		*why = "what it takes is not cut along what is summed";
	return *why ? BERTH_OK : pieces_make(x, node, &s, parts, why, err);
}

/* Experts one by one, pairs of products by columns and along what is summed. */
static berth_status cut_product(pieces_state *x, int32_t node, const pieces_parts *parts, const char **why,
                            berth_err *err)
{
	const onnx_node *n = &x->m.node[node];
	const onnx_value *w = &x->m.value[n->in[1]];
	int32_t rank = x->m.value[n->out[0]].rank;
	bool image = !strcmp(n->type, "Conv");
	if (!image && w->rank > 2)
		return try_along(x, node, rank > 3 ? 1 : 0, parts, why, err);
	BERTH_TRY(try_along(x, node, PIECES_INNER, parts, why, err));
	return *why ? try_along(x, node, image ? 1 : rank - 1, parts, why, err) : BERTH_OK;
}

static bool takes_pieces(const pieces_state *x, const onnx_node *n)
{
	for (int32_t k = 0; k < n->n_in; k++) {
		int32_t node = n->in[k] < 0 ? -1 : x->m.value[n->in[k]].producer;
		if (node >= 0 && x->cut[node] && x->cut[node]->out_dim >= 0)
			return true;
	}
	return false;
}

static berth_status by_weights(pieces_state *x, int32_t node, const pieces_parts *parts, const char **why,
                               berth_err *err)
{
	const onnx_node *n = &x->m.node[node];
	*why = "nothing that it takes is cut";
	if (n->n_out && n->out[0] >= 0 && has_weight(x, n))
		BERTH_TRY(cut_product(x, node, parts, why, err));
	else if (!strcmp(n->type, "Gather") && n->n_in > 1 && n->in[0] >= 0 && is_weight(x, n->in[0]))
		BERTH_TRY(try_along(x, node, PIECES_INNER, parts, why, err));
	if (!*why || !(takes_pieces(x, n) || has_weight(x, n)))
		return BERTH_OK;
	const char *first = *why;
	BERTH_TRY(pieces_make_cheapest(x, node, parts, why, err));
	if (first == pieces_needs_data && !*why) {
		/* It is cut along another axis than the style wants: the first such operator is told. */
		pieces_model *o = x->out;
		if (o->n_other_axis++ == 0)
			o->other_axis = (pieces_refused){onnx_node_label(&x->m, n), n->type, first};
	}
	return BERTH_OK;
}

berth_status pieces_make_styled(pieces_state *x, int32_t node, const char **why, berth_err *err)
{
	const pieces_parts parts = {x->opt->k, x->opt->share, x->opt->each};
	switch (x->opt->style) {
	case PIECES_DATA:
		return along_batch(x, node, &parts, why, err);
	case PIECES_TENSOR:
		return by_weights(x, node, &parts, why, err);
	case PIECES_CHEAPEST:
		break;
	}
	return pieces_make_cheapest(x, node, &parts, why, err);
}
