/* Engines as child processes. A socket pair is the child's standard input and output, so that writing to a
 * dead engine is an error and no signal. Its standard error goes to a nameless file. Messages show the end of
 * that file. */
#include "engine_client.h"

#include "leftovers.h"
#include "threads.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_HELLO = 1 << 16, MAX_DEVS = 256, LAST_WORDS = 160, LAST_LINE = 480 };
static const double leave_s = 2; /* to end after its input was closed */

struct berth_engine {
	berth_engine_cfg cfg;
	berth_arena *mem;
	char *text;           /* the answer being read, from malloc */
	size_t len, cap;
	pid_t pid;            /* 0: not running */
	int note;             /* of its process group, among what must not be left behind */
	int fd;
	FILE *words;          /* its standard error */
	bool one_line;        /* it is run for a line, and asked nothing */
	int64_t id;
	int32_t starts;
	berth_engine_hello hello;
};

/* ---- the process ---- */

/* Has the process ended? It stays to be reaped, so that nobody else gets its number. */
static bool has_ended(const berth_engine *e)
{
	siginfo_t info = {0};
	return waitid(P_PID, (id_t)e->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == e->pid;
}

/* Wait for that, at most limit_s. */
static bool wait_end(const berth_engine *e, double limit_s)
{
	double until = berth_wall_seconds() + limit_s;
	while (!has_ended(e)) {
		if (berth_wall_seconds() >= until)
			return false;
		nanosleep(&(struct timespec){0, 2000000}, NULL);
	}
	return true;
}

/* End the process group, however it stands; the status is that of waitpid. The number of the group is free
 * once its leader is reaped: that comes last. */
static int bury(berth_engine *e)
{
	int status = 0;
	kill(-e->pid, SIGKILL);
	berth_leftover_forget(e->note);
	/* waitpid, which a signal may interrupt. */
	while (waitpid(e->pid, &status, 0) < 0 && errno == EINTR)
		;
	close(e->fd);
	e->pid = 0;
	e->fd = -1;
	return status;
}

/* Its input is closed; it may leave by itself. */
static void end_process(berth_engine *e, double patience_s)
{
	if (!e->pid)
		return;
	shutdown(e->fd, SHUT_RDWR);
	wait_end(e, patience_s);
	bury(e);
}

/* What the system refused; memory that ran out is told as such. */
static berth_status not_started(const berth_engine *e, const char *what, int why, berth_err *err)
{
	if (why == ENOMEM)
		return berth_nomem(err);
	return berth_fail(err, BERTH_EIO, "engine '%.60s': %.160s: %s", e->cfg.name, what, strerror(why));
}

/* 0, or what the system says. */
static int spawn_with(berth_engine *e, int theirs, posix_spawn_file_actions_t *actions,
                      posix_spawnattr_t *attr)
{
	extern char **environ;
	char *const *argv = (char *const *)(uintptr_t)e->cfg.argv;
	const int from[] = {theirs, theirs, fileno(e->words)}; /* its standard streams */
	sigset_t usual;
	int failed = 0;
	for (int to = 0; to < 3 && !failed; to++)
		failed = posix_spawn_file_actions_adddup2(actions, from[to], to);
	sigemptyset(&usual);
	sigaddset(&usual, SIGXFSZ); /* berth may ignore it */
	posix_spawnattr_setsigdefault(attr, &usual);
	posix_spawnattr_setflags(attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setpgroup(attr, 0);
	return failed ? failed : posix_spawnp(&e->pid, argv[0], actions, attr, argv, environ);
}

static berth_status spawn(berth_engine *e, int theirs, berth_err *err)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	char what[160];
	int failed = posix_spawn_file_actions_init(&actions);
	if (failed)
		return not_started(e, "cannot start it", failed, err);
	failed = posix_spawnattr_init(&attr);
	if (!failed) {
		failed = spawn_with(e, theirs, &actions, &attr);
		posix_spawnattr_destroy(&attr);
	}
	posix_spawn_file_actions_destroy(&actions);
	if (!failed) {
		e->note = berth_leftover_child(e->pid, 1);
		return BERTH_OK;
	}
	e->pid = 0;
	snprintf(what, sizeof what, "cannot start %.120s", e->cfg.argv[0]);
	return not_started(e, what, failed, err);
}

static berth_status start_process(berth_engine *e, berth_err *err)
{
	int pair[2];
	if (!e->words && !(e->words = tmpfile()))
		return not_started(e, "no temporary file for its messages", errno, err);
	fcntl(fileno(e->words), F_SETFD, FD_CLOEXEC); /* it has it as its standard error */
	if (ftruncate(fileno(e->words), 0) != 0 || lseek(fileno(e->words), 0, SEEK_SET) != 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
		return not_started(e, "no channel to it", errno, err);
	berth_status st = spawn(e, pair[1], err);
	close(pair[1]);
	e->fd = pair[0];
	e->starts++;
	if (st != BERTH_OK)
		close(pair[0]);
	return st;
}

/* ---- when it fails ---- */

/* The end of what it wrote to standard error, at most `most` bytes into raw [most + 1], without what is blank
 * at its end. cut: there is more before it. */
static size_t read_words(const berth_engine *e, off_t most, char *raw, bool *cut)
{
	off_t size = e->words ? lseek(fileno(e->words), 0, SEEK_END) : 0;
	off_t from = size > most ? size - most : 0;
	*cut = from > 0;
	ssize_t n = size > 0 ? pread(fileno(e->words), raw, (size_t)(size - from), from) : 0;
	while (n > 0 && (raw[n - 1] == '\n' || raw[n - 1] == ' '))
		n--;
	for (ssize_t i = 0; i < n; i++)
		raw[i] = raw[i] ? raw[i] : ' ';
	raw[n > 0 ? n : 0] = '\0';
	return strlen(raw);
}

/* Where the last whole lines begin, as many as are there: of a line that is longer, its last words. */
static const char *whole_lines(const char *raw)
{
	const char *begin = strchr(raw, '\n');
	if (!begin)
		begin = strchr(raw, ' ');
	if (!begin)
		return raw;
	return begin + strspn(begin, " \n");
}

/* That end as a part of a message: whole lines, one behind the other. */
static const char *last_words(const berth_engine *e, char buf[LAST_WORDS + 32])
{
	char raw[LAST_WORDS + 1];
	bool cut;
	buf[0] = '\0';
	size_t n = read_words(e, LAST_WORDS, raw, &cut);
	const char *words = cut ? whole_lines(raw) : raw;
	for (char *at = raw; (at = strchr(at, '\n')); at++)
		*at = ' ';
	if (n)
		snprintf(buf, LAST_WORDS + 32, "; its last words: %s%s", words == raw ? "" : "... ", words);
	return buf;
}

/* The last line of it; of our own engines what follows their name, which may follow a prompt. */
static const char *last_line(const berth_engine *e, char raw[LAST_LINE + 1])
{
	static const char ours[] = "berth-engine-";
	bool cut;
	read_words(e, LAST_LINE, raw, &cut);
	const char *line = strrchr(raw, '\n');
	line = line ? line + 1 : raw;
	const char *name = strstr(line, ours), *colon = name ? strstr(name, ": ") : NULL;
	return colon ? colon + 2 : line;
}

static berth_status died(berth_engine *e, berth_err *err)
{
	char how[64], words[LAST_WORDS + 32], line[LAST_LINE + 1];
	/* How it ended, where it did, in words; its exit code, -1 where it has none. */
	size_t size = sizeof how;
	bool left = wait_end(e, 0.2);
	int status = bury(e);
	if (!left)
		snprintf(how, size, "closed its output");
	else if (WIFSIGNALED(status))
		snprintf(how, size, "was ended by signal %d", WTERMSIG(status));
	else
		snprintf(how, size, "left with exit code %d", WEXITSTATUS(status));
	int code = left && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	const char *why = last_line(e, line);
	if (e->one_line && (code == 2 || code == 4 || code == 5)) {
		berth_status st = code == 2 ? BERTH_EINVAL : code == 4 ? BERTH_EFORMAT : BERTH_EIO;
		return *why ? berth_fail(err, st, "%s", why)
		            : berth_fail(err, st, "%.60s: exit code %d", e->cfg.name, code);
	}
	return berth_fail(err, BERTH_EIO, "engine '%.60s' %s before it answered%s", e->cfg.name, how,
	                  last_words(e, words));
}

berth_status berth_engine_lied(berth_engine *e, berth_err *err, const char *fmt, ...)
{
	char what[300], words[LAST_WORDS + 32];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(what, sizeof what, fmt, ap);
	va_end(ap);
	end_process(e, 0);
	return berth_fail(err, BERTH_EIO, "engine '%.60s' %s; it was ended%s", e->cfg.name, what,
	                  last_words(e, words));
}

/* ---- lines ---- */

static bool cancelled(const berth_engine *e)
{
	return e->cfg.cancel && atomic_load(e->cfg.cancel);
}

typedef enum wait_result { WAIT_READY, WAIT_OVER, WAIT_DEAD } wait_result;

/* Until the socket is ready, the time is over, somebody cancels, or the engine has ended and left nothing to
 * read: a process that it started may hold the socket open. A signal may come just before poll: it looks
 * again ten times a second. */
static wait_result wait_for(berth_engine *e, short events, double until)
{
	for (;;) {
		double left = until - berth_wall_seconds();
		struct pollfd p = {e->fd, events, 0};
		if (left <= 0 || cancelled(e))
			return WAIT_OVER;
		bool ended = has_ended(e);
		int n = poll(&p, 1, ended ? 0 : (int)(fmin(left, 0.1) * 1000) + 1);
		if (n > 0)
			return WAIT_READY;
		if (n < 0 && errno != EINTR)
			return WAIT_READY; /* the read or write tells */
		if (n == 0 && ended)
			return WAIT_DEAD;
	}
}

/* The wait was in vain. */
static berth_status gave_up(berth_engine *e, wait_result how, double limit_s, berth_err *err)
{
	if (how == WAIT_DEAD)
		return died(e, err);
	if (!cancelled(e)) {
		char words[LAST_WORDS + 32];
		end_process(e, 0);
		return berth_fail(err, BERTH_ELIMIT,
		                  "engine '%.60s' gave no answer within %g s and was ended%s", e->cfg.name,
		                  limit_s, last_words(e, words));
	}
	end_process(e, 0);
	return berth_fail(err, BERTH_EINTERRUPTED, "interrupted while engine '%.60s' ran",
	                  e->cfg.name);
}

static berth_status send_all(berth_engine *e, const char *text, size_t len, double limit_s, double until,
                             berth_err *err)
{
	while (len > 0) {
		wait_result how = wait_for(e, POLLOUT, until);
		if (how != WAIT_READY)
			return gave_up(e, how, limit_s, err);
		ssize_t n = send(e->fd, text, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			return died(e, err);
		text += n;
		len -= (size_t)n;
	}
	return BERTH_OK;
}

static void drop_line(berth_engine *e)
{
	free(e->text);
	e->text = NULL;
	e->len = e->cap = 0;
}

/* Room for more of the line, without a copy of what is there where the C library can. */
static berth_status make_room(berth_engine *e, berth_err *err)
{
	enum { LEAST = 1 << 14 };
	if (e->cap - e->len >= LEAST)
		return BERTH_OK;
	size_t cap = e->cap ? 2 * e->cap : (size_t)2 * LEAST;
	char *text = realloc(e->text, cap);
	BERTH_TRY(berth_got(text, err));
	e->text = text;
	e->cap = cap;
	return BERTH_OK;
}

/* The next line into e->text, with a closing 0 in place of its newline. */
static berth_status read_line(berth_engine *e, double limit_s, double until, size_t most, berth_err *err)
{
	drop_line(e);
	for (;;) {
		wait_result how = wait_for(e, POLLIN, until);
		if (how != WAIT_READY)
			return gave_up(e, how, limit_s, err);
		BERTH_TRY(make_room(e, err));
		ssize_t n = recv(e->fd, e->text + e->len, e->cap - e->len, MSG_DONTWAIT);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			return died(e, err);
		char *end = memchr(e->text + e->len, '\n', (size_t)n);
		e->len += (size_t)n;
		if (end && end + 1 != e->text + e->len)
			return berth_engine_lied(e, err, "wrote more than one line for an answer");
		if (end) {
			*end = '\0';
			e->len = (size_t)(end - e->text);
			return BERTH_OK;
		}
		if (e->len > most)
			return berth_engine_lied(e, err,
			                         "wrote an answer of more than %zu bytes, which is more "
			                         "than the question can have",
			                         most);
	}
}

/* ---- questions ---- */

void berth_engine_question(berth_engine *e, const char *what, berth_json_out *w, berth_arena *tmp)
{
	berth_json_out_init(w, tmp, false);
	berth_json_open(w, NULL, '{');
	berth_json_put_int(w, "id", ++e->id);
	berth_json_put_string(w, "do", what);
}

static berth_status refused(berth_engine *e, const berth_json *at, berth_err *err)
{
	const char *kind = "", *text = "it says no why";
	if (berth_json_string(at, "kind", false, &kind, NULL) != BERTH_OK ||
	    berth_json_string(at, "error", false, &text, NULL) != BERTH_OK)
		return berth_engine_lied(e, err, "gave an answer whose \"error\" is no text");
	berth_status st = strcmp(kind, "model") == 0     ? BERTH_EFORMAT
	                  : strcmp(kind, "device") == 0  ? BERTH_EINFEASIBLE
	                                                 : BERTH_EIO;
	return berth_fail(err, st, "engine '%.60s': %.400s", e->cfg.name, text);
}

/* Is it an answer to the latest question? */
static berth_status check_answer(berth_engine *e, const cJSON *item, berth_err *err)
{
	berth_json at = {.item = item, .file = "answer"};
	const cJSON *id = cJSON_GetObjectItemCaseSensitive(item, "id"),
		    *ok = cJSON_GetObjectItemCaseSensitive(item, "ok");
	if (!cJSON_IsObject(item) || !cJSON_IsNumber(id) || !cJSON_IsBool(ok))
		return berth_engine_lied(e, err, "gave an answer without \"id\" or \"ok\": %.80s", e->text);
	if (id->valuedouble != (double)e->id)
		return berth_engine_lied(e, err, "answered question %g; asked was %lld", id->valuedouble,
		                         (long long)e->id);
	return cJSON_IsTrue(ok) ? BERTH_OK : refused(e, &at, err);
}

berth_status berth_engine_ask(berth_engine *e, berth_json_out *w, double limit_s, size_t most, cJSON **answer,
                              berth_err *err)
{
	const char *text;
	size_t len;
	cJSON *item = NULL;
	double until = berth_wall_seconds() + limit_s;
	berth_json_close(w, '}');
	BERTH_TRY(berth_json_done(w, &text, &len, err));
	if (!e->pid)
		return berth_fail(err, BERTH_EIO, "engine '%.60s' is not running", e->cfg.name);
	BERTH_TRY(send_all(e, text, len, limit_s, until, err));
	BERTH_TRY(send_all(e, "\n", 1, limit_s, until, err));
	BERTH_TRY(read_line(e, limit_s, until, most, err));
	berth_status st = berth_json_parse("answer", e->text, e->len, &item, err);
	if (st == BERTH_EFORMAT)
		return berth_engine_lied(e, err, "wrote what is no answer: '%.80s'", e->text);
	BERTH_TRY(st);
	st = check_answer(e, item, err);
	if (st != BERTH_OK)
		cJSON_Delete(item);
	else
		*answer = item;
	return st;
}

/* ---- hello ---- */

static berth_status copy_text(berth_engine *e, const char *from, const char **to, berth_err *err)
{
	return berth_got(*to = berth_arena_strdup(e->mem, from), err);
}

static berth_status read_device(berth_engine *e, const berth_json *at, berth_engine_device *d, berth_err *err)
{
	const char *name = NULL, *kind = NULL;
	d->memory_bytes = -1;
	d->threads = 1;
	if (berth_json_string(at, "name", true, &name, err) != BERTH_OK ||
	    berth_json_string(at, "kind", false, &kind, err) != BERTH_OK ||
	    berth_json_bytes(at, "memory_bytes", false, &d->memory_bytes, err) != BERTH_OK ||
	    berth_json_int(at, "threads", false, 0, INT32_MAX, &d->threads, err) != BERTH_OK || !*name)
		return berth_engine_lied(e, err,
		                         "describes a device badly: \"name\" (text), \"kind\" (text), "
		                         "\"memory_bytes\" and \"threads\" (whole numbers) were expected");
	char *text = cJSON_PrintUnformatted(at->item);
	berth_status st = text ? copy_text(e, text, &d->text, err) : berth_nomem(err);
	cJSON_free(text);
	BERTH_TRY(st);
	BERTH_TRY(copy_text(e, name, &d->name, err));
	return copy_text(e, kind ? kind : name, &d->kind, err);
}

static berth_status read_devices(berth_engine *e, const berth_json *list, berth_engine_hello *h,
                                 berth_err *err)
{
	const cJSON *item;
	int n = cJSON_GetArraySize(list->item);
	if (n < 1 || n > MAX_DEVS)
		return berth_engine_lied(e, err, "has %d devices; 1 to %d were expected", n, MAX_DEVS);
	BERTH_TRY_NEW(e->mem, n, err, h->dev);
	cJSON_ArrayForEach(item, list->item)
	{
		berth_json at = berth_json_at(list, item, h->n_devs);
		BERTH_TRY(read_device(e, &at, &h->dev[h->n_devs], err));
		for (int32_t i = 0; i < h->n_devs; i++)
			if (strcmp(h->dev[i].name, h->dev[h->n_devs].name) == 0)
				return berth_engine_lied(e, err, "has two devices called '%.60s'",
				                         h->dev[i].name);
		h->n_devs++;
	}
	return BERTH_OK;
}

static berth_status read_hello(berth_engine *e, const cJSON *item, berth_engine_hello *h, berth_err *err)
{
	berth_json at = {.item = item, .file = "answer"}, list;
	const char *name = NULL, *version = "", *clock = "wall";
	int32_t protocol = 0;
	berth_err why = {.code = BERTH_OK};
	if (berth_json_int(&at, "protocol", true, 0, INT32_MAX, &protocol, NULL) != BERTH_OK ||
	    protocol != BERTH_ENGINE_PROTOCOL)
		return berth_engine_lied(e, err, "speaks protocol %d; this berth speaks %d", protocol,
		                         BERTH_ENGINE_PROTOCOL);
	if (berth_json_string(&at, "engine", true, &name, &why) != BERTH_OK ||
	    berth_json_string(&at, "version", false, &version, &why) != BERTH_OK ||
	    berth_json_string(&at, "clock", false, &clock, &why) != BERTH_OK ||
	    berth_json_bool(&at, "fuses", &h->fuses, &why) != BERTH_OK ||
	    berth_json_array(&at, "devices", true, &list, &why) != BERTH_OK)
		return berth_engine_lied(e, err, "gave a bad hello: %s", why.msg);
	BERTH_TRY(copy_text(e, name, &h->engine, err));
	BERTH_TRY(copy_text(e, version, &h->version, err));
	BERTH_TRY(copy_text(e, clock, &h->clock, err));
	return read_devices(e, &list, h, err);
}

static berth_status hear_hello(berth_engine *e, berth_err *err)
{
	berth_json_out w;
	cJSON *answer = NULL;
	BERTH_ARENA(tmp);
	berth_engine_hello h = {0};
	berth_engine_question(e, "hello", &w, &tmp);
	berth_json_put_int(&w, "protocol", BERTH_ENGINE_PROTOCOL);
	berth_status st = berth_engine_ask(e, &w, e->cfg.hello_s, MAX_HELLO, &answer, err);
	if (st == BERTH_OK)
		st = read_hello(e, answer, &h, err);
	cJSON_Delete(answer);
	if (st == BERTH_OK)
		e->hello = h;
	else
		end_process(e, 0);
	return st;
}

/* ---- life ---- */

static berth_status start_and_hear(berth_engine *e, berth_err *err)
{
	BERTH_TRY(start_process(e, err));
	return hear_hello(e, err);
}

berth_status berth_engine_start(const berth_engine_cfg *cfg, berth_arena *mem, berth_engine **out,
                                berth_err *err)
{
	berth_engine *e;
	BERTH_TRY_NEW(mem, 1, err, e);
	e->cfg = *cfg;
	e->mem = mem;
	e->fd = -1;
	if (!(e->cfg.hello_s > 0))
		e->cfg.hello_s = 60;
	berth_status st = start_and_hear(e, err);
	if (st != BERTH_OK)
		berth_engine_stop(e);
	else
		*out = e;
	return st;
}

static berth_status one_line(berth_engine *e, const char *asked, double limit_s, size_t most,
                             const char **text, size_t *size, berth_err *err)
{
	double until = berth_wall_seconds() + limit_s;
	BERTH_TRY(start_process(e, err));
	BERTH_TRY(send_all(e, asked, strlen(asked), limit_s, until, err));
	shutdown(e->fd, SHUT_WR); /* it is told no more: what waits for a word sees the end */
	BERTH_TRY(read_line(e, limit_s, until, most, err));
	*size = e->len;
	return berth_got(*text = berth_arena_strndup(e->mem, e->text, e->len), err);
}

berth_status berth_engine_line(const berth_engine_cfg *cfg, const char *asked, double limit_s, size_t most,
                               berth_arena *mem, const char **text, size_t *size, berth_err *err)
{
	berth_engine e = {.cfg = *cfg, .mem = mem, .fd = -1, .one_line = true};
	berth_status st = one_line(&e, asked ? asked : "", limit_s, most, text, size, err);
	berth_engine_stop(&e);
	return st;
}

berth_status berth_engine_revive(berth_engine *e, berth_err *err)
{
	return e->pid ? BERTH_OK : start_and_hear(e, err);
}

void berth_engine_stop(berth_engine *e)
{
	if (!e)
		return;
	end_process(e, leave_s);
	if (e->words)
		fclose(e->words);
	e->words = NULL;
	drop_line(e);
}

const berth_engine_hello *berth_engine_says(const berth_engine *e)
{
	return &e->hello;
}

const char *berth_engine_name(const berth_engine *e)
{
	return e->cfg.name;
}

int32_t berth_engine_starts(const berth_engine *e)
{
	return e->starts;
}

bool berth_engine_runs(const berth_engine *e)
{
	return e->pid != 0;
}
