/* Times of operators: alone, on a worker; and inside the segments of a plan, by ONNX Runtime's profiler. */
#include "kernel_times.h"
#include "ort_op_times.h"

#include <ctype.h>

enum { HOPS = 16 };

/* ---- one operator ---- */

/* A segment of one operator. Its inputs are the unsplit model's tensors; its outputs have buffers of their
 * own. */
static berth_status make_alone(ort_model *m, int32_t op, ort_segment *s, berth_arena *mem, berth_err *err)
{
	int32_t *out, n_out;
	const ort_session_cfg cfg = {.threads = 1, .level = m->level};
	berth_strbuf bytes;
	BERTH_TRY(ort_model_alone(m, op, 0, mem, &s->in, &out, &n_out, &bytes, err));
	BERTH_TRY(ort_tensors_new(mem, (size_t)n_out, &s->out, err));
	for (int32_t i = 0; i < n_out; i++) {
		void *data;
		BERTH_TRY(ort_model_room(m, out[i], mem, &data, err));
		BERTH_TRY(ort_model_add(m, out[i], data, &s->out, err));
	}
	return ort_session_new(m->lib, bytes.text, bytes.len, &cfg, &s->session, err);
}

static berth_status time_alone(ort_segment *s, void *threads, int32_t warmup,
                               int32_t repeats, double *wall_s, double *cpu_s, berth_err *err)
{
	const exec_task task = {.worker = s->dev, .run = ort_segment_run, .ctx = s};
	for (int32_t i = 0; i < warmup + repeats; i++) {
		BERTH_TRY(exec_threads.run(threads, &task, 1, NULL, err));
		if (s->ran.st != BERTH_OK)
			return berth_fail(err, s->ran.st, "%s", s->err.msg);
		if (i < warmup)
			continue;
		wall_s[i - warmup] = s->ran.end_s - s->ran.start_s;
		cpu_s[i - warmup] = s->ran.cpu_s;
	}
	return BERTH_OK;
}

berth_status ort_profile_op(ort_model *m, const ort_device *dev, int32_t op, int32_t device, ort_clock clock,
                            void *threads, int32_t warmup, int32_t repeats, double *wall_s,
                            double *cpu_s, berth_err *err)
{
	BERTH_ARENA(mem);
	ort_plan plan = {.m = m, .dev = dev, .clock = clock};
	ort_segment s = {.plan = &plan, .dev = device, .n_ops = 1, .op = &op};
	berth_status st = make_alone(m, op, &s, &mem, err);
	if (st == BERTH_OK)
		st = time_alone(&s, threads, warmup, repeats, wall_s, cpu_s, err);
	ort_session_free(m->lib, s.session);
	ort_tensors_free(m->lib, &s.in);
	ort_tensors_free(m->lib, &s.out);
	return st;
}

/* ---- transfers ---- */

typedef struct hop {
	const unsigned char *from;
	unsigned char *to;
	size_t bytes;
	double end_s;
} hop;

static void copy_bytes(void *ctx, double began)
{
	hop *h = ctx;
	if (h->bytes)
		memcpy(h->to, h->from, h->bytes);
	h->end_s = exec_now() - began;
}

/* A chain of copies, each on the other worker than the one before. *seconds: of the whole chain. */
static berth_status time_chain(int32_t from, int32_t to, size_t bytes, void *threads,
                               berth_arena *mem, double *seconds, berth_err *err)
{
	exec_buffer buffer[HOPS + 1] = {{0}};
	exec_task task[HOPS];
	hop hops[HOPS];
	int32_t index[HOPS + 1];
	for (int32_t i = 0; i <= HOPS; i++) {
		unsigned char *data;
		BERTH_TRY_NEW(mem, bytes + 64, err, data);
		memset(data, i, bytes + 64);
		buffer[i] = (exec_buffer){data, bytes, i - 1, false};
		index[i] = i;
	}
	for (int32_t i = 0; i < HOPS; i++) {
		hops[i] = (hop){buffer[i].data, buffer[i + 1].data, bytes, 0};
		task[i] = (exec_task){.worker = i % 2 ? from : to,
		                      .n_in = 1,
		                      .n_out = 1,
		                      .in = &index[i],
		                      .out = &index[i + 1],
		                      .run = copy_bytes,
		                      .ctx = &hops[i]};
	}
	berth_status st = exec_threads.run(threads, task, HOPS, buffer, err);
	*seconds = hops[HOPS - 1].end_s - hops[0].end_s;
	return st;
}

berth_status ort_profile_transfer(int32_t from, int32_t to, size_t bytes, void *threads,
                                  double *seconds, berth_err *err)
{
	BERTH_ARENA(mem);
	double apart = 0, together = 0;
	berth_status st = time_chain(from, to, bytes, threads, &mem, &apart, err);
	if (st == BERTH_OK)
		st = time_chain(from, from, bytes, threads, &mem, &together, err);
	*seconds = fmax(0, apart - together) / (HOPS - 1);
	return st;
}

berth_status ort_profile_overheads(int32_t device, void *threads, double *run_s,
                                   double *task_s, berth_err *err)
{
	BERTH_ARENA(mem);
	hop h = {0};
	const exec_task task = {.worker = device, .run = copy_bytes, .ctx = &h};
	berth_status st = BERTH_OK;
	*run_s = INFINITY;
	for (int i = 0; i < 20 && st == BERTH_OK; i++) {
		double from = exec_now();
		st = exec_threads.run(threads, &task, 1, NULL, err);
		*run_s = fmin(*run_s, exec_now() - from);
	}
	if (st == BERTH_OK)
		st = time_chain(device, device, 0, threads, &mem, task_s, err);
	*task_s /= HOPS - 1;
	return st;
}

typedef struct work {
	ort_model *m;
	ort_plan plan;
	berth_arena *mem;
	char folder[KERNEL_FOLDER];
	kernel_run *times;
	int32_t n;
	size_t cap;
	int32_t *op_entry;     /* [n_ops] 1 + entry of the operator's kernel; 0: none */
	fused_hosts hosts;
} work;

/* ---- from kernels to operators ---- */

/* The operator of the segment that the kernel is named after. Fused and re-laid kernels add to the name. -1:
 * there is none. */
static int32_t op_of(const work *w, const ort_segment *s, const char *kernel, size_t len)
{
	int32_t best = -1;
	size_t longest = 0;
	for (int32_t i = 0; i < s->n_ops; i++) {
		const char *name = ort_model_node(w->m, s->op[i])->name;
		size_t n = name ? strlen(name) : 0;
		if (n > longest && n <= len && strncmp(name, kernel, n) == 0 &&
		    (n == len || !isalnum((unsigned char)kernel[n]))) {
			best = s->op[i];
			longest = n;
		}
	}
	return best;
}

static berth_status add(work *w, kernel_run x, berth_err *err)
{
	return BERTH_PUSH(w->mem, w->times, w->n, &w->cap, err, x);
}

static berth_status read_kernel(work *w, int32_t k, const kernel_time *e, double s_per_us, berth_err *err)
{
	const ort_segment *s = &w->plan.segment[k];
	const ort_times *t = &s->ran;
	kernel_run x = {
		.op = op_of(w, s, e->name, strlen(e->name)), .in = -1, .dev = s->dev, .kernel = e->type};
	if (x.op >= 0 && w->op_entry[x.op])
		x.op = -1; /* something beside the operator that took its name */
	x.from = t->start_s + e->at_us * s_per_us;
	x.to = fmin(x.from + e->took_us * s_per_us, t->end_s);
	x.from = fmin(x.from, t->end_s);
	if (x.op >= 0)
		w->op_entry[x.op] = w->n + 1;
	return add(w, x, err);
}

static berth_status read_segment(work *w, int32_t k, berth_err *err)
{
	const ort_segment *s = &w->plan.segment[k];
	char path[KERNEL_FOLDER + 256], head[16];
	kernel_times times;
	if (s->out.n == 0)
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
			w->hosts.kernel[s->op[i]] = w->times[w->op_entry[s->op[i]] - 1].kernel;
	for (int32_t i = 0; i < s->n_ops; i++) {
		int32_t host = w->hosts.kernel[s->op[i]] ? -1 : fused_host(&w->hosts, s->op[i]);
		if (host < 0)
			continue;
		kernel_run x = w->times[w->op_entry[host] - 1];
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
	BERTH_TRY_NEW(w->mem, w->m->n_ops, err, w->op_entry);
	BERTH_TRY(fused_hosts_new(w->m, w->mem, &w->hosts, err));
	for (int32_t k = 0; k < w->plan.n_segments; k++)
		BERTH_TRY(read_segment(w, k, err));
	for (int32_t k = 0; k < w->plan.n_segments; k++)
		BERTH_TRY(add_fused(w, k, err));
	return BERTH_OK;
}

berth_status ort_operator_times(ort_model *m, const ort_device *dev, const int32_t *placement,
                                const int32_t *order, ort_clock clock, void *threads, berth_arena *mem,
                                kernel_run **times, int32_t *n, berth_err *err)
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
