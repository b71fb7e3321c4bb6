/* The batched evaluator on each instruction set that this processor has, and the reference on the same placements in the same model, one core. */
#include "bench.h"

#include "batch.h"
#include "rng.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct batch_ctx {
	berth_batch *b;
	const uint8_t *lanes;
	int64_t sink, peak[BERTH_BATCH_MAX_DEVS_FULL * BERTH_BATCH_LANES];
} batch_ctx;

static void must(berth_status st, const berth_err *err)
{
	if (st == BERTH_OK)
		return;
	fprintf(stderr, "berth-bench: %s\n", err->msg);
	exit(1);
}

static void run_batch(void *arg)
{
	batch_ctx *c = arg;
	int64_t latency[BERTH_BATCH_LANES];
	berth_batch_run(c->b, c->lanes, latency);
	c->sink += latency[0];
}

static void run_memory(void *arg)
{
	batch_ctx *c = arg;
	int64_t latency[BERTH_BATCH_LANES];
	double excess[BERTH_BATCH_LANES];
	berth_batch_run(c->b, c->lanes, latency);
	berth_batch_memory(c->b, c->lanes, c->peak);
	berth_batch_excess(c->b, c->peak, excess);
	c->sink += latency[0];
}

static void one_graph(bench_out *out, const char *zoo, const char *system)
{
	static const char *const isa_name[] = {"", "baseline", "avx2", "avx512"};
	bench_problem b;
	berth_err err;
	char label[128];
	bench_compile(&b, zoo, system);
	uint8_t *lanes;
	must(BERTH_NEW(&b.mem, lanes, (size_t)b.p.n_ops * BERTH_BATCH_LANES, &err), &err);
	berth_rng rng = berth_rng_seed(1, 0);
	for (size_t i = 0; i < (size_t)b.p.n_ops * BERTH_BATCH_LANES; i++)
		lanes[i] = (uint8_t)berth_rng_below(&rng, (uint32_t)b.p.n_devs);
	for (int isa = BERTH_ISA_BASELINE; isa <= BERTH_ISA_AVX512; isa++)
		for (int full = 0; full < 4 && berth_isa_usable((berth_isa)isa); full++) {
			static const char *const with[] = {"", ", memory", ", channels", ", channels, memory"};
			batch_ctx c = {.lanes = lanes};
			berth_batch_cfg cfg = {.isa = (berth_isa)isa, .memory = full & 1, .channels = full & 2};
			must(berth_batch_new(&b.p, &cfg, &b.mem, &c.b, &err), &err);
			double s = bench_seconds(cfg.memory ? run_memory : run_batch, &c) / BERTH_BATCH_LANES;
			snprintf(label, sizeof label, "%s, %d ops, %d edges, %s%s, %s", zoo + 4, b.g.n_ops, b.g.n_edges, isa_name[isa], with[full],
			         berth_batch_narrow(c.b) ? "32 bits" : "64 bits");
			bench_row(out, "batch_rate", label, 1 / s, "placements/s");
			bench_row(out, "batch", label, s * 1e9 / b.g.n_ops, "ns/op");
		}
	bench_discard(&b);
}

void bench_batch(bench_out *out)
{
	one_graph(out, "zoo:resnet50", "4gpu");
	one_graph(out, "zoo:inception-v3", "4gpu");
	one_graph(out, "zoo:bert-large:training=1", "4gpu");
	one_graph(out, "zoo:random:ops=100000:seed=1", "4gpu");
}
