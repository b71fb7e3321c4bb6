/* Measured times out of ONNX Runtime's profile, which join a graph. Events are read one by one: a profile
 * of many runs is large. */
#include "ort_profile.h"

typedef struct run {
	int32_t op, key, index; /* key: of the device; index: order in the file */
	double us;
} run;

typedef struct reading {
	const char *file, *device;
	const berth_graph *g;
	berth_arena *mem, *tmp;
	run *run;
	const char **key;
	berth_strmap ops, keys, unjoined;
	size_t n_runs, cap_run, n_keys, cap_key, cap_unjoined, n_events;
	berth_ort_report report;
} reading;

/* ---- events ---- */

static const char *kind_of(const char *provider)
{
	static const char *const cards[] = {"CUDA",     "Tensorrt", "NvTensorRTRTX", "ROCM",
	                                    "MIGraphX", "Dml",      "WebGpu",        "JS"};
	if (strncmp(provider, "CPU", 3) == 0)
		return "cpu";
	for (size_t i = 0; i < sizeof cards / sizeof *cards; i++)
		if (strncmp(provider, cards[i], strlen(cards[i])) == 0)
			return "gpu";
	return "npu";
}

static berth_status keep_unjoined(reading *r, const char *name, double us, berth_err *err)
{
	r->report.unjoined_s += us;
	if (berth_strmap_get(&r->unjoined, name) >= 0)
		return BERTH_OK;
	const char *copy = berth_arena_strdup(r->mem, name);
	BERTH_TRY(berth_got(copy, err));
	BERTH_TRY(BERTH_GROW(r->mem, r->report.unjoined, r->report.n_unjoined, &r->cap_unjoined, err));
	r->report.unjoined[r->report.n_unjoined] = copy;
	return berth_strmap_add(&r->unjoined, copy, r->report.n_unjoined++, NULL, err);
}

static berth_status not_an_array(const reading *r, berth_err *err)
{
	return berth_fail(err, BERTH_EFORMAT,
	                  "%s: expected a profile of ONNX Runtime: an array of objects, event %zu is none",
	                  r->file, r->n_events);
}

berth_status berth_ort_node_event(const berth_json *at, bool *is, const char **name, size_t *n,
                                  berth_err *err)
{
	static const char suffix[] = "_kernel_time";
	const char *category = "";
	*is = false;
	BERTH_TRY(berth_json_string(at, "cat", false, &category, err));
	if (strcmp(category, "Node") != 0)
		return BERTH_OK;
	BERTH_TRY(berth_json_string(at, "name", true, name, err));
	size_t len = strlen(*name), end = sizeof suffix - 1;
	*is = len >= end && strcmp(*name + len - end, suffix) == 0;
	*n = *is ? len - end : len;
	return BERTH_OK;
}

static berth_status read_event(void *ctx, const berth_json *at, berth_err *err)
{
	reading *r = ctx;
	const char *name = "", *provider = "CPU";
	size_t n;
	bool is_node;
	berth_json args = {0};
	double dur = NAN;
	if (!cJSON_IsObject(at->item))
		return not_an_array(r, err);
	if (r->n_events++ == INT32_MAX / 4)
		return berth_fail(err, BERTH_EFORMAT, "%s: more than %d events", r->file, INT32_MAX / 4);
	BERTH_TRY(berth_ort_node_event(at, &is_node, &name, &n, err));
	if (!is_node)
		return BERTH_OK;
	BERTH_TRY(berth_json_number(at, "dur", true, 0, &dur, err));
	if (dur > 1e12)
		return berth_json_fail(at, err, "dur is %g; expected at most 1e12 microseconds", dur);
	BERTH_TRY(berth_json_object(at, "args", false, &args, err));
	if (args.item)
		BERTH_TRY(berth_json_string(&args, "provider", false, &provider, err));
	berth_arena_mark mark = berth_arena_get_mark(r->tmp);
	char *node = berth_arena_strndup(r->tmp, name, n);
	BERTH_TRY(berth_got(node, err));
	int32_t op = berth_strmap_get(&r->ops, node);
	r->report.n_runs++;
	if (op < 0)
		return keep_unjoined(r, node, dur, err);
	berth_arena_reset(r->tmp, mark);
	const char *key = r->device ? r->device : kind_of(provider);
	int32_t k = berth_strmap_get(&r->keys, key);
	if (k < 0) {
		const char *copy = berth_arena_strdup(r->mem, key);
		BERTH_TRY(berth_got(copy, err));
		BERTH_TRY(BERTH_GROW(r->tmp, r->key, r->n_keys, &r->cap_key, err));
		r->key[r->n_keys] = copy;
		BERTH_TRY(berth_strmap_add(&r->keys, copy, (int32_t)r->n_keys++, &k, err));
	}
	BERTH_TRY(BERTH_GROW(r->tmp, r->run, r->n_runs, &r->cap_run, err));
	r->run[r->n_runs] = (run){op, k, (int32_t)r->n_runs, dur};
	r->n_runs++;
	r->report.joined_s += dur;
	return BERTH_OK;
}

static berth_status read_events(reading *r, const char *text, size_t size, berth_err *err)
{
	BERTH_JSON_DOC(list);
	BERTH_TRY(berth_json_open_doc(r->file, text, size, &list, err));
	return cJSON_IsArray(list.item) ? berth_json_each(&list, read_event, r, err) : not_an_array(r, err);
}

/* ---- times ---- */

static int by_op(const void *pa, const void *pb)
{
	const run *a = pa, *b = pb;
	if (a->op != b->op)
		return a->op < b->op ? -1 : 1;
	return a->key != b->key ? (a->key < b->key ? -1 : 1) : BERTH_COMPARE(a->index, b->index);
}

static int by_us(const void *pa, const void *pb)
{
	const run *a = pa, *b = pb;
	return BERTH_COMPARE(a->us, b->us);
}

/* Of runs in the order of the file, which are then sorted. */
static double median(run *x, size_t n)
{
	size_t warm = n >= 3;
	x += warm;
	n -= warm;
	qsort(x, n, sizeof *x, by_us);
	return n % 2 ? x[n / 2].us : (x[n / 2 - 1].us + x[n / 2].us) / 2;
}

static bool is_new(const reading *r, const run *x, size_t n, const char *key)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(r->key[x[i].key], key) == 0)
			return false;
	return true;
}

/* Times of op: those it had for other names, then a median for each key of its runs x[n]; leaves one run a
 * key in x. */
static void put_times(const reading *r, int32_t op, run *x, size_t n, berth_graph *out)
{
	size_t n_keys = 0;
	for (size_t i = 0, next; i < n; i = next) {
		for (next = i + 1; next < n && x[next].key == x[i].key; next++)
			;
		run one = x[i];
		one.us = median(x + i, next - i);
		x[n_keys++] = one;
	}
	BERTH_EACH (i, r->g->op_time_off, op)
		if (is_new(r, x, n_keys, berth_graph_time_name(r->g, i))) {
			out->time_key[out->n_times] = r->g->time_key[i];
			out->time_s[out->n_times++] = r->g->time_s[i];
		}
	for (size_t i = 0; i < n_keys; i++) {
		out->time_key[out->n_times] = (uint16_t)(r->g->n_time_names + x[i].key);
		out->time_s[out->n_times++] = x[i].us / 1e6;
	}
	/* From the first one on, by their names, as every reader has them. */
	int32_t first = out->op_time_off[op];
	for (int32_t i = first + 1; i < out->n_times; i++)
		for (int32_t k = i; k > first && strcmp(berth_graph_time_name(out, k),
		                                        berth_graph_time_name(out, k - 1)) < 0;
		     k--) {
			uint16_t key = out->time_key[k];
			double s = out->time_s[k];
			out->time_key[k] = out->time_key[k - 1];
			out->time_s[k] = out->time_s[k - 1];
			out->time_key[k - 1] = key;
			out->time_s[k - 1] = s;
		}
	out->op_time_off[op + 1] = out->n_times;
}

static berth_status join(reading *r, berth_graph *out, berth_err *err)
{
	const berth_graph *g = r->g;
	size_t at = 0, most = (size_t)g->n_times + r->n_runs;
	*out = *g;
	out->n_times = 0;
	if (most > INT32_MAX)
		return berth_fail(err, BERTH_EFORMAT, "%s: more than %d times", r->file, INT32_MAX);
	qsort(r->run, r->n_runs, sizeof *r->run, by_op);
	BERTH_TRY(berth_graph_join_time_names(g, r->key, r->n_keys, r->mem, out, err));
	BERTH_TRY_NEW(r->mem, g->n_ops + 1, err, out->op_time_off);
	BERTH_TRY_NEW(r->mem, most, err, out->time_key, out->time_s);
	BERTH_TRY_NEW(r->mem, g->n_ops, err, r->report.untimed);
	for (int32_t op = 0; op < g->n_ops; op++) {
		size_t from = at;
		while (at < r->n_runs && r->run[at].op == op)
			at++;
		put_times(r, op, r->run + from, at - from, out);
		if (at == from)
			r->report.untimed[r->report.n_untimed++] = g->op_name[op];
		else
			r->report.n_timed++;
	}
	return BERTH_OK;
}

static berth_status list_ops(reading *r, berth_err *err)
{
	r->cap_run = 64; /* a list from the start: it is sorted and cut, be it empty */
	BERTH_TRY_NEW(r->tmp, r->cap_run, err, r->run);
	berth_strmap_init(&r->keys, r->tmp);
	berth_strmap_init(&r->unjoined, r->tmp);
	return berth_graph_names(r->g, r->tmp, &r->ops, err);
}

berth_status berth_graph_ort_times(const char *file, const char *text, size_t size, const char *device,
                                   const berth_graph *g, berth_arena *mem, berth_arena *tmp, berth_graph *out,
                                   berth_ort_report *report, berth_err *err)
{
	reading r = {.file = file, .device = device, .g = g, .mem = mem, .tmp = tmp};
	berth_arena_mark scratch = berth_arena_get_mark(tmp), kept = berth_arena_get_mark(mem);
	berth_graph timed;
	berth_status st = list_ops(&r, err);
	if (st == BERTH_OK)
		st = read_events(&r, text, size, err);
	if (st == BERTH_OK)
		st = join(&r, &timed, err);
	berth_arena_reset(tmp, scratch);
	if (st != BERTH_OK) {
		berth_arena_reset(mem, kept);
		return st;
	}
	berth_graph_must_hold(&timed);
	*out = timed;
	r.report.joined_s /= 1e6;
	r.report.unjoined_s /= 1e6;
	if (report)
		*report = r.report;
	return BERTH_OK;
}
