/* All learners and their rivals at the budget of the papers: 2,400 evaluations of tiled matrix programs on
 * four equal devices, first in, first out, without contention. One line of the table an instance, one column
 * a method. */
#include "hsdag.h"
#include "parts.h"
#include "statistics.h"
#include "systems_builtin.h"
#include "zoo.h"

#include <math.h>
#include <stdio.h>

static const char *const graphs[] = {
	"zoo:chain-mm",     "zoo:chain-mm:matrices=16", "zoo:ffnn:layers=6",
	"zoo:ffnn:tiles=3", "zoo:llama-block",          "zoo:llama-layer",
};
/* The links of the built-in four GPUs, and those of a machine without NVLink: PCIe 3.0 of 16 lanes, as
 * cpu+2gpu has it. */
static const struct {
	const char *name;
	double bandwidth, latency_s;
} links[] = {{"NVLink", 0, 0}, {"PCIe", 1.2e10, 1e-5}};
/* 0: the whole budget. The last column is ours. */
typedef struct column {
	const char *title, *method; /* method NULL: HSDAG's released form */
	int64_t evaluations;
} column;
static const column columns[] = {
	{"random", "random", 0}, {"reinforce", "reinforce", 0}, {"ppo", "ppo", 0}, {"cem", "cem", 0},
	{"cp-list, 100", "cp-list", 202}, {"cp-list", "cp-list", 0},
	{"anneal", "anneal", 0}, {"post", "post", 0}, {"hsdag, released", NULL, 0}, {"hsdag", "hsdag", 0},
	{"doppler", "doppler", 0}, {"berth", "berth", 0},
};
enum {
	N_GRAPHS = sizeof graphs / sizeof *graphs,
	N_LINKS = sizeof links / sizeof *links,
	N_COLUMNS = sizeof columns / sizeof *columns,
	MAX_SEEDS = 100
};

static berth_status run_released(berth_search *s, berth_arena *tmp, berth_err *err)
{
	berth_hsdag_cfg cfg = berth_hsdag_cfg_default();
	cfg.ppo = false;
	return berth_hsdag_run(s, &cfg, tmp, err);
}

static const berth_method released = {"hsdag", "REINFORCE as released", true, run_released, NULL};

static void set_links(subject *x, int k)
{
	for (int32_t i = 0; i < x->s.n_links && links[k].bandwidth > 0; i++) {
		x->s.link_bandwidth[i] = links[k].bandwidth;
		x->s.link_latency_s[i] = links[k].latency_s;
	}
	x->s.contention = false;
	x->s.order = BERTH_ORDER_FIFO;
}

static void open_tiled(subject *x, const char *graph, int link)
{
	berth_err err;
	*x = (subject){0};
	must(berth_zoo_build(graph, &x->mem, &x->tmp, &x->g, &err), &err);
	must(berth_system_builtin("4gpu", &x->mem, &x->tmp, &x->s, &err), &err);
	set_links(x, link);
	must(berth_problem_new(&x->g, &x->s, &x->mem, &x->tmp, &x->p, &err), &err);
	must(berth_bounds_new(&x->p, &x->tmp, &x->b, &err), &err);
}

/* The interquartile mean; its interval goes into the table. */
static double measure(subject *x, const column *c, int n_seeds, int64_t evaluations)
{
	double v[MAX_SEEDS];
	for (int k = 0; k < n_seeds; k++) {
		berth_search_cfg cfg = {.seed = (uint64_t)k + 1,
		                        .evaluations = c->evaluations ? c->evaluations : evaluations};
		v[k] = c->method ? run_with(x, c->method, &cfg) : run_this(x, &released, &cfg);
	}
	berth_interval r = berth_bootstrap(v, n_seeds, berth_iqm, &x->tmp);
	printf(" | %.4g [%.4g, %.4g]", r.middle * 1e3, r.low * 1e3, r.high * 1e3);
	fflush(stdout);
	return r.middle;
}

static void print_head(int n_seeds, int64_t evaluations)
{
	printf("\n## Tiled matrix programs: all learners, %lld evaluations, %d seeds\n\n"
	       "Four equal GPUs (`4gpu`), first in, first out, without contention; joined by NVLink as built "
	       "in, and by PCIe 3.0 (12 GB/s, 10 us). Best value in\n"
	       "ms: interquartile mean [95 %% bootstrap interval]. `cp-list, 100`: its first 100 restarts; "
	       "all others have the whole budget.\n\n| instance | operators | bound",
	       (long long)evaluations, n_seeds);
	for (int m = 0; m < N_COLUMNS; m++)
		printf(" | %s", columns[m].title);
	printf(" |\n|---|---|---");
	for (int m = 0; m < N_COLUMNS; m++)
		printf("|---");
	printf("|\n");
}

void table_tiled(int n_seeds, int64_t evaluations)
{
	double sum[N_LINKS + 1][N_COLUMNS] = {{0}};
	print_head(n_seeds, evaluations);
	for (int l = 0; l < N_LINKS; l++)
		for (int i = 0; i < N_GRAPHS; i++) {
			subject x;
			open_tiled(&x, graphs[i], l);
			printf("| %s, %s | %d | %.4g", graphs[i] + 4, links[l].name, x.p.n_ops,
			       x.b.value[BERTH_LATENCY] * 1e3);
			for (int m = 0; m < N_COLUMNS; m++) {
				double value = log(measure(&x, &columns[m], n_seeds, evaluations));
				sum[l][m] += value / N_GRAPHS;
				sum[N_LINKS][m] += value / (N_GRAPHS * N_LINKS);
			}
			printf(" |\n");
			close_subject(&x);
		}
	for (int l = 0; l <= N_LINKS; l++) {
		printf("| **method / `berth`, %s** | |", l < N_LINKS ? links[l].name : "all");
		for (int m = 0; m < N_COLUMNS; m++)
			printf(" | **%.4f**", exp(sum[l][m] - sum[l][N_COLUMNS - 1]));
		printf(" |\n");
	}
}
