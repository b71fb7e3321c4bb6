/* The PBQP solver on a random problem of 20,000 nodes, 4 alternatives and mean degree 3: time of each mode,
 * and its cost over that of BERTH_PBQP_BEST. */
#include "speeds.h"

#include "pbqp.h"
#include "rng.h"

enum { N_NODES = 20000, N_ALTS = 4, N_EDGES = 30000, MOST = 10000 };

typedef struct pbqp_ctx {
	berth_pbqp *q;
	berth_pbqp_mode mode;
	berth_pbqp_stats stats;
	int32_t alt[N_NODES];
	berth_arena tmp;
} pbqp_ctx;

static void random_costs(berth_rng *rng, int64_t *cost, int32_t n)
{
	for (int32_t i = 0; i < n; i++)
		cost[i] = berth_rng_below(rng, MOST);
}

static void make_problem(pbqp_ctx *c, berth_arena *mem)
{
	int64_t matrix[N_ALTS * N_ALTS];
	berth_rng rng = berth_rng_seed(1, BERTH_STREAM_RANDOM);
	for (int32_t v = 0; v < N_NODES; v++)
		c->alt[v] = N_ALTS;
	MUST(berth_pbqp_new(N_NODES, c->alt, mem, &c->q, &err));
	for (int32_t v = 0; v < N_NODES; v++)
		random_costs(&rng, berth_pbqp_node(c->q, v), N_ALTS);
	for (int32_t e = 0; e < N_EDGES; e++) {
		int32_t u = (int32_t)berth_rng_below(&rng, N_NODES),
			v = (u + 1 + (int32_t)berth_rng_below(&rng, N_NODES - 1)) % N_NODES;
		random_costs(&rng, matrix, N_ALTS * N_ALTS);
		MUST(berth_pbqp_edge(c->q, u, v, matrix, &err));
	}
}

static void solve(void *arg)
{
	pbqp_ctx *c = arg;
	MUST(berth_pbqp_solve(c->q, c->mode, 0, c->alt, &c->stats, &c->tmp, &err));
}

void speed_pbqp(void)
{
	static const struct {
		const char *time, *cost;
		berth_pbqp_mode mode;
	} rows[] = {
		{"pbqp.best", "pbqp.best.bound", BERTH_PBQP_BEST},
		{"pbqp.rn-early", "pbqp.rn-early.cost", BERTH_PBQP_RN_EARLY},
		{"pbqp.rn-late", "pbqp.rn-late.cost", BERTH_PBQP_RN_LATE},
	};
	berth_arena mem = {0};
	static pbqp_ctx large;
	pbqp_ctx *c = &large;
	double best = 0;
	make_problem(c, &mem);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		c->mode = rows[i].mode;
		speed_row(rows[i].time, "random 20000", bench_seconds(solve, c) * 1e3, "ms");
		best = i == 0 ? (double)c->stats.cost : best;
		speed_row(rows[i].cost, "random 20000",
		          i == 0 ? best / (double)c->stats.lower_bound : (double)c->stats.cost / best,
		          i == 0 ? "x bound" : "x best");
	}
	berth_arena_free(&mem);
	berth_arena_free(&c->tmp);
}
