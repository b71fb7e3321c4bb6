/* Whose turn it is, and which pairs there is nothing left to learn of.
 *
 * An update is *flat* where the policy is sure of itself and learns nothing: all placements of the batch have
 * one reward, the entropy of a decision is below 0.1 nats, and the incumbent stays. A pair has *collapsed*
 * after 16 flat updates in a row. It then has its turn one time in 16, since what others learn may change it.
 * One update that is not flat brings it back. Its other turns go to the others. Where all have collapsed,
 * training is done. */
#pragma once

#include "learner.h"
#include "train.h"

typedef struct train_turns {
	int64_t next; /* turns had or passed so far */
	int32_t n_items;
	int64_t *flat; /* [n_items] flat updates in a row */
} train_turns;

/* Fails: BERTH_ENOMEM. */
berth_status train_turns_new(int32_t n_items, berth_arena *mem, train_turns *out, berth_err *err);

/* The item of that turn where all have theirs, in an order in which neighbours in the list are far apart. */
int32_t train_turns_spread(int64_t turn, int32_t n_items);

/* The next turn's item, in that order: neighbours are often one graph on several systems. -1: all have
 * collapsed. O(n_items). */
int32_t train_turns_next(train_turns *t);

/* An update of an item has told this; improved: its incumbent has changed. */
void train_turns_note(train_turns *t, int32_t item, const berth_step_stats *stats, bool improved);

bool train_turns_collapsed(const train_turns *t, int32_t item);

/* Items that have. */
int32_t train_turns_n_collapsed(const train_turns *t);

/* What the parts of training share: the state between two rounds. */

enum { TRAIN_DIGEST = 128 };

/* A pair's own memory, and what it starts with. */
typedef struct train_pair {
	berth_arena mem, tmp;
	berth_train_item item; /* its names; the problem while it is open */
	bool open;             /* of pairs that are streamed */
	int32_t n_ops;
	uint8_t *dev, *start;      /* [n_ops] while closed: the incumbent; what is imitated */
	int32_t *order;            /* [n_ops] of the incumbent; NULL: none had one yet */
	berth_portfolio portfolio; /* of pairs that are streamed without placements */
	double bound;
	berth_objective objective;
	int32_t rank;                  /* that runs its portfolio */
	char digest[TRAIN_DIGEST + 2]; /* SHA-256 of graph and system */
} train_pair;

/* Fine-tuning. */
typedef struct train_tune {
	int32_t n;                   /* pairs that are looked at: those kept aside, then those learned from */
	nn_real *best;               /* [parameters] the policy that is taken */
	double *first, *taken, *now; /* [n] values of the policies of the start, taken, looked at last */
	double gain;                 /* of the one that is taken: mean of log(first / taken) */
	int64_t looks, chosen, evaluations;
	char from[65]; /* digest of the policy of the start */
	char *kept;    /* [n_kept][TRAIN_DIGEST] digests of the pairs kept aside */
} train_tune;

typedef struct trainer {
	const berth_train_cfg *cfg;
	const berth_train_item *items; /* NULL: pairs are streamed */
	int32_t n_items;
	berth_arena *mem, *tmp, starts; /* starts: what is imitated, of pairs that are streamed */
	berth_search *search;           /* [n_items] */
	train_pair *pair;               /* [n_items] */
	berth_learner l;
	train_turns turns;
	/* The final search: evaluations of all items when it began, -1: not yet; items that had theirs;
	 * evaluations that it took, under smaller budgets too. */
	int64_t search_start, searched, search_spent;
	int64_t saved_budget; /* of the run that wrote the checkpoint; 0: none was read */
	const char *trained_on;
	double started, saved; /* wall seconds */
	double save_took;      /* seconds of the last checkpoint */
	berth_ranks *ranks, alone;
	double cpu_started;      /* CPU seconds, but for the waiting of ranks before */
	int64_t own_evaluations; /* of this rank, but for those in rounds */
	int64_t made_before;     /* evaluations, by earlier runs */
	/* Where the checkpoint before the present one is kept while training goes on. NULL: none is
	 * written. */
	const char *older;
	train_tune tune;
} trainer;

static inline bool trainer_cancelled(const trainer *w)
{
	return berth_ranks_cancelled(w->ranks);
}

/* work(ctx, i) for each i < n, several at once. Fails: as the first of them that does; BERTH_ENOMEM. */
berth_status trainer_each(trainer *w, int32_t n, berth_status (*work)(void *ctx, int32_t i, berth_err *err),
                          void *ctx, berth_err *err);

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

/* The pairs of a training: all held open, or, where they are streamed, each opened for its turn out of its
 * description, and closed after it. What is kept of a closed pair: its numbers, and the incumbent, a byte an
 * operator (and four where it has an order of its own). Both ways make the same bits. */

static inline bool trainer_streams(const trainer *w)
{
	return !w->items;
}

/* SHA-256 of the graph and of the system. tmp is scratch. Fails: BERTH_ENOMEM. */
berth_status trainer_digest(const berth_problem *p, berth_arena *tmp, char digest[TRAIN_DIGEST],
                            berth_err *err);

/* What is made small for pair i, whose problem is p: the objective of all pairs, or one of its own, drawn by
 * the seed. */
berth_objective trainer_objective(const trainer *w, int32_t i, const berth_problem *p);

/* The problem, the search with the incumbent, and the learner's encoding of pair i. What is open stays so.
 * One thread a pair. Fails: as cfg->open; BERTH_EFORMAT (the graph or the system is another than before, or
 * than with the rank that opened it first), BERTH_ENOMEM. */
berth_status trainer_open(trainer *w, int32_t i, berth_err *err);

/* As much of a search as takes an incumbent. Fails: BERTH_ENOMEM. */
berth_status trainer_open_slot(trainer *w, int32_t i, berth_err *err);

/* Close it, where pairs are streamed; its incumbent stays. Fails: BERTH_ENOMEM. */
berth_status trainer_close(trainer *w, int32_t i, berth_err *err);

/* The learner's: open the pairs of its batches, those of other ranks as slots. */
berth_status trainer_open_round(void *w, int32_t n, berth_err *err);

/* The incumbent's device and, where it has one, position of every operator, out [n_ops]; of an open or a
 * closed pair. Positions are 0 where it has no order. */
void trainer_incumbent(const trainer *w, int32_t i, int32_t *op_dev, int32_t *op_order);

/* Training over ranks (all_gather.h): each does the portfolio, the draws and the final search of some items,
 * and all know all of the state. One rank does everything, and there is nothing to trade. */

/* Does this rank write the files? */
static inline bool trainer_writes(const trainer *w)
{
	return w->cfg->path && w->ranks->me == 0;
}

/* Deal out n <= n_items pieces of so much work [n]: rank out [n]. Fails: BERTH_ENOMEM. */
berth_status trainer_deal(trainer *w, int32_t n, const int64_t *work, int32_t *rank, berth_err *err);

/* Each item's rank for the portfolio, by operators times devices. Fails: BERTH_ENOMEM. */
berth_status trainer_deal_items(trainer *w, berth_err *err);

/* What rank 0 says is true of all. Fails: as berth_ranks_trade. */
berth_status trainer_by_first(trainer *w, bool *x, berth_err *err);

/* Have all ranks the same version, settings, graphs and systems? And the same state? Fail: BERTH_EINVAL. */
berth_status trainer_check_inputs(trainer *w, berth_err *err);

berth_status trainer_check_state(trainer *w, berth_err *err);

/* What a search over n_ops operators has found: its evaluations and its incumbent. */
void trainer_pack_found(berth_pack *p, berth_search *s, int32_t n_ops);

/* The bounds, portfolios and incumbents that each rank has found for its items, to all. Fails: as
 * berth_ranks_trade. */
berth_status trainer_trade_starts(trainer *w, berth_err *err);

/* What each rank keeps of pairs that are streamed, those from first up to end; the largest sizes. Fail: as
 * berth_ranks_trade. */
berth_status trainer_trade_streamed(trainer *w, int32_t first, int32_t end, berth_err *err);

berth_status trainer_trade_sizes(trainer *w, learner_sizes *z, berth_err *err);

/* What each rank has done, evaluations of this one being own: out [n ranks] in w->mem. Fails: as
 * berth_ranks_trade. */
berth_status trainer_trade_done(trainer *w, int64_t own, berth_train_rank **out, berth_err *err);

/* Teachers. Before a policy learns by drawing it imitates what search has found for each pair (expert
 * iteration: T. Anthony, Z. Tian, D. Barber, "Thinking fast and slow with deep learning and tree search",
 * NeurIPS 2017). A pair's teacher is its incumbent. Three times, at its first turn and at a third and two
 * thirds of its turns, it is searched for a better one: at first from the best of the portfolio, then from
 * what the policy comes to. */

static inline bool trainer_teaches(const trainer *w)
{
	return w->cfg->teach > 0;
}

/* Turns that are taught, of all pairs; they come first. */
int64_t trainer_taught_turns(const trainer *w);

/* The next turn. Is it taught, and is its pair searched? */
bool trainer_turn_is_taught(const trainer *w);

bool trainer_turn_searches(const trainer *w);

/* The learner's: what annealing finds with cfg->teach evaluations, which are not counted. Where there are
 * several ranks it is not interrupted. Fails: BERTH_ENOMEM, BERTH_EINTERRUPTED. */
berth_status trainer_teach(void *w, int32_t pair, const int32_t *from, int32_t *op_dev, int32_t *order,
                           berth_score scores[2], berth_err *err);

/* Fine-tuning: training that begins at a policy, and keeps the best that it comes to.
 *
 * At the start and at up to 32 even places of the budget the policy is looked at: one pass of it (the method
 * `policy`, which tries the pass of the policy of the start, too) for each pair that is kept aside and for
 * each that is learned from. A policy is taken where no pair that is kept aside is worse than with the policy
 * of the start, and the mean of log(before / now) over all pairs is higher than that of the one taken before.
 * Learning ends early after 12 looks in a row that took none (early stopping, Prechelt 1998). All of it is a
 * function of the seed and the budget. */

static inline bool trainer_tunes(const trainer *w)
{
	return w->cfg->from != NULL;
}

/* Room, and the digests of what is kept aside. Fails: BERTH_ENOMEM. */
berth_status trainer_tune_open(trainer *w, berth_err *err);

/* One look at the policy of the start. Fails: BERTH_EINVAL (numbers that are not finite), BERTH_ENOMEM. */
berth_status trainer_tune_begin(trainer *w, berth_err *err);

/* The state was read, tune.best with it: look at that again. Fails: as above; BERTH_EFORMAT where it is not
 * what a look takes. */
berth_status trainer_tune_resume(trainer *w, berth_err *err);

/* After a round in which `learned` of `budget` evaluations were made: look where one is due. Fails: as
 * trainer_tune_begin. */
berth_status trainer_tune_look(trainer *w, int64_t learned, int64_t budget, berth_err *err);

/* Is it of no use to learn on? */
bool trainer_tune_over(const trainer *w);

/* The card of the policy that is taken, in mem. Fails: BERTH_ENOMEM. */
berth_status trainer_tune_card(const trainer *w, berth_arena *mem, berth_policy_card *out, berth_err *err);

/* What is told at the end, in w->mem. Fails: BERTH_ENOMEM. */
berth_status trainer_tune_report(const trainer *w, berth_train_tuned *out, berth_err *err);
