/* The parts of berth-learning that stand in files of their own, and what all share. */
#ifndef BERTH_LEARNING_PARTS_H
#define BERTH_LEARNING_PARTS_H

#include "bounds.h"
#include "graph.h"
#include "method.h"
#include "policy_file.h"
#include "problem.h"
#include "system.h"

typedef struct subject {
	berth_arena mem, tmp;
	berth_graph g;
	berth_system s;
	berth_problem p;
	berth_bounds b;
} subject;

/* Exit with the message where it is none. */
void must(berth_status st, const berth_err *err);

void open_subject_of(subject *x, const char *graph, const char *system);
void close_subject(subject *x);

/* The instances that the first tables share. */
int n_instances(void);
void open_instance(subject *x, int i);
void print_instance_name(int i);

/* Value of a method's answer; infinite where it exceeds memory. cfg: seed, evaluations or time, policy. */
double run_with(const subject *x, const char *name, const berth_search_cfg *cfg);
double run_this(const subject *x, const berth_method *method, const berth_search_cfg *cfg);

/* The method of that name; exit where there is none. */
const berth_method *method_called(const char *name);

/* Median value of a method's answers with so many CPU seconds, seeds from 1; at most 100. */
double median_timed(const subject *x, const berth_method *method, int n_seeds, double seconds);

/* One forward pass of the shipped policy on model families and machines that it was not trained on. */
void table_zero_shot(int64_t evaluations);
/* The same on 100 pairs drawn by a rule, for each objective. */
void table_new_pairs(int64_t evaluations);

/* One forward pass of each of n policies on the pairs of table_zero_shot; and of those in n files. */
void table_of_policies(int64_t evaluations, int n, const berth_policy_file *policy, const char *const *name);
void table_policies(int64_t evaluations, int n, char *const *path);

/* What the shipped policy knows: what its features are worth to it, whether its probabilities are what they
 * say, and ten of its placements beside those of a search. */
void table_knows(int64_t evaluations);

/* All learners on tiled matrix programs, at the budget of the papers. */
void table_tiled(int n_seeds, int64_t evaluations);

/* Evaluations to come near the best known, from the learned prior and from others; at most `most`. */
void table_prior(int n_seeds, int64_t most);

/* berth with a part less. */
void table_ablation(int n_seeds, int64_t evaluations);

/* Energy, energy-delay product, throughput. */
void table_objectives(int n_seeds, int64_t evaluations);

/* The two models of the demo. Writes a file to /tmp, and takes it away. */
void table_train(int n_seeds, int64_t evaluations);

/* The shipped policy fine-tuned on fleets, in so many CPU seconds each by the rule of thumb. Writes a file to
 * /tmp, and takes it away. */
void table_fleets(double seconds);

/* Estimates of moves against the simulator. */
void table_estimates(void);

/* The instances of tables at equal time; the name is printed as the first cell of a row. */
int n_timed_instances(void);
void open_timed_instance(subject *x, int i);
void print_timed_instance(int i);

/* Annealing as it was before there were estimates, with the seeds of that time. */
const berth_method *plain_annealing(void);

/* Walks side by side by one walk, with the same evaluations. */
void table_walks(int n_seeds, int64_t evaluations);

/* berth and annealing at equal CPU time. seeds from 1. */
void table_time(int n_seeds, double seconds);

/* berth, its rivals and a solver at equal CPU time, on every sixth instance. */
void table_solvers(int n_seeds, double seconds);

#endif
