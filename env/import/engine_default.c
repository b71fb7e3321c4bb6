/* The table; see engine_default.h. */
#include "engine_default.h"

#include "ort_providers.h"
#include "text.h"

/* Everything on the best device that can run all of it: ONNX Runtime gives a node to the first provider that
 * takes it, and to the CPU else. */
static berth_status ort_default(const berth_problem *p, berth_arena *tmp, int32_t *op_dev, const char **why,
                                berth_err *err)
{
	const berth_export_source x = {.g = p->g, .s = p->s, .p = p};
	bool known;
	BERTH_TRY(ort_usual(&x, tmp, op_dev, &known, err));
	*why = known ? NULL : "no device can run the whole model";
	return BERTH_OK;
}

static const berth_engine_default defaults[] = {{"ort", ort_default}, {"llama.cpp", llama_default}};

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
