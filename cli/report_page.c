/* See report_page.h. */
#include "report_page.h"

#include "file.h"
#include "load.h"

#include <string.h>
#include <sys/stat.h>

static berth_status check_apart(const char *path, const char *other, berth_err *err)
{
	struct stat a, b;
	if (!other)
		return BERTH_OK;
	bool same = strcmp(path, other) == 0;
	if (!same && stat(path, &a) == 0 && stat(other, &b) == 0)
		same = S_ISREG(a.st_mode) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
	return same ? berth_fail(
			      err, BERTH_EINVAL,
			      "option --report: '%.200s' is another file of this command; it would be lost",
			      path)
	            : BERTH_OK;
}

berth_status cli_report_check(cli *c, const char *path, const cli_texts *systems, const char *const *other,
                              int32_t n, berth_err *err)
{
	if (!path)
		return BERTH_OK;
	if (strcmp(path, "-") == 0)
		return berth_fail(err, BERTH_EINVAL, "option --report takes a file, not standard output");
	for (int i = 0; i < c->n_args; i++) {
		const char *graph = berth_graph_path(c->args[i], &c->tmp);
		if (!graph)
			return berth_nomem(err);
		BERTH_TRY(check_apart(path, graph, err));
	}
	for (int32_t i = 0; i < systems->n; i++)
		BERTH_TRY(check_apart(path, systems->text[i], err));
	for (int32_t i = 0; i < n; i++)
		BERTH_TRY(check_apart(path, other[i], err));
	return berth_file_writable(path, err);
}

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
