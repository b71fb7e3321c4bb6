/* Files are replaced atomically: a draft stands beside the file until it is whole, and then takes its name.
 * Signals wait only while a draft is made or takes its name; one that ends the process in between takes the
 * draft along (leftovers.h). */
#include "file.h"

#include "leftovers.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

/* ---- signals ---- */

/* Signals wait from here on; was: those that waited before. */
static void hold_signals(sigset_t *was)
{
	sigset_t all;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, was);
}

static void let_signals(const sigset_t *was)
{
	pthread_sigmask(SIG_SETMASK, was, NULL);
}

/* A file that grows beyond the process's limit is an error of the write; its signal has nothing to add. */
static void hold_limit(sigset_t *was)
{
	sigset_t limit;
	sigemptyset(&limit);
	sigaddset(&limit, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &limit, was);
}

static void let_limit(const sigset_t *was)
{
	sigset_t pending, limit;
	int which, why = errno;
	sigemptyset(&limit);
	sigaddset(&limit, SIGXFSZ);
	if (sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1)
		sigwait(&limit, &which);
	pthread_sigmask(SIG_SETMASK, was, NULL);
	errno = why;
}

/* The permissions of the file that is replaced; false: there is none, or errno tells what is wrong. */
static bool mode_of(const char *path, mode_t *mode)
{
	struct stat st;
	bool there = stat(path, &st) == 0;
	if (there)
		*mode = st.st_mode & 0777;
	return there;
}

/* ---- parts: what is written beside a file, to be renamed when it is whole ---- */

/* As many writers of one file at once have names that are known; more have names of their process. */
enum { PARTS = 8 };

static bool name_part(const char *path, int k, char *name, size_t size)
{
	return (size_t)snprintf(name, size, "%s.part-%d", path, k) < size;
}

bool berth_file_part(const char *path, int k, char *name, size_t size)
{
	struct stat st;
	char *target = lstat(path, &st) == 0 && S_ISLNK(st.st_mode) ? realpath(path, NULL) : NULL;
	bool named = k < PARTS && name_part(target ? target : path, k, name, size);
	free(target);
	return named;
}

/* Why the file of that name is not to be had: it is somebody else's. */
static bool is_taken(int why)
{
	return why == EWOULDBLOCK || why == EEXIST || why == EACCES || why == ELOOP || why == EISDIR ||
	       why == ENXIO;
}

/* Remove the part of a writer that was killed. */
static void drop_part(const char *name)
{
	int fd = berth_file_hold(name, 0);
	if (fd < 0)
		return;
	unlink(name);
	close(fd);
}

/* The first part that nobody else writes. */
static int open_part(const char *path, mode_t mode, char *name, size_t size)
{
	for (int k = 0; k < PARTS; k++) {
		name_part(path, k, name, size);
		drop_part(name); /* its permissions may be other ones */
		int fd = berth_file_hold(name, mode);
		if (fd >= 0) {
			/* Whatever a writer that is gone has left in it. */
			if (ftruncate(fd, 0) == 0)
				return fd;
			int why = errno;
			unlink(name);
			close(fd);
			errno = why;
			return -1;
		}
		if (!is_taken(errno) && !berth_file_holds_nothing(errno))
			return -1;
	}
	/* A part of a name that is this process's own. */
	int fd = -1;
	for (int k = 0; fd < 0; k++) {
		snprintf(name, size, "%s.part-%ld-%d", path, (long)getpid(), k);
		fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
		if (fd < 0 && errno != EEXIST && errno != EINTR)
			return -1;
	}
	return fd;
}

/* ---- drafts ---- */

/* The file that path leads to; *target is to be freed. */
static berth_status find_target(const char *path, char **target, berth_err *err)
{
	*target = realpath(path, NULL);
	if (*target)
		return BERTH_OK;
	if (errno == ENOENT)
		return berth_fail(err, BERTH_EIO,
		                  "%s: cannot write: it is a symbolic link that leads nowhere", path);
	return berth_file_fail(err, "follow the symbolic link", path);
}

static bool is_link(const char *path)
{
	struct stat st;
	return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

/* No signal comes between a part and the note of it. */
static berth_status open_draft_part(berth_draft *d, berth_err *err)
{
	sigset_t was;
	if (strlen(d->path) + sizeof ".part-" + 40 > sizeof d->part)
		return berth_fail(err, BERTH_EIO, "%.200s...: path too long", d->path);
	d->there = mode_of(d->path, &d->mode);
	if (!d->there && errno != ENOENT)
		return berth_file_fail(err, "look at", d->path);
	hold_signals(&was);
	d->fd = open_part(d->path, d->there ? 0600 : 0666, d->part, sizeof d->part);
	int why = errno;
	if (d->fd >= 0)
		d->note = berth_leftover_file(d->part);
	let_signals(&was);
	errno = why;
	return d->fd >= 0 ? BERTH_OK : berth_file_fail(err, "create", d->path);
}

static berth_status open_in_place(berth_draft *d, berth_err *err)
{
	d->in_place = true;
	do
		d->fd = open(d->path, O_WRONLY | O_CLOEXEC);
	while (d->fd < 0 && errno == EINTR);
	return d->fd >= 0 ? BERTH_OK : berth_file_fail(err, "open for writing", d->path);
}

static berth_draft standard_output(void)
{
	return (berth_draft){.fd = STDOUT_FILENO, .note = -1, .in_place = true, .path = "standard output"};
}

berth_status berth_draft_open(const char *path, bool wait, berth_draft *d, berth_err *err)
{
	struct stat st;
	*d = (berth_draft){.fd = -1, .note = -1, .wait = wait};
	if (strcmp(path, "-") == 0) {
		*d = standard_output();
		return BERTH_OK;
	}
	bool known = stat(path, &st) == 0;
	if (!known && errno != ENOENT)
		return berth_file_fail(err, "look at", path);
	bool special = known && !S_ISREG(st.st_mode);
	if (!special) {
		/* Of a symbolic link the target is replaced. */
		char *target = NULL;
		if (is_link(path))
			BERTH_TRY(find_target(path, &target, err));
		bool fits = (size_t)snprintf(d->path, sizeof d->path, "%s", target ? target : path) <
		            sizeof d->path;
		free(target);
		if (!fits)
			return berth_fail(err, BERTH_EIO, "%.200s...: path too long", path);
	} else if ((size_t)snprintf(d->path, sizeof d->path, "%s", path) >= sizeof d->path)
		return berth_fail(err, BERTH_EIO, "%.200s...: path too long", path);
	return special ? open_in_place(d, err) : open_draft_part(d, err);
}

/* Much that is left to the end to be synced would make a signal wait for it, and so would many pages of a
 * draft that is to be removed: behind the first ones what is synced leaves memory. */
static int sync_some(berth_draft *d, size_t size)
{
	enum { MOST = 16 << 20, KEPT = 256 << 20 };
	d->unsynced += size;
	if (d->in_place || !d->wait || d->unsynced < MOST)
		return 0;
	d->unsynced = 0;
	int bad = berth_file_sync(d->fd);
	posix_fadvise(d->fd, KEPT, 0, POSIX_FADV_DONTNEED); /* a wish: nothing hangs on it */
	return bad;
}

int berth_draft_write(berth_draft *d, const void *data, size_t size)
{
	enum { STEP = 8 << 20 };
	sigset_t was;
	int bad = 0;
	hold_limit(&was);
	for (size_t at = 0, n; at < size && !bad; at += n) {
		n = size - at < STEP ? size - at : STEP;
		bad = berth_file_write_all(d->fd, (const char *)data + at, n) != 0 || sync_some(d, n) != 0;
	}
	let_limit(&was);
	return bad ? -1 : 0;
}

static void close_draft(berth_draft *d)
{
	if (d->fd > 2) /* never what the shell has opened */
		close(d->fd);
	d->fd = -1;
}

void berth_draft_drop(berth_draft *d)
{
	int why = errno;
	if (d->fd >= 0 && !d->in_place) {
		unlink(d->part);
		berth_leftover_forget(d->note);
	}
	close_draft(d);
	errno = why;
}

static int settle(const berth_draft *d)
{
	if (d->in_place)
		return 0;
	return (d->there && fchmod(d->fd, d->mode) != 0) || (d->wait && berth_file_sync(d->fd) != 0) ? -1 : 0;
}

/* The part is held until it has its name: nobody takes it over before. */
static int take_name(berth_draft *d)
{
	if (!d->in_place && rename(d->part, d->path) != 0)
		return -1;
	if (!d->in_place)
		berth_leftover_named(d->note);
	close_draft(d); /* what it could tell, the sync has told */
	return 0;
}

/* The draft that did not take its name; n: all did. No signal comes between them. */
static int take_names(berth_draft *d, int n)
{
	sigset_t was;
	int i = 0;
	hold_signals(&was);
	while (i < n && take_name(&d[i]) == 0)
		i++;
	int why = errno;
	let_signals(&was);
	errno = why;
	return i;
}

/* Draft i failed; those that have their names keep them. */
static berth_status drop_all(berth_draft *d, int i, int n, berth_err *err)
{
	berth_status st = berth_file_fail(err, "write", d[i].path);
	for (int k = 0; k < n; k++)
		berth_draft_drop(&d[k]);
	return st;
}

berth_status berth_drafts_keep(berth_draft *d, int n, berth_err *err)
{
	int i = 0;
	while (i < n && settle(&d[i]) == 0)
		i++;
	if (i == n)
		i = take_names(d, n);
	if (i < n)
		return drop_all(d, i, n, err);
	for (i = 0; i < n; i++) {
		if (d[i].wait && !d[i].in_place && berth_file_sync_folder(d[i].path) != 0)
			return berth_file_fail(err, "make it outlast a loss of power", d[i].path);
		if (!d[i].in_place) {
			char name[4096];
			for (int k = 0; k < PARTS && name_part(d[i].path, k, name, sizeof name); k++)
				drop_part(name);
		}
	}
	return BERTH_OK;
}

/* ---- whole files ---- */

/* What a file is to hold: pieces, or what a function tells; and whether to wait for the disk. */
typedef struct content {
	const berth_file_piece *piece;
	size_t n;
	berth_file_teller *tell;
	void *ctx;
	bool wait;
} content;

static int write_content(berth_draft *d, const content *what)
{
	if (what->tell) {
		sigset_t was;
		hold_limit(&was);
		int bad = what->tell(what->ctx, d->fd);
		let_limit(&was);
		return bad;
	}
	for (size_t i = 0; i < what->n; i++)
		if (berth_draft_write(d, what->piece[i].data, what->piece[i].size) != 0)
			return -1;
	return 0;
}

static berth_status write_file(const char *path, const content *what, berth_err *err)
{
	berth_draft d;
	BERTH_TRY(berth_draft_open(path, what->wait, &d, err));
	return write_content(&d, what) == 0 ? berth_drafts_keep(&d, 1, err) : drop_all(&d, 0, 1, err);
}

berth_status berth_file_write(const char *path, const void *data, size_t size, berth_err *err)
{
	return berth_file_write_pieces(path, &(berth_file_piece){data, size}, 1, err);
}

void *berth_file_join(const berth_file_piece *piece, size_t n, berth_arena *mem, size_t *size)
{
	*size = 0;
	for (size_t i = 0; i < n; i++)
		*size += piece[i].size;
	char *all = berth_arena_alloc(mem, *size, 1);
	size_t at = 0;
	for (size_t i = 0; i < n && all; at += piece[i++].size)
		if (piece[i].size)
			memcpy(all + at, piece[i].data, piece[i].size);
	return all;
}

berth_status berth_file_write_pieces(const char *path, const berth_file_piece *piece, size_t n,
                                     berth_err *err)
{
	return write_file(path, &(content){.piece = piece, .n = n, .wait = true}, err);
}

berth_status berth_file_write_told(const char *path, berth_file_teller *tell, void *ctx, bool wait,
                                   berth_err *err)
{
	return write_file(path, &(content){.tell = tell, .ctx = ctx, .wait = wait}, err);
}

/* Can a file be made beside path? */
static berth_status writable_beside(const char *path, berth_err *err)
{
	char dir[4096];
	berth_file_folder(path, dir, sizeof dir - 2);
	strcat(dir, "/."); /* of a file: not a directory */
	return access(dir, W_OK | X_OK) == 0 ? BERTH_OK : berth_file_fail(err, "create a file here", path);
}

berth_status berth_file_writable(const char *path, berth_err *err)
{
	struct stat st;
	if (strcmp(path, "-") == 0)
		return BERTH_OK;
	if (stat(path, &st) == 0) {
		if (S_ISDIR(st.st_mode))
			return berth_fail(err, BERTH_EIO, "%s: cannot write: it is a directory", path);
		if (access(path, W_OK) != 0)
			return berth_file_fail(err, "write", path);
		if (!S_ISREG(st.st_mode))
			return BERTH_OK;
	}
	if (!is_link(path))
		return writable_beside(path, err);
	char *target;
	BERTH_TRY(find_target(path, &target, err));
	berth_status found = writable_beside(target, err);
	free(target);
	return found;
}
