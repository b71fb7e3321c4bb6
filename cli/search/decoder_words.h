/* Language models on the command line: which graphs are decoders, and the words that say how one is used. */
#pragma once

#include "options.h"

/* --ctx, --batch, --kv-type. */
typedef struct decoder_args {
	int64_t context, batch; /* 0: not given */
	const char *cache;      /* NULL: not given */
} decoder_args;

#define CLI_DECODER(x) \
	{"ctx", 0, CLI_COUNT, &(x)->context, "N", \
	 "tokens that a language model reads or has in its cache"}, \
	{"batch", 0, CLI_COUNT, &(x)->batch, "N", "sequences of a language model at once"}, \
	{"kv-type", 0, CLI_TEXT, &(x)->cache, "T", \
	 "type of its cached keys and values: f16, q8_0, q4_0 and so on"}

typedef struct decoder_words {
	bool is;          /* a GGUF model, or zoo:llama or zoo:moe, and no training step of it */
	bool gguf;
	bool mode;        /* prefill or decode is said */
	const char *spec; /* with all words, those of --dim and of the options too */
} decoder_words;

/* What spec and c->dim name. The words of --dim go into out->spec. Fails: BERTH_EINVAL (options of decoders
 * for another model), BERTH_EIO, BERTH_ENOMEM. */
berth_status decoder_words_read(cli *c, const decoder_args *a, const char *spec, decoder_words *out,
                                berth_err *err);
