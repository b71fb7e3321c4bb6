/* The table of engines whose defaults are known: what they do when they are told nothing about devices. */
#include "engine_default.h"

#include "text.h"

#include <string.h>

static const berth_engine_default defaults[] = {
	{"ort", &berth_export_ort, {"ONNX", "berth-graph"}, false, "no device can run the whole model"},
	{"llama.cpp", &berth_export_llama, {"GGUF"}, true,
         "llama.cpp needs a CPU, weights and experts as the file has them, and buffers that can be told"},
	{"accelerate",
         &berth_export_accelerate,
         {"safetensors"},
         true,
         "it needs a device that the system does not have"},
	{"openvino",
         &berth_export_openvino,
         {"ONNX", "berth-graph"},
         false,
         "no device can run the whole model"},
	{"vllm",
         &berth_export_vllm,
         {"safetensors", "GGUF"},
         true,
         "vLLM needs a GPU, layers, and weights and a cache that it has options for"}};

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

bool berth_engine_default_runs(const berth_engine_default *e, const char *format)
{
	if (!format)
		return !e->reads;
	for (const char *const *f = e->format; *f; f++)
		if (strcmp(*f, format) == 0)
			return true;
	return false;
}

berth_status berth_engine_default_of(const berth_engine_default *e, const berth_export_source *x,
                                     berth_arena *tmp, int32_t *op_dev, const char **why, berth_err *err)
{
	bool known;
	BERTH_SCRATCH(tmp);
	berth_status st = e->exporter->usual(x, tmp, op_dev, &known, err);
	*why = st == BERTH_OK && known ? NULL : e->unknown;
	return st;
}
