/* Libraries that are loaded where they are needed, by dlopen. Its messages are words only: they tell an
 * absent library from one that does not load, and that from too little memory. */
#include "library.h"

#include <dlfcn.h>
#include <sys/mman.h>

/* The loader tells failures in words only. */
void *berth_library_load(const char *file, bool whole, const char **why, bool *absent)
{
	void *found = dlopen(file, (whole ? RTLD_NOW : RTLD_LAZY) | RTLD_LOCAL);
	size_t len = strlen(file);
	*why = found ? NULL : dlerror();
	*absent = *why && strncmp(*why, file, len) == 0 && strstr(*why + len, "No such file");
	return found;
}

void *berth_library_look(void *library, const char *name, const char **why)
{
	void *found = dlsym(library, name);
	*why = found ? NULL : dlerror();
	return found;
}

/* glibc's loader cannot create, extend or allocate something; or dlerror cannot tell what. */
static bool is_memory(const char *why)
{
	static const char *const words[] = {"annot allocate", "cannot create", "cannot extend",
	                                    "failed to map segment", "out of memory"};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strstr(why, words[i]))
			return true;
	return false;
}

berth_status berth_library_open(const char *const *names, const char *package, void **library, berth_err *err)
{
	const char *first = names[0];
	for (; *names; names++) {
		const char *why;
		bool absent;
		void *found = berth_library_load(*names, false, &why, &absent);
		if (found) {
			*library = found;
			return BERTH_OK;
		}
		if (why && is_memory(why))
			return berth_nomem(err);
		if (why && !strstr(why, "No such file")) /* what it needs may be missing, too */
			return berth_fail(err, BERTH_EIO, "%s cannot be loaded: %.300s", *names, why);
	}
	return berth_fail(err, BERTH_EUNSUPPORTED, "%s is not installed: install %s", first, package);
}

berth_status berth_library_function(void *library, const char *name, void *fn, berth_err *err)
{
	const char *why;
	void *found = berth_library_look(library, name, &why);
	if (!found && (!why || is_memory(why)))
		return berth_nomem(err);
	if (!found)
		return berth_fail(err, BERTH_EIO, "a library has no function %s: %.300s", name, why);
	memcpy(fn, &found, sizeof found); /* ISO C has no conversion to a function's address; POSIX does so */
	return BERTH_OK;
}

static bool has_room(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return false;
	munmap(p, bytes);
	return true;
}

berth_status berth_library_open_blas(const char *const *names, const char *package, size_t room_bytes,
                                     void **library, berth_err *err)
{
	if (!has_room(room_bytes) || setenv("OPENBLAS_NUM_THREADS", "1", 1) != 0 ||
	    setenv("OMP_NUM_THREADS", "1", 1) != 0)
		return berth_nomem(err);
	return berth_library_open(names, package, library, err);
}
