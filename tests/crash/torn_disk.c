/* A disk that can lose its power, for tests: a library that is loaded before the C library (LD_PRELOAD).
 *
 * The files of one flat folder stand on this disk. What the program sees is the folder itself; what would
 * survive is kept beside it, in the shadow:
 *   synced/INODE    the bytes of a file when it was synced last
 *   disk/NAME       what the name leads to since the folder was synced last: the inode's number, a newline,
 *                   and its synced bytes
 * tests/crash/soak makes the folder after a loss of power of both. The rules are those that applications may
 * rely on (Pillai et al., OSDI 2014): fsync of a file saves its bytes, fsync of a folder its names. All
 * else may have happened or not, each page and each name on its own.
 *
 * Settings come by the environment; each is optional but the first one:
 *   TORN_DIR                the folder, absolute
 *   TORN_SHADOW             the shadow; without it nothing is kept, and several processes may run at once
 *   TORN_KILL=N:HOW         die by SIGKILL at the N-th operation: HOW 0 before it, 1 after it, 2 amid a write
 *   TORN_SLOW=US            each operation takes so many microseconds more
 *   TORN_FULL=BYTES         there is room for so many bytes more: then ENOSPC
 *   TORN_EIO=N              the N-th sync fails with EIO. As on real systems that is told once: later syncs
 *                           of the file succeed, and save nothing
 *   TORN_SHORT=SEED         writes are cut short, or interrupted by a signal (EINTR)
 *   TORN_CLOCK=NS           the monotonic clock moves by so much whenever it is read
 *   TORN_COUNT=FILE         the number of operations is written there at the end
 * Children are not touched. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { KILL_BEFORE, KILL_AFTER, KILL_AMID };

static struct {
	const char *dir, *shadow, *count;
	long kill_at, kill_how, slow_us, room, fail_sync, n_ops, n_syncs, poisoned[64], n_poisoned;
	unsigned short_seed;
	long long clock_ns;
	_Atomic long long clock;
} torn = {.room = -1};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name) ((__typeof__(&name))(uintptr_t)dlsym(RTLD_NEXT, #name))

static long setting(const char *name, long otherwise)
{
	const char *text = getenv(name);
	return text ? strtol(text, NULL, 10) : otherwise;
}

__attribute__((constructor)) static void begin(void)
{
	const char *kill = getenv("TORN_KILL");
	torn.dir = getenv("TORN_DIR");
	torn.shadow = getenv("TORN_SHADOW");
	torn.count = getenv("TORN_COUNT");
	torn.kill_at = setting("TORN_KILL", 0);
	torn.kill_how = kill && strchr(kill, ':') ? strchr(kill, ':')[1] - '0' : KILL_BEFORE;
	torn.slow_us = setting("TORN_SLOW", 0);
	torn.room = setting("TORN_FULL", -1);
	torn.fail_sync = setting("TORN_EIO", 0);
	torn.short_seed = (unsigned)setting("TORN_SHORT", 0);
	torn.clock_ns = setting("TORN_CLOCK", 0);
	unsetenv("LD_PRELOAD");
}

__attribute__((destructor)) static void end(void)
{
	FILE *f = torn.count ? fopen(torn.count, "w") : NULL;
	if (f) {
		fprintf(f, "%ld\n", torn.n_ops);
		fclose(f);
	}
}

static void die(void)
{
	kill(getpid(), SIGKILL);
	for (;;)
		pause();
}

/* ---- what is on this disk ---- */

/* Does the folder that path stands in have the modelled one's inode? */
static bool stands_here(const char *path)
{
	char at[PATH_MAX];
	struct stat a, b;
	const char *slash = strrchr(path, '/');
	if (!torn.dir || strlen(path) >= sizeof at)
		return false;
	snprintf(at, sizeof at, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
	return stat(at, &a) == 0 && stat(torn.dir, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Is fd a file of the folder, or the folder itself? */
static bool is_here(int fd, struct stat *st)
{
	char link[64], path[PATH_MAX];
	if (!torn.dir || fstat(fd, st) != 0)
		return false;
	if (!S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode))
		return false;
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, sizeof path - 1);
	path[n > 0 ? n : 0] = '\0';
	return S_ISDIR(st->st_mode) ? strcmp(path, torn.dir) == 0 : stands_here(path);
}

/* Before an operation. True: it is the one to die at. */
static bool arrive(void)
{
	bool last = ++torn.n_ops == torn.kill_at;
	if (last && torn.kill_how == KILL_BEFORE)
		die();
	if (torn.slow_us)
		usleep((useconds_t)torn.slow_us);
	return last;
}

static void leave(bool last)
{
	if (last)
		die();
}

/* ---- the shadow ---- */

static void put(FILE *f, int from)
{
	char buf[1 << 16];
	off_t at = 0;
	for (ssize_t n; (n = pread(from, buf, sizeof buf, at)) > 0; at += n)
		fwrite(buf, 1, (size_t)n, f);
}

/* At shadow/PART/NAME: the head, then what can be read from fd. Whole or not at all. */
static void keep(const char *part, const char *name, long ino, int from)
{
	char fresh[PATH_MAX], at[PATH_MAX];
	snprintf(fresh, sizeof fresh, "%s/fresh", torn.shadow);
	snprintf(at, sizeof at, "%s/%s/%s", torn.shadow, part, name);
	FILE *f = fopen(fresh, "w");
	if (!f)
		abort();
	if (ino >= 0)
		fprintf(f, "%ld\n", ino);
	if (from >= 0)
		put(f, from);
	if (fclose(f) != 0 || REAL(rename)(fresh, at) != 0)
		abort();
}

static int open_synced(long ino)
{
	char at[PATH_MAX];
	snprintf(at, sizeof at, "%s/synced/%ld", torn.shadow, ino);
	return REAL(open)(at, O_RDONLY | O_CLOEXEC);
}

/* The inode that a durable name leads to. */
static long bound_to(const char *name)
{
	char at[PATH_MAX];
	long ino = 0;
	snprintf(at, sizeof at, "%s/disk/%s", torn.shadow, name);
	FILE *f = fopen(at, "r");
	if (f && fscanf(f, "%ld", &ino) != 1)
		abort();
	if (f)
		fclose(f);
	return ino;
}

/* Call visit for each name in the folder. */
static void each(const char *folder, void (*visit)(const char *name, long ino), long ino)
{
	DIR *d = opendir(folder);
	if (!d)
		abort();
	for (struct dirent *e; (e = readdir(d));)
		if (e->d_name[0] != '.' || !strchr("./", e->d_name[1] ? e->d_name[1] : '.'))
			visit(e->d_name, ino);
	closedir(d);
}

static void each_durable(void (*visit)(const char *name, long ino), long ino)
{
	char at[PATH_MAX];
	snprintf(at, sizeof at, "%s/disk", torn.shadow);
	each(at, visit, ino);
}

static void renew(const char *name, long ino)
{
	int from = bound_to(name) == ino ? open_synced(ino) : -1;
	if (from < 0)
		return;
	keep("disk", name, ino, from);
	close(from);
}

/* The number was given to a new file: what the name led to is another one. */
static void unbind(const char *name, long ino)
{
	char at[PATH_MAX];
	if (bound_to(name) != ino)
		return;
	snprintf(at, sizeof at, "%s/disk/%s", torn.shadow, name);
	FILE *f = fopen(at, "r+");
	if (!f)
		abort();
	for (long k = ino; k; k /= 10)
		fputc('0', f);
	fclose(f);
}

static void drop_gone(const char *name, long ino)
{
	char at[PATH_MAX];
	struct stat st;
	(void)ino;
	snprintf(at, sizeof at, "%s/%s", torn.dir, name);
	if (lstat(at, &st) == 0)
		return;
	snprintf(at, sizeof at, "%s/disk/%s", torn.shadow, name);
	REAL(unlink)(at);
}

static void bind(const char *name, long ino)
{
	char at[PATH_MAX];
	struct stat st;
	(void)ino;
	snprintf(at, sizeof at, "%s/%s", torn.dir, name);
	if (stat(at, &st) != 0 || bound_to(name) == (long)st.st_ino)
		return;
	int from = open_synced((long)st.st_ino);
	keep("disk", name, (long)st.st_ino, from);
	if (from >= 0)
		close(from);
}

static void created(int fd)
{
	char at[PATH_MAX];
	struct stat st;
	if (!torn.shadow || !is_here(fd, &st))
		return;
	snprintf(at, sizeof at, "%s/synced/%ld", torn.shadow, (long)st.st_ino);
	REAL(unlink)(at);
	each_durable(unbind, (long)st.st_ino);
	for (long i = 0; i < torn.n_poisoned; i++)
		if (torn.poisoned[i] == (long)st.st_ino)
			torn.poisoned[i] = 0;
}

static void save_file(int fd, const struct stat *st)
{
	char name[32], link[64];
	for (long i = 0; i < torn.n_poisoned; i++)
		if (torn.poisoned[i] == (long)st->st_ino)
			return;
	snprintf(name, sizeof name, "%ld", (long)st->st_ino);
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd); /* fd may be for writing alone */
	int from = REAL(open)(link, O_RDONLY | O_CLOEXEC);
	keep("synced", name, -1, from);
	close(from);
	each_durable(renew, (long)st->st_ino);
}

/* ---- calls ---- */

static int sync_fd(int fd)
{
	struct stat st;
	int failed = 0;
	if (!is_here(fd, &st))
		return 0; /* of another disk: that the test runs fast */
	pthread_mutex_lock(&lock);
	bool last = arrive();
	if (++torn.n_syncs == torn.fail_sync) {
		failed = EIO;
		if (torn.n_poisoned < 64)
			torn.poisoned[torn.n_poisoned++] = (long)st.st_ino;
	} else if (torn.shadow && S_ISREG(st.st_mode)) {
		save_file(fd, &st);
	} else if (torn.shadow) {
		each_durable(drop_gone, 0);
		each(torn.dir, bind, 0);
	}
	leave(last);
	pthread_mutex_unlock(&lock);
	errno = failed ? failed : errno;
	return failed ? -1 : 0;
}

int fsync(int fd)
{
	return sync_fd(fd);
}

int fdatasync(int fd)
{
	return sync_fd(fd);
}

static int open_any(const char *path, int flags, mode_t mode)
{
	struct stat st;
	if (!(flags & O_CREAT) || !stands_here(path) || lstat(path, &st) == 0)
		return REAL(open)(path, flags, mode);
	pthread_mutex_lock(&lock);
	bool last = arrive();
	int fd = REAL(open)(path, flags, mode);
	if (fd >= 0)
		created(fd);
	leave(last);
	pthread_mutex_unlock(&lock);
	return fd;
}

static mode_t mode_of(int flags, va_list ap)
{
	return flags & O_CREAT ? (mode_t)va_arg(ap, unsigned) : 0;
}

#define OPEN(name)										\
	int name(const char *path, int flags, ...)						\
	{											\
		va_list ap;									\
		va_start(ap, flags);								\
		mode_t mode = mode_of(flags, ap);						\
		va_end(ap);									\
		return open_any(path, flags, mode);						\
	}
OPEN(open)
OPEN(open64)

int mkstemp(char *template)
{
	int fd = REAL(mkstemp)(template);
	if (fd >= 0 && stands_here(template)) {
		pthread_mutex_lock(&lock);
		bool last = arrive();
		created(fd);
		leave(last);
		pthread_mutex_unlock(&lock);
	}
	return fd;
}

FILE *fopen(const char *path, const char *mode)
{
	struct stat st;
	bool fresh = *mode != 'r' && stands_here(path) && lstat(path, &st) != 0;
	FILE *f = REAL(fopen)(path, mode);
	if (f && fresh) {
		pthread_mutex_lock(&lock);
		bool last = arrive();
		created(fileno(f));
		leave(last);
		pthread_mutex_unlock(&lock);
	}
	return f;
}

/* How many of the bytes are taken; -1: none, see errno. */
static ssize_t allowance(size_t n)
{
	if (torn.short_seed && n > 1) {
		torn.short_seed = torn.short_seed * 1103515245u + 12345u;
		unsigned draw = torn.short_seed >> 16;
		if (draw % 4 == 0) {
			errno = EINTR;
			return -1;
		}
		n = draw % 4 == 1 ? 1 + draw % (n - 1) : n;
	}
	if (torn.room < 0)
		return (ssize_t)n;
	if (torn.room == 0 && n) {
		errno = ENOSPC;
		return -1;
	}
	n = n < (size_t)torn.room ? n : (size_t)torn.room;
	torn.room -= (long)n;
	return (ssize_t)n;
}

static ssize_t write_any(int fd, const void *buf, size_t n, off_t at)
{
	struct stat st;
	if (!is_here(fd, &st))
		return at < 0 ? REAL(write)(fd, buf, n) : REAL(pwrite)(fd, buf, n, at);
	pthread_mutex_lock(&lock);
	bool last = arrive();
	ssize_t some = allowance(n);
	if (last && torn.kill_how == KILL_AMID && some > 1)
		some /= 2;
	if (some >= 0)
		some = at < 0 ? REAL(write)(fd, buf, (size_t)some) : REAL(pwrite)(fd, buf, (size_t)some, at);
	leave(last);
	pthread_mutex_unlock(&lock);
	return some;
}

ssize_t write(int fd, const void *buf, size_t n)
{
	return write_any(fd, buf, n, -1);
}

ssize_t pwrite(int fd, const void *buf, size_t n, off_t at)
{
	return write_any(fd, buf, n, at);
}

ssize_t pwrite64(int fd, const void *buf, size_t n, off64_t at)
{
	return write_any(fd, buf, n, at);
}

#define COUNTED(here, call)									\
	if (!(here))										\
		return call;									\
	pthread_mutex_lock(&lock);								\
	bool last = arrive();									\
	int done = call;									\
	leave(last);										\
	pthread_mutex_unlock(&lock);								\
	return done

int rename(const char *from, const char *to)
{
	COUNTED(stands_here(to), REAL(rename)(from, to));
}

int link(const char *from, const char *to)
{
	COUNTED(stands_here(to), REAL(link)(from, to));
}

int unlink(const char *path)
{
	COUNTED(stands_here(path), REAL(unlink)(path));
}

int ftruncate(int fd, off_t size)
{
	struct stat st;
	COUNTED(is_here(fd, &st), REAL(ftruncate)(fd, size));
}

int ftruncate64(int fd, off64_t size)
{
	struct stat st;
	COUNTED(is_here(fd, &st), REAL(ftruncate64)(fd, size));
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
	if (!torn.clock_ns || clock != CLOCK_MONOTONIC)
		return REAL(clock_gettime)(clock, t);
	long long now = atomic_fetch_add(&torn.clock, torn.clock_ns) + torn.clock_ns;
	*t = (struct timespec){now / 1000000000, now % 1000000000};
	return 0;
}
