/* Files that are not read, and known by name: formats of other programs, archives, pages and pointers in the
 * place of a model. Reading one tells what it is and what to give instead. */
#pragma once

#include "graph_format.h"

/* Fails where the file is one of them: BERTH_EFORMAT. */
berth_status berth_foreign_check(const berth_content *from, berth_err *err);

/* begins as one of them */
extern const berth_format berth_format_foreign;
