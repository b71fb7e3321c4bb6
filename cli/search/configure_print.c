/* What berth configure tells: the chosen configuration and the front, as a document and as text. Copies of a
 * configuration are a list of their own, told by both. */
#include "cmd_configure.h"

#include "engine_rules.h"
#include "results.h"
#include "say.h"
#include "tell.h"

/* ---- the document ---- */

#define VALUE(K, IF) \
	K(NUMBER, "time_s", "s/sample", "", berth_goal_value(BERTH_GOAL_TIME, x)) \
	K(NUMBER, "step_s", "s", "", x->step_s) \
	K(NUMBER_OR_NULL, "energy_j", "J/sample", "null: no watts; so the next ones", \
	  berth_goal_value(BERTH_GOAL_ENERGY, x)) \
	K(NUMBER_OR_NULL, "edp", "J s/sample^2", "", berth_goal_value(BERTH_GOAL_EDP, x)) \
	K(NUMBER_OR_NULL, "power_w", "W", "mean", x->power_w) \
	K(NUMBER_OR_NULL, "peak_w", "W", "", x->peak_w)
static RESULT_KIND(value_kind, "Value of a configuration", "", VALUE);

#define COPY(K, IF) \
	K(TEXT, "host", "", "", v->cluster.host_name[m->host]) \
	K(TEXTS, "devices", "", "", devices, m->crew->n) \
	K(INT, "batch", "samples", "", v->batch[m->batch]) \
	K(NS, "step_s", "s", "alone", m->crew->price[m->batch].time_ns)
static RESULT_FLAT_KIND(copy_kind, "", "", COPY);

#define CHOICE(K, IF) \
	K(OBJECT(value_kind), "simulated", "", \
	  "by a simulation of all of it; with `for` by the formulas, too", value_of(c, &y->simulated)) \
	K(OBJECT(value_kind), "predicted", "", "by the formulas", value_of(c, &y->predicted)) \
	K(INT, "samples", "", "of a step, all copies together", y->predicted.samples) \
	K(TEXT, "exchange", "", "`ring`, `server`, `devices`, or `none` with one copy", \
	  berth_exchange_name(x->kind)) \
	K(TEXT_OR_NULL, "server", "", "host", x->server < 0 ? NULL : v->cluster.host_name[x->server]) \
	K(NUMBER, "exchange_s", "s", \
	  "by how much the step is longer than the slowest copy, by the formulas", x->time_s) \
	K(LIST(copy_kind), "copies", "", "", copies)
static RESULT_KIND(choice_kind, "Configuration", "", CHOICE);

#define CONFIGURE(K, IF) \
	K(TEXT, "graph", "", "as it was given", c->args[0]) \
	K(TEXT, "system", "", "", v->s.name) \
	IF(v->s.engine, TEXT, "for", "", "the engine that runs each copy; missing: none", \
	   v->s.engine->name) \
	K(TEXT, "goal", "", "`time`, `power`, `peak-power`, `energy` or `edp`", \
	  berth_goals[v->cfg.goal].name) \
	K(BOOL, "feasible", "", "false: no copy fits; then nothing is chosen", v->r.found) \
	K(NUMBER, "configurations", "", "looked at", v->r.looked_at) \
	K(BOOL, "all", "", "those are all there are; false: a search", v->r.all) \
	K(NUMBER_OR_NULL, "lower_bound", "the goal's", "of all configurations, by the formulas", v->r.bound) \
	K(INT, "whole", "", "simulated whole, each once: the best, and others of the front", v->r.n_whole) \
	K(INT, "evaluations", "", "simulations of copies alone", v->copies.evaluations) \
	IF(v->r.found, OBJECT(choice_kind), "chosen", "", "missing: not feasible", chosen->item) \
	K(LIST(choice_kind), "front", "", \
	  "none is better in both time and energy, by time; empty: no watts", front) \
	IF(v->plan.out, TEXTS, "models", "", \
	   "only with `-o`: the models that the plan is of, a copy each", v->plan.model, v->plan.n)
RESULT_KIND(configure_document, "Configure", "", CONFIGURE);

static const berth_result *value_of(cli *c, const berth_config_value *x)
{
	return RESULT_NEW(&c->mem, value_kind, VALUE);
}

static berth_status copies_of(cli *c, const configure_view *v, const berth_configuration *of,
                              berth_result_list **out, berth_err *err)
{
	berth_member member[BERTH_MAX_DEVS];
	int32_t n = berth_config_members(&v->copies, of, member);
	*out = berth_result_list_new(&c->mem, &copy_kind);
	for (const berth_member *m = member; m < member + n; m++) {
		const char **devices;
		BERTH_TRY_NEW(&c->mem, m->crew->n, err, devices);
		for (int32_t i = 0; i < m->crew->n; i++)
			devices[i] = v->s.dev_name[berth_copy_dev(&v->copies, m->host, m->crew->place[i])];
		RESULT_ADD(*out, COPY);
	}
	return (*out)->failed ? berth_nomem(err) : BERTH_OK;
}

static berth_status choices_of(cli *c, const configure_view *v, const berth_configure_choice *choice,
                               int32_t n, berth_result_list **out, berth_err *err)
{
	berth_result_list *copies;
	*out = berth_result_list_new(&c->mem, &choice_kind);
	for (const berth_configure_choice *y = choice; y && y - choice < n; y++) {
		const berth_exchange *x = &y->predicted.exchange;
		BERTH_TRY(copies_of(c, v, &y->c, &copies, err));
		RESULT_ADD(*out, CHOICE);
	}
	return (*out)->failed ? berth_nomem(err) : BERTH_OK;
}

/* ---- text ---- */

/* "3.2 ms/sample", "140 W"; "-" for what is not known. */
static char *goal_text(char buf[64], berth_goal goal, double value)
{
	char number[32];
	if (isnan(value))
		snprintf(buf, 64, "-");
	else if (goal == BERTH_GOAL_TIME)
		snprintf(buf, 64, "%s/sample", berth_text_seconds(number, value));
	else
		snprintf(buf, 64, "%.4g %s", value, berth_goals[goal].unit);
	return buf;
}

static void print_head(const cli *c, const configure_view *v)
{
	const berth_configure_choice *best = &v->r.best;
	const berth_config_value *s = &best->simulated;
	const berth_exchange *x = &best->predicted.exchange;
	char a[64], b[32], k[32];
	cli_say("%s on %s%s%s, goal %s: %s", c->args[0], v->s.name, v->s.engine ? ", for " : "",
	        v->s.engine ? v->s.engine->title : "", berth_goals[v->cfg.goal].name,
	        goal_text(a, v->cfg.goal, berth_goal_value(v->cfg.goal, s)));
	cli_say(" (by the formulas %s)\n",
	        goal_text(a, v->cfg.goal, berth_goal_value(v->cfg.goal, &best->predicted)));
	cli_say("%d %s, %lld %s in a step of %s", s->n_copies, s->n_copies == 1 ? "copy" : "copies",
	        (long long)s->samples, s->samples == 1 ? "sample" : "samples",
	        berth_text_seconds(b, s->step_s));
	if (x->kind != BERTH_EXCHANGE_NONE)
		cli_say(", %s of it to exchange %s of gradients%s%s", berth_text_seconds(b, x->time_s),
		        berth_text_bytes(k, (double)v->copies.grad_bytes),
		        x->kind == BERTH_EXCHANGE_RING      ? " around a ring"
		        : x->kind == BERTH_EXCHANGE_DEVICES ? " around all devices"
		                                            : " through ",
		        x->server < 0 ? "" : v->cluster.host_name[x->server]);
	cli_say("\n%.10g configurations looked at%s, %d %s\n", v->r.looked_at,
	        v->r.all ? ", all of them" : "", v->r.n_whole,
	        v->s.engine ? "held against memory whole" : "simulated whole");
	if (!v->r.all)
		cli_say("no configuration is below %s by the formulas\n",
		        goal_text(a, v->cfg.goal, v->r.bound));
}

/* Hosts that take part, with their copies: "new: gpu0 x32, gpu1 x32; old: gpu2 x8". */
static berth_status members_text(cli *c, const berth_result_list *copies, const char **out, berth_err *err)
{
	const char *text = "", *host, *before = "";
	for (int32_t k = 0; k < copies->n && text; k++, before = host) {
		const berth_result *copy = &copies->item[k];
		const char *devices = cli_join(c, berth_result_get(copy, "devices", NULL), "+", err);
		if (!devices)
			return BERTH_ENOMEM;
		host = berth_result_get(copy, "host", NULL).is.text;
		bool first = k == 0 || strcmp(host, before) != 0;
		text = berth_arena_printf(&c->mem, "%s%s%s%s%s x%lld", text,
		                          k == 0  ? ""
		                          : first ? "; "
		                                  : ", ",
		                          first ? host : "", first ? ": " : "", devices,
		                          (long long)berth_result_get(copy, "batch", NULL).is.integer);
	}
	*out = text;
	return berth_got(text, err);
}

static berth_status print_copies(cli *c, const berth_result_list *copies, berth_err *err)
{
	cli_table t;
	char value[512];
	cli_table_init(&t, &c->mem, "llrr");
	cli_table_head(&t, "host|devices of a copy|batch|its step alone");
	for (const berth_result *r = copies->item; r && r - copies->item < copies->n; r++) {
		const char *devices = cli_join(c, berth_result_get(r, "devices", NULL), "+", err);
		if (!devices)
			return BERTH_ENOMEM;
		cli_cell_text(&t, berth_result_get(r, "host", NULL).is.text);
		cli_cell_text(&t, devices);
		cli_cell(&t, "%s", cli_tell_value(value, r, NULL, "batch", "d"));
		cli_cell(&t, "%s", cli_tell_value(value, r, NULL, "step_s", ""));
	}
	return cli_table_print(&t, CLI_AS_TEXT, err);
}

static berth_status print_front(cli *c, const berth_result_list *front, berth_err *err)
{
	cli_table t;
	char value[512];
	cli_table_init(&t, &c->mem, "rrrrl");
	cli_table_head(&t, "time|energy|mean power|peak power|copies, each with its batch");
	for (const berth_result *r = front->item; r && r - front->item < front->n; r++) {
		const char *members;
		BERTH_TRY(members_text(c, berth_result_get(r, "copies", NULL).is.list, &members, err));
		cli_cell(&t, "%s/sample", cli_tell_value(value, r, NULL, "simulated.time_s", "s"));
		cli_cell(&t, "%s J/sample", cli_tell_value(value, r, NULL, "simulated.energy_j", ".4g"));
		cli_cell(&t, "%s W", cli_tell_value(value, r, NULL, "simulated.power_w", ".4g"));
		cli_cell(&t, "%s W", cli_tell_value(value, r, NULL, "simulated.peak_w", ".4g"));
		cli_cell_text(&t, members);
	}
	cli_say("\nnone is better in both time and energy:\n");
	return cli_table_print(&t, CLI_AS_TEXT, err);
}

berth_status configure_tell(cli *c, const configure_view *v, berth_err *err)
{
	berth_result_list *chosen, *front;
	BERTH_TRY(choices_of(c, v, &v->r.best, v->r.found, &chosen, err));
	BERTH_TRY(choices_of(c, v, v->r.front, v->r.n_front, &front, err));
	BERTH_TRY(cli_result(c, RESULT_NEW(&c->mem, configure_document, CONFIGURE), err));
	if (!cli_in_words(c) || !v->r.found)
		return BERTH_OK;
	print_head(c, v);
	cli_say("\n");
	BERTH_TRY(print_copies(c, berth_result_get(chosen->item, "copies", NULL).is.list, err));
	if (v->r.n_front > 1)
		BERTH_TRY(print_front(c, front, err));
	copies_print(&v->plan, ", without the exchange");
	return BERTH_OK;
}
