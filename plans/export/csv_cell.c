/* See csv_cell.h. */
#include "csv_cell.h"

#include <string.h>

/* Would a spreadsheet compute it, but for the apostrophes in front? */
static bool is_formula(const char *text)
{
	char c = text[strspn(text, "'")];
	return c && strchr("=+-@\t", c);
}

void csv_cell_put(berth_strbuf *b, const char *text)
{
	bool quote = text[strcspn(text, ",\"\r\n")] != '\0';
	if (quote)
		berth_strbuf_add(b, "\"", 1);
	if (is_formula(text))
		berth_strbuf_add(b, "'", 1);
	for (const char *c = text; *c; c++) {
		berth_strbuf_add(b, c, 1);
		if (*c == '"')
			berth_strbuf_add(b, c, 1);
	}
	if (quote)
		berth_strbuf_add(b, "\"", 1);
}

const char *csv_cell_bare(const char *text)
{
	return *text == '\'' && is_formula(text) ? text + 1 : text;
}
