/* Cells of tables that spreadsheets open: a foreign word must be no formula there. Inside of plans/export and
 * plans/import. */
#ifndef BERTH_CSV_CELL_H
#define BERTH_CSV_CELL_H

#include "text.h"

/* Text as a cell (RFC 4180). Where it begins with = + - @ or a tab, which make a formula of it, it gets an
 * apostrophe in front, and so does what begins with apostrophes and one of these. */
void csv_cell_put(berth_strbuf *b, const char *text);

/* What such a cell stood for: text, or behind its apostrophe. */
const char *csv_cell_bare(const char *text);

#endif
