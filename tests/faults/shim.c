/* Faults on demand: a library to be loaded before all others (LD_PRELOAD), which lets the n-th allocation or
 * the n-th system call of a program fail, once or from there on for ever. It tells what failed and where, and
 * what the program left behind: blocks, file descriptors, child processes.
 *
 * What is asked stands in the environment:
 *   BERTH_FAULT_KIND      alloc: allocations and mappings; sys: system calls; eintr: those of them that a
 *                         signal may interrupt; short: reads and writes that do a part of the work
 *   BERTH_FAULT_CALL      only calls of this name count
 *   BERTH_FAULT_N         which call of that kind fails, from 1 on; 0: none
 *   BERTH_FAULT_EVER      set: all calls from the n-th on (eintr: half of them)
 *   BERTH_FAULT_CHILDREN  set: calls of forked children count, instead of the program's own
 *   BERTH_FAULT_WITHIN    the name of a library: only calls from within it count, and only its blocks
 *   BERTH_FAULT_REPORT    the file that the report is appended to
 *   BERTH_FAULT_STACKS    set: a line "at N HASH" for each call that counts, and full stacks of what leaks;
 *                         with BERTH_FAULT_CALL "in MODULE OFFSET SYMBOL" for each of its frames
 * The report: "fault CALL ERRNO" and its "frame MODULE OFFSET SYMBOL", innermost first, at the first fault;
 * at the end "calls N", a line "live BYTES MODULE OFFSET SYMBOL" (who allocated) for each block that is not
 * freed, "fd NUMBER TARGET", and "child PID".
 *
 * Calls count from the start of main to its end. Programs that the program starts do not load the shim. Calls
 * inside the C library are not seen; files of <stdio.h> are, as their streams here go through write and read.
 * Nothing is done to standard error. For ever does not hold for unlink: what cannot be undone is left. glibc
 * 2.33 or newer, Linux. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* The C library's own allocator, under names that nobody overrides. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t align, size_t size);
void __libc_free(void *p);

typedef int main_function(int argc, char **argv, char **env);
int __libc_start_main(main_function *main, int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*rtld_fini)(void), void *stack_end);

enum { STACK = 48, SLOTS = 1 << 16, MAX_FDS = 1024, SITE = 12, SAID = 1 << 24 };

typedef enum kind { ALLOC = 1, SYS = 2, INTERRUPTIBLE = 4, PARTIAL = 8 } kind;

typedef struct block {
	void *p;
	size_t bytes;
	void *site;
} block;

/* Shared with forked children. */
typedef struct counters {
	atomic_long calls;
	atomic_int told;
	/* what children tell, who may be in a sandbox and write nowhere: the program writes it at its end */
	atomic_size_t n_said;
	char said[SAID];
} counters;

static struct {
	kind which;
	long n;
	bool ever, children, stacks;
	const char *report, *call, *within;
	uintptr_t from, to;  /* where that library lies; 0: not found yet */
	counters *count;
	block *live;         /* open addressing by p */
	void *(*above)[SITE]; /* where stacks are wanted: the callers of a slot's site */
	int n_live;
	atomic_flag lock;
	bool open_at_start[MAX_FDS];
	atomic_bool armed;
	bool in_child;
} shim = {.lock = ATOMIC_FLAG_INIT};

static _Thread_local __attribute__((tls_model("initial-exec"))) bool busy;

#define REAL(name) ((__typeof__(&name))(uintptr_t)dlsym(RTLD_NEXT, #name))

/* ---- the report ---- */

static void write_report(const char *text, size_t n)
{
	long fd = shim.report ? syscall(SYS_openat, AT_FDCWD, shim.report,
	                                O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)
	                      : -1;
	if (fd < 0)
		return;
	syscall(SYS_write, fd, text, n);
	syscall(SYS_close, fd);
}

static void tell(const char *fmt, ...)
{
	char line[512];
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	n = n < (int)sizeof line ? n : (int)sizeof line - 1;
	if (!shim.in_child) {
		write_report(line, (size_t)n);
		return;
	}
	size_t at = atomic_fetch_add(&shim.count->n_said, (size_t)n);
	if (at + (size_t)n <= SAID)
		memcpy(shim.count->said + at, line, (size_t)n);
}

static void tell_place(const char *what, const char *first, void *at)
{
	Dl_info info;
	if (!dladdr(at, &info) || !info.dli_fname)
		return;
	const char *slash = strrchr(info.dli_fname, '/');
	tell("%s%s %s %#lx %s\n", what, first, slash ? slash + 1 : info.dli_fname,
	     (unsigned long)((char *)at - (char *)info.dli_fbase), info.dli_sname ? info.dli_sname : "-");
}

static void tell_frames(const char *what)
{
	void *frame[STACK];
	int n = backtrace(frame, STACK);
	for (int i = 0; i < n; i++)
		tell_place(what, "", frame[i]);
}

static void tell_fault(const char *call, int why)
{
	tell("fault %s %d\n", call, why);
	tell_frames("frame");
}

static unsigned long stack_hash(void)
{
	void *frame[STACK];
	unsigned long h = 14695981039346656037UL;
	int n = backtrace(frame, STACK);
	for (int i = 2; i < n; i++)
		h = (h ^ (unsigned long)(uintptr_t)frame[i]) * 1099511628211UL;
	return h;
}

/* ---- which call fails ---- */

static int find_library(struct dl_phdr_info *info, size_t bytes, void *unused)
{
	(void)bytes;
	(void)unused;
	const char *slash = strrchr(info->dlpi_name, '/');
	if (strcmp(slash ? slash + 1 : info->dlpi_name, shim.within) != 0)
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD)
			shim.to = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
	shim.from = info->dlpi_addr;
	return 1;
}

/* Is this call made from within the library that counts? */
static bool is_within(void)
{
	void *frame[STACK];
	if (!shim.within)
		return true;
	if (!shim.from && !dl_iterate_phdr(find_library, NULL))
		return false;
	int n = backtrace(frame, STACK);
	for (int i = 0; i < n; i++)
		if ((uintptr_t)frame[i] >= shim.from && (uintptr_t)frame[i] < shim.to)
			return true;
	return false;
}

/* Does this call, of these kinds, fail? */
static bool fails(const char *call, int kinds)
{
	if (!atomic_load(&shim.armed) || busy || !(kinds & (int)shim.which) || shim.in_child != shim.children)
		return false;
	if (shim.call && strcmp(call, shim.call) != 0)
		return false;
	int keep = errno;
	busy = true;
	if (!is_within()) {
		busy = false;
		errno = keep;
		return false;
	}
	long at = atomic_fetch_add(&shim.count->calls, 1) + 1;
	bool now = shim.n && (at == shim.n || (shim.ever && at > shim.n));
	if (now && shim.ever && shim.which == INTERRUPTIBLE)
		now = (at * 2654435761L >> 13 & 1) != 0 || at == shim.n; /* in no step with a loop */
	if (shim.stacks)
		tell("at %ld %lx\n", at, stack_hash());
	if (shim.stacks && shim.call)
		tell_frames("in");
	if (now && !atomic_exchange(&shim.count->told, 1))
		tell_fault(call, (int)shim.which);
	busy = false;
	errno = keep;
	return now;
}

/* One of the errors of a system call, in turn. 0: it does not fail. */
static int error_of(const char *call, bool interruptible, const int *errors, int n)
{
	if (!fails(call, SYS | (interruptible ? INTERRUPTIBLE : 0)))
		return 0;
	return shim.which == INTERRUPTIBLE ? EINTR : errors[(shim.n + shim.ever) % n];
}

#define ERRORS(...) (const int[]){__VA_ARGS__}, (int)(sizeof((const int[]){__VA_ARGS__}) / sizeof(int))

/* ---- blocks ---- */

static void lock(void)
{
	while (atomic_flag_test_and_set_explicit(&shim.lock, memory_order_acquire))
		;
}

static void unlock(void)
{
	atomic_flag_clear_explicit(&shim.lock, memory_order_release);
}

static size_t slot_of(const void *p)
{
	return (size_t)(((uintptr_t)p >> 4) * 11400714819323198485UL >> 44) & (SLOTS - 1);
}

static void remember(void *p, size_t bytes, void *site)
{
	if (!p || !shim.live || busy || shim.in_child || !atomic_load(&shim.armed))
		return;
	void *frame[SITE] = {0};
	busy = true;
	bool counts = is_within();
	if (counts && shim.stacks)
		backtrace(frame, SITE);
	busy = false;
	if (!counts)
		return;
	lock();
	if (++shim.n_live > SLOTS / 2)
		abort(); /* the table is too small for this program */
	size_t at = slot_of(p);
	while (shim.live[at].p)
		at = (at + 1) & (SLOTS - 1);
	shim.live[at] = (block){p, bytes, site};
	if (shim.stacks)
		memcpy(shim.above[at], frame, sizeof frame);
	unlock();
}

static void forget(const void *p)
{
	if (!p || !shim.live || shim.in_child)
		return;
	lock();
	size_t at = slot_of(p);
	while (shim.live[at].p && shim.live[at].p != p)
		at = (at + 1) & (SLOTS - 1);
	shim.n_live -= shim.live[at].p != NULL;
	/* close the gap */
	for (size_t gap = at, next = at; shim.live[gap].p;) {
		next = (next + 1) & (SLOTS - 1);
		if (!shim.live[next].p) {
			shim.live[gap].p = NULL;
			break;
		}
		size_t home = slot_of(shim.live[next].p);
		if (((next - home) & (SLOTS - 1)) >= ((next - gap) & (SLOTS - 1))) {
			shim.live[gap] = shim.live[next];
			if (shim.stacks)
				memcpy(shim.above[gap], shim.above[next], sizeof *shim.above);
			gap = next;
		}
	}
	unlock();
}

static bool no_memory(const char *call)
{
	if (!fails(call, ALLOC))
		return false;
	errno = ENOMEM;
	return true;
}

#define SITE_HERE __builtin_return_address(0)

void *malloc(size_t size)
{
	if (no_memory("malloc"))
		return NULL;
	void *p = __libc_malloc(size);
	remember(p, size, SITE_HERE);
	return p;
}

void *calloc(size_t n, size_t size)
{
	if (no_memory("calloc"))
		return NULL;
	void *p = __libc_calloc(n, size);
	remember(p, n * size, SITE_HERE);
	return p;
}

void *realloc(void *old, size_t size)
{
	if (no_memory("realloc"))
		return NULL;
	forget(old);
	void *p = __libc_realloc(old, size);
	remember(p ? p : size ? old : NULL, size, SITE_HERE);
	return p;
}

void free(void *p)
{
	forget(p);
	__libc_free(p);
}

int posix_memalign(void **out, size_t align, size_t size)
{
	if (no_memory("posix_memalign"))
		return ENOMEM;
	void *p = __libc_memalign(align, size);
	if (!p)
		return ENOMEM;
	*out = p;
	remember(p, size, SITE_HERE);
	return 0;
}

void *aligned_alloc(size_t align, size_t size)
{
	if (no_memory("aligned_alloc"))
		return NULL;
	void *p = __libc_memalign(align, size);
	remember(p, size, SITE_HERE);
	return p;
}

void *memalign(size_t align, size_t size);
void *memalign(size_t align, size_t size)
{
	return aligned_alloc(align, size);
}

void *mmap(void *at, size_t size, int prot, int flags, int fd, off_t from)
{
	if (no_memory("mmap"))
		return MAP_FAILED;
	return (void *)syscall(SYS_mmap, at, size, prot, flags, fd, from);
}

void *mmap64(void *at, size_t size, int prot, int flags, int fd, off64_t from)
{
	return mmap(at, size, prot, flags, fd, from);
}

void *mremap(void *old, size_t old_size, size_t size, int flags, ...)
{
	va_list ap;
	va_start(ap, flags);
	void *to = flags & MREMAP_FIXED ? va_arg(ap, void *) : NULL;
	va_end(ap);
	return no_memory("mremap") ? MAP_FAILED : (void *)syscall(SYS_mremap, old, old_size, size, flags, to);
}

/* ---- system calls ---- */

/* FAIL(name, value, interruptible, errors...): leave with value where this call fails. */
#define FAIL(name, value, interruptible, ...)                                                                \
	do {                                                                                                 \
		int error = error_of(name, interruptible, ERRORS(__VA_ARGS__));                              \
		if (error) {                                                                                 \
			errno = error;                                                                       \
			return value;                                                                        \
		}                                                                                            \
	} while (0)

static int open_mode(int flags, va_list ap)
{
	return flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, int) : 0;
}

int openat(int dir, const char *path, int flags, ...)
{
	va_list ap;
	va_start(ap, flags);
	int mode = open_mode(flags, ap);
	va_end(ap);
	FAIL("open", -1, true, EACCES, EMFILE, EIO);
	return (int)syscall(SYS_openat, dir, path, flags, mode);
}

int openat64(int dir, const char *path, int flags, ...)
{
	va_list ap;
	va_start(ap, flags);
	int mode = open_mode(flags, ap);
	va_end(ap);
	return openat(dir, path, flags, mode);
}

int open(const char *path, int flags, ...)
{
	va_list ap;
	va_start(ap, flags);
	int mode = open_mode(flags, ap);
	va_end(ap);
	return openat(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
	va_list ap;
	va_start(ap, flags);
	int mode = open_mode(flags, ap);
	va_end(ap);
	return openat(AT_FDCWD, path, flags, mode);
}

/* A part of the work: the half, or a byte. */
static size_t part_of(const char *call, size_t n)
{
	return n > 1 && fails(call, PARTIAL) ? n / 2 : n;
}

ssize_t read(int fd, void *buf, size_t n)
{
	FAIL("read", -1, true, EIO);
	return syscall(SYS_read, fd, buf, part_of("read", n));
}

ssize_t pread(int fd, void *buf, size_t n, off_t at)
{
	FAIL("pread", -1, true, EIO);
	return syscall(SYS_pread64, fd, buf, part_of("pread", n), at);
}

ssize_t pread64(int fd, void *buf, size_t n, off64_t at)
{
	return pread(fd, buf, n, at);
}

ssize_t write(int fd, const void *buf, size_t n)
{
	if (fd == STDERR_FILENO)
		return syscall(SYS_write, fd, buf, n);
	FAIL("write", -1, true, ENOSPC, EIO);
	return syscall(SYS_write, fd, buf, part_of("write", n));
}

ssize_t pwrite(int fd, const void *buf, size_t n, off_t at)
{
	FAIL("pwrite", -1, true, ENOSPC, EIO);
	return syscall(SYS_pwrite64, fd, buf, part_of("pwrite", n), at);
}

ssize_t pwrite64(int fd, const void *buf, size_t n, off64_t at)
{
	return pwrite(fd, buf, n, at);
}

ssize_t send(int fd, const void *buf, size_t n, int flags)
{
	FAIL("send", -1, true, ECONNRESET, ENOBUFS);
	return syscall(SYS_sendto, fd, buf, part_of("send", n), flags, NULL, 0);
}

ssize_t recv(int fd, void *buf, size_t n, int flags)
{
	FAIL("recv", -1, true, ECONNRESET, EIO);
	return syscall(SYS_recvfrom, fd, buf, part_of("recv", n), flags, NULL, NULL);
}

/* The descriptor is gone in any case, as on Linux. */
int close(int fd)
{
	int error = error_of("close", false, ERRORS(EIO, ENOSPC));
	int rc = (int)syscall(SYS_close, fd);
	if (!error)
		return rc;
	errno = error;
	return -1;
}

/* SYSCALL(name, parameters, arguments, interruptible, errors...): a function that returns -1 on error. */
#define SYSCALL(name, parameters, arguments, interruptible, ...)                                             \
	int name parameters                                                                                  \
	{                                                                                                    \
		FAIL(#name, -1, interruptible, __VA_ARGS__);                                                 \
		return REAL(name) arguments;                                                                 \
	}

SYSCALL(fsync, (int fd), (fd), true, EIO, ENOSPC)
SYSCALL(fdatasync, (int fd), (fd), true, EIO, ENOSPC)
SYSCALL(rename, (const char *from, const char *to), (from, to), false, EIO, EACCES, ENOSPC)
SYSCALL(link, (const char *from, const char *to), (from, to), false, EIO, ENOSPC)
SYSCALL(mkdir, (const char *path, mode_t mode), (path, mode), false, EACCES, ENOSPC)
SYSCALL(ftruncate, (int fd, off_t size), (fd, size), false, EIO, ENOSPC)
SYSCALL(ftruncate64, (int fd, off64_t size), (fd, size), false, EIO, ENOSPC)
SYSCALL(flock, (int fd, int how), (fd, how), false, ENOLCK)
SYSCALL(fchmod, (int fd, mode_t mode), (fd, mode), false, EPERM, EIO)
SYSCALL(mkstemp, (char *name), (name), false, EACCES, EMFILE, ENOSPC)
SYSCALL(mkstemp64, (char *name), (name), false, EACCES, EMFILE, ENOSPC)
SYSCALL(stat, (const char *path, struct stat *st), (path, st), false, EIO, EACCES)
SYSCALL(stat64, (const char *path, struct stat64 *st), (path, st), false, EIO, EACCES)
SYSCALL(lstat, (const char *path, struct stat *st), (path, st), false, EIO, EACCES)
SYSCALL(lstat64, (const char *path, struct stat64 *st), (path, st), false, EIO, EACCES)
SYSCALL(fstat, (int fd, struct stat *st), (fd, st), false, EIO)
SYSCALL(fstat64, (int fd, struct stat64 *st), (fd, st), false, EIO)
SYSCALL(fstatat, (int dir, const char *path, struct stat *st, int flags), (dir, path, st, flags), false, EIO,
        EACCES)
SYSCALL(access, (const char *path, int mode), (path, mode), false, EIO, EACCES)
SYSCALL(pipe2, (int fd[2], int flags), (fd, flags), false, EMFILE, ENFILE)
SYSCALL(socketpair, (int a, int b, int c, int fd[2]), (a, b, c, fd), false, EMFILE, ENFILE)
SYSCALL(dup2, (int from, int to), (from, to), true, EMFILE)
SYSCALL(poll, (struct pollfd *p, nfds_t n, int ms), (p, n, ms), true, ENOMEM)
SYSCALL(sched_getaffinity, (pid_t pid, size_t n, cpu_set_t *set), (pid, n, set), false, EPERM)
SYSCALL(sched_setaffinity, (pid_t pid, size_t n, const cpu_set_t *set), (pid, n, set), false, EPERM)
SYSCALL(setrlimit, (__rlimit_resource_t which, const struct rlimit *to), (which, to), false, EPERM)

ssize_t getrandom(void *buf, size_t n, unsigned flags)
{
	FAIL("getrandom", -1, true, EAGAIN);
	return REAL(getrandom)(buf, n, flags);
}

off_t lseek(int fd, off_t to, int from)
{
	FAIL("lseek", -1, false, EINVAL);
	return syscall(SYS_lseek, fd, to, from);
}

off64_t lseek64(int fd, off64_t to, int from)
{
	return lseek(fd, to, from);
}

char *realpath(const char *path, char *to)
{
	FAIL("realpath", NULL, false, EIO, EACCES);
	return REAL(realpath)(path, to);
}

DIR *opendir(const char *path)
{
	FAIL("opendir", NULL, false, EACCES, EMFILE);
	return REAL(opendir)(path);
}

/* Where all fails from an earlier call on, undoing is possible still. */
int unlink(const char *path)
{
	int error = error_of("unlink", false, ERRORS(EIO, EACCES));
	if (!error || (shim.ever && atomic_load(&shim.count->calls) != shim.n))
		return (int)syscall(SYS_unlink, path);
	errno = error;
	return -1;
}

/* Waiting for a child fails by a signal alone. */
pid_t waitpid(pid_t pid, int *status, int options)
{
	if (fails("waitpid", INTERRUPTIBLE)) {
		errno = EINTR;
		return -1;
	}
	return REAL(waitpid)(pid, status, options);
}

/* The process had ended just before. */
int kill(pid_t pid, int number)
{
	int error = error_of("kill", false, ERRORS(ESRCH)), rc = REAL(kill)(pid, number);
	if (!error)
		return rc;
	errno = error;
	return -1;
}

pid_t fork(void)
{
	FAIL("fork", -1, false, EAGAIN, ENOMEM);
	pid_t pid = REAL(fork)();
	if (pid == 0)
		shim.in_child = true;
	return pid;
}

int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                const posix_spawnattr_t *attr, char *const argv[], char *const env[])
{
	int error = error_of("posix_spawn", false, ERRORS(EAGAIN, ENOMEM));
	return error ? error : REAL(posix_spawn)(pid, path, actions, attr, argv, env);
}

int posix_spawnp(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *attr, char *const argv[], char *const env[])
{
	int error = error_of("posix_spawnp", false, ERRORS(EAGAIN, EACCES));
	return error ? error : REAL(posix_spawnp)(pid, path, actions, attr, argv, env);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	int error = error_of("pthread_create", false, ERRORS(EAGAIN));
	return error ? error : REAL(pthread_create)(thread, attr, run, arg);
}

/* ---- files of <stdio.h>: streams over the calls above ---- */

static int fd_of(void *cookie)
{
	return (int)(intptr_t)cookie;
}

static ssize_t stream_read(void *cookie, char *buf, size_t n)
{
	ssize_t got = read(fd_of(cookie), buf, n);
	while (got < 0 && errno == EINTR) /* handlers here restart calls */
		got = read(fd_of(cookie), buf, n);
	return got;
}

static ssize_t stream_write(void *cookie, const char *buf, size_t n)
{
	size_t done = 0;
	while (done < n) {
		ssize_t part = write(fd_of(cookie), buf + done, n - done);
		if (part < 0 && errno == EINTR)
			continue;
		if (part < 0)
			break;
		done += (size_t)part;
	}
	return (ssize_t)done;
}

static int stream_seek(void *cookie, off64_t *at, int from)
{
	off64_t to = lseek(fd_of(cookie), *at, from);
	if (to < 0)
		return -1;
	*at = to;
	return 0;
}

static int stream_close(void *cookie)
{
	return close(fd_of(cookie));
}

static FILE *stream_over(int fd, const char *mode)
{
	const cookie_io_functions_t io = {stream_read, stream_write, stream_seek, stream_close};
	FILE *f = fopencookie((void *)(intptr_t)fd, mode, io);
	if (f)
		f->_fileno = fd;
	return f;
}

FILE *fopen(const char *path, const char *mode)
{
	int flags = strchr(mode, '+') ? O_RDWR : *mode == 'r' ? O_RDONLY : O_WRONLY;
	flags |= *mode == 'w' ? O_CREAT | O_TRUNC : *mode == 'a' ? O_CREAT | O_APPEND : 0;
	flags |= strchr(mode, 'e') ? O_CLOEXEC : 0;
	FAIL("open", NULL, false, EACCES, EMFILE, EIO);
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0666);
	if (fd < 0)
		return NULL;
	FILE *f = stream_over(fd, mode);
	if (!f) {
		syscall(SYS_close, fd);
		errno = ENOMEM;
	}
	return f;
}

FILE *fopen64(const char *path, const char *mode)
{
	return fopen(path, mode);
}

FILE *tmpfile(void)
{
	FAIL("tmpfile", NULL, false, EMFILE, ENOSPC);
	return REAL(tmpfile)();
}

FILE *tmpfile64(void)
{
	return tmpfile();
}

/* ---- begin and end ---- */

typedef struct linux_dirent {
	uint64_t inode;
	int64_t next;
	uint16_t length;
	uint8_t type;
	char name[];
} linux_dirent;

/* Each open file descriptor: noted as open at the start, or told where it was not. */
static void look_at_descriptors(bool note)
{
	_Alignas(linux_dirent) char buf[8192];
	long dir = syscall(SYS_openat, AT_FDCWD, "/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC), n;
	while (dir >= 0 && (n = syscall(SYS_getdents64, dir, buf, sizeof buf)) > 0)
		for (long at = 0; at < n;) {
			const linux_dirent *entry = (const linux_dirent *)(buf + at);
			char path[64], target[256];
			int fd = entry->name[0] == '.' ? (int)dir : atoi(entry->name);
			at += entry->length;
			if (fd == (int)dir || fd >= MAX_FDS)
				continue;
			if (note) {
				shim.open_at_start[fd] = true;
				continue;
			}
			snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
			ssize_t len = syscall(SYS_readlinkat, AT_FDCWD, path, target, sizeof target - 1);
			target[len > 0 ? len : 0] = '\0';
			if (!shim.open_at_start[fd])
				tell("fd %d %s\n", fd, target);
		}
	syscall(SYS_close, dir);
}

static void tell_block(size_t at)
{
	char first[32];
	snprintf(first, sizeof first, " %zu", shim.live[at].bytes);
	tell_place("live", first, shim.live[at].site);
	for (int i = 0; shim.stacks && i < SITE && shim.above[at][i]; i++)
		tell_place("by", "", shim.above[at][i]);
}

static void end(void)
{
	siginfo_t info = {0};
	if (!atomic_exchange(&shim.armed, false) || shim.in_child)
		return;
	busy = true;
	size_t said = atomic_load(&shim.count->n_said);
	write_report(shim.count->said, said < SAID ? said : SAID);
	tell("calls %ld\n", atomic_load(&shim.count->calls));
	for (size_t i = 0; i < SLOTS; i++)
		if (shim.live[i].p)
			tell_block(i);
	look_at_descriptors(false);
	if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0)
		tell("child %d\n", (int)info.si_pid);
	busy = false;
}

static void *shared(size_t bytes)
{
	long p = syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return p == -1 ? NULL : (void *)p;
}

static void begin(void)
{
	const char *which = getenv("BERTH_FAULT_KIND"), *n = getenv("BERTH_FAULT_N");
	void *warm[4];
	if (!which)
		return;
	shim.which = strcmp(which, "alloc") == 0   ? ALLOC
	             : strcmp(which, "sys") == 0   ? SYS
	             : strcmp(which, "eintr") == 0 ? INTERRUPTIBLE
	                                          : PARTIAL;
	shim.n = n ? atol(n) : 0;
	shim.ever = getenv("BERTH_FAULT_EVER") != NULL;
	shim.children = getenv("BERTH_FAULT_CHILDREN") != NULL;
	shim.stacks = getenv("BERTH_FAULT_STACKS") != NULL;
	shim.call = getenv("BERTH_FAULT_CALL");
	shim.within = getenv("BERTH_FAULT_WITHIN");
	shim.report = getenv("BERTH_FAULT_REPORT");
	shim.count = shared(sizeof *shim.count);
	shim.live = shared(SLOTS * sizeof *shim.live);
	shim.above = shim.stacks ? shared(SLOTS * sizeof *shim.above) : NULL;
	if (!shim.count || !shim.live || (shim.stacks && !shim.above))
		abort();
	unsetenv("LD_PRELOAD"); /* programs that this one starts are their own affair */
	backtrace(warm, 4);     /* it loads a library, the first time */
	stdout = stream_over(STDOUT_FILENO, "w");
	look_at_descriptors(true);
	atomic_store(&shim.armed, true);
}

static main_function *program;

static int run(int argc, char **argv, char **env)
{
	begin();
	int rc = program(argc, argv, env);
	end();
	return rc;
}

int __libc_start_main(main_function *main, int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*rtld_fini)(void), void *stack_end)
{
	program = main;
	return REAL(__libc_start_main)(run, argc, argv, init, fini, rtld_fini, stack_end);
}

/* Where the program left by exit. */
__attribute__((destructor)) static void at_exit(void)
{
	end();
}
