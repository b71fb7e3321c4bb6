/* What llama.cpp places as one: a layer, the output, what stands in front of the layers. Inside of
 * plans/import. */
/* Importer "llama.cpp": what a log of llama.cpp (option -v) tells of layers and tensors:
 *
 *   load_tensors: layer   3 assigned to device CUDA0, is_swa = 0
 *   tensor blk.2.ffn_up.weight (1 MiB f16) buffer type overridden to CUDA_Host
 *
 * The output counts as one layer more, the embedding stands on the CPU. Operators without weights stand where
 * their layer does. The loader may try several times (--fit): a layer 0 begins anew, and the last time
 * counts. */
#include "gguf.h"
#include "import_reading.h"
#include "load.h"

/* Layers of the graph, by the names of its operators ("blk.0. ..."); 0: it has none of llama.cpp's. O(ops).
 */
static int32_t llama_layers(const berth_graph *g)
{
	int32_t n = 0;
	for (int32_t op = 0; op < g->n_ops; op++) {
		int32_t layer = berth_gguf_layer_of(g->op_name[op], NULL);
		n = layer >= n ? layer + 1 : n;
	}
	return n;
}

/* The layer of an operator; n_layers: it goes with the output; -1: in front, on the CPU. */
static int32_t llama_unit(const char *op_name, int32_t n_layers)
{
	static const char *const inputs[] = {"token_embd", "per_layer_token_embd", "position_embd",
	                                     "token_types"};
	int32_t layer = berth_gguf_layer_of(op_name, NULL);
	if (layer >= 0)
		return layer;
	for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
		if (strncmp(op_name, inputs[i], strlen(inputs[i])) == 0)
			return -1;
	return n_layers;
}

enum { MOST_LAYERS = 100000, DIGITS = 6 };

static const char assigned[] = " assigned to device ", overridden[] = " buffer type overridden to ";

typedef struct reading {
	berth_import *m;
	berth_arena *tmp;
	bool listed; /* the model is a GGUF file: */
	berth_gguf_list file;
	berth_strmap tensors; /* of file, to their numbers */
	int32_t *layer_word;  /* [n_layers] -1: not told */
	int32_t n_layers;     /* told, with the output */
	size_t cap_layers;
	int32_t *op_override; /* [n_ops] word; -1: none */
	int32_t n_without;    /* overridden tensors that no operator is called after */
} reading;

static berth_status is(const char *text, size_t size, bool *found, berth_err *err)
{
	char first = berth_import_first(text, size);
	(void)err;
	*found = first != '{' && first != '[' && berth_text_contains(text, size, assigned);
	return BERTH_OK;
}

/* ---- words ---- */

/* "RPC0[host:port]" is RPC0; buffers of the CPU's memory are the CPU. */
static berth_status read_word(reading *r, const char *at, const char *end, int32_t number, int32_t *word,
                              berth_err *err)
{
	static const char *const cpu[] = {"CPU", "AMX", "BLAS", "ACCEL"};
	char name[64];
	size_t n = 0;
	while (at + n < end && n < sizeof name - 1 && !memchr(", \t\r[", at[n], 5))
		n++;
	memcpy(name, at, n);
	name[n] = '\0';
	if (!n)
		return berth_fail(err, BERTH_EFORMAT, "%s:%d: a device without a name", r->m->x->file,
		                  number);
	bool host = n > 5 && strcmp(name + n - 5, "_Host") == 0;
	for (size_t i = 0; i < sizeof cpu / sizeof *cpu; i++)
		host = host || strncmp(name, cpu[i], strlen(cpu[i])) == 0;
	return berth_import_word(r->m, host ? "CPU" : name, word, err);
}

/* ---- lines ---- */

static void begin_anew(reading *r)
{
	r->n_layers = r->n_without = 0;
	for (int32_t op = 0; op < r->m->x->g->n_ops; op++)
		r->op_override[op] = -1;
}

/* "... layer   3": the number before `end`; -1: there is none. */
static int32_t layer_number(const char *line, const char *end)
{
	static const char word[] = "layer";
	const char *at = end;
	int32_t number = 0;
	while (at > line && end - at < DIGITS && at[-1] >= '0' && at[-1] <= '9')
		at--;
	for (const char *c = at; c < end; c++)
		number = 10 * number + (*c - '0');
	const char *blank = at;
	while (blank > line && blank[-1] == ' ')
		blank--;
	size_t n = sizeof word - 1;
	return at < end && (size_t)(blank - line) >= n && memcmp(blank - n, word, n) == 0 ? number : -1;
}

static berth_status take_layer(reading *r, const char *line, const char *at, const char *end, int32_t number,
                               berth_err *err)
{
	int32_t layer = layer_number(line, at), word;
	if (layer < 0)
		return BERTH_OK; /* words of something else */
	if (layer == 0)
		begin_anew(r);
	if (layer >= MOST_LAYERS)
		return berth_fail(err, BERTH_EFORMAT, "%s:%d: layer %d; expected at most %d layers",
		                  r->m->x->file, number, layer, MOST_LAYERS);
	if (layer != r->n_layers)
		return berth_fail(err, BERTH_EFORMAT, "%s:%d: layer %d; expected layer %d", r->m->x->file,
		                  number, layer, r->n_layers);
	BERTH_TRY(read_word(r, at + sizeof assigned - 1, end, number, &word, err));
	return BERTH_PUSH(r->tmp, r->layer_word, r->n_layers, &r->cap_layers, err, word);
}

/* The embedding's matrix is the output's too, where that has none of its own. */
static int32_t tied_output(const reading *r, const char *tensor)
{
	static const char output[] = "output.weight";
	bool tied = r->listed && strcmp(tensor, "token_embd.weight") == 0 &&
	            berth_strmap_get(&r->tensors, output) < 0;
	return tied ? berth_strmap_get(&r->m->ops, output) : -1;
}

static berth_status take_override(reading *r, const char *line, const char *at, const char *end,
                                  int32_t number, berth_err *err)
{
	static const char before[] = "tensor ";
	const char *name = berth_text_search(line, (size_t)(at - line), before);
	int32_t word;
	if (!name)
		return BERTH_OK;
	name += sizeof before - 1;
	const char *close = berth_text_search(name, (size_t)(at - name), " (");
	BERTH_TRY(read_word(r, at + sizeof overridden - 1, end, number, &word, err));
	BERTH_SCRATCH(r->tmp);
	char *tensor = berth_arena_strndup(r->tmp, name, (size_t)((close ? close : at) - name));
	BERTH_TRY(berth_got(tensor, err));
	int32_t op = berth_strmap_get(&r->m->ops, tensor), output = tied_output(r, tensor);
	if (op < 0 && (!r->listed || berth_strmap_get(&r->tensors, tensor) < 0))
		return berth_import_refuse(r->m, "tensor", tensor, err);
	if (op >= 0)
		r->op_override[op] = word;
	if (output >= 0)
		r->op_override[output] = word;
	r->n_without += op < 0;
	return BERTH_OK;
}

/* ---- operators ---- */

static berth_status check_layers(const reading *r, berth_err *err)
{
	const berth_graph *g = r->m->x->g;
	int32_t n = llama_layers(g);
	if (!n)
		return berth_fail(
			err, BERTH_EFORMAT,
			"%s: graph '%.80s' has no layers as llama.cpp has them (blk.0. ...); expected a "
			"GGUF model",
			r->m->x->file, g->name);
	if (r->listed && n > r->file.n_all_layers)
		return berth_fail(err, BERTH_EFORMAT, "%s: the file changed while it was read",
		                  r->m->x->model->name);
	if (r->listed)
		n = r->file.n_all_layers;
	if (r->n_layers != n + 1)
		return berth_fail(err, BERTH_EFORMAT,
		                  "%s: the log tells of %d layers and an output, the graph has %d",
		                  r->m->x->file, r->n_layers - 1, n);
	return BERTH_OK;
}

static berth_status list_tensors(reading *r, berth_err *err)
{
	const berth_import_source *x = r->m->x;
	berth_strmap_init(&r->tensors, r->m->tmp);
	r->listed = x->model && strcmp(berth_content_format(x->model)->name, "GGUF") == 0;
	if (!r->listed)
		return BERTH_OK;
	BERTH_TRY(berth_gguf_list_tensors(x->model, x->read, r->m->tmp, r->tmp, &r->file, err));
	for (int32_t t = 0; t < r->file.n_tensors; t++)
		BERTH_TRY(berth_strmap_add(&r->tensors, r->file.name[t], t, NULL, err));
	return BERTH_OK;
}

static berth_status read(berth_import *m, berth_arena *tmp, berth_err *err)
{
	reading r = {.m = m, .tmp = tmp};
	BERTH_TRY(list_tensors(&r, err));
	BERTH_TRY_NEW(tmp, m->x->g->n_ops, err, r.op_override);
	begin_anew(&r);
	const char *line = r.m->x->text, *last = line + r.m->x->size;
	for (int32_t number = 1; line < last; number++) {
		const char *end = memchr(line, '\n', (size_t)(last - line)), *at;
		end = end ? end : last;
		size_t n = (size_t)(end - line);
		if ((at = berth_text_search(line, n, assigned)))
			BERTH_TRY(take_layer(&r, line, at, end, number, err));
		else if ((at = berth_text_search(line, n, overridden)))
			BERTH_TRY(take_override(&r, line, at, end, number, err));
		line = end + (end < last);
	}
	if (!r.n_layers)
		return berth_fail(err, BERTH_EFORMAT,
		                  "%s: no line tells of a layer's device; llama.cpp tells them with -v",
		                  m->x->file);
	const berth_graph *g = r.m->x->g;
	int32_t cpu;
	BERTH_TRY(check_layers(&r, err));
	BERTH_TRY(berth_import_word(r.m, "CPU", &cpu, err));
	for (int32_t op = 0; op < g->n_ops; op++) {
		int32_t unit = llama_unit(g->op_name[op], r.n_layers - 1), word = r.op_override[op];
		if (word < 0)
			word = unit < 0 ? cpu : r.layer_word[unit];
		BERTH_TRY(berth_import_tell(r.m, op, word, err));
	}
	if (r.n_without &&
	    !(r.m->note = berth_arena_printf(
		      r.m->mem, "%d overridden tensors have no operator of their own: they are left out",
		      r.n_without)))
		return berth_nomem(err);
	return BERTH_OK;
}

const berth_importer berth_import_llama = {
	.name = "llama.cpp",
	.about = "a log of llama.cpp with -v",
	.is = is,
	.read = read,
};
