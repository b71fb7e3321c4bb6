/* The best placement so far, kept beside the search, so that it can be written while the search goes on or
 * hangs: what `place` does where an interruption finds it unable to end by itself (signals.h). */
#pragma once

#include "cli.h"
#include "decoder_uses.h"

#include <pthread.h>

typedef struct place_rescue {
	const char *path;            /* NULL: nothing is to be written */
	const berth_graph *g;        /* that the file is about */
	const berth_system *s;
	const berth_decoder *decoder; /* where the answer must hold for prefill too; else NULL */
	const char *use;              /* of --use; NULL: not given */
	const berth_method *method;
	bool for_engine; /* what the search starts from can be told the engine: it stands */
	berth_objective objective;
	berth_placement as;          /* what the file says, but for the answer */
	bool written;

	pthread_mutex_t lock;        /* of what follows */
	berth_score score;           /* worst: none yet */
	double bound;
	int64_t evaluations;
	int32_t *op_dev, *order;     /* [n_ops of the search] */
	bool has_order;
} place_rescue;

/* Begin to keep what the search of p finds: cfg gets the function that does it. With a path the names and
 * digests of its file are found now, once. Set path, g, s, decoder, use, method before. Fails:
 * BERTH_ENOMEM. */
berth_status place_rescue_open(cli *c, const berth_problem *p, berth_search_cfg *cfg, place_rescue *x,
                               berth_err *err);

/* The answer is in its file. */
void place_rescue_done(place_rescue *x);
