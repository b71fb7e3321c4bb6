/* Which element of a list has a name: a hash table of indices, in parts that stay when it grows. Hashing
 * by FNV-1a; the order of the table is never visible. */
#include "name_index.h"

enum { FIRST = 64, PART = 4096 };

void berth_name_index_init(berth_name_index *x, berth_arena *mem, berth_name_of *name, const void *list)
{
	*x = (berth_name_index){.mem = mem, .name = name, .list = list};
}

static size_t hash(const char *s)
{
	uint64_t h = 14695981039346656037u;
	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 1099511628211u;
	return (size_t)(h ^ (h >> 29));
}

/* The slot of the name, or the free one where it belongs. */
static int32_t *find(const berth_name_index *x, const char *name)
{
	for (size_t i = hash(name);; i++) {
		size_t at = i & (x->cap - 1);
		int32_t *slot = &x->part[at / PART][at % PART];
		if (!*slot || strcmp(x->name(x->list, *slot - 1), name) == 0)
			return slot;
	}
}

/* Parts for cap slots, all free. */
static berth_status clear(berth_name_index *x, size_t cap, berth_err *err)
{
	size_t n = (cap + PART - 1) / PART, size = cap < PART ? cap : PART;
	int32_t **part;
	BERTH_TRY_NEW(x->mem, n, err, part);
	for (size_t i = 0; i < n; i++) {
		part[i] = x->cap >= PART && i < x->n_parts ? x->part[i]
		                                           : berth_arena_alloc(x->mem, size, sizeof **part);
		BERTH_TRY(berth_got(part[i], err));
		memset(part[i], 0, size * sizeof **part);
	}
	x->part = part;
	x->n_parts = n;
	x->cap = cap;
	return BERTH_OK;
}

static berth_status resize(berth_name_index *x, size_t cap, berth_err *err)
{
	BERTH_TRY(clear(x, cap, err));
	for (size_t i = 0; i < x->len; i++)
		*find(x, x->name(x->list, (int32_t)i)) = (int32_t)i + 1;
	return BERTH_OK;
}

berth_status berth_name_index_reserve(berth_name_index *x, size_t n, berth_err *err)
{
	size_t cap = FIRST;
	while (cap * 3 <= n * 4)
		cap *= 2;
	return x->cap ? BERTH_OK : clear(x, cap, err);
}

void berth_name_index_drop(berth_name_index *x)
{
	size_t size = x->cap < PART ? x->cap : PART;
	for (size_t i = 0; i < x->n_parts; i++)
		berth_arena_forget(x->mem, x->part[i], size * sizeof **x->part);
	berth_name_index_init(x, x->mem, x->name, x->list);
}

int32_t berth_name_index_get(const berth_name_index *x, const char *name)
{
	return x->cap ? *find(x, name) - 1 : -1;
}

berth_status berth_name_index_add(berth_name_index *x, int32_t *i, berth_err *err)
{
	if (x->len * 4 >= x->cap * 3)
		BERTH_TRY(resize(x, x->cap ? x->cap * 2 : FIRST, err));
	int32_t *slot = find(x, x->name(x->list, (int32_t)x->len));
	assert(!*slot);
	*slot = (int32_t)++x->len;
	if (i)
		*i = *slot - 1;
	return BERTH_OK;
}
