/* A system from whatever names one, and what a file holds. */
#ifndef BERTH_LOAD_SYSTEM_H
#define BERTH_LOAD_SYSTEM_H

#include "system.h"

typedef enum berth_input { BERTH_INPUT_GRAPH, BERTH_INPUT_SYSTEM, BERTH_INPUT_PLACEMENT, BERTH_INPUT_POLICY } berth_input;

/* What spec names: by its prefix ("zoo:", "system:") or by what the file says about itself. A file that says nothing is taken for a graph.
 * Fails: BERTH_EIO, BERTH_EFORMAT (text that is not JSON), BERTH_ENOMEM. */
berth_status berth_input_of(const char *spec, berth_input *out, berth_err *err);

/* "system:NAME" or a berth-system file. mem holds the system; tmp is scratch, another arena than mem, reset at exit.
 * Fails: BERTH_EINVAL (unknown name), BERTH_EFORMAT, BERTH_EIO, BERTH_ENOMEM. */
berth_status berth_system_load(const char *spec, berth_arena *mem, berth_arena *tmp, berth_system *out, berth_err *err);

#endif
