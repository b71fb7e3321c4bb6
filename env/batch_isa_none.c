/* Where the batched evaluator knows no instruction set by name; see batch_plan.h. */
#include "batch_plan.h"

const batch_kernels *batch_kernels_of(berth_isa isa)
{
	return isa == BERTH_ISA_BEST || isa == BERTH_ISA_BASELINE ? &batch_kernels_baseline : NULL;
}
