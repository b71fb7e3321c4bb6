/* Reads what --granularity says, finds the blocks that it names in a graph, and puts them and the limit of
 * cuts into words. */
#include "cli_granularity.h"

#include "engine_rules.h"
#include "print.h"
#include "sandboxed.h"
#include "say.h"

cli_granularity cli_granularity_default(void)
{
	return (cli_granularity){.max_cuts = -1};
}

static bool is_grain(const char *name, berth_grain *grain)
{
	for (*grain = BERTH_GRAIN_OP; *grain < BERTH_N_GRAINS; ++*grain)
		if (strcmp(name, berth_grain_name(*grain)) == 0)
			return true;
	return false;
}

berth_status cli_granularity_open(cli *c, cli_granularity *x, berth_err *err)
{
	static const char word[] = ":max-cuts=";
	const berth_engine_rules *engine = NULL;
	if (c->engine)
		BERTH_TRY(berth_rules_find(c->engine, &engine, err));
	if (!x->name && engine)
		x->name = engine->grain;
	const char *at = x->name ? strstr(x->name, word) : NULL, *end;
	if (!at)
		return BERTH_OK;
	double n = berth_text_number(at + sizeof word - 1, &end);
	if (*end || !(n >= 0 && n <= INT32_MAX && n == (double)(int64_t)n))
		return berth_fail(err, BERTH_EINVAL,
		                  "option --granularity: '%.60s' is not :max-cuts= and a whole number "
		                  "from 0 on",
		                  at);
	x->max_cuts = (int64_t)n;
	x->name = berth_arena_strndup(&c->mem, x->name, (size_t)(at - x->name));
	return berth_got(x->name, err);
}

bool cli_granularity_binds(const cli_granularity *x)
{
	return x->max_cuts >= 0 || (x->name && strcmp(x->name, berth_grain_name(BERTH_GRAIN_OP)) != 0);
}

berth_status cli_granularity_blocks(cli *c, const cli_granularity *x, const berth_graph *g,
                                    berth_granularity *out, berth_err *err)
{
	const char *name = x->name ? x->name : berth_grain_name(BERTH_GRAIN_OP);
	return berth_granularity_named(name, cli_sandbox(c), g, &c->mem, &c->tmp, out, err);
}

berth_status cli_granularity_apply(cli *c, const cli_granularity *x, berth_graph *g, berth_err *err)
{
	berth_granularity blocks;
	if (!cli_granularity_binds(x))
		return BERTH_OK;
	BERTH_TRY(cli_granularity_blocks(c, x, g, &blocks, err));
	return berth_granularity_apply(g, &blocks, (int32_t)x->max_cuts, &c->mem, &c->tmp, g, err);
}

/* "layer granularity", "at most 2 cuts", or both, in buf. */
static const char *granularity_text(const cli_granularity *x, char *buf, size_t size)
{
	berth_grain grain = BERTH_GRAIN_OP;
	const char *name =
		x->name && (!is_grain(x->name, &grain) || grain != BERTH_GRAIN_OP) ? x->name : NULL;
	bool file = name && grain >= BERTH_N_GRAINS;
	int n = snprintf(buf, size, "%s%s%s", name && file ? "the granularity of " : "", name ? name : "",
	                 name && !file ? " granularity" : "");
	if (x->max_cuts >= 0 && n >= 0 && (size_t)n < size)
		snprintf(buf + n, size - (size_t)n, "%sat most %lld cut%s", name ? " and " : "",
		         (long long)x->max_cuts, x->max_cuts == 1 ? "" : "s");
	return buf;
}

/* ---- what a granularity and a limit of cuts cost ---- */

void place_price_print(const cli_granularity *x, const berth_finer *price, const berth_solution *r)
{
	char text[160], value[32], percent[32];
	if (!price->known)
		return;
	granularity_text(x, text, sizeof text);
	cli_value(value, &r->objective, price->value);
	if (price->cost > 0)
		cli_say("%s cost%s %s against single operators (%s)\n", text, x->max_cuts >= 0 ? "" : "s",
		        cli_percent(percent, price->cost), value);
	else if (r->feasible && !isnan(price->value))
		cli_say("%s cost%s nothing: single operators come to %s with the same budget\n", text,
		        x->max_cuts >= 0 ? "" : "s", value);
	else if (r->feasible)
		cli_say("single operators come to nothing that fits with the same budget\n");
	else if (!isnan(price->value))
		cli_say("without %s there is a placement: %s\n", text, value);
}

#define PRICE(K, IF) \
	K(TEXT, "name", "", "`op`, `block`, `layer`, `kernel` or the file", \
	  x->name ? x->name : berth_grain_name(BERTH_GRAIN_OP)) \
	IF(x->max_cuts >= 0, INT, "max_cuts", "", "only with `:max-cuts=N`", x->max_cuts) \
	IF(x->max_cuts >= 0, INT, "cuts", "", "the same: those of the answer; -1: there is none", \
	  price->cuts) \
	K(NUMBER_OR_NULL, "finer_value", "of the objective", "of single operators; null: nothing fits", \
	  price->value) \
	K(NUMBER_OR_NULL, "cost", "share", \
	  "value / finer_value - 1, at least 0; null: one of them is missing", \
	  price->cost)
RESULT_KIND(price_kind, "", "", PRICE);

const berth_result *place_price_result(cli *c, const cli_granularity *x, const berth_finer *price)
{
	return price->known ? RESULT_NEW(&c->mem, price_kind, PRICE) : NULL;
}
