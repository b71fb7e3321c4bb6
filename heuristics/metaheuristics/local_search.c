/* The method `local-search`: iterated local search (improve.h) from the best of the portfolio. Where nothing
 * can move it walks over orders. */
#include "coloc.h"
#include "improve.h"
#include "order_walk.h"
#include "registry.h"

static berth_status local_search_run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	BERTH_TRY(berth_start_from_portfolio(s, tmp, err));
	return berth_can_move(s->p) ? berth_local_search(s, tmp, err) : berth_walk_orders(s, tmp, err);
}

const berth_method berth_method_local_search = {
	"local-search",
	"Iterated local search over moves of colocation groups (Lourenco, Martin, Stuetzle 2003).",
	true,
	local_search_run,
	NULL,
	"Lourenco, Martin, Stuetzle 2003"};
