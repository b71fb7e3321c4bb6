/* The new file of weights that `berth split` writes, from those that the model keeps its weights in. */
#ifndef BERTH_CLI_SPLIT_DATA_H
#define BERTH_CLI_SPLIT_DATA_H

#include "pieces.h"

/* Copy what p names, from files beside model, to path: a block at a time. Nothing where p names nothing.
 * Fails: BERTH_EFORMAT (a name that leads out of the model's folder), BERTH_EIO (a file is missing or too
 * short, or path cannot be written), BERTH_ENOMEM. */
berth_status split_data_write(const pieces_model *p, const char *model, const char *path, berth_arena *tmp,
                              berth_err *err);

/* Do the two files, which need not be there, stand in different folders? Fails: BERTH_EIO (a folder is not
 * there), BERTH_ENOMEM. */
berth_status split_data_apart(const char *a, const char *b, berth_arena *tmp, bool *apart, berth_err *err);

#endif
