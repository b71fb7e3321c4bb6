/* Certificates: why no placement is better than a bound, in whole numbers that anyone can check.
 *
 * The room knows a compiled problem (times, routes, limits) and nothing of how bounds are found: it takes no
 * code of env/bounds or of the methods. Those who make trees close cases by its rules, too, so a fault in a
 * rule would be in both; the rules are held against brute force. What each kind proves stands in
 * docs/proofs.md, "Certificates"; the file in docs/formats.md. */
#pragma once

#include "problem_tables.h"

typedef enum berth_certificate_kind {
	BERTH_CERTIFICATE_PATH,       /* a path, and prices of memory */
	BERTH_CERTIFICATE_LOAD,       /* prices of devices and memory pools */
	BERTH_CERTIFICATE_RELAXATION, /* a dual of the linear relaxation of placement */
	BERTH_CERTIFICATE_BLOCKS,     /* gates, and trees of cases between them */
	BERTH_CERTIFICATE_WINDOWS,    /* loads between two operators, or the beginning or end of the run */
	BERTH_CERTIFICATE_MACHINES,   /* what stands on a device is done one after the other */
	BERTH_N_CERTIFICATES
} berth_certificate_kind;

/* Limits of what is read, so that no sum below overflows 128 bits. */
#define BERTH_CERTIFICATE_MOST_PRICE (INT64_C(1) << 40)
#define BERTH_CERTIFICATE_MOST_SHARE (INT64_C(1) << 53)

/* Operators in a tree, and in a window that ends in an operator, so that checking one does not take long. */
enum {
	BERTH_CERTIFICATE_TREE_OPS = 64,
	BERTH_CERTIFICATE_TREE_DEVS = 31,
	BERTH_CERTIFICATE_WINDOW_OPS = 128
};

/* A tree of cases in preorder. The nodes:
 *   0            closed: what is known here leaves no schedule shorter than the claim
 *   1, k         closed by the loads at price vector k
 *   2, i, mask   operator i of the block stands on a device of mask (bit d: device d): a node for each,
 *                ascending. The others are closed already, or mirror one of mask
 *   3, i, j      both stand on one device of one slot: a node for i before j, then one for j before i
 * Operators are numbered within their block, in topological order, gates included. */
typedef struct berth_case_tree {
	int32_t *code; /* [n] */
	int32_t n;
	size_t cap; /* while it grows */
} berth_case_tree;

/* Block `block` (before gate `block`, counting from 0) takes at least bound_ns from the end of the gate
 * before it on device `from` to the end of its own gate on `to`; a gate that is not there stands on device 0.
 */
typedef struct berth_block_claim {
	int32_t block, from, to;
	int32_t tree; /* into trees; -1: what is between the gates loads that much at price vector `prices` */
	int32_t prices;
	int64_t bound_ns;
} berth_block_claim;

/* Operator `last` ends on device `to` at bound_ns or later, as what has to be done between the end of `first`
 * and its start would not fit in less. -1: the beginning of the run, the end of the run (then `to` is 0).
 * prices: by device of `first` the price vector at which it does not fit; -1: none is needed. */
typedef struct berth_window_claim {
	int32_t first, last, to;
	int64_t bound_ns;
	int32_t *prices; /* [n_devs]; from the beginning [1] */
} berth_window_claim;

typedef struct berth_certificate {
	const char *graph_name, *system_name;
	bool load;        /* the largest load, not the latency */
	int64_t bound_ns; /* what is claimed: no placement is below it */
	berth_certificate_kind kind;
	int64_t unit;        /* path: the price of a byte is price / unit ns */
	int64_t *price;      /* [n_devs + n_pools] path, load, relaxation; of a nanosecond on it, or a byte */
	int64_t *byte_price; /* [n_devs + n_pools] load, relaxation; of a byte kept; NULL: 0 (load) */
	int32_t *path;       /* [n_path] operators, each the producer of something that the next consumes */
	int32_t n_path;

	/* relaxation; >= 0 but shares */
	int64_t upper_ns;       /* it holds for placements up to here */
	int64_t grain;          /* what 1 of the shares below stands for; >= 1 */
	int64_t *channel_price; /* [n_channels] */
	int64_t *end_price;     /* [n_ops] of the rows "the length is after the operator" */
	int64_t *flow;          /* [n_edges] of the rows "the consumer starts after" */
	int64_t *out_share;     /* [n_edges][n_devs] what the producer's device pays, in grains */
	int64_t *in_share;      /* [n_edges][n_devs] what the consumer's device pays */
	int64_t *way_price;     /* [n_edges][n_devs][n_devs] an edge's part of the channels; in grains */

	/* blocks */
	int32_t *gate; /* [n_gates] operators in topological order */
	int32_t n_gates;
	berth_block_claim *claim; /* [n_claims] */
	int32_t n_claims;
	berth_case_tree *tree; /* [n_trees] */
	int32_t n_trees;

	/* windows, by `last` in topological order, the end behind all, then by `to` */
	berth_window_claim *window; /* [n_windows] */
	int32_t n_windows;

	int64_t *price_vector; /* [n_prices][n_devs + n_pools] of blocks and windows */
	int32_t n_prices;
} berth_certificate;

/* Names of kinds, as files have them. */
const char *berth_certificate_name(berth_certificate_kind kind);

/* The bound that the certificate proves for p, whatever it claims: *proven_ns, 0 where nothing. Exact: all
 * sums are whole numbers of 128 bits. tmp is scratch, reset at exit. Fails: BERTH_EFORMAT (what is wrong with
 * it: a path that is none, a gate that is none, a tree that leaves out a case or whose claim does not hold),
 * BERTH_EUNSUPPORTED (the cost model has no certificates), BERTH_ENOMEM. */
berth_status berth_certificate_prove(const berth_certificate *c, const berth_problem *p, berth_arena *tmp,
                                     int64_t *proven_ns, berth_err *err);

/* berth_certificate_prove, and the claim holds. Fails: as that; BERTH_EFORMAT where less is proven. */
berth_status berth_certificate_check(const berth_certificate *c, const berth_problem *p, berth_arena *tmp,
                                     berth_err *err);

/* Names operators and devices as p has them. mem keeps all of it. Fails: BERTH_EFORMAT, BERTH_ENOMEM. */
berth_status berth_certificate_parse(const char *file, const char *text, size_t size, const berth_problem *p,
                                     berth_arena *mem, berth_arena *tmp, berth_certificate *out,
                                     berth_err *err);

/* JSON text in mem. Fails: BERTH_ENOMEM. */
berth_status berth_certificate_write(const berth_certificate *c, const berth_problem *p, berth_arena *mem,
                                     const char **text, size_t *len, berth_err *err);
