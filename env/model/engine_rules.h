/* Engines: the programs that plans are made for. One table of what each does with a plan, which searches, the
 * simulator, bounds and exporters share: a system that stands for an engine (berth_system_for) is valued as
 * the engine runs plans. What its plans are written as stands in plans/export. */
#pragma once

#include "cost_model.h"

struct berth_engine_rules {
	const char *name;  /* of --for, and of the exporter or its part before a colon */
	const char *title; /* as its makers call it */
	/* Formats of the files that it runs, up to NULL; berth's own graph may be of one. */
	const char *format[3];
	const berth_cost_model *cost; /* how it runs a plan; NULL: as the system says */
	/* Changes the times of a problem, once routes are known, to those that it takes for operators; NULL:
	 * they are those of the devices. What lasts lives in mem. Fails: BERTH_ENOMEM. */
	berth_status (*times)(berth_problem *p, berth_arena *mem, berth_err *err);
	bool eager;                   /* on a CPU it takes longer for an operator by itself (op_times.c) */
	bool by_rows; /* on a CPU it multiplies row by row, with whole numbers where weights are such */
	const char *grain;            /* parts of the graph that it keeps whole: "layer"; NULL: operators */
	bool fuses;                   /* plans for it cut no kernels (BERTH_GRAIN_KERNEL; fused_times.h) */
	bool trains;                  /* it runs training steps, too */
	bool by_itself;               /* plans of its files are for it unless another one is named */
	bool reads;          /* what it does by itself is told of the file, not of the graph alone */
	const char *unknown; /* why that may not be known; a sentence without an end */
};

/* Fails: BERTH_EINVAL naming the known ones. "none" is NULL. */
berth_status berth_rules_find(const char *name, const berth_engine_rules **out, berth_err *err);

/* The first engine that runs files of the format, one of those first that their plans are for by themselves;
 * NULL: none does. */
const berth_engine_rules *berth_rules_of_format(const char *format);

/* Does it run models of the format (of a read report)? NULL, a built-in model: where it need not read. */
bool berth_rules_run(const berth_engine_rules *e, const char *format);

/* s from now on is valued as e runs plans; NULL: as it says. Files and digests of s stay what they were.
 * Fails: BERTH_EINVAL (s has a cost model of its own). */
berth_status berth_system_for(const berth_engine_rules *e, berth_system *s, berth_err *err);
