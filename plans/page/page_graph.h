/* What a page leaves out, in plain words. */
#pragma once

#include "json.h"
#include "timeline.h"

typedef struct page_left {
	const char *text[8];
	int32_t n;
	bool failed; /* out of memory; told by page_left_put */
} page_left;

/* Add a sentence; in mem. At most eight. */
void page_left_add(page_left *left, berth_arena *mem, const char *fmt, ...) BERTH_PRINTF(3, 4);

/* "100,000". Returns buf. */
char *page_count(char buf[32], int64_t count);

/* "left_out": [sentence, ...]. Fails: BERTH_ENOMEM. */
berth_status page_left_put(berth_json_out *w, const page_left *left, berth_err *err);

/* The graph of a placed problem for a page: operators, or groups of them where there are too many. */

enum {
	BERTH_PAGE_GROUPS = 600, /* of a graph that is shown in groups, at most */
	BERTH_PAGE_EDGES = 20000 /* those of most bytes */
};

/* A group for each operator, where a graph is too large to be shown one by one: those whose names have the
 * same first words (words end at '/' and '.'), as many words as leave at most BERTH_PAGE_GROUPS groups. Where
 * no words do: the layers that repeat, or runs of operators in topological order.
 *   op_group  out [n_ops]; groups are numbered by their first operator in topological order
 *   label     out, in mem: [*n_groups]
 *   *words    words of a label at most; 0: runs; -1: layers
 * tmp is scratch, another arena, reset at exit. Fails: BERTH_ENOMEM. O(length of all names * words). */
berth_status page_group(const berth_graph *g, berth_arena *mem, berth_arena *tmp, int32_t *op_group,
                        const char ***label, int32_t *n_groups, int32_t *words, berth_err *err);

/* "graph": {...}.
 *   op_row  [n_ops] row of the page's list of operators; -1: not in it. All of them are in it, or some are
 *           not, and then the graph is told in groups
 * What is left out is added to left, in mem. tmp is scratch, another arena, reset at exit. Fails:
 * BERTH_ENOMEM. */
berth_status page_put_graph(berth_json_out *w, const berth_problem *p, const berth_timeline *t,
                            const int32_t *op_row, bool grouped, page_left *left, berth_arena *mem,
                            berth_arena *tmp, berth_err *err);
