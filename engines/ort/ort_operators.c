/* Profiler's files read and told in the operators' terms. */
#include "ort_operators.h"

#include "file.h"
#include "json.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FOLDER = 1024 };

typedef struct work {
	ort_model *m;
	ort_plan plan;
	berth_arena *mem;
	char folder[FOLDER];
	ort_operator_time *times;
	int32_t n;
	size_t cap;
	int32_t *op_entry;     /* [n_ops] 1 + entry of the operator's kernel; 0: none */
	int32_t *value_op;     /* [n_values] the operator that makes it; -1 */
} work;

static const onnx_node *node_of(const ort_model *m, int32_t op)
{
	return &m->onnx.node[m->op_node[op]];
}

/* ---- the profiler's folder ---- */

static berth_status make_folder(work *w, berth_err *err)
{
	const char *tmp = getenv("TMPDIR");
	if (snprintf(w->folder, sizeof w->folder, "%s/berth-XXXXXX", tmp && *tmp ? tmp : "/tmp") >=
	            (int)sizeof w->folder ||
	    !mkdtemp(w->folder)) {
		w->folder[0] = '\0';
		return berth_fail(err, BERTH_EIO,
		                  "no folder for the times of operators could be made in %.200s",
		                  tmp && *tmp ? tmp : "/tmp");
	}
	return BERTH_OK;
}

/* The file of segment k: the profiler adds the date. */
static berth_status find_file(const work *w, int32_t k, char *path, size_t size, berth_err *err)
{
	char head[16];
	DIR *dir = opendir(w->folder);
	struct dirent *e;
	bool found = false;
	int len = snprintf(head, sizeof head, "s%d_", (int)k);
	while (dir && !found && (e = readdir(dir)))
		if (strncmp(e->d_name, head, (size_t)len) == 0)
			found = snprintf(path, size, "%s/%.150s", w->folder, e->d_name) < (int)size;
	if (dir)
		closedir(dir);
	return found ? BERTH_OK
	             : berth_fail(err, BERTH_EIO, "ONNX Runtime left no times of operators in %s", w->folder);
}

static void remove_folder(const work *w)
{
	char path[FOLDER + 256];
	DIR *dir = w->folder[0] ? opendir(w->folder) : NULL;
	struct dirent *e;
	if (!dir)
		return;
	while ((e = readdir(dir)))
		if (e->d_name[0] != '.' &&
		    snprintf(path, sizeof path, "%s/%.150s", w->folder, e->d_name) < (int)sizeof path)
			unlink(path);
	closedir(dir);
	rmdir(w->folder);
}

/* ---- from kernels to operators ---- */

/* The operator of the segment that the kernel is named after. Fused and re-laid kernels add to the name. -1:
 * there is none. */
static int32_t op_of(const work *w, const ort_segment *s, const char *kernel, size_t len)
{
	int32_t best = -1;
	size_t longest = 0;
	for (int32_t i = 0; i < s->n_ops; i++) {
		const char *name = node_of(w->m, s->op[i])->name;
		size_t n = name ? strlen(name) : 0;
		if (n > longest && n <= len && strncmp(name, kernel, n) == 0 &&
		    (n == len || !isalnum((unsigned char)kernel[n]))) {
			best = s->op[i];
			longest = n;
		}
	}
	return best;
}

static berth_status add(work *w, ort_operator_time x, berth_err *err)
{
	BERTH_TRY(BERTH_GROW(w->mem, w->times, (size_t)w->n, &w->cap, err));
	w->times[w->n++] = x;
	return BERTH_OK;
}

static double number(const cJSON *e, const char *key)
{
	const cJSON *x = cJSON_GetObjectItemCaseSensitive(e, key);
	return cJSON_IsNumber(x) ? x->valuedouble : 0;
}

static bool is_called(const cJSON *e, const char *key, const char *what)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(e, key));
	return text && strcmp(text, what) == 0;
}

/* The latest run of the session. */
static const cJSON *last_run(const cJSON *events)
{
	const cJSON *e, *last = NULL;
	cJSON_ArrayForEach(e, events) if (is_called(e, "name", "model_run") &&
	                                  (!last || number(e, "ts") >= number(last, "ts"))) last = e;
	return last;
}

static berth_status read_kernel(work *w, int32_t k, const cJSON *e, double from_us, double s_per_us,
                                berth_err *err)
{
	static const char tail[] = "_kernel_time";
	const ort_segment *s = &w->plan.segment[k];
	const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(e, "name"));
	const char *kind = cJSON_GetStringValue(
		cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(e, "args"), "op_name"));
	size_t len = name ? strlen(name) : 0;
	if (!is_called(e, "cat", "Node") || len < sizeof tail ||
	    strcmp(name + len - (sizeof tail - 1), tail) != 0 || number(e, "ts") < from_us)
		return BERTH_OK;
	ort_operator_time x = {.segment = k, .op = op_of(w, s, name, len - (sizeof tail - 1)), .in = -1};
	if (x.op >= 0 && w->op_entry[x.op])
		x.op = -1; /* something beside the operator that took its name */
	x.start_s = s->start_s + (number(e, "ts") - from_us) * s_per_us;
	x.end_s = x.start_s + number(e, "dur") * s_per_us;
	x.start_s = x.start_s > s->end_s ? s->end_s : x.start_s;
	x.end_s = x.end_s > s->end_s ? s->end_s : x.end_s;
	if (!(x.kind = berth_arena_strdup(w->mem, kind ? kind : "")))
		return berth_nomem(err);
	if (x.op >= 0)
		w->op_entry[x.op] = w->n + 1;
	return add(w, x, err);
}

static berth_status read_segment(work *w, int32_t k, berth_err *err)
{
	const ort_segment *s = &w->plan.segment[k];
	char path[FOLDER + 256], *text;
	size_t size;
	cJSON *events = NULL;
	const cJSON *e;
	BERTH_TRY(find_file(w, k, path, sizeof path, err));
	BERTH_TRY(berth_file_read(path, w->mem, &text, &size, err));
	BERTH_TRY(berth_json_parse(path, text, size, &events, err));
	const cJSON *run = last_run(events);
	double took_us = run ? number(run, "dur") : 0;
	berth_status st = BERTH_OK;
	if (took_us > 0)
		cJSON_ArrayForEach(e, events)
		{
			st = read_kernel(w, k, e, number(run, "ts"), (s->end_s - s->start_s) / took_us, err);
			if (st != BERTH_OK)
				break;
		}
	cJSON_Delete(events);
	return st;
}

/* ---- fused operators ---- */

static bool has_kernel_in(const work *w, const ort_segment *s, int32_t op)
{
	return w->op_entry[op] && w->times[w->op_entry[op] - 1].segment == (int32_t)(s - w->plan.segment);
}

static bool takes(const onnx_node *node, const onnx_node *from)
{
	for (int32_t k = 0; k < node->n_all; k++)
		for (int32_t o = 0; o < from->n_out; o++)
			if (node->in[k] >= 0 && node->in[k] == from->out[o])
				return true;
	return false;
}

/* The first operator of the segment that takes an output of op. -1: there is none. */
static int32_t user_of(const work *w, const ort_segment *s, int32_t op)
{
	for (int32_t i = 0; i < s->n_ops; i++)
		if (takes(node_of(w->m, s->op[i]), node_of(w->m, op)))
			return s->op[i];
	return -1;
}

/* A fused kernel often has the name of its last operator. So look down the users for one whose kernel is not
 * of its own type. -1: there is none. */
static int32_t host_after(const work *w, const ort_segment *s, int32_t op)
{
	for (int32_t steps = 0; steps < s->n_ops && (op = user_of(w, s, op)) >= 0; steps++)
		if (has_kernel_in(w, s, op))
			return strcmp(w->times[w->op_entry[op] - 1].kind, node_of(w->m, op)->type) != 0 ? op
			                                                                                : -1;
	return -1;
}

/* Or it has the name of its first. So look up the first inputs for the nearest operator with a kernel. -1:
 * there is none. */
static int32_t host_before(const work *w, const ort_segment *s, int32_t op)
{
	for (int32_t steps = 0; steps < s->n_ops && op >= 0; steps++) {
		const onnx_node *node = node_of(w->m, op);
		int32_t maker = -1;
		for (int32_t k = 0; k < node->n_all && maker < 0; k++)
			maker = node->in[k] >= 0 ? w->value_op[node->in[k]] : -1;
		if (maker >= 0 && has_kernel_in(w, s, maker))
			return maker;
		op = maker;
	}
	return -1;
}

static berth_status add_fused(work *w, int32_t k, berth_err *err)
{
	const ort_segment *s = &w->plan.segment[k];
	for (int32_t i = 0; i < s->n_ops; i++) {
		if (w->op_entry[s->op[i]])
			continue;
		int32_t host = host_after(w, s, s->op[i]);
		if (host < 0 && (host = host_before(w, s, s->op[i])) < 0)
			continue;
		ort_operator_time x = w->times[w->op_entry[host] - 1];
		x.op = s->op[i];
		x.in = host;
		BERTH_TRY(add(w, x, err));
	}
	return BERTH_OK;
}

/* ---- all of it ---- */

static berth_status run_twice(work *w, const exec_kind *kind, void *ex, berth_err *err)
{
	double wall, cpu, strain;
	BERTH_TRY(kind->admit(ex, w->plan.buffer, w->plan.n_buffers, err));
	berth_status st = ort_plan_run(&w->plan, kind, ex, &wall, &cpu, &strain, err);
	if (st == BERTH_OK)
		st = ort_plan_run(&w->plan, kind, ex, &wall, &cpu, &strain, err);
	kind->dismiss(ex, w->plan.buffer, w->plan.n_buffers);
	return st;
}

static berth_status list_makers(work *w, berth_err *err)
{
	BERTH_TRY(BERTH_NEW(w->mem, w->op_entry, w->m->n_ops, err));
	BERTH_TRY(BERTH_NEW(w->mem, w->value_op, w->m->onnx.n_values, err));
	memset(w->value_op, -1, w->m->onnx.n_values * sizeof *w->value_op);
	for (int32_t op = 0; op < w->m->n_ops; op++)
		for (int32_t k = 0; k < node_of(w->m, op)->n_out; k++)
			if (node_of(w->m, op)->out[k] >= 0)
				w->value_op[node_of(w->m, op)->out[k]] = op;
	return BERTH_OK;
}

static berth_status read_all(work *w, berth_err *err)
{
	for (int32_t k = 0; k < w->plan.n_segments; k++) { /* the files are written now */
		ort_session_free(w->m->lib, w->plan.segment[k].session);
		w->plan.segment[k].session = NULL;
	}
	BERTH_TRY(list_makers(w, err));
	for (int32_t k = 0; k < w->plan.n_segments; k++)
		BERTH_TRY(read_segment(w, k, err));
	for (int32_t k = 0; k < w->plan.n_segments; k++)
		BERTH_TRY(add_fused(w, k, err));
	return BERTH_OK;
}

berth_status ort_operator_times(ort_model *m, const ort_device *dev, const int32_t *placement,
                                const int32_t *order, ort_clock clock, const exec_kind *kind, void *ex,
                                berth_arena *mem, ort_operator_time **times, int32_t *n, berth_err *err)
{
	work w = {.m = m, .mem = mem};
	BERTH_TRY(make_folder(&w, err));
	berth_status st = ort_plan_new(m, dev, placement, order, clock, w.folder, &w.plan, err);
	if (st == BERTH_OK) {
		st = run_twice(&w, kind, ex, err);
		if (st == BERTH_OK)
			st = read_all(&w, err);
		ort_plan_free(&w.plan);
	}
	remove_folder(&w);
	*times = w.times;
	*n = w.n;
	return st;
}
