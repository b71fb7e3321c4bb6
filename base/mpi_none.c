/* berth built without MPI: one rank, and several are refused; they would write one checkpoint. */
#include "all_gather.h"

berth_status berth_wire_open(berth_arena *mem, berth_wire *out, berth_err *err)
{
	const char *n = getenv("OMPI_COMM_WORLD_SIZE");
	(void)mem;
	*out = (berth_wire){0};
	if ((n && strcmp(n, "1") != 0) || (!n && getenv("PMIX_RANK")))
		return berth_fail(
			err, BERTH_EUNSUPPORTED,
			"started as one of %.20s ranks: this berth was built without MPI, so it is one "
			"alone; install libopenmpi-dev and build it again, or leave mpirun out",
			n ? n : "several");
	return BERTH_OK;
}
