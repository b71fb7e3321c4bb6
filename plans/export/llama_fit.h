/* Where llama.cpp puts a model by itself: its option --fit (on by default), with the context told.
 *
 * 1. Everything on the devices, layers shared out in the ratio of their free memory. That is kept where each
 *    device has a margin of 1 GiB left.
 * 2. Else devices are filled from the last to the first with as many of the last layers as leave the margin.
 *    The output counts as a layer. What is left over stays on the CPU. Of a mixture of experts the experts
 *    stay on the CPU.
 * 3. Where all but the experts fits, devices are filled anew from the first to the last with whole layers in
 *    the place of layers without experts. Of one more layer a part may go to each device: attention and
 *    products up, with the gate if that fits as well; else attention alone. Its rest goes to the next device,
 *    behind the last one to the CPU.
 *
 * Memory is that of llama_memory.h. The rule is that of version 0.7.0 as its program tells it. */
#ifndef BERTH_LLAMA_FIT_H
#define BERTH_LLAMA_FIT_H

#include "llama_plan.h"

typedef struct llama_machine {
	int32_t n_devs;            /* without the CPU; 0: everything stays on it */
	const int32_t *dev;        /* [n_devs] in the order that llama.cpp has them */
	const int64_t *free_bytes; /* [n_devs] */
} llama_machine;

/* The plan of file on m, in mem. *known: its memory can be told (llama_memory.h). tmp is scratch, another
 * arena, reset at exit. Fails: BERTH_ENOMEM. O(devs * log(layers)) times llama_memory_of. */
berth_status llama_fit(const berth_gguf_list *file, const llama_machine *m, berth_arena *mem,
                       berth_arena *tmp, llama_plan *out, bool *known, berth_err *err);

#endif
