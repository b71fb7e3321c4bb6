/* --granularity and --nearest of export: plans of whole blocks. */
#ifndef BERTH_CLI_EXPORT_BLOCKS_H
#define BERTH_CLI_EXPORT_BLOCKS_H

#include "export_plan.h"
#include "print.h"

typedef struct export_blocks {
	const char *granularity; /* NULL: none was asked for */
	bool nearest;
	int32_t moved;           /* operators; -1: the plan is as it was */
	double before;           /* the plan's value before; NAN: not known */
} export_blocks;

/* Hold the plan against the blocks; with nearest make it the nearest one that has each of them whole, and
 * price it. Fails: BERTH_EUNSUPPORTED (a block is on several devices; none can run it), as the readers. */
berth_status export_blocks_apply(cli *c, export_blocks *b, export_plan *x, berth_err *err);

/* What was moved, and what that costs; nothing where nothing was. */
void export_blocks_put(berth_json_out *w, const export_blocks *b, const export_plan *x);
void export_blocks_print(const export_blocks *b, const export_plan *x);

#endif
