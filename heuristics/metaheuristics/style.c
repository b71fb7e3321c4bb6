/* See style.h. */
#include "style.h"

#include "prices.h"

const berth_walk_styles berth_walks_by_hand = {
	{.share = {[BERTH_SCREEN_BLIND] = .02,
	           [BERTH_SCREEN_PATHS] = .38,
	           [BERTH_SCREEN_PATHS_ANEW] = .57,
	           [BERTH_SCREEN_LOADS_LARGE] = .03},
	 .largest_move = 0.25,
	 .ends_per_candidate = 64,
	 .most_anew = 10,
	 .first_temperature = {0.001, 0.01, 0.1}},
	{.share = {[BERTH_SCREEN_BLIND] = .02,
	           [BERTH_SCREEN_LOADS] = .38,
	           [BERTH_SCREEN_LOADS_ANEW] = .57,
	           [BERTH_SCREEN_LOADS_LARGE] = .03},
	 .largest_move = 0.25,
	 .ends_per_candidate = 64,
	 .most_anew = 10,
	 .first_temperature = {0.001, 0.01, 0.1}}
};

/* Of ten generations each from those set by hand, rounded. By paths: for latency, learned together with where
 * moves begin and with noise, neither of which gained. */
const berth_walk_styles berth_walks_learned = {
	{.share = {[BERTH_SCREEN_BLIND] = .0165,
	           [BERTH_SCREEN_PATHS] = .5712,
	           [BERTH_SCREEN_PATHS_ANEW] = .3554,
	           [BERTH_SCREEN_LOADS] = .0057,
	           [BERTH_SCREEN_LOADS_ANEW] = .0019,
	           [BERTH_SCREEN_LOADS_LARGE] = .0493},
	 .largest_move = 0.146,
	 .ends_per_candidate = 9.2,
	 .most_anew = 6.5,
	 .first_temperature = {0.00192, 0.00325, 0.0317}},
	{.share = {[BERTH_SCREEN_BLIND] = .019,
	           [BERTH_SCREEN_LOADS] = .503,
	           [BERTH_SCREEN_LOADS_ANEW] = .465,
	           [BERTH_SCREEN_LOADS_LARGE] = .013},
	 .largest_move = 0.337,
	 .ends_per_candidate = 14.75,
	 .most_anew = 23.7,
	 .first_temperature = {0.00262, 0.0137, 0.078}}
};

const berth_walk_style *berth_walk_style_of(const berth_search *s)
{
	const berth_walk_styles *x = s->cfg.walk_styles ? s->cfg.walk_styles : &berth_walks_learned;
	return berth_prices_known(&s->cfg.objective) ? &x->by_paths : &x->by_loads;
}
