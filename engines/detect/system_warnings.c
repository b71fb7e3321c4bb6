/* Looks for what the description of a machine leaves out or misspells, figure by figure and link by link.
 * Each gap that would make an answer too good is a warning in words. */
#include "system_warnings.h"

#include "cost_model.h"
#include "engine_rules.h"
#include "onnx.h"
#include "op_times.h"
#include "problem.h"

enum { MOST_NAMED = 4, MOST_TYPES = 8 }; /* named in a line; types that get a line of their own */

/* What operators ask of a device. */
typedef struct need {
	bool measured;     /* one has a measured time there */
	bool unmeasured;   /* one has none */
	bool roofline;     /* and its type runs there: the roofline times it */
	bool flops, bytes; /* one of these computes; one of these reads or writes */
} need;

typedef struct gaps {
	const berth_system *s;
	const berth_graph *g; /* or NULL */
	const bool *told;     /* [n_devs] are told of; NULL: all */
	berth_arena *mem, *tmp;
	need *dev;          /* [n_devs] */
	bool *has;          /* [n_devs] the gap at hand */
	berth_strmap known; /* types */
	const char **type;  /* [n_types] of operator sets */
	int32_t n_types;
	const char **text;
	int32_t n;
	size_t cap;
} gaps;

static berth_status tell(gaps *x, const char *text, berth_err *err)
{
	BERTH_TRY(berth_got(text, err));
	return BERTH_PUSH(x->mem, x->text, x->n, &x->cap, err, text);
}

/* Append "'a', 'b' and 3 more" to line: word number k of n, of which the first MOST_NAMED are named. */
static void list(char *line, size_t size, int32_t k, int32_t n, const char *word)
{
	size_t len = strlen(line);
	const char *gap = k == 0 ? "" : k + 1 == n ? " and " : ", ";
	if (k < MOST_NAMED || n == MOST_NAMED + 1)
		snprintf(line + len, size - len, "%s%s", gap, word);
	else if (k == MOST_NAMED)
		snprintf(line + len, size - len, " and %d more", n - MOST_NAMED);
}

/* "device 'a'" or "devices 'a' and 'b'" of x->has; *n: how many. line of 512 bytes. */
static const char *devices(const gaps *x, char *line, int32_t *n)
{
	int32_t k = 0;
	char word[64];
	*n = 0;
	for (int32_t d = 0; d < x->s->n_devs; d++)
		*n += x->has[d];
	snprintf(line, 512, *n == 1 ? "device " : "devices ");
	for (int32_t d = 0; d < x->s->n_devs; d++)
		if (x->has[d]) {
			snprintf(word, sizeof word, "'%.40s'", x->s->dev_name[d]);
			list(line, 512, k++, *n, word);
		}
	return line;
}

/* A line about the devices of x->has, if there are any. */
static berth_status tell_devices(gaps *x, const char *lack, berth_err *err)
{
	char line[512];
	int32_t n;
	for (int32_t d = 0; d < x->s->n_devs; d++)
		x->has[d] &= !x->told || x->told[d];
	devices(x, line, &n);
	if (!n)
		return BERTH_OK;
	return tell(x, berth_arena_printf(x->mem, "%s %s %s", line, n == 1 ? "has" : "have", lack), err);
}

/* ---- what operators ask for ---- */

static void ask(const gaps *x, int32_t op, int32_t d, need *out)
{
	const berth_graph *g = x->g;
	double seconds;
	if (berth_op_measured(g, x->s, op, d, &seconds)) {
		out->measured = true;
		return;
	}
	out->unmeasured = true;
	if (!berth_system_runs(x->s, d, g->op_type[op] < 0 ? NULL : g->type_name[g->op_type[op]]))
		return;
	out->roofline = true;
	out->flops |= g->op_flops[op] > 0;
	out->bytes |= g->op_read_bytes[op] > 0 || g->op_write_bytes[op] > 0;
}

/* Is a figure of the roofline missing, or a type unknown? */
static bool lacks(const gaps *x, int32_t d)
{
	const berth_system *s = x->s;
	bool any = !(s->dev_peak_flops[d] > 0) || !(s->dev_mem_bandwidth[d] > 0) ||
	           !(s->dev_op_overhead_s[d] > 0);
	for (int32_t i = s->efficiency.off[d]; !any && i < s->efficiency.off[d + 1]; i++)
		any = berth_strmap_get(&x->known, s->efficiency.type[i]) < 0;
	for (int32_t i = s->dev_runs_off[d]; !any && i < s->dev_runs_off[d + 1]; i++)
		any = berth_strmap_get(&x->known, s->runs_type[i]) < 0;
	return any;
}

/* ---- gaps ---- */

static bool has_peaks(const berth_system *s, int32_t d)
{
	for (int p = 0; p < BERTH_N_PRECISIONS; p++)
		if (s->dev_peaks[d * BERTH_N_PRECISIONS + p] > 0)
			return true;
	return false;
}

/* Without both figures a device runs what was measured there. That is as meant where something was, and of a
 * disk that an engine reads weights from. */
static berth_status find_rates(gaps *x, berth_err *err)
{
	const berth_system *s = x->s;
	const bool reads = s->engine && s->engine->times;
	int32_t n = s->n_devs;
	for (int32_t d = 0; d < n; d++)
		x->has[d] = x->dev[d].roofline && !x->dev[d].measured && !(s->dev_peak_flops[d] > 0) &&
		            !(s->dev_mem_bandwidth[d] > 0) && !has_peaks(s, d) &&
		            !(reads && berth_system_is(s, d, "disk"));
	BERTH_TRY(tell_devices(x,
	                       "neither peak_flops nor mem_bandwidth: only operators with measured times "
	                       "run there",
	                       err));
	for (int32_t d = 0; d < n; d++)
		x->has[d] = x->dev[d].flops && !(s->dev_peak_flops[d] > 0) && !has_peaks(s, d) &&
		            s->dev_mem_bandwidth[d] > 0;
	BERTH_TRY(tell_devices(x, "no peak_flops: computing takes no time there", err));
	for (int32_t d = 0; d < n; d++)
		x->has[d] = x->dev[d].bytes && s->dev_peak_flops[d] > 0 && !(s->dev_mem_bandwidth[d] > 0);
	BERTH_TRY(tell_devices(x, "no mem_bandwidth: reading and writing take no time there", err));
	for (int32_t d = 0; d < n; d++)
		x->has[d] = x->dev[d].roofline && !(s->dev_op_overhead_s[d] > 0) && !(s->op_gap_s > 0) &&
		            (s->dev_peak_flops[d] > 0 || s->dev_mem_bandwidth[d] > 0);
	return tell_devices(x, "op_overhead_s 0: starting an operator takes no time there", err);
}

/* Devices with peaks by precision that lack one which operators compute in. Weights of few bits mean f16. */
static berth_status find_precisions(gaps *x, berth_err *err)
{
	const berth_system *s = x->s;
	bool asked[BERTH_N_PRECISIONS] = {false};
	for (int32_t op = 0; x->g && op < x->g->n_ops; op++)
		asked[x->g->op_dtype[op]] = true;
	bool single = asked[BERTH_PRECISION_NONE] || asked[BERTH_F32];
	for (int32_t d = 0; d < s->n_devs; d++)
		x->has[d] = single && x->dev[d].roofline && has_peaks(s, d) && !(s->dev_peak_flops[d] > 0);
	BERTH_TRY(tell_devices(x, "no peak in f32: what computes in it cannot run there", err));
	asked[BERTH_PRECISION_NONE] = asked[BERTH_F32] = false;
	for (int i = 0; i < BERTH_N_PRECISIONS; i++) {
		berth_precision p = (berth_precision)i, used = BERTH_F32, some = BERTH_F32;
		bool weights = p == BERTH_W8A16 || p == BERTH_W4A16;
		for (int32_t d = 0; d < s->n_devs; d++) {
			x->has[d] = asked[i] && has_peaks(s, d) && berth_system_peak(s, d, p, &used) > 0 &&
			            used != (weights ? BERTH_F16 : p);
			some = x->has[d] ? used : some;
		}
		const char *text = berth_arena_printf(x->tmp, "no peak in %s: it counts as %s there",
		                                      berth_precision_name(weights ? BERTH_F16 : p),
		                                      berth_precision_name(some));
		BERTH_TRY(berth_got(text, err));
		BERTH_TRY(tell_devices(x, text, err));
	}
	return BERTH_OK;
}

/* Does a memory pool limit what dev holds? */
static bool pool_limits(const berth_system *s, int32_t dev)
{
	return s->n_pools && s->dev_pool[dev] >= 0 && s->pool_bytes[s->dev_pool[dev]] >= 0;
}

/* Devices that pay nothing for transfers work in a common memory, which has no limit; so does a CPU of the
 * catalogue, which states no memory of it. */
static berth_status find_memory(gaps *x, berth_err *err)
{
	const berth_system *s = x->s;
	const berth_problem alone = {.g = x->g, .s = s, .n_devs = s->n_devs};
	/* Does a placement take memory, by what the cost model counts? */
	const berth_graph *g = x->g;
	const berth_cost_model *m = s->cost_model;
	bool any = !g;
	for (int32_t i = 0; g && i < g->n_params && !any; i++)
		any = g->param_bytes[i] > 0;
	for (int32_t op = 0; g && op < g->n_ops && !any; op++)
		any = g->op_param_bytes[op] > 0 || g->op_state_bytes[op] > 0 ||
		      (m->memory_over_time && (g->op_workspace_bytes[op] > 0 || g->op_output_bytes[op] > 0));
	for (int32_t t = 0; g && m->memory_over_time && t < g->n_tensors && !any; t++)
		any = g->tensor_bytes[t] > 0;
	bool counts = any;
	for (int32_t d = 0; d < s->n_devs; d++)
		x->has[d] = counts && s->dev_memory_bytes[d] < 0 && !pool_limits(s, d) &&
		            !(s->dev_like[d] && s->dev_class[d] == BERTH_CLASS_CPU) &&
		            (!s->cost_model->s_per_byte || berth_cost_model_pays(&alone, d));
	return tell_devices(x, "no memory_bytes: what is placed there always fits", err);
}

static berth_status find_latencies(gaps *x, berth_err *err)
{
	const berth_system *s = x->s;
	char line[512] = "", word[128];
	int32_t n = 0, k = 0;
	if (s->cost_model->s_per_byte || (x->g && !x->g->n_tensors))
		return BERTH_OK;
	for (int32_t l = 0; l < s->n_links; l++)
		n += !(s->link_latency_s[l] > 0);
	for (int32_t l = 0; l < s->n_links; l++)
		if (!(s->link_latency_s[l] > 0)) {
			snprintf(word, sizeof word, "'%.40s'->'%.40s'", s->dev_name[s->link_from[l]],
			         s->dev_name[s->link_to[l]]);
			list(line, sizeof line, k++, n, word);
		}
	if (!n)
		return BERTH_OK;
	return tell(x,
	            berth_arena_printf(x->mem, "%s %s %s latency_s 0: small transfers take no time there",
	                               n == 1 ? "link" : "links", line, n == 1 ? "has" : "have"),
	            err);
}

/* ---- slips of units ---- */

/* The figure f of element i; NAN: what follows from a row of the catalogue, or is not there. */
static double figure_of(const berth_system *s, const berth_system_figure *f, int32_t i, berth_precision p)
{
	bool of_device = f->of == BERTH_OF_DEVICE, peak = of_device && strcmp(f->key, "peak_flops") == 0;
	double x = p == BERTH_F32 ? berth_system_figure_get(s, f, i)
	           : peak         ? s->dev_peaks[i * BERTH_N_PRECISIONS + (int32_t)p]
	                          : NAN;
	return berth_system_figure_given(f, x) ? x : NAN;
}

static const char *name_of(const berth_system *s, int of, int32_t i, char word[128])
{
	if (of == BERTH_OF_LINK)
		snprintf(word, 128, "'%.40s'->'%.40s'", s->dev_name[s->link_from[i]],
		         s->dev_name[s->link_to[i]]);
	else
		snprintf(word, 128, "'%.40s'", of == BERTH_OF_DEVICE ? s->dev_name[i] : s->pool_name[i]);
	return word;
}

static berth_device_class class_of(const berth_system *s, const berth_system_figure *f, int32_t i)
{
	return f->of != BERTH_OF_DEVICE          ? BERTH_CLASS_NONE
	       : s->dev_class[i]                 ? s->dev_class[i]
	       : berth_system_is(s, i, "gpu")    ? BERTH_CLASS_GPU
	       : berth_system_is(s, i, "cpu")    ? BERTH_CLASS_CPU
	                                         : BERTH_CLASS_NONE;
}

/* A line for all elements with the figure x, of which first is the first. */
static berth_status tell_slip(gaps *x, const berth_system_figure *f, berth_precision p, int32_t first,
                              int32_t n_all, double value, double meant, berth_err *err)
{
	static const char *const what[] = {"device", "link", "memory pool"};
	char line[512] = "", word[128], is[64], was[64];
	int32_t n = 0, k = 0;
	for (int32_t i = first; i < n_all; i++)
		n += figure_of(x->s, f, i, p) == value;
	for (int32_t i = first; i < n_all; i++)
		if (figure_of(x->s, f, i, p) == value)
			list(line, sizeof line, k++, n, name_of(x->s, (int)f->of, i, word));
	return tell(x,
	            berth_arena_printf(
			    x->mem, "%s%s %s %s %s of %s, %s than anything that was built (%s meant?)",
			    what[f->of], n == 1 ? "" : "s", line, n == 1 ? "has" : "have", f->key,
			    berth_unit_text(f->quantity, value, is), meant > value ? "less" : "more",
			    berth_unit_text(f->quantity, meant, was)),
	            err);
}

static berth_status find_slips_of(gaps *x, const berth_catalogue *c, const berth_system_figure *f,
                                  berth_precision p, berth_err *err)
{
	const berth_system *s = x->s;
	int32_t n = f->of == BERTH_OF_DEVICE ? s->n_devs : f->of == BERTH_OF_LINK ? s->n_links : s->n_pools;
	for (int32_t i = 0; i < n; i++) {
		double value = figure_of(s, f, i, p), meant;
		berth_built range = berth_built_range(c, f, class_of(s, f, i), p);
		bool again = false;
		if (!(range.most > 0))
			range = berth_built_range(c, f, BERTH_CLASS_NONE, p);
		if (isnan(value) || !berth_slip(f, &range, value, &meant))
			continue;
		for (int32_t k = 0; k < i && !again; k++)
			again = figure_of(s, f, k, p) == value;
		if (!again)
			BERTH_TRY(tell_slip(x, f, p, i, n, value, meant, err));
	}
	return BERTH_OK;
}

/* Figures that a wrong unit explains better than a device that nobody has built. Published workloads have
 * sizes without a unit. */
static berth_status find_slips(gaps *x, berth_err *err)
{
	berth_catalogue c;
	if (x->s->cost_model->s_per_byte)
		return BERTH_OK;
	BERTH_TRY(berth_catalogue_read(x->tmp, &c, err));
	for (int i = 0; i < BERTH_N_FIGURES; i++) {
		const berth_system_figure *f = &berth_system_figures[i];
		bool peaks = strcmp(f->key, "peak_flops") == 0;
		for (int p = 0; p < BERTH_N_PRECISIONS && f->of != BERTH_OF_OTHERS; p++)
			if (peaks || p == BERTH_F32)
				BERTH_TRY(find_slips_of(x, &c, f, (berth_precision)p, err));
	}
	return BERTH_OK;
}

/* ---- types ---- */

/* The types of a key: those of device d are type[off[d]] .. type[off[d + 1] - 1]. */
typedef struct key_types {
	const char *key;
	const int32_t *off;
	const char *const *type;
} key_types;

static bool names_type(const key_types *k, int32_t d, const char *type)
{
	BERTH_EACH (i, k->off, d)
		if (strcmp(k->type[i], type) == 0)
			return true;
	return false;
}

static berth_status tell_type(gaps *x, const key_types *k, const char *type, berth_err *err)
{
	char line[512], hint[128];
	int32_t n;
	for (int32_t d = 0; d < x->s->n_devs; d++)
		x->has[d] = names_type(k, d, type);
	return tell(x,
	            berth_arena_printf(x->mem, "%s: %s names type '%.60s', which no set of operators has%s",
	                               devices(x, line, &n), k->key, type,
	                               berth_text_suggest(hint, sizeof hint, type, x->type, x->n_types)),
	            err);
}

/* Each unknown type once, though several devices name it. */
static berth_status find_types(gaps *x, const key_types *k, berth_err *err)
{
	int32_t n = 0, found;
	for (int32_t d = 0; d < x->s->n_devs; d++)
		for (int32_t i = k->off[d]; x->dev[d].unmeasured && i < k->off[d + 1]; i++) {
			if (berth_strmap_get(&x->known, k->type[i]) >= 0)
				continue;
			BERTH_TRY(berth_strmap_add(&x->known, k->type[i], 0, &found, err));
			if (n++ < MOST_TYPES)
				BERTH_TRY(tell_type(x, k, k->type[i], err));
		}
	if (n <= MOST_TYPES)
		return BERTH_OK;
	return tell(x,
	            berth_arena_printf(x->mem, "%s names %d more types that no set of operators has", k->key,
	                               n - MOST_TYPES),
	            err);
}

static berth_status find_all(gaps *x, berth_err *err)
{
	const berth_system *s = x->s;
	const key_types efficiency = {"efficiency", s->efficiency.off, s->efficiency.type},
			runs = {"runs", s->dev_runs_off, s->runs_type};
	BERTH_TRY_NEW(x->tmp, s->n_devs, err, x->dev, x->has);
	int32_t found;
	BERTH_TRY(berth_onnx_types(x->tmp, &x->type, &x->n_types, err));
	berth_strmap_init(&x->known, x->tmp);
	BERTH_TRY(berth_strmap_add(&x->known, "*", 0, &found, err));
	for (int32_t i = 0; i < x->n_types; i++)
		BERTH_TRY(berth_strmap_add(&x->known, x->type[i], 0, &found, err));
	for (int32_t i = 0; x->g && i < x->g->n_types; i++)
		BERTH_TRY(berth_strmap_add(&x->known, x->g->type_name[i], 0, &found, err));
	for (int32_t d = 0; d < x->s->n_devs; d++) {
		need *out = &x->dev[d];
		if (!x->g)
			*out = (need){false, true, true, true, true};
		else if (lacks(x, d)) /* else nobody wants to know */
			for (int32_t op = 0; op < x->g->n_ops && !(out->flops && out->bytes && out->measured);
			     op++)
				ask(x, op, d, out);
	}
	BERTH_TRY(find_rates(x, err));
	BERTH_TRY(find_precisions(x, err));
	BERTH_TRY(find_memory(x, err));
	BERTH_TRY(find_latencies(x, err));
	BERTH_TRY(find_slips(x, err));
	BERTH_TRY(find_types(x, &efficiency, err));
	return find_types(x, &runs, err);
}

berth_status berth_system_warnings(const berth_system *s, const berth_graph *g, const bool *dev,
                                   berth_arena *mem, berth_arena *tmp, const char ***text, int32_t *n,
                                   berth_err *err)
{
	gaps x = {.s = s, .g = g, .told = dev, .mem = mem, .tmp = tmp};
	BERTH_SCRATCH(tmp);
	BERTH_TRY(find_all(&x, err));
	*text = x.text;
	*n = x.n;
	return BERTH_OK;
}
