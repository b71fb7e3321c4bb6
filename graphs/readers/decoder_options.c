/* Words of GGUF files and model folders, by a table of parameters with the types of ggml. */
#include "decoder_options.h"

#include "ggml_types.h"
#include "spec.h"

static const char *const modes[] = {"prefill", "decode", NULL};
static const char *const grains[] = {"all", "each", NULL};
static const char *const caches[] = {"f16",  "f32",  "bf16", "q8_0",   "q5_1",
                                     "q5_0", "q4_1", "q4_0", "iq4_nl", NULL};
static const char *const weights[] = GGML_WEIGHT_WORDS("file");

static const berth_spec_param params[] = {
	{"batch", "sequences at once", 1, 1, 65536, true, NULL},
	{"context", "tokens: read at once, or in the cache; 0: 4096, or the model's if that is less", 0, 0,
	 16777216, true, NULL},
	{"mode", "prefill: all tokens at once; decode: one more", 0, 0, 0, false, modes},
	{"experts", "operators for all experts of a layer, or for each", 0, 0, 0, false, grains},
	{"cache", "type of cached keys and values", 0, 0, 0, false, caches},
	{"weights", "type of matrices, as if the file had it; file: its own", 0, 0, 0, false, weights},
	{"chunk", "tokens of a prompt read at once, the rest of the context in the cache; 0: all", 0, 0,
	 16777216, true, NULL}};

enum { N_PARAMS = sizeof params / sizeof *params };

berth_gguf_options berth_gguf_options_default(void)
{
	return (berth_gguf_options){.batch = 1, .cache = "f16", .weights = "file", .suffix = ""};
}

berth_status berth_gguf_options_read(const char *file, const char *const *word, int32_t n, berth_arena *mem,
                                     berth_gguf_options *out, berth_err *err)
{
	const berth_spec_table t = {"the format", "GGUF", params, N_PARAMS},
			       nameless = {"", "", params, N_PARAMS};
	double value[BERTH_SPEC_PARAMS];
	const char *rest = "";
	*out = berth_gguf_options_default();
	for (int32_t i = 0; i < n; i++)
		BERTH_TRY(berth_got(rest = berth_arena_printf(mem, "%s:%s", rest, word[i]), err));
	BERTH_TRY(berth_spec_values(file, rest, &t, value, err));
	out->batch = (int64_t)value[0];
	out->context = (int64_t)value[1];
	out->decode = value[2] > 0;
	out->each_expert = value[3] > 0;
	out->cache = caches[(int)value[4]];
	out->weights = weights[(int)value[5]];
	out->chunk = (int64_t)value[6];
	out->suffix = berth_spec_canonical(&nameless, value, mem);
	return out->suffix ? BERTH_OK : berth_nomem(err);
}
