/* Arena allocator: all memory of a problem (graph, simulation, solve) comes from one arena and goes with it.
 * Scratch is an arena too: BERTH_SCRATCH on entry, so early returns need no cleanup code. */
#pragma once

#include "array.h"
#include "status.h"

/* The allocator below an arena. Tests fail the k-th call through it. alloc returns NULL on failure; free
 * takes what alloc gave. */
typedef struct berth_allocator {
	void *(*alloc)(void *ctx, size_t size);
	void (*free)(void *ctx, void *ptr);
	void *ctx;
	bool each; /* a call for each block of the arena, none shared: so that each can fail */
} berth_allocator;

/* One owner at a time; not locked. Zero-initialise or berth_arena_init before use. */
typedef struct berth_arena {
	const berth_allocator *hook; /* NULL: malloc and free */
	struct berth_arena_chunk *top;
} berth_arena;

typedef struct berth_arena_mark {
	struct berth_arena_chunk *chunk;
	size_t used;
} berth_arena_mark;

typedef struct berth_scratch { /* of BERTH_SCRATCH */
	berth_arena *arena;
	berth_arena_mark mark;
} berth_scratch;

void berth_scratch_end(const berth_scratch *s);

void berth_arena_init(berth_arena *a, const berth_allocator *hook);

/* n * size bytes, zeroed, aligned for any type and to 64 bytes from 64 bytes on. n or size may be 0 (a
 * unique valid pointer). NULL when memory runs out or n * size overflows. O(bytes). */
void *berth_arena_alloc(berth_arena *a, size_t n, size_t size);

/* Release all memory; the arena is empty and usable again. */
void berth_arena_free(berth_arena *a);

berth_arena_mark berth_arena_get_mark(const berth_arena *a);
/* Forget everything allocated since the mark (poisoned under AddressSanitizer). */
void berth_arena_reset(berth_arena *a, berth_arena_mark mark);

/* From here to the end of the block, by whichever way it is left: what is taken from the arena is forgotten
 * then. Once a block. */
#define BERTH_SCRATCH(a) \
	const berth_scratch scratch_here __attribute__((unused, cleanup(berth_scratch_end))) = { \
		(a), berth_arena_get_mark(a)}

/* An arena that is freed at the end of the block. */
#define BERTH_ARENA(name) berth_arena name __attribute__((unused, cleanup(berth_arena_free))) = {0}

/* n bytes from p on, of this arena, are needed no more: whole pages of them go back to the system at once,
 * the addresses with the arena. What stood there is lost (poisoned under AddressSanitizer). */
void berth_arena_forget(berth_arena *a, void *p, size_t n);

/* Bytes taken from the allocator now. */
size_t berth_arena_size(const berth_arena *a);

/* Copy of the first n bytes of s (all of it for berth_arena_strdup) with a closing 0; NULL when memory runs
 * out. */
char *berth_arena_strndup(berth_arena *a, const char *s, size_t n);
char *berth_arena_strdup(berth_arena *a, const char *s);
/* printf into the arena. */
char *berth_arena_printf(berth_arena *a, const char *fmt, ...) BERTH_PRINTF(2, 3);

/* Of what is NULL where memory ran out: text of the arena, say. */
static inline berth_status berth_got(const void *ptr, berth_err *err)
{
	return ptr ? BERTH_OK : berth_nomem(err);
}

/* ptr = n zeroed elements of its type; a status, to be forwarded by BERTH_TRY. */
#define BERTH_NEW(arena, ptr, n, err) \
	(((ptr) = berth_arena_alloc((arena), (size_t)(n), sizeof *(ptr))) ? BERTH_OK : berth_nomem(err))

/* n zeroed elements for each of 1 to 8 pointers, in this order; returns from the calling function where
 * memory runs out. n is computed once for each. */
#define BERTH_TRY_NEW(arena, n, err, ...) \
	do { \
		BERTH_NEW_PICK(__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1, 0)(arena, n, err, __VA_ARGS__); \
	} while (0)
#define BERTH_NEW_PICK(a, b, c, d, e, f, g, h, count, ...) BERTH_NEW_##count
#define BERTH_NEW_1(m, n, e, a) BERTH_TRY(BERTH_NEW(m, a, n, e))
#define BERTH_NEW_2(m, n, e, a, ...) BERTH_NEW_1(m, n, e, a); BERTH_NEW_1(m, n, e, __VA_ARGS__)
#define BERTH_NEW_3(m, n, e, a, ...) BERTH_NEW_1(m, n, e, a); BERTH_NEW_2(m, n, e, __VA_ARGS__)
#define BERTH_NEW_4(m, n, e, a, ...) BERTH_NEW_1(m, n, e, a); BERTH_NEW_3(m, n, e, __VA_ARGS__)
#define BERTH_NEW_5(m, n, e, a, ...) BERTH_NEW_1(m, n, e, a); BERTH_NEW_4(m, n, e, __VA_ARGS__)
#define BERTH_NEW_6(m, n, e, a, ...) BERTH_NEW_1(m, n, e, a); BERTH_NEW_5(m, n, e, __VA_ARGS__)
#define BERTH_NEW_7(m, n, e, a, ...) BERTH_NEW_1(m, n, e, a); BERTH_NEW_6(m, n, e, __VA_ARGS__)
#define BERTH_NEW_8(m, n, e, a, ...) BERTH_NEW_1(m, n, e, a); BERTH_NEW_7(m, n, e, __VA_ARGS__)

/* A growing array of the arena: room for at least one element more than len; doubles *cap. The old storage
 * is forgotten. Returns the new array, NULL when memory runs out (BERTH_GROW's ptr is NULL then). */
void *berth_arena_grow(berth_arena *a, void *array, size_t size, size_t len, size_t *cap);
#define BERTH_GROW(arena, ptr, len, cap, err) \
	((size_t)(len) < *(cap) ? BERTH_OK \
	 : ((ptr) = berth_arena_grow((arena), (ptr), sizeof *(ptr), (size_t)(len), (cap))) ? BERTH_OK \
	 : berth_nomem(err))
/* The same, and the value behind it becomes element n, which counts one more. */
#define BERTH_PUSH(arena, ptr, n, cap, err, ...) \
	(BERTH_GROW(arena, ptr, n, cap, err) != BERTH_OK ? BERTH_ENOMEM \
	                                                 : ((ptr)[(n)++] = __VA_ARGS__, BERTH_OK))

/* A buffer of n bytes or more, for text that is looked at and forgotten: what stood in *buf is not copied. At
 * least twice *cap where it grows. Fails: BERTH_ENOMEM. */
berth_status berth_arena_room(berth_arena *a, char **buf, size_t n, size_t *cap, berth_err *err);
