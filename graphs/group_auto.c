/* The grouper to use where nothing is known of the graph: the one of least measured loss (docs/grouping.md). */
#include "group.h"

berth_status group_run_auto(group_work *w, berth_err *err)
{
	return group_run_heavy_edge(w, err);
}
