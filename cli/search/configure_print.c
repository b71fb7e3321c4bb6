/* See configure_print.h. */
#include "configure_print.h"

#include "print.h"
#include "say.h"
#include "text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- words ---- */

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

/* The devices of a copy, with + between. */
static berth_status devices_of(cli *c, const configure_view *v, const berth_member *m, const char **out,
                               berth_err *err)
{
	const char *text = "";
	for (int32_t i = 0; i < m->crew->n && text; i++) {
		int32_t d = berth_copy_dev(&v->copies, m->host, m->crew->place[i]);
		text = berth_arena_printf(&c->mem, "%s%s%s", text, i ? "+" : "", v->s.dev_name[d]);
	}
	*out = text;
	return text ? BERTH_OK : berth_nomem(err);
}

/* Hosts that take part, with their copies: "new: gpu0 x32, gpu1 x32; old: gpu2 x8". */
static berth_status members_text(cli *c, const configure_view *v, const berth_configuration *of,
                                 const char **out, berth_err *err)
{
	berth_member member[BERTH_MAX_DEVS];
	int32_t n = berth_config_members(&v->copies, of, member);
	const char *text = "";
	for (int32_t k = 0; k < n && text; k++) {
		bool first = k == 0 || member[k].host != member[k - 1].host;
		const char *devices;
		BERTH_TRY(devices_of(c, v, &member[k], &devices, err));
		text = berth_arena_printf(&c->mem, "%s%s%s%s%s x%lld", text,
		                          k == 0  ? ""
		                          : first ? "; "
		                                  : ", ",
		                          first ? v->cluster.host_name[member[k].host] : "",
		                          first ? ": " : "", devices, (long long)v->batch[member[k].batch]);
	}
	*out = text;
	return text ? BERTH_OK : berth_nomem(err);
}

/* ---- the document ---- */

static void put_value(berth_json_out *w, const char *key, const berth_config_value *v)
{
	berth_json_open(w, key, '{');
	berth_json_put_number(w, "time_s", berth_goal_value(BERTH_GOAL_TIME, v));
	berth_json_put_number(w, "step_s", v->step_s);
	berth_json_put_number(w, "energy_j", berth_goal_value(BERTH_GOAL_ENERGY, v));
	berth_json_put_number(w, "edp", berth_goal_value(BERTH_GOAL_EDP, v));
	berth_json_put_number(w, "power_w", v->power_w);
	berth_json_put_number(w, "peak_w", v->peak_w);
	berth_json_close(w, '}');
}

static void put_copy(berth_json_out *w, const configure_view *v, const berth_member *m)
{
	berth_json_open(w, NULL, '{');
	berth_json_flat(w, true);
	berth_json_put_string(w, "host", v->cluster.host_name[m->host]);
	berth_json_open(w, "devices", '[');
	for (int32_t i = 0; i < m->crew->n; i++)
		berth_json_put_string(w, NULL,
		                      v->s.dev_name[berth_copy_dev(&v->copies, m->host, m->crew->place[i])]);
	berth_json_close(w, ']');
	berth_json_put_int(w, "batch", v->batch[m->batch]);
	berth_json_put_ns(w, "step_s", m->crew->price[m->batch].time_ns);
	berth_json_close(w, '}');
	berth_json_flat(w, false);
}

static void put_choice(berth_json_out *w, const char *key, const configure_view *v,
                       const berth_configure_choice *y)
{
	berth_member member[BERTH_MAX_DEVS];
	int32_t n = berth_config_members(&v->copies, &y->c, member);
	const berth_exchange *x = &y->predicted.exchange;
	berth_json_open(w, key, '{');
	put_value(w, "simulated", &y->simulated);
	put_value(w, "predicted", &y->predicted);
	berth_json_put_int(w, "samples", y->predicted.samples);
	berth_json_put_string(w, "exchange", berth_exchange_name(x->kind));
	berth_json_put_string(w, "server", x->server < 0 ? NULL : v->cluster.host_name[x->server]);
	berth_json_put_number(w, "exchange_s", x->time_s);
	berth_json_open(w, "copies", '[');
	for (int32_t k = 0; k < n; k++)
		put_copy(w, v, &member[k]);
	berth_json_close(w, ']');
	berth_json_close(w, '}');
}

berth_status configure_put(cli *c, const configure_view *v, berth_err *err)
{
	berth_json_out w;
	berth_json_out_init(&w, &c->mem, true);
	berth_json_open(&w, NULL, '{');
	berth_json_put_string(&w, "graph", c->args[0]);
	berth_json_put_string(&w, "system", v->s.name);
	berth_json_put_string(&w, "goal", berth_goals[v->cfg.goal].name);
	berth_json_put_bool(&w, "feasible", v->r.found);
	berth_json_put_number(&w, "configurations", v->r.looked_at);
	berth_json_put_bool(&w, "all", v->r.all);
	berth_json_put_number(&w, "lower_bound", v->r.bound);
	berth_json_put_int(&w, "whole", v->r.n_whole);
	berth_json_put_int(&w, "evaluations", v->copies.evaluations);
	if (v->r.found)
		put_choice(&w, "chosen", v, &v->r.best);
	berth_json_open(&w, "front", '[');
	for (int32_t i = 0; i < v->r.n_front; i++)
		put_choice(&w, NULL, v, &v->r.front[i]);
	berth_json_close(&w, ']');
	copies_put(&w, &v->plan);
	return cli_end_json(c, &w, err);
}

/* ---- text ---- */

static void print_head(const cli *c, const configure_view *v)
{
	const berth_configure_choice *best = &v->r.best;
	const berth_config_value *s = &best->simulated;
	const berth_exchange *x = &best->predicted.exchange;
	char a[64], b[32], k[32];
	cli_say("%s on %s, goal %s: %s", c->args[0], v->s.name, berth_goals[v->cfg.goal].name,
	        goal_text(a, v->cfg.goal, berth_goal_value(v->cfg.goal, s)));
	cli_say(" (by the formulas %s)\n",
	        goal_text(a, v->cfg.goal, berth_goal_value(v->cfg.goal, &best->predicted)));
	cli_say("%d %s, %lld %s in a step of %s", s->n_copies, s->n_copies == 1 ? "copy" : "copies",
	        (long long)s->samples, s->samples == 1 ? "sample" : "samples",
	        berth_text_seconds(b, s->step_s));
	if (x->kind != BERTH_EXCHANGE_NONE)
		cli_say(", %s of it to exchange %s of gradients%s%s", berth_text_seconds(b, x->time_s),
		        berth_text_bytes(k, (double)v->copies.grad_bytes),
		        x->kind == BERTH_EXCHANGE_RING ? " around a ring" : " through ",
		        x->kind == BERTH_EXCHANGE_RING ? "" : v->cluster.host_name[x->server]);
	cli_say("\n%.10g configurations looked at%s, %d simulated whole\n", v->r.looked_at,
	        v->r.all ? ", all of them" : "", v->r.n_whole);
	if (!v->r.all)
		cli_say("no configuration is below %s by the formulas\n",
		        goal_text(a, v->cfg.goal, v->r.bound));
}

static berth_status print_copies(cli *c, const configure_view *v, berth_err *err)
{
	berth_member member[BERTH_MAX_DEVS];
	int32_t n = berth_config_members(&v->copies, &v->r.best.c, member);
	cli_table t;
	char buf[32];
	cli_table_init(&t, &c->mem, "llrr");
	cli_table_head(&t, "host|devices of a copy|batch|its step alone");
	for (int32_t k = 0; k < n; k++) {
		const char *devices;
		BERTH_TRY(devices_of(c, v, &member[k], &devices, err));
		cli_cell(&t, "%s", v->cluster.host_name[member[k].host]);
		cli_cell(&t, "%s", devices);
		cli_cell(&t, "%lld", (long long)v->batch[member[k].batch]);
		cli_cell(&t, "%s",
		         berth_text_seconds(buf,
		                            (double)member[k].crew->price[member[k].batch].time_ns / 1e9));
	}
	return cli_table_print(&t, CLI_AS_TEXT, err);
}

static berth_status print_front(cli *c, const configure_view *v, berth_err *err)
{
	cli_table t;
	char buf[64];
	cli_table_init(&t, &c->mem, "rrrrl");
	cli_table_head(&t, "time|energy|mean power|peak power|copies, each with its batch");
	for (int32_t i = 0; i < v->r.n_front; i++) {
		const berth_config_value *s = &v->r.front[i].simulated;
		const char *members;
		BERTH_TRY(members_text(c, v, &v->r.front[i].c, &members, err));
		cli_cell(&t, "%s", goal_text(buf, BERTH_GOAL_TIME, berth_goal_value(BERTH_GOAL_TIME, s)));
		cli_cell(&t, "%s", goal_text(buf, BERTH_GOAL_ENERGY, berth_goal_value(BERTH_GOAL_ENERGY, s)));
		cli_cell(&t, "%s", goal_text(buf, BERTH_GOAL_POWER, s->power_w));
		cli_cell(&t, "%s", goal_text(buf, BERTH_GOAL_PEAK, s->peak_w));
		cli_cell(&t, "%s", members);
	}
	cli_say("\nnone is better in both time and energy:\n");
	return cli_table_print(&t, CLI_AS_TEXT, err);
}

berth_status configure_print(cli *c, const configure_view *v, berth_err *err)
{
	print_head(c, v);
	cli_say("\n");
	BERTH_TRY(print_copies(c, v, err));
	if (v->r.n_front > 1)
		BERTH_TRY(print_front(c, v, err));
	copies_print(&v->plan, ", without the exchange");
	return BERTH_OK;
}
