/* berth built without a solver: models can be written, not solved. */
#include "lp.h"

const char *berth_lp_solver(void)
{
	return NULL;
}

berth_status berth_lp_solve(const berth_lp *lp, const berth_lp_options *options, berth_arena *mem,
                            berth_arena *tmp, berth_lp_result *out, berth_err *err)
{
	(void)options, (void)mem, (void)tmp, (void)out;
	return berth_fail(err, BERTH_EUNSUPPORTED,
	                  "no solver for the model '%s': install %s and build berth again", lp->name,
	                  berth_lp_missing());
}
