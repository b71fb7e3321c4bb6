/* What both searches of configure --serve share: how long they take, and what is told of devices, links and
 * memory. */
#include "configure_serve.h"

#include "graph_load.h"
#include "results.h"
#include "tell.h"

typedef serve_view view;

/* ---- how long ---- */

static void tell_progress(void *ctx, const berth_progress *now)
{
	serve_watch *w = ctx;
	char best[80] = "", count[32];
	double at_s = berth_wall_seconds();
	if (at_s - w->told_s < 0.1) /* of all searches together */
		return;
	w->told_s = at_s;
	if (berth_score_feasible(now->best))
		snprintf(best, sizeof best, " %.4g %s/s of %.4g at most,", 1 / now->best.value, w->of,
		         1 / now->bound);
	cli_progress_line(&w->progress, ": %s,%s %s tried", w->what, best,
	                  berth_text_count(count, (double)now->evaluations));
}

berth_status serve_watch_open(cli *c, const cli_budget *budget, const char *of, serve_watch *w,
                              berth_err *err)
{
	cli_budget alone = *budget;
	alone.threads = 1;
	BERTH_TRY(cli_budget_open(&alone, &w->cfg, err));
	w->cfg.time_from = c->wall_from;
	w->cfg.cpu_from = c->cpu_from;
	w->what = "layouts";
	w->of = of;
	cli_progress_open(&w->progress, c, "serve");
	w->cfg.progress = w->progress.on ? tell_progress : NULL;
	w->cfg.progress_ctx = w;
	return BERTH_OK;
}

void serve_watch_close(serve_watch *w)
{
	cli_progress_end(&w->progress);
	cli_budget_close(&w->cfg);
}

berth_status serve_check_end(const cli *c, const view *v, bool found, berth_err *err)
{
	if (atomic_load(v->watch.cfg.cancel))
		return berth_fail(err, BERTH_EINTERRUPTED,
		                  found ? "interrupted; the best plan so far is the answer"
		                        : "interrupted before there was a plan");
	bool known = !v->why || v->why->kept_per_s > 0 ||
	             (v->why->limit && strcmp(v->why->limit, "both") != 0);
	return found || known || !berth_search_cfg_over(&v->watch.cfg)
	               ? BERTH_OK
	               : berth_fail(err, BERTH_EINFEASIBLE,
	                            "no plan for %s on %s was found within --time: give more of it",
	                            c->args[0], v->s.name);
}

/* ---- devices, links, memory ---- */

berth_status serve_warn(cli *c, const char *on, const view *v, const berth_serving *x, int32_t n,
                        const berth_graph *g, berth_err *err)
{
	bool *part;
	BERTH_TRY_NEW(&c->mem, v->s.n_devs, err, part);
	for (int32_t b = 0; b < n; b++)
		for (int32_t k = 0; k < x[b].n_kinds; k++)
			for (int32_t d = 0; d < x[b].kind[k].n_devs; d++)
				part[berth_system_find_dev(&v->s, x[b].kind[k].dev[d])] = true;
	return cli_system_warn(c, on, &v->s, g, part, err);
}

berth_status serve_find_links(cli *c, view *v, berth_err *err)
{
	const berth_serving *x = v->x;
	const char **name;
	BERTH_TRY_NEW(&c->mem, x->n_kinds * x->n_kinds, err, name);
	v->no_link = name;
	for (int32_t k = 0; k < x->n_kinds; k++)
		for (int32_t o = 0; o < x->n_kinds; o++) {
			if (berth_serving_link_ns(x, k, o) >= 0)
				continue;
			const char *text =
				berth_arena_printf(&c->mem, "%s to %s", x->kind[k].name, x->kind[o].name);
			BERTH_TRY(berth_got(text, err));
			name[v->n_no_links++] = text;
		}
	return BERTH_OK;
}

berth_status serve_name_links(cli *c, const view *v, const char **text, berth_err *err)
{
	*text = "";
	if (v->n_no_links == 0)
		return BERTH_OK;
	*text = cli_join(c, berth_result_texts(v->no_link, v->n_no_links), ", ", err);
	*text = *text ? berth_arena_printf(&c->mem, ", where no link goes from %.300s", *text) : NULL;
	return berth_got(*text, err);
}

/* Of weights and all else, or without weights: those may be on disks. */
static bool lacks_memory(const berth_serving *x, bool weights, serve_short *why)
{
	const int64_t *bytes = weights ? x->block_bytes : x->block_state_bytes;
	double need = (double)x->work_bytes, has = 0, most = 0, most_need = 0;
	for (int32_t b = 0; b < x->n_blocks; b++) {
		need += (double)bytes[b];
		most_need = fmax(most_need, (double)(bytes[b] + x->work_bytes));
	}
	for (int32_t k = 0; k < x->n_kinds; k++) {
		const berth_server_kind *d = &x->kind[k];
		double nodes = (double)(d->n_servers * d->n_devs), disk = weights ? (double)d->disk_bytes : 0;
		double one = d->memory_bytes < 0 ? INFINITY : (double)d->memory_bytes + disk;
		has += nodes > 0 ? nodes * one : 0;
		most = nodes > 0 ? fmax(most, one) : most;
	}
	why->one = most_need > most;
	if (!why->one && need <= has)
		return false;
	why->limit = "memory";
	why->asked = why->one ? most : has;
	why->least = why->one ? most_need : need;
	why->no_weights = !weights;
	return true;
}

bool serve_lacks_memory(const berth_serving *x, serve_short *why)
{
	bool disk = false;
	for (int32_t k = 0; k < x->n_kinds; k++)
		disk |= x->kind[k].disk_bytes > 0;
	return (disk && lacks_memory(x, false, why)) || lacks_memory(x, true, why);
}

berth_status serve_tell_memory(cli *c, const serve_short *why, const char **text, berth_err *err)
{
	char a[32], b[32];
	*text = why->limit
	                ? berth_arena_printf(
				  &c->mem, ": %s %s%s at the least, and %s %s",
				  why->one ? "a layer needs" : "they need", berth_text_bytes(a, why->least),
				  why->no_weights ? " of memory without weights" : "",
				  why->one ? "no device has more than" : "all devices together have",
				  berth_text_bytes(b, why->asked))
	                : "";
	return berth_got(*text, err);
}

const char *serve_fewer_bits(const serve_short *why)
{
	return why->no_weights ? "shorter contexts, " : "weights of fewer bits (the word weights), ";
}

double serve_round_up(double s)
{
	double digits = 1 - floor(log10(s)), scale = pow(10, fabs(digits));
	return digits < 0 ? ceil(s / scale * (1 - 1e-12)) * scale : ceil(s * scale * (1 - 1e-12)) / scale;
}
