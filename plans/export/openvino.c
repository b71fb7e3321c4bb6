/* Exporter "openvino": what device each node of an ONNX model goes to, as JSON {friendly name: device}, for
 * OpenVINO's HETERO device, by the names that its reader of ONNX gives (set_friendly_names in its frontend).
 * IR files lose affinities, so that they are set in the program; the lines are in docs/export.md. HETERO runs
 * its pieces one after the other. */
#include "onnx_placed.h"

typedef struct naming {
	const onnx_placed *p;
	const char *const *theirs; /* [n_devs] */
	berth_strmap first;        /* name -> node that has it */
	const int32_t *dev;        /* [n_nodes] of what a node's outputs are there */
	berth_json_out *w;
	berth_err *err;
} naming;

static berth_status put_name(naming *x, const char *name, int32_t node)
{
	const char *device = x->theirs[x->dev[node]];
	int32_t found;
	if (!name || !*name)
		return BERTH_OK;
	BERTH_TRY(berth_strmap_add(&x->first, name, node, &found, x->err));
	if (found == node)
		berth_json_put_string(x->w, name, device);
	else if (strcmp(x->theirs[x->dev[found]], device) != 0)
		return berth_fail(x->err, BERTH_EUNSUPPORTED,
		                  "two nodes are called '%.100s', one on %.60s and one on %.60s: OpenVINO "
		                  "cannot tell them apart",
		                  name, x->theirs[x->dev[found]], device);
	return BERTH_OK;
}

/* Nodes that it leaves out: what made their input has the name of their output from then on. */
static bool is_left_out(const onnx_node *n)
{
	return !*n->domain && n->n_in && n->in[0] >= 0 &&
	       (strcmp(n->type, "Identity") == 0 || strcmp(n->type, "Dropout") == 0);
}

/* Its node is called as in the file, else as its last output. Where outputs are made by nodes of their own,
 * they are called NAME_OUTPUT. */
static berth_status put_node(naming *x, int32_t node, berth_arena *tmp)
{
	const onnx_node *n = &x->p->m.node[node];
	const char *last = NULL, *both;
	if (is_left_out(n))
		return n->n_out && n->out[0] >= 0 ? put_name(x, x->p->m.value[n->out[0]].name, node)
		                                  : BERTH_OK;
	if (*n->name)
		BERTH_TRY(put_name(x, n->name, node));
	for (int32_t o = 0; o < n->n_out; o++) {
		if (n->out[o] < 0)
			continue;
		last = x->p->m.value[n->out[o]].name;
		if (!*n->name || n->n_out < 2)
			continue;
		BERTH_TRY(berth_got(both = berth_arena_printf(tmp, "%s_%s", n->name, last), x->err));
		BERTH_TRY(put_name(x, both, node));
	}
	return *n->name ? BERTH_OK : put_name(x, last, node);
}

static berth_status put_nodes(const onnx_placed *p, const char *const *theirs, berth_arena *tmp,
                              berth_json_out *w, berth_err *err)
{
	naming x = {.p = p, .theirs = theirs, .w = w, .err = err};
	int32_t *dev;
	berth_strmap_init(&x.first, tmp);
	BERTH_TRY_NEW(tmp, p->m.n_nodes, err, dev);
	x.dev = dev;
	for (size_t i = 0; i < p->m.n_nodes; i++) {
		const int32_t node = p->m.order[i];
		const onnx_node *n = &p->m.node[node];
		const int32_t made_by = is_left_out(n) ? p->m.value[n->in[0]].producer : -1;
		dev[node] = made_by >= 0 ? dev[made_by] : p->node_dev[node];
	}
	for (size_t i = 0; i < p->m.n_nodes; i++)
		if (p->node_op[i] >= 0)
			BERTH_TRY(put_node(&x, (int32_t)i, tmp));
	return BERTH_OK;
}

static berth_status check_names(const char *const *theirs, int32_t n_devs, berth_err *err)
{
	for (int32_t d = 0; d < n_devs; d++)
		if (theirs[d] &&
		    theirs[d][strspn(theirs[d], "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		                                "0123456789._-")])
			return berth_fail(err, BERTH_EINVAL,
			                  "'%.80s' is no name of a device of OpenVINO, such as CPU or GPU.1",
			                  theirs[d]);
	return BERTH_OK;
}

/* ---- the default: one device ---- */

static const berth_export_word words[] = {{"cpu", "CPU"}, {"gpu", "GPU"}, {"npu", "NPU"}, {NULL, NULL}};

/* What --device calls it, else what it is usually called; "": neither. */
static const char *word_of(const berth_export_source *x, int32_t d)
{
	if (x->theirs && x->theirs[d])
		return x->theirs[d];
	for (const berth_export_word *w = words; w->begins; w++)
		if (berth_system_is(x->s, d, w->begins))
			return w->theirs;
	return "";
}

static bool shares_memory(const berth_export_source *x, int32_t d)
{
	for (int32_t k = 0; k < x->s->n_devs; k++)
		if (x->s->dev_pool[d] >= 0 && x->s->dev_pool[k] == x->s->dev_pool[d] &&
		    berth_export_begins(word_of(x, k), "CPU"))
			return true;
	return false;
}

/* All on the first device of that order that can run and hold it, else on the first that can run it. */
static berth_status usual(const berth_export_source *x, berth_arena *tmp, int32_t *op_dev, bool *known,
                          berth_err *err)
{
	int32_t at = -1, best = INT32_MAX;
	for (int32_t d = 0; d < x->s->n_devs; d++) {
		/* The order of its device AUTO: GPUs with memory of their own, others, the CPU; by numbers.
		 * -1: it leaves the device alone (NPUs). */
		const char *word = word_of(x, d), *dot = strchr(word, '.');
		int32_t told = dot ? berth_text_digits(dot + 1, 999, NULL) : 0,
			number = told < 0 ? 999 : told;
		int32_t rank = berth_export_begins(word, "GPU")   ? number + 1000 * shares_memory(x, d)
		               : berth_export_begins(word, "CPU") ? number + 2000
		                                                  : -1;
		bool fit;
		if (rank < 0 || berth_export_time_on(x, d) < 0)
			continue;
		BERTH_TRY(berth_export_fits_on(x, d, op_dev, tmp, &fit, err));
		rank += fit ? 0 : 3000;
		at = rank < best ? d : at;
		best = rank < best ? rank : best;
	}
	return berth_export_all_on(x, at, op_dev, known);
}

/* ---- pieces ---- */

static int32_t root(int32_t *up, int32_t op)
{
	while (up[op] != op)
		op = up[op] = up[up[op]];
	return op;
}

/* Change the counts of the pieces that take what piece `from` makes by `by`, from = -1: of all; the new ones
 * without any, and not done, are put behind *n_free. */
static void count_takers(const berth_graph *g, const int32_t *piece, int32_t from, int32_t *waits,
                         int32_t *free, int32_t *n_free)
{
	for (int32_t op = from < 0 ? 0 : from; op < g->n_ops; op++) {
		if (from >= 0 && piece[op] != from)
			continue;
		BERTH_EACH (u, g->op_tensor_off, op)
			BERTH_EACH (k, g->tensor_use_off, u) {
				const int32_t to = piece[g->edge_consumer[k]];
				if (to == piece[op])
					continue;
				waits[to] += from < 0 ? 1 : -1;
				if (from >= 0 && waits[to] == 0)
					free[(*n_free)++] = to;
			}
	}
}

/* A piece of a circle, from one that waits: its makers are followed until they must have come again. before
 * [n_ops] is scratch. */
static int32_t follow(const berth_graph *g, const int32_t *piece, const int32_t *waits, int32_t at,
                      int32_t *before)
{
	for (int32_t op = 0; op < g->n_ops; op++)
		BERTH_EACH (u, g->op_tensor_off, op)
			BERTH_EACH (k, g->tensor_use_off, u) {
				const int32_t to = piece[g->edge_consumer[k]];
				if (to != piece[op] && waits[piece[op]] > 0)
					before[to] = piece[op];
			}
	for (int32_t i = 0; i < g->n_ops; i++)
		at = before[at];
	return at;
}

/* *circle: the first operator of a piece that waits for another one that waits for it; -1: none. */
static berth_status find_circle(const berth_export_source *x, const char *const *theirs, berth_arena *tmp,
                                int32_t *n_pieces, int32_t *circle, berth_err *err)
{
	const berth_graph *g = x->g;
	int32_t *piece, *waits, *free, n_free = 0;
	BERTH_TRY_NEW(tmp, g->n_ops, err, piece, waits, free);
	/* piece [n_ops]: the lowest operator of each one's piece. HETERO makes a piece of what hangs
	 * together on a device. */
	const int32_t *op_dev = x->op_dev;
	for (int32_t op = 0; op < g->n_ops; op++)
		piece[op] = op;
	for (int32_t op = 0; op < g->n_ops; op++)
		BERTH_EACH (u, g->op_tensor_off, op)
			BERTH_EACH (k, g->tensor_use_off, u) {
				const int32_t to = g->edge_consumer[k];
				if (strcmp(theirs[op_dev[op]], theirs[op_dev[to]]) != 0)
					continue;
				const int32_t a = root(piece, op), b = root(piece, to);
				piece[a > b ? a : b] = a < b ? a : b;
			}
	for (int32_t op = 0; op < g->n_ops; op++)
		piece[op] = root(piece, op);
	count_takers(g, piece, -1, waits, NULL, NULL);
	*n_pieces = 0;
	for (int32_t op = 0; op < g->n_ops; op++) {
		*n_pieces += piece[op] == op;
		if (piece[op] == op && waits[op] == 0)
			free[n_free++] = op;
	}
	for (int32_t i = 0; i < n_free; i++)
		count_takers(g, piece, free[i], waits, free, &n_free);
	*circle = -1;
	for (int32_t op = 0; op < g->n_ops && *circle < 0; op++)
		if (waits[piece[op]] > 0)
			*circle = follow(g, piece, waits, piece[op], free);
	return BERTH_OK;
}

static berth_status tell_pieces(const berth_export_source *x, const char *const *theirs, berth_arena *tmp,
                                berth_export_out *out, berth_err *err)
{
	int32_t n_pieces, circle;
	BERTH_TRY(find_circle(x, theirs, tmp, &n_pieces, &circle, err));
	if (circle >= 0)
		return berth_export_warn(
			out, err,
			"pieces of the plan wait for each other in a circle (first: the one of '%.100s' on "
			"%s): HETERO cuts them further, which some versions fail at (\"Cannot resolve "
			"cycles\"); devices that are \"contiguous\" in the system file have none",
			x->g->op_name[circle], theirs[x->op_dev[circle]]);
	return berth_export_note(out, err, "HETERO makes %d piece%s of it", n_pieces,
	                         n_pieces == 1 ? "" : "s");
}

static berth_status write(const berth_export_source *x, berth_arena *tmp, berth_export_out *out,
                          berth_err *err)
{
	const char *theirs[BERTH_MAX_DEVS];
	onnx_placed placed;
	berth_json_out w;
	int32_t n_gpus = 0;
	for (int32_t d = 0; d < x->s->n_devs; d++)
		n_gpus += berth_system_is(x->s, d, "gpu");
	BERTH_TRY(n_gpus > 1 ? berth_export_theirs_numbered(x, x->op_dev, "GPU.", words, "device of OpenVINO",
	                                                    theirs, out, err)
	                     : berth_export_theirs(x, words, "device of OpenVINO", theirs, out, err));
	for (int32_t d = 0; d < x->s->n_devs; d++) {
		const char *name = x->s->dev_name[d];
		if (theirs[d] && berth_export_begins(theirs[d], "GPU.") && !(x->theirs && x->theirs[d]))
			BERTH_TRY(berth_export_note(
				out, err, "device %s is taken for %s (--device %s=NAME says otherwise)", name,
				theirs[d], name));
	}
	BERTH_TRY(check_names(theirs, x->s->n_devs, err));
	BERTH_TRY(onnx_placed_new(x, tmp, &placed, err));
	berth_json_out_init(&w, out->mem, true);
	berth_json_open(&w, NULL, '{');
	BERTH_TRY(put_nodes(&placed, theirs, tmp, &w, err));
	berth_json_close(&w, '}');
	/* "HETERO:GPU,CPU": accelerators first, so that what the plan does not name goes to them if it
	 * can. */
	int32_t n_devs = x->s->n_devs;
	berth_strbuf b = {.mem = out->mem};
	const char *text;
	size_t len;
	for (int cpu = 0; cpu < 2; cpu++)
		for (int32_t d = 0; d < n_devs; d++) {
			bool again = !theirs[d];
			for (int32_t k = 0; !again && k < d; k++)
				again = theirs[k] && strcmp(theirs[k], theirs[d]) == 0;
			if (again || (strcmp(theirs[d], "CPU") == 0) != cpu)
				continue;
			berth_strbuf_printf(&b, "%s%s", b.len ? "," : "HETERO:", theirs[d]);
		}
	BERTH_TRY(berth_strbuf_done(&b, &text, &len, err));
	BERTH_TRY(berth_export_set(out, "compile_model", text, err));
	BERTH_TRY(tell_pieces(x, theirs, tmp, out, err));
	BERTH_TRY(berth_export_note(out, err, "a few lines of Python set the affinities: docs/export.md"));
	return berth_export_put_json(out, &w, err);
}

const berth_exporter berth_export_openvino = {
	.name = "openvino",
	.about = "JSON {friendly name: device} of an ONNX model",
	.suffix = ".json",
	.needs = BERTH_EXPORT_PLACEMENT,
	.model = "ONNX",
	.write = write,
	.usual = usual,
};
