/* --sandbox of the verbs: what they read beside models and systems (graph_load.h). */
#pragma once

#include "cli.h"
#include "graph_format.h"
#include "policy_file.h"

/* The sandbox that files are read in; NULL: none was asked for. */
const berth_sandbox *cli_sandbox(const cli *c);

/* --dim and --sandbox; modules are run. */
berth_read_options cli_read_options(const cli *c);

/* The JSON text of a file. */
typedef struct cli_text {
	const char *text;
	size_t size;
	const unsigned char *mapped; /* NULL: it is in c->mem */
} cli_text;

/* As it stands; with --sandbox as a reader in there understood it, which is the same to every reader. Without
 * --sandbox it is not looked at. Undo with cli_json_unmap. Fails: BERTH_EIO, BERTH_EFORMAT, BERTH_ENOMEM;
 * berth_sandbox_run. */
berth_status cli_json_map(cli *c, const char *path, cli_text *out, berth_err *err);
void cli_json_unmap(cli_text *x);

/* berth_policy_file_read; with --sandbox the bytes are read and checked in there first. */
berth_status cli_policy_read(cli *c, const char *path, berth_policy_file *out, berth_err *err);
