/* The table; see engine_default.h. */
#include "engine_default.h"

#include "load.h"
#include "text.h"

#include <string.h>

static const berth_engine_default defaults[] = {
	{"ort", &berth_export_ort, NULL, "no device can run the whole model"},
	{"llama.cpp", &berth_export_llama, "GGUF",
         "llama.cpp needs a CPU, weights and experts as the file has them, and buffers that can be told"}};

enum { N_DEFAULTS = sizeof defaults / sizeof *defaults };

berth_status berth_engine_default_find(const char *name, const berth_engine_default **out, berth_err *err)
{
	const char *known[N_DEFAULTS];
	int32_t at;
	for (int i = 0; i < N_DEFAULTS; i++)
		known[i] = defaults[i].name;
	BERTH_TRY(berth_text_find(known, N_DEFAULTS, name, "engine", NULL, &at, err));
	*out = &defaults[at];
	return BERTH_OK;
}

static bool is_taken(const berth_engine_default *e, const berth_content *model)
{
	return !e->model || (model && strcmp(berth_content_format(model)->name, e->model) == 0);
}

berth_status berth_engine_default_of(const berth_engine_default *e, const berth_export_source *x,
                                     berth_arena *mem, berth_arena *tmp, int32_t *op_dev, const char **why,
                                     berth_err *err)
{
	bool known;
	*why = NULL;
	if (!is_taken(e, x->model)) {
		*why = berth_arena_printf(mem, "%s runs files of the format %s", e->name, e->model);
		return *why ? BERTH_OK : berth_nomem(err);
	}
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	berth_status st = e->exporter->usual(x, tmp, op_dev, &known, err);
	berth_arena_reset(tmp, mark);
	if (st == BERTH_OK && !known)
		*why = e->unknown;
	return st;
}
