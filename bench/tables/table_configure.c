/* The tables of docs/clusters.md: how often the configuration that is chosen is the best of all, on clusters
 * drawn by a rule. All of a cluster's configurations are simulated whole; that is what choices are held
 * against. One build gives the same tables on each run. */
#include "configure.h"
#include "entries.h"
#include "rng.h"
#include "system_json.h"
#include "zoo.h"

static const char *const models[] = {"resnet18", "alexnet", "mobilenet-v2", "vgg11", "unet"};
static const int64_t batches[] = {8, 32, 128};
enum { N_BATCHES = 3, MOST_CONFIGS = 10000, MOST_CLUSTERS = 1000 };

/* ---- clusters ---- */

typedef struct device_kind {
	const char *name;
	double tflops, gbytes_s, gbytes, idle_w, busy_w;
} device_kind;
/* Servers, desktops, laptops and boards; each host has the first, and perhaps the other ones. */
static const device_kind kinds[4][3] = {
	{{"xeon", 2, 128, 128, 50, 150}, {"v100", 14, 900, 16, 30, 250}, {"t4", 8, 320, 16, 10, 70}},
	{{"core", 0.8, 60, 32, 15, 95}, {"rtx", 10, 400, 8, 15, 200}},
	{{"mobile", 0.4, 40, 16, 3, 28}, {"igpu", 1.5, 60, 4, 1, 25}},
	{{"arm", 0.13, 25, 8, 1, 5}, {"soc-gpu", 1.2, 45, 6, 0.5, 10}},
};

/* Between half of x and twice of it. */
static double about(berth_rng *rng, double x)
{
	return x * exp2(2 * berth_rng_unit(rng) - 1);
}

static void put_device(bench_text *t, const device_kind *k, int host, int i, berth_rng *rng)
{
	double bandwidth = about(rng, k->gbytes_s * 1e9), flops = about(rng, k->tflops * 1e12);
	bench_put(t, "%s{\"name\":\"%s%d%c\",\"host\":\"h%d\",\"peak_flops\":%.4g,\"efficiency\":{\"*\":0.15,"
	          "\"Conv\":0.5,\"MatMul\":0.6,\"Gemm\":0.6,\"LSTM\":0.3},\"mem_bandwidth\":%.4g,"
	          "\"memory_bytes\":%.0f,\"op_overhead_s\":5e-06,\"idle_w\":%.4g,\"busy_w\":%.4g}",
	          host || i ? "," : "", k->name, host, 'a' + i, host, flops, bandwidth, k->gbytes * 1e9,
	          k->idle_w, k->busy_w);
}

/* Two to four hosts of one to three devices. They talk over one wire that all share, or each over a port of
 * its own; at about 0.1, 1 or 10 gigabit a second. */
static void draw(uint64_t seed, bench_text *t)
{
	const device_kind *kind[4];
	int n_devs[4];
	berth_rng rng = berth_rng_seed(seed, BERTH_STREAM_RANDOM);
	int n = 2 + (int)berth_rng_below(&rng, 3);
	bool wire = berth_rng_below(&rng, 3) == 0;
	double net = 1.25e7 * pow(10, (double)berth_rng_below(&rng, 3));
	bench_put(t, "{\"format\":\"berth-system\",\"version\":1,\"name\":\"cluster%d\",\"devices\":[",
	             (int)seed);
	for (int h = 0; h < n; h++) {
		kind[h] = kinds[berth_rng_below(&rng, 4)];
		n_devs[h] = 1 + (int)berth_rng_below(&rng, kind[h][2].name ? 3 : 2);
		for (int i = 0; i < n_devs[h]; i++)
			put_device(t, &kind[h][i], h, i, &rng);
	}
	bench_put(t, "],\"links\":[");
	for (int h = 0; h < n; h++)
		for (int i = 1; i < n_devs[h]; i++)
			bench_put(t, "{\"from\":\"%s%da\",\"to\":\"%s%d%c\",\"latency_s\":1e-05,"
			          "\"bandwidth\":%.4g,\"both_ways\":true,\"joules_per_byte\":8e-11},",
			          kind[h][0].name, h, kind[h][i].name, h, 'a' + i, about(&rng, 1e10));
	for (int h = 0; h < n; h++) {
		double rate = wire ? net : about(&rng, net);
		for (int k = 0; k < n; k++)
			if (k != h)
				bench_put(t, "{\"from\":\"%s%da\",\"to\":\"%s%da\",\"latency_s\":1e-4,"
				          "\"bandwidth\":%.4g,\"shared\":\"port%d\",\"joules_per_byte\":"
				          "8e-9},",
				          kind[h][0].name, h, kind[k][0].name, k, rate, wire ? 0 : h);
	}
	t->n--; /* the last comma */
	bench_put(t, "]}");
}

/* ---- choices ---- */

typedef struct instance {
	berth_arena mem, tmp, tmp2;
	berth_system s;
	berth_cluster c;
	berth_graph graph[N_BATCHES];
	berth_copies x;
} instance;

/* A configuration simulated whole; whether it runs. */
static bool simulate(instance *w, const berth_configuration *c, const berth_exchange *exchange,
                     berth_config_value *s)
{
	bool runs;
	MUST(berth_config_simulate(&w->x, c, exchange, &w->tmp, &w->tmp2, s, &runs, &err));
	return runs;
}

/* Every configuration, simulated whole. */
typedef struct truth {
	instance *w;
	double best[BERTH_N_GOALS];
	int32_t n, n_runs;
	double error[MOST_CONFIGS]; /* of the predicted step */
} truth;

static berth_status look(void *ctx, const berth_configuration *c, const berth_config_value *v, berth_err *err)
{
	truth *t = ctx;
	berth_config_value s;
	(void)err;
	t->n++;
	if (simulate(t->w, c, &v->exchange, &s)) {
		for (int g = 0; g < BERTH_N_GOALS; g++)
			t->best[g] = fmin(t->best[g], berth_goal_value((berth_goal)g, &s));
		t->error[t->n_runs++] = fabs(v->step_s / s.step_s - 1);
	}
	return BERTH_OK;
}

/* How a configuration is chosen. */
static const struct way {
	const char *name;
	bool search;
	int32_t n_whole;
	double sigma; /* by which the times of copies are off */
} ways[] = {
	{"all; the best 16 simulated whole", false, 16, 0},
	{"search; the best 16 simulated whole", true, 16, 0},
	{"all; by formulas alone", false, 1, 0},
	{"all; times off by 5 %; by formulas alone", false, 1, 0.05},
	{"all; times off by 5 %; the best 16 simulated whole", false, 16, 0.05},
	{"all; times off by 20 %; by formulas alone", false, 1, 0.2},
	{"all; times off by 20 %; the best 16 simulated whole", false, 16, 0.2},
};

/* Times and joules of each copy as short runs might tell them: off by a lognormal. */
static void disturb(berth_copies *x, double sigma, uint64_t seed)
{
	for (int32_t h = 0; h < x->c->n_hosts; h++) {
		berth_rng rng = berth_rng_seed(seed, BERTH_STREAM_METHOD + 100 + (uint64_t)h);
		int32_t n = x->c->host_like[h] == h ? x->host[h]->n_crews : 0;
		for (int32_t i = 0; i < n * x->n_batches; i++) {
			berth_copy_price *p = &x->host[h]->crew[i / x->n_batches].price[i % x->n_batches];
			double off = exp(sigma * berth_rng_normal(&rng));
			p->time_ns = (int64_t)(off * (double)p->time_ns);
			p->active_j *= off;
		}
	}
}

typedef struct totals {
	struct {
		int32_t n, hits;
		double regret[MOST_CLUSTERS];
	} tally[BENCH_N(ways)][BERTH_N_GOALS];
	int32_t clusters, left_out, nowhere;
	double configs[MOST_CLUSTERS], error[MOST_CLUSTERS]; /* by cluster; error: the median one of the
	                                                        predicted steps */
} totals;

/* What is chosen, held against the best of all. Simulations ask no prices, so disturbed ones do not
 * matter. */
static void choose(instance *w, int way, const truth *t, totals *all)
{
	for (int g = 0; g < BERTH_N_GOALS; g++) {
		berth_configure_cfg cfg = berth_configure_cfg_default();
		berth_configured r;
		berth_config_value s;
		cfg.goal = (berth_goal)g;
		cfg.most = ways[way].search ? 0 : cfg.most;
		cfg.n_whole = ways[way].n_whole;
		MUST(berth_configure(&w->x, &cfg, NULL, &w->mem, &w->tmp, &w->tmp2, &r, &err));
		bool runs = simulate(w, &r.best.c, &r.best.predicted.exchange, &s);
		double regret = runs ? berth_goal_value(cfg.goal, &s) / t->best[g] - 1 : INFINITY;
		all->tally[way][g].hits += regret <= 1e-9;
		all->tally[way][g].regret[all->tally[way][g].n++] = regret;
	}
}

/* Whether it has a configuration that runs, and not too many of them to look at all. */
static bool look_at_all(instance *w, truth *t, totals *all)
{
	berth_exchanger e;
	if (berth_configurations_most(&w->x) > MOST_CONFIGS) {
		all->left_out++;
		return false;
	}
	*t = (truth){.w = w};
	for (int g = 0; g < BERTH_N_GOALS; g++)
		t->best[g] = INFINITY;
	MUST(berth_exchanger_new(&w->x, &w->mem, &w->tmp, &e, &err));
	MUST(berth_configure_each(&e, BERTH_EXCHANGE_BEST, &w->mem, look, t, &err));
	all->nowhere += t->n_runs == 0;
	return t->n_runs > 0;
}

static void add_cluster(totals *all, uint64_t seed)
{
	static instance w;
	static truth t;
	static bench_text text; /* large */
	const berth_search_cfg search = {.seed = 1, .evaluations = 300};
	w = (instance){0};
	text.n = 0;
	draw(seed, &text);
	MUST(berth_system_parse_json("cluster", text.text, text.n, &w.mem, &w.tmp, &w.s, &err));
	for (int b = 0; b < N_BATCHES; b++) {
		char spec[64];
		snprintf(spec, sizeof spec, "zoo:%s:training=1:batch=%d", models[seed % BENCH_N(models)],
		         (int)batches[b]);
		MUST(berth_zoo_build(spec, &w.mem, &w.tmp, &w.graph[b], &err));
	}
	MUST(berth_cluster_new(&w.s, &w.mem, &w.tmp, &w.c, &err));
	MUST(berth_copies_new(&w.c, w.graph, batches, N_BATCHES, bench_method("anneal"), &search, &w.mem,
	                      &w.tmp, &w.x, &err));
	if (look_at_all(&w, &t, all)) {
		for (int way = 0; way < BENCH_N(ways); way++) {
			disturb(&w.x, ways[way].sigma, seed);
			choose(&w, way, &t, all);
			disturb(&w.x, -ways[way].sigma, seed);
		}
		all->configs[all->clusters] = t.n;
		all->error[all->clusters++] = bench_median(t.error, t.n_runs);
	}
	berth_arena_free(&w.mem);
	berth_arena_free(&w.tmp);
	berth_arena_free(&w.tmp2);
}

void table_configure(const bench_options *o)
{
	static totals all;
	for (uint64_t seed = 1; all.clusters < o->instances && all.clusters < MOST_CLUSTERS; seed++)
		add_cluster(&all, seed);
	int32_t n = all.clusters;
	printf("| choice |");
	for (int g = 0; g < BERTH_N_GOALS; g++)
		printf(" %s |", berth_goals[g].name);
	bench_rule(1, BERTH_N_GOALS);
	for (int way = 0; way < BENCH_N(ways); way++) {
		printf("| %s |", ways[way].name);
		for (int g = 0; g < BERTH_N_GOALS; g++) {
			int32_t hits = all.tally[way][g].hits;
			const double *regret = all.tally[way][g].regret;
			double sum = 0;
			for (int32_t i = 0; i < n; i++)
				sum += regret[i];
			printf(" %.1f %%", 100.0 * hits / n);
			if (hits < n) /* the mean regret where the choice is not the best, and the largest */
				printf(" (%.2f %%, %.2f %%)",
				       100 * sum / (n - hits), 100 * bench_largest(regret, n));
			printf(" |");
		}
		printf("\n");
	}
	printf("\nOf %d clusters, with %.0f configurations in the median and %.0f at most. %d drawn beside "
	       "these were left out: with more than %d configurations; %d more, on which no copy fits. The "
	       "formulas' step is off by %.3f %% in the median over clusters (each with the median over its "
	       "configurations), by %.2f %% at most.\n",
	       (int)n, bench_median(all.configs, n), bench_largest(all.configs, n), (int)all.left_out,
	       MOST_CONFIGS, (int)all.nowhere, 100 * bench_median(all.error, n),
	       100 * bench_largest(all.error, n));
}
