/* See place_decoder.h. */
#include "place_decoder.h"

#include "graph_load.h"
#include "print.h"
#include "say.h"
#include "text.h"
#include "zoo.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TIGHTENINGS = 4, CHUNK = 512 };

berth_status place_decoder_open(cli *c, const decoder_args *a, const char **spec, place_decoder *x,
                                berth_err *err)
{
	BERTH_TRY(decoder_words_read(c, a, *spec, &x->words, err));
	x->on = x->words.is && !x->words.mode;
	if (x->words.is) {
		c->dim.n = 0; /* they stand in the spec now */
		*spec = x->words.spec;
	}
	return BERTH_OK;
}

/* ---- both graphs ---- */

/* Silent: what is to be warned of was said of the other graph. */
static berth_status load_silently(cli *c, const char *spec, const char *system, berth_graph *g,
                                  berth_system *s, berth_err *err)
{
	bool quiet = c->quiet, strict = c->strict;
	c->quiet = true;
	c->strict = false;
	berth_status st = cli_instance_load(c, spec, system, g, s, NULL, err);
	c->quiet = quiet;
	c->strict = strict;
	return st;
}

/* The twin of each operator of prefill. */
static berth_status find_twins(cli *c, place_decoder *x, const berth_graph *decode, berth_err *err)
{
	berth_strmap names;
	int32_t found;
	BERTH_TRY(BERTH_NEW(&c->mem, x->twin, x->whole.n_ops, err));
	berth_strmap_init(&names, &c->mem);
	for (int32_t op = 0; op < decode->n_ops; op++)
		BERTH_TRY(berth_strmap_add(&names, decode->op_name[op], op, &found, err));
	for (int32_t op = 0; op < x->whole.n_ops; op++)
		x->twin[op] = berth_strmap_get(&names, x->whole.op_name[op]);
	return BERTH_OK;
}

/* Bytes of tensors and workspace that g holds while an operator runs, one after the other: alive [n_ops] by
 * place in topological order. */
static berth_status find_alive(cli *c, const berth_graph *g, int64_t *alive, berth_err *err)
{
	int64_t *ends, now = 0;
	BERTH_TRY(BERTH_NEW(&c->mem, ends, (size_t)g->n_ops + 1, err));
	for (int32_t k = 0; k < g->n_ops; k++) {
		int32_t op = g->topo_op[k];
		for (int32_t t = g->op_tensor_off[op]; t < g->op_tensor_off[op + 1]; t++) {
			int32_t last = k;
			for (int32_t e = g->tensor_use_off[t]; e < g->tensor_use_off[t + 1]; e++)
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

/* What prefill has alive at an operator, at its twin; of one without a twin, at the last twin in front of it.
 * */
static berth_status hold_alive(cli *c, place_decoder *x, berth_graph *decode, berth_err *err)
{
	int64_t *alive, *own;
	int32_t last = 0;
	BERTH_TRY(BERTH_NEW(&c->mem, alive, x->whole.n_ops, err));
	BERTH_TRY(BERTH_NEW(&c->mem, x->alive_bytes, decode->n_ops, err));
	BERTH_TRY(BERTH_NEW(&c->mem, own, decode->n_ops, err));
	BERTH_TRY(find_alive(c, &x->whole, alive, err));
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

bool place_decoder_tighten(place_decoder *x, berth_graph *decode)
{
	x->share *= 1.5;
	for (int32_t op = 0; op < decode->n_ops; op++)
		decode->op_workspace_bytes[op] = (int64_t)((double)x->alive_bytes[op] * x->share);
	return x->share < pow(1.5, MOST_TIGHTENINGS + 0.5);
}

/* Tokens and sequences: of the zoo in the spec, or its defaults; of a file as its reader says. */
static void read_sizes(cli *c, place_decoder *x, const berth_read_report *r)
{
	x->context = atoll(decoder_words_get(x->words.spec, "seq", "512", &c->mem));
	x->batch = atoll(decoder_words_get(x->words.spec, "batch", "1", &c->mem));
	for (int32_t i = 0; i < r->n_dims; i++) {
		if (strcmp(r->dim_name[i], "context") == 0)
			x->context = r->dim_value[i];
		if (strcmp(r->dim_name[i], "batch") == 0)
			x->batch = r->dim_value[i];
	}
}

/* A prompt is read in chunks, as engines do; the last one is the largest. */
static berth_status prefill_spec(cli *c, place_decoder *x, const char **out, berth_err *err)
{
	const char *spec = decoder_words_set(x->words.spec, "mode", "prefill", &c->mem), *none = "0";
	int64_t chunk = atoll(decoder_words_get(spec ? spec : none, "chunk", none, &c->mem));
	x->chunk = chunk ? chunk : CHUNK;
	x->chunk = x->chunk < x->context ? x->chunk : x->context;
	if (spec && !chunk && x->chunk < x->context)
		spec = berth_arena_printf(&c->mem, "%s:chunk=%d", spec, CHUNK);
	*out = spec;
	return spec ? BERTH_OK : berth_nomem(err);
}

berth_status place_decoder_load(cli *c, const char *system, const cli_granularity *granularity,
                                place_decoder *x, berth_graph *decode, berth_system *s, berth_err *err)
{
	berth_read_report r;
	const char *token = decoder_words_set(x->words.spec, "mode", "decode", &c->mem), *prefill;
	if (!token)
		return berth_nomem(err);
	BERTH_TRY(cli_instance_load(c, token, system, decode, s, &r, err));
	read_sizes(c, x, &r);
	BERTH_TRY(prefill_spec(c, x, &prefill, err));
	BERTH_TRY(load_silently(c, prefill, system, &x->whole, &x->s, err));
	x->g = x->whole;
	BERTH_TRY(cli_granularity_apply(c, granularity, &x->g, err));
	BERTH_TRY(berth_problem_new(&x->g, &x->s, &c->mem, &c->tmp, &x->p, err));
	BERTH_TRY(berth_granularity_find(decode, BERTH_GRAIN_LAYER, &c->mem, &c->tmp, &x->layers, err));
	BERTH_TRY(find_twins(c, x, decode, err));
	return hold_alive(c, x, decode, err);
}

/* ---- the answer ---- */

/* An operator without a twin goes with its group, else with what it reads. */
static int32_t device_of(const place_decoder *x, int32_t op)
{
	const berth_graph *g = x->p.g;
	int32_t coloc = x->p.op_coloc[op];
	for (int32_t i = x->p.coloc_off[coloc]; i < x->p.coloc_off[coloc + 1]; i++)
		if (x->twin[x->p.coloc_op[i]] >= 0)
			return x->op_dev[x->p.coloc_op[i]];
	return g->op_in_off[op] < g->op_in_off[op + 1]
	               ? x->op_dev[g->tensor_producer[g->in_tensor[g->op_in_off[op]]]]
	               : 0;
}

berth_status place_decoder_judge(cli *c, place_decoder *x, const berth_solution *r, berth_err *err)
{
	BERTH_TRY(BERTH_NEW(&c->mem, x->op_dev, x->whole.n_ops, err));
	for (int32_t op = 0; op < x->whole.n_ops; op++)
		x->op_dev[op] = x->twin[op] >= 0 ? r->op_dev[x->twin[op]] : 0;
	for (int32_t k = 0; k < x->whole.n_ops; k++) {
		int32_t op = x->whole.topo_op[k];
		if (x->twin[op] < 0)
			x->op_dev[op] = device_of(x, op);
	}
	return berth_judge(&x->p, x->op_dev, NULL, NULL, &c->mem, &x->t, &x->v, err);
}

void place_decoder_solution(const place_decoder *x, berth_problem *p, berth_solution *r)
{
	*p = x->p;
	p->g = &x->whole;
	r->p = p;
	r->objective = berth_objective_of(BERTH_LATENCY);
	r->op_dev = x->op_dev;
	r->op_order = p->s->order == BERTH_ORDER_GIVEN ? x->whole.topo_op : NULL;
	r->value = x->v.value;
	r->lower_bound = NAN;
}

/* ---- layers ---- */

typedef struct layer {
	double weight_bytes, cache_bytes, decode_s, prefill_s;
	int32_t n_ops;
	const char *devices; /* those that hold operators, most operators first, with + between */
} layer;

static double run_s(const berth_timeline *t, int32_t op)
{
	return t->r.runs ? (double)(t->end_ns[op] - t->start_ns[op]) * 1e-9 : 0;
}

static berth_status name_devices(cli *c, const berth_problem *p, int32_t *ops, const char **out,
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
		if (!(text = berth_arena_printf(&c->mem, "%s%s%s", text, *text ? "+" : "",
		                                p->s->dev_name[best])))
			return berth_nomem(err);
		ops[best] = 0;
	}
	*out = text;
	return BERTH_OK;
}

/* Sums over the operators of each layer: [x->layers.n_blocks]. */
static berth_status sum_up(cli *c, const place_decoder *x, const berth_problem *p, const berth_timeline *t,
                           layer **out, berth_err *err)
{
	const berth_graph *g = p->g;
	int32_t *ops;
	layer *list;
	BERTH_TRY(BERTH_NEW(&c->mem, list, x->layers.n_blocks, err));
	BERTH_TRY(BERTH_NEW(&c->mem, ops, (size_t)x->layers.n_blocks * (size_t)p->n_devs, err));
	for (int32_t op = 0; op < g->n_ops; op++) {
		layer *l = &list[x->layers.op_block[op]];
		l->n_ops++;
		l->weight_bytes += (double)g->op_param_bytes[op];
		l->cache_bytes += (double)g->op_state_bytes[op];
		l->decode_s += run_s(t, op);
		ops[(size_t)x->layers.op_block[op] * (size_t)p->n_devs + (size_t)t->op_dev[op]]++;
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
		BERTH_TRY(name_devices(c, p, ops + (size_t)i * (size_t)p->n_devs, &list[i].devices, err));
	*out = list;
	return BERTH_OK;
}

/* ---- output ---- */

static double tokens_per_s(const berth_timeline *t, int64_t tokens)
{
	return t->r.runs && t->r.latency_ns > 0 ? (double)tokens / ((double)t->r.latency_ns * 1e-9) : NAN;
}

void place_decoder_print_head(const place_decoder *x, const berth_timeline *t, double period_s)
{
	char rate[32], time[32];
	cli_say("decode:  %s tokens/s, %s a token at context %lld, batch %lld\n",
	        berth_text_count(rate, tokens_per_s(t, x->batch)),
	        berth_text_seconds(time, (double)t->r.latency_ns * 1e-9), (long long)x->context,
	        (long long)x->batch);
	if (period_s > 0)
		cli_say("         %s tokens/s of all sequences in flight\n",
		        berth_text_count(rate, (double)x->batch / period_s));
	if (x->t.r.runs)
		cli_say("prefill: %s tokens/s, %s for %s%lld tokens%s\n",
		        berth_text_count(rate, tokens_per_s(&x->t, x->batch * x->chunk)),
		        berth_text_seconds(time, (double)x->t.r.latency_ns * 1e-9),
		        x->chunk < x->context ? "the last " : "", (long long)x->chunk,
		        x->v.feasible ? "" : ", which does not fit");
}

/* "layers." and 3 of "layers.3": does the name end in a number? */
static bool split_name(const char *name, size_t *stem, long *number)
{
	size_t n = strlen(name);
	*stem = n;
	while (*stem > 0 && name[*stem - 1] >= '0' && name[*stem - 1] <= '9')
		--*stem;
	*number = *stem < n && n - *stem < 9 ? strtol(name + *stem, NULL, 10) : -1;
	return *number >= 0;
}

/* Is layer b the next after a: one number more, on the same devices? */
static bool follows(const place_decoder *x, const layer *list, int32_t a, int32_t b)
{
	size_t stem_a, stem_b;
	long number_a, number_b;
	const char *name_a = x->layers.block_name[a], *name_b = x->layers.block_name[b];
	return split_name(name_a, &stem_a, &number_a) && split_name(name_b, &stem_b, &number_b) &&
	       stem_a == stem_b && memcmp(name_a, name_b, stem_a) == 0 && number_b == number_a + 1 &&
	       list[a].n_ops == list[b].n_ops && strcmp(list[a].devices, list[b].devices) == 0;
}

static void cell_row(cli_table *table, const place_decoder *x, const layer *list, int32_t first, int32_t last)
{
	layer sum = {0};
	char a[32];
	size_t stem;
	long number;
	for (int32_t i = first; i <= last; i++) {
		sum.weight_bytes += list[i].weight_bytes;
		sum.cache_bytes += list[i].cache_bytes;
		sum.decode_s += list[i].decode_s;
		sum.prefill_s += list[i].prefill_s;
	}
	split_name(x->layers.block_name[last], &stem, &number);
	cli_cell(table, "%s%s%s", x->layers.block_name[first], last > first ? "-" : "",
	         last > first ? x->layers.block_name[last] + stem : "");
	cli_cell(table, "%s", list[first].devices);
	cli_cell(table, "%s", sum.weight_bytes > 0 ? berth_text_bytes(a, sum.weight_bytes) : "-");
	cli_cell(table, "%s", sum.cache_bytes > 0 ? berth_text_bytes(a, sum.cache_bytes) : "-");
	cli_cell(table, "%s", berth_text_seconds(a, sum.decode_s));
	cli_cell(table, "%s", berth_text_seconds(a, sum.prefill_s));
}

berth_status place_decoder_print_layers(cli *c, const place_decoder *x, const berth_problem *p,
                                        const berth_timeline *t, berth_err *err)
{
	cli_table table;
	layer *list;
	BERTH_TRY(sum_up(c, x, p, t, &list, err));
	cli_table_init(&table, &c->mem, "llrrrr");
	cli_table_head(&table, "layers|device|weights|KV cache|decode|prefill");
	for (int32_t first = 0, last; first < x->layers.n_blocks; first = last + 1) {
		last = first;
		while (last + 1 < x->layers.n_blocks && follows(x, list, last, last + 1))
			last++;
		cell_row(&table, x, list, first, last);
	}
	return cli_table_print(&table, CLI_AS_TEXT, err);
}

berth_status place_decoder_put(cli *c, berth_json_out *w, const place_decoder *x, const berth_problem *p,
                               const berth_timeline *t, berth_err *err)
{
	layer *list;
	BERTH_TRY(sum_up(c, x, p, t, &list, err));
	berth_json_open(w, "decoder", '{');
	berth_json_put_int(w, "context", x->context);
	berth_json_put_int(w, "batch", x->batch);
	berth_json_put_int(w, "chunk", x->chunk);
	berth_json_put_number(w, "decode_s", t->r.runs ? (double)t->r.latency_ns * 1e-9 : NAN);
	berth_json_put_number(w, "decode_tokens_per_s", tokens_per_s(t, x->batch));
	berth_json_put_number(w, "prefill_s", x->t.r.runs ? (double)x->t.r.latency_ns * 1e-9 : NAN);
	berth_json_put_number(w, "prefill_tokens_per_s", tokens_per_s(&x->t, x->batch * x->chunk));
	berth_json_put_bool(w, "prefill_fits", x->v.feasible);
	berth_json_open(w, "layers", '[');
	for (int32_t i = 0; i < x->layers.n_blocks; i++) {
		berth_json_open(w, NULL, '{');
		berth_json_put_string(w, "name", x->layers.block_name[i]);
		berth_json_put_string(w, "devices", list[i].devices);
		berth_json_put_number(w, "weight_bytes", list[i].weight_bytes);
		berth_json_put_number(w, "cache_bytes", list[i].cache_bytes);
		berth_json_put_number(w, "decode_s", list[i].decode_s);
		berth_json_put_number(w, "prefill_s", list[i].prefill_s);
		berth_json_close(w, '}');
	}
	berth_json_close(w, ']');
	berth_json_close(w, '}');
	return BERTH_OK;
}
