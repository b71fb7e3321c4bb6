/* Learning curves of a training, pair by pair, for its page. */
#ifndef BERTH_CLI_TRAIN_CURVES_H
#define BERTH_CLI_TRAIN_CURVES_H

#include "json.h"
#include "train.h"

enum { TRAIN_CURVE_POINTS = 1000 }; /* of a curve on the page, at most and about */

/* What an update told of its pair. */
typedef struct train_point {
	int64_t evaluations;                                  /* so far, of all pairs */
	double best_value, lower_bound, mean_reward, entropy; /* NAN: none */
} train_point;

typedef struct train_curve {
	train_point *point; /* [n] */
	int32_t n;
	size_t cap;
} train_curve;

typedef struct train_curves {
	berth_arena mem;
	const berth_train_item *item; /* [n_items], borrowed */
	train_curve *curve;           /* [n_items] */
	int32_t n_items;
	bool failed; /* out of memory; told by train_curves_put */
} train_curves;

/* Begin with no points. train_curves_free(x) has to follow. Fails: BERTH_ENOMEM. */
berth_status train_curves_new(const berth_train_item *item, int32_t n_items, train_curves *out,
                              berth_err *err);
void train_curves_free(train_curves *x);

/* Add an update. Points of its pair that are not before it go: they are of a run that went on to the same
 * bits. */
void train_curves_add(train_curves *x, const berth_train_update *u);

/* Add the updates of a training log, which a run is about to go on with. Lines that are no updates of these
 * pairs are passed over, and so is a log that is not there. tmp is scratch, reset at exit. Fails: BERTH_EIO,
 * BERTH_ENOMEM. */
berth_status train_curves_read(train_curves *x, const char *log, berth_arena *tmp, berth_err *err);

/* "curves": [{graph, system, evaluations, best_value, lower_bound, mean_reward, entropy}] and "left_out".
 * resumed: it went on from a checkpoint. Fails: BERTH_ENOMEM. */
berth_status train_curves_put(berth_json_out *w, const train_curves *x, bool resumed, berth_err *err);

#endif
