/* Copies of a model for requests of unlike sizes that come in given shares: which copies there are, and how
 * many requests of each size go to each of them. After Ghannane, Abdelfattah (DiviML, arXiv 2308.00127),
 * whose requests are alike. */
#pragma once

#include "replicas.h"

enum { BERTH_MOST_SIZES = 16 };

/* What comes. */
typedef struct berth_requests {
	int32_t n;                /* sizes, 1 to BERTH_MOST_SIZES */
	const berth_graph *graph; /* [n] the model at each: the same operators */
	const double *share;      /* [n] of requests, above 0, sum 1 */
} berth_requests;

typedef struct berth_mix_copy {
	const int32_t *op_dev; /* [operators of a graph] for all sizes */
	double *per_s;         /* [n sizes] requests a second that it gets */
	int32_t most;          /* the size with the most bytes among those that it gets */
} berth_mix_copy;

typedef struct berth_mix {
	berth_mix_copy *copy; /* [n] */
	int32_t n;            /* 0: no copy fits */
	double per_s;         /* requests of all sizes; what no resource is above all of its time for */
	/* of one copy, the best that was looked at; of all on one device, the best one (-1: none fits) */
	double one_per_s, device_per_s;
	int32_t device;
	/* No copies have more, operators cut into parts and transfers and memory aside (load dual) */
	double bound_per_s;
	int64_t evaluations;
	bool interrupted; /* not all was tried; these are the best copies of what was found */
} berth_mix;

/* The copies that serve most requests a second in their shares.
 * Looked at are copies that a search placed for each size (berth_replicas_choose, as many as are best, at
 * most `most`), and one whole on each device. How many requests of each size each of these gets is a linear
 * program, solved by the simplex method: a device, a pool and, with contention, a channel has as many seconds
 * of work a second as it has slots. Copies that all together add less than a thousandth are left out. Where
 * the weights and tensors of the others do not fit together, or there are more than `most`, it is the best
 * copy for all sizes (where there is none, those that take most sizes) and then, one after the other, the one
 * that adds most and fits.
 * cfg as for berth_replicas_choose; a fifth of its time is for choosing among the copies, and where that or
 * the user's patience is over, the shares so far are the answer. mem holds the result and borrows nothing;
 * tmp is scratch, another arena, reset at exit. Fails: BERTH_EINVAL (sizes whose graphs have other operators;
 * a cost model with loads of its own; requests that take no time), BERTH_ELIMIT (simplex.h), and as
 * berth_replicas_choose. */
berth_status berth_mix_choose(const berth_requests *x, const berth_system *s, int32_t most,
                              const berth_method *method, const berth_search_cfg *cfg, berth_arena *mem,
                              berth_arena *tmp, berth_mix *out, berth_err *err);

/* All copies of m, one at least, as one graph, each at the largest size that it gets, and where its operators
 * stand: *op_dev. Fails: as berth_graph_union. */
berth_status berth_mix_unite(const berth_requests *x, const berth_mix *m, berth_arena *mem, berth_arena *tmp,
                             berth_graph *all, int32_t **op_dev, berth_err *err);
