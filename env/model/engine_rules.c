/* The table of engines; see engine_rules.h. */
#include "engine_rules.h"

#include "accelerate_times.h"
#include "llama_times.h"
#include "text.h"

#include <string.h>

static const berth_engine_rules engines[] = {
	{.name = "ort",
         .title = "ONNX Runtime",
         .format = {"ONNX", "berth-graph"},
         .cost = &berth_cost_serial,
         .unknown = "no device can run the whole model"},
	{.name = "llama.cpp",
         .title = "llama.cpp",
         .format = {"GGUF"},
         .cost = &berth_cost_serial,
         .times = berth_llama_times,
         .by_itself = true,
         .reads = true,
         .unknown = "it needs a CPU, weights and experts as the file has them, and buffers that can be told"},
	{.name = "accelerate",
         .title = "accelerate",
         .format = {"safetensors"},
         .cost = &berth_cost_serial,
         .times = berth_accelerate_times,
         .grain = "layer",
         .by_itself = true,
         .reads = true,
         .unknown = "it needs a device that the system does not have"},
	{.name = "openvino",
         .title = "OpenVINO",
         .format = {"ONNX", "berth-graph"},
         .cost = &berth_cost_serial,
         .unknown = "no device can run the whole model"},
	{.name = "torch",
         .title = "PyTorch",
         .format = {"PyTorch", "berth-graph"},
         .cost = &berth_cost_serial,
         .unknown = "no device holds the whole model"},
	{.name = "vllm",
         .title = "vLLM",
         .format = {"safetensors", "GGUF"},
         .cost = &berth_cost_serial,
         .grain = "layer",
         .reads = true,
         .unknown = "it needs a GPU, layers, and weights and a cache that it has options for"}};

enum { N_ENGINES = sizeof engines / sizeof *engines };

berth_status berth_rules_find(const char *name, const berth_engine_rules **out, berth_err *err)
{
	const char *known[N_ENGINES + 1];
	int32_t at;
	for (int i = 0; i < N_ENGINES; i++)
		known[i] = engines[i].name;
	known[N_ENGINES] = "none";
	BERTH_TRY(berth_text_find(known, N_ENGINES + 1, name, "engine", NULL, &at, err));
	*out = at < N_ENGINES ? &engines[at] : NULL;
	return BERTH_OK;
}

const berth_engine_rules *berth_rules_of_format(const char *format)
{
	for (int k = 0; format && k < 2 * N_ENGINES; k++) {
		const berth_engine_rules *e = &engines[k % N_ENGINES];
		if ((e->by_itself || k >= N_ENGINES) && berth_rules_run(e, format))
			return e;
	}
	return NULL;
}

bool berth_rules_run(const berth_engine_rules *e, const char *format)
{
	if (!format)
		return !e->reads;
	for (const char *const *f = e->format; *f; f++)
		if (strcmp(*f, format) == 0)
			return true;
	return false;
}

berth_status berth_system_for(const berth_engine_rules *e, berth_system *s, berth_err *err)
{
	if (!e)
		return BERTH_OK;
	if (e->cost && s->cost_model != &berth_cost_reference && s->cost_model != e->cost)
		return berth_fail(err, BERTH_EINVAL,
		                  "system '%.80s' has the cost model %s, and plans for %s are valued by %s: "
		                  "leave out one of them",
		                  s->name, s->cost_model->name, e->title, e->cost->name);
	s->engine = e;
	if (e->cost)
		s->cost_model = e->cost;
	return BERTH_OK;
}
