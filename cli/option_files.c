/* Finds all files that a command line reads or writes, by the tables of options, before anything is done.
 * Nothing that is written may be one that is read, nor be written twice. */
#include "option_files.h"

#include "engine_find.h"
#include "file.h"
#include "load.h"
#include "load_system.h"
#include "signals.h"
#include "train.h"

#include <sys/stat.h>
#include <unistd.h>

/* A file of the command line. */
typedef struct cli_used_file {
	const char *path, *by; /* by: what names it, for people */
	bool written;
	bool there; /* path leads to something, at */
	struct stat at, folder;
	const char *name; /* in the folder, where nothing is there; NULL: no folder either */
	int32_t owner;    /* files of one option are no rivals */
} used_file;

typedef struct used_files {
	used_file *item; /* [n] */
	int32_t n;
	size_t cap;
} used_files;

/* ---- what is named ---- */

static bool is_written(cli_kind k)
{
	return k == CLI_FILE_OUT || k == CLI_FILE_ONLY || k == CLI_CHECKPOINT || k == CLI_FILE_BOTH;
}

static const char *text_of(const cli_option *o)
{
	return *(const char **)o->into;
}

/* Where it would be made, if nothing is there. */
static berth_status find_folder(cli *c, used_file *f, berth_err *err)
{
	const char *slash = strrchr(f->path, '/');
	const char *folder = !slash ? "." : slash == f->path ? "/"
	                                  : berth_arena_strndup(&c->tmp, f->path, (size_t)(slash - f->path));
	BERTH_TRY(berth_got(folder, err));
	if (stat(folder, &f->folder) == 0)
		f->name = slash ? slash + 1 : f->path;
	return BERTH_OK;
}

static berth_status add(cli *c, used_files *list, const char *path, const char *by, bool written,
                        int32_t owner, berth_err *err)
{
	used_file f = {.path = path, .by = by, .written = written, .owner = owner};
	if (!path || !by)
		return berth_nomem(err);
	if (written && strcmp(path, "-") == 0)
		return BERTH_OK;
	f.there = stat(path, &f.at) == 0;
	if (!f.there)
		BERTH_TRY(find_folder(c, &f, err));
	return BERTH_PUSH(&c->tmp, list->item, list->n, &list->cap, err, f);
}

/* What a text stands for: itself, a graph with words behind it, the description of this machine, a file
 * behind the name of a device. */
static berth_status add_input(cli *c, used_files *list, const char *text, const char *by, int32_t owner,
                              berth_err *err)
{
	const char *graph = berth_graph_path(text, &c->tmp), *equals = strchr(text, '='), *host;
	BERTH_TRY(add(c, list, text, by, false, owner, err));
	if (!graph || strcmp(graph, text) != 0)
		BERTH_TRY(add(c, list, graph, by, false, owner, err));
	if (equals)
		BERTH_TRY(add(c, list, equals + 1, by, false, owner, err));
	if (strcmp(text, "system:host") == 0 && berth_system_host_path(&c->tmp, &host, NULL) == BERTH_OK)
		BERTH_TRY(add(c, list, host, by, false, owner, err));
	return BERTH_OK;
}

/* Files that stand beside path, by what is behind its name. */
static berth_status add_beside(cli *c, used_files *list, const char *path, const char *const *behind,
                               const char *by, int32_t owner, berth_err *err)
{
	for (; *behind; behind++)
		BERTH_TRY(add(c, list, berth_arena_printf(&c->tmp, "%s%s", path, *behind), by, true, owner,
		              err));
	return BERTH_OK;
}

/* What writing a file takes for its own while it lasts. */
static berth_status add_parts(cli *c, used_files *list, const char *path, const char *by, int32_t owner,
                              berth_err *err)
{
	char name[4096];
	if (strcmp(path, "-") == 0 || berth_file_is_stream(path))
		return BERTH_OK;
	for (int k = 0; berth_file_part(path, k, name, sizeof name); k++)
		BERTH_TRY(add(c, list, berth_arena_strdup(&c->tmp, name), by, true, owner, err));
	return BERTH_OK;
}

bool cli_is_pattern(const char *path)
{
	const char *at = strchr(path, '%');
	return at && at[1] == 'd' && !strchr(at + 1, '%');
}

const char *cli_numbered(berth_arena *mem, const char *pattern, int32_t number)
{
	const char *mark = strstr(pattern, "%d");
	return berth_arena_printf(mem, "%.*s%d%s", (int)(mark - pattern), pattern, (int)number, mark + 2);
}

/* Those of a front, or of several seeds: one for each number. */
static berth_status add_points(cli *c, used_files *list, const char *path, const char *by, int32_t owner,
                               berth_err *err)
{
	for (int32_t i = 1; strstr(path, "%d") && i <= PLACE_PARETO_POINTS; i++)
		BERTH_TRY(add(c, list, cli_numbered(&c->tmp, path, i), by, true, owner, err));
	return BERTH_OK;
}

static const char *const beside_checkpoint[] = {BERTH_TRAIN_OLDER, BERTH_FILE_LOCK, TRAIN_MEASURED_JOURNAL,
                                                NULL};
static const char *const beside_database[] = {"-journal", "-wal", "-shm", NULL}; /* of SQLite */

static berth_status add_option(cli *c, used_files *list, const cli_option *o, int32_t owner, berth_err *err)
{
	const char *by = berth_arena_printf(&c->tmp, "option --%s", o->name);
	const cli_texts *texts = o->into;
	BERTH_TRY(berth_got(by, err));
	if (o->kind == CLI_FILES_IN || o->kind == CLI_FILES_MANY) {
		for (int32_t i = 0; i < texts->n; i++)
			BERTH_TRY(add_input(c, list, texts->text[i], by, owner, err));
		return BERTH_OK;
	}
	bool read = o->kind == CLI_FILE_IN || o->kind == CLI_COMMAND;
	if ((!read && !is_written(o->kind)) || !text_of(o))
		return BERTH_OK;
	if (o->kind == CLI_COMMAND) {
		/* The program of an engine and the words behind it. What is no engine is told by whoever
		 * starts it. */
		const char *text = text_of(o);
		berth_engine_cfg engine;
		if (berth_engine_find(text, &c->tmp, &engine, NULL) != BERTH_OK)
			return BERTH_OK;
		for (const char *const *word = engine.argv; *word; word++)
			BERTH_TRY(add_input(c, list, *word, by, owner, err));
		return BERTH_OK;
	}
	if (o->kind == CLI_FILE_IN)
		return add_input(c, list, text_of(o), by, owner, err);
	BERTH_TRY(add(c, list, text_of(o), by, true, owner, err));
	if (o->kind == CLI_CHECKPOINT)
		BERTH_TRY(add_beside(c, list, text_of(o), beside_checkpoint, by, owner, err));
	if (o->kind == CLI_FILE_BOTH)
		return add_beside(c, list, text_of(o), beside_database, by, owner, err);
	BERTH_TRY(add_parts(c, list, text_of(o), by, owner, err));
	return o->kind == CLI_FILE_OUT || o->kind == CLI_CHECKPOINT
	               ? add_points(c, list, text_of(o), by, owner, err)
	               : BERTH_OK;
}

/* Where our own words go, if that is a file. */
static berth_status add_stream(cli *c, used_files *list, int fd, const char *by, int32_t owner,
                               berth_err *err)
{
	used_file f = {.path = by, .by = by, .written = true, .owner = owner};
	f.there = fstat(fd, &f.at) == 0;
	if (!f.there || !S_ISREG(f.at.st_mode))
		return BERTH_OK;
	return BERTH_PUSH(&c->tmp, list->item, list->n, &list->cap, err, f);
}

/* ---- what is wrong with it ---- */

static bool is_one_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool are_one(const used_file *a, const used_file *b)
{
	if (a->there != b->there)
		return false;
	if (a->there)
		return S_ISREG(a->at.st_mode) && is_one_file(&a->at, &b->at);
	return a->name && b->name && strcmp(a->name, b->name) == 0 && is_one_file(&a->folder, &b->folder);
}

static berth_status lost(const used_file *written, const char *by, berth_err *err)
{
	return berth_fail(err, BERTH_EINVAL, "%s: '%.200s' is the file of %s too; it would be lost",
	                  written->by, written->path, by);
}

static berth_status keep_apart(const used_files *list, int32_t streams, berth_err *err)
{
	for (int32_t i = 0; i < list->n; i++)
		for (int32_t k = 0; k < list->n; k++) {
			const used_file *a = &list->item[i], *b = &list->item[k];
			bool first = a->owner < b->owner || !b->written; /* two outputs are told once */
			bool shell = a->owner >= streams; /* what the shell opened is its business alone */
			if (a->written && a->owner != b->owner && first && !shell && are_one(a, b))
				return lost(a, b->by, err);
		}
	return BERTH_OK;
}

/* Keep what the options write, for models that name files of their own. */
static berth_status keep_written(cli *c, const used_files *list, int32_t streams, berth_err *err)
{
	used_file *kept;
	BERTH_TRY_NEW(&c->mem, list->n, err, kept);
	for (int32_t i = 0; i < list->n; i++) {
		const used_file *f = &list->item[i];
		if (!f->written || f->owner >= streams)
			continue;
		used_file *to = &kept[c->n_written++];
		*to = *f;
		to->path = berth_arena_strdup(&c->mem, f->path);
		to->by = berth_arena_strdup(&c->mem, f->by);
		to->name = f->name ? berth_arena_strdup(&c->mem, f->name) : NULL;
		if (!to->path || !to->by || (f->name && !to->name))
			return berth_nomem(err);
	}
	c->written = kept;
	return BERTH_OK;
}

/* None of these is a file that was kept. */
static berth_status keep_off(const cli *c, const used_files *list, berth_err *err)
{
	for (int32_t i = 0; i < list->n; i++)
		for (int32_t k = 0; k < c->n_written; k++)
			if (are_one(&c->written[k], &list->item[i]))
				return lost(&c->written[k], list->item[i].by, err);
	return BERTH_OK;
}

berth_status cli_check_named(cli *c, const char *text, const char *by, berth_err *err)
{
	used_files list = {0};
	BERTH_SCRATCH(&c->tmp);
	if (c->n_written)
		BERTH_TRY(add_input(c, &list, text, by, 0, err));
	return keep_off(c, &list, err);
}

/* The file of that name beside the model; in c->tmp. NULL when memory runs out. */
static const char *beside(cli *c, const char *model, const char *name)
{
	const char *slash = strrchr(model, '/');
	return *name == '/' || !slash
	               ? name
	               : berth_arena_printf(&c->tmp, "%.*s%s", (int)(slash + 1 - model), model, name);
}

static berth_status check_external(cli *c, const char *model, const berth_read_report *r, berth_err *err)
{
	used_files list = {0};
	const char *path = berth_graph_path(model, &c->tmp),
		   *by = berth_arena_printf(&c->tmp, "%s, which keeps data there,", model);
	if (!path || !by)
		return berth_nomem(err);
	for (int32_t i = 0; i < r->n_external; i++)
		BERTH_TRY(add(c, &list, beside(c, path, r->external[i]), by, false, 0, err));
	return keep_off(c, &list, err);
}

berth_status cli_check_external(cli *c, const char *model, const berth_read_report *r, berth_err *err)
{
	BERTH_SCRATCH(&c->tmp);
	return c->n_written && r->n_external ? check_external(c, model, r, err) : BERTH_OK;
}

/* "-" for what leads to standard output by another name. */
static const char *real_name(const char *path)
{
	static const char *const alias[] = {"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"};
	for (size_t i = 0; path && i < sizeof alias / sizeof *alias; i++)
		if (strcmp(path, alias[i]) == 0)
			return "-";
	return path;
}

static bool is_stream(const char *path)
{
	return path && strcmp(path, "-") == 0;
}

/* "-" of what is read is standard input. */
static void name_inputs(cli *c)
{
	static const char standard_input[] = "/dev/stdin";
	for (const cli_option *o = c->options; o->name; o++) {
		bool list = o->kind == CLI_FILES_IN || o->kind == CLI_FILES_MANY;
		const cli_texts *texts = o->into;
		if (o->kind == CLI_FILE_IN && is_stream(text_of(o)))
			*(const char **)o->into = standard_input;
		for (int32_t i = 0; list && i < texts->n; i++)
			if (is_stream(texts->text[i]))
				texts->text[i] = standard_input;
	}
	for (int i = 0; i < c->n_args; i++)
		if (is_stream(c->args[i]))
			c->args[i] = (char *)(size_t)standard_input; /* nobody writes there */
}

/* "--json, -o - and --dot -": what this verb can send to standard output. */
static const char *stream_names(cli *c)
{
	const char *text = "--json", *last = NULL;
	for (const cli_option *o = c->options; text && o->name; o++) {
		if (o->kind != CLI_FILE_OUT)
			continue;
		text = last ? berth_arena_printf(&c->tmp, "%s, %s", text, last) : text;
		last = o->letter ? berth_arena_printf(&c->tmp, "-%c -", o->letter)
		                 : berth_arena_printf(&c->tmp, "--%s -", o->name);
	}
	return text && last ? berth_arena_printf(&c->tmp, "%s and %s", text, last) : text;
}

/* Outputs have names. One document at most goes to standard output, and none that has to be a file. */
static berth_status check_streams(cli *c, berth_err *err)
{
	int n = c->json;
	for (const cli_option *o = c->options; o->name; o++) {
		if (!is_written(o->kind))
			continue;
		*(const char **)o->into = real_name(text_of(o));
		if (text_of(o) && !*text_of(o))
			return berth_fail(err, BERTH_EINVAL, "option --%s: the name of the file is empty",
			                  o->name);
		if (is_stream(text_of(o)) && o->kind != CLI_FILE_OUT)
			return berth_fail(err, BERTH_EINVAL, "option --%s takes a file, not standard output",
			                  o->name);
		c->streams |= is_stream(text_of(o));
		n += is_stream(text_of(o));
	}
	if (n <= 1)
		return BERTH_OK;
	const char *names = stream_names(c);
	return names ? berth_fail(err, BERTH_EINVAL, "%s: only one of %s can go to standard output",
	                          c->verb->name, names)
	             : berth_nomem(err);
}

static berth_status check_writable(const cli *c, berth_err *err)
{
	for (const cli_option *o = c->options; o->name; o++)
		if (is_written(o->kind) && o->kind != CLI_FILE_BOTH && text_of(o))
			BERTH_TRY(berth_file_writable(text_of(o), err));
	return BERTH_OK;
}

static int count_outputs(const cli *c)
{
	int n = 0;
	for (const cli_option *o = c->options; o->name; o++)
		n += is_written(o->kind) && text_of(o) && !is_stream(text_of(o));
	return n;
}

static berth_status check_apart(cli *c, berth_err *err)
{
	used_files list = {0};
	int32_t owner = 0;
	for (const cli_option *o = c->options; o->name; o++)
		BERTH_TRY(add_option(c, &list, o, owner++, err));
	for (int i = 0; i < c->n_args; i++)
		BERTH_TRY(add_input(c, &list, c->args[i], "an argument", owner++, err));
	int32_t streams = owner;
	BERTH_TRY(add_stream(c, &list, STDOUT_FILENO, "standard output", owner++, err));
	BERTH_TRY(add_stream(c, &list, STDERR_FILENO, "standard error", owner++, err));
	cli_signals_write(count_outputs(c));
	BERTH_TRY(keep_apart(&list, streams, err));
	return keep_written(c, &list, streams, err);
}

berth_status cli_check_files(cli *c, berth_err *err)
{
	BERTH_SCRATCH(&c->tmp);
	name_inputs(c);
	BERTH_TRY(check_streams(c, err));
	BERTH_TRY(check_apart(c, err));
	return check_writable(c, err);
}

berth_status cli_read_lines(cli *c, const char *file, char **text, size_t *lines, berth_err *err)
{
	size_t size;
	BERTH_TRY(berth_file_read(BERTH_READS_LOG, file, &c->mem, text, &size, err));
	if (memchr(*text, 0, size))
		return berth_fail(err, BERTH_EFORMAT, "%s: not a text: it has a byte of 0", file);
	*lines = 1;
	for (size_t k = 0; k < size; k++)
		*lines += (*text)[k] == '\n';
	if (*lines > INT32_MAX)
		return berth_fail(err, BERTH_EFORMAT, "%s: more than %d lines", file, INT32_MAX);
	return BERTH_OK;
}
