/* The parts of berth train: its pairs (train_items.c), what is kept of its updates (train_log.c), and what is
 * told of it (train_print.c, of several seeds train_seeds.c). */
#pragma once

#include "budget.h"
#include "cli_granularity.h"
#include "engine_plan.h"
#include "engine_rules.h"
#include "file.h"
#include "fine_tune.h"
#include "progress.h"
#include "train.h"
#include "train_measured.h"

#include <sys/stat.h>

/* The log: one JSON line an update. Each step stands there once, also where a run was killed and another one
 * went on: the lines of steps that are made again are dropped. */
typedef struct train_log {
	const char *path; /* NULL: there is none, and nothing is done */
	berth_append file;
	bool resumed;     /* what is there may be of steps to come */
	berth_err why;    /* the first line that could not be written, and why */
} train_log;

/* What an update told of its pair. */
typedef struct train_point {
	double evaluations;                                   /* so far, of all pairs */
	double best_value, lower_bound, mean_reward, entropy; /* NAN: none */
} train_point;

typedef struct train_curve {
	train_point *point; /* [n] */
	int32_t n;
	size_t cap;
} train_curve;

/* Learning curves, pair by pair, for the page. */
typedef struct train_curves {
	berth_arena mem;
	const berth_train_item *item; /* [n_items], borrowed */
	train_curve *curve;           /* [n_items]; NULL: none are asked for */
	int32_t n_items;
	bool failed;                  /* out of memory; told by train_curves_put */
} train_curves;

typedef struct train_args {
	cli_texts on;
	const char *log, *out, *decoding, *env, *report, *pairs;
	cli_train_measured measured;
	bool resume, fine_tune, each_objective;
	int64_t tight; /* every how many pairs; 0: none */
	int64_t at_once, teach, width;
	int64_t seeds; /* trainings, from --seed on; 0: one, whose policy is named as it stands */
	cli_budget budget;
} train_args;

/* One of the trainings of --seeds, and what it came to. Values [n_items] of its pairs: of one pass of its
 * policy, and the best that training found. NAN: nothing that fits. Ratios: geometric means over the best
 * heuristics'. */
typedef struct train_seed {
	uint64_t seed;
	const char *policy, *stopped;
	int64_t evaluations;
	bool ended; /* it was not interrupted */
	int32_t *pair, n_items; /* which of train_seeds.pair they are */
	double *pass, *found;
	double pass_ratio, found_ratio;
} train_seed;

typedef struct train_seeds {
	train_seed *seed;        /* [n] */
	int32_t n, n_pairs;
	/* [n_pairs] --tight draws memories with each seed, --fine-tune what is kept aside */
	struct train_pair {
		const berth_train_best *best; /* of the seed that first had it: names, heuristic, objective */
		const berth_system *on;
	} *pair;
	size_t cap;
} train_seeds;

typedef struct train_run {
	const cli *c;
	const train_args *a;
	/* of the file of --pairs, and how many pairs there are, with it or without */
	const char **graph, **system;
	int32_t n_pairs;
	const berth_engine_rules *engine; /* of --for; NULL: none */
	cli_granularity whole;                   /* what it keeps whole */
	/* [n_items] in the order of pairs; NULL: they are too many to be held */
	berth_train_item *item;
	int32_t n_items;
	berth_train_cfg cfg;
	berth_train_result result;
	train_measured measured;  /* of --env measured */
	berth_policy_file from;   /* of --fine-tune, with what follows */
	berth_fine_tune parts;
	cli_texts left_out;       /* pairs that nothing fits: "GRAPH on SYSTEM: WHY" */
	double wall_s;
	train_log log;
	berth_ranks *ranks;       /* the first one writes and speaks */
	berth_file_lock lock;     /* of the policy */
	train_curves curves;
	cli_progress progress;
	double told;
	struct stat before; /* the file of the policy as it was, all 0: it was not there */
	train_seeds *seeds; /* NULL: this training is the only one */
	bool interrupted;
} train_run;

/* ---- pairs ---- */

/* The pairs: each graph of the command line on each of its systems, or those of --pairs: a pair a line,
 * "GRAPH SYSTEM"; what follows a # is a comment. With --fine-tune its policy is read, pairs that nothing was
 * found for are left out, each is warned of, and the rest is split: t->item are then those that are learned
 * from. Fails: BERTH_EINVAL (a file beside graphs or systems of the command line, or neither; too many), with
 * the line BERTH_EFORMAT; BERTH_EINFEASIBLE (no pair is left), and as loading and berth_fine_tune_split
 * do. */
berth_status train_items_open(cli *c, train_run *t, berth_err *err);

/* berth_train_cfg.open of a training whose pairs are not held; ctx: the run. */
berth_status train_items_stream(void *ctx, int32_t i, berth_arena *mem, berth_arena *tmp,
                                berth_train_item *out, berth_err *err);

/* ---- updates ---- */

/* path NULL: none. Without resume it begins empty. Fails: BERTH_EIO. */
berth_status train_log_open(const char *path, bool resume, train_log *out, berth_err *err);

void train_log_add(train_log *log, const berth_train_update *u);

/* Before a checkpoint: the lines of its steps outlast a loss of power. Fails: BERTH_EIO, also where a line
 * could not be written since the last time: that checkpoint is not to be, and a run that is resumed makes the
 * steps and their lines again. */
berth_status train_log_sync(train_log *log, berth_err *err);

void train_log_close(train_log *log);

/* Begin with no points. train_curves_free(x) has to follow. Fails: BERTH_ENOMEM. */
berth_status train_curves_new(const berth_train_item *item, int32_t n_items, train_curves *out,
                              berth_err *err);
void train_curves_free(train_curves *x);

/* Add an update. Points of its pair that are not before it go: they are of a run that went on to the same
 * bits. */
void train_curves_add(train_curves *x, const berth_train_update *u);

/* Add the updates of a training log, which a run is about to go on with. Lines that are no updates of these
 * pairs are passed over, and so is a log that is not there. tmp is scratch, reset at exit. Fails: BERTH_EIO,
 * BERTH_ENOMEM. */
berth_status train_curves_read(train_curves *x, const char *log, berth_arena *tmp, berth_err *err);

/* "curves": [{graph, system, evaluations, best_value, lower_bound, mean_reward, entropy}] and "left_out".
 * resumed: it went on from a checkpoint. Fails: BERTH_ENOMEM. */
berth_status train_curves_put(berth_json_out *w, const train_curves *x, bool resumed, berth_err *err);

/* ---- what is told ---- */

/* Why it ended, as --json tells it. */
const char *train_stopped_by(const train_run *t);

/* The document or the text, and the page of --report. One of several trainings is added to them instead.
 * Fails: BERTH_EIO, BERTH_ENOMEM. */
berth_status train_tell(cli *c, const train_run *t, berth_err *err);

/* One more of several trainings, which has ended: its policy is tried on each pair. Fails: BERTH_EIO,
 * BERTH_ENOMEM. */
berth_status train_seeds_add(cli *c, const train_run *t, berth_err *err);

/* The document or the text of all of them. Fails: BERTH_ENOMEM. */
berth_status train_tell_seeds(cli *c, const train_seeds *x, berth_err *err);
