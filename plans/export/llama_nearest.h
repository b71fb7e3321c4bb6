/* The plan nearest to another one that llama.cpp can be told. */
#ifndef BERTH_LLAMA_NEAREST_H
#define BERTH_LLAMA_NEAREST_H

#include "exporters.h"
#include "gguf.h"

/* Layers go to the CPU first, then in runs to devices, each once, such that the fewest operators stand
 * elsewhere than their layer, and of equal ones the shortest times: an exact choice, by dynamic programming
 * over layers and sets of devices. Where that fills a device beyond its memory, each has as many layers as in
 * the plan, in the order of their mean layers. A layer that stood on one device stays whole. Of one on
 * several only attention and what is alone without weights moves. A matrix that embedding and output share
 * goes where the output is.
 *   x       with a problem: times and memory count
 *   op_dev  out [n_ops], another array than x->op_dev
 *   tmp     scratch, reset at exit
 * Fails: BERTH_EUNSUPPORTED (layers on more than 8 devices; no order that the devices can run), BERTH_ENOMEM.
 * O(ops * devs + layers * 2^devs * devs^2). */
berth_status llama_nearest(const berth_export_source *x, const berth_gguf_list *file, berth_arena *tmp,
                           int32_t *op_dev, berth_err *err);

#endif
