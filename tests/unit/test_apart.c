/* Child processes end with whoever started them, and one that crashes is noticed whoever else was started at
 * the same time. The moments between fork and what follows are held still by handlers of fork. */
#include "apart.h"
#include "sandbox.h"
#include "support.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What the processes of a test share. */
static struct shared {
	atomic_int child;  /* a child's number, once it works */
	atomic_int ended;  /* the first of two was collected */
	atomic_int orphan; /* kill the parent before the child goes on */
	atomic_int hold;   /* let the first fork wait for a second child */
} *shared;

static int set_up(void **state)
{
	(void)state;
	FILE *f = tmpfile();
	if (!f || ftruncate(fileno(f), sizeof *shared) != 0)
		return -1;
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(f), 0);
	fclose(f);
	return shared == MAP_FAILED;
}

static int tear_down(void **state)
{
	(void)state;
	return munmap(shared, sizeof *shared);
}

/* For 20 s at most: what waits in vain fails. */
static bool wait_until(const atomic_int *what)
{
	const struct timespec nap = {0, 1000000};
	for (int i = 0; i < 20000 && !atomic_load(what); i++)
		nanosleep(&nap, NULL);
	return atomic_load(what);
}

static berth_status work_for_ever(void *ctx, berth_err *err)
{
	(void)ctx, (void)err;
	atomic_store(&shared->child, getpid());
	while (pause() < 0)
		;
	return BERTH_OK;
}

static berth_status read_for_ever(void *ctx, berth_arena *mem, const char **data, size_t *size,
                                  berth_err *err)
{
	(void)ctx, (void)mem, (void)data, (void)size, (void)err;
	atomic_store(&shared->child, -1); /* it cannot ask for its number */
	while (shared->child)
		;
	return BERTH_OK;
}

static void orphan_child(void)
{
	const struct timespec nap = {0, 1000000};
	pid_t parent = getppid();
	if (!atomic_exchange(&shared->orphan, 0))
		return;
	kill(parent, SIGKILL);
	while (getppid() == parent)
		nanosleep(&nap, NULL);
}

typedef void parent_work(void);

static void run_apart(void)
{
	bool answered;
	(void)berth_apart(NULL, work_for_ever, NULL, 0, NULL, &answered, NULL);
}

static void run_sandbox(void)
{
	const berth_sandbox s = {.memory_bytes = 1 << 28, .cpu_s = 30, .answer_bytes = 1};
	berth_arena mem = {0};
	(void)berth_sandbox_run(&s, "x", read_for_ever, NULL, &mem, NULL, NULL, NULL);
}

/* A process that does that; killed once its child works, or by the child before that. */
static void leave_orphan(parent_work *work, bool at_once)
{
	shared->child = 0;
	shared->orphan = at_once;
	pid_t parent = fork();
	if (parent == 0) {
		pthread_atfork(NULL, NULL, orphan_child);
		work();
		_exit(0);
	}
	if (!at_once) {
		wait_until(&shared->child);
		kill(parent, SIGKILL);
	}
	assert_int_equal(waitpid(parent, NULL, 0), parent);
}

/* The orphan falls to this process. It ends without anybody's help. */
static void collect_orphan(void)
{
	const struct timespec nap = {0, 1000000};
	pid_t got = 0;
	for (int i = 0; i < 20000 && got == 0; i++, nanosleep(&nap, NULL))
		got = waitpid(-1, NULL, WNOHANG);
	if (got <= 0 && shared->child > 0)
		kill(shared->child, SIGKILL);
	assert_true(got > 0);
}

static berth_status read_nothing(void *ctx, berth_arena *mem, const char **data, size_t *size, berth_err *err)
{
	(void)ctx, (void)mem, (void)data, (void)size, (void)err;
	return BERTH_OK;
}

/* Sanitizers need other calls; a container may forbid filters. */
static bool has_sandbox(void)
{
	const berth_sandbox s = {.memory_bytes = 1 << 28, .cpu_s = 1, .answer_bytes = 1};
	berth_arena mem = {0};
	return !BERTH_DEBUG &&
	       berth_sandbox_run(&s, "x", read_nothing, NULL, &mem, NULL, NULL, NULL) == BERTH_OK;
}

static void test_end_with_parent(void **state)
{
	(void)state;
	parent_work *const work[] = {run_apart, run_sandbox};
	int n = has_sandbox() ? 4 : 2;
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
	for (int i = 0; i < n; i++) {
		leave_orphan(work[i / 2], i % 2);
		collect_orphan();
	}
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0), 0);
}

/* ---- two at once ---- */

/* Works until the first is collected, but not for ever. */
static berth_status outlive(void *ctx, berth_err *err)
{
	bool *seen = ctx;
	(void)err;
	atomic_store(&shared->child, 1);
	*seen = wait_until(&shared->ended);
	return BERTH_OK;
}

static berth_status crash(void *ctx, berth_err *err)
{
	(void)ctx, (void)err;
	wait_until(&shared->child);
	abort();
}

static void *run_second(void *ctx)
{
	bool answered, *seen = ctx;
	const berth_apart_block block = {seen, sizeof *seen};
	(void)berth_apart(NULL, outlive, seen, 1, &block, &answered, NULL);
	return NULL;
}

static pthread_t second;
static bool second_saw;

/* The parent of the first child, which has its pipe still open for writing, lets another thread start one. */
static void start_second(void)
{
	if (atomic_exchange(&shared->hold, 0) && pthread_create(&second, NULL, run_second, &second_saw) == 0)
		wait_until(&shared->child);
}

static void test_sibling(void **state)
{
	(void)state;
	bool answered = true;
	berth_err err;
	shared->child = shared->ended = 0;
	shared->hold = 1;
	pthread_atfork(NULL, start_second, NULL);
	assert_ok(berth_apart(NULL, crash, NULL, 0, NULL, &answered, &err), &err);
	assert_false(answered);
	atomic_store(&shared->ended, 1);
	assert_int_equal(pthread_join(second, NULL), 0);
	assert_true(second_saw);
}

static berth_status start_another(void *ctx, berth_err *err)
{
	if (fork() == 0)
		return work_for_ever(ctx, err); /* with the pipe open */
	wait_until(&shared->child);
	abort();
}

/* What a child started goes with it, and does not hide its end. */
static void test_group(void **state)
{
	(void)state;
	berth_err err;
	berth_apart_end how = BERTH_APART_ANSWERED;
	const berth_patience until = {.end_s = berth_wall_seconds() + 20};
	int by_signal = 0;
	shared->child = 0;
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
	assert_ok(berth_apart_until(&until, start_another, NULL, 0, NULL, &how, &by_signal, &err), &err);
	assert_int_equal(how, BERTH_APART_ENDED);
	assert_int_equal(by_signal, SIGABRT);
	collect_orphan();
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0), 0);
}

/* From here on nothing can be bound to the end of its parent. */
static bool forbid_binding(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_PDEATHSIG, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	const struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

static berth_status work_at_once(void *ctx, berth_err *err)
{
	(void)ctx, (void)err;
	return BERTH_OK;
}

/* Where a child cannot be bound to the end of its parent, it does not begin, and that is told. */
static void test_not_bound(void **state)
{
	(void)state;
	int status;
	pid_t pid = fork();
	if (pid == 0) {
		berth_err err = {0};
		bool answered = true, bound = !forbid_binding();
		berth_status st = berth_apart(NULL, work_at_once, NULL, 0, NULL, &answered, &err);
		_exit(!bound && st == BERTH_EIO && !answered && strstr(err.msg, "bound to the end") ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_end_with_parent),
		cmocka_unit_test(test_sibling),
		cmocka_unit_test(test_group),
		cmocka_unit_test(test_not_bound),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
