/* The options that searches share: objective, budget, seed, threads. */
#pragma once

#include "certify.h"
#include "options.h"
#include "policy_file.h"
#include "search.h"

typedef struct cli_budget {
	const char *objective;
	cli_usual evaluations; /* not given: those, or as many as a time allows */
	int64_t nodes;       /* -1: not given */
	const char *bound;   /* "fast", "auto" or "strong" */
	const char *write_model; /* NULL: not given */
	double limit_s[2];    /* of the clock, of the CPU; 0: not given */
	double gap;           /* a search may end there; 0: not given */
	uint64_t seed;
	int32_t threads;     /* 0: as many as there are CPUs */
	int32_t walks;
	const char *policy;  /* NULL: none */
} cli_budget;

cli_budget cli_budget_default(void);

#define CLI_OBJECTIVE(b) \
	{"objective", 0, CLI_TEXT, &(b)->objective, "O", \
	 "what to make small: latency, throughput, energy, edp, power, memory, sums, limits" \
	 "\tthat of the placement"}

#define CLI_BOUND(b) \
	{"bound", 0, CLI_TEXT, &(b)->bound, "B", \
	 "lower bound: fast, strong (slower, closer), auto (strong for 0.2 s or a tenth of the search)"}
#define CLI_TIME(b) \
	{"time", 0, CLI_LIMIT, (b)->limit_s, "S|Scpu", \
	 "seconds that a search may take (10, 10s, 2min); 10cpu: of the CPU, all threads together"}
#define CLI_SEED_OF(b) {"seed", 0, CLI_SEED, &(b)->seed, "N", "start of the random numbers"}

/* What every search has. */
#define CLI_SEARCH(b) \
	CLI_OBJECTIVE(b), \
	{"evaluations", 0, CLI_USUAL, &(b)->evaluations, "N", \
	 "placements that a search may try; quick heuristics are, whatever N and --time"}, \
	{"threads", 0, CLI_THREADS, &(b)->threads, "N", "worker threads; no effect on results\tall CPUs"}

/* And what verbs have that are about searches. */
#define CLI_BUDGET_ALONE(b) \
	CLI_SEARCH(b), CLI_TIME(b), CLI_BOUND(b), CLI_SEED_OF(b), \
	{"nodes", 0, CLI_BUDGET_N, &(b)->nodes, "N", "nodes of the search trees of exact methods\ttheirs"}

#define CLI_BUDGET(b) \
	CLI_BUDGET_ALONE(b), {"policy", 0, CLI_FILE_IN, &(b)->policy, "FILE", \
	 "a trained policy to start from ('berth train' makes one)"}

/* The bounds of p as --bound asks, for objective o; NULL: for all metrics. Fails: BERTH_EINVAL (no such
 * word), BERTH_ENOMEM. */
berth_status cli_budget_bounds(const cli_budget *b, const berth_problem *p, const berth_objective *o,
                               berth_arena *tmp, berth_bounds *out, berth_err *err);

/* berth_search_certify as --bound asks. */
berth_status cli_budget_certify(const cli_budget *b, const berth_problem *p, const berth_objective *o,
                                int64_t told_ns, berth_bound_proof *x, berth_arena *tmp, berth_err *err);

/* Read the policy, if one was named, into c->mem. Fails: BERTH_EFORMAT, BERTH_EIO, BERTH_ENOMEM. */
berth_status cli_budget_policy(const cli_budget *b, cli *c, berth_search_cfg *cfg, berth_err *err);

/* The search configuration, with a pool that cli_budget_close frees. Ctrl-C cancels the search. With a time
 * alone evaluations are not limited. Fails: BERTH_EINVAL (unknown objective), BERTH_ENOMEM. */
berth_status cli_budget_open(const cli_budget *b, berth_search_cfg *out, berth_err *err);
void cli_budget_close(berth_search_cfg *cfg);
