/* Instruction sets of the batched evaluator on x86; see batch_plan.h. */
#include "batch_plan.h"

const batch_kernels *batch_kernels_of(berth_isa isa)
{
	bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
	bool avx2 = __builtin_cpu_supports("avx2");
	if (isa == BERTH_ISA_BEST)
		isa = avx512 ? BERTH_ISA_AVX512 : avx2 ? BERTH_ISA_AVX2 : BERTH_ISA_BASELINE;
	if (isa == BERTH_ISA_AVX512)
		return avx512 ? &batch_kernels_avx512 : NULL;
	if (isa == BERTH_ISA_AVX2)
		return avx2 ? &batch_kernels_avx2 : NULL;
	return isa == BERTH_ISA_BASELINE ? &batch_kernels_baseline : NULL;
}
