/* METIS as a placement method: multilevel partitioning (G. Karypis and V. Kumar, "A fast and high quality
 * multilevel scheme for partitioning irregular graphs", SIAM J. Sci. Comput. 20(1), 1998), memory as a
 * second balance constraint; parts then get devices by what they take there (partition_match). */
#include "method.h"
#include "partition.h"

const char *partition_metis_missing(void)
{
	return partition_metis.cut ? NULL : partition_metis.package;
}

static berth_status run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	return partition_run(s, &partition_metis, tmp, err);
}

const berth_method berth_method_metis = {
	"metis",
	"Partition with the least cut, parts as large as devices are fast (METIS; Karypis, Kumar 1998).",
	false, run, partition_metis_missing};
