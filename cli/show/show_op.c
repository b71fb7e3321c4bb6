/* One operator of a placement: when it ran, what it waited for, whether it is critical, and what every other
 * device would cost. */
#include "explain_op.h"
#include "print.h"
#include "report.h"
#include "say.h"
#include "show.h"
#include "show_placed.h"
#include "text.h"
#include "visible.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 80, MOST_NAMES = 3 };

typedef struct view {
	show_placed x;
	berth_op_story story;
} view;

static berth_status tell(cli *c, const show_args *a, view *v, berth_err *err)
{
	char hint[96];
	int32_t op = berth_graph_find(&v->x.g, a->op);
	if (op < 0)
		return berth_fail(err, BERTH_EINVAL, "graph '%.60s' has no operator '%.60s'%s", v->x.g.name,
		                  a->op,
		                  berth_text_suggest(hint, sizeof hint, a->op, v->x.g.op_name, v->x.g.n_ops));
	if (!v->x.t.r.runs)
		return berth_fail(
			err, BERTH_EINFEASIBLE,
			"%s: an operator is on a device that cannot run it; 'berth simulate' tells which",
			a->placement);
	return berth_explain_op(&v->x.p, &v->x.t, &v->x.objective, op, &c->mem, &c->tmp, &v->story, err);
}

/* ---- JSON ---- */

static void put_waits(berth_json_out *w, const view *v)
{
	const berth_op_story *s = &v->story;
	berth_json_put_ns(w, "waited_for_device_s", s->start_ns - s->ready_ns);
	berth_json_open(w, "device_was_busy_with", '[');
	for (int32_t i = 0; i < s->n_before; i++)
		berth_json_put_string(w, NULL, v->x.g.op_name[s->before_op[i]]);
	berth_json_close(w, ']');
	berth_json_open(w, "inputs", '[');
	for (int32_t i = 0; i < s->n_inputs; i++) {
		const berth_op_input *in = &s->input[i];
		int32_t from = v->x.g.tensor_producer[in->tensor];
		berth_json_open(w, NULL, '{');
		berth_json_put_string(w, "from", v->x.g.op_name[from]);
		if (v->x.g.tensor_name[in->tensor])
			berth_json_put_string(w, "tensor", v->x.g.tensor_name[in->tensor]);
		berth_json_put_string(w, "device", v->x.s.dev_name[v->x.t.op_dev[from]]);
		berth_json_put_int(w, "bytes", v->x.g.tensor_bytes[in->tensor]);
		berth_json_put_ns(w, "produced_s", in->produced_ns);
		berth_json_put_ns(w, "queued_s", in->queued_ns);
		berth_json_put_ns(w, "moving_s", in->moving_ns);
		berth_json_put_ns(w, "arrives_s", in->arrives_ns);
		berth_json_put_bool(w, "last", i == s->last_input);
		berth_json_close(w, '}');
	}
	berth_json_close(w, ']');
}

static void put_choices(berth_json_out *w, const view *v)
{
	const berth_op_story *s = &v->story;
	berth_json_open(w, "devices", '[');
	for (int32_t d = 0; d < v->x.s.n_devs; d++) {
		const berth_op_choice *x = &s->choice[d];
		berth_json_open(w, NULL, '{');
		berth_json_put_string(w, "name", v->x.s.dev_name[d]);
		berth_json_put_number(w, "time_s", x->time_ns < 0 ? NAN : (double)x->time_ns / 1e9);
		if (v->x.s.n_pools)
			berth_json_put_number(w, "slowed", x->latency_ns < 0 ? NAN : x->slowed.times);
		berth_json_put_number(w, "latency_s", x->latency_ns < 0 ? NAN : (double)x->latency_ns / 1e9);
		berth_json_put_number(w, "value", x->value);
		berth_json_put_number(w, "change", x->value - s->choice[s->dev].value);
		berth_json_put_bool(w, "feasible", x->latency_ns >= 0 && x->broken.n == 0);
		berth_json_put_string(w, "blocked", x->blocked);
		berth_json_close(w, '}');
	}
	berth_json_close(w, ']');
}

static berth_status print_json(cli *c, const view *v, berth_err *err)
{
	const berth_op_story *s = &v->story;
	int32_t type = v->x.g.op_type[s->op];
	berth_json_out w;
	berth_json_out_init(&w, &c->mem, true);
	berth_json_open(&w, NULL, '{');
	berth_json_put_string(&w, "op", v->x.g.op_name[s->op]);
	berth_json_put_string(&w, "type", type >= 0 ? v->x.g.type_name[type] : NULL);
	berth_json_put_string(&w, "device", v->x.s.dev_name[s->dev]);
	berth_json_put_string(&w, "objective", berth_objective_name(&v->x.objective));
	berth_json_put_ns(&w, "ready_s", s->ready_ns);
	berth_json_put_ns(&w, "start_s", s->start_ns);
	berth_json_put_ns(&w, "end_s", s->end_ns);
	if (v->x.s.n_pools) {
		berth_slowed slowed = s->choice[s->dev].slowed;
		berth_json_put_number(&w, "slowed", slowed.times);
		berth_json_put_string(&w, "slowed_by",
		                      slowed.pool >= 0 ? v->x.s.pool_name[slowed.pool] : NULL);
	}
	berth_json_put_ns(&w, "slack_s", s->slack_ns);
	berth_json_put_bool(&w, "critical", s->slack_ns == 0);
	put_waits(&w, v);
	put_choices(&w, v);
	berth_json_put_string(&w, "best_other", s->best_dev >= 0 ? v->x.s.dev_name[s->best_dev] : NULL);
	berth_json_put_string(&w, "binds", s->binds);
	return cli_end_json(c, &w, err);
}

/* ---- text ---- */

/* A paragraph with the lines after the first indented, broken at blanks. */
static void print_wrapped(const char *text)
{
	size_t at = 0;
	while (*text) {
		size_t word = strcspn(text, " "), width = berth_visible_width(text, word);
		if (at > 4 && at + 1 + width > WIDTH) {
			cli_say("\n    ");
			at = 4;
		} else if (at > 0) {
			cli_say(" ");
			at++;
		}
		cli_say("%.*s", (int)word, text);
		at += width;
		text += word;
		text += strspn(text, " ");
	}
	cli_say("\n");
}

static const char *seconds(cli *c, int64_t ns)
{
	char buf[32];
	const char *kept = berth_arena_strdup(&c->mem, berth_text_seconds(buf, (double)ns / 1e9));
	return kept ? kept : "?";
}

static void print_input(cli *c, const view *v)
{
	const berth_op_story *s = &v->story;
	if (s->last_input < 0) {
		print_wrapped("ready from the start: it has no inputs");
		return;
	}
	const berth_op_input *in = &s->input[s->last_input];
	int32_t from = v->x.g.tensor_producer[in->tensor], dev = v->x.t.op_dev[from];
	const char *text =
		berth_arena_printf(&c->mem, "ready at %s: its last input comes from %s on %s, made at %s",
	                           seconds(c, s->ready_ns), v->x.g.op_name[from], v->x.s.dev_name[dev],
	                           seconds(c, in->produced_ns));
	if (text && dev != s->dev)
		text = berth_arena_printf(&c->mem, "%s, %s waiting for links and %s on its way", text,
		                          seconds(c, in->queued_ns), seconds(c, in->moving_ns));
	print_wrapped(text ? text : "");
}

static void print_wait(cli *c, const view *v)
{
	const berth_op_story *s = &v->story;
	if (s->start_ns == s->ready_ns)
		return;
	const char *text = berth_arena_printf(&c->mem, "then waited %s for %s",
	                                      seconds(c, s->start_ns - s->ready_ns), v->x.s.dev_name[s->dev]);
	for (int32_t i = 0; text && i < s->n_before && i < MOST_NAMES; i++)
		text = berth_arena_printf(&c->mem, "%s%s %s", text, i ? "," : ", busy with",
		                          v->x.g.op_name[s->before_op[i]]);
	if (text && s->n_before > MOST_NAMES)
		text = berth_arena_printf(&c->mem, "%s and %d more", text, s->n_before - MOST_NAMES);
	if (text && !s->n_before)
		text = berth_arena_printf(&c->mem, "%s, which kept to its order", text);
	print_wrapped(text ? text : "");
}

static berth_status print_choices(cli *c, const view *v, berth_err *err)
{
	const berth_op_story *s = &v->story;
	bool plain = berth_objective_is(&v->x.objective, BERTH_LATENCY);
	double now = s->choice[s->dev].value;
	char buf[32];
	cli_table t;
	bool any = false;
	cli_table_init(&t, &c->mem, v->x.s.n_pools ? "lrrrr" : "lrrr");
	cli_table_head(&t, v->x.s.n_pools ? "device|operator|slowed" : "device|operator");
	cli_cell(&t, plain ? "latency" : "objective");
	cli_cell(&t, "change");
	for (int32_t d = 0; d < v->x.s.n_devs; d++) {
		const berth_op_choice *x = &s->choice[d];
		cli_cell(&t, "%s", v->x.s.dev_name[d]);
		cli_cell(&t, "%s", x->time_ns < 0 ? "-" : berth_text_seconds(buf, (double)x->time_ns / 1e9));
		if (v->x.s.n_pools && x->slowed.pool < 0)
			cli_cell(&t, "-");
		else if (v->x.s.n_pools)
			cli_cell(&t, "%.2fx", x->slowed.times);
		cli_cell(&t, "%s", isnan(x->value) ? "-" : cli_value(buf, &v->x.objective, x->value));
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

static void print_verdict(cli *c, const view *v)
{
	const berth_op_story *s = &v->story;
	const char *text;
	if (s->best_dev < 0 || !(s->choice[s->best_dev].value < s->choice[s->dev].value))
		text = "no other device would be better";
	else if (s->binds)
		text = berth_arena_printf(&c->mem, "%s would be better, but: %s",
		                          v->x.s.dev_name[s->best_dev], s->binds);
	else
		text = berth_arena_printf(&c->mem, "%s would be better, and nothing keeps it from there",
		                          v->x.s.dev_name[s->best_dev]);
	print_wrapped(text ? text : "");
}

static berth_status print_text(cli *c, const view *v, berth_err *err)
{
	const berth_op_story *s = &v->story;
	int32_t type = v->x.g.op_type[s->op];
	const char *head = berth_arena_printf(
		&c->mem, "%s%s%s%s on %s: starts at %s, ends at %s", v->x.g.op_name[s->op],
		type >= 0 ? " (" : "", type >= 0 ? v->x.g.type_name[type] : "", type >= 0 ? ")" : "",
		v->x.s.dev_name[s->dev], seconds(c, s->start_ns), seconds(c, s->end_ns));
	berth_slowed slowed = s->choice[s->dev].slowed;
	if (head && slowed.pool >= 0)
		head = berth_arena_printf(&c->mem, "%s, slowed %.2fx by memory pool %s", head, slowed.times,
		                          v->x.s.pool_name[slowed.pool]);
	if (!head)
		return berth_nomem(err);
	print_wrapped(head);
	print_input(c, v);
	print_wait(c, v);
	const char *slack =
		s->slack_ns ? berth_arena_printf(
				      &c->mem,
				      "not critical: it could end %s later without a later end of the run",
				      seconds(c, s->slack_ns))
			    : "critical: any delay of it delays the run";
	print_wrapped(slack ? slack : "");
	cli_say("\n");
	BERTH_TRY(print_choices(c, v, err));
	cli_say("\n");
	print_verdict(c, v);
	return BERTH_OK;
}

berth_status show_placed_op(cli *c, const show_args *a, berth_err *err)
{
	view v = {0};
	BERTH_TRY(show_placed_load(c, a, &v.x, err));
	BERTH_TRY(tell(c, a, &v, err));
	if (c->json)
		return print_json(c, &v, err);
	return c->quiet ? BERTH_OK : print_text(c, &v, err);
}
