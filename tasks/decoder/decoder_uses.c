/* A language model in both of its uses: the graphs of reading a prompt and of making a token, which operators
 * of one stand for which of the other, and an answer for tokens judged and summed up for both. */
#include "decoder_uses.h"

enum { MOST_TIGHTENINGS = 4, CHUNK = 512 };

/* ---- words of a spec ---- */

/* Where ":key=" stands in spec; NULL: nowhere. */
static const char *find_word(const char *spec, const char *key)
{
	size_t n = strlen(key);
	for (const char *at = strchr(spec, ':'); at; at = strchr(at + 1, ':'))
		if (strncmp(at + 1, key, n) == 0 && at[n + 1] == '=')
			return at;
	return NULL;
}

bool berth_spec_has(const char *spec, const char *key)
{
	return find_word(spec, key) != NULL;
}

const char *berth_spec_set(const char *spec, const char *key, const char *value, berth_arena *mem)
{
	const char *at = find_word(spec, key);
	if (!at)
		return berth_arena_printf(mem, "%s:%s=%s", spec, key, value);
	return berth_arena_printf(mem, "%.*s%s:%s=%s", (int)(at - spec), spec, at + 1 + strcspn(at + 1, ":"),
	                          key, value);
}

const char *berth_spec_get(const char *spec, const char *key, const char *otherwise, berth_arena *mem)
{
	const char *at = find_word(spec, key);
	if (!at)
		return otherwise;
	at += strlen(key) + 2;
	const char *value = berth_arena_strndup(mem, at, strcspn(at, ":"));
	return value ? value : otherwise;
}

const char *berth_decoder_context_word(bool gguf)
{
	return gguf ? "context" : "seq";
}

/* ---- both graphs ---- */

/* Bytes of tensors and workspace that g holds while an operator runs, one after the other: alive [n_ops] by
 * place in topological order. */
static berth_status find_alive(const berth_graph *g, int64_t *alive, berth_arena *mem, berth_err *err)
{
	int64_t *ends, now = 0;
	BERTH_TRY_NEW(mem, (size_t)g->n_ops + 1, err, ends);
	for (int32_t k = 0; k < g->n_ops; k++) {
		int32_t op = g->topo_op[k];
		BERTH_EACH (t, g->op_tensor_off, op) {
			int32_t last = k;
			BERTH_EACH (e, g->tensor_use_off, t)
				last = g->op_topo[g->edge_consumer[e]] > last
				               ? g->op_topo[g->edge_consumer[e]]
				               : last;
			now += g->tensor_bytes[t];
			ends[last] += g->tensor_bytes[t];
		}
		alive[k] = now + g->op_workspace_bytes[op];
		now -= ends[k];
	}
	return BERTH_OK;
}

/* What prefill has alive at an operator, at its twin; of one without a twin, at the last twin in front of
 * it. */
static berth_status hold_alive(berth_decoder *x, berth_graph *decode, berth_arena *mem, berth_err *err)
{
	int64_t *alive, *own;
	int32_t last = 0;
	BERTH_TRY_NEW(mem, x->whole.n_ops, err, alive);
	BERTH_TRY_NEW(mem, decode->n_ops, err, x->alive_bytes, own);
	BERTH_TRY(find_alive(&x->whole, alive, mem, err));
	for (int32_t k = 0; k < x->whole.n_ops; k++) {
		int32_t twin = x->twin[x->whole.topo_op[k]];
		last = twin >= 0 ? twin : last;
		if (alive[k] > x->alive_bytes[last])
			x->alive_bytes[last] = alive[k];
	}
	decode->op_workspace_bytes = own;
	x->share = 1;
	for (int32_t op = 0; op < decode->n_ops; op++)
		own[op] = x->alive_bytes[op];
	return BERTH_OK;
}

bool berth_decoder_tighten(berth_decoder *x, berth_graph *decode)
{
	x->share *= 1.5;
	for (int32_t op = 0; op < decode->n_ops; op++)
		decode->op_workspace_bytes[op] = (int64_t)((double)x->alive_bytes[op] * x->share);
	return x->share < pow(1.5, MOST_TIGHTENINGS + 0.5);
}

/* Of a word that a reader has taken; 0 where it is no number, nor NULL for want of memory. */
static int64_t number_of(const char *spec, const char *key, const char *usual, berth_arena *mem)
{
	const char *text = berth_spec_get(spec, key, usual, mem);
	uint64_t x = 0;
	return text && berth_text_whole(text, strlen(text), INT64_MAX, &x) ? (int64_t)x : 0;
}

berth_status berth_decoder_lay_granularity(const berth_decoder_cfg *cfg, const berth_graph *g,
                                           berth_arena *mem, berth_arena *tmp, berth_graph *out,
                                           berth_err *err)
{
	const char *whole = berth_grain_name(BERTH_GRAIN_OP),
		   *name = cfg->granularity ? cfg->granularity : whole;
	berth_granularity blocks;
	*out = *g;
	if (cfg->max_cuts < 0 && strcmp(name, whole) == 0)
		return BERTH_OK;
	BERTH_TRY(berth_granularity_named(name, cfg->sandbox, g, mem, tmp, &blocks, err));
	return berth_granularity_apply(g, &blocks, cfg->max_cuts, mem, tmp, out, err);
}

berth_status berth_decoder_load(const berth_decoder_cfg *cfg, berth_decoder *x, berth_graph *decode,
                                berth_system *s, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	berth_read_report r;
	const char *token = berth_spec_set(x->spec, "mode", "decode", mem), *prefill;
	BERTH_TRY(berth_got(token, err));
	BERTH_TRY(cfg->load(cfg->ctx, token, false, decode, s, &r, err));
	/* Tokens and sequences: of the zoo in the spec, or its defaults; of a file as its reader says. */
	x->context = number_of(x->spec, "seq", "512", mem);
	x->batch = number_of(x->spec, "batch", "1", mem);
	for (int32_t i = 0; i < r.n_dims; i++) {
		if (strcmp(r.dim_name[i], "context") == 0)
			x->context = r.dim_value[i];
		if (strcmp(r.dim_name[i], "batch") == 0)
			x->batch = r.dim_value[i];
	}
	/* A prompt is read in chunks, as engines do; the last one is the largest. */
	const char *spec = berth_spec_set(x->spec, "mode", "prefill", mem), *none = "0";
	int64_t chunk = number_of(spec ? spec : none, "chunk", none, mem);
	x->chunk = chunk ? chunk : CHUNK;
	x->chunk = x->chunk < x->context ? x->chunk : x->context;
	if (spec && !chunk && x->chunk < x->context)
		spec = berth_arena_printf(mem, "%s:chunk=%d", spec, CHUNK);
	prefill = spec;
	BERTH_TRY(berth_got(spec, err));
	BERTH_TRY(cfg->load(cfg->ctx, prefill, true, &x->whole, &x->s, NULL, err));
	BERTH_TRY(berth_decoder_lay_granularity(cfg, &x->whole, mem, tmp, &x->g, err));
	BERTH_TRY(berth_problem_new(&x->g, &x->s, mem, tmp, &x->p, err));
	BERTH_TRY(berth_granularity_find(decode, BERTH_GRAIN_LAYER, mem, tmp, &x->layers, err));
	/* The twin of each operator of prefill. */
	berth_strmap names;
	BERTH_TRY_NEW(mem, x->whole.n_ops, err, x->twin);
	BERTH_TRY(berth_graph_names(decode, mem, &names, err));
	for (int32_t op = 0; op < x->whole.n_ops; op++)
		x->twin[op] = berth_strmap_get(&names, x->whole.op_name[op]);
	return hold_alive(x, decode, mem, err);
}

berth_status berth_decoder_mix(const berth_decoder *x, berth_problem *p, berth_arena *mem, berth_err *err)
{
	return berth_uses_mix(&x->uses, p, &x->p, x->twin, x->chunk, mem, err);
}

/* ---- the answer ---- */

/* An operator without a twin goes with its group, else with what it reads. */
static int32_t device_of(const berth_decoder *x, int32_t op)
{
	const berth_graph *g = x->p.g;
	int32_t coloc = x->p.op_coloc[op];
	BERTH_EACH (i, x->p.coloc_off, coloc)
		if (x->twin[x->p.coloc_op[i]] >= 0)
			return x->op_dev[x->p.coloc_op[i]];
	return g->op_in_off[op] < g->op_in_off[op + 1]
	               ? x->op_dev[g->tensor_producer[g->in_tensor[g->op_in_off[op]]]]
	               : 0;
}

berth_status berth_decoder_judge(berth_decoder *x, const berth_solution *r, berth_arena *mem, berth_err *err)
{
	BERTH_TRY_NEW(mem, x->whole.n_ops, err, x->op_dev);
	for (int32_t op = 0; op < x->whole.n_ops; op++)
		x->op_dev[op] = x->twin[op] >= 0 ? r->op_dev[x->twin[op]] : 0;
	for (int32_t k = 0; k < x->whole.n_ops; k++) {
		int32_t op = x->whole.topo_op[k];
		if (x->twin[op] < 0)
			x->op_dev[op] = device_of(x, op);
	}
	return berth_judge(&x->p, x->op_dev, NULL, NULL, mem, &x->t, &x->v, err);
}

void berth_decoder_solution(const berth_decoder *x, berth_problem *p, berth_solution *r)
{
	*p = x->p;
	p->g = &x->whole;
	r->p = p;
	r->op_dev = x->op_dev;
	r->op_order = p->s->order == BERTH_ORDER_GIVEN ? x->whole.topo_op : NULL;
}

const char *berth_decoder_objective(const berth_objective *o)
{
	const char *name = berth_objective_name(o);
	return strcmp(name, berth_metrics[BERTH_LATENCY].name) == 0 ? BERTH_USES_OBJECTIVE : name;
}

/* ---- layers ---- */

static double run_s(const berth_timeline *t, int32_t op)
{
	return t->r.runs ? (double)(t->end_ns[op] - t->start_ns[op]) * 1e-9 : 0;
}

static berth_status name_devices(const berth_problem *p, int32_t *ops, berth_arena *mem, const char **out,
                                 berth_err *err)
{
	const char *text = "";
	for (;;) {
		int32_t best = -1;
		for (int32_t d = 0; d < p->n_devs; d++)
			if (ops[d] > 0 && (best < 0 || ops[d] > ops[best]))
				best = d;
		if (best < 0)
			break;
		if (!(text = berth_arena_printf(mem, "%s%s%s", text, *text ? "+" : "", p->s->dev_name[best])))
			return berth_nomem(err);
		ops[best] = 0;
	}
	*out = text;
	return BERTH_OK;
}

berth_status berth_decoder_layers(const berth_decoder *x, const berth_problem *p, const berth_timeline *t,
                                  berth_arena *mem, berth_decoder_layer **out, berth_err *err)
{
	const berth_graph *g = p->g;
	int32_t *ops;
	berth_decoder_layer *list;
	BERTH_TRY_NEW(mem, x->layers.n_blocks, err, list);
	BERTH_TRY_NEW(mem, (size_t)x->layers.n_blocks * (size_t)p->n_devs, err, ops);
	for (int32_t op = 0; op < g->n_ops; op++) {
		berth_decoder_layer *l = &list[x->layers.op_block[op]];
		l->n_ops++;
		l->weight_bytes += (double)g->op_param_bytes[op];
		l->cache_bytes += (double)g->op_state_bytes[op];
		l->decode_s += run_s(t, op);
		BERTH_ROW(ops, x->layers.op_block[op], p->n_devs)[t->op_dev[op]]++;
	}
	for (int32_t op = 0, block = 0; op < x->whole.n_ops; op++) {
		block = x->twin[op] >= 0 ? x->layers.op_block[x->twin[op]] : block;
		list[block].prefill_s += run_s(&x->t, op);
	}
	for (int32_t i = 0; i < g->n_params; i++) /* a shared one counts where it is used first */
		if (g->param_op_off[i + 1] > g->param_op_off[i])
			list[x->layers.op_block[g->param_op[g->param_op_off[i]]]].weight_bytes +=
				(double)g->param_bytes[i];
	for (int32_t i = 0; i < x->layers.n_blocks; i++)
		BERTH_TRY(name_devices(p, BERTH_ROW(ops, i, p->n_devs), mem, &list[i].devices, err));
	*out = list;
	return BERTH_OK;
}
