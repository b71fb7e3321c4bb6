/* Arena allocator over a chain of chunks; the newest chunk is on top. Deliberately without freeing of single
 * blocks. */
#include "arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define ARENA_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_ASAN 1
#endif
#endif
#ifdef ARENA_ASAN
#include <sanitizer/asan_interface.h>
#define ARENA_POISON(p, n) ASAN_POISON_MEMORY_REGION(p, n)
#define ARENA_UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION(p, n)
#define ARENA_REDZONE 16
#else
#define ARENA_POISON(p, n) ((void)(p), (void)(n))
#define ARENA_UNPOISON(p, n) ((void)(p), (void)(n))
#define ARENA_REDZONE 0
#endif

enum { ARENA_FIRST = 1 << 14, ARENA_DOUBLES = 1 << 20, ARENA_MAX_CHUNK = 1 << 24, ARENA_LINE = 64 };

typedef struct berth_arena_chunk {
	struct berth_arena_chunk *below;
	size_t cap, used; /* bytes of data[] */
	size_t dirty;     /* those from here on are zero, and none of their pages was touched */
	alignas(max_align_t) unsigned char data[];
} arena_chunk;

void berth_arena_init(berth_arena *a, const berth_allocator *hook)
{
	a->hook = hook;
	a->top = NULL;
}

/* Zeros where there is no hook: pages that nobody writes to take no memory. */
static void *hook_alloc(const berth_arena *a, size_t size)
{
	return a->hook ? a->hook->alloc(a->hook->ctx, size) : calloc(size, 1);
}

static bool one_each(const berth_arena *a)
{
	return a->hook && a->hook->each;
}

/* Bytes to skip so that the block starts aligned. */
static size_t padding(const arena_chunk *c, size_t align)
{
	uintptr_t at = (uintptr_t)(c->data + c->used);
	return (align - at % align) % align;
}

/* Doubling at first; a large arena grows by a thirty-second, so that little of it stands empty. */
static size_t next_cap(const berth_arena *a)
{
	size_t twice = a->top ? a->top->cap * 2 : ARENA_FIRST, part = 0;
	if (twice > ARENA_DOUBLES)
		part = berth_arena_size(a) / 32;
	return part > ARENA_MAX_CHUNK  ? ARENA_MAX_CHUNK
	       : part > ARENA_DOUBLES  ? part
	       : twice < ARENA_DOUBLES ? twice
	                               : ARENA_DOUBLES;
}

static arena_chunk *push_chunk(berth_arena *a, size_t bytes)
{
	size_t cap = next_cap(a), least = bytes + ARENA_LINE + ARENA_REDZONE;
	if (cap < least || one_each(a))
		cap = least;
	arena_chunk *c = hook_alloc(a, sizeof *c + cap);
	if (!c && least < cap)
		c = hook_alloc(a, sizeof *c + (cap = least)); /* short of memory: just what is needed */
	if (!c)
		return NULL;
	c->below = a->top;
	c->cap = cap;
	c->used = 0;
	c->dirty = a->hook ? cap : 0;
	ARENA_POISON(c->data, cap);
	return a->top = c;
}

/* Zeroed bytes, at least 1, at a multiple of align. */
static void *take(berth_arena *a, size_t bytes, size_t align)
{
	arena_chunk *c = a->top;
	if (!c || one_each(a) || c->cap - c->used < bytes + padding(c, align) + ARENA_REDZONE) {
		c = push_chunk(a, bytes);
		if (!c)
			return NULL;
	}
	c->used += padding(c, align);
	unsigned char *p = c->data + c->used;
	size_t stale = c->dirty > c->used ? c->dirty - c->used : 0;
	c->used += bytes + ARENA_REDZONE;
	c->dirty = c->dirty > c->used ? c->dirty : c->used;
	ARENA_UNPOISON(p, bytes);
	memset(p, 0, stale < bytes ? stale : bytes);
	return p;
}

void *berth_arena_alloc(berth_arena *a, size_t n, size_t size)
{
	if (size && n > (SIZE_MAX / 2 - 4096) / size)
		return NULL;
	size_t bytes = n * size;
	bytes += bytes == 0;
	/* cache lines for large blocks */
	return take(a, bytes, bytes >= ARENA_LINE ? ARENA_LINE : alignof(max_align_t));
}

berth_arena_mark berth_arena_get_mark(const berth_arena *a)
{
	return (berth_arena_mark){a->top, a->top ? a->top->used : 0};
}

void berth_arena_reset(berth_arena *a, berth_arena_mark mark)
{
	while (a->top != mark.chunk) {
		arena_chunk *c = a->top;
		a->top = c->below;
		ARENA_UNPOISON(c->data, c->cap);
		if (a->hook)
			a->hook->free(a->hook->ctx, c);
		else
			free(c);
	}
	if (a->top) {
		ARENA_POISON(a->top->data + mark.used, a->top->cap - mark.used);
		a->top->used = mark.used;
	}
}

void berth_scratch_end(const berth_scratch *s)
{
	berth_arena_reset(s->arena, s->mark);
}

void berth_arena_free(berth_arena *a)
{
	berth_arena_reset(a, (berth_arena_mark){NULL, 0});
}

void berth_arena_forget(berth_arena *a, void *p, size_t n)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = ((uintptr_t)p + page - 1) / page * page,
		  to = ((uintptr_t)p + n) / page * page;
	if (!a->hook && from < to)
		madvise((unsigned char *)p + (from - (uintptr_t)p), to - from, MADV_DONTNEED);
	ARENA_POISON(p, n);
}

size_t berth_arena_size(const berth_arena *a)
{
	size_t n = 0;
	for (const arena_chunk *c = a->top; c; c = c->below)
		n += sizeof *c + c->cap;
	return n;
}

char *berth_arena_strndup(berth_arena *a, const char *s, size_t n)
{
	char *copy = n < SIZE_MAX / 2 - 4096 ? take(a, n + 1, 1) : NULL; /* texts stand close */
	if (copy)
		memcpy(copy, s, n);
	return copy;
}

char *berth_arena_strdup(berth_arena *a, const char *s)
{
	return berth_arena_strndup(a, s, strlen(s));
}

char *berth_arena_printf(berth_arena *a, const char *fmt, ...)
{
	va_list ap, again;
	va_start(ap, fmt);
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	char *s = n < 0 ? NULL : berth_arena_alloc(a, (size_t)n + 1, 1);
	if (s)
		vsnprintf(s, (size_t)n + 1, fmt, again);
	va_end(again);
	return s;
}

void *berth_arena_grow(berth_arena *a, void *array, size_t size, size_t len, size_t *cap)
{
	size_t room = *cap ? *cap * 2 : 16;
	void *p = berth_arena_alloc(a, room, size);
	if (!p)
		return NULL;
	if (len)
		memcpy(p, array, len * size);
	if (*cap)
		berth_arena_forget(a, array, *cap * size);
	*cap = room;
	return p;
}

berth_status berth_arena_room(berth_arena *a, char **buf, size_t n, size_t *cap, berth_err *err)
{
	size_t room = n > 2 * *cap ? n : 2 * *cap;
	char *p = n > *cap ? berth_arena_alloc(a, room, 1) : *buf;
	BERTH_TRY(berth_got(p, err));
	*cap = n > *cap ? room : *cap;
	*buf = p;
	return BERTH_OK;
}
