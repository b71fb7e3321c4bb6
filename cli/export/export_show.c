/* See export_show.h. Names stand in such a text as they are; only JSON has them escaped. */
#include "export_show.h"

#include "say.h"

#include <string.h>
#include <unistd.h>

bool export_on_terminal(void)
{
	return isatty(STDOUT_FILENO);
}

/* A line may be in parts: an end of line is printed where there is one. */
static void show_piece(const char *text, size_t size)
{
	for (const char *at = text, *end = text + size; at < end;) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		size_t n = (size_t)((stop ? stop : end) - at), most = 1 << 20;
		n = n < most ? n : most;
		bool whole = stop && at + n == stop;
		size_t shown = whole && n && at[n - 1] == '\r' ? n - 1 : n;
		cli_say("%.*s", (int)shown, at);
		if (whole)
			cli_say("\n");
		at += n + whole;
	}
}

void export_show(const berth_export_out *made)
{
	for (size_t i = 0; i < made->n_pieces; i++)
		show_piece(made->piece[i].data, made->piece[i].size);
}
