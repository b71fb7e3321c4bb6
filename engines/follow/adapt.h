/* Placements that follow the machine: CEFT with PBQP and dynamic adjustment. The idea is from Huang, Fu & Hsu
 * (SAMOS 2019); the rules here are ours.
 *
 * The model runs step after step. The measured times of its segments pull the profile towards them by an
 * exponential average. Where the measured time of a step parts from the predicted one by more than a
 * threshold, the placement is solved again on the present profile, in a thread of its own, while single steps
 * go on by the old one. Behind them the new one is taken if the migration pays: what it is predicted to save
 * over the steps that are left is more than the migration costs, and a step gets faster by more than the
 * threshold, below which it is noise. That cost is the way of the parameters that
 * change their device, and the time that it took the engine at the start to make a
 * placement ready: by its own clock, where it tells.
 *
 * By the wall's clock so many steps go on as solving takes, up to a window; by any other clock it is one, so
 * that the same times of steps lead to the same placements. What is not solved by then is waited for.
 *
 * A placement may turn out worse than one that was measured on the same machine (run_history.h). Then it is
 * left for that one, at the same price, and not chosen again. After each such mistake the next new placement
 * has to wait, twice as long as after the mistake before.
 *
 * What is not used is not measured, and may be given back. So with every sixth window a step or two run by
 * the placement that was fastest ever, if that was faster than the present one is. Where it is so again, it
 * is gone back to.
 *
 * A window in which the engine dies is run again once; not where steps are those of a training that goes on,
 * which the engine has lost then. */
#pragma once

#include "methods.h"
#include "profile.h"

typedef struct berth_adapt_cfg {
	int32_t steps, window;   /* steps in all, and between two looks; defaults 200, 5 */
	bool adapting;           /* false: watch only */
	int32_t slow_dev;        /* a device whose speed changes to slow_speed at step slow_step; -1: none */
	double slow_speed;
	int32_t slow_step, slow_end; /* at step slow_end it is as fast as before; default: after the last */
	bool trains;             /* steps are those of one training */
	bool oracle;             /* what is changed of the device is known: placed anew just then */
	/* Seconds that making a placement ready takes, where they are known: an engine keeps the placements
	 * of an earlier run. NAN, the default: measured at the start. */
	double ready_s;
	berth_profile_cfg profile;
} berth_adapt_cfg;

typedef struct berth_switch {
	int32_t step, asked_step; /* solving began at asked_step; not where it goes back */
	double predicted_from_s, predicted_to_s, migration_s; /* both measured where it goes back */
	int32_t n_moved;         /* operators */
	bool done;               /* false: it did not pay */
	bool back;               /* to one that was measured to be better */
} berth_switch;

typedef struct berth_adaptation {
	int32_t n;               /* windows */
	int32_t *step;           /* [n] first step of the window */
	double *step_s, *predicted_s; /* [n] median time of a step, and what was predicted for it */
	double total_s;          /* of all steps, moves aside */
	double *loss;            /* [steps] before each step; NULL: nothing is trained */
	int32_t n_switches;
	berth_switch *sw;        /* [n_switches] decisions, the refused ones too */
	/* Median step before the device was slowed down, over the last third of the windows while it was, and
	 * of those since it is as fast as before. Without a slow-down: of all windows, and the last third of
	 * them. NAN: there are none. */
	double before_s, after_s, again_s;
	double ready_s;          /* what making a placement ready took */
	int32_t n_solved;        /* times that it was placed anew while steps went on */
	double solve_s, waited_s; /* what that took, and how long steps stood still for it; of the clock */
	const int32_t *op_dev;   /* [n_ops] the last placement */
} berth_adaptation;

berth_adapt_cfg berth_adapt_cfg_default(void);

/* Run on an open engine that has the graph. profile: as of now; NULL: it is measured first. Results live in
 * mem. Fails: as berth_measured_run, berth_solve. */
berth_status berth_adapt_run(berth_measured *m, const berth_adapt_cfg *cfg, const berth_profile *profile,
                             berth_arena *mem, berth_arena *tmp, berth_adaptation *out, berth_err *err);
