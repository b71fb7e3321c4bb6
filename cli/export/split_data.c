/* The new file of weights is copied a block at a time, from files that may be larger than memory; names that
 * lead out of the folder of the model are refused. */
#include "cmd_split.h"

#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 1 << 20 };

typedef struct copying {
	const pieces_model *p;
	int *from;      /* [n_copies] open files */
	char *block;    /* [BLOCK] */
	int32_t failed; /* the copy whose file cannot be read; -1: none */
} copying;

/* Bytes from one place of a file to where the other stands. 0, or -1 and errno; -2: reading failed. */
static int copy_bytes(const copying *c, int from, int to, int64_t at, int64_t bytes)
{
	while (bytes > 0) {
		ssize_t n = pread(from, c->block, bytes < BLOCK ? (size_t)bytes : BLOCK, (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -2;
		if (berth_file_write_all(to, c->block, (size_t)n) != 0)
			return -1;
		at += n;
		bytes -= n;
	}
	return 0;
}

static int tell(void *ctx, int fd)
{
	copying *c = ctx;
	for (int32_t i = 0; i < c->p->n_copies; i++) {
		const pieces_copy *p = &c->p->copy[i];
		for (int64_t row = 0; row < p->rows; row++) {
			int bad = copy_bytes(c, c->from[i], fd, p->at + row * p->stride, p->bytes);
			if (bad == -2) {
				c->failed = i;
				errno = EIO;
			}
			if (bad)
				return -1;
		}
	}
	return 0;
}

/* "../x" and "/x" lead out of the folder. */
static bool leads_out(const char *name)
{
	for (const char *s = name; s; s = strchr(s, '/')) {
		s += *s == '/';
		if (s[0] == '.' && s[1] == '.' && (!s[2] || s[2] == '/'))
			return true;
	}
	return *name == '/' || !*name;
}

static berth_status open_source(const char *model, const char *name, berth_arena *tmp, int *fd,
                                berth_err *err)
{
	const char *slash = strrchr(model, '/');
	if (leads_out(name))
		return berth_fail(err, BERTH_EFORMAT,
		                  "%s: weights in '%s', which is not in the model's folder", model, name);
	const char *path =
		berth_arena_printf(tmp, "%.*s%s", slash ? (int)(slash + 1 - model) : 0, model, name);
	if (!path)
		return berth_nomem(err);
	*fd = open(path, O_RDONLY | O_CLOEXEC);
	return *fd >= 0 ? BERTH_OK : berth_fail(err, BERTH_EIO, "%s: %s", path, strerror(errno));
}

static berth_status open_sources(copying *c, const char *model, berth_arena *tmp, berth_err *err)
{
	const pieces_model *p = c->p;
	for (int32_t i = 0; i < p->n_copies; i++) {
		c->from[i] = -1;
		for (int32_t j = 0; j < i && c->from[i] < 0; j++)
			if (strcmp(p->copy[j].from, p->copy[i].from) == 0)
				c->from[i] = c->from[j];
		if (c->from[i] < 0)
			BERTH_TRY(open_source(model, p->copy[i].from, tmp, &c->from[i], err));
	}
	return BERTH_OK;
}

static void close_sources(const copying *c)
{
	for (int32_t i = 0; i < c->p->n_copies; i++) {
		bool first = c->from[i] >= 0;
		for (int32_t j = 0; j < i; j++)
			first = first && c->from[j] != c->from[i];
		if (first)
			close(c->from[i]);
	}
}

berth_status split_data_write(const pieces_model *p, const char *model, const char *path, berth_arena *tmp,
                              berth_err *err)
{
	copying c = {.p = p, .failed = -1};
	if (!p->n_copies)
		return BERTH_OK;
	BERTH_TRY_NEW(tmp, p->n_copies, err, c.from);
	BERTH_TRY_NEW(tmp, BLOCK, err, c.block);
	for (int32_t i = 0; i < p->n_copies; i++)
		c.from[i] = -1;
	berth_status st = open_sources(&c, model, tmp, err);
	if (st == BERTH_OK)
		st = berth_file_write_told(path, tell, &c, true, err);
	if (c.failed >= 0)
		st = berth_fail(err, BERTH_EIO,
		                "%s: weights in '%s': the file cannot be read, or is shorter than "
		                "the model says",
		                model, p->copy[c.failed].from);
	close_sources(&c);
	return st;
}

static berth_status look_at_folder(const char *path, berth_arena *tmp, struct stat *st, berth_err *err)
{
	const char *slash = strrchr(path, '/');
	const char *folder = berth_arena_printf(tmp, "%.*s.", slash ? (int)(slash + 1 - path) : 0, path);
	if (!folder)
		return berth_nomem(err);
	return stat(folder, st) == 0 ? BERTH_OK
	                             : berth_fail(err, BERTH_EIO, "%s: %s", folder, strerror(errno));
}

berth_status split_data_apart(const char *a, const char *b, berth_arena *tmp, bool *apart, berth_err *err)
{
	struct stat of_a, of_b;
	BERTH_TRY(look_at_folder(a, tmp, &of_a, err));
	BERTH_TRY(look_at_folder(b, tmp, &of_b, err));
	*apart = of_a.st_dev != of_b.st_dev || of_a.st_ino != of_b.st_ino;
	return BERTH_OK;
}
