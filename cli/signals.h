/* Ctrl-C during a search: the first one asks for an end, the second one is obeyed at once. */
#ifndef BERTH_CLI_SIGNALS_H
#define BERTH_CLI_SIGNALS_H

#include <stdatomic.h>

/* From here on SIGINT and SIGTERM set the flag that is returned. */
atomic_int *cli_catch_signals(void);

#endif
