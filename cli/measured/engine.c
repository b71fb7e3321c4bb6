/* Finding engines. */
#include "engine.h"

#include "load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_WORDS = 64 };

/* The folder of this program, with a slash; "" where the system does not tell. */
static void own_folder(char *buf, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", buf, size - 1);
	buf[n > 0 ? n : 0] = '\0';
	char *slash = strrchr(buf, '/');
	if (slash)
		slash[1] = '\0';
	else
		buf[0] = '\0';
}

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

static berth_status find_program(cli *c, const char *name, const char **out, berth_err *err)
{
	char beside[1200], program[100], path[1400];
	if (snprintf(program, sizeof program, "berth-engine-%s", name) >= (int)sizeof program)
		return berth_fail(err, BERTH_EINVAL, "option --engine: '%.60s...' is no name of an engine",
		                  name);
	own_folder(beside, sizeof beside);
	snprintf(path, sizeof path, "%s%s", beside, program);
	if (!(*beside && access(path, X_OK) == 0) && !in_path(program, path, sizeof path))
		return berth_fail(
			err, BERTH_EIO,
			"engine '%.60s' is not installed: no program '%s' beside berth or in PATH; %s", name,
			program,
			strcmp(name, "ort") == 0
				? "building berth makes it, 'scripts/setup engine' brings the ONNX Runtime "
		                  "that it needs"
				: "docs/engines.md says how to write one; 'ort' comes with berth");
	*out = berth_arena_strdup(&c->mem, path);
	return *out ? BERTH_OK : berth_nomem(err);
}

/* Words between blanks; quotes are not looked at. */
static berth_status split_words(cli *c, const char *text, const char **word, berth_err *err)
{
	int n = 0;
	while (*(text += strspn(text, " "))) {
		size_t len = strcspn(text, " ");
		if (n == MAX_WORDS)
			return berth_fail(err, BERTH_EINVAL, "option --engine: more than %d words",
			                  MAX_WORDS);
		if (!(word[n++] = berth_arena_strndup(&c->mem, text, len)))
			return berth_nomem(err);
		text += len;
	}
	return n ? BERTH_OK
	         : berth_fail(err, BERTH_EINVAL, "option --engine: a name or a command is missing");
}

berth_status cli_engine_cfg(cli *c, const cli_engine *e, const char *graph, berth_measured_cfg *out,
                            berth_err *err)
{
	const char **argv;
	*out = berth_measured_cfg_default();
	BERTH_TRY(BERTH_NEW(&c->mem, argv, MAX_WORDS + 1, err));
	BERTH_TRY(split_words(c, e->name ? e->name : "ort", argv, err));
	out->engine.name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
	if (!strchr(argv[0], '/'))
		BERTH_TRY(find_program(c, argv[0], &argv[0], err));
	out->engine.argv = argv;
	const berth_read_options given = {c->dim.text, c->dim.n};
	berth_read_options words;
	BERTH_TRY(berth_graph_split(e->model ? e->model : graph, &given, &c->mem, &out->model, &words, err));
	out->dim = words.dim;
	out->n_dims = words.n_dims;
	out->answer_s = e->timeout_s > 0 ? e->timeout_s : 300;
	out->load_s = out->answer_s;
	return BERTH_OK;
}

/* NULL when memory runs out. */
static const char *describe(cli *c, const berth_measured *m)
{
	const berth_engine_hello *h = berth_engine_says(m->engine);
	const char *text = berth_arena_printf(&c->mem, "%s %s", h->engine, h->version);
	for (const char *const *a = m->cfg.engine.argv + 1; text && *a; a++)
		text = berth_arena_printf(&c->mem, "%s %s", text, *a);
	return text;
}

berth_status cli_engine_open(cli *c, const cli_engine *e, const char *graph, const berth_graph *g,
                             const berth_system *s, const atomic_int *cancel, berth_measured *m,
                             const char **text, berth_err *err)
{
	berth_measured_cfg cfg;
	BERTH_TRY(cli_engine_cfg(c, e, graph, &cfg, err));
	cfg.engine.cancel = cancel;
	BERTH_TRY(berth_measured_open(&cfg, g, s, &c->mem, m, err));
	if ((*text = describe(c, m)))
		return BERTH_OK;
	berth_measured_close(m);
	return berth_nomem(err);
}
