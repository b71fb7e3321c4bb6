/* Does learning pay where an evaluation is a real run? Two CPU workers of full and half speed, of which the
 * fast one holds six tenths of the model, by the CPU's clock: threads of ONNX Runtime, or for a PyTorch
 * module (FILE.py:FACTORY) processes, as Python computes in one thread at a time. Both ways measure a
 * placement, re-fit the simulator to all runs, and choose the next one on it, until the runs are used up:
 *   learning   a policy trained in the profiled simulator clones the fastest four, goes on learning in the
 *              present one, and proposes the best that came up, three draws, and what `berth` makes of it
 *   annealing  as `train --env measured` does
 * What both came to runs turn by turn beside the best single device that holds the model. */
#include "engine_find.h"
#include "entries.h"
#include "load.h"
#include "measured_train.h"
#include "sim.h"
#include "system_json.h"
#include "train.h"

#include <stdlib.h>
#include <unistd.h>

enum { LEARN, ANNEAL, SINGLE, N_WAYS, TURNS = 9, ELITE = 4, DRAWS = 3, LEARNED = 4000, TRAINED = 20000 };

/* A policy that goes on learning, and what it still proposes. */
typedef struct learned {
	berth_policy_file f;
	uint64_t seed;
	int32_t n, *op_dev[DRAWS + 2];
	berth_arena mem, *keep; /* of these; of the policy */
} learned;

static void fastest(const berth_mtrain_trial *trial, int32_t n, const int32_t *out[ELITE], int32_t *n_out)
{
	bool taken[1000] = {0};
	for (*n_out = 0; *n_out < ELITE; ++*n_out) {
		int32_t best = -1;
		for (int32_t i = 0; i < n; i++)
			if (!taken[i] && trial[i].seconds > 0 &&
			    (best < 0 || trial[i].seconds < trial[best].seconds))
				best = i;
		if (best < 0)
			return;
		taken[best] = true;
		out[*n_out] = trial[best].op_dev;
	}
}

static void queue(learned *w, const int32_t *op_dev, int32_t n_ops)
{
	w->op_dev[w->n] = bench_new(&w->mem, (size_t)n_ops, sizeof *op_dev);
	memcpy(w->op_dev[w->n++], op_dev, (size_t)n_ops * sizeof *op_dev);
}

static void learn(learned *w, const berth_problem *p, const berth_mtrain_trial *trial, int32_t n,
                  berth_arena *tmp)
{
	const berth_search_cfg how = {.seed = w->seed, .evaluations = LEARNED, .policy = &w->f};
	const int32_t *best[ELITE];
	int32_t n_best, *drawn = bench_new(&w->mem, (size_t)p->n_ops, sizeof *drawn);
	berth_search s, *one = &s;
	berth_learner l;
	berth_step_stats stats = {0};
	MUST(berth_search_new(p, &how, &w->mem, &s, &err));
	MUST(berth_learner_new(&w->f.cfg, w->seed, w->f.params, &one, 1, &w->mem, tmp, &l, &err));
	fastest(trial, n, best, &n_best);
	while (n_best-- > 0)
		MUST(berth_learner_clone(&l, 0, best[n_best], 4, &err));
	for (int64_t left = LEARNED; left > 0; left -= l.cfg.batch)
		MUST(berth_learner_step(&l, 0, (int32_t)fmin((double)left, l.cfg.batch), &stats, &err));
	nn_real *params = bench_new(w->keep, policy_param_count(&l.dims), sizeof *params);
	memcpy(params, l.params, policy_param_count(&l.dims) * sizeof *params);
	w->f.params = params;
	for (int32_t i = 0; i < DRAWS && i < stats.n; i++) {
		berth_learner_drawn(&l, 0, i, drawn);
		queue(w, drawn, p->n_ops);
	}
	queue(w, s.best_dev, p->n_ops);
	MUST(berth_search_new(p, &how, &w->mem, &s, &err));
	MUST(berth_method_run(bench_method("berth"), &s, tmp, &err));
	queue(w, s.best_dev, p->n_ops);
}

static berth_status propose(void *ctx, const berth_problem *p, const berth_mtrain_trial *trial, int32_t n,
                            berth_arena *scratch, berth_arena *tmp, const int32_t **op_dev,
                            const int32_t **order, berth_err *err)
{
	learned *w = ctx;
	(void)scratch;
	(void)err;
	if (w->n == 0) {
		berth_arena_free(&w->mem);
		learn(w, p, trial, n, tmp);
	}
	*op_dev = w->op_dev[--w->n];
	*order = NULL;
	return BERTH_OK;
}

static void train(const berth_problem *p, uint64_t seed, subject *x, berth_policy_file *out)
{
	char path[] = BENCH_PATH;
	berth_train_cfg cfg = berth_train_cfg_default();
	berth_train_item item = {p, "graph", "system"};
	berth_train_result r;
	bench_make_file(path);
	unlink(path);
	cfg.seed = seed;
	cfg.evaluations = TRAINED;
	cfg.path = path;
	MUST(berth_train(&cfg, &item, 1, &x->mem, &x->tmp, &r, &err));
	MUST(berth_policy_file_read(path, &x->mem, out, &err));
	unlink(path);
}

static void open_engine(const char *file, subject *x, berth_measured *m)
{
	static const char pair[] =
		"{\"format\":\"berth-system\",\"version\":1,\"name\":\"pair\",\"contention\":false,"
		"\"devices\":[{\"name\":\"cpu0\",\"kind\":\"cpu\"},{\"name\":\"cpu1\",\"kind\":\"cpu\"}],"
		"\"links\":[{\"from\":\"cpu0\",\"to\":\"cpu1\",\"bandwidth\":1e10,\"both_ways\":true}]}";
	const char *engine = berth_module_file_length(file)
		? "torch --devices cpu0=cpu,cpu1=cpu*0.5 --threads 1 --processes --clock cpu"
		: "ort --devices cpu0,cpu1=0.5 --clock cpu";
	berth_read_options words = {.module_graph = berth_module_graph_of};
	berth_measured_cfg how = berth_measured_cfg_default();
	MUST(berth_graph_load(file, &words, &x->mem, &x->tmp, &x->g, NULL, &err));
	MUST(berth_graph_split(file, NULL, &x->mem, &how.model, &words, &err));
	how.dim = words.dim;
	how.n_dims = words.n_dims;
	MUST(berth_system_parse_json("pair", pair, sizeof pair - 1, &x->mem, &x->tmp, &x->s, &err));
	MUST(berth_engine_find(engine, &x->mem, &how.engine, &err));
	MUST(berth_measured_open(&how, &x->g, &x->s, &x->mem, m, &err));
}

/* The fast device holds six tenths of what the model takes there. */
static void cap(subject *x, berth_sim *sim)
{
	berth_sim_result r;
	int32_t *all = bench_new(&x->mem, (size_t)x->g.n_ops, sizeof *all);
	berth_sim_want_peaks(sim, true);
	berth_sim_run(sim, all, NULL, &r);
	x->s.dev_memory_bytes[0] = berth_sim_last(sim).peak_bytes[0] * 6 / 10;
}

static void profiled(subject *x, berth_mtrain *t)
{
	MUST(berth_fitted_sim_profiled(&t->profile, &x->g, &x->s, &x->mem, &x->tmp, &t->sim, &err));
	t->profiled = t->sim.s;
}

/* One row; the ratio of learning to annealing. */
static double add_row(const char *file, uint64_t seed, int64_t runs)
{
	subject x = {0};
	berth_measured m;
	berth_mtrain_cfg cfg = berth_mtrain_cfg_default();
	berth_mtrain t[2];
	berth_mtrain_result got[2];
	learned policy = {.seed = seed, .keep = &x.mem};
	double took[N_WAYS][TURNS], ratio[3][TURNS];
	berth_search s;
	berth_spread spread;
	open_engine(file, &x, &m);
	cfg.seed = seed;
	MUST(berth_mtrain_open(&m, &cfg, &x.mem, &x.tmp, &t[LEARN], &err));
	cap(&x, t[LEARN].sim.sim);
	t[ANNEAL] = t[LEARN];
	profiled(&x, &t[LEARN]);
	profiled(&x, &t[ANNEAL]);
	train(&t[LEARN].sim.p, seed, &x, &policy.f);
	for (int i = LEARN; i <= ANNEAL; i++) {
		cfg.propose = i == LEARN ? propose : NULL;
		cfg.propose_ctx = &policy;
		cfg.runs = m.runs + runs + berth_mtrain_least_runs() - 6; /* what the last placement leaves */
		MUST(berth_mtrain_run(&t[i], &x.tmp, &got[i], &err));
		if (!got[i].answered)
			bench_refuse(got[i].failure ? got[i].failure : "nothing was measured");
	}
	const berth_search_cfg one = {.seed = 1, .evaluations = 1};
	MUST(berth_search_new(&t[ANNEAL].sim.p, &one, &x.mem, &s, &err));
	MUST(berth_method_run(bench_method("single"), &s, &x.tmp, &err));
	for (int k = 0; k < TURNS; k++) {
		for (int i = 0; i < N_WAYS; i++) {
			berth_measurement run;
			MUST(berth_measured_run(&m, i == SINGLE ? s.best_dev : got[i].op_dev,
			                        i == SINGLE ? NULL : got[i].order, 1, 3, &x.mem, &x.tmp, &run,
			                        &err));
			took[i][k] = run.wall.median;
		}
		for (int i = 0; i < 3; i++)
			ratio[i][k] = took[i == ANNEAL ? ANNEAL : LEARN][k] /
			              took[i == SINGLE ? ANNEAL : SINGLE][k];
	}
	MUST(berth_spread_of(ratio[SINGLE], TURNS, &x.tmp, &spread, &err));
	const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
	name += berth_module_file_length(name) ? berth_module_file_length(name) + 1 : 0;
	printf("| %.*s | %.2f ms | %.3f | %.3f | %.3f (%.3f to %.3f) | %d, %d |\n",
	       (int)strcspn(name, "."), name, 1e3 * bench_median(took[SINGLE], TURNS),
	       bench_median(ratio[LEARN], TURNS), bench_median(ratio[ANNEAL], TURNS), spread.median,
	       spread.low, spread.high, (int)got[LEARN].n_measured, (int)got[ANNEAL].n_measured);
	berth_measured_close(&m);
	berth_arena_free(&policy.mem);
	bench_close(&x);
	return spread.median;
}

void table_measured(const bench_options *o)
{
	double ratio[1000];
	int32_t n = 0;
	berth_arena tmp = {0};
	bench_head("model|best single device:|learning, of it:|annealing, of it:|learning / "
	           "annealing:|placements:");
	for (int i = 0; i < o->n_words; i++)
		for (int32_t seed = 1; seed <= o->seeds && n < BENCH_N(ratio); seed++)
			ratio[n++] = add_row(o->word[i], (uint64_t)seed, o->evaluations);
	if (n == 0)
		bench_refuse("which models? tests/fixtures/*.onnx tests/torch/fidelity_models.py:branched");
	berth_interval v = berth_bootstrap(ratio, n, berth_median, &tmp);
	printf("\nmedian of %d: %.3f (%.3f to %.3f)\n", (int)n, v.middle, v.low, v.high);
	berth_arena_free(&tmp);
}
