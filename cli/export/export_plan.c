/* Reads a plan with its model and its machine. Where the plan names a system that cannot be had, one is made
 * of the names of its devices alone. */
#include "cmd_export.h"

#include "engine_rules.h"
#include "plan_words.h"
#include "print.h"
#include "sandboxed.h"
#include "system_json.h"

/* A plan as a document. */
typedef struct document {
	const char *file, *spec;
	cli_text x;
	cJSON *doc;
} document;

static const char *said(const document *d, const char *what, const char *key)
{
	const cJSON *at = cJSON_GetObjectItemCaseSensitive(d->doc, what),
		    *text = cJSON_GetObjectItemCaseSensitive(at, key);
	return cJSON_IsString(text) ? text->valuestring : NULL;
}

/* Is it this graph? By whatever name: that of a model is its file's. */
static berth_status is_same(cli *c, const document *d, const berth_graph *g, char hex[65], bool *same,
                            berth_err *err)
{
	const char *digest = said(d, "graph", "sha256"), *name = said(d, "graph", "name");
	char named_hex[65];
	berth_graph named = *g;
	BERTH_TRY(berth_graph_sha256(g, &c->tmp, hex, err));
	*same = strcmp(hex, digest) == 0;
	if (*same || !name)
		return BERTH_OK;
	named.name = name;
	BERTH_TRY(berth_graph_sha256(&named, &c->tmp, named_hex, err));
	*same = strcmp(named_hex, digest) == 0;
	return BERTH_OK;
}

/* Are they of one model, as far as names tell: the same up to words behind ':'? */
static bool same_stem(const char *a, const char *b)
{
	size_t n = strcspn(a, ":");
	return n == strcspn(b, ":") && strncmp(a, b, n) == 0;
}

/* Names of these graphs end in the words that they were read with. */
static bool has_words(const export_plan *x)
{
	const char *format = x->mapped ? berth_content_format(&x->model)->name : "";
	return strcmp(format, "GGUF") == 0 || strcmp(format, "safetensors") == 0;
}

/* What to type: the file with the words that the plan's graph is named by. In tmp; NULL: that is not known,
 * it is what was typed, or memory ran out. */
static const char *spec_of(cli *c, const document *d, const char *name, const export_plan *x)
{
	const char *words = strchr(name, ':');
	if (!words || !words[1] || !has_words(x))
		return NULL;
	const char *path = berth_graph_path(d->spec, &c->tmp);
	const char *spec = path ? berth_arena_printf(&c->tmp, "%s%s", path, words) : NULL;
	return spec && strcmp(spec, d->spec) != 0 && strcmp(name, x->g.name) != 0 ? spec : NULL;
}

static berth_status refuse(cli *c, const document *d, const export_plan *x, const char *hex, berth_err *err)
{
	const char *digest = said(d, "graph", "sha256"), *name = said(d, "graph", "name"), *spec = NULL,
		   *what = "give the model and the dimensions (--dim) that it was made for, or by "
			  "--graph its graph with measured times";
	if (name && !same_stem(name, x->g.name))
		what = "it seems to be a plan of another model";
	else if (name && (spec = spec_of(c, d, name, x)))
		what = "give --model ";
	return berth_fail(
		err, BERTH_EFORMAT,
		"%s: made for graph '%.80s' with sha256 %.12s..., but '%.80s' has %.12s...: %s%s", d->file,
		name ? name : "(unnamed)", digest, x->g.name, hex, what, spec ? spec : "");
}

/* Told first: of a plan for another graph some operators are missing, too, but that is not what is wrong. */
static berth_status check_graph(cli *c, const document *d, export_plan *x, berth_err *err)
{
	char hex[65];
	const char *digest = said(d, "graph", "sha256"), *name = said(d, "graph", "name");
	bool same = true;
	if (digest)
		BERTH_TRY(is_same(c, d, &x->g, hex, &same, err));
	if (!same)
		return refuse(c, d, x, hex, err);
	if (digest && name && !(x->g.name = berth_arena_strdup(&c->mem, name)))
		return berth_nomem(err);
	return BERTH_OK;
}

/* ---- the machine ---- */

/* The built-in system that the plan names, if it is the same one still. */
static berth_status find_builtin(cli *c, const document *d, export_plan *x, berth_err *err)
{
	char hex[65];
	const char *name = said(d, "system", "name"), *digest = said(d, "system", "sha256");
	const char *spec = name ? berth_arena_printf(&c->tmp, "system:%s", name) : NULL;
	berth_err why;
	if (name && !spec)
		return berth_nomem(err);
	berth_status st = spec ? berth_system_load(spec, NULL, &c->mem, &c->tmp, &x->s, &why) : BERTH_EINVAL;
	if (st == BERTH_ENOMEM)
		return berth_nomem(err);
	if (st != BERTH_OK)
		return BERTH_OK;
	BERTH_TRY(cli_system_times(c, &x->s, err));
	BERTH_TRY(berth_system_sha256(&x->s, &c->tmp, hex, err));
	x->priced = !digest || strcmp(digest, hex) == 0;
	return BERTH_OK;
}

typedef struct listing {
	berth_strmap seen;
	berth_json_out devices, links;
	const char *first;
	int32_t n;
} listing;

/* There is a way from each device to each other one: whether it is quick nobody asks. */
static void add_device(listing *l, const char *name)
{
	berth_json_open(&l->devices, NULL, '{');
	berth_json_put_string(&l->devices, "name", name);
	berth_json_close(&l->devices, '}');
	if (!l->first) {
		l->first = name;
		return;
	}
	berth_json_open(&l->links, NULL, '{');
	berth_json_put_string(&l->links, "from", l->first);
	berth_json_put_string(&l->links, "to", name);
	berth_json_put_number(&l->links, "bandwidth", 1);
	berth_json_put_bool(&l->links, "both_ways", true);
	berth_json_close(&l->links, '}');
}

static berth_status list_device(void *ctx, const berth_json *at, berth_err *err)
{
	listing *l = ctx;
	if (!cJSON_IsString(at->item))
		return berth_json_fail(at, err, "expected the name of a device");
	if (berth_strmap_get(&l->seen, at->item->valuestring) >= 0)
		return BERTH_OK;
	const char *name = berth_arena_strdup(l->seen.mem, at->item->valuestring);
	BERTH_TRY(berth_got(name, err));
	BERTH_TRY(berth_strmap_add(&l->seen, name, l->n++, NULL, err));
	add_device(l, name);
	return BERTH_OK;
}

static berth_status done(berth_json_out *w, const char **text, berth_err *err)
{
	berth_json_close(w, ']');
	return berth_json_done(w, text, NULL, err);
}

/* A system of the devices that the plan uses, of which nothing is known. */
static berth_status name_devices(cli *c, const document *d, export_plan *x, berth_err *err)
{
	const char *devices, *links, *text, *name = said(d, "system", "name");
	size_t size;
	berth_json at = {d->doc, d->file, NULL, NULL, 0}, map;
	berth_json_out w;
	listing l = {0};
	BERTH_TRY(berth_json_object(&at, "placement", true, &map, err));
	berth_strmap_init(&l.seen, &c->tmp);
	berth_json_out_init(&l.devices, &c->tmp, false);
	berth_json_out_init(&l.links, &c->tmp, false);
	berth_json_open(&l.devices, NULL, '[');
	berth_json_open(&l.links, NULL, '[');
	BERTH_TRY(berth_json_each(&map, list_device, &l, err));
	BERTH_TRY(done(&l.devices, &devices, err));
	BERTH_TRY(done(&l.links, &links, err));
	berth_json_out_init(&w, &c->tmp, false);
	berth_json_open(&w, NULL, '{');
	berth_json_put_string(&w, "format", "berth-system");
	berth_json_put_int(&w, "version", 1);
	berth_json_put_string(&w, "name", name && *name ? name : "devices");
	berth_json_put_document(&w, "devices", devices);
	berth_json_put_document(&w, "links", links);
	berth_json_close(&w, '}');
	BERTH_TRY(berth_json_done(&w, &text, &size, err));
	return berth_system_parse_json(d->file, text, size, &c->mem, &c->tmp, &x->s, err);
}

static berth_status find_system(cli *c, const document *d, const char *on, export_plan *x, berth_err *err)
{
	if (on) {
		x->priced = true;
		return cli_system_load(c, on, &x->g, &x->s, err);
	}
	BERTH_TRY(find_builtin(c, d, x, err));
	return x->priced ? BERTH_OK : name_devices(c, d, x, err);
}

/* ---- the whole ---- */

static berth_status load_model(cli *c, const char *spec, export_plan *x, berth_err *err)
{
	berth_read_options opt = cli_read_options(c);
	if (berth_graph_is_file(spec)) {
		BERTH_TRY(berth_model_map(spec, &opt, &c->mem, &x->model, &x->words, err));
		x->mapped = true;
	}
	BERTH_TRY(cli_graph_load(c, spec, &x->g, NULL, err));
	/* The module as it was read, with the words of --dim. */
	if (!berth_module_file_length(spec))
		return BERTH_OK;
	x->module = spec;
	for (int32_t i = 0; x->module && i < c->dim.n; i++)
		x->module = berth_arena_printf(&c->mem, "%s:%s", x->module, c->dim.text[i]);
	return berth_got(x->module, err);
}

static berth_status check_ops(const char *graph, const berth_graph *g, const char *model,
                              const berth_graph *of_model, berth_err *err)
{
	for (int32_t op = 0; op < g->n_ops && op < of_model->n_ops; op++)
		if (strcmp(g->op_name[op], of_model->op_name[op]) != 0)
			return berth_fail(
				err, BERTH_EFORMAT,
				"%s: not the graph of %s: operator %d is '%.100s', and '%.100s' in the model",
				graph, model, op, g->op_name[op], of_model->op_name[op]);
	if (g->n_ops == of_model->n_ops)
		return BERTH_OK;
	return berth_fail(err, BERTH_EFORMAT, "%s: not the graph of %s: %d operators, and %d in the model",
	                  graph, model, g->n_ops, of_model->n_ops);
}

static bool same_tensors(const berth_graph *a, const berth_graph *b)
{
	const size_t n_tensors = (size_t)a->n_tensors, n_edges = (size_t)a->n_edges;
	return a->n_tensors == b->n_tensors && a->n_edges == b->n_edges &&
	       memcmp(a->tensor_producer, b->tensor_producer, n_tensors * sizeof *a->tensor_producer) == 0 &&
	       memcmp(a->tensor_bytes, b->tensor_bytes, n_tensors * sizeof *a->tensor_bytes) == 0 &&
	       memcmp(a->tensor_use_off, b->tensor_use_off, (n_tensors + 1) * sizeof *a->tensor_use_off) ==
		       0 &&
	       memcmp(a->edge_consumer, b->edge_consumer, n_edges * sizeof *a->edge_consumer) == 0;
}

/* In place of the model's own graph, one of it with measured times. */
static berth_status load_graph(cli *c, const char *graph, const char *spec, export_plan *x, berth_err *err)
{
	const berth_graph of_model = x->g;
	if (!graph)
		return BERTH_OK;
	BERTH_TRY(cli_graph_load(c, graph, &x->g, NULL, err));
	/* Are they the same operators in the same order, with the same tensors between them? Times and
	 * figures may differ. graph, model: what messages call them. */
	BERTH_TRY(check_ops(graph, &x->g, spec, &of_model, err));
	if (same_tensors(&x->g, &of_model))
		return BERTH_OK;
	return berth_fail(err, BERTH_EFORMAT,
	                  "%s: not the graph of %s: other tensors between the operators (read with other "
	                  "dimensions?)",
	                  graph, spec);
}

static berth_status read_document(cli *c, const document *d, const char *on, const berth_exporter *e,
                                  export_plan *x, berth_err *err)
{
	const char *warning;
	BERTH_TRY(check_graph(c, d, x, err));
	BERTH_TRY(find_system(c, d, on, x, err));
	/* The plan is priced as the engine that it is written for runs it; else as the one that it was made
	 * for. */
	const berth_engine_rules *rules = berth_exporter_engine(e);
	if (!rules && c->engine)
		BERTH_TRY(berth_rules_find(c->engine, &rules, err));
	BERTH_TRY(x->priced ? berth_system_for(rules, &x->s, err) : BERTH_OK);
	BERTH_TRY(berth_placement_parse_json(d->file, d->x.text, d->x.size, &x->g, &x->s, &c->mem, &c->tmp,
	                                     &x->placement, &warning, err));
	BERTH_TRY(berth_uses_parse(x->placement.use, &x->uses, err));
	if (warning && x->priced)
		BERTH_TRY(cli_warn(c, err, "%s", warning));
	if (!x->priced)
		return BERTH_OK;
	BERTH_TRY(berth_problem_new(&x->g, &x->s, &c->mem, &c->tmp, &x->p, err));
	x->objective = berth_objective_of_plan(x->placement.objective, &x->p);
	return berth_judge(&x->p, x->placement.op_dev, x->placement.order, &x->objective, &c->mem, &x->t,
	                   &x->v, err);
}

berth_status export_plan_open(cli *c, const char *path, const char *spec, const char *graph, const char *on,
                              const berth_exporter *e, export_plan *out, berth_err *err)
{
	document d = {.file = path, .spec = spec};
	const int32_t n_given = c->dim.n;
	BERTH_TRY(cli_plan_words_take(c, path, spec, err));
	berth_status read = load_model(c, spec, out, err);
	if (read == BERTH_EINVAL && c->dim.n > n_given)
		return berth_fail_in(err, read, "%s: it seems to be a plan of another model: ", path);
	BERTH_TRY(read);
	BERTH_TRY(load_graph(c, graph, spec, out, err));
	BERTH_TRY(cli_json_map(c, BERTH_READS_PLAN, path, &d.x, err));
	berth_status st = berth_json_parse_large(path, d.x.text, d.x.size, &d.doc, err);
	if (st == BERTH_OK) {
		st = read_document(c, &d, on, e, out, err);
		cJSON_Delete(d.doc);
	}
	berth_json_unmap(&d.x);
	return st;
}

void export_plan_close(const export_plan *x)
{
	if (x->mapped)
		berth_model_unmap(&x->model);
}
