/* berth import-plan: what an engine chose, as a placement. */
#include "check.h"
#include "export_devices.h"
#include "file.h"
#include "graph_load.h"
#include "importers.h"
#include "load.h"
#include "results.h"
#include "sandboxed.h"
#include "say.h"
#include "tell.h"

typedef struct args {
	const char *model, *on, *out;
	cli_texts device;
} args;

typedef struct state {
	berth_graph g;
	berth_system s;
	berth_problem p;
	berth_import_plan plan;
	berth_timeline t;
	berth_verdict v;
} state;

/* ---- reading ---- */

static berth_status read_file(cli *c, const berth_import_source *with, state *s, berth_err *err)
{
	const unsigned char *data;
	berth_import_source x = *with;
	BERTH_TRY(berth_file_take(BERTH_READS_IMPORT, c->args[0], &data, &x.size, err));
	x.file = c->args[0];
	x.text = data ? (const char *)data : "";
	berth_status st =
		c->sandbox ? berth_import_read_apart(&x, cli_sandbox(c), &c->mem, &c->tmp, &s->plan, err)
			   : berth_import_read(&x, &c->mem, &c->tmp, &s->plan, err);
	berth_file_unmap(data, x.size);
	return st;
}

/* With the model's file, where it is one: it knows names that its graph does not have. */
static berth_status read_plan(cli *c, const args *a, state *s, berth_err *err)
{
	berth_read_options opt = cli_read_options(c), words;
	berth_import_source x = {.g = &s->g, .s = &s->s};
	BERTH_MODEL(model);
	const char **theirs;
	BERTH_TRY(export_devices_read(c, &a->device, &s->s, &theirs, err));
	x.theirs = theirs;
	if (!berth_graph_is_file(a->model))
		return read_file(c, &x, s, err);
	BERTH_TRY(berth_model_map(a->model, &opt, &c->mem, &model, &words, err));
	x.model = &model;
	x.read = &words;
	return read_file(c, &x, s, err);
}

/* Where the system runs by a given order: that of the graph, as an engine's is not told. */
static int32_t *order_of(const state *s)
{
	return s->s.order == BERTH_ORDER_GIVEN ? s->g.topo_op : NULL;
}

static berth_status write_plan(cli *c, const args *a, const state *s, berth_err *err)
{
	berth_placement p;
	if (!a->out)
		return BERTH_OK;
	BERTH_TRY(berth_placement_new(&s->g, &s->s, &c->mem, &c->tmp, &p, err));
	p.op_dev = s->plan.op_dev;
	p.order = order_of(s);
	p.method = berth_arena_printf(&c->mem, "import-plan:%s", s->plan.from);
	p.objective = "latency";
	p.value = s->v.feasible ? s->v.value : NAN;
	BERTH_TRY(berth_got(p.method, err));
	return berth_placement_write(&p, &s->g, &s->s, a->out, true, &c->tmp, err);
}

/* ---- output ---- */

#define DEVICE(K, IF) \
	K(TEXT, "theirs", "", "what the file calls it", d->word) \
	K(TEXT, "device", "", "of the system", s->s.dev_name[d->dev]) \
	K(INT, "operators", "", "that the file tells to be there", d->n_ops) \
	K(BOOL, "guessed", "", \
	  "neither `--device` nor a name of the system: what engines mean by the word", d->guessed)
static RESULT_KIND(device_kind, "", "", DEVICE);

#define IMPORT(K, IF) \
	K(TEXT, "from", "", "kind of the file", p->from) \
	CLI_PAIR(K, s->g.name, s->s.name) \
	K(TEXT_OR_NULL, "output", "", "the placement; null: none was asked for", a->out) \
	K(INT, "operators", "", "of the graph", s->g.n_ops) \
	K(INT, "named", "", "those that the file tells of", p->n_named) \
	K(INT, "fused", "", "the others, here and below: fused with a neighbour by the engine", p->n_fused) \
	K(INT, "with_producer", "", "beside what makes an input of theirs", p->n_producer) \
	K(INT, "with_taker", "", "beside what takes their output", p->n_taker) \
	K(INT, "alone", "", "on the device that has most of those that are told", p->n_alone) \
	K(INT, "unknown", "", "names of the file that are none of the graph: nodes of the engine's own", \
	  p->n_unknown) \
	K(LIST(device_kind), "devices", "", "in the order of the file", devices) \
	K(NUMBER_OR_NULL, "latency_s", "s", "of a run in the simulator; null: it does not run", \
	  s->v.metric[BERTH_LATENCY]) \
	K(BOOL, "feasible", "", "it breaks no rule of the system", s->v.feasible) \
	IF(p->note, TEXT, "note", "", "missing: nothing to say", p->note)
RESULT_KIND(import_document, "Import of plans",
            "`import-plan --json`. The file `-o` is a [placement](#placement).", IMPORT);

static void print_rest(const state *s)
{
	const berth_import_plan *p = &s->plan;
	int32_t rest = s->g.n_ops - p->n_named;
	if (rest) {
		/* Where those stand that the file does not name; what there is none of is left out. */
		int32_t n_ops = s->g.n_ops;
		const struct {
			int32_t n;
			const char *where;
		} parts[] = {{p->n_fused, "fused with a neighbour"},
		             {p->n_producer, "beside what makes their input"},
		             {p->n_taker, "beside what takes their output"},
		             {p->n_alone, "where most are"}};
		const char *before = ":";
		cli_say("%d of %d operators %s not named there", rest, n_ops, rest == 1 ? "is" : "are");
		for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
			if (!parts[i].n)
				continue;
			cli_say("%s %d %s", before, parts[i].n, parts[i].where);
			before = ",";
		}
		cli_say("\n");
	}
	if (p->n_unknown)
		cli_say("nodes of the engine that are no operators of the graph: %d (first: %s)\n",
		        p->n_unknown, p->unknown);
	if (p->note)
		cli_say("note: %s\n", p->note);
}

static berth_status tell(cli *c, const args *a, const state *s, berth_err *err)
{
	const berth_import_plan *p = &s->plan;
	berth_result_list *devices = berth_result_list_new(&c->mem, &device_kind);
	if (!s->v.feasible)
		BERTH_TRY(cli_warn(c, err, "%s: the plan is infeasible on %s: %s%s", c->args[0], s->s.name,
		                   s->v.broken.item[0].message, s->v.broken.n > 1 ? " (and more)" : ""));
	if (berth_import_is_partial(&s->plan, &s->g))
		BERTH_TRY(cli_warn(c, err,
		                   "%s: it names %d of %d operators: berth chose where the others stand",
		                   c->args[0], s->plan.n_named, s->g.n_ops));
	BERTH_TRY(cli_strict(c, err));
	BERTH_TRY(write_plan(c, a, s, err));
	for (int32_t i = 0; i < p->n_devices; i++) {
		const berth_import_device *d = &p->device[i];
		RESULT_ADD(devices, DEVICE);
	}
	const berth_result *r = RESULT_NEW(&c->mem, import_document, IMPORT);
	BERTH_TRY(cli_result(c, r, err));
	if (!cli_in_words(c))
		return BERTH_OK;
	cli_tell(r, NULL, "{graph} on {system}, from {from}[: {output}]: latency {latency_s}\n");
	for (int32_t i = 0; i < devices->n; i++)
		cli_tell(&devices->item[i], NULL,
		         p->device[i].guessed ? "{theirs} is {device}: {operators operator} (--device "
		                                "NAME={theirs} says otherwise)\n"
		                              : "{theirs} is {device}: {operators operator}\n");
	print_rest(s);
	return BERTH_OK;
}

static berth_status run(cli *c, berth_err *err)
{
	args a = {0};
	state s = {0};
	const cli_option options[] = {
		{"model", 0, CLI_FILE_IN, &a.model, "GRAPH", "the model that the engine ran"},
		CLI_ON(&a.on),
		{"device", 0, CLI_MANY, &a.device, "NAME=THEIRS",
	         "what the file calls a device of the system"},
		CLI_READING(c),
		{"output", 'o', CLI_FILE_OUT, &a.out, "OUT", "the placement"},
		CLI_COMMON(c)};
	BERTH_TRY(cli_parse(c, options, 1, 1, err));
	if (c->help) {
		cli_say("\nkinds of files:\n");
		for (int32_t i = 0; i < berth_n_importers; i++)
			cli_say("  %-11s %s\n", berth_importers[i]->name, berth_importers[i]->about);
		return BERTH_OK;
	}
	BERTH_TRY(cli_instance_load(c, a.model, a.on, &s.g, &s.s, NULL, err));
	BERTH_TRY(read_plan(c, &a, &s, err));
	const berth_objective latency = berth_objective_of(BERTH_LATENCY);
	BERTH_TRY(berth_problem_new(&s.g, &s.s, &c->mem, &c->tmp, &s.p, err));
	BERTH_TRY(berth_judge(&s.p, s.plan.op_dev, order_of(&s), &latency, &c->mem, &s.t, &s.v, err));
	return tell(c, &a, &s, err);
}

static const cli_rule rules[] = {{"", "!model", "import-plan: --model GRAPH is missing"}};

const cli_verb cmd_import_plan = {
	"import-plan",
	"import-plan FILE --model GRAPH --on SYSTEM [--device NAME=THEIRS] [-o PLAN.json]",
	"read where an engine ran operators, as a placement",
	"Without -o it is only told.\n"
	"Example: berth import-plan profile.json --model model.onnx --on system:laptop -o theirs.json && "
	"berth compare model.onnx --on system:laptop --placement theirs.json\n",
	run,
	CLI_RULES_OF(rules)};
