/* A reader in a sandbox that was taken over: whatever it tries is stopped and told, and a good one is not
 * disturbed. */
#include "load_system.h"
#include "sandbox.h"
#include "support.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MIB = 1 << 20 };

/* What a work got to before it was stopped, seen by the test. */
typedef struct scene {
	char path[64]; /* a file that nobody may touch */
	int fd;        /* of it, open for writing */
	volatile int *reached;
} scene;

static berth_sandbox small(void)
{
	return (berth_sandbox){.memory_bytes = 256 * MIB, .cpu_s = 1, .answer_bytes = 64 * MIB};
}

/* ---- good ones ---- */

static int by_value(const void *a, const void *b)
{
	const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
	return (x > y) - (x < y);
}

/* Made from behind and sorted: qsort of the C library asks the system how much memory there is. */
static berth_status numbers(void *ctx, berth_arena *mem, const char **data, size_t *size, berth_err *err)
{
	int32_t n = *(int32_t *)ctx, *x;
	if (n < 0)
		return berth_fail(err, BERTH_EFORMAT, "file:3:7: %d is no number of numbers", (int)n);
	BERTH_TRY_NEW(mem, n, err, x);
	for (int32_t i = 0; i < n; i++)
		x[n < MIB / 8 ? n - 1 - i : i] = i;
	if (n < MIB / 8)
		qsort(x, (size_t)n, sizeof *x, by_value);
	*data = (const char *)x;
	*size = (size_t)n * sizeof *x;
	return BERTH_OK;
}

static void test_good(void **state)
{
	(void)state;
	const berth_sandbox s = small();
	berth_arena mem = {0};
	berth_err err;
	for (int32_t n = 0; n < 3 * MIB; n = 17 * n + 1) {
		const char *data = NULL;
		size_t size = 1;
		assert_ok(berth_sandbox_run(&s, "file", numbers, &n, &mem, &data, &size, &err), &err);
		assert_int_equal(size, (size_t)n * sizeof(int32_t));
		for (int32_t i = 0; i < n; i++)
			assert_int_equal(((const int32_t *)(const void *)data)[i], i);
		assert_int_equal(data[size], 0);
		assert_ok(berth_sandbox_run(&s, "file", numbers, &n, &mem, NULL, NULL, &err), &err);
	}
	berth_arena_free(&mem);
}

static void test_error(void **state)
{
	(void)state;
	const berth_sandbox s = small();
	berth_arena mem = {0};
	berth_err err;
	int32_t n = -4;
	assert_int_equal(berth_sandbox_run(&s, "file", numbers, &n, &mem, NULL, NULL, &err), BERTH_EFORMAT);
	assert_int_equal(err.code, BERTH_EFORMAT);
	assert_string_equal(err.msg, "file:3:7: -4 is no number of numbers");
	n = 17 * MIB; /* more than may come back */
	assert_int_equal(berth_sandbox_run(&s, "file", numbers, &n, &mem, NULL, NULL, &err), BERTH_EIO);
	assert_contains(err.msg, "gave no answer that makes sense");
	n = 100 * MIB; /* more than it may take */
	assert_int_equal(berth_sandbox_run(&s, "file", numbers, &n, &mem, NULL, NULL, &err), BERTH_ENOMEM);
	berth_arena_free(&mem);
}

/* ---- bad ones ---- */

static void try_open(scene *x)
{
	*x->reached = open("/etc/passwd", O_RDONLY) >= 0 ? 2 : 1;
}

static void try_read(scene *x)
{
	char c;
	*x->reached = read(x->fd, &c, 1) == 1 ? 2 : 1;
}

static void try_socket(scene *x)
{
	*x->reached = socket(AF_INET, SOCK_STREAM, 0) >= 0 ? 2 : 1;
}

static void try_exec(scene *x)
{
	execl("/bin/touch", "touch", x->path, (char *)NULL);
	*x->reached = 1;
}

static void try_fork(scene *x)
{
	*x->reached = fork() >= 0 ? 2 : 1;
}

static void try_kill(scene *x)
{
	*x->reached = kill(getppid(), SIGTERM) == 0 ? 2 : 1;
}

static void try_unlink(scene *x)
{
	*x->reached = unlink(x->path) == 0 ? 2 : 1;
}

static void try_write(scene *x)
{
	static char block[MIB];
	for (int i = 0; i < 100; i++)
		if (write(x->fd, block, sizeof block) > 0)
			*x->reached = 2;
}

static void try_code(scene *x)
{
	size_t page = (size_t)x->reached; /* a page begins there */
	*x->reached = mprotect((void *)page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC) == 0 ? 2 : 1;
}

static void try_map(scene *x)
{
	*x->reached = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, x->fd, 0) != MAP_FAILED ? 2 : 1;
}

static void try_loop(scene *x)
{
	for (volatile int i = 0;; i = i + 1)
		*x->reached = -1;
}

static int deep(const volatile int *end, volatile char *above)
{
	volatile char here[4096];
	here[0] = above ? above[0] : 1;
	return *end ? 0 : deep(end, here) + here[0];
}

static void try_stack(scene *x)
{
	*x->reached = deep(x->reached, NULL) ? -1 : -2;
}

static void try_lie(scene *x)
{
	char lie[2048];
	memset(lie, 0x7f, sizeof lie);
	*x->reached = write(0, lie, sizeof lie) > 0 ? -1 : -2;
}

typedef struct attempt {
	const char *name;
	void (*do_it)(scene *x);
	const char *told;
} attempt;

static const attempt attempts[] = {
	{"open", try_open, "tried what the sandbox forbids"},
	{"read", try_read, "tried what the sandbox forbids"},
	{"socket", try_socket, "tried what the sandbox forbids"},
	{"execve", try_exec, "tried what the sandbox forbids"},
	{"fork", try_fork, "tried what the sandbox forbids"},
	{"kill", try_kill, "tried what the sandbox forbids"},
	{"unlink", try_unlink, "tried what the sandbox forbids"},
	{"write", try_write, "tried what the sandbox forbids"},
	{"executable memory", try_code, "tried what the sandbox forbids"},
	{"map a file", try_map, "tried what the sandbox forbids"},
	{"a loop", try_loop, "took more than 1 s of processor time"},
	{"a deep stack", try_stack, "crashed (signal 11)"},
	{"a lie", try_lie, "gave no answer that makes sense"},
};

typedef struct both {
	const attempt *a;
	scene *x;
} both;

static berth_status misbehave(void *ctx, berth_arena *mem, const char **data, size_t *size, berth_err *err)
{
	both *b = ctx;
	(void)mem, (void)data, (void)size, (void)err;
	b->a->do_it(b->x);
	return BERTH_OK;
}

static void test_bad(void **state)
{
	(void)state;
	const berth_sandbox s = small();
	berth_arena mem = {0};
	scene x = {.path = "/tmp/berth-sandbox-XXXXXX"};
	x.fd = mkstemp(x.path);
	assert_true(x.fd >= 0 && ftruncate(x.fd, 4096) == 0);
	x.reached = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, x.fd, 0);
	assert_true(x.reached != MAP_FAILED);
	for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++) {
		both b = {&attempts[i], &x};
		berth_err err = {BERTH_OK, ""};
		*x.reached = 0;
		berth_status st = berth_sandbox_run(&s, "model.onnx", misbehave, &b, &mem, NULL, NULL, &err);
		if (st != BERTH_EIO || !strstr(err.msg, attempts[i].told))
			print_message("%s: %d, %s\n", attempts[i].name, (int)st, err.msg);
		assert_int_equal(st, BERTH_EIO);
		assert_contains(err.msg, "model.onnx: cannot read it");
		assert_contains(err.msg, attempts[i].told);
		assert_true(*x.reached <= 0); /* it was stopped in the call */
	}
	assert_int_equal(lseek(x.fd, 0, SEEK_END), 4096);
	assert_int_equal(access(x.path, F_OK), 0);
	close(x.fd);
	unlink(x.path);
	munmap((void *)(size_t)x.reached, 4096);
	berth_arena_free(&mem);
}

/* Memory beyond the limit is not there; the reader tells it as any other. */
static berth_status hoard(void *ctx, berth_arena *mem, const char **data, size_t *size, berth_err *err)
{
	char *p;
	(void)ctx, (void)data, (void)size;
	return BERTH_NEW(mem, p, (size_t)1 << 30, err);
}

static void test_memory(void **state)
{
	(void)state;
	const berth_sandbox s = small();
	berth_arena mem = {0};
	berth_err err;
	assert_int_equal(berth_sandbox_run(&s, "file", hoard, NULL, &mem, NULL, NULL, &err), BERTH_ENOMEM);
	berth_arena_free(&mem);
}

static berth_status say(void *ctx, berth_arena *mem, const char **data, size_t *size, berth_err *err)
{
	(void)mem, (void)data, (void)size;
	return berth_fail(err, *(berth_status *)ctx, "so it says");
}

/* What no reader has to say is not believed: that somebody interrupted, that nothing fits. */
static void test_status(void **state)
{
	(void)state;
	const berth_sandbox s = small();
	berth_arena mem = {0};
	berth_err err;
	for (int i = BERTH_EINVAL; i <= BERTH_EUNSUPPORTED; i++) {
		berth_status it = (berth_status)i, st;
		bool known = it != BERTH_EINFEASIBLE && it != BERTH_EINTERRUPTED;
		st = berth_sandbox_run(&s, "file", say, &it, &mem, NULL, NULL, &err);
		assert_int_equal(st, known ? it : BERTH_EIO);
		assert_contains(err.msg, known ? "so it says" : "gave no answer that makes sense");
	}
	berth_arena_free(&mem);
}

/* ---- signals to the whole group ---- */

static berth_status linger(void *ctx, berth_arena *mem, const char **data, size_t *size, berth_err *err)
{
	volatile int *at = ctx;
	(void)mem, (void)data, (void)size, (void)err;
	*at = 1;
	while (*at == 1)
		;
	return BERTH_OK;
}

static void *signal_all(void *ctx)
{
	volatile int *at = ctx;
	while (*at == 0)
		sched_yield();
	kill(0, SIGTERM);
	kill(0, SIGINT);
	kill(0, SIGHUP);
	*at = 2;
	return NULL;
}

/* A group of its own, which is asked to end while it reads, and does not. */
static _Noreturn void read_on(volatile int *at)
{
	const berth_sandbox s = small();
	pthread_t thread;
	berth_arena mem = {0};
	berth_err err;
	bool good = setpgid(0, 0) == 0;
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	good = good && pthread_create(&thread, NULL, signal_all, (void *)(size_t)at) == 0;
	good = good && berth_sandbox_run(&s, "model.onnx", linger, (void *)(size_t)at, &mem, NULL, NULL,
	                                 &err) == BERTH_OK;
	_exit(good ? 0 : 1);
}

/* timeout and a terminal signal all processes of a program: its reader reads on, and the program decides. */
static void test_group_signals(void **state)
{
	(void)state;
	int how = -1;
	FILE *f = tmpfile();
	assert_true(f && ftruncate(fileno(f), 4096) == 0);
	volatile int *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(f), 0);
	assert_true(at != MAP_FAILED);
	pid_t pid = fork();
	if (pid == 0)
		read_on(at);
	assert_true(pid > 0 && waitpid(pid, &how, 0) == pid);
	assert_int_equal(how, 0);
	munmap((void *)(size_t)at, 4096);
	fclose(f);
}

/* The machine's file is read in the sandbox that the options ask for. */
static void test_system_file(void **state)
{
	(void)state;
	berth_read_options opt = {0};
	berth_sandbox s = small();
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_system machine;
	berth_err err;
	char path[] = "/tmp/berth-machine-XXXXXX";
	static const char text[] = "{\"format\":\"berth-system\",\"version\":1,"
		"\"devices\":[{\"name\":\"d\"}]}";
	int fd = mkstemp(path);
	assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
	opt.sandbox = &s;
	assert_ok(berth_instance_load("zoo:gnmt", path, &opt, &mem, &tmp, &g, &machine, NULL, &err), &err);
	s.answer_bytes = 8;
	assert_int_equal(berth_instance_load("zoo:gnmt", path, &opt, &mem, &tmp, &g, &machine, NULL, &err),
	                 BERTH_EIO);
	unlink(path);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

/* Is there a sandbox here at all? Sanitizers need other calls; a container may forbid filters. */
static bool is_there(void)
{
	const berth_sandbox s = small();
	berth_arena mem = {0};
	berth_err err = {BERTH_OK, ""};
	int32_t n = 1;
	bool there = !BERTH_DEBUG;
	if (there)
		there = berth_sandbox_run(&s, "file", numbers, &n, &mem, NULL, NULL, &err) == BERTH_OK;
	berth_arena_free(&mem);
	if (!there)
		print_message("skipped: no sandbox %s\n", BERTH_DEBUG ? "with sanitizers" : "on this system");
	return there;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),       cmocka_unit_test(test_error),
		cmocka_unit_test(test_bad),        cmocka_unit_test(test_memory),
		cmocka_unit_test(test_status),     cmocka_unit_test(test_group_signals),
		cmocka_unit_test(test_system_file)};
	return is_there() ? cmocka_run_group_tests(tests, NULL, NULL) : 0;
}
