/* Training a policy over graphs and systems, in steps that can be interrupted at any moment and gone on with
 * to the same bits. */
#pragma once

#include "learner.h"
#include "policy_file.h"
#include "portfolio.h"

/* A graph on a system to train on. The names are for reports. Every operator needs a legal device. */
typedef struct berth_train_item {
	const berth_problem *p;
	const char *graph, *system;
} berth_train_item;

/* One line of the live display and of the log. */
typedef struct berth_train_update {
	int64_t step, evaluations;
	int32_t item;
	const char *graph, *system;  /* of the item */
	berth_step_stats stats;
	double best_value, bound;    /* of the item */
	int64_t flat;                /* updates in a row that taught nothing of the item; trainer.h */
	bool collapsed;              /* so many that others get its budget */
	int32_t n_collapsed;         /* items that are so */
	double mean_reward;          /* of what is drawn, moving, mean over the items */
	bool is_taught;              /* stats are of a placement that was imitated, none was drawn */
	int64_t taught, to_teach;    /* turns that were taught, of so many that come first */
	double evaluations_per_s;    /* of this run */
} berth_train_update;

/* Behind the name of a checkpoint: the one before it, kept while the next one is written. */
#define BERTH_TRAIN_OLDER ".older"

typedef struct berth_train_cfg {
	berth_learner_cfg learner;
	berth_objective objective;
	bool each_objective; /* each pair has one of all, drawn by the seed (trainer_objective) */
	const char *engine; /* that all problems are valued for (engine_rules.h); NULL: none */
	uint64_t seed;
	int64_t evaluations;         /* over all items, portfolio and final search counted */
	/* Evaluations of a search for the teacher of each item (trainer.h), which come first, three
	 * times, and are not counted with those above; no search comes last then. 0: no teachers.
	 * Sequential decoding alone. */
	int64_t teach;
	berth_pool *pool;
	/* Who else trains the same, all with the same settings. The first one writes the checkpoint; all
	 * read it. NULL: nobody. Sequential decoding alone. */
	berth_ranks *ranks;
	/* not 0: write the checkpoint and return BERTH_EINTERRUPTED. With ranks it is that of any of them. */
	const atomic_int *cancel;
	/* Pair i, for pairs that are streamed: opened for its turns, the same each time, by several threads
	 * at once. All of it in mem; tmp is scratch. Sequential decoding alone. */
	berth_status (*open)(void *ctx, int32_t i, berth_arena *mem, berth_arena *tmp, berth_train_item *out,
	                     berth_err *err);
	void *open_ctx;
	/* Fine-tuning (trainer.h): the policy to begin with, whose settings learner has but for at_once;
	 * NULL: fresh weights. Pairs that are held alone. Nothing is imitated before, and no search
	 * comes last. */
	const berth_policy_file *from;
	const berth_train_item *kept; /* [n_kept] pairs that are looked at and not learned from */
	int32_t n_kept;
	const char *path;            /* checkpoint; NULL: none is written */
	bool resume;                 /* go on from the checkpoint at path, where there is one */
	double save_s;               /* seconds between checkpoints; default 1. Does not change the result */
	void (*update)(void *ctx, const berth_train_update *u); /* NULL: none. Each rank calls its own */
	/* Before each checkpoint, with update_ctx: where it fails none is written, and training ends. NULL:
	 * none. */
	berth_status (*saving)(void *ctx, berth_err *err);
	void *update_ctx;
} berth_train_cfg;

typedef struct berth_train_best {
	double value, portfolio_value; /* NAN: nothing feasible */
	const char *portfolio_method; /* whose answer that is */
	int32_t *op_dev;             /* [n_ops] of the incumbent; NULL where pairs are streamed */
	const char *graph, *system;  /* as the item says */
	bool collapsed;              /* nothing is left to learn of the item */
	berth_objective objective;
} berth_train_best;

/* What a rank did in this run; a run that is resumed makes the portfolio anew. */
typedef struct berth_train_rank {
	const char *host;
	int64_t evaluations;
	double cpu_s;                /* without waiting for others and what goes over the wire */
} berth_train_rank;

/* A pair that fine-tuning has looked at: one pass of the policy of the start, and of the one taken. */
typedef struct berth_train_look {
	const char *graph, *system;
	bool kept;                   /* aside: it was not learned from */
	double before, after;        /* NAN: it does not fit */
} berth_train_look;

/* What fine-tuning came to. */
typedef struct berth_train_tuned {
	int64_t looks, taken;        /* taken: the look that is written; 0: the policy of the start */
	int64_t evaluations;         /* of all looks; not counted with those of training */
	double cpu_s;                /* of all, by a rule of thumb: the same in each run */
	bool over;                   /* it ended before its budget did */
	int32_t n_pairs;
	berth_train_look *pair;      /* [n_pairs] those kept aside first */
} berth_train_tuned;

typedef struct berth_train_result {
	int64_t evaluations, steps;
	int64_t taught;              /* steps of imitating teachers, among them */
	int64_t searched;            /* evaluations that final searches took */
	int64_t before;              /* evaluations of the runs before this one */
	bool resumed;
	bool nothing;                /* the checkpoint is of a larger budget, and has made more than asked */
	bool done;                   /* learning ended early: all items have collapsed */
	int32_t n_collapsed;
	berth_train_best *best;      /* [n_items] */
	berth_train_tuned tuned;     /* with cfg->from; else all 0 */
	int32_t n_ranks;
	berth_train_rank *rank;      /* [n_ranks] */
} berth_train_result;

berth_train_cfg berth_train_cfg_default(void);

/* CPU seconds that an evaluation of a pair takes, drawn, scored and learned from, by a rule of thumb. */
double berth_train_cost_s(const berth_problem *p);

/* Train: the portfolio, with cfg->teach the imitation of teachers, then steps over the items in turn, then a
 * search from every incumbent with a fifth of the evaluations. Items of which nothing is left to learn give
 * their turns to the others. Where all are so, learning ends before its budget does (trainer.h). One seed
 * gives one policy to the bit, for any number of threads and ranks, interrupted or not.
 * Resumed with a larger budget than the checkpoint's, learning goes on under the new one. With a smaller one
 * it goes on up to that. Where the checkpoint is beyond it, nothing is done, and the file stays as it is.
 * items NULL: pairs are streamed by cfg->open, so that memory holds those of a round alone, and of each other
 * some 2 KB and 5 bytes an operator at most. The bits are the same.
 * The checkpoint has the policy and the whole state. Results live in mem. Fails: BERTH_EINVAL,
 * BERTH_EINFEASIBLE, BERTH_EFORMAT (a checkpoint of something else), BERTH_EIO, BERTH_ENOMEM; what another
 * rank failed with; BERTH_EUNSUPPORTED (ranks with another decoding); BERTH_EINTERRUPTED with the result
 * set. */
berth_status berth_train(const berth_train_cfg *cfg, const berth_train_item *items, int32_t n_items,
                         berth_arena *mem, berth_arena *tmp, berth_train_result *out, berth_err *err);
