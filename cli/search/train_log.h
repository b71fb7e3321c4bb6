/* The log of a training: one JSON line an update. Each step stands there once, also where a run was killed
 * and another one went on: the lines of steps that are made again are dropped. */
#ifndef BERTH_CLI_TRAIN_LOG_H
#define BERTH_CLI_TRAIN_LOG_H

#include "file.h"
#include "train.h"

typedef struct train_log {
	const char *path;       /* NULL: there is none, and nothing is done */
	berth_append file;
	bool resumed;           /* what is there may be of steps to come */
	berth_err why;          /* the first line that could not be written, and why */
} train_log;

/* path NULL: none. Without resume it begins empty. Fails: BERTH_EIO. */
berth_status train_log_open(const char *path, bool resume, train_log *out, berth_err *err);

void train_log_add(train_log *log, const berth_train_update *u);

/* Before a checkpoint: the lines of its steps outlast a loss of power. Fails: BERTH_EIO, also where a line
 * could not be written since the last time: that checkpoint is not to be, and a run that is resumed makes the
 * steps and their lines again. */
berth_status train_log_sync(train_log *log, berth_err *err);

void train_log_close(train_log *log);

#endif
