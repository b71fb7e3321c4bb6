/* Exporter "openvino": what device each node of an ONNX model goes to, as JSON {friendly name: device}, for
 * OpenVINO's HETERO device, by the names that its reader of ONNX gives (set_friendly_names in its frontend).
 * IR files lose affinities, so that they are set in the program; the lines are in docs/export.md. HETERO runs
 * its pieces one after the other. */
#include "exporters.h"
#include "json.h"
#include "onnx_placed.h"
#include "problem_tables.h"
#include "text.h"

#include <string.h>

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

/* "HETERO:GPU,CPU": accelerators first, so that what the plan does not name goes to them if it can. */
static berth_status put_setting(const char *const *theirs, int32_t n_devs, berth_export_out *out,
                                berth_err *err)
{
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
	return berth_export_set(out, "compile_model", text, err);
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

/* Its device AUTO: all on the first GPU that can run it, else on the first CPU. */
static berth_status usual(const berth_export_source *x, berth_arena *tmp, int32_t *op_dev, bool *known,
                          berth_err *err)
{
	static const char *const kinds[] = {"gpu", "cpu"};
	int32_t at = -1;
	(void)tmp, (void)err;
	for (int k = 0; k < 2 && at < 0; k++)
		for (int32_t d = 0; d < x->s->n_devs && at < 0; d++)
			if (berth_export_is(x->s, d, kinds[k]) && berth_export_time_on(x, d) >= 0)
				at = d;
	return berth_export_all_on(x, at, op_dev, known);
}

static berth_status write(const berth_export_source *x, berth_arena *tmp, berth_export_out *out,
                          berth_err *err)
{
	static const berth_export_word usual[] = {
		{"cpu", "CPU"}, {"gpu", "GPU"}, {"npu", "NPU"}, {NULL, NULL}};
	const char *theirs[BERTH_MAX_DEVS];
	onnx_placed placed;
	berth_json_out w;
	BERTH_TRY(berth_export_theirs(x, usual, "device of OpenVINO", theirs, out, err));
	BERTH_TRY(check_names(theirs, x->s->n_devs, err));
	BERTH_TRY(onnx_placed_new(x, tmp, &placed, err));
	berth_json_out_init(&w, out->mem, true);
	berth_json_open(&w, NULL, '{');
	BERTH_TRY(put_nodes(&placed, theirs, tmp, &w, err));
	berth_json_close(&w, '}');
	BERTH_TRY(put_setting(theirs, x->s->n_devs, out, err));
	BERTH_TRY(berth_export_note(out, err, "a few lines of Python set the affinities: docs/export.md"));
	return berth_export_put_json(out, &w, err);
}

const berth_exporter berth_export_openvino = {
	.name = "openvino",
	.about = "JSON {friendly name: device} of an ONNX model",
	.suffix = ".json",
	.needs = BERTH_EXPORT_PLACEMENT,
	.model = "ONNX",
	.serial = true,
	.write = write,
	.usual = usual,
};
