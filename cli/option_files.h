/* The files of a command line keep apart: nothing that is written is a file that is read, nor one that is
 * written as well. Looked at once, for all verbs, before anything is done. */
#pragma once

#include "graph_format.h"
#include "options.h"

/* What commands write beside the files that are named: `train --env measured` the journal of its runs, behind
 * the name of the policy; `place --pareto` the points of a front and `train --seeds` policies, at most so
 * many. */
#define TRAIN_MEASURED_JOURNAL ".measured"
enum { PLACE_PARETO_POINTS = 64 };

/* Several outputs of one name: it has one %d and no other %. Then that of a number, 1 to PLACE_PARETO_POINTS:
 * NULL when memory runs out. */
bool cli_is_pattern(const char *path);
const char *cli_numbered(berth_arena *mem, const char *pattern, int32_t number);

/* After a command line was read: each output (CLI_FILE_OUT, CLI_FILE_ONLY, CLI_CHECKPOINT, CLI_FILE_BOTH) can
 * be written, and none is an input (CLI_FILE_IN, CLI_FILES_IN, CLI_FILES_MANY, CLI_FILE_BOTH, arguments,
 * words of CLI_COMMAND), another output, or where standard output or standard error go: by device and inode,
 * so that links help nobody. Streams may be the same. One document at most goes to standard output;
 * "/dev/stdout" becomes "-". Fails: BERTH_EINVAL, BERTH_EIO (it cannot be written), BERTH_ENOMEM. */
berth_status cli_check_files(cli *c, berth_err *err);

/* None of the outputs is what a text stands for that a file names, as an argument would: a graph, a system.
 * by: whose it is, for the message. Fails: BERTH_EINVAL, BERTH_ENOMEM. */
berth_status cli_check_named(cli *c, const char *text, const char *by, berth_err *err);
/* A text of at most INT32_MAX lines, in c->mem, and how many they are. Fails: EIO; EFORMAT, a byte of 0. */
berth_status cli_read_lines(cli *c, const char *file, char **text, size_t *lines, berth_err *err);

/* None of the outputs is a file beside the model that it names as its own (data of ONNX). Such files are
 * looked for, but not opened. Fails: BERTH_EINVAL, BERTH_ENOMEM. */
berth_status cli_check_external(cli *c, const char *model, const berth_read_report *r, berth_err *err);
