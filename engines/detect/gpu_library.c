/* Loading a vendor's library, and what its texts and times become; see gpu_ask.h. */
#include "gpu_ask.h"
#include "threads.h"

#include <ctype.h>
#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void gpu_failed(berth_gpu_answer *out, const char *fmt, ...)
{
	char text[sizeof out->why];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	gpu_text(out->why, sizeof out->why, text, sizeof text);
	out->state = BERTH_GPU_FAILED;
}

/* A library that is not installed is no failure: nothing of that name is found. One that is found and cannot
 * be loaded is broken. */
void *gpu_open(const char *file, berth_gpu_answer *out)
{
	void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	const char *why = library ? NULL : dlerror();
	size_t n = strlen(file);
	*out = (berth_gpu_answer){.state = BERTH_GPU_ABSENT};
	if (why && !(strncmp(why, file, n) == 0 && strstr(why + n, "No such file")))
		gpu_failed(out, "it cannot be loaded: %s", why);
	return library;
}

bool gpu_functions(void *library, const char *const *name, void (**fn)(void), int n, berth_gpu_answer *out)
{
	for (int i = 0; i < n; i++) {
		/* ISO C has no conversion from an object's address to a function's; POSIX does it so. */
		*(void **)&fn[i] = dlsym(library, name[i]);
		if (!fn[i]) {
			gpu_failed(out, "it has no function %s", name[i]);
			return false;
		}
	}
	return true;
}

void gpu_text(char *to, size_t size, const char *text, size_t n)
{
	size_t len = 0;
	for (size_t i = 0; i < n && text[i] && len + 1 < size; i++)
		if (len > 0 || text[i] != ' ')
			to[len++] = text[i] >= 0x20 && text[i] < 0x7f ? text[i] : '?';
	while (len > 0 && to[len - 1] == ' ')
		len--;
	to[len] = '\0';
}

void gpu_plain_name(const char *name, char to[128])
{
	size_t n = 0;
	int depth = 0;
	for (const char *c = name; *c && n < 127; c++) {
		depth += *c == '(';
		if (depth == 0 && isalnum((unsigned char)*c))
			to[n++] = (char)tolower((unsigned char)*c);
		depth -= *c == ')' && depth > 0;
	}
	to[n] = '\0';
}

berth_gpu *gpu_new(berth_gpu_answer *out, berth_gpu_library l)
{
	if (out->gpus.n == BERTH_MAX_GPUS)
		return NULL;
	berth_gpu *g = &out->gpus.gpu[out->gpus.n++];
	*g = (berth_gpu){.libraries = 1u << l};
	for (int i = 0; i < BERTH_N_GPU_FIGURES; i++)
		g->figure[i] = berth_figure_missing("not measured");
	return g;
}

double gpu_time(bool (*do_it)(void *ctx), void *ctx, int times)
{
	double best = INFINITY;
	for (int i = 0; i < times; i++) {
		double from = berth_wall_seconds();
		if (!do_it(ctx))
			return NAN;
		best = fmin(best, berth_wall_seconds() - from);
	}
	return best;
}

size_t gpu_copy_bytes(double memory_bytes, size_t most)
{
	double eighth = memory_bytes / 8;
	return eighth < (double)most ? (size_t)eighth & ~(size_t)4095 : most;
}

void gpu_put_figure(berth_gpu *g, berth_gpu_figure which, berth_figure f)
{
	if (f.origin == BERTH_ORIGIN_MEASURED || g->figure[which].origin == BERTH_ORIGIN_MISSING)
		g->figure[which] = f;
}
