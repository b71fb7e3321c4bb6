/* --report of verbs: what they found as a page with pictures, one HTML file. */
#ifndef BERTH_CLI_REPORT_PAGE_H
#define BERTH_CLI_REPORT_PAGE_H

#include "cli.h"
#include "page.h"

#define CLI_REPORT(path)                                                                                     \
	{                                                                                                    \
		"report", 0, CLI_TEXT, (path), "FILE.html",                                                  \
			"write a page with pictures: one file for any browser"                               \
	}

/* Can the page go to path without hurting anything? Not where that is a graph of the command line, one of the
 * systems or one of the other files [n] (NULL: none). Nothing is checked without a path. Fails: BERTH_EINVAL,
 * BERTH_EIO (it cannot be written). */
berth_status cli_report_check(cli *c, const char *path, const cli_texts *systems, const char *const *other,
                              int32_t n, berth_err *err);

/* Begin a page of a kind (page.h) about a graph on a system; NULL: of several. unit: of values in it. */
berth_status cli_report_open(cli *c, berth_page *page, const char *kind, const char *graph,
                             const char *system, const char *unit, berth_err *err);

/* End it and write it to path. Fails: BERTH_EIO, BERTH_ENOMEM. */
berth_status cli_report_write(cli *c, berth_page *page, const char *path, berth_err *err);

#endif
