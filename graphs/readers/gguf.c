/* From the headers of a GGUF model's files to the graph, by the options that words give; and its tensors
 * by name, for programs that are told of tensors. */
#include "gguf.h"

#include "file.h"
#include "ggml_types.h"
#include "gguf_model.h"
#include "spec.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- options ---- */

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
		if (!(rest = berth_arena_printf(mem, "%s:%s", rest, word[i])))
			return berth_nomem(err);
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

static double cache_bytes(const berth_gguf_options *opt)
{
	const ggml_type *type = ggml_type_named(opt->cache);
	return (double)type->bytes / type->elements;
}

/* ---- reading ---- */

static berth_status read_tensors(gguf_file *f, gguf_model *m, berth_err *err)
{
	gguf_tensor t;
	for (uint64_t i = 0; i < f->n_tensors; i++) {
		BERTH_TRY(gguf_next_tensor(f, &t, err));
		BERTH_TRY(gguf_model_add(m, f, &t, err));
	}
	return BERTH_OK;
}

/* Tensors of the parts behind the first, whose keys say nothing new. */
static berth_status read_part(gguf_file *f, gguf_model *m, berth_err *err)
{
	gguf_key key;
	BERTH_TRY(gguf_open(f, err));
	for (uint64_t i = 0; i < f->n_keys; i++)
		BERTH_TRY(gguf_next_key(f, &key, err));
	return read_tensors(f, m, err);
}

static berth_status read_files(gguf_file *file, int32_t n_files, gguf_meta *meta, berth_arena *tmp,
                               gguf_model *m, berth_err *err)
{
	BERTH_TRY(gguf_open(&file[0], err));
	BERTH_TRY(gguf_read_meta(&file[0], meta, err));
	if (meta->n_files > 1 && meta->n_files != n_files)
		return berth_fail(err, BERTH_EFORMAT,
		                  "%s: one of %lld parts; expected a file named NAME-00001-of-%05lld.gguf, "
		                  "with the others beside it",
		                  file[0].name, (long long)meta->n_files, (long long)meta->n_files);
	BERTH_TRY(gguf_model_new(meta, tmp, m, err));
	BERTH_TRY(read_tensors(&file[0], m, err));
	for (int32_t i = 1; i < n_files; i++)
		BERTH_TRY(read_part(&file[i], m, err));
	return gguf_model_check(m, err);
}

/* "mixtral" of "a/b/mixtral-00001-of-00003.gguf". */
static const char *stem_of(const char *path, size_t *n)
{
	const char *name = berth_graph_stem(path, n);
	int part, parts, end = 0;
	if (*n > 15 && sscanf(name + *n - 15, "-%5d-of-%5d%n", &part, &parts, &end) == 2 && end == 15)
		*n -= 15;
	return name;
}

/* Tokens of the context, by the options and the file. Fails: BERTH_EFORMAT. */
static berth_status choose_context(const gguf_model *m, const berth_gguf_options *opt, int64_t *out,
                                 berth_err *err)
{
	enum { USUAL = 4096 };
	int64_t most;
	BERTH_TRY(gguf_meta_whole(m->meta, GGUF_CONTEXT, 0, USUAL, &most, err));
	*out = opt->context ? opt->context : most >= 1 && most < USUAL ? most : USUAL;
	return BERTH_OK;
}

static berth_status build(gguf_model *m, const char *path, const berth_gguf_options *opt, berth_arena *mem,
                          berth_arena *tmp, berth_graph *out, berth_err *err)
{
	size_t n;
	const char *stem = stem_of(path, &n),
		   *name = berth_arena_printf(tmp, "%.*s%s", (int)n, stem, opt->suffix);
	zoo_net net = {.tmp = tmp, .err = err, .batch = opt->batch, .elem_bytes = 4};
	if (!name)
		return berth_nomem(err);
	BERTH_TRY(choose_context(m, opt, &m->d.seq, err));
	if (ggml_type_named(opt->weights))
		gguf_model_store(m, ggml_type_named(opt->weights));
	BERTH_TRY(berth_builder_new(tmp, name, &net.builder, err));
	m->d.names = &gguf_names;
	m->d.rows = opt->decode                                ? 1
	            : opt->chunk && opt->chunk < m->d.seq ? opt->chunk
	                                                  : m->d.seq;
	m->d.experts = m->experts;
	m->d.top = m->top;
	m->d.each_expert = opt->each_expert;
	m->d.gelu = m->meta->arch->gelu;
	m->d.key_bytes = m->d.value_bytes = cache_bytes(opt);
	m->d.n_layers = m->n_layers;
	m->d.layer = m->layer;
	decoder_build(&net, &m->d);
	BERTH_TRY(net.status);
	return berth_builder_finish(net.builder, mem, out, err);
}

static const char *skipped(const gguf_model *m, berth_arena *mem)
{
	char bytes[32];
	return berth_arena_printf(mem,
	                          "%lld tensors (%s) of %d layers that predict further tokens are left out: "
	                          "these layers do not run",
	                          (long long)m->n_skipped, berth_text_bytes(bytes, (double)m->skipped_bytes),
	                          m->n_all - m->n_layers);
}

static berth_status fill_report(const gguf_model *m, int32_t n_files, berth_arena *mem, berth_gguf_report *r,
                                berth_err *err)
{
	*r = (berth_gguf_report){.context = m->d.seq,
	                         .n_layers = m->n_layers,
	                         .n_files = n_files,
	                         .n_tensors = m->n_tensors,
	                         .tensor_bytes = m->tensor_bytes,
	                         .n_skipped = m->n_skipped,
	                         .skipped_bytes = m->skipped_bytes};
	BERTH_TRY_NEW(mem, m->n_warnings + 1, err, r->warning);
	if (m->n_skipped && !(r->warning[r->n_warnings++] = skipped(m, mem)))
		return berth_nomem(err);
	for (int32_t i = 0; i < m->n_warnings; i++)
		if (!(r->warning[r->n_warnings++] = berth_arena_strdup(mem, m->warning[i])))
			return berth_nomem(err);
	return BERTH_OK;
}

static berth_status parse(gguf_file *file, int32_t n_files, const char *path, const berth_gguf_options *opt,
                          berth_arena *mem, berth_arena *tmp, berth_graph *out, berth_gguf_report *report,
                          berth_err *err)
{
	gguf_meta meta;
	gguf_model m;
	berth_graph g;
	berth_gguf_report r;
	BERTH_TRY(read_files(file, n_files, &meta, tmp, &m, err));
	berth_status st = build(&m, path, opt, mem, tmp, &g, err);
	if (st == BERTH_EINVAL && !*opt->suffix) /* sizes that a graph cannot hold come from the file */
		st = BERTH_EFORMAT;
	if (st == BERTH_EINVAL || st == BERTH_EFORMAT)
		return berth_fail_in(err, st, "%s: ", path);
	BERTH_TRY(st);
	BERTH_TRY(fill_report(&m, n_files, mem, &r, err));
	*out = g;
	if (report)
		*report = r;
	return BERTH_OK;
}

static berth_status parse_reset(gguf_file *file, int32_t n_files, const char *path,
                                const berth_gguf_options *opt, berth_arena *mem, berth_arena *tmp,
                                berth_graph *out, berth_gguf_report *report, berth_err *err)
{
	const berth_gguf_options defaults = berth_gguf_options_default();
	BERTH_SCRATCH(tmp);
	return parse(file, n_files, path, opt ? opt : &defaults, mem, tmp, out, report, err);
}

berth_status berth_graph_parse_gguf(const char *file, const unsigned char *data, size_t size,
                                    const berth_gguf_options *opt, berth_arena *mem, berth_arena *tmp,
                                    berth_graph *out, berth_gguf_report *report, berth_err *err)
{
	gguf_file f = {.name = file, .data = data, .size = size};
	return parse_reset(&f, 1, file, opt, mem, tmp, out, report, err);
}

/* ---- files ---- */

/* NAME-00001-of-00003.gguf: how many parts there are by the name; 1 for any other. *at = where the part's
 * number stands. */
static int32_t parts_of(const char *path, size_t *at)
{
	size_t n = strlen(path);
	int part, parts, end = 0;
	if (n < 20 || strcmp(path + n - 5, ".gguf") != 0 ||
	    sscanf(path + n - 20, "-%5d-of-%5d%n", &part, &parts, &end) != 2 || end != 15 || part != 1)
		return 1;
	*at = n - 19;
	return parts > 1 ? parts : 1;
}

/* The part of that number, which is not the first. */
static berth_status map_part(const char *path, size_t at, int32_t number, berth_arena *mem,
                             berth_content *part, berth_err *err)
{
	char *name = berth_arena_strdup(mem, path);
	char digits[16];
	const unsigned char *data;
	if (!name)
		return berth_nomem(err);
	snprintf(digits, sizeof digits, "%05d", number + 1);
	memcpy(name + at, digits, 5);
	BERTH_TRY(berth_file_map(name, &data, &part->size, err));
	part->name = name;
	part->data = (const char *)data;
	return BERTH_OK;
}

/* The first part is given; the others stand beside it. Only the pages of their headers are touched. */
static berth_status map_parts(const berth_content *first, berth_arena *mem, berth_content **part,
                              int32_t *n_parts, berth_err *err)
{
	size_t at = 0;
	int32_t n = parts_of(first->name, &at);
	BERTH_TRY_NEW(mem, n, err, *part);
	for (*n_parts = 0; *n_parts < n - 1; ++*n_parts)
		BERTH_TRY(map_part(first->name, at, *n_parts + 1, mem, &(*part)[*n_parts], err));
	return BERTH_OK;
}

/* ---- the format ---- */

static berth_status fill_read_report(const berth_gguf_report *r, const berth_gguf_options *opt,
                                     berth_arena *mem, berth_read_report *out, berth_err *err)
{
	*out = (berth_read_report){.n_dims = 2, .n_warnings = r->n_warnings, .warning = r->warning};
	BERTH_TRY_NEW(mem, out->n_dims, err, out->dim_name, out->dim_value);
	out->dim_name[0] = "batch";
	out->dim_value[0] = opt->batch;
	out->dim_name[1] = "context";
	out->dim_value[1] = r->context;
	return BERTH_OK;
}

static berth_status parse_format(const berth_content *from, const berth_read_options *opt, berth_arena *mem,
                                 berth_arena *tmp, berth_graph *out, berth_read_report *report,
                                 berth_err *err)
{
	berth_gguf_options o;
	berth_gguf_report r;
	gguf_file *file;
	BERTH_TRY(berth_gguf_options_read(from->name, opt->dim, opt->n_dims, tmp, &o, err));
	BERTH_TRY_NEW(tmp, from->n_parts + 1, err, file);
	for (int32_t i = 0; i <= from->n_parts; i++) {
		const berth_content *c = i ? &from->part[i - 1] : from;
		const unsigned char *data = (const unsigned char *)c->data;
		file[i] = (gguf_file){.name = c->name, .data = data, .size = c->size};
	}
	BERTH_TRY(parse_reset(file, from->n_parts + 1, from->name, &o, mem, tmp, out, &r, err));
	return fill_read_report(&r, &o, mem, report, err);
}

const berth_format berth_format_gguf = {"GGUF", true, gguf_is, parse_format, map_parts};

/* ---- its tensors by name ---- */

/* Names that a person and a command line can hold. */
static bool is_name(gguf_span s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.text[i] < ' ' || s.text[i] == 0x7f)
			return false;
	return berth_text_is_utf8(s.text, s.n);
}

static berth_status list_part(gguf_file *f, gguf_model *m, berth_arena *mem, berth_gguf_list *out,
                              size_t *cap_name, size_t *cap_bytes, berth_err *err)
{
	gguf_tensor t;
	for (uint64_t i = 0; i < f->n_tensors; i++) {
		BERTH_TRY(gguf_next_tensor(f, &t, err));
		BERTH_TRY(gguf_model_add(m, f, &t, err));
		if (!is_name(t.name))
			return gguf_fail(f, t.at, err, "the name of a tensor is no text");
		BERTH_TRY(BERTH_GROW(mem, out->name, out->n_tensors, cap_name, err));
		BERTH_TRY(BERTH_GROW(mem, out->bytes, out->n_tensors, cap_bytes, err));
		if (!(out->name[out->n_tensors] = berth_arena_strndup(mem, t.name.text, t.name.n)))
			return berth_nomem(err);
		out->bytes[out->n_tensors++] = t.bytes;
	}
	return BERTH_OK;
}

static berth_status list_parts(const berth_content *model, gguf_model *m, berth_arena *mem,
                               berth_gguf_list *out, berth_err *err)
{
	size_t cap_name = 0, cap_bytes = 0;
	for (int32_t i = 0; i <= model->n_parts; i++) {
		const berth_content *c = i ? &model->part[i - 1] : model;
		gguf_file f = {.name = c->name, .data = (const unsigned char *)c->data, .size = c->size};
		gguf_key key;
		BERTH_TRY(gguf_open(&f, err));
		for (uint64_t k = 0; k < f.n_keys; k++)
			BERTH_TRY(gguf_next_key(&f, &key, err));
		BERTH_TRY(list_part(&f, m, mem, out, &cap_name, &cap_bytes, err));
	}
	return BERTH_OK;
}

static berth_gguf_layer sizes_of(const decoder_layer *l)
{
	bool one_row = l->latent && l->w[DECODER_K_B].bytes > 0;
	return (berth_gguf_layer){
		.q = l->heads * l->key,
		.k = one_row ? l->w[DECODER_KV_A].out : l->kv_heads * l->key,
		.v = one_row ? 0 : l->kv_heads * l->value,
		.o = l->heads * l->value,
		.ffn = l->w[DECODER_ROUTER].bytes > 0 ? l->w[DECODER_DOWN_EXPS].in : l->w[DECODER_DOWN].in,
		.shared = l->w[DECODER_SHARED_DOWN].in,
		.window = l->window,
		.experts = l->w[DECODER_ROUTER].bytes > 0,
		.latent = l->latent > 0,
	};
}

static berth_status list_layers(const gguf_model *m, berth_arena *mem, berth_gguf_list *out, berth_err *err)
{
	BERTH_TRY_NEW(mem, m->n_layers, err, out->layer);
	for (int32_t i = 0; i < m->n_layers; i++)
		out->layer[i] = sizes_of(&m->layer[i]);
	return BERTH_OK;
}

static berth_status list(const berth_content *model, const berth_read_options *opt, berth_arena *mem,
                         berth_arena *tmp, berth_gguf_list *out, berth_err *err)
{
	gguf_file first = {
		.name = model->name, .data = (const unsigned char *)model->data, .size = model->size};
	gguf_meta meta;
	gguf_model m;
	BERTH_TRY(berth_gguf_options_read(model->name, opt ? opt->dim : NULL, opt ? opt->n_dims : 0, mem,
	                                  &out->opt, err));
	BERTH_TRY(gguf_open(&first, err));
	BERTH_TRY(gguf_read_meta(&first, &meta, err));
	BERTH_TRY(gguf_model_new(&meta, tmp, &m, err));
	BERTH_TRY(list_parts(model, &m, mem, out, err));
	BERTH_TRY(gguf_model_check(&m, err));
	BERTH_TRY(choose_context(&m, &out->opt, &out->context, err));
	out->n_layers = m.n_layers;
	out->n_all_layers = m.n_all;
	out->hidden = m.hidden;
	out->vocabulary = m.d.vocabulary;
	out->experts = m.experts;
	out->top = m.top;
	const ggml_type *cache = ggml_type_named(out->opt.cache);
	out->cache_bytes = (double)cache->bytes / cache->elements;
	return list_layers(&m, mem, out, err);
}

berth_status berth_gguf_list_tensors(const berth_content *model, const berth_read_options *opt,
                                     berth_arena *mem, berth_arena *tmp, berth_gguf_list *out, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	*out = (berth_gguf_list){0};
	return list(model, opt, mem, tmp, out, err);
}

int32_t berth_gguf_layer_of(const char *name, const char **rest)
{
	static const char before[] = "blk.";
	size_t n = sizeof before - 1,
	       digits = strncmp(name, before, n) == 0 ? strspn(name + n, "0123456789") : 0;
	*rest = name;
	if (digits == 0 || digits > 9 || name[n + digits] != '.')
		return -1;
	*rest = name + n + digits + 1;
	return (int32_t)strtol(name + n, NULL, 10);
}
