/* --granularity and --nearest of export: plans of whole blocks, and plans that the target can express. */
#ifndef BERTH_CLI_EXPORT_BLOCKS_H
#define BERTH_CLI_EXPORT_BLOCKS_H

#include "export_plan.h"
#include "print.h"
#include "say.h"

typedef struct export_blocks {
	const char *granularity; /* NULL: none was asked for */
	bool nearest;
	const int32_t *plan; /* [n_ops] devices as they were read */
	int32_t moved;       /* operators; -1: the plan is as it was */
	double before;       /* the plan's value before; NAN: not known */
} export_blocks;

/* Hold the plan against the blocks; with nearest make it the nearest one that has each of them whole, and
 * price it. Fails: BERTH_EUNSUPPORTED (a block is on several devices; none can run it), as the readers. */
berth_status export_blocks_apply(cli *c, export_blocks *b, const berth_exporter *e, export_plan *x,
                                 berth_err *err);

/* Of a plan with whole blocks, source's: with nearest make it the nearest one that e can express, and price
 * it. source then holds it, too. */
berth_status export_blocks_express(cli *c, export_blocks *b, const berth_exporter *e,
                                   berth_export_source *source, export_plan *x, berth_err *err);

/* e refuses the plan of source with st: where there is one of whole layers that it can be told, name it
 * behind the message, with its price. Returns st. Fails otherwise: BERTH_ENOMEM. */
berth_status export_blocks_hint(cli *c, const export_blocks *b, const berth_exporter *e,
                                const berth_export_source *source, const export_plan *x, berth_status st,
                                berth_err *err);

/* What was moved, and what that costs; nothing where nothing was. */
void export_blocks_put(berth_json_out *w, const export_blocks *b, const export_plan *x);
void export_blocks_print(const export_blocks *b, const export_plan *x, cli_sayer say);

#endif
