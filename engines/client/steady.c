/* See steady.h. */
#include "steady.h"

berth_status berth_steady_run(berth_measured *m, const berth_steady_cfg *cfg, const int32_t *op_dev,
                              const int32_t *order, berth_arena *mem, berth_arena *tmp,
                              berth_measurement *out, berth_err *err)
{
	static const double share = 0.5; /* of the time that an answer may take */
	int32_t warmup = cfg->warmup, repeats = cfg->least;
	for (;;) {
		if (cfg->progress)
			cfg->progress(cfg->progress_ctx, "runs of this turn", 0, warmup + repeats);
		BERTH_TRY(berth_measured_run(m, op_dev, order, warmup, repeats, mem, tmp, out, err));
		bool slow = 2 * repeats * out->wall.median > share * m->cfg.answer_s;
		if (!(berth_spread_width(&out->wall) > cfg->width) || repeats > cfg->most / 2 || slow)
			return BERTH_OK;
		warmup = 0;
		repeats *= 2;
	}
}
