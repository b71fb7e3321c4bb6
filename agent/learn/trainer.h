/* What the parts of training share: the state between two rounds. */
#ifndef BERTH_TRAINER_H
#define BERTH_TRAINER_H

#include "train.h"
#include "train_turns.h"

enum { TRAIN_DIGEST = 128 };

/* A pair's own memory, and what it starts with. */
typedef struct train_pair {
	berth_arena mem, tmp;
	berth_train_item item;         /* its names; the problem while it is open */
	bool open;                     /* of pairs that are streamed; train_pairs.h */
	int32_t n_ops;
	uint8_t *dev, *start;          /* [n_ops] while closed: the incumbent; what is imitated */
	int32_t *order;                /* [n_ops] of the incumbent; NULL: none had one yet */
	berth_portfolio portfolio;     /* of pairs that are streamed without placements */
	double bound;
	berth_objective objective;
	int32_t rank;                  /* that runs its portfolio */
	char digest[TRAIN_DIGEST + 2]; /* SHA-256 of graph and system */
} train_pair;

/* Fine-tuning; train_tune.h. */
typedef struct train_tune {
	int32_t n;                /* pairs that are looked at: those kept aside, then those learned from */
	nn_real *best;            /* [parameters] the policy that is taken */
	double *first, *taken, *now; /* [n] values of the policies of the start, taken, looked at last */
	double gain;              /* of the one that is taken: mean of log(first / taken) */
	int64_t looks, chosen, evaluations;
	char from[65];            /* digest of the policy of the start */
	char *kept;               /* [n_kept][TRAIN_DIGEST] digests of the pairs kept aside */
} train_tune;

typedef struct trainer {
	const berth_train_cfg *cfg;
	const berth_train_item *items; /* NULL: pairs are streamed */
	int32_t n_items;
	berth_arena *mem, *tmp, starts; /* starts: what is imitated, of pairs that are streamed */
	berth_search *search;     /* [n_items] */
	train_pair *pair;         /* [n_items] */
	berth_learner l;
	train_turns turns;
	/* The final search: evaluations of all items when it began, -1: not yet; items that had theirs;
	 * evaluations that it took, under smaller budgets too. */
	int64_t search_start, searched, search_spent;
	int64_t saved_budget;     /* of the run that wrote the checkpoint; 0: none was read */
	const char *trained_on;
	double started, saved;    /* wall seconds */
	double save_took;         /* seconds of the last checkpoint */
	berth_ranks *ranks, alone;
	double cpu_started;       /* CPU seconds, but for the waiting of ranks before */
	int64_t own_evaluations;  /* of this rank, but for those in rounds */
	int64_t made_before;      /* evaluations, by earlier runs */
	/* Where the checkpoint before the present one is kept while training goes on. NULL: none is
	 * written. */
	const char *older;
	train_tune tune;
} trainer;

static inline bool trainer_cancelled(const trainer *w)
{
	return berth_ranks_cancelled(w->ranks);
}

/* Evaluations of all items so far. */
int64_t trainer_made(const trainer *w);

/* Write the checkpoint, all of the state in it, where this rank does that. Fails: BERTH_EIO, BERTH_ENOMEM. */
berth_status trainer_save(trainer *w, berth_err *err);
/* The same where there is a path and cfg->save_s seconds have gone since the last time, or a step takes a
 * tenth of them, step_s: an interruption would not wait for the next one. */
berth_status trainer_maybe_save(trainer *w, double step_s, berth_err *err);
/* Take the state from the checkpoint. *begun: it has one; in one that was written at the very start nothing
 * was learned yet. Fails: BERTH_EFORMAT (another training's), BERTH_EIO, BERTH_ENOMEM. */
berth_status trainer_load(trainer *w, bool *begun, berth_err *err);

/* Evaluations that the final search has at most. */
static inline int64_t trainer_reserve(const trainer *w)
{
	return w->cfg->from || w->cfg->teach > 0 ? 0 : w->cfg->evaluations / 5;
}

/* Is there nothing to be found of item i? It has no operators, or its incumbent is as good as the bound. */
bool trainer_is_proven(const trainer *w, int32_t i);

/* The final search: local search and annealing from every incumbent, several items at once, with what is left
 * of the budget and at most the reserve. An interrupted part leaves no trace, so that resuming makes the same
 * steps. Fails: BERTH_EIO, BERTH_ENOMEM. */
berth_status trainer_search(trainer *w, berth_err *err);

#endif
