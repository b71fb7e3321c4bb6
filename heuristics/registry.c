/* The table of methods; see registry.h. */
#include "registry.h"

#define ENTRY(name) &berth_method_##name,

const berth_method *const berth_heuristics[] = {BERTH_HEURISTICS(ENTRY)};
const int32_t berth_n_heuristics = (int32_t)(sizeof berth_heuristics / sizeof *berth_heuristics);

const berth_method *const berth_portfolio_methods[] = {
	&berth_method_single, &berth_method_heft, &berth_method_ceft_cpop, &berth_method_pbqp,
	&berth_method_ceft_pbqp};
const int32_t berth_n_portfolio = (int32_t)(sizeof berth_portfolio_methods / sizeof *berth_portfolio_methods);

berth_status berth_start_from_portfolio(berth_search *s, berth_arena *tmp, berth_err *err)
{
	for (int32_t i = 0; i < berth_n_portfolio && (i == 0 || !berth_search_cancelled(s)); i++)
		BERTH_TRY(berth_method_run(berth_portfolio_methods[i], s, tmp, err));
	return BERTH_OK;
}
