/* The graph of a PyTorch module, and a plan of it as a file, by the program that can run it:
 * `berth-engine-torch graph` and `place`. */
#ifndef BERTH_MODULE_GRAPH_H
#define BERTH_MODULE_GRAPH_H

#include "exporters.h"

/* module_graph of berth_read_options. The program is found as an engine is (engine_find.h). It is ended with
 * its process group: after its answer, after ten minutes without one, or with this process. It runs the
 * user's file with the user's rights. Fails: BERTH_EINVAL (wrong words), BERTH_EFORMAT (the module cannot be
 * used, with file and line), BERTH_EIO (no such program, no PyTorch), BERTH_ELIMIT, BERTH_ENOMEM. */
berth_module_graph berth_module_graph_of;

/* module_place of berth_export_source, in the same way. */
berth_module_place berth_module_place_of;

#endif
