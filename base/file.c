/* Files over POSIX calls: read whole, map, take, and what is made of them. How they are replaced is told in
 * file_replace.c. */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

berth_status berth_file_fail(berth_err *err, const char *what, const char *path)
{
	if (errno == ENOMEM)
		return berth_nomem(err);
	return berth_fail(err, BERTH_EIO, "%s: cannot %s: %s", path, what, strerror(errno));
}

/* Open, where a signal may interrupt that. */
static int open_through(const char *path, int flags)
{
	int fd;
	do
		fd = open(path, flags | O_CLOEXEC);
	while (fd < 0 && errno == EINTR);
	return fd;
}

/* Open for reading and find the size; *regular tells whether it has one (a pipe has not). */
static berth_status open_to_read(berth_reads kind, const char *path, int *fd, size_t *size, bool *regular,
                                 berth_err *err)
{
	struct stat st;
	assert(kind < BERTH_N_READS);
	(void)kind;
	*fd = open_through(path, O_RDONLY);
	if (*fd < 0)
		return berth_file_fail(err, "open", path);
	bool known = fstat(*fd, &st) == 0;
	if (!known || S_ISDIR(st.st_mode)) {
		berth_status failed =
			known ? berth_fail(err, BERTH_EIO, "%s: it is a directory, not a file", path)
			      : berth_file_fail(err, "look at", path);
		close(*fd);
		return failed;
	}
	*regular = S_ISREG(st.st_mode);
	*size = *regular ? (size_t)st.st_size : 0;
	return BERTH_OK;
}

/* ---- pipes ---- */

enum { STREAM_FIRST = 1 << 16, STREAM_STEP = 1 << 20 }; /* bytes, whole pages */

/* What came out of a pipe so far. */
typedef struct stream {
	char *data;
	size_t len, cap;
} stream;

/* Pages go back as they are copied, so that no byte stands in memory twice. */
static void move_pages(char *to, char *from, size_t size)
{
	for (size_t at = 0, n; at < size; at += n) {
		n = size - at < STREAM_STEP ? size - at : STREAM_STEP;
		memcpy(to + at, from + at, n);
		munmap(from + at, n);
	}
}

/* NULL: errno tells why. */
static char *take_pages(size_t size)
{
	void *room = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return room == MAP_FAILED ? NULL : room;
}

/* Some bytes more; *end: there are none. */
static berth_status read_more(int fd, const char *path, stream *s, bool *end, berth_err *err)
{
	if (s->len == BERTH_FILE_MOST_STREAM)
		return berth_fail(err, BERTH_EIO,
		                  "%s: more than %zu MiB came out of it, the most that is read of what is no "
		                  "file; does it end? if so, put it into a file first",
		                  path, BERTH_FILE_MOST_STREAM >> 20);
	if (s->len == s->cap) {
		/* Twice the room. */
		size_t cap = s->cap ? 2 * s->cap : STREAM_FIRST;
		char *room = take_pages(cap);
		if (!room)
			return berth_file_fail(err, "hold", path);
		move_pages(room, s->data, s->len);
		s->data = room;
		s->cap = cap;
	}
	ssize_t n = read(fd, s->data + s->len, s->cap - s->len);
	if (n < 0 && errno != EINTR)
		return berth_file_fail(err, "read", path);
	*end = n == 0;
	s->len += n > 0 ? (size_t)n : 0;
	return BERTH_OK;
}

/* A pipe to its end, in memory that berth_file_unmap gives back; *data NULL: nothing came. */
static berth_status map_stream(int fd, const char *path, const unsigned char **data, size_t *size,
                               berth_err *err)
{
	stream s = {0};
	bool end = false;
	berth_status st = BERTH_OK;
	while (st == BERTH_OK && !end)
		st = read_more(fd, path, &s, &end, err);
	size_t page = (size_t)sysconf(_SC_PAGESIZE), keep = 0;
	if (st == BERTH_OK)
		keep = (s.len + page - 1) / page * page;
	if (keep < s.cap)
		munmap(s.data + keep, s.cap - keep);
	if (st != BERTH_OK)
		return st;
	*data = s.len ? (const unsigned char *)s.data : NULL;
	*size = s.len;
	return BERTH_OK;
}

static berth_status read_stream(int fd, const char *path, berth_arena *mem, char **data, size_t *size,
                                berth_err *err)
{
	const unsigned char *from;
	size_t n;
	BERTH_TRY(map_stream(fd, path, &from, &n, err));
	char *copy = berth_arena_strndup(mem, from ? (const char *)from : "", n);
	berth_file_unmap(from, n);
	BERTH_TRY(berth_got(copy, err));
	*data = copy;
	*size = n;
	return BERTH_OK;
}

/* ---- reading ---- */

static berth_status read_all(int fd, const char *path, char *buf, size_t size, berth_err *err)
{
	for (size_t at = 0; at < size;) {
		ssize_t n = read(fd, buf + at, size - at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return berth_file_fail(err, "read", path);
		if (n == 0)
			return berth_fail(err, BERTH_EIO, "%s: file shrank while it was read", path);
		at += (size_t)n;
	}
	return BERTH_OK;
}

static berth_status read_whole(int fd, const char *path, size_t n, berth_arena *mem, char **data,
                               size_t *size, berth_err *err)
{
	char *buf = berth_arena_alloc(mem, n + 1, 1);
	BERTH_TRY(berth_got(buf, err));
	BERTH_TRY(read_all(fd, path, buf, n, err));
	*data = buf;
	*size = n;
	return BERTH_OK;
}

berth_status berth_file_read(berth_reads kind, const char *path, berth_arena *mem, char **data, size_t *size,
                             berth_err *err)
{
	int fd;
	size_t n;
	bool regular;
	BERTH_TRY(open_to_read(kind, path, &fd, &n, &regular, err));
	berth_status st = regular ? read_whole(fd, path, n, mem, data, size, err)
	                          : read_stream(fd, path, mem, data, size, err);
	close(fd);
	return st;
}

static berth_status map_regular(int fd, const char *path, size_t n, const unsigned char **data,
                                berth_err *err)
{
	void *p = n ? mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
	if (p == MAP_FAILED)
		return berth_file_fail(err, "map", path);
	*data = p;
	return BERTH_OK;
}

berth_status berth_file_map(berth_reads kind, const char *path, const unsigned char **data, size_t *size,
                            berth_err *err)
{
	int fd;
	size_t n;
	bool regular;
	BERTH_TRY(open_to_read(kind, path, &fd, &n, &regular, err));
	berth_status st = regular ? map_regular(fd, path, n, data, err) : map_stream(fd, path, data, &n, err);
	close(fd);
	if (st == BERTH_OK)
		*size = n;
	return st;
}

berth_status berth_file_map_open(int fd, const char *path, const unsigned char **data, size_t *size,
                                 berth_err *err)
{
	struct stat st;
	if (fstat(fd, &st) != 0)
		return berth_file_fail(err, "look at", path);
	BERTH_TRY(map_regular(fd, path, (size_t)st.st_size, data, err));
	*size = (size_t)st.st_size;
	return BERTH_OK;
}

berth_status berth_file_own(const char *path, const unsigned char **data, size_t size, berth_err *err)
{
	char *room = *data ? take_pages(size) : NULL;
	if (*data && !room)
		return berth_file_fail(err, "hold", path);
	if (room)
		move_pages(room, (char *)(size_t)*data, size);
	*data = (const unsigned char *)room;
	return BERTH_OK;
}

berth_status berth_file_take(berth_reads kind, const char *path, const unsigned char **data, size_t *size,
                             berth_err *err)
{
	const unsigned char *bytes;
	size_t n;
	BERTH_TRY(berth_file_map(kind, path, &bytes, &n, err));
	berth_status st = berth_file_own(path, &bytes, n, err);
	if (st != BERTH_OK) {
		berth_file_unmap(bytes, n);
		return st;
	}
	*data = bytes;
	*size = n;
	return BERTH_OK;
}

void berth_file_unmap(const unsigned char *data, size_t size)
{
	if (data)
		munmap((void *)(size_t)data, size);
}

void berth_file_spend(const unsigned char *data, size_t size)
{
	if (data)
		madvise((void *)(size_t)data, size, MADV_DONTNEED);
}

int berth_file_write_all(int fd, const void *data, size_t size)
{
	const char *p = data;
	while (size) {
		ssize_t n = write(fd, p, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		p += n;
		size -= (size_t)n;
	}
	return 0;
}

uint64_t berth_file_little(const unsigned char *p, size_t bytes)
{
	uint64_t x = 0;
	for (size_t i = 0; i < bytes; i++)
		x |= (uint64_t)p[i] << (8 * i);
	return x;
}

int berth_file_sync(int fd)
{
	int failed;
	do
		failed = fsync(fd);
	while (failed && errno == EINTR);
	return failed;
}

void berth_file_folder(const char *path, char *buf, size_t size)
{
	const char *slash = strrchr(path, '/');
	if (!slash)
		snprintf(buf, size, ".");
	else
		snprintf(buf, size, "%.*s", slash == path ? 1 : (int)(slash - path), path);
}

/* Some file systems cannot sync a folder, and some folders cannot be read: names are then kept as well as can
 * be. */
int berth_file_sync_folder(const char *path)
{
	char dir[4096];
	berth_file_folder(path, dir, sizeof dir);
	int fd = open_through(dir, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return 0;
	int failed = berth_file_sync(fd), why = errno;
	close(fd);
	errno = why;
	return failed && why != EINVAL && why != ENOTSUP && why != EROFS ? -1 : 0;
}

berth_status berth_file_there(const char *path, bool *there, berth_err *err)
{
	struct stat st;
	*there = stat(path, &st) == 0;
	return *there || errno == ENOENT || errno == ENOTDIR ? BERTH_OK
	                                                     : berth_file_fail(err, "look at", path);
}

bool berth_file_is_same(const struct stat *now, const struct stat *before)
{
	return now->st_dev == before->st_dev && now->st_ino == before->st_ino &&
	       now->st_size == before->st_size && now->st_mtim.tv_sec == before->st_mtim.tv_sec &&
	       now->st_mtim.tv_nsec == before->st_mtim.tv_nsec;
}

bool berth_file_is_stream(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

berth_status berth_file_keep(const char *path, const char *older, berth_err *err)
{
	struct stat at;
	if (stat(path, &at) != 0 || !S_ISREG(at.st_mode))
		return BERTH_OK;
	if (unlink(older) != 0 && errno != ENOENT)
		return berth_fail(err, BERTH_EIO, "%s: cannot replace: %s", older, strerror(errno));
	if (link(path, older) != 0 && errno != EEXIST && errno != ENOENT && errno != EPERM &&
	    errno != EOPNOTSUPP && errno != EMLINK)
		return berth_fail(err, BERTH_EIO, "%s: cannot keep as %s: %s", path, older, strerror(errno));
	return BERTH_OK;
}

berth_status berth_cache_path(const char *name, berth_arena *mem, const char **path, berth_err *err)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	if (cache && *cache)
		*path = berth_arena_printf(mem, "%s/berth/%s", cache, name);
	else if (home && *home)
		*path = berth_arena_printf(mem, "%s/.cache/berth/%s", home, name);
	else
		return berth_fail(err, BERTH_EIO, "no place for %s: neither XDG_CACHE_HOME nor HOME is set",
		                  name);
	return *path ? BERTH_OK : berth_nomem(err);
}

berth_status berth_make_folders(const char *path, berth_arena *tmp, berth_err *err)
{
	char *part = berth_arena_printf(tmp, "%s", path);
	BERTH_TRY(berth_got(part, err));
	for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		if (mkdir(part, 0777) != 0 && errno != EEXIST)
			return berth_fail(err, BERTH_EIO, "%s: cannot make the folder: %s", part,
			                  strerror(errno));
		*slash = '/';
	}
	return BERTH_OK;
}
