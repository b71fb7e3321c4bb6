/* Libraries that are loaded where they are needed, in a static program: none. They would want the very C
 * library that it is linked with. */
#include "library.h"

#define WHY "this program is static and loads no libraries"

void *berth_library_load(const char *file, bool whole, const char **why, bool *absent)
{
	(void)file, (void)whole;
	*why = WHY;
	*absent = true;
	return NULL;
}

void *berth_library_look(void *library, const char *name, const char **why)
{
	(void)library, (void)name;
	*why = WHY;
	return NULL;
}

berth_status berth_library_open(const char *const *names, const char *package, void **library, berth_err *err)
{
	(void)library;
	return berth_fail(err, BERTH_EUNSUPPORTED,
	                  "%s: " WHY "; berth as a package, or built from its sources, does, with %s",
	                  names[0], package);
}

berth_status berth_library_function(void *library, const char *name, void *fn, berth_err *err)
{
	(void)library, (void)fn;
	return berth_fail(err, BERTH_EUNSUPPORTED, "%s: " WHY, name);
}

berth_status berth_library_open_blas(const char *const *names, const char *package, size_t room_bytes,
                                     void **library, berth_err *err)
{
	(void)room_bytes;
	return berth_library_open(names, package, library, err);
}
