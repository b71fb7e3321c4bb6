/* The graph of a PyTorch module, by the program that can run it: `berth-engine-torch graph`. */
#ifndef BERTH_MODULE_GRAPH_H
#define BERTH_MODULE_GRAPH_H

#include "graph_format.h"

/* module_graph of berth_read_options. The program is found as an engine is (engine_find.h). It is ended with
 * its process group: after its answer, after ten minutes without one, or with this process. It runs the
 * user's file with the user's rights. Fails: BERTH_EINVAL (wrong words), BERTH_EFORMAT (the module cannot be
 * used, with file and line), BERTH_EIO (no such program, no PyTorch), BERTH_ELIMIT, BERTH_ENOMEM. */
berth_module_graph berth_module_graph_of;

#endif
