/* All that the program prints goes through here: formats are ours, and words that come in through them are
 * made visible. Standard error has no buffer of its own, so what is on its way there stands here. */
#include "say.h"

#include "signals.h"
#include "visible.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum { BUFFER = 1024 };

berth_status cli_hold_streams(berth_err *err)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
		    open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			return berth_fail(err, BERTH_EIO, "/dev/null: cannot open: %s", strerror(errno));
	return BERTH_OK;
}

berth_status cli_fall_silent(int *voice, berth_err *err)
{
	int fd = open("/dev/null", O_WRONLY);
	*voice = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	bool ok = fd >= 0 && *voice >= 0 && dup2(fd, STDOUT_FILENO) >= 0 && dup2(fd, STDERR_FILENO) >= 0;
	if (!ok)
		berth_fail(err, BERTH_EIO, "/dev/null: cannot open: %s", strerror(errno));
	if (fd > STDERR_FILENO)
		close(fd);
	return ok ? BERTH_OK : BERTH_EIO;
}

void cli_speak_again(int voice)
{
	if (voice >= 0)
		dup2(voice, STDERR_FILENO);
}

/* A stream, and what is on its way there: standard error has no buffer of its own. */
typedef struct way {
	FILE *to;
	size_t n;
	char text[BUFFER];
} way;

static void send(way *w)
{
	fwrite(w->text, 1, w->n, w->to);
	w->n = 0;
}

static void put(void *to, const char *text, size_t n)
{
	way *w = to;
	while (n) {
		size_t part = n < BUFFER - w->n ? n : BUFFER - w->n;
		memcpy(w->text + w->n, text, part);
		w->n += part;
		text += part;
		n -= part;
		if (w->n == BUFFER)
			send(w);
	}
}

static void say(FILE *stream, const char *fmt, va_list args)
{
	way w = {.to = stream};
	berth_visible_vformat(&(berth_visible_sink){put, &w}, fmt, args);
	send(&w);
}

void cli_say(const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	say(stdout, fmt, args);
	va_end(args);
}

void cli_say_now(void)
{
	fflush(stdout); /* main tells where it fails */
}

void cli_vsay_error(const char *fmt, va_list args)
{
	say(stderr, fmt, args);
}

void cli_say_error(const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	cli_vsay_error(fmt, args);
	va_end(args);
}

void cli_say_past(const char *text)
{
	char shown[500], line[520];
	berth_visible_copy(shown, sizeof shown, text, strlen(text));
	int n = snprintf(line, sizeof line, "%sberth: %s\n", isatty(STDERR_FILENO) ? "\r\033[K" : "", shown);
	if (n > 0 && write(STDERR_FILENO, line, (size_t)n) < 0)
		return; /* nobody listens */
}

void cli_say_blanks(size_t n)
{
	for (; n; n--)
		putchar(' ');
}

void cli_put_document(const char *text, size_t n)
{
	fwrite(text, 1, n, stdout);
}

void cli_put_whole(const char *text, size_t n)
{
	cli_document_begin();
	cli_put_document(text, n);
	fflush(stdout); /* main tells what fails */
	cli_document_end();
}
