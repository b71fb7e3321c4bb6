/* What the search for pipelines and its dynamic program share: ways to make a stage, ways to go on, and the
 * best plans so far. */
#pragma once

#include "pipelines.h"

enum {
	MOST_CUTS = 24,     /* runs of layers that borders of the program stand between */
	MOST_OPTIONS = 600, /* ways to make a stage for one size of micro-batches */
	MOST_FRONT = 24,    /* ways to one state */
	MOST_BEST = 256     /* plans that are valued whole */
};

typedef struct train_option {
	berth_train_stage g; /* parts alone */
	int32_t mask;        /* kinds */
	int32_t units[BERTH_MOST_TRAIN_KINDS];
	int32_t state; /* what it adds to a state's number */
	double cost;   /* share of all devices' speed that it holds, times what it takes */
} train_option;

/* Of an option with the layers of some cuts: once it is known to fit with `fits` micro-batches in flight. */
typedef struct train_known {
	double forward_s, backward_s, sync_s, joules;
	int32_t fits, lacks; /* lacks: it does not fit with so many; 0: not known */
} train_known;

typedef struct train_entry {
	double value; /* no plan that goes on from there has less */
	double sum_s, period_s, joules;
	double first_s; /* of its first stage and what that sends on, without what it sends back */
	double own_sync_s, behind_s; /* what the first stage, and the others, have left after its last pass */
	int32_t option, cut, state, before, next; /* before: the stages behind; next: of the same state */
} train_entry;

typedef struct train_candidate {
	double value;
	berth_train_plan plan;
} train_candidate;

/* A way that may go on. */
typedef struct train_pick {
	double value;
	int32_t way;
} train_pick;

typedef struct train_program {
	const berth_train_task *x;
	const atomic_int *cancel;
	int32_t cut[MOST_CUTS + 1], n_cuts; /* cut[0] = 0 .. cut[n_cuts] = n_layers */
	int32_t unit[BERTH_MOST_TRAIN_KINDS], level[BERTH_MOST_TRAIN_KINDS], step[BERTH_MOST_TRAIN_KINDS];
	int32_t n_states;
	double *work, *path_s, speed[BERTH_MOST_TRAIN_KINDS];
	train_option *opt; /* [n_opts] of the size at hand */
	int32_t n_opts;
	int64_t micro_batch, n_micro;
	train_entry *e; /* all ways; 0 is the end of the pipeline */
	int32_t n_entries;
	size_t entry_cap;
	int32_t *head[2]; /* [n_cuts+1][n_states] first way with as many stages; 0: none */
	train_candidate *best;  /* [n_best] by value */
	int32_t n_best;
	double looked_at, spent; /* stages that were tried; steps of the search */
	bool left_out;           /* ways, for there would be too many steps */
	train_known *stage;            /* [n_cuts+1][n_opts][n_cuts+1] by the last cut and the first */
	train_pick *pick;              /* [n_states * MOST_FRONT] of one cut */
	berth_train_progress *tell;
	void *ctx;
	berth_arena *tmp;
} train_program;

/* All plans of the size of micro-batches at hand into d->best, by about so many steps of work. Fails:
 * BERTH_ENOMEM, BERTH_EINTERRUPTED. */
berth_status train_program_solve(train_program *d, double work, berth_err *err);
