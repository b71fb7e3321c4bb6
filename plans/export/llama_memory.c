/* Memory that llama.cpp takes for a plan: weights and cache are counted, and the graph that it reserves
 * buffers for is built anew, a tape of steps for each device. */
#include "llama_plan.h"

#include "llama_tape.h"

enum { UBATCH = 512, PAD = 256, COPIES = 4, F32 = 4, F16 = 2, NONE = -1 };

/* A tensor on the device that makes it, and its copies elsewhere. */
typedef struct value {
	int64_t bytes;
	int32_t *at; /* [n_places] its step on each tape; NONE: not there */
	int32_t from;
} value;

/* Inputs of the graph, from outside. */
typedef enum input { POSITIONS, K_ROWS, V_ROWS, MASK, WINDOW_MASK, OUTPUTS, N_INPUTS } input;

typedef struct build {
	const llama_plan *plan;
	const berth_gguf_list *file;
	int32_t n_places, host; /* devices, and the CPU behind them */
	llama_tape **tape;      /* [n_places] */
	int32_t *unit, *tensor; /* [n_layers + 1] and [n_tensors] places */
	llama_index ix;
	int64_t rows;       /* tokens at once */
	int32_t copies;     /* of each input */
	value *in[N_INPUTS];
	berth_arena *tmp;
	berth_err *err;
	berth_status status;
} build;

/* ---- values ---- */

/* Numbers of files may be anything; sums of these stay whole numbers. */
static int64_t whole(double bytes)
{
	const double most = 0x1p44;
	return (int64_t)(bytes < most ? bytes : most);
}

static bool failed(build *b, berth_status st)
{
	if (b->status == BERTH_OK)
		b->status = st;
	return b->status != BERTH_OK;
}

static value *new_value(build *b, int64_t bytes, int32_t from)
{
	value *v;
	if (failed(b, BERTH_NEW(b->tmp, v, 1, b->err)) ||
	    failed(b, BERTH_NEW(b->tmp, v->at, b->n_places, b->err)))
		return NULL;
	v->bytes = bytes;
	v->from = from;
	for (int32_t p = 0; p < b->n_places; p++)
		v->at[p] = NONE;
	return v;
}

static int32_t add(build *b, int32_t place, llama_step step)
{
	int32_t index = NONE;
	if (b->status != BERTH_OK)
		return NONE;
	return failed(b, llama_tape_add(b->tape[place], step, &index, b->err)) ? NONE : index;
}

static const llama_step nothing = {.arg = {NONE, NONE, NONE, NONE}};

/* v is needed at place: a copy of it, made now. */
static int32_t have(build *b, value *v, int32_t place)
{
	llama_step copy = nothing, use = nothing;
	if (!v || b->status != BERTH_OK)
		return NONE;
	if (v->at[place] != NONE)
		return v->at[place];
	copy.bytes = v->bytes;
	copy.first = copy.kept = b->copies > 1;
	for (int32_t i = 1; i < b->copies; i++)
		add(b, place, copy);
	use.arg[0] = v->at[v->from];
	add(b, v->from, use);
	return v->at[place] = add(b, place, copy);
}

/* An operator at place; weight: the step that copies its weight there, or NONE. */
static value *op_with(build *b, int32_t place, int64_t bytes, bool in_place, value *x, value *y,
                      int32_t weight)
{
	value *v = new_value(b, bytes, place);
	llama_step step = nothing;
	if (!v)
		return NULL;
	step.bytes = bytes;
	step.in_place = in_place;
	step.arg[0] = have(b, x, place);
	step.arg[1] = have(b, y, place);
	step.arg[2] = weight;
	v->at[place] = add(b, place, step);
	return v;
}

static value *op(build *b, int32_t place, int64_t bytes, bool in_place, value *x, value *y)
{
	return op_with(b, place, bytes, in_place, x, y, NONE);
}

/* Where x is. */
static value *beside(build *b, value *x, int64_t bytes, bool in_place, value *y)
{
	return op(b, x ? x->from : 0, bytes, in_place, x, y);
}

static value *input_of(build *b, int64_t bytes)
{
	value *v = new_value(b, bytes, b->host);
	llama_step step = nothing;
	if (!v)
		return NULL;
	step.bytes = bytes;
	step.first = true;
	step.kept = b->copies > 1;
	for (int32_t i = 1; i < b->copies; i++)
		add(b, b->host, step);
	v->at[b->host] = add(b, b->host, step);
	return v;
}

/* ---- weights ---- */

static bool is_of(const char *name, const char *what)
{
	size_t n = strlen(what);
	return strncmp(name, what, n) == 0 && (name[n] == '.' || name[n] == '\0');
}

/* The tensor "what.weight" of a layer (n_layers: of none), or NONE. */
static int32_t find(const build *b, int32_t layer, const char *what)
{
	int32_t l = layer < b->file->n_layers ? layer : -1;
	for (int32_t i = b->ix.off[l + 1]; i < b->ix.off[l + 2]; i++) {
		const char *rest = b->ix.rest[b->ix.tensor[i]];
		if (is_of(rest, what) && strstr(rest, ".weight"))
			return b->ix.tensor[i];
	}
	return NONE;
}

/* Where the product with a weight is computed; on the CPU's weights the first device works. */
static int32_t place_of(const build *b, int32_t tensor, int32_t unit)
{
	int32_t place = tensor == NONE ? unit : b->tensor[tensor];
	return place == b->host && b->n_places > 1 ? 0 : place;
}

/* A product of x with the weight "what": rows of `bytes`. */
static value *product(build *b, int32_t layer, const char *what, int64_t bytes, bool in_place, value *x,
                      value *y)
{
	int32_t t = find(b, layer, what), place = place_of(b, t, b->unit[layer]);
	llama_step copy = nothing;
	if (t == NONE || b->tensor[t] == place)
		return op(b, place, bytes, in_place, x, y);
	copy.bytes = whole((double)b->file->bytes[t]);
	int32_t weight = add(b, place, copy);
	return op_with(b, place, bytes, in_place, x, y, weight);
}

/* ---- layers ---- */

/* Tokens at once. */
static int64_t rows_of(const berth_gguf_list *f)
{
	int64_t context = f->context * f->opt.batch;
	return context < UBATCH ? context : UBATCH;
}

static int64_t cells_of(const berth_gguf_list *f, int64_t window)
{
	int64_t all = (f->context + PAD - 1) / PAD * PAD, few = (window + rows_of(f) + PAD - 1) / PAD * PAD;
	return window && few < all ? few : all;
}

static int64_t cells(const build *b, int64_t window)
{
	return cells_of(b->file, window);
}

int64_t llama_cache_bytes(const berth_gguf_list *f, int32_t layer)
{
	const berth_gguf_layer *l = &f->layer[layer];
	double row = ((double)l->k + (double)l->v) * f->cache_bytes;
	return whole((double)cells_of(f, l->window) * (double)f->opt.batch * row);
}

int64_t llama_least_buffers(const berth_gguf_list *f, bool output)
{
	double least = INFINITY, rows = F32 * (double)rows_of(f);
	for (int32_t i = 0; i < f->n_layers; i++) {
		if (f->layer[i].latent)
			return 0;
		double inner = (double)(f->layer[i].experts ? f->layer[i].q : f->layer[i].ffn);
		least = fmin(least, rows * ((double)f->hidden + inner));
	}
	return whole(output ? rows * ((double)f->hidden + (double)f->vocabulary) : f->n_layers ? least : 0);
}

static int64_t wide(const build *b, int64_t columns)
{
	return whole((double)F32 * (double)b->rows * (double)columns);
}

static int64_t wide_each(const build *b, int64_t columns, int64_t times)
{
	return whole((double)F32 * (double)b->rows * (double)columns * (double)times);
}

static bool has_norm(const build *b, int32_t layer, const char *what)
{
	return layer == b->file->n_layers || find(b, layer, what) != NONE;
}

/* x made equal in length, on the device that has x: it holds no weight. */
static value *scaled(build *b, int32_t layer, const char *what, value *x)
{
	if (!x)
		return NULL;
	int32_t place = place_of(b, find(b, layer, what), b->unit[layer]);
	return op(b, x->from == b->host ? place : x->from, x->bytes, true, x, NULL);
}

static value *norm(build *b, int32_t layer, const char *what, value *x)
{
	if (!x || !has_norm(b, layer, what))
		return x;
	return product(b, layer, what, x->bytes, true, scaled(b, layer, what, x), NULL);
}

/* Layers on the CPU have their cache there; the first device attends, with a copy. */
static value *attend(build *b, int32_t layer, value *q, value *k, value *v)
{
	const berth_gguf_layer *l = &b->file->layer[layer];
	int32_t home = b->unit[layer], place = home == b->host && b->n_places > 1 ? 0 : home;
	llama_step copy = nothing, step = nothing;
	op(b, home, 0, false, k, b->in[K_ROWS]);
	op(b, home, 0, false, v, b->in[V_ROWS]);
	value *out = new_value(b, wide(b, l->o), place);
	if (!out)
		return NULL;
	step.bytes = out->bytes;
	step.arg[0] = have(b, q, place);
	step.arg[1] = have(b, b->in[l->window ? WINDOW_MASK : MASK], place);
	if (place != home) {
		double one = (double)cells(b, l->window) * (double)b->file->opt.batch * b->file->cache_bytes;
		copy.bytes = whole(one * (double)l->k);
		step.arg[2] = add(b, place, copy);
		copy.bytes = whole(one * (double)l->v);
		step.arg[3] = add(b, place, copy);
	}
	out->at[place] = add(b, place, step);
	return out;
}

static void have_inputs(build *b, int32_t place)
{
	static const input order[] = {POSITIONS, K_ROWS, V_ROWS, MASK, WINDOW_MASK, OUTPUTS};
	for (size_t i = 0; i < sizeof order / sizeof *order; i++)
		have(b, b->in[order[i]], place);
}

/* The layer's input before its norm's weights. Where a device begins, all that it needs of others comes
 * first, activations before inputs. */
static value *enter(build *b, int32_t layer, value *x)
{
	int32_t place = b->unit[layer];
	bool begins = place != b->host && (layer > 0 ? b->unit[layer - 1] != place : place > 0);
	value *y = has_norm(b, layer, "attn_norm") ? scaled(b, layer, "attn_norm", x) : x;
	if (begins) {
		have(b, y, place);
		have(b, x, place);
		have_inputs(b, place);
	}
	return y;
}

static value *attention(build *b, int32_t layer, value *x)
{
	const berth_gguf_layer *l = &b->file->layer[layer];
	value *y = enter(b, layer, x), *q, *k, *v;
	if (y && has_norm(b, layer, "attn_norm"))
		y = product(b, layer, "attn_norm", y->bytes, true, y, NULL);
	bool fused = find(b, layer, "attn_qkv") != NONE;
	q = product(b, layer, fused ? "attn_qkv" : "attn_q",
	            wide(b, l->q) + (fused ? wide(b, l->k) + wide(b, l->v) : 0), false, y, NULL);
	if (fused) {
		v = q;
		k = beside(b, q, wide(b, l->k), false, b->in[POSITIONS]);
		q = beside(b, q, wide(b, l->q), false, b->in[POSITIONS]);
	} else {
		q = beside(b, q, wide(b, l->q), true, b->in[POSITIONS]);
		v = product(b, layer, "attn_v", wide(b, l->v), false, y, NULL);
		k = product(b, layer, "attn_k", wide(b, l->k), false, y, NULL);
		k = beside(b, k, wide(b, l->k), true, b->in[POSITIONS]);
	}
	y = attend(b, layer, q, k, v);
	y = product(b, layer, "attn_output", wide(b, b->file->hidden), false, y, NULL);
	return norm(b, layer, "post_attention_norm", y);
}

static value *dense(build *b, int32_t layer, const char *gate, const char *up, const char *down,
                    int64_t inner, value *y)
{
	value *g =
		find(b, layer, gate) == NONE ? NULL : product(b, layer, gate, wide(b, inner), false, y, NULL);
	value *u = product(b, layer, up, wide_each(b, inner, find(b, layer, gate) != NONE ? 1 : 2), false, y,
	                   NULL);
	g = op(b, u ? u->from : 0, wide(b, inner), false, g ? g : u, g ? u : NULL);
	return product(b, layer, down, wide(b, b->file->hidden), false, g, NULL);
}

/* The experts' products for the chosen ones, and their sum in pairs. */
static value *mixture(build *b, int32_t layer, value *y)
{
	const berth_gguf_list *f = b->file;
	const berth_gguf_layer *l = &f->layer[layer];
	value *logits = product(b, layer, "ffn_gate_inp", wide(b, f->experts), false, y, NULL);
	int32_t p = logits ? logits->from : 0;
	value *share = op(b, p, wide(b, f->experts), true, logits, NULL);
	value *chosen = op(b, p, wide(b, f->experts), false, share, NULL);
	value *w = op(b, p, wide(b, f->top), false, share, chosen),
	      *sum = op(b, p, wide(b, 1), false, w, NULL);
	w = op(b, p, wide(b, f->top), true, w, op(b, p, wide(b, 1), true, sum, NULL));
	value *u = product(b, layer, "ffn_up_exps", wide_each(b, l->ffn, f->top), false, y, chosen);
	value *g = product(b, layer, "ffn_gate_exps", wide_each(b, l->ffn, f->top), false, y, chosen);
	g = op(b, u ? u->from : 0, wide_each(b, l->ffn, f->top), false, g, u);
	value *d = product(b, layer, "ffn_down_exps", wide_each(b, f->hidden, f->top), false, g, chosen);
	d = beside(b, d, wide_each(b, f->hidden, f->top), true, w);
	value *out = NULL;
	for (int64_t i = 1; i < f->top; i++)
		out = beside(b, d, wide(b, f->hidden), false, out);
	if (l->shared) {
		u = dense(b, layer, "ffn_gate_shexp", "ffn_up_shexp", "ffn_down_shexp", l->shared, y);
		out = op(b, u ? u->from : 0, wide(b, f->hidden), true, out ? out : d, u);
	}
	return out ? out : d;
}

/* Of the last layer only the rows that are asked for go on. */
static value *layer_of(build *b, int32_t layer, value *x)
{
	const berth_gguf_list *f = b->file;
	value *y = attention(b, layer, x);
	if (layer == f->n_layers - 1) {
		y = beside(b, y, wide(b, f->hidden), false, b->in[OUTPUTS]);
		x = op(b, y ? y->from : 0, wide(b, f->hidden), false, x, b->in[OUTPUTS]);
	}
	x = beside(b, y, wide(b, f->hidden), true, x);
	y = norm(b, layer, "ffn_norm", x);
	y = f->layer[layer].experts
	            ? mixture(b, layer, y)
	            : dense(b, layer, "ffn_gate", "ffn_up", "ffn_down", f->layer[layer].ffn, y);
	y = norm(b, layer, "post_ffw_norm", y);
	return beside(b, y, wide(b, f->hidden), true, x);
}

/* ---- the graph ---- */

/* Inputs and the embedding; in its place ready vectors may come, for which there is room as well. */
static value *begin(build *b)
{
	const berth_gguf_list *f = b->file;
	int64_t hidden = wide(b, f->hidden);
	input_of(b, hidden); /* ready vectors */
	value *mixed = input_of(b, hidden), *tokens = input_of(b, F32 * b->rows),
	      *few = input_of(b, F32 * b->rows), *slots = input_of(b, 2 * F32 * b->rows);
	b->in[POSITIONS] = input_of(b, F32 * b->rows);
	b->in[K_ROWS] = input_of(b, 2 * F32 * b->rows);
	b->in[V_ROWS] = input_of(b, 2 * F32 * b->rows);
	b->in[OUTPUTS] = input_of(b, F32 * b->rows);
	bool all = false, some = false;
	int64_t window = 0;
	for (int32_t i = 0; i < f->n_layers; i++) {
		all = all || !f->layer[i].window;
		some = some || f->layer[i].window;
		window = f->layer[i].window ? f->layer[i].window : window;
	}
	b->in[MASK] = all ? input_of(b, whole((double)F16 * (double)b->rows * (double)cells(b, 0))) : NULL;
	b->in[WINDOW_MASK] =
		some ? input_of(b, whole((double)F16 * (double)b->rows * (double)cells(b, window))) : NULL;
	int32_t t = find(b, f->n_layers, "token_embd"), from = t == NONE ? b->host : b->tensor[t];
	int32_t first = b->n_places > 1 ? 0 : b->host;
	value *x = op(b, from, hidden, false, tokens, NULL), *y = op(b, from, hidden, false, few, NULL);
	have(b, mixed, first);
	have(b, y, first);
	have(b, slots, first);
	have(b, x, first);
	if (b->unit[0] == first)
		have_inputs(b, first);
	op(b, first, hidden, false, mixed, NULL);
	op(b, first, 0, false, y, slots);
	return x;
}

/* ---- places ---- */

static int32_t place_in(const llama_plan *plan, int32_t dev, int32_t otherwise)
{
	for (int32_t k = 0; k < plan->n_devs; k++)
		if (plan->dev[k] == dev)
			return k;
	return dev == LLAMA_CPU ? plan->n_devs : otherwise;
}

static berth_status set_places(build *b)
{
	const llama_plan *p = b->plan;
	bool alone = true;
	b->n_places = p->n_devs + 1;
	b->host = p->n_devs;
	BERTH_TRY_NEW(b->tmp, p->n_layers + 1, b->err, b->unit);
	BERTH_TRY_NEW(b->tmp, b->file->n_tensors, b->err, b->tensor);
	BERTH_TRY_NEW(b->tmp, b->n_places, b->err, b->tape);
	for (int32_t i = 0; i <= p->n_layers; i++)
		b->unit[i] = place_in(p, p->unit_dev[i], b->host);
	for (int32_t t = 0; t < b->file->n_tensors; t++) {
		b->tensor[t] = place_in(p, p->tensor_dev[t], b->host);
		alone = alone && !p->told[t];
	}
	b->copies = p->n_devs > 1 && p->n_offloaded > p->n_layers && alone ? COPIES : 1;
	for (int32_t i = 0; i < b->n_places; i++)
		BERTH_TRY(berth_got(b->tape[i] = llama_tape_new(b->tmp), b->err));
	return llama_index_new(b->file, b->tmp, &b->ix, b->err);
}

static berth_status measure(build *b, llama_memory *memory, bool *told)
{
	b->rows = rows_of(b->file);
	BERTH_TRY(set_places(b));
	const berth_gguf_list *f = b->file;
	for (int32_t t = 0; t < f->n_tensors; t++)
		memory[b->tensor[t]].weights += whole((double)f->bytes[t]);
	int32_t embed = find(b, f->n_layers, "token_embd");
	if (find(b, f->n_layers, "output") == NONE && embed != NONE && !b->plan->told[embed] &&
	    b->unit[f->n_layers] != b->tensor[embed])
		memory[b->unit[f->n_layers]].weights += whole((double)f->bytes[embed]);
	for (int32_t i = 0; i < f->n_layers; i++)
		memory[b->unit[i]].cache += llama_cache_bytes(f, i);
	*told = true;
	for (int32_t i = 0; i < b->file->n_layers; i++)
		*told = *told && !b->file->layer[i].latent;
	if (!*told)
		return BERTH_OK;
	value *x = begin(b);
	for (int32_t i = 0; i < b->file->n_layers && b->status == BERTH_OK; i++) {
		x = layer_of(b, i, x);
	}
	/* The logits. A matrix that the output shares with the embedding is copied to the output's device. */
	int32_t n = b->file->n_layers, t = find(b, n, "token_embd");
	int64_t logits = wide(b, b->file->vocabulary);
	x = norm(b, n, "output_norm", x);
	if (find(b, n, "output") == NONE && t != NONE && !b->plan->told[t] && b->unit[n] != b->host)
		op(b, b->unit[n], logits, false, x, NULL);
	else
		product(b, n, find(b, n, "output") == NONE ? "token_embd" : "output", logits, false, x, NULL);
	BERTH_TRY(b->status);
	for (int32_t i = 0; i < b->n_places; i++)
		BERTH_TRY(llama_tape_bytes(b->tape[i], b->tmp, &memory[i].compute, b->err));
	return BERTH_OK;
}

berth_status llama_memory_of(const llama_plan *plan, const berth_gguf_list *file, berth_arena *tmp,
                             llama_memory *memory, bool *told, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	build b = {.plan = plan, .file = file, .tmp = tmp, .err = err};
	for (int32_t i = 0; i <= plan->n_devs; i++)
		memory[i] = (llama_memory){0};
	return measure(&b, memory, told);
}
