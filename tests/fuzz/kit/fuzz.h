/* What the fuzz targets share: memory that is kept from input to input, and what a user's command would do
 * with what was read. */
#pragma once

#include "graph.h"
#include "system.h"

#include <stddef.h>
#include <stdint.h>

/* The entries of a target, as libFuzzer has them; a target may leave out the last one. The build gives them
 * the target's name (targets.h). */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

/* What has to hold: else the program ends. */
void must(bool holds);

/* Two arenas, emptied but not freed: the first chunk of each stays. */
typedef struct fuzz_arenas {
	berth_arena mem, tmp;
	berth_arena_mark mem_start, tmp_start;
} fuzz_arenas;
void fuzz_begin(fuzz_arenas *a);

/* text[size] with a 0 behind it, in mem, as a file that was read whole. */
char *fuzz_text(const uint8_t *data, size_t size, berth_arena *mem);

/* Is it an input for the whole way? One in eight is, by its bytes; with sanitizers each is. */
bool fuzz_goes_deep(const uint8_t *data, size_t size);

/* A reader's answer: a graph that passes its check, or an error of the right kind with a message that starts
 * so. */
void fuzz_check_answer(berth_status st, const berth_graph *g, const char *start, const berth_err *err);

/* A small graph as commands use one: written and read back, told apart into blocks, grouped, made a training
 * step, placed on a small system and simulated. Larger graphs are left alone. Both arenas are scratch. */
void fuzz_use_graph(const berth_graph *g, berth_arena *mem, berth_arena *tmp);

/* The same of a graph on a system: compiled, bounded, simulated on the first devices that can run it. */
void fuzz_use_pair(const berth_graph *g, const berth_system *s, berth_arena *mem, berth_arena *tmp);

/* Parsed once: a graph of six operators, and a system of two devices. */
const berth_graph *fuzz_small_graph(void);
const berth_system *fuzz_small_system(void);
