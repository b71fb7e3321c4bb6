/* The plan for an engine: searches find any placement, and an engine can be told some. What it does by itself
 * is where a search starts, and the plan wherever nothing is predicted to beat it by more than predictions
 * are off. */
#pragma once

#include "exporters.h"
#include "solve.h"

typedef struct berth_engine_plan {
	const berth_engine_rules *engine; /* NULL: there is none, and nothing below is set */
	const berth_exporter *e;          /* that writes its plans */
	berth_export_source x;            /* with the engine's problem; the placement is the answer */
	int32_t *usual;         /* [n_ops] what it does by itself; NULL: not known */
	const char *why;        /* why not; NULL: it is */
	int32_t *best;          /* [n_ops] the best that it can be told, by its own method; NULL: none */
	double found;           /* value of the best that was found and can be told; NAN: none */
	berth_export_gain gain; /* of that, beside what the engine does by itself */
	bool anyhow;            /* what was found is wanted, whatever it gains; set behind open */
	bool kept;              /* the answer is what the engine does by itself */
	const char *note;       /* what export will ask for; NULL: nothing */
	const char *dropped;    /* why the engine cannot be told what the search found; NULL: it can */
} berth_engine_plan;

/* Where the engine of s fuses operators, g gets what stays together as colocation groups: kernels, and of
 * those whose operators may not go to the same devices the parts that may, as it makes no one of what rules
 * tell apart. op_dev [n_ops]: g stays as it is where this placement parts one; NULL: none does. Fails:
 * BERTH_ENOMEM. */
berth_status berth_engine_kernels(const berth_system *s, const int32_t *op_dev, berth_graph *g,
                                  berth_arena *mem, berth_arena *tmp, berth_err *err);

/* For the engine of x->s. x: a graph, a system, a problem, and its model where the engine's exporter takes
 * files; borrowed. Finds what the engine does by itself, and the best by its own method. tmp is scratch,
 * reset at exit. Fails: BERTH_ENOMEM, and as readers of the model. */
berth_status berth_engine_plan_open(const berth_export_source *x, berth_arena *mem, berth_arena *tmp,
                                    berth_engine_plan *out, berth_err *err);

/* The placement that a search had best start from [n_ops]; NULL: none. */
const int32_t *berth_engine_plan_start(const berth_engine_plan *x);

/* Make the answer r one that the engine can be told: itself, the nearest one, the best by the engine's own
 * method, or what it does by itself, with the user's rules or as it is, whichever is worth most; and the
 * last where that is within the error of predictions, unless x->anyhow. Fails: BERTH_ENOMEM;
 * BERTH_EUNSUPPORTED (the engine can be told none of them), naming why. */
berth_status berth_engine_plan_take(berth_engine_plan *x, const berth_objective *o, berth_solution *r,
                                    berth_arena *mem, berth_arena *tmp, berth_err *err);
