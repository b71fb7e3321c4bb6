/* Tasks over processes on several hosts: an exec_kind whose workers are the processes of a mesh. Each runs
 * its own tasks, in a thread of its own, while another one sends and receives. A tensor goes from the process
 * that made it to each that reads it once, as soon as it is made. All processes call the same things. */
#ifndef BERTH_EXEC_HOSTS_H
#define BERTH_EXEC_HOSTS_H

#include "exec.h"
#include "mesh.h"

typedef struct exec_hosts_cfg {
	int32_t n;              /* workers */
	const int32_t *process; /* [n]; -1: it has none, and no task */
	int32_t core;           /* of the thread here */
	bool quantise;          /* large tensors of floats go as bytes (quantised.h) */
} exec_hosts_cfg;

/* Close it by the kind. Fails: BERTH_EIO, BERTH_ENOMEM. */
berth_status exec_hosts_open(mesh *m, const exec_hosts_cfg *cfg, berth_arena *mem, void **ex, berth_err *err);

/* Its `open` is not called. `run` ends in all processes with what all tasks told. */
extern const exec_kind exec_hosts;

#endif
