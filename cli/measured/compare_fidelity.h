/* compare --fidelity: the simulator against an engine. */
#pragma once

#include "engine.h"

typedef struct cli_fidelity {
	bool on;
	cli_engine engine;
	int64_t placements; /* of the test */
	double max_strain;
	const char *report; /* file for a page; NULL: none */
} cli_fidelity;

cli_fidelity cli_fidelity_default(void);

#define CLI_FIDELITY(f) \
	{"fidelity", 0, CLI_FLAG, &(f)->on, NULL, \
	 "compare the simulator with real runs by an engine instead"}, \
	{"placements", 0, CLI_COUNT, &(f)->placements, "N", "fidelity: test placements"}, \
	{"strain", 0, CLI_SECONDS, &(f)->max_strain, "X", \
	 "fidelity: wall over CPU time of samples that count"}, \
	CLI_ENGINE(&(f)->engine)

/* Every graph in c->args on the system. */
berth_status cli_fidelity_run(cli *c, const cli_fidelity *f, const char *system, uint64_t seed,
                              berth_err *err);
