/* Speeds of the parts, a row each. Not a test: figures depend on the machine. Each figure is the median of
 * several repetitions of at least 50 ms of the thread's own CPU time. */
#include "speeds.h"

static const struct {
	const char *name, *about;
	void (*run)(void);
} groups[] = {
	{"simulate", "reference simulator, placements near good ones, one core", speed_simulate},
	{"incremental", "moves around a placement: incremental runs against full ones, one core",
         speed_incremental},
	{"threads", "evaluations over a pool of 1 and 2 workers, wall time", speed_threads},
	{"growth", "time and memory an operator, at 10,000 to 1,000,000 of them", speed_growth},
	{"heft", "HEFT with insertion, scored under both orders, at about 2,000 operators", speed_heft},
	{"list",
         "HEFT without and with insertion, the CEFT table, growth of list schedulers to 50,000 operators",
         speed_list},
	{"onnx", "reading an ONNX file of 100 MB with its weights inside, and files made to be expensive",
         speed_onnx},
	{"gguf", "reading the GGUF header of a model of 98 GB", speed_gguf},
	{"tasks", "reading task graphs of 100,000 tasks: DOT, STG, DAX", speed_tasks},
	{"import", "reading graphs from JSON: seconds and memory", speed_import},
	{"coarsen", "grouping large random graphs", speed_coarsen},
	{"start", "answers without search: method policy, the portfolio and the policy", speed_start},
	{"pass", "one forward pass of the built-in policy, 1,702 to 100,000 operators", speed_pass},
	{"learn", "drawing, simulating and learning together, on 1 and 2 workers", speed_learn},
	{"policy", "the network, its PPO loss and Adam, one core", speed_policy},
	{"gemm", "matrix products of the sizes of policies, beside OpenBLAS, one core", speed_gemm},
	{"questions", "explain an operator, ask about 20 machines, a Pareto front of 10,000 evaluations",
         speed_questions},
	{"exact", "branch and bound on 16 operators; strong bounds of models", speed_exact},
	{"pbqp", "the PBQP solver at 20,000 nodes, 4 alternatives, mean degree 3", speed_pbqp},
};
enum { N_GROUPS = BENCH_N(groups) };

void speed_row(const char *name, const char *graph, double value, const char *unit)
{
	printf("| %s | %s | %.3g %s |\n", name, graph, value, unit);
}

/* Is the group asked for? */
static bool asked(const bench_options *o, const char *name)
{
	for (int i = 0; i < o->n_words; i++)
		if (strcmp(o->word[i], name) == 0)
			return true;
	return o->n_words == 0;
}

void table_speeds(const bench_options *o)
{
	int n = 0;
	for (int i = 0; i < N_GROUPS; i++)
		n += asked(o, groups[i].name);
	if (n < o->n_words)
		bench_refuse("no such group: berth-bench speed-groups lists them");
	bench_head("what|of|CPU figure");
	for (int i = 0; i < N_GROUPS; i++)
		if (asked(o, groups[i].name))
			groups[i].run();
}

void table_speed_groups(const bench_options *o)
{
	(void)o;
	bench_head("group|what");
	for (int i = 0; i < N_GROUPS; i++)
		printf("| %s | %s |\n", groups[i].name, groups[i].about);
}
