/* Layers, GPUs and memory of a language model as vLLM has them. A plan is opened as units of layers here,
 * weighed, and held against each GPU's memory. */
#include "vllm_plan.h"

#include "gguf.h"
#include "hf.h"
#include "load.h"
#include "nearest.h"

/* Of a GPU's memory, where devices keep no more free (memory_margin): vLLM's own default. */
static const double usual_share = 0.9;

/* ---- the model ---- */

/* A model folder is told as such, whichever of its files was read. */
static const char *folder_of(const char *path, berth_arena *tmp)
{
	const char *end = strrchr(path, '/');
	return !end ? "." : end == path ? "/" : berth_arena_strndup(tmp, path, (size_t)(end - path));
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);
	return n >= m && strcmp(text + n - m, end) == 0;
}

berth_status vllm_words(const berth_content *from, const berth_read_options *read, berth_arena *mem,
                        berth_gguf_options *out, const char **path, berth_err *err)
{
	BERTH_TRY(berth_gguf_options_read(from->name, read ? read->dim : NULL, read ? read->n_dims : 0, mem,
	                                  out, err));
	if (strcmp(out->weights, "file") != 0)
		return berth_fail(err, BERTH_EUNSUPPORTED,
		                  "the graph has its weights as %s, %s as they are stored: plan without "
		                  "weights=",
		                  out->weights, from->name);
	if (strcmp(out->cache, "f16") != 0 && strcmp(out->cache, "bf16") != 0)
		return berth_fail(
			err, BERTH_EUNSUPPORTED,
			"the graph has a cache of %s, vLLM one of f16 or bf16: plan without cache=",
			out->cache);
	bool gguf = strcmp(berth_content_format(from)->name, "GGUF") == 0;
	if (gguf && from->n_parts)
		return berth_fail(err, BERTH_EUNSUPPORTED,
		                  "%s goes on in other files; vLLM takes a GGUF model in one file: join them "
		                  "first (llama-gguf-split --merge)",
		                  from->name);
	bool in_folder = ends_with(from->name, ".json") || ends_with(from->name, ".safetensors");
	*path = in_folder && !gguf ? folder_of(from->name, mem) : from->name;
	return berth_got(*path, err);
}

static berth_status read_model(vllm_plan *p, berth_arena *tmp)
{
	const berth_content *from = p->x->model;
	berth_gguf_options o;
	decoder_model m;
	int64_t most = 4096;
	BERTH_TRY(vllm_words(from, p->x->read, tmp, &o, &p->path, p->err));
	p->batch = o.batch;
	p->layer_name = "blk";
	if (strcmp(berth_content_format(from)->name, "GGUF") != 0) {
		BERTH_TRY(hf_model_read(from, tmp, &m, p->err));
		p->layer_name = m.arch->style->names.layer;
		most = m.context > 0 && m.context < most ? m.context : most;
		p->context = o.context ? o.context : most;
		return BERTH_OK;
	}
	berth_gguf_list list;
	BERTH_ARENA(mem);
	BERTH_TRY(berth_gguf_list_tensors(from, p->x->read, &mem, tmp, &list, p->err));
	p->context = list.context;
	return BERTH_OK;
}

/* ---- units ---- */

/* The layer that an operator's name tells; -1: none. */
static int32_t layer_of(const vllm_plan *p, int32_t op)
{
	const char *name = p->x->g->op_name[op];
	size_t n = strlen(p->layer_name);
	if (strncmp(name, p->layer_name, n) != 0 || name[n] != '.')
		return -1;
	const char *end;
	int32_t layer = berth_text_digits(name + n + 1, 99999, &end);
	return *end == '.' ? layer : -1;
}

/* Does a later operator that takes what op makes belong to a layer, or come before one? */
static bool comes_before(const vllm_plan *p, int32_t op)
{
	const berth_graph *g = p->x->g;
	BERTH_EACH_USE (u, g, op) {
		const int32_t to = g->edge_consumer[u];
		if (p->in_layer[to] || p->op_unit[to] == 0)
			return true;
	}
	return false;
}

static berth_status find_units(vllm_plan *p, berth_arena *tmp)
{
	const berth_graph *g = p->x->g;
	bool *there;
	BERTH_TRY_NEW(tmp, g->n_ops, p->err, p->op_unit, p->in_layer);
	for (int32_t op = 0; op < g->n_ops; op++) {
		p->op_unit[op] = layer_of(p, op);
		p->in_layer[op] = p->op_unit[op] >= 0;
		p->n_units = p->op_unit[op] >= p->n_units ? p->op_unit[op] + 1 : p->n_units;
	}
	BERTH_TRY_NEW(tmp, p->n_units + 1, p->err, there, p->unit_bytes);
	for (int32_t i = g->n_ops - 1; i >= 0; i--) {
		const int32_t op = g->topo_op[i];
		if (!p->in_layer[op])
			p->op_unit[op] = comes_before(p, op) ? 0 : p->n_units - 1;
		else
			there[p->op_unit[op]] = true;
	}
	for (int32_t l = 0; l < p->n_units; l++)
		if (!there[l])
			return berth_fail(p->err, BERTH_EUNSUPPORTED,
			                  "no operator of layer %d is in the plan", l);
	if (!p->n_units)
		return berth_fail(p->err, BERTH_EUNSUPPORTED,
		                  "graph '%s' has no layers that vLLM could place", g->name);
	for (int32_t op = 0; op < g->n_ops; op++)
		p->unit_bytes[p->op_unit[op]] += g->op_param_bytes[op] + g->op_state_bytes[op];
	for (int32_t k = 0; k < g->n_params; k++)
		BERTH_EACH (u, g->param_op_off, k) {
			const int32_t unit = p->op_unit[g->param_op[u]];
			bool again = false;
			for (int32_t v = g->param_op_off[k]; v < u; v++)
				again = again || p->op_unit[g->param_op[v]] == unit;
			p->unit_bytes[unit] += again ? 0 : g->param_bytes[k];
		}
	return BERTH_OK;
}

/* ---- GPUs ---- */

/* The number behind "cuda:" or alone; NULL: it is none. */
static const char *number_of(const char *word)
{
	const char *number = berth_export_begins(word, "cuda:") ? word + 5 : word;
	size_t n = strspn(number, "0123456789");
	return n > 0 && n < 4 && !number[n] ? number : NULL;
}

static berth_status find_gpus(vllm_plan *p, berth_arena *tmp)
{
	const berth_system *s = p->x->s;
	const char **told;
	BERTH_TRY_NEW(tmp, s->n_devs, p->err, told, p->word, p->gpu);
	BERTH_TRY(berth_export_number_gpus(p->x, "", told, tmp, p->err));
	p->share = usual_share;
	for (int32_t d = 0; d < s->n_devs; d++) {
		const char *number = told[d] ? number_of(told[d]) : NULL;
		if (told[d] && !number && !berth_export_begins(told[d], "cpu"))
			return berth_fail(p->err, BERTH_EINVAL,
			                  "device '%s' is called '%s'; expected the number that CUDA has for "
			                  "it, such as 1 or cuda:1",
			                  s->dev_name[d], told[d]);
		if (!number)
			continue;
		int32_t at = p->n_gpus++;
		const int32_t it = berth_text_digits(number, INT32_MAX, NULL);
		for (; at > 0 && berth_text_digits(p->word[at - 1], INT32_MAX, NULL) > it; at--) {
			p->gpu[at] = p->gpu[at - 1];
			p->word[at] = p->word[at - 1];
		}
		p->gpu[at] = d;
		p->word[at] = number;
		if (1 - s->dev_memory_margin[d] < p->share)
			p->share = 1 - s->dev_memory_margin[d];
	}
	return BERTH_OK;
}

berth_status vllm_open(const berth_export_source *x, berth_arena *tmp, vllm_plan *out, berth_err *err)
{
	*out = (vllm_plan){.x = x, .err = err};
	BERTH_TRY(read_model(out, tmp));
	BERTH_TRY(find_units(out, tmp));
	return find_gpus(out, tmp);
}

int32_t vllm_gpu(const vllm_plan *p, int32_t dev)
{
	for (int32_t i = 0; i < p->n_gpus; i++)
		if (p->gpu[i] == dev)
			return i;
	return -1;
}

/* ---- memory ---- */

berth_status vllm_weigh(const vllm_plan *p, const int32_t *op_dev, berth_arena *tmp, vllm_memory *memory)
{
	BERTH_SCRATCH(tmp);
	const berth_graph *g = p->x->g;
	const berth_system *s = p->x->s;
	berth_timeline t = {0};
	int64_t *held;
	BERTH_TRY_NEW(tmp, s->n_devs, p->err, held);
	BERTH_TRY(berth_held_bytes(g, op_dev, s->n_devs, tmp, held, p->err));
	if (p->x->p)
		BERTH_TRY(berth_timeline_new(p->x->p, op_dev, NULL, tmp, &t, p->err));
	for (int32_t d = 0; d < s->n_devs; d++) {
		const int64_t bytes = s->dev_memory_bytes[d];
		memory[d] = (vllm_memory){.weights = held[d],
		                          .buffers = t.r.runs ? t.peak_bytes[d] - held[d] : -1,
		                          .room = bytes < 0 ? -1 : (int64_t)(p->share * (double)bytes)};
	}
	for (int32_t op = 0; op < g->n_ops; op++) {
		memory[op_dev[op]].weights -= g->op_state_bytes[op];
		memory[op_dev[op]].cache += g->op_state_bytes[op];
	}
	return BERTH_OK;
}

int32_t vllm_full(const vllm_plan *p, const vllm_memory *memory)
{
	for (int32_t d = 0; d < p->x->s->n_devs; d++) {
		const int64_t buffers = memory[d].buffers > 0 ? memory[d].buffers : 0;
		if (memory[d].room >= 0 && memory[d].weights + memory[d].cache + buffers > memory[d].room)
			return d;
	}
	return -1;
}
