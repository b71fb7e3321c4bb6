/* What berth configure --serve -o writes: the layout with its paths as JSON, or lines that start an engine.
 */
#include "configure_serve_out.h"

#include "file.h"
#include "print.h"
#include "signals.h"

/* ---- what is served ---- */

/* Copies as a layout: each device of a copy is a group, each unlike copy a path. */
static berth_status take_copies(serve_out *o, berth_err *err)
{
	const berth_serving_plan *plan = &o->v->plan;
	berth_arena *mem = &o->c->mem;
	size_t cap = 0;
	BERTH_TRY_NEW(mem, plan->n_groups, err, o->path);
	for (int32_t i = 0; i < plan->n_groups; i++) {
		const berth_serving_group *g = &plan->group[i];
		berth_layout_path *p = &o->path[i];
		berth_serving_stage *stage;
		BERTH_TRY(berth_serving_stages(o->x, g, mem, &o->c->tmp, &stage, &p->n_stages, err));
		p->n = g->n;
		p->per_s = p->own_per_s = (double)g->n * 1e9 * (double)o->v->batch / (double)g->period_ns;
		BERTH_TRY_NEW(mem, p->n_stages, err, p->stage);
		for (int32_t s = 0; s < p->n_stages; s++) {
			p->stage[s] = (berth_layout_stage){o->l.n_groups, stage[s].from, stage[s].to};
			BERTH_TRY(BERTH_PUSH(mem, o->l.group, o->l.n_groups, &cap, err,
			                     (berth_layout_group){stage[s].kind, stage[s].from, stage[s].to,
			                                          g->n, p->per_s, o->v->batch,
			                                          stage[s].read_bytes}));
		}
	}
	o->n_paths = plan->n_groups;
	o->l.per_s = plan->per_s;
	return BERTH_OK;
}

/* ---- JSON ---- */

static void put_range(const serve_out *o, berth_json_out *w, int32_t from, int32_t to)
{
	if (o->v->requests)
		berth_json_put_string(w, "use", serve_use(o->v, from));
	berth_json_put_int(w, "first", from % o->v->blocks.n_blocks);
	berth_json_put_int(w, "last", (to - 1) % o->v->blocks.n_blocks);
}

static void put_path(const serve_out *o, berth_json_out *w, const berth_layout_path *p)
{
	berth_json_open(w, NULL, '{');
	berth_json_put_number(w, "share", p->per_s / o->l.per_s);
	berth_json_put_number(w, "per_s", p->per_s);
	berth_json_put_int(w, "pipelines", p->n);
	berth_json_put_number(w, "pipelines_per_s", p->own_per_s);
	berth_json_open(w, "stages", '[');
	for (const berth_layout_stage *s = p->stage; s < p->stage + p->n_stages; s++) {
		berth_json_open(w, NULL, '{');
		berth_json_flat(w, true);
		berth_json_put_int(w, "nodes", s->group);
		put_range(o, w, s->from, s->to);
		berth_json_close(w, '}');
		berth_json_flat(w, false);
	}
	berth_json_close(w, ']');
	berth_json_close(w, '}');
}

static berth_status put_layout(const serve_out *o, const char **text, size_t *len, berth_err *err)
{
	berth_json_out w;
	berth_json_out_init(&w, &o->c->mem, true);
	berth_json_open(&w, NULL, '{');
	berth_json_put_string(&w, "format", "berth-layout");
	berth_json_put_int(&w, "version", 1);
	berth_json_put_string(&w, "graph", o->c->args[0]);
	berth_json_put_string(&w, "system", o->v->s.name);
	berth_json_put_string(&w, "of", o->v->requests ? "requests" : "samples");
	berth_json_put_number(&w, "per_s", o->l.per_s);
	berth_json_put_strings(&w, "layers", (const char *const *)o->v->blocks.block_name,
	                       o->v->blocks.n_blocks);
	berth_json_open(&w, "nodes", '[');
	for (const berth_layout_group *g = o->l.group; g && g < o->l.group + o->l.n_groups; g++) {
		berth_json_open(&w, NULL, '{');
		berth_json_flat(&w, true);
		berth_json_put_string(&w, "server", o->x->kind[g->kind].name);
		berth_json_put_int(&w, "devices", g->n);
		put_range(o, &w, g->from, g->to);
		berth_json_put_number(&w, "per_s", g->per_s);
		if (g->read_bytes > 0)
			berth_json_put_int(&w, "disk_bytes", g->read_bytes);
		berth_json_close(&w, '}');
		berth_json_flat(&w, false);
	}
	berth_json_close(&w, ']');
	berth_json_open(&w, "paths", '[');
	for (int32_t i = 0; i < o->n_paths; i++)
		put_path(o, &w, &o->path[i]);
	berth_json_close(&w, ']');
	berth_json_close(&w, '}');
	return berth_json_done(&w, text, len, err);
}

/* ---- the file ---- */

static const char *const targets[SERVE_N_TARGETS] = {"json", "vllm", "llama.cpp"};

berth_status configure_read_target(const char *text, int32_t *out, berth_err *err)
{
	return berth_text_find(targets, SERVE_N_TARGETS, text ? text : "json", "target",
	                       "; expected json, vllm or llama.cpp", out, err);
}

berth_status configure_write_text(const cli *c, const char *path, const char *text, size_t len,
                                  berth_err *err)
{
	if (c->streams)
		cli_document_begin();
	berth_status st = berth_file_write(path, text, len, err);
	if (c->streams)
		cli_document_end();
	return st;
}

static berth_status open_layout(serve_out *o, berth_err *err)
{
	o->x = o->v->requests ? o->v->x : o->v->laid;
	o->l = o->v->layout;
	return berth_layout_paths(&o->l, &o->c->mem, &o->c->tmp, &o->path, &o->n_paths, err);
}

/* What is left over goes into one line, so that nobody takes the lines for all of it. */
static berth_status put_untold(const serve_out *o, const char *why, berth_strbuf *b, const char **untold,
                               berth_err *err)
{
	char share[32];
	why = why ? why : "what nodes shared by paths carry is counted to none";
	if (o->n_told == 0)
		return berth_fail(err, BERTH_EUNSUPPORTED,
		                  "%s can be told no path of this layout: %s; not written: leave out --to to "
		                  "have it as JSON",
		                  o->target, why);
	*untold = "";
	if (o->told_per_s >= o->all_per_s * (1 - 1e-6))
		return BERTH_OK;
	*untold = berth_arena_printf(&o->c->mem, "%s of the %s (%.4g/s) cannot be told to %s: %s",
	                             cli_percent(share, 1 - o->told_per_s / o->all_per_s),
	                             o->v->requests ? "requests" : "samples", o->all_per_s - o->told_per_s,
	                             o->target, why);
	berth_strbuf_printf(b, "# %s\n", *untold ? *untold : "");
	return berth_got(*untold, err);
}

/* Of the layout and of copies, that of which an engine can be told more. */
static berth_status put_lines(serve_out *o, bool layout, const char **text, size_t *len, const char **untold,
                              berth_err *err)
{
	berth_status st = BERTH_OK;
	o->all_per_s = layout ? o->v->layout.per_s : o->v->plan.per_s;
	serve_out copies = *o;
	berth_strbuf b = {.mem = &o->c->mem}, other = b;
	if (layout) {
		BERTH_TRY(open_layout(o, err));
		BERTH_TRY(serve_put_lines(o, &b, err));
	}
	const char *why = o->why;
	if (o->v->plan.n_copies > 0 && o->told_per_s < o->all_per_s * (1 - 1e-6)) {
		BERTH_TRY(take_copies(&copies, err));
		st = serve_put_lines(&copies, &other, err);
		if (st != BERTH_OK && (st != BERTH_EINVAL || o->n_told == 0))
			return st;
		if (st == BERTH_OK && copies.told_per_s > o->told_per_s) {
			*o = copies;
			b = other;
		}
		why = why ? why : copies.why;
	}
	BERTH_TRY(put_untold(o, why, &b, untold, err));
	return berth_strbuf_done(&b, text, len, err);
}

berth_status serve_write(cli *c, const serve_view *v, const char *path, int32_t to, berth_err *err)
{
	serve_out o = {.c = c, .v = v, .x = v->x, .to = (serve_target)to, .target = targets[to]};
	const char *text, *untold = "";
	size_t len;
	bool layout = v->requests || v->layout.per_s > v->plan.per_s * BERTH_MORE_THAN_COPIES;
	if (o.to == SERVE_JSON) {
		BERTH_TRY(layout ? open_layout(&o, err) : take_copies(&o, err));
		BERTH_TRY(put_layout(&o, &text, &len, err));
	} else
		BERTH_TRY(put_lines(&o, layout, &text, &len, &untold, err));
	BERTH_TRY(configure_write_text(c, path, text, len, err));
	return *untold ? cli_warn(c, err, "%s", untold) : BERTH_OK;
}
