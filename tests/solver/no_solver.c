/* Preloaded: the solver that berth was built with is not installed. */
#include <dlfcn.h>
#include <string.h>

void *dlopen(const char *file, int how)
{
	void *(*real)(const char *, int);
	*(void **)&real = dlsym(RTLD_NEXT, "dlopen");
	return real(file && (strstr(file, "Clp") || strstr(file, "Cbc")) ? "/no/solver" : file, how);
}
