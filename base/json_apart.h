/* JSON that a stranger wrote, read in a sandbox: what comes back is the same to every reader, but a parser in
 * there has written it. */
#pragma once

#include "inputs.h"
#include "sandbox.h"

/* The JSON text of a file. */
typedef struct berth_json_text {
	const char *text; /* [size], not NULL */
	size_t size;
	const unsigned char *mapped; /* NULL: it is in mem */
} berth_json_text;

/* A file of that kind as it stands; with a sandbox, and of a kind for it (inputs.h), as a reader in there
 * understood it. Without it is not looked at. Undo with berth_json_unmap. Fails: BERTH_EIO, BERTH_EFORMAT,
 * BERTH_ENOMEM; berth_sandbox_run. */
berth_status berth_json_map(berth_reads kind, const char *path, const berth_sandbox *sandbox,
                            berth_arena *mem, berth_json_text *out, berth_err *err);
void berth_json_unmap(berth_json_text *x);

/* One that is undone where its block ends. */
#define BERTH_JSON_TEXT(name) berth_json_text name __attribute__((unused, cleanup(berth_json_unmap))) = {0}
