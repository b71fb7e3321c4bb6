/* Metadata of GGUF files; see gguf_model.h. Keys of a model begin with the name of its architecture. */
#include "gguf_model.h"

#include <string.h>

/* Known architectures. Which layers of them attend within a window is a fact of the models; files may say
 * it otherwise (attention.sliding_window_pattern). */
static const gguf_arch archs[] = {
	{"llama", 0, false}, {"arcee", 0, false}, {"baichuan", 0, false}, {"bailingmoe", 0, false},
	{"bailingmoe2", 0, false}, {"command-r", 0, false}, {"cohere2", 4, false}, {"dbrx", 0, false},
	{"deepseek", 0, false}, {"deepseek2", 0, false}, {"dots1", 0, false}, {"ernie4_5", 0, false},
	{"ernie4_5-moe", 0, false}, {"exaone", 0, false}, {"exaone4", 4, false}, {"gemma", 0, true},
	{"gemma2", 2, true}, {"gemma3", 6, true}, {"glm4", 0, false}, {"glm4moe", 0, false},
	{"gpt-oss", 2, false}, {"granite", 0, false}, {"granitemoe", 0, false}, {"grok", 0, true},
	{"hunyuan-dense", 0, false}, {"hunyuan-moe", 0, false}, {"internlm2", 0, false},
	{"llama4", 0, false}, {"minicpm", 0, false}, {"minimax-m2", 0, false}, {"mistral3", 0, false},
	{"nemotron", 0, false}, {"olmo", 0, false}, {"olmo2", 4, false}, {"olmoe", 0, false},
	{"orion", 0, false}, {"phi3", 0, false}, {"phimoe", 0, false}, {"qwen2", 0, false},
	{"qwen2moe", 0, false}, {"qwen2vl", 0, false}, {"qwen3", 0, false}, {"qwen3moe", 0, false},
	{"qwen3vl", 0, false}, {"qwen3vlmoe", 0, false}, {"refact", 0, false}, {"seed_oss", 0, false},
	{"smollm3", 0, false}, {"stablelm", 0, false}, {"starcoder2", 0, true}, {"xverse", 0, false},
};

static const char *const key_names[GGUF_META_KEYS] = {
	[GGUF_LAYERS] = "block_count",
	[GGUF_HIDDEN] = "embedding_length",
	[GGUF_CONTEXT] = "context_length",
	[GGUF_HEADS] = "attention.head_count",
	[GGUF_KV_HEADS] = "attention.head_count_kv",
	[GGUF_KEY] = "attention.key_length",
	[GGUF_VALUE] = "attention.value_length",
	[GGUF_KEY_MLA] = "attention.key_length_mla",
	[GGUF_VALUE_MLA] = "attention.value_length_mla",
	[GGUF_LATENT] = "attention.kv_lora_rank",
	[GGUF_EXPERTS] = "expert_count",
	[GGUF_TOP] = "expert_used_count",
	[GGUF_WINDOW] = "attention.sliding_window",
	[GGUF_WINDOW_PATTERN] = "attention.sliding_window_pattern",
	[GGUF_NEXTN] = "nextn_predict_layers",
};

const gguf_arch *gguf_arch_find(gguf_span name)
{
	for (size_t i = 0; i < sizeof archs / sizeof *archs; i++)
		if (gguf_span_is(name, archs[i].name))
			return &archs[i];
	return NULL;
}

/* The first pass: which architecture is it? It stands first by custom, not by rule. */
static berth_status read_arch(gguf_file *f, gguf_meta *m, berth_err *err)
{
	gguf_key key;
	gguf_span name;
	for (uint64_t i = 0; i < f->n_keys; i++) {
		BERTH_TRY(gguf_next_key(f, &key, err));
		if (!gguf_span_is(key.name, "general.architecture"))
			continue;
		BERTH_TRY(gguf_string(f, &key, &name, err));
		if (!(m->arch = gguf_arch_find(name)))
			return gguf_fail(f, key.at, err,
			                 "architecture '%.*s' is not known; docs/importers.md lists those "
			                 "that are (decoders like llama, and mixtures of experts)",
			                 (int)(name.n < 40 ? name.n : 40), name.text);
		f->at = f->keys_at;
		return BERTH_OK;
	}
	return gguf_fail(f, f->keys_at, err,
	                 "no key 'general.architecture'; expected one that says what the tensors are");
}

/* The part of key behind "ARCH.", or NULL. */
static const char *behind_arch(const gguf_meta *m, gguf_span key, size_t *n)
{
	size_t len = strlen(m->arch->name);
	if (key.n <= len || memcmp(key.text, m->arch->name, len) != 0 || key.text[len] != '.')
		return NULL;
	*n = key.n - len - 1;
	return key.text + len + 1;
}

static berth_status take_key(gguf_meta *m, const gguf_file *f, const gguf_key *key, berth_err *err)
{
	size_t n = 0;
	const char *text = behind_arch(m, key->name, &n);
	if (gguf_span_is(key->name, "split.count"))
		return gguf_whole(f, key, 0, NULL, &m->n_files, err);
	for (int i = 0; text && i < GGUF_META_KEYS; i++) {
		if (!gguf_span_is((gguf_span){text, n}, key_names[i]))
			continue;
		if (m->given[i])
			return gguf_fail(f, key->at, err, "key '%.*s' stands twice", (int)key->name.n,
			                 key->name.text);
		m->given[i] = true;
		m->key[i] = *key;
	}
	return BERTH_OK;
}

berth_status gguf_read_meta(gguf_file *f, gguf_meta *m, berth_err *err)
{
	gguf_key key;
	*m = (gguf_meta){.file = f, .n_files = 1};
	BERTH_TRY(read_arch(f, m, err));
	for (uint64_t i = 0; i < f->n_keys; i++) {
		BERTH_TRY(gguf_next_key(f, &key, err));
		BERTH_TRY(take_key(m, f, &key, err));
	}
	return BERTH_OK;
}

berth_status gguf_meta_whole(const gguf_meta *m, gguf_meta_key key, int32_t layer, int64_t otherwise,
                             int64_t *out, berth_err *err)
{
	bool each;
	if (m->given[key])
		return gguf_whole(m->file, &m->key[key], (uint64_t)layer, &each, out, err);
	if (otherwise < 0)
		return gguf_fail(m->file, m->file->keys_at, err, "no key '%s.%s'", m->arch->name,
		                 key_names[key]);
	*out = otherwise;
	return BERTH_OK;
}
