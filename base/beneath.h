/* Files that another file names: data beside a model, further parts of it, what a folder of a model holds. A
 * stranger chose the name, so that it is looked up step by step and never leaves the folder. */
#pragma once

#include "file.h"

/* The file `name`, to be read, as the file at path `from` names it: in the folder that `from` stands in, or
 * below it. Symbolic links are followed where they lead to a file in there, and from `snapshots/VERSION` of a
 * cache of a hub to `blobs/HASH` beside `snapshots`. *fd is a regular file; nothing is waited for. Fails:
 * BERTH_EFORMAT (it leads out of the folder, or is no file), BERTH_EIO, BERTH_ENOMEM. */
berth_status berth_beneath_open(berth_reads kind, const char *from, const char *name, int *fd,
                                berth_err *err);

/* berth_file_map of that file. Undo with berth_file_unmap. */
berth_status berth_beneath_map(berth_reads kind, const char *from, const char *name,
                               const unsigned char **data, size_t *size, berth_err *err);
