/* Layouts: which node holds which layers, where each holds one range and ranges overlap as they like, and how
 * requests flow over them. After Mei, Zhuang, Miao, Yang, Jia, Vinayak: "Helix: Serving Large Language Models
 * over Heterogeneous GPUs and Network via Max-Flow" (ASPLOS 2025, sections 4.2 to 4.4). Equal nodes are kinds
 * with a number. Derivations: docs/proofs.md, "Layouts".
 *
 * A request passes all layers in their order. It comes to a node at any layer that this one holds, and runs
 * all of its layers from there on (a node that is `aligned` is entered at its first one alone). A node has
 * its rate of requests, wherever they enter. */
#pragma once

#include "arena.h"

enum {
	BERTH_MOST_LAYOUT_LAYERS = 512,
	BERTH_MOST_LAYOUT_KINDS = 8, /* that have times */
	BERTH_MOST_LAYOUT_LIMITS = 2
};

/* Of a node that holds the layers from .. to-1: each is [(n_layers+1)^2], at [from * (n_layers+1) + to]. */
typedef struct berth_layout_rates {
	double *per_s;      /* requests a second; 0: it does not hold them */
	double *most_per_s; /* however the others are laid; of a mode alone */
	/* By limit, seconds that a request which comes to such a node, at any layer, is there; NULL: none */
	double *time_s[BERTH_MOST_LAYOUT_LIMITS];
	/* That per_s is at; from its disk in each step. NULL: nobody asks */
	int64_t *batch, *read_bytes;
	/* Whose links hold for what it passes on, and for what it gets; NULL: the first */
	int32_t *link_out, *link_in;
} berth_layout_rates;

/* Equal nodes. */
typedef struct berth_layout_kind {
	const char *name;
	int64_t n_nodes;
	berth_layout_rates now; /* of ranges' modes, as berth_layout_choose has them */
	/* Ways to use such a node, as by steps of a batch: where it cannot hold some layers in one it can
	 * hold none that has these within. None: now stands, and the bound goes by it */
	const berth_layout_rates *mode; /* [n_modes] */
	int32_t n_modes;
	double *least_s[BERTH_MOST_LAYOUT_LIMITS]; /* [as time_s] of any mode; INFINITY: it cannot */
} berth_layout_kind;

/* Of the time that requests take through all layers. */
typedef struct berth_layout_limit {
	double most_s;        /* 0: none */
	const double *link_s; /* [as link_per_s] on the way, by link_out; NULL: no time */
	/* [n_layers+1] when layers are due: a range has no mode that takes longer from its first to its last;
	 * NULL: nobody has said */
	const double *due_s;
} berth_layout_limit;

typedef struct berth_layout_task {
	int32_t n_layers, n_kinds;
	const berth_layout_kind *kind; /* [n_kinds] */
	/* [n_links][n_kinds][n_kinds] requests a second that a node of the one kind passes on to all of the
	 * other together, and that one of the other gets from all of the one; INFINITY: no limit; 0: no link.
	 * NULL: no limits */
	const double *link_per_s;
	int32_t n_links; /* 0: one */
	bool aligned;
	berth_layout_limit limit[BERTH_MOST_LAYOUT_LIMITS];
	int32_t n_limits; /* that kinds have times for */
	bool strict;      /* no request goes on that would pass a group's last layer later than that is due */
	/* Its time and its cancel end a search, with what it has, and a bound, as berth_layout_over says;
	 * NULL: nothing does */
	const struct berth_search_cfg *cfg;
	bool spare; /* the user may end it before it has anything: another answer is there */
} berth_layout_task;

/* No mode fits yet: with berth_layout_offer one is put where no better one of the same number is. link: of
 * both directions. In mem. Fails: BERTH_ENOMEM. */
berth_status berth_layout_kind_new(berth_layout_kind *out, const char *name, int64_t n_nodes,
                                   int32_t n_layers, int32_t n_modes, berth_arena *mem, berth_err *err);
void berth_layout_offer(const berth_layout_kind *d, int32_t n_layers, int32_t mode, int32_t from, int32_t to,
                        double per_s, double most_per_s, const double *time_s, int64_t batch,
                        int64_t read_bytes, int32_t link);

/* Of each range the mode with the largest rate of those that are done when they are due. */
void berth_layout_choose(const berth_layout_task *x);

/* n nodes of a kind with the layers from .. to-1. */
typedef struct berth_layout_group {
	int32_t kind, from, to;
	int64_t n;
	double per_s;  /* requests a second that come to all of them together, at most n times the rate */
	int64_t batch; /* of their steps; 0: nobody has said */
	int64_t read_bytes; /* by each in each step */
} berth_layout_group;

/* What goes from one group to another; -1: where requests come from, and go to. */
typedef struct berth_layout_way {
	int32_t from, to;
	double per_s;
} berth_layout_way;

typedef struct berth_layers {
	double per_s;                            /* requests a second */
	double bound_per_s;                      /* no layout has more (raised by 1e-9) */
	double time_s[BERTH_MOST_LAYOUT_LIMITS]; /* of a request on the way that takes longest, by limit */
	double quickest_s; /* no request passes all layers quicker, of any layout; 0: nobody has said */
	int32_t n_groups, n_ways;
	berth_layout_group *group; /* ascending by their first layer; what adds nothing is left out */
	berth_layout_way *way;
} berth_layers;

/* Does no way take longer than it may? */
bool berth_layout_keeps(const berth_layout_task *x, const berth_layers *l);

/* The flow of given groups: their per_s, batch and read_bytes, all ways, and the sum, in *per_s. Exact, to
 * 2^-49 of the sum of all nodes' rates. out->group is read and written; ways in mem. tmp: scratch, another
 * arena, reset at exit. Fails: BERTH_EINVAL (names the group that is outside of the layers or cannot hold
 * what it is given, or the kind with fewer nodes), BERTH_ENOMEM. */
berth_status berth_layout_flow(const berth_layout_task *x, berth_layers *out, berth_arena *mem,
                               berth_arena *tmp, berth_err *err);

/* The least that a request takes through all layers, as a limit counts; INFINITY: none can. done_s
 * [n_layers+1], may be NULL: and through the first ones. No way where the first link_per_s is 0.
 * O(kinds * ranges). */
double berth_layout_quickest(const berth_layout_task *x, int32_t limit, double *done_s);

/* A group on a path, and the layers from .. to-1 that it runs there: it may hold more. */
typedef struct berth_layout_stage {
	int32_t group, from, to;
} berth_layout_stage;

typedef struct berth_layout_path {
	double per_s; /* requests a second that go this way, through all layers */
	int64_t n;    /* nodes of each group on it that no other path uses; 0: it shares what it needs */
	/* What these are sure to carry by themselves: as much as comes to them now. Of all paths together it
	 * is no more than the flow */
	double own_per_s;
	int32_t n_stages;
	berth_layout_stage *stage; /* [n_stages] */
} berth_layout_path;

/* A flow's ways as paths whose rates add up to it, the widest that is left each time. Whole nodes go to paths
 * in this order, each as many of a group as it has part in what comes to it, one at the least. In mem; tmp is
 * scratch, another arena, reset at exit. Fails: BERTH_ENOMEM. O(ways^2). */
berth_status berth_layout_paths(const berth_layers *l, berth_arena *mem, berth_arena *tmp,
                                berth_layout_path **path, int32_t *n_paths, berth_err *err);

/* Requests a second that no layout can have more of, whatever the links, that keeps all limits. tmp is
 * scratch. Fails: BERTH_ENOMEM. O(kinds * ranges). */
berth_status berth_layout_bound(const berth_layout_task *x, berth_arena *tmp, double *per_s, berth_err *err);

/* Does cfg (may be NULL) end it here? tries, may be NULL: how often one search has asked. At each 64th of
 * them progress is told: tries as evaluations, the best (per_s 0: none), the bound in seconds a request. */
bool berth_layout_over(const struct berth_search_cfg *cfg, int64_t *tries, double per_s, double bound_per_s);

/* Has the user had enough, where something that serves per_s is found? Then no search is begun any more. */
bool berth_layout_enough(const struct berth_search_cfg *cfg, double per_s);

/* For the first of n searches to come: cfg with its share of the time that is left, from now on, in *part;
 * NULL where cfg is. */
const struct berth_search_cfg *berth_layout_part(const struct berth_search_cfg *cfg, int n,
                                                 struct berth_search_cfg *part);

/* A layout of many requests a second: ruin and recreate for a flow that is asked for, which rises as long as
 * it is reached. Where that keeps no limit, others by when layers are due. start: groups to begin with, and
 * the bound if that is known; may be NULL. effort: tries for each flow asked for, 1 or more. In mem; tmp as
 * above. Work grows with the kinds, not with the nodes. Fails:
 * BERTH_EINVAL (no layers, more than BERTH_MOST_LAYOUT_LAYERS, a rate that is not finite or is negative,
 * naming it), BERTH_ENOMEM. per_s is 0 where the layers fit nowhere together. */
berth_status berth_layout_search(const berth_layout_task *x, const berth_layers *start, int32_t effort,
                                 uint64_t seed, berth_arena *mem, berth_arena *tmp, berth_layers *out,
                                 berth_err *err);

/* Shared by layout_limits.c and layout_search.c: the search by what layers are due and modes are chosen;
 * start [n] as above, the best of them counts, and the first one's bound. */
berth_status layout_check(const berth_layout_task *x, berth_err *err);
berth_status layout_ruin(const berth_layout_task *x, const berth_layers *start, int n, int32_t effort,
                         uint64_t seed, berth_arena *mem, berth_arena *tmp, berth_layers *out,
                         berth_err *err);
