/* Reads the files that verbs name beside models and systems in the sandbox, where there is one, else here.
 * Callers see no difference. */
#include "sandboxed.h"

#include "engine_find.h"
#include "file.h"
#include "print.h"

const berth_sandbox *cli_sandbox(const cli *c)
{
	static const berth_sandbox usual = {.memory_bytes = BERTH_SANDBOX_MEMORY,
	                                    .cpu_s = BERTH_SANDBOX_CPU_S,
	                                    .answer_bytes = BERTH_SANDBOX_ANSWER};
	return c->sandbox ? &usual : NULL;
}

berth_read_options cli_read_options(const cli *c)
{
	return (berth_read_options){.dim = c->dim.text,
	                            .n_dims = c->dim.n,
	                            .sandbox = cli_sandbox(c),
	                            .module_graph = berth_module_graph_of};
}

typedef struct bytes {
	const char *name, *data;
	size_t size;
} bytes;

berth_status cli_json_map(cli *c, berth_reads kind, const char *path, cli_text *out, berth_err *err)
{
	cli_read_before *before = &c->read_before;
	if (before->path && strcmp(before->path, path) == 0) {
		*out = (cli_text){before->text, before->size, NULL};
		return BERTH_OK;
	}
	BERTH_TRY(berth_json_map(kind, path, cli_sandbox(c), &c->mem, out, err));
	if (out->mapped && berth_file_is_stream(path)) { /* there is no second time */
		cli_text once = *out;
		*out = (cli_text){berth_arena_strndup(&c->mem, once.text, once.size), once.size, NULL};
		berth_json_unmap(&once);
		BERTH_TRY(berth_got(out->text, err));
	}
	if (!out->mapped) /* it stays: another process need not read it once more */
		*before = (cli_read_before){path, out->text, out->size};
	return BERTH_OK;
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
	BERTH_TRY(berth_file_take(BERTH_READS_POLICY, path, &data, &size, err));
	bytes x = {path, data ? (const char *)data : "", size};
	berth_status st = BERTH_OK;
	if (c->sandbox)
		st = berth_sandbox_run(cli_sandbox(c), path, work_policy, &x, &c->mem, NULL, NULL, err);
	if (st == BERTH_OK)
		st = berth_policy_file_decode(path, x.data, size, &c->mem, out, err);
	berth_file_unmap(data, size);
	if (st == BERTH_OK && out->known.hidden > 0 && out->known.step_in < out->dims.step_in)
		st = cli_note(c, err,
		              "%s: an earlier berth trained this policy: of the %d features of a step "
		              "it knows %d; one that is trained now sees more",
		              path, out->dims.step_in, out->known.step_in);
	return st;
}
