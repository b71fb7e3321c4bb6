/* Where StarPU was not found at build. */
#include "exec.h"

static berth_status open_pool(int32_t n, const int32_t *cores, berth_arena *mem, void **ex, berth_err *err)
{
	(void)n, (void)cores, (void)mem, (void)ex;
	return berth_fail(err, BERTH_EIO,
	                  "this engine was built without StarPU: install libstarpu-dev and build again, or "
	                  "use --executor threads");
}

const exec_kind exec_starpu = {"starpu", open_pool, NULL, NULL, NULL, NULL};
