/* Ideals of the dynamic program; see dp_ideals.h. */
#include "dp_ideals.h"

#include <string.h>

enum { MOST_IDEALS = 100000, MOST_NODES = 8192, WORD = 64 };

static bool has(const uint64_t *set, int32_t v)
{
	return set[v / WORD] >> (v % WORD) & 1;
}

static bool holds_all(const uint64_t *set, const int32_t *list, int32_t n)
{
	for (int32_t i = 0; i < n; i++)
		if (!has(set, list[i]))
			return false;
	return true;
}

static bool holds_none(const uint64_t *set, const int32_t *list, int32_t n)
{
	for (int32_t i = 0; i < n; i++)
		if (has(set, list[i]))
			return false;
	return true;
}

typedef struct table {
	int32_t *slot; /* [cap] ideal + 1; 0: free */
	size_t cap;
} table;

static uint64_t hash_of(const uint64_t *set, int32_t words)
{
	uint64_t h = UINT64_C(0x9e3779b97f4a7c15);
	for (int32_t i = 0; i < words; i++) {
		h = (h ^ set[i]) * UINT64_C(0xff51afd7ed558ccd);
		h ^= h >> 32;
	}
	return h;
}

static uint64_t *ideal(const dp_ideals *d, int32_t i)
{
	return d->bits + (size_t)i * (size_t)d->words;
}

/* The ideal equal to set, or where to put it. */
static int32_t *find(const dp_ideals *d, const table *t, const uint64_t *set)
{
	size_t at = hash_of(set, d->words) & (t->cap - 1);
	while (t->slot[at] && memcmp(ideal(d, t->slot[at] - 1), set, (size_t)d->words * sizeof *set) != 0)
		at = (at + 1) & (t->cap - 1);
	return &t->slot[at];
}

/* All ideals by breadth, so smaller ones come first. False: there are more than MOST_IDEALS. */
static bool list_ideals(dp_ideals *d, const dp_nodes *x, const table *t, uint64_t *set)
{
	d->n = 1;
	memset(d->bits, 0, (size_t)d->words * sizeof *d->bits);
	*find(d, t, d->bits) = 1;
	for (int32_t i = 0; i < d->n; i++)
		for (int32_t v = 0; v < x->n; v++) {
			if (has(ideal(d, i), v) || !holds_all(ideal(d, i), x->pred + x->pred_off[v],
			                                      x->pred_off[v + 1] - x->pred_off[v]))
				continue;
			memcpy(set, ideal(d, i), (size_t)d->words * sizeof *set);
			set[v / WORD] |= UINT64_C(1) << (v % WORD);
			int32_t *slot = find(d, t, set);
			if (*slot)
				continue;
			if (d->n == MOST_IDEALS)
				return false;
			memcpy(ideal(d, d->n), set, (size_t)d->words * sizeof *set);
			*slot = ++d->n;
		}
	return true;
}

/* Is v one of the last nodes of the set: none of its consumers is in it? */
static bool is_last(const dp_nodes *x, const uint64_t *set, int32_t v)
{
	return has(set, v) && holds_none(set, x->succ + x->succ_off[v], x->succ_off[v + 1] - x->succ_off[v]);
}

static berth_status link_ideals(dp_ideals *d, const dp_nodes *x, const table *t, uint64_t *set,
                                berth_arena *mem, berth_err *err)
{
	int32_t n = 0;
	BERTH_TRY(BERTH_NEW(mem, d->down_off, (size_t)d->n + 1, err));
	for (int32_t i = 0; i < d->n; i++) {
		for (int32_t v = 0; v < x->n; v++)
			n += is_last(x, ideal(d, i), v);
		d->down_off[i + 1] = n;
	}
	BERTH_TRY(BERTH_NEW(mem, d->down_node, n, err));
	BERTH_TRY(BERTH_NEW(mem, d->down_to, n, err));
	n = 0;
	for (int32_t i = 0; i < d->n; i++)
		for (int32_t v = 0; v < x->n; v++)
			if (is_last(x, ideal(d, i), v)) {
				memcpy(set, ideal(d, i), (size_t)d->words * sizeof *set);
				set[v / WORD] &= ~(UINT64_C(1) << (v % WORD));
				d->down_node[n] = v;
				d->down_to[n++] = *find(d, t, set) - 1;
			}
	return BERTH_OK;
}

berth_status dp_ideals_all(const dp_nodes *x, berth_arena *mem, dp_ideals *out, bool *all, berth_err *err)
{
	uint64_t *set;
	table t = {.cap = 4};
	dp_ideals d = {.words = (x->n + WORD - 1) / WORD};
	*all = false;
	if (x->n > MOST_NODES)
		return BERTH_OK;
	while (t.cap < 2 * (size_t)MOST_IDEALS + 2)
		t.cap *= 2;
	BERTH_TRY(BERTH_NEW(mem, t.slot, t.cap, err));
	BERTH_TRY(BERTH_NEW(mem, d.bits, (size_t)MOST_IDEALS * (size_t)d.words + 1, err));
	BERTH_TRY(BERTH_NEW(mem, set, d.words, err));
	if (!list_ideals(&d, x, &t, set))
		return BERTH_OK;
	BERTH_TRY(link_ideals(&d, x, &t, set, mem, err));
	*all = true;
	*out = d;
	return BERTH_OK;
}

berth_status dp_ideals_prefixes(const dp_nodes *x, berth_arena *mem, dp_ideals *out, berth_err *err)
{
	dp_ideals d = {.n = x->n + 1};
	BERTH_TRY(BERTH_NEW(mem, d.down_off, (size_t)d.n + 1, err));
	BERTH_TRY(BERTH_NEW(mem, d.down_node, x->n, err));
	BERTH_TRY(BERTH_NEW(mem, d.down_to, x->n, err));
	for (int32_t i = 0; i < x->n; i++) {
		d.down_off[i + 2] = i + 1;
		d.down_node[i] = i;
		d.down_to[i] = i;
	}
	*out = d;
	return BERTH_OK;
}

bool dp_ideals_has(const dp_ideals *d, int32_t i, int32_t v)
{
	return d->bits ? has(ideal(d, i), v) : v < i;
}
