/* The tables of docs/clusters.md on layouts: clusters and layouts that Helix has published, and many servers
 * of eight kinds. All but the seconds is the same for one build. */
#include "entries.h"
#include "layout.h"

enum { LAYERS = 80, MOST = 18, EFFORT = 10000 };

/* A machine, and its requests (tokens) a second with 1, 2, ... layers of LLaMA-2 70B. */
typedef struct machine {
	const char *name;
	int64_t n;
	double per_s[MOST]; /* 0: it does not hold so many */
} machine;

/* Rates as Helix's artifact (github.com/Thesys-lab/Helix-ASPLOS25, commit 148b733) computes them from its
 * profiles for each cluster. Links of both clusters carry 61,035 activations a second: 1e9 / (8192 * 2). */
static const machine single24[] = {
	{"A100",
         4,
         {23833.87, 11384.25, 7201.41, 5264.62, 4096.65, 3124.14, 2595.68, 2045.64, 1754.38, 1392.63, 1212.18,
          952.11}},
	{"L4", 8, {7557.86, 3625.71, 2171.88, 1476.08, 1017.57, 747.79, 531.7}},
	{"T4", 12, {5709.21, 2434.37, 1347.87, 757.85}},
};
static const machine high42[] = {
	{"A100",
         4,
         {31327.49, 15363.28, 9918.07, 7039.2, 5430.02, 4251.28, 3405.79, 2847.02, 2339.85, 1931.11, 1652.86,
          1363.71}},
	{"V100", 6, {14014.13, 5890.15, 3342.48, 1982.19}},
	{"L4", 8, {9111.48, 4239.1, 2563.31, 1812.26, 1285.17, 916.81, 655.73}},
	{"L4x2",
         4,
         {17269.02, 8426.92, 5441.14, 3929.42, 3061.02, 2461.63, 2030.42, 1712.86, 1450.18, 1290.53, 1107.22,
          964.26, 838.51, 727.69}},
	{"T4", 10, {6179.85, 2911.52, 1622.37, 927.62}},
	{"T4x2", 6, {12194.22, 5813.74, 3663.69, 2706.1, 2121.35, 1626.96, 1271.8, 1021.91, 783.45}},
	{"T4x4",
         4,
         {20503.53, 10085.51, 6640.71, 4892.24, 3841.24, 3136.81, 2651.22, 2268.51, 1981.14, 1738.63, 1548.73,
          1388.97, 1281.52, 1180.02, 1071.19, 973.64, 872.89, 781.27}},
};
enum { MOST_MACHINES = 8 };

/* Published layouts, of the same artifact (single_cluster, high_heterogeneity, ablation) and the value that
 * it tells for them: groups of machine, first layer, layer behind the last, how many. */
#define G(kind, from, to, n)                                                                                 \
	{                                                                                                    \
		kind, from, to, n, 0, 0, 0                                                                   \
	}
static berth_layout_group helix24[] = {G(2, 0, 3, 1),   G(1, 3, 7, 1),   G(1, 7, 11, 1),  G(2, 11, 14, 1),
                                       G(0, 14, 23, 1), G(2, 23, 25, 1), G(2, 25, 26, 1), G(2, 26, 30, 1),
                                       G(1, 26, 33, 1), G(2, 30, 34, 1), G(2, 33, 37, 1), G(2, 34, 38, 1),
                                       G(0, 37, 49, 1), G(2, 38, 42, 1), G(2, 42, 46, 1), G(1, 42, 49, 1),
                                       G(1, 46, 53, 1), G(2, 49, 53, 1), G(1, 53, 60, 3), G(0, 60, 68, 1),
                                       G(0, 68, 77, 1), G(2, 77, 80, 1)},
			  swarm24[] = {G(0, 0, 4, 1),   G(0, 4, 8, 1),   G(0, 8, 12, 1),  G(0, 12, 16, 1),
                                       G(1, 16, 20, 1), G(1, 20, 24, 1), G(1, 24, 28, 1), G(1, 28, 32, 1),
                                       G(1, 32, 36, 1), G(1, 36, 40, 1), G(1, 40, 44, 1), G(1, 44, 48, 1),
                                       G(2, 48, 52, 2), G(2, 52, 56, 2), G(2, 56, 60, 2), G(2, 60, 64, 2),
                                       G(2, 64, 68, 1), G(2, 68, 72, 1), G(2, 72, 76, 1), G(2, 76, 80, 1)},
			  petals24[] = {G(2, 0, 4, 1),   G(1, 0, 7, 1),   G(1, 4, 11, 1),  G(1, 7, 14, 1),
                                        G(0, 11, 23, 1), G(0, 14, 26, 1), G(2, 26, 30, 2), G(2, 30, 34, 1),
                                        G(0, 30, 42, 1), G(2, 34, 38, 1), G(2, 38, 42, 1), G(2, 42, 46, 1),
                                        G(1, 42, 49, 1), G(1, 46, 53, 1), G(2, 49, 53, 1), G(1, 53, 60, 2),
                                        G(2, 60, 64, 1), G(0, 60, 72, 1), G(2, 72, 76, 1), G(1, 72, 79, 1),
                                        G(2, 76, 80, 2)};
static berth_layout_group
	helix42[] = {G(2, 0, 2, 1),   G(2, 1, 8, 1),   G(2, 2, 3, 1),   G(0, 2, 8, 1),   G(2, 8, 9, 1),
                     G(1, 9, 13, 1),  G(4, 9, 13, 2),  G(3, 9, 19, 1),  G(4, 12, 13, 1), G(1, 13, 16, 1),
                     G(1, 16, 19, 1), G(0, 19, 27, 1), G(3, 19, 29, 1), G(1, 27, 31, 1), G(4, 27, 31, 1),
                     G(6, 29, 41, 1), G(0, 31, 39, 1), G(2, 39, 45, 1), G(3, 39, 45, 1), G(6, 39, 56, 1),
                     G(4, 41, 45, 2), G(2, 45, 48, 1), G(1, 45, 49, 1), G(5, 48, 56, 2), G(0, 49, 60, 1),
                     G(1, 56, 59, 1), G(2, 59, 60, 1), G(5, 59, 66, 1), G(5, 60, 63, 1), G(4, 63, 66, 1),
                     G(6, 63, 77, 1), G(6, 63, 80, 1), G(2, 66, 69, 1), G(3, 69, 77, 1), G(5, 69, 77, 2),
                     G(4, 77, 79, 1), G(4, 77, 80, 1), G(4, 79, 80, 1)},
	swarm42[] = {G(0, 0, 4, 1),   G(0, 4, 8, 1),   G(0, 8, 12, 1),  G(0, 12, 16, 1), G(6, 16, 20, 1),
                     G(6, 20, 24, 1), G(6, 24, 28, 1), G(6, 28, 32, 1), G(2, 32, 36, 1), G(3, 32, 36, 1),
                     G(2, 36, 40, 1), G(3, 36, 40, 1), G(2, 40, 44, 1), G(3, 40, 44, 1), G(2, 44, 48, 1),
                     G(3, 44, 48, 1), G(1, 48, 52, 1), G(4, 48, 52, 1), G(5, 48, 52, 1), G(1, 52, 56, 1),
                     G(4, 52, 56, 1), G(5, 52, 56, 1), G(2, 56, 60, 1), G(4, 56, 60, 1), G(5, 56, 60, 1),
                     G(2, 60, 64, 1), G(4, 60, 64, 1), G(5, 60, 64, 1), G(2, 64, 68, 1), G(4, 64, 68, 1),
                     G(5, 64, 68, 1), G(2, 68, 72, 1), G(4, 68, 72, 1), G(5, 68, 72, 1), G(1, 72, 76, 2),
                     G(4, 72, 76, 2), G(1, 76, 80, 2), G(4, 76, 80, 2)},
	petals42[] = {G(4, 0, 4, 2),   G(6, 0, 18, 2),  G(0, 1, 13, 1),  G(2, 4, 11, 1),  G(5, 4, 13, 1),
                      G(2, 13, 20, 1), G(5, 13, 22, 1), G(6, 13, 31, 1), G(1, 15, 19, 1), G(5, 18, 27, 1),
                      G(5, 19, 28, 1), G(2, 20, 27, 1), G(4, 22, 26, 1), G(2, 26, 33, 1), G(4, 27, 31, 2),
                      G(2, 28, 35, 1), G(4, 31, 35, 2), G(6, 31, 49, 1), G(1, 35, 39, 1), G(2, 35, 42, 1),
                      G(0, 39, 51, 1), G(3, 39, 53, 1), G(3, 42, 56, 1), G(3, 49, 63, 1), G(1, 51, 55, 1),
                      G(4, 52, 56, 1), G(3, 53, 67, 1), G(4, 55, 59, 1), G(1, 56, 60, 1), G(1, 60, 64, 1),
                      G(2, 61, 68, 1), G(1, 64, 68, 1), G(2, 64, 71, 1), G(0, 67, 79, 1), G(0, 68, 80, 1),
                      G(5, 71, 80, 2), G(4, 76, 80, 1)};

typedef struct published {
	const char *name, *told;
	berth_layout_group *group;
	int n;
} published;

typedef struct field {
	const char *name;
	const machine *machine;
	int n;
	published by[3];
} field;

static const field fields[] = {
	{"single24",
         single24,
         BENCH_N(single24),
         {{"Helix", "1290", helix24, BENCH_N(helix24)},
          {"Swarm's rule", "", swarm24, BENCH_N(swarm24)},
          {"Petals' rule", "", petals24, BENCH_N(petals24)}}},
	{"high42",
         high42,
         BENCH_N(high42),
         {{"Helix", "4138", helix42, BENCH_N(helix42)},
          {"Swarm's rule", "4892", swarm42, BENCH_N(swarm42)},
          {"Petals' rule", "", petals42, BENCH_N(petals42)}}},
};

static void make_kinds(const machine *m, int n, int64_t times, berth_arena *mem, berth_layout_kind *kind)
{
	for (int k = 0; k < n; k++) {
		double *per_s = bench_new(mem, (LAYERS + 1) * (LAYERS + 1), sizeof *per_s);
		for (int f = 0; f < LAYERS; f++)
			for (int t = f + 1; t <= LAYERS && t - f <= MOST; t++)
				per_s[f * (LAYERS + 1) + t] = m[k].per_s[t - f - 1];
		kind[k] = (berth_layout_kind){
			.name = m[k].name, .n_nodes = m[k].n * times, .now.per_s = per_s};
	}
}

static double flow_of(berth_layout_task *x, const published *p, bool aligned, berth_arena *mem,
                      berth_arena *tmp)
{
	berth_layers l = {.group = p->group, .n_groups = p->n};
	x->aligned = aligned;
	MUST(berth_layout_flow(x, &l, mem, tmp, &err));
	return l.per_s;
}

static void print_field(const field *f)
{
	BERTH_ARENA(mem);
	BERTH_ARENA(tmp);
	berth_layout_kind kind[MOST_MACHINES];
	double link[MOST_MACHINES * MOST_MACHINES], from = berth_cpu_seconds();
	berth_layout_task x = {.n_layers = LAYERS, .n_kinds = f->n, .kind = kind, .link_per_s = link};
	berth_layers any, first;
	make_kinds(f->machine, f->n, 1, &mem, kind);
	for (int i = 0; i < f->n * f->n; i++)
		link[i] = 1e9 / (8192 * 2);
	MUST(berth_layout_search(&x, NULL, EFFORT, 1, &mem, &tmp, &any, &err));
	double seconds = berth_cpu_seconds() - from;
	x.aligned = true;
	MUST(berth_layout_search(&x, NULL, EFFORT / 10, 1, &mem, &tmp, &first, &err));
	for (int i = 0; i < 3; i++) {
		double partly = flow_of(&x, &f->by[i], false, &mem, &tmp),
		       whole = flow_of(&x, &f->by[i], true, &mem, &tmp);
		printf("| %s | %s | %s | %.0f | %.0f | %.3f | |\n", f->name, f->by[i].name, f->by[i].told,
		       whole, partly, partly / any.bound_per_s);
	}
	printf("| %s | berth | | %.0f | %.0f | %.3f | %.1f s |\n", f->name, first.per_s, any.per_s,
	       any.per_s / any.bound_per_s, seconds);
	printf("| %s | no layout has more | | | %.0f | 1 | |\n", f->name, any.bound_per_s);
}

void table_layouts(const bench_options *o)
{
	(void)o;
	bench_head("cluster|layout by|tokens/s, as published:|as computed here, entered at the first layer:|"
	           "entered anywhere:|of the bound:|CPU time:");
	for (int i = 0; i < BENCH_N(fields); i++)
		print_field(&fields[i]);
}

/* Machines of both clusters, as eight kinds: the A100 with the rates of either. */
void table_layouts_large(const bench_options *o)
{
	static const int64_t times[] = {1, 4, 16, 64};
	machine eight[MOST_MACHINES];
	(void)o;
	for (int k = 0; k < BENCH_N(high42); k++)
		eight[k] = high42[k];
	eight[7] = single24[0];
	for (int k = 0; k < MOST_MACHINES; k++)
		eight[k].n = 2;
	bench_head("kinds:|servers:|tokens/s:|bound:|below it, at most:|groups:|CPU time:");
	for (int kinds = 2; kinds <= 8; kinds *= 2)
		for (int i = 0; i < BENCH_N(times); i++) {
			BERTH_ARENA(mem);
			BERTH_ARENA(tmp);
			berth_layout_kind kind[MOST_MACHINES];
			berth_layers l;
			berth_layout_task x = {.n_layers = LAYERS, .n_kinds = kinds, .kind = kind};
			double from = berth_cpu_seconds();
			make_kinds(eight, kinds, times[i] * 8 / kinds, &mem, kind);
			MUST(berth_layout_search(&x, NULL, EFFORT / 5, 1, &mem, &tmp, &l, &err));
			printf("| %d | %d | %.4g | %.4g | %.2f %% | %d | %.2f s |\n", kinds,
			       (int)(16 * times[i]), l.per_s, l.bound_per_s,
			       100 * (1 - l.per_s / l.bound_per_s), l.n_groups, berth_cpu_seconds() - from);
		}
}
