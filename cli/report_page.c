/* See report_page.h. */
#include "report_page.h"

#include "file.h"

#include <string.h>

berth_status cli_report_open(cli *c, berth_page *page, const char *kind, const char *graph,
                             const char *system, const char *unit, berth_err *err)
{
	const char *title = graph ? berth_arena_printf(&c->mem, "%s on %s", graph, system)
	                          : berth_arena_printf(&c->mem, "berth %s", kind);
	if (!title)
		return berth_nomem(err);
	berth_page_open(page, kind, title, &c->mem);
	berth_json_put_string(&page->w, "unit", unit);
	return BERTH_OK;
}

berth_status cli_report_write(cli *c, berth_page *page, const char *path, berth_err *err)
{
	const char *text;
	size_t len;
	berth_json_open(&page->w, "warnings", '[');
	for (int32_t i = 0; i < c->warned.n; i++)
		berth_json_put_string(&page->w, NULL, c->warned.text[i]);
	berth_json_close(&page->w, ']');
	BERTH_TRY(berth_page_done(page, &c->mem, &text, &len, err));
	return berth_file_write(path, text, len, err);
}
