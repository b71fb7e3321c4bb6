/* What berth configure --serve -o writes: the layout as JSON, and lines that start engines. Inside of these.
 */
#pragma once

#include "configure_serve.h"

typedef enum serve_target { SERVE_JSON, SERVE_VLLM, SERVE_LLAMA, SERVE_N_TARGETS } serve_target;

/* What is written: of a plan of copies each device of a copy is a group, and each unlike copy a path. */
typedef struct serve_out {
	cli *c;
	const serve_view *v;
	const berth_serving *x; /* of the devices that take part */
	serve_target to;
	const char *target; /* its name */
	berth_layers l;     /* its groups and rate */
	berth_layout_path *path;
	int32_t n_paths;
	/* of lines: pipelines that an engine is told, and what they carry; the first reason why others are
	 * not */
	int64_t n_told;
	double told_per_s, all_per_s; /* all_per_s: of what was found */
	const char *why;
} serve_out;

/* Lines of shell for each path that has nodes of its own and that the engine can be told, into b. Fails:
 * BERTH_EINVAL (a model without a file, a host whose name is no address), BERTH_ENOMEM. */
berth_status serve_put_lines(serve_out *o, berth_strbuf *b, berth_err *err);
