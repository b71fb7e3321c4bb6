/* Programs that are engines, from what a user calls them; and what the one that knows PyTorch tells of a
 * module: its graph, and a plan of it as a file (`berth-engine-torch graph` and `place`). */
#pragma once

#include "engine_client.h"
#include "exporters.h"

/* Words of text as a command line, parted by blanks; quotes are not looked at. A first word without a '/' is
 * a name: it stands for the program berth-engine-NAME beside this one or in PATH.
 *   out   name and argv are set, in mem
 * Fails: BERTH_EIO (no such engine, with what brings it), BERTH_EINVAL (no word, or too many), BERTH_ENOMEM.
 */
berth_status berth_engine_find(const char *text, berth_arena *mem, berth_engine_cfg *out, berth_err *err);

/* The graph of a PyTorch module, and a plan of it as a file, by the program that can run it:
 * `berth-engine-torch graph` and `place`. */

/* module_graph of berth_read_options. The program is found by berth_engine_find. It is ended with its process
 * group: after its answer, after ten minutes without one, or with this process. It runs the user's file with
 * the user's rights. Fails: BERTH_EINVAL (wrong words), BERTH_EFORMAT (the module cannot be used, with file
 * and line), BERTH_EIO (no such program, no PyTorch), BERTH_ELIMIT, BERTH_ENOMEM. */
berth_module_graph berth_module_graph_of;

/* module_place of berth_export_source, in the same way. */
berth_module_place berth_module_place_of;
