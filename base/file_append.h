/* Files that grow by whole pieces: journals and logs. */
#ifndef BERTH_FILE_APPEND_H
#define BERTH_FILE_APPEND_H

#include "status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct berth_append {
	const char *path;       /* the caller's, who keeps it */
	int fd;                 /* -1: closed */
	bool regular;           /* else a pipe or a terminal: of that nothing is cut, and nothing is synced */
	bool named;             /* the folder was synced since it was opened */
	bool lost;              /* a sync has failed: what the file has is not known */
	int64_t size;           /* of the whole pieces */
} berth_append;

/* Open the file at path, or make one. Pieces go behind what is there. *out is closed where it fails:
 * BERTH_EIO, also where another process has it open for the same. */
berth_status berth_append_open(const char *path, berth_append *out, berth_err *err);

/* Keep the first size bytes only. Fails: BERTH_EIO. */
berth_status berth_append_cut(berth_append *a, int64_t size, berth_err *err);

/* Add a piece. Where that fails (BERTH_EIO) the file has the pieces before it. */
berth_status berth_append_add(berth_append *a, const void *data, size_t size, berth_err *err);

/* What was added outlasts a loss of power. Fails: BERTH_EIO. All fails from then on: a sync that follows one
 * that failed may succeed though bytes are gone. */
berth_status berth_append_sync(berth_append *a, berth_err *err);

/* Nothing where it is closed. */
void berth_append_close(berth_append *a);

#endif
