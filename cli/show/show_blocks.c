/* See show_blocks.h. */
#include "show_blocks.h"

#include "json.h"
#include "print.h"
#include "say.h"
#include "text.h"


/* Sums over the operators of a block. */
typedef struct block {
	int32_t n_ops;
	double flops, param_bytes, state_bytes;
} block;

static berth_status sum_up(cli *c, const berth_graph *g, const berth_granularity *x, block **out,
                           berth_err *err)
{
	block *list;
	BERTH_TRY(BERTH_NEW(&c->mem, list, x->n_blocks, err));
	for (int32_t op = 0; op < g->n_ops; op++) {
		block *b = &list[x->op_block[op]];
		b->n_ops++;
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

static berth_status print_json(cli *c, const berth_graph *g, const berth_granularity *x, const block *list,
                               berth_err *err)
{
	berth_json_out w;
	berth_json_out_init(&w, &c->mem, true);
	berth_json_open(&w, NULL, '{');
	berth_json_put_string(&w, "name", g->name);
	berth_json_open(&w, "blocks", '[');
	for (int32_t i = 0; i < x->n_blocks; i++) {
		berth_json_open(&w, NULL, '{');
		berth_json_put_string(&w, "name", x->block_name[i]);
		berth_json_open(&w, "ops", '[');
		berth_json_flat(&w, true);
		for (int32_t op = 0; op < g->n_ops; op++)
			if (x->op_block[op] == i)
				berth_json_put_string(&w, NULL, g->op_name[op]);
		berth_json_close(&w, ']');
		berth_json_flat(&w, false);
		berth_json_put_number(&w, "flops", list[i].flops);
		berth_json_put_number(&w, "param_bytes", list[i].param_bytes);
		berth_json_put_number(&w, "state_bytes", list[i].state_bytes);
		berth_json_close(&w, '}');
	}
	berth_json_close(&w, ']');
	berth_json_close(&w, '}');
	return cli_print_json(&w, err);
}

static berth_status print_text(cli *c, const berth_graph *g, const berth_granularity *x, const block *list,
                               berth_err *err)
{
	cli_table table;
	char a[32];
	cli_say("%s: %d block%s of %d operator%s\n\n", g->name, x->n_blocks, x->n_blocks == 1 ? "" : "s",
	        g->n_ops, g->n_ops == 1 ? "" : "s");
	cli_table_init(&table, &c->mem, "lrrrr");
	cli_table_head(&table, "block|operators|FLOP|parameters|state");
	for (int32_t i = 0; i < x->n_blocks; i++) {
		cli_cell(&table, "%s", x->block_name[i]);
		cli_cell(&table, "%d", list[i].n_ops);
		cli_cell(&table, "%s", berth_text_count(a, list[i].flops));
		cli_cell(&table, "%s",
		         list[i].param_bytes > 0 ? berth_text_bytes(a, list[i].param_bytes) : "-");
		cli_cell(&table, "%s",
		         list[i].state_bytes > 0 ? berth_text_bytes(a, list[i].state_bytes) : "-");
	}
	return cli_table_print(&table, CLI_AS_TEXT, err);
}

berth_status show_blocks(cli *c, const cli_granularity *x, const berth_graph *g, berth_err *err)
{
	berth_granularity blocks;
	block *list;
	BERTH_TRY(cli_granularity_blocks(c, x, g, &blocks, err));
	BERTH_TRY(sum_up(c, g, &blocks, &list, err));
	if (c->json)
		return print_json(c, g, &blocks, list, err);
	return c->quiet ? BERTH_OK : print_text(c, g, &blocks, list, err);
}
