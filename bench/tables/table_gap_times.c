/* The table of docs/bounds.md that tells when a search's best is proven how close, and what fixing operators
 * by bound and incumbent comes to. Counts are the same for one build; seconds are CPU time of the machine at
 * hand. */
#include "ceft.h"
#include "entries.h"
#include "search.h"
#include "systems_builtin.h"

static const double gaps[] = {0.05, 0.01, 5e-5};

enum { N_GAPS = 3, MOST = 4096, MOST_SYSTEMS = 512 };
#define NEAR 0.01 /* of the value that the search ends with */

/* Incumbents of a search: CPU seconds since the bounds were begun, and values. */
typedef struct track {
	double from, at[MOST], value[MOST];
	int32_t n;
} track;

/* Seconds of instances, and counts. */
typedef struct sums {
	double to_gap[N_GAPS][MOST_SYSTEMS], to_value[MOST_SYSTEMS], fixed[MOST_SYSTEMS];
	int32_t n, n_gap[N_GAPS], better, worse;
} sums;

static void note(void *ctx, const struct berth_search *s)
{
	track *t = ctx;
	if (!berth_score_feasible(s->best))
		return;
	int32_t k = t->n < MOST ? t->n++ : MOST - 1;
	t->at[k] = berth_cpu_seconds() - t->from;
	t->value[k] = s->best.value;
}

/* When the best was at most that; NAN: never. */
static double reached(const track *t, double value)
{
	for (int32_t k = 0; k < t->n; k++)
		if (t->value[k] <= value)
			return t->at[k];
	return NAN;
}

/* Take devices out on which an operator's paths reach the incumbent. Returns the share of colocation groups
 * with several devices that keep one. */
static double fix_operators(berth_problem *p, int64_t best_ns, berth_arena *mem)
{
	berth_ceft ceft;
	int32_t free = 0, fixed = 0;
	size_t cells = (size_t)p->n_ops * (size_t)p->n_devs;
	int64_t *tail = bench_new(mem, cells, sizeof *tail);
	uint8_t *legal = bench_new(mem, cells, sizeof *legal);
	MUST(berth_ceft_new(p, mem, &ceft, &err));
	berth_ceft_tails(p, NULL, tail);
	BERTH_COPY(legal, p->op_dev_legal, cells);
	for (int32_t u = 0; u < p->n_colocs; u++) {
		int32_t before = 0, left = 0;
		for (int32_t d = 0; d < p->n_devs; d++) {
			bool may = true;
			before += berth_op_legal(p, p->coloc_op[p->coloc_off[u]], d);
			BERTH_EACH(k, p->coloc_off, u) {
				size_t at = (size_t)p->coloc_op[k] * (size_t)p->n_devs + (size_t)d;
				may &= p->op_dev_legal[at] && ceft.finish_ns[at] + tail[at] < best_ns;
			}
			left += may;
			if (!may)
				BERTH_EACH(k, p->coloc_off, u)
					BERTH_ROW(legal, p->coloc_op[k], p->n_devs)[d] = 0;
		}
		free += before > 1;
		fixed += before > 1 && left <= 1;
		if (left == 0)
			BERTH_EACH(k, p->coloc_off, u)
				BERTH_COPY(BERTH_ROW(legal, p->coloc_op[k], p->n_devs),
				           BERTH_ROW(p->op_dev_legal, p->coloc_op[k], p->n_devs), p->n_devs);
	}
	p->op_dev_legal = legal;
	return free ? (double)fixed / free : 0;
}

/* Annealing, noted in t or from a placement. */
static double search(subject *x, int64_t evaluations, uint64_t seed, const berth_solution *from, track *t,
                     berth_solution *r)
{
	const berth_search_cfg cfg = {.seed = seed,
	                              .evaluations = evaluations,
	                              .kept = t ? note : NULL,
	                              .kept_ctx = t,
	                              .start_dev = from ? from->op_dev : NULL,
	                              .start_order = from ? from->op_order : NULL};
	bench_solve(x, "anneal", &cfg, r);
	return r->value;
}

/* The same search from the best, with and without operators that are fixed by it. */
static void compare_fixed(subject *x, int64_t evaluations, const berth_solution *best, sums *all)
{
	berth_solution r;
	berth_problem whole = x->p;
	double without = search(x, evaluations / 2, 2, best, NULL, &r);
	all->fixed[all->n] = fix_operators(&x->p, llround(best->value * 1e9), &x->mem);
	double with = search(x, evaluations / 2, 2, best, NULL, &r);
	x->p = whole;
	all->better += with < without * (1 - 1e-9);
	all->worse += with > without * (1 + 1e-9);
}

static void add_instance(const char *model, const char *system, int64_t evaluations, sums *all)
{
	static track t;
	const berth_objective latency = berth_objective_of(BERTH_LATENCY);
	const berth_bound_options o = {.objective = &latency, .evaluations = evaluations};
	berth_solution r;
	BENCH_OPEN(x, model, system);
	t.n = 0;
	t.from = berth_cpu_seconds();
	MUST(berth_search_bounds(&x.p, &o, &x.tmp, &x.b, &err));
	search(&x, evaluations, 1, NULL, &t, &r);
	if (!r.feasible)
		return;
	for (int k = 0; k < N_GAPS; k++) {
		double at = reached(&t, x.b.value[BERTH_LATENCY] * (1 + gaps[k]));
		if (!isnan(at))
			all->to_gap[k][all->n_gap[k]++] = at;
	}
	all->to_value[all->n] = reached(&t, r.value * (1 + NEAR));
	compare_fixed(&x, evaluations, &r, all);
	all->n++;
}

void table_gaps(const bench_options *o)
{
	static const char *const usual[] = {
		"resnet50", "inception-v3", "bert-base", "gpt2", "llama", "transformer", "rnnlm", "randwire",
		"llama-block", "chain-mm", "random", "mobilenet-v2:training=1"};
	int32_t all = 0, n_gap[N_GAPS] = {0}, better = 0, worse = 0, n_systems,
		n = o->n_words ? o->n_words : BENCH_N(usual);
	const berth_system_row *system = berth_system_builtin_list(&n_systems);
	bench_head("model|instances:|proven within 5 %:|1 %:|0 %:|CPU time to 5 %:|CPU time to 1 %:|"
	           "CPU time to 0 %:|CPU time to the value:|fixed:|with them better, worse:");
	for (int32_t i = 0; i < n; i++) {
		sums x = {0};
		const char *model = o->n_words ? o->word[i] : usual[i];
		for (int32_t k = 0; k < n_systems; k++)
			if (!system[k].recipe)
				add_instance(model, system[k].name, o->evaluations, &x);
		all += x.n;
		better += x.better;
		worse += x.worse;
		for (int k = 0; k < N_GAPS; k++)
			n_gap[k] += x.n_gap[k];
		printf("| %s | %d |", model, (int)x.n);
		for (int k = 0; k < N_GAPS; k++)
			printf(" %d |", (int)x.n_gap[k]);
		for (int k = 0; k < N_GAPS; k++) {
			double at = bench_median(x.to_gap[k], x.n_gap[k]);
			isnan(at) ? printf(" - |") : printf(" %.2f s |", at);
		}
		printf(" %.2f s | %.0f %% | %d, %d |\n", bench_median(x.to_value, x.n),
		       100 * bench_median(x.fixed, x.n), (int)x.better, (int)x.worse);
	}
	printf("\nOf %d instances %d are proven within 5 %%, %d within 1 %%, %d best. With fixed operators "
	       "the search from the best ends better on %d and worse on %d.\n",
	       (int)all, (int)n_gap[0], (int)n_gap[1], (int)n_gap[2], (int)better, (int)worse);
}
