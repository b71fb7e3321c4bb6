/* What the mutators share; see mutate.h. */
#include "mutate.h"

#include <stdlib.h>
#include <string.h>

mutate_rng mutate_seed(unsigned seed)
{
	mutate_rng r = {seed * 2654435761u ^ 0x9e3779b9u};
	r.x += r.x == 0;
	mutate_draw(&r);
	mutate_draw(&r);
	return r;
}

uint32_t mutate_draw(mutate_rng *r)
{
	r->x ^= r->x << 13;
	r->x ^= r->x >> 17;
	r->x ^= r->x << 5;
	return r->x;
}

size_t mutate_below(mutate_rng *r, size_t n)
{
	return n ? mutate_draw(r) % n : 0;
}

uint64_t mutate_number(mutate_rng *r)
{
	uint64_t power = UINT64_C(1) << mutate_below(r, 64);
	switch (mutate_below(r, 6)) {
	case 0:
		return 0;
	case 1:
		return power;
	case 2:
		return power - 1;
	case 3:
		return 0 - power;
	default:
		return mutate_below(r, 20);
	}
}

bool mutate_splice(mutate_bytes *b, size_t from, size_t to, const void *text, size_t len)
{
	if (from > to || to > b->n || b->n - (to - from) + len > b->max)
		return false;
	uint8_t *copy = malloc(len + 1);
	if (!copy)
		return false;
	if (len)
		memcpy(copy, text, len);
	memmove(b->data + from + len, b->data + to, b->n - to);
	memcpy(b->data + from, copy, len);
	b->n = b->n - (to - from) + len;
	free(copy);
	return true;
}
