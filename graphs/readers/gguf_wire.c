/* The bytes of a GGUF file, walked in place, and its metadata. Keys of a model begin with the name of its
 * architecture. */
#include "gguf_wire.h"

#include "file.h"

#include <stdarg.h>

enum { DEEPEST_ARRAY = 4, LEAST_KEY = 13, LEAST_TENSOR = 33 };

static const size_t kind_bytes[GGUF_KINDS] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

bool gguf_is(const char *data, size_t size)
{
	return size >= 4 && memcmp(data, "GGUF", 4) == 0;
}

berth_status gguf_fail(const gguf_file *f, size_t at, const char *fmt, ...)
{
	char text[400];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return berth_fail(f->err, BERTH_EFORMAT, "%s: byte %zu: %s", f->name, at, text);
}

static berth_status take(gguf_file *f, size_t bytes, const char *what, uint64_t *out)
{
	*out = 0;
	if (f->size - f->at < bytes)
		return gguf_fail(f, f->at, "the file ends within %s", what);
	*out = berth_file_little(f->data + f->at, bytes);
	f->at += bytes;
	return BERTH_OK;
}

static berth_status take_string(gguf_file *f, const char *what, text_span *out)
{
	uint64_t n;
	size_t at = f->at;
	*out = (text_span){0};
	BERTH_TRY(take(f, 8, what, &n));
	if (n > f->size - f->at)
		return gguf_fail(f, at,
		                 "%s of %llu bytes; expected at most the %zu that are left of the file", what,
		                 (unsigned long long)n, f->size - f->at);
	*out = (text_span){(const char *)f->data + f->at, (size_t)n};
	f->at += (size_t)n;
	return BERTH_OK;
}

static berth_status skip_value(gguf_file *f, uint64_t kind, int depth);

static berth_status take_array(gguf_file *f, int depth, uint64_t *of, uint64_t *count)
{
	uint64_t kind, n;
	size_t at = f->at;
	BERTH_TRY(take(f, 4, "the type of an array", &kind));
	BERTH_TRY(take(f, 8, "the length of an array", &n));
	*of = kind;
	*count = n;
	if (kind >= GGUF_KINDS)
		return gguf_fail(f, at, "an array of values of type %llu; expected 0 to %d",
		                 (unsigned long long)kind, GGUF_KINDS - 1);
	if (kind == GGUF_ARRAY && depth == DEEPEST_ARRAY)
		return gguf_fail(f, at, "arrays in arrays, deeper than %d", DEEPEST_ARRAY);
	size_t least = kind_bytes[kind] ? kind_bytes[kind] : 8;
	if (n > (f->size - f->at) / least)
		return gguf_fail(f, at,
		                 "an array of %llu values; expected at most %zu, which is what the rest of "
		                 "the file can hold",
		                 (unsigned long long)n, (f->size - f->at) / least);
	if (kind_bytes[kind]) {
		f->at += (size_t)n * kind_bytes[kind];
		return BERTH_OK;
	}
	for (uint64_t i = 0; i < n; i++)
		BERTH_TRY(skip_value(f, kind, depth + 1));
	return BERTH_OK;
}

static berth_status skip_value(gguf_file *f, uint64_t kind, int depth)
{
	text_span s;
	uint64_t x, of;
	if (kind == GGUF_STRING)
		return take_string(f, "a string", &s);
	if (kind == GGUF_ARRAY)
		return take_array(f, depth, &of, &x);
	return take(f, kind_bytes[kind], "a value", &x);
}

berth_status gguf_open(gguf_file *f)
{
	uint64_t version;
	f->at = 4;
	if (!gguf_is((const char *)f->data, f->size))
		return gguf_fail(f, 0, "no GGUF file; expected it to begin with GGUF");
	BERTH_TRY(take(f, 4, "the version", &version));
	if (version == 2u << 24 || version == 3u << 24)
		return gguf_fail(f, 4, "a big-endian file; expected a little-endian one");
	if (version != 2 && version != 3)
		return gguf_fail(f, 4, "version %llu; expected 2 or 3", (unsigned long long)version);
	BERTH_TRY(take(f, 8, "the number of tensors", &f->n_tensors));
	BERTH_TRY(take(f, 8, "the number of keys", &f->n_keys));
	f->keys_at = f->at;
	if (f->n_tensors > (f->size - f->at) / LEAST_TENSOR)
		return gguf_fail(f, 8, "%llu tensors; expected at most %zu, which is what the file can hold",
		                 (unsigned long long)f->n_tensors, (f->size - f->at) / LEAST_TENSOR);
	if (f->n_keys > (f->size - f->at) / LEAST_KEY)
		return gguf_fail(f, 16, "%llu keys; expected at most %zu, which is what the file can hold",
		                 (unsigned long long)f->n_keys, (f->size - f->at) / LEAST_KEY);
	return BERTH_OK;
}

berth_status gguf_next_key(gguf_file *f, gguf_key *key)
{
	uint64_t kind;
	*key = (gguf_key){0};
	BERTH_TRY(take_string(f, "a key", &key->name));
	size_t at = f->at;
	BERTH_TRY(take(f, 4, "the type of a value", &kind));
	if (kind >= GGUF_KINDS)
		return gguf_fail(f, at, "a value of type %llu; expected 0 to %d", (unsigned long long)kind,
		                 GGUF_KINDS - 1);
	key->kind = (gguf_kind)kind;
	key->at = f->at;
	if (key->kind == GGUF_STRING)
		return take_string(f, "a string", &key->string);
	if (key->kind == GGUF_ARRAY)
		return take_array(f, 0, &key->of, &key->n);
	return skip_value(f, kind, 0);
}

/* ---- tensors ---- */

static berth_status take_dims(gguf_file *f, decoder_tensor *t)
{
	uint64_t n, x;
	size_t at = f->at;
	BERTH_TRY(take(f, 4, "the rank of a tensor", &n));
	if (n < 1 || n > DECODER_RANK)
		return gguf_fail(f, at, "tensor '%.*s' has %llu dimensions; expected 1 to %d",
		                 text_span_shown(t->name), t->name.text, (unsigned long long)n, DECODER_RANK);
	for (int i = 0; i < DECODER_RANK; i++) {
		x = 1;
		at = f->at;
		if ((uint64_t)i < n)
			BERTH_TRY(take(f, 8, "the dimensions of a tensor", &x));
		if (x < 1 || x > (uint64_t)1 << 53)
			return gguf_fail(f, at, "tensor '%.*s' has a dimension of %llu; expected 1 to 2^53",
			                 text_span_shown(t->name), t->name.text, (unsigned long long)x);
		t->dim[i] = (int64_t)x;
	}
	return BERTH_OK;
}

berth_status gguf_next_tensor(gguf_file *f, decoder_tensor *t)
{
	uint64_t id, offset;
	size_t at = f->at;
	BERTH_TRY(take_string(f, "the name of a tensor", &t->name));
	if (t->name.n == 0)
		return gguf_fail(f, at, "a tensor without a name");
	BERTH_TRY(take_dims(f, t));
	at = f->at;
	BERTH_TRY(take(f, 4, "the type of a tensor", &id));
	const ggml_type *type = id <= UINT32_MAX ? ggml_type_of((uint32_t)id) : NULL;
	if (!type)
		return gguf_fail(f, at, "tensor '%.*s' has type %llu, which is not known",
		                 text_span_shown(t->name), t->name.text, (unsigned long long)id);
	BERTH_TRY(take(f, 8, "the offset of a tensor", &offset));
	t->dtype = ggml_precision(type);
	/* Bytes of the tensor: rows of whole blocks. */
	if (t->dim[0] % type->elements)
		return gguf_fail(f, at,
		                 "tensor '%.*s' has rows of %lld elements; expected whole blocks of %d, as "
		                 "its type is %s",
		                 text_span_shown(t->name), t->name.text, (long long)t->dim[0], type->elements,
		                 type->name);
	double bytes = (double)(t->dim[0] / type->elements) * type->bytes;
	for (int i = 1; i < DECODER_RANK; i++)
		bytes *= (double)t->dim[i];
	if (bytes > 0x1p53)
		return gguf_fail(f, at, "tensor '%.*s' has %.3g bytes; expected at most 2^53",
		                 text_span_shown(t->name), t->name.text, bytes);
	t->bytes = (int64_t)bytes;
	return BERTH_OK;
}

/* ---- values ---- */

static berth_status whole_at(const gguf_file *f, const gguf_key *key, uint64_t kind, size_t at, int64_t *out)
{
	bool is_signed = kind == GGUF_I8 || kind == GGUF_I16 || kind == GGUF_I32 || kind == GGUF_I64;
	bool is_whole = is_signed || kind == GGUF_U8 || kind == GGUF_U16 || kind == GGUF_U32 ||
	                kind == GGUF_U64 || kind == GGUF_BOOL;
	if (!is_whole)
		return gguf_fail(f, at, "key '%.*s' has a value of type %llu; expected an integer",
		                 text_span_shown(key->name), key->name.text, (unsigned long long)kind);
	uint64_t x = berth_file_little(f->data + at, kind_bytes[kind]);
	uint64_t sign = (uint64_t)1 << (8 * kind_bytes[kind] - 1);
	if (is_signed && (x & sign))
		return gguf_fail(f, at, "key '%.*s' is negative; expected 0 or more",
		                 text_span_shown(key->name), key->name.text);
	if (x > INT32_MAX)
		return gguf_fail(f, at, "key '%.*s' is %llu; expected at most 2^31 - 1",
		                 text_span_shown(key->name), key->name.text, (unsigned long long)x);
	*out = (int64_t)x;
	return BERTH_OK;
}

/* A value as a whole number from 0 to 2^31 - 1. It is an integer or a truth value, or element i of an array
 * of such. each != NULL: it may be an array, and *each tells whether it is. */
static berth_status whole_number(const gguf_file *f, const gguf_key *key, uint64_t i, bool *each,
                                 int64_t *out)
{
	bool is_array = each && key->kind == GGUF_ARRAY;
	if (each)
		*each = is_array;
	if (!is_array)
		return whole_at(f, key, key->kind, key->at, out);
	if (i >= key->n)
		return gguf_fail(f, key->at,
		                 "key '%.*s' has %llu values; expected one more at least, for layer %llu",
		                 text_span_shown(key->name), key->name.text, (unsigned long long)key->n,
		                 (unsigned long long)i);
	return whole_at(f, key, key->of, key->at + 12 + (size_t)i * kind_bytes[key->of], out);
}

/* ---- metadata ---- */

/* Known architectures; those that have windows or Gelu as rows. Which layers attend within a window is a fact
 * of the models; files may say it otherwise (attention.sliding_window_pattern). */
static const char *const plain_archs[] = {
	"llama", "apertus", "arcee", "baichuan", "bailingmoe", "bailingmoe2", "bitnet", "chatglm",
	"command-r", "dbrx", "deci", "deepseek", "deepseek2", "deepseek2-ocr", "dots1", "dream",
	"ernie4_5", "ernie4_5-moe", "exaone", "glm4", "glm4moe", "granite", "granitemoe", "hunyuan-dense",
	"hunyuan-moe", "hunyuan_vl", "hy_v3", "internlm2", "jais", "llada", "llada-moe", "llama4",
	"maincoder", "minicpm", "minicpm3", "minimax-m2", "mistral3", "mistral4", "nemotron", "olmo",
	"olmoe", "openelm", "orion", "paddleocr", "pangu-embedded", "phi3", "phimoe", "plamo", "plm",
	"qwen", "qwen2", "qwen2moe", "qwen2vl", "qwen3", "qwen3moe", "qwen3vl", "qwen3vlmoe", "refact",
	"rnd1", "seed_oss", "smallthinker", "smollm3", "stablelm", "xverse"};
static const decoder_arch other_archs[] = {
	{"bloom", 0, true, false, NULL},
	{"codeshell", 0, true, false, NULL},
	{"cohere2", 4, false, false, NULL},
	{"cohere2moe", 4, false, false, NULL},
	{"exaone-moe", 4, false, false, NULL},
	{"exaone4", 4, false, false, NULL},
	{"falcon", 0, true, false, NULL},
	{"gemma", 0, true, false, NULL},
	{"gemma2", 2, true, false, NULL},
	{"gemma3", 6, true, false, NULL},
	{"gpt-oss", 2, false, false, NULL},
	{"gpt2", 0, true, false, NULL},
	{"gptneox", 0, true, false, NULL},
	{"grok", 0, true, false, NULL},
	{"mellum", 4, false, false, NULL},
	{"mimo2", 0, false, false, NULL},
	{"mpt", 0, true, false, NULL},
	{"olmo2", 4, false, false, NULL},
	{"phi2", 0, true, false, NULL},
	{"starcoder", 0, true, false, NULL},
	{"starcoder2", 0, true, false, NULL},
};

#define GGUF_META_KEY(key, name) name,
static const char *const key_names[GGUF_META_KEYS] = {GGUF_KEY_LIST(GGUF_META_KEY)};

/* Is there an architecture of that name? */
static bool find_arch(text_span name, decoder_arch *out)
{
	*out = (decoder_arch){0};
	for (size_t i = 0; i < sizeof plain_archs / sizeof *plain_archs; i++)
		if (text_span_is(name, plain_archs[i]))
			out->name = plain_archs[i];
	for (size_t i = 0; i < sizeof other_archs / sizeof *other_archs; i++)
		if (text_span_is(name, other_archs[i].name))
			*out = other_archs[i];
	return out->name;
}

/* The first pass: which architecture is it? It stands first by custom, not by rule. */
static berth_status read_arch(gguf_file *f, gguf_meta *m)
{
	gguf_key key;
	text_span name = {0};
	int64_t part = 0;
	for (uint64_t i = 0; i < f->n_keys; i++) {
		BERTH_TRY(gguf_next_key(f, &key));
		if (text_span_is(key.name, "split.no"))
			BERTH_TRY(whole_number(f, &key, 0, NULL, &part));
		if (!text_span_is(key.name, "general.architecture"))
			continue;
		if (key.kind != GGUF_STRING)
			return gguf_fail(f, key.at, "key '%.*s' has a value of type %d; expected a string",
			                 text_span_shown(key.name), key.name.text, (int)key.kind);
		name = key.string;
		if (!find_arch(name, &m->arch))
			return gguf_fail(f, key.at,
			                 "architecture '%.*s' is not known; docs/importers.md lists those "
			                 "that are (decoders like llama, and mixtures of experts)",
			                 (int)(name.n < 40 ? name.n : 40), name.text);
		f->at = f->keys_at;
		return BERTH_OK;
	}
	if (part > 0)
		return gguf_fail(f, f->keys_at,
		                 "part %lld of a model, counted from 0; expected the first one, a file named "
		                 "NAME-00001-of-N.gguf",
		                 (long long)part);
	return gguf_fail(f, f->keys_at,
	                 "no key 'general.architecture'; expected one that says what the tensors are");
}

/* The part of key behind "ARCH.", or NULL. */
static const char *behind_arch(const gguf_meta *m, text_span key, size_t *n)
{
	size_t len = strlen(m->arch.name);
	if (key.n <= len || memcmp(key.text, m->arch.name, len) != 0 || key.text[len] != '.')
		return NULL;
	*n = key.n - len - 1;
	return key.text + len + 1;
}

static berth_status take_key(gguf_meta *m, const gguf_file *f, const gguf_key *key)
{
	size_t n = 0;
	const char *text = behind_arch(m, key->name, &n);
	if (text_span_is(key->name, "split.count"))
		return whole_number(f, key, 0, NULL, &m->n_files);
	for (int i = 0; text && i < GGUF_META_KEYS; i++) {
		if (!text_span_is((text_span){text, n}, key_names[i]))
			continue;
		if (m->given[i])
			return gguf_fail(f, key->at, "key '%.*s' stands twice", (int)key->name.n,
			                 key->name.text);
		m->given[i] = true;
		m->key[i] = *key;
	}
	return BERTH_OK;
}

berth_status gguf_read_meta(gguf_file *f, gguf_meta *m)
{
	gguf_key key;
	*m = (gguf_meta){.file = f, .n_files = 1};
	BERTH_TRY(read_arch(f, m));
	for (uint64_t i = 0; i < f->n_keys; i++) {
		BERTH_TRY(gguf_next_key(f, &key));
		BERTH_TRY(take_key(m, f, &key));
	}
	return BERTH_OK;
}

berth_status gguf_meta_whole(const gguf_meta *m, gguf_meta_key key, int32_t layer, int64_t otherwise,
                             int64_t *out)
{
	bool each;
	if (m->given[key])
		return whole_number(m->file, &m->key[key], (uint64_t)layer, &each, out);
	if (otherwise < 0)
		return gguf_fail(m->file, m->file->keys_at, "no key '%s.%s'", m->arch.name, key_names[key]);
	*out = otherwise;
	return BERTH_OK;
}
