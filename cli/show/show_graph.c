/* A graph at a glance: sizes and types, and on a system where the time goes. */
#include "ceft.h"
#include "coarsen.h"
#include "exporters.h"
#include "file.h"
#include "ort_profile.h"
#include "results.h"
#include "sandboxed.h"
#include "say.h"
#include "show.h"
#include "tell.h"

enum { FEW_NAMES = 5, TOP_TYPES = 10 };

typedef struct view {
	berth_graph g;
	berth_graph_stats stats;
	bool has_system;
	berth_system s;
	berth_problem p;
	int64_t critical_ns;      /* CEFT length; -1: an operator has no legal device */
	int64_t transfer_ns;      /* of it between devices */
	int32_t critical_ops;     /* on that path */
	int64_t *critical_type_ns; /* [n_types + 1] time of its operators by type */
	berth_read_report onnx;   /* of an ONNX model; zero otherwise */
	bool has_profile;
	berth_ort_report profile;         /* of the last --profile */
	berth_training_report training; /* of --training; zero otherwise */
	berth_result_list *type_rows, *device_rows; /* for tables */
} view;

static int32_t type_of(const berth_graph *g, int32_t op)
{
	return g->op_type[op] < 0 ? g->n_types : g->op_type[op];
}

/* ---- figures ---- */

/* Back from the end of the path, every operator on the device that the path has it on. */
static berth_status walk_critical(cli *c, view *v, berth_err *err)
{
	berth_ceft ceft;
	int64_t computing = 0;
	v->critical_ns = -1;
	BERTH_TRY_NEW(&c->mem, v->g.n_types + 1, err, v->critical_type_ns);
	if (berth_problem_feasible(&v->p, NULL) != BERTH_OK)
		return BERTH_OK;
	BERTH_SCRATCH(&c->tmp);
	BERTH_TRY(berth_ceft_new(&v->p, &c->tmp, &ceft, err));
	for (berth_ceft_step at = ceft.end; at.op >= 0; at = berth_ceft_before(&ceft, at)) {
		v->critical_ops++;
		v->critical_type_ns[type_of(&v->g, at.op)] += berth_op_time(&v->p, at.op, at.dev);
		computing += berth_op_time(&v->p, at.op, at.dev);
	}
	v->critical_ns = ceft.length_ns;
	v->transfer_ns = ceft.length_ns - computing;
	return BERTH_OK;
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
	BERTH_JSON_TEXT(x);
	berth_graph timed;
	bool there;
	BERTH_TRY(berth_file_there(text, &there, err));
	if (eq && eq > text && !there) {
		path = eq + 1;
		device = berth_arena_strndup(&c->mem, text, (size_t)(eq - text));
		BERTH_TRY(berth_got(device, err));
	}
	BERTH_TRY(cli_json_map(c, BERTH_READS_ORT_PROFILE, path, &x, err));
	BERTH_TRY(berth_graph_ort_times(path, x.text, x.size, device, &v->g, &c->mem, &c->tmp, &timed,
	                                &v->profile, err));
	v->g = timed;
	v->has_profile = true;
	return BERTH_OK;
}

static berth_status load(cli *c, const show_args *a, view *v, berth_err *err)
{
	show_args own = *a;
	BERTH_TRY(cli_training_module(c, &own.training, &own.input, err));
	BERTH_TRY(load_parts(c, &own, v, err));
	for (int32_t i = 0; i < a->profile.n; i++)
		BERTH_TRY(join_one(c, a->profile.text[i], v, err));
	if (own.training) {
		berth_training_options opt = berth_training_options_default();
		berth_graph step;
		opt.report = &v->training;
		opt.replicas = a->replicas < INT32_MAX ? (int32_t)a->replicas : INT32_MAX;
		BERTH_TRY(berth_graph_training(&v->g, &opt, &c->mem, &c->tmp, &step, err));
		v->g = step;
	}
	if (a->fuse) {
		berth_graph fused;
		BERTH_TRY(berth_graph_fuse(&v->g, &c->mem, &c->tmp, &fused, err));
		v->g = fused;
	}
	if (v->has_system) {
		BERTH_TRY(berth_problem_new(&v->g, &v->s, &c->mem, &c->tmp, &v->p, err));
		BERTH_TRY(walk_critical(c, v, err));
	}
	BERTH_TRY(berth_graph_stats_new(&v->g, &c->mem, &c->tmp, &v->stats, err));
	if (a->replicas && !a->training)
		return berth_fail(err, BERTH_EINVAL, "show: option --replicas is for --training");
	return BERTH_OK;
}

/* ---- the document ---- */

#define TYPE(K, IF) \
	K(INT, "ops", "", "", x->type_ops[type]) \
	K(NUMBER, "flops", "FLOP", "", x->type_flops[type]) \
	K(NUMBER, "macs", "MAC", "", x->type_macs[type]) \
	K(INT, "read_bytes", "bytes", "", x->type_read_bytes[type]) \
	K(INT, "write_bytes", "bytes", "", x->type_write_bytes[type]) \
	K(INT, "param_bytes", "bytes", "a shared parameter counts for its first user", \
	  x->type_param_bytes[type]) \
	K(INT, "state_bytes", "bytes", "", x->type_state_bytes[type])
static RESULT_FLAT_KIND(type_kind, "", "", TYPE);

/* The same for the table. */
#define TYPE_ROW(K, IF) \
	K(TEXT, "type", "", "", type < g->n_types ? g->type_name[type] : "(none)") \
	K(INT, "ops", "", "", x->type_ops[type]) \
	K(NUMBER, "flops", "count", "", x->type_flops[type]) \
	K(NUMBER_OR_NULL, "share", "share", "", flops > 0 ? x->type_flops[type] / flops : NAN) \
	K(NUMBER, "moved", "bytes", "", \
	  (double)x->type_read_bytes[type] + (double)x->type_write_bytes[type]) \
	K(INT, "param_bytes", "bytes", "", x->type_param_bytes[type])
static RESULT_KIND(type_row_kind, "", "", TYPE_ROW);

#define DEVICE_ROW(K, IF) \
	K(TEXT, "name", "", "", v->s.dev_name[d]) \
	K(NS_OR_NULL, "total_s", "s", "", total_ns) \
	K(INT, "cannot_run", "", "", cannot) \
	K(MAP("number"), "types_s", "s", "", types)
static RESULT_KIND(device_row_kind, "", "", DEVICE_ROW);

#define ONNX(K, IF) \
	K(INT, "nodes", "", "in the file", r->n_nodes) \
	K(INT, "folded", "", "that are no operators", r->n_folded) \
	K(INT, "outputs", "", "of operators", r->n_outputs) \
	K(INT, "unknown", "", "of them, with an unknown shape", r->n_unknown) \
	K(NUMBER, "parameters", "", "numbers", r->param_elements) \
	K(MAP("integer"), "dims", "", "sizes left open: what was taken", dims) \
	K(TEXTS, "loops", "", "whose trips were assumed", (const char *const *)r->loop_name, r->n_loops) \
	K(TEXTS, "warnings", "", "", (const char *const *)r->warning, r->n_warnings)
static RESULT_KIND(onnx_kind, "", "", ONNX);

#define PROFILE(K, IF) \
	K(INT, "runs", "", "events of nodes", v->profile.n_runs) \
	K(INT, "timed", "", "operators with a time", v->profile.n_timed) \
	K(NUMBER, "joined_s", "s", "of events that have an operator", v->profile.joined_s) \
	K(NUMBER, "unjoined_s", "s", "of the others", v->profile.unjoined_s) \
	K(TEXTS, "unjoined", "", "their names", v->profile.unjoined, v->profile.n_unjoined) \
	K(TEXTS, "untimed", "", "operators without a time", v->profile.untimed, v->profile.n_untimed)
static RESULT_KIND(profile_kind, "", "", PROFILE);

#define CRITICAL(K, IF) \
	K(INT, "ops", "", "", v->critical_ops) \
	K(NS, "transfers_s", "s", "", v->transfer_ns) \
	K(MAP("number"), "types_s", "s", "time of the type on it", on_path)
static RESULT_KIND(critical_kind, "", "", CRITICAL);

#define GRAPH(K, IF) \
	K(TEXT, "name", "", "", g->name) \
	K(INT, "ops", "", "", g->n_ops) \
	K(INT, "edges", "", "", g->n_edges) \
	K(NUMBER, "flops", "FLOP", "", flops) \
	K(NUMBER, "macs", "MAC", "", berth_graph_macs(g)) \
	K(INT, "param_bytes", "bytes", "each shared parameter once", berth_graph_param_bytes(g)) \
	K(INT, "tensor_bytes", "bytes", "of all tensors", x->tensor_bytes) \
	K(INT, "state_bytes", "bytes", "", x->state_bytes) \
	K(INT, "moved_bytes", "bytes", "read and written", x->moved_bytes) \
	K(INT, "depth", "", "operators on the longest path", x->depth) \
	K(INT, "width", "", "most operators at one distance from the sources", x->width) \
	K(MAP("integer"), "types", "", "operators of the type; empty name: without one", types) \
	IF(x->pieces, INT, "cut_ops", "", \
	   "operators that stand in pieces, by their names ([splitting.md](splitting.md)); missing: none", \
	   x->cut_ops) \
	IF(x->pieces, INT, "pieces", "", "and their pieces; missing: none", x->pieces) \
	K(MAP_OF(type_kind), "by_type", "", "sums over the type", by_type) \
	IF(v->onnx.n_nodes, OBJECT(onnx_kind), "onnx", "", "only of ONNX models", onnx) \
	IF(v->has_profile, OBJECT(profile_kind), "profile", "", "only with `--profile`", profile) \
	IF(v->has_system, TEXT, "system", "", "this and all below: only with `--on`", v->s.name) \
	IF(v->has_system, NS_OR_NULL, "critical_path_s", "s", \
	   "CEFT length; null: an operator has no legal device", v->critical_ns) \
	IF(v->has_system, OBJECT_OR_NULL(critical_kind), "critical_path", "", "", critical) \
	IF(v->has_system, MAP("number or null"), "total_s", "s", \
	   "all operators on the device; null: none can run there", total) \
	IF(v->has_system, MAP("integer"), "cannot_run", "", "operators that the device cannot run", \
	  cannot_run) \
	IF(v->has_system, MAP("object"), "types_s", "", "of a device: seconds of each type there", types_s)
RESULT_KIND(show_graph_document, "Show a graph", "", GRAPH);

/* Of the types that take any time, those with most operators first. */
static berth_result_map *times_by_type(cli *c, const view *v, const int64_t *type_ns)
{
	berth_result_map *map = berth_result_map_new(&c->mem);
	for (int32_t i = 0; i <= v->g.n_types; i++) {
		int32_t type = v->stats.type_by_ops[i];
		if (type_ns[type] > 0)
			berth_result_map_add(map, type < v->g.n_types ? v->g.type_name[type] : "",
			                     berth_result_ns(type_ns[type]));
	}
	return map;
}

/* Where the time of each device goes, were all operators there that can be. */
static berth_status fill_devices(cli *c, view *v, berth_result_map *total, berth_result_map *cannot_run,
                                 berth_result_map *types_s, berth_err *err)
{
	v->device_rows = berth_result_list_new(&c->mem, &device_row_kind);
	for (int32_t d = 0; v->has_system && d < v->s.n_devs; d++) {
		int64_t *type_ns, total_ns = 0;
		int32_t cannot = 0;
		BERTH_TRY_NEW(&c->mem, v->g.n_types + 1, err, type_ns);
		for (int32_t op = 0; op < v->g.n_ops; op++) {
			int64_t time = berth_op_time(&v->p, op, d);
			cannot += time < 0;
			type_ns[type_of(&v->g, op)] += time < 0 ? 0 : time;
			total_ns += time < 0 ? 0 : time;
		}
		total_ns = cannot ? -1 : total_ns;
		const berth_result_map *types = times_by_type(c, v, type_ns);
		berth_result_map_add(total, v->s.dev_name[d], berth_result_ns_or_null(total_ns));
		berth_result_map_add(cannot_run, v->s.dev_name[d], berth_result_int(cannot));
		berth_result_map_add(types_s, v->s.dev_name[d], berth_result_map_value(types));
		RESULT_ADD(v->device_rows, DEVICE_ROW);
	}
	return BERTH_OK;
}

/* What an ONNX model said of itself, and what had to be assumed. */
static const berth_result *onnx_of(cli *c, const berth_read_report *r)
{
	berth_result_map *dims = berth_result_map_new(&c->mem);
	for (int32_t i = 0; i < r->n_dims; i++)
		berth_result_map_add(dims, r->dim_name[i], berth_result_int(r->dim_value[i]));
	return RESULT_NEW(&c->mem, onnx_kind, ONNX);
}

static berth_status fill(cli *c, view *v, const berth_result **out, berth_err *err)
{
	const berth_graph *g = &v->g;
	const berth_graph_stats *x = &v->stats;
	double flops = berth_graph_flops(g);
	berth_result_map *types = berth_result_map_new(&c->mem), *by_type = berth_result_map_new(&c->mem),
			 *total = berth_result_map_new(&c->mem), *cannot_run = berth_result_map_new(&c->mem),
			 *types_s = berth_result_map_new(&c->mem);
	v->type_rows = berth_result_list_new(&c->mem, &type_row_kind);
	for (int32_t i = 0; i <= g->n_types; i++) {
		int32_t type = x->type_by_ops[i];
		const char *name = type < g->n_types ? g->type_name[type] : "";
		if (!x->type_ops[type])
			continue;
		berth_result_map_add(types, name, berth_result_int(x->type_ops[type]));
		berth_result_map_add(by_type, name,
		                     berth_result_object(RESULT_NEW(&c->mem, type_kind, TYPE)));
		RESULT_ADD(v->type_rows, TYPE_ROW);
	}
	BERTH_TRY(fill_devices(c, v, total, cannot_run, types_s, err));
	const berth_result_map *on_path = v->has_system ? times_by_type(c, v, v->critical_type_ns) : NULL;
	const berth_result *critical =
		v->has_system && v->critical_ns >= 0 ? RESULT_NEW(&c->mem, critical_kind, CRITICAL) : NULL;
	const berth_result *onnx = onnx_of(c, &v->onnx);
	const berth_result *profile = RESULT_NEW(&c->mem, profile_kind, PROFILE);
	*out = RESULT_NEW(&c->mem, show_graph_document, GRAPH);
	return BERTH_OK;
}

/* ---- text ---- */

/* What an importer had to assume. Only ONNX models have nodes. */
static void print_onnx(const view *v)
{
	const berth_read_report *r = &v->onnx;
	if (r->n_nodes)
		cli_say("ONNX: %d node%s, %d of them known without running\n", r->n_nodes,
		        r->n_nodes == 1 ? "" : "s", r->n_folded);
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
	const berth_ort_report *r = &v->profile;
	double all = r->joined_s + r->unjoined_s;
	char share[32];
	if (!v->has_profile)
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

static berth_status print_devices(cli *c, const view *v, const berth_result *r, berth_err *err)
{
	cli_tell(r, NULL,
	         v->critical_ns < 0
	                 ? "\non {system}: critical path unknown, as an operator has no legal device"
	                 : "\non {system}: critical path {critical_path_s}");
	cli_say(" (no placement is faster)\n");
	if (v->critical_ns > 0)
		cli_tell(r, NULL,
		         "  through {critical_path.ops operator}[: {critical_path.types_s}]"
		         "[; {critical_path.transfers_s} of it transfers]\n");
	return cli_tell_rows(c, v->device_rows, NULL, CLI_AS_TEXT,
	                     "device=name|all operators=total_s|cannot run=cannot_run|"
	                     "<where the time goes=types_s",
	                     err);
}

static berth_status print_text(cli *c, const view *v, const berth_result *r, berth_err *err)
{
	cli_tell(r, NULL,
	         "{name}: {ops operator}, {edges edge}; longest path {depth}, widest level {width}\n"
	         "{flops} ({macs}), parameters {param_bytes}, tensors {tensor_bytes}[, state {state_bytes}]\n"
	         "[cut: {cut_ops operator} into {pieces} pieces\n]");
	print_onnx(v);
	/* Types that training has no rule for. */
	for (int32_t i = 0; i < v->training.n_unknown; i++)
		cli_say("training: no rule for type %s; its backward counts as twice its forward\n",
		        *v->training.unknown_type[i] ? v->training.unknown_type[i] : "(none)");
	print_joined(v);
	berth_result_list top = *v->type_rows;
	int32_t more = top.n - TOP_TYPES;
	top.n = more > 0 ? TOP_TYPES : top.n;
	cli_say("\n");
	BERTH_TRY(cli_tell_rows(c, &top, NULL, CLI_AS_TEXT,
	                        "type=type|operators=ops|FLOP=flops|share=share|bytes moved=moved|"
	                        "parameters=[{param_bytes}]",
	                        err));
	if (more > 0)
		cli_say("(and %d more type%s)\n", more, more == 1 ? "" : "s");
	return v->has_system ? print_devices(c, v, r, err) : BERTH_OK;
}

/* ---- files ---- */

berth_status show_graph(cli *c, const show_args *a, berth_err *err)
{
	view v = {0};
	const berth_result *r;
	if (a->placement && (!a->on || !a->dot))
		return berth_fail(err, BERTH_EINVAL,
		                  "show: --placement stands alone, or with --op NAME or --dot OUT; the "
		                  "latter needs --on SYSTEM where the file names none");
	BERTH_TRY(load(c, a, &v, err));
	if (a->times && !v.has_system)
		return berth_fail(err, BERTH_EINVAL, "show: --times needs --on SYSTEM");
	if (a->out) {
		const char *text;
		size_t size;
		BERTH_TRY(berth_graph_write_json(&v.g, true, &c->mem, &text, &size, err));
		BERTH_TRY(berth_file_write(a->out, text, size, err));
	}
	if (a->dot) {
		berth_placement p = {0};
		if (a->placement)
			BERTH_TRY(cli_placement_read(c, a->placement, &v.g, &v.s, &p, err));
		berth_export_source x = {.g = &v.g, .s = &v.s, .op_dev = p.op_dev};
		BERTH_TRY(berth_export("dot", &x, a->dot, &c->mem, &c->tmp, err));
	}
	if (a->op)
		return show_graph_op(c, &v.g, v.has_system ? &v.p : NULL, a->op, err);
	if (a->times)
		return show_times(c, &v.g, &v.s, err);
	if (a->blocks.name)
		return show_blocks(c, &a->blocks, &v.g, err);
	BERTH_TRY(fill(c, &v, &r, err));
	BERTH_TRY(cli_result(c, r, err));
	return cli_in_words(c) ? print_text(c, &v, r, err) : BERTH_OK;
}
