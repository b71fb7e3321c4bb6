/* A graph at a glance: sizes and types, and on a system where the time goes. */
#include "coarsen.h"
#include "exporters.h"
#include "file.h"
#include "graph.h"
#include "graph_format.h"
#include "graph_load.h"
#include "group_loss.h"
#include "ort_profile.h"
#include "placement.h"
#include "print.h"
#include "problem.h"
#include "sandboxed.h"
#include "say.h"
#include "show.h"
#include "show_critical.h"
#include "show_types.h"
#include "text.h"
#include "training.h"

#include <math.h>
#include <string.h>

enum { FEW_NAMES = 5 };

typedef struct view {
	berth_graph g;
	berth_graph_stats stats;
	bool has_system;
	berth_system s;
	berth_problem p;
	show_critical critical;
	int64_t *dev_total_ns;  /* [n_devs] sum of operator times; -1: some operator cannot run there */
	int32_t *dev_cannot;    /* [n_devs] operators that cannot run there */
	int64_t *dev_type_ns;   /* [n_devs][n_types + 1] of those that can */
	berth_read_report onnx; /* of an ONNX model; zero otherwise */
	bool has_times;
	berth_ort_report times;         /* of the last --times */
	berth_training_report training; /* of --training; zero otherwise */
	bool coarsened;
	berth_coarsening groups;
	int64_t crossing_bytes;
} view;

/* ---- figures ---- */

static berth_status total_times(view *v, berth_arena *mem, berth_err *err)
{
	int32_t devs = v->s.n_devs, types = v->g.n_types + 1;
	BERTH_TRY(BERTH_NEW(mem, v->dev_total_ns, devs, err));
	BERTH_TRY(BERTH_NEW(mem, v->dev_cannot, devs, err));
	BERTH_TRY(BERTH_NEW(mem, v->dev_type_ns, (size_t)devs * (size_t)types, err));
	for (int32_t d = 0; d < devs; d++) {
		for (int32_t op = 0; op < v->g.n_ops; op++) {
			int64_t time = berth_op_time(&v->p, op, d);
			int32_t type = v->g.op_type[op] < 0 ? types - 1 : v->g.op_type[op];
			v->dev_cannot[d] += time < 0;
			if (time < 0)
				continue;
			v->dev_type_ns[d * types + type] += time;
			v->dev_total_ns[d] += time;
		}
		if (v->dev_cannot[d])
			v->dev_total_ns[d] = -1;
	}
	return BERTH_OK;
}

static berth_status coarsen(cli *c, const show_args *a, view *v, berth_err *err)
{
	enum { JUDGED = 500 };
	int32_t target = a->coarsen < INT32_MAX ? (int32_t)a->coarsen : INT32_MAX;
	berth_coarsen_cfg cfg = berth_coarsen_cfg_default(target);
	berth_group_judge judge = {&v->p, JUDGED, &c->tmp};
	if (v->has_system)
		BERTH_TRY(berth_group_cfg(&v->p, target, &c->mem, &cfg, err));
	if (a->grouper)
		BERTH_TRY(berth_grouper_find(a->grouper, &cfg.grouper, err));
	if (v->has_system && berth_problem_feasible(&v->p, NULL) == BERTH_OK) {
		cfg.loss = berth_group_loss;
		cfg.loss_ctx = &judge;
	}
	v->coarsened = true;
	BERTH_TRY(berth_coarsen(&v->g, &cfg, &c->mem, &c->tmp, &v->groups, err));
	return berth_coarsening_crossing_bytes(&v->g, &v->groups, &c->tmp, &v->crossing_bytes, err);
}

/* The graph, and the system named or that of a workload. */
static berth_status load_parts(cli *c, const show_args *a, view *v, berth_err *err)
{
	v->has_system = a->on || berth_is_workload(a->input, cli_sandbox(c));
	if (v->has_system)
		return cli_instance_load(c, a->input, a->on, &v->g, &v->s, &v->onnx, err);
	return cli_graph_load(c, a->input, &v->g, &v->onnx, err);
}

/* "PROFILE", or "DEVICE=PROFILE" where no file has the whole name. */
static berth_status join_one(cli *c, const char *text, view *v, berth_err *err)
{
	const char *eq = strchr(text, '='), *path = text, *device = NULL;
	const unsigned char *data;
	size_t size;
	berth_graph timed;
	bool there;
	BERTH_TRY(berth_file_there(text, &there, err));
	if (eq && eq > text && !there) {
		path = eq + 1;
		device = berth_arena_strndup(&c->mem, text, (size_t)(eq - text));
		if (!device)
			return berth_nomem(err);
	}
	BERTH_TRY(berth_file_take(path, &data, &size, err));
	berth_status st = berth_graph_ort_times(path, data ? (const char *)data : "", size, device, &v->g,
	                                        &c->mem, &c->tmp, &timed, &v->times, err);
	berth_file_unmap(data, size);
	BERTH_TRY(st);
	v->g = timed;
	v->has_times = true;
	return BERTH_OK;
}

static berth_status join_times(cli *c, const show_args *a, view *v, berth_err *err)
{
	for (int32_t i = 0; i < a->times.n; i++)
		BERTH_TRY(join_one(c, a->times.text[i], v, err));
	return BERTH_OK;
}

static berth_status make_training(cli *c, int64_t replicas, view *v, berth_err *err)
{
	berth_training_options opt = berth_training_options_default();
	berth_graph step;
	opt.report = &v->training;
	opt.replicas = replicas < INT32_MAX ? (int32_t)replicas : INT32_MAX;
	BERTH_TRY(berth_graph_training(&v->g, &opt, &c->mem, &c->tmp, &step, err));
	v->g = step;
	return BERTH_OK;
}

static berth_status compile_on_system(cli *c, view *v, berth_err *err)
{
	BERTH_TRY(berth_problem_new(&v->g, &v->s, &c->mem, &c->tmp, &v->p, err));
	BERTH_TRY(total_times(v, &c->mem, err));
	return show_critical_find(&v->p, &c->mem, &c->tmp, &v->critical, err);
}

static berth_status load(cli *c, const show_args *a, view *v, berth_err *err)
{
	BERTH_TRY(cli_training_check(a->training, a->input, err));
	BERTH_TRY(load_parts(c, a, v, err));
	BERTH_TRY(join_times(c, a, v, err));
	if (a->training)
		BERTH_TRY(make_training(c, a->replicas, v, err));
	if (v->has_system)
		BERTH_TRY(compile_on_system(c, v, err));
	BERTH_TRY(berth_graph_stats_new(&v->g, &c->mem, &c->tmp, &v->stats, err));
	if (a->replicas && !a->training)
		return berth_fail(err, BERTH_EINVAL, "show: option --replicas is for --training");
	if (a->grouper && !a->coarsen)
		return berth_fail(err, BERTH_EINVAL, "show: option --grouper is for --coarsen M");
	return a->coarsen ? coarsen(c, a, v, err) : BERTH_OK;
}

/* ---- JSON ---- */

static void put_ns(berth_json_out *w, const char *key, int64_t ns)
{
	if (ns < 0)
		berth_json_put_null(w, key);
	else
		berth_json_put_ns(w, key, ns);
}

/* What an ONNX model said of itself, and what had to be assumed. */
static void put_onnx(berth_json_out *w, const berth_read_report *r)
{
	if (!r->n_nodes)
		return;
	berth_json_open(w, "onnx", '{');
	berth_json_put_int(w, "nodes", r->n_nodes);
	berth_json_put_int(w, "folded", r->n_folded);
	berth_json_put_int(w, "outputs", r->n_outputs);
	berth_json_put_int(w, "unknown", r->n_unknown);
	berth_json_put_number(w, "parameters", r->param_elements);
	berth_json_open(w, "dims", '{');
	for (int32_t i = 0; i < r->n_dims; i++)
		berth_json_put_int(w, r->dim_name[i], r->dim_value[i]);
	berth_json_close(w, '}');
	berth_json_open(w, "loops", '[');
	for (int32_t i = 0; i < r->n_loops; i++)
		berth_json_put_string(w, NULL, r->loop_name[i]);
	berth_json_close(w, ']');
	berth_json_open(w, "warnings", '[');
	for (int32_t i = 0; i < r->n_warnings; i++)
		berth_json_put_string(w, NULL, r->warning[i]);
	berth_json_close(w, ']');
	berth_json_close(w, '}');
}

static void put_names(berth_json_out *w, const char *key, const char *const *name, int32_t n)
{
	berth_json_open(w, key, '[');
	for (int32_t i = 0; i < n; i++)
		berth_json_put_string(w, NULL, name[i]);
	berth_json_close(w, ']');
}

static void put_times(berth_json_out *w, const berth_ort_report *r)
{
	berth_json_open(w, "times", '{');
	berth_json_put_int(w, "runs", r->n_runs);
	berth_json_put_int(w, "timed", r->n_timed);
	berth_json_put_number(w, "joined_s", r->joined_s);
	berth_json_put_number(w, "unjoined_s", r->unjoined_s);
	put_names(w, "unjoined", r->unjoined, r->n_unjoined);
	put_names(w, "untimed", r->untimed, r->n_untimed);
	berth_json_close(w, '}');
}

/* What the critical path is made of. */
static void put_critical(berth_json_out *w, const view *v)
{
	if (v->critical.length_ns < 0) {
		berth_json_put_null(w, "critical_path");
		return;
	}
	berth_json_open(w, "critical_path", '{');
	berth_json_put_int(w, "ops", v->critical.n_ops);
	berth_json_put_ns(w, "transfers_s", v->critical.transfer_ns);
	show_type_times_json(w, "types_s", &v->g, &v->stats, v->critical.type_ns);
	berth_json_close(w, '}');
}

/* Where the time of each device goes, were all operators there that can be. */
static void put_devices(berth_json_out *w, const view *v)
{
	berth_json_open(w, "cannot_run", '{');
	for (int32_t d = 0; d < v->s.n_devs; d++)
		berth_json_put_int(w, v->s.dev_name[d], v->dev_cannot[d]);
	berth_json_close(w, '}');
	berth_json_open(w, "types_s", '{');
	for (int32_t d = 0; d < v->s.n_devs; d++)
		show_type_times_json(w, v->s.dev_name[d], &v->g, &v->stats,
		                     v->dev_type_ns + (size_t)d * ((size_t)v->g.n_types + 1));
	berth_json_close(w, '}');
}

static berth_status print_json(cli *c, const view *v, berth_err *err)
{
	const berth_graph *g = &v->g;
	berth_json_out w;
	berth_json_out_init(&w, &c->mem, true);
	berth_json_open(&w, NULL, '{');
	berth_json_put_string(&w, "name", g->name);
	berth_json_put_int(&w, "ops", g->n_ops);
	berth_json_put_int(&w, "edges", g->n_edges);
	berth_json_put_number(&w, "flops", berth_graph_flops(g));
	berth_json_put_number(&w, "macs", berth_graph_macs(g));
	berth_json_put_int(&w, "param_bytes", berth_graph_param_bytes(g));
	berth_json_put_int(&w, "tensor_bytes", v->stats.tensor_bytes);
	berth_json_put_int(&w, "state_bytes", v->stats.state_bytes);
	berth_json_put_int(&w, "moved_bytes", v->stats.moved_bytes);
	berth_json_put_int(&w, "depth", v->stats.depth);
	berth_json_put_int(&w, "width", v->stats.width);
	berth_json_open(&w, "types", '{');
	for (int32_t i = 0; i <= g->n_types; i++) {
		int32_t type = v->stats.type_by_ops[i];
		if (v->stats.type_ops[type])
			berth_json_put_int(&w, type < g->n_types ? g->type_name[type] : "",
			                   v->stats.type_ops[type]);
	}
	berth_json_close(&w, '}');
	if (v->stats.pieces) {
		berth_json_put_int(&w, "cut_ops", v->stats.cut_ops);
		berth_json_put_int(&w, "pieces", v->stats.pieces);
	}
	show_types_json(&w, g, &v->stats);
	put_onnx(&w, &v->onnx);
	if (v->has_times)
		put_times(&w, &v->times);
	if (v->coarsened) {
		berth_json_put_string(&w, "grouper", v->groups.grouper);
		berth_json_put_int(&w, "groups", v->groups.n_groups);
		berth_json_put_int(&w, "crossing_bytes", v->crossing_bytes);
	}
	if (v->has_system) {
		berth_json_put_string(&w, "system", v->s.name);
		put_ns(&w, "critical_path_s", v->critical.length_ns);
		put_critical(&w, v);
		berth_json_open(&w, "total_s", '{');
		for (int32_t d = 0; d < v->s.n_devs; d++)
			put_ns(&w, v->s.dev_name[d], v->dev_total_ns[d]);
		berth_json_close(&w, '}');
		put_devices(&w, v);
	}
	return cli_end_json(c, &w, err);
}

/* ---- text ---- */

static void print_head(const view *v)
{
	const berth_graph *g = &v->g;
	char a[32], b[32];
	cli_say("%s: %d operator%s, %d edge%s; longest path %d, widest level %d\n", g->name, g->n_ops,
	        g->n_ops == 1 ? "" : "s", g->n_edges, g->n_edges == 1 ? "" : "s", v->stats.depth,
	        v->stats.width);
	cli_say("%s (%s), ", cli_amount(a, berth_graph_flops(g), "FLOP"),
	        cli_amount(b, berth_graph_macs(g), "MAC"));
	cli_say("parameters %s, tensors %s", berth_text_bytes(a, (double)berth_graph_param_bytes(g)),
	        berth_text_bytes(b, (double)v->stats.tensor_bytes));
	if (v->stats.state_bytes)
		cli_say(", state %s", berth_text_bytes(a, (double)v->stats.state_bytes));
	cli_say("\n");
	if (v->stats.pieces)
		cli_say("cut: %d operator%s into %d pieces\n", v->stats.cut_ops,
		        v->stats.cut_ops == 1 ? "" : "s", v->stats.pieces);
}

/* Types that training has no rule for. */
static void print_training(const view *v)
{
	for (int32_t i = 0; i < v->training.n_unknown; i++)
		cli_say("training: no rule for type %s; its backward counts as twice its forward\n",
		        *v->training.unknown_type[i] ? v->training.unknown_type[i] : "(none)");
}

/* What an importer had to assume. Only ONNX models have nodes. */
static void print_onnx(const view *v)
{
	const berth_read_report *r = &v->onnx;
	if (r->n_nodes)
		cli_say("ONNX: %d nodes, %d of them known without running\n", r->n_nodes, r->n_folded);
	for (int32_t i = 0; i < r->n_dims; i++)
		cli_say("%s: dimension %s is %lld (--dim %s=N)\n", r->format, r->dim_name[i],
		        (long long)r->dim_value[i], r->dim_name[i]);
	if (r->n_unknown)
		cli_say("ONNX: %d of %d outputs have no full shape; their bytes count 0\n", r->n_unknown,
		        r->n_outputs);
}

/* A few of the names. */
static void print_names(const char *const *name, int32_t n)
{
	for (int32_t i = 0; i < n && i < FEW_NAMES; i++)
		cli_say("%s%s", i ? ", " : ": ", name[i]);
	cli_say(n > FEW_NAMES ? ", ...\n" : "\n");
}

static void print_joined(const view *v)
{
	const berth_ort_report *r = &v->times;
	double all = r->joined_s + r->unjoined_s;
	char share[32];
	if (!v->has_times)
		return;
	cli_say("times: %d runs; %d of %d operators timed, %s of the profile's time\n", r->n_runs, r->n_timed,
	        r->n_timed + r->n_untimed, cli_percent(share, all > 0 ? r->joined_s / all : NAN));
	if (r->n_unjoined) {
		cli_say("times: %d name%s of the profile %s", r->n_unjoined, r->n_unjoined == 1 ? "" : "s",
		        r->n_unjoined == 1 ? "is no operator" : "are no operators");
		print_names(r->unjoined, r->n_unjoined);
	}
	if (r->n_untimed) {
		cli_say("times: %d operator%s none", r->n_untimed, r->n_untimed == 1 ? " has" : "s have");
		print_names(r->untimed, r->n_untimed);
	}
}

static void print_critical(const view *v)
{
	const show_critical *k = &v->critical;
	char time[32], types[160];
	cli_say("\non %s: critical path %s (no placement is faster)\n", v->s.name,
	        k->length_ns < 0 ? "unknown, as an operator has no legal device"
	                         : berth_text_seconds(time, (double)k->length_ns * 1e-9));
	if (k->length_ns <= 0)
		return;
	show_top_types(&v->g, k->type_ns, types, sizeof types);
	cli_say("  through %d operator%s%s%s", k->n_ops, k->n_ops == 1 ? "" : "s", *types ? ": " : "", types);
	if (k->transfer_ns > 0)
		cli_say("; %s of it transfers", berth_text_seconds(time, (double)k->transfer_ns * 1e-9));
	cli_say("\n");
}

static berth_status print_times(cli *c, const view *v, berth_err *err)
{
	cli_table t;
	char time[32], types[160];
	print_critical(v);
	cli_table_init(&t, &c->mem, "lrrl");
	cli_table_head(&t, "device|all operators|cannot run|where the time goes");
	for (int32_t d = 0; d < v->s.n_devs; d++) {
		show_top_types(&v->g, v->dev_type_ns + (size_t)d * ((size_t)v->g.n_types + 1), types,
		               sizeof types);
		cli_cell(&t, "%s", v->s.dev_name[d]);
		cli_cell(&t, "%s",
		         v->dev_total_ns[d] < 0
		                 ? "-"
		                 : berth_text_seconds(time, (double)v->dev_total_ns[d] * 1e-9));
		cli_cell(&t, "%d", v->dev_cannot[d]);
		cli_cell(&t, "%s", types);
	}
	return cli_table_print(&t, CLI_AS_TEXT, err);
}

static berth_status print_text(cli *c, const view *v, berth_err *err)
{
	char bytes[32];
	print_head(v);
	print_onnx(v);
	print_training(v);
	print_joined(v);
	if (v->coarsened)
		cli_say("coarsened by %s to %d groups, %s between them\n", v->groups.grouper,
		        v->groups.n_groups, berth_text_bytes(bytes, (double)v->crossing_bytes));
	BERTH_TRY(show_types_print(c, &v->g, &v->stats, err));
	return v->has_system ? print_times(c, v, err) : BERTH_OK;
}

/* ---- one operator ---- */

static void put_use(berth_json_out *w, const berth_graph *g, const char *key, int32_t other, int32_t t)
{
	berth_json_open(w, NULL, '{');
	berth_json_flat(w, true);
	berth_json_put_string(w, key, g->op_name[other]);
	if (g->tensor_name[t])
		berth_json_put_string(w, "tensor", g->tensor_name[t]);
	berth_json_put_int(w, "bytes", g->tensor_bytes[t]);
	berth_json_close(w, '}');
	berth_json_flat(w, false);
}

static berth_status print_op_json(cli *c, const view *v, int32_t op, berth_err *err)
{
	const berth_graph *g = &v->g;
	berth_json_out w;
	berth_json_out_init(&w, &c->mem, true);
	berth_json_open(&w, NULL, '{');
	berth_json_put_string(&w, "name", g->op_name[op]);
	berth_json_put_string(&w, "type", g->op_type[op] < 0 ? NULL : g->type_name[g->op_type[op]]);
	berth_json_put_number(&w, "flops", g->op_flops[op]);
	berth_json_put_number(&w, "macs", g->op_macs[op]);
	berth_json_put_int(&w, "read_bytes", g->op_read_bytes[op]);
	berth_json_put_int(&w, "write_bytes", g->op_write_bytes[op]);
	berth_json_put_int(&w, "param_bytes", g->op_param_bytes[op]);
	berth_json_open(&w, "inputs", '[');
	for (int32_t i = g->op_in_off[op]; i < g->op_in_off[op + 1]; i++)
		put_use(&w, g, "from", g->tensor_producer[g->in_tensor[i]], g->in_tensor[i]);
	berth_json_close(&w, ']');
	berth_json_open(&w, "outputs", '[');
	for (int32_t t = g->op_tensor_off[op]; t < g->op_tensor_off[op + 1]; t++)
		for (int32_t e = g->tensor_use_off[t]; e < g->tensor_use_off[t + 1]; e++)
			put_use(&w, g, "to", g->edge_consumer[e], t);
	berth_json_close(&w, ']');
	if (v->has_system) {
		berth_json_open(&w, "time_s", '{');
		for (int32_t d = 0; d < v->s.n_devs; d++)
			put_ns(&w, v->s.dev_name[d], berth_op_time(&v->p, op, d));
		berth_json_close(&w, '}');
	}
	return cli_end_json(c, &w, err);
}

static void print_op_text(const view *v, int32_t op)
{
	const berth_graph *g = &v->g;
	char a[32], b[32];
	cli_say("%s (%s): %s, reads %s", g->op_name[op], show_type_name(g, g->op_type[op]),
	        cli_amount(a, g->op_flops[op], "FLOP"), berth_text_bytes(b, (double)g->op_read_bytes[op]));
	cli_say(", writes %s, parameters %s\n", berth_text_bytes(a, (double)g->op_write_bytes[op]),
	        berth_text_bytes(b, (double)g->op_param_bytes[op]));
	for (int32_t i = g->op_in_off[op]; i < g->op_in_off[op + 1]; i++) {
		int32_t t = g->in_tensor[i];
		cli_say("  from %s, %s\n", g->op_name[g->tensor_producer[t]],
		        berth_text_bytes(a, (double)g->tensor_bytes[t]));
	}
	for (int32_t t = g->op_tensor_off[op]; t < g->op_tensor_off[op + 1]; t++)
		for (int32_t e = g->tensor_use_off[t]; e < g->tensor_use_off[t + 1]; e++)
			cli_say("  to %s, %s\n", g->op_name[g->edge_consumer[e]],
			        berth_text_bytes(a, (double)g->tensor_bytes[t]));
	for (int32_t d = 0; v->has_system && d < v->s.n_devs; d++) {
		int64_t ns = berth_op_time(&v->p, op, d);
		cli_say("  on %s %s%s\n", v->s.dev_name[d],
		        ns < 0 ? "it cannot run" : berth_text_seconds(a, (double)ns * 1e-9),
		        ns >= 0 && !berth_op_legal(&v->p, op, d) ? " (not allowed there)" : "");
	}
}

static berth_status print_op(cli *c, const view *v, const char *name, berth_err *err)
{
	char hint[96];
	int32_t op = berth_graph_find(&v->g, name);
	if (op < 0)
		return berth_fail(err, BERTH_EINVAL, "graph '%.60s' has no operator '%.60s'%s", v->g.name,
		                  name,
		                  berth_text_suggest(hint, sizeof hint, name, v->g.op_name, v->g.n_ops));
	if (c->json)
		return print_op_json(c, v, op, err);
	if (!c->quiet)
		print_op_text(v, op);
	return BERTH_OK;
}

/* ---- files ---- */

static berth_status write_dot(cli *c, const show_args *a, const view *v, berth_err *err)
{
	berth_placement p = {0};
	if (a->placement)
		BERTH_TRY(cli_placement_read(c, a->placement, &v->g, &v->s, &p, err));
	berth_export_source x = {.g = &v->g, .s = &v->s, .op_dev = p.op_dev};
	return berth_export("dot", &x, a->dot, &c->mem, &c->tmp, err);
}

static berth_status write_json(cli *c, const show_args *a, const view *v, berth_err *err)
{
	const char *text;
	size_t size;
	BERTH_TRY(berth_graph_write_json(&v->g, true, &c->mem, &text, &size, err));
	return berth_file_write(a->out, text, size, err);
}

static bool to_stdout(const char *path)
{
	return path && strcmp(path, "-") == 0;
}

static berth_status check_args(const show_args *a, berth_err *err)
{
	if (a->placement && (!a->on || !a->dot))
		return berth_fail(err, BERTH_EINVAL,
		                  "show: --placement stands alone, or with --op NAME or --dot OUT; the "
		                  "latter needs --on SYSTEM where the file names none");
	return BERTH_OK;
}

berth_status show_graph(cli *c, const show_args *a, berth_err *err)
{
	view v = {0};
	BERTH_TRY(check_args(a, err));
	BERTH_TRY(load(c, a, &v, err));
	if (a->out)
		BERTH_TRY(write_json(c, a, &v, err));
	if (a->dot)
		BERTH_TRY(write_dot(c, a, &v, err));
	if (a->op)
		return print_op(c, &v, a->op, err);
	if (a->blocks.name)
		return show_blocks(c, &a->blocks, &v.g, err);
	if (c->json)
		return print_json(c, &v, err);
	return c->quiet || to_stdout(a->out) || to_stdout(a->dot) ? BERTH_OK : print_text(c, &v, err);
}
