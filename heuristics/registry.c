/* The methods of this folder: a new one is a file that defines berth_method_NAME, and a line here. */
#include "method.h"

#define METHODS(X) \
	X(single) \
	X(random) \
	X(round_robin) \
	X(heft) \
	X(heft_lookahead) \
	X(peft) \
	X(cp_list) \
	X(m_topo) \
	X(m_etf) \
	X(cpop) \
	X(ceft) \
	X(ceft_cpop) \
	X(heft_ceft) \
	X(pbqp) \
	X(ceft_pbqp) \
	X(anneal) \
	X(local_search) \
	X(genetic) \
	X(branch_and_bound) \
	X(brute_force) \
	X(milp) \
	X(dp) \
	X(ip) \
	X(metis) \
	X(scotch) \
	X(m_sct) \
	X(split)

#define DECLARE(name) extern const berth_method berth_method_##name;
#define ENTRY(name) &berth_method_##name,

METHODS(DECLARE)

const berth_method *const berth_heuristics[] = {METHODS(ENTRY)};
const int32_t berth_n_heuristics = (int32_t)(sizeof berth_heuristics / sizeof *berth_heuristics);

const berth_method *const berth_portfolio_methods[] = {&berth_method_single, &berth_method_heft,
                                                       &berth_method_ceft_cpop, &berth_method_pbqp,
                                                       &berth_method_ceft_pbqp};
const int32_t berth_n_portfolio = (int32_t)(sizeof berth_portfolio_methods / sizeof *berth_portfolio_methods);
