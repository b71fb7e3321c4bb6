/* A language model that is placed for both of its uses: opened by the words of the command line, and what the
 * answer comes to, as text and as a member of the document. */
#include "place_decoder.h"

#include "file.h"
#include "gguf.h"
#include "graph_load.h"
#include "print.h"
#include "sandboxed.h"
#include "say.h"
#include "zoo.h"

static bool is_model(const char *spec, const char *name)
{
	size_t n = strlen(name);
	return berth_zoo_is_spec(spec) && strncmp(spec + 4, name, n) == 0 &&
	       (!spec[4 + n] || spec[4 + n] == ':');
}

static berth_status is_gguf(cli *c, const char *spec, bool *is, berth_err *err)
{
	const unsigned char *data;
	size_t size;
	bool there;
	const char *path = berth_graph_path(spec, &c->mem);
	*is = false;
	BERTH_TRY(berth_got(path, err));
	if (!berth_graph_is_file(spec) || berth_file_is_stream(path))
		return BERTH_OK;
	BERTH_TRY(berth_file_there(path, &there, err));
	if (!there)
		return BERTH_OK; /* whoever reads it tells, with a hint */
	BERTH_TRY(berth_file_map(BERTH_READS_MODEL, path, &data, &size, err));
	*is = data && berth_format_gguf.is((const char *)data, size);
	berth_file_unmap(data, size);
	return BERTH_OK;
}

berth_status place_decoder_words(cli *c, const char *spec, bool *gguf, const char **words, berth_err *err)
{
	*words = NULL;
	BERTH_TRY(is_gguf(c, spec, gguf, err));
	if (!*gguf && !is_model(spec, "moe") && !is_model(spec, "llama"))
		return BERTH_OK;
	for (int32_t i = 0; i < c->dim.n; i++)
		BERTH_TRY(berth_got(spec = berth_arena_printf(&c->mem, "%s:%s", spec, c->dim.text[i]), err));
	if (!c->training && strcmp(berth_spec_get(spec, "training", "0", &c->mem), "0") == 0)
		*words = spec;
	return BERTH_OK;
}

berth_status place_decoder_open(cli *c, const char **spec, place_decoder *x, berth_err *err)
{
	const char *words;
	BERTH_TRY(place_decoder_words(c, *spec, &x->d.gguf, &words, err));
	if (!words)
		return BERTH_OK;
	c->dim.n = 0; /* they stand in the spec now */
	x->on = !berth_spec_has(words, "mode");
	BERTH_TRY(berth_uses_parse(x->use, &x->d.uses, err));
	x->d.spec = *spec = words;
	return BERTH_OK;
}

berth_status place_decoder_note_reading(cli *c, const char *spec, berth_err *err)
{
	const char *words;
	bool gguf;
	BERTH_TRY(place_decoder_words(c, spec, &gguf, &words, err));
	if (!words || berth_spec_has(words, "mode"))
		return BERTH_OK;
	return cli_note(c, err, "%s: reading a prompt is looked at; with :mode=decode answering, as by place",
	                spec);
}

berth_status place_decoder_load_use(cli *c, const char *spec, const char *system, bool again, berth_graph *g,
                                    berth_system *s, berth_read_report *report, berth_err *err)
{
	bool quiet = c->quiet, strict = c->strict;
	c->quiet |= again;
	c->strict &= !again;
	berth_status st = cli_instance_load(c, spec, system, g, s, report, err);
	c->quiet = quiet;
	c->strict = strict;
	return st;
}

static berth_status load_use(void *ctx, const char *spec, bool again, berth_graph *g, berth_system *s,
                             berth_read_report *report, berth_err *err)
{
	const place_decoder *x = ctx;
	return place_decoder_load_use(x->c, spec, x->system, again, g, s, report, err);
}

berth_status place_decoder_load(cli *c, const char *system, const cli_granularity *granularity,
                                place_decoder *x, berth_graph *decode, berth_system *s, berth_err *err)
{
	x->c = c;
	x->system = system;
	x->cfg = (berth_decoder_cfg){
		.load = load_use,
		.ctx = x,
		.granularity = granularity->name,
		.sandbox = cli_sandbox(c),
		.max_cuts = granularity->max_cuts < INT32_MAX ? (int32_t)granularity->max_cuts : INT32_MAX};
	return berth_decoder_load(&x->cfg, &x->d, decode, s, &c->mem, &c->tmp, err);
}

berth_status place_decoder_mix(cli *c, place_decoder *x, berth_problem *p, berth_err *err)
{
	x->alone = *p;
	return x->on ? berth_decoder_mix(&x->d, p, &c->mem, err) : BERTH_OK;
}

berth_status place_decoder_judge(cli *c, place_decoder *x, const berth_solution *r, const berth_timeline *t,
                                 berth_err *err)
{
	berth_verdict v;
	x->t = *t;
	if (!r->answered || !(x->d.uses.read > 0))
		return BERTH_OK;
	return berth_judge(&x->alone, r->op_dev, r->op_order, NULL, &c->mem, &x->t, &v, err);
}

/* ---- output ---- */

static double tokens_per_s(const berth_timeline *t, int64_t tokens)
{
	return t->r.runs && t->r.latency_ns > 0 ? (double)tokens / ((double)t->r.latency_ns * 1e-9) : NAN;
}

void place_decoder_print_head(const berth_decoder *x, const berth_timeline *t, double period_s)
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
	uint64_t value;
	bool is = berth_text_whole(name + *stem, n - *stem, INT32_MAX, &value);
	*number = is ? (long)value : -1;
	return is;
}

/* Is layer b the next after a: one number more, on the same devices? */
static bool follows(const berth_decoder *x, const berth_decoder_layer *list, int32_t a, int32_t b)
{
	size_t stem_a, stem_b;
	long number_a, number_b;
	const char *name_a = x->layers.block_name[a], *name_b = x->layers.block_name[b];
	return split_name(name_a, &stem_a, &number_a) && split_name(name_b, &stem_b, &number_b) &&
	       stem_a == stem_b && memcmp(name_a, name_b, stem_a) == 0 && number_b == number_a + 1 &&
	       list[a].n_ops == list[b].n_ops && strcmp(list[a].devices, list[b].devices) == 0;
}

static void cell_row(cli_table *table, const berth_decoder *x, const berth_decoder_layer *list, int32_t first,
                     int32_t last)
{
	berth_decoder_layer sum = {0};
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
	cli_cell_text(table, list[first].devices);
	cli_cell_bytes(table, sum.weight_bytes > 0 ? sum.weight_bytes : NAN);
	cli_cell_bytes(table, sum.cache_bytes > 0 ? sum.cache_bytes : NAN);
	cli_cell_seconds(table, sum.decode_s);
	cli_cell_seconds(table, sum.prefill_s);
}

berth_status place_decoder_print_layers(cli *c, const berth_decoder *x, const berth_problem *p,
                                        const berth_timeline *t, berth_err *err)
{
	cli_table table;
	berth_decoder_layer *list;
	BERTH_TRY(berth_decoder_layers(x, p, t, &c->mem, &list, err));
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

#define LAYER(K, IF)                                                                                         \
	K(TEXT, "name", "", "", x->layers.block_name[i])                                                     \
	K(TEXT, "devices", "", "most operators first, with + between", layer[i].devices)                     \
	K(NUMBER, "weight_bytes", "bytes", "", layer[i].weight_bytes)                                        \
	K(NUMBER, "cache_bytes", "bytes", "keys and values", layer[i].cache_bytes)                           \
	K(NUMBER, "decode_s", "s", "how long its operators run", layer[i].decode_s)                          \
	K(NUMBER, "prefill_s", "s", "the same", layer[i].prefill_s)
static RESULT_KIND(layer_kind, "", "", LAYER);

#define DECODER(K, IF)                                                                                       \
	K(INT, "context", "tokens", "in the cache", x->context)                                              \
	K(INT, "batch", "", "sequences", x->batch)                                                           \
	K(INT, "chunk", "tokens", "of a prompt, read at once", x->chunk)                                     \
	K(NUMBER_OR_NULL, "decode_s", "s", "of a token of each sequence",                                    \
	  t->r.runs ? (double)t->r.latency_ns * 1e-9 : NAN)                                                  \
	K(NUMBER_OR_NULL, "decode_tokens_per_s", "tokens/s", "", tokens_per_s(t, x->batch))                  \
	K(NUMBER_OR_NULL, "prefill_s", "s", "of the last chunk",                                             \
	  x->t.r.runs ? (double)x->t.r.latency_ns * 1e-9 : NAN)                                              \
	K(NUMBER_OR_NULL, "prefill_tokens_per_s", "tokens/s", "", tokens_per_s(&x->t, x->batch * x->chunk))  \
	K(BOOL, "prefill_fits", "", "with the same placement", x->v.feasible)                                \
	K(LIST(layer_kind), "layers", "", "in program order", layers)
RESULT_KIND(decoder_kind, "", "", DECODER);

berth_status place_decoder_result(cli *c, const berth_decoder *x, const berth_problem *p,
                                  const berth_timeline *t, const berth_result **out, berth_err *err)
{
	berth_decoder_layer *layer;
	berth_result_list *layers = berth_result_list_new(&c->mem, &layer_kind);
	BERTH_TRY(berth_decoder_layers(x, p, t, &c->mem, &layer, err));
	for (int32_t i = 0; i < x->layers.n_blocks; i++)
		RESULT_ADD(layers, LAYER);
	*out = RESULT_NEW(&c->mem, decoder_kind, DECODER);
	return BERTH_OK;
}
