/* See module_spec.h. */
#include "module_spec.h"

#include "file.h"
#include "graph_json.h"
#include "text.h"

#include <string.h>

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

size_t berth_module_file_length(const char *spec)
{
	static const char end[] = ".py";
	for (const char *at = spec; (at = strstr(at, ".py:")); at++) {
		const char *name = at + sizeof end;
		size_t n = 0;
		while (is_letter(name[n]) || (n && name[n] >= '0' && name[n] <= '9'))
			n++;
		if (n && (name[n] == '\0' || name[n] == ':'))
			return (size_t)(at - spec) + sizeof end - 1;
	}
	return 0;
}

/* The file is there and can be read: its own message, where it is not. */
static berth_status look_at_file(const char *path, berth_arena *tmp, berth_err *err)
{
	const unsigned char *data;
	size_t size;
	const char *file = berth_arena_strndup(tmp, path, berth_module_file_length(path));
	if (!file)
		return berth_nomem(err);
	BERTH_TRY(berth_file_map(file, &data, &size, err));
	berth_file_unmap(data, size);
	return BERTH_OK;
}

berth_status berth_module_load(const char *path, const berth_read_options *words, berth_arena *mem,
                               berth_arena *tmp, berth_graph *out, berth_read_report *report, berth_err *err)
{
	const char *spec = path;
	berth_content from = {.name = path, .format = &berth_format_json};
	if (words->sandbox)
		return berth_fail(err, BERTH_EINVAL,
		                  "%s: a Python file is a program, which has to be run: not in a sandbox",
		                  path);
	if (!words->module_graph)
		return berth_fail(err, BERTH_EINVAL,
		                  "%s: only the program berth runs Python files; 'berth-engine-torch graph' "
		                  "writes their graphs",
		                  path);
	BERTH_TRY(look_at_file(path, tmp, err));
	for (int32_t i = 0; spec && i < words->n_dims; i++)
		spec = berth_arena_printf(tmp, "%s:%s", spec, words->dim[i]);
	if (!spec)
		return berth_nomem(err);
	BERTH_TRY(words->module_graph(spec, tmp, &from.data, &from.size, err));
	return from.format->parse(&from, words, mem, tmp, out, report, err);
}
