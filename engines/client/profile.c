/* Profiles: operators timed on devices, by the engine or out of the cache, those that were not timed
 * predicted, and figures of links. */
#include "profile.h"
#include "quick.h"
#include "threads.h"

/* ---- operators that were never measured ---- */

enum { TERMS = 3 };

typedef struct prediction {
	const berth_graph *g;
	double coef[TERMS];   /* overhead, seconds per FLOP, seconds per byte */
	double *ratio;        /* [n] measured / line_at, of the operators looked at */
} prediction;

static double term_of(const berth_graph *g, int32_t op, int k)
{
	return k == 0   ? 1
	       : k == 1 ? g->op_flops[op]
	                : (double)g->op_read_bytes[op] + (double)g->op_write_bytes[op];
}

static double line_at(const prediction *w, int32_t op)
{
	double t = 0;
	for (int k = 0; k < TERMS; k++)
		t += w->coef[k] * term_of(w->g, op, k);
	return t;
}

/* Coordinate descent on the sum of (line / seconds - 1)^2, coefficients >= 0. Three numbers need no more. */
static void fit_line(prediction *w, const double *seconds)
{
	double a[TERMS][TERMS] = {{0}}, b[TERMS] = {0};
	for (int32_t op = 0; op < w->g->n_ops; op++) {
		if (!(seconds[op] > 0))
			continue;
		for (int i = 0; i < TERMS; i++) {
			b[i] += term_of(w->g, op, i) / seconds[op];
			for (int k = 0; k < TERMS; k++)
				a[i][k] += term_of(w->g, op, i) * term_of(w->g, op, k) /
				           (seconds[op] * seconds[op]);
		}
	}
	for (int round = 0; round < 2000; round++)
		for (int i = 0; i < TERMS; i++) {
			double rest = b[i];
			for (int k = 0; k < TERMS; k++)
				rest -= k == i ? 0 : a[i][k] * w->coef[k];
			w->coef[i] = a[i][i] > 0 ? fmax(0, rest / a[i][i]) : 0;
		}
}

/* Sorted ratios of the measured operators of a type (ANY: of all). */
enum { ANY = -2 };

static int32_t ratios(prediction *w, const double *seconds, int32_t type)
{
	int32_t n = 0;
	for (int32_t op = 0; op < w->g->n_ops; op++)
		if (seconds[op] > 0 && (type == ANY || w->g->op_type[op] == type))
			w->ratio[n++] = seconds[op] / fmax(line_at(w, op), 1e-12);
	qsort(w->ratio, (size_t)n, sizeof *w->ratio, berth_by_value);
	return n;
}

static double quantile(const prediction *w, int32_t n, double q)
{
	return w->ratio[(int32_t)floor(q * (double)(n - 1) + 0.5)];
}

typedef struct factors {
	double middle, low, high;
	bool done;
} factors;

static factors factors_of(prediction *w, const double *seconds, int32_t type)
{
	int32_t n = ratios(w, seconds, type);
	factors f = {1, 1, 1, true};
	if (n)
		f.middle = quantile(w, n, 0.5);
	if (n < 5) {
		n = ratios(w, seconds, ANY);
		f.low = f.middle * quantile(w, n, 0.1) / quantile(w, n, 0.5);
		f.high = f.middle * quantile(w, n, 0.9) / quantile(w, n, 0.5);
		return f;
	}
	f.low = quantile(w, n, 0.1);
	f.high = quantile(w, n, 0.9);
	return f;
}

berth_status berth_predict_times(const berth_graph *g, double *seconds, double *low, double *high,
                                 int32_t *n_predicted, berth_arena *tmp, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	prediction w = {.g = g};
	double *measured;
	factors *f;
	*n_predicted = 0;
	BERTH_TRY_NEW(tmp, g->n_ops, err, measured, w.ratio);
	BERTH_TRY_NEW(tmp, g->n_types + 1, err, f);
	memcpy(measured, seconds, (size_t)g->n_ops * sizeof *measured);
	fit_line(&w, measured);
	if (ratios(&w, measured, ANY) < 3)
		return BERTH_OK;
	for (int32_t op = 0; op < g->n_ops; op++) {
		factors *mine = &f[g->op_type[op] + 1];
		if (!isnan(measured[op]))
			continue;
		if (!mine->done)
			*mine = factors_of(&w, measured, g->op_type[op]);
		seconds[op] = mine->middle * line_at(&w, op);
		low[op] = mine->low * line_at(&w, op);
		high[op] = mine->high * line_at(&w, op);
		++*n_predicted;
	}
	return BERTH_OK;
}

/* ---- profiles ---- */

enum { CHUNK = 16, WARMUP = 2 }; /* operators a question; runs of each that do not count */

const char *berth_source_name(berth_source s)
{
	static const char *const names[] = {"measured", "cached", "predicted", "cannot"};
	return names[s];
}

berth_profile_cfg berth_profile_cfg_default(void)
{
	return (berth_profile_cfg){.repeats = 9, .engine = "engine"};
}

/* ---- descriptions ---- */

/* What decides how long an operator takes, as far as the graph tells. */
static berth_status describe(const berth_graph *g, int32_t op, berth_arena *mem, const char **out,
                             berth_err *err)
{
	berth_strbuf b = {.mem = mem};
	berth_strbuf_printf(&b, "%s flops=%.17g macs=%.17g read=%lld write=%lld param=%lld in=",
	                    g->op_type[op] < 0 ? "" : g->type_name[g->op_type[op]], g->op_flops[op],
	                    g->op_macs[op], (long long)g->op_read_bytes[op], (long long)g->op_write_bytes[op],
	                    (long long)g->op_param_bytes[op]);
	BERTH_EACH (i, g->op_in_off, op)
		berth_strbuf_printf(&b, "%lld,", (long long)g->tensor_bytes[g->in_tensor[i]]);
	berth_strbuf_printf(&b, " out=");
	BERTH_EACH (t, g->op_tensor_off, op)
		berth_strbuf_printf(&b, "%lld,", (long long)g->tensor_bytes[t]);
	return berth_strbuf_done(&b, out, NULL, err);
}

typedef struct job {
	berth_measured *m;
	const berth_profile_cfg *cfg;
	berth_profile *p;
	berth_arena *tmp;
	const char **what;     /* [n_ops] descriptions */
	int32_t *same;         /* [n_ops] first operator of that description */
	double started;
	int32_t done, of; /* descriptions on devices */
} job;

static berth_profiled *row_of(const job *j, int32_t op, int32_t dev)
{
	return &j->p->row[(size_t)op * (size_t)j->m->s->n_devs + (size_t)dev];
}

/* ---- operators ---- */

static const char *device_text(const job *j, int32_t dev)
{
	return berth_engine_says(j->m->engine)->dev[j->m->dev_engine[dev]].text;
}

static berth_status take_row(job *j, const berth_profile_row *r, berth_err *err)
{
	berth_profiled *x = row_of(j, r->op, r->dev);
	const double none = NAN;
	x->source = r->n ? BERTH_MEASURED : BERTH_CANNOT;
	x->x.n = r->n;
	x->x.cpu = (berth_spread){none, none, none, none};
	if (!r->n)
		return BERTH_OK;
	BERTH_TRY(berth_spread_of(r->wall_s, r->n, j->tmp, &x->x.wall, err));
	if (!isnan(r->cpu_s[0]))
		BERTH_TRY(berth_spread_of(r->cpu_s, r->n, j->tmp, &x->x.cpu, err));
	j->p->n_measured++;
	return j->cfg->cache ? berth_profile_cache_put(j->cfg->cache, j->cfg->engine, device_text(j, r->dev),
	                                               j->what[r->op], &x->x, err)
	                     : BERTH_OK;
}

static berth_status ask_chunk(job *j, const int32_t *op, int32_t n, int32_t dev, berth_arena *mem,
                              berth_err *err)
{
	berth_profile_row *rows;
	BERTH_TRY(berth_measured_profile(j->m, op, n, dev, WARMUP, j->cfg->repeats, mem, j->tmp,
	                                 &rows, &j->p->overheads, err));
	for (int32_t i = 0; i < n; i++)
		BERTH_TRY(take_row(j, &rows[i], err));
	j->done += n;
	if (j->cfg->progress)
		j->cfg->progress(j->cfg->progress_ctx, "profiled", j->done, j->of);
	return BERTH_OK;
}

static berth_status from_cache(job *j, int32_t op, int32_t dev, bool *found, berth_err *err)
{
	berth_profiled *x = row_of(j, op, dev);
	*found = false;
	if (j->cfg->cache)
		BERTH_TRY(berth_profile_cache_get(j->cfg->cache, j->cfg->engine, device_text(j, dev),
		                                  j->what[op], &x->x, found, err));
	if (*found) {
		x->source = BERTH_CACHED;
		j->p->n_cached++;
		j->done++;
	}
	return BERTH_OK;
}

/* A stride near the golden section through the operators. A limit of time then leaves out some of all
 * kinds. */
static int32_t stride(int32_t n)
{
	int32_t step = (int32_t)((double)n * 0.618) + 1;
	while (berth_common_divisor(n, step) != 1)
		step++;
	return step;
}

static berth_status profile_device(job *j, int32_t dev, berth_arena *mem, berth_err *err)
{
	int32_t op[CHUNK], n = 0, n_ops = j->m->g->n_ops, step = stride(n_ops);
	bool found, *chosen, quick = j->cfg->quick > 0;
	BERTH_TRY_NEW(j->tmp, n_ops, err, chosen);
	if (quick)
		BERTH_TRY(berth_quick_choose(j->m->g, j->m->s, dev, j->cfg->quick, j->same, chosen, j->tmp,
		                             err));
	for (int64_t i = 0; i < n_ops; i++) {
		int32_t o = (int32_t)(i * step % n_ops);
		row_of(j, o, dev)->source = BERTH_PREDICTED;
		if (j->same[o] != o || (quick && !chosen[o]))
			continue;
		BERTH_TRY(from_cache(j, o, dev, &found, err));
		if (found || (j->cfg->time_s > 0 && berth_wall_seconds() - j->started > j->cfg->time_s))
			continue;
		op[n++] = o;
		if (n == CHUNK) {
			BERTH_TRY(ask_chunk(j, op, n, dev, mem, err));
			n = 0;
		}
	}
	return n ? ask_chunk(j, op, n, dev, mem, err) : BERTH_OK;
}

static berth_status fill_device(job *j, int32_t dev, berth_err *err)
{
	const berth_graph *g = j->m->g;
	double *seconds, *low, *high;
	int32_t n_devs = j->m->s->n_devs, n;
	BERTH_TRY_NEW(j->tmp, g->n_ops, err, seconds, low, high);
	for (int32_t op = 0; op < g->n_ops; op++) {
		*row_of(j, op, dev) = *row_of(j, j->same[op], dev);
		const berth_profiled *x = row_of(j, op, dev);
		seconds[op] = x->source == BERTH_PREDICTED ? NAN
		              : x->source == BERTH_CANNOT  ? -1
		                                           : x->x.wall.median;
	}
	BERTH_TRY(berth_predict_times(g, seconds, low, high, &n, j->tmp, err));
	j->p->n_predicted += n;
	for (int32_t op = 0; op < g->n_ops; op++) {
		berth_profiled *x = row_of(j, op, dev);
		if (x->source == BERTH_PREDICTED && isnan(seconds[op]))
			return berth_fail(err, BERTH_ELIMIT,
			                  "the time for profiling was over before enough operators of device "
			                  "'%s' were timed to predict the others; "
			                  "give it more",
			                  j->m->s->dev_name[dev]);
		if (x->source == BERTH_PREDICTED)
			x->x = (berth_cached){0, {seconds[op], low[op], high[op], NAN}, {NAN, NAN, NAN, NAN}};
		j->p->time_s[(size_t)op * (size_t)n_devs + (size_t)dev] = seconds[op] < 0 ? NAN : seconds[op];
	}
	return BERTH_OK;
}

/* ---- links ---- */

/* Sizes rise until one takes long enough, above the latency, to tell the bandwidth: a slow link is not asked
 * for minutes. */
static berth_status profile_link(job *j, int32_t link, berth_arena *mem, berth_err *err)
{
	static const int64_t bytes[] = {0, 4096, 65536, 262144, 1048576, 4194304};
	static const double enough_s = 0.05;
	enum { N = sizeof bytes / sizeof *bytes };
	double x[N], y[N], start, slope;
	berth_transfer_row *row;
	int32_t n = 0;
	const berth_system *sys = j->m->s;
	for (; n < N && !(n > 1 && y[n - 1] - y[0] > enough_s); n++) {
		BERTH_TRY(berth_measured_transfers(j->m, sys->link_from[link], sys->link_to[link], &bytes[n],
		                                   1, j->cfg->repeats, mem, j->tmp, &row, err));
		BERTH_TRY(berth_median_of(row->wall_s, row->n, j->tmp, &y[n], err));
		x[n] = (double)bytes[n];
	}
	BERTH_TRY(berth_line_through(x, y, n, j->tmp, &start, &slope, err));
	j->p->link[link] = (berth_link_fit){start, slope > 1e-13 ? 1 / slope : 1e13, slope <= 1e-13, n};
	return BERTH_OK;
}

static berth_status run(job *j, int32_t n_matched, berth_arena *mem, berth_err *err)
{
	const berth_system *s = j->m->s;
	berth_strmap map;
	const berth_graph *g = j->m->g;
	berth_strmap_init(&map, j->tmp);
	BERTH_TRY_NEW(j->tmp, g->n_ops, err, j->what, j->same);
	for (int32_t op = 0; op < g->n_ops; op++) {
		BERTH_TRY(describe(g, op, j->tmp, &j->what[op], err));
		BERTH_TRY(berth_strmap_add(&map, j->what[op], op, &j->same[op], err));
		j->of += j->same[op] == op ? n_matched : 0;
	}
	for (int32_t d = 0; d < s->n_devs; d++)
		if (j->m->dev_engine[d] >= 0)
			BERTH_TRY(profile_device(j, d, mem, err));
	for (int32_t d = 0; d < s->n_devs; d++)
		if (j->m->dev_engine[d] >= 0)
			BERTH_TRY(fill_device(j, d, err));
	for (int32_t l = 0; l < s->n_links; l++)
		if (j->m->dev_engine[s->link_from[l]] >= 0 && j->m->dev_engine[s->link_to[l]] >= 0)
			BERTH_TRY(profile_link(j, l, mem, err));
	return BERTH_OK;
}

berth_status berth_profile_run(berth_measured *m, const berth_profile_cfg *cfg, berth_arena *mem,
                               berth_arena *tmp, berth_profile *out, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	size_t n = (size_t)m->g->n_ops * (size_t)m->s->n_devs;
	berth_profile p = {.overheads = {NAN, NAN}};
	job j = {.m = m, .cfg = cfg, .p = &p, .tmp = tmp, .started = berth_wall_seconds()};
	int32_t matched = 0;
	for (int32_t d = 0; d < m->s->n_devs; d++)
		matched += m->dev_engine[d] >= 0;
	if (!matched)
		return berth_fail(err, BERTH_EINFEASIBLE,
		                  "engine '%.60s' has no device of system '%.60s': their names have to be "
		                  "the same (its first is '%.60s')",
		                  berth_engine_name(m->engine), m->s->name, m->engine_dev[0]);
	BERTH_TRY_NEW(mem, n, err, p.row, p.time_s);
	BERTH_TRY_NEW(mem, m->s->n_links, err, p.link);
	for (size_t i = 0; i < n; i++) {
		p.row[i].source = BERTH_CANNOT;
		p.time_s[i] = NAN;
	}
	berth_status st = run(&j, matched, mem, err);
	if (st == BERTH_OK)
		*out = p;
	return st;
}

/* The least time that an operator took there; `otherwise` where none was timed. Predicted ones do not
 * count. */
static double least_time_s(const berth_profile *p, const berth_system *s, int32_t n_ops, int32_t dev,
                           double otherwise)
{
	double least = INFINITY;
	for (int32_t op = 0; op < n_ops; op++) {
		size_t at = (size_t)op * (size_t)s->n_devs + (size_t)dev;
		berth_source source = p->row[at].source;
		if (source == BERTH_MEASURED || source == BERTH_CACHED)
			least = fmin(least, p->time_s[at]);
	}
	return isfinite(least) ? least : otherwise;
}

berth_status berth_profile_system(const berth_profile *p, const berth_system *s, int32_t n_ops,
                                  berth_arena *mem, berth_system *out, berth_err *err)
{
	berth_system r = *s;
	BERTH_TRY_NEW(mem, s->n_devs, err, r.dev_op_overhead_s);
	for (int32_t d = 0; d < s->n_devs; d++)
		r.dev_op_overhead_s[d] = least_time_s(p, s, n_ops, d, s->dev_op_overhead_s[d]);
	BERTH_TRY_NEW(mem, s->n_links, err, r.link_latency_s, r.link_bandwidth);
	for (int32_t l = 0; l < s->n_links; l++) {
		r.link_latency_s[l] = p->link[l].n ? p->link[l].latency_s : s->link_latency_s[l];
		r.link_bandwidth[l] = p->link[l].n ? p->link[l].bandwidth : s->link_bandwidth[l];
	}
	*out = r;
	return BERTH_OK;
}
