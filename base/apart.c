/* Child processes; see apart.h. Results come through a pipe. */
#include "apart.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
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

static bool receive(int fd, outcome *o, int n_blocks, const berth_apart_block *blocks)
{
	bool got = receive_all(fd, o, sizeof *o);
	for (int i = 0; i < n_blocks && got && o->st == BERTH_OK; i++)
		got = receive_all(fd, blocks[i].data, blocks[i].bytes);
	return got;
}

berth_status berth_apart(berth_status (*work)(void *ctx, berth_err *err), void *ctx, int n_blocks,
                         const berth_apart_block *blocks, bool *answered, berth_err *err)
{
	int fd[2];
	outcome o;
	if (pipe(fd) != 0)
		return berth_fail(err, BERTH_EIO, "no pipe to a process of its own: %s", strerror(errno));
	pid_t pid = fork();
	if (pid == 0) {
		close(fd[0]);
		child(fd[1], work, ctx, n_blocks, blocks);
	}
	int why = errno;
	close(fd[1]);
	*answered = pid > 0 && receive(fd[0], &o, n_blocks, blocks);
	close(fd[0]);
	if (pid < 0)
		return berth_fail(err, BERTH_EIO, "no process of its own: %s", strerror(why));
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return !*answered || o.st == BERTH_OK ? BERTH_OK : berth_fail(err, o.st, "%s", o.err.msg);
}
