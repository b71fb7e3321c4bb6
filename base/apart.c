/* Work in child processes, for libraries that would print, hang or end this one. Results come through a
 * pipe. */
#include "apart.h"

#include "file.h"
#include "leftovers.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LEFT_WITHOUT_MEMORY = 41, LEFT_UNHEARD, LEFT_ALONE }; /* exit codes of a child */
enum { ANSWER_FD = 3 };                                      /* behind the standard streams */

typedef struct outcome {
	berth_status st;
	berth_err err;
} outcome;

/* A child, where its answer comes from, and the note of what it would leave behind. */
typedef struct started {
	pid_t pid;
	int fd, note;
} started;

/* What came through the pipe: all of it; less, as the child ended or the time was over; errno tells why
 * nothing can come. */
typedef enum arrival { WHOLE, ENDED, CUT, UNHEARD } arrival;

/* Has the child ended? It is not collected yet. */
static bool has_ended(pid_t pid)
{
	siginfo_t info = {.si_pid = 0};
	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0;
}

/* For something to read. Who may cancel is asked fifty times a second, and whether the child is alive: one
 * that it started itself may hold the pipe open. */
static arrival wait_for(const started *s, const berth_patience *until)
{
	struct pollfd p = {.fd = s->fd, .events = POLLIN};
	for (bool ended = false; !berth_patience_over(until);) {
		double left_ms = ceil((until->end_s - berth_wall_seconds()) * 1e3);
		int n = poll(&p, 1, ended ? 0 : (int)fmin(left_ms, 20));
		if (n > 0)
			return WHOLE;
		if (n < 0 && errno != EINTR)
			return UNHEARD;
		if (n == 0 && ended)
			return ENDED;
		ended = has_ended(s->pid);
	}
	return CUT;
}

static arrival receive_all(const started *s, const berth_patience *until, void *data, size_t n)
{
	for (char *at = data; n > 0;) {
		arrival ready = wait_for(s, until);
		if (ready != WHOLE)
			return ready;
		ssize_t k = read(s->fd, at, n);
		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return k < 0 ? UNHEARD : ENDED;
		at += k;
		n -= (size_t)k;
	}
	return WHOLE;
}

bool berth_apart_end_with(pid_t parent)
{
	return prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 && getppid() == parent;
}

static _Noreturn void child(pid_t parent, int fd, berth_status (*work)(void *ctx, berth_err *err), void *ctx,
                            int n_blocks, const berth_apart_block *blocks)
{
	outcome o = {.st = BERTH_OK};
	setpgid(0, 0);
	if (!berth_apart_end_with(parent))
		_exit(LEFT_ALONE);
	/* It keeps nothing open but its answer: neither the pipe of a child that another thread started at
	 * this moment, whose end would not be seen, nor a file that is locked. */
	if (fd != ANSWER_FD && dup2(fd, ANSWER_FD) < 0)
		_exit(LEFT_UNHEARD);
	closefrom(ANSWER_FD + 1);
	const struct rlimit none = {0, 0};
	int null = open("/dev/null", O_RDWR);
	setrlimit(RLIMIT_CORE, &none);
	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
	}
	signal(SIGTTIN, SIG_IGN); /* the terminal is not its group's: reading it fails */
	signal(SIGTTOU, SIG_IGN);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGABRT, SIG_DFL);
	o.st = work(ctx, &o.err);
	bool sent = berth_file_write_all(ANSWER_FD, &o, sizeof o) == 0;
	for (int i = 0; i < n_blocks && o.st == BERTH_OK; i++)
		sent = sent && berth_file_write_all(ANSWER_FD, blocks[i].data, blocks[i].bytes) == 0;
	_exit(sent ? 0 : LEFT_UNHEARD);
}

static arrival receive(const started *s, const berth_patience *until, outcome *o, int n_blocks,
                       const berth_apart_block *blocks)
{
	arrival got = receive_all(s, until, o, sizeof *o);
	for (int i = 0; i < n_blocks && got == WHOLE && o->st == BERTH_OK; i++)
		got = receive_all(s, until, blocks[i].data, blocks[i].bytes);
	o->err.msg[sizeof o->err.msg - 1] = '\0'; /* work may have written to the pipe itself */
	return got;
}

/* Collect the child: its status, as of waitpid. One that was killed may be kept by the kernel (a driver that
 * sleeps): it is left behind after a second. */
static int collect(pid_t pid, bool killed)
{
	int status = 0;
	const struct timespec nap = {0, 1000000};
	for (int naps = 0; naps < 1000; naps += killed) {
		pid_t done = waitpid(pid, &status, killed ? WNOHANG : 0);
		if (done > 0 || (done < 0 && errno != EINTR))
			return status;
		if (killed)
			nanosleep(&nap, NULL);
	}
	return status;
}

static berth_status fail_errno(berth_err *err, const char *what, int why)
{
	return why == ENOMEM ? berth_nomem(err) : berth_fail(err, BERTH_EIO, "%s: %s", what, strerror(why));
}

/* What the parent makes of the child that it forked. */
static berth_status hear(const started *s, const berth_patience *until, int n_blocks,
                         const berth_apart_block *blocks, berth_apart_end *how, int *by_signal,
                         berth_err *err)
{
	outcome o = {.st = BERTH_OK};
	arrival got = receive(s, until, &o, n_blocks, blocks);
	int why = errno;
	bool answered = got == WHOLE, late = got == CUT;
	close(s->fd);
	if (!answered)
		kill(s->pid, SIGKILL); /* late, ended with its exit code, or going on without the pipe */
	kill(-s->pid, SIGKILL);        /* and what it started */
	berth_leftover_forget(s->note);
	int status = collect(s->pid, !answered);
	*by_signal = got == UNHEARD ? -1 : !answered && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	*how = answered ? BERTH_APART_ANSWERED : late ? BERTH_APART_LATE : BERTH_APART_ENDED;
	if (got == UNHEARD)
		return fail_errno(err, "no answer from a process of its own", why);
	if (!answered && WIFEXITED(status) && WEXITSTATUS(status) == LEFT_WITHOUT_MEMORY)
		return berth_nomem(err);
	if (!answered && WIFEXITED(status) && WEXITSTATUS(status) == LEFT_UNHEARD)
		return berth_fail(err, BERTH_EIO, "a process of its own could not send its answer");
	if (!answered && WIFEXITED(status) && WEXITSTATUS(status) == LEFT_ALONE)
		return berth_fail(err, BERTH_EIO,
		                  "a process of its own cannot be bound to the end of this one");
	if (!answered || o.st == BERTH_OK)
		return BERTH_OK;
	if ((int)o.st < BERTH_OK || (int)o.st > BERTH_EUNSUPPORTED)
		return berth_fail(err, BERTH_EIO,
		                  "a process of its own answered with status %d, which is none", (int)o.st);
	return berth_fail(err, o.st, "%s", o.err.msg);
}

int berth_apart_pipe(int fd[2])
{
	return pipe2(fd, O_CLOEXEC);
}

berth_status berth_apart_until(const berth_patience *until, berth_status (*work)(void *ctx, berth_err *err),
                               void *ctx, int n_blocks, const berth_apart_block *blocks,
                               berth_apart_end *how, int *by_signal, berth_err *err)
{
	int fd[2];
	if (berth_apart_pipe(fd) != 0)
		return fail_errno(err, "no pipe to a process of its own", errno);
	pid_t self = getpid(), pid = fork();
	if (pid == 0)
		child(self, fd[1], work, ctx, n_blocks, blocks);
	int why = errno;
	if (pid > 0)
		setpgid(pid, pid); /* as the child does: whoever is first */
	const started s = {pid, fd[0], pid > 0 ? berth_leftover_child(pid, 1) : -1};
	close(fd[1]);
	if (pid > 0)
		return hear(&s, until, n_blocks, blocks, how, by_signal, err);
	close(fd[0]);
	return fail_errno(err, "no process of its own", why);
}

berth_status berth_apart_within(double limit_s, berth_status (*work)(void *ctx, berth_err *err), void *ctx,
                                int n_blocks, const berth_apart_block *blocks, berth_apart_end *how,
                                berth_err *err)
{
	const berth_patience until = {.end_s = berth_wall_seconds() + limit_s};
	int by_signal;
	return berth_apart_until(&until, work, ctx, n_blocks, blocks, how, &by_signal, err);
}

berth_status berth_apart(const berth_patience *patience, berth_status (*work)(void *ctx, berth_err *err),
                         void *ctx, int n_blocks, const berth_apart_block *blocks, bool *answered,
                         berth_err *err)
{
	const berth_patience until = {.cancel = patience ? patience->cancel : NULL,
	                              .end_s = patience && patience->end_s > 0 ? patience->end_s : INFINITY};
	berth_apart_end how = BERTH_APART_ENDED;
	int by_signal;
	berth_status st =
		berth_apart_until(&until, work, ctx, n_blocks, blocks, &how, &by_signal, err);
	*answered = how == BERTH_APART_ANSWERED;
	return st;
}

void berth_apart_no_memory(void)
{
	_exit(LEFT_WITHOUT_MEMORY);
}
