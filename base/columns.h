/* A table that grows row by row, column by column. A part of a column takes no memory as long as its values
 * are first, first + step, first + 2 step, ..., then zeros: what is not stated, what is the same everywhere,
 * and indices that count up. Growing copies nothing. What a graph is built from. */
#pragma once

#include "arena.h"

#include <stdbool.h>
#include <stdint.h>

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

/* Values by type; texts are pointers. Setting fails: BERTH_ENOMEM. O(1). */
berth_status columns_set_byte(columns *c, int column, size_t row, unsigned char x, berth_err *err);
berth_status columns_set_int(columns *c, int column, size_t row, int32_t x, berth_err *err);
berth_status columns_set_long(columns *c, int column, size_t row, int64_t x, berth_err *err);
berth_status columns_set_double(columns *c, int column, size_t row, double x, berth_err *err);
berth_status columns_set_text(columns *c, int column, size_t row, const char *x, berth_err *err);
unsigned char columns_byte(const columns *c, int column, size_t row);
int32_t columns_int(const columns *c, int column, size_t row);
int64_t columns_long(const columns *c, int column, size_t row);
double columns_double(const columns *c, int column, size_t row);
const char *columns_text(const columns *c, int column, size_t row);

/* Is there a part with values other than zero in it? */
bool columns_used(const columns *c, int column);

/* All values of a column are zeros from here on, and its memory goes back to the system. */
void columns_drop(columns *c, int column);
void columns_drop_all(columns *c);
/* The whole column to to[n_rows], which comes zeroed. It is dropped part by part, so that no value stands
 * twice. */
void columns_move(columns *c, int column, void *to);
