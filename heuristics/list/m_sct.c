/* m-SCT of Baechi (Jeon et al. 2020, see m_topo.c): earliest task first with favourite children
 * (favourite.h, etf.h), where memory allows it. */
#include "etf.h"
#include "favourite.h"
#include "lp.h"
#include "method.h"

#define WINDOW_NS 1e8 /* of a window's program, about */
#define KEPT_SHARE 0.5 /* of the time is left for the schedules */

typedef struct patience {
	berth_search *s;
	double kept_s; /* seconds */
} patience;

/* Favourites stop where there is no more time for them. */
static bool go_on(void *ctx)
{
	const patience *x = ctx;
	return berth_search_afford(x->s, WINDOW_NS) && berth_search_seconds_left(x->s) > x->kept_s;
}

static berth_status run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	int32_t *op_child;
	favourite_cfg cfg = favourite_cfg_default();
	patience x = {s, KEPT_SHARE * berth_search_seconds_left(s)};
	if (!berth_lp_solver())
		return berth_fail(err, BERTH_EUNSUPPORTED,
		                  "method m-sct needs a solver: install %s and build berth again",
		                  berth_lp_missing());
	if (berth_search_timed(s)) {
		cfg.go_on = go_on;
		cfg.ctx = &x;
	}
	BERTH_TRY(BERTH_NEW(tmp, op_child, s->p->n_ops, err));
	BERTH_TRY(favourite_children(s->p, &cfg, op_child, NULL, tmp, err));
	return etf_offer(s, op_child, tmp, err);
}

const berth_method berth_method_m_sct = {
	"m-sct",
	"Earliest start with favourite children kept on their parents' device (Baechi, Jeon et al. 2020).",
	false, run, berth_lp_missing};
