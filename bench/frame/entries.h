/* The registry of berth-bench: a table is a function table_NAME and a row here, with the words that may stand
 * behind its name, its page, how long it takes, what it tells, and the usual values of its options. */
#pragma once

#include "bench.h"
#include "fine_tune.h"

/* Of a program of its own, too. */
#define BENCH_CONTRACT(X) \
	X(contract, "", "methods", "5 min", \
	  "what berth owes to whoever picks it; fails where it does not keep that", \
	  .instances = 60, .evaluations = 1000)

#define BENCH_ENTRIES(X) \
	X(ablation, "", "learning", "1 h", "berth with a part less", .evaluations = 2400, .seeds = 10) \
	X(bounds, "[MODEL...]", "bounds", "2 h", "best known placements of the zoo against the bounds", \
	  .evaluations = 5000) \
	X(configure, "", "clusters", "1 h", "how often the best configuration is chosen", .instances = 200) \
	BENCH_CONTRACT(X) \
	X(estimates, "", "learning", "1 min", "estimates of moves against the simulator", 0) \
	X(exact, "", "bounds", "20 min", \
	  "what branch and bound (nodes) and milp (more nodes) prove on groups", \
	  .nodes = -1, .more_nodes = -1) \
	X(exact_large, "", "bounds", "30 min", \
	  "the same on larger ones: branch and bound, and trees of cases (more nodes)", \
	  .nodes = 200000, .more_nodes = 5000) \
	X(fidelity, "", "performance", "1 min", \
	  "how well simpler models rank placements for the full one", 0) \
	X(fleets, "", "learning", "1 h", "the policy fine-tuned on fleets, so many CPU seconds each", \
	  .seconds = BERTH_FINE_TUNE_S, .threads = 2) \
	X(gaps, "[MODEL...]", "bounds", "20 min", "seconds to a proven gap, and operators fixed by it", \
	  .evaluations = 5000) \
	X(gpu_times, "FOLDER [FILE]", "execution-model", "3 min", \
	  "fits the time model of GPUs and tells its errors on GPUs left out", 0) \
	X(grouping, "", "methods", "2 h", "what grouping costs", .evaluations = 4000, .seeds = 1) \
	X(learn, "", "learning", "30 min", "learning alone", .evaluations = 10000, .seeds = 10) \
	X(layouts, "", "clusters", "10 s", "layouts on Helix's clusters, published ones and ours", 0) \
	X(layouts_large, "", "clusters", "1 min", "layouts on up to 1,024 servers of eight kinds", 0) \
	X(measured, "MODEL...", "measured", "30 min", "learning where an evaluation is a real run", \
	  .evaluations = 100, .seeds = 3) \
	X(mix, "", "clusters", "2 min", "copies for requests of unlike sizes", .evaluations = 1000) \
	X(new_pairs, "", "learning", "1 h", "the same on 100 pairs drawn by a rule, for each objective", \
	  .evaluations = 10000) \
	X(objectives, "", "learning", "30 min", "energy, energy-delay product and throughput", \
	  .evaluations = 2400, .seeds = 10) \
	X(passes, "", "learning", "5 min", "what the policy sees, and what its passes and draws are worth", \
	  .evaluations = 10000) \
	X(pipelines, "[FILE]", "clusters", "1 s", \
	  "training steps measured on two clusters, and as predicted; or plans of a file", 0) \
	X(planted, "", "bounds", "1 h", "searches and bounds beside planted optima", \
	  .instances = 25, .evaluations = 5000) \
	X(policies, "FILE...", "learning", "20 min", "one pass of policies in files on the pairs held out", \
	  .evaluations = 10000, .threads = 2) \
	X(pool_bounds, "", "bounds", "5 min", "the bound of memory pools, and without them", \
	  .evaluations = 3000) \
	X(quickest, "", "learning", "8 min", "berth by annealing from peft-contended in a short time", \
	  .seeds = 3) \
	X(replicas, "", "clusters", "2 min", "copies of a model for throughput", .evaluations = 1000) \
	X(serving, "", "clusters", "1 min", "language models over unlike servers", 0) \
	X(solvers, "", "learning", "5 min", "other solvers at equal CPU time", .seeds = 3, .seconds = 1) \
	X(speed_groups, "", "performance", "0 s", "what the groups of speeds are", 0) \
	X(speeds, "[GROUP...]", "performance", "15 min", "speeds of the parts: speed-groups lists them", 0) \
	X(split, "", "methods", "20 min", "how close splitting comes to proven optima", 0) \
	X(split_speed, "", "methods", "20 min", \
	  "how much sooner than the mixed-integer program splitting answers", 0) \
	X(time, "", "learning", "15 min", "annealing and berth at equal CPU time", .seeds = 3, .seconds = 1) \
	X(tune, "paths|loads|parts", "learning", "hours; parts 10 min", \
	  "learns the numbers of annealing's walks", \
	  .rounds = 40, .instances = 600, .evaluations = 1000, .threads = 2) \
	X(walks, "", "learning", "30 min", "walks side by side by one walk", \
	  .evaluations = 20000, .seeds = 5) \
	X(worlds, "", "learning", "10 min", "berth and annealing by blind annealing in every cost model", \
	  .instances = 14, .seeds = 3, .seconds = 0.3) \
	X(zero_shot, "", "learning", "30 min", "the shipped policy on what it has not seen", \
	  .evaluations = 10000) \
	X(zoo, "", "importers", "1 s", "models against their published figures", 0)

#define BENCH_DECLARE(name, ...) void table_##name(const bench_options *o);
BENCH_ENTRIES(BENCH_DECLARE)
