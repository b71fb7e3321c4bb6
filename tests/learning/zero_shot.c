/* The shipped policy on what it was not trained on: other model families, other machines, other numbers of
 * devices. */
#include "parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* No family of these is in scripts/train-zero-shot, but random graphs, with other seeds. */
static const char *const graphs[] = {
	"zoo:inception-v3:batch=16",
	"zoo:inception-v3:batch=8:training=1",
	"zoo:nasnet-a:size=mobile:batch=8",
	"zoo:nasnet-a:batch=8",
	"zoo:gpt2",
	"zoo:gpt2:batch=8:training=1",
	"zoo:vit:batch=8",
	"zoo:unet",
	"zoo:gnmt:seq=6",
	"zoo:transformer:batch=8",
	"zoo:moe:layers=4",
	"zoo:llama:layers=4",
	"zoo:llama-layer:tiles=2",
	"zoo:random:ops=400:seed=77",
	"zoo:random:ops=150:seed=78:ccr=1",
};
/* Four built-in machines, four random ones of sizes that training saw, three of sizes that it did not. */
static const struct {
	const char *name;
	bool unseen_size;
} systems[] = {
	{"cpu+2gpu", false}, {"4gpu", false}, {"edge", false}, {"hetero-cluster", false},
	{"random:seed=101:devices=3", false}, {"random:seed=102:topology=bus", false},
	{"random:seed=103:devices=6:topology=hosts", false},
	{"random:seed=104:devices=5:topology=star:heterogeneity=0.2", false},
	{"random:seed=105:devices=7:topology=bus", true}, {"random:seed=106:devices=12", true},
	{"random:seed=107:devices=16:topology=hosts", true},
};
enum { N_GRAPHS = sizeof graphs / sizeof *graphs, N_SYSTEMS = sizeof systems / sizeof *systems };

typedef struct row {
	double single, heft, portfolio, policy, few, anneal, best;
} row;

typedef struct sums {
	int n, not_worse, loose, strict, few_enough;
	double single, heft, portfolio, policy, few; /* logarithms to the best known */
} sums;

static double run(const subject *x, const char *method, int64_t evaluations)
{
	berth_search_cfg cfg = {.seed = 1, .evaluations = evaluations};
	return run_with(x, method, &cfg);
}

static bool measure(const char *graph, const char *system, int64_t evaluations, row *r)
{
	subject x;
	open_subject_of(&x, graph, system);
	bool ok = berth_problem_feasible(&x.p, NULL) == BERTH_OK;
	if (ok) {
		r->single = run(&x, "single", 0);
		r->heft = run(&x, "heft", 0);
		r->policy = run(&x, "policy", 0);
		r->portfolio = run(&x, "berth", 0);
		r->few = run(&x, "berth", 100);
		r->anneal = run(&x, "anneal", evaluations);
		r->best = fmin(fmin(r->anneal, run(&x, "berth", evaluations)),
		               fmin(r->few, fmin(r->policy, r->heft)));
		ok = isfinite(r->best);
	}
	close_subject(&x);
	return ok;
}

static double loss(double value, double best)
{
	return log(fmin(value / best, 100)); /* what does not fit counts as a hundred times the best known */
}

static void add(sums *s, const row *r)
{
	s->n++;
	s->not_worse += r->policy <= r->heft * 1.0001;
	s->loose += r->heft > 1.02 * r->best;
	s->strict += r->heft > 1.02 * r->best && r->policy < r->heft * 0.9999;
	s->few_enough += r->few <= r->anneal * 1.0001;
	s->single += loss(r->single, r->best);
	s->heft += loss(r->heft, r->best);
	s->portfolio += loss(r->portfolio, r->best);
	s->policy += loss(r->policy, r->best);
	s->few += loss(r->few, r->best);
}

static void print_row(const char *name, const sums *s)
{
	printf("| %s | %d | %.3f | %.3f | **%.3f** | %.3f | %.3f | %.0f %% | %.0f %% of %d | %.0f %% |\n",
	       name, s->n, exp(s->single / s->n), exp(s->heft / s->n), exp(s->policy / s->n),
	       exp(s->portfolio / s->n), exp(s->few / s->n), 100.0 * s->not_worse / s->n,
	       s->loose ? 100.0 * s->strict / s->loose : 100.0, s->loose, 100.0 * s->few_enough / s->n);
}

void table_zero_shot(int64_t evaluations)
{
	sums by_graph[N_GRAPHS] = {{0}}, by_system[N_SYSTEMS] = {{0}}, seen = {0}, unseen = {0}, all = {0};
	for (int i = 0; i < N_GRAPHS; i++)
		for (int k = 0; k < N_SYSTEMS; k++) {
			row r;
			if (!measure(graphs[i], systems[k].name, evaluations, &r))
				continue;
			add(&by_graph[i], &r);
			add(&by_system[k], &r);
			add(systems[k].unseen_size ? &unseen : &seen, &r);
			add(&all, &r);
		}
	printf("\n## The shipped policy on what it has not seen\n\n"
	       "`checkpoints/zero-shot.safetensors` on model families that it was not trained on (random "
	       "graphs: other seeds), on the built-in machines and on random\n"
	       "ones. Values relative to the best known (geometric mean; the best of annealing and `berth` "
	       "with %lld evaluations and of all that is shown).\n"
	       "`policy` is one forward pass, decoded up to eight times. `start` is `berth` with no "
	       "evaluations asked: portfolio and policy. `berth` has 100 evaluations, `anneal` in\n"
	       "the last column %lld.\n\n"
	       "| | instances | single | heft | policy | start | berth, 100 | policy not worse than heft | "
	       "better where heft is 2 %% off | berth, 100 not worse than "
	       "anneal |\n|---|---|---|---|---|---|---|---|---|---|\n",
	       (long long)evaluations, (long long)evaluations);
	for (int i = 0; i < N_GRAPHS; i++)
		if (by_graph[i].n)
			print_row(graphs[i] + 4, &by_graph[i]);
	for (int k = 0; k < N_SYSTEMS; k++)
		if (by_system[k].n)
			print_row(systems[k].name, &by_system[k]);
	print_row("numbers of devices that training saw", &seen);
	print_row("numbers that it did not: 7, 12, 16", &unseen);
	print_row("all", &all);
}
