/* A table that grows row by row, without copying, of columns whose values may be runs. Parts double from
 * FIRST rows up to LARGE, and stay at that. */
#include "columns.h"

#include "bits.h"

enum { FIRST = 16, DOUBLED = 10, LARGE = FIRST << DOUBLED };

/* The part that holds the row, and which of its rows it is. */
static size_t part_of(size_t row, size_t *at)
{
	if (row >= LARGE) {
		*at = row % LARGE;
		return DOUBLED + row / LARGE;
	}
	size_t part = 0, begin = 0;
	while (row >= (size_t)FIRST << part) {
		begin = (size_t)FIRST << part;
		part++;
	}
	*at = row - begin;
	return part;
}

static size_t rows_of(size_t part)
{
	return part == 0 ? FIRST : part <= DOUBLED ? (size_t)FIRST << (part - 1) : LARGE;
}

void columns_init(columns *c, berth_arena *mem, const unsigned char *width, int n_columns)
{
	*c = (columns){.mem = mem, .width = width, .n_columns = n_columns};
}

berth_status columns_add(columns *c, berth_err *err)
{
	size_t at, part = part_of(c->n_rows, &at), n = (size_t)c->n_columns;
	if (part == c->n_parts) {
		if (part == c->cap_part) {
			size_t cap = part ? 2 * part : 4;
			column_part *list;
			BERTH_TRY_NEW(c->mem, cap * n, err, list);
			if (part)
				memcpy(list, c->part, part * n * sizeof *list);
			c->part = list;
			c->cap_part = cap;
		}
		c->n_parts++;
	}
	c->n_rows++;
	return BERTH_OK;
}

void columns_cut(columns *c, size_t n)
{
	assert(n <= c->n_rows);
	c->n_rows = n;
}

/* n values of the run, which has that many. */
static void put_run(const column_part *p, size_t n, size_t width, unsigned char *to)
{
	uint64_t bits = p->first;
	for (size_t i = 0; i < n; i++, bits += p->step)
		berth_bits_put(bits, to + i * width, width);
}

static bool is_zeros(const column_part *p)
{
	return !p->value && (p->n_run == 0 || (!p->first && (p->n_run == 1 || !p->step)));
}

/* One value more of the run. False: it does not go on so. */
static bool extend(column_part *p, uint64_t bits, size_t width)
{
	uint64_t next;
	if (p->n_run == 0)
		p->first = bits;
	if (p->n_run == 1)
		p->step = bits - p->first;
	berth_bits_put(p->first + p->n_run * p->step, &next, width);
	if (berth_bits_of(&next, width) != bits)
		return false;
	p->n_run++;
	return true;
}

static column_part *part_at(const columns *c, int column, size_t part)
{
	return &c->part[part * (size_t)c->n_columns + (size_t)column];
}

static void get(const columns *c, int column, size_t row, void *out, size_t width)
{
	size_t at, part = part_of(row, &at);
	const column_part *p = part_at(c, column, part);
	assert(row < c->n_rows && width == c->width[column]);
	if (p->value)
		memcpy(out, p->value + at * width, width);
	else if (at < p->n_run)
		berth_bits_put(p->first + at * p->step, out, width);
}

static berth_status set(columns *c, int column, size_t row, const void *x, size_t width, berth_err *err)
{
	size_t at, part = part_of(row, &at);
	column_part *p = part_at(c, column, part);
	uint64_t was = 0, bits = berth_bits_of(x, width);
	assert(row < c->n_rows && width == c->width[column]);
	if (!p->value) {
		get(c, column, row, &was, width);
		if (at == p->n_run ? extend(p, bits, width) : berth_bits_of(&was, width) == bits)
			return BERTH_OK;
		BERTH_TRY(berth_got(p->value = berth_arena_alloc(c->mem, rows_of(part), width), err));
		put_run(p, p->n_run, width, p->value);
	}
	memcpy(p->value + at * width, x, width);
	return BERTH_OK;
}

#define COLUMNS_ACCESS(name, type) \
	berth_status columns_set_##name(columns *c, int column, size_t row, type x, berth_err *err) \
	{ \
		return set(c, column, row, &x, sizeof x, err); \
	} \
	type columns_##name(const columns *c, int column, size_t row) \
	{ \
		type x = 0; \
		get(c, column, row, &x, sizeof x); \
		return x; \
	}
COLUMNS_TYPES(COLUMNS_ACCESS)

bool columns_used(const columns *c, int column)
{
	for (size_t i = 0; i < c->n_parts; i++)
		if (!is_zeros(part_at(c, column, i)))
			return true;
	return false;
}

/* The values of part i of the column to to[], which comes zeroed; returns how many. */
static size_t copy_part(const columns *c, int column, size_t i, size_t left, unsigned char *to)
{
	const column_part *p = part_at(c, column, i);
	size_t n = rows_of(i) < left ? rows_of(i) : left;
	if (p->value)
		memcpy(to, p->value, n * c->width[column]);
	else if (!is_zeros(p)) /* pages of zeros stay untouched */
		put_run(p, p->n_run < n ? p->n_run : n, c->width[column], to);
	return n;
}

static void drop_part(columns *c, int column, size_t i)
{
	column_part *p = part_at(c, column, i);
	if (p->value)
		berth_arena_forget(c->mem, p->value, rows_of(i) * c->width[column]);
	*p = (column_part){0};
}

void columns_drop(columns *c, int column)
{
	for (size_t i = 0; i < c->n_parts; i++)
		drop_part(c, column, i);
}

void columns_drop_all(columns *c)
{
	for (int column = 0; column < c->n_columns; column++)
		columns_drop(c, column);
}

void columns_move(columns *c, int column, void *to)
{
	size_t at = 0;
	for (size_t i = 0; i < c->n_parts; i++) {
		at += copy_part(c, column, i, c->n_rows - at, (unsigned char *)to + at * c->width[column]);
		drop_part(c, column, i);
	}
}
