/* Asking libraries, each in a process of its own; see gpu.h. */
#include "gpu_ask.h"

#include "apart.h"

#include <stdio.h>

typedef struct asking {
	gpu_ask *ask;
	const char *file;
	bool measure, software;
	berth_gpu_answer *answer;
} asking;

static berth_status work(void *ctx, berth_err *err)
{
	const asking *a = ctx;
	(void)err;
	a->ask(a->file, a->measure, a->software, a->answer);
	return BERTH_OK;
}

static berth_status run(const berth_gpu_cfg *cfg, berth_gpu_library l, bool measure, berth_gpu_answer *answer,
                        berth_apart_end *how, berth_err *err)
{
	static gpu_ask *const ask[] = {gpu_cuda_ask, gpu_vulkan_ask, gpu_opencl_ask};
	asking a = {ask[l], cfg->file[l], measure, cfg->software, answer};
	const berth_apart_block block = {answer, sizeof *answer};
	return berth_apart_within(cfg->limit_s, work, &a, 1, &block, how, err);
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
	BERTH_TRY(run(cfg, l, false, &facts, &how, err));
	if (how != BERTH_APART_ANSWERED) {
		facts = (berth_gpu_answer){.state = BERTH_GPU_FAILED};
		tell_end(how, cfg->limit_s, "asking it", &facts);
	}
	/* Measuring is another process: where it fails, what the first one told stays. */
	if (l != BERTH_GPU_VULKAN && worth_measuring(cfg, &facts.gpus)) {
		BERTH_TRY(run(cfg, l, true, &measured, &how, err));
		if (how != BERTH_APART_ANSWERED)
			tell_end(how, cfg->limit_s, "measuring by it", &facts);
		else if (measured.state == BERTH_GPU_ANSWERED && measured.gpus.n == facts.gpus.n)
			facts = measured;
	}
	*out = facts;
	return BERTH_OK;
}
