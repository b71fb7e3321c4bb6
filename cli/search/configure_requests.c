/* berth configure --serve --requests: a language model for whole requests, that read a prompt and answer it;
 * by the same servers or by others, whichever serves more. */
#include "configure_serve.h"

#include "decoder_uses.h"
#include "graph_load.h"
#include "place_decoder.h"
#include "say.h"
#include "serving_requests.h"
#include "tell.h"

/* Tries of each search, as of layouts. */
enum { TRIES = 3000 };
/* What reading and answering apart has to serve more than together, which is simpler to run. */
#define MORE 1.001

typedef struct requests {
	serve_view v;
	berth_request_kind kind[SERVE_MOST_LENGTHS];
	berth_request_task task;
	berth_request_plan plan[BERTH_N_REQUEST_WAYS];
	const char *spec, *on;
	const cli_texts *servers;
	serve_short why;
	bool gguf, again, of_file;
} requests;

/* ---- arguments ---- */

/* One of the limits, from its mark on; its end. NULL: not so, *why tells. */
static const char *read_limit(const char *at, char mark, berth_request_task *x, const char **why)
{
	bool first = strncmp(at + 1, "first<=", 7) == 0;
	double *into = first ? &x->first_s : &x->token_s;
	*why = "is neither first<=TIME nor token<=TIME";
	if (*at != mark || (!first && strncmp(at + 1, "token<=", 7) != 0))
		return NULL;
	*why = *into > 0 ? "is given twice" : "is no time above 0 and up to 1e6 s";
	if (*into > 0)
		return NULL;
	*into = berth_unit_number(BERTH_SECONDS, at + 8, &at);
	return *into > 0 && *into <= 1e6 && (!*at || *at == ',') ? at : NULL;
}

/* "throughput:first<=2s,token<=50ms" */
static berth_status read_limits(const char *text, berth_request_task *x, berth_err *err)
{
	const char *at = text ? text : "throughput", *part = at, *why = "is another goal";
	at = strncmp(at, "throughput", 10) == 0 ? at + 10 : NULL;
	while (at && *at) {
		part = at + (*at == ':' || *at == ',');
		at = read_limit(at, at == text + 10 ? ':' : ',', x, &why);
	}
	return at ? BERTH_OK
	          : berth_fail(err, BERTH_EINVAL,
	                       "option --goal: '%.80s': '%.80s' %s; with --requests expected throughput, or "
	                       "with limits for reading and for a token, as in "
	                       "throughput:first<=2s,token<=50ms",
	                       text, part, why);
}

/* ---- the model in each use ---- */

static berth_status load_use(cli *c, requests *r, const char *mode, int64_t tokens, int64_t batch,
                             berth_serving *out, berth_err *err)
{
	char number[2][24];
	berth_graph g;
	berth_system s;
	berth_problem p;
	berth_granularity blocks;
	snprintf(number[0], sizeof number[0], "%lld", (long long)tokens);
	snprintf(number[1], sizeof number[1], "%lld", (long long)batch);
	const char *spec = berth_spec_set(r->spec, "mode", mode, &c->mem);
	spec = spec ? berth_spec_set(spec, berth_decoder_context_word(r->gguf), number[0], &c->mem) : NULL;
	spec = spec ? berth_spec_set(spec, "batch", number[1], &c->mem) : NULL;
	BERTH_TRY(berth_got(spec, err));
	BERTH_TRY(place_decoder_load_use(c, spec, r->on, r->again, &g, &s, NULL, err));
	if (!r->again) {
		r->v.s = s;
		BERTH_TRY(berth_cluster_new(&r->v.s, &c->mem, &c->tmp, &r->v.c, err));
		BERTH_TRY_NEW(&c->mem, r->v.c.n_hosts, err, r->v.n_servers);
		BERTH_TRY(serve_read_servers(c, r->servers, &r->v, err));
	}
	BERTH_TRY(berth_problem_new(&g, &r->v.s, &c->mem, &c->tmp, &p, err));
	BERTH_TRY(berth_granularity_find(&g, BERTH_GRAIN_LAYER, &c->mem, &c->tmp, &blocks, err));
	bool first = !r->again;
	if (first)
		r->v.blocks = blocks;
	r->again = true;
	if (blocks.n_blocks != r->v.blocks.n_blocks || 2 * blocks.n_blocks > BERTH_MOST_LAYOUT_LAYERS)
		return berth_fail(
			err, BERTH_EINVAL,
			"%s has %d layers reading and %d with mode=%s; expected as many, and %d at most",
			c->args[0], r->v.blocks.n_blocks, blocks.n_blocks, mode,
			BERTH_MOST_LAYOUT_LAYERS / 2);
	BERTH_TRY(berth_serving_new(&p, &r->v.c, &blocks, r->v.n_servers, &c->mem, &c->tmp, out, err));
	return first ? serve_warn(c, r->on, &r->v, out, 1, &g, err) : BERTH_OK;
}

static berth_status load_all(cli *c, requests *r, berth_err *err)
{
	double sum = 0;
	for (int32_t i = 0; i < r->task.n_kinds; i++)
		sum += r->kind[i].share;
	for (int32_t i = 0; i < r->task.n_kinds; i++) {
		berth_request_kind *q = &r->kind[i];
		q->share /= sum;
		BERTH_TRY_NEW(&c->mem, r->task.n_batches, err, q->answering);
		cli_progress_count(&r->v.watch.progress, "lengths", i, r->task.n_kinds);
		BERTH_TRY(load_use(c, r, "prefill", q->read, 1, &q->reading, err));
		for (int32_t b = 0; b < r->task.n_batches; b++)
			BERTH_TRY(load_use(c, r, "decode", q->read + q->answer, r->task.batch[b],
			                   &q->answering[b], err));
	}
	return BERTH_OK;
}

/* ---- what is told ---- */

static void tell_way(const char *name, const berth_request_plan *plan, const char *unit)
{
	if (plan->l.per_s > 0)
		cli_say("%s %.4g%s (at most %.4g)", name, plan->l.per_s, unit, plan->l.bound_per_s);
	else if (isinf(plan->l.bound_per_s))
		cli_say("%s not searched: interrupted", name);
	else
		cli_say("%s none found (at most %.4g)", name, plan->l.bound_per_s);
}

static berth_status tell(cli *c, requests *r, const berth_request_plan *best, berth_err *err)
{
	const berth_request_plan *both = &r->plan[BERTH_TOGETHER], *apart = &r->plan[BERTH_APART];
	char a[32], b[32];
	cli_say("%s on %s: %.4g requests/s, %s%s; a prompt is read in %s at most, a token made in %s\n",
	        c->args[0], r->v.s.name, best->l.per_s,
	        r->v.apart ? "some nodes read, others answer" : "nodes read and answer",
	        best->alone ? ", each server by itself" : "", berth_text_seconds(a, best->first_s),
	        berth_text_seconds(b, best->token_s));
	tell_way("together", both, " requests/s");
	tell_way(", apart", apart, "");
	cli_say("\n");
	for (int32_t i = 0; r->of_file && i < r->task.n_kinds; i++)
		cli_say("%s%s %lld+%lld", i ? ", " : "requests: ",
		        r->kind[i].share > 0 ? cli_percent(a, r->kind[i].share) : "and memory for",
		        (long long)r->kind[i].read, (long long)r->kind[i].answer);
	if (r->of_file)
		cli_say("\n");
	serve_tell_devices(r->v.x);
	serve_tell_words(&r->v);
	serve_tell_links(&r->v);
	cli_say("\n");
	return serve_print_groups(c, &r->v, err);
}

/* ---- nothing was found ---- */

/* The most requests a second within these limits. */
static berth_status try_within(cli *c, const requests *r, double first_s, double token_s, double *per_s,
                               berth_err *err)
{
	BERTH_SCRATCH(&c->mem);
	berth_request_plan plan[BERTH_N_REQUEST_WAYS];
	berth_request_task x = r->task;
	x.first_s = first_s;
	x.token_s = token_s;
	BERTH_TRY(berth_serving_requests(&x, TRIES, &c->mem, &c->tmp, plan, err));
	*per_s = fmax(plan[BERTH_TOGETHER].l.per_s, plan[BERTH_APART].l.per_s);
	return BERTH_OK;
}

static void find_limit(const requests *r, double first_s, double token_s, serve_short *why)
{
	bool late = r->task.first_s > 0 && first_s > r->task.first_s * (1 + 1e-9);
	if (!isfinite(first_s + token_s)) {
		; /* no node holds the layers */
	} else if (late || (r->task.token_s > 0 && token_s > r->task.token_s * (1 + 1e-9))) {
		why->limit = late ? "first" : "token";
		why->asked = late ? r->task.first_s : r->task.token_s;
		why->least = late ? first_s : token_s;
	} else if (r->task.first_s > 0 && r->task.token_s > 0)
		why->limit = "both";
}

/* A limit that nothing keeps, memory, or limits that something keeps: a tenth more than is possible, or twice
 * as much each. */
static berth_status find_why(cli *c, requests *r, berth_err *err)
{
	enum { DOUBLED = 12 };
	serve_short *why = &r->why;
	const berth_request_plan *both = &r->plan[BERTH_TOGETHER], *apart = &r->plan[BERTH_APART];
	double first_s = fmin(both->least_first_s, apart->least_first_s), per_s = 0,
	       token_s = fmin(both->least_token_s, apart->least_token_s);
	*why = (serve_short){.asked = NAN, .least = NAN};
	r->v.why = why;
	find_limit(r, first_s, token_s, why);
	bool one = why->asked > 0, late = one && strcmp(why->limit, "first") == 0;
	if (r->task.first_s + r->task.token_s > 0 && !berth_search_cfg_over(r->task.cfg))
		BERTH_TRY(try_within(c, r, 0, 0, &per_s, err));
	if (per_s <= 0) {
		if (one && berth_search_cfg_over(r->task.cfg))
			return BERTH_OK;
		*why = (serve_short){.asked = NAN, .least = NAN};
		for (int32_t i = 0; i < r->task.n_kinds; i++) {
			const berth_request_kind *q = &r->kind[i];
			if (serve_lacks_memory(&q->reading, why) || serve_lacks_memory(q->answering, why))
				break;
		}
		return BERTH_OK;
	}
	double first = r->task.first_s > 0 ? 1.1 * fmax(r->task.first_s, first_s) : 0,
	       token = r->task.token_s > 0 ? 1.1 * fmax(r->task.token_s, token_s) : 0;
	/* that one alone first */
	for (int i = one ? -DOUBLED : 0;
	     i < DOUBLED && why->kept_per_s <= 0 && !berth_search_cfg_over(r->task.cfg); i++) {
		int by = i < 0 ? i + DOUBLED : i;
		why->kept_s[0] = first > 0 ? serve_round_up(ldexp(first, i >= 0 || late ? by : 0)) : 0;
		why->kept_s[1] = token > 0 ? serve_round_up(ldexp(token, i >= 0 || !late ? by : 0)) : 0;
		BERTH_TRY(try_within(c, r, why->kept_s[0], why->kept_s[1], &why->kept_per_s, err));
	}
	return BERTH_OK;
}

static berth_status tell_infeasible(cli *c, const requests *r, berth_err *err)
{
	char a[32], b[32];
	const serve_short *why = &r->why;
	const char *text, *links, *kept = "";
	BERTH_TRY(serve_tell_memory(c, why, &text, err));
	BERTH_TRY(serve_name_links(c, &r->v, &links, err));
	bool memory = !why->limit || strcmp(why->limit, "memory") == 0;
	if (why->kept_s[0] + why->kept_s[1] <= 0 && memory)
		return berth_fail(err, BERTH_EINFEASIBLE,
		                  "the layers of %s with their caches fit nowhere on so many servers of "
		                  "%s%s%s; give %smore memory or servers%s",
		                  c->args[0], r->v.s.name, links, text, serve_fewer_bits(why),
		                  *links ? ", or links" : "");
	text = "";
	if (why->limit && strcmp(why->limit, "both") != 0)
		text = berth_arena_printf(&c->mem, "; %s<=%s is not possible, %s takes %s at the least",
		                          why->limit, berth_text_seconds(a, why->asked),
		                          strcmp(why->limit, "first") == 0 ? "reading the longest prompt"
		                                                           : "making a token",
		                          berth_text_seconds(b, why->least));
	else if (why->limit)
		text = "; each of them alone may be possible";
	if (why->kept_per_s > 0)
		kept = berth_arena_printf(
			&c->mem, ": %s%s%s%s%s %s kept by %.4g requests/s; ask for that, or",
			why->kept_s[0] > 0 ? "first<=" : "",
			why->kept_s[0] > 0 ? berth_text_seconds(a, why->kept_s[0]) : "",
			why->kept_s[0] > 0 && why->kept_s[1] > 0 ? " and " : "",
			why->kept_s[1] > 0 ? "token<=" : "",
			why->kept_s[1] > 0 ? berth_text_seconds(b, why->kept_s[1]) : "",
			why->kept_s[0] > 0 && why->kept_s[1] > 0 ? "are" : "is", why->kept_per_s);
	BERTH_TRY(berth_got(text && kept ? text : NULL, err));
	return berth_fail(err, BERTH_EINFEASIBLE,
	                  "no layout of %s on so many servers of %s was found that serves such requests "
	                  "within the limits%s%s give smaller --batches, quicker devices or links",
	                  c->args[0], r->v.s.name, text, *kept ? kept : ":");
}

static berth_status search(cli *c, requests *r, berth_err *err)
{
	BERTH_TRY(load_all(c, r, err));
	r->v.x = &r->kind->reading;
	BERTH_TRY(serve_find_links(c, &r->v, err));
	BERTH_TRY(berth_serving_requests(&r->task, TRIES, &c->mem, &c->tmp, r->plan, err));
	return fmax(r->plan[BERTH_TOGETHER].l.per_s, r->plan[BERTH_APART].l.per_s) > 0 ? BERTH_OK
	                                                                               : find_why(c, r, err);
}

berth_status configure_requests(cli *c, const configure_view *m, const configure_requests_args *a,
                                berth_err *err)
{
	requests *r;
	const char *words;
	static const int64_t usual[] = {1, 4, 16, 64};
	static const char *const set[] = {"mode", "batch", "seq", "context"};
	BERTH_TRY_NEW(&c->mem, 1, err, r);
	r->on = a->on;
	r->servers = a->servers;
	r->of_file = **a->requests->text == '@';
	BERTH_TRY(place_decoder_words(c, c->args[0], &r->gguf, &words, err));
	if (words)
		for (size_t i = 0; i < sizeof set / sizeof *set; i++)
			if (berth_spec_has(words, set[i]))
				return berth_fail(
					err, BERTH_EINVAL,
					"configure: with --requests leave out the word %s of %s: requests "
					"set it",
					set[i], c->args[0]);
	if (!words) {
		berth_graph g;
		berth_system s;
		BERTH_TRY(cli_instance_load(c, c->args[0], r->on, &g, &s, NULL, err)); /* it may not be there
		                                                                        */
		return berth_fail(err, BERTH_EINVAL,
		                  "configure: --requests is for language models (GGUF, zoo:llama, zoo:moe) "
		                  "that are no training step, and %s is none",
		                  c->args[0]);
	}
	c->dim.n = 0; /* they stand in the spec now */
	r->spec = words;
	r->task = (berth_request_task){.kind = r->kind};
	r->task.n_batches = a->batches_given ? m->n_batches : (int32_t)(sizeof usual / sizeof *usual);
	r->task.batch = a->batches_given ? m->batch : usual;
	BERTH_TRY(serve_read_requests(c, a->requests, r->kind, &r->task.n_kinds, &r->v.context, err));
	BERTH_TRY(read_limits(a->goal, &r->task, err));
	BERTH_TRY(serve_open_engine(c, words, &a->to, &r->v.engine, err));
	BERTH_TRY(serve_watch_open(c, a->budget, "requests", &r->v.watch, err));
	r->task.cfg = &r->v.watch.cfg;
	berth_status st = search(c, r, err);
	serve_watch_close(&r->v.watch);
	BERTH_TRY(st);
	r->v.requests = r->plan;
	r->v.batch = 1;
	r->v.apart = r->plan[BERTH_APART].l.per_s > r->plan[BERTH_TOGETHER].l.per_s * MORE;
	const berth_request_plan *best = &r->plan[r->v.apart ? BERTH_APART : BERTH_TOGETHER];
	r->v.layout = best->l;
	r->v.layout.bound_per_s = fmax(r->plan->l.bound_per_s, r->plan[BERTH_APART].l.bound_per_s);
	if (a->to.path && best->l.per_s > 0)
		BERTH_TRY(serve_write(c, &r->v, a->to.path, a->to.target, err));
	BERTH_TRY(serve_result(c, &r->v, err));
	if (best->l.per_s > 0 && cli_in_words(c))
		BERTH_TRY(tell(c, r, best, err));
	BERTH_TRY(serve_check_end(c, &r->v, best->l.per_s > 0, err));
	return best->l.per_s > 0 ? BERTH_OK : tell_infeasible(c, r, err);
}
