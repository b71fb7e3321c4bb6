/* All learners and their rivals at the budget of the papers: 2,400 evaluations of tiled matrix programs on
 * four equal devices, first in, first out, without contention. One line of the table an instance, one column
 * a method. */
#include "hsdag.h"
#include "instances_of_learning.h"

#include <math.h>

static const char *const graphs[] = {
	"chain-mm",     "chain-mm:matrices=16", "ffnn:layers=6",
	"ffnn:tiles=3", "llama-block",          "llama-layer",
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
	N_COLUMNS = sizeof columns / sizeof *columns
};

static berth_status run_released(berth_search *s, berth_arena *tmp, berth_err *err)
{
	berth_hsdag_cfg cfg = berth_hsdag_cfg_default();
	cfg.ppo = false;
	return berth_hsdag_run(s, &cfg, tmp, err);
}

static const berth_method released = {"hsdag", "REINFORCE as released", true, run_released, NULL, NULL};

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
	bench_open(x, graph, "4gpu");
	set_links(x, link);
	MUST(berth_problem_new(&x->g, &x->s, &x->mem, &x->tmp, &x->p, &err));
	bench_bound(x);
}

/* The interquartile mean; its interval goes into the table. */
static double measure(const subject *x, const column *c, const bench_options *o)
{
	const berth_search_cfg cfg = {.evaluations = c->evaluations ? c->evaluations : o->evaluations};
	double v[MAX_SEEDS];
	bench_values(x, c->method ? bench_method(c->method) : &released, &cfg, o->seeds, v);
	berth_interval r = bench_iqm(v, o->seeds);
	bench_print_interval(r, 1e3, "%.4g");
	fflush(stdout);
	return r.middle;
}

static void print_head(const bench_options *o)
{
	printf("\n## Tiled matrix programs: all learners, %lld evaluations, %d seeds\n\n"
	       "Four equal GPUs (`4gpu`), first in, first out, without contention; joined by NVLink as built "
	       "in, and by PCIe 3.0 (12 GB/s, 10 us). Best value in\n"
	       "ms: interquartile mean [95 %% bootstrap interval]. `cp-list, 100`: its first 100 restarts; "
	       "all others have the whole budget.\n\n| instance | operators | bound",
	       (long long)o->evaluations, o->seeds);
	for (int m = 0; m < N_COLUMNS; m++)
		printf(" | %s", columns[m].title);
	printf(" |\n|---|---|---");
	for (int m = 0; m < N_COLUMNS; m++)
		printf("|---");
	printf("|\n");
}

static void run_tiled(const bench_options *o)
{
	double sum[N_LINKS + 1][N_COLUMNS] = {{0}};
	print_head(o);
	for (int l = 0; l < N_LINKS; l++)
		for (int i = 0; i < N_GRAPHS; i++) {
			subject x;
			open_tiled(&x, graphs[i], l);
			printf("| %s, %s | %d | %.4g", graphs[i], links[l].name, x.p.n_ops,
			       x.b.value[BERTH_LATENCY] * 1e3);
			for (int m = 0; m < N_COLUMNS; m++) {
				double value = log(measure(&x, &columns[m], o));
				sum[l][m] += value / N_GRAPHS;
				sum[N_LINKS][m] += value / (N_GRAPHS * N_LINKS);
			}
			printf(" |\n");
			bench_close(&x);
		}
	for (int l = 0; l <= N_LINKS; l++) {
		printf("| **method / `berth`, %s** | |", l < N_LINKS ? links[l].name : "all");
		for (int m = 0; m < N_COLUMNS; m++)
			printf(" | **%.4f**", exp(sum[l][m] - sum[l][N_COLUMNS - 1]));
		printf(" |\n");
	}
}

const bench_entry bench_tiled = {
	"tiled", "", "learning", "1 h",
	"all learners on tiled matrix programs", {.evaluations = 2400, .seeds = 10}, run_tiled};
