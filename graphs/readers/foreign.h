/* Files that are not read, and known by name: formats of other programs, archives, pages and pointers in the
 * place of a model. Reading one tells what it is and what to give instead. */
#pragma once

#include "graph_format.h"

/* Fails where the file is one of them: BERTH_EFORMAT. */
berth_status berth_foreign_check(const berth_content *from, berth_err *err);

/* begins as one of them */
extern const berth_format berth_format_foreign;

/* What a graph that somebody wrote by hand says and probably does not mean: types of operators that are
 * nearly those of ONNX, operators without a cost. */
/* Add a warning for each such type, and one for all such operators, to r, in mem. Of graphs in JSON and DOT
 * alone; costs are missed in DOT, but at its ends where others have some: those are dummies. tmp is scratch,
 * reset at exit. O(ops + types * types of ONNX). Fails: BERTH_ENOMEM. */
berth_status berth_graph_doubts(const berth_graph *g, berth_arena *mem, berth_arena *tmp,
                                berth_read_report *r, berth_err *err);
