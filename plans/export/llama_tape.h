/* How much memory ggml's graph allocator takes for the tensors of one device, computed in a given order.
 *
 * Its rule: a result takes the place of an argument of the same size that nothing else needs, where the
 * operator can; else the smallest free block that is large enough; else the open end. What was used for the
 * last time is free from then on, and joins free neighbours. The sum is the highest end. */
#pragma once

#include "arena.h"

typedef struct llama_tape llama_tape;

enum { LLAMA_TAPE_ARGS = 4 };

/* A tape in mem. NULL: memory ran out. */
llama_tape *llama_tape_new(berth_arena *mem);

typedef struct llama_step {
	int64_t bytes;                /* of the result; 0: none, or it is a part of a cache */
	int32_t arg[LLAMA_TAPE_ARGS]; /* results of earlier steps; -1: none */
	bool in_place;                /* may take an argument's place */
	bool kept;                    /* the result is never free */
	bool first;                   /* it stands before everything else, like an input */
} llama_step;

/* *index: of the step, for arguments. Fails: BERTH_ENOMEM. */
berth_status llama_tape_add(llama_tape *t, llama_step step, int32_t *index, berth_err *err);

/* Bytes of all. tmp is scratch, reset at exit. O(steps * free blocks). Fails: BERTH_ENOMEM. */
berth_status llama_tape_bytes(const llama_tape *t, berth_arena *tmp, int64_t *bytes, berth_err *err);
