/* See name_index.h. Hashing by FNV-1a; the order of the table is never visible. */
#include "name_index.h"

#include <string.h>

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
	size_t i = hash(name) & (x->cap - 1);
	while (x->slot[i] && strcmp(x->name(x->list, x->slot[i] - 1), name) != 0)
		i = (i + 1) & (x->cap - 1);
	return &x->slot[i];
}

static berth_status resize(berth_name_index *x, size_t cap, berth_err *err)
{
	berth_name_index old = *x;
	BERTH_TRY(BERTH_NEW(x->mem, x->slot, cap, err));
	x->cap = cap;
	for (size_t i = 0; i < old.cap; i++)
		if (old.slot[i])
			*find(x, x->name(x->list, old.slot[i] - 1)) = old.slot[i];
	return BERTH_OK;
}

berth_status berth_name_index_reserve(berth_name_index *x, size_t n, berth_err *err)
{
	size_t cap = 64;
	while (cap * 3 <= n * 4)
		cap *= 2;
	return x->cap ? BERTH_OK : resize(x, cap, err);
}

int32_t berth_name_index_get(const berth_name_index *x, const char *name)
{
	return x->cap ? *find(x, name) - 1 : -1;
}

berth_status berth_name_index_add(berth_name_index *x, int32_t i, int32_t *found, berth_err *err)
{
	if (x->len * 4 >= x->cap * 3)
		BERTH_TRY(resize(x, x->cap ? x->cap * 2 : 64, err));
	int32_t *slot = find(x, x->name(x->list, i));
	if (!*slot) {
		*slot = i + 1;
		x->len++;
	}
	*found = *slot - 1;
	return BERTH_OK;
}
