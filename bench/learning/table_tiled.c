/* All learners and their rivals at the budget of the papers: 2,400 evaluations of tiled matrix programs on
 * four equal devices, first in, first out, without contention. One line of the table an instance, one column
 * a method. */
#include "hsdag.h"
#include "instances_of_learning.h"

static const char *const graphs[] = {"chain-mm", "chain-mm:matrices=16", "ffnn:layers=6", "ffnn:tiles=3",
                                     "llama-block", "llama-layer"};
/* The links of the built-in four GPUs, and those of a machine without NVLink: PCIe 3.0 of 16 lanes, as
 * cpu+2gpu has it. */
static const char *const links[] = {"NVLink", "PCIe", "all"};
/* 0 evaluations: the whole budget. method NULL: HSDAG's released form. The last column is ours. */
static const struct column {
	const char *title, *method;
	int64_t evaluations;
} columns[] = {
	{"random", "random", 0}, {"reinforce", "reinforce", 0}, {"ppo", "ppo", 0}, {"cem", "cem", 0},
	{"cp-list, 100", "cp-list", 202}, {"cp-list", "cp-list", 0}, {"anneal", "anneal", 0},
	{"post", "post", 0}, {"hsdag, released", NULL, 0}, {"hsdag", "hsdag", 0},
	{"doppler", "doppler", 0}, {"berth", "berth", 0},
};
enum { N_GRAPHS = BENCH_N(graphs), N_COLUMNS = BENCH_N(columns) };

static berth_status run_released(berth_search *s, berth_arena *tmp, berth_err *err)
{
	berth_hsdag_cfg cfg = berth_hsdag_cfg_default();
	cfg.ppo = false;
	return berth_hsdag_run(s, &cfg, tmp, err);
}

static const berth_method released = {"hsdag", "REINFORCE as released", true, run_released, NULL, NULL};

static void print_row(const char *graph, int link, const bench_options *o, bench_mean mean[3][N_COLUMNS])
{
	BENCH_OPEN(x, graph, "4gpu");
	for (int32_t i = 0; i < x.s.n_links && link; i++) {
		x.s.link_bandwidth[i] = 1.2e10;
		x.s.link_latency_s[i] = 1e-5;
	}
	x.s.contention = false;
	x.s.order = BERTH_ORDER_FIFO;
	MUST(berth_problem_new(&x.g, &x.s, &x.mem, &x.tmp, &x.p, &err));
	bench_bound(&x);
	printf("| %s, %s | %d | %.4g", graph, links[link], x.p.n_ops, x.b.value[BERTH_LATENCY] * 1e3);
	for (int m = 0; m < N_COLUMNS; m++) {
		const struct column *c = &columns[m];
		berth_search_cfg cfg = {.evaluations = c->evaluations ? c->evaluations : o->evaluations};
		berth_interval r =
			bench_iqm_value(&x, c->method ? bench_method(c->method) : &released, &cfg, o->seeds);
		bench_print_interval(r, 1e3, "%.4g");
		bench_add(&mean[link][m], r.middle);
		bench_add(&mean[2][m], r.middle);
	}
	printf(" |\n");
}

void table_tiled(const bench_options *o)
{
	bench_mean mean[3][N_COLUMNS] = {{{0}}};
	printf("\n## Tiled matrix programs: all learners, %lld evaluations, %d seeds\n\nFour equal GPUs "
	       "(`4gpu`), first in, first out, without contention; joined by NVLink as built in, and by PCIe "
	       "3.0 (12 GB/s, 10 us). Best value in\nms: interquartile mean [95 %% bootstrap interval]. "
	       "`cp-list, 100`: its first 100 restarts; all others have the whole budget.\n\n| instance | "
	       "operators | bound", (long long)o->evaluations, o->seeds);
	for (int m = 0; m < N_COLUMNS; m++)
		printf(" | %s", columns[m].title);
	printf(" |");
	bench_rule(3 + N_COLUMNS, 0);
	for (int i = 0; i < 2 * N_GRAPHS; i++)
		print_row(graphs[i % N_GRAPHS], i / N_GRAPHS, o, mean);
	for (int l = 0; l < 3; l++) {
		printf("| **method / `berth`, %s** | |", links[l]);
		double ours = bench_mean_of(mean[l][N_COLUMNS - 1]);
		for (int m = 0; m < N_COLUMNS; m++)
			printf(" | **%.4f**", bench_mean_of(mean[l][m]) / ours);
		printf(" |\n");
	}
}
