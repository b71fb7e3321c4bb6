/* berth show: a graph, a system, a placement or a policy at a glance. */
#include "results.h"
#include "sandboxed.h"
#include "say.h"
#include "show.h"
#include "tell.h"

/* ---- the blocks of a graph, each with the sums over its operators ---- */

/* Sums over the operators of a block. */
typedef struct block {
	const char **op; /* [n_ops] */
	int32_t n_ops;
	size_t cap;
	double flops, param_bytes, state_bytes;
} block;

static berth_status sum_up(cli *c, const berth_graph *g, const berth_granularity *x, block **out,
                           berth_err *err)
{
	block *list;
	BERTH_TRY_NEW(&c->mem, x->n_blocks, err, list);
	for (int32_t op = 0; op < g->n_ops; op++) {
		block *b = &list[x->op_block[op]];
		BERTH_TRY(BERTH_PUSH(&c->mem, b->op, b->n_ops, &b->cap, err, g->op_name[op]));
		b->flops += g->op_flops[op];
		b->param_bytes += (double)g->op_param_bytes[op];
		b->state_bytes += (double)g->op_state_bytes[op];
	}
	for (int32_t i = 0; i < g->n_params; i++) /* a shared one counts where it is used first */
		if (g->param_op_off[i + 1] > g->param_op_off[i])
			list[x->op_block[g->param_op[g->param_op_off[i]]]].param_bytes +=
				(double)g->param_bytes[i];
	*out = list;
	return BERTH_OK;
}

#define BLOCK(K, IF) \
	K(TEXT, "name", "", "", blocks.block_name[i]) \
	K(TEXTS, "ops", "", "", b->op, b->n_ops) \
	K(NUMBER, "flops", "FLOP", "", b->flops) \
	K(NUMBER, "param_bytes", "bytes", "a shared parameter counts for its first user", b->param_bytes) \
	K(NUMBER, "state_bytes", "bytes", "", b->state_bytes)
static RESULT_KIND(block_kind, "", "", BLOCK);

#define BLOCKS(K, IF) \
	K(TEXT, "name", "", "of the graph", g->name) \
	K(LIST(block_kind), "blocks", "", "in program order", list)
RESULT_KIND(show_blocks_document, "Show the blocks of a graph", "`show GRAPH --granularity G`.", BLOCKS);

berth_status show_blocks(cli *c, const cli_granularity *x, const berth_graph *g, berth_err *err)
{
	berth_granularity blocks;
	block *sums;
	BERTH_TRY(cli_granularity_blocks(c, x, g, &blocks, err));
	BERTH_TRY(sum_up(c, g, &blocks, &sums, err));
	berth_result_list *list = berth_result_list_new(&c->mem, &block_kind);
	for (int32_t i = 0; i < blocks.n_blocks; i++) {
		const block *b = &sums[i];
		RESULT_ADD(list, BLOCK);
	}
	const berth_result *r = RESULT_NEW(&c->mem, show_blocks_document, BLOCKS);
	BERTH_TRY(cli_result(c, r, err));
	if (!cli_in_words(c))
		return BERTH_OK;
	cli_tell(r, NULL, "{name}: {blocks block} of ");
	cli_say("%d operator%s\n\n", g->n_ops, g->n_ops == 1 ? "" : "s");
	return cli_tell_rows(c, list, NULL, CLI_AS_TEXT,
	                     "block=name|operators={ops:d}|FLOP={flops:count}|parameters=[{param_bytes}]|"
	                     "state=[{state_bytes}]",
	                     err);
}

/* ---- the verb ---- */

/* What only graphs have. */
static berth_status check_plain(const cli *c, const char *what, berth_err *err)
{
	const char *option = cli_given(
		c, "on|placement|op|dim|training|fuse|replicas|profile|times|granularity");
	const char *hint = strcmp(what, "a placement") ? "" : " (berth simulate takes it by --placement)";
	return option ? berth_fail(err, BERTH_EINVAL, "show: option --%s is for graphs, but %s is %s%s",
	                           option, c->args[0], what, hint)
	              : BERTH_OK;
}

static berth_status show(cli *c, show_args *a, berth_err *err)
{
	berth_input input;
	a->input = c->args[0];
	BERTH_TRY(berth_input_of(a->input, cli_sandbox(c), &input, err));
	if (c->calibrate.n && input != BERTH_INPUT_SYSTEM && !a->on)
		return berth_fail(err, BERTH_EINVAL,
		                  "show: option --calibrate is for systems and graphs --on one, but %s is "
		                  "neither",
		                  a->input);
	switch (input) {
	case BERTH_INPUT_GRAPH:
		if (a->placement && a->times && !*a->times)
			return berth_fail(err, BERTH_EINVAL,
			                  "show: --times lists times without --placement; beside it, it is "
			                  "--times model or --times roofline");
		if (a->placement && a->dot && !a->on)
			BERTH_TRY(show_placed_system(c, a->placement, &a->on, err));
		if (!a->placement || (!a->op && (a->dot || a->out || a->profile.n || a->fuse)))
			return show_graph(c, a, err);
		a->graph = a->input;
		return a->op ? show_placed_op(c, a, err) : show_placed_graph(c, a, err);
	case BERTH_INPUT_SYSTEM:
		BERTH_TRY(check_plain(c, "a system", err));
		return show_system(c, a, err);
	case BERTH_INPUT_PLACEMENT:
		if (a->op) {
			a->placement = a->input;
			return show_placed_op(c, a, err);
		}
		BERTH_TRY(check_plain(c, "a placement", err));
		return show_placement(c, a, err);
	case BERTH_INPUT_POLICY: break;
	}
	BERTH_TRY(check_plain(c, "a policy", err));
	return show_policy(c, a, err);
}

static berth_status run(cli *c, berth_err *err)
{
	show_args a = {.blocks = cli_granularity_default()};
	const cli_option options[] = {
		{"on", 0, CLI_FILE_IN, &a.on, "SYSTEM", "times of a graph's operators on this system"},
		{"placement", 0, CLI_FILE_IN, &a.placement, "FILE",
	         "a placement of the graph: what stands where; colours for --dot, times for "
	         "--op"},
		{"op", 0, CLI_TEXT, &a.op, "NAME",
	         "one operator: its neighbours; of a placement when and why it runs there"},
		{"granularity", 0, CLI_FILE_IN, &a.blocks.name, "G",
	         "the blocks of a graph instead of its types: block, layer, kernel, op, or a file of blocks"},
		{"times", 0, CLI_WORD, &a.times, "model|roofline",
	         "with --on: predicted times of operators, how far off they may be, what they are from"},
		{"profile", 0, CLI_FILES_MANY, &a.profile, "[DEVICE=]PROFILE",
	         "measured times of operators out of a profile of ONNX Runtime; with -o to a file"},
		{"training", 0, CLI_FLAG, &a.training, NULL,
	         "a whole training step (Adam) of an inference graph instead of it; with -o to a file"},
		{"fuse", 0, CLI_FLAG, &a.fuse, NULL,
	         "what engines run as one kernel as one operator; with -o to a file"},
		{"replicas", 0, CLI_COUNT, &a.replicas, "N",
	         "with --training: copies of a parameter that pieces of an operator share\ta copy a piece"},
		CLI_CALIBRATE(c),
		{"for", 0, CLI_TEXT, &c->engine, "ENGINE",
	         "with --calibrate: the engine that was timed, which runs operators in its own way: ort, "
	         "llama.cpp, accelerate, torch, openvino, vllm, none"},
		CLI_READING(c),
		{"dot", 0, CLI_FILE_OUT, &a.dot, "OUT", "write a graph as DOT text for Graphviz"},
		{"output", 'o', CLI_FILE_OUT, &a.out, "OUT", "write a graph or system as berth's own JSON"},
		CLI_COMMON(c)};
	BERTH_TRY(cli_parse(c, options, 1, 1, err));
	c->times = a.times && *a.times ? a.times : NULL;
	return c->help ? BERTH_OK : show(c, &a, err);
}

static const cli_rule rules[] = {
	{"for", "!calibrate", "show: --for tells which engine was timed: give --calibrate, too"}};

const cli_verb cmd_show = {
	"show",
	"show GRAPH|SYSTEM|PLACEMENT|POLICY [--on SYSTEM] [--op NAME] [--dim NAME=N] [--dot OUT] [-o OUT]",
	"print a graph, a system, a placement or a policy at a glance",
	"Example: berth show model.onnx --dim batch=8 --on system:cpu+2gpu -o model.json\n",
	run,
	CLI_RULES_OF(rules)};
