/* Random changes of a placement, for searches that walk. A move takes colocation groups to one other device:
 * a single one, several of one device that are joined in the graph, or a topological window. Or it exchanges
 * the devices of two colocation groups. Where the graph has blocks, a quarter of the moves shift a border
 * between stages. */
#pragma once

#include "problem.h"
#include "rng.h"

typedef struct berth_moves {
	const berth_problem *p;
	/* CSR [n_colocs+1]: colocation groups joined to each by a tensor, ascending, each once */
	int32_t *coloc_near_off, *coloc_near;
	/* [n_colocs] colocation groups by the topological index of their first operator */
	int32_t *coloc_seq;
	int32_t *coloc_at;                   /* its inverse */
	int32_t *moved, n_moved;            /* [n_colocs] colocation groups that the last draw moved */
	int64_t *seen, stamp;               /* [n_colocs] scratch */
} berth_moves;

/* In mem. Fails: BERTH_ENOMEM. O(edges log edges). */
berth_status berth_moves_new(const berth_problem *p, berth_arena *mem, berth_moves *out, berth_err *err);

/* What a move is like, before it is said whom it moves. */
typedef enum berth_move_kind {
	BERTH_MOVE_EXCHANGE, /* two colocation groups change devices */
	BERTH_MOVE_ONE,
	BERTH_MOVE_JOINED,   /* several of one device that are joined in the graph */
	BERTH_MOVE_WINDOW,   /* a window of the topological order, all of it */
	BERTH_MOVE_WINDOW_OF_DEVICE, /* the same, of one device */
	BERTH_MOVE_BORDER    /* of two stages of blocks */
} berth_move_kind;

typedef struct berth_move_shape {
	berth_move_kind kind;
	int32_t size; /* colocation groups at most */
} berth_move_shape;

/* share: how many of all colocation groups a move takes at most, but one in any case. */
berth_move_shape berth_moves_draw_shape(const berth_moves *m, double share, berth_rng *rng);

/* Change op_dev [n_ops] by a move of that shape from that colocation group on; a border is drawn whatever the
 * group is. moved tells which. Returns their number; a draw may come to nothing. */
int32_t berth_moves_draw_from(berth_moves *m, berth_move_shape shape, int32_t coloc, berth_rng *rng,
                              int32_t *op_dev);

/* Colocation groups around one: as many of the topological order, or joined to it by others, at most size, at
 * least one. moved tells which. Nothing moves. */
void berth_moves_gather(berth_moves *m, int32_t coloc, int32_t size, berth_rng *rng);

/* What moved goes back to where op_dev [n_ops] has it. */
void berth_moves_undo(const berth_moves *m, const int32_t *op_dev, int32_t *trial);

/* Change op_dev [n_ops] by one random move to legal devices; moved tells which colocation groups. Returns
 * their number. A draw may come to nothing; then it is tried again, up to `tries` times, and 0 is returned if
 * all did. share: how many of all colocation groups a move takes at most, but one in any case. Expected
 * O(colocation groups moved * degree + operators moved). */
int32_t berth_moves_draw(berth_moves *m, double share, int tries, berth_rng *rng, int32_t *op_dev);
