/* Files that one process at a time has to itself (flock). The kernel lets go of them when the process ends,
 * however it ends: a file that is left behind keeps nobody out. */
#ifndef BERTH_FILE_LOCK_H
#define BERTH_FILE_LOCK_H

#include "arena.h"

#include <stdbool.h>
#include <sys/types.h>

/* The file of that name for writing, and for this process alone. Where there is none it is made, with the
 * permissions `mode` as the umask leaves them; 0: none is made. A descriptor to be closed, which lets go of
 * it; or -1 and errno, which is EWOULDBLOCK where another process has it, and EEXIST where the name is that
 * of something else: a link, a file of another user. */
int berth_file_hold(const char *name, mode_t mode);

/* Can errno after berth_file_hold mean that the file system knows no such locks? */
bool berth_file_holds_nothing(int why);

/* Behind the name of a path that is locked. */
#define BERTH_FILE_LOCK ".lock"

/* That path is written by this process alone, until berth_file_release: it has PATH.lock to itself. */
typedef struct berth_file_lock {
	int fd;                 /* -1: nothing is held */
	const char *name;
	int note;               /* of it, among what must not be left behind */
} berth_file_lock;

/* Nothing where the file system knows no locks. Fails: BERTH_EIO (another process has it: the message says
 * who writes, as in "another training"), BERTH_ENOMEM. */
berth_status berth_file_lock_take(const char *path, const char *who, berth_arena *mem, berth_file_lock *out,
                                  berth_err *err);
void berth_file_release(berth_file_lock *lock);

#endif
