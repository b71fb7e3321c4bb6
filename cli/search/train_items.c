/* See train_items.h. */
#include "train_items.h"

#include "file.h"
#include "option_files.h"

#include <string.h>

/* One where none is named: that of the workload. */
static int32_t n_systems(const train_items *x)
{
	return x->on->n ? x->on->n : 1;
}

/* The next word of a line, ended where it ends; NULL: there is none. */
static char *next_word(char **at)
{
	char *word = *at + strspn(*at, " \t\r");
	if (!*word)
		return NULL;
	*at = word + strcspn(word, " \t\r");
	if (**at)
		*(*at)++ = 0;
	return word;
}

/* A line of the file, without its end. */
static berth_status read_line(cli *c, const char *file, int32_t number, char *line, train_items *x,
                              berth_err *err)
{
	char *at = line;
	line[strcspn(line, "#")] = 0;
	const char *graph = next_word(&at), *system = graph ? next_word(&at) : NULL;
	if (!graph)
		return BERTH_OK;
	if (!system || next_word(&at))
		return berth_fail(err, BERTH_EFORMAT, "%s:%d: %s; expected GRAPH SYSTEM", file, (int)number,
		                  system ? "there are more than two words" : "the system is missing");
	BERTH_TRY(cli_check_named(c, graph, "a pair", err));
	BERTH_TRY(cli_check_named(c, system, "a pair", err));
	x->graph[x->n] = graph;
	x->system[x->n++] = system;
	return BERTH_OK;
}

static berth_status read_lines(cli *c, const char *file, char *text, train_items *x, berth_err *err)
{
	int32_t number = 1;
	for (char *line = text, *next; line; line = next, number++) {
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		BERTH_TRY(read_line(c, file, number, line, x, err));
	}
	return x->n ? BERTH_OK : berth_fail(err, BERTH_EFORMAT, "%s: there is no pair in it", file);
}

static berth_status read_file(cli *c, const char *file, train_items *x, berth_err *err)
{
	char *text;
	size_t size, lines = 1;
	BERTH_TRY(berth_file_read(file, &c->mem, &text, &size, err));
	if (memchr(text, 0, size))
		return berth_fail(err, BERTH_EFORMAT, "%s: not a text: it has a byte of 0", file);
	for (size_t k = 0; k < size; k++)
		lines += text[k] == '\n';
	if (lines > INT32_MAX)
		return berth_fail(err, BERTH_EFORMAT, "%s: more than %d lines", file, INT32_MAX);
	BERTH_TRY(BERTH_NEW(&c->mem, x->graph, lines, err));
	BERTH_TRY(BERTH_NEW(&c->mem, x->system, lines, err));
	return read_lines(c, file, text, x, err);
}

berth_status train_items_open(cli *c, const char *file, const cli_texts *on, train_items *out, berth_err *err)
{
	train_items x = {.c = c, .on = on};
	int64_t n = (int64_t)c->n_args * n_systems(&x);
	if (file && (c->n_args || on->n))
		return berth_fail(err, BERTH_EINVAL,
		                  "train --pairs: the file has the graphs and systems; leave GRAPH and --on "
		                  "out");
	if (!file && !c->n_args)
		return berth_fail(err, BERTH_EINVAL, "train: GRAPH is missing; or give --pairs FILE");
	if (n > INT32_MAX)
		return berth_fail(err, BERTH_EINVAL, "train: more than %d pairs", INT32_MAX);
	x.n = (int32_t)n;
	if (file) {
		x.n = 0;
		BERTH_TRY(read_file(c, file, &x, err));
	}
	*out = x;
	return BERTH_OK;
}

void train_items_words(const train_items *x, int32_t i, const char **graph, const char **system)
{
	*graph = x->graph ? x->graph[i] : x->c->args[i / n_systems(x)];
	*system = x->graph ? x->system[i] : x->on->n ? x->on->text[i % n_systems(x)] : NULL;
}
