/* Scotch as a placement method: static mapping by dual recursive bipartitioning (F. Pellegrini and J. Roman,
 * "Scotch: a software package for static mapping by dual recursive bipartitioning of process and
 * architecture graphs", HPCN 1996) onto the devices, weighted by speed, with their distances in time. */
#include "method.h"
#include "partition.h"

const char *partition_scotch_missing(void)
{
	return partition_scotch.cut ? NULL : partition_scotch.package;
}

static berth_status run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	return partition_run(s, &partition_scotch, tmp, err);
}

const berth_method berth_method_scotch = {"scotch",
                                          "Static mapping onto devices and links by dual recursive "
                                          "bipartitioning (Scotch; Pellegrini, Roman 1996).",
                                          false, run, partition_scotch_missing};
