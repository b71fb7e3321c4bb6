/* mpirun starts the processes. It is asked which host it lost when it ends. */
#include "hosts.h"
#include "ort_plan.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_WORDS = 96, LAST_WORDS = 1 << 14, ANSWER_S = 20 };

/* ---- words of commands ---- */

typedef struct words {
	char *word[MAX_WORDS + 1];
	int n; /* above MAX_WORDS: some found no place */
} words;

static void add(words *w, const char *word)
{
	if (w->n < MAX_WORDS)
		w->word[w->n] = (char *)(uintptr_t)word;
	w->n++;
}

static _Noreturn void become(const words *w)
{
	if (w->n > MAX_WORDS) {
		fprintf(stderr, "berth-engine-ort: --agent: more than %d words\n", MAX_WORDS);
		_exit(127);
	}
	execvp(w->word[0], w->word);
	fprintf(stderr, "berth-engine-ort: cannot start %s: %s\n", w->word[0], strerror(errno));
	_exit(127);
}

/* ---- which hosts answer ---- */

/* `true` on a host. What is said goes to said. */
static pid_t ask_host(const char *agent, const char *host, FILE *said)
{
	pid_t pid = fork();
	if (pid != 0)
		return pid;
	words w = {.n = 0};
	char *text = strdup(agent);
	int nothing = open("/dev/null", O_RDWR);
	if (!text)
		_exit(127);
	dup2(nothing, 0);
	dup2(nothing, 1);
	dup2(said ? fileno(said) : nothing, 2);
	alarm(ANSWER_S); /* also of what it becomes */
	/* The words of text, which is cut up. */
	char *rest = NULL;
	for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		add(&w, word);
	add(&w, host);
	add(&w, "true");
	become(&w);
}

/* The words that were tried, and the last line of what was said. */
static void tell_silent(const char *agent, const char *host, FILE *said)
{
	char line[256], last[256] = "nothing";
	if (said)
		rewind(said);
	while (said && fgets(line, sizeof line, said)) {
		line[strcspn(line, "\r\n")] = '\0';
		if (*line)
			snprintf(last, sizeof last, "%s", line);
	}
	fprintf(stderr, "berth-engine-ort: host '%s' does not answer; '%s %s true' said: %s\n", host, agent,
	        host, last);
}

/* All at once. The names of those that answer go to list, one after the other. */
static int32_t ask_hosts(const char *agent, const ort_device_list *all, char *list, size_t size)
{
	pid_t pid[EXEC_MAX_WORKERS];
	FILE *said[EXEC_MAX_WORKERS];
	int32_t n = 0;
	size_t len = 0;
	for (int32_t i = 0; i < all->n; i++) {
		said[i] = tmpfile();
		pid[i] = ask_host(agent, all->dev[i].name, said[i]);
	}
	for (int32_t i = 0; i < all->n; i++) {
		int status = 1;
		while (pid[i] > 0 && waitpid(pid[i], &status, 0) < 0 && errno == EINTR)
			;
		if (status == 0 && len < size) {
			len += (size_t)snprintf(list + len, size - len, "%s%s", n ? "," : "",
			                        all->dev[i].name);
			n++;
		} else
			tell_silent(agent, all->dev[i].name, said[i]);
		if (said[i])
			fclose(said[i]);
	}
	return n;
}

/* ---- mpirun ---- */

/* What stands before the program's own words. Messages go by TCP alone: hosts that are one machine (network
 * namespaces) share no memory. A host that is silent for half a minute is lost. */
static void add_mpirun(words *w, const char *agent, const char *members, const char *count)
{
	static const char *const settings[][2] = {
		{"btl", "tcp,self"},           {"pml", "ob1"},
		{"plm_rsh_no_tree_spawn", "1"}, {"oob_tcp_keepalive_time", "10"},
		{"oob_tcp_keepalive_intvl", "5"}, {"oob_tcp_keepalive_probes", "4"}};
	add(w, "mpirun");
	for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
		add(w, "--mca");
		add(w, settings[i][0]);
		add(w, settings[i][1]);
	}
	add(w, "--mca");
	add(w, "plm_rsh_agent");
	add(w, agent);
	add(w, "--bind-to");
	add(w, "none");
	add(w, "--host");
	add(w, members);
	add(w, "-np");
	add(w, count);
}

static pid_t start_mpirun(const words *w, FILE *said, int *out)
{
	int pair[2];
	pid_t pid = pipe(pair) == 0 ? fork() : -1;
	if (pid > 0) {
		close(pair[1]);
		*out = pair[0];
	}
	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGTERM); /* it then ends the processes on all hosts */
	dup2(pair[1], 1);
	dup2(fileno(said), 2);
	close(pair[0]);
	close(pair[1]);
	if (geteuid() == 0) { /* as those are who make network namespaces; it refuses else */
		setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
		setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
	}
	become(w);
}

/* Hand on lines that are answers: mpirun has words of its own among them. in_answer: amid one. Returns how
 * many bytes there were. */
static ssize_t hand_on(int from, bool *at_begin, bool *in_answer)
{
	static char text[1 << 16];
	ssize_t n = read(from, text, sizeof text);
	for (ssize_t i = 0, end; i < n; i = end) {
		const char *newline = memchr(text + i, '\n', (size_t)(n - i));
		end = newline ? newline + 1 - text : n;
		if (*at_begin)
			*in_answer = text[i] == '{';
		*at_begin = newline != NULL;
		if (*in_answer)
			fwrite(text + i, 1, (size_t)(end - i), stdout);
	}
	fflush(stdout);
	return n;
}

/* Until it has ended; what it started may hold its output open. Returns what waitpid says. */
static int follow(pid_t pid, int out)
{
	bool at_begin = true, in_answer = false;
	int status = 0;
	for (;;) {
		struct pollfd p = {out, POLLIN, 0};
		bool ended = waitpid(pid, &status, WNOHANG) == pid;
		while (poll(&p, 1, ended ? 0 : 100) > 0)
			if (hand_on(out, &at_begin, &in_answer) <= 0)
				break;
		if (ended)
			return status;
		if (p.revents && !(p.revents & POLLIN)) { /* closed, and about to end */
			waitpid(pid, &status, 0);
			return status;
		}
	}
}

/* The host that text begins with, the longest where the name of one is the begin of another's; NULL: none. */
static const char *host_at(const char *text, const ort_device_list *all)
{
	const char *found = NULL;
	size_t longest = 0;
	for (int32_t i = 0; i < all->n; i++) {
		size_t n = strlen(all->dev[i].name);
		bool ends = n > longest && strncmp(text, all->dev[i].name, n) == 0 &&
		            (text[n] == '\0' || strchr(" \n.", text[n]));
		if (ends) {
			found = all->dev[i].name;
			longest = n;
		}
	}
	return found;
}

/* The host that the last `label` NAME is about; NULL: none. */
static const char *host_behind(const char *label, const char *said, const ort_device_list *all)
{
	const char *found = NULL;
	for (const char *at = said; (at = strstr(at, label)); at++) {
		const char *name = host_at(at + strlen(label) + strspn(at + strlen(label), " "), all);
		found = name ? name : found;
	}
	return found;
}

/* Others may find the process gone before mpirun does, and end themselves. */
static const char *lost_host(const char *said, const ort_device_list *all)
{
	const char *peer = host_behind("Peer host:", said, all);
	return peer ? peer : host_behind("on node", said, all);
}

/* What was said, and last a line of ours: why the processes ended. */
static void tell_end(FILE *said, const ort_device_list *all)
{
	static char text[LAST_WORDS + 1];
	long size = (fseek(said, 0, SEEK_END), ftell(said));
	fseek(said, size > LAST_WORDS ? size - LAST_WORDS : 0, SEEK_SET);
	text[fread(text, 1, LAST_WORDS, said)] = '\0';
	const char *ours = strstr(text, "berth-engine-ort: "), *lost = lost_host(text, all);
	fputs(text, stderr);
	if (ours)
		fprintf(stderr, "\n%.*s\n", (int)strcspn(ours, "\n"), ours);
	else if (lost)
		fprintf(stderr, "\nberth-engine-ort: host '%s' was lost\n", lost);
}

/* Names that mpirun and the agent take for names. */
static berth_status read_hosts(const char *text, ort_device_list *out, berth_err *err)
{
	BERTH_TRY(ort_devices_read(text, "--hosts", out, err));
	for (int32_t i = 0; i < out->n; i++)
		if (*out->dev[i].name == '-' || strpbrk(out->dev[i].name, ": "))
			return berth_fail(err, BERTH_EINVAL, "--hosts: '%s' is no name of a host",
			                  out->dev[i].name);
	return BERTH_OK;
}

/* agent: its words with commas between, which become blanks. */
static int start_over(const engine *e, char *agent, int argc, char *const *argv)
{
	words w = {.n = 0};
	ort_device_list all;
	berth_err err;
	static char members[EXEC_MAX_WORKERS * 32], self[4096];
	char count[16];
	FILE *said = tmpfile();
	ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
	if (read_hosts(e->hosts, &all, &err) != BERTH_OK || len < 0 || !said) {
		fprintf(stderr, "berth-engine-ort: %s\n", len < 0 || !said ? strerror(errno) : err.msg);
		return 2;
	}
	for (char *at = agent; (at = strchr(at, ',')) != NULL;)
		*at = ' ';
	int32_t n = ask_hosts(agent, &all, members, sizeof members);
	if (!n)
		return 5;
	snprintf(count, sizeof count, "%d", n);
	add_mpirun(&w, agent, members, count);
	add(&w, self);
	for (int i = 1; i < argc; i++)
		add(&w, argv[i]);
	add(&w, "--members");
	add(&w, members);
	if (w.n > MAX_WORDS) {
		fprintf(stderr, "berth-engine-ort: %d words of options are %d too many with --hosts\n",
		        argc - 1, w.n - MAX_WORDS);
		return 2;
	}
	int out = -1;
	pid_t pid = start_mpirun(&w, said, &out);
	int status = pid > 0 ? follow(pid, out) : -1;
	if (pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	tell_end(said, &all);
	return 1;
}

int hosts_start(const engine *e, int argc, char *const *argv)
{
	char *agent = strdup(e->agent ? e->agent : "ssh,-oBatchMode=yes");
	if (!agent) {
		fprintf(stderr, "berth-engine-ort: %s\n", strerror(errno));
		return 2;
	}
	int code = start_over(e, agent, argc, argv);
	free(agent);
	return code;
}
