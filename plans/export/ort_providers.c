/* Execution providers of ONNX Runtime that the devices of a plan stand for, and what it fuses. */
#include "ort_providers.h"

#include "granularity.h"

bool ort_rule_holds(const char *text)
{
	if (!*text || *text == ' ' || text[strlen(text) - 1] == ' ')
		return false;
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f || strchr(ORT_RULE_SIGNS, *c))
			return false;
	return true;
}

/* What goes wrong in the engine without a word, or late. */
static berth_status warn_provider(const char *provider, berth_export_out *out, berth_err *err)
{
	static const char *const compiling[] = {"OpenVINO", "Tensorrt", "NvTensorRTRTX", "QNN",  "CoreML",
	                                        "VitisAI",  "MIGraphX", "Dnnl",          "NNAPI"};
	if (strcmp(provider, "cpu") == 0)
		return berth_export_warn(out, err,
		                         "'cpu' is the first provider on a CPU, whichever that is; "
		                         "CPUExecutionProvider is the usual one");
	for (size_t i = 0; i < sizeof compiling / sizeof *compiling; i++)
		if (strncmp(provider, compiling[i], strlen(compiling[i])) == 0)
			return berth_export_warn(out, err,
			                         "%s compiles pieces of the model: the session fails where a "
			                         "piece's operators "
			                         "have others between them that are elsewhere",
			                         provider);
	return BERTH_OK;
}

berth_status ort_providers(const berth_export_source *x, const char **provider, berth_export_out *out,
                           berth_err *err)
{
	static const berth_export_word usual[] = {{"cpu", "CPUExecutionProvider"},
	                                          {"gpu", "CUDAExecutionProvider"},
	                                          {"cuda", "CUDAExecutionProvider"},
	                                          {NULL, NULL}};
	BERTH_TRY(berth_export_theirs(x, usual, "execution provider of ONNX Runtime", provider, out, err));
	for (int32_t d = 0; d < x->s->n_devs; d++) {
		if (!provider[d])
			continue;
		if (!ort_rule_holds(provider[d]))
			return berth_fail(err, BERTH_EINVAL,
			                  "'%.80s' is no name of an execution provider: the option of ONNX "
			                  "Runtime cannot hold %s, blanks around it or control characters",
			                  provider[d], ORT_RULE_SIGNS);
		BERTH_TRY(warn_provider(provider[d], out, err));
	}
	return BERTH_OK;
}

int32_t ort_cpu_of(const char *const *provider, int32_t n_devs)
{
	for (int32_t d = 0; d < n_devs; d++)
		if (provider[d] && strcmp(provider[d], "CPUExecutionProvider") == 0)
			return d;
	return -1;
}

/* The rules of the provider that device `first` is the first one of. */
static void put_provider(berth_strbuf *b, const char *const *provider, const char *const *rules,
                         int32_t first, int32_t n_devs)
{
	const char *sep = "";
	berth_strbuf_printf(b, "%s", b->len ? ";" : "");
	berth_strbuf_add(b, provider[first], strlen(provider[first]));
	berth_strbuf_add(b, "(", 1);
	for (int32_t d = first; d < n_devs; d++) {
		if (!rules[d] || !provider[d] || strcmp(provider[d], provider[first]) != 0)
			continue;
		berth_strbuf_add(b, sep, strlen(sep));
		berth_strbuf_add(b, rules[d], strlen(rules[d]));
		sep = ",";
	}
	berth_strbuf_add(b, ")", 1);
}

berth_status ort_provider_rules(const char *const *provider, const char *const *rules, int32_t n_devs,
                                berth_arena *mem, const char **out, berth_err *err)
{
	berth_strbuf b = {.mem = mem};
	for (int32_t d = 0; d < n_devs; d++) {
		bool first = provider[d] && rules[d];
		for (int32_t k = 0; first && k < d; k++)
			first = !provider[k] || !rules[k] || strcmp(provider[k], provider[d]) != 0;
		if (first)
			put_provider(&b, provider, rules, d, n_devs);
	}
	return berth_strbuf_done(&b, out, NULL, err);
}

berth_status ort_usual(const berth_export_source *x, berth_arena *tmp, int32_t *op_dev, bool *known,
                       berth_err *err)
{
	int64_t best = -1;
	int32_t at = -1;
	(void)tmp, (void)err;
	for (int32_t d = 0; d < x->s->n_devs; d++) {
		int64_t ns = berth_export_time_on(x, d);
		if (ns < 0 || (at >= 0 && ns >= best))
			continue;
		best = ns;
		at = d;
	}
	return berth_export_all_on(x, at, op_dev, known);
}

/* ---- what the library fuses ---- */

berth_status ort_fused_note(const berth_export_source *x, berth_arena *tmp, berth_export_out *out,
                            berth_err *err)
{
	const berth_graph *g = x->g;
	int32_t n, pair[2];
	BERTH_SCRATCH(tmp);
	BERTH_TRY(berth_kernels_cut(g, x->op_dev, tmp, out->mem, &n, pair, err));
	if (!n)
		return BERTH_OK;
	return berth_export_note(
		out, err,
		"the plan cuts %d kernel%s that ONNX Runtime fuses (first: %.80s, %.80s): with optimisation "
		"both parts may run where the first one is; place --for ort cuts none",
		n, n == 1 ? "" : "s", g->op_name[pair[0]], g->op_name[pair[1]]);
}
