/* Programs that are engines, found by what a user calls them; and graphs and plans of PyTorch modules, by the
 * one that knows PyTorch. */
#include "engine_find.h"

#include <unistd.h>

enum { MAX_WORDS = 64 };

static bool in_path(const char *name, char *buf, size_t size)
{
	const char *path = getenv("PATH");
	while (path && *path) {
		size_t n = strcspn(path, ":");
		if (n && snprintf(buf, size, "%.*s/%s", (int)n, path, name) < (int)size &&
		    access(buf, X_OK) == 0)
			return true;
		path += n + (path[n] == ':');
	}
	return false;
}

static berth_status find_program(berth_arena *mem, const char *name, const char **out, berth_err *err)
{
	char beside[1200], program[100], path[1400];
	if (snprintf(program, sizeof program, "berth-engine-%s", name) >= (int)sizeof program)
		return berth_fail(err, BERTH_EINVAL, "engine: '%.60s...' is no name of an engine",
		                  name);
	/* The folder of this program, with a slash; "" where the system does not tell. */
	size_t size = sizeof beside;
	ssize_t n = readlink("/proc/self/exe", beside, size - 1);
	beside[n > 0 ? n : 0] = '\0';
	char *slash = strrchr(beside, '/');
	if (slash)
		slash[1] = '\0';
	else
		beside[0] = '\0';
	snprintf(path, sizeof path, "%s%s", beside, program);
	if (!(*beside && access(path, X_OK) == 0) && !in_path(program, path, sizeof path))
		return berth_fail(
			err, BERTH_EIO,
			"engine '%.60s' is not installed: no program '%s' beside berth or in PATH; %s", name,
			program,
			strcmp(name, "ort") == 0
				? "building berth makes it, 'scripts/setup engine' brings the ONNX Runtime "
		                  "that it needs"
			: strcmp(name, "torch") == 0
				? "building berth brings it, 'scripts/setup torch' the PyTorch that it needs"
				: "docs/engines.md says how to write one; 'ort' and 'torch' come with berth");
	return berth_got(*out = berth_arena_strdup(mem, path), err);
}

static berth_status split_words(berth_arena *mem, const char *text, const char **word, berth_err *err)
{
	int n = 0;
	while (*(text += strspn(text, " "))) {
		size_t len = strcspn(text, " ");
		if (n == MAX_WORDS)
			return berth_fail(err, BERTH_EINVAL, "engine: more than %d words",
			                  MAX_WORDS);
		BERTH_TRY(berth_got(word[n++] = berth_arena_strndup(mem, text, len), err));
		text += len;
	}
	return n ? BERTH_OK
	         : berth_fail(err, BERTH_EINVAL, "engine: a name or a command is missing");
}

berth_status berth_engine_find(const char *text, berth_arena *mem, berth_engine_cfg *out, berth_err *err)
{
	const char **argv;
	BERTH_TRY_NEW(mem, MAX_WORDS + 1, err, argv);
	BERTH_TRY(split_words(mem, text, argv, err));
	out->name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
	if (!strchr(argv[0], '/'))
		BERTH_TRY(find_program(mem, argv[0], &argv[0], err));
	out->argv = argv;
	return BERTH_OK;
}

/* ---- graphs and plans of modules ---- */

static const double limit_s = 600;
static const size_t most_bytes = (size_t)1 << 30; /* bytes of an answer, as of a graph from a pipe */

static berth_status ask_torch(const char *verb, const char *spec, const char *asked, berth_arena *mem,
                              const char **text, size_t *size, berth_err *err)
{
	berth_engine_cfg found = {0};
	/* The engine by a name that tells, where it dies, what it was reading. */
	const char *slash = strrchr(spec, '/');
	BERTH_TRY(berth_engine_find("torch", mem, &found, err));
	BERTH_TRY(berth_got(found.name = berth_arena_printf(mem, "torch for %s", slash ? slash + 1 : spec),
	                    err));
	const char *const argv[] = {found.argv[0], verb, "--", spec, NULL};
	found.argv = argv;
	return berth_engine_line(&found, asked, limit_s, most_bytes, mem, text, size, err);
}

berth_status berth_module_graph_of(const char *spec, berth_arena *mem, const char **text, size_t *size,
                                   berth_err *err)
{
	return ask_torch("graph", spec, NULL, mem, text, size, err);
}

berth_status berth_module_place_of(const char *spec, const char *asked, berth_arena *mem, const char **text,
                                   size_t *size, berth_err *err)
{
	return ask_torch("place", spec, asked, mem, text, size, err);
}
