/* berth configure --serve: copies of a model over many servers, as groups of equal pipelines, and layouts
 * with layers held singly. How many servers there are like each host is read, and the plan made. */
#include "configure_serve.h"

#include "place_decoder.h"
#include "tell.h"

typedef serve_view view;

static const double MOST_S = 1e6; /* that a limit may be */

/* ---- arguments ---- */

static berth_status unknown_host(cli *c, const view *v, const char *text, int len, berth_err *err)
{
	const char *all = cli_join(c, berth_result_texts(v->c.host_name, v->c.n_hosts), ", ", err);
	return all ? berth_fail(err, BERTH_EINVAL,
	                        "option --serve: %.80s has no host '%.*s'; expected one of %.200s", v->s.name,
	                        len, text, all)
	           : BERTH_ENOMEM;
}

/* A number alone is of all that are not named; else these have one each. */
berth_status serve_read_servers(cli *c, const cli_texts *given, view *v, berth_err *err)
{
	int64_t others = -1;
	for (int32_t h = 0; h < v->c.n_hosts; h++)
		v->n_servers[h] = -1;
	for (int32_t i = 0; i < given->n; i++) {
		const char *text = given->text[i], *mark = strrchr(text, '='), *end;
		double n = berth_text_number(mark ? mark + 1 : text, &end);
		int32_t h = 0;
		if (*end || !(n >= 0 && n <= 1e6) || n != (double)(int64_t)n || (!mark && others >= 0))
			return berth_fail(err, BERTH_EINVAL,
			                  "option --serve: '%.60s' is not N or HOST=N with a number from "
			                  "0 to 1000000",
			                  text);
		if (!mark) {
			others = (int64_t)n;
			continue;
		}
		while (h < v->c.n_hosts && (strncmp(v->c.host_name[h], text, (size_t)(mark - text)) != 0 ||
		                            v->c.host_name[h][mark - text]))
			h++;
		if (h == v->c.n_hosts)
			return unknown_host(c, v, text, (int)(mark - text), err);
		if (v->n_servers[h] >= 0)
			return berth_fail(err, BERTH_EINVAL, "option --serve: host '%s' stands twice",
			                  v->c.host_name[h]);
		v->n_servers[h] = (int64_t)n;
	}
	int64_t all = 0;
	for (int32_t h = 0; h < v->c.n_hosts; h++) {
		if (v->n_servers[h] < 0)
			v->n_servers[h] = others < 0 ? 1 : others;
		all += v->n_servers[h];
	}
	return all > 0 ? BERTH_OK
	               : berth_fail(err, BERTH_EINVAL,
	                            "option --serve: no server is left: give a number above 0");
}

/* "throughput", "throughput:latency<=20ms". */
static berth_status read_goal(const char *text, double *most_s, berth_err *err)
{
	berth_objective o;
	*most_s = 0;
	if (!text)
		return BERTH_OK;
	if (strstr(text, "first<=") || strstr(text, "token<="))
		return berth_fail(
			err, BERTH_EINVAL,
			"option --goal: '%.80s'; limits of the first token and of each one (first, token) "
			"are for whole requests: give --requests READ+ANSWER",
			text);
	BERTH_TRY(berth_objective_parse(text, &o, err));
	for (int m = 0; m < BERTH_N_METRICS; m++)
		if ((o.limits[m] && m != BERTH_LATENCY) || !berth_objective_is(&o, BERTH_THROUGHPUT))
			return berth_fail(
				err, BERTH_EINVAL,
				"option --goal: '%.80s'; with --serve expected throughput, or as in "
				"throughput:latency<=20ms",
				text);
	*most_s = o.limits[BERTH_LATENCY] ? o.most[BERTH_LATENCY] : 0;
	return !o.limits[BERTH_LATENCY] || (*most_s >= 1e-9 && *most_s <= MOST_S)
	               ? BERTH_OK
	               : berth_fail(err, BERTH_EINVAL,
	                            "option --goal: a limit of %.10g s; expected 1 ns to 1000000 s", *most_s);
}

/* The kind of v->x of a host of that name, which others may be equal to; n_kinds: none. */
static int32_t kind_named(const view *v, const char *text, size_t len)
{
	int32_t k = 0, h = 0;
	while (h < v->c.n_hosts && (strncmp(v->c.host_name[h], text, len) != 0 || v->c.host_name[h][len]))
		h++;
	while (k < v->x->n_kinds &&
	       (h == v->c.n_hosts || strcmp(v->x->kind[k].name, v->c.host_name[v->c.host_like[h]]) != 0))
		k++;
	return k;
}

/* HOST:LAYERS=SECONDS into step_s [n_kinds][n_blocks+1]. */
static berth_status read_measured(const view *v, const char *text, double *step_s, berth_err *err)
{
	const char *is = strrchr(text, '='), *colon = is, *end = NULL;
	while (colon && colon > text && *colon != ':')
		colon--;
	double layers = is && *colon == ':' ? berth_text_number(colon + 1, &end) : 0;
	bool right = end && end == is && layers == floor(layers) && layers >= 1 && layers <= v->x->n_blocks;
	double time_s = right ? berth_unit_number(BERTH_SECONDS, is + 1, &end) : 0;
	if (!right || *end || !(time_s >= 1e-9 && time_s <= 1e6))
		return berth_fail(
			err, BERTH_EINVAL,
			"option --steps: '%.60s' is not HOST:LAYERS=SECONDS, as in a:4=1.5ms, with 1 to "
			"%d layers, and from 1 ns to 1000000 s",
			text, v->x->n_blocks);
	int32_t k = kind_named(v, text, (size_t)(colon - text));
	if (k == v->x->n_kinds)
		return berth_fail(err, BERTH_EINVAL, "option --steps: no servers are like a host '%.*s'",
		                  (int)(colon - text), text);
	double *at = &step_s[k * (v->x->n_blocks + 1) + (int32_t)layers];
	if (*at > 0)
		return berth_fail(err, BERTH_EINVAL, "option --steps: %d layers of '%.80s' stand twice",
		                  (int)layers, v->x->kind[k].name);
	*at = time_s;
	return BERTH_OK;
}

/* HOST:FIRST-LAST, a node each, as groups of l. */
static berth_status read_layout(cli *c, const view *v, berth_layers *l, berth_err *err)
{
	size_t cap = 0;
	*l = (berth_layers){0};
	for (int32_t i = 0; i < v->given->n; i++) {
		const char *text = v->given->text[i], *colon = strrchr(text, ':'), *end = "?";
		double from = colon ? berth_text_number(colon + 1, &end) : 0;
		double to = *end == '-' ? berth_text_number(end + 1, &end) : from;
		if (*end || !(from >= 1 && from <= to && to <= v->x->n_blocks) || from != floor(from) ||
		    to != floor(to))
			return berth_fail(err, BERTH_EINVAL,
			                  "option --layout: '%.60s' is not HOST:FIRST-LAST, as in a:1-4, "
			                  "with layers from 1 to %d",
			                  text, v->x->n_blocks);
		int32_t k = kind_named(v, text, (size_t)(colon - text));
		if (k == v->x->n_kinds)
			return berth_fail(err, BERTH_EINVAL,
			                  "option --layout: no servers are like a host '%.*s'",
			                  (int)(colon - text), text);
		BERTH_TRY(BERTH_PUSH(&c->mem, l->group, l->n_groups, &cap, err,
		                     (berth_layout_group){k, (int32_t)from - 1, (int32_t)to, 1, 0, 0, 0}));
	}
	return BERTH_OK;
}

/* Does some node hold each layer? */
static berth_status check_held(const view *v, const berth_layers *l, berth_err *err)
{
	for (int32_t b = 0; b < v->x->n_blocks; b++) {
		bool held = false;
		for (int32_t i = 0; i < l->n_groups; i++)
			held |= l->group[i].from <= b && b < l->group[i].to;
		if (!held)
			return berth_fail(err, BERTH_EINFEASIBLE,
			                  "option --layout: no node holds layer %d of %d, %.80s: give it "
			                  "to one",
			                  b + 1, v->x->n_blocks, v->blocks.block_name[b]);
	}
	return BERTH_OK;
}

/* ---- layers held singly ---- */

/* From the copies on, where there are some; more tries than this gain little (docs/clusters.md). */
enum { TRIES = 10000 };
/* Layers held singly on the devices that take part at that batch, where it is more than what is there. */
static berth_status lay_out(cli *c, view *v, const berth_serving *all, const berth_serving *at,
                            const configure_view *m, const double *step_s, berth_err *err)
{
	berth_layers start = {0}, found;
	if (v->given->n) {
		BERTH_TRY(read_layout(c, v, &found, err));
		BERTH_TRY(check_held(v, &found, err));
		berth_status st = berth_serving_value(all, m->batch, m->n_batches, at, step_s, &c->mem,
		                                      &c->tmp, &found, err);
		berth_err why = *err;
		BERTH_TRY(st != BERTH_EINVAL ? st : berth_fail(err, st, "option --layout: %s", why.msg));
		const char *links;
		BERTH_TRY(serve_name_links(c, v, &links, err));
		if (!(found.per_s > 0))
			return berth_fail(
				err, BERTH_EINFEASIBLE,
				"option --layout: nothing passes through all layers on these nodes%s", links);
	} else {
		if (berth_serving_same_devices(v->x, at))
			BERTH_TRY(berth_serving_layout(v->x, &v->plan, &c->mem, &c->tmp, &start, err));
		BERTH_TRY(berth_serving_lay(all, m->batch, m->n_batches, at, step_s, &start, TRIES, &c->mem,
		                            &c->tmp, &found, err));
	}
	double bound_per_s = fmax(found.bound_per_s, v->layout.bound_per_s);
	v->quickest_s = v->quickest_s > 0 ? fmin(v->quickest_s, found.quickest_s) : found.quickest_s;
	if (!v->laid || found.per_s > v->layout.per_s) {
		v->layout = found;
		v->laid = at;
	}
	v->layout.bound_per_s = bound_per_s;
	return BERTH_OK;
}

/* Do other devices take part than at the batches before? */
static bool has_own_devices(const berth_serving *all, int32_t b)
{
	int32_t e = 0;
	while (e < b && !berth_serving_same_devices(&all[e], &all[b]))
		e++;
	return e == b;
}

static bool has_enough(const view *v)
{
	return berth_layout_enough(&v->watch.cfg, fmax(v->plan.per_s, v->layout.per_s));
}

/* Copies at the batch at which they serve most; layouts on each choice of devices that a batch makes. */
static berth_status solve(cli *c, view *v, berth_serving *all, const configure_view *m,
                          const cli_texts *steps, berth_err *err)
{
	double *step_s;
	BERTH_TRY_NEW(&c->mem, v->x->n_kinds * (v->x->n_blocks + 1), err, step_s);
	for (int32_t i = 0; i < steps->n; i++)
		BERTH_TRY(read_measured(v, steps->text[i], step_s, err));
	v->laid = NULL;
	v->plan = (berth_serving_plan){0};
	v->layout = (berth_layers){0};
	v->quickest_s = 0;
	for (int32_t b = 0; b < m->n_batches; b++)
		all[b].most_ns = llround(v->most_s * 1e9);
	berth_search_cfg part;
	serve_watch *watch = v->watch.cfg.progress_ctx; /* v may be a copy */
	watch->what = "copies";
	for (int32_t b = 0; b < m->n_batches && steps->n == 0 && v->given->n == 0; b++) {
		berth_serving_plan plan;
		double samples = (double)m->batch[b];
		if (has_enough(v)) {
			v->plan.groups_per_s = v->plan.bound_per_s = INFINITY;
			break;
		}
		all[b].cfg = berth_layout_part(&v->watch.cfg, 2 * m->n_batches - b, &part);
		BERTH_TRY(berth_serving_solve(&all[b], &c->mem, &c->tmp, &plan, err));
		plan.per_s *= samples;
		plan.groups_per_s = fmax(plan.groups_per_s * samples, v->plan.groups_per_s);
		plan.bound_per_s = fmax(plan.bound_per_s * samples, v->plan.bound_per_s);
		if (b == 0 || plan.per_s > v->plan.per_s) {
			v->plan = plan;
			v->batch = m->batch[b];
			v->x = &all[b];
		}
		v->plan.groups_per_s = plan.groups_per_s;
		v->plan.bound_per_s = plan.bound_per_s;
	}
	berth_status st = BERTH_OK; /* of a layout: what one choice of devices cannot hold another may */
	watch->what = "layouts";
	for (int32_t b = 0; b < m->n_batches && serve_has_layouts(v); b++) {
		int32_t left = 0;
		for (int32_t e = b; e < m->n_batches; e++)
			left += has_own_devices(all, e);
		if (left > 0 && has_enough(v)) {
			v->layout.bound_per_s = INFINITY;
			break;
		}
		if (has_own_devices(all, b)) {
			all[b].cfg = berth_layout_part(&v->watch.cfg, left, &part);
			st = lay_out(c, v, all, &all[b], m, step_s, err);
		}
		BERTH_TRY(st == BERTH_EINVAL ? BERTH_OK : st);
	}
	for (int32_t b = 0; b < m->n_batches; b++)
		all[b].cfg = NULL;
	return v->laid ? BERTH_OK : st;
}

/* All but how many layers there are is taken from the first batch; of the others times and bytes. */
static berth_status open_batches(cli *c, const configure_view *m, view *v, const cli_texts *servers,
                                 berth_serving **at, berth_err *err)
{
	BERTH_TRY_NEW(&c->mem, m->n_batches, err, *at);
	for (int32_t b = 0; b < m->n_batches; b++) {
		berth_problem p;
		berth_granularity blocks;
		BERTH_TRY(berth_problem_new(&m->graph[b], &v->s, &c->mem, &c->tmp, &p, err));
		BERTH_TRY(berth_granularity_find(&m->graph[b], BERTH_GRAIN_LAYER, &c->mem, &c->tmp, &blocks,
		                                 err));
		if (b == 0) {
			v->blocks = blocks;
			BERTH_TRY(berth_cluster_new(&v->s, &c->mem, &c->tmp, &v->c, err));
			BERTH_TRY_NEW(&c->mem, v->c.n_hosts, err, v->n_servers);
			BERTH_TRY(serve_read_servers(c, servers, v, err));
		} else if (blocks.n_blocks != v->blocks.n_blocks)
			return berth_fail(
				err, BERTH_EINVAL,
				"%s has %d layers at batch %lld, and %d at %lld: give batches at which it "
				"has as many",
				c->args[0], v->blocks.n_blocks, (long long)m->batch[0], blocks.n_blocks,
				(long long)m->batch[b]);
		BERTH_TRY(berth_serving_new(&p, &v->c, &blocks, v->n_servers, &c->mem, &c->tmp, &(*at)[b],
		                            err));
	}
	v->x = *at;
	v->batch = 1;
	return BERTH_OK;
}

/* Of a language model. */
static berth_status find_sample(cli *c, view *v, bool batches, berth_err *err)
{
	bool gguf;
	const char *words;
	BERTH_TRY(place_decoder_words(c, c->args[0], &gguf, &words, err));
	if (!words)
		return BERTH_OK;
	const char *mode = berth_spec_get(words, "mode", "prefill", &c->mem),
	           *batch = berth_spec_get(words, "batch", "1", &c->mem);
	v->sample = strcmp(mode, "decode") == 0 ? "token" : "prompt";
	v->sequences = batches ? 1 : berth_text_digits(batch, 1000000000, NULL);
	return BERTH_OK;
}

/* What it finds within v->most_s, but for groups and ways. */
static berth_status try_within(cli *c, view *v, berth_serving *at, const configure_view *m,
                               const cli_texts *steps, berth_err *err)
{
	BERTH_SCRATCH(&c->mem);
	return solve(c, v, at, m, steps, err);
}

/* A limit that nothing keeps, what the layers need, or a limit that something keeps: a tenth more than is
 * possible, or twice as much each. Of v the limits and what was found within them stay. */
static berth_status find_why(cli *c, view *v, berth_serving *at, const configure_view *m,
                             const cli_texts *steps, serve_short *why, berth_err *err)
{
	const view was = *v;
	view w = *v;
	bool late = was.most_s > 0 && isfinite(was.quickest_s) &&
	            was.quickest_s > was.most_s * (1 + 1e-9);
	*why = (serve_short){.limit = late ? "latency" : NULL,
	                     .asked = late ? was.most_s : NAN,
	                     .least = late ? was.quickest_s : NAN};
	v->why = why;
	w.most_s = 0;
	if (was.most_s > 0 && !berth_search_cfg_over(&v->watch.cfg))
		BERTH_TRY(try_within(c, &w, at, m, steps, err));
	if (!serve_found(&w)) {
		if (late && berth_search_cfg_over(&v->watch.cfg))
			return BERTH_OK;
		*why = (serve_short){.asked = NAN, .least = NAN};
		if (steps->n == 0)
			serve_lacks_memory(at, why);
		return BERTH_OK;
	}
	double s = 1.1 * fmax(was.most_s, was.quickest_s);
	for (; why->kept_per_s <= 0 && w.most_s < MOST_S && !berth_search_cfg_over(&v->watch.cfg); s *= 2) {
		w.most_s = fmin(serve_round_up(s), MOST_S);
		BERTH_TRY(try_within(c, &w, at, m, steps, err));
		why->kept_per_s = fmax(w.plan.per_s, w.layout.per_s);
	}
	why->kept_s[0] = w.most_s;
	return BERTH_OK;
}

static berth_status tell_infeasible(cli *c, const view *v, berth_err *err)
{
	char a[32], b[32], d[32];
	const serve_short *why = v->why;
	const char *text, *links;
	BERTH_TRY(serve_tell_memory(c, why, &text, err));
	BERTH_TRY(serve_name_links(c, v, &links, err));
	bool late = why->limit && strcmp(why->limit, "latency") == 0;
	if (why->kept_s[0] <= 0 && !late)
		return berth_fail(
			err, BERTH_EINFEASIBLE,
			"the layers of %s fit nowhere on so many servers of %s%s%s; give %smore "
			"memory, or more servers%s",
			c->args[0], v->s.name, links, text, serve_fewer_bits(why),
			*links ? ", or links" : "");
	text = "";
	if (late)
		text = berth_arena_printf(&c->mem, "; none is possible, a sample takes %s at the least",
		                          berth_text_seconds(a, why->least));
	else if (v->layout.bound_per_s <= 0 && serve_has_layouts(v))
		text = ", and none is possible";
	BERTH_TRY(berth_got(text, err));
	if (why->kept_per_s <= 0)
		return berth_fail(err, BERTH_EINFEASIBLE,
		                  "no plan for %s on %s was found within latency<=%s%s%s%s; leave the limit "
		                  "out, or give quicker devices or links",
		                  c->args[0], v->s.name, berth_text_seconds(b, v->most_s), text,
		                  why->kept_s[0] > 0 ? ", nor within " : "",
		                  why->kept_s[0] > 0 ? berth_text_seconds(d, why->kept_s[0]) : "");
	return berth_fail(err, BERTH_EINFEASIBLE,
	                  "no plan for %s on %s was found within latency<=%s%s: latency<=%s is kept by %.4g "
	                  "samples/s; ask for that, or give smaller batches (--batches), quicker devices or "
	                  "links",
	                  c->args[0], v->s.name, berth_text_seconds(b, v->most_s), text,
	                  berth_text_seconds(d, why->kept_s[0]), why->kept_per_s);
}

static berth_status search(cli *c, view *v, berth_serving *at, const configure_view *m,
                           const cli_texts *steps, serve_short *why, berth_err *err)
{
	BERTH_TRY(solve(c, v, at, m, steps, err));
	return serve_found(v) ? BERTH_OK : find_why(c, v, at, m, steps, why, err);
}

berth_status configure_serve(cli *c, const configure_view *m, const cli_texts *servers,
                             const cli_texts *steps, const cli_texts *layout, const char *goal,
                             const cli_budget *budget, const configure_out *to, berth_err *err)
{
	view v = {.s = m->s, .given = layout, .context = m->context};
	serve_short why;
	berth_serving *at;
	for (int32_t op = 0; op < m->graph->n_ops; op++)
		if (m->graph->op_backward[op])
			return berth_fail(err, BERTH_EINVAL,
			                  "%s is a training step: --serve is for the model itself; leave out "
			                  "--serve to train",
			                  c->args[0]);
	BERTH_TRY(read_goal(goal, &v.most_s, err));
	if (layout->n && v.most_s > 0)
		return berth_fail(err, BERTH_EINVAL,
		                  "option --layout: what a sample takes is told, no limit of it is looked "
		                  "at: leave it out of --goal");
	BERTH_TRY(serve_open_engine(c, c->args[0], to, &v.engine, err));
	BERTH_TRY(open_batches(c, m, &v, servers, &at, err));
	BERTH_TRY(serve_warn(c, m->on, &v, at, m->n_batches, m->graph, err));
	BERTH_TRY(find_sample(c, &v, m->n_batches > 1 || *m->batch > 1, err));
	BERTH_TRY(serve_find_links(c, &v, err));
	BERTH_TRY(serve_watch_open(c, budget, "samples", &v.watch, err));
	berth_status st = search(c, &v, at, m, steps, &why, err);
	serve_watch_close(&v.watch);
	BERTH_TRY(st);
	if (to->path && serve_found(&v))
		BERTH_TRY(serve_write(c, &v, to->path, to->target, err));
	BERTH_TRY(serve_result(c, &v, err));
	if (cli_in_words(c))
		BERTH_TRY(serve_tell(c, &v, err));
	BERTH_TRY(serve_check_end(c, &v, serve_found(&v), err));
	return serve_found(&v) ? BERTH_OK : tell_infeasible(c, &v, err);
}
