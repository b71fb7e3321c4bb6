/* A table that grows row by row, column by column. A part of a column takes no memory as long as its values
 * are first, first + step, first + 2 step, ..., then zeros: what is not stated, what is the same everywhere,
 * and indices that count up. Growing copies nothing. What a graph is built from. */
#pragma once

#include "arena.h"

/* Some rows of one column. */
typedef struct column_part {
	unsigned char *value; /* NULL: the first n_run are a run, the others zeros */
	uint64_t first, step; /* of the bits of the values, modulo 2^64 */
	uint32_t n_run;
} column_part;

typedef struct columns {
	berth_arena *mem;
	const unsigned char *width; /* [n_columns] bytes of a value: 1, 4 or 8 */
	int n_columns;
	column_part *part;          /* [part * n_columns + column] */
	size_t n_rows, n_parts, cap_part;
} columns;

/* width is borrowed. */
void columns_init(columns *c, berth_arena *mem, const unsigned char *width, int n_columns);

/* One row more, of zeros. Fails: BERTH_ENOMEM. */
berth_status columns_add(columns *c, berth_err *err);

/* Only the first n rows stay. Rows that are added again have their old values until they are set. */
void columns_cut(columns *c, size_t n);

/* Values by type; texts are pointers. columns_set_int(c, column, row, x, err) fails: BERTH_ENOMEM.
 * columns_int(c, column, row) is the value. O(1). */
#define COLUMNS_TYPES(X) \
	X(byte, unsigned char) X(int, int32_t) X(long, int64_t) X(double, double) X(text, const char *)
#define COLUMNS_DECLARE(name, type) \
	berth_status columns_set_##name(columns *c, int column, size_t row, type x, berth_err *err); \
	type columns_##name(const columns *c, int column, size_t row);
COLUMNS_TYPES(COLUMNS_DECLARE)
#undef COLUMNS_DECLARE

/* Is there a part with values other than zero in it? */
bool columns_used(const columns *c, int column);

/* All values of a column are zeros from here on, and its memory goes back to the system. */
void columns_drop(columns *c, int column);
void columns_drop_all(columns *c);
/* The whole column to to[n_rows], which comes zeroed. It is dropped part by part, so that no value stands
 * twice. */
void columns_move(columns *c, int column, void *to);
