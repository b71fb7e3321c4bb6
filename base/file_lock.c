/* Files that one process at a time has to itself (flock), for as long as it lives, and those that grow by
 * whole pieces. */
#include "file.h"

#include "leftovers.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

typedef enum standing { OURS, GONE, FOREIGN, UNSEEN } standing;

/* Is it what the name leads to? Who had it before may have renamed or removed it since it was opened. UNSEEN:
 * errno tells why that cannot be told. */
static standing look(int fd, const char *name)
{
	struct stat at, named;
	if (fstat(fd, &at) != 0)
		return UNSEEN;
	if (!S_ISREG(at.st_mode) || at.st_nlink > 1 || at.st_uid != geteuid())
		return FOREIGN;
	if (lstat(name, &named) != 0)
		return errno == ENOENT ? GONE : UNSEEN;
	return at.st_dev == named.st_dev && at.st_ino == named.st_ino ? OURS : GONE;
}

/* A file that was made for nothing goes, but where another process has it by now. */
static int let_go(int fd, const char *made, int why)
{
	if (made && why != EWOULDBLOCK)
		unlink(made);
	close(fd);
	errno = why;
	return -1;
}

/* *made: it was not there before. */
static int open_or_make(const char *name, mode_t mode, bool *made)
{
	enum { FLAGS = O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC };
	int fd;
	*made = false;
	do {
		fd = open(name, FLAGS);
		if (fd < 0 && errno == ENOENT && mode) {
			fd = open(name, FLAGS | O_CREAT | O_EXCL, mode);
			*made = fd >= 0;
		}
	} while (fd < 0 && (errno == EINTR || (errno == EEXIST && mode)));
	return fd;
}

int berth_file_hold(const char *name, mode_t mode)
{
	for (;;) {
		bool made;
		int fd = open_or_make(name, mode, &made);
		if (fd < 0)
			return -1;
		if (flock(fd, LOCK_EX | LOCK_NB) != 0)
			return let_go(fd, made ? name : NULL, errno);
		standing s = look(fd, name);
		if (s == OURS)
			return fd;
		if (s != GONE)
			return let_go(fd, made ? name : NULL, s == FOREIGN ? EEXIST : errno);
		close(fd);
	}
}

bool berth_file_holds_nothing(int why)
{
	return why == ENOLCK || why == ENOSYS || why == EOPNOTSUPP || why == EINVAL;
}

berth_status berth_file_lock_take(const char *path, const char *who, berth_arena *mem, berth_file_lock *out,
                                  berth_err *err)
{
	*out = (berth_file_lock){.fd = -1, .name = berth_arena_printf(mem, "%s" BERTH_FILE_LOCK, path)};
	BERTH_TRY(berth_got(out->name, err));
	int fd = berth_file_hold(out->name, 0600);
	if (fd >= 0) {
		out->fd = fd;
		out->note = berth_leftover_file(out->name);
	}
	if (fd >= 0 || berth_file_holds_nothing(errno))
		return BERTH_OK;
	if (errno == EWOULDBLOCK)
		return berth_fail(err, BERTH_EIO, "%s: %s writes it now, and has %s locked", path, who,
		                  out->name);
	if (errno == ENOMEM)
		return berth_nomem(err);
	return berth_fail(err, BERTH_EIO, "%s: cannot lock: %s", out->name, strerror(errno));
}

/* The name goes while it is still held, so that it is never another's; and its note goes before it. */
void berth_file_release(berth_file_lock *lock)
{
	if (lock->fd < 0)
		return;
	berth_leftover_forget(lock->note);
	unlink(lock->name);
	close(lock->fd);
	lock->fd = -1;
}

/* ---- files that grow ---- */

static berth_status cannot(const berth_append *a, int why, berth_err *err)
{
	if (why == ENOMEM)
		return berth_nomem(err);
	return berth_fail(err, BERTH_EIO, "%s: cannot write: %s", a->path, strerror(why));
}

berth_status berth_append_open(const char *path, berth_append *out, berth_err *err)
{
	struct stat st;
	*out = (berth_append){.path = path};
	do
		out->fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	while (out->fd < 0 && errno == EINTR);
	if (out->fd < 0)
		return cannot(out, errno, err);
	if (fstat(out->fd, &st) != 0) {
		int unseen = errno;
		berth_append_close(out);
		return cannot(out, unseen, err);
	}
	out->regular = S_ISREG(st.st_mode);
	if (!out->regular)
		return BERTH_OK;
	bool taken = flock(out->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
	out->size = lseek(out->fd, 0, SEEK_END);
	if (!taken && out->size >= 0)
		return BERTH_OK;
	int why = errno;
	berth_append_close(out);
	return taken ? berth_fail(err, BERTH_EIO, "%s: another process writes it now", path)
	             : cannot(out, why, err);
}

static int cut(berth_append *a, int64_t size)
{
	if (!a->regular)
		return 0;
	if (ftruncate(a->fd, (off_t)size) != 0 || lseek(a->fd, (off_t)size, SEEK_SET) < 0)
		return errno;
	a->size = size;
	return 0;
}

berth_status berth_append_cut(berth_append *a, int64_t size, berth_err *err)
{
	int why = cut(a, size);
	return why ? cannot(a, why, err) : BERTH_OK;
}

berth_status berth_append_add(berth_append *a, const void *data, size_t size, berth_err *err)
{
	if (a->lost)
		return cannot(a, EIO, err);
	if (berth_file_write_all(a->fd, data, size) == 0) {
		a->size += (int64_t)size;
		return BERTH_OK;
	}
	int why = errno;
	a->lost = cut(a, a->size) != 0;
	return cannot(a, why, err);
}

berth_status berth_append_sync(berth_append *a, berth_err *err)
{
	if (!a->regular)
		return BERTH_OK;
	if (!a->lost && berth_file_sync(a->fd) == 0 && (a->named || berth_file_sync_folder(a->path) == 0)) {
		a->named = true;
		return BERTH_OK;
	}
	int why = a->lost ? EIO : errno;
	a->lost = true;
	return cannot(a, why, err);
}

void berth_append_close(berth_append *a)
{
	if (a->fd >= 0)
		close(a->fd);
	a->fd = -1;
}
