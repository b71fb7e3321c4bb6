/* The registry of berth-bench. */
#pragma once

#include "bench.h"

/* A new table is a file that defines bench_NAME, and a line here. */
#define BENCH_ENTRIES(X) \
	X(ablation) \
	X(berth) \
	X(both_sides) \
	X(bounds) \
	X(configure) \
	X(contract) \
	X(estimates) \
	X(exact) \
	X(exact_large) \
	X(fidelity) \
	X(fleets) \
	X(gaps) \
	X(gpu_times) \
	X(grouping) \
	X(knows) \
	X(learn) \
	X(mix) \
	X(new_pairs) \
	X(objectives) \
	X(planted) \
	X(policies) \
	X(pool_bounds) \
	X(post) \
	X(prior) \
	X(replicas) \
	X(serving) \
	X(solvers) \
	X(speed_groups) \
	X(speeds) \
	X(split) \
	X(split_speed) \
	X(tiled) \
	X(time) \
	X(train) \
	X(tune) \
	X(walks) \
	X(zero_shot) \
	X(zoo)

#define BENCH_DECLARE(name) extern const bench_entry bench_##name;
BENCH_ENTRIES(BENCH_DECLARE)
