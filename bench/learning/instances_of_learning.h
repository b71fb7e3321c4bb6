/* Instances of the tables of docs/learning.md, and what several of these tables share. */
#pragma once

#include "bench.h"
#include "policy_file.h"
#include "rng.h"

/* With room to learn in. */
enum { N_SIX = 6 };
extern const bench_pair six[N_SIX];

/* Of equal time: first those chosen, then as many drawn by a rule. print_timed: a row's first cell. */
enum { N_CHOSEN = 28, N_TIMED = 2 * N_CHOSEN, NAME_SIZE = 112 };
void timed_pair(int i, char graph[NAME_SIZE], char system[NAME_SIZE]);
void open_timed(subject *x, int i);
void print_timed(int i);

/* Annealing as it was before there were estimates, with the seeds of that time. */
extern const berth_method plain_annealing;

/* What the shipped policy was not trained on. */

/* Pairs by a list: each of these graphs on each of these systems. No family is in scripts/training-pairs, but
 * random graphs, with other seeds. Four systems are built in, four are random ones of sizes that training
 * saw, three of sizes that it did not. */
typedef struct held_out_system {
	const char *name;
	bool unseen_size;
} held_out_system;

enum { HELD_OUT_GRAPHS = 15, HELD_OUT_SYSTEMS = 11, HELD_OUT_PAIRS = HELD_OUT_GRAPHS * HELD_OUT_SYSTEMS };

extern const char *const held_out_graphs[HELD_OUT_GRAPHS];
extern const held_out_system held_out_systems[HELD_OUT_SYSTEMS];

/* Pairs by a rule. */
enum { HELD_OUT_FAMILIES = 10, HELD_OUT_TEXT = 128 };

/* A model of a family below HELD_OUT_FAMILIES. */
const char *held_out_model(uint32_t family, berth_rng *rng);

/* Three to seven devices; their spread of speeds, links and memories are drawn, the topologies come in
 * turn. */
void held_out_machine(int seed, berth_rng *rng, char out[HELD_OUT_TEXT]);

void open_held_out(subject *x, int i);

/* One forward pass of each of n policies on the pairs held out, as a table. */
void print_policies(const bench_options *o, int n, const berth_policy_file *policy, const char *const *name);
