/* berth configure --serve: copies of a model over many servers. */
#ifndef BERTH_CLI_CONFIGURE_SERVE_H
#define BERTH_CLI_CONFIGURE_SERVE_H

#include "cli.h"

typedef struct configure_serve_args {
	bool on;
	cli_texts servers; /* HOST=N */
} configure_serve_args;

#define CLI_SERVE(a)                                                                                         \
	{"serve",  0,    CLI_FLAG,                                                                           \
	 &(a)->on, NULL, "lay copies of an inference graph over the servers, for throughput"},               \
	{                                                                                                    \
		"servers", 0, CLI_LIST, &(a)->servers, "HOST=N,...",                                         \
			"so many servers like that host, for --serve\t1 of each"                             \
	}

/* Load, plan and tell, the model being c->args[0]. Fails: BERTH_EINVAL (a training step, an unknown host, a
 * bad number), BERTH_EINFEASIBLE (no copy fits), and as loading does. */
berth_status configure_serve(cli *c, const char *on, const configure_serve_args *a, berth_err *err);

#endif
