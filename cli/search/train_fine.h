/* --fine-tune of train. */
#ifndef BERTH_CLI_TRAIN_FINE_H
#define BERTH_CLI_TRAIN_FINE_H

#include "fine_tune.h"
#include "print.h"

typedef struct train_fine {
	bool on;
	const char *policy;       /* file to begin with; NULL: the built-in one */
	berth_policy_file from;
	berth_fine_tune parts;
	cli_texts left_out;       /* pairs that nothing fits: "GRAPH on SYSTEM: WHY" */
} train_fine;

/* Read the policy. Leave out pairs item [n] that nothing was found for; each is warned of. Split the rest:
 * *item and *n are then those that are learned from. Fails: BERTH_EINFEASIBLE (no pair is left), and as
 * reading and berth_fine_tune_split do. */
berth_status train_fine_open(cli *c, uint64_t seed, const berth_objective *objective, train_fine *x,
                             berth_train_item **item, int32_t *n, berth_err *err);

/* The part of a --json document; what is printed after training. */
void train_fine_put(berth_json_out *w, const train_fine *x, const berth_train_tuned *t);
berth_status train_fine_print(cli *c, const train_fine *x, const berth_objective *objective,
                              const berth_train_tuned *t, berth_err *err);

#endif
