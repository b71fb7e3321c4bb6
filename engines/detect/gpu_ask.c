/* What vendors' libraries are asked by: loading them, each in a process of its own, and what their texts and
 * times become. */
#include "apart.h"
#include "gpu_ask.h"
#include "library.h"
#include "threads.h"

#include <ctype.h>
#include <stdarg.h>

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
bool gpu_open(const char *file, const char *const *name, int n, void *functions, berth_gpu_answer *out)
{
	const char *why, *lacks;
	bool absent;
	void *library = berth_library_load(file, true, &why, &absent), *found;
	*out = (berth_gpu_answer){.state = BERTH_GPU_ABSENT};
	if (why && !absent)
		gpu_failed(out, "it cannot be loaded: %s", why);
	for (int i = 0; library && i < n; i++) {
		if (!(found = berth_library_look(library, name[i], &lacks))) {
			gpu_failed(out, "it has no function %s", name[i]);
			return false;
		}
		/* ISO C has no conversion from an object's address to a function's; POSIX does it so. */
		memcpy((char *)functions + (size_t)i * sizeof found, &found, sizeof found);
	}
	return library;
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

double gpu_time(gpu_work *work, void *ctx, size_t bytes, int times)
{
	double best = INFINITY;
	for (int i = 0; i < times; i++) {
		double from = berth_wall_seconds();
		if (!work(ctx, bytes))
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

void gpu_measure(berth_gpu *g, const gpu_timing *t, int n, void *ctx, size_t inside, size_t across,
                 const char *library)
{
	enum { RATE_TIMES = 5, DELAY_TIMES = 30, LITTLE = 4 };
	for (; n > 0; n--, t++) {
		size_t bytes = t->figure == BERTH_GPU_BANDWIDTH ? inside : t->per_byte > 0 ? across : LITTLE;
		t->work(ctx, bytes);
		double seconds = gpu_time(t->work, ctx, bytes, t->per_byte > 0 ? RATE_TIMES : DELAY_TIMES);
		if (t->per_byte > 0)
			gpu_put_figure(g, t->figure,
			               berth_figure_of(t->per_byte * (double)bytes / seconds,
			                               BERTH_LEAST_BANDWIDTH, BERTH_MOST_BANDWIDTH,
			                               BERTH_ORIGIN_MEASURED, "%scopies of %zu MiB %s",
			                               library, bytes >> 20, t->how));
		else
			gpu_put_figure(g, t->figure, berth_figure_of(seconds, 1e-9, 10, BERTH_ORIGIN_MEASURED,
			                                             "%s", t->how));
	}
}

/* ---- a process for each library ---- */

typedef struct asking {
	gpu_ask *ask;
	const char *file;
	bool measure, software;
	berth_gpu_answer *answer;
} asking;

static berth_status ask_library(void *ctx, berth_err *err)
{
	const asking *a = ctx;
	(void)err;
	a->ask(a->file, a->measure, a->software, a->answer);
	return BERTH_OK;
}

static berth_status run_apart(const berth_gpu_cfg *cfg, berth_gpu_library l, bool measure,
			      berth_gpu_answer *answer, berth_apart_end *how, berth_err *err)
{
	static gpu_ask *const ask[] = {gpu_cuda_ask, gpu_vulkan_ask, gpu_opencl_ask};
	asking a = {ask[l], cfg->file[l], measure, cfg->software, answer};
	const berth_apart_block block = {answer, sizeof *answer};
	return berth_apart_within(cfg->limit_s, ask_library, &a, 1, &block, how, err);
}

/* In words, why nothing came back. */
static void tell_end(berth_apart_end how, double limit_s, const char *doing, berth_gpu_answer *out)
{
	if (how == BERTH_APART_LATE)
		snprintf(out->why, sizeof out->why, "%s took more than %.3g s", doing, limit_s);
	else
		snprintf(out->why, sizeof out->why, "%s ended its process (a crash in the driver)", doing);
}

berth_gpu_cfg berth_gpu_cfg_default(void)
{
	return (berth_gpu_cfg){{"libcuda.so.1", "libvulkan.so.1", "libOpenCL.so.1"}, 60, false};
}

const char *berth_gpu_library_name(berth_gpu_library l)
{
	static const char *const name[] = {"cuda", "vulkan", "opencl"};
	return name[l];
}

static bool worth_measuring(const berth_gpu_cfg *cfg, const berth_gpus *gpus)
{
	for (int32_t i = 0; i < gpus->n; i++)
		if (cfg->software || gpus->gpu[i].nature != BERTH_GPU_SOFTWARE)
			return true;
	return false;
}

berth_status berth_gpu_ask(const berth_gpu_cfg *cfg, berth_gpu_library l, berth_gpu_answer *out,
                           berth_err *err)
{
	berth_gpu_answer facts = {.state = BERTH_GPU_ABSENT}, measured = {.state = BERTH_GPU_ABSENT};
	berth_apart_end how = BERTH_APART_ENDED;
	BERTH_TRY(run_apart(cfg, l, false, &facts, &how, err));
	if (how != BERTH_APART_ANSWERED) {
		facts = (berth_gpu_answer){.state = BERTH_GPU_FAILED};
		tell_end(how, cfg->limit_s, "asking it", &facts);
	}
	/* Measuring is another process: where it fails, what the first one told stays. */
	if (l != BERTH_GPU_VULKAN && worth_measuring(cfg, &facts.gpus)) {
		BERTH_TRY(run_apart(cfg, l, true, &measured, &how, err));
		if (how != BERTH_APART_ANSWERED)
			tell_end(how, cfg->limit_s, "measuring by it", &facts);
		else if (measured.state == BERTH_GPU_ANSWERED && measured.gpus.n == facts.gpus.n)
			facts = measured;
	}
	*out = facts;
	return BERTH_OK;
}
