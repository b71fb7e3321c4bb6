/* Libraries that are loaded where they are needed, and not with the program: they cost time, memory or
 * threads as soon as they are there. Load them in a process of its own (apart.h). */
#pragma once

#include "status.h"

/* One file; whole: all functions that it needs are looked for at once. NULL: why not (NULL where the loader
 * cannot tell), and whether it is absent. A static program loads none (library_none.c): all are absent. */
void *berth_library_load(const char *file, bool whole, const char **why, bool *absent);

/* The first of the files `names` (ended by NULL) that is there. It stays loaded as long as the process lives.
 * Fails: BERTH_EUNSUPPORTED (none is there; the message names the package), BERTH_ENOMEM, BERTH_EIO (it is
 * there and cannot be loaded). */
berth_status berth_library_open(const char *const *names, const char *package, void **library,
                                berth_err *err);

/* NULL: it has none, and why. */
void *berth_library_look(void *library, const char *name, const char **why);

/* The function of that name into the function pointer at fn. Fails: BERTH_EIO (it has none). */
berth_status berth_library_function(void *library, const char *name, void *fn, berth_err *err);

/* The same as above for libraries that need OpenBLAS, in a process of its own: one thread, and only where
 * room_bytes of address space are left. OpenBLAS waits for ever for a buffer that it cannot get. */
berth_status berth_library_open_blas(const char *const *names, const char *package, size_t room_bytes,
                                     void **library, berth_err *err);
