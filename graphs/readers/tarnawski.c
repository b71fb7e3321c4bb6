/* Reader of the workloads of Tarnawski et al.: a graph, a machine of accelerators and CPUs, and a cost
 * model of its own. */
#include "tasks.h"

static bool is_tarnawski(const char *text, size_t size)
{
	return berth_text_is(text, size) &&
	       !berth_text_contains(text, size < 4096 ? size : 4096, "\"berth-") &&
	       berth_text_contains(text, size, "\"maxFPGAs\"");
}

/* ---- the graph ---- */

typedef struct reader {
	berth_builder *b;
	berth_strmap ids, names; /* id text to operator; name to the first node that has it */
	int32_t *same;           /* [nodes] by first node: how many have its name */
	int32_t n_seen;
	berth_arena *tmp;
} reader;

/* A flag: true, false, or a number. */
static berth_status read_flag(const berth_json *at, const char *key, bool *out, berth_err *err)
{
	const cJSON *x = cJSON_GetObjectItemCaseSensitive(at->item, key);
	double number = 0;
	if (cJSON_IsBool(x)) {
		*out = cJSON_IsTrue(x);
		return BERTH_OK;
	}
	BERTH_TRY(berth_json_number(at, key, false, 0, &number, err));
	*out = number != 0;
	return BERTH_OK;
}

static berth_status read_id(const berth_json *at, const char *key, const char **out, berth_arena *tmp,
                            berth_err *err)
{
	double id = 0;
	BERTH_TRY(berth_json_number(at, key, true, -0x1p53, &id, err));
	*out = berth_arena_printf(tmp, "%.0f", id);
	if (id != floor(id))
		return berth_json_fail(at, err, "%s is %g; expected a whole number", key, id);
	return *out ? BERTH_OK : berth_nomem(err);
}

static berth_status check_object(const berth_json *at, berth_err *err)
{
	return cJSON_IsObject(at->item) ? BERTH_OK : berth_json_fail(at, err, "expected an object");
}

static berth_status count_name(void *ctx, const berth_json *node, berth_err *err)
{
	reader *r = ctx;
	const char *name = "";
	int32_t first;
	BERTH_TRY(check_object(node, err));
	BERTH_TRY(berth_json_string(node, "name", false, &name, err));
	if (!(name = berth_arena_strdup(r->tmp, name))) /* the node goes after its visit, the name stays */
		return berth_nomem(err);
	BERTH_TRY(berth_strmap_add(&r->names, name, r->n_seen++, &first, err));
	r->same[first]++;
	return BERTH_OK;
}

static berth_status read_node(void *ctx, const berth_json *node, berth_err *err)
{
	reader *r = ctx;
	const char *id, *name = "";
	double cpu = 0, acc = 0, colour = NAN;
	bool supported = true;
	berth_op_spec spec = {0};
	int32_t op;
	BERTH_TRY(read_id(node, "id", &id, r->tmp, err));
	BERTH_TRY(berth_json_string(node, "name", false, &name, err));
	BERTH_TRY(read_flag(node, "supportedOnFpga", &supported, err));
	BERTH_TRY(read_flag(node, "isBackwardNode", &spec.backward, err));
	BERTH_TRY(berth_json_number(node, "cpuLatency", true, 0, &cpu, err));
	BERTH_TRY(berth_json_number(node, "fpgaLatency", supported, 0, &acc, err));
	/* Sizes stand as floating-point numbers. */
	double size = 0;
	BERTH_TRY(berth_json_number(node, "size", true, 0, &size, err));
	if (size > 0x1p53)
		return berth_json_fail(node, err, "%s is %g; expected at most 2^53", "size", size);
	spec.param_bytes = llround(size);
	if (cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(node->item, "colorClass"))) {
		BERTH_TRY(berth_json_number(node, "colorClass", false, -0x1p53, &colour, err));
		BERTH_TRY(berth_got(spec.colocate = berth_arena_printf(r->tmp, "colour%.17g", colour), err));
	}
	spec.name = *name && r->same[berth_strmap_get(&r->names, name)] == 1
	                    ? name
	                    : berth_arena_printf(r->tmp, "%snode %s", *name ? name : "", id);
	BERTH_TRY(berth_got(spec.name, err));
	if (berth_strmap_get(&r->ids, id) >= 0)
		return berth_json_fail(node, err, "two nodes have the id %s", id);
	BERTH_TRY(berth_json_placed(node, berth_builder_op(r->b, &spec, &op, err), err));
	BERTH_TRY(berth_json_placed(node, berth_builder_time(r->b, op, "cpu", cpu, err), err));
	acc = supported ? acc : NAN;
	BERTH_TRY(berth_json_placed(node, berth_builder_time(r->b, op, "acc", acc, err), err));
	return berth_strmap_add(&r->ids, id, op, NULL, err);
}

static berth_status read_end(reader *r, const berth_json *edge, const char *key, int32_t *op, berth_err *err)
{
	const char *id;
	BERTH_TRY(read_id(edge, key, &id, r->tmp, err));
	if ((*op = berth_strmap_get(&r->ids, id)) < 0)
		return berth_json_fail(edge, err, "%s %s is no node's id", key, id);
	return BERTH_OK;
}

static berth_status read_edge(void *ctx, const berth_json *edge, berth_err *err)
{
	reader *r = ctx;
	int32_t from, to;
	double cost = 0;
	BERTH_TRY(check_object(edge, err));
	BERTH_TRY(read_end(r, edge, "sourceId", &from, err));
	BERTH_TRY(read_end(r, edge, "destId", &to, err));
	BERTH_TRY(berth_json_number(edge, "cost", true, 0, &cost, err));
	if (cost * BERTH_TARNAWSKI_BYTES > 0x1p53)
		return berth_json_fail(edge, err, "cost is %g; expected at most %g", cost,
		                       0x1p53 / BERTH_TARNAWSKI_BYTES);
	return berth_json_placed(
		edge, berth_builder_edge(r->b, from, to, llround(cost * BERTH_TARNAWSKI_BYTES), NULL, err),
		err);
}

static berth_status read_graph(const berth_json *doc, const char *file, berth_arena *mem, berth_arena *tmp,
                               berth_graph *g, berth_err *err)
{
	reader r = {.tmp = tmp};
	berth_json nodes, edges;
	size_t n;
	const char *stem = berth_graph_stem(file, &n), *name = berth_arena_strndup(tmp, stem, n);
	BERTH_TRY(berth_got(name, err));
	BERTH_TRY(berth_json_array(doc, "nodes", true, &nodes, err));
	berth_strmap_init(&r.ids, tmp);
	berth_strmap_init(&r.names, tmp);
	BERTH_TRY_NEW(tmp, berth_json_count(&nodes), err, r.same);
	BERTH_TRY(berth_builder_new(tmp, name, &r.b, err));
	BERTH_TRY(berth_json_each(&nodes, count_name, &r, err));
	BERTH_TRY(berth_json_each(&nodes, read_node, &r, err));
	BERTH_TRY(berth_json_array(doc, "edges", true, &edges, err));
	BERTH_TRY(berth_json_each(&edges, read_edge, &r, err));
	return berth_json_placed(doc, berth_builder_finish(r.b, mem, g, err), err);
}

berth_status berth_graph_parse_tarnawski(const char *file, const char *text, size_t size, berth_arena *mem,
                                         berth_arena *tmp, berth_graph *out, berth_err *err)
{
	BERTH_JSON_DOC(at);
	berth_graph g;
	BERTH_TRY(berth_json_open_doc(file, text, size, &at, err));
	BERTH_SCRATCH(tmp);
	BERTH_TRY(cJSON_IsObject(at.item) ? read_graph(&at, file, mem, tmp, &g, err)
	                                  : berth_json_fail(&at, err, "expected an object"));
	*out = g;
	return BERTH_OK;
}

static berth_status parse_format(const berth_content *from, const berth_read_options *opt, berth_arena *mem,
                                 berth_arena *tmp, berth_graph *out, berth_read_report *report,
                                 berth_err *err)
{
	(void)opt;
	(void)report;
	return berth_graph_parse_tarnawski(from->name, from->data, from->size, mem, tmp, out, err);
}

const berth_format berth_format_tarnawski = {"Tarnawski", false, is_tarnawski, parse_format, NULL};
