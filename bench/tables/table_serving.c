/* The table of docs/clusters.md on language models over up to 1,024 unlike servers. All but the seconds is
 * the same for one build. */
#include "entries.h"
#include "serving.h"
#include "system_json.h"
#include "zoo.h"

static const bench_pair models[] = {
	{"7B", "zoo:llama:dtype=f16"},
	{"70B", "zoo:llama:dtype=f16:layers=80:hidden=8192:heads=64:kv-heads=8:ffn=28672"},
	{"8x7B", "zoo:moe:dtype=f16"},
	{"405B", "zoo:llama:dtype=f16:layers=126:hidden=16384:heads=128:kv-heads=8:ffn=53248:vocab=128256"},
};
static const char *const modes[] = {"decode:batch=16:seq=2048", "prefill:chunk=512:seq=2048"};
static const int64_t numbers[] = {1, 8, 64, 1024};

/* Eight GPUs a server on NVLink, servers on ports of 100 gigabit a second: datasheets of A100 80 GB and V100
 * 32 GB (16 bits, matrix units), and L40S; half of the peak in products of matrices. */
static const char *const gpu[] = {
	"\"kind\":\"a100-80\",\"peak_flops\":3.12e14,\"mem_bandwidth\":2.0e12,\"memory_bytes\":78000000000",
	"\"kind\":\"l40s\",\"peak_flops\":3.62e14,\"mem_bandwidth\":8.64e11,\"memory_bytes\":46000000000",
	"\"kind\":\"v100-32\",\"peak_flops\":1.25e14,\"mem_bandwidth\":9.0e11,\"memory_bytes\":31000000000",
};
enum { N_KINDS = 3, N_GPUS = 8 };

static void read_system(subject *x)
{
	static const double inside[] = {3e11, 2.5e10, 1.2e11};
	bench_text t = {0};
	bench_put(&t, "{\"format\":\"berth-system\",\"version\":1,\"name\":\"three kinds\",\"devices\":[");
	for (int i = 0; i < N_KINDS * N_GPUS; i++)
		bench_put(&t, "%s{\"name\":\"s%dg%d\",\"host\":\"s%d\",%s,\"op_overhead_s\":7e-6,"
		          "\"efficiency\":{\"*\":0.1,\"MatMul\":0.5,\"Gemm\":0.5}}",
		          i ? "," : "", i / N_GPUS, i % N_GPUS, i / N_GPUS, gpu[i / N_GPUS]);
	bench_put(&t, "],\"links\":[");
	for (int k = 1; k < N_KINDS * N_GPUS; k++)
		for (int i = 0; i < k; i++) {
			int a = i / N_GPUS, b = k / N_GPUS;
			bench_put(&t, "%s{\"from\":\"s%dg%d\",\"to\":\"s%dg%d\",\"both_ways\":true,"
			          "\"latency_s\":%s,\"bandwidth\":%.3g}", k > 1 ? "," : "", a, i % N_GPUS, b,
			          k % N_GPUS, a == b ? "5e-6" : "2e-5", a == b ? inside[a] : 1.2e10);
		}
	bench_put(&t, "]}");
	MUST(berth_system_parse_json("system", t.text, t.n, &x->mem, &x->tmp, &x->s, &err));
}

static void print_row(const bench_pair *model, const char *mode, int64_t servers)
{
	berth_cluster c;
	berth_granularity blocks;
	berth_serving v;
	berth_serving_plan plan;
	subject x __attribute__((cleanup(bench_close))) = {0};
	char spec[256];
	double from = berth_cpu_seconds();
	/* half of them the first kind, the rest the other two */
	int64_t n[N_KINDS] = {servers - servers / 4 - servers / 4, servers / 4, servers / 4};
	read_system(&x);
	snprintf(spec, sizeof spec, "%s:mode=%s", model->system, mode);
	MUST(berth_zoo_build(spec, &x.mem, &x.tmp, &x.g, &err));
	MUST(berth_problem_new(&x.g, &x.s, &x.mem, &x.tmp, &x.p, &err));
	MUST(berth_cluster_new(&x.s, &x.mem, &x.tmp, &c, &err));
	MUST(berth_granularity_find(&x.g, BERTH_GRAIN_LAYER, &x.mem, &x.tmp, &blocks, &err));
	MUST(berth_serving_new(&x.p, &c, &blocks, n, &x.mem, &x.tmp, &v, &err));
	MUST(berth_serving_solve(&v, &x.mem, &x.tmp, &plan, &err));
	printf("| %s | %.*s | %d ", model->graph, (int)strcspn(mode, ":"), mode, (int)servers);
	if (plan.n_copies == 0)
		printf("| none fits | | | | ");
	else
		printf("| %d | %d | %.4g | %.2f %% | %.1f %% ", (int)plan.n_copies, (int)plan.n_groups,
		       plan.per_s, 100 * (1 - plan.per_s / plan.groups_per_s),
		       100 * (1 - plan.per_s / plan.bound_per_s));
	printf("| %d | %.2f s |\n", (int)plan.solved, berth_cpu_seconds() - from);
}

void table_serving(const bench_options *o)
{
	(void)o;
	bench_head("model|use|servers:|copies:|unlike groups:|steps/s:|below the best of such groups, at "
	           "most:|below any plan, at most:|pipelines solved:|CPU time:");
	for (int i = 0; i < 32; i++)
		print_row(&models[i / 8], modes[i / 4 % 2], numbers[i % 4]);
}
