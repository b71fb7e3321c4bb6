/* Models and machines that the shipped policy was not trained on, drawn by a rule. */
#ifndef BERTH_HELD_OUT_H
#define BERTH_HELD_OUT_H

#include "rng.h"

enum { HELD_OUT_FAMILIES = 10, HELD_OUT_TEXT = 128 };

/* A model of a family below HELD_OUT_FAMILIES. */
const char *held_out_model(uint32_t family, berth_rng *rng);

/* Three to seven devices; their spread of speeds, links and memories are drawn, the topologies come in
 * turn. */
void held_out_machine(int seed, berth_rng *rng, char out[HELD_OUT_TEXT]);

#endif
