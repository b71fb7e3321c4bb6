/* train --env measured: the engine's part of training. */
#pragma once

#include "budget.h"
#include "engine.h"
#include "measured_train.h"
#include "result.h"
#include "train.h"

typedef struct cli_train_measured {
	bool on;
	cli_engine engine;
	int64_t runs;
	const char *placement; /* where the placement that was accepted goes; NULL: nowhere */
} cli_train_measured;

cli_train_measured cli_train_measured_default(void);

#define CLI_TRAIN_MEASURED(x) \
	CLI_ENGINE(&(x)->engine), CLI_TIMEOUT(&(x)->engine), \
	{"runs", 0, CLI_COUNT, &(x)->runs, "N", "measured: runs of the model at most"}, \
	{"placement", 0, CLI_FILE_ONLY, &(x)->placement, "OUT", \
	 "measured: write the placement, if it is accepted"}

typedef struct train_measured {
	berth_measured m;
	bool open, ended;
	bool ended_before;      /* resumed, but there is nothing left to go on with */
	berth_mtrain_cfg cfg;
	berth_mtrain t;
	berth_mtrain_result r;
	const char *engine, *placement;
	const cli_budget *budget;
	berth_journal *journal;
	const char *journal_path;
	int32_t replayed;       /* questions answered from the journal */
} train_measured;

/* Start the engine, profile, and put the profiled simulator into the item. What the engine says is kept in
 * POLICY.measured until the run has ended. With resume a killed run goes through it again, to the same bits.
 * Where POLICY is of a run that has ended, only out->ended_before is set. */
berth_status train_measured_open(cli *c, const cli_train_measured *x, const char *graph, const char *policy,
                                 bool resume, const cli_budget *b, berth_train_item *item,
                                 train_measured *out, berth_err *err);
/* Correct policy and simulator by real runs. The policy at path is replaced by the one that went on. When
 * interrupted it fails with BERTH_EINTERRUPTED and t->r is set; policy and journal stay as they are, to go on
 * with. */
berth_status train_measured_run(cli *c, const char *path, train_measured *t, berth_err *err);
void train_measured_close(train_measured *t);

/* The part of the document, and its text. */
extern const berth_result_kind train_measured_kind;
const berth_result *train_measured_result(cli *c, const train_measured *t);
void train_measured_print(const train_measured *t);
/* All output of a run with ended_before. */
berth_status train_measured_say_ended(cli *c, const char *policy, berth_err *err);
