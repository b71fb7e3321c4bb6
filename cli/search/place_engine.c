/* Which engine a plan is for, its own default on this machine, and whether the search's answer is better than
 * that by more than can be told. Text and results of it are written here. */
#include "place_engine.h"

#include "engine_rules.h"
#include "granularity.h"
#include "graph_load.h"
#include "print.h"
#include "sandboxed.h"
#include "say.h"
#include "zoo.h"

/* Can the file be looked into beside reading it as a graph? */
static bool may_look(const char *spec)
{
	return berth_graph_is_file(spec) && !berth_file_is_stream(spec);
}

berth_status place_engine_choose(cli *c, const char *spec, place_engine *x, berth_err *err)
{
	berth_read_options opt = cli_read_options(c), words;
	BERTH_MODEL(model);
	if (c->engine || !may_look(spec))
		return BERTH_OK;
	if (berth_model_map(spec, &opt, &c->mem, &model, &words, err) != BERTH_OK)
		return err->code == BERTH_ENOMEM ? BERTH_ENOMEM : BERTH_OK; /* whoever reads it tells */
	const char *format = berth_content_format(&model)->name;
	const berth_engine_rules *e = berth_rules_of_format(format);
	if (!e || strcmp(format, e->format[0]) != 0) /* a graph file may hold anything */
		return BERTH_OK;
	if (!e->by_itself) {
		x->other = e;
		return BERTH_OK;
	}
	c->engine = e->name;
	return cli_note(c, err, "%s: placed for %s, which runs %s files (--for none: for no engine)", spec,
	                e->title, e->format[0]);
}

berth_status place_engine_open(cli *c, const char *spec, const berth_graph *g, const berth_system *s,
                               const place_decoder *d, place_engine *x, berth_err *err)
{
	berth_read_options opt = cli_read_options(c);
	berth_export_source source = {.g = g, .s = s, .p = &x->p, .sandbox = cli_sandbox(c)};
	if (!s->engine)
		return BERTH_OK;
	BERTH_TRY(berth_problem_new(g, s, &c->mem, &c->tmp, &x->p, err));
	if (d->on)
		BERTH_TRY(berth_decoder_mix(&d->d, &x->p, &c->mem, err));
	if (may_look(spec)) {
		BERTH_TRY(berth_model_map(spec, &opt, &c->mem, &x->model, &x->words, err));
		x->mapped = true;
		source.model = &x->model;
		source.read = &x->words;
	}
	BERTH_TRY(berth_engine_plan_open(&source, &c->mem, &c->tmp, &x->plan, err));
	x->plan.anyhow = x->method_named;
	return BERTH_OK;
}

void place_engine_close(const place_engine *x)
{
	if (x->mapped)
		berth_model_unmap(&x->model);
}

berth_status place_engine_look(cli *c, const berth_solution *r, place_engine *x, berth_err *err)
{
	berth_system s = *r->p->s;
	berth_problem p;
	berth_timeline t;
	berth_verdict v;
	int32_t *usual, pair[2];
	const char *why;
	x->there = x->usual_there = NAN;
	if (!x->other || !r->answered || berth_system_for(x->other, &s, NULL) != BERTH_OK)
		return BERTH_OK;
	BERTH_TRY(berth_problem_new(r->p->g, &s, &c->mem, &c->tmp, &p, err));
	const berth_export_source source = {.g = p.g, .s = &s, .p = &p, .sandbox = cli_sandbox(c)};
	BERTH_TRY_NEW(&c->mem, p.n_ops, err, usual);
	BERTH_TRY(berth_judge(&p, r->op_dev, NULL, &r->objective, &c->mem, &t, &v, err));
	x->there = v.value;
	if (x->other->fuses)
		BERTH_TRY(berth_kernels_cut(p.g, r->op_dev, &c->mem, &c->tmp, &x->n_cut, pair, err));
	BERTH_TRY(berth_engine_usual(x->other, &source, &c->tmp, usual, &why, err));
	if (why)
		return BERTH_OK;
	BERTH_TRY(berth_judge(&p, usual, NULL, &r->objective, &c->mem, &t, &v, err));
	x->usual_there = v.value;
	return BERTH_OK;
}

/* ---- output ---- */

#define ENGINE(K, IF) \
	K(TEXT, "name", "", "of `--for`", p->engine->name) \
	IF(x->known, NUMBER, "default", "of the objective", \
	   "what the engine does by itself, predicted; missing: not known", x->usual) \
	IF(x->known, TEXT_OR_NULL, "default_device", "", "where that has everything; null: on several", \
	   x->device < 0 ? NULL : p->x.s->dev_name[x->device]) \
	IF(x->known, BOOL, "default_fits", "", "it breaks no rule of the system", x->usual_fits) \
	IF(x->known, NUMBER, "gain", "share", "1 - the best found / default", x->gain) \
	IF(x->known, NUMBER, "error", "share", "how far predictions are off", x->error) \
	K(NUMBER_OR_NULL, "found", "of the objective", "the best that was found and can be told", p->found) \
	K(BOOL, "kept_default", "", "the gain is within the error, and the answer is the default", p->kept) \
	IF(!x->known && p->why, TEXT, "why", "", "why the default is not known", p->why) \
	IF(p->note, TEXT, "note", "", "what `export` is going to ask for", p->note)
RESULT_KIND(engine_kind, "", "", ENGINE);

const berth_result *place_engine_result(cli *c, const place_engine *e, const berth_solution *r)
{
	const berth_engine_plan *p = &e->plan;
	const berth_export_gain *x = &p->gain;
	return p->engine && r->answered ? RESULT_NEW(&c->mem, engine_kind, ENGINE) : NULL;
}

#define OTHER(K, IF) \
	K(TEXT, "name", "", "of `--for`, which plans for it", x->other->name) \
	K(NUMBER, "value", "of the objective", "the answer, as that engine runs it", x->there) \
	K(NUMBER_OR_NULL, "default", "of the objective", "what it does by itself; null: not known", \
	  x->usual_there) \
	K(INT, "cuts", "", "kernels that it fuses and the answer parts", x->n_cut)
RESULT_KIND(other_engine_kind, "", "", OTHER);

const berth_result *place_engine_other(cli *c, const place_engine *x)
{
	return x->other && !isnan(x->there) ? RESULT_NEW(&c->mem, other_engine_kind, OTHER) : NULL;
}

void place_engine_print_head(const place_engine *x)
{
	if (x->plan.engine)
		cli_say(", for %s%s", x->plan.engine->title, x->plan.kept ? ", as it does by itself" : "");
}

/* What the engine does by itself, and where that has everything. */
static void print_default(const berth_engine_plan *p)
{
	cli_say("what %s does by itself", p->engine->title);
	if (p->gain.device >= 0)
		cli_say(" (all on %s)", p->x.s->dev_name[p->gain.device]);
}

static void print_kept(const berth_engine_plan *p, const berth_objective *o)
{
	char value[32], gain[32], error[32];
	print_default(p);
	if (p->gain.gain > 0)
		cli_say(" is the plan: the best found is %s, %s less, which is less than the %s that "
		        "predictions of the two are off by (--method berth plans it all the same, to be "
		        "tried; compare --fidelity measures them, and what it finds counts instead)\n",
		        cli_value(value, o, p->found), cli_percent(gain, p->gain.gain),
		        cli_percent(error, p->gain.error));
	else
		cli_say(" is the plan: nothing better was found\n");
}

static void print_other(const place_engine *x, const berth_objective *o)
{
	char value[32], usual[32];
	if (!x->other || isnan(x->there))
		return;
	cli_say("in %s, one operator after the other: %s", x->other->title, cli_value(value, o, x->there));
	if (x->n_cut)
		cli_say(", with %d kernel%s that it fuses cut", (int)x->n_cut, x->n_cut == 1 ? "" : "s");
	if (!isnan(x->usual_there))
		cli_say("; by itself it takes %s", cli_value(usual, o, x->usual_there));
	cli_say(" (--for %s plans for it)\n", x->other->name);
}

void place_engine_print(const place_engine *x, const berth_objective *o)
{
	const berth_engine_plan *p = &x->plan;
	char value[32], gain[32], error[32];
	print_other(x, o);
	if (!p->engine)
		return;
	if (p->kept) {
		print_kept(p, o);
	} else if (p->gain.known && !p->gain.usual_fits) {
		print_default(p);
		cli_say(" breaks a rule of the system or does not fit\n");
	} else if (p->gain.known) {
		cli_say("%s less than ", cli_percent(gain, p->gain.gain));
		print_default(p);
		cli_say(": %s; predictions are off by %s\n", cli_value(value, o, p->gain.usual),
		        cli_percent(error, p->gain.error));
	} else if (p->why) {
		cli_say("what %s does by itself is not known: %s\n", p->engine->title, p->why);
	}
	if (p->dropped && !p->kept)
		cli_say("what the search found cannot be told: %s\n", p->dropped);
	if (p->note)
		cli_say("note: export will ask: %s\n", p->note);
}
