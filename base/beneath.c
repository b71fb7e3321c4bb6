/* A name is walked from the folder, one part of it after the other, each opened without following links; a
 * link's text is walked in the same way. What was checked is what is opened: it is the same descriptor. The
 * kernel can do most of it (openat2), but not everywhere, and not the links of a hub's cache. */
#include "beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_DEEP = 32, MOST_LINKS = 16, MOST_TEXT = 4096 };

typedef struct walk {
	int at[MOST_DEEP]; /* [deep] folders from the model's on, open */
	int deep, links;
	char todo[MOST_TEXT]; /* the rest of the way */
	const char *folder;   /* the model's */
} walk;

/* What errno says of a way that leads out. */
enum { OUT = EXDEV };

static int failed(int why)
{
	errno = why;
	return -1;
}

/* Open, where a signal may interrupt that. */
static int open_through(int at, const char *name, int flags)
{
	int fd;
	do
		fd = openat(at, name, flags | O_CLOEXEC);
	while (fd < 0 && errno == EINTR);
	return fd;
}

static int open_folder(int at, const char *name, int flags)
{
	return open_through(at, name, O_PATH | O_DIRECTORY | flags);
}

static int open_file(int at, const char *name)
{
	return open_through(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
}

/* ---- caches of hubs ---- */

/* "blobs/HASH": the hash; NULL: it is something else. */
static const char *blob_of(const char *way)
{
	static const char blobs[] = "blobs/";
	const char *hash = way + sizeof blobs - 1;
	if (strncmp(way, blobs, sizeof blobs - 1) != 0)
		return NULL;
	size_t n = strspn(hash, "0123456789abcdef");
	return !hash[n] && (n == 40 || n == 64) ? hash : NULL;
}

/* The name of the last folder of a path without "/" at its end, of which it is cut off. */
static const char *cut_last(char *path)
{
	char *slash = strrchr(path, '/');
	if (!slash)
		return "";
	*slash = '\0';
	return slash + 1;
}

/* A link led to ("../" as often as `ups` says)blobs/HASH, as seen from the model's folder: is that the folder
 * of blobs beside `snapshots`, in which the model stands? */
static int open_blob(const walk *w, int ups, const char *hash)
{
	char *path = realpath(w->folder, NULL);
	const char *last = "";
	if (!path)
		return -1;
	for (int i = 1; i <= ups; i++)
		last = cut_last(path);
	bool hub = ups >= 2 && strcmp(last, "snapshots") == 0;
	int cache = hub ? open_folder(AT_FDCWD, *path ? path : "/", 0) : failed(OUT);
	int blobs = cache >= 0 ? open_folder(cache, "blobs", O_NOFOLLOW) : -1;
	int fd = blobs >= 0 ? open_file(blobs, hash) : -1;
	int why = errno;
	if (cache >= 0)
		close(cache);
	if (blobs >= 0)
		close(blobs);
	free(path);
	errno = why;
	return fd;
}

/* The way has gone above the model's folder. */
static int leave(const walk *w, bool by_link)
{
	const char *rest = w->todo;
	int ups = 1;
	for (; strncmp(rest, "../", 3) == 0; rest += 3)
		ups++;
	const char *hash = by_link ? blob_of(rest) : NULL;
	return hash ? open_blob(w, ups, hash) : failed(OUT);
}

/* ---- the walk ---- */

/* The next part of the way, cut off from it; false: there is none, or it is too long. */
static bool take_part(walk *w, char part[256])
{
	const char *from = w->todo + strspn(w->todo, "/");
	size_t n = strcspn(from, "/");
	if (n == 0 || n > 255)
		return false;
	memcpy(part, from, n);
	part[n] = '\0';
	from += n + strspn(from + n, "/");
	memmove(w->todo, from, strlen(from) + 1);
	return true;
}

static int enter(walk *w, const char *part)
{
	if (w->deep == MOST_DEEP)
		return failed(ENAMETOOLONG);
	int fd = open_folder(w->at[w->deep - 1], part, O_NOFOLLOW);
	if (fd >= 0)
		w->at[w->deep++] = fd;
	return fd < 0 ? -1 : 0;
}

static int step(walk *w, const char *part, int *fd)
{
	struct stat st;
	if (strcmp(part, ".") == 0)
		return 0;
	if (strcmp(part, "..") == 0 && w->deep == 1)
		return (*fd = leave(w, w->links > 0)) < 0 ? -1 : 0;
	if (strcmp(part, "..") == 0)
		return close(w->at[--w->deep]);
	if (fstatat(w->at[w->deep - 1], part, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return -1;
	if (S_ISLNK(st.st_mode)) {
		/* The link's text goes before the rest of the way. */
		char text[MOST_TEXT];
		size_t rest = strlen(w->todo);
		ssize_t n = readlinkat(w->at[w->deep - 1], part, text, sizeof text - 1);
		if (n < 0)
			return -1;
		if (text[0] == '/')
			return failed(OUT);
		if (++w->links > MOST_LINKS)
			return failed(ELOOP);
		if ((size_t)n + rest + 2 > sizeof w->todo)
			return failed(ENAMETOOLONG);
		memmove(w->todo + n + 1, w->todo, rest + 1);
		memcpy(w->todo, text, (size_t)n);
		w->todo[n] = rest ? '/' : '\0';
		return 0;
	}
	if (S_ISDIR(st.st_mode))
		return enter(w, part);
	if (*w->todo)
		return failed(ENOTDIR);
	if (!S_ISREG(st.st_mode)) /* not opened: that alone may do something to a device */
		return failed(EINVAL);
	*fd = open_file(w->at[w->deep - 1], part);
	return *fd < 0 ? -1 : 0;
}

/* A regular file; -1 and errno: EXDEV where the way leads out, EINVAL where it leads to no file. */
static int walk_to(walk *w, const char *name)
{
	char part[256];
	struct stat st;
	int fd = -1, bad = 0;
	if (*name == '/')
		return failed(OUT);
	if (strlen(name) >= sizeof w->todo)
		return failed(ENAMETOOLONG);
	memcpy(w->todo, name, strlen(name) + 1);
	while (fd < 0 && bad == 0)
		bad = take_part(w, part) ? step(w, part, &fd) : failed(EINVAL);
	if (fd < 0)
		return fd;
	int why = fstat(fd, &st) != 0 ? errno : S_ISREG(st.st_mode) ? 0 : EINVAL;
	if (why == 0)
		return fd;
	close(fd);
	return failed(why);
}

static int open_beneath(const char *folder, const char *name)
{
	walk w = {.deep = 1, .folder = folder};
	w.at[0] = open_folder(AT_FDCWD, folder, 0);
	if (w.at[0] < 0)
		return -1;
	int fd = walk_to(&w, name), why = errno;
	while (w.deep > 0)
		close(w.at[--w.deep]);
	errno = why;
	return fd;
}

berth_status berth_beneath_open(berth_reads kind, const char *from, const char *name, int *fd, berth_err *err)
{
	const char *slash = strrchr(from, '/');
	size_t n = slash ? (size_t)(slash + 1 - from) : 0;
	char folder[MOST_TEXT];
	assert(kind < BERTH_N_READS);
	(void)kind;
	if (n + 2 > sizeof folder)
		return berth_fail(err, BERTH_EIO, "%.200s...: path too long", from);
	memcpy(folder, from, n);
	memcpy(folder + n, ".", 2);
	*fd = open_beneath(folder, name);
	folder[n] = '\0';
	if (*fd >= 0)
		return BERTH_OK;
	if (errno == OUT)
		return berth_fail(err, BERTH_EFORMAT, "%s: it names '%s', which leads out of its folder",
		                  from, name);
	if (errno == EINVAL)
		return berth_fail(err, BERTH_EFORMAT, "%s%s: expected a file", folder, name);
	return errno == ENOMEM ? berth_nomem(err)
	                       : berth_fail(err, BERTH_EIO, "%s%s: cannot open: %s", folder, name,
	                                    strerror(errno));
}

berth_status berth_beneath_map(berth_reads kind, const char *from, const char *name,
                               const unsigned char **data, size_t *size, berth_err *err)
{
	int fd;
	BERTH_TRY(berth_beneath_open(kind, from, name, &fd, err));
	berth_status st = berth_file_map_open(fd, name, data, size, err);
	close(fd);
	return st;
}
