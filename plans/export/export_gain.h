/* What a plan is worth beside what the engine does when told nothing, and whether predictions can tell. */
#ifndef BERTH_EXPORT_GAIN_H
#define BERTH_EXPORT_GAIN_H

#include "exporters.h"
#include "objective.h"

/* How far predictions are off: the mean over the six models of docs/measured.md of the mean error of
 * predictions out of a profile. A smaller gain is none that can be told. */
#define BERTH_EXPORT_ERROR 0.13

typedef struct berth_export_gain {
	bool known;         /* the default is known, and both can be simulated */
	bool usual_fits;    /* the default breaks no rule */
	bool serial;        /* priced as run one operator after the other, copies between them */
	double plan, usual; /* values of the objective */
	double gain;        /* 1 - plan / usual */
	double error;       /* how far predictions are off: the plan's or the default's, the larger */
	bool keep;          /* keep the default: the gain is below the error */
	int32_t device;     /* that the default has everything on; -1: on several */
} berth_export_gain;

/* Seconds of all operators and of each tensor to each device that needs it, one after the other: how an
 * engine without overlap runs a placement [n_ops]. A sum of the simulator's own times. O(operators +
 * edges). */
double berth_export_serial(const berth_problem *p, const int32_t *op_dev);

/* Of x with a problem and a placement; plan: its value of the objective o. order NULL: the system's rule.
 * Where x has no problem, or e no default, known is false. The latency of a serial exporter's plans
 * is what its engine's way of running takes. mem and tmp are scratch, two arenas. Fails:
 * BERTH_ENOMEM. */
berth_status berth_export_gain_of(const berth_exporter *e, const berth_export_source *x,
                                  const berth_objective *o, double plan, berth_arena *mem, berth_arena *tmp,
                                  berth_export_gain *out, berth_err *err);

#endif
