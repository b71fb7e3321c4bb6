/* The kernel of batch.h over BATCH_TIME, named BATCH_KERNEL, with BATCH_LOOKUP(row, index vector, entries of the row, result vector). Included twice by
 * each file of an instruction set. */
static void BATCH_KERNEL(const batch_plan *plan, const uint8_t *dev, BATCH_TIME *end, BATCH_TIME *clock, int64_t *latency)
{
	typedef BATCH_TIME vec __attribute__((vector_size(BERTH_BATCH_LANES * sizeof(BATCH_TIME)), aligned(64)));
	typedef uint8_t bytes __attribute__((vector_size(BERTH_BATCH_LANES), aligned(1)));
	const int32_t shift = plan->dev_shift, n_devs = plan->n_devs, row = 1 << shift, pairs = 1 << 2 * shift;
	vec *op_end = (vec *)(void *)end, *dev_free = (vec *)(void *)clock, last = {0}, bad = {0};
	const bytes *op_dev = (const bytes *)(const void *)dev;
	for (int32_t d = 0; d < n_devs; d++)
		dev_free[d] = (vec){0};
	for (int32_t i = 0; i < plan->n_ops; i++) {
		int32_t op = plan->step_op[i];
		vec d = __builtin_convertvector(op_dev[op], vec), start = {0}, took;
		for (int32_t k = 0; k < n_devs; k++)
			start |= dev_free[k] & (vec)(d == (BATCH_TIME)k);
		for (int32_t e = plan->step_in_off[i]; e < plan->step_in_off[i + 1]; e++) {
			int32_t from = plan->in_op[e];
			vec pair = (__builtin_convertvector(op_dev[from], vec) << shift) | d, there;
			BATCH_LOOKUP(plan->BATCH_PAIRS + (size_t)plan->in_class[e] * (size_t)pairs, pair, pairs, there);
			there += op_end[from];
			vec later = (vec)(there > start);
			start = (there & later) | (start & ~later);
		}
		BATCH_LOOKUP(plan->BATCH_TIMES + (size_t)i * (size_t)row, d, row, took);
		bad |= took;
		start += took;
		op_end[op] = start;
		vec later = (vec)(start > last);
		last = (start & later) | (last & ~later);
		for (int32_t k = 0; k < n_devs; k++) {
			vec here = (vec)(d == (BATCH_TIME)k);
			dev_free[k] = (start & here) | (dev_free[k] & ~here);
		}
	}
	for (int32_t lane = 0; lane < BERTH_BATCH_LANES; lane++)
		latency[lane] = bad[lane] < 0 ? -1 : last[lane];
}
#undef BATCH_KERNEL
#undef BATCH_TIME
#undef BATCH_TIMES
#undef BATCH_PAIRS
