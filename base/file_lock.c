/* See file_lock.h. */
#include "file_lock.h"

#include "leftovers.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

typedef enum standing { OURS, GONE, FOREIGN } standing;

/* Is it what the name leads to? Who had it before may have renamed or removed it since it was opened. */
static standing look(int fd, const char *name)
{
	struct stat at, named;
	if (fstat(fd, &at) != 0)
		return FOREIGN;
	if (!S_ISREG(at.st_mode) || at.st_nlink > 1 || at.st_uid != geteuid())
		return FOREIGN;
	bool same = lstat(name, &named) == 0 && at.st_dev == named.st_dev && at.st_ino == named.st_ino;
	return same ? OURS : GONE;
}

static int let_go(int fd, int why)
{
	close(fd);
	errno = why;
	return -1;
}

int berth_file_hold(const char *name, bool make)
{
	for (;;) {
		int flags = O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | (make ? O_CREAT : 0);
		int fd = open(name, flags, 0600);
		if (fd < 0)
			return -1;
		if (flock(fd, LOCK_EX | LOCK_NB) != 0)
			return let_go(fd, errno);
		standing s = look(fd, name);
		if (s == OURS)
			return fd;
		if (s == FOREIGN)
			return let_go(fd, EEXIST);
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
	*out = (berth_file_lock){.name = berth_arena_printf(mem, "%s" BERTH_FILE_LOCK, path)};
	if (!out->name)
		return berth_nomem(err);
	int fd = berth_file_hold(out->name, true);
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

/* The name goes while it is still held, so that it is never another's. */
void berth_file_release(berth_file_lock *lock)
{
	if (!lock->fd)
		return;
	unlink(lock->name);
	berth_leftover_forget(lock->note);
	close(lock->fd);
	lock->fd = 0;
}
