/* Memory pools during a simulation: what is moved through them, and at which speed. The execution model's
 * "Memory pools" is the definition; the order of operations in double is part of it.
 *
 * A piece is an operator or a hop under way whose traffic goes through a pool, or a hop's through two. The
 * pieces of a pool share its rate by max-min fairness, as a fluid: none gets more than it asks, and none less
 * than another that asks more. A piece that gets less than it asks is slowed by that quotient. Few pieces are
 * under way at once, as many as slots and channels carry: everything here is linear in their number. */
#ifndef POOL_SHARE_H
#define POOL_SHARE_H

#include "problem_tables.h"

typedef struct pool_piece {
	double demand; /* bytes/ns that it asks of each of its pools */
	double work;   /* ns at full speed that were left at since_ns */
	double speed;  /* since then, (0, 1] */
	int64_t since_ns, end_ns;
	int64_t alone_ns; /* its end, had it not been slowed */
	int32_t what;     /* as in an event of the simulator */
	int32_t pool[2]; /* -1: none */
} pool_piece;

typedef struct pool_share {
	const berth_problem *p;
	pool_piece *piece; /* [n_pieces] under way, by demand */
	int32_t n_pieces, cap;
	int32_t *n_in;    /* [n_pools] pieces of each pool */
	double *level;    /* [n_pools] the most that a piece gets; INFINITY: each gets what it asks */
	bool *changed;    /* [n_pools] a piece has come or gone since the level was computed */
	bool any_changed;
	int64_t next_ns; /* least end of a piece, as of pool_share_settle; INT64_MAX: none is under way */
} pool_share;

/* Scratch for simulations of p, in mem; *out is NULL where p has no pools. Fails: BERTH_ENOMEM. */
berth_status pool_share_new(const berth_problem *p, berth_arena *mem, pool_share **out, berth_err *err);

/* Nothing is under way. */
void pool_share_reset(pool_share *q);

/* An operator or hop of time_ns > 0 starts. pool: two of them, or one and -1. It runs at full speed until
 * pool_share_settle. */
void pool_share_start(pool_share *q, int32_t what, double demand, const int32_t pool[2], int64_t time_ns,
                      int64_t now);

/* Is there a piece that ends at that time, the next at which one does? Then it goes; *what tells which,
 * *slow_ns by how much it takes longer than alone. */
bool pool_share_take(pool_share *q, int64_t end_ns, int32_t *what, int64_t *slow_ns);

/* Speeds and ends after all ends and starts of a round. O(pieces * pools that changed). */
void pool_share_settle(pool_share *q, int64_t now);

/* The same state by that much later. */
void pool_share_shift(pool_share *q, int64_t by_ns);

/* The pieces are these n [<= cap]. Levels are computed by the next pool_share_settle: others may have gone
 * since they were. */
void pool_share_set(pool_share *q, const pool_piece *piece, int32_t n);

#endif
