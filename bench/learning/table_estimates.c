/* How good estimates of moves are (estimate.h), against the simulator. */
#include "anneal.h"
#include "estimate.h"
#include "fidelity.h"
#include "instances_of_learning.h"
#include "moves.h"
#include "registry.h"

#define LARGEST_MOVE 0.15 /* of all colocation groups */
#define NO_WORSE 1e-3     /* above the base, relative: what a walk at this temperature takes */

enum { MOVES = 1024, CANDIDATES = 16, BASE_EVALUATIONS = 2000, MAX_DRAWS = 32 };

typedef struct sample {
	int32_t n;
	double base_s, expected[MOVES], simulated[MOVES]; /* latencies; expected ones in ns */
} sample;

/* Random moves from base [n_ops], which is put back. */
static void draw_moves(const subject *x, const int32_t *base, sample *out)
{
	const berth_objective latency = berth_objective_of(BERTH_LATENCY);
	const berth_keyed from = {base, NULL};
	BERTH_ARENA(mem);
	berth_eval eval;
	berth_tails tails;
	berth_estimate e;
	berth_moves m;
	berth_rng rng = berth_rng_seed(1, 1);
	int32_t *trial = bench_new(&mem, (size_t)x->p.n_ops, sizeof *trial);
	MUST(berth_eval_new(&x->p, &latency, &mem, &eval, &err));
	MUST(berth_eval_want_near(&eval, &mem, &err));
	MUST(berth_eval_want_log(&eval, &mem, &err));
	MUST(berth_tails_new(&x->p, &mem, &tails, &err));
	MUST(berth_estimate_new(&x->p, &mem, &e, &err));
	MUST(berth_moves_new(&x->p, &mem, &m, &err));
	const berth_base_log *log = berth_eval_base(&eval, from);
	*out = (sample){.base_s = berth_eval_keyed(&eval, from).value};
	if (log)
		berth_tails_update(&tails, log);
	for (; out->n < MOVES && log; out->n++) {
		BERTH_COPY(trial, base, x->p.n_ops);
		berth_moves_draw(&m, LARGEST_MOVE, MAX_DRAWS, &rng, trial);
		berth_estimate_begin(&e);
		for (int32_t k = 0; k < m.n_moved; k++)
			BERTH_EACH(o, x->p.coloc_off, m.moved[k])
				berth_estimate_moved(&e, x->p.coloc_op[o]);
		out->expected[out->n] = (double)berth_estimate_latency(&e, &tails, trial, NULL, INT64_MAX);
		out->simulated[out->n] =
			berth_eval_near(&eval, from, (berth_keyed){trial, NULL}, INT64_MAX).value;
	}
}

/* Shares of moves that are no worse than the base: as drawn, and the least expected of each CANDIDATES. */
static void count_taken(const sample *s, double *drawn, double *chosen)
{
	const double most = s->base_s * (1 + NO_WORSE);
	int taken = 0, best_taken = 0;
	for (int i = 0; i < s->n; i += CANDIDATES) {
		int best = i;
		for (int k = i; k < i + CANDIDATES; k++) {
			taken += s->simulated[k] <= most;
			best = s->expected[k] < s->expected[best] ? k : best;
		}
		best_taken += s->simulated[best] <= most;
	}
	*drawn = (double)taken / s->n;
	*chosen = (double)best_taken / (s->n / CANDIDATES);
}

void table_estimates(const bench_options *o)
{
	static sample s;
	(void)o;
	printf("\n## Estimates of moves against the simulator\n\n%d random moves from what `anneal` finds "
	       "with %d evaluations. Taken: shares of moves that are at most %g %% worse than it, as drawn, "
	       "and of those of the least estimate of each %d.\n\n",
	       MOVES, BASE_EVALUATIONS, 100 * NO_WORSE, CANDIDATES);
	bench_head("instance|Kendall's tau|taken as drawn|taken by estimate");
	for (int i = 0; i < N_SIX; i++) {
		const berth_search_cfg cfg = {.seed = 1, .evaluations = BASE_EVALUATIONS};
		berth_search found;
		double drawn, chosen;
		int64_t pairs;
		BENCH_OPEN(x, six[i].graph, six[i].system);
		MUST(berth_search_new(&x.p, &cfg, &x.mem, &found, &err));
		MUST(berth_method_run(&berth_method_anneal, &found, &x.tmp, &err));
		draw_moves(&x, found.best_dev, &s);
		count_taken(&s, &drawn, &chosen);
		printf("| %s on %s | %.2f | %.0f %% | %.0f %% |\n", six[i].graph, six[i].system,
		       berth_tau_disjoint(s.n, s.expected, s.simulated, s.simulated, &pairs), 100 * drawn,
		       100 * chosen);
	}
}
