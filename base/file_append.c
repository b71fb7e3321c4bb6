/* See file_append.h. */
#include "file_append.h"

#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

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
