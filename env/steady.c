/* See steady.h. */
#include "steady.h"

berth_status berth_steady_run(berth_measured *m, const berth_steady_cfg *cfg, const int32_t *op_dev, const int32_t *order, berth_arena *mem, berth_arena *tmp,
                              berth_measurement *out, berth_err *err)
{
	int32_t warmup = cfg->warmup, repeats = cfg->least;
	for (;;) {
		BERTH_TRY(berth_measured_run(m, op_dev, order, warmup, repeats, mem, tmp, out, err));
		if (!(berth_spread_width(&out->wall) > cfg->width) || repeats > cfg->most / 2)
			return BERTH_OK;
		warmup = 0;
		repeats *= 2;
	}
}
