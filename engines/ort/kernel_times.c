/* See kernel_times.h. */
#include "kernel_times.h"

#include "file.h"
#include "json.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
	BERTH_TRY(BERTH_GROW(mem, out->kernel, (size_t)out->n, cap, err));
	out->kernel[out->n++] = k;
	return BERTH_OK;
}

berth_status kernel_times_read(const char *path, berth_arena *mem, kernel_times *out, berth_err *err)
{
	char *content;
	size_t size, cap = 0;
	cJSON *events = NULL;
	const cJSON *e;
	*out = (kernel_times){0};
	BERTH_TRY(berth_file_read(path, mem, &content, &size, err));
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
