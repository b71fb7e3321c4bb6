
#include "file.h"
#include "json.h"
#include "kernel_times.h"

#include <dirent.h>
#include <unistd.h>

/* ---- folders ---- */

berth_status kernel_folder_new(char folder[KERNEL_FOLDER], berth_err *err)
{
	const char *tmp = getenv("TMPDIR");
	if (snprintf(folder, KERNEL_FOLDER, "%s/berth-XXXXXX", tmp && *tmp ? tmp : "/tmp") >= KERNEL_FOLDER ||
	    !mkdtemp(folder)) {
		folder[0] = '\0';
		return berth_fail(err, BERTH_EIO,
		                  "no folder for the times of operators could be made in %.200s",
		                  tmp && *tmp ? tmp : "/tmp");
	}
	return BERTH_OK;
}

berth_status kernel_folder_find(const char *folder, const char *head, char *path, size_t size, berth_err *err)
{
	DIR *dir = opendir(folder);
	struct dirent *e;
	bool found = false;
	size_t len = strlen(head);
	while (dir && !found && (e = readdir(dir)))
		if (strncmp(e->d_name, head, len) == 0)
			found = snprintf(path, size, "%s/%.150s", folder, e->d_name) < (int)size;
	if (dir)
		closedir(dir);
	return found ? BERTH_OK
	             : berth_fail(err, BERTH_EIO, "ONNX Runtime left no times of operators in %s", folder);
}

void kernel_folder_remove(const char *folder)
{
	char path[KERNEL_FOLDER + 256];
	DIR *dir = *folder ? opendir(folder) : NULL;
	struct dirent *e;
	if (!dir)
		return;
	while ((e = readdir(dir)))
		if (e->d_name[0] != '.' &&
		    snprintf(path, sizeof path, "%s/%.150s", folder, e->d_name) < (int)sizeof path)
			unlink(path);
	closedir(dir);
	rmdir(folder);
}

/* ---- events ---- */

static double number(const cJSON *e, const char *key)
{
	const cJSON *x = cJSON_GetObjectItemCaseSensitive(e, key);
	return cJSON_IsNumber(x) ? x->valuedouble : 0;
}

static const char *text(const cJSON *e, const char *key)
{
	const char *x = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(e, key));
	return x ? x : "";
}

static const cJSON *last_run(const cJSON *events)
{
	const cJSON *e, *last = NULL;
	cJSON_ArrayForEach(e, events) if (strcmp(text(e, "name"), "model_run") == 0 &&
	                                  (!last || number(e, "ts") >= number(last, "ts"))) last = e;
	return last;
}

/* Copies into mem: the events go. */
static berth_status take(const cJSON *e, double from_us, berth_arena *mem, kernel_times *out, size_t *cap,
                         berth_err *err)
{
	static const char tail[] = "_kernel_time";
	const cJSON *args = cJSON_GetObjectItemCaseSensitive(e, "args");
	const char *name = text(e, "name");
	size_t len = strlen(name);
	if (strcmp(text(e, "cat"), "Node") != 0 || len < sizeof tail ||
	    strcmp(name + len - (sizeof tail - 1), tail) != 0 || number(e, "ts") < from_us)
		return BERTH_OK;
	kernel_time k = {.name = berth_arena_printf(mem, "%.*s", (int)(len - (sizeof tail - 1)), name),
	                 .type = berth_arena_strdup(mem, text(args, "op_name")),
	                 .provider = berth_arena_strdup(mem, text(args, "provider")),
	                 .at_us = number(e, "ts") - from_us,
	                 .took_us = number(e, "dur")};
	if (!k.name || !k.type || !k.provider)
		return berth_nomem(err);
	return BERTH_PUSH(mem, out->kernel, out->n, cap, err, k);
}

berth_status kernel_times_read(const char *path, berth_arena *mem, kernel_times *out, berth_err *err)
{
	char *content;
	size_t size, cap = 0;
	cJSON *events = NULL;
	const cJSON *e;
	*out = (kernel_times){0};
	BERTH_TRY(berth_file_read(BERTH_READS_ENGINE, path, mem, &content, &size, err));
	BERTH_TRY(berth_json_parse(path, content, size, &events, err));
	const cJSON *run = last_run(events);
	berth_status st = BERTH_OK;
	out->took_us = run ? number(run, "dur") : 0;
	if (out->took_us > 0)
		cJSON_ArrayForEach(e, events)
		{
			st = take(e, number(run, "ts"), mem, out, &cap, err);
			if (st != BERTH_OK)
				break;
		}
	cJSON_Delete(events);
	return st;
}

/* ---- fused operators ---- */

berth_status fused_hosts_new(const ort_model *m, berth_arena *mem, fused_hosts *out, berth_err *err)
{
	*out = (fused_hosts){.m = m};
	BERTH_TRY_NEW(mem, m->n_ops, err, out->user, out->kernel);
	memset(out->user, -1, (size_t)m->n_ops * sizeof *out->user);
	for (int32_t op = m->n_ops; op-- > 0;)
		for (int32_t k = 0; k < ort_model_node(m, op)->n_all; k++) {
			int32_t v = ort_model_node(m, op)->in[k];
			if (v >= 0 && m->value_op[v] >= 0)
				out->user[m->value_op[v]] = op;
		}
	return BERTH_OK;
}

/* A fused kernel often has the name of its last operator. So look down the users for one whose kernel is not
 * of its own type. */
static int32_t host_after(const fused_hosts *f, int32_t op)
{
	for (int32_t steps = 0; steps < f->m->n_ops && (op = f->user[op]) >= 0; steps++)
		if (f->kernel[op])
			return strcmp(f->kernel[op], ort_model_node(f->m, op)->type) != 0 ? op : -1;
	return -1;
}

/* Or it has the name of its first. So look up the first inputs for the nearest operator with a kernel. */
static int32_t host_before(const fused_hosts *f, int32_t op)
{
	for (int32_t steps = 0; steps < f->m->n_ops && op >= 0; steps++) {
		const onnx_node *node = ort_model_node(f->m, op);
		int32_t maker = -1;
		for (int32_t k = 0; k < node->n_all && maker < 0; k++)
			maker = node->in[k] >= 0 ? f->m->value_op[node->in[k]] : -1;
		if (maker >= 0 && f->kernel[maker])
			return maker;
		op = maker;
	}
	return -1;
}

int32_t fused_host(const fused_hosts *f, int32_t op)
{
	int32_t host = host_after(f, op);
	return host >= 0 ? host : host_before(f, op);
}
