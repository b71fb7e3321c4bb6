/* Reads the devices of a berth-system file: their figures, what they are like, numbers by type of operators.
 * What all figures share, their keys, ranges and absences, is a table of system.c. */
#include "system_read.h"


enum { MOST_TYPES = 1 << 16 }; /* in the efficiencies of all devices, and in what they run */

berth_status system_copy_word(system_reader *r, const char *word, const char **out, berth_err *err)
{
	*out = berth_arena_strdup(r->mem, word);
	return *out ? BERTH_OK : berth_nomem(err);
}

/* The number at, or a text with a unit: "24GB", "7us". Fails: BERTH_EFORMAT. */
static berth_status read_number(const berth_json *at, berth_quantity q, double *out, berth_err *err)
{
	char known[96];
	const char *text = at->item->valuestring, *end;
	if (!cJSON_IsString(at->item))
		return berth_json_value(at, -INFINITY, out, err);
	double x = berth_unit_number(q, text, &end);
	berth_unit_names(q, known);
	if (!isfinite(x) || *end || (end[-1] >= '.' && end[-1] <= '9'))
		return berth_json_fail(at, err, "'%.40s' is no number with a unit; %s%s", text,
		                       *known ? "known: " : "expected a number", known);
	*out = x;
	return BERTH_OK;
}

berth_status system_read_figure(const berth_json *at, const char *key, berth_quantity q, bool required,
                                double *out, berth_err *err)
{
	double x;
	berth_json v = berth_json_get(at, key);
	if (!v.item)
		return berth_json_number(at, key, required, 0, out, err);
	BERTH_TRY(read_number(&v, q, &x, err));
	BERTH_TRY(berth_json_placed(&v, berth_system_figure_check(key, x, err), err));
	*out = x;
	return BERTH_OK;
}

/* Bytes, or null for no limit. */
berth_status system_read_bytes(const berth_json *at, const char *key, int64_t *out, berth_err *err)
{
	double x;
	berth_json v = berth_json_get(at, key);
	if (cJSON_IsNull(v.item))
		*out = -1;
	if (cJSON_IsNull(v.item) || !cJSON_IsString(v.item))
		return cJSON_IsNull(v.item) ? BERTH_OK : berth_json_bytes(at, key, false, out, err);
	BERTH_TRY(read_number(&v, BERTH_BYTES, &x, err));
	if (!(x >= 0 && x <= 0x1p53))
		return berth_json_fail(&v, err, "'%.40s' are not bytes from 0 to 2^53",
		                       v.item->valuestring);
	*out = (int64_t)x;
	return BERTH_OK;
}

static berth_status read_peak(void *peaks, const berth_json *v, berth_err *err)
{
	berth_precision p;
	berth_err why;
	double x;
	if (berth_precision_find(v->key, &p, &why) != BERTH_OK)
		return berth_json_fail(v, err, "%s", why.msg);
	BERTH_TRY(read_number(v, BERTH_FLOPS_PER_S, &x, err));
	BERTH_TRY(berth_json_placed(v, berth_system_figure_check("peak_flops", x, err), err));
	((double *)peaks)[p] = x;
	return BERTH_OK;
}

/* All figures of element i of a kind. */
berth_status system_read_figures(const berth_json *at, system_reader *r, int of, int32_t i, berth_err *err)
{
	for (const berth_system_figure *f = berth_system_figures; f < berth_system_figures + BERTH_N_FIGURES;
	     f++) {
		if ((int)f->of != of)
			continue;
		double x = berth_system_figure_get(&r->s, f, i); /* as by default, or like another device */
		int64_t bytes = f->type == BERTH_FIGURE_BYTES ? (int64_t)x : 0;
		int32_t count = f->type == BERTH_FIGURE_COUNT ? (int32_t)x : 0;
		if (cJSON_IsObject(berth_json_get(at, f->key).item) && strcmp(f->key, "peak_flops") == 0) {
			/* Peaks by precision; x is that of single precision. */
			berth_json map;
			double *peaks = &r->s.dev_peaks[i * BERTH_N_PRECISIONS];
			BERTH_TRY(berth_json_object(at, "peak_flops", true, &map, err));
			BERTH_CLEAR(peaks, BERTH_N_PRECISIONS);
			BERTH_TRY(berth_json_each(&map, read_peak, peaks, err));
			x = peaks[BERTH_F32];
			peaks[BERTH_F32] = 0;
		} else if (f->type == BERTH_FIGURE_BYTES)
			BERTH_TRY(system_read_bytes(at, f->key, &bytes, err));
		else if (f->type == BERTH_FIGURE_COUNT)
			BERTH_TRY(berth_json_int(at, f->key, false, 1, (int32_t)f->most, &count, err));
		else
			BERTH_TRY(system_read_figure(at, f->key, f->quantity,
			                             strcmp(f->key, "bandwidth") == 0, &x, err));
		berth_system_figure_set(&r->s, f, i,
		                        f->type == BERTH_FIGURE_BYTES   ? (double)bytes
		                        : f->type == BERTH_FIGURE_COUNT ? count
		                                                        : x);
	}
	return BERTH_OK;
}

berth_status system_new_figures(system_reader *r, int of, int32_t n, berth_err *err)
{
	for (const berth_system_figure *f = berth_system_figures; f < berth_system_figures + BERTH_N_FIGURES;
	     f++)
		if ((int)f->of == of)
			BERTH_TRY(berth_system_figure_new(&r->s, f, n, NULL, r->mem, err));
	return BERTH_OK;
}

/* One more number by type of device d, the last so far. */
static berth_status add_by_type(system_reader *r, system_by_type *x, int32_t d, const char *type,
                                double value, berth_err *err)
{
	berth_by_type *to = x->to;
	int32_t i = to->off[d + 1];
	if (i == MOST_TYPES)
		return berth_fail(err, BERTH_EFORMAT, "more than %d types of %s in all", MOST_TYPES, x->key);
	BERTH_TRY(BERTH_GROW(r->mem, to->type, i, &x->cap_type, err));
	BERTH_TRY(BERTH_GROW(r->mem, to->value, i, &x->cap_value, err));
	BERTH_TRY(system_copy_word(r, type, &to->type[i], err));
	to->value[i] = value;
	to->off[d + 1]++;
	return BERTH_OK;
}

/* Remember word of the list that at is an element of; an error if it was there. */
static berth_status only_once(const berth_json *at, berth_strmap *seen, const char *word, berth_err *err)
{
	int32_t now = (int32_t)seen->len, first;
	BERTH_TRY(berth_strmap_add(seen, word, now, &first, err));
	return first == now ? BERTH_OK : berth_json_fail(at, err, "type '%.60s' stands twice", word);
}

typedef struct of_device {
	system_reader *r;
	system_by_type *x;
	int32_t d, n;
	berth_strmap seen;
} of_device;

static berth_status read_one_by_type(void *ctx, const berth_json *v, berth_err *err)
{
	of_device *of = ctx;
	if (!cJSON_IsNumber(v->item))
		return berth_json_fail(v, err, "expected a number");
	double x = v->item->valuedouble;
	const char *type = berth_arena_strdup(of->r->tmp, v->key);
	BERTH_TRY(berth_got(type, err));
	BERTH_TRY(only_once(v, &of->seen, type, err));
	BERTH_TRY(berth_json_placed(v, berth_system_figure_check(of->x->key, x, err), err));
	return berth_json_placed(v->up, add_by_type(of->r, of->x, of->d, v->key, x, err), err);
}

/* Efficiencies of a device like another one that states none. */
static berth_status add_defaults(system_reader *r, int32_t d, berth_err *err)
{
	for (const berth_type_default *x = berth_like_efficiency(r->s.dev_class[d]); x->type; x++)
		BERTH_TRY(add_by_type(r, &r->efficiency, d, x->type, x->value, err));
	return BERTH_OK;
}

static berth_status read_by_type(const berth_json *at, system_reader *r, system_by_type *x, int32_t d,
                                 berth_err *err)
{
	berth_json map;
	of_device of = {.r = r, .x = x, .d = d};
	berth_strmap_init(&of.seen, r->tmp);
	BERTH_TRY(berth_json_object(at, x->key, false, &map, err));
	x->to->off[d + 1] = x->to->off[d];
	if (!map.item && x == &r->efficiency && r->s.dev_like[d])
		return add_defaults(r, d, err);
	if (!cJSON_GetObjectItemCaseSensitive(map.item, "*"))
		BERTH_TRY(add_by_type(r, x, d, "*", 1, err));
	return berth_json_each(&map, read_one_by_type, &of, err);
}

static berth_status read_run(void *ctx, const berth_json *v, berth_err *err)
{
	of_device *of = ctx;
	system_reader *r = of->r;
	if (!cJSON_IsString(v->item))
		return berth_json_fail(v, err, "expected the name of an operator type");
	if (of->n == MOST_TYPES)
		return berth_json_fail(v->up, err, "more than %d types in all", MOST_TYPES);
	BERTH_TRY(BERTH_GROW(r->mem, r->s.runs_type, of->n, &r->cap_runs, err));
	BERTH_TRY(system_copy_word(r, v->item->valuestring, &r->s.runs_type[of->n], err));
	return only_once(v, &of->seen, r->s.runs_type[of->n++], err);
}

static berth_status read_dev_names(const berth_json *at, system_reader *r, int32_t d, berth_err *err)
{
	const char *name = NULL, *kind = NULL, *host = NULL, *calibrated = NULL, *like = r->s.dev_like[d];
	berth_json v = berth_json_get(at, "name"), on = berth_json_get(at, "host");
	int32_t found;
	BERTH_TRY(berth_json_string(at, "name", true, &name, err));
	BERTH_TRY(berth_json_string(at, "kind", false, &kind, err));
	BERTH_TRY(berth_json_string(at, "host", false, &host, err));
	BERTH_TRY(berth_json_string(at, "calibrated", false, &calibrated, err));
	if (host && !*host)
		return berth_json_fail(&on, err, "the host's name is empty");
	if (!*name)
		return berth_json_fail(&v, err, "the name is empty");
	BERTH_TRY(system_copy_word(r, name, &r->s.dev_name[d], err));
	BERTH_TRY(system_copy_word(r, kind ? kind : like ? like : name, &r->s.dev_kind[d], err));
	if (host)
		BERTH_TRY(system_copy_word(r, host, &r->s.dev_host[d], err));
	if (calibrated)
		BERTH_TRY(system_copy_word(r, calibrated, &r->s.dev_calibrated[d], err));
	BERTH_TRY(berth_strmap_add(&r->devs, r->s.dev_name[d], d, &found, err));
	return found == d ? BERTH_OK
	                  : berth_json_fail(&v, err, "two devices are named '%.80s'; names must be unique",
	                                    name);
}

static berth_status read_like(const berth_json *at, system_reader *r, int32_t d, berth_err *err)
{
	const char *name = NULL;
	const berth_device_row *row;
	berth_json v = berth_json_get(at, "like");
	BERTH_TRY(berth_json_string(at, "like", false, &name, err));
	if (!name)
		return BERTH_OK;
	if (!r->catalogue.n_devices)
		BERTH_TRY(berth_catalogue_read(r->mem, &r->catalogue, err));
	BERTH_TRY(berth_json_placed(&v, berth_device_find(&r->catalogue, name, r->tmp, &row, err), err));
	berth_system_like(&r->s, d, row);
	return BERTH_OK;
}

static berth_status read_class(const berth_json *at, berth_system *s, int32_t d, berth_err *err)
{
	static const char *const name[] = {"gpu", "cpu", "npu"};
	const char *word = NULL;
	int32_t found;
	BERTH_TRY(berth_json_string(at, "class", false, &word, err));
	if (!word)
		return BERTH_OK;
	BERTH_TRY(berth_json_find(at, "class", name, 3, word, "class", "; expected gpu, cpu or npu", &found,
	                          err));
	s->dev_class[d] = (berth_device_class)(found + 1);
	return BERTH_OK;
}

static berth_status read_device(void *ctx, const berth_json *at, berth_err *err)
{
	static const char *const known[] = {
		"name",         "kind",          "peak_flops", "efficiency", "mem_bandwidth",
		"memory_bytes", "op_overhead_s", "slots",      "runs",       "idle_w",
		"busy_w",       "memory_margin", "contiguous", "host",       "like",
		"class",        "lanes",         "units",      "cache_bytes", "power_w",
		"process_nm",   "scale",         "calibrated", "fresh_bandwidth", "price_h",
		NULL};
	system_reader *r = ctx;
	berth_system *s = &r->s;
	int32_t d = r->n_read++;
	BERTH_TRY(berth_json_keys(at, known, err));
	BERTH_TRY(read_like(at, r, d, err));
	BERTH_TRY(read_dev_names(at, r, d, err));
	BERTH_TRY(read_class(at, s, d, err));
	BERTH_TRY(system_read_figures(at, r, BERTH_OF_DEVICE, d, err));
	BERTH_TRY(read_by_type(at, r, &r->efficiency, d, err));
	BERTH_TRY(read_by_type(at, r, &r->scale, d, err));
	BERTH_TRY(berth_json_bool(at, "contiguous", &s->dev_contiguous[d], err));
	berth_json list;
	of_device of = {.r = r, .d = d, .n = r->s.dev_runs_off[d]};
	berth_strmap_init(&of.seen, r->tmp);
	BERTH_TRY(berth_json_array(at, "runs", false, &list, err));
	r->s.dev_runs_all[d] = !list.item;
	BERTH_TRY(berth_json_each(&list, read_run, &of, err));
	r->s.dev_runs_off[d + 1] = of.n;
	double idle_w = s->dev_idle_w[d];
	double busy_w = s->dev_busy_w[d];
	if (isnan(idle_w) != isnan(busy_w))
		return berth_json_fail(at, err, "'%s' is given without '%s'; give both or neither",
		                       isnan(idle_w) ? "busy_w" : "idle_w",
		                       isnan(idle_w) ? "idle_w" : "busy_w");
	berth_json v = berth_json_get(at, "busy_w");
	return busy_w < idle_w
	               ? berth_json_fail(&v, err, "busy_w is %.10g, below idle_w, %.10g", busy_w, idle_w)
	               : BERTH_OK;
}

berth_status system_read_devices(const berth_json *doc, system_reader *r, berth_err *err)
{
	berth_json list;
	BERTH_TRY(berth_json_array(doc, "devices", true, &list, err));
	int32_t n = berth_json_count(&list);
	if (n < 1 || n > BERTH_MAX_DEVS)
		return berth_json_fail(&list, err, "%d devices; expected 1 to %d", n, BERTH_MAX_DEVS);
	berth_system *s = &r->s;
	s->n_devs = n;
	BERTH_TRY(system_new_figures(r, BERTH_OF_DEVICE, n, err));
	BERTH_TRY_NEW(r->mem, n, err, s->dev_name, s->dev_kind, s->dev_host, s->dev_contiguous, s->dev_like,
	              s->dev_class, s->dev_calibrated);
	BERTH_TRY_NEW(r->mem, n * BERTH_N_PRECISIONS, err, s->dev_peaks);
	BERTH_TRY_NEW(r->mem, n + 1, err, s->efficiency.off, s->scale.off, s->dev_runs_off);
	r->efficiency = (system_by_type){.key = "efficiency", .to = &s->efficiency};
	r->scale = (system_by_type){.key = "scale", .to = &s->scale};
	BERTH_TRY_NEW(r->mem, n, err, s->dev_runs_all);
	BERTH_TRY_NEW(r->mem, n * n, err, s->link_of);
	for (int32_t i = 0; i < n * n; i++)
		s->link_of[i] = -1;
	return berth_json_each(&list, read_device, r, err);
}
