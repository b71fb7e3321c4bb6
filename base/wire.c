/* Writes and reads values one after the other in a block of bytes. Reading past the end gives nothing and
 * sets `bad`, so that callers check once. */
#include "wire.h"

berth_wire berth_wire_writer(berth_arena *mem)
{
	return (berth_wire){.to = {.mem = mem}, .mem = mem};
}

berth_wire berth_wire_reader(const char *data, size_t size, berth_arena *mem)
{
	return (berth_wire){.from = data, .size = size, .mem = mem};
}

void berth_wire_raw(berth_wire *w, void *x, size_t n)
{
	if (!w->from) {
		berth_strbuf_add(&w->to, x, n);
		return;
	}
	w->bad = w->bad || w->size < n;
	if (w->bad) {
		memset(x, 0, n);
		return;
	}
	memcpy(x, w->from, n);
	w->from += n;
	w->size -= n;
}

/* n bytes where they stand: as long as what is read stays. */
static const char *take(berth_wire *w, uint64_t n)
{
	const char *at = w->from;
	w->bad = w->bad || w->size < n;
	if (w->bad)
		return NULL;
	w->from += n;
	w->size -= (size_t)n;
	return at;
}

void berth_wire_text(berth_wire *w, const char **x)
{
	uint64_t n = !w->from && *x ? strlen(*x) + 1 : 0;
	BERTH_WIRE(w, n);
	if (!w->from) {
		berth_strbuf_add(&w->to, *x, (size_t)n);
		return;
	}
	const char *at = n ? take(w, n) : NULL;
	w->bad = w->bad || (at && at[n - 1] != '\0');
	*x = w->bad ? NULL : at;
}

void berth_wire_list(berth_wire *w, void *list, int32_t *n, size_t item)
{
	void **to = list;
	BERTH_WIRE(w, *n);
	if (!w->from)
		return;
	/* an item is at least a byte */
	w->bad = w->bad || *n < 0 || (size_t)*n > w->size;
	*to = w->bad ? NULL : berth_arena_alloc(w->mem, (size_t)*n * item + 1, _Alignof(max_align_t));
	w->starved = w->starved || (!w->bad && !*to);
	w->bad = w->bad || w->starved;
	if (w->bad)
		*n = 0;
	else
		memset(*to, 0, (size_t)*n * item);
}

static void put_piece(berth_wire *w, berth_file_piece *p, const char *base, size_t size)
{
	const char *data = p->data;
	int64_t at = data && data >= base && data < base + size ? data - base : -1;
	uint64_t n = p->size;
	BERTH_WIRE(w, at);
	BERTH_WIRE(w, n);
	if (!w->from) {
		berth_strbuf_add(&w->to, data, at < 0 ? p->size : 0);
		return;
	}
	w->bad = w->bad || (at >= 0 && ((uint64_t)at > size || n > size - (uint64_t)at));
	p->data = w->bad ? NULL : at >= 0 ? base + at : take(w, n);
	p->size = w->bad ? 0 : (size_t)n;
}

void berth_wire_pieces(berth_wire *w, berth_file_piece **piece, size_t *n, const void *base, size_t size)
{
	int32_t count = (int32_t)*n;
	berth_wire_list(w, piece, &count, sizeof **piece);
	for (int32_t i = 0; i < count; i++)
		put_piece(w, &(*piece)[i], base, size);
	*n = (size_t)count;
}

berth_status berth_wire_done(berth_wire *w, const char **data, size_t *size, berth_err *err)
{
	return berth_strbuf_done(&w->to, data, size, err);
}

berth_status berth_wire_whole(const berth_wire *w, const char *file, berth_err *err)
{
	if (w->starved)
		return berth_nomem(err);
	if (w->bad || w->size)
		return berth_fail(err, BERTH_EIO,
		                  "%s: cannot read it: its reader gave no answer that makes sense", file);
	return BERTH_OK;
}
