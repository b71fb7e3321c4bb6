/* Signals. This is the one global state of the program, as a handler gets no argument. The handler only sets
 * flags and posts a semaphore, or ends the process. The rest is done by ordinary threads. */
#include "signals.h"

#include "leftovers.h"
#include "say.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

/* After a signal the verb has this time, less what the rescue is going to need, but the least at least. The
 * rescue is given up when it hangs. */
static const long patience_ns = 150000000, least_ns = 20000000, rescue_s = 1;

static atomic_int cancelled, files_out; /* files that the command writes */
static atomic_bool patient; /* the first signal only asks */
static atomic_bool late;    /* a signal came when all was written */
static sem_t asked;

/* Who holds the lock may end the program, and nobody else. */
static pthread_mutex_t ending = PTHREAD_MUTEX_INITIALIZER;
static cli_rescue_fn *rescue_fn;
static atomic_long rescue_ns; /* that it is going to need */
static void *rescue_ctx;
static bool over;

/* ---- the handler ---- */

static void end_at_once(int code)
{
	berth_leftovers_clear();
	_exit(code);
}

/* All that was to be written has its name: what is left is to tell it, and the exit code has to. */
static bool all_written(void)
{
	int n = atomic_load(&files_out);
	return n > 0 && berth_leftovers_named() >= n && !atomic_exchange(&late, true);
}

static void on_signal(int number)
{
	int was = errno;
	if (!atomic_load(&patient) && all_written()) {
		; /* a second one ends it */
	} else if (!atomic_load(&patient)) {
		/* as if it had never been caught, but for what it would leave behind */
		berth_leftovers_clear();
		signal(number, SIG_DFL);
		raise(number);
	} else if (atomic_exchange(&cancelled, 1)) {
		end_at_once(128 + number);
	} else {
		sem_post(&asked);
	}
	errno = was;
}

/* Inputs are mapped: where another process cuts one off, what was behind cannot be read any more. */
static void on_lost_input(int number, siginfo_t *what, void *unused)
{
	(void)unused;
	if (what->si_code == BUS_ADRERR) {
		cli_say_past("an input became shorter while it was read, or its disk failed");
		end_at_once(berth_exit_code(BERTH_EIO));
	}
	signal(number, SIG_DFL);
	raise(number);
}

/* ---- the rescue ---- */

static void nap(long s, long ns)
{
	struct timespec left = {s, ns};
	while (nanosleep(&left, &left) != 0 && errno == EINTR)
		;
}

static void *rescue(void *unused)
{
	char text[400] = "interrupted";
	(void)unused;
	pthread_mutex_lock(&ending); /* never given back */
	if (rescue_fn)
		rescue_fn(rescue_ctx, text, sizeof text);
	if (!over)
		cli_say_past(text);
	end_at_once(berth_exit_code(BERTH_EINTERRUPTED));
	return NULL;
}

/* A thread that needs little room. */
static bool start_thread(void *(*run)(void *))
{
	pthread_attr_t attr;
	pthread_t thread;
	size_t least = PTHREAD_STACK_MIN > (1 << 18) ? (size_t)PTHREAD_STACK_MIN : (size_t)1 << 18;
	if (pthread_attr_init(&attr) != 0)
		return false;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, least);
	bool started = pthread_create(&thread, &attr, run, NULL) == 0;
	pthread_attr_destroy(&attr);
	return started;
}

/* Takes no lock and allocates nothing, so that nothing keeps it from ending the program. */
static void *watch(void *unused)
{
	(void)unused;
	while (sem_wait(&asked) != 0)
		;
	long patience = patience_ns - atomic_load(&rescue_ns);
	nap(0, patience > least_ns ? patience : least_ns);
	if (start_thread(rescue))
		nap(rescue_s, 0);
	end_at_once(berth_exit_code(BERTH_EINTERRUPTED));
	return NULL;
}

/* ---- for the verbs ---- */

static void handle(int number)
{
	struct sigaction act = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	sigemptyset(&act.sa_mask);
	sigaddset(&act.sa_mask, SIGINT);
	sigaddset(&act.sa_mask, SIGTERM);
	sigaddset(&act.sa_mask, SIGHUP);
	sigaction(number, &act, NULL);
}

static void handle_unless_ignored(int number)
{
	struct sigaction now;
	if (sigaction(number, NULL, &now) != 0 || now.sa_handler != SIG_IGN)
		handle(number);
}

void cli_signals_start(void)
{
	struct sigaction lost = {.sa_sigaction = on_lost_input, .sa_flags = SA_SIGINFO};
	sem_init(&asked, 0, 0);
	sigemptyset(&lost.sa_mask);
	sigaction(SIGBUS, &lost, NULL);
	handle_unless_ignored(SIGINT);
	handle_unless_ignored(SIGTERM);
	handle_unless_ignored(SIGHUP);
}

static void start_watch(void)
{
	atomic_store(&patient, true);
	handle(SIGINT);
	handle(SIGTERM);
	handle_unless_ignored(SIGHUP); /* under nohup it stays ignored */
	start_thread(watch); /* where there is no room for it the verb ends as soon as it can */
}

atomic_int *cli_catch_signals(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, start_watch);
	return &cancelled;
}

void cli_rescue_by(cli_rescue_fn *fn, void *ctx, long needs_ns)
{
	pthread_mutex_lock(&ending);
	rescue_fn = fn;
	rescue_ctx = ctx;
	atomic_store(&rescue_ns, needs_ns);
	pthread_mutex_unlock(&ending);
}

void cli_document_begin(void)
{
	cli_catch_signals();
	pthread_mutex_lock(&ending);
}

void cli_document_end(void)
{
	pthread_mutex_unlock(&ending);
}

void cli_signals_over(void)
{
	pthread_mutex_lock(&ending);
	rescue_fn = NULL;
	over = true;
	pthread_mutex_unlock(&ending);
}

void cli_signals_write(int files)
{
	atomic_store(&files_out, files);
}

void cli_ignore_file_limit(void)
{
	signal(SIGXFSZ, SIG_IGN);
}
