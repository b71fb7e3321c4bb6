/* Exporter "openvino": what device each node of an ONNX model goes to, as JSON {friendly name: device}, for
 * OpenVINO's HETERO device. Its reader of ONNX names what it makes of a node by the node's name, else by its
 * last output. IR files lose affinities, so that they are set in the program; the lines are in
 * docs/export.md. HETERO runs its pieces one after the other. */
#include "export_names.h"
#include "json.h"
#include "onnx_placed.h"
#include "problem_tables.h"
#include "strbuf.h"

#include <string.h>

static const char *friendly_name(const onnx_placed *p, const onnx_node *n)
{
	const char *name = n->name;
	for (int32_t o = 0; !*n->name && o < n->n_out; o++)
		if (n->out[o] >= 0)
			name = p->m.value[n->out[o]].name;
	return name;
}

static berth_status put_nodes(const onnx_placed *p, const char *const *theirs, berth_arena *tmp,
                              berth_json_out *w, berth_err *err)
{
	berth_strmap first;
	berth_strmap_init(&first, tmp);
	for (size_t i = 0; i < p->m.n_nodes; i++) {
		const onnx_node *n = &p->m.node[i];
		const char *name = friendly_name(p, n), *device = theirs[p->node_dev[i]];
		int32_t found;
		if (p->node_op[i] < 0)
			continue;
		BERTH_TRY(berth_strmap_add(&first, name, (int32_t)i, &found, err));
		if (found == (int32_t)i)
			berth_json_put_string(w, name, device);
		else if (strcmp(theirs[p->node_dev[found]], device) != 0)
			return berth_fail(
				err, BERTH_EUNSUPPORTED,
				"two nodes are called '%.100s', one on %.60s and one on %.60s: OpenVINO "
				"cannot tell them apart",
				name, theirs[p->node_dev[found]], device);
	}
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

static bool runs_all(const berth_problem *p, int32_t d)
{
	for (int32_t op = 0; op < p->g->n_ops; op++)
		if (berth_op_time(p, op, d) < 0)
			return false;
	return true;
}

/* Its device AUTO: all on the first GPU that can run it, else on the first CPU. */
static berth_status usual(const berth_export_source *x, berth_arena *tmp, int32_t *op_dev, bool *known,
                          berth_err *err)
{
	static const char *const kinds[] = {"gpu", "cpu"};
	int32_t at = -1;
	(void)tmp, (void)err;
	for (int k = 0; k < 2 && x->p && at < 0; k++)
		for (int32_t d = 0; d < x->s->n_devs && at < 0; d++)
			if ((strncmp(x->s->dev_kind[d], kinds[k], 3) == 0 ||
			     strncmp(x->s->dev_name[d], kinds[k], 3) == 0) && runs_all(x->p, d))
				at = d;
	*known = at >= 0;
	for (int32_t op = 0; op < x->g->n_ops && *known; op++)
		op_dev[op] = at;
	return BERTH_OK;
}

static berth_status write(const berth_export_source *x, berth_arena *tmp, berth_export_out *out,
                          berth_err *err)
{
	static const berth_export_word usual[] = {
		{"cpu", "CPU"}, {"gpu", "GPU"}, {"npu", "NPU"}, {NULL, NULL}};
	const char *theirs[BERTH_MAX_DEVS], *text;
	onnx_placed placed;
	berth_json_out w;
	size_t len;
	BERTH_TRY(berth_export_theirs(x, usual, "device of OpenVINO", theirs, out, err));
	BERTH_TRY(check_names(theirs, x->s->n_devs, err));
	BERTH_TRY(onnx_placed_new(x, tmp, &placed, err));
	berth_json_out_init(&w, out->mem, true);
	berth_json_open(&w, NULL, '{');
	BERTH_TRY(put_nodes(&placed, theirs, tmp, &w, err));
	berth_json_close(&w, '}');
	BERTH_TRY(berth_json_done(&w, &text, &len, err));
	BERTH_TRY(put_setting(theirs, x->s->n_devs, out, err));
	BERTH_TRY(berth_export_note(out, err, "a few lines of Python set the affinities: docs/export.md"));
	return berth_export_put(out, text, len, err);
}

const berth_exporter berth_export_openvino = {.name = "openvino",
                                              .about = "Devices by friendly names, for OpenVINO",
                                              .suffix = ".json",
                                              .needs = BERTH_EXPORT_PLACEMENT,
                                              .model = "ONNX",
                                              .serial = true,
                                              .write = write,
                                              .usual = usual};
