/* Models and machines that the shipped policy was not trained on. */
#ifndef BERTH_HELD_OUT_H
#define BERTH_HELD_OUT_H

#include "rng.h"

#include <stdbool.h>

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

#endif
