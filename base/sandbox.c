/* Work on a stranger's bytes in a child process that can do nothing else. The answer comes through a pipe,
 * a header first. */
#include "sandbox.h"

#include "apart.h"
#include "file.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ANSWER_FD = 0, N_SIGNALS = 32 };

typedef struct header {
	berth_err err;
	int64_t status, size;
} header;

/* ---- the child ---- */

/* Address space that is taken already: mapped files count too. */
static rlim_t taken_bytes(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");
	if (f) {
		if (fscanf(f, "%lu", &pages) != 1)
			pages = 0;
		fclose(f);
	}
	return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

/* At most `most`, or what the process was allowed before, if that is less. */
static bool limit(int what, rlim_t soft, rlim_t hard)
{
	struct rlimit r;
	if (getrlimit(what, &r) != 0)
		return false;
	r.rlim_max = r.rlim_max < hard ? r.rlim_max : hard;
	r.rlim_cur = r.rlim_cur < soft ? r.rlim_cur : soft;
	r.rlim_cur = r.rlim_cur < r.rlim_max ? r.rlim_cur : r.rlim_max;
	return setrlimit(what, &r) == 0;
}

static bool limit_all(const berth_sandbox *s)
{
	rlim_t memory = taken_bytes() + (rlim_t)s->memory_bytes, cpu = (rlim_t)s->cpu_s;
	return limit(RLIMIT_AS, memory, memory) && limit(RLIMIT_CPU, cpu, cpu + 1) &&
	       limit(RLIMIT_CORE, 0, 0) && limit(RLIMIT_FSIZE, 0, 0) && limit(RLIMIT_NOFILE, 0, 0) &&
	       limit(RLIMIT_NPROC, 0, 0);
}

/* Signals as if nobody had touched them, but those to end the program: a whole group gets them, its parent
 * heeds them and takes it along. No file but the answer's; no debugger; gone with the parent. */
static bool let_go(pid_t parent, int fd)
{
	sigset_t none;
	if (!berth_apart_end_with(parent))
		return false;
	sigemptyset(&none);
	for (int i = 1; i < N_SIGNALS; i++)
		signal(i, i == SIGINT || i == SIGTERM || i == SIGHUP ? SIG_IGN : SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (fd != ANSWER_FD && dup2(fd, ANSWER_FD) < 0)
		return false;
	closefrom(ANSWER_FD + 1);
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0;
}

static _Noreturn void child(pid_t parent, int fd, const berth_sandbox *s, const char *name,
                            berth_sandbox_work *work, void *ctx)
{
	header h = {.err = {BERTH_OK, ""}};
	berth_arena mem = {0};
	const char *data = NULL;
	size_t size = 0;
	bool there = let_go(parent, fd);
	if (there && limit_all(s) && sandbox_close_walls(ANSWER_FD))
		h.status = work(ctx, &mem, &data, &size, &h.err);
	else
		h.status = berth_fail(&h.err, BERTH_EIO,
		                      "%s: it cannot be read in a sandbox: this system, or the "
		                      "container that berth runs in, has no seccomp filters (--no-sandbox)",
		                      name);
	h.size = h.status == BERTH_OK ? (int64_t)size : 0;
	bool sent = there && berth_file_write_all(ANSWER_FD, &h, sizeof h) == 0 &&
	            berth_file_write_all(ANSWER_FD, data, (size_t)h.size) == 0;
	_exit(sent ? 0 : 1);
}

/* ---- the parent: whatever comes is doubted ---- */

static bool receive_all(int fd, void *data, size_t n)
{
	for (char *at = data; n > 0;) {
		ssize_t k = read(fd, at, n);
		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return false;
		at += k;
		n -= (size_t)k;
	}
	return true;
}

static berth_status ended(const berth_sandbox *s, const char *name, int how, berth_err *err)
{
	int sig = WIFSIGNALED(how) ? WTERMSIG(how) : 0;
	char what[80];
	if (sig == SIGSYS)
		snprintf(what, sizeof what, "tried what the sandbox forbids");
	else if (sig == SIGXCPU)
		snprintf(what, sizeof what, "took more than %d s of processor time", (int)s->cpu_s);
	else if (sig && sig != SIGKILL)
		snprintf(what, sizeof what, "crashed (signal %d)", sig);
	else
		snprintf(what, sizeof what, "gave no answer that makes sense");
	return berth_fail(err, BERTH_EIO, "%s: cannot read it: its reader %s and was ended", name, what);
}

/* What a reader may say. That the search was interrupted, or that no placement is legal, is none of it. */
static bool is_answer(int64_t status)
{
	static const berth_status known[] = {BERTH_OK,      BERTH_EINVAL, BERTH_ENOMEM,      BERTH_EIO,
	                                     BERTH_EFORMAT, BERTH_ELIMIT, BERTH_EUNSUPPORTED};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (status == (int64_t)known[i])
			return true;
	return false;
}

/* *whole: all of an answer came, and st is its status. */
static berth_status receive(int fd, const berth_sandbox *s, berth_arena *mem, const char **data, size_t *size,
                            bool *whole, berth_err *err)
{
	header h;
	*whole = receive_all(fd, &h, sizeof h) && is_answer(h.status) && h.size >= 0 &&
	         h.size <= s->answer_bytes;
	if (!*whole)
		return BERTH_OK;
	h.err.msg[sizeof h.err.msg - 1] = '\0';
	if (h.status != BERTH_OK)
		return berth_fail(err, (berth_status)h.status, "%s", h.err.msg);
	char *bytes = berth_arena_alloc(mem, (size_t)h.size + 1, 1);
	BERTH_TRY(berth_got(bytes, err));
	*whole = receive_all(fd, bytes, (size_t)h.size);
	if (data)
		*data = bytes;
	if (size)
		*size = (size_t)h.size;
	return BERTH_OK;
}

static int collect(pid_t pid)
{
	int how = 0;
	while (waitpid(pid, &how, 0) < 0 && errno == EINTR)
		;
	return how;
}

static berth_status no_child(int why, const char *name, berth_err *err)
{
	if (why == ENOMEM)
		return berth_nomem(err);
	return berth_fail(err, BERTH_EIO, "%s: no process for its reader: %s", name, strerror(why));
}

berth_status berth_sandbox_run(const berth_sandbox *s, const char *name, berth_sandbox_work *work, void *ctx,
                               berth_arena *mem, const char **data, size_t *size, berth_err *err)
{
	int fd[2];
	bool whole = false;
	if (berth_apart_pipe(fd) != 0)
		return no_child(errno, name, err);
	pid_t self = getpid(), pid = fork();
	if (pid == 0)
		child(self, fd[1], s, name, work, ctx);
	int why = errno;
	close(fd[1]);
	berth_status st = pid > 0 ? receive(fd[0], s, mem, data, size, &whole, err)
	                          : no_child(why, name, err);
	if (pid > 0 && !whole)
		kill(pid, SIGKILL); /* where it has ended already, that does not change how */
	close(fd[0]); /* not before: it would end by SIGPIPE */
	if (pid < 0)
		return st;
	int how = collect(pid);
	return whole || st != BERTH_OK ? st : ended(s, name, how, err);
}
