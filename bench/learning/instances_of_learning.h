/* Instances of the tables of docs/learning.md, and what several of these tables share. */
#pragma once

#include "entries.h"
#include "policy_file.h"
#include "proposals.h"
#include "rng.h"

/* With room to learn in. BENCH_OPEN_SIX prints the first cell of a row, too. */
enum { N_SIX = 6 };
extern const bench_pair six[N_SIX];
#define BENCH_OPEN_SIX(x, i)                      \
	BENCH_OPEN(x, six[i].graph, six[i].system); \
	printf("| %s on %s", six[i].graph, six[i].system)

/* Cells of the best single device (method[0]) and of the best of n methods that answer at once, in *single
 * and *best. Returns which. */
const char *print_at_once(const subject *x, berth_metric m, const char *const *method, int n, double scale,
                          double *single, double *best);

/* Of equal time: first those chosen, then as many drawn by a rule. print_timed: a row's first cell. */
enum { N_CHOSEN = 28, N_TIMED = 2 * N_CHOSEN, NAME_SIZE = 112 };
typedef struct timed {
	char graph[NAME_SIZE], system[NAME_SIZE];
} timed;
timed timed_pair(int i);
#define BENCH_OPEN_TIMED(x, i)                         \
	const timed name_of_##x = timed_pair(i);       \
	BENCH_OPEN(x, name_of_##x.graph, name_of_##x.system)
void print_timed(int i);

/* Annealing as it was before there were estimates, with the seeds of that time. */
extern const berth_method plain_annealing;

/* The cheapest search of all: annealing from `peft-contended`. */
extern const berth_method peft_annealing;

/* The shipped policy's proposals for a search without limits, seed 1. In mem; tmp is scratch. */
void open_proposals(const subject *x, berth_metric metric, berth_arena *mem, berth_arena *tmp,
                    berth_search *s, berth_proposals *out);

/* What the shipped policy was not trained on. */

/* Pairs by a list: each of these graphs on each of these systems. No family is in scripts/training-pairs, but
 * random graphs, with other seeds. Four systems are built in, four are random ones of sizes that training
 * saw, the rest, from UNSEEN_SIZES on, of sizes that it did not. */
enum {
	HELD_OUT_GRAPHS = 15,
	HELD_OUT_SYSTEMS = 11,
	HELD_OUT_PAIRS = HELD_OUT_GRAPHS * HELD_OUT_SYSTEMS,
	UNSEEN_SIZES = 8
};
extern const char *const held_out_graphs[HELD_OUT_GRAPHS], *const held_out_systems[HELD_OUT_SYSTEMS];
bench_pair held_out(int i);

/* Pairs by a rule. */
enum { HELD_OUT_FAMILIES = 10, HELD_OUT_TEXT = 128 };

/* A model of a family below HELD_OUT_FAMILIES. */
const char *held_out_model(uint32_t family, berth_rng *rng);

/* Three to seven devices; their spread of speeds, links and memories are drawn, the topologies come in
 * turn. */
void held_out_machine(int seed, berth_rng *rng, char out[HELD_OUT_TEXT]);

/* A policy's parameters copied to mem; rows of a tensor from first to last, where it has them, made 0. */
nn_real *params_of(const berth_policy_file *f, berth_arena *mem);
void forget_rows(const policy_dims *d, nn_real *params, const char *tensor, int first, int last);
