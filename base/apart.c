/* Child processes; see apart.h. Results come through a pipe. */
#include "apart.h"

#include "leftovers.h"
#include "threads.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct outcome {
	berth_status st;
	berth_err err;
} outcome;

static bool send_all(int fd, const void *data, size_t n)
{
	for (const char *at = data; n > 0;) {
		ssize_t k = write(fd, at, n);
		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return false;
		at += k;
		n -= (size_t)k;
	}
	return true;
}

/* Is there something to read on fd before the clock says end_s? */
static bool wait_for(int fd, double end_s)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	for (;;) {
		double left_ms = ceil((end_s - berth_wall_seconds()) * 1e3);
		if (left_ms <= 0)
			return false;
		int n = poll(&p, 1, left_ms < INT_MAX ? (int)left_ms : isinf(left_ms) ? -1 : INT_MAX);
		if (n > 0)
			return true;
		if (n < 0 && errno != EINTR)
			return false;
	}
}

static bool receive_all(int fd, double end_s, void *data, size_t n)
{
	for (char *at = data; n > 0;) {
		ssize_t k = wait_for(fd, end_s) ? read(fd, at, n) : 0;
		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return false;
		at += k;
		n -= (size_t)k;
	}
	return true;
}

static void become_quiet(void)
{
	const struct rlimit none = {0, 0};
	int null = open("/dev/null", O_WRONLY);
	setrlimit(RLIMIT_CORE, &none);
	if (null >= 0) {
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
	}
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGABRT, SIG_DFL);
}

static _Noreturn void child(int fd, berth_status (*work)(void *ctx, berth_err *err), void *ctx, int n_blocks,
                            const berth_apart_block *blocks)
{
	outcome o = {.st = BERTH_OK};
	become_quiet();
	o.st = work(ctx, &o.err);
	bool sent = send_all(fd, &o, sizeof o);
	for (int i = 0; i < n_blocks && o.st == BERTH_OK; i++)
		sent = sent && send_all(fd, blocks[i].data, blocks[i].bytes);
	_exit(sent ? 0 : 1);
}

static bool receive(int fd, double end_s, outcome *o, int n_blocks, const berth_apart_block *blocks)
{
	bool got = receive_all(fd, end_s, o, sizeof *o);
	for (int i = 0; i < n_blocks && got && o->st == BERTH_OK; i++)
		got = receive_all(fd, end_s, blocks[i].data, blocks[i].bytes);
	return got;
}

/* Collect the child. One that was killed may be kept by the kernel (a driver that sleeps): it is left behind
 * after a second. */
static void collect(pid_t pid, bool killed)
{
	const struct timespec nap = {0, 1000000};
	for (int naps = 0; naps < 1000; naps += killed) {
		pid_t done = waitpid(pid, NULL, killed ? WNOHANG : 0);
		if (done > 0 || (done < 0 && errno != EINTR))
			return;
		if (killed)
			nanosleep(&nap, NULL);
	}
}

static berth_status no_process(int why, berth_err *err)
{
	if (why == ENOMEM)
		return berth_nomem(err);
	return berth_fail(err, BERTH_EIO, "no process of its own: %s", strerror(why));
}

berth_status berth_apart_within(double limit_s, berth_status (*work)(void *ctx, berth_err *err), void *ctx,
                                int n_blocks, const berth_apart_block *blocks, berth_apart_end *how,
                                berth_err *err)
{
	int fd[2];
	outcome o;
	double end_s = berth_wall_seconds() + limit_s;
	if (pipe(fd) != 0)
		return no_process(errno, err);
	pid_t pid = fork();
	if (pid == 0) {
		close(fd[0]);
		child(fd[1], work, ctx, n_blocks, blocks);
	}
	int why = errno, note = pid > 0 ? berth_leftover_child(pid, 0) : -1;
	close(fd[1]);
	bool answered = pid > 0 && receive(fd[0], end_s, &o, n_blocks, blocks);
	bool late = pid > 0 && !answered && berth_wall_seconds() >= end_s;
	close(fd[0]);
	if (pid < 0)
		return no_process(why, err);
	if (!answered)
		kill(pid, SIGKILL); /* late, ended, or with the pipe closed and going on */
	berth_leftover_forget(note);
	collect(pid, !answered);
	*how = answered ? BERTH_APART_ANSWERED : late ? BERTH_APART_LATE : BERTH_APART_ENDED;
	return !answered || o.st == BERTH_OK ? BERTH_OK : berth_fail(err, o.st, "%s", o.err.msg);
}

berth_status berth_apart(berth_status (*work)(void *ctx, berth_err *err), void *ctx, int n_blocks,
                         const berth_apart_block *blocks, bool *answered, berth_err *err)
{
	berth_apart_end how = BERTH_APART_ENDED;
	berth_status st = berth_apart_within(INFINITY, work, ctx, n_blocks, blocks, &how, err);
	*answered = how == BERTH_APART_ANSWERED;
	return st;
}
