/* Signals. This is the one global state of the program, as a handler gets no argument. */
#include "signals.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static atomic_int cancelled;

static void on_signal(int number)
{
	if (atomic_exchange(&cancelled, 1))
		_exit(128 + number);
}

atomic_int *cli_catch_signals(void)
{
	struct sigaction act = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	sigemptyset(&act.sa_mask);
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	return &cancelled;
}

void cli_ignore_file_limit(void)
{
	signal(SIGXFSZ, SIG_IGN);
}
