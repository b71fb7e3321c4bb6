/* --sandbox of the verbs: what they read beside models and systems (graph_load.h). */
#pragma once

#include "cli.h"
#include "graph_format.h"
#include "json_apart.h"
#include "policy_file.h"

/* The sandbox that files are read in; NULL: none was asked for. */
const berth_sandbox *cli_sandbox(const cli *c);

/* --dim and --sandbox; modules are run. */
berth_read_options cli_read_options(const cli *c);

/* berth_json_map with the sandbox of c. Undo with berth_json_unmap. */
typedef berth_json_text cli_text;
berth_status cli_json_map(cli *c, berth_reads kind, const char *path, cli_text *out, berth_err *err);

/* berth_policy_file_read; with --sandbox the bytes are read and checked in there first. */
berth_status cli_policy_read(cli *c, const char *path, berth_policy_file *out, berth_err *err);
