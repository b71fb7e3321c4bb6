/* Which engine a command line means, and how it is started: for modules that of PyTorch, else that of ONNX
 * Runtime. */
#include "engine.h"

#include "engine_find.h"
#include "graph_load.h"
#include "print.h"
#include "load.h"

#include <unistd.h>

/* The torch engine runs modules, and no graphs of them. */
static berth_status check_torch(const char *name, const char *model, berth_err *err)
{
	static const char torch[] = "torch";
	size_t n = sizeof torch - 1;
	bool is_torch = name && strncmp(name, torch, n) == 0 && (name[n] == '\0' || name[n] == ' ');
	if (!is_torch || !model || berth_module_file_length(model))
		return BERTH_OK;
	return berth_fail(err, BERTH_EINVAL,
	                  "engine 'torch' runs PyTorch modules, and %s is none: give the module by --model "
	                  "FILE.py:FACTORY",
	                  model);
}

/* The words that start it, for the system (or NULL); NULL: no memory. Where units are more than there are
 * cores, or threads that the engine takes, all cores (0). */
static const char *words_of(cli *c, const char *name, bool slows, const berth_system *s)
{
	enum { MOST_THREADS = 1024 };
	bool one_cpu = !slows && s && s->n_devs == 1 && s->dev_class[0] == BERTH_CLASS_CPU &&
	               s->dev_units[0] > 1 && !strpbrk(s->dev_name[0], " ,=");
	if (strcmp(name, "ort") != 0 || !one_cpu)
		return name;
	bool all = s->dev_units[0] > sysconf(_SC_NPROCESSORS_ONLN) || s->dev_units[0] > MOST_THREADS;
	return berth_arena_printf(&c->mem, "ort --providers %s=CPUExecutionProvider --threads %d",
	                          s->dev_name[0], all ? 0 : (int)s->dev_units[0]);
}

berth_status cli_engine_cfg(cli *c, const cli_engine *e, const char *graph, const berth_system *s,
                            berth_measured_cfg *out, berth_err *err)
{
	*out = berth_measured_cfg_default();
	if (e->model)
		BERTH_TRY(cli_model_check(c, e->model, err));
	const char *model = e->model ? e->model : graph;
	BERTH_TRY(check_torch(e->name, model, err));
	const char *usual = model && berth_module_file_length(model) ? "torch" : "ort";
	const char *command = words_of(c, e->name ? e->name : usual, e->slows, s);
	BERTH_TRY(berth_got(command, err));
	BERTH_TRY(berth_engine_find(command, &c->mem, &out->engine, err));
	const berth_read_options given = {.dim = c->dim.text, .n_dims = c->dim.n};
	berth_read_options words;
	BERTH_TRY(berth_graph_split(model, &given, &c->mem, &out->model, &words, err));
	if (!c->no_sandbox && *out->model && !berth_module_file_length(model))
		BERTH_TRY(cli_note(c, err, "the engine reads %s outside of the sandbox", out->model));
	out->dim = words.dim;
	out->n_dims = words.n_dims;
	out->answer_s = e->timeout_s;
	out->load_s = out->answer_s;
	if (e->timeout_s > 0)
		out->engine.hello_s = e->timeout_s;
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
	BERTH_TRY(cli_engine_cfg(c, e, graph, s, &cfg, err));
	cfg.engine.cancel = cancel;
	BERTH_TRY(berth_measured_open(&cfg, g, s, &c->mem, m, err));
	berth_status st = berth_got(*text = describe(c, m), err);
	if (st == BERTH_OK && m->missing)
		st = cli_warn(c, err,
		              "%s: its weights in '%s' are not there: the engine computes with numbers that "
		              "it made",
		              cfg.model, m->missing);
	if (st != BERTH_OK)
		berth_measured_close(m);
	return st;
}
