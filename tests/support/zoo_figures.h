/* Published figures of the models of the zoo: what the tests hold it to, and what docs/importers.md shows. */
#ifndef ZOO_FIGURES_H
#define ZOO_FIGURES_H

#include "graph.h"

typedef struct zoo_figure {
	const char *spec;
	double macs, params; /* public; 0: none found */
	double tolerance;    /* relative; 0: 0.01 */
	int seeds;           /* > 0: a random model, whose means over seeds 1 .. seeds count */
	const char *source;
} zoo_figure;

const zoo_figure *zoo_figures(int *n);

/* What the zoo gives (means, if the model is random): operators, multiply-accumulates, parameters. */
typedef struct zoo_counts {
	double ops, macs, params;
} zoo_counts;
berth_status zoo_count(const zoo_figure *f, zoo_counts *out, berth_err *err);

#endif
