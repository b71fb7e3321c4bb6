/* Tasks over processes on several hosts: an exec_kind whose workers are the processes of a mesh. Each runs
 * its own tasks, in a thread of its own, while another one sends and receives. A tensor goes from the process
 * that made it to each that reads it once, as soon as it is made. All processes call the same things. */
#pragma once

#include "exec.h"
#include "mesh.h"
#include "ort_engine.h"

#include <sys/types.h>

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

/* Hosts as devices: the words of --hosts, the start of a process on each (hosts_start.c), and what these
 * processes are to the engine (hosts.c). */

/* Start a process of this program with these words (argv[argc]) on each host that answers, by mpirun, and
 * wait for them. Returns the exit code; what went wrong, and on which host, stands on standard error. */
int hosts_start(const engine *e, int argc, char *const *argv);

/* What follows is of these processes, which have --members; e without them is one process.
 *
 * Join the others; once, before anything else. Fails: BERTH_EINVAL, BERTH_EIO, BERTH_ENOMEM. */
berth_status hosts_join(engine *e, berth_err *err);
void hosts_leave(engine *e);
/* As getline from standard input: all hear what the first one reads. */
ssize_t hosts_hear(engine *e, char **line, size_t *cap);
/* Is it this one that answers? */
bool hosts_speaks(const engine *e);
/* mesh_agree. */
berth_status hosts_agree(const engine *e, berth_status st, berth_err *err);
/* Has the device's host a process? Fails: BERTH_EINFEASIBLE. */
berth_status hosts_answer(const engine *e, int32_t device, berth_err *err);
/* The largest of all processes' numbers. */
double hosts_worst(const engine *e, double worst);
