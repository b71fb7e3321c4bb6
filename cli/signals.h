/* Ctrl-C during a search: the first one asks for an end, the second one is obeyed at once. */
#ifndef BERTH_CLI_SIGNALS_H
#define BERTH_CLI_SIGNALS_H

#include <stdatomic.h>

/* From here on SIGINT and SIGTERM set the flag that is returned. */
atomic_int *cli_catch_signals(void);

/* A file that would grow beyond the limit of the process is an error of the write, and no signal. */
void cli_ignore_file_limit(void);

#endif
