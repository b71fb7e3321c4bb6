/* berth configure --pipelines: a training step by pipelines over unlike devices, planned and told. */
#include "cmd_configure.h"

#include "pipelines.h"
#include "progress.h"
#include "results.h"
#include "say.h"
#include "tell.h"

typedef struct view {
	const configure_view *m;
	berth_granularity blocks;
	berth_train_task x;
	berth_train_plan p;
} view;

static const char *const goals[BERTH_N_TRAIN_GOALS] = {"time", "energy", "edp", "money"};

/* ---- arguments ---- */

static berth_status read_goal(const char *text, berth_train_goal *out, berth_err *err)
{
	int32_t at;
	BERTH_TRY(berth_text_find(goals, BERTH_N_TRAIN_GOALS, text ? text : "time", "goal",
	                          "; with --pipelines expected time, energy, edp or money", &at, err));
	*out = (berth_train_goal)at;
	return BERTH_OK;
}

static berth_status read_samples(const char *text, int64_t *out, berth_err *err)
{
	const char *end;
	double n = berth_text_number(text, &end);
	if (end == text || *end || !(n >= 1 && n <= BERTH_MOST_TRAIN_SAMPLES) || n != (double)(int64_t)n)
		return berth_fail(err, BERTH_EINVAL,
		                  "option --pipelines: '%.40s' is not a number of samples from 1 to %d", text,
		                  BERTH_MOST_TRAIN_SAMPLES);
	*out = (int64_t)n;
	return BERTH_OK;
}

/* A goal needs its figures of each device. What is no file has to become one first. */
static berth_status check_goal(cli *c, const view *v, berth_err *err)
{
	const char *where = "";
	if (strncmp(v->m->on, "system:", 7) == 0 || strncmp(v->m->on, "host:", 5) == 0)
		where = berth_arena_printf(&c->mem, " in a file (berth show '%s' -o FILE)", v->m->on);
	BERTH_TRY(berth_got(where, err));
	for (int32_t k = 0; k < v->x.n_kinds; k++) {
		const berth_train_kind *d = &v->x.kind[k];
		bool watts = v->x.goal == BERTH_TRAIN_ENERGY || v->x.goal == BERTH_TRAIN_EDP;
		if (watts && isnan(d->idle_w))
			return berth_fail(
				err, BERTH_EINVAL,
				"goal %s needs watts, but device '%s' has no \"idle_w\" and \"busy_w\": add "
				"them%s, or choose the goal time",
				goals[v->x.goal], d->name, where);
		if (v->x.goal == BERTH_TRAIN_MONEY && isnan(d->price_h))
			return berth_fail(
				err, BERTH_EINVAL,
				"goal money needs prices, but device '%s' has no \"price_h\": add it%s, or "
				"choose the goal time",
				d->name, where);
	}
	return BERTH_OK;
}

/* ---- the document ---- */

#define PART(K, IF)                                                                                          \
	K(TEXT, "device", "", "the first that is equal to these", k->name)                                   \
	K(INT, "replicas", "", "each has the stage's layers", a->n)                                          \
	K(INT, "width", "", "devices of a replica, in one host", berth_train_width(a->width))                \
	K(INT, "batch", "samples", "of each micro-batch, to a replica", v->x.batch[a->batch])                \
	K(INT, "memory_bytes", "bytes", "that each device holds at most", a->memory_bytes)
static RESULT_FLAT_KIND(part_kind, "", "", PART);

#define STAGE(K, IF)                                                                                         \
	K(TEXT, "first", "", "layer", v->blocks.block_name[g->from])                                         \
	K(TEXT, "last", "", "layer", v->blocks.block_name[g->to - 1])                                        \
	K(INT, "layers", "", "how many", g->to - g->from)                                                    \
	K(NUMBER, "forward_s", "s", "of a micro-batch, by the slowest replica", g->forward_s)                \
	K(NUMBER, "backward_s", "s", "", g->backward_s)                                                      \
	K(NUMBER, "sync_s", "s", "after the last one: gradients summed, weights updated", g->sync_s)         \
	K(LIST(part_kind), "parts", "", "replicas, those of one kind together", parts)
static RESULT_KIND(stage_kind, "", "", STAGE);

#define PLAN(K, IF)                                                                                          \
	K(TEXT, "graph", "", "as it was given", c->args[0])                                                  \
	K(TEXT, "system", "", "", v->m->s.name)                                                              \
	K(TEXT, "goal", "", "`time`, `energy`, `edp` or `money`", goals[v->x.goal])                          \
	K(BOOL, "feasible", "", "false: no plan was found; then there are no stages", v->p.n_stages > 0)     \
	K(INT, "samples", "", "of a step", v->x.samples)                                                     \
	K(NUMBER, "lower_bound_s", "s", "no plan's step is shorter", v->p.bound_s)                           \
	K(NUMBER, "looked_at", "", "stages that were tried", v->p.looked_at)                                 \
	IF(v->p.n_stages > 0, INT, "micro_batch", "samples", "", v->p.micro_batch)                           \
	IF(v->p.n_stages > 0, NUMBER, "step_s", "s", "", v->p.step_s)                                        \
	IF(v->p.n_stages > 0, NUMBER_OR_NULL, "energy_j", "J", "of a step; null: no watts", v->p.energy_j)   \
	IF(v->p.n_stages > 0, NUMBER_OR_NULL, "money", "",                                                   \
	   "of a step, in the currency of `price_h`; null: not all have one", v->p.money)                    \
	IF(v->p.host, TEXT, "host", "", "all devices are in this one, or in one like it; missing: in any",   \
	   v->p.host)                                                                                        \
	K(LIST(stage_kind), "stages", "", "in the order of the [layers](layers.md)", stages)
RESULT_KIND(pipelines_document, "Configure by pipelines",
            "`configure --pipelines --json`; with `format` (`berth-pipelines`) and `version` (1) before, "
            "what `-o` writes.",
            PLAN);

static berth_status write_result(cli *c, const char *path, const berth_result *r, berth_err *err)
{
	berth_json_out w;
	const char *text;
	size_t len;
	berth_json_out_init(&w, &c->mem, true);
	berth_json_open(&w, NULL, '{');
	berth_json_put_string(&w, "format", "berth-pipelines");
	berth_json_put_int(&w, "version", 1);
	berth_result_put_members(&w, r);
	berth_json_close(&w, '}');
	BERTH_TRY(berth_json_done(&w, &text, &len, err));
	return configure_write_text(c, path, text, len, err);
}

/* out: NULL, or where a plan that was found is written. */
static berth_status put(cli *c, const view *v, const char *out, berth_err *err)
{
	berth_result_list *stages = berth_result_list_new(&c->mem, &stage_kind), *parts;
	for (const berth_train_stage *g = v->p.stage; g < v->p.stage + v->p.n_stages; g++) {
		parts = berth_result_list_new(&c->mem, &part_kind);
		for (const berth_train_part *a = g->part; a < g->part + g->n_parts; a++) {
			const berth_train_kind *k = &v->x.kind[a->kind];
			RESULT_ADD(parts, PART);
		}
		RESULT_ADD(stages, STAGE);
	}
	const berth_result *r = RESULT_NEW(&c->mem, pipelines_document, PLAN);
	if (out && v->p.n_stages > 0)
		BERTH_TRY(write_result(c, out, r, err));
	return cli_result(c, r, err);
}

/* ---- text ---- */

/* "2 x 4 like a0, batch 8": replicas, their devices. Others like a0 may be in other stages. */
static berth_status parts_text(cli *c, const view *v, const berth_train_stage *g, const char **out,
                               berth_err *err)
{
	const char *text = "";
	for (const berth_train_part *a = g->part; a < g->part + g->n_parts && text; a++)
		text = berth_arena_printf(&c->mem, "%s%s%d x %d like %s, batch %lld", text,
		                          *text ? " + " : "",
		                          a->n, berth_train_width(a->width), v->x.kind[a->kind].name,
		                          (long long)v->x.batch[a->batch]);
	*out = text;
	return berth_got(text, err);
}

static berth_status print(cli *c, const view *v, berth_err *err)
{
	const berth_train_plan *p = &v->p;
	char a[32], b[32], k[32];
	cli_table t;
	cli_say("%s on %s, goal %s: %lld samples in a step of %s, %.4g samples/s\n", c->args[0], v->m->s.name,
	        goals[v->x.goal], (long long)v->x.samples, berth_text_seconds(a, p->step_s),
	        (double)v->x.samples / p->step_s);
	cli_say("%lld micro-batch%s of %lld", (long long)p->n_micro, p->n_micro == 1 ? "" : "es",
	        (long long)p->micro_batch);
	if (v->x.goal == BERTH_TRAIN_TIME) /* of other goals there is no bound */
		cli_say("; no plan's step is shorter than %s (%s less)", berth_text_seconds(b, p->bound_s),
		        cli_percent(k, 1 - p->bound_s / p->step_s));
	cli_say("\n");
	if (p->host)
		cli_say("all in host %s: its own links do more than other hosts would\n", p->host);
	if (!isnan(p->energy_j) || !isnan(p->money))
		cli_say("a step takes");
	if (!isnan(p->energy_j))
		cli_say(" %.4g J", p->energy_j);
	if (!isnan(p->money))
		cli_say("%s %.4g of money", isnan(p->energy_j) ? "" : " and", p->money);
	cli_say(isnan(p->energy_j) && isnan(p->money) ? "\n" : "\n\n");
	cli_table_init(&t, &c->mem, "rlrrrr");
	cli_table_head(&t, "layers|replicas x devices|forward|backward|sync|memory");
	for (const berth_train_stage *g = p->stage; g < p->stage + p->n_stages; g++) {
		const char *text;
		int64_t bytes = berth_max(g->part[0].memory_bytes, g->part[g->n_parts - 1].memory_bytes);
		BERTH_TRY(parts_text(c, v, g, &text, err));
		if (g->to == g->from + 1)
			cli_cell_int(&t, g->to);
		else
			cli_cell(&t, "%d-%d", g->from + 1, g->to);
		cli_cell_text(&t, text);
		cli_cell_seconds(&t, g->forward_s);
		cli_cell_seconds(&t, g->backward_s);
		cli_cell_seconds(&t, g->sync_s);
		cli_cell_text(&t, berth_text_bytes(a, (double)bytes));
	}
	return cli_table_print(&t, CLI_AS_TEXT, err);
}

/* The least batch that makes few enough micro-batches, over the devices of two kinds; 0: some that are given
 * may do. */
static int64_t least_batch(const berth_train_task *x)
{
	int64_t first = 0, second = 0, batch = 0, least = x->samples, size = x->samples;
	for (int32_t k = 0; k < x->n_kinds; k++) {
		int64_t n = x->kind[k].n_devs;
		second = n > first ? first : berth_max(n, second);
		first = berth_max(n, first);
	}
	for (int32_t b = 0; b < x->n_batches; b++)
		batch = berth_max(batch, x->batch[b]);
	for (int64_t n = 1; n <= BERTH_MOST_MICRO_BATCHES; n++)
		for (int64_t r = 1; r <= first + second && x->samples % n == 0; r++) {
			size = x->samples / n;
			least = size % r ? least : berth_min(least, size / r);
		}
	return batch * (first + second) < size ? least : 0;
}

/* A layer that no device holds, even over all devices of a host; or all of them together. */
static berth_status tell_infeasible(const cli *c, const view *v, berth_err *err)
{
	int64_t need = 0, all = 0;
	int32_t kind = 0, width = 1;
	char a[32], b[32], k[32];
	for (int32_t l = 0; l < v->x.n_layers; l++) {
		int64_t lacks = berth_train_lacks(&v->x, l, l + 1, &need, &kind, &width);
		if (lacks == INT64_MAX)
			return berth_fail(err, BERTH_EINFEASIBLE, "layer %s of %s can run on no device of %s",
			                  v->blocks.block_name[l], c->args[0], v->m->s.name);
		if (lacks > 0)
			return berth_fail(
				err, BERTH_EINFEASIBLE,
				"layer %s of %s needs %s on each of %d %s like %s, which has %s: %s too "
				"little; give smaller --batches, or more memory",
				v->blocks.block_name[l], c->args[0], berth_text_bytes(a, (double)need), width,
				width == 1 ? "device" : "devices", v->x.kind[kind].name,
				berth_text_bytes(b, (double)(need - lacks)),
				berth_text_bytes(k, (double)lacks));
	}
	for (int32_t i = 0; i < v->x.n_kinds; i++)
		all += v->x.kind[i].memory_bytes < 0 ? INT64_MAX / 8
		                                     : v->x.kind[i].n_devs * v->x.kind[i].memory_bytes;
	need = v->x.held_bytes[v->x.n_layers];
	if (need > all)
		return berth_fail(
			err, BERTH_EINFEASIBLE,
			"weights, gradients and the optimizer's state of %s are %s, and all devices of %s "
			"hold %s: %s too little; give more memory",
			c->args[0], berth_text_bytes(a, (double)need), v->m->s.name,
			berth_text_bytes(b, (double)all), berth_text_bytes(k, (double)(need - all)));
	int64_t least = least_batch(&v->x);
	if (least > 0)
		return berth_fail(
			err, BERTH_EINFEASIBLE,
			"a step has at most %d micro-batches, and the batches of %s on %s are too small for "
			"%lld samples; give --batches of %lld or more, or fewer samples",
			BERTH_MOST_MICRO_BATCHES, c->args[0], v->m->s.name, (long long)v->x.samples,
			(long long)least);
	return berth_fail(
		err, BERTH_EINFEASIBLE,
		"no pipeline of %s on %s was found for a step of %lld: each layer fits somewhere, but not "
		"all of them with what micro-batches keep, or no shares of --batches make micro-batches "
		"that divide the samples; give smaller --batches, or more memory",
		c->args[0], v->m->s.name, (long long)v->x.samples);
}

berth_status configure_pipelines(cli *c, const configure_view *m, const char *samples, const char *goal,
                                 const char *out, berth_err *err)
{
	view v = {.m = m};
	berth_cluster cluster;
	berth_train_goal asked;
	int64_t n = 0;
	BERTH_TRY(read_goal(goal, &asked, err));
	BERTH_TRY(read_samples(samples, &n, err));
	BERTH_TRY(berth_cluster_new(&m->s, &c->mem, &c->tmp, &cluster, err));
	BERTH_TRY(berth_train_new(m->graph, m->batch, m->n_batches, &cluster, &c->mem, &c->tmp, &v.blocks,
	                          &v.x, err));
	v.x.samples = n;
	v.x.goal = asked;
	BERTH_TRY(check_goal(c, &v, err));
	cli_budget budget = cli_budget_default();
	berth_search_cfg cfg;
	BERTH_TRY(cli_budget_open(&budget, &cfg, err));
	cli_progress progress;
	cli_progress_open(&progress, c, "pipelines");
	berth_status st = berth_train_search(&v.x, BERTH_TRAIN_WORK, cfg.cancel, cli_progress_count,
	                                     &progress, &c->tmp, &v.p, err);
	cli_progress_end(&progress);
	cli_budget_close(&cfg);
	BERTH_TRY(st);
	BERTH_TRY(put(c, &v, out, err));
	if (v.p.n_stages == 0) {
		st = tell_infeasible(c, &v, err);
		return out ? berth_fail_in(err, st, "not written: %s; ", out) : st;
	}
	return cli_in_words(c) ? print(c, &v, err) : BERTH_OK;
}
