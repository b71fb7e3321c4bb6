/* Adds pins, forbidden devices and colocation from the command line to a graph. Names may be patterns; what
 * names nothing is an error. */
#include "constraints.h"

#include <fnmatch.h>

typedef struct adder {
	const berth_system *s;
	berth_arena *mem, *tmp;
	berth_graph g;   /* as it will be */
	bool *hit;       /* [n_ops] operators of the text at hand */
	berth_err *err;
} adder;

/* ---- operators of a text ---- */

/* The operator whose name is nearest, up to where the pattern stops being plain. */
static berth_status fail_pattern(adder *a, const char *option, const char *pattern)
{
	size_t n = strcspn(pattern, "*?[\\"), most = pattern[n] ? n : SIZE_MAX;
	const char **start, *near, *name = NULL, *plain = berth_arena_strndup(a->tmp, pattern, n);
	BERTH_TRY_NEW(a->tmp, a->g.n_ops, a->err, start);
	for (int32_t op = 0; op < a->g.n_ops; op++)
		if (!(start[op] =
		              berth_arena_strndup(a->tmp, a->g.op_name[op], strnlen(a->g.op_name[op], most))))
			return berth_nomem(a->err);
	BERTH_TRY(berth_got(plain, a->err));
	near = berth_text_nearest(plain, start, a->g.n_ops);
	for (int32_t op = a->g.n_ops - 1; near && op >= 0; op--)
		if (strcmp(start[op], near) == 0)
			name = a->g.op_name[op];
	return berth_fail(a->err, BERTH_EINVAL, "option --%s: graph '%.60s' has no operator '%.80s'%s%.80s%s",
	                  option, a->g.name, pattern, name ? " (the nearest is '" : "; 'berth show",
	                  name ? name : "", name ? "')" : " GRAPH --granularity op' lists them");
}

static berth_status match(adder *a, const char *option, const char *pattern)
{
	int32_t op = berth_graph_find(&a->g, pattern), n = op >= 0;
	if (op >= 0)
		a->hit[op] = true;
	for (int32_t i = 0; op < 0 && i < a->g.n_ops; i++)
		if (fnmatch(pattern, a->g.op_name[i], 0) == 0) {
			a->hit[i] = true;
			n++;
		}
	return n ? BERTH_OK : fail_pattern(a, option, pattern);
}

/* Mark the operators of OPS, whose names may hold commas. *n = how many. */
static berth_status match_all(adder *a, const char *option, char *ops, int32_t *n)
{
	bool whole = berth_graph_find(&a->g, ops) >= 0;
	BERTH_CLEAR(a->hit, a->g.n_ops);
	for (char *word = ops, *end; word; word = end) {
		end = whole ? NULL : strchr(word, ',');
		if (end)
			*end++ = '\0';
		BERTH_TRY(match(a, option, word));
	}
	*n = 0;
	for (int32_t op = 0; op < a->g.n_ops; op++)
		*n += a->hit[op];
	return BERTH_OK;
}

/* The text without its device, which stands behind the last equals sign. */
static berth_status split(adder *a, const char *option, const char *text, char **ops, int32_t *dev)
{
	char hint[160], *equals;
	*ops = berth_arena_strdup(a->tmp, text);
	BERTH_TRY(berth_got(*ops, a->err));
	equals = strrchr(*ops, '=');
	if (!equals || equals == *ops || !equals[1])
		return berth_fail(a->err, BERTH_EINVAL, "option --%s: '%.80s' is not of the form OP=DEVICE",
		                  option, text);
	*equals = '\0';
	*dev = berth_system_find_dev(a->s, equals + 1);
	return *dev >= 0 ? BERTH_OK
	                 : berth_fail(a->err, BERTH_EINVAL,
	                              "option --%s: system '%.60s' has no device '%.60s'%s", option,
	                              a->s->name, equals + 1,
	                              berth_text_suggest(hint, sizeof hint, equals + 1, a->s->dev_name,
	                                                 a->s->n_devs));
}

/* ---- the rules ---- */

/* The narrowest so far of each operator: its number of operators, and which it is (-1: the graph's own). */
typedef struct narrowest {
	int32_t *n, *by;
	int32_t *lost; /* [n_pins + 1] operators of a pin that go elsewhere; [0]: of the graph's own */
} narrowest;

static berth_status pin(adder *a, const char *text, int32_t at, narrowest *x)
{
	char *ops;
	int32_t dev, n;
	BERTH_TRY(split(a, "pin", text, &ops, &dev));
	BERTH_TRY(match_all(a, "pin", ops, &n));
	for (int32_t op = 0; op < a->g.n_ops; op++) {
		const char *old = a->g.op_pin[op];
		bool holds = a->hit[op] && (!old || n <= x->n[op]);
		if (a->hit[op] && old && strcmp(old, a->s->dev_name[dev]) != 0)
			x->lost[holds ? x->by[op] + 1 : at + 1]++;
		if (!holds)
			continue;
		a->g.op_pin[op] = a->s->dev_name[dev];
		x->n[op] = n;
		x->by[op] = at;
	}
	return BERTH_OK;
}

static bool forbids(const berth_graph *g, int32_t op, const char *dev)
{
	BERTH_EACH (i, g->op_forbid_off, op)
		if (strcmp(g->forbid_dev[i], dev) == 0)
			return true;
	return false;
}

/* The table of forbidden devices with one more of each operator that was hit, names ascending. */
static berth_status forbid(adder *a, const char *text)
{
	char *ops;
	const char **list;
	int32_t dev, n, *off, at = 0;
	berth_graph *g = &a->g;
	BERTH_TRY(split(a, "forbid", text, &ops, &dev));
	BERTH_TRY(match_all(a, "forbid", ops, &n));
	const char *name = a->s->dev_name[dev];
	BERTH_TRY_NEW(a->mem, g->n_ops + 1, a->err, off);
	BERTH_TRY_NEW(a->mem, g->n_forbids + n, a->err, list);
	for (int32_t op = 0; op < g->n_ops; op++) {
		bool add = a->hit[op] && !forbids(g, op, name);
		BERTH_EACH (i, g->op_forbid_off, op) {
			if (add && strcmp(g->forbid_dev[i], name) > 0) {
				list[at++] = name;
				add = false;
			}
			list[at++] = g->forbid_dev[i];
		}
		if (add)
			list[at++] = name;
		off[op + 1] = at;
	}
	g->op_forbid_off = off;
	g->forbid_dev = list;
	g->n_forbids = at;
	return BERTH_OK;
}

/* Group numbers in order of first use, without those that no operator has any more. */
static berth_status renumber(adder *a)
{
	berth_graph *g = &a->g;
	const char **name;
	int32_t *as, n = 0;
	BERTH_TRY_NEW(a->tmp, g->n_coloc_names, a->err, as);
	BERTH_TRY_NEW(a->mem, g->n_coloc_names, a->err, name);
	for (int32_t op = 0; op < g->n_ops; op++) {
		int32_t old = g->op_coloc_name[op];
		if (old >= 0 && !as[old]) {
			name[n] = g->coloc_name[old];
			as[old] = ++n;
		}
		g->op_coloc_name[op] = old >= 0 ? as[old] - 1 : -1;
	}
	g->coloc_name = name;
	g->n_coloc_names = n;
	return BERTH_OK;
}

/* A new group; groups of which one operator was hit go into it whole. */
static berth_status colocate(adder *a, const char *text)
{
	berth_graph *g = &a->g;
	const char **name;
	char *ops = berth_arena_strdup(a->tmp, text);
	bool *joins;
	int32_t n, now = g->n_coloc_names;
	BERTH_TRY(berth_got(ops, a->err));
	BERTH_TRY(match_all(a, "colocate", ops, &n));
	if (n < 2)
		return berth_fail(a->err, BERTH_EINVAL,
		                  "option --colocate: '%.80s' is one operator; name others behind commas",
		                  text);
	BERTH_TRY_NEW(a->tmp, now, a->err, joins);
	BERTH_TRY_NEW(a->mem, now + 1, a->err, name);
	for (int32_t i = 0; i < now; i++)
		name[i] = g->coloc_name[i];
	/* A name that no group has: the text, with primes where it must differ. */
	name[now] = text;
	for (int32_t i = 0; i < g->n_coloc_names && name[now];)
		if (strcmp(g->coloc_name[i], name[now]) == 0) {
			name[now] = berth_arena_printf(a->mem, "%s'", name[now]);
			i = 0;
		} else {
			i++;
		}
	BERTH_TRY(name[now] ? BERTH_OK : berth_nomem(a->err));
	for (int32_t op = 0; op < g->n_ops; op++)
		if (a->hit[op] && g->op_coloc_name[op] >= 0)
			joins[g->op_coloc_name[op]] = true;
	for (int32_t op = 0; op < g->n_ops; op++)
		if (a->hit[op] || (g->op_coloc_name[op] >= 0 && joins[g->op_coloc_name[op]]))
			g->op_coloc_name[op] = now;
	g->coloc_name = name;
	g->n_coloc_names = now + 1;
	return renumber(a);
}

/* ---- all of it ---- */

static berth_status add(adder *a, const berth_rule_texts *r, const berth_graph *from)
{
	berth_graph *g = &a->g;
	size_t n = (size_t)g->n_ops;
	BERTH_TRY_NEW(a->tmp, n, a->err, a->hit);
	BERTH_TRY_NEW(a->mem, n, a->err, g->op_pin, g->op_coloc_name);
	BERTH_COPY(g->op_pin, from->op_pin, n);
	BERTH_COPY(g->op_coloc_name, from->op_coloc_name, n);
	narrowest x;
	BERTH_TRY_NEW(a->tmp, a->g.n_ops, a->err, x.n, x.by);
	BERTH_TRY_NEW(a->tmp, r->n_pins + 1, a->err, x.lost);
	for (int32_t op = 0; op < a->g.n_ops; op++) {
		x.n[op] = INT32_MAX;
		x.by[op] = -1;
	}
	for (int32_t i = 0; i < r->n_pins; i++)
		BERTH_TRY(pin(a, r->pin[i], i, &x));
	for (int32_t i = 0; i <= r->n_pins && r->told; i++)
		if (x.lost[i])
			berth_strbuf_printf(
				r->told, "%s%.80s: %d operator%s go%s where a narrower or later --pin says\n",
				i ? "--pin " : "pins of ", i ? r->pin[i - 1] : a->g.name, (int)x.lost[i],
				x.lost[i] == 1 ? "" : "s", x.lost[i] == 1 ? "es" : "");
	for (int32_t i = 0; i < r->n_forbids; i++)
		BERTH_TRY(forbid(a, r->forbid[i]));
	for (int32_t i = 0; i < r->n_colocates; i++)
		BERTH_TRY(colocate(a, r->colocate[i]));
	return BERTH_OK;
}

static berth_status keep_plain(const berth_graph *g, berth_arena *mem, const berth_graph **out,
                               berth_err *err)
{
	berth_graph *plain;
	*out = g->plain;
	if (*out)
		return BERTH_OK;
	BERTH_TRY_NEW(mem, 1, err, plain);
	*plain = *g;
	*out = plain;
	return BERTH_OK;
}

berth_status berth_graph_add_rules(const berth_rule_texts *rules, const berth_system *s, berth_arena *mem,
                                   berth_arena *tmp, berth_graph *g, berth_err *err)
{
	adder a = {.s = s, .mem = mem, .tmp = tmp, .g = *g, .err = err};
	if (!rules->n_pins && !rules->n_forbids && !rules->n_colocates)
		return BERTH_OK;
	BERTH_TRY(keep_plain(g, mem, &a.g.plain, err));
	BERTH_SCRATCH(tmp);
	BERTH_TRY(add(&a, rules, g));
	berth_graph_must_hold(&a.g);
	*g = a.g;
	return BERTH_OK;
}
