/* berth against annealing at equal CPU time, the fairest rival: both from the portfolio, both on the
 * reference simulator, one thread. Annealing moves operators and leaves their order to the system's rule;
 * what berth is without orders stands beside it. */
#include "parts.h"

#include "agent.h"
#include "statistics.h"

#include <math.h>
#include <stdio.h>

static const struct {
	const char *graph, *system;
} instances[] = {
	{"zoo:inception-v3:batch=16", "cpu+2gpu"}, {"zoo:inception-v3:batch=8", "hetero-cluster"},
	{"zoo:inception-v3:batch=8:training=1", "4gpu"},
	{"zoo:nasnet-a:batch=8", "cpu+2gpu"}, {"zoo:nasnet-a:batch=8", "hetero-cluster"},
	{"zoo:nasnet-a:size=mobile:batch=64", "4gpu"},
	{"zoo:resnet50:batch=192:training=1", "cpu+2gpu"}, {"zoo:resnet18:training=1:batch=16", "4gpu"},
	{"zoo:bert-base:batch=64:training=1", "hetero-cluster"},
	{"zoo:bert-large:training=1:batch=8", "4gpu"},
	{"zoo:gpt2-medium:training=1:batch=4", "hetero-cluster"}, {"zoo:gpt2:batch=8:training=1", "4gpu"},
	{"zoo:vit:batch=32:training=1", "cpu+2gpu"}, {"zoo:randwire:batch=64", "4gpu"},
	{"zoo:randwire:graph=er:batch=64", "hetero-cluster"},
	{"zoo:rnnlm:seq=20:layers=4", "4gpu"}, {"zoo:gnmt:seq=10", "4gpu"},
	{"zoo:gnmt:seq=6", "hetero-cluster"}, {"zoo:moe:layers=4", "edge"},
	{"zoo:llama-layer:tiles=4", "4gpu"}, {"zoo:llama-layer:tiles=4", "cpu+2gpu"},
	{"zoo:ffnn:tiles=4", "cpu+2gpu"}, {"zoo:chain-mm:tiles=4", "4gpu"},
	{"zoo:random:ops=400:seed=21", "cpu+2gpu"}, {"zoo:random:ops=600:ccr=1:seed=22", "hetero-cluster"},
	{"zoo:random:ops=2000:seed=23:width=20", "4gpu"},
	{"zoo:random:ops=3000:seed=24:width=30", "hetero-cluster"},
	{"zoo:random:ops=1000:seed=25:ccr=0.1", "random:devices=8:seed=9"},
};
enum {
	N_INSTANCES = sizeof instances / sizeof *instances,
	FEW = 5,
	MAX_SEEDS = 100
}; /* of long runs one instance in FEW */

static berth_status run_by_rule(berth_search *s, berth_arena *tmp, berth_err *err)
{
	berth_agent_cfg cfg = berth_agent_cfg_default();
	cfg.orders = false;
	return berth_agent_run(s, &cfg, tmp, err);
}

static const berth_method by_rule = {"berth", "without orders", true, run_by_rule, NULL};

typedef struct ratios {
	double sum;
	int better, worse, close, n;
} ratios;

static void add(ratios *r, double ratio)
{
	r->sum += log(ratio);
	r->better += ratio < 0.999;
	r->worse += ratio > 1.001;
	r->close += ratio <= 1.005;
	r->n++;
}

static void print_ratios(const char *name, const ratios *r)
{
	printf("%s: geometric mean %.4f; better by 0.1 %% on %d, worse by 0.1 %% on %d of %d; not worse by "
	       "over 0.5 %% on %.0f %%.\n",
	       name, exp(r->sum / r->n), r->better, r->worse, r->n, 100.0 * r->close / r->n);
}

void table_time(int n_seeds, double seconds)
{
	ratios all = {0}, rule = {0};
	printf("\n## berth and annealing at equal CPU time: %g s, one thread\n\nMedian of %d seeds. Below 1: "
	       "`berth` is better. By the rule: without orders of its own.\n\n"
	       "| instance | operators | anneal | berth | berth / anneal | by the rule / anneal "
	       "|\n|---|---|---|---|---|---|\n",
	       seconds, n_seeds);
	for (int i = 0; i < N_INSTANCES; i += seconds < 60 ? 1 : FEW) {
		subject x;
		double a[MAX_SEEDS], b[MAX_SEEDS], c[MAX_SEEDS];
		open_subject_of(&x, instances[i].graph, instances[i].system);
		for (int k = 0; k < n_seeds; k++) {
			berth_search_cfg cfg = {
				.seed = (uint64_t)k + 1, .evaluations = INT64_MAX / 4, .cpu_s = seconds};
			a[k] = run_with(&x, "anneal", &cfg);
			b[k] = run_with(&x, "berth", &cfg);
			c[k] = run_this(&x, &by_rule, &cfg);
		}
		double anneal = berth_median(a, n_seeds, &x.tmp), berth = berth_median(b, n_seeds, &x.tmp),
		       plain = berth_median(c, n_seeds, &x.tmp);
		printf("| %s on %s | %d | ", instances[i].graph + 4, instances[i].system, x.p.n_ops);
		if (isfinite(berth / anneal) && isfinite(plain / anneal)) {
			printf("%.4g | %.4g | %.4f | %.4f |\n", anneal, berth, berth / anneal,
			       plain / anneal);
			add(&all, berth / anneal);
			add(&rule, plain / anneal);
		} else {
			printf("none | none | - | - |\n");
		}
		fflush(stdout);
		close_subject(&x);
	}
	printf("\n");
	print_ratios("berth / anneal", &all);
	print_ratios("By the rule / anneal", &rule);
}
