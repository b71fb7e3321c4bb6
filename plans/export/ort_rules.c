/* Exporter "ort:rules": the session option of ONNX Runtime that gives nodes to execution providers by parts
 * of their names, for a model that is not to be touched. A rule holds for every node whose name has its text
 * somewhere. So each rule is the shortest beginning of a name, cut behind a separator, that no node of
 * another device has in its name. Every operator is under a rule; where WebGPU is a provider beside the
 * CPU's, so is what is no operator (onnx_placed_fold). */
#include "name_parts.h"
#include "onnx_placed.h"
#include "ort_providers.h"

typedef struct named_nodes {
	const onnx_placed *placed;
	const char **name; /* [n] */
	int32_t *dev;
	int32_t n;
	size_t cap_name, cap_dev;
} named_nodes;

static berth_status add_nodes(const onnx_node *node, size_t n, int32_t dev, named_nodes *x, berth_arena *tmp,
                              berth_err *err);

static berth_status add_node(const onnx_node *node, int32_t dev, named_nodes *x, berth_arena *tmp,
                             berth_err *err)
{
	BERTH_TRY(BERTH_GROW(tmp, x->name, x->n, &x->cap_name, err));
	BERTH_TRY(BERTH_GROW(tmp, x->dev, x->n, &x->cap_dev, err));
	x->name[x->n] = node->name;
	x->dev[x->n++] = dev;
	if (!*node->name)
		return berth_fail(
			err, BERTH_EUNSUPPORTED,
			"a node of type %.60s has no name: rules by names cannot reach it; use --to ort",
			node->type);
	for (int32_t b = 0; b < node->n_bodies; b++)
		BERTH_TRY(add_nodes(node->body[b].nodes.node, node->body[b].nodes.n, dev, x, tmp, err));
	return BERTH_OK;
}

static berth_status add_nodes(const onnx_node *node, size_t n, int32_t dev, named_nodes *x, berth_arena *tmp,
                              berth_err *err)
{
	for (size_t i = 0; i < n; i++)
		BERTH_TRY(add_node(&node[i], dev, x, tmp, err));
	return BERTH_OK;
}

/* Must shapes be kept from a provider? */
static bool is_picky(const char *const *provider, int32_t n_devs)
{
	bool picky = false;
	for (int32_t d = 0; d < n_devs; d++)
		picky = picky || (provider[d] && strcmp(provider[d], "WebGpuExecutionProvider") == 0);
	return picky;
}

/* A node of another device with the text in its name. */
static int32_t elsewhere(const named_nodes *x, const char *text, int32_t dev)
{
	int32_t i = 0;
	while (x->dev[i] == dev || !strstr(x->name[i], text))
		i++;
	return i;
}

static berth_status make_rules(const named_nodes *x, berth_arena *tmp, berth_strbuf *rules, berth_err *err)
{
	name_parts parts;
	BERTH_TRY(name_parts_new(x->name, x->dev, x->n, tmp, &parts, err));
	for (int32_t i = 0; i < x->n; i++) {
		berth_strbuf *to = &rules[x->dev[i]];
		const char *rule = "";
		if (name_parts_taken(&parts, x->name[i]))
			continue;
		/* The shortest beginning of the node's name that is of its device alone. */
		const char *name = x->name[i];
		size_t size = name_parts_own(&parts, name, "/.:_");
		if (!size)
			return berth_fail(err, BERTH_EUNSUPPORTED,
			                  "no rule holds for node '%.100s' alone: '%.100s', on another "
			                  "device, has that in its name; use --to ort",
			                  name, x->name[elsewhere(x, name, x->dev[i])]);
		BERTH_TRY(berth_got(rule = berth_arena_printf(tmp, "%.*s", (int)size, name), err));
		if (!ort_rule_holds(rule))
			return berth_fail(err, BERTH_EUNSUPPORTED,
			                  "node '%.100s': a rule cannot hold %s, blanks around it or control "
			                  "characters; use --to ort",
			                  name, ORT_RULE_SIGNS);
		name_parts_take(&parts, name, size);
		berth_strbuf_add(to, ",", to->len > 0);
		berth_strbuf_add(to, rule, strlen(rule));
	}
	return BERTH_OK;
}

static berth_status write_rules(const berth_export_source *x, berth_arena *tmp, berth_export_out *out,
                                berth_err *err)
{
	const char *provider[BERTH_MAX_DEVS], *rules[BERTH_MAX_DEVS] = {NULL}, *text;
	berth_strbuf *list;
	onnx_placed placed;
	named_nodes nodes;
	size_t len;
	BERTH_TRY(ort_providers(x, provider, out, err));
	BERTH_TRY(onnx_placed_new(x, tmp, &placed, err));
	const int32_t cpu = is_picky(provider, x->s->n_devs) ? ort_cpu_of(provider, x->s->n_devs) : -1;
	onnx_placed_fold(&placed, cpu);
	bool folded = cpu >= 0;
	nodes = (named_nodes){.placed = &placed};
	for (size_t i = 0; i < placed.m.n_nodes; i++)
		if (placed.node_op[i] >= 0 || (folded && *placed.m.node[i].name))
			BERTH_TRY(add_node(&placed.m.node[i], placed.node_dev[i], &nodes, tmp, err));
	BERTH_TRY_NEW(tmp, x->s->n_devs, err, list);
	for (int32_t d = 0; d < x->s->n_devs; d++)
		list[d].mem = tmp;
	BERTH_TRY(make_rules(&nodes, tmp, list, err));
	for (int32_t d = 0; d < x->s->n_devs; d++)
		if (list[d].len)
			BERTH_TRY(berth_strbuf_done(&list[d], &rules[d], &len, err));
	BERTH_TRY(ort_provider_rules(provider, rules, x->s->n_devs, out->mem, &text, err));
	BERTH_TRY(berth_export_set(out, "session.name_based_layer_assignment", text, err));
	if (placed.n_folded)
		BERTH_TRY(berth_export_note(
			out, err,
			"%d of %d nodes are no operators (constants, shapes): %s",
			placed.n_folded, (int32_t)placed.m.n_nodes,
			cpu < 0 ? "no rule is made for them" : "they are the CPU's"));
	BERTH_TRY(ort_fused_note(x, tmp, out, err));
	BERTH_TRY(berth_export_put(out, text, strlen(text), err));
	return berth_export_put(out, "\n", 1, err);
}

const berth_exporter berth_export_ort_rules = {
	.name = "ort:rules",
	.about = "The session option alone, by parts of the nodes' names",
	.suffix = ".txt",
	.needs = BERTH_EXPORT_PLACEMENT,
	.model = "ONNX",
	.write = write_rules,
	.usual = ort_usual,
};
