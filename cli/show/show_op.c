/* One operator. Of a graph: its work and its neighbours. Of a placement: when it ran, what it waited for,
 * whether it is critical, and what every other device would cost. */
#include "explain_op.h"
#include "print.h"
#include "results.h"
#include "say.h"
#include "show.h"
#include "tell.h"

enum { WIDTH = 80, MOST_NAMES = 3 };

static berth_status find_op(const berth_graph *g, const char *name, int32_t *op, berth_err *err)
{
	char hint[96];
	*op = berth_graph_find(g, name);
	if (*op >= 0)
		return BERTH_OK;
	return berth_fail(err, BERTH_EINVAL, "graph '%.60s' has no operator '%.60s'%s", g->name, name,
	                  berth_text_suggest(hint, sizeof hint, name, g->op_name, g->n_ops));
}

/* ---- of a graph ---- */

#define TENSOR(K, IF) \
	IF(g->tensor_name[t], TEXT, "tensor", "", "missing: unnamed", g->tensor_name[t]) \
	K(INT, "bytes", "bytes", "", g->tensor_bytes[t])

#define TAKEN(K, IF) K(TEXT, "from", "", "", g->op_name[g->tensor_producer[t]]) TENSOR(K, IF)
static RESULT_FLAT_KIND(taken_kind, "", "", TAKEN);

#define GIVEN(K, IF) K(TEXT, "to", "", "", g->op_name[g->edge_consumer[e]]) TENSOR(K, IF)
static RESULT_FLAT_KIND(given_kind, "", "", GIVEN);

#define GRAPH_OP(K, IF) \
	K(TEXT, "name", "", "", g->op_name[op]) \
	K(TEXT_OR_NULL, "type", "", "", g->op_type[op] < 0 ? NULL : g->type_name[g->op_type[op]]) \
	K(NUMBER, "flops", "FLOP", "", g->op_flops[op]) \
	K(NUMBER, "macs", "MAC", "", g->op_macs[op]) \
	K(INT, "read_bytes", "bytes", "", g->op_read_bytes[op]) \
	K(INT, "write_bytes", "bytes", "", g->op_write_bytes[op]) \
	K(INT, "param_bytes", "bytes", "", g->op_param_bytes[op]) \
	K(LIST(taken_kind), "inputs", "", "", inputs) \
	K(LIST(given_kind), "outputs", "", "", outputs) \
	IF(p, MAP("number or null"), "time_s", "s", "only with `--on`: on a device; null: cannot run", times)
RESULT_KIND(show_graph_op_document, "Show an operator of a graph", "`show GRAPH --op NAME`.", GRAPH_OP);

static void print_uses(const berth_result_list *uses, const char *text)
{
	for (int32_t i = 0; i < uses->n; i++)
		cli_tell(&uses->item[i], NULL, text);
}

berth_status show_graph_op(cli *c, const berth_graph *g, const berth_problem *p, const char *name,
                           berth_err *err)
{
	int32_t op;
	berth_result_list *inputs = berth_result_list_new(&c->mem, &taken_kind),
			  *outputs = berth_result_list_new(&c->mem, &given_kind);
	berth_result_map *times = berth_result_map_new(&c->mem);
	BERTH_TRY(find_op(g, name, &op, err));
	BERTH_EACH (i, g->op_in_off, op) {
		int32_t t = g->in_tensor[i];
		RESULT_ADD(inputs, TAKEN);
	}
	BERTH_EACH (t, g->op_tensor_off, op)
		BERTH_EACH (e, g->tensor_use_off, t)
			RESULT_ADD(outputs, GIVEN);
	for (int32_t d = 0; p && d < p->n_devs; d++)
		berth_result_map_add(times, p->s->dev_name[d],
		                     berth_result_ns_or_null(berth_op_time(p, op, d)));
	const berth_result *r = RESULT_NEW(&c->mem, show_graph_op_document, GRAPH_OP);
	BERTH_TRY(cli_result(c, r, err));
	if (!cli_in_words(c))
		return BERTH_OK;
	cli_tell(r, NULL,
	         "{name} ([{type}]{type!(none)}): {flops}, reads {read_bytes}, writes {write_bytes}, "
	         "parameters {param_bytes}\n");
	print_uses(inputs, "  from {from}, {bytes}\n");
	print_uses(outputs, "  to {to}, {bytes}\n");
	for (int32_t d = 0; p && d < p->n_devs; d++) {
		char time[32];
		int64_t ns = berth_op_time(p, op, d);
		cli_say("  on %s %s%s\n", p->s->dev_name[d],
		        ns < 0 ? "it cannot run" : berth_text_seconds(time, (double)ns * 1e-9),
		        ns >= 0 && !berth_op_legal(p, op, d) ? " (not allowed there)" : "");
	}
	return BERTH_OK;
}

/* ---- of a placement ---- */

typedef struct view {
	show_placed x;
	berth_op_story story;
} view;

static berth_status tell(cli *c, const show_args *a, view *v, berth_err *err)
{
	int32_t op;
	BERTH_TRY(find_op(&v->x.g, a->op, &op, err));
	if (!v->x.t.r.runs)
		return berth_fail(
			err, BERTH_EINFEASIBLE,
			"%s: an operator is on a device that cannot run it; 'berth simulate' tells which",
			a->placement);
	return berth_explain_op(&v->x.p, &v->x.t, &v->x.objective, op, &c->mem, &c->tmp, &v->story, err);
}

#define INPUT(K, IF) \
	K(TEXT, "from", "", "", v->x.g.op_name[from]) \
	IF(v->x.g.tensor_name[in->tensor], TEXT, "tensor", "", "missing: unnamed", \
	   v->x.g.tensor_name[in->tensor]) \
	K(TEXT, "device", "", "of the producer", v->x.s.dev_name[v->x.t.op_dev[from]]) \
	K(INT, "bytes", "bytes", "", v->x.g.tensor_bytes[in->tensor]) \
	K(NS, "produced_s", "s", "", in->produced_ns) \
	K(NS, "queued_s", "s", "waiting for channels", in->queued_ns) \
	K(NS, "moving_s", "s", "in them", in->moving_ns) \
	K(NS, "arrives_s", "s", "", in->arrives_ns) \
	K(BOOL, "last", "", "it decides when the operator is ready", i == s->last_input)
static RESULT_KIND(input_kind, "", "", INPUT);

#define CHOICE(K, IF) \
	K(TEXT, "name", "", "", v->x.s.dev_name[d]) \
	K(NS_OR_NULL, "time_s", "s", "of the operator; null: cannot run", x->time_ns) \
	IF(v->x.s.n_pools, NUMBER_OR_NULL, "slowed", "", "as above, there; missing as above", \
	   x->latency_ns < 0 ? NAN : x->slowed.times) \
	K(NS_OR_NULL, "latency_s", "s", "of the whole placement", x->latency_ns) \
	K(NUMBER_OR_NULL, "value", "of the objective", "", x->value) \
	K(NUMBER_OR_NULL, "change", "of the objective", "against now", x->value - s->choice[s->dev].value) \
	K(BOOL, "feasible", "", "", x->latency_ns >= 0 && x->broken.n == 0) \
	K(TEXT_OR_NULL, "blocked", "", "what it would break that is kept now", x->blocked)
static RESULT_KIND(choice_kind, "", "", CHOICE);

#define OPERATOR(K, IF) \
	K(TEXT, "op", "", "", v->x.g.op_name[s->op]) \
	K(TEXT_OR_NULL, "type", "", "", type < 0 ? NULL : v->x.g.type_name[type]) \
	K(TEXT, "device", "", "", v->x.s.dev_name[s->dev]) \
	K(TEXT, "objective", "", "of `value` below", berth_objective_name(&v->x.objective)) \
	K(NS, "ready_s", "s", "the last input is there", s->ready_ns) \
	K(NS, "start_s", "s", "", s->start_ns) \
	K(NS, "end_s", "s", "", s->end_ns) \
	IF(v->x.s.n_pools, NUMBER, "slowed", "", \
	   "times as long as alone, by its memory pool; only on systems with pools", slowed.times) \
	IF(v->x.s.n_pools, TEXT_OR_NULL, "slowed_by", "", "the pool; null: not slowed; missing as above", \
	   slowed.pool < 0 ? NULL : v->x.s.pool_name[slowed.pool]) \
	K(NS, "slack_s", "s", "how much later it could end, every slot and channel keeping its order", \
	  s->slack_ns) \
	K(BOOL, "critical", "", "slack 0", s->slack_ns == 0) \
	K(NS, "waited_for_device_s", "s", "from ready to start", s->start_ns - s->ready_ns) \
	K(TEXTS, "device_was_busy_with", "", "meanwhile", before, s->n_before) \
	K(LIST(input_kind), "inputs", "", "", inputs) \
	K(LIST(choice_kind), "devices", "", "with the operator, and its colocation group, there", devices) \
	K(TEXT_OR_NULL, "best_other", "", "where else the objective would be least", \
	  s->best_dev < 0 ? NULL : v->x.s.dev_name[s->best_dev]) \
	K(TEXT_OR_NULL, "binds", "", "what keeps it from a better device", s->binds)
RESULT_KIND(show_placed_op_document, "Show an operator of a placement",
            "`show PLACEMENT --op NAME`, or of a graph with `--placement`.", OPERATOR);

/* inputs: the list in the result, too. */
static berth_status fill(cli *c, const view *v, berth_result_list **list, const berth_result **out,
                         berth_err *err)
{
	const berth_op_story *s = &v->story;
	int32_t type = v->x.g.op_type[s->op];
	berth_slowed slowed = s->choice[s->dev].slowed;
	berth_result_list *inputs = berth_result_list_new(&c->mem, &input_kind),
			  *devices = berth_result_list_new(&c->mem, &choice_kind);
	const char **before;
	BERTH_TRY_NEW(&c->mem, s->n_before, err, before);
	for (int32_t i = 0; i < s->n_before; i++)
		before[i] = v->x.g.op_name[s->before_op[i]];
	for (int32_t i = 0; i < s->n_inputs; i++) {
		const berth_op_input *in = &s->input[i];
		int32_t from = v->x.g.tensor_producer[in->tensor];
		RESULT_ADD(inputs, INPUT);
	}
	for (int32_t d = 0; d < v->x.s.n_devs; d++) {
		const berth_op_choice *x = &s->choice[d];
		RESULT_ADD(devices, CHOICE);
	}
	*list = inputs;
	*out = RESULT_NEW(&c->mem, show_placed_op_document, OPERATOR);
	return inputs->failed ? berth_nomem(err) : BERTH_OK;
}

/* A paragraph by a template, its lines after the first indented. */
static void tell_wrapped(cli *c, const berth_result *r, const char *text)
{
	const char *told = cli_told(&c->mem, r, NULL, text);
	cli_print_words(told ? told : "", 0, 4, WIDTH);
}

static void print_input(cli *c, const view *v, const berth_result *r, const berth_result_list *inputs)
{
	const berth_op_story *s = &v->story;
	if (s->last_input < 0) {
		tell_wrapped(c, r, "ready from the start: it has no inputs");
		return;
	}
	const berth_result *in = &inputs->item[s->last_input];
	int32_t from = v->x.g.tensor_producer[s->input[s->last_input].tensor];
	tell_wrapped(c, in,
	             v->x.t.op_dev[from] == s->dev
	                     ? "ready at {arrives_s}: its last input comes from {from} on {device}, made at "
	                       "{produced_s}"
	                     : "ready at {arrives_s}: its last input comes from {from} on {device}, made at "
	                       "{produced_s}, {queued_s} waiting for links and {moving_s} on its way");
}

static void print_wait(cli *c, const view *v, const berth_result *r)
{
	const berth_op_story *s = &v->story;
	const char *text = cli_told(&c->mem, r, NULL, "then waited {waited_for_device_s} for {device}");
	if (s->start_ns == s->ready_ns)
		return;
	for (int32_t i = 0; text && i < s->n_before && i < MOST_NAMES; i++)
		text = berth_arena_printf(&c->mem, "%s%s %s", text, i ? "," : ", busy with",
		                          v->x.g.op_name[s->before_op[i]]);
	if (text && s->n_before > MOST_NAMES)
		text = berth_arena_printf(&c->mem, "%s and %d more", text, s->n_before - MOST_NAMES);
	if (text && !s->n_before)
		text = berth_arena_printf(&c->mem, "%s, which kept to its order", text);
	cli_print_words(text ? text : "", 0, 4, WIDTH);
}

static berth_status print_choices(cli *c, const view *v, berth_err *err)
{
	const berth_op_story *s = &v->story;
	bool plain = berth_objective_is(&v->x.objective, BERTH_LATENCY);
	double now = s->choice[s->dev].value;
	cli_table t;
	bool any = false;
	cli_table_init(&t, &c->mem, v->x.s.n_pools ? "lrrrr" : "lrrr");
	cli_table_head(&t, v->x.s.n_pools ? "device|operator|slowed" : "device|operator");
	cli_cell(&t, plain ? "latency" : "objective");
	cli_cell(&t, "change");
	for (int32_t d = 0; d < v->x.s.n_devs; d++) {
		const berth_op_choice *x = &s->choice[d];
		cli_cell_text(&t, v->x.s.dev_name[d]);
		cli_cell_seconds(&t, x->time_ns < 0 ? NAN : (double)x->time_ns / 1e9);
		if (v->x.s.n_pools && x->slowed.pool < 0)
			cli_cell(&t, "-");
		else if (v->x.s.n_pools)
			cli_cell(&t, "%.2fx", x->slowed.times);
		cli_cell_value(&t, &v->x.objective, x->value);
		if (d == s->dev)
			cli_cell(&t, "here");
		else if (isnan(x->value))
			cli_cell(&t, "cannot run");
		else
			cli_cell(&t, "%+.2f %%%s", now > 0 ? 100 * (x->value / now - 1) : 0,
			         x->blocked ? "*" : "");
		any |= x->time_ns >= 0 && x->blocked;
	}
	BERTH_TRY(cli_table_print(&t, CLI_AS_TEXT, err));
	if (any)
		cli_say("* would break a rule, a limit or memory\n");
	return BERTH_OK;
}

berth_status show_placed_op(cli *c, const show_args *a, berth_err *err)
{
	view v = {0};
	berth_result_list *inputs;
	const berth_result *r;
	BERTH_TRY(show_placed_load(c, a, &v.x, err));
	BERTH_TRY(tell(c, a, &v, err));
	BERTH_TRY(fill(c, &v, &inputs, &r, err));
	BERTH_TRY(cli_result(c, r, err));
	if (!cli_in_words(c))
		return BERTH_OK;
	tell_wrapped(c, r,
	             "{op}[ ({type})] on {device}: starts at {start_s}, ends at {end_s}"
	             "[, slowed {slowed:.2f}x by memory pool {slowed_by}]");
	print_input(c, &v, r, inputs);
	print_wait(c, &v, r);
	tell_wrapped(c, r,
	             v.story.slack_ns
	                     ? "not critical: it could end {slack_s} later without a later end of the run"
	                     : "critical: any delay of it delays the run");
	cli_say("\n");
	BERTH_TRY(print_choices(c, &v, err));
	cli_say("\n");
	const berth_op_story *s = &v.story;
	bool better = s->best_dev >= 0 && s->choice[s->best_dev].value < s->choice[s->dev].value;
	tell_wrapped(c, r,
	             !better    ? "no other device would be better"
	             : s->binds ? "{best_other} would be better, but: {binds}"
	                        : "{best_other} would be better, and nothing keeps it from there");
	return BERTH_OK;
}
