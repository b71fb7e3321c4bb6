/* berth configure: which hosts and devices of a cluster train a model together. */
#include "cmd_configure.h"

#include "engine_rules.h"
#include "graph_load.h"
#include "place_decoder.h"
#include "print.h"
#include "times.h"

typedef struct args {
	const char *on, *goal, *out, *pipelines, *to;
	const char *batch_dim; /* what holds the batch: stands before the first of them */
	cli_texts batches, steps;
	cli_texts servers, layout, requests;
	cli_budget budget; /* --time */
} args;

/* ---- arguments ---- */

static berth_status read_batch(const char *text, int64_t before, int64_t *out, berth_err *err)
{
	const char *end;
	double x = berth_text_number(text, &end);
	if (end == text || *end || !(x >= 1 && x <= 1e9) || x != (double)(int64_t)x)
		return berth_fail(err, BERTH_EINVAL,
		                  "option --batches: '%.40s' is not a whole number from 1 to 1000000000",
		                  text);
	*out = (int64_t)x;
	return *out > before
	               ? BERTH_OK
	               : berth_fail(err, BERTH_EINVAL,
	                            "option --batches: %lld stands behind %lld; expected rising numbers",
	                            (long long)*out, (long long)before);
}

static berth_status read_batches(cli *c, args *a, configure_view *v, berth_err *err)
{
	int64_t *batch;
	int32_t n = a->batches.n ? a->batches.n : 1;
	const char *dim = a->batches.n ? strrchr(*a->batches.text, '=') : NULL;
	if (dim) {
		size_t len = (size_t)(dim - *a->batches.text);
		a->batch_dim = berth_arena_strndup(&c->mem, *a->batches.text, len);
		BERTH_TRY(berth_got(a->batch_dim, err));
		*a->batches.text = dim + 1;
	}
	if (n > 64)
		return berth_fail(err, BERTH_EINVAL, "option --batches: %d numbers; expected at most 64", n);
	BERTH_TRY_NEW(&c->mem, n, err, batch);
	*batch = 1;
	for (int32_t i = 0; i < a->batches.n; i++)
		BERTH_TRY(read_batch(a->batches.text[i], i ? batch[i - 1] : 0, &batch[i], err));
	v->n_batches = n;
	v->batch = batch;
	return BERTH_OK;
}

/* Copies are trained by engines that train. */
static berth_status check_engine(const cli *c, berth_err *err)
{
	const berth_engine_rules *e = NULL;
	if (c->engine)
		BERTH_TRY(berth_rules_find(c->engine, &e, err));
	if (e && cli_given(c, "serve|pipelines|output"))
		return berth_fail(err, BERTH_EINVAL,
		                  "configure: --for prices copies that train beside each other, each run by "
		                  "itself: leave out --serve, --pipelines and -o");
	if (!e || e->trains)
		return BERTH_OK;
	return berth_fail(err, BERTH_EINVAL,
	                  "configure --for %s: %s runs no training steps: leave out --for, or give --for "
	                  "torch; --serve lays models out that are served, --to vllm or llama.cpp",
	                  e->name, e->title);
}

/* ---- steps that were measured ---- */

/* DEVICE:BATCH=SECONDS; the name may hold both marks. */
static berth_status read_step(cli *c, const configure_view *v, const char *text, double *step_s,
                              berth_err *err)
{
	const char *is = strrchr(text, '='), *colon = is, *end = NULL;
	int32_t dev = -1, at = 0;
	while (colon && colon > text && *colon != ':')
		colon--;
	double batch = is && *colon == ':' ? berth_text_number(colon + 1, &end) : 0;
	bool right = end && end == is;
	double time_s = right ? berth_unit_number(BERTH_SECONDS, is + 1, &end) : 0;
	if (!right || *end || !(time_s > 0 && time_s <= BERTH_MOST_OP_S))
		return berth_fail(err, BERTH_EINVAL,
		                  "option --steps: '%.60s' is not DEVICE:BATCH=SECONDS, as in gpu0:32=45ms",
		                  text);
	int len = (int)(colon - text);
	const char *name = berth_arena_printf(&c->tmp, "%.*s", len, text);
	BERTH_TRY(berth_got(name, err));
	dev = berth_system_find_dev(&v->s, name);
	BERTH_TRY(dev >= 0 ? BERTH_OK
	                   : berth_fail(err, BERTH_EINVAL, "option --steps: %.80s has no device '%.80s'",
	                                v->s.name, name));
	while (at < v->n_batches && (double)v->batch[at] != batch)
		at++;
	if (at == v->n_batches)
		return berth_fail(err, BERTH_EINVAL,
		                  "option --steps: '%.60s' is for a batch that is not in --batches", text);
	double *into = &step_s[at * v->s.n_devs + dev];
	if (!isnan(*into))
		return berth_fail(err, BERTH_EINVAL,
		                  "option --steps: batch %.10g of device '%.80s' stands twice", batch,
		                  v->s.dev_name[dev]);
	*into = time_s;
	return BERTH_OK;
}

/* Of equal devices those that are not named stay simulated: told of the first such. */
static berth_status tell_unlike(cli *c, const configure_view *v, const double *all_s, berth_err *err)
{
	berth_cluster x;
	BERTH_TRY(berth_cluster_new(&v->s, &c->mem, &c->tmp, &x, err));
	for (int32_t b = 0; b < v->n_batches; b++)
		for (int32_t d = 0; d < v->s.n_devs; d++) {
			const double *step_s = all_s + b * v->s.n_devs;
			/* The first device that d is equal to, in its host or in one that its host is equal
			 * to. */
			int32_t host = x.dev_host[d], at = x.host_off[host];
			while (x.host_dev[at] != d)
				at++;
			at += x.host_off[x.host_like[host]] - x.host_off[host];
			int32_t like = x.dev_like[x.host_dev[at]];
			bool own = !isnan(step_s[d]);
			if (own == !isnan(step_s[like]))
				continue;
			return cli_warn(c, err,
			                "option --steps: batch %lld has a time on %.80s, but stays simulated "
			                "on %.80s, which is equal: give both",
			                (long long)v->batch[b], v->s.dev_name[own ? d : like],
			                v->s.dev_name[own ? like : d]);
		}
	return BERTH_OK;
}

/* Times of the graphs [n_batches], changed in their place, after the steps that were measured. */
static berth_status take_steps(cli *c, const cli_texts *given, const configure_view *v, berth_graph *graph,
                               berth_err *err)
{
	double *step_s; /* [n_batches][n_devs] NAN: not measured */
	int32_t n_devs = v->s.n_devs;
	if (given->n == 0)
		return BERTH_OK;
	BERTH_TRY_NEW(&c->mem, v->n_batches * n_devs, err, step_s);
	for (int32_t i = 0; i < v->n_batches * n_devs; i++)
		step_s[i] = NAN;
	for (int32_t i = 0; i < given->n; i++)
		BERTH_TRY(read_step(c, v, given->text[i], step_s, err));
	BERTH_TRY(tell_unlike(c, v, step_s, err));
	for (int32_t b = 0; b < v->n_batches; b++) {
		berth_problem p;
		berth_graph as_measured;
		BERTH_TRY(berth_problem_new(&graph[b], &v->s, &c->mem, &c->tmp, &p, err));
		BERTH_TRY(berth_graph_step_times(&p, step_s + b * n_devs, &c->mem, &c->tmp, &as_measured,
		                                 err));
		graph[b] = as_measured;
	}
	return BERTH_OK;
}

/* ---- passes ---- */

/* The model's step at each batch. */
static berth_status load(cli *c, const args *a, configure_view *v, berth_err *err)
{
	const cli_texts given = c->dim;
	berth_graph *graph, *model;
	BERTH_TRY_NEW(&c->mem, v->n_batches, err, graph, model);
	for (int32_t b = 0; b < v->n_batches; b++) {
		const char **text;
		berth_read_report r = {0};
		BERTH_TRY_NEW(&c->mem, given.n + 1, err, text);
		if (given.n)
			BERTH_COPY(text, given.text, given.n);
		text[given.n] = berth_arena_printf(&c->mem, "%s=%lld", a->batch_dim, (long long)v->batch[b]);
		BERTH_TRY(berth_got(text[given.n], err));
		c->dim = (cli_texts){text, given.n + (a->batches.n > 0), (size_t)given.n + 1};
		BERTH_TRY(place_decoder_load_use(c, c->args[0], a->on, b > 0, &graph[b], &v->s, &r, err));
		for (int32_t i = 0; i < r.n_dims; i++)
			v->context = strcmp(r.dim_name[i], "context") == 0 ? r.dim_value[i] : v->context;
	}
	c->dim = given;
	BERTH_COPY(model, graph, v->n_batches);
	v->graph = graph;
	v->model = model;
	return a->servers.n ? BERTH_OK : take_steps(c, &a->steps, v, graph, err);
}

/* What places a copy on several devices of a host, by so many evaluations. */
static const char PLACED_BY[] = "berth";
enum { EVALUATIONS = 1000 };

static berth_status price(cli *c, configure_view *v, berth_search_cfg *cfg, berth_err *err)
{
	const berth_method *method;
	BERTH_TRY(berth_method_find(PLACED_BY, &method, err));
	BERTH_TRY(berth_cluster_new(&v->s, &c->mem, &c->tmp, &v->cluster, err));
	return berth_copies_new(&v->cluster, v->graph, v->batch, v->n_batches, method, cfg, &c->mem, &c->tmp,
	                        &v->copies, err);
}

/* Can a copy of that batch stand anywhere? */
static bool fits_somewhere(const configure_view *v, int32_t batch)
{
	for (int32_t h = 0; h < v->cluster.n_hosts; h++)
		for (int32_t i = 0; i < v->copies.host[h]->n_crews; i++)
			if (v->copies.host[h]->crew[i].price[batch].runs)
				return true;
	return false;
}

/* Batches that were asked for, and that no copy can have. */
static berth_status tell_dropped(cli *c, const configure_view *v, berth_err *err)
{
	for (int32_t b = 0; b < v->n_batches && v->r.found; b++)
		if (!fits_somewhere(v, b))
			BERTH_TRY(cli_warn(c, err,
			                   "a copy of batch %lld fits on no devices of one host: it is "
			                   "left out",
			                   (long long)v->batch[b]));
	return BERTH_OK;
}

static berth_status configure(cli *c, configure_view *v, berth_err *err)
{
	cli_budget budget = cli_budget_default();
	berth_search_cfg cfg;
	berth_arena more = {0};
	budget.objective = "latency";
	budget.evaluations = (cli_usual){EVALUATIONS, true};
	BERTH_TRY(cli_budget_open(&budget, &cfg, err));
	berth_status st = price(c, v, &cfg, err);
	if (st == BERTH_OK)
		st = berth_configure(&v->copies, &v->cfg, cfg.cancel, &c->mem, &c->tmp, &more, &v->r, err);
	cli_budget_close(&cfg);
	berth_arena_free(&more);
	return st;
}

/* ---- the plan ---- */

static berth_status write_plan(cli *c, const args *a, configure_view *v, berth_err *err)
{
	berth_config_plan plan;
	berth_placement placement;
	BERTH_TRY(berth_config_plan_new(&v->copies, &v->r.best.c, v->model, &c->mem, &c->tmp, &plan, err));
	char words[80];
	v->plan.out = a->out;
	v->plan.n = plan.n_copies;
	BERTH_TRY_NEW(&c->mem, plan.n_copies, err, v->plan.model);
	for (int32_t k = 0; k < plan.n_copies; k++) {
		snprintf(words, sizeof words, "%.50s=%lld", a->batch_dim,
		         (long long)v->batch[plan.batch[k]]);
		BERTH_TRY(copies_model(c, c->args[0], a->batches.n ? words : NULL, &v->plan.model[k], err));
	}
	BERTH_TRY(berth_placement_new(&plan.g, &v->s, &c->mem, &c->tmp, &placement, err));
	placement.method = PLACED_BY;
	placement.objective = berth_metrics[BERTH_LATENCY].name;
	placement.seed = cli_budget_default().seed;
	placement.evaluations = v->copies.evaluations;
	placement.value = (double)plan.latency_ns * 1e-9;
	placement.op_dev = plan.op_dev;
	placement.order = plan.op_order;
	return copies_write(c, &v->plan, &placement, &plan.g, &v->s, err);
}

static berth_status run(cli *c, berth_err *err)
{
	args a = {.batch_dim = "batch", .budget = cli_budget_default()};
	configure_view v = {0};
	const cli_option options[] = {
		{"on", 0, CLI_FILE_IN, &a.on, "CLUSTER",
	         "a system whose devices say which host they are part of"},
		{"goal", 0, CLI_TEXT, &a.goal, "G",
	         "what to make small: time, power, peak-power, energy or edp; with --pipelines time, energy, "
	         "edp or money (price_h of the devices); with --serve throughput, which may have limits: "
	         "throughput:latency<=20ms for a sample, throughput:first<=2s,token<=50ms with "
	         "--requests\ttime"},
		{"batches", 0, CLI_LIST, &a.batches, "[DIM=]N,...",
	         "samples of a step that a copy or, with --serve, a node may have, rising, and the dimension "
	         "or word that holds them if it is not batch\tthe model as it is, one sample"},
		{"steps", 0, CLI_LIST, &a.steps, "DEVICE:BATCH=S,...",
	         "seconds of a copy's step on that device alone, as measured; with --serve HOST:LAYERS=S, of "
	         "a sample through so many layers on one device of it\tas simulated"},
		{"output", 'o', CLI_FILE_OUT, &a.out, "OUT",
	         "write the copies as a placement file; with --serve the layout, as --to says; with "
	         "--pipelines the stages as JSON"},
		{"to", 0, CLI_TEXT, &a.to, "TARGET",
	         "with --serve, what -o writes: json (layers by nodes, shares of requests by paths), or "
	         "lines that start vllm or llama.cpp on each path\tjson"},
		{"training", 0, CLI_FLAG, &c->training, NULL,
	         "a whole training step (Adam) of an inference graph instead of it"},
		{"serve", 0, CLI_LIST, &a.servers, "N|HOST=N,...",
	         "lay copies of an inference graph over so many servers like each host, for throughput; 1 of "
	         "each that is not named"},
		{"layout", 0, CLI_LIST, &a.layout, "HOST:FIRST-LAST,...",
	         "with --serve: value this layout, a node each with the layers it holds, in place of a "
	         "search"},
		{"pipelines", 0, CLI_TEXT, &a.pipelines, "N",
	         "train by pipelines of layers over unlike devices, with N samples in a step; --batches are "
	         "what a group of devices may have of a micro-batch\tcopies that exchange their gradients"},
		{"requests", 0, CLI_LIST, &a.requests, "[SHARE:]READ+ANSWER,...|@FILE",
	         "with --serve: tokens of a language model's prompts and answers, as in "
	         "0.7:512+128,0.3:4k+256; shares are parts of their sum; a file has a request a line (512 "
	         "128), and counts as the means of its eighths by length\tthe graph as it is"},
		{"for", 0, CLI_TEXT, &c->engine, "ENGINE",
	         "the engine that runs each copy, one operator after the other: torch\tnone"},
		CLI_TIME(&a.budget),
		CLI_READING(c),
		CLI_COMMON(c)};
	BERTH_TRY(cli_parse(c, options, 1, 1, err));
	if (c->help)
		return BERTH_OK;
	BERTH_TRY(check_engine(c, err));
	v.cfg = berth_configure_cfg_default();
	v.on = a.on;
	c->warns_of_some = a.servers.n > 0;
	configure_out to = {.path = a.out};
	BERTH_TRY(configure_read_target(a.to, &to.target, err));
	if (!a.servers.n && !a.pipelines)
		BERTH_TRY(berth_goal_parse(a.goal ? a.goal : "time", &v.cfg.goal, err));
	BERTH_TRY(read_batches(c, &a, &v, err));
	if (to.target && strcmp(a.batch_dim, "batch") != 0)
		return berth_fail(err, BERTH_EINVAL,
		                  "option --batches: '%.60s' is no batch, of which alone --to %s can be told",
		                  a.batch_dim, a.to);
	if (a.requests.n) {
		const configure_requests_args x = {&a.servers, &a.requests, a.goal,         a.on,
		                                   &a.budget,  to,          a.batches.n > 0};
		return configure_requests(c, &v, &x, err);
	}
	BERTH_TRY(load(c, &a, &v, err));
	if (a.servers.n)
		return configure_serve(c, &v, &a.servers, &a.steps, &a.layout, a.goal, &a.budget, &to, err);
	if (a.pipelines)
		return configure_pipelines(c, &v, a.pipelines, a.goal, a.out, err);
	BERTH_TRY(configure(c, &v, err));
	BERTH_TRY(tell_dropped(c, &v, err));
	if (a.out && v.r.found)
		BERTH_TRY(write_plan(c, &a, &v, err));
	BERTH_TRY(configure_tell(c, &v, err));
	if (!v.r.found)
		return berth_fail(
			err, BERTH_EINFEASIBLE,
			"no copy of %s fits on devices of one host of %s: give smaller batches, or more "
			"memory%s%s",
			c->args[0], v.s.name, a.out ? "; not written: " : "", a.out ? a.out : "");
	return BERTH_OK;
}

/* Copies that are served are not trained: what is for training has no meaning there. */
static const cli_rule rules[] = {
	{"", "!on", "configure: --on CLUSTER is missing"},
	{"to", "!serve", "configure: --to is for --serve: give that, too"},
	{"to", "!output", "configure: --to says what -o OUT is written for: give that, too"},
	{"pipelines", "serve",
         "configure: --serve is for the model itself, --pipelines for its training: give one of them"},
	{"training", "serve",
         "configure: --training and --serve exclude each other, a model is trained or served: give one of "
         "them"},
	{"pipelines", "steps", "configure: --pipelines goes by simulated times: leave out --steps"},
	{"layout", "!serve", "configure: --layout is for --serve: give that, too"},
	{"layout", "requests", "configure: --layout is not valued for --requests: leave one of them out"},
	{"requests", "!serve", "configure: --requests is for --serve: give that, too"},
	{"time", "!serve", "configure: --time is for --serve: give that, too"},
	{"requests", "steps", "configure: --requests goes by simulated times: leave out --steps"}};

const cli_verb cmd_configure = {
	"configure",
	"configure GRAPH --on CLUSTER [--serve N|HOST=N,... | --training [--pipelines N]] [--goal G] "
        "[--batches N,...] [-o OUT]",
	"choose the hosts and devices that train a model together, or serve it",
	"Copies of the model stand on devices, or on several devices of one host, and exchange their "
	"gradients after each step. Hosts that take no part are switched off.\n"
	"With --serve copies of the model itself stand on groups of equal devices, as pipelines of layers; "
	"or layers are held singly, where that serves more.\n"
	"Example: berth configure zoo:resnet18:training=1 --on system:hetero-cluster --goal energy --batches "
	"8,32,128\n"
	"Example: berth configure zoo:llama --training --on cluster.json --pipelines 64 --batches 1,2,4 "
	"--goal money\n"
	"Example: berth configure zoo:llama:mode=decode --on cluster.json --serve a=4,b=2 --goal "
	"'throughput:latency<=20ms'\n"
	"Example: berth configure model.gguf --on cluster.json --serve 4 --requests 0.7:512+128,0.3:4k+256 "
	"--goal 'throughput:first<=2s,token<=50ms' -o start.sh --to vllm\n",
	run,
	CLI_RULES_OF(rules)};
