/* See sandboxed.h. */
#include "sandboxed.h"

#include "file.h"
#include "json.h"

#include <string.h>

const berth_sandbox *cli_sandbox(const cli *c)
{
	static const berth_sandbox usual = {.memory_bytes = BERTH_SANDBOX_MEMORY,
	                                    .cpu_s = BERTH_SANDBOX_CPU_S,
	                                    .answer_bytes = BERTH_SANDBOX_ANSWER};
	return c->sandbox ? &usual : NULL;
}

berth_read_options cli_read_options(const cli *c)
{
	return (berth_read_options){c->dim.text, c->dim.n, cli_sandbox(c)};
}

typedef struct bytes {
	const char *name, *data;
	size_t size;
} bytes;

static berth_status work_json(void *ctx, berth_arena *mem, const char **data, size_t *size, berth_err *err)
{
	const bytes *x = ctx;
	cJSON *doc;
	(void)mem; /* the process ends with all that it has */
	BERTH_TRY(berth_json_parse(x->name, x->data, x->size, &doc, err));
	*data = cJSON_PrintUnformatted(doc);
	if (!*data)
		return berth_nomem(err);
	*size = strlen(*data);
	return BERTH_OK;
}

berth_status cli_json_map(cli *c, const char *path, cli_text *out, berth_err *err)
{
	const unsigned char *data;
	size_t size;
	BERTH_TRY(berth_file_take(path, &data, &size, err));
	*out = (cli_text){data ? (const char *)data : "", size, data};
	if (!c->sandbox)
		return BERTH_OK;
	bytes x = {path, out->text, size};
	berth_status st = berth_sandbox_run(cli_sandbox(c), path, work_json, &x, &c->mem, &out->text,
	                                    &out->size, err);
	berth_file_unmap(data, size);
	out->mapped = NULL;
	return st;
}

void cli_json_unmap(cli_text *x)
{
	berth_file_unmap(x->mapped, x->size);
}

static berth_status work_policy(void *ctx, berth_arena *mem, const char **data, size_t *size, berth_err *err)
{
	const bytes *x = ctx;
	berth_policy_file f;
	(void)data, (void)size;
	return berth_policy_file_decode(x->name, x->data, x->size, mem, &f, err);
}

berth_status cli_policy_read(cli *c, const char *path, berth_policy_file *out, berth_err *err)
{
	const unsigned char *data;
	size_t size;
	BERTH_TRY(berth_file_take(path, &data, &size, err));
	bytes x = {path, data ? (const char *)data : "", size};
	berth_status st = BERTH_OK;
	if (c->sandbox)
		st = berth_sandbox_run(cli_sandbox(c), path, work_policy, &x, &c->mem, NULL, NULL, err);
	if (st == BERTH_OK)
		st = berth_policy_file_decode(path, x.data, size, &c->mem, out, err);
	berth_file_unmap(data, size);
	return st;
}
