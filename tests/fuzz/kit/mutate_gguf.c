/* Headers of GGUF files: magic, version, counts, keys with typed values, records of tensors (ggml's format,
 * versions 2 and 3). */
#include "mutate.h"

#include <stdio.h>
#include <string.h>

enum { HEAD = 24, MAX_ITEMS = 600, N_KINDS = 13, STRING = 8, ARRAY = 9 };

/* A key or the record of a tensor. */
typedef struct item {
	size_t from, name_end, to; /* its name is a length of 8 bytes and a text */
	uint32_t kind;             /* of a key's value */
} item;

typedef struct header {
	mutate_bytes b;
	mutate_rng r;
	item it[MAX_ITEMS];
	size_t n_keys, n_tensors; /* those that were found; tensors stand behind keys */
} header;

/* What the reader looks for. */
static const char *const words[] = {"attn_q",
                                    "attn_k",
                                    "attn_v",
                                    "attn_qkv",
                                    "attn_output",
                                    "attn_norm",
                                    "ffn_norm",
                                    "ffn_gate",
                                    "ffn_up",
                                    "ffn_down",
                                    "ffn_gate_inp",
                                    "ffn_gate_exps",
                                    "ffn_up_exps",
                                    "ffn_down_exps",
                                    "ffn_gate_shexp",
                                    "ffn_up_shexp",
                                    "ffn_down_shexp",
                                    "ffn_gate_inp_shexp",
                                    "attn_q_a",
                                    "attn_q_b",
                                    "attn_kv_a_mqa",
                                    "attn_kv_b",
                                    "attn_k_b",
                                    "attn_v_b",
                                    "post_attention_norm",
                                    "post_ffw_norm",
                                    "exp_probs_b",
                                    "attn_sinks"};
static const char *const keys[] = {"block_count",
                                   "embedding_length",
                                   "context_length",
                                   "attention.head_count",
                                   "attention.head_count_kv",
                                   "attention.key_length",
                                   "attention.value_length",
                                   "attention.kv_lora_rank",
                                   "expert_count",
                                   "expert_used_count",
                                   "attention.sliding_window",
                                   "attention.sliding_window_pattern",
                                   "nextn_predict_layers",
                                   "attention.key_length_mla",
                                   "attention.value_length_mla"};
static const char *const arch[] = {"llama",   "qwen2",   "qwen3moe",  "gemma2",     "deepseek2",
                                   "mixtral", "gpt-oss", "phi3",      "starcoder2", "dbrx",
                                   "grok",    "olmoe",   "granitemoe"};

static uint64_t u64(const mutate_bytes *b, size_t at)
{
	uint64_t x;
	memcpy(&x, b->data + at, sizeof x);
	return x;
}

static uint32_t u32(const mutate_bytes *b, size_t at)
{
	uint32_t x;
	memcpy(&x, b->data + at, sizeof x);
	return x;
}

static size_t width_of(uint32_t kind)
{
	static const size_t width[N_KINDS] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
	return kind < N_KINDS ? width[kind] : 0;
}

/* Behind a text at *at; false: it does not end. */
static bool skip_text(const mutate_bytes *b, size_t *at)
{
	if (b->n - *at < 8)
		return false;
	uint64_t n = u64(b, *at);
	*at += 8;
	if (n > b->n - *at)
		return false;
	*at += (size_t)n;
	return true;
}

static bool skip_value(const mutate_bytes *b, size_t *at, uint32_t kind)
{
	if (kind == STRING)
		return skip_text(b, at);
	if (kind == ARRAY) {
		if (b->n - *at < 12)
			return false;
		uint32_t each = u32(b, *at);
		uint64_t n = u64(b, *at + 4);
		*at += 12;
		for (uint64_t i = 0; i < n; i++)
			if (each == ARRAY || !skip_value(b, at, each))
				return false;
		return true;
	}
	if (!width_of(kind) || width_of(kind) > b->n - *at)
		return false;
	*at += width_of(kind);
	return true;
}

static bool find_key(const mutate_bytes *b, size_t *at, item *it)
{
	it->from = *at;
	if (!skip_text(b, at) || b->n - *at < 4)
		return false;
	it->name_end = *at;
	it->kind = u32(b, *at);
	*at += 4;
	if (!skip_value(b, at, it->kind))
		return false;
	it->to = *at;
	return true;
}

static bool find_tensor(const mutate_bytes *b, size_t *at, item *it)
{
	it->from = *at;
	if (!skip_text(b, at) || b->n - *at < 4)
		return false;
	it->name_end = *at;
	uint32_t dims = u32(b, *at);
	if (dims > 8 || b->n - *at < 4 + 8 * dims + 12)
		return false;
	*at += 4 + 8 * dims + 12;
	it->to = *at;
	return true;
}

/* Everything up to what makes no sense. */
static void find_items(header *h)
{
	const mutate_bytes *b = &h->b;
	size_t at = HEAD;
	h->n_keys = h->n_tensors = 0;
	if (b->n < HEAD)
		return;
	uint64_t n_tensors = u64(b, 8), n_keys = u64(b, 16);
	while (h->n_keys < n_keys && h->n_keys < MAX_ITEMS / 2 && find_key(b, &at, &h->it[h->n_keys]))
		h->n_keys++;
	while (h->n_keys == n_keys && h->n_tensors < n_tensors && h->n_tensors < MAX_ITEMS / 2 &&
	       find_tensor(b, &at, &h->it[h->n_keys + h->n_tensors]))
		h->n_tensors++;
}

static void count(header *h, bool key, int64_t more)
{
	size_t at = key ? 16 : 8;
	uint64_t n = u64(&h->b, at) + (uint64_t)more;
	memcpy(h->b.data + at, &n, sizeof n);
}

static size_t pick(header *h)
{
	bool key = h->n_keys && (!h->n_tensors || mutate_below(&h->r, 3) == 0);
	return key ? mutate_below(&h->r, h->n_keys) : h->n_keys + mutate_below(&h->r, h->n_tensors);
}

static bool drop(header *h)
{
	size_t i = pick(h);
	if (!mutate_splice(&h->b, h->it[i].from, h->it[i].to, "", 0))
		return false;
	count(h, i < h->n_keys, -1);
	return true;
}

/* Behind another of its sort. */
static bool copy(header *h)
{
	size_t i = pick(h);
	bool key = i < h->n_keys;
	size_t to = key ? mutate_below(&h->r, h->n_keys) : h->n_keys + mutate_below(&h->r, h->n_tensors);
	item x = h->it[i];
	if (!mutate_splice(&h->b, h->it[to].to, h->it[to].to, h->b.data + x.from, x.to - x.from))
		return false;
	count(h, key, 1);
	return true;
}

static bool put_name(header *h, item x, const char *name)
{
	uint8_t text[128];
	uint64_t n = strlen(name);
	memcpy(text, &n, 8);
	memcpy(text + 8, name, (size_t)n);
	return mutate_splice(&h->b, x.from, x.name_end, text, 8 + (size_t)n);
}

static bool rename_item(header *h)
{
	char name[100];
	size_t i = pick(h);
	if (i < h->n_keys)
		snprintf(name, sizeof name, "%s.%s", arch[mutate_below(&h->r, sizeof arch / sizeof *arch)],
		         keys[mutate_below(&h->r, sizeof keys / sizeof *keys)]);
	else
		snprintf(name, sizeof name, "blk.%u.%s.%s", (unsigned)mutate_below(&h->r, 4),
		         words[mutate_below(&h->r, sizeof words / sizeof *words)],
		         mutate_below(&h->r, 4) ? "weight" : "bias");
	return put_name(h, h->it[i], name);
}

static bool rename_same(header *h)
{
	size_t i = pick(h), k = pick(h);
	item a = h->it[i], b = h->it[k];
	return mutate_splice(&h->b, a.from, a.name_end, h->b.data + b.from, b.name_end - b.from);
}

static bool change_dim(header *h)
{
	if (!h->n_tensors)
		return false;
	item x = h->it[h->n_keys + mutate_below(&h->r, h->n_tensors)];
	uint32_t dims = u32(&h->b, x.name_end);
	uint64_t n = mutate_number(&h->r);
	if (mutate_below(&h->r, 6) == 0) { /* its type, or its place in the file */
		uint32_t type = (uint32_t)mutate_below(&h->r, 42);
		memcpy(h->b.data + x.to - 12, &type, sizeof type);
		return true;
	}
	if (!dims)
		return false;
	if (mutate_below(&h->r, 5) == 0) { /* one dimension more */
		uint32_t more = dims + 1;
		memcpy(h->b.data + x.name_end, &more, sizeof more);
		return mutate_splice(&h->b, x.name_end + 4, x.name_end + 4, &n, sizeof n);
	}
	memcpy(h->b.data + x.name_end + 4 + 8 * mutate_below(&h->r, dims), &n, sizeof n);
	return true;
}

static bool change_value(header *h)
{
	if (!h->n_keys)
		return false;
	item x = h->it[mutate_below(&h->r, h->n_keys)];
	uint64_t n = mutate_number(&h->r);
	size_t at = x.name_end + 4;
	if (x.kind == STRING)
		return mutate_below(&h->r, 2) &&
		       put_name(h, (item){at, x.to, x.to, 0},
		                arch[mutate_below(&h->r, sizeof arch / sizeof *arch)]);
	if (x.kind == ARRAY) {
		n = u64(&h->b, at + 4) + mutate_below(&h->r, 3) - 1;
		memcpy(h->b.data + at + 4, &n, sizeof n);
		return true;
	}
	memcpy(h->b.data + at, &n, width_of(x.kind));
	return true;
}

/* A value of another kind: a number becomes an array of numbers. */
static bool change_kind(header *h)
{
	struct {
		uint32_t kind, each;
		uint64_t n;
		uint32_t x[4];
	} list;
	uint8_t text[32];
	if (!h->n_keys)
		return false;
	item x = h->it[mutate_below(&h->r, h->n_keys)];
	list.kind = ARRAY;
	list.each = 4;
	list.n = mutate_below(&h->r, 4);
	for (int i = 0; i < 4; i++)
		list.x[i] = (uint32_t)mutate_below(&h->r, 70);
	memcpy(text, &list.kind, 4);
	memcpy(text + 4, &list.each, 4);
	memcpy(text + 8, &list.n, 8);
	memcpy(text + 16, list.x, 16);
	return mutate_splice(&h->b, x.name_end, x.to, text, 16 + 4 * (size_t)list.n);
}

static bool change_head(header *h)
{
	uint64_t n = mutate_number(&h->r);
	static const size_t place[] = {4, 8, 16};
	memcpy(h->b.data + place[mutate_below(&h->r, 3)], &n, mutate_below(&h->r, 2) ? 4 : 8);
	return true;
}

size_t mutate_gguf(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	static bool (*const change[])(header * h) = {
		drop,       copy,       copy,         rename_item,  rename_item, rename_same, change_dim,
		change_dim, change_dim, change_value, change_value, change_kind, change_head};
	static header h; /* large; a fuzzer has one thread */
	h.b = (mutate_bytes){data, size, max};
	h.r = mutate_seed(seed);
	for (size_t left = 1 + mutate_below(&h.r, 4); left > 0; left--) {
		find_items(&h);
		if (h.n_keys + h.n_tensors == 0 || mutate_below(&h.r, 3) == 0)
			return LLVMFuzzerMutate(data, h.b.n, max);
		for (int tries = 0; tries < 6; tries++)
			if (change[mutate_below(&h.r, sizeof change / sizeof *change)](&h))
				break;
	}
	return h.b.n;
}
