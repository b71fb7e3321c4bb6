/* Exporter "dot": a graph as DOT text for Graphviz. One node is an operator, with its name and type. One
 * arrow is a use of a tensor, with its size. With a placement, nodes have the colours of their devices.
 * O(ops + edges). */
#include "exporters.h"

/* Light enough for black text; devices beyond them take them again in turn. */
static const char *const colour[] = {"#9ecae1", "#fdae6b", "#a1d99b", "#dadaeb", "#fc9272",
                                     "#fff2ae", "#c7e9b4", "#f1b6da", "#d9d9d9", "#e5d8bd"};
enum { N_COLOURS = sizeof colour / sizeof *colour };

/* What stands between quotes: quotes and backslashes escaped, control characters as blanks. */
static void quoted(berth_strbuf *b, const char *s)
{
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			berth_strbuf_add(b, "\\", 1);
		berth_strbuf_add(b, (unsigned char)*s < ' ' ? " " : s, 1);
	}
}

static void legend(berth_strbuf *b, const berth_system *s)
{
	berth_strbuf_printf(b, "  subgraph cluster_devices {\n  label=\"devices\";\n");
	for (int32_t d = 0; d < s->n_devs; d++) {
		berth_strbuf_printf(b, "  d%d [label=\"", d);
		quoted(b, s->dev_name[d]);
		berth_strbuf_printf(b, "\", fillcolor=\"%s\"];\n", colour[d % N_COLOURS]);
	}
	berth_strbuf_printf(b, "  }\n");
}

static berth_status write(const berth_export_source *x, berth_arena *tmp, berth_export_out *out,
                          berth_err *err)
{
	const berth_graph *g = x->g;
	const int32_t *op_dev = x->op_dev;
	berth_strbuf b = {.mem = out->mem};
	char size[32];
	(void)tmp;
	berth_strbuf_printf(&b, "digraph \"");
	quoted(&b, g->name);
	berth_strbuf_printf(
		&b,
		"\" {\n  node [shape=box, style=filled, fillcolor=\"#f0f0f0\", fontname=\"sans-serif\"];\n");
	if (op_dev)
		legend(&b, x->s);
	for (int32_t op = 0; op < g->n_ops; op++) {
		berth_strbuf_printf(&b, "  n%d [label=\"", op);
		quoted(&b, g->op_name[op]);
		if (g->op_type[op] >= 0) {
			berth_strbuf_printf(&b, "\\n");
			quoted(&b, g->type_name[g->op_type[op]]);
		}
		berth_strbuf_printf(&b, "\"");
		if (op_dev) {
			berth_strbuf_printf(&b, ", fillcolor=\"%s\", tooltip=\"",
			                    colour[op_dev[op] % N_COLOURS]);
			quoted(&b, x->s->dev_name[op_dev[op]]);
			berth_strbuf_printf(&b, "\"");
		}
		berth_strbuf_printf(&b, "];\n");
	}
	for (int32_t t = 0; t < g->n_tensors; t++)
		BERTH_EACH (e, g->tensor_use_off, t) {
			int32_t from = g->tensor_producer[t], to = g->edge_consumer[e];
			bool crosses = op_dev && op_dev[from] != op_dev[to];
			berth_strbuf_printf(&b, "  n%d -> n%d [label=\"%s\"%s];\n", from, to,
			                    berth_text_bytes(size, (double)g->tensor_bytes[t]),
			                    crosses ? ", color=\"#d62728\"" : "");
		}
	berth_strbuf_printf(&b, "}\n");
	return berth_export_put_text(out, &b, err);
}

const berth_exporter berth_export_dot = {
	.name = "dot",
	.about = "The graph for Graphviz, devices as colours",
	.suffix = ".dot",
	.needs = BERTH_EXPORT_GRAPH,
	.own_names = true,
	.write = write,
};
