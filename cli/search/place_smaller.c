/* What would let a language model fit, looked for without a word (decoder_smaller.h), and told in the words
 * of the command line. */
#include "place_smaller.h"

#include "graph_load.h"
#include "say.h"
#include "text.h"

/* Silent, and nothing is noted: the trial's memory is given back. */
static berth_status load_trial(void *ctx, const char *spec, bool again, berth_graph *g, berth_system *s,
                               berth_read_report *report, berth_err *err)
{
	const place_decoder *x = ctx;
	cli *c = x->c;
	cli_texts warned = c->warned, noted = c->noted, called = c->called;
	bool quiet = c->quiet, strict = c->strict;
	(void)again;
	c->quiet = true;
	c->strict = false;
	berth_status st = cli_instance_load(c, spec, x->system, g, s, report, err);
	c->quiet = quiet;
	c->strict = strict;
	c->warned = warned;
	c->noted = noted;
	c->called = called;
	return st;
}

/* "context=6144", "weights=q4_k and cache=q8_0". */
static berth_status name_change(const berth_smaller_change *x, bool gguf, berth_arena *mem, const char **out,
                                berth_err *err)
{
	berth_strbuf b = {.mem = mem};
	size_t len;
	if (x->granularity)
		berth_strbuf_printf(&b, "--granularity %s, with %s of %d layer%s on %s", x->granularity,
		                    x->experts ? "experts" : "parts", (int)x->layers,
		                    x->layers == 1 ? "" : "s", x->device);
	if (x->weights)
		berth_strbuf_printf(&b, "weights=%s", x->weights);
	if (x->weights && (x->cache || x->context))
		berth_strbuf_printf(&b, " and ");
	if (x->cache)
		berth_strbuf_printf(&b, "cache=%s", x->cache);
	if (x->context)
		berth_strbuf_printf(&b, "%s=%lld", berth_decoder_context_word(gguf), (long long)x->context);
	if (x->batch)
		berth_strbuf_printf(&b, "batch=%lld", (long long)x->batch);
	return berth_strbuf_done(&b, out, &len, err);
}

berth_status place_smaller_find(cli *c, place_decoder *x, const berth_search_cfg *cfg,
                                const berth_patience *until, place_smaller *out, berth_err *err)
{
	berth_decoder_cfg how = x->cfg;
	how.load = load_trial;
	BERTH_TRY(berth_smaller_find(&x->d, &how, cfg, until, &c->mem, &c->tmp, &out->found, err));
	for (int32_t i = 0; i < out->found.n; i++)
		BERTH_TRY(name_change(&out->found.item[i], x->d.gguf, &c->mem, &out->text[i], err));
	return BERTH_OK;
}

void place_smaller_print(const place_smaller *s)
{
	if (s->found.n)
		cli_say("the model would fit with%s\n", s->found.n > 1 ? " any one of" : "");
	for (int32_t i = 0; i < s->found.n; i++)
		cli_say("  %s\n", s->text[i]);
	if (s->found.cut_short)
		cli_say("smaller models were not all tried: the time was over\n");
}

#define SMALLER(K, IF) \
	K(TEXT, "kind", "", "`context`, `cache`, `weights`, `batch`, `granularity` or `together`", \
	  s->found.item[i].kind) \
	K(TEXT, "text", "", "as a word of the model, or an option", s->text[i])
RESULT_KIND(smaller_kind, "", "", SMALLER);

const berth_result_list *place_smaller_list(cli *c, const place_smaller *s)
{
	berth_result_list *all = berth_result_list_new(&c->mem, &smaller_kind);
	for (int32_t i = 0; i < s->found.n; i++)
		RESULT_ADD(all, SMALLER);
	return all;
}
