/* Profiler's files read and told in the operators' terms. */
#include "ort_operators.h"

#include "fused_host.h"
#include "kernel_times.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

typedef struct work {
	ort_model *m;
	ort_plan plan;
	berth_arena *mem;
	char folder[KERNEL_FOLDER];
	ort_operator_time *times;
	int32_t n;
	size_t cap;
	int32_t *op_entry;     /* [n_ops] 1 + entry of the operator's kernel; 0: none */
	fused_hosts hosts;
} work;

static const onnx_node *node_of(const ort_model *m, int32_t op)
{
	return &m->onnx.node[m->op_node[op]];
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

static berth_status read_kernel(work *w, int32_t k, const kernel_time *e, double s_per_us, berth_err *err)
{
	const ort_segment *s = &w->plan.segment[k];
	const ort_times *t = &s->ran;
	ort_operator_time x = {
		.segment = k, .op = op_of(w, s, e->name, strlen(e->name)), .in = -1, .kind = e->type};
	if (x.op >= 0 && w->op_entry[x.op])
		x.op = -1; /* something beside the operator that took its name */
	x.start_s = t->start_s + e->at_us * s_per_us;
	x.end_s = x.start_s + e->took_us * s_per_us;
	x.start_s = x.start_s > t->end_s ? t->end_s : x.start_s;
	x.end_s = x.end_s > t->end_s ? t->end_s : x.end_s;
	if (x.op >= 0)
		w->op_entry[x.op] = w->n + 1;
	return add(w, x, err);
}

static berth_status read_segment(work *w, int32_t k, berth_err *err)
{
	const ort_segment *s = &w->plan.segment[k];
	char path[KERNEL_FOLDER + 256], head[16];
	kernel_times times;
	if (s->n_out == 0)
		return BERTH_OK;
	snprintf(head, sizeof head, "s%d_", (int)k);
	BERTH_TRY(kernel_folder_find(w->folder, head, path, sizeof path, err));
	BERTH_TRY(kernel_times_read(path, w->mem, &times, err));
	for (int32_t i = 0; i < times.n; i++)
		BERTH_TRY(read_kernel(w, k, &times.kernel[i], (s->ran.end_s - s->ran.start_s) / times.took_us,
		                      err));
	return BERTH_OK;
}

/* ---- fused operators ---- */

/* Only kernels of this segment are told to `hosts`. */
static berth_status add_fused(work *w, int32_t k, berth_err *err)
{
	const ort_segment *s = &w->plan.segment[k];
	for (int32_t i = 0; i < s->n_ops; i++)
		if (w->op_entry[s->op[i]])
			w->hosts.kernel[s->op[i]] = w->times[w->op_entry[s->op[i]] - 1].kind;
	for (int32_t i = 0; i < s->n_ops; i++) {
		int32_t host = w->hosts.kernel[s->op[i]] ? -1 : fused_host(&w->hosts, s->op[i]);
		if (host < 0)
			continue;
		ort_operator_time x = w->times[w->op_entry[host] - 1];
		x.op = s->op[i];
		x.in = host;
		BERTH_TRY(add(w, x, err));
	}
	for (int32_t i = 0; i < s->n_ops; i++)
		w->hosts.kernel[s->op[i]] = NULL;
	return BERTH_OK;
}

/* ---- all of it ---- */

static berth_status run_twice(work *w, void *threads, berth_err *err)
{
	double wall, cpu, strain;
	BERTH_TRY(ort_plan_run(&w->plan, &exec_threads, threads, &wall, &cpu, &strain, err));
	return ort_plan_run(&w->plan, &exec_threads, threads, &wall, &cpu, &strain, err);
}

static berth_status read_all(work *w, berth_err *err)
{
	for (int32_t k = 0; k < w->plan.n_segments; k++) { /* the files are written now */
		ort_session_free(w->m->lib, w->plan.segment[k].session);
		w->plan.segment[k].session = NULL;
	}
	BERTH_TRY(BERTH_NEW(w->mem, w->op_entry, w->m->n_ops, err));
	BERTH_TRY(fused_hosts_new(w->m, w->mem, &w->hosts, err));
	for (int32_t k = 0; k < w->plan.n_segments; k++)
		BERTH_TRY(read_segment(w, k, err));
	for (int32_t k = 0; k < w->plan.n_segments; k++)
		BERTH_TRY(add_fused(w, k, err));
	return BERTH_OK;
}

berth_status ort_operator_times(ort_model *m, const ort_device *dev, const int32_t *placement,
                                const int32_t *order, ort_clock clock, void *threads, berth_arena *mem,
                                ort_operator_time **times, int32_t *n, berth_err *err)
{
	work w = {.m = m, .mem = mem};
	BERTH_TRY(kernel_folder_new(w.folder, err));
	const ort_plan_cfg cfg = {clock, w.folder, ORT_ALL_DEVICES};
	berth_status st = ort_plan_new(m, dev, placement, order, &cfg, &w.plan, err);
	if (st == BERTH_OK) {
		st = run_twice(&w, threads, err);
		if (st == BERTH_OK)
			st = read_all(&w, err);
		ort_plan_free(&w.plan);
	}
	kernel_folder_remove(w.folder);
	*times = w.times;
	*n = w.n;
	return st;
}
