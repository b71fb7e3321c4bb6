/* From the headers of a GGUF model's files to the graph, by the options that words give; and its tensors
 * by name, for programs that are told of tensors. */
#include "gguf.h"

#include "beneath.h"
#include "file.h"
#include "gguf_wire.h"

/* ---- sizes ---- */

#define DECODER_SLOT(slot, name, shape) name,
static const char *const slot_names[DECODER_SLOTS] = {DECODER_SLOT_LIST(DECODER_SLOT)};

static const decoder_style style = {
	.names = {"blk", slot_names, decoder_step_names, ".weight", ".bias", "token_embd", "token_embd_norm",
	          "output_norm", "output"},
	.expert = {{"ffn_gate.", ".weight"}, {"ffn_up.", ".weight"}, {"ffn_down.", ".weight"}}};

/* Does the layer attend within the window? By the file's pattern: a number of layers, or a truth value for
 * each; else by the architecture's. */
static berth_status is_windowed(const gguf_meta *meta, int32_t layer, bool *out)
{
	int64_t every = meta->arch.window_every;
	if (meta->given[GGUF_WINDOW_PATTERN] && meta->key[GGUF_WINDOW_PATTERN].kind == GGUF_ARRAY) {
		int64_t x;
		BERTH_TRY(gguf_meta_whole(meta, GGUF_WINDOW_PATTERN, layer, 0, &x));
		*out = x != 0;
		return BERTH_OK;
	}
	BERTH_TRY(gguf_meta_whole(meta, GGUF_WINDOW_PATTERN, 0, every, &every));
	*out = every > 0 && layer % every < every - 1;
	return BERTH_OK;
}

static bool is_list(const gguf_meta *meta, gguf_meta_key key)
{
	return meta->given[key] && meta->key[key].kind == GGUF_ARRAY;
}

static berth_status read_layer(const gguf_meta *meta, int64_t hidden, int32_t i, decoder_layer *l)
{
	int64_t head;
	bool windowed;
	/* Heads of a layer, and whether it has a feed-forward network. Where the file tells them layer by
	 * layer, a layer may have no attention, or none by heads. */
	int64_t ffn = 1;
	BERTH_TRY(gguf_meta_whole(meta, GGUF_HEADS, i, -1, &l->heads));
	BERTH_TRY(gguf_meta_whole(meta, GGUF_KV_HEADS, i, l->heads, &l->kv_heads));
	if (is_list(meta, GGUF_FFN))
		BERTH_TRY(gguf_meta_whole(meta, GGUF_FFN, i, 1, &ffn));
	l->without_ffn = ffn == 0;
	if (!l->heads && is_list(meta, GGUF_HEADS))
		l->kv_heads = 0;
	bool plain = !l->kv_heads && (is_list(meta, GGUF_HEADS) || is_list(meta, GGUF_KV_HEADS));
	if (!plain && (l->heads < 1 || l->kv_heads < 1 || l->heads % l->kv_heads))
		return gguf_fail(meta->file, meta->key[GGUF_HEADS].at,
		                 "layer %d has %lld heads and %lld heads of keys and values; expected the "
		                 "second to divide the first",
		                 i, (long long)l->heads, (long long)l->kv_heads);
	if (!l->kv_heads)
		return BERTH_OK;
	head = hidden / l->heads;
	BERTH_TRY(gguf_meta_whole(meta, GGUF_KEY, i, head, &l->key));
	BERTH_TRY(gguf_meta_whole(meta, GGUF_VALUE, i, head, &l->value));
	BERTH_TRY(gguf_meta_whole(meta, GGUF_KEY_MLA, i, l->key, &l->key));
	BERTH_TRY(gguf_meta_whole(meta, GGUF_VALUE_MLA, i, l->value, &l->value));
	BERTH_TRY(gguf_meta_whole(meta, GGUF_LATENT, i, 0, &l->latent));
	BERTH_TRY(gguf_meta_whole(meta, GGUF_WINDOW, i, 0, &l->window));
	BERTH_TRY(is_windowed(meta, i, &windowed));
	if (!windowed)
		l->window = 0;
	if (l->latent)
		l->kv_heads = l->heads;
	if (l->key < 1 || l->value < 1)
		return gguf_fail(meta->file, meta->file->keys_at,
		                 "heads of layer %d have no columns: embedding_length is %lld and head_count "
		                 "%lld",
		                 i, (long long)hidden, (long long)l->heads);
	return BERTH_OK;
}

/* The model without its tensors, by the metadata. */
static berth_status new_model(const gguf_meta *meta, berth_arena *tmp, decoder_model *m)
{
	int64_t layers, further;
	*m = (decoder_model){.file = meta->file->name,
	                      .arch = &meta->arch,
	                      .style = &style,
	                      .dtype = BERTH_F32,
	                      .tmp = tmp};
	BERTH_TRY(gguf_meta_whole(meta, GGUF_LAYERS, 0, -1, &layers));
	BERTH_TRY(gguf_meta_whole(meta, GGUF_HIDDEN, 0, -1, &m->hidden));
	BERTH_TRY(gguf_meta_whole(meta, GGUF_NEXTN, 0, 0, &further));
	BERTH_TRY(gguf_meta_whole(meta, GGUF_CONTEXT, 0, 0, &m->context));
	if (layers < 1 || layers > DECODER_MAX_LAYERS)
		return gguf_fail(meta->file, meta->key[GGUF_LAYERS].at, "%lld layers; expected 1 to %d",
		                 (long long)layers, DECODER_MAX_LAYERS);
	if (m->hidden < 1)
		return gguf_fail(meta->file, meta->key[GGUF_HIDDEN].at, "embedding_length is 0");
	if (further >= layers)
		return gguf_fail(meta->file, meta->key[GGUF_NEXTN].at,
		                 "%lld of %lld layers predict further tokens; expected fewer",
		                 (long long)further, (long long)layers);
	m->n_all = (int32_t)layers;
	m->n_layers = (int32_t)(layers - further);
	BERTH_TRY(gguf_meta_whole(meta, GGUF_EXPERTS, 0, 0, &m->experts));
	BERTH_TRY(gguf_meta_whole(meta, GGUF_TOP, 0, 0, &m->top));
	if (m->experts > DECODER_MAX_EXPERTS)
		return gguf_fail(meta->file, meta->key[GGUF_EXPERTS].at, "%lld experts; expected at most %d",
		                 (long long)m->experts, DECODER_MAX_EXPERTS);
	if (m->experts && (m->top < 1 || m->top > m->experts))
		return gguf_fail(meta->file, meta->key[GGUF_TOP].at,
		                 "a token goes to %lld experts of %lld; expected 1 to all", (long long)m->top,
		                 (long long)m->experts);
	BERTH_TRY_NEW(tmp, m->n_layers, meta->file->err, m->layer, m->loose);
	for (int32_t i = 0; i < m->n_layers; i++)
		BERTH_TRY(read_layer(meta, m->hidden, i, &m->layer[i]));
	return BERTH_OK;
}

/* ---- tensors ---- */

/* Names that a person and a command line can hold. */
static bool is_name(text_span s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.text[i] < ' ' || s.text[i] == 0x7f)
			return false;
	return berth_text_is_utf8(s.text, s.n);
}

/* The names and bytes of tensors as they come; NULL: nobody asks. */
typedef struct listing {
	berth_gguf_list *to;
	berth_arena *mem;
	size_t cap_name, cap_bytes;
} listing;

/* A file may hold gate and up of all experts in one tensor: its operator has that tensor's name. */
static berth_status name_experts(decoder_model *m, const decoder_tensor *t, berth_err *err)
{
	static const char joint[] = "ffn_gate_up_exps", weight[] = ".weight";
	size_t n = sizeof joint - 1 + sizeof weight - 1;
	decoder_style *own;
	const char **slot;
	if (m->style != &style || t->name.n < n ||
	    memcmp(t->name.text + t->name.n - n, joint, sizeof joint - 1) != 0 ||
	    memcmp(t->name.text + t->name.n - (sizeof weight - 1), weight, sizeof weight - 1) != 0)
		return BERTH_OK;
	BERTH_TRY_NEW(m->tmp, 1, err, own);
	BERTH_TRY_NEW(m->tmp, DECODER_SLOTS, err, slot);
	memcpy(slot, slot_names, sizeof slot_names);
	slot[DECODER_UP_EXPS] = joint;
	*own = style;
	own->names.slot = slot;
	m->style = own;
	return BERTH_OK;
}

static berth_status read_tensors(gguf_file *f, decoder_model *m, listing *l)
{
	decoder_tensor t;
	for (uint64_t i = 0; i < f->n_tensors; i++) {
		size_t at = f->at;
		BERTH_TRY(gguf_next_tensor(f, &t));
		BERTH_TRY(name_experts(m, &t, f->err));
		berth_status st = decoder_model_add(m, &t, f->err);
		if (st != BERTH_OK)
			return berth_fail_in(f->err, st, "%s: byte %zu: ", f->name, at);
		if (l) {
			berth_gguf_list *to = l->to;
			if (!is_name(t.name))
				return gguf_fail(f, at, "the name of a tensor is no text");
			BERTH_TRY(BERTH_GROW(l->mem, to->name, to->n_tensors, &l->cap_name, f->err));
			BERTH_TRY(BERTH_GROW(l->mem, to->bytes, to->n_tensors, &l->cap_bytes, f->err));
			BERTH_TRY(berth_got(to->name[to->n_tensors] =
			                            berth_arena_strndup(l->mem, t.name.text, t.name.n),
			                    f->err));
			to->bytes[to->n_tensors++] = t.bytes;
		}
	}
	return BERTH_OK;
}

static berth_status read_first(gguf_file *f, int32_t n_files, berth_arena *tmp, gguf_meta *meta,
                               decoder_model *m)
{
	BERTH_TRY(gguf_read_meta(f, meta));
	if (meta->n_files > 1 && meta->n_files != n_files)
		return berth_fail(f->err, BERTH_EFORMAT,
		                  "%s: one of %lld parts; expected a file named NAME-00001-of-%05lld.gguf, "
		                  "with the others beside it",
		                  f->name, (long long)meta->n_files, (long long)meta->n_files);
	return new_model(meta, tmp, m);
}

/* Of parts behind the first the keys say nothing new. */
static berth_status read_model(const berth_content *from, berth_arena *tmp, gguf_meta *meta, decoder_model *m,
                               listing *l, berth_err *err)
{
	gguf_file *file;
	gguf_key key;
	BERTH_TRY_NEW(tmp, from->n_parts + 1, err, file);
	for (int32_t i = 0; i <= from->n_parts; i++) {
		const berth_content *c = i ? &from->part[i - 1] : from;
		file[i] = (gguf_file){.name = c->name,
		                      .data = (const unsigned char *)c->data,
		                      .size = c->size,
		                      .err = err};
		BERTH_TRY(gguf_open(&file[i]));
		if (i == 0)
			BERTH_TRY(read_first(&file[i], from->n_parts + 1, tmp, meta, m));
		for (uint64_t k = 0; i && k < file[i].n_keys; k++)
			BERTH_TRY(gguf_next_key(&file[i], &key));
		BERTH_TRY(read_tensors(&file[i], m, l));
	}
	/* Experts by the metadata, where a layer routes to some; all of those that stand alone. */
	for (int32_t i = 0; i < m->n_layers; i++) {
		const decoder_loose *loose = m->loose[i];
		if (m->layer[i].w[DECODER_ROUTER].bytes <= 0)
			continue;
		if (!m->experts)
			return berth_fail(
				err, BERTH_EFORMAT,
				"%s: tensor 'blk.%d.ffn_gate_inp.weight' routes to experts; expected a key "
				"'%s.expert_count' above 0",
				m->file, i, m->arch->name);
		for (int k = 0; loose && k < 3; k++)
			if (loose->n_seen[k] && loose->n_seen[k] != m->experts)
				return berth_fail(err, BERTH_EFORMAT,
				                  "%s: %d tensors 'blk.%d.%sN.weight'; expected %lld, the "
				                  "number of experts",
				                  m->file, loose->n_seen[k], i, style.expert[k].before,
				                  (long long)m->experts);
	}
	return decoder_model_check(m, err);
}

/* "mixtral" of "a/b/mixtral-00001-of-00003.gguf". */
static text_span stem_of(const char *path)
{
	text_span s;
	int32_t part, parts;
	s.text = berth_graph_stem(path, &s.n);
	if (s.n > BERTH_TEXT_PART && berth_text_part(s.text, s.n, &part, &parts))
		s.n -= BERTH_TEXT_PART;
	return s;
}

berth_status berth_gguf_graph(const berth_content *from, const berth_gguf_options *opt, berth_arena *mem,
                              berth_arena *tmp, berth_graph *out, berth_read_report *report, berth_err *err)
{
	gguf_meta meta;
	decoder_model m;
	BERTH_SCRATCH(tmp);
	BERTH_TRY(read_model(from, tmp, &meta, &m, NULL, err));
	m.d.flash = true; /* as llama.cpp attends */
	if (ggml_type_named(opt->weights))
		decoder_model_store(&m, ggml_type_named(opt->weights));
	return decoder_model_graph(&m, opt, from->name, stem_of(from->name), 4, mem, out, report, err);
}

/* ---- files ---- */

/* NAME-00001-of-00003.gguf: how many parts there are by the name; 1 for any other. *at = where the part's
 * number stands. Fails: BERTH_EFORMAT (a later part). */
static berth_status parts_of(const char *path, size_t *at, int32_t *parts, berth_err *err)
{
	size_t n = strlen(path);
	int32_t part;
	*parts = 1;
	if (n < 5 || strcmp(path + n - 5, ".gguf") != 0 || !berth_text_part(path, n - 5, &part, parts))
		return BERTH_OK;
	*at = n - 19;
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	return part == 1 ? BERTH_OK
	                 : berth_fail(err, BERTH_EFORMAT,
	                              "%s: part %d of %d of a model; expected the first one, %.*s00001%s",
	                              path, part, *parts, (int)(path + *at - name), name, path + *at + 5);
}

/* The part of that number, which is not the first. */
static berth_status map_part(const char *path, size_t at, int32_t number, berth_arena *mem,
                             berth_content *part, berth_err *err)
{
	char *name = berth_arena_strdup(mem, path);
	char digits[16];
	const unsigned char *data;
	BERTH_TRY(berth_got(name, err));
	snprintf(digits, sizeof digits, "%05d", number + 1);
	memcpy(name + at, digits, 5);
	const char *slash = strrchr(name, '/');
	BERTH_TRY(berth_beneath_map(BERTH_READS_PART, path, slash ? slash + 1 : name, &data, &part->size,
	                            err));
	part->name = name;
	part->data = (const char *)data;
	return BERTH_OK;
}

/* The first part is given; the others stand beside it. Only the pages of their headers are touched. */
static berth_status map_parts(const berth_content *first, berth_arena *mem, berth_content **part,
                              int32_t *n_parts, berth_err *err)
{
	size_t at = 0;
	int32_t n;
	*n_parts = 0;
	BERTH_TRY(parts_of(first->name, &at, &n, err));
	BERTH_TRY_NEW(mem, n, err, *part);
	for (*n_parts = 0; *n_parts < n - 1; ++*n_parts)
		BERTH_TRY(map_part(first->name, at, *n_parts + 1, mem, &(*part)[*n_parts], err));
	return BERTH_OK;
}

/* ---- the format ---- */

static berth_status parse_format(const berth_content *from, const berth_read_options *opt, berth_arena *mem,
                                 berth_arena *tmp, berth_graph *out, berth_read_report *report,
                                 berth_err *err)
{
	berth_gguf_options o;
	BERTH_TRY(berth_gguf_options_read(from->name, opt->dim, opt->n_dims, tmp, &o, err));
	return berth_gguf_graph(from, &o, mem, tmp, out, report, err);
}

const berth_format berth_format_gguf = {"GGUF", true, gguf_is, parse_format, map_parts};

/* ---- its tensors by name ---- */

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

berth_status berth_gguf_list_tensors(const berth_content *model, const berth_read_options *opt,
                                     berth_arena *mem, berth_arena *tmp, berth_gguf_list *out, berth_err *err)
{
	gguf_meta meta;
	decoder_model m;
	listing l = {.to = out, .mem = mem};
	BERTH_SCRATCH(tmp);
	*out = (berth_gguf_list){0};
	BERTH_TRY(berth_gguf_options_read(model->name, opt ? opt->dim : NULL, opt ? opt->n_dims : 0, mem,
	                                  &out->opt, err));
	BERTH_TRY(read_model(model, tmp, &meta, &m, &l, err));
	const ggml_type *cache = ggml_type_named(out->opt.cache);
	out->cache_bytes = (double)cache->bytes / cache->elements;
	out->context = decoder_model_context(&m, &out->opt);
	out->n_layers = m.n_layers;
	out->n_all_layers = m.n_all;
	out->hidden = m.hidden;
	out->vocabulary = m.d.vocabulary;
	out->experts = m.experts;
	out->top = m.top;
	BERTH_TRY_NEW(mem, m.n_layers, err, out->layer);
	for (int32_t i = 0; i < m.n_layers; i++)
		out->layer[i] = sizes_of(&m.layer[i]);
	return BERTH_OK;
}

int32_t berth_gguf_layer_of(const char *name, const char **rest)
{
	static const char before[] = "blk.";
	size_t n = sizeof before - 1,
	       digits = strncmp(name, before, n) == 0 ? strspn(name + n, "0123456789") : 0;
	const char *behind;
	rest = rest ? rest : &behind;
	*rest = name;
	uint64_t layer;
	if (digits > 9 || !berth_text_whole(name + n, digits, INT32_MAX, &layer) || name[n + digits] != '.')
		return -1;
	*rest = name + n + digits + 1;
	return (int32_t)layer;
}

/* Words of GGUF files and model folders, by a table of parameters with the types of ggml. */
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
