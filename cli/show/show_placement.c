/* A placement file at a glance, without its graph and system: what it says about itself, and how many
 * operators each device has. */
#include "results.h"
#include "sandboxed.h"
#include "say.h"
#include "show.h"
#include "tell.h"
#include "uses.h"

static const cJSON *member(const cJSON *doc, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(doc, key);
}

static const char *text_of(const cJSON *doc, const char *key)
{
	const cJSON *m = member(doc, key);
	return cJSON_IsString(m) ? m->valuestring : NULL;
}

static double number_of(const cJSON *doc, const char *key)
{
	const cJSON *m = member(doc, key);
	return cJSON_IsNumber(m) ? m->valuedouble : NAN;
}

#define PLACEMENT(K, IF) \
	K(TEXT_OR_NULL, "graph", "", "name; null, here and below: not said", \
	  text_of(member(doc, "graph"), "name")) \
	K(TEXT_OR_NULL, "system", "", "name", text_of(member(doc, "system"), "name")) \
	K(TEXT_OR_NULL, "for", "", "engine; null: none", text_of(doc, "for")) \
	K(TEXT_OR_NULL, "method", "", "", text_of(doc, "method")) \
	K(NUMBER_OR_NULL, "seed", "", "", number_of(doc, "seed")) \
	K(NUMBER_OR_NULL, "evaluations", "", "", number_of(doc, "evaluations")) \
	K(TEXT_OR_NULL, "objective", "", "", text_of(doc, "objective")) \
	K(NUMBER_OR_NULL, "value", "of the objective", "", number_of(doc, "value")) \
	K(NUMBER_OR_NULL, "lower_bound", "of the objective", "", number_of(doc, "lower_bound")) \
	K(BOOL, "ordered", "", "it has an order", cJSON_IsArray(member(doc, "order"))) \
	K(INT, "ops", "", "", x->n_ops) \
	K(MAP("integer"), "devices", "", "operators on the device", x->devices)
RESULT_KIND(show_placement_document, "Show a placement", "", PLACEMENT);

/* Operators of each device, in order of first use. */
typedef struct counting {
	berth_arena *mem;
	berth_strmap at; /* device -> its place in the map below */
	berth_result_map *devices;
	int32_t n_ops;
} counting;

static berth_status count_op(void *ctx, const berth_json *at, berth_err *err)
{
	counting *x = ctx;
	if (!cJSON_IsString(at->item))
		return berth_json_fail(at, err, "expected the name of a device");
	int32_t d = berth_strmap_get(&x->at, at->item->valuestring);
	if (d < 0) {
		const char *name = berth_arena_strdup(x->mem, at->item->valuestring);
		int32_t place = x->devices->n;
		BERTH_TRY(berth_got(name, err));
		berth_result_map_add(x->devices, name, berth_result_int(0));
		if (x->devices->failed)
			return berth_nomem(err);
		BERTH_TRY(berth_strmap_add(&x->at, name, place, &d, err));
		d = place;
	}
	x->devices->value[d].is.integer++;
	x->n_ops++;
	return BERTH_OK;
}

static berth_status read_counts(const berth_json *doc, counting *x, berth_err *err)
{
	berth_json map;
	if (member(doc->item, "format"))
		BERTH_TRY(berth_json_format(doc, "berth-placement", 1, err));
	BERTH_TRY(berth_json_object(doc, "placement", true, &map, err));
	berth_strmap_init(&x->at, x->mem);
	x->devices = berth_result_map_new(x->mem);
	return berth_json_each(&map, count_op, x, err);
}

static berth_status print_text(cli *c, const berth_result *r, const cJSON *doc, berth_err *err)
{
	cli_table t;
	berth_objective o;
	const berth_result_map *devices = berth_result_get(r, "devices", NULL).is.map;
	const char *objective = text_of(doc, "objective");
	const bool token = objective && strcmp(objective, BERTH_USES_OBJECTIVE) == 0;
	bool known = objective && berth_objective_parse(token ? "latency" : objective, &o, NULL) == BERTH_OK;
	cli_tell(r, NULL,
	         "placement of [{graph}]{graph!a graph} on [{system}]{system!a system}[, for {for}]: "
	         "{ops operator} on "
	         "{devices device}{ordered?, with an order}\n[by {method}\n]");
	if (objective && !isnan(number_of(doc, "value"))) {
		cli_tell(r, known ? &o : NULL, "{objective} {value}");
		if (!isnan(number_of(doc, "lower_bound")))
			cli_tell(r, known ? &o : NULL, ", lower bound {lower_bound}");
		cli_say("\n");
	}
	cli_say("\n");
	cli_table_init(&t, &c->mem, "lr");
	cli_table_head(&t, "device|operators");
	for (int32_t d = 0; d < devices->n; d++) {
		cli_cell_text(&t, devices->name[d]);
		cli_cell_int(&t, devices->value[d].is.integer);
	}
	return cli_table_print(&t, CLI_AS_TEXT, err);
}

static berth_status show(cli *c, const char *file, const char *text, size_t size, berth_err *err)
{
	counting counts = {.mem = &c->mem}, *x = &counts;
	BERTH_JSON_DOC(at);
	BERTH_TRY(berth_json_open_doc(file, text, size, &at, err));
	const cJSON *doc = at.item;
	BERTH_TRY(read_counts(&at, x, err));
	const berth_result *r = RESULT_NEW(&c->mem, show_placement_document, PLACEMENT);
	BERTH_TRY(cli_result(c, r, err));
	return cli_in_words(c) ? print_text(c, r, doc, err) : BERTH_OK;
}

berth_status show_placement(cli *c, const show_args *a, berth_err *err)
{
	BERTH_JSON_TEXT(x);
	if (a->out)
		return berth_fail(err, BERTH_EINVAL,
		                  "show: option -o is for graphs and systems, but %s is a placement",
		                  a->input);
	BERTH_TRY(cli_json_map(c, BERTH_READS_PLAN, a->input, &x, err));
	return show(c, a->input, x.text, x.size, err);
}
