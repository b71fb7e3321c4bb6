/* See pack.h. */
#include "pack.h"

#include <string.h>

static void take(berth_pack *p, void *x, size_t size)
{
	size_t there = size < p->n ? size : p->n;
	p->ended_early |= there < size;
	memcpy(x, p->at, there);
	memset((unsigned char *)x + there, 0, size - there);
	p->at += there;
	p->n -= there;
}

void berth_pack_bytes(berth_pack *p, void *x, size_t size)
{
	if (size == 0)
		return;
	if (p->how == BERTH_PACK_TAKE) {
		take(p, x, size);
		return;
	}
	if (p->how == BERTH_PACK_PUT) {
		memcpy(p->at, x, size);
		p->at += size;
	}
	p->n += size;
}
