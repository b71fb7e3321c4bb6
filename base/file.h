/* Files: read whole, map, take, and replace atomically (temporary file, sync, rename, directory sync). */
#pragma once

#include "arena.h"
#include "inputs.h"
#include "status.h"

#include <sys/stat.h>
#include <sys/types.h>

/* A pipe, a device: at most that many bytes are read of it, so that one without an end is an error. */
#define BERTH_FILE_MOST_STREAM ((size_t)1 << 30)

/* kind, here and below: what the file is to be (inputs.h).
 * The whole file (a pipe to its end) into the arena, with a closing 0 not counted in *size. "-" is not
 * special. Fails: BERTH_EIO, BERTH_ENOMEM. */
berth_status berth_file_read(berth_reads kind, const char *path, berth_arena *mem, char **data, size_t *size,
                             berth_err *err);

/* Read-only mapping of a regular file, or what a pipe gives to its end; *size 0 and *data NULL where that is
 * nothing. Whoever writes into the file changes what is read: that is for readers that look at each byte
 * once and believe none. Undo with berth_file_unmap. Fails: BERTH_EIO, BERTH_ENOMEM. */
berth_status berth_file_map(berth_reads kind, const char *path, const unsigned char **data, size_t *size,
                            berth_err *err);
/* The same of a regular file that is open; path stands in messages. */
berth_status berth_file_map_open(int fd, const char *path, const unsigned char **data, size_t *size,
                                 berth_err *err);
/* Move what was mapped into memory of this process, where nobody changes it: for readers that count first and
 * read then, and for libraries. The file's pages are let go on the way. On error the mapping stays. Fails:
 * BERTH_ENOMEM, BERTH_EIO. O(size). */
berth_status berth_file_own(const char *path, const unsigned char **data, size_t size, berth_err *err);
/* berth_file_map and berth_file_own. */
berth_status berth_file_take(berth_reads kind, const char *path, const unsigned char **data, size_t *size,
                             berth_err *err);
void berth_file_unmap(const unsigned char *data, size_t size);
/* What berth_file_own has given will not be read again: its memory goes back to the system before it is
 * unmapped. */
void berth_file_spend(const unsigned char *data, size_t size);

/* Replace path by data[size]: readers see the old file or the new one, never a part. When it returns BERTH_OK
 * the new one outlasts a loss of power. It is written beside, as PATH.part-N. Several writers do not meet
 * there, and the last one to end wins; what a writer leaves that is killed goes with the next one. Who ends
 * the process in between can remove it (leftovers.h). path "-" writes to standard output; an existing path
 * that is no regular file (a pipe, /dev/null) is written in place. Of a symbolic link the target is replaced.
 * Fails: BERTH_EIO (also where the link leads nowhere), BERTH_ENOMEM; the old file stays, but where it is the
 * folder that cannot be synced. */
berth_status berth_file_write(const char *path, const void *data, size_t size, berth_err *err);

/* A part of what a file is to hold; borrowed. Parts of a mapped file need no memory of their own. */
typedef struct berth_file_piece {
	const void *data; /* [size] */
	size_t size;
} berth_file_piece;

/* berth_file_write of pieces[n], one behind the other. */
berth_status berth_file_write_pieces(const char *path, const berth_file_piece *piece, size_t n,
                                     berth_err *err);

/* pieces[n] as one, in mem; NULL: no memory. *size in bytes. */
void *berth_file_join(const berth_file_piece *piece, size_t n, berth_arena *mem, size_t *size);

/* Writes what a file is to hold to fd, bit by bit: 0, or -1 and errno. */
typedef int berth_file_teller(void *ctx, int fd);
/* berth_file_write of what tell writes: long texts are never in memory as a whole. wait false: without
 * waiting for the disk, by a process that is about to end. After a loss of power soon after the old file may
 * stand, or none. */
berth_status berth_file_write_told(const char *path, berth_file_teller *tell, void *ctx, bool wait,
                                   berth_err *err);

/* What stands beside a file, or files, until all of it is whole: berth_file_write in steps. */
typedef struct berth_draft {
	int fd; /* to write to; -1: it is kept, or dropped */
	/* the rest is file_replace.c's */
	char path[4096], part[4096];
	bool wait, in_place, there;
	mode_t mode;
	int note;
	size_t unsynced;
} berth_draft;

/* A draft of the file that path names; wait as in berth_file_write_told. Fails: as berth_file_write; d is
 * closed then. */
berth_status berth_draft_open(const char *path, bool wait, berth_draft *d, berth_err *err);
/* Write all of it, in steps that a signal need not wait for. 0, or -1 and errno. */
int berth_draft_write(berth_draft *d, const void *data, size_t size);
/* d[n] take their names, in this order, and no signal comes between them. Where one is not to be had, those
 * before keep theirs, and the others are dropped. All are closed. Fails: as berth_file_write. */
berth_status berth_drafts_keep(berth_draft *d, int n, berth_err *err);
/* Nothing where it is closed. errno stays. */
void berth_draft_drop(berth_draft *d);

/* The k-th of the names beside path, k from 0, that berth_file_write(path) may take: it removes what is
 * there. false: there are no more (nor of a path that is too long). */
bool berth_file_part(const char *path, int k, char *name, size_t size);

/* The little-endian number of 1 to 8 bytes at p. */
uint64_t berth_file_little(const unsigned char *p, size_t bytes);

/* What errno tells of that path, as in "PATH: cannot open: ...". */
berth_status berth_file_fail(berth_err *err, const char *what, const char *path);
/* The folder that path stands in, into buf: "." where it has none. */
void berth_file_folder(const char *path, char *buf, size_t size);
/* What these are made of. Write all of data[size], at the place where fd is; sync it; and sync the folder
 * that path stands in, so that its names outlast a loss of power. 0, or -1 and errno. */
int berth_file_write_all(int fd, const void *data, size_t size);
int berth_file_sync(int fd);
int berth_file_sync_folder(const char *path);

/* Is there something of that name? Fails where that cannot be told: BERTH_EIO, BERTH_ENOMEM. */
berth_status berth_file_there(const char *path, bool *there, berth_err *err);

/* Does `now` tell of the file that `before` told of, and was that not written since? Numbers of files are
 * used again: device, number, size and the time of the last change have to be equal. */
bool berth_file_is_same(const struct stat *now, const struct stat *before);

/* Is it no regular file, so that what is read of it is gone? False where nothing is there. */
bool berth_file_is_stream(const char *path);

/* Would berth_file_write(path) have a chance? Checked before long work. Fails: BERTH_EIO. */
berth_status berth_file_writable(const char *path, berth_err *err);

/* Let older name the file that path names now too, in place of what it named: path can then be replaced.
 * Nothing where path is no regular file, or where the file system has no second names. Fails: BERTH_EIO. */
berth_status berth_file_keep(const char *path, const char *older, berth_err *err);

/* Where files stand that berth keeps from one run to another: $XDG_CACHE_HOME/berth/NAME, else
 * $HOME/.cache/berth/NAME. Fails: BERTH_EIO where neither is set, BERTH_ENOMEM. */
berth_status berth_cache_path(const char *name, berth_arena *mem, const char **path, berth_err *err);

/* Make the folders that path stands in. Fails: BERTH_EIO, BERTH_ENOMEM. */
berth_status berth_make_folders(const char *path, berth_arena *tmp, berth_err *err);

/* ---- files that grow by whole pieces: journals and logs ---- */

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

/* ---- files that one process at a time has to itself (flock) ----
 *
 * * The kernel lets go of them when the process ends, however it ends: a file that is left behind keeps
 * nobody out. */

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
