/* Policies without a network: an independent softmax per group, as in Post (Gao, Chen & Li, NeurIPS 2018,
 * Algorithm 1). Methods that share it: `post`, its two halves alone, `ppo` and `cem`, and `reinforce`. None
 * starts from other placements: they only draw and learn. */
#ifndef BERTH_POST_H
#define BERTH_POST_H
#include "search.h"


typedef struct berth_post_cfg {
	int32_t groups;       /* default 64 */
	int32_t ppo_every;    /* K: PPO on the latest K samples; 0: never; default 10 */
	/* N, a multiple of K: cross-entropy on the latest N samples. 0: never. Default 100. */
	int32_t ce_every;
	int32_t steps;        /* gradient steps of a PPO update; default 10 */
	double lr;            /* of plain gradient ascent per group; default 0.03 */
	double clip;          /* default 0.2 */
	double elite;         /* rho: share of the N samples that is fitted; default 0.1 */
	double epsilon;       /* uniform share mixed in after each fit; default 0.02 */
} berth_post_cfg;

berth_post_cfg berth_post_cfg_default(void);

/* Draw, score and learn until the budget of s ends; at least one placement is offered. Source of the
 * settings: our own measurements on public graphs; the paper's are not all readable. Fails: BERTH_ENOMEM. */
berth_status berth_post_run(berth_search *s, const berth_post_cfg *cfg, berth_arena *tmp, berth_err *err);

#endif
