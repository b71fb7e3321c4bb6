/* Files over POSIX calls: read whole, map, take, and replace atomically. What is written stands beside the
 * file until it is whole. */
#include "file.h"

#include "leftovers.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static berth_status fail_errno(berth_err *err, const char *what, const char *path)
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
static berth_status open_to_read(const char *path, int *fd, size_t *size, bool *regular, berth_err *err)
{
	struct stat st;
	*fd = open_through(path, O_RDONLY);
	if (*fd < 0)
		return fail_errno(err, "open", path);
	bool known = fstat(*fd, &st) == 0;
	if (!known || S_ISDIR(st.st_mode)) {
		berth_status failed =
			known ? berth_fail(err, BERTH_EIO, "%s: it is a directory, not a file", path)
			      : fail_errno(err, "look at", path);
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

/* Twice the room. */
static berth_status grow_stream(stream *s, const char *path, berth_err *err)
{
	size_t cap = s->cap ? 2 * s->cap : STREAM_FIRST;
	char *room = take_pages(cap);
	if (!room)
		return fail_errno(err, "hold", path);
	move_pages(room, s->data, s->len);
	s->data = room;
	s->cap = cap;
	return BERTH_OK;
}

/* Some bytes more; *end: there are none. */
static berth_status read_more(int fd, const char *path, stream *s, bool *end, berth_err *err)
{
	if (s->len == BERTH_FILE_MOST_STREAM)
		return berth_fail(err, BERTH_EIO,
		                  "%s: more than %zu MiB came out of it, the most that is read of what is no "
		                  "file; does it end? if so, put it into a file first",
		                  path, BERTH_FILE_MOST_STREAM >> 20);
	if (s->len == s->cap)
		BERTH_TRY(grow_stream(s, path, err));
	ssize_t n = read(fd, s->data + s->len, s->cap - s->len);
	if (n < 0 && errno != EINTR)
		return fail_errno(err, "read", path);
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
			return fail_errno(err, "read", path);
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

berth_status berth_file_read(const char *path, berth_arena *mem, char **data, size_t *size, berth_err *err)
{
	int fd;
	size_t n;
	bool regular;
	BERTH_TRY(open_to_read(path, &fd, &n, &regular, err));
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
		return fail_errno(err, "map", path);
	*data = p;
	return BERTH_OK;
}

berth_status berth_file_map(const char *path, const unsigned char **data, size_t *size, berth_err *err)
{
	int fd;
	size_t n;
	bool regular;
	BERTH_TRY(open_to_read(path, &fd, &n, &regular, err));
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
		return fail_errno(err, "look at", path);
	BERTH_TRY(map_regular(fd, path, (size_t)st.st_size, data, err));
	*size = (size_t)st.st_size;
	return BERTH_OK;
}

berth_status berth_file_own(const char *path, const unsigned char **data, size_t size, berth_err *err)
{
	char *room = *data ? take_pages(size) : NULL;
	if (*data && !room)
		return fail_errno(err, "hold", path);
	if (room)
		move_pages(room, (char *)(size_t)*data, size);
	*data = (const unsigned char *)room;
	return BERTH_OK;
}

berth_status berth_file_take(const char *path, const unsigned char **data, size_t *size, berth_err *err)
{
	const unsigned char *bytes;
	size_t n;
	BERTH_TRY(berth_file_map(path, &bytes, &n, err));
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

/* Directory of path into buf: "." where path has none. */
static void directory_of(const char *path, char *buf, size_t size)
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
	directory_of(path, dir, sizeof dir);
	int fd = open_through(dir, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return 0;
	int failed = berth_file_sync(fd), why = errno;
	close(fd);
	errno = why;
	return failed && why != EINVAL && why != ENOTSUP && why != EROFS ? -1 : 0;
}

/* What a file is to hold: pieces, or what a function tells; and whether to wait for the disk. */
typedef struct content {
	const berth_file_piece *piece;
	size_t n;
	berth_file_teller *tell;
	void *ctx;
	bool wait;
} content;

static int write_content(int fd, const content *what)
{
	if (what->tell)
		return what->tell(what->ctx, fd);
	for (size_t i = 0; i < what->n; i++)
		if (berth_file_write_all(fd, what->piece[i].data, what->piece[i].size) != 0)
			return -1;
	return 0;
}

static berth_status write_in_place(int fd, const char *path, const content *what, berth_err *err)
{
	return write_content(fd, what) == 0 ? BERTH_OK : fail_errno(err, "write", path);
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

/* Signals wait from here on; was: those that waited before. */
static void hold_signals(sigset_t *was)
{
	sigset_t all;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, was);
}

/* A file that grew beyond the process's limit is an error of the write; its signal has nothing to add. */
static void let_signals(const sigset_t *was)
{
	sigset_t pending, limit;
	int which;
	sigemptyset(&limit);
	sigaddset(&limit, SIGXFSZ);
	if (sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1)
		sigwait(&limit, &which);
	pthread_sigmask(SIG_SETMASK, was, NULL);
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
	return why == EWOULDBLOCK || why == EEXIST || why == EACCES || why == ELOOP || why == EISDIR;
}

/* Whatever a writer that is gone has left in it. */
static int empty_part(int fd, const char *name)
{
	if (ftruncate(fd, 0) == 0)
		return fd;
	int why = errno;
	unlink(name);
	close(fd);
	errno = why;
	return -1;
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

static void drop_parts(const char *path)
{
	char name[4096];
	for (int k = 0; k < PARTS && name_part(path, k, name, sizeof name); k++)
		drop_part(name);
}

/* A part of a name that is this process's own. */
static int open_own_part(const char *path, mode_t mode, char *name, size_t size)
{
	int fd = -1;
	for (int k = 0; fd < 0; k++) {
		snprintf(name, size, "%s.part-%ld-%d", path, (long)getpid(), k);
		fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
		if (fd < 0 && errno != EEXIST && errno != EINTR)
			return -1;
	}
	return fd;
}

/* The first part that nobody else writes. */
static int open_part(const char *path, mode_t mode, char *name, size_t size)
{
	for (int k = 0; k < PARTS; k++) {
		name_part(path, k, name, size);
		drop_part(name); /* its permissions may be other ones */
		int fd = berth_file_hold(name, mode);
		if (fd >= 0)
			return empty_part(fd, name);
		if (!is_taken(errno) && !berth_file_holds_nothing(errno))
			return -1;
	}
	return open_own_part(path, mode, name, size);
}

/* The part is held until it has its name: nobody takes it over before. mode: of the file that it replaces. */
static berth_status publish(int fd, const char *part, const char *path, const mode_t *mode,
                            const content *what, berth_err *err)
{
	int note = berth_leftover_file(part);
	bool whole = write_content(fd, what) == 0 && (!mode || fchmod(fd, *mode) == 0) &&
	             (!what->wait || berth_file_sync(fd) == 0) && rename(part, path) == 0;
	int why = errno;
	if (!whole)
		unlink(part);
	berth_leftover_forget(note);
	close(fd); /* what it could tell, the sync has told */
	errno = why;
	if (!whole)
		return fail_errno(err, "write", path);
	if (what->wait && berth_file_sync_folder(path) != 0)
		return fail_errno(err, "make it outlast a loss of power", path);
	drop_parts(path);
	return BERTH_OK;
}

/* path is no symbolic link, or nothing. */
static berth_status replace(const char *path, const content *what, berth_err *err)
{
	char part[4096];
	mode_t mode;
	if (strlen(path) + sizeof ".part-" + 40 > sizeof part)
		return berth_fail(err, BERTH_EIO, "%.200s...: path too long", path);
	bool there = mode_of(path, &mode);
	if (!there && errno != ENOENT)
		return fail_errno(err, "look at", path);
	int fd = open_part(path, there ? 0600 : 0666, part, sizeof part);
	return fd < 0 ? fail_errno(err, "create", path)
	              : publish(fd, part, path, there ? &mode : NULL, what, err);
}

/* Whole, or not at all: no signal ends it in between. */
static berth_status replace_held(const char *path, const content *what, berth_err *err)
{
	sigset_t was;
	hold_signals(&was);
	berth_status st = replace(path, what, err);
	let_signals(&was);
	return st;
}

/* The file that path leads to; *target is to be freed. */
static berth_status find_target(const char *path, char **target, berth_err *err)
{
	*target = realpath(path, NULL);
	if (*target)
		return BERTH_OK;
	if (errno == ENOENT)
		return berth_fail(err, BERTH_EIO,
		                  "%s: cannot write: it is a symbolic link that leads nowhere", path);
	return fail_errno(err, "follow the symbolic link", path);
}

static berth_status replace_target(const char *path, const content *what, berth_err *err)
{
	char *target;
	BERTH_TRY(find_target(path, &target, err));
	berth_status st = replace_held(target, what, err);
	free(target);
	return st;
}

static bool is_link(const char *path)
{
	struct stat st;
	return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

static berth_status write_special(const char *path, const content *what, berth_err *err)
{
	int fd = open_through(path, O_WRONLY);
	if (fd < 0)
		return fail_errno(err, "open for writing", path);
	berth_status st = write_in_place(fd, path, what, err);
	close(fd);
	return st;
}

static berth_status write_file(const char *path, const content *what, berth_err *err)
{
	struct stat st;
	if (strcmp(path, "-") == 0)
		return write_in_place(STDOUT_FILENO, "standard output", what, err);
	bool known = stat(path, &st) == 0;
	if (!known && errno != ENOENT)
		return fail_errno(err, "look at", path);
	if (known && !S_ISREG(st.st_mode))
		return write_special(path, what, err);
	return is_link(path) ? replace_target(path, what, err) : replace_held(path, what, err);
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

berth_status berth_file_there(const char *path, bool *there, berth_err *err)
{
	struct stat st;
	*there = stat(path, &st) == 0;
	return *there || errno == ENOENT || errno == ENOTDIR ? BERTH_OK : fail_errno(err, "look at", path);
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

/* Can a file be made beside path? */
static berth_status writable_beside(const char *path, berth_err *err)
{
	char dir[4096];
	directory_of(path, dir, sizeof dir - 2);
	strcat(dir, "/."); /* of a file: not a directory */
	return access(dir, W_OK | X_OK) == 0 ? BERTH_OK : fail_errno(err, "create a file here", path);
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
			return fail_errno(err, "write", path);
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
