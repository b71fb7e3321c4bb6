/* Initial values; see nn_table.h. */
#include "nn_table.h"

#include <math.h>

void nn_init_block(nn_real w[], size_t n, size_t rows, nn_init_rule rule, berth_rng *rng)
{
	static const double part[] = {[NN_INIT_HE] = 1, [NN_INIT_PART] = 0.3, [NN_INIT_SMALL] = 0.01};
	if (rule == NN_INIT_ZERO || rule == NN_INIT_ONE) {
		for (size_t i = 0; i < n; i++)
			w[i] = rule == NN_INIT_ONE;
		return;
	}
	for (size_t i = 0; i < n; i++)
		w[i] = (nn_real)(part[rule] * sqrt(2.0 / (double)rows) * berth_rng_normal(rng));
}
