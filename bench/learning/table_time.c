/* Methods at equal CPU time, one thread. Annealing and berth: all from the portfolio, all on the reference
 * simulator; annealing moves operators and leaves their order to the system's rule. And other ways to search
 * beside berth: what is published for such problems, and a solver of integer programs on groups. */
#include "anneal.h"
#include "cost_model.h"
#include "instances_of_learning.h"
#include "registry.h"
#include "screen.h"

/* Moves drawn blindly, runs of doubling length at three temperatures. */
static berth_status walk_blindly(berth_search *s, berth_arena *tmp, berth_err *err)
{
	static const double first_temperature[] = {0.001, 0.01, 0.1};
	berth_annealer *a;
	BERTH_TRY(berth_annealer_new(s, 0, true, berth_rng_seed(s->cfg.seed, BERTH_STREAM_METHOD), tmp, &a,
	                             err));
	for (int64_t i = 0, n_steps = 500;
	     berth_anneal_cool(a, (berth_keyed){.op_dev = s->best_dev}, first_temperature[i % 3], n_steps);
	     i++)
		n_steps += i % 3 == 2 ? n_steps : 0;
	return BERTH_OK;
}

/* Annealing as it was before there were estimates, with the seeds of that time. */
static berth_status run_plain(berth_search *s, berth_arena *tmp, berth_err *err)
{
	static const char *const seeds[] = {"single", "heft", "ceft-cpop", "pbqp", "ceft-pbqp"};
	s->cfg.walk_styles = &berth_walks_by_hand;
	for (int i = 0; i < BENCH_N(seeds); i++)
		BERTH_TRY(berth_method_run(bench_method(seeds[i]), s, tmp, err));
	return walk_blindly(s, tmp, err);
}

/* The same from the seeds of today. */
static berth_status run_blind(berth_search *s, berth_arena *tmp, berth_err *err)
{
	s->cfg.walk_styles = &berth_walks_by_hand;
	BERTH_TRY(berth_start_from_portfolio(s, tmp, err));
	return walk_blindly(s, tmp, err);
}

/* What berth is without what is learned: no policy, and annealing as set by hand. */
static berth_status run_unlearned(berth_search *s, berth_arena *tmp, berth_err *err)
{
	berth_agent_cfg cfg = berth_agent_cfg_default();
	cfg.proposals = false;
	s->cfg.walk_styles = &berth_walks_by_hand;
	return berth_agent_run(s, &cfg, tmp, err);
}

const berth_method plain_annealing = {"anneal, plain", "", true, run_plain, NULL, NULL};
static const berth_method blind = {"anneal, blind", "", true, run_blind, NULL, NULL};
static const berth_method unlearned = {"berth, unlearned", "", true, run_unlearned, NULL, NULL};

/* The rivals of a table; one of them is what the others are measured by. */
enum { MOST_RIVALS = 6 };
typedef struct rivals {
	int n, base;
	const berth_method *method[MOST_RIVALS];
} rivals;

/* Values of an instance, medians over seeds; infinite where the base, which is tried first, places nothing.
 * seconds: of CPU. milp answers once. */
static void try_rivals(const subject *x, const rivals *r, const bench_options *o, double *value,
                       double *seconds)
{
	const berth_search_cfg cfg = {.evaluations = INT64_MAX / 4, .cpu_s = o->seconds};
	for (int i = 0; i < r->n; i++) {
		int k = (r->base + r->n - i) % r->n;
		double from = berth_cpu_seconds();
		bool once = strcmp(r->method[k]->name, "milp") == 0;
		value[k] = i && !isfinite(value[r->base])
		                   ? INFINITY
		                   : bench_median_value(x, r->method[k], &cfg, once ? 1 : o->seeds);
		seconds[k] = berth_cpu_seconds() - from;
	}
}

static void print_head(const rivals *r, const char *last)
{
	printf("| instance | operators |");
	for (int k = 0; k < r->n; k++)
		printf(" %s |", r->method[k]->name);
	printf("%s", last);
	bench_rule(2 + r->n + (*last != 0), 0);
}

static void print_ratio(double ratio)
{
	isfinite(ratio) ? printf(" %.4f |", ratio) : printf(" - |");
}

/* ---- annealing and berth ---- */

typedef struct ratios {
	bench_mean mean;
	int better, worse, close;
} ratios;

static void add_ratio(ratios *r, double ratio)
{
	if (!isfinite(ratio))
		return;
	bench_add(&r->mean, ratio);
	r->better += ratio < 0.999;
	r->worse += ratio > 1.001;
	r->close += ratio <= 1.005;
}

static void print_timed_row(int i, const rivals *rival, const bench_options *o, ratios *r)
{
	double value[MOST_RIVALS], seconds[MOST_RIVALS];
	BENCH_OPEN_TIMED(x, i);
	bench_bound(&x);
	try_rivals(&x, rival, o, value, seconds);
	print_timed(i);
	printf(" %d | %.4g |", x.p.n_ops, value[0]);
	for (int k = 1; k < rival->n; k++) {
		print_ratio(value[k] / value[0]);
		add_ratio(&r[k], value[k] / value[0]);
	}
	double bound = x.b.value[BERTH_LATENCY] / value[0];
	printf(" %.4f |\n", bound);
	add_ratio(&r[0], isfinite(value[0]) ? bound : NAN);
}

void table_time(const bench_options *o)
{
	const rivals all = {5,
	                    0,
	                    {&plain_annealing, &blind, bench_method("anneal"), &unlearned,
	                     bench_method("berth")}},
		     few = {3, 0, {&plain_annealing, &unlearned, bench_method("berth")}},
		     *rival = o->seconds < 10 ? &all : &few;
	ratios r[2][MOST_RIVALS] = {0}; /* of the instances of the table, of those drawn by the rule */
	printf("\n### %g s, one thread, %d seed%s\n\n", o->seconds, o->seeds, o->seeds == 1 ? "" : "s");
	print_head(rival, " bound |");
	for (int i = 0; i < N_TIMED; i++)
		print_timed_row(i, rival, o, r[i >= N_CHOSEN]);
	printf("\n");
	bench_head("instances|by the first|geometric mean|of|better by 0.1 %|worse by 0.1 %|not worse by "
	           "over 0.5 %");
	for (int i = 0; i < 2 * rival->n; i++) {
		int k = (i % rival->n + 1) % rival->n; /* the bound last */
		const ratios *x = &r[i / rival->n][k];
		printf("| %s | %s | %.4f | %d | %d | %d | %.0f %% |\n",
		       i < rival->n ? "chosen" : "drawn by the rule", k ? rival->method[k]->name : "bound",
		       bench_mean_of(x->mean), x->mean.n, x->better, x->worse, 100.0 * x->close / x->mean.n);
	}
}

/* ---- the quickest search ---- */

/* Median ratio over seeds of `berth` in so many CPU seconds to annealing from `peft-contended` in as many as
 * it took. */
static double by_quickest(const subject *x, double seconds, int n_seeds)
{
	double ratio[MAX_SEEDS];
	for (int k = 0; k < n_seeds; k++) {
		berth_search_cfg cfg = {
			.seed = (uint64_t)k + 1, .evaluations = BERTH_UNLIMITED, .cpu_s = seconds};
		double from = berth_cpu_seconds(), value = bench_value(x, bench_method("berth"), &cfg);
		cfg.cpu_s = berth_cpu_seconds() - from;
		ratio[k] = value / bench_value(x, &peft_annealing, &cfg);
	}
	return bench_median(ratio, n_seeds);
}

void table_quickest(const bench_options *o)
{
	static const double seconds[] = {0.01, 0.04, 0.1, 1};
	printf("\n### The quickest search\n\n`berth` by annealing from `peft-contended`, in as much CPU time "
	       "as `berth` took: medians of %d seed%s on the pairs above.\n\n",
	       o->seeds, o->seeds == 1 ? "" : "s");
	bench_head("instances|s|geometric mean|of|better by 0.1 %|worse by 0.1 %|not worse by over 0.5 %|the "
	           "worst");
	for (int i = 0; i < 2 * BENCH_N(seconds); i++) {
		const int first = i < BENCH_N(seconds) ? 0 : N_CHOSEN, t = i % BENCH_N(seconds);
		ratios r = {0};
		double most = 0;
		for (int k = first; k < first + N_CHOSEN; k++) {
			BENCH_OPEN_TIMED(x, k);
			double ratio = by_quickest(&x, seconds[t], o->seeds);
			add_ratio(&r, ratio);
			most = isfinite(ratio) ? fmax(most, ratio) : most;
		}
		printf("| %s | %g | %.4f | %d | %d | %d | %.0f %% | %.3f |\n",
		       first ? "drawn by the rule" : "chosen", seconds[t], bench_mean_of(r.mean), r.mean.n,
		       r.better, r.worse, 100.0 * r.close / r.mean.n, most);
	}
}

/* ---- other solvers ---- */

typedef struct standing {
	double milp_s, milp_most_s;
	int best[MOST_RIVALS];
	bench_mean ratio[MOST_RIVALS];
} standing;

static void print_solvers(int i, const rivals *r, const bench_options *o, standing *all)
{
	enum { MILP = 3 };
	const double as_good = 1.001; /* as the best of a row */
	double value[MOST_RIVALS], seconds[MOST_RIVALS], best = INFINITY, most = 0;
	BENCH_OPEN_TIMED(x, i);
	try_rivals(&x, r, o, value, seconds);
	double berth = value[r->base];
	print_timed(i);
	printf(" %d |", x.p.n_ops);
	for (int k = 0; k < r->n; k++) {
		best = fmin(best, value[k]);
		most = fmax(most, value[k]);
		if (k != r->base)
			print_ratio(value[k] / berth);
	}
	printf(" %.4g |\n", berth);
	all->milp_s += seconds[MILP];
	all->milp_most_s = fmax(all->milp_most_s, seconds[MILP]);
	for (int k = 0; k < r->n && isfinite(most); k++) {
		all->best[k] += value[k] <= best * as_good;
		bench_add(&all->ratio[k], value[k] / berth);
	}
}

void table_solvers(const bench_options *o)
{
	static const char *const names[] = {"local-search", "genetic", "tabu", "milp", "anneal", "berth"};
	enum { EVERY = 6 };
	rivals r = {BENCH_N(names), BENCH_N(names) - 1, {NULL}};
	standing all = {0};
	for (int k = 0; k < r.n; k++)
		r.method[k] = bench_method(names[k]);
	printf("\n## Other solvers at equal CPU time: %g s, one thread\n\nMedian of %d seed%s: values by "
	       "`berth`'s, which stands in seconds. Above 1: `berth` is better. `milp` answers once, by CBC "
	       "on at most 16 groups.\n\n",
	       o->seconds, o->seeds, o->seeds == 1 ? "" : "s");
	print_head(&r, "");
	for (int i = 0; i < N_TIMED; i += EVERY)
		print_solvers(i, &r, o, &all);
	int n = all.ratio[0].n;
	printf("\nGeometric means over the %d that all place:", n);
	for (int k = 0; k < r.base; k++)
		printf("%s %s %.4f", k ? "," : "", names[k], bench_mean_of(all.ratio[k]));
	printf(". The best or within 0.1 %% of it:");
	for (int k = 0; k < r.n; k++)
		printf("%s %s %d", k ? "," : "", names[k], all.best[k]);
	printf(" of %d. `milp` took %.1f s of CPU in the mean, %.1f at most.\n", n, all.milp_s / n,
	       all.milp_most_s);
}

/* ---- other worlds ---- */

typedef struct world {
	const char *cost_model, *what; /* what: printed */
	bool no_contention;
	berth_channel_order channels;
} world;

/* The pair's problem as this world values it; accelerators of Tarnawski's are all but the CPUs. */
static void open_in_world(subject *x, int i, const world *w)
{
	timed t = timed_pair(i);
	bench_open(x, t.graph, t.system);
	MUST(berth_cost_model_find(w->cost_model, &x->s.cost_model, &err));
	x->s.op_gap_s = x->s.cost_model->op_gap_s;
	x->s.contention = !w->no_contention;
	x->s.channel_order = w->channels;
	for (int32_t d = 0; d < x->s.n_devs; d++)
		if (strcmp(w->cost_model, "tarnawski") == 0 && strncmp(x->s.dev_kind[d], "cpu", 3) != 0)
			x->s.dev_kind[d] = "acc";
	MUST(berth_problem_new(&x->g, &x->s, &x->mem, &x->tmp, &x->p, &err));
}

/* Ratios of one world to the base of its rivals. */
static void print_world(const world *w, const rivals *r, const bench_options *o)
{
	bench_mean mean[MOST_RIVALS] = {0};
	double most = 0;
	bool all = o->instances < 1 || o->instances > N_TIMED;
	int step = all ? 1 : (int)(N_TIMED / o->instances), where = 0;
	for (int i = 0; i < N_TIMED; i += step) {
		double value[MOST_RIVALS], seconds[MOST_RIVALS];
		subject x __attribute__((cleanup(bench_close)));
		open_in_world(&x, i, w);
		try_rivals(&x, r, o, value, seconds);
		for (int k = 1; k < r->n && isfinite(value[0]); k++)
			bench_add(&mean[k], value[k] / value[0]);
		if (isfinite(value[0]) && value[r->n - 1] / value[0] > most) {
			most = value[r->n - 1] / value[0];
			where = i;
		}
	}
	printf("| %s | %d |", w->what, mean[1].n);
	for (int k = 1; k < r->n; k++)
		print_ratio(bench_mean_of(mean[k]));
	printf(" %.4f (%s on %s) |\n", most, timed_pair(where).graph, timed_pair(where).system);
}

void table_worlds(const bench_options *o)
{
	static const world worlds[] = {
		{"reference", "reference", false, BERTH_CHANNELS_REQUEST},
		{"reference", "reference, channels by program", false, BERTH_CHANNELS_PROGRAM},
		{"reference", "reference, no contention", true, BERTH_CHANNELS_REQUEST},
		{"tarnawski", "tarnawski", false, BERTH_CHANNELS_REQUEST},
		{"placeto", "placeto", false, BERTH_CHANNELS_REQUEST},
		{"serial", "serial", false, BERTH_CHANNELS_REQUEST},
	};
	const rivals r = {3, 0, {&blind, bench_method("anneal"), bench_method("berth")}};
	printf("\nMedian of %d seed%s, %g s of CPU each, latency: `anneal` and `berth` by annealing that "
	       "draws its moves blindly, from the same seeds. Geometric means; below 1 is better.\n\n",
	       o->seeds, o->seeds == 1 ? "" : "s", o->seconds);
	bench_head("world|instances:|`anneal` / blind:|`berth` / blind:|the worst of `berth`:");
	for (int i = 0; i < BENCH_N(worlds); i++)
		print_world(&worlds[i], &r, o);
}
