/* Kernels of the second device. One for a node: a session of the library runs the node on the CPU, over the
 * device's own memory, and the kernel rests until it has taken as long as the device is slow. Two for copies
 * to and from the device. */
#pragma once

#include "second_costs.h"
#include "second_node.h"

/* What all kernels share. Sessions are kept by their models until the end. */
typedef struct second_shared second_shared;

second_shared *second_shared_new(const plugin_place *api, const second_costs *costs);
void second_shared_free(second_shared *s);

/* Copy the content of a tensor to one of the same size, at the cost of a copy. */
plugin_status second_copy(const second_shared *s, const void *from, void *to);

plugin_status second_kernel_new(second_shared *s, const second_node *node, plugin_kernel **out);
plugin_status second_copier_new(second_shared *s, plugin_kernel **out);
