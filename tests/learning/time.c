/* berth against annealing at equal CPU time, the fairest rival: both from the portfolio, both on the reference simulator, one thread. */
#include "parts.h"

#include "statistics.h"

#include <math.h>
#include <stdio.h>

static const struct {
	const char *graph, *system;
} instances[] = {
	{"zoo:inception-v3:batch=16", "cpu+2gpu"}, {"zoo:inception-v3:batch=8", "hetero-cluster"}, {"zoo:inception-v3:batch=8:training=1", "4gpu"},
	{"zoo:nasnet-a:batch=8", "cpu+2gpu"}, {"zoo:nasnet-a:batch=8", "hetero-cluster"}, {"zoo:nasnet-a:size=mobile:batch=64", "4gpu"},
	{"zoo:resnet50:batch=192:training=1", "cpu+2gpu"}, {"zoo:resnet18:training=1:batch=16", "4gpu"}, {"zoo:bert-base:batch=64:training=1", "hetero-cluster"},
	{"zoo:bert-large:training=1:batch=8", "4gpu"}, {"zoo:gpt2-medium:training=1:batch=4", "hetero-cluster"}, {"zoo:gpt2:batch=8:training=1", "4gpu"},
	{"zoo:vit:batch=32:training=1", "cpu+2gpu"}, {"zoo:randwire:batch=64", "4gpu"}, {"zoo:randwire:graph=er:batch=64", "hetero-cluster"},
	{"zoo:rnnlm:seq=20:layers=4", "4gpu"}, {"zoo:gnmt:seq=10", "4gpu"}, {"zoo:gnmt:seq=6", "hetero-cluster"}, {"zoo:moe:layers=4", "edge"},
	{"zoo:llama-layer:tiles=4", "4gpu"}, {"zoo:llama-layer:tiles=4", "cpu+2gpu"}, {"zoo:ffnn:tiles=4", "cpu+2gpu"}, {"zoo:chain-mm:tiles=4", "4gpu"},
	{"zoo:random:ops=400:seed=21", "cpu+2gpu"}, {"zoo:random:ops=600:ccr=1:seed=22", "hetero-cluster"}, {"zoo:random:ops=2000:seed=23:width=20", "4gpu"},
	{"zoo:random:ops=3000:seed=24:width=30", "hetero-cluster"}, {"zoo:random:ops=1000:seed=25:ccr=0.1", "random:devices=8:seed=9"},
};
enum { N_INSTANCES = sizeof instances / sizeof *instances };

void table_time(int n_seeds, double seconds)
{
	double sum = 0;
	int better = 0, worse = 0, close = 0, n = 0;
	printf("\n## berth and annealing at equal CPU time: %g s, one thread\n\nMedian of %d seeds. Below 1: `berth` is better.\n\n"
	       "| instance | operators | anneal | berth | berth / anneal |\n|---|---|---|---|---|\n", seconds, n_seeds);
	for (int i = 0; i < N_INSTANCES; i++) {
		subject x;
		double a[16], b[16];
		open_subject_of(&x, instances[i].graph, instances[i].system);
		for (int k = 0; k < n_seeds && k < 16; k++) {
			berth_search_cfg cfg = {.seed = (uint64_t)k + 1, .evaluations = INT64_MAX / 4, .cpu_s = seconds};
			a[k] = run_with(&x, "anneal", &cfg);
			b[k] = run_with(&x, "berth", &cfg);
		}
		double anneal = berth_median(a, n_seeds, &x.tmp), berth = berth_median(b, n_seeds, &x.tmp), ratio = berth / anneal;
		printf("| %s on %s | %d | ", instances[i].graph + 4, instances[i].system, x.p.n_ops);
		if (isfinite(ratio))
			printf("%.4g | %.4g | %.4f |\n", anneal, berth, ratio);
		else
			printf("none | none | - |\n");
		fflush(stdout);
		if (isfinite(ratio)) {
			sum += log(ratio);
			better += ratio < 0.999;
			worse += ratio > 1.001;
			close += ratio <= 1.005;
			n++;
		}
		close_subject(&x);
	}
	printf("\nGeometric mean %.4f; better by 0.1 %% on %d, worse by 0.1 %% on %d of %d; not worse by over 0.5 %% on %.0f %%.\n", exp(sum / n), better, worse, n,
	       100.0 * close / n);
}
