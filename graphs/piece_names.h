/* What the names of pieces tell (docs/splitting.md, Names). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of "NAME/piece 2 of 3" the number 2, and in *of, which may be NULL, 3; the last piece counts where pieces
 * were cut again. In *len, which may be NULL, the length of NAME. 0: no piece. */
int32_t berth_piece_number(const char *name, int32_t *of, size_t *len);
/* Is it the name of what a join takes: of a piece, or of a share of a sum ("NAME/sum 1 of 2")? */
bool berth_piece_is_part(const char *name);
/* Does the name say that pieces come together there ("VALUE/joined")? */
bool berth_piece_is_join(const char *name);

/* The number at the end of the name of a piece, or of one of several nodes between pieces
 * ("VALUE/joined 1 of 2"): 1, and in *of 2. 0: it has none. */
int32_t berth_piece_share(const char *name, int32_t *of);

/* Does any part of the name say so: is it a piece, a share, or derived from one, as
 * "NAME/piece 1 of 2/grad_sum"? */
bool berth_piece_named(const char *name);
