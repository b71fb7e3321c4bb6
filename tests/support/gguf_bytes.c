/* Headers of GGUF files; see gguf_bytes.h. Sizes are those of the published models' cards. */
#include "gguf_bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { F32 = 0, F16 = 1, Q4_0 = 2, Q4_K = 12, Q6_K = 14, MXFP4 = 39, U32 = 4, STRING = 8, ARRAY = 9 };

const gguf_recipe gguf_recipes[] = {
	{"llama-2-7b", "llama", 6738415616, 0, 32, 4096, 32, 32, 0, 0, 11008, 32000, .type = Q4_0,
	 .output_type = Q6_K},
	{"llama-3-8b", "llama", 8030261248, 0, 32, 4096, 32, 8, 0, 0, 14336, 128256, .type = F16,
	 .output_type = F16},
	{"mixtral-8x7b", "llama", 46702792704, 12.9e9, 32, 4096, 32, 8, 0, 0, 14336, 32000, 8, 2, 14336,
	 .type = Q4_0, .output_type = Q6_K},
	{"mixtral-loose", "llama", 46702792704, 12.9e9, 32, 4096, 32, 8, 0, 0, 14336, 32000, 8, 2, 14336,
	 .has = RECIPE_LOOSE, .type = Q4_0, .output_type = Q6_K},
	{"qwen2-7b", "qwen2", 7615616512, 0, 28, 3584, 28, 4, 0, 0, 18944, 152064, .has = RECIPE_BIAS,
	 .type = F16, .output_type = F16},
	{"qwen3-30b-a3b", "qwen3moe", 30.5e9, 3.3e9, 48, 2048, 32, 4, 128, 128, 6144, 151936, 128, 8, 768,
	 .has = RECIPE_QK_NORM, .type = Q4_K, .output_type = Q6_K},
	{"qwen1.5-moe", "qwen2moe", 14.3e9, 2.7e9, 24, 2048, 16, 16, 0, 0, 5632, 151936, 60, 4, 1408, 5632,
	 .has = RECIPE_BIAS | RECIPE_SHARED_ROUTER, .type = F16, .output_type = F16},
	{"gemma-2-2b", "gemma2", 2614341888, 0, 26, 2304, 8, 4, 256, 256, 9216, 256000, .window = 4096,
	 .has = RECIPE_TIED | RECIPE_POST_NORMS, .type = F16, .output_type = F16},
	{"phi-3-mini", "phi3", 3821079552, 0, 32, 3072, 32, 32, 0, 0, 8192, 32064, .has = RECIPE_FUSED,
	 .type = F16, .output_type = F16},
	{"deepseek-v2-lite", "deepseek2", 15706484224, 2.4e9, 27, 2048, 16, 16, 192, 128, 10944, 102400, 64,
	 6, 1408, 2816, 1, 0, 512, 64, .type = F16, .output_type = F16},
	{"deepseek-v3", "deepseek2", 671e9, 37e9, 61, 7168, 128, 128, 192, 128, 18432, 129280, 256, 8, 2048,
	 2048, 3, 1536, 512, 64, .has = RECIPE_ABSORBED, .type = Q4_K, .output_type = Q6_K},
	{"gpt-oss-20b", "gpt-oss", 20.9e9, 3.6e9, 24, 2880, 64, 8, 64, 64, 2880, 201088, 32, 4, 2880,
	 .window = 128, .has = RECIPE_ALL_BIAS, .type = MXFP4, .output_type = F16},
	{"starcoder2-3b", "starcoder2", 3030371328, 0, 30, 3072, 24, 2, 0, 0, 12288, 49152,
	 .has = RECIPE_ALL_BIAS | RECIPE_TIED | RECIPE_PLAIN_UP, .type = F16, .output_type = F16},
	{0}};

const gguf_recipe *gguf_recipe_find(const char *name)
{
	const gguf_recipe *r = gguf_recipes;
	while (r->name && strcmp(r->name, name) != 0)
		r++;
	return r->name ? r : NULL;
}

/* ---- bytes ---- */

void gguf_put(gguf_bytes *b, const void *data, size_t n)
{
	if (b->n + n > b->cap) {
		b->cap = 2 * (b->n + n) + 4096;
		b->p = realloc(b->p, b->cap);
		if (!b->p)
			abort();
	}
	memcpy(b->p + b->n, data, n);
	b->n += n;
}

static void set_number(unsigned char *p, uint64_t x, int bytes)
{
	for (int i = 0; i < bytes; i++)
		p[i] = (unsigned char)(x >> (8 * i));
}

void gguf_put_u32(gguf_bytes *b, uint32_t x)
{
	unsigned char p[4];
	set_number(p, x, 4);
	gguf_put(b, p, 4);
}

void gguf_put_u64(gguf_bytes *b, uint64_t x)
{
	unsigned char p[8];
	set_number(p, x, 8);
	gguf_put(b, p, 8);
}

void gguf_put_text(gguf_bytes *b, const char *text)
{
	gguf_put_u64(b, strlen(text));
	gguf_put(b, text, strlen(text));
}

void gguf_begin(gguf_bytes *b)
{
	*b = (gguf_bytes){0};
	gguf_put(b, "GGUF", 4);
	gguf_put_u32(b, 3);
	gguf_put_u64(b, 0);
	gguf_put_u64(b, 0);
	b->keys_at = b->n;
}

void gguf_key_u32(gguf_bytes *b, const char *name, uint32_t x)
{
	gguf_put_text(b, name);
	gguf_put_u32(b, U32);
	gguf_put_u32(b, x);
	b->n_keys++;
}

void gguf_key_text(gguf_bytes *b, const char *name, const char *text)
{
	gguf_put_text(b, name);
	gguf_put_u32(b, STRING);
	gguf_put_text(b, text);
	b->n_keys++;
}

void gguf_key_tokens(gguf_bytes *b, const char *name, int n)
{
	gguf_put_text(b, name);
	gguf_put_u32(b, ARRAY);
	gguf_put_u32(b, STRING);
	gguf_put_u64(b, (uint64_t)n);
	for (int i = 0; i < n; i++) {
		char text[16];
		snprintf(text, sizeof text, "t%d", i);
		gguf_put_text(b, text);
	}
	b->n_keys++;
}

static double bytes_of(uint32_t type, double elements)
{
	switch (type) {
	case F32: return elements * 4;
	case F16: return elements * 2;
	case Q4_0: return elements / 32 * 18;
	case Q4_K: return elements / 256 * 144;
	case Q6_K: return elements / 256 * 210;
	case MXFP4: return elements / 32 * 17;
	default: abort();
	}
}

void gguf_put_tensor(gguf_bytes *b, const char *name, uint32_t type, int64_t d0, int64_t d1, int64_t d2)
{
	int64_t dim[3] = {d0, d1, d2};
	double elements = 1;
	uint32_t n = d2 ? 3 : d1 ? 2 : 1;
	gguf_put_text(b, name);
	gguf_put_u32(b, n);
	for (uint32_t i = 0; i < n; i++) {
		gguf_put_u64(b, (uint64_t)dim[i]);
		elements *= (double)dim[i];
	}
	gguf_put_u32(b, type);
	gguf_put_u64(b, 0); /* where the data are: nobody reads them */
	b->elements += elements;
	b->tensor_bytes += bytes_of(type, elements);
	b->n_tensors++;
}

void gguf_end(gguf_bytes *b)
{
	set_number(b->p + 8, b->n_tensors, 8);
	set_number(b->p + 16, b->n_keys, 8);
}

/* ---- recipes ---- */

typedef struct writer {
	gguf_bytes *b;
	const gguf_recipe *r;
	int layer;
} writer;

static void put(const writer *w, const char *name, uint32_t type, int64_t d0, int64_t d1, int64_t d2)
{
	char full[64];
	snprintf(full, sizeof full, "blk.%d.%s", w->layer, name);
	gguf_put_tensor(w->b, full, type, d0, d1, d2);
}

static int head(const gguf_recipe *r)
{
	return r->hidden / r->heads;
}

static int key(const gguf_recipe *r)
{
	return r->key ? r->key : head(r);
}

static int value(const gguf_recipe *r)
{
	return r->value ? r->value : head(r);
}

static void put_u32(gguf_bytes *b, const gguf_recipe *r, const char *name, int x)
{
	char full[96];
	snprintf(full, sizeof full, "%s.%s", r->arch, name);
	if (x)
		gguf_key_u32(b, full, (uint32_t)x);
}

void gguf_put_keys(gguf_bytes *b, const gguf_recipe *r, int layers)
{
	gguf_key_text(b, "general.architecture", r->arch);
	gguf_key_text(b, "general.name", r->name);
	put_u32(b, r, "block_count", layers);
	put_u32(b, r, "context_length", 8192);
	put_u32(b, r, "embedding_length", r->hidden);
	put_u32(b, r, "feed_forward_length", r->ffn);
	put_u32(b, r, "attention.head_count", r->heads);
	put_u32(b, r, "attention.head_count_kv", r->has & RECIPE_ABSORBED ? 1 : r->kv_heads);
	if (r->has & RECIPE_ABSORBED) {
		put_u32(b, r, "attention.key_length", r->kv_latent + r->rotated);
		put_u32(b, r, "attention.value_length", r->kv_latent);
		put_u32(b, r, "attention.key_length_mla", r->key);
		put_u32(b, r, "attention.value_length_mla", r->value);
	} else {
		put_u32(b, r, "attention.key_length", r->key);
		put_u32(b, r, "attention.value_length", r->value);
	}
	put_u32(b, r, "attention.kv_lora_rank", r->kv_latent);
	put_u32(b, r, "expert_count", r->experts);
	put_u32(b, r, "expert_used_count", r->top);
	put_u32(b, r, "attention.sliding_window", r->window);
}

static void put_latent(const writer *w)
{
	const gguf_recipe *r = w->r;
	uint32_t t = r->type;
	if (r->q_latent) {
		put(w, "attn_q_a.weight", t, r->hidden, r->q_latent, 0);
		put(w, "attn_q_a_norm.weight", F32, r->q_latent, 0, 0);
		put(w, "attn_q_b.weight", t, r->q_latent, r->heads * r->key, 0);
	} else {
		put(w, "attn_q.weight", t, r->hidden, r->heads * r->key, 0);
	}
	put(w, "attn_kv_a_mqa.weight", t, r->hidden, r->kv_latent + r->rotated, 0);
	put(w, "attn_kv_a_norm.weight", F32, r->kv_latent, 0, 0);
	if (r->has & RECIPE_ABSORBED) {
		put(w, "attn_k_b.weight", F16, r->key - r->rotated, r->kv_latent, r->heads);
		put(w, "attn_v_b.weight", t, r->kv_latent, r->value, r->heads);
	} else {
		put(w, "attn_kv_b.weight", t, r->kv_latent, r->heads * (r->key - r->rotated + r->value), 0);
	}
}

static void put_attention(const writer *w)
{
	const gguf_recipe *r = w->r;
	uint32_t t = r->has & RECIPE_ALL_BIAS ? F16 : r->type;
	int q = r->heads * key(r), k = r->kv_heads * key(r), v = r->kv_heads * value(r),
	    bias = (r->has & (RECIPE_BIAS | RECIPE_ALL_BIAS)) != 0;
	if (r->kv_latent) {
		put_latent(w);
	} else if (r->has & RECIPE_FUSED) {
		put(w, "attn_qkv.weight", t, r->hidden, q + k + v, 0);
	} else {
		put(w, "attn_q.weight", t, r->hidden, q, 0);
		put(w, "attn_k.weight", t, r->hidden, k, 0);
		put(w, "attn_v.weight", t, r->hidden, v, 0);
	}
	if (bias) {
		put(w, "attn_q.bias", F32, q, 0, 0);
		put(w, "attn_k.bias", F32, k, 0, 0);
		put(w, "attn_v.bias", F32, v, 0, 0);
	}
	if (r->has & RECIPE_QK_NORM) {
		put(w, "attn_q_norm.weight", F32, key(r), 0, 0);
		put(w, "attn_k_norm.weight", F32, key(r), 0, 0);
	}
	put(w, "attn_output.weight", t, r->heads * value(r), r->hidden, 0);
	if (r->has & RECIPE_ALL_BIAS)
		put(w, "attn_output.bias", F32, r->hidden, 0, 0);
	if ((r->has & RECIPE_ALL_BIAS) && r->experts)
		put(w, "attn_sinks.weight", F32, r->heads, 0, 0);
}

static void put_experts(const writer *w)
{
	static const char *const names[] = {"gate", "up", "down"};
	const gguf_recipe *r = w->r;
	put(w, "ffn_gate_inp.weight", F32, r->hidden, r->experts, 0);
	for (int i = 0; i < 3; i++) {
		char name[40];
		int in = i == 2 ? r->expert_ffn : r->hidden, out = i == 2 ? r->hidden : r->expert_ffn;
		for (int e = 0; (r->has & RECIPE_LOOSE) && e < r->experts; e++) {
			snprintf(name, sizeof name, "ffn_%s.%d.weight", names[i], e);
			put(w, name, r->type, in, out, 0);
		}
		snprintf(name, sizeof name, "ffn_%s_exps.weight", names[i]);
		if (!(r->has & RECIPE_LOOSE))
			put(w, name, r->type, in, out, r->experts);
		snprintf(name, sizeof name, "ffn_%s_exps.bias", names[i]);
		if (r->has & RECIPE_ALL_BIAS)
			put(w, name, F32, out, r->experts, 0);
		snprintf(name, sizeof name, "ffn_%s_shexp.weight", names[i]);
		if (r->shared_ffn)
			put(w, name, r->type, i == 2 ? r->shared_ffn : r->hidden,
			    i == 2 ? r->hidden : r->shared_ffn, 0);
	}
	if (r->has & RECIPE_SHARED_ROUTER)
		put(w, "ffn_gate_inp_shexp.weight", F32, r->hidden, 0, 0);
	if (r->has & RECIPE_ALL_BIAS)
		put(w, "ffn_gate_inp.bias", F32, r->experts, 0, 0);
}

static void put_layer(const writer *w)
{
	const gguf_recipe *r = w->r;
	put(w, "attn_norm.weight", F32, r->hidden, 0, 0);
	put_attention(w);
	if (r->has & RECIPE_POST_NORMS)
		put(w, "post_attention_norm.weight", F32, r->hidden, 0, 0);
	put(w, (r->has & RECIPE_ALL_BIAS) && r->experts ? "post_attention_norm.weight" : "ffn_norm.weight",
	    F32, r->hidden, 0, 0);
	if (r->has & RECIPE_POST_NORMS)
		put(w, "post_ffw_norm.weight", F32, r->hidden, 0, 0);
	if ((r->has & RECIPE_ALL_BIAS) && !r->experts) {
		put(w, "attn_norm.bias", F32, r->hidden, 0, 0);
		put(w, "ffn_norm.bias", F32, r->hidden, 0, 0);
	}
	if (r->experts && w->layer >= r->dense_layers)
		put_experts(w);
	else {
		int up = r->has & RECIPE_FUSED ? 2 * r->ffn : r->ffn;
		if (!(r->has & (RECIPE_FUSED | RECIPE_PLAIN_UP)))
			put(w, "ffn_gate.weight", r->type, r->hidden, r->ffn, 0);
		put(w, "ffn_up.weight", r->type, r->hidden, up, 0);
		put(w, "ffn_down.weight", r->type, r->ffn, r->hidden, 0);
		if (r->has & RECIPE_ALL_BIAS) {
			put(w, "ffn_up.bias", F32, up, 0, 0);
			put(w, "ffn_down.bias", F32, r->hidden, 0, 0);
		}
	}
}

void gguf_put_tensors(gguf_bytes *b, const gguf_recipe *r, int first, int last, int outside)
{
	if (outside) {
		gguf_put_tensor(b, "token_embd.weight", r->output_type == Q6_K ? r->type : r->output_type,
		                r->hidden, r->vocab, 0);
		gguf_put_tensor(b, "output_norm.weight", F32, r->hidden, 0, 0);
		if ((r->has & RECIPE_ALL_BIAS) && !r->experts)
			gguf_put_tensor(b, "output_norm.bias", F32, r->hidden, 0, 0);
		if (!(r->has & RECIPE_TIED))
			gguf_put_tensor(b, "output.weight", r->output_type, r->hidden, r->vocab, 0);
	}
	for (int i = first; i < last; i++)
		put_layer(&(writer){b, r, i});
}

void gguf_write(gguf_bytes *b, const gguf_recipe *r, int layers)
{
	layers = layers ? layers : r->layers;
	gguf_begin(b);
	gguf_put_keys(b, r, layers);
	b->tensors_at = b->n;
	gguf_put_tensors(b, r, 0, layers, 1);
	gguf_end(b);
}
