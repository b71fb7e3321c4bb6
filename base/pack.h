/* Plain data as bytes and back again, for another process of the same program on the same kind of machine.
 * One function says what stands there; it runs to count, to put and to take. */
#ifndef BERTH_PACK_H
#define BERTH_PACK_H

#include <stdbool.h>
#include <stddef.h>

typedef enum berth_pack_how { BERTH_PACK_COUNT, BERTH_PACK_PUT, BERTH_PACK_TAKE } berth_pack_how;

typedef struct berth_pack {
	berth_pack_how how;
	unsigned char *at;
	size_t n;         /* bytes counted or put so far; left to be taken */
	bool ended_early; /* more was taken than there was; those are zeros */
} berth_pack;

/* Count, put or take `size` bytes at x. */
void berth_pack_bytes(berth_pack *p, void *x, size_t size);

#define BERTH_PACK(p, x) berth_pack_bytes((p), &(x), sizeof(x))

#endif
