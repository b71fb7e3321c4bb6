/* See file_lock.h. */
#include "file_lock.h"

#include "leftovers.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
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
	if (!out->name)
		return berth_nomem(err);
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
