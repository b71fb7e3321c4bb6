/* See columns.h. Parts double from FIRST rows up to LARGE, and stay at that. */
#include "columns.h"

#include <assert.h>
#include <string.h>

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
			unsigned char **list;
			BERTH_TRY(BERTH_NEW(c->mem, list, cap * n, err));
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

static berth_status set(columns *c, int column, size_t row, const void *x, size_t width, berth_err *err)
{
	static const unsigned char zero[8] = {0};
	size_t at, part = part_of(row, &at);
	unsigned char **p = &c->part[part * (size_t)c->n_columns + (size_t)column];
	assert(row < c->n_rows && width == c->width[column]);
	if (!*p && memcmp(x, zero, width) == 0)
		return BERTH_OK;
	if (!*p && !(*p = berth_arena_alloc(c->mem, rows_of(part), width)))
		return berth_nomem(err);
	memcpy(*p + at * width, x, width);
	return BERTH_OK;
}

static void get(const columns *c, int column, size_t row, void *out, size_t width)
{
	size_t at, part = part_of(row, &at);
	const unsigned char *p = c->part[part * (size_t)c->n_columns + (size_t)column];
	assert(row < c->n_rows && width == c->width[column]);
	if (p)
		memcpy(out, p + at * width, width);
}

berth_status columns_set_byte(columns *c, int column, size_t row, unsigned char x, berth_err *err)
{
	return set(c, column, row, &x, sizeof x, err);
}

berth_status columns_set_int(columns *c, int column, size_t row, int32_t x, berth_err *err)
{
	return set(c, column, row, &x, sizeof x, err);
}

berth_status columns_set_long(columns *c, int column, size_t row, int64_t x, berth_err *err)
{
	return set(c, column, row, &x, sizeof x, err);
}

berth_status columns_set_double(columns *c, int column, size_t row, double x, berth_err *err)
{
	return set(c, column, row, &x, sizeof x, err);
}

berth_status columns_set_text(columns *c, int column, size_t row, const char *x, berth_err *err)
{
	return set(c, column, row, &x, sizeof x, err);
}

unsigned char columns_byte(const columns *c, int column, size_t row)
{
	unsigned char x = 0;
	get(c, column, row, &x, sizeof x);
	return x;
}

int32_t columns_int(const columns *c, int column, size_t row)
{
	int32_t x = 0;
	get(c, column, row, &x, sizeof x);
	return x;
}

int64_t columns_long(const columns *c, int column, size_t row)
{
	int64_t x = 0;
	get(c, column, row, &x, sizeof x);
	return x;
}

double columns_double(const columns *c, int column, size_t row)
{
	double x = 0;
	get(c, column, row, &x, sizeof x);
	return x;
}

const char *columns_text(const columns *c, int column, size_t row)
{
	const char *x = NULL;
	get(c, column, row, &x, sizeof x);
	return x;
}

bool columns_used(const columns *c, int column)
{
	for (size_t i = 0; i < c->n_parts; i++)
		if (c->part[i * (size_t)c->n_columns + (size_t)column])
			return true;
	return false;
}

/* The values of part i of the column to to[], which comes zeroed; returns how many. */
static size_t copy_part(const columns *c, int column, size_t i, size_t left, unsigned char *to)
{
	const unsigned char *p = c->part[i * (size_t)c->n_columns + (size_t)column];
	size_t n = rows_of(i) < left ? rows_of(i) : left;
	if (p)
		memcpy(to, p, n * c->width[column]);
	return n;
}

static void drop_part(columns *c, int column, size_t i)
{
	unsigned char **p = &c->part[i * (size_t)c->n_columns + (size_t)column];
	if (*p)
		berth_arena_forget(c->mem, *p, rows_of(i) * c->width[column]);
	*p = NULL;
}

void columns_copy(const columns *c, int column, void *to)
{
	size_t at = 0;
	memset(to, 0, c->n_rows * c->width[column]);
	for (size_t i = 0; i < c->n_parts && at < c->n_rows; i++)
		at += copy_part(c, column, i, c->n_rows - at, (unsigned char *)to + at * c->width[column]);
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
