/* Hosts as devices: the words of --hosts, the start of a process on each (hosts_start.c), and what these
 * processes are to the engine (hosts.c). */
#ifndef BERTH_HOSTS_H
#define BERTH_HOSTS_H

#include "mesh.h"
#include "ort_engine.h"

#include <sys/types.h>

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

#endif
