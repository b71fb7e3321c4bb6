/* --report of verbs: what they found as a page with pictures, one HTML file. */
#ifndef BERTH_CLI_REPORT_PAGE_H
#define BERTH_CLI_REPORT_PAGE_H

#include "cli.h"
#include "page.h"

#define CLI_REPORT(path) \
	{"report", 0, CLI_FILE_ONLY, (path), "FILE.html", \
	 "write a page with pictures: one file for any browser"}

/* Begin a page of a kind (page.h) about a graph on a system; NULL: of several. unit: of values in it. */
berth_status cli_report_open(cli *c, berth_page *page, const char *kind, const char *graph,
                             const char *system, const char *unit, berth_err *err);

/* End it and write it to path. Fails: BERTH_EIO, BERTH_ENOMEM. */
berth_status cli_report_write(cli *c, berth_page *page, const char *path, berth_err *err);

#endif
