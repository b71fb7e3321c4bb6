/* What does the shipped policy know? Three looks: it places the held-out pairs blind to some of its inputs;
 * it follows the placements of a search and says at each step how sure it is of what it would do itself; and
 * ten of its placements beside those of the search. */
#include "coloc.h"
#include "instances_of_learning.h"
#include "policy_loss.h"
#include "proposals.h"

/* ---- blind to some of it ---- */

/* Features of a step from first to last. */
static const struct sense {
	const char *name;
	int first, last;
} senses[] = {
	{"without ends, starts and rests by device", STEP_LATER, STEP_REST_FIRST},
	{"without loads and ends of devices so far", STEP_LOAD, STEP_END},
	{"without memory", STEP_MEMORY, STEP_FULL},
	{"without transfers and channels", STEP_MOVED, STEP_CHANNELS},
	{"without the pass before, but for leaving and its list", STEP_GUIDED_LATER, STEP_GUIDED_END},
	{"without what leaving for its consumers' devices takes", STEP_GUIDED_LEAVING, STEP_GUIDED_LEAVING},
	{"without what is ready and where consumers' inputs are", STEP_MATES, STEP_GAP},
};
enum { N_POLICIES = BENCH_N(senses) + 2 };

static void print_blind(const berth_policy_file *f, const bench_options *o)
{
	static const char *const score[] = {"score_node", "score_dev", "score_pair"};
	BERTH_ARENA(mem);
	berth_policy_file policy[N_POLICIES];
	const char *name[N_POLICIES] = {"as it is", "without what the encoder tells of graph and machine"};
	for (int i = 0; i < N_POLICIES; i++) {
		nn_real *params = params_of(f, &mem);
		policy[i] = *f;
		policy[i].params = params;
		for (int k = 0; k < 3 && i == 1; k++)
			forget_rows(&f->dims, params, score[k], 0, INT32_MAX);
		if (i < 2)
			continue;
		forget_rows(&f->dims, params, "step_x", senses[i - 2].first, senses[i - 2].last);
		forget_rows(&f->dims, params, "step_skip", senses[i - 2].first, senses[i - 2].last);
		name[i] = senses[i - 2].name;
	}
	printf("\n### Blind to some of its inputs\n\nThe shipped policy, not trained again, with the weights "
	       "of some inputs set to 0. ");
	print_policies(o, N_POLICIES, policy, name);
}

/* ---- how sure it is ---- */

static const double bin_end[] = {0.5, 0.7, 0.9, 0.97, 0.99, 0.999, 1.1};
enum { N_BINS = BENCH_N(bin_end) };

/* Decisions by the probability of what the policy would do. */
typedef struct bins {
	int64_t n[N_BINS], same[N_BINS];
	double said[N_BINS];
} bins;

/* What was searched on a subject, in its memory: a method's answer, or the policy's own decisions (p). */
typedef struct searched {
	berth_search s;
	berth_proposals p;
} searched;

static void open_policy(subject *x, const berth_policy_file *f, searched *out)
{
	const berth_search_cfg cfg = {.seed = 1, .evaluations = BERTH_UNLIMITED};
	MUST(berth_search_new(&x->p, &cfg, &x->mem, &out->s, &err));
	MUST(berth_proposals_new(f, &out->s, &x->mem, &x->tmp, &out->p, &err));
}

static void open_search(subject *x, int64_t evaluations, searched *out)
{
	const berth_search_cfg cfg = {.seed = 1, .evaluations = evaluations};
	MUST(berth_search_new(&x->p, &cfg, &x->mem, &out->s, &err));
	MUST(berth_method_run(bench_method("berth"), &out->s, &x->tmp, &err));
}

/* The policy's decisions along op_dev, and the log-probabilities of all devices at each [steps][devices]. */
static const nn_real *follow(searched *w, const berth_policy_file *f, const int32_t *op_dev, berth_arena *mem,
                             berth_episode *ep)
{
	const berth_problem *p = w->s.p;
	size_t ops = (size_t)p->n_ops, cells = ops * (size_t)p->n_devs;
	berth_decode_how how = {.temperature = 1, .force = op_dev};
	nn_real *hidden = bench_new(mem, cells * (size_t)f->dims.hidden, sizeof *hidden),
		*logits = bench_new(mem, cells, sizeof *logits), *logp = bench_new(mem, cells, sizeof *logp);
	MUST(berth_episode_new(ops, cells, mem, ep, &err));
	berth_decoder *d = w->p.rollout.decoder[0];
	berth_partial *part = berth_decoder_partial(d);
	berth_partial_limit_memory(part, 0);
	berth_decode(d, &w->p.net[w->p.n_nets - 1], &how, part, ep);
	policy_steps steps = {(size_t)ep->n_steps, ep->node, ep->x};
	policy_steps_forward(&f->dims, f->params, &w->p.e.in, w->p.acts, &steps, hidden, logits);
	MUST(policy_log_probs(ep->n_steps, p->n_devs, logits, ep->mask, logp, &err));
	return logp;
}

static void add_decisions(const berth_episode *ep, const nn_real *logp, int32_t n_devs, bins *all)
{
	for (int32_t i = 0; i < ep->n_steps; i++) {
		int32_t best = 0, k = 0;
		const nn_real *row = BERTH_ROW(logp, i, n_devs);
		for (int32_t v = 1; v < n_devs; v++)
			best = row[v] > row[best] ? v : best;
		double sure = exp((double)row[best]);
		while (sure >= bin_end[k])
			k++;
		all->n[k]++;
		all->said[k] += sure;
		all->same[k] += best == ep->action[i];
	}
}

static void print_sure(const berth_policy_file *f, int64_t evaluations)
{
	bins all = {0};
	for (int i = 0; i < HELD_OUT_PAIRS; i++) {
		searched teacher, policy;
		berth_episode ep;
		BENCH_OPEN(x, held_out(i).graph, held_out(i).system);
		if (berth_problem_feasible(&x.p, NULL) != BERTH_OK)
			continue;
		open_search(&x, evaluations, &teacher);
		open_policy(&x, f, &policy);
		const nn_real *logp = follow(&policy, f, teacher.s.best_dev, &x.mem, &ep);
		add_decisions(&ep, logp, x.p.n_devs, &all);
	}
	printf("\n### How sure it is\n\nThe policy follows the placements that `berth` comes to with %lld "
	       "evaluations on the same pairs, without a pass before. At each decision it has a device of "
	       "its own that it holds most probable. How often is it that of the search?\n\n",
	       (long long)evaluations);
	bench_head("its probability|decisions|mean of it|the search's device");
	for (int k = 0; k < N_BINS; k++)
		if (all.n[k])
			printf("| %s %g | %lld | %.3f | %.3f |\n", k + 1 < N_BINS ? "below" : "from",
			       k + 1 < N_BINS ? bin_end[k] : bin_end[k - 1], (long long)all.n[k],
			       all.said[k] / (double)all.n[k], (double)all.same[k] / (double)all.n[k]);
}

/* ---- ten placements ---- */

/* What is said of a placement. */
typedef struct facts {
	double moved_mb; /* bytes that tensors cross devices with, once for each device that gets them */
	int used;        /* devices */
	double share;    /* largest share of the latency that a device is busy */
} facts;

static facts facts_of(const subject *x, const berth_search *s)
{
	const berth_graph *g = &x->g;
	const int32_t *op_dev = s->best_dev;
	facts f = {0};
	double busy[64] = {0};
	for (int32_t op = 0; op < x->p.n_ops; op++) {
		busy[op_dev[op]] += (double)berth_op_time(&x->p, op, op_dev[op]) * 1e-9;
		BERTH_EACH(t, g->op_tensor_off, op) {
			uint64_t got = UINT64_C(1) << op_dev[op];
			BERTH_EACH(i, g->tensor_use_off, t) {
				uint64_t bit = UINT64_C(1) << op_dev[g->edge_consumer[i]];
				f.moved_mb += got & bit ? 0 : (double)g->tensor_bytes[t] * 1e-6;
				got |= bit;
			}
		}
	}
	for (int32_t v = 0; v < x->p.n_devs; v++) {
		f.used += busy[v] > 0;
		f.share = fmax(f.share, busy[v] / s->best.value);
	}
	return f;
}

/* The operator that, moved alone to where the search has it, makes the policy's placement best; -1: none
 * does. *gain: by which share it is better then. */
static int32_t costliest(subject *x, searched *policy, const int32_t *teacher, double *gain)
{
	const berth_problem *p = &x->p;
	const int32_t *ours = policy->s.best_dev;
	int32_t worst = -1, *op_dev = bench_new(&x->mem, (size_t)p->n_ops, sizeof *op_dev);
	berth_eval eval;
	*gain = 0;
	MUST(berth_eval_new(p, &policy->s.cfg.objective, &x->mem, &eval, &err));
	BERTH_COPY(op_dev, ours, p->n_ops);
	for (int32_t op = 0; op < p->n_ops; op++) {
		if (op_dev[op] == teacher[op])
			continue;
		berth_coloc_put(p, p->op_coloc[op], teacher[op], op_dev);
		berth_score now = berth_eval_run(&eval, op_dev, berth_search_order(&policy->s));
		berth_coloc_put(p, p->op_coloc[op], ours[op], op_dev);
		if (berth_score_feasible(now) && 1 - now.value / policy->s.best.value > *gain) {
			*gain = 1 - now.value / policy->s.best.value;
			worst = op;
		}
	}
	return worst;
}

/* Share of the operators, by their times in b, that stand where the search has them. */
static double alike(const berth_problem *p, const int32_t *a, const int32_t *b)
{
	double same = 0, all = 0;
	for (int32_t op = 0; op < p->n_ops; op++) {
		double time = (double)berth_op_time(p, op, b[op]);
		all += time;
		same += a[op] == b[op] ? time : 0;
	}
	return all > 0 ? same / all : 1;
}

static void explain_pair(bench_pair pair, const berth_policy_file *f, int64_t evaluations)
{
	searched teacher, policy;
	double gain;
	BENCH_OPEN(x, pair.graph, pair.system);
	open_search(&x, evaluations, &teacher);
	open_policy(&x, f, &policy);
	MUST(berth_method_run(bench_method("policy"), &policy.s, &x.tmp, &err));
	const int32_t *our_dev = policy.s.best_dev, *their_dev = teacher.s.best_dev;
	facts ours = facts_of(&x, &policy.s), theirs = facts_of(&x, &teacher.s);
	int32_t op = costliest(&x, &policy, their_dev, &gain);
	printf("| %s on %s | %.3f | %.0f %% | %d, %d | %.3g, %.3g | %.0f, %.0f %% | ",
	       pair.graph, pair.system,
	       policy.s.best.value / teacher.s.best.value, 100 * alike(&x.p, our_dev, their_dev), ours.used,
	       theirs.used, ours.moved_mb, theirs.moved_mb, 100 * ours.share, 100 * theirs.share);
	if (op < 0)
		printf("none alone |\n");
	else
		printf("%s: %s, not %s, %.2f %% |\n", x.g.op_name[op], x.s.dev_name[their_dev[op]],
		       x.s.dev_name[our_dev[op]], 100 * gain);
}

/* Is the pair one to explain: is it feasible, with a search that can gain by several devices? */
static bool is_open(bench_pair pair)
{
	BENCH_OPEN(x, pair.graph, pair.system);
	return berth_problem_feasible(&x.p, NULL) == BERTH_OK &&
	       bench_value_of(&x, "berth", BERTH_LATENCY, 0) <
	               0.98 * bench_value_of(&x, "single", BERTH_LATENCY, 0);
}

static void print_explained(const berth_policy_file *f, int64_t evaluations)
{
	enum { N_EXPLAINED = 10, EVERY = 16 };
	printf("\n### Ten placements beside those of a search\n\nEvery sixteenth of the pairs, those passed "
	       "over where one device is nearly best. The policy's pass, then `berth` with %lld evaluations: "
	       "devices in use, MB that cross between devices, the busiest device's share of the latency. "
	       "Last: the operator that gains most where it alone is moved to the search's device.\n\n",
	       (long long)evaluations);
	bench_head("pair|pass / search|placed alike, by time|devices|MB|busiest|costliest decision");
	for (int k = 0, i = 0; k < N_EXPLAINED && i < HELD_OUT_PAIRS; i += EVERY) {
		int at = i, end = i + EVERY < HELD_OUT_PAIRS ? i + EVERY : HELD_OUT_PAIRS;
		while (at < end && !is_open(held_out(at)))
			at++;
		if (at < end) {
			explain_pair(held_out(at), f, evaluations);
			k++;
		}
	}
}

void table_knows(const bench_options *o)
{
	BERTH_ARENA(mem);
	berth_policy_file f;
	MUST(berth_policy_builtin(&mem, &f, &err));
	printf("\n## What the shipped policy knows\n");
	print_blind(&f, o);
	print_sure(&f, o->evaluations);
	print_explained(&f, o->evaluations);
}
