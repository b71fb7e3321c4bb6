/* See engine_lines.h. A descriptor of the client is a number that the system does not give. */
#include "engine_lines.h"

#include "calibrate.h"
#include "fuzz.h"

#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

enum { ENGINE_FD = 1 << 24, ENGINE_PID = 1 << 22 };

/* What is left to say; the fuzzer has one thread. */
static struct {
	const uint8_t *data;
	size_t size, at, piece;
	bool running;         /* between its start and its end */
	char id[24], *number; /* what stands for '?'; what is left of it */
	FILE *words;
} said;

void engine_lines(const uint8_t *data, size_t size, size_t piece)
{
	said.data = data;
	said.size = size;
	said.at = 0;
	said.piece = piece;
	said.number = NULL;
}

/* ---- system calls: those of the client; all others go on as they are ---- */

int __wrap_posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                        const posix_spawnattr_t *attr, char *const argv[], char *const env[]);
int __wrap_posix_spawn_file_actions_adddup2(posix_spawn_file_actions_t *actions, int from, int to);
int __wrap_socketpair(int domain, int type, int protocol, int fd[2]);
int __real_close(int fd);
int __wrap_close(int fd);
int __real_poll(struct pollfd *p, nfds_t n, int ms);
int __wrap_poll(struct pollfd *p, nfds_t n, int ms);
int __real_waitid(idtype_t type, id_t id, siginfo_t *info, int options);
int __wrap_waitid(idtype_t type, id_t id, siginfo_t *info, int options);
pid_t __real_waitpid(pid_t pid, int *status, int options);
pid_t __wrap_waitpid(pid_t pid, int *status, int options);
int __real_shutdown(int fd, int how);
int __wrap_shutdown(int fd, int how);
int __real_nanosleep(const struct timespec *t, struct timespec *left);
int __wrap_nanosleep(const struct timespec *t, struct timespec *left);
int __real_kill(pid_t pid, int sig);
int __wrap_kill(pid_t pid, int sig);
ssize_t __real_send(int fd, const void *data, size_t n, int flags);
ssize_t __wrap_send(int fd, const void *data, size_t n, int flags);
ssize_t __real_recv(int fd, void *data, size_t n, int flags);
ssize_t __wrap_recv(int fd, void *data, size_t n, int flags);
FILE *__real_tmpfile(void);
FILE *__wrap_tmpfile(void);
int __real_fclose(FILE *f);
int __wrap_fclose(FILE *f);

int __wrap_posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                        const posix_spawnattr_t *attr, char *const argv[], char *const env[])
{
	(void)file, (void)actions, (void)attr, (void)argv, (void)env;
	*pid = ENGINE_PID;
	said.running = true;
	return 0;
}

int __wrap_posix_spawn_file_actions_adddup2(posix_spawn_file_actions_t *actions, int from, int to)
{
	(void)actions, (void)from, (void)to;
	return 0;
}

int __wrap_socketpair(int domain, int type, int protocol, int fd[2])
{
	(void)domain, (void)type, (void)protocol;
	fd[0] = fd[1] = ENGINE_FD;
	return 0;
}

int __wrap_close(int fd)
{
	return fd == ENGINE_FD ? 0 : __real_close(fd);
}

int __wrap_poll(struct pollfd *p, nfds_t n, int ms)
{
	if (n != 1 || p->fd != ENGINE_FD)
		return __real_poll(p, n, ms);
	p->revents = p->events;
	return 1;
}

int __wrap_waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	if (id != ENGINE_PID)
		return __real_waitid(type, id, info, options);
	info->si_pid = said.at == said.size || !said.running ? ENGINE_PID : 0;
	return 0;
}

pid_t __wrap_waitpid(pid_t pid, int *status, int options)
{
	if (pid != ENGINE_PID)
		return __real_waitpid(pid, status, options);
	said.running = false;
	*status = said.size % 3 == 0 ? SIGSEGV : (int)(said.size % 256) << 8;
	return pid;
}

/* It leaves when its input is closed, */
int __wrap_shutdown(int fd, int how)
{
	if (fd != ENGINE_FD)
		return __real_shutdown(fd, how);
	said.running = false;
	return 0;
}

/* or while the client waits for that, which takes no time. */
int __wrap_nanosleep(const struct timespec *t, struct timespec *left)
{
	if (!said.running)
		return __real_nanosleep(t, left);
	said.running = false;
	return 0;
}

int __wrap_kill(pid_t pid, int sig)
{
	return pid == -ENGINE_PID ? 0 : __real_kill(pid, sig);
}

ssize_t __wrap_send(int fd, const void *data, size_t n, int flags)
{
	const char *text = data;
	if (fd != ENGINE_FD)
		return __real_send(fd, data, n, flags);
	if (n > 8 && memcmp(text, "{\"id\":", 6) == 0) {
		size_t len = strspn(text + 6, "0123456789");
		snprintf(said.id, sizeof said.id, "%.*s", (int)(len < 20 ? len : 20), text + 6);
	}
	return (ssize_t)n;
}

/* The next byte of the answer; 0 and *end: there is none. */
static char next_byte(bool *end)
{
	if (said.number && *said.number)
		return *said.number++;
	said.number = NULL;
	*end = said.at == said.size;
	if (*end)
		return 0;
	char c = (char)said.data[said.at++];
	if (c == '?') {
		said.number = said.id;
		return said.number[0] ? *said.number++ : '0';
	}
	return c;
}

ssize_t __wrap_recv(int fd, void *data, size_t n, int flags)
{
	if (fd != ENGINE_FD)
		return __real_recv(fd, data, n, flags);
	char *to = data;
	size_t k = 0, most = said.piece && said.piece < n ? said.piece : n;
	bool end = false;
	while (k < most) {
		char c = next_byte(&end);
		if (end)
			break;
		to[k++] = c == 31 ? '\n' : c;
		if (c == '\n')
			break;
	}
	return (ssize_t)k;
}

FILE *__wrap_tmpfile(void)
{
	if (!said.words && (said.words = __real_tmpfile()))
		fputs("last words", said.words);
	return said.words;
}

int __wrap_fclose(FILE *f)
{
	return f == said.words ? 0 : __real_fclose(f);
}

/* ---- questions ---- */

const char *const engine_lines_words[] = {"id",
                                          "ok",
                                          "error",
                                          "kind",
                                          "model",
                                          "device",
                                          "busy",
                                          "protocol",
                                          "engine",
                                          "version",
                                          "clock",
                                          "cpu",
                                          "wall",
                                          "devices",
                                          "name",
                                          "memory_bytes",
                                          "ops",
                                          "wall_s",
                                          "cpu_s",
                                          "strain",
                                          "segments",
                                          "start_s",
                                          "end_s",
                                          "difference",
                                          "differs",
                                          "operators",
                                          "op",
                                          "in",
                                          "kernel",
                                          "rows",
                                          "cannot",
                                          "run_overhead_s",
                                          "segment_overhead_s",
                                          "failed",
                                          "message",
                                          "x",
                                          "y",
                                          NULL};

berth_status engine_lines_open(berth_journal *journal, berth_arena *mem, berth_measured *out, berth_err *err)
{
	static const char *const argv[] = {"engine", NULL};
	berth_measured_cfg cfg = berth_measured_cfg_default();
	cfg.engine.argv = argv;
	cfg.model = "model.onnx";
	cfg.max_starts = 3;
	cfg.journal = journal;
	return berth_measured_open(&cfg, fuzz_small_graph(), fuzz_small_system(), mem, out, err);
}

static void calibrate(const berth_measurement *r, berth_arena *mem, berth_arena *tmp)
{
	const berth_graph *g = fuzz_small_graph();
	const berth_system *s = fuzz_small_system();
	berth_calibration c;
	berth_graph fitted;
	double before, after, *time_s;
	must((time_s = berth_arena_alloc(mem, (size_t)(g->n_ops * s->n_devs), sizeof *time_s)) != NULL);
	for (int32_t i = 0; i < g->n_ops * s->n_devs; i++)
		time_s[i] = 1e-6;
	must(berth_calibration_new(g, s, time_s, mem, &c, NULL) == BERTH_OK);
	must(berth_calibration_add(&c, r, 0, tmp, NULL) == BERTH_OK);
	must(berth_calibration_fit(&c, tmp, &before, &after, NULL) == BERTH_OK);
	must(berth_calibration_graph(&c, s, mem, &fitted, NULL) == BERTH_OK);
	must(berth_graph_check(&fitted, NULL) == BERTH_OK);
}

static void check_run(const berth_measurement *r, const int32_t *op_dev)
{
	int32_t n = 0;
	for (int32_t i = 0; i < r->n_segments; i++) {
		const berth_segment *x = &r->segment[i];
		for (int32_t k = 0; k < x->n_ops; k++)
			must(op_dev[x->op[k]] == x->dev);
		for (int32_t k = 0; k < r->n_samples; k++)
			must(x->start_s[k] >= 0 && x->start_s[k] <= x->end_s[k]);
		n += x->n_ops;
	}
	must(n == fuzz_small_graph()->n_ops);
	for (int32_t k = 0; k < r->n_samples; k++)
		must(r->wall_s[k] >= 0 && isfinite(r->wall_s[k]));
}

/* A question that was not answered says why. */
static bool answered(berth_status st, const berth_err *err)
{
	must(st == BERTH_OK || (err->code == st && err->msg[0]));
	must(st == BERTH_OK || st == BERTH_EIO || st == BERTH_EFORMAT || st == BERTH_EINFEASIBLE ||
	     st == BERTH_ELIMIT);
	return st == BERTH_OK;
}

int32_t engine_lines_ask(berth_measured *m, berth_arena *mem, berth_arena *tmp)
{
	static const int32_t op_dev[] = {0, 0, 1, 1, 0, 0}, ops[] = {0, 3};
	static const int64_t bytes[] = {0, 4096};
	int32_t taken = 0, n = 0;
	berth_measurement r;
	berth_operator_time *times = NULL;
	berth_profile_row *rows;
	berth_transfer_row *transfers;
	berth_engine_overheads overheads;
	berth_err err = {0};
	if (answered(berth_measured_run(m, op_dev, NULL, 1, 2, mem, tmp, &r, &err), &err)) {
		check_run(&r, op_dev);
		calibrate(&r, mem, tmp);
		taken++;
	}
	if (answered(berth_measured_operators(m, op_dev, NULL, mem, tmp, &times, &n, &err), &err)) {
		for (int32_t i = 0; i < n; i++)
			must(times[i].start_s <= times[i].end_s &&
			     (times[i].op < 0 || op_dev[times[i].op] == times[i].dev));
		taken++;
	}
	taken += answered(berth_measured_whole(m, 1, 0, 2, mem, tmp, &r, &err), &err);
	taken +=
		answered(berth_measured_profile(m, ops, 2, 1, 0, 2, mem, tmp, &rows, &overheads, &err), &err);
	taken += answered(berth_measured_transfers(m, 0, 1, bytes, 2, 2, mem, tmp, &transfers, &err), &err);
	taken += answered(berth_measured_set_speed(m, 0, 0.5, tmp, &err), &err);
	return taken;
}
