/* A text that was made for another program, shown on a terminal. */
#ifndef BERTH_CLI_EXPORT_SHOW_H
#define BERTH_CLI_EXPORT_SHOW_H

#include "exporters.h"

/* Is standard output a terminal? */
bool export_on_terminal(void);

/* The pieces on standard output, line by line, what a terminal would obey made visible. */
void export_show(const berth_export_out *made);

#endif
