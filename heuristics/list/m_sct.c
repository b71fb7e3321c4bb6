/* m-SCT of Baechi (Jeon et al. 2020, see m_topo.c): earliest task first with favourite children
 * (favourite.h, etf.h), where memory allows it. */
#include "etf.h"
#include "favourite.h"
#include "lp.h"
#include "method.h"

static berth_status run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	int32_t *op_child;
	favourite_cfg cfg = favourite_cfg_default();
	if (!berth_lp_solver())
		return berth_fail(err, BERTH_EUNSUPPORTED,
		                  "method m-sct needs a solver: install %s and build berth again",
		                  berth_lp_missing());
	BERTH_TRY(BERTH_NEW(tmp, op_child, s->p->n_ops, err));
	BERTH_TRY(favourite_children(s->p, &cfg, op_child, NULL, tmp, err));
	return etf_offer(s, op_child, tmp, err);
}

const berth_method berth_method_m_sct = {
	"m-sct",
	"Earliest start with favourite children kept on their parents' device (Baechi, Jeon et al. 2020).",
	false, run, berth_lp_missing};
