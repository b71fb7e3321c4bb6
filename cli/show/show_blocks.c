/* berth show GRAPH --granularity G: the blocks of a graph, each with the sums over its operators. */
#include "results.h"
#include "say.h"
#include "show.h"
#include "tell.h"

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
		BERTH_TRY(BERTH_GROW(&c->mem, b->op, b->n_ops, &b->cap, err));
		b->op[b->n_ops++] = g->op_name[op];
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
