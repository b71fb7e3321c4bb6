/* To be preloaded: the file $SHRINK is cut off as soon as it is mapped, as by another process. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void *mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	char path[PATH_MAX];
	const char *shrinks = getenv("SHRINK");
	void *p = (void *)syscall(SYS_mmap, at, size, prot, flags, fd, offset);
	if (fd >= 0 && shrinks && realpath(shrinks, path)) {
		char link[64], real[PATH_MAX];
		snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
		if (realpath(link, real) && strcmp(real, path) == 0 && truncate(path, 0) != 0)
			abort();
	}
	return p;
}
