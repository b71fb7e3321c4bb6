/* Workers of StarPU. Tensors are data handles. A task names those that it reads and writes. It is pinned to
 * its worker, whose order is that of the list. */
#include "exec.h"

#include <starpu.h>
#include <stdlib.h>

typedef struct run_of {
	const exec_task *task;
	double began;
} run_of;

typedef struct pool {
	int32_t n;
	/* Tasks that each worker got so far. StarPU keeps to these numbers over all runs. */
	uint32_t place[EXEC_MAX_WORKERS];
} pool;

static void codelet(void *buffers[], void *arg)
{
	const run_of *r = arg;
	(void)buffers; /* main memory: the tensors lie over these very bytes */
	r->task->run(r->task->ctx, r->began);
}

static struct starpu_codelet piece = {
	.cpu_funcs = {codelet}, .nbuffers = STARPU_VARIABLE_NBUFFERS, .name = "segment"};

static berth_status open_pool(int32_t n, const int32_t *cores, berth_arena *mem, void **ex, berth_err *err)
{
	struct starpu_conf conf;
	pool *p;
	BERTH_TRY(BERTH_NEW(mem, p, 1, err));
	setenv("STARPU_SILENT", "1", 0);
	starpu_conf_init(&conf);
	conf.sched_policy_name = "eager";
	conf.ncpus = n;
	conf.ncuda = conf.nopencl = 0;
	conf.use_explicit_workers_bindid = 1;
	for (int32_t i = 0; i < n; i++)
		conf.workers_bindid[i] = (unsigned)cores[i];
	if (starpu_init(&conf) != 0)
		return berth_fail(err, BERTH_EIO, "StarPU does not start");
	if ((int32_t)starpu_cpu_worker_get_count() < n) {
		int32_t have = (int32_t)starpu_cpu_worker_get_count();
		starpu_shutdown();
		return berth_fail(err, BERTH_EIO, "StarPU has %d workers here; %d devices were asked for",
		                  have, n);
	}
	starpu_pause();
	p->n = n;
	*ex = p;
	return BERTH_OK;
}

static void close_pool(void *ex)
{
	(void)ex;
	starpu_resume();
	starpu_shutdown();
}

static berth_status admit(void *ex, exec_buffer *buffers, int32_t n, berth_err *err)
{
	(void)ex, (void)err;
	for (int32_t i = 0; i < n; i++) {
		starpu_data_handle_t h;
		starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)buffers[i].data,
		                            (uint32_t)(buffers[i].bytes ? buffers[i].bytes : 1), 1);
		buffers[i].handle = h;
	}
	return BERTH_OK;
}

static void dismiss(void *ex, exec_buffer *buffers, int32_t n)
{
	(void)ex;
	for (int32_t i = 0; i < n; i++)
		starpu_data_unregister_submit(buffers[i].handle);
}

static berth_status submit(const exec_task *t, run_of *r, uint32_t place, const exec_buffer *buffers,
                           berth_err *err)
{
	struct starpu_task *task = starpu_task_create();
	int32_t n = t->n_in + t->n_out;
	if (!task)
		return berth_nomem(err);
	task->cl = &piece;
	task->nbuffers = n;
	task->dyn_handles = malloc((size_t)n * sizeof *task->dyn_handles);
	task->dyn_modes = malloc((size_t)n * sizeof *task->dyn_modes);
	if (!task->dyn_handles || !task->dyn_modes)
		return berth_nomem(err);
	for (int32_t i = 0; i < n; i++) {
		task->dyn_handles[i] = buffers[i < t->n_in ? t->in[i] : t->out[i - t->n_in]].handle;
		task->dyn_modes[i] = i < t->n_in ? STARPU_R : STARPU_W;
	}
	task->cl_arg = r;
	task->cl_arg_size = 0;
	task->execute_on_a_specific_worker = 1;
	task->workerid = (unsigned)t->worker;
	task->workerorder = place;
	return starpu_task_submit(task) == 0
	               ? BERTH_OK
	               : berth_fail(err, BERTH_EIO, "StarPU takes no task for worker %d", t->worker);
}

static berth_status run(void *ex, const exec_task *tasks, int32_t n, exec_buffer *buffers, berth_err *err)
{
	pool *p = ex;
	berth_arena tmp = {0};
	run_of *r;
	berth_status st = BERTH_NEW(&tmp, r, n, err);
	for (int32_t i = 0; i < n && st == BERTH_OK; i++) {
		r[i] = (run_of){&tasks[i], 0};
		st = submit(&tasks[i], &r[i], ++p->place[tasks[i].worker], buffers, err);
	}
	double began = exec_now();
	for (int32_t i = 0; i < n && st == BERTH_OK; i++)
		r[i].began = began;
	starpu_resume();
	starpu_task_wait_for_all();
	starpu_pause();
	berth_arena_free(&tmp);
	return st;
}

const exec_kind exec_starpu = {"starpu", open_pool, close_pool, admit, dismiss, run};
