/* What berth place works on, and how it is told. */
#pragma once

#include "budget.h"
#include "cli_granularity.h"
#include "copies_print.h"
#include "graph_union.h"
#include "place_certificate.h"
#include "place_decoder.h"
#include "place_engine.h"
#include "place_pareto.h"
#include "place_rescue.h"
#include "place_smaller.h"
#include "report.h"
#include "solve.h"

typedef struct place_args {
	const char *on, *method, *out, *report;
	place_pareto_args pareto;
	cli_budget budget;
	cli_granularity granularity;
	const char *certificate;
	const char *replicas;
	cli_texts requests;
} place_args;

typedef struct place_state {
	const berth_method *method;
	berth_objective objective;
	berth_graph whole; /* as it was read */
	berth_graph g;     /* with the rules of --granularity */
	berth_graph_parts parts; /* where several models share the machine */
	berth_system s;
	berth_problem p;
	berth_bounds bounds;
	berth_solution r;
	berth_timeline t;
	report_pipeline pipeline;
	berth_verdict v;
	report_infeasible infeasible; /* where something is broken */
	place_smaller smaller;
	berth_finer price;
	place_decoder decoder; /* of a language model, whose decoding graph is `whole` */
	place_rescue rescue;
	bool again;          /* a search for an answer that holds for prefill, too */
	place_certificate certificate;
	place_engine engine; /* of --for */
	place_replicas copies;
	double gain_error;   /* how far the comparison with it may be off, as times are predicted */
	berth_single single; /* the best single device, to compare with: no part of the answer's cost */
} place_state;

/* What does not differ from run to run, but for the placement itself; in c->mem. Fails: BERTH_ENOMEM. */
berth_status place_answer(cli *c, const place_args *a, const place_state *s, const berth_result **out,
                          berth_err *err);

/* The whole document of it. Fails: BERTH_ENOMEM. */
berth_status place_put(cli *c, const place_state *s, const berth_result *answer, berth_err *err);

/* The answer as text. Fails: BERTH_ENOMEM. */
berth_status place_print(cli *c, const place_args *a, const place_state *s, berth_err *err);
