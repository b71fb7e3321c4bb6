/* The walls of a sandbox; only sandbox.c calls it. */
#ifndef BERTH_SANDBOX_FILTER_H
#define BERTH_SANDBOX_FILTER_H

#include <stdbool.h>

/* From here on this process may allocate memory that is not executable, write to `fd`, read the clock, return
 * from signals and end. The kernel ends it at any other system call (SIGSYS). False: this system cannot do
 * it. */
bool sandbox_close_walls(int fd);

#endif
