/* The methods of this folder and its rooms. The portfolio among them: seeds.h. */
#pragma once

#include "seeds.h"

/* A new method is a file that defines berth_method_NAME, and a line here. */
#define BERTH_HEURISTICS(X) \
	X(single) \
	X(random) \
	X(round_robin) \
	X(heft) \
	X(heft_lookahead) \
	X(heft_priced) \
	X(peft) \
	X(peft_priced) \
	X(peft_contended) \
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
	X(tabu) \
	X(genetic) \
	X(branch_and_bound) \
	X(milp) \
	X(dp) \
	X(ip) \
	X(split_point) \
	X(min_cut) \
	X(least_sum) \
	X(metis) \
	X(scotch) \
	X(m_sct) \
	X(split)

#define BERTH_DECLARE_METHOD(name) extern const berth_method berth_method_##name;
BERTH_HEURISTICS(BERTH_DECLARE_METHOD)

/* All of them. */
extern const berth_method *const berth_heuristics[];
extern const int32_t berth_n_heuristics;
