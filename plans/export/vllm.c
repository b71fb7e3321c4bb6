/* Exporter "vllm": a plan of a model folder or a GGUF file as one command line, quoted for a shell. It tells
 * vLLM's pipeline how many layers each GPU has, the ranks in the order of their layers. */
#include "vllm_plan.h"

typedef struct stages {
	int32_t n;
	int32_t gpu[BERTH_MAX_DEVS], layers[BERTH_MAX_DEVS]; /* [n] places in p->gpu, in the order of ranks */
} stages;

/* ---- what it can be told ---- */

static berth_status check_op(const vllm_plan *p, int32_t op, const int32_t *unit_dev)
{
	const berth_export_source *x = p->x;
	const int32_t d = x->op_dev[op], unit = p->op_unit[op], at = unit_dev[unit];
	const char *name = x->g->op_name[op], *device = x->s->dev_name[d];
	if (vllm_gpu(p, d) < 0)
		return berth_fail(
			p->err, BERTH_EUNSUPPORTED,
			"operator '%s' is on '%s', which is no GPU: vLLM's pipeline computes on GPUs "
			"alone",
			name, device);
	if (d == at)
		return BERTH_OK;
	if (p->in_layer[op])
		return berth_fail(
			p->err, BERTH_EUNSUPPORTED,
			"layer %d is on '%s' and on '%s' (operator '%s'); vLLM keeps a layer on one "
			"GPU: plan with --granularity layer",
			unit, x->s->dev_name[at], device, name);
	return berth_fail(
		p->err, BERTH_EUNSUPPORTED,
		"operator '%s' is on '%s', and layer %d on '%s': vLLM computes it beside that layer", name,
		device, unit, x->s->dev_name[at]);
}

static berth_status check_host(const vllm_plan *p, int32_t d, int32_t first)
{
	const berth_system *s = p->x->s;
	const char *a = s->dev_host[first], *b = s->dev_host[d];
	if (!a || !b || strcmp(a, b) == 0)
		return BERTH_OK;
	return berth_fail(p->err, BERTH_EUNSUPPORTED,
	                  "'%s' is part of '%s' and '%s' of '%s': one line starts vLLM on one host",
	                  s->dev_name[first], a, s->dev_name[d], b);
}

static berth_status find_stages(const vllm_plan *p, berth_arena *tmp, stages *out)
{
	int32_t *unit_dev;
	out->n = 0;
	BERTH_TRY_NEW(tmp, p->n_units, p->err, unit_dev);
	for (int32_t op = 0; op < p->x->g->n_ops; op++)
		if (p->in_layer[op])
			unit_dev[p->op_unit[op]] = p->x->op_dev[op];
	for (int32_t op = 0; op < p->x->g->n_ops; op++)
		BERTH_TRY(check_op(p, op, unit_dev));
	for (int32_t k = 0; k < p->n_units; k++) {
		const int32_t i = vllm_gpu(p, unit_dev[k]);
		if (k && unit_dev[k] == unit_dev[k - 1]) {
			out->layers[out->n - 1]++;
			continue;
		}
		for (int32_t r = 0; r < out->n; r++)
			if (out->gpu[r] == i)
				return berth_fail(p->err, BERTH_EUNSUPPORTED,
				                  "layer %d is on '%s' again, behind layers on '%s': a GPU "
				                  "is one stage "
				                  "of vLLM's pipeline, with neighbouring layers",
				                  k, p->x->s->dev_name[unit_dev[k]],
				                  p->x->s->dev_name[unit_dev[k - 1]]);
		BERTH_TRY(check_host(p, unit_dev[k], unit_dev[0]));
		out->gpu[out->n] = i;
		out->layers[out->n++] = 1;
	}
	for (int32_t r = 0; r < out->n; r++)
		for (int32_t q = 0; q < r; q++)
			if (strcmp(p->word[out->gpu[r]], p->word[out->gpu[q]]) == 0)
				return berth_fail(
					p->err, BERTH_EUNSUPPORTED,
					"'%s' and '%s' are both GPU %s: one stage has a GPU for itself",
					p->x->s->dev_name[p->gpu[out->gpu[q]]],
					p->x->s->dev_name[p->gpu[out->gpu[r]]], p->word[out->gpu[r]]);
	return BERTH_OK;
}

/* ---- the line ---- */

/* Numbers are those of nvidia-smi by CUDA_DEVICE_ORDER: CUDA's own order is by speed. */
static berth_status make_line(const vllm_plan *p, const stages *s, berth_arena *mem, const char **line)
{
	berth_strbuf b = {.mem = mem};
	char share[16];
	size_t len;
	berth_strbuf_printf(&b, "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=");
	for (int32_t r = 0; r < s->n; r++)
		berth_strbuf_printf(&b, "%s%s", r ? "," : "", p->word[s->gpu[r]]);
	for (int32_t r = 0; r < s->n && s->n > 1; r++)
		berth_strbuf_printf(&b, "%s%d", r ? "," : " VLLM_PP_LAYER_PARTITION=", s->layers[r]);
	berth_export_put_word(&b, "vllm");
	berth_export_put_word(&b, "serve");
	berth_export_put_word(&b, p->path);
	berth_export_put_number(&b, "--pipeline-parallel-size", s->n);
	berth_export_put_number(&b, "--max-model-len", p->context);
	snprintf(share, sizeof share, "%.2f", p->share);
	berth_export_put_option(&b, "--gpu-memory-utilization", share);
	return berth_strbuf_done(&b, line, &len, p->err);
}

/* ---- memory ---- */

/* Every rank keeps the same tokens: as many as the one with the least left. */
static berth_status tell_cache(const vllm_plan *p, const stages *s, const vllm_memory *memory,
                               berth_export_out *out)
{
	double most = -1;
	int32_t at = -1;
	for (int32_t r = 0; r < s->n; r++) {
		const int32_t d = p->gpu[s->gpu[r]];
		const vllm_memory *m = &memory[d];
		if (m->room < 0 || m->cache <= 0 || m->buffers < 0)
			continue;
		double tokens = (double)(m->room - m->weights - m->buffers) / (double)m->cache *
		                (double)(p->context * p->batch);
		if (at >= 0 && tokens >= most)
			continue;
		most = tokens;
		at = d;
	}
	if (at < 0 || most < 0)
		return BERTH_OK;
	return berth_export_note(
		out, p->err,
		"room for a cache of about %.0f tokens (%.1f sequences of %lld): as many on each "
		"GPU as %s has left",
		most - (double)((int64_t)most % 16), most / (double)p->context, (long long)p->context,
		p->x->s->dev_name[at]);
}

static berth_status tell_memory(const vllm_plan *p, const stages *s, berth_arena *tmp, berth_export_out *out)
{
	const char *const *name = p->x->s->dev_name;
	char a[32], b[32];
	vllm_memory *memory;
	BERTH_TRY_NEW(tmp, p->x->s->n_devs, p->err, memory);
	BERTH_TRY_NEW(out->mem, s->n, p->err, out->memory);
	BERTH_TRY(vllm_weigh(p, p->x->op_dev, tmp, memory));
	for (int32_t r = 0; r < s->n; r++) {
		const int32_t d = p->gpu[s->gpu[r]];
		const vllm_memory *m = &memory[d];
		out->memory[out->n_memory++] = (berth_export_memory){
			.device = name[d], .weights = m->weights, .cache = m->cache, .buffers = m->buffers};
	}
	const int32_t full = p->x->p ? vllm_full(p, memory) : -1;
	if (full < 0)
		return tell_cache(p, s, memory, out);
	const vllm_memory *m = &memory[full];
	out->unfit = berth_arena_printf(
		out->mem,
		"vLLM needs about %s on %s, and takes %s of it (%.0f %%): plan with \"memory_margin\": %.2f "
		"of this "
		"device in the system file",
		berth_text_bytes(a, (double)(m->weights + m->cache + (m->buffers > 0 ? m->buffers : 0))),
		name[full], berth_text_bytes(b, (double)m->room), 100 * p->share, 1 - p->share);
	return berth_got(out->unfit, p->err);
}

/* ---- the exporter ---- */

static berth_status tell_usual(const vllm_plan *p, berth_arena *tmp, berth_export_out *out)
{
	berth_export_source own = *p->x;
	vllm_plan usual = *p;
	int32_t *op_dev;
	stages s;
	bool known;
	BERTH_TRY_NEW(tmp, own.g->n_ops, p->err, op_dev);
	BERTH_TRY(vllm_usual(p, tmp, op_dev, &known));
	own.op_dev = op_dev;
	usual.x = &own;
	berth_status st = known ? find_stages(&usual, tmp, &s) : BERTH_OK;
	if (!known || st != BERTH_OK)
		return st == BERTH_ENOMEM ? st : BERTH_OK; /* GPUs of two hosts */
	return make_line(p, &s, out->mem, &out->usual);
}

static berth_status write(const berth_export_source *x, berth_arena *tmp, berth_export_out *out,
                          berth_err *err)
{
	const char *line;
	vllm_plan p;
	stages s;
	BERTH_TRY(vllm_open(x, tmp, &p, err));
	BERTH_TRY(find_stages(&p, tmp, &s));
	BERTH_TRY(make_line(&p, &s, out->mem, &line));
	BERTH_TRY(berth_export_put(out, line, strlen(line), err));
	BERTH_TRY(berth_export_put(out, "\n", 1, err));
	BERTH_TRY(berth_export_set(out, "command", line, err));
	BERTH_TRY(tell_memory(&p, &s, tmp, out));
	for (int32_t r = 0; r < s.n; r++) {
		const int32_t d = p.gpu[s.gpu[r]];
		if (!x->theirs || !x->theirs[d])
			BERTH_TRY(berth_export_note(
				out, err,
				"device %s is taken for GPU %s of nvidia-smi (--device %s=N "
				"says otherwise)",
				x->s->dev_name[d], p.word[s.gpu[r]], x->s->dev_name[d]));
	}
	if (strcmp(p.layer_name, "blk") == 0)
		BERTH_TRY(berth_export_note(
			out, err,
			"of a GGUF file vLLM wants --tokenizer of the model it was made from, and "
			"by version the package vllm-gguf-plugin"));
	return tell_usual(&p, tmp, out);
}

static berth_status usual(const berth_export_source *x, berth_arena *tmp, int32_t *op_dev, bool *known,
                          berth_err *err)
{
	vllm_plan p;
	*known = false;
	if (!x->model)
		return BERTH_OK;
	berth_status st = vllm_open(x, tmp, &p, err);
	if (st != BERTH_OK)
		return st == BERTH_ENOMEM ? st : BERTH_OK; /* write will tell */
	return vllm_usual(&p, tmp, op_dev, known);
}

static berth_status nearest(const berth_export_source *x, berth_arena *tmp, int32_t *op_dev, berth_err *err)
{
	vllm_plan p;
	BERTH_TRY(vllm_open(x, tmp, &p, err));
	return vllm_nearest(&p, tmp, op_dev);
}

static berth_status best(const berth_export_source *x, berth_arena *tmp, int32_t *op_dev, double *bound,
                         berth_err *err)
{
	vllm_plan p;
	BERTH_TRY(vllm_open(x, tmp, &p, err));
	return vllm_best(&p, tmp, op_dev, bound);
}

const berth_exporter berth_export_vllm = {
	.name = "vllm",
	.about = "A command line for vllm serve, from a model folder or a GGUF file",
	.suffix = ".sh",
	.needs = BERTH_EXPORT_PLACEMENT,
	.model = "safetensors or GGUF",
	.write = write,
	.usual = usual,
	.seconds = berth_export_uses_seconds,
	.nearest = nearest,
	.best = best,
	.model_words = vllm_words,
};
